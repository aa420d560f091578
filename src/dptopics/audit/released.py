"""Telling neighbours apart by what is released alone: for mechanisms whose noise cannot be watched."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dptopics.audit.curves import claimed_curve
from dptopics.audit.people import Design
from dptopics.audit.trials import Told, tell_apart
from dptopics.audit.units import SCORES, Score, released_value, separation
from dptopics.data.bounded import BoundedCorpus
from dptopics.privacy.guarantee import Guarantee
from dptopics.privacy.mechanism import Mechanism
from dptopics.privacy.rng import secure_rng

_REHEARSALS = 24  # runs of each canary, by which score, direction and threshold are chosen; they count for nothing else
Pair = tuple[BoundedCorpus, BoundedCorpus]


@dataclass(frozen=True, eq=False)
class ReleasedCase:
    """A canary, and the test of a released value that told it best in rehearsals: sign · (score − threshold) > 0."""

    mechanism: Mechanism[Any]
    corpora: Pair
    words: tuple[str, ...]
    score: Score
    sign: int
    threshold: float
    notes: tuple[str, ...]

    @classmethod
    def worst(cls, mechanism: Mechanism[Any], cases: Sequence[tuple[Design, Pair]]) -> "ReleasedCase":
        """Of all canaries and scores those that tell best."""
        best, most, notes = None, -1.0, []
        for design, corpora in cases:
            words = tuple(dict.fromkeys(word for document in design.canary.documents for word in document))
            values = [
                [released_value(mechanism, corpus, secure_rng()) for _ in range(_REHEARSALS // 2)] for corpus in corpora
            ]
            flat = [value for world in values for value in world]
            if all(value is None for value in flat):
                notes.append("Nothing was released with some of the canaries: the audit saw no value to judge.")
                continue
            for score in SCORES.values():
                without, within = (np.array([score(value, words) for value in world]) for world in values)
                told = separation(within, without)
                if told > most:
                    middle = float(within.mean() + without.mean()) / 2
                    sign = 1 if within.mean() >= without.mean() else -1
                    best, most = cls(mechanism, corpora, words, score, sign, middle, ()), told
        if best is None:
            _, corpora = cases[0]
            best = cls(mechanism, corpora, (), lambda value, words: 0.0 if value is None else 1.0, 1, 0.5, ())
        elif most == 0:
            notes.append(
                "No score differed between runs with and without the canary: it may never get into the release."
            )
        return replace(best, notes=tuple(dict.fromkeys(notes)))

    def __call__(self, within: bool) -> float:
        """The score of a fresh run."""
        value = released_value(self.mechanism, self.corpora[within], secure_rng())
        return self.sign * (self.score(value, self.words) - self.threshold)


def through_release(case: ReleasedCase, claim: Guarantee, *, trials: int, error: float, seconds: float) -> Told:
    """Fresh runs with and without the canary, against the curve of what is claimed."""
    curve = claimed_curve(claim.events)
    return tell_apart(case, curve, delta=claim.delta, trials=trials, error=error, seconds=seconds)
