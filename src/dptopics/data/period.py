"""One period of a series: its documents, bounded, and what was counted in the periods before. Sensitive."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dptopics.data.bounded import Block, BoundedCorpus, Bounds, Sample, Statistic
from dptopics.data.earlier import Earlier
from dptopics.public.text import TextSettings
from dptopics.release.vocabulary import Vocabulary

S = TypeVar("S")


class PeriodCorpus:
    """A :class:`~dptopics.data.bounded.BoundedCorpus` that comes with earlier periods, and keeps its own sums."""

    def __init__(self, corpus: BoundedCorpus, earlier: Earlier, sums: "list[NDArray[np.int64]] | None" = None) -> None:
        self._corpus, self.earlier = corpus, earlier
        self.sums: list[NDArray[np.int64]] = [] if sums is None else sums  # in the order in which they were asked for

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: sensitive, {self.bounds}>"

    @property
    def bounds(self) -> Bounds:
        """How much a unit may contribute."""
        return self._corpus.bounds

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The public words, here cells."""
        return self._corpus.vocabulary

    @property
    def text(self) -> TextSettings | None:
        """How texts became words."""
        return self._corpus.text

    @property
    def assumptions(self) -> tuple[str, ...]:
        """As in the protocol."""
        return self._corpus.assumptions

    @property
    def vector_width(self) -> int | None:
        """As in the protocol."""
        return self._corpus.vector_width

    @property
    def words(self) -> Sequence[str]:
        """What rows stand for."""
        return self._corpus.words

    def limited(self, *, vocabulary: Vocabulary | None = None, max_words: int | None = None) -> "PeriodCorpus":
        """The same, bounded anew."""
        corpus = self._corpus.limited(vocabulary=vocabulary, max_words=max_words)
        return PeriodCorpus(corpus, self.earlier, self.sums)

    def bounded_sum(
        self, statistic: Statistic, *, bound: float, grid: float, sample: Sample | None = None, norm: int = 2
    ) -> NDArray[np.int64]:
        """The sum of this period."""
        found = self._corpus.bounded_sum(statistic, bound=bound, grid=grid, sample=sample, norm=norm)
        self.sums.append(found.copy())
        return found

    def fold(self, step: Callable[[S, Block], S], state: S, *, max_units: int | None = None) -> S:
        """As in the protocol."""
        return self._corpus.fold(step, state, max_units=max_units)
