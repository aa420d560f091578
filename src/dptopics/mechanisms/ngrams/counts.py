"""Counting n-grams per author, and what the n-gram mechanisms share."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dptopics.core.errors import InputError, PrivacyError
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.bounded import Block, BoundedCorpus, UnitRows
from dptopics.data.public_inputs import PublicNgrams
from dptopics.kernels.counts import unit_counts
from dptopics.mechanisms.mechanism import Job, Mechanism, Registered, check_unit
from dptopics.mechanisms.vocabulary.two_stage import VocabularyThen
from dptopics.release.ngrams import NgramTable


@dataclass(frozen=True)
class CountsAndUsers:
    """A unit's n-grams: how often each occurs, at most ``max_count`` times, and a one for the unit itself."""

    n_words: int
    max_count: int
    height: ClassVar[None] = None
    width: ClassVar[int] = 2

    def __call__(self, block: Block) -> UnitRows:
        return UnitRows(*unit_counts(*block[:4], self.n_words, self.max_count))


@dataclass(frozen=True)
class LimitedCounts(CountsAndUsers):
    """The same without the one for the unit."""

    width: ClassVar[int] = 1

    def __call__(self, block: Block) -> UnitRows:
        start, rows, values = super().__call__(block)
        return UnitRows(start, rows, np.ascontiguousarray(values[:, :1]))


class OverNgrams(Registered):
    """What n-gram mechanisms share: a list of n-grams with public counts, if there is one."""

    prior: PublicNgrams | None
    job: ClassVar[Job] = Job.NGRAMS

    @property
    def public_words(self) -> tuple[str, ...]:
        return () if self.prior is None else self.prior.vocabulary.words


def check_list(mechanism: Mechanism[Any], corpus: BoundedCorpus, prior: PublicNgrams | None) -> Vocabulary:
    """The public list of n-grams; refuse a private one, an empty one, and one that the public counts do not know."""
    check_unit(mechanism, corpus)
    if corpus.vocabulary is None:
        raise PrivacyError(
            "the n-grams of this corpus are private. Give a public list, or put a vocabulary in front "
            "(VocabularyThenNgrams)."
        )
    if len(corpus.vocabulary) == 0:
        raise InputError("the list of n-grams is empty: there is nothing to count.")
    if prior is not None:
        prior.counts_of(corpus.vocabulary)
    return corpus.vocabulary


def check_limits(max_words: int | None, max_count: int) -> None:
    """Refuse limits that mean nothing, or that 64-bit sums could not hold."""
    if max_words is not None and max_words < 1:
        raise InputError(f"max_words must be at least 1, got {max_words}.")
    if not 1 <= max_count <= 1_000_000:
        raise InputError(f"max_count must lie between 1 and 1,000,000, got {max_count}.")


def positive_shares(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Counts that may be negative, as probabilities: cut at zero, plus one each.

    The published baselines cut at zero. Zeros would make every divergence and perplexity infinite; one more on each
    n-gram is what the paper's own logarithms do.
    """
    raised = np.maximum(counts, 0.0) + 1.0
    return np.asarray(raised / raised.sum())


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
