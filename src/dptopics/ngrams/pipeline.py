"""A private list of n-grams, then their probabilities: where no public list will do."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from numpy.random import Generator

from dptopics import progress
from dptopics.data.bounded import BoundedCorpus
from dptopics.errors import InputError, NothingReleased
from dptopics.privacy.guarantee import Guarantee, Unit, composed_over_words
from dptopics.privacy.mechanism import Mechanism
from dptopics.release.ngram_table import NgramTable
from dptopics.release.release import Release
from dptopics.release.vocabulary import Vocabulary


@dataclass(frozen=True, kw_only=True)
class VocabularyThenNgrams:
    """Choose n-grams privately, restrict the raw data to them, count them privately.

    The two compose: the events of both are priced together at one δ. Proof: docs/guarantees/pipeline.md
    """

    vocabulary: Mechanism[Vocabulary]
    ngrams: Mechanism[NgramTable]
    delta: float
    name: ClassVar[str] = "vocabulary-then-ngrams"
    paper: ClassVar[str] = "-"

    def __post_init__(self) -> None:
        self._composed()  # refuses parts that do not add up

    @property
    def unit(self) -> Unit:
        """Whose presence it hides."""
        return self.ngrams.unit

    @property
    def guarantee(self) -> Guarantee:
        """The events of both parts, composed."""
        return self._composed()

    def _composed(self) -> Guarantee:
        return composed_over_words(self.vocabulary.guarantee, self.ngrams.guarantee, delta=self.delta)

    def rescaled(self, factor: float) -> Self:
        """Both parts with other noise."""
        return replace(self, vocabulary=self.vocabulary.rescaled(factor), ngrams=self.ngrams.rescaled(factor))

    def check(self, corpus: BoundedCorpus) -> None:
        """What the vocabulary can run on; the n-grams see only what it releases."""
        self.vocabulary.check(corpus)

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[NgramTable]:
        """List, restriction, probabilities."""
        self.check(corpus)
        with progress.part(0.0, 0.5):
            listed = self.vocabulary(corpus, rng).value
        if len(listed) == 0:
            raise NothingReleased(
                "no n-gram cleared the privacy threshold (the budget was charged). Give more data, a higher epsilon, "
                "shorter n-grams, or a public list, which costs nothing."
            )
        restricted = corpus.limited(vocabulary=Vocabulary(listed.words))
        try:
            self.ngrams.check(restricted)
        except InputError as error:  # it depends on the n-grams just released: charged already
            raise NothingReleased(f"{error} (The budget was charged.)") from None
        with progress.part(0.5, 1.0):
            table = self.ngrams(restricted, rng).value
        return Release.of(table, self, rng)
