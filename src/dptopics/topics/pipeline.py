"""Vocabulary, then topics: fully private topic modelling (FDPTM, Manzonelli et al. 2024, algorithm 1)."""

from dataclasses import dataclass
from typing import ClassVar

from dptopics.privacy.mechanism import Mechanism
from dptopics.release.topic_model import TopicModel
from dptopics.vocabulary.then import VocabularyThen


@dataclass(frozen=True, kw_only=True)
class VocabularyThenTopics(VocabularyThen[TopicModel]):
    """Choose words privately, restrict the raw data to them, learn topics privately.

    Proof: docs/guarantees/pipeline.md
    """

    topics: Mechanism[TopicModel]
    part: ClassVar[str] = "topics"
    nothing: ClassVar[str] = (
        "no word cleared the privacy threshold, so there is no vocabulary to build topics on (the budget was charged). "
        "Give more data, a higher epsilon, a larger share for the vocabulary, or a public word list (--vocabulary "
        "FILE), which costs nothing."
    )
    name: ClassVar[str] = "vocabulary-then-topics"
    paper: ClassVar[str] = "Manzonelli et al. 2024 (FDPTM)"

    @property
    def then(self) -> Mechanism[TopicModel]:
        """The topics."""
        return self.topics
