"""The audit command: attack a topic model before somebody else does."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dptopics.cli import audit_claim, audit_model
from dptopics.cli import options as o
from dptopics.cli.ngrams import public_ngrams
from dptopics.cli.source import Table, named_tokenizer
from dptopics.cli.streams import saved
from dptopics.cli.terminal import err, print_json, progress_bar, warn
from dptopics.core.errors import InputError
from dptopics.core.text import TextSettings
from dptopics.privacy.guarantee import Unit
from dptopics.public.word_lists import check_not_the_data

if TYPE_CHECKING:
    from dptopics.audit.membership.attack import MembershipAudit
    from dptopics.data.corpus import Corpus
    from dptopics.plan import Plan

_SHADOWS = 128
_LEARNER = "gibbs"


def audit(
    context: typer.Context,
    text: o.TextColumnName,
    out_folder: Annotated[
        Path, typer.Option("--out", help="Folder for results and shadow models; an interrupted audit goes on there.")
    ],
    source: o.Source = None,
    author: o.AuthorColumn = None,
    topics: Annotated[int, typer.Option(help="Number of topics.")] = 10,
    release_folder: Annotated[
        Path | None,
        typer.Option("--release", help="Attack exactly what made this release: its own plan.", show_default=False),
    ] = None,
    plan_file: Annotated[
        Path | None,
        typer.Option("--plan", help="Attack what this plan would release (TOML or JSON).", show_default=False),
    ] = None,
    mechanism: Annotated[
        str | None, typer.Option(help="Private mechanism to attack; without one, a plain topic model is attacked.")
    ] = None,
    epsilon: Annotated[float, typer.Option(help="Claimed ε of the mechanism.")] = 1.0,
    delta: Annotated[float, typer.Option(help="Claimed δ of the mechanism.")] = 1e-6,
    vocabulary: Annotated[
        str | None, typer.Option(help="Vocabulary of the mechanism, as for fit.", show_default="as for fit")
    ] = None,
    shadows: Annotated[
        int | None,
        typer.Option(help="Shadow models to train.", show_default="128; for a mechanism none: its claim is tested"),
    ] = None,
    repeats: Annotated[
        int | None, typer.Option(help="Models to attack: more give steadier rates.", show_default="all shadows")
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(help="Most draws by which a mechanism's noise is tested.", show_default="2000; thorough 16000"),
    ] = None,
    thorough: Annotated[
        bool, typer.Option("--thorough", help="Spend up to half an hour on a mechanism's claim.")
    ] = False,
    target: Annotated[
        Path | None,
        typer.Option(help="Attack this model: a release, or what gensim, scikit-learn, tomotopy or BERTopic saved."),
    ] = None,
    models: Annotated[
        Path | None, typer.Option(help="With --target: folder (--out) of an earlier audit, whose shadows serve again.")
    ] = None,
    learner: Annotated[
        str | None,
        typer.Option(
            help="Of plain models and their shadows: gibbs, variational, sklearn, gensim, tomotopy, … With --mechanism "
            "output, mvg or laplace: what learns inside of it.",
            show_default="gibbs; of a mechanism its own",
        ),
    ] = None,
    attack: Annotated[
        str,
        typer.Option(
            help="membership: who was in? poison: do planted texts draw a secret out (in --trials runs)? "
            "most-contributing: does a release of n-grams show the author of most of them (in --trials pairs)?"
        ),
    ] = "membership",
    public: Annotated[
        Path | None,
        typer.Option(help="Public n-grams of a --release of n-grams, as they were given to it.", show_default=False),
    ] = None,
    public_text: Annotated[
        str | None, typer.Option(help="Column of the public texts.", show_default="the same as --text")
    ] = None,
    trust_pickle: Annotated[
        bool, typer.Option("--trust-pickle", help="Read pickles (gensim, joblib) of --target: this runs their code.")
    ] = False,
    language: o.Language = "english",
    tokenizer: o.TokenizerName = None,
    drop_missing: o.DropMissing = False,
    author_is: o.AuthorIs = None,
    encoding: o.Encoding = "utf8",
    separator: o.Separator = None,
    table_format: o.FormatOption = None,
    sheet: o.Sheet = None,
    header_row: o.HeaderRow = None,
    sql: o.Sql = None,
    database: o.Database = None,
    as_json: o.Json = False,
) -> None:
    """Attack a topic model of your texts, or test what a private mechanism claims. Results are not for release.

    Spends no budget. Exit code 5: a claim is violated.
    """
    from dptopics.core import progress

    if any((out_folder / name).exists() for name in ("audit.json", "ngram_attack.json")):
        raise InputError(f"the folder {str(out_folder)!r} holds an audit already. Choose another name, or remove it.")
    audit_model.check_options(attack, target, models)
    for public_file in (vocabulary, public):
        check_not_the_data(public_file, source)
    table = Table.of(context)
    unit = Unit.DOCUMENT if author is None else Unit.AUTHOR
    settings: dict[str, Any] = {"mechanism": mechanism, "vocabulary": vocabulary, "n_topics": topics}
    settings |= {"learner": None if mechanism is None else learner}
    settings |= {
        "epsilon": epsilon,
        "delta": delta,
        "unit": unit,
        "text": TextSettings(language=language, tokenizer=named_tokenizer(tokenizer)),
    }
    given = None if public is None else (public, public_text or text, encoding, tokenizer)
    plan = _plan(release_folder, plan_file, settings, given)
    if plan is None and (trials is not None or thorough) and attack == "membership":
        raise InputError(
            "--trials and --thorough test the claim of a mechanism. Name one with --mechanism, or --release."
        )
    if trials is not None and trials < 4:
        raise InputError(f"--trials must be at least 4, got {trials}.")
    if plan is not None and plan.job not in ("topics", "vocabulary", "n-grams", "counts"):
        raise InputError(f"this command audits topics, vocabularies, n-grams and counts, not {plan.job}.")
    if plan is not None and plan.job == "counts":
        _counts(plan, out_folder, attack, target or shadows, trials=trials, thorough=thorough, as_json=as_json)
        return
    if plan is not None and plan.unit is Unit.AUTHOR and author is None:
        raise InputError("the plan protects authors: name their column (--author).")
    reading = settings["text"] if plan is None else plan.text
    public = None if plan is None or plan.prior is None else plan.prior.value.vocabulary
    embedding = None if plan is None else plan.settings.get("embedding")
    with progress_bar("Reading texts") as sink, progress.shown_by(sink):
        embed = None if embedding is None or embedding.of_words else embedding
        corpus = table.in_memory(reading, vocabulary=public, embed=embed)
    if corpus.left_out:
        warn(f"{corpus.left_out} rows were left out. Row numbers of this audit count the others, from 1 on.")
    if attack == "poison":
        audit_model.poison(corpus, plan, trials or 100, out_folder, as_json)
        return
    if attack == "most-contributing":
        audit_claim.attack_most_contributing(corpus, plan, trials or 100, out_folder, as_json)
        return
    if target is not None:
        model = audit_model.Model(target, models, learner or _LEARNER, shadows or _SHADOWS, trust_pickle)
        audit_model.attack_target(corpus, model, out_folder, as_json)
        return
    if plan is not None and shadows is None:
        audit_claim.attack_claim(corpus, plan, out_folder, trials=trials, thorough=thorough, as_json=as_json)
        return
    how = {"n_shadows": shadows or _SHADOWS, "repeats": repeats, "by_author": author is not None, "folder": out_folder}
    try:
        result = _attacked(corpus, plan, (learner or _LEARNER, topics), how)
    except KeyboardInterrupt:
        err.print(f"Stopped. Run the same command again: it goes on with the models in {out_folder}.", highlight=False)
        sys.exit(130)
    if not result.save(out_folder):
        err.print(
            "No plots: install matplotlib (pip install 'dptopics\\[plots]') for roc.png and roc.svg.", highlight=False
        )
    saved(out_folder)
    if as_json:
        print_json(result.to_dict())
        return
    audit_model.show(result.summary(), out_folder)


def _counts(plan: "Plan", out_folder: Path, attack: str, more: object, **how: Any) -> None:
    """Counts are tested on invented people: where the texts of this table fall is not what their claim is about."""
    from math import prod

    from dptopics.data.cells import invented_cells

    if attack != "membership" or more is not None:
        raise InputError(
            "counts have no model to attack: their claim is tested. Leave --attack, --target, --shadows out."
        )
    cells = prod(map(len, plan.settings["values"]))
    audit_claim.attack_claim(invented_cells(cells, with_authors=plan.unit is Unit.AUTHOR), plan, out_folder, **how)


def _attacked(corpus: "Corpus", plan: "Plan | None", plain: tuple[str, int], how: dict[str, Any]) -> "MembershipAudit":
    """Shadow models of a plain learner, or of a plan's mechanism."""
    from dptopics.audit.membership.attack import audit_membership
    from dptopics.audit.membership.models import of_mechanism
    from dptopics.core import progress
    from dptopics.release.release import mechanism_settings

    if plan is None:
        return audit_model.attack_plain(corpus, *plain, how)
    mechanism = plan.build()
    settings = {"mechanism": mechanism_settings(mechanism), "plan": plan.to_dict()}
    with progress_bar("Training shadow models") as sink, progress.shown_by(sink):
        train = of_mechanism(mechanism, corpus, max_docs=plan.max_docs)
        return audit_membership(train, corpus, claim=mechanism.guarantee, settings=settings, **how)


