"""The door for what is published: one procedure, for the command line, the estimator, Python and Spark.

It refuses what the settings make impossible, reads, charges the budget, runs, and saves. Once the data is read, nothing
that depends on it decides anything before the charge; after the charge whatever fails says that the budget is spent.
"""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from numpy.random import Generator

from dptopics.core import __version__
from dptopics.core.errors import DptopicsError, InputError, ReleaseLost, SpentError, Stopped, renamed_arguments
from dptopics.core.files import locked, same_file
from dptopics.core.text import TextSettings
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.bounded import BoundedCorpus
from dptopics.data.corpus import Corpus
from dptopics.data.estimator_input import check_column_names, check_only_data
from dptopics.data.public_inputs import PublicNgrams
from dptopics.ledger.ledger import Ledger, Unrecorded
from dptopics.ledger.ledger_file import Receipt
from dptopics.ledger.series import SeriesAccount
from dptopics.mechanisms.mechanism import Job, rehearse
from dptopics.plan import Plan
from dptopics.privacy.guarantee import Unit
from dptopics.privacy.rng import secure_rng
from dptopics.public.embeddings import check_language
from dptopics.release import bundle
from dptopics.release.ngrams import NgramTable
from dptopics.release.release import Record, Release, check_said

Read = Callable[[Plan], BoundedCorpus]
Account = Ledger | SeriesAccount
Phase = Callable[[str], AbstractContextManager[Any]]  # shows that a part of the work has begun
_ROOM = 1 << 22  # bytes that must be free where the release shall be written
_TITLES = {
    "topics": "Learning private topics",
    "vocabulary": "Choosing words",
    "n-grams": "Counting n-grams",
    "counts": "Counting",
}


@renamed_arguments(about="description", about_units="people")
def publish(
    plan: Plan,
    read: Read,
    *,
    out: str | Path | None = None,
    ledger: Account | str | Path | None = None,
    accept_unproven: bool = False,
    rng: Generator | None = None,
    title: str = "",
    description: str = "",
    people: int | None = None,
    sensitivity: str | Path | None = None,
    phase: Phase = lambda title: nullcontext(),
) -> Release[Any]:
    """Release what ``plan`` says of the data that ``read`` reads.

    Args:
        plan: everything public that decides the release.
        read: reads the data and bounds what each unit contributes; it may refuse the data's form, never its content.
        out: folder for the release; it must not exist. None: nothing is written.
        ledger: what to charge; without one the release is priced alone.
        accept_unproven: allow guarantees that are not proved.
        rng: None for cryptographic randomness. Any other generator marks the release as not private.
        title: what people shall call the release.
        description: what the data are, in a sentence that may be published.
        people: roughly how many units there are, if that may be public: the card then judges δ by it.
        sensitivity: file for a sampled sensitivity, where the mechanism needs one.
        phase: called with the title of each part of the work; its context lasts as long as the part.
    """
    check_language(plan.settings.get("embedding"), plan.text)
    mechanism: Any = plan.build()
    check_said(title=title, description=description)
    mechanism.guarantee.about(people)  # refuses what is no number of units
    generator = secure_rng() if rng is None else rng
    account: Any = Unrecorded() if ledger is None else ledger
    if isinstance(account, str | Path):
        account = Ledger.open(account)
    account.check(mechanism.guarantee, accept_unproven=accept_unproven)
    account.check_generator(generator)
    if sensitivity is not None and not mechanism.needs_preparation:
        raise InputError(
            "a sensitivity can be kept only where one is sampled over a list of public words: for --mechanism output "
            "or mvg with --vocabulary FILE. Leave --sensitivity out."
        )
    with nullcontext() if out is None else _reserved(Path(out)):
        rehearse(mechanism, plan.unit)
        with _until_the_charge():
            corpus = read(plan)
            mechanism.check(corpus)
            if mechanism.needs_preparation:  # the offline stage
                from dptopics.mechanisms.topics.sensitivity_file import prepare

                with phase("Sampling the sensitivity"):
                    mechanism = prepare(mechanism, corpus, sensitivity)
        charged: list[Receipt | None] = []
        with _from_the_charge_on(account, charged):
            promised = mechanism.guarantee.assuming(corpus.assumptions)
            by = corpus.bounds.column
            charged.append(account.charge(promised, mechanism.name, by=by, accept_unproven=accept_unproven))
            with phase(_TITLES[plan.job]):
                made = mechanism(corpus, generator)
                release = replace(made, guarantee=account.finalize(made.guarantee, made.value))
            record = _record(plan, account, charged[0], title, description)
            promised = release.guarantee.assuming(corpus.assumptions).about(people)
            release = replace(release, record=record, guarantee=promised)
            return release if out is None else _saved(release, Path(out))


