"""A private list of n-grams, then their probabilities: where no public list will do."""

from dataclasses import dataclass
from typing import ClassVar

from dptopics.privacy.mechanism import Mechanism
from dptopics.release.ngram_table import NgramTable
from dptopics.vocabulary.then import VocabularyThen


@dataclass(frozen=True, kw_only=True)
class VocabularyThenNgrams(VocabularyThen[NgramTable]):
    """Choose n-grams privately, restrict the raw data to them, count them privately.

    Proof: docs/guarantees/pipeline.md
    """

    ngrams: Mechanism[NgramTable]
    part: ClassVar[str] = "ngrams"
    nothing: ClassVar[str] = (
        "no n-gram cleared the privacy threshold (the budget was charged). Give more data, a higher epsilon, shorter "
        "n-grams, or a public list, which costs nothing."
    )
    halfway: ClassVar[float] = 0.5
    name: ClassVar[str] = "vocabulary-then-ngrams"
    paper: ClassVar[str] = "-"

    @property
    def then(self) -> Mechanism[NgramTable]:
        """The n-grams."""
        return self.ngrams
