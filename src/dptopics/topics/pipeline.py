"""Vocabulary, then topics: fully private topic modelling (FDPTM, Manzonelli et al. 2024, algorithm 1)."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from numpy.random import Generator

from dptopics import progress
from dptopics.data.bounded import BoundedCorpus
from dptopics.errors import InputError, NothingReleased
from dptopics.privacy.guarantee import Guarantee, Unit, composed_over_words
from dptopics.privacy.mechanism import Mechanism
from dptopics.release.release import Release
from dptopics.release.topic_model import TopicModel
from dptopics.release.vocabulary import Vocabulary
from dptopics.topics.embedded.mechanism import EmbeddedTopics


@dataclass(frozen=True, kw_only=True)
class VocabularyThenTopics:
    """Choose words privately, restrict the raw data to them, learn topics privately.

    The two compose: the events of both are priced together at one δ. Proof: docs/guarantees/pipeline.md
    """

    vocabulary: Mechanism[Vocabulary]
    topics: Mechanism[TopicModel]
    delta: float
    name: ClassVar[str] = "vocabulary-then-topics"
    paper: ClassVar[str] = "Manzonelli et al. 2024 (FDPTM)"

    def __post_init__(self) -> None:
        self._composed()  # refuses parts that do not add up

    @property
    def unit(self) -> Unit:
        """Whose presence it hides."""
        return self.topics.unit

    @property
    def guarantee(self) -> Guarantee:
        """The events of both parts, composed."""
        return self._composed()

    def _composed(self) -> Guarantee:
        return composed_over_words(self.vocabulary.guarantee, self.topics.guarantee, delta=self.delta)

    def rescaled(self, factor: float) -> Self:
        """Both parts with other noise."""
        return replace(self, vocabulary=self.vocabulary.rescaled(factor), topics=self.topics.rescaled(factor))

    def check(self, corpus: BoundedCorpus) -> None:
        """What the vocabulary can run on; the topics see only what it releases."""
        self.vocabulary.check(corpus)
        if isinstance(self.topics, EmbeddedTopics):  # what does not depend on the words is told before the charge
            self.topics.check_documents(corpus)

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[TopicModel]:
        """Vocabulary, restriction, topics."""
        self.check(corpus)
        with progress.part(0.0, 0.1):
            words = self.vocabulary(corpus, rng).value
        if len(words) == 0:
            raise NothingReleased(
                "no word cleared the privacy threshold, so there is no vocabulary to build topics on (the budget was "
                "charged). Give more data, a higher epsilon, a larger share for the vocabulary, or a public word list "
                "(--vocabulary FILE), which costs nothing."
            )
        restricted = corpus.limited(vocabulary=words)
        try:
            self.topics.check(restricted)
        except InputError as error:  # it depends on the words just released: charged already
            raise NothingReleased(f"{error} (The budget was charged.)") from None
        with progress.part(0.1, 1.0):
            model = self.topics(restricted, rng).value
        return Release.of(model, self, rng)
