"""A vocabulary mechanism under the other relation: one unit exchanged for another."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from numpy.random import Generator

from dptopics.data.bounded import BoundedCorpus
from dptopics.errors import PrivacyError
from dptopics.privacy.exchange import exchanged
from dptopics.privacy.guarantee import Guarantee, Unit
from dptopics.privacy.mechanism import Mechanism, Registered
from dptopics.release.release import Release
from dptopics.release.vocabulary import Vocabulary


@dataclass(frozen=True, kw_only=True)
class ReplaceOneVocabulary(Registered):
    """The same words with the same noise, priced for one unit exchanged for another.

    Weights move by at most twice as much, or √2 times where they are sums, and words of either unit alone may fail to
    stay hidden. Proof: docs/guarantees/output.md
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
        """Every event of the vocabulary at the sensitivity to an exchange, every failure twice."""
        return self._exchanged()

    def _exchanged(self) -> Guarantee:
        base = self.vocabulary.guarantee
        events = exchanged(base.events)
        if events is None:
            raise PrivacyError(
                "only a vocabulary of add-or-remove, its noise not sampled, can be priced for an exchange of units: "
                f"this one is of {base.relation}."
            )
        return replace(base, events=events)

    def units_needed(self, n_words: int) -> float | None:
        """As of the vocabulary: the noise is the same."""
        inner: Any = self.vocabulary
        needed: float | None = inner.units_needed(n_words)
        return needed

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
