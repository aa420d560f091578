"""The examiner: tries to refute what a mechanism claims. The gate runs it over every mechanism, an audit over a plan.

- *Sums*: the exact sums of neighbours differ by no more than is priced, however units are cut into blocks.
- *Beside*: nothing is read, and no noise drawn, outside the queries, nor from another generator.
- *Price*: the noise that runs draw is the noise that the guarantee prices, on no data, little and all of it.
- *Answers*: what a mechanism receives depends on sum plus noise alone.
- *Replay*: a run given the same answers ends alike on quite other data.
- *Noise*: the draws have the stated law, part by part.
- *Lone words*: words that only a canary wrote are released as rarely as is priced.
- *Distinguishing*: the likelihood ratio over all noisy sums errs as often as the claimed curve demands.

The first five are exact; the others together raise a false alarm with probability at most ``ERROR``. Each check says
what it tried and what that could have shown. NOT FOR RELEASE.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from math import inf
from time import monotonic
from typing import Any

import numpy as np

from dptopics.audit.claim.case import Case, Replay, case_of, compare, replay, tells_more
from dptopics.audit.claim.curves import claimed_curve
from dptopics.audit.claim.designs import Design, background, designs, elsewhere, lone, over_fewer_words, public_words
from dptopics.audit.claim.distinguishing import (
    DistinguishingResult,
    ReleasedCase,
    distinguish,
    lone_words_shown,
    through_sums,
)
from dptopics.audit.claim.finding import Check, ClaimAudit, Finding
from dptopics.audit.claim.noise_law import NoiseLaw, rarest_event_seen, smallest_share_seen
from dptopics.audit.claim.transcript import Follower, LeftThePath, Question, Recorder, run
from dptopics.core import progress
from dptopics.core.errors import DptopicsError, PrivacyError
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.bounded import BoundedCorpus
from dptopics.data.corpus import Corpus
from dptopics.mechanisms.mechanism import Mechanism
from dptopics.mechanisms.queries import Query
from dptopics.privacy.events import Failure
from dptopics.privacy.guarantee import Guarantee, Strength
from dptopics.privacy.rng import secure_rng

ERROR = 1e-4  # of a whole audit: the probability that a correct mechanism is called violated
_SHARE = ERROR / 4  # of it, for each statistical check
_CLOSE = 0.9  # of what is priced: a canary that moves less may miss leaks
_HALF = 0.5  # of the noise of a single cell: less must be seen
_FEW_UNITS, _FEW_WORDS = 6, 60  # for runs that only draw noise
_ONE_IN = 99.5  # runs without noise that must be met
_LONE = 100  # runs that test a threshold
_SOON = 40  # runs after which noise is tested first
_MANY = 10_000  # people, as noise may have it, and so many fewer than none
_TRIALS, _STRANGERS, _DOCUMENTS = 2000, 12, 70_000  # what docs/audit.md states


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much work an audit may do. Public: it does not depend on the data."""

    trials: int = _TRIALS  # of the distinguishing test
    runs: int = 460  # whose noise is compared: one of a hundred without noise is then met
    units: int = 60  # of the data, as a background
    strangers: int = _STRANGERS  # neighbours at random, beside the worst that can be thought of
    shifts: tuple[int, ...] = (_MANY, -_MANY)  # of short answers, such as the number of units: they lead elsewhere
    documents: int = _DOCUMENTS  # of one author, at most
    seconds: float = 200.0  # for the noise, and as many for the distinguishing test; a quarter of it for lone words

    @classmethod
    def thorough(cls) -> "Effort":
        """Enough to detect half of the noise by the distinguishing test."""
        return cls(trials=16_000, runs=2000, units=200, strangers=100, seconds=500.0)


def audit_claim(
    mechanism: Mechanism[Any],
    corpus: Corpus,
    *,
    max_docs: int | None = None,
    max_words: int | None = None,
    effort: Effort | None = None,
) -> ClaimAudit:
    """Try to refute what ``mechanism`` claims, on the corpus, on some of its units, and on canaries made for it.

    Spends no budget. Limits as for :meth:`dptopics.Corpus.bounded`.
    """
    return Examination(mechanism, corpus, effort or Effort(), {"max_docs": max_docs, "max_words": max_words}).result()