def _record(plan: Plan, account: Any, receipt: Receipt | None, title: str, description: str) -> Record:
    """What a reader needs to trace the release."""
    charged = None
    if receipt is not None:
        spent, budget = account.spent, account.budget
        charged = {"name": account.name, "charge": receipt.number, "epsilon": spent.epsilon, "delta": spent.delta}
        charged |= {"of_epsilon": budget.epsilon, "of_delta": budget.delta}
    day = datetime.now(UTC).date().isoformat()
    return Record(
        version=__version__, day=day, title=title, description=description, plan=plan.to_dict(), ledger=charged
    )


@contextmanager
def _until_the_charge() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise Stopped("Stopped. Nothing was spent and nothing was written.") from None


@contextmanager
def _from_the_charge_on(account: Any, charged: list[Receipt | None]) -> Iterator[None]:
    """Whatever ends the run now, its owner must know what it has cost."""
    try:
        yield
    except SpentError:
        raise
    except KeyboardInterrupt:
        cost = account.charge_message(charged[0]) if charged else account.unsure
        raise Stopped(f"Stopped. Nothing was written. {cost}") from None
    except Exception as error:
        if not charged or (charged[0] is None and not isinstance(error, MemoryError)):
            raise  # nothing was recorded: the error itself says most
        reason = str(error).rstrip(".") if isinstance(error, DptopicsError) else type(error).__name__
        # The other exception may quote data: it is not shown as the cause.
        raise ReleaseLost(
            f"the run failed: {reason}. Nothing was written. {account.charge_message(charged[0])}"
        ) from None


def _saved(release: Release[Any], out: Path) -> Release[Any]:
    """Write the release, or rescue it: it has been paid for."""
    try:
        bundle.save(release, out)
        return release
    except Exception as error:  # whatever it is: what was paid for must not be lost by it
        other = "it exists by now" if isinstance(error, InputError) else type(error).__name__
        reason = getattr(error, "strerror", None) or other
    try:
        rescue = Path(tempfile.mkdtemp(prefix="dptopics-")) / out.name
        bundle.save(release, rescue)
        where = f"The release was saved to {rescue}."
    except Exception:
        where = "It could not be saved to the temporary folder either. Free some space before you run it again."
    raise ReleaseLost(f"cannot write {out} ({reason}). The budget is spent. {where}", release)


