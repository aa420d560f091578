"""What the published n-gram methods share: exact totals, and the sensitivity of the data at hand by brute force."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dptopics import progress
from dptopics.data.bounded import Block, BoundedCorpus
from dptopics.kernels.local_sensitivity import largest_dot, largest_share, largest_weighted_log
from dptopics.kernels.unit_counts import unit_counts
from dptopics.ngrams.counts import OverNgrams, check_limits, check_list
from dptopics.privacy.events import Event
from dptopics.privacy.fields import check_fields
from dptopics.privacy.guarantee import PUBLIC_WORDS, Guarantee, Strength, Unit
from dptopics.public.ngrams import PublicNgrams

Array = NDArray[np.float64]
Rows = tuple[NDArray[np.int64], NDArray[np.int32], Array]  # start, n-grams, limited counts of each unit
Chosen = Callable[[int, int], NDArray[np.bool_]]  # which of the units first … first + n − 1


@dataclass(frozen=True, kw_only=True)
class PublishedNgrams(OverNgrams):
    """Fields of every published method. Page: docs/guarantees/ngram_published.md"""

    delta: float
    unit: Unit = Unit.AUTHOR
    prior: PublicNgrams | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_fields(self)

    def check(self, corpus: BoundedCorpus) -> None:
        """The list must be public, and the public counts must know some of it."""
        mine: Any = self
        check_list(mine, corpus, self.prior)

    def refuted(self, *events: Event, why: tuple[str, ...]) -> Guarantee:
        """What is claimed, and that it does not hold."""
        assumptions = (*why, PUBLIC_WORDS)
        return Guarantee(
            events=events, delta=self.delta, unit=self.unit, strength=Strength.NONE, assumptions=assumptions
        )


@dataclass(frozen=True, kw_only=True)
class LimitedAsPublished(PublishedNgrams):
    """Those whose authors give at most ``max_words`` n-grams: a thousandth of the number of units, if not said."""

    max_words: int | None = None
    max_count: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_limits(self.max_words, self.max_count)

    def limited(self, corpus: BoundedCorpus) -> BoundedCorpus:
        """At most |U|/1000 n-grams per unit, if no other limit is given: computed from the private |U|."""
        max_words = self.max_words
        if max_words is None:
            n_units = corpus.fold(lambda n, block: n + block.unit_start.size - 1, 0)
            max_words = max(1, n_units // 1000)
        return corpus.limited(max_words=max_words)

    def counted(self, corpus: BoundedCorpus) -> "tuple[Units, Tally]":
        """The limited units, and their exact totals."""
        with progress.part(0.0, 0.3):
            units = Units(self.limited(corpus), self.max_count)
        with progress.part(0.3, 0.6):
            return units, units.tally()


@dataclass(frozen=True, eq=False)
class Tally:
    """Exact totals over units: occurrences c and units N of each n-gram. As sensitive as the texts."""

    count: Array
    users: Array
    n_units: int


@dataclass(frozen=True, eq=False)
class Units:
    """The units of a corpus one block after another, or those that ``chosen`` picks by their place in its order."""

    corpus: BoundedCorpus
    max_count: int
    chosen: Chosen | None = None
    rows: tuple[Rows, ...] | None = None  # see kept

    def kept(self) -> "Units":
        """The same with its rows in memory, for many passes: to count a unit's words takes longer than to use them."""
        found: list[Rows] = []
        self.fold(lambda rows, _: found.append(rows))
        return replace(self, rows=tuple(found))

    def fold(self, step: Callable[[Rows, int], None]) -> None:
        """Hand the rows of each block, and its number of units, to ``step``."""
        if self.rows is not None:
            for rows in self.rows:
                step(rows, rows[0].size - 1)
            return
        n_words = len(self.corpus.words)

        def one(first: int, block: Block) -> int:
            start, rows, values = unit_counts(*block[:4], n_words, self.max_count)
            counts, n = np.ascontiguousarray(values[:, 0]), start.size - 1
            if self.chosen is not None:
                picked = self.chosen(first, n)
                keep = np.repeat(picked, np.diff(start))
                start = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.diff(start)[picked])])
                rows, counts = rows[keep], counts[keep]
            step((start, rows, counts), start.size - 1)
            return first + n

        self.corpus.fold(one, 0)

    def tally(self) -> Tally:
        """Exact totals."""
        size = len(self.corpus.words)
        count, users, n_units = np.zeros(size), np.zeros(size), [0]

        def add(rows: Rows, n: int) -> None:
            count[:] += np.bincount(rows[1], weights=rows[2], minlength=size)
            users[:] += np.bincount(rows[1], minlength=size)
            n_units[0] += n

        self.fold(add)
        return Tally(count, users, n_units[0])

    def largest(self, of_block: Callable[[Rows], float]) -> float:
        """The largest value over all blocks."""
        found = [0.0]
        self.fold(lambda rows, _: found.append(of_block(rows)))
        return max(found)

    def log_sensitivity(self, tally: Tally, slope: float) -> float:
        """‖w⊙x̂ − w₋⊙x̂₋‖₂ of the unit that moves it most (corollary 1)."""
        return self.largest(lambda rows: largest_weighted_log(*rows, tally.count, tally.users, slope / self.max_count))

    def share_sensitivity(self, tally: Tally) -> float:
        """‖c/‖c‖₁ − c₋/‖c₋‖₁‖₁ of the unit that moves it most."""
        return self.largest(lambda rows: largest_share(*rows, tally.count))

    def dot_sensitivity(self, value: Array) -> float:
        """Σ Δc·value of the unit for which it is largest."""
        return self.largest(lambda rows: largest_dot(*rows, value))


def centred_log(count: Array) -> Array:
    """log(c + 1) less its mean over the list: equations 1 and 2 of Ramadan et al."""
    logs = np.log1p(count)
    return np.asarray(logs - logs.mean())


def claim_1(tally: Tally, *, slope: float, max_count: int) -> float:
    """The bound of claim 1, as printed: ‖w ⊙ L·C + (S/C)·|x̂| ⊙ 1(N ≤ C/S)‖₂ over the whole list.

    An n-gram that nobody has is counted with N = 1: the paper's L divides by N.
    """
    size = tally.count.size
    weight = np.minimum(1.0, tally.users * slope / max_count)
    inverse = 1.0 / np.maximum(tally.users, 1.0)
    slopes = (1 - 1 / size) * inverse + (inverse.sum() - inverse) / size
    rare = tally.users <= max_count / slope
    moved = weight * slopes * max_count + slope / max_count * np.abs(centred_log(tally.count)) * rare
    return float(np.linalg.norm(moved))


def softmax(x: Array) -> Array:
    """exp(x), normalised."""
    raised = np.exp(x - x.max())
    return np.asarray(raised / raised.sum())
