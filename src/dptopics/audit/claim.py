"""Auditing what a mechanism claims: every way in which it could break its promise is tried, and so are controls.

Five kinds of evidence. *Sums*: the exact sums of two neighbours may not differ by more than is priced. *Noise*: what was
drawn has the size and the law that are stated, anew for every cell, look and run. *Telling apart*: the likelihood ratio
over all noisy sums errs as often as the claimed curve demands. *Lone words*: what only a canary wrote comes out as
rarely as is priced. *Replay*: a run that is told the same answers releases the same, so that nothing flows past them.
The first and the last are exact; the others together raise a false alarm with probability at most ``ERROR``.

Then all of it runs again with too little noise. An audit that does not see that says nothing. NOT FOR RELEASE.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any

from dptopics import progress
from dptopics.audit.case import Case, case_of, replayed
from dptopics.audit.finding import CONTROLS, HALF_THRESHOLD, ClaimAudit, Finding
from dptopics.audit.noise_law import oddities
from dptopics.audit.people import Design, background, designs, lone
from dptopics.audit.released import ReleasedCase, through_release
from dptopics.audit.transcript import Question, Recorder, run
from dptopics.audit.trials import Told, lone_words_shown, through_sums
from dptopics.data.bounded import BoundedCorpus
from dptopics.data.corpus import Corpus
from dptopics.errors import InputError, PrivacyError
from dptopics.privacy.controls import under_noised
from dptopics.privacy.events import Failure
from dptopics.privacy.guarantee import Guarantee
from dptopics.privacy.mechanism import Mechanism
from dptopics.privacy.rng import secure_rng
from dptopics.release.vocabulary import Vocabulary

ERROR = 1e-4  # of a whole audit: the chance that an honest mechanism is called violated
_RUNS = 12  # of each question, for the law of the noise
_WHOLE = 3  # complete runs, of which none may share noise with another


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much work an audit may be. Public: it says nothing about the data."""

    trials: int = 2000
    runs: int = _RUNS
    units: int = 60  # of the data, as a background
    seconds: float = 60.0  # for telling apart; half of it for lone words, and for what is released

    @classmethod
    def thorough(cls) -> "Effort":
        """Enough to see half of the noise by telling neighbours apart."""
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
    """The work of one audit, and what it found so far."""

    mechanism: Mechanism[Any]
    corpus: Corpus
    effort: Effort
    limits: dict[str, Any]
    notes: list[str] = field(default_factory=list)

    def result(self) -> ClaimAudit:
        """The cheapest evidence first; a violation needs no controls."""
        claim = _claim(self.mechanism)
        begun = monotonic()
        some = background(self.corpus, self.effort.units)
        with progress.part(0.0, 0.2):
            case, findings = self._worst_case(some)
        if not findings and case is not None:
            findings += self._replayed(case)
        told: list[Told] = []
        with progress.part(0.2, 0.6):
            if not findings:
                findings += self._evidence(case, some, told)
        controls: dict[str, str] = {}
        with progress.part(0.6, 1.0):
            if not findings:
                controls = self._controls(case, some)
        return ClaimAudit(
            mechanism=self.mechanism.name,
            claim=claim,
            findings=tuple(findings),
            controls=controls,
            notes=tuple(self.notes),
            canary="" if case is None else case.design.name,
            reach=None if case is None else case.reach,
            told=told[0] if told else None,
            error=ERROR,
            seconds=monotonic() - begun,
        )

    # --- canaries ---

    def _worst_case(self, some: Corpus) -> tuple[Case | None, list[Finding]]:
        """The canary that moves the noisy sums most; and sums that move further than is priced."""
        best: Case | None = None
        for design in designs(self.mechanism, some, _public_words(self.mechanism, some)):
            case = case_of(self.mechanism, design, self._bounded(design, some))
            if case is None:
                continue
            if case.books.problem:
                return case, [Finding("books", f"{case.books.problem}.", None)]
            most = max(case.moved, default=0.0)
            if most > 1 + 1e-9:
                what = f"{self.mechanism.unit} moves a sum by {most:.3g} times what the noise is made for"
                return case, [Finding("sums", f"one {what} (canary: {design.name}).", None)]
            if best is None or case.reach > best.reach * 1.01:
                best = case
        if best is None:
            self.notes.append("No canary could be followed through the mechanism's questions.")
        elif not best.books.in_sight:
            self.notes.append(
                "The mechanism draws noise where the audit cannot watch: only what it releases was tested."
            )
        elif not best.released:
            self.notes.append("Nothing was released from the data that the audit made: its noisy sums were still seen.")
        return best, []

    def _bounded(self, design: Design, some: Corpus) -> tuple[BoundedCorpus, BoundedCorpus]:
        pair = []
        for each in design.pair(some):
            bounded = each.bounded(unit=self.mechanism.unit, **self.limits)
            self.mechanism.check(bounded)
            pair.append(bounded)
        return pair[0], pair[1]

    # --- evidence ---

    def _replayed(self, case: Case) -> list[Finding]:
        if not case.books.in_sight:
            return []
        same = replayed(self.mechanism, case.corpora, seed=1)
        if same is None:
            self.notes.append("Runs could not be repeated exactly, so leaks past the noisy sums were not searched for.")
        if same is not False:
            return []
        return [Finding("replay", "the release depends on the data past its noisy sums.", None)]

    def _evidence(
        self, case: Case | None, some: Corpus, told: list[Told], *, mechanism: Mechanism[Any] | None = None
    ) -> list[Finding]:
        """What chance may speak against, each kind with a quarter of the error."""
        if case is None or not case.books.in_sight:
            return self._of_release(some, told, mechanism or self.mechanism)
        found = self._noise(case)
        found = found or self._lone_words(some, mechanism or self.mechanism)
        if found:
            return found
        result = through_sums(case, trials=self.effort.trials, error=ERROR / 4, seconds=self.effort.seconds)
        told.append(result)
        return [_apart(result, "noisy sums")] if result.violated else []

    def _noise(self, case: Case) -> list[Finding]:
        """The law of what is drawn, in questions asked again and in complete runs."""
        runs = []
        for _ in range(_WHOLE):
            recorder = Recorder()
            run(self.mechanism, case.corpora[1], recorder, secure_rng())
            runs.append([look for one in recorder.questions for look in one.looks])
        for _ in range(self.effort.runs):
            runs.append([look for one in case.questions[1] for look in one.again().looks])
        tests = oddities(runs)
        odd = [one for one in tests if one.p_value < ERROR / 4 / len(tests)]
        return [Finding("noise", f"{one.what}.", one.p_value) for one in odd[:3]]

    def _lone_words(self, some: Corpus, mechanism: Mechanism[Any]) -> list[Finding]:
        """Words that only one canary wrote: that they come out at all is paid from δ."""
        failing = sum(e.probability for e in self.mechanism.guarantee.events if isinstance(e, Failure))
        design = lone(mechanism, some)
        recorder = Recorder()
        corpus = self._bounded(design, some)[1]
        run(mechanism, corpus, recorder, secure_rng())
        asked = [one for one in recorder.questions if isinstance(one.answer, Vocabulary)]
        words = frozenset(word for document in design.canary.documents for word in document)
        if not asked or not words - set(_public_words(mechanism, some)):
            return []
        runs, shown, chance = lone_words_shown(self._again(asked[0]), words, failing=failing)
        if chance >= ERROR / 4:
            return []
        return [
            Finding("lone words", f"words of one {mechanism.unit} alone came out in {shown} of {runs} runs.", chance)
        ]

    def _again(self, question: Question) -> Iterator[Question]:
        end = monotonic() + self.effort.seconds / 4
        for _ in range(self.effort.trials // 4):
            yield question.again()
            if monotonic() > end:
                return

    def _of_release(self, some: Corpus, told: list[Told], mechanism: Mechanism[Any]) -> list[Finding]:
        """By what is released alone: for mechanisms whose noise cannot be watched."""
        chosen = ReleasedCase.worst(
            mechanism, [(d, self._bounded(d, some)) for d in designs(mechanism, some, _public_words(mechanism, some))]
        )
        self.notes += [note for note in chosen.notes if note not in self.notes]
        result = through_release(
            chosen,
            self.mechanism.guarantee,
            trials=self.effort.trials,
            error=ERROR / 2,
            seconds=self.effort.seconds / 2,
        )
        told.append(result)
        return [_apart(result, "release")] if result.violated else []

    # --- controls ---

    def _controls(self, case: Case | None, some: Corpus) -> dict[str, str]:
        """Which under-noised controls this audit sees, and by which evidence."""
        watched = case is not None and case.books.in_sight
        seen: dict[str, str] = {}
        for name, share in CONTROLS.items():
            changed = self.mechanism if watched else _rescaled(self.mechanism, share)
            quiet: Callable[[float], AbstractContextManager[None]] = (
                under_noised if watched else lambda _: nullcontext()
            )
            if changed is None:
                seen[name] = ""
                continue
            with quiet(share):
                found = self._evidence(case, some, [], mechanism=changed)
            seen[name] = found[0].check if found else ""
        halved = _half_threshold(self.mechanism)
        if halved is not None:
            found = self._lone_words(some, halved)
            seen[HALF_THRESHOLD] = found[0].check if found else ""
        return seen


def _claim(mechanism: Mechanism[Any]) -> Guarantee:
    """The guarantee, if it says something that could be refuted."""
    guarantee = mechanism.guarantee
    if not guarantee.events or guarantee.epsilon == float("inf"):
        raise PrivacyError("this mechanism claims no ε, so there is nothing to refute. Attack its model instead.")
    return guarantee


def _apart(told: Told, where: str) -> Finding:
    what = (
        f"with and without the canary are told apart by the {where} better than the claimed curve allows: ε is at least "
        f"{told.curve_bound:.2f} if the noise has the form that is claimed, {told.bound:.2f} whatever its form "
        f"({told.trials:,} trials)."
    )
    return Finding("telling apart", what, told.error)


def _public_words(mechanism: Any, corpus: Corpus) -> tuple[str, ...]:
    """Words that anybody may use: of the corpus if it was read with a list, else of the mechanism."""
    if corpus.vocabulary is not None:
        return corpus.vocabulary.words
    for part in (mechanism, getattr(mechanism, "vocabulary", None)):
        words: tuple[str, ...] = getattr(part, "public_words", ())
        if words:
            return words
    return ()


def _rescaled(mechanism: Mechanism[Any], share: float) -> Mechanism[Any] | None:
    """The mechanism with less noise than it claims, where the audit cannot take the noise away itself."""
    try:
        return mechanism.rescaled(max(share, 2.0**-12))
    except (InputError, PrivacyError):
        return None


def _half_threshold(mechanism: Any) -> Mechanism[Any] | None:
    """The same with a vocabulary whose threshold is half of what it was, by a larger tail; None: it has none."""
    part = mechanism if hasattr(mechanism, "threshold") else getattr(mechanism, "vocabulary", None)
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
