"""The greedy vocabulary with its published threshold (Carvalho, Wang & Gondara 2022), as FDPTM takes it."""

from dataclasses import dataclass
from math import log
from typing import ClassVar

from dptopics.data.bounded import BoundedCorpus
from dptopics.mechanisms.vocabulary.policy import GreedyVocabulary
from dptopics.mechanisms.vocabulary.threshold import Weights
from dptopics.privacy.guarantee import Guarantee, Strength

_WHY_NONE = (
    "The claim is refuted: one unit can let words of others appear that had no weight without it, each above the "
    "threshold with chance δ·e^(−(1 − weight)/scale), and the threshold pays for a single one "
    "(docs/guarantees/greedy_vocabulary.md)."
)


@dataclass(frozen=True, kw_only=True)
class GreedyAsPublished(GreedyVocabulary):
    """A reproduction that hides nobody: to compare with FDPTM's word counts; ``greedy`` is the sound form.

    As ``greedy``, but only words of positive weight are candidates, and the threshold is 1 − scale · ln(2 · tail), as
    if a unit could start one new word only. Why that is wrong: docs/guarantees/greedy_vocabulary.md

    >>> mechanism = GreedyAsPublished.calibrated(epsilon=1.0, delta=1e-4, max_words=50)
    >>> round(mechanism.threshold, 2), str(mechanism.guarantee.strength)
    (9.52, 'none')
    """

    name: ClassVar[str] = "greedy-published"
    paper: ClassVar[str] = "Carvalho et al. 2022"

    @property
    def threshold(self) -> float:
        """1 − scale · ln(2 · tail): a lone word of weight one stays below it."""
        return 1 + self.scale * max(0.0, -log(2 * self.tail))

    @property
    def guarantee(self) -> Guarantee:
        return super().guarantee.weakened(Strength.NONE, _WHY_NONE)

    def weights(self, corpus: BoundedCorpus) -> Weights:
        """As ``greedy``; words that nobody had anything left for are no candidates."""
        weight, _ = super().weights(corpus)
        return Weights(weight, weight > 0)