@contextmanager
def _reserved(out: Path) -> Iterator[None]:
    """Hold the name of the output folder, and room for it: two runs into one folder would both be charged."""
    bundle.check_target(out)
    place = out.absolute().parent / f".{out.name}.lock"
    handle = os.open(place, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        if not locked(handle) or not same_file(handle, place):
            raise InputError(f"another run is writing to {str(out)!r}. Choose another name.")
        try:
            os.write(handle, b"\0" * _ROOM)
            os.fsync(handle)
        except OSError as error:
            where = str(out.absolute().parent)
            raise InputError(f"there is no room for a release in {where!r}: {error.strerror}.") from None
        os.truncate(handle, 0)
        bundle.check_target(out)  # the run before this one may just have finished
        try:
            yield
        finally:
            place.unlink(missing_ok=True)
    finally:
        os.close(handle)


@renamed_arguments(about="description", about_units="people")
def release_vocabulary(
    data: Any,
    *,
    authors: str | Iterable[str | int] | None = None,
    epsilon: float,
    delta: float,
    unit: Unit | str | None = None,
    text: TextSettings | str | None = None,
    settings: TextSettings | None = None,
    drop_missing: bool = False,
    author_is: Iterable[str] = (),
    **how: Any,
) -> Release[Vocabulary]:
    """Release the words that many units use: ``dptopics vocabulary`` in Python.

    ``data`` are texts, a Corpus, or a table, of which ``text`` and ``authors`` name the columns. ``settings`` (or
    ``text``, if there is no column to name) say how texts become words. ``drop_missing`` leaves out rows without text
    or author; placeholders such as "unknown" are no authors, but for those that ``author_is`` lists. ``how`` are
    settings of
    :meth:`Plan.words <dptopics.plan.Plan.words>` (mechanism, noise, max_words, max_vocabulary, max_docs) and of
    :func:`publish` (ledger, out, title, description, accept_unproven).

    >>> texts = ["knee pain after a run", "my knee hurts", "new glasses for reading"] * 60
    >>> release_vocabulary(texts, authors=range(180), epsilon=4.0, delta=1e-6).value.words
    ('glasses', 'hurts', 'knee', 'new', 'pain', 'reading', 'run')
    """
    column = text if isinstance(text, str) else None
    own = settings or (text if isinstance(text, TextSettings) else TextSettings())
    corpus = _corpus(data, authors, own, column=column, drop_missing=drop_missing, author_is=author_is)
    chosen = Unit(unit) if unit is not None else corpus.default_unit
    plan = {name: how.pop(name) for name in list(how) if name not in OF_PUBLISH}
    made = Plan.words(epsilon=epsilon, delta=delta, unit=chosen, text=corpus.text, **plan)
    return publish(made, partial(as_planned, corpus), **how)


@renamed_arguments(about="description", about_units="people")
def release_ngrams(
    data: Any,
    *,
    n: int = 3,
    authors: str | Iterable[str | int] | None = None,
    epsilon: float,
    delta: float,
    unit: Unit | str | None = None,
    prior: PublicNgrams | None = None,
    text: str | None = None,
    tokenizer: Any = None,
    drop_missing: bool = False,
    author_is: Iterable[str] = (),
    **how: Any,
) -> Release[NgramTable]:
    """Release how probable n-grams are: ``dptopics ngrams`` in Python.

    ``data`` are texts, a table, of which ``text`` and ``authors`` name the columns, or a Corpus that was read with
    ``TextSettings.for_ngrams(n)``. Without public n-grams (``prior``) the list is chosen privately
    (``vocabulary="weighted"``). ``tokenizer`` as in TextSettings; ``drop_missing`` and ``author_is`` as in
    :func:`release_vocabulary`. ``how`` are settings of
    :meth:`Plan.ngrams <dptopics.plan.Plan.ngrams>` and of :func:`publish`.

    >>> texts = ["how are you", "how are they"] * 100
    >>> release = release_ngrams(texts, n=2, authors=range(200), epsilon=8.0, delta=1e-6)
    >>> sorted(ngram for ngram, share in release.value.top(2))
    ['<s> how', 'how are']
    """
    listed = None if prior is None else prior.vocabulary
    settings = TextSettings.for_ngrams(n, tokenizer)
    corpus = _corpus(data, authors, settings, listed, column=text, drop_missing=drop_missing, author_is=author_is)
    chosen = Unit(unit) if unit is not None else corpus.default_unit
    plan = {name: how.pop(name) for name in list(how) if name not in OF_PUBLISH}
    words = None if prior is not None else plan.pop("vocabulary", "weighted")
    made = Plan.ngrams(
        epsilon=epsilon, delta=delta, unit=chosen, text=corpus.text, prior=prior, vocabulary=words, **plan
    )
    return publish(made, partial(as_planned, corpus), **how)


def forecast(corpus: Corpus, plan: Plan) -> str:
    """What to expect of so many units, in one sentence; empty where nothing is known. For the owner's eyes.

    It decides nothing: one that fails is left out, whatever the data are.
    """
    from dptopics.preview import expected

    units = corpus.n_authors if plan.unit is Unit.AUTHOR else corpus.n_documents
    if not units or plan.job is Job.NGRAMS:
        return ""
    try:
        return expected(plan, units).sentence(plan.unit)
    except Exception:
        return ""


# Arguments of :func:`publish`; what else is given to a release_… function belongs to the plan.
OF_PUBLISH = frozenset({"out", "ledger", "accept_unproven", "rng", "title", "description", "people", "phase"})


def _corpus(
    data: Any,
    authors: Any,
    text: TextSettings,
    vocabulary: Vocabulary | None = None,
    *,
    column: str | None,
    drop_missing: bool,
    author_is: Iterable[str],
) -> Corpus:
    if isinstance(data, Corpus):
        check_only_data(authors, drop_missing, author_is)
        return data
    how: dict[str, Any] = {"settings": text, "vocabulary": vocabulary}
    how |= {"drop_missing": drop_missing, "author_is": author_is}
    if column is not None or isinstance(authors, str):
        check_column_names(column, authors)
        return Corpus.from_table(data, text=column or "", author=authors, **how)
    return Corpus.from_texts(data, authors, **how)


def as_planned(data: Any, plan: Plan) -> BoundedCorpus:
    """Data bounded as a plan says; the owner is told what looks wrong with them."""
    data.warn_owner(plan.delta, plan.unit)
    bounded: BoundedCorpus = data.bounded(unit=plan.unit, max_docs=plan.max_docs)
    return bounded
