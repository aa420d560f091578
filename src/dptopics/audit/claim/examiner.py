"""Auditing what a mechanism claims: every way to break the guarantee is tried, and so are under-noised controls.

Kinds of evidence. *Sums*: the exact sums of two neighbours must not differ by more than is priced. *Answers*: what
a mechanism receives depends on sum plus noise alone. *Noise*: the draws have the stated size and distribution,
independent in every cell, query and run. *Distinguishing*: the likelihood ratio over all noisy sums errs as often as
the claimed curve demands. *Lone words*: words that only a canary wrote are released as rarely as is priced. *Replay*: a
run given the same answers releases the same, so nothing bypasses them. Sums, answers and replay are exact; the others
together raise a false alarm with probability at most ``ERROR``.

Then all of it runs again with too little noise. An audit that does not detect that is inconclusive; so is one of
a mechanism whose noise cannot be observed, because "too little" is undefined there. NOT FOR RELEASE.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any

from dptopics.audit.claim.case import Case, case_of, replayed, tells_more
from dptopics.audit.claim.designs import Design, background, designs, lone, over_fewer_words, public_words
from dptopics.audit.claim.distinguishing import (
    DistinguishingResult,
    ReleasedCase,
    lone_words_shown,
    through_release,
    through_sums,
)
from dptopics.audit.claim.finding import CONTROLS, HALF_THRESHOLD, ClaimAudit, Finding
from dptopics.audit.claim.transcript import Question, Recorder, oddities, run
from dptopics.core import progress
from dptopics.core.errors import PrivacyError
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.bounded import BoundedCorpus
from dptopics.data.corpus import Corpus
from dptopics.mechanisms.mechanism import Mechanism
from dptopics.mechanisms.queries import Query
from dptopics.privacy.controls import share_of_noise, under_noised
from dptopics.privacy.events import Failure
from dptopics.privacy.guarantee import Guarantee
from dptopics.privacy.rng import secure_rng

ERROR = 1e-4  # of a whole audit: the probability that a correct mechanism is called violated
_RUNS = 12  # of each question, for the law of the noise
_WHOLE = 3  # complete runs, whose noise must be independent


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much work an audit may do. Public: it does not depend on the data."""

    trials: int = 2000
    runs: int = _RUNS
    units: int = 60  # of the data, as a background
    seconds: float = 20.0  # for the distinguishing test, and for what is released; a quarter of it for lone words

    @classmethod
    def thorough(cls) -> "Effort":
        """Enough to detect half of the noise by the distinguishing test."""
        return cls(trials=16_000, runs=40, units=200, seconds=500.0)


def audit_claim(
    mechanism: Mechanism[Any],
    corpus: Corpus,
    *,
    max_docs: int | None = None,
    max_words: int | None = None,
    effort: Effort | None = None,
) -> ClaimAudit:
    """Try to refute what ``mechanism`` claims, on some of the corpus's units and on canaries made for it.

    Spends no budget. Limits as for :meth:`dptopics.Corpus.bounded`.
    """
    return _Audit(mechanism, corpus, effort or Effort(), {"max_docs": max_docs, "max_words": max_words}).result()