@dataclass
class Examination:
    """One examination in progress: what was found, checked and noted so far."""

    mechanism: Mechanism[Any]
    corpus: Corpus
    effort: Effort
    limits: dict[str, Any] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    case: Case | None = None
    paths: tuple[int, ...] = (0,)  # shifts of short answers that lead to different queries; that of the data first
    distinguished: DistinguishingResult | None = None
    runs: int = 0
    failed: int = 0
    failures: set[str] = field(default_factory=set)

    def result(self) -> ClaimAudit:
        """Exact evidence first; what is found ends the examination."""
        claim, begun, whole = _claim(self.mechanism), monotonic(), self.mechanism
        some = background(self.corpus, self.effort.units)
        self.mechanism = over_fewer_words(whole, some)
        steps: list[Callable[[], None]] = [lambda: self._neighbours(some), lambda: self._worlds(whole, some)]
        steps += [lambda: self._noise(whole, some), lambda: self._lone_words(some), lambda: self._distinguish(some)]
        for number, step in enumerate(steps):
            with progress.part(number / len(steps), (number + 1) / len(steps)):
                if not self.findings:
                    self._tried(step)
        if self.failed:
            self.notes.append(
                f"{self.failed} of {self.runs} runs failed ({', '.join(sorted(self.failures))}). Whoever waits for a "
                "release sees that; it was not examined whether the data decide it."
            )
        case = self.case
        return ClaimAudit(
            mechanism=self.mechanism.name,
            claim=claim,
            findings=tuple(self.findings),
            checks=tuple(self.checks),
            notes=tuple(dict.fromkeys(self.notes)),
            canary="" if case is None else case.design.name,
            reach=case.reach if case is not None and case.accounting.in_sight else None,
            distinguishing=self.distinguished,
            error=ERROR,
            seconds=monotonic() - begun,
            units=self._units,
            runs=self.runs,
        )

    def _tried(self, step: Callable[[], Any]) -> Any:
        """What a step gives; None where the mechanism failed, which is counted."""
        try:
            return step()
        except (DptopicsError, LeftThePath):
            raise
        except Exception as error:
            self.failed += 1
            self.failures.add(type(error).__name__)
            return None

    def _found(self, check: str, what: str, p_value: float | None = None) -> None:
        self.findings.append(Finding(check, what, p_value))

    def _beside(self, what: tuple[str, ...] | list[str]) -> None:
        for one in what:
            self._found("beside", f"{one}.")

    @property
    def in_sight(self) -> bool:
        return self.case is not None and self.case.accounting.in_sight

    # --- price, sums and what lies beside them ---

    def _neighbours(self, some: Corpus) -> None:
        """Neighbours that move the noisy sums as far as they can: none further than is priced."""
        tried, most, effort = 0, 0.0, self.effort
        for case in self._cases(some):
            tried += 1
            self._judge(case)
            if self.findings:
                break
            most = max([most, *(float(share) for share in case.moved)])
            if self.case is None or case.reach > self.case.reach * 1.01:
                self.case = case
        if not tried:
            self.notes.append("No canary could be followed through the mechanism's questions.")
            return
        if self.case is not None and not self.case.released:
            self.notes.append("Nothing was released from the audit's data; its noisy sums were still observed.")
        reach = 0.0 if self.case is None else self.case.reach
        could = f"a sum moved by more than is priced; the nearest came to {most**0.5:.1%}"
        enough = effort.strangers >= _STRANGERS and effort.documents >= _DOCUMENTS and effort.shifts == Effort.shifts
        self.checks.append(Check("sums", f"{tried} neighbours", could, enough and self.in_sight and reach > _CLOSE))

    def _cases(self, some: Corpus) -> Iterator[Case]:
        """Each shape of a canary on every path, strangers on one path each."""
        most = self.effort.strangers, self.effort.documents
        chosen = tuple(designs(self.mechanism, some, public_words(self.mechanism, some), most))
        pairs = [self._bounded(design, some) for design in chosen]
        self.paths = self._elsewhere(pairs[0][1])
        n = len(self.paths)
        tries = [(i, k) for i in range(len(chosen)) for k in ((i % n,) if chosen[i].stranger else range(n))]
        for i, k in [] if self.findings else tries:
            self.runs += 2
            how: dict[str, Any] = {"in_parts": k == 0, "shift": self.paths[k]}
            case: Case | None = self._tried(partial(case_of, self.mechanism, chosen[i], pairs[i], **how))
            if case is not None:
                yield case

    def _elsewhere(self, corpus: BoundedCorpus) -> tuple[int, ...]:
        """By what short answers must be larger for a run to make other queries: as with all the data, and beyond."""
        found: dict[Any, int] = {}
        for shift in (self._units, 0, *self.effort.shifts) if self.effort.shifts else (0,):
            recorder = Recorder(shift=shift)
            with suppress(Exception):  # where noise would have to be incredible, all may fail
                run(self.mechanism, corpus, recorder, secure_rng())
                self._priced(recorder.queries, self.mechanism, "the first canary")
                found.setdefault(tuple((one.kind, one.sensitivity, one.scale) for one in recorder.queries), shift)
        return tuple(found.values()) if len(found) > 1 else (0,)

    def _priced(self, queries: list[Query], mechanism: Mechanism[Any], where: str) -> None:
        accounting = compare(mechanism.guarantee, queries)
        if accounting.problem:
            self._found("price", f"{accounting.problem} ({where}).")

    @property
    def _units(self) -> int:
        return self.corpus.n_documents if self.corpus.n_authors is None else self.corpus.n_authors

    def _judge(self, case: Case) -> None:
        """What is wrong with one pair of neighbours."""
        if case.accounting.problem:
            self.case = case
            self._found("price", f"{case.accounting.problem}.")
        elif case.accounting.in_sight or self.mechanism.guarantee.strength is Strength.PROVED:
            self._beside(case.beside)
        over = max(case.moved, default=0)
        if not self.findings and over > 1:
            self.case = case
            kind = case.queries[1][case.moved.index(over)].kind
            times = float(over) ** (1 / kind.norm)
            what = f"one {self.mechanism.unit} moves a sum by {times:.3g} times its stated sensitivity"
            self._found("sums", f"{what} (canary: {case.design.name}).")

    def _bounded(self, design: Design, some: Corpus) -> tuple[BoundedCorpus, BoundedCorpus]:
        without, within = (each.bounded(unit=self.mechanism.unit, **self.limits) for each in design.pair(some))
        return without, within

    # --- quite other data ---

    def _worlds(self, whole: Mechanism[Any], some: Corpus) -> None:
        """Price, answers and replay on no data, one unit, other words, and the whole corpus."""
        if not self.in_sight or self.case is None:
            if self.case is not None:
                self.notes.append("It draws noise that the audit cannot observe, so only what it releases was tested.")
            return
        nobody = some.take(np.zeros(0, np.int64))
        kinds = {"nobody": nobody, "one unit": background(some, 1), "everybody": self.corpus}
        kinds |= elsewhere(some, public_words(self.mechanism, some))
        worlds = {name: one.bounded(unit=self.mechanism.unit, **self.limits) for name, one in kinds.items()}
        if tells_more(self.case, [worlds["one unit"], worlds["nobody"]]):
            self._found("answers", "an answer depends on the data beyond its noisy sum.")
        self.checks.append(Check("answers", "3 data sets", "an answer that is not its noisy sum", True))
        priced = 0
        for name, world in {**worlds, "everybody, all words": worlds["everybody"]}.items():
            recorder = Recorder()
            mechanism = whole if name == "everybody, all words" else self.mechanism
            self._tried(partial(run, mechanism, world, recorder, secure_rng()))
            self._priced(recorder.queries, mechanism, name)
            self._beside(recorder.beside)
            priced += 1
        n = len(self.case.queries[1])
        self.checks.append(Check("price", f"{n} queries on {priced + 1} data sets", "a query that is not priced", True))
        if not self.findings:
            self._replayed(whole, worlds)

    def _replayed(self, whole: Mechanism[Any], worlds: dict[str, BoundedCorpus]) -> None:
        """Releases must depend on the data through noisy answers alone."""
        assert self.case is not None
        without, within = self.case.corpora
        found: list[Replay] = []
        for shift in dict.fromkeys((0, *self.paths)):
            found.append(replay(self.mechanism, within, {"without the canary": without, **worlds}, shift=shift))
        if all(one.repeatable and not one.differs for one in found):
            found.append(replay(whole, worlds["everybody"], {"with the canary": within, "nobody": worlds["nobody"]}))
        self.runs += (len(worlds) + 3) * len(found)
        self._beside(tuple(dict.fromkeys(what for one in found for what in one.beside)))
        differs = tuple(dict.fromkeys(name for one in found for name in one.differs if one.repeatable))
        if not differs and not all(one.repeatable for one in found):
            self.notes.append("Runs could not be repeated exactly: leaks that bypass the noisy sums were not tested.")
            return
        if differs:
            what = f"what is released, or refused, depends on the data beyond its noisy sums ({', '.join(differs)})."
            self._found("replay", what)
        could = "any byte of a release, its order, length or refusal that follows other data"
        self.checks.append(Check("replay", f"{len(worlds) + 3} data sets", could, True))
        self.checks.append(Check("beside", f"{self.runs} runs", "data read, or noise drawn, outside the queries", True))

    # --- noise ---

    def _noise(self, whole: Mechanism[Any], some: Corpus) -> None:
        """The law of the draws, part by part: of many short runs, some on other paths, and two over everything."""
        if not self.in_sight:
            return
        few = background(some, _FEW_UNITS)
        mechanism = over_fewer_words(whole, few, _FEW_WORDS)
        design = next(designs(mechanism, few, public_words(mechanism, few)))
        world = self._bounded(design, few)[1]
        samples = [(self._drawn(mechanism, world, self.paths[0], self.effort.runs), _SHARE / 2)]
        samples += [(self._everything(whole), _SHARE / 4)]
        samples += [(self._drawn(mechanism, world, shift, _SOON), _SHARE / 8) for shift in self.paths[1:]]
        stages = ((drawn, error) for several, error in samples for drawn in several)
        runs, error = next(stages)  # they grow
        any(self._odd(*stage) for stage in chain([(runs, error)], stages))
        cells = [query.drawn.size for query in runs[0]] if runs else []
        n_tests = 60 * max(sum(cells), 1)
        share = smallest_share_seen(len(runs), n_tests, _SHARE / 2) if len(runs) > 1 else 0.0
        rare = rarest_event_seen(len(runs))
        tried = f"{len(runs)} runs of {len(cells)} queries, {sum(cells):,} cells"
        could = (
            f"one cell with {share:.0%} of its noise; noise left out in one run of {rare:.0f}; any shared or repeated"
        )
        self.checks.append(Check("noise", tried, could, share >= _HALF and rare >= _ONE_IN))

    def _odd(self, drawn: list[list[Query]], error: float) -> bool:
        tests = NoiseLaw(drawn).oddities()
        for one in [one for one in tests if one.p_value < error / len(tests)][:3]:
            self._found("noise", f"{one.what}.", one.p_value)
        return bool(self.findings)

    def _drawn(
        self, mechanism: Mechanism[Any], corpus: BoundedCorpus, shift: int, most: int
    ) -> Iterator[list[list[Query]]]:
        """Queries of runs along the path of the first, without its sums and what follows the last: some, then all."""
        most = min(most, self.effort.runs)
        first = Recorder(shift=shift)
        run(mechanism, corpus, first, secure_rng())
        questions, answers, found = tuple(first.questions), first.answers, [list(first.queries)]
        left, end = 0, monotonic() + self.effort.seconds
        while len(found) + left < most and monotonic() < end:
            follower = Follower(answers, stop=True, same=questions)
            try:
                self._tried(partial(run, mechanism, corpus, follower, secure_rng()))
            except LeftThePath:
                left += 1
                continue
            if len(follower.queries) != len(found[0]):
                left += 1
                continue
            found.append(follower.queries)
            if len(found) == _SOON < most:
                yield found
            progress.report(len(found) / most)
        self.runs += len(found) + left
        if left:
            self.notes.append(f"{left} runs asked other questions than before, given the same answers.")
        yield found

    def _everything(self, whole: Mechanism[Any]) -> Iterator[list[list[Query]]]:
        """Two runs over all the data, together."""
        recorders = Recorder(), Recorder()
        everybody = self.corpus.bounded(unit=whole.unit, **self.limits)
        for recorder in recorders:
            self._tried(partial(run, whole, everybody, recorder, secure_rng()))
        self.runs += 2
        yield [recorder.queries for recorder in recorders]

    # --- what is released ---

    def _lone_words(self, some: Corpus) -> None:
        """Words that only one canary wrote: δ pays for releasing any."""
        mechanism = self.mechanism
        failing = sum(e.probability for e in mechanism.guarantee.events if isinstance(e, Failure))
        if not self.in_sight or not failing:
            return
        design = lone(mechanism, some)
        recorder = Recorder()
        run(mechanism, self._bounded(design, some)[1], recorder, secure_rng())
        asked = [one for one in recorder.questions if isinstance(one.answer, Vocabulary)]
        words = frozenset(word for document in design.canary.documents for word in document)
        if not asked or not words - set(public_words(mechanism, some)):
            return
        runs, shown, chance = lone_words_shown(self._again(asked[0]), words, failing=failing)
        self.runs += runs
        if chance < _SHARE:
            what = f"words of a single {mechanism.unit} were released in {shown} of {runs} runs."
            self._found("lone words", what, chance)
        could = f"words of one {mechanism.unit} released in one run of {max(runs / 6, 1):.0f}"
        self.checks.append(Check("lone words", f"{runs} runs", could, runs >= _LONE))

    def _again(self, question: Question) -> Iterator[Question]:
        end = monotonic() + self.effort.seconds / 4
        for _ in range(self.effort.trials):
            yield question.again()
            if monotonic() > end:
                return

    def _distinguish(self, some: Corpus) -> None:
        """Through all noisy sums, or through what is released where noise cannot be observed."""
        mechanism, effort = self.mechanism, self.effort
        if not effort.trials:
            return
        how: dict[str, Any] = {"trials": effort.trials, "seconds": effort.seconds}
        if self.in_sight and self.case is not None:
            result = through_sums(self.case, error=_SHARE, **how)
            where = "transcript of noisy sums"
        else:
            cases = [(d, self._bounded(d, some)) for d in designs(mechanism, some, public_words(mechanism, some))]
            chosen = ReleasedCase.worst(mechanism, cases)
            curve = claimed_curve(mechanism.guarantee.events)
            result = distinguish(chosen, curve, delta=mechanism.guarantee.delta, error=_SHARE, **how)
            where = "release"
        self.distinguished = result
        self.runs += result.trials
        if result.violated:
            self._found("distinguishing", _apart(result, where), result.error)
        could = f"ε above {'any number' if result.could_show == inf else f'{result.could_show:.2f}'} in all"
        enough = self.in_sight and result.trials >= _TRIALS
        self.checks.append(Check("distinguishing", f"{result.trials:,} trials", could, enough))


def _claim(mechanism: Mechanism[Any]) -> Guarantee:
    """The guarantee, if it is finite and can be refuted."""
    guarantee = mechanism.guarantee
    if not guarantee.events or guarantee.epsilon == inf:
        raise PrivacyError("this mechanism claims no ε, so there is nothing to refute. Attack its model instead.")
    return guarantee


def _apart(result: DistinguishingResult, where: str) -> str:
    return (
        f"the {where} distinguishes runs with the canary from others better than the claimed curve allows: ε is at "
        f"least {result.curve_bound:.2f} if the noise has the claimed form, {result.bound:.2f} whatever its form "
        f"({result.trials:,} trials)."
    )
