"""A public word list: costs nothing, and keeps only words somebody published before."""

from dataclasses import dataclass, field
from typing import ClassVar, Self

from numpy.random import Generator

from dptopics.data.bounded import BoundedCorpus
from dptopics.privacy.guarantee import PUBLIC_LIST, Guarantee, Strength, Unit
from dptopics.privacy.mechanism import Registered, check_unit
from dptopics.release.release import Release
from dptopics.release.vocabulary import Vocabulary


@dataclass(frozen=True, kw_only=True)
class PublicVocabulary(Registered):
    """Release a word list that was public before. It looks at no data, so ε = 0.

    Proof: docs/guarantees/public_vocabulary.md
    """

    vocabulary: Vocabulary = field(repr=False)
    delta: float
    unit: Unit = Unit.AUTHOR
    name: ClassVar[str] = "public"
    paper: ClassVar[str] = "-"

    @classmethod
    def example(cls) -> Self:
        """One without words, for tables."""
        return cls(vocabulary=Vocabulary(()), delta=1e-6)

    @property
    def guarantee(self) -> Guarantee:
        """Nothing is spent."""
        return Guarantee(
            events=(),
            delta=self.delta,
            unit=self.unit,
            strength=Strength.PROVED,
            assumptions=(PUBLIC_LIST,),
        )

    def rescaled(self, factor: float) -> Self:
        """Itself: there is no noise."""
        return self

    def check(self, corpus: BoundedCorpus) -> None:
        """Any corpus bounded for the same unit will do."""
        check_unit(self, corpus)

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[Vocabulary]:
        """The list as it is, also words that nobody in the corpus used."""
        self.check(corpus)
        return Release.of(self.vocabulary, self, rng)
