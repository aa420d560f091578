"""A vocabulary mechanism under the other relation: one unit exchanged for another."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from numpy.random import Generator

from dptopics.data.bounded import BoundedCorpus
from dptopics.errors import PrivacyError
from dptopics.privacy.events import Event, Failure, Gaussian, Laplace
from dptopics.privacy.guarantee import Guarantee, Relation, Unit
from dptopics.privacy.mechanism import Mechanism
from dptopics.release.release import Release
from dptopics.release.vocabulary import Vocabulary


@dataclass(frozen=True, kw_only=True)
class ReplaceOneVocabulary:
    """The same words with the same noise, priced for one unit exchanged for another.

    An exchange is a removal and an addition: weights move by at most twice as much, and words of either unit alone may
    fail to stay hidden. Proof: docs/guarantees/output.md
    """

    vocabulary: Mechanism[Vocabulary]
    name: ClassVar[str] = "replace-one-vocabulary"
    paper: ClassVar[str] = "-"

    @property
    def unit(self) -> Unit:
        """Whose presence it hides."""
        return self.vocabulary.unit

    @property
    def guarantee(self) -> Guarantee:
        """Every event of the vocabulary at twice the sensitivity, every failure twice."""
        base = self.vocabulary.guarantee
        return replace(base, events=tuple(e for event in base.events for e in _twice(event)), relation=Relation.REPLACE)

    def rescaled(self, factor: float) -> Self:
        """The same with other noise."""
        return replace(self, vocabulary=self.vocabulary.rescaled(factor))

    def check(self, corpus: BoundedCorpus) -> None:
        """What the vocabulary can run on."""
        self.vocabulary.check(corpus)

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[Vocabulary]:
        """Release the words."""
        return Release.of(self.vocabulary(corpus, rng).value, self, rng)


def _twice(event: Event) -> tuple[Event, ...]:
    match event:
        case Gaussian(sigma, count):
            return (Gaussian(sigma / 2, count),)
        case Laplace(scale, count):
            return (Laplace(scale / 2, count),)
        case Failure():
            return (event, event)
    raise PrivacyError(f"no price is known for {type(event).__name__} when one unit is exchanged for another.")