@dataclass
class _Audit:
    """One audit in progress, with its notes so far."""

    mechanism: Mechanism[Any]
    corpus: Corpus
    effort: Effort
    limits: dict[str, Any]
    notes: list[str] = field(default_factory=list)

    def result(self) -> ClaimAudit:
        """The cheapest evidence first; a violation needs no controls."""
        claim, begun, whole = _claim(self.mechanism), monotonic(), self.mechanism
        some = background(self.corpus, self.effort.units)
        self.mechanism = over_fewer_words(whole, some)
        with progress.part(0.0, 0.2):
            case, findings = self._worst_case(some)
        if not findings and case is not None:
            findings += self._replayed(case, some)
        results: list[DistinguishingResult] = []
        with progress.part(0.2, 0.6):
            if not findings and self.mechanism is not whole:
                findings += self._noise_of_all(whole, some)
            if not findings:
                findings += self._evidence(case, some, results)
        controls: dict[str, str] = {}
        with progress.part(0.6, 1.0):
            if not findings and case is not None and case.accounting.in_sight:
                controls = self._controls(case, some)
        return ClaimAudit(
            mechanism=self.mechanism.name,
            claim=claim,
            findings=tuple(findings),
            controls=controls,
            notes=tuple(self.notes),
            canary="" if case is None else case.design.name,
            reach=case.reach if case is not None and case.accounting.in_sight else None,
            distinguishing=results[0] if results else None,
            error=ERROR,
            seconds=monotonic() - begun,
        )

    # --- canaries ---

    def _worst_case(self, some: Corpus) -> tuple[Case | None, list[Finding]]:
        """The canary that moves the noisy sums most, and sums that move further than is priced."""
        best: Case | None = None
        for design in designs(self.mechanism, some, public_words(self.mechanism, some)):
            case = case_of(self.mechanism, design, self._bounded(design, some))
            if case is None:
                continue
            if case.accounting.problem:
                return case, [Finding("accounting", f"{case.accounting.problem}.", None)]
            most = max(case.moved, default=0.0)
            if most > 1 + 1e-9:
                what = f"{self.mechanism.unit} moves a sum by {most:.3g} times its stated sensitivity"
                return case, [Finding("sums", f"one {what} (canary: {design.name}).", None)]
            if best is None or case.reach > best.reach * 1.01:
                best = case
        if best is None:
            self.notes.append("No canary could be followed through the mechanism's questions.")
        elif not best.accounting.in_sight:
            self.notes.append("It draws noise that the audit cannot observe, so only what it releases was tested.")
        elif not best.released:
            self.notes.append("Nothing was released from the audit's data; its noisy sums were still observed.")
        return best, []

    def _bounded(self, design: Design, some: Corpus) -> tuple[BoundedCorpus, BoundedCorpus]:
        pair = []
        for each in design.pair(some):
            bounded = each.bounded(unit=self.mechanism.unit, **self.limits)
            self.mechanism.check(bounded)
            pair.append(bounded)
        return pair[0], pair[1]

    # --- evidence ---

    def _replayed(self, case: Case, some: Corpus) -> list[Finding]:
        """Answers and releases must depend on the data through noisy sums alone."""
        if not case.accounting.in_sight:
            return []
        few = background(some, 1).bounded(unit=self.mechanism.unit, **self.limits)
        if tells_more(case, few):
            return [Finding("answers", "an answer depends on the data beyond its noisy sum.", None)]
        same = replayed(self.mechanism, case.corpora, seed=1)
        if same is None:
            self.notes.append(
                "Runs could not be repeated exactly, so leaks that bypass the noisy sums were not tested."
            )
        if same is not False:
            return []
        return [Finding("replay", "the release depends on the data beyond its noisy sums.", None)]

    def _evidence(self, case: Case | None, some: Corpus, results: list[DistinguishingResult]) -> list[Finding]:
        """The statistical evidence, each kind with a quarter of the error."""
        if case is None or not case.accounting.in_sight:
            return self._of_release(some, results)
        if found := self._noise(case) or self._lone_words(some, self.mechanism):
            return found
        result = through_sums(case, trials=self.effort.trials, error=ERROR / 4, seconds=self.effort.seconds)
        results.append(result)
        return [_apart(result, "transcript of noisy sums")] if result.violated else []

    def _noise(self, case: Case) -> list[Finding]:
        """The distribution of the draws, in repeated questions and in complete runs."""
        # Controls draw less noise, not the same noise twice: complete runs add nothing.
        runs = [_queries(self.mechanism, case.corpora[1]) for _ in range(_WHOLE)] if share_of_noise() == 1 else []
        for _ in range(self.effort.runs):
            runs.append([query for one in case.questions[1] for query in one.again().queries])
        return _odd(runs, ERROR / 8)

    def _noise_of_all(self, whole: Mechanism[Any], some: Corpus) -> list[Finding]:
        """The same over all public words, of which the rest of the audit uses some: two complete runs."""
        design = next(designs(whole, some, public_words(whole, some)))
        corpus = self._bounded(design, some)[1]
        return _odd([_queries(whole, corpus) for _ in range(2)], ERROR / 8)

    def _lone_words(self, some: Corpus, mechanism: Mechanism[Any]) -> list[Finding]:
        """Words that only one canary wrote: δ pays for releasing any."""
        failing = sum(e.probability for e in self.mechanism.guarantee.events if isinstance(e, Failure))
        design = lone(mechanism, some)
        recorder = Recorder()
        corpus = self._bounded(design, some)[1]
        run(mechanism, corpus, recorder, secure_rng())
        asked = [one for one in recorder.questions if isinstance(one.answer, Vocabulary)]
        words = frozenset(word for document in design.canary.documents for word in document)
        if not asked or not words - set(public_words(mechanism, some)):
            return []
        runs, shown, chance = lone_words_shown(self._again(asked[0]), words, failing=failing)
        if chance >= ERROR / 4:
            return []
        what = f"words of a single {mechanism.unit} were released in {shown} of {runs} runs."
        return [Finding("lone words", what, chance)]

    def _again(self, question: Question) -> Iterator[Question]:
        end = monotonic() + self.effort.seconds / 4
        for _ in range(self.effort.trials // 2):
            yield question.again()
            if monotonic() > end:
                return

    def _of_release(self, some: Corpus, results: list[DistinguishingResult]) -> list[Finding]:
        """By what is released alone: for mechanisms whose noise cannot be observed."""
        mechanism = self.mechanism
        chosen = ReleasedCase.worst(
            mechanism, [(d, self._bounded(d, some)) for d in designs(mechanism, some, public_words(mechanism, some))]
        )
        self.notes += [note for note in chosen.notes if note not in self.notes]
        result = through_release(
            chosen, self.mechanism.guarantee, trials=self.effort.trials, error=ERROR / 2, seconds=self.effort.seconds
        )
        results.append(result)
        return [_apart(result, "release")] if result.violated else []

    # --- controls ---

    def _controls(self, case: Case, some: Corpus) -> dict[str, str]:
        """Which under-noised controls this audit detects, and by which evidence."""
        seen: dict[str, str] = {}
        for name, share in CONTROLS.items():
            with under_noised(share):
                found = self._evidence(case, some, [])
            seen[name] = found[0].check if found else ""
        halved = _half_threshold(self.mechanism)
        if halved is not None:
            found = self._lone_words(some, halved)
            seen[HALF_THRESHOLD] = found[0].check if found else ""
        return seen


def _claim(mechanism: Mechanism[Any]) -> Guarantee:
    """The guarantee, if it is finite and can be refuted."""
    guarantee = mechanism.guarantee
    if not guarantee.events or guarantee.epsilon == float("inf"):
        raise PrivacyError("this mechanism claims no ε, so there is nothing to refute. Attack its model instead.")
    return guarantee


def _queries(mechanism: Mechanism[Any], corpus: BoundedCorpus) -> list[Query]:
    """The queries of one complete run."""
    recorder = Recorder()
    run(mechanism, corpus, recorder, secure_rng())
    return [query for one in recorder.questions for query in one.queries]


def _odd(runs: list[list[Query]], error: float) -> list[Finding]:
    tests = oddities(runs)
    odd = [one for one in tests if one.p_value < error / len(tests)]
    return [Finding("noise", f"{one.what}.", one.p_value) for one in odd[:3]]


def _apart(result: DistinguishingResult, where: str) -> Finding:
    what = (
        f"the {where} distinguishes runs with the canary from others better than the claimed curve allows: ε is at "
        f"least {result.curve_bound:.2f} if the noise has the claimed form, {result.bound:.2f} whatever its form "
        f"({result.trials:,} trials)."
    )
    return Finding("distinguishing", what, result.error)


def _half_threshold(mechanism: Any) -> Mechanism[Any] | None:
    """The same mechanism with half the vocabulary threshold, by a larger tail; None: it has no threshold."""
    part: Any = mechanism if hasattr(mechanism, "threshold") else getattr(mechanism, "vocabulary", None)
    if not hasattr(part, "threshold") or not hasattr(part, "tail"):
        return None
    low, high = part.tail, 1 - 1e-9
    if replace(part, tail=high).threshold > part.threshold / 2:
        return None
    for _ in range(60):
        middle = (low * high) ** 0.5
        low, high = (low, middle) if replace(part, tail=middle).threshold <= part.threshold / 2 else (middle, high)
    lowered = replace(part, tail=high)
    found: Mechanism[Any] = lowered if part is mechanism else replace(mechanism, vocabulary=lowered)
    return found