def _plan(
    release_folder: Path | None,
    plan_file: Path | None,
    settings: dict[str, Any],
    public: tuple[Path, str, str, str | None] | None,
) -> "Plan | None":
    """What is attacked: the plan of a release, one in a file, or the one that the options make."""
    from dptopics.data.public_inputs import PublicInput
    from dptopics.plan import plan_of, read_plan
    from dptopics.release import bundle

    asked = [name for name, value in (("--release", release_folder), ("--plan", plan_file)) if value is not None]
    asked += ["--mechanism"] if settings["mechanism"] is not None else []
    if len(asked) > 1:
        raise InputError(f"{' and '.join(asked)} both say what to attack. Give one of them.")
    if plan_file is not None:
        return read_plan(plan_file)
    if release_folder is None:
        return None if settings["mechanism"] is None else _named(settings)
    release = bundle.load(release_folder)
    known: tuple[PublicInput, ...] = ()
    if public is not None and release.record.plan is not None:
        path, column, encoding, tokenizer = public
        n = int(release.record.plan["text"]["ngrams"])
        known = (public_ngrams(path, column, n, len(release.value.vocabulary.words), encoding, tokenizer),)
    plan = plan_of(release, release_folder, known)
    if plan is None:
        raise InputError(
            "this release was made before plans were kept: nobody can tell exactly what made it. Name its settings "
            "(--mechanism, --vocabulary, --topics, --epsilon, --delta), or release again."
        )
    return plan


def _named(settings: dict[str, Any]) -> "Plan":
    """The plan that the options make: topics, or a vocabulary alone."""
    from dptopics.mechanisms.mechanism import Job
    from dptopics.plan import Plan
    from dptopics.registry import mechanisms

    if settings["mechanism"] not in mechanisms(Job.VOCABULARY):
        return Plan.topics(**settings)
    if settings["learner"] is not None:
        raise InputError("a vocabulary has no learner: leave --learner out.")
    if settings["vocabulary"] is not None:
        raise InputError("--mechanism names a vocabulary already: leave --vocabulary out.")
    return Plan.words(
        **{name: value for name, value in settings.items() if name not in ("vocabulary", "n_topics", "learner")}
    )
