"""A vocabulary mechanism under the other relation: one unit exchanged for another."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from numpy.random import Generator

from dptopics.data.bounded import BoundedCorpus
from dptopics.errors import PrivacyError
from dptopics.privacy.events import Event, Failure, Gaussian, Laplace
from dptopics.privacy.guarantee import Guarantee, Unit
from dptopics.privacy.mechanism import Mechanism, Registered
from dptopics.privacy.relation import Relation
from dptopics.release.release import Release
from dptopics.release.vocabulary import Vocabulary


@dataclass(frozen=True, kw_only=True)
class ReplaceOneVocabulary(Registered):
    """The same words with the same noise, priced for one unit exchanged for another.

    An exchange is a removal and an addition: weights move by at most twice as much, and words of either unit alone may
    fail to stay hidden. Proof: docs/guarantees/output.md
    """

    vocabulary: Mechanism[Vocabulary]
    name: ClassVar[str] = "replace-one-vocabulary"
    paper: ClassVar[str] = "-"

    def __post_init__(self) -> None:
        self._exchanged()  # refuses a vocabulary that cannot be priced so

    @property
    def unit(self) -> Unit:
        """Whose presence it hides."""
        return self.vocabulary.unit

    @property
    def guarantee(self) -> Guarantee:
        """Every event of the vocabulary at twice the sensitivity, every failure twice."""
        return self._exchanged()

    def _exchanged(self) -> Guarantee:
        base = self.vocabulary.guarantee
        return replace(base, events=tuple(e for event in base.events for e in _twice(event)))

    @property
    def public_words(self) -> tuple[str, ...]:
        """Those of the vocabulary."""
        inner: Any = self.vocabulary
        words: tuple[str, ...] = inner.public_words
        return words

    def rehearsed(self, words: tuple[str, ...] = ()) -> list[tuple[Any, tuple[str, ...]]]:
        """The vocabulary."""
        inner: Any = self.vocabulary
        parts: list[tuple[Any, tuple[str, ...]]] = inner.rehearsed(words)
        return parts

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
    """What a draw made for one unit more or less is for one in place of another."""
    if event.relation is not Relation.ADD_OR_REMOVE:
        raise PrivacyError(f"only a vocabulary of add-or-remove can be priced for an exchange, got {event.relation}.")
    match event:
        case Gaussian(sigma, count):
            return (Gaussian(sigma / 2, count, Relation.REPLACE),)
        case Laplace(scale, count):
            return (Laplace(scale / 2, count, Relation.REPLACE),)
        case Failure(probability):
            return (Failure(probability, Relation.REPLACE),) * 2
    raise PrivacyError(f"no price is known for {type(event).__name__} when one unit is exchanged for another.")
