"""Counts of units by topic, group and time: cells and all their margins in one noisy sum, made to agree."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil, prod, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics.core import progress
from dptopics.core.axes import cell_names, check_table
from dptopics.core.errors import InputError
from dptopics.core.settings import check_fields, whole
from dptopics.data.bounded import Block, BoundedCorpus, UnitRows
from dptopics.kernels.counts import unit_words
from dptopics.mechanisms.mechanism import Calibrated, Job, check_unit
from dptopics.mechanisms.queries import grid_for, noisy_sum
from dptopics.privacy.card import SMALL_GROUPS
from dptopics.privacy.events import Gaussian
from dptopics.privacy.guarantee import Guarantee, Unit
from dptopics.release import margins
from dptopics.release.counts import CountTable
from dptopics.release.release import Release

PUBLIC_CELLS = (
    "The topics are those of a release; groups and periods were public before; a document's cell depends on that "
    "document alone."
)


@dataclass(frozen=True)
class _Measured:
    """A unit's distinct cells (or the cells of all its documents) in every table, with the weight of that table."""

    place: NDArray[np.int32]  # [table, cell]: row of the sum
    weight: NDArray[np.float64]
    height: int
    documents: bool
    width: ClassVar[int] = 1

    def __call__(self, block: Block) -> UnitRows:
        if self.documents:
            start, cells = block.doc_start[block.unit_start] - block.doc_start[0], block.word
        else:
            start, cells, _ = unit_words(block.unit_start, block.doc_start, block.word, self.place.shape[1], 0)
        rows = np.ascontiguousarray(self.place[:, cells].T).ravel()
        return UnitRows(start * self.weight.size, rows, np.tile(self.weight, cells.size)[:, None])


@dataclass(frozen=True)
class _MoreThan:
    """One for a unit that has more cells than it may count in."""

    n_cells: int
    most: int
    height: ClassVar[int] = 1
    width: ClassVar[int] = 1

    def __call__(self, block: Block) -> UnitRows:
        start, _, _ = unit_words(block.unit_start, block.doc_start, block.word, self.n_cells, 0)
        over = np.diff(start) > self.most
        own = np.concatenate([np.zeros(1, np.int64), np.cumsum(over)])
        return UnitRows(own, np.zeros(own[-1], np.int32), np.ones((own[-1], 1)))


@dataclass(frozen=True, kw_only=True)
class CountsWithMargins(Calibrated):
    """How many units fall into each cell of topic × group × period, into each margin, and how sure that is.

    The corpus is one of cells: a document's one word says where it counts. A unit counts once in each of at most
    ``max_cells`` cells, kept by a keyed hash. One bounded sum measures the cells and all their margins, each with a
    weight that follows from the public shape; least squares makes them agree, with a covariance that is known exactly.
    A second look, for ``over_share`` of the budget (in μ²), tells how many units had more cells. With ``documents``,
    documents are counted instead, at most so many of each unit. Proof: docs/guarantees/counts.md

    >>> mechanism = CountsWithMargins.calibrated(epsilon=1.0, delta=1e-6, axes=("topic", "week"),
    ...     values=(tuple("abcde"), tuple(f"{week:02}" for week in range(52))))
    >>> round(mechanism.guarantee.epsilon, 6), round(mechanism.noise_std(topic=True), 1)
    (1.0, 7.8)
    """

    sigma: float
    delta: float
    unit: Unit = Unit.AUTHOR
    axes: tuple[str, ...] = ("topic",)
    values: tuple[tuple[str, ...], ...] = field(default=(("0", "1"),), repr=False)
    max_cells: int = 1
    documents: int | None = None
    min_units: int = 0
    over_share: float = 0.02
    model: str = ""  # the fingerprint of the topics
    days: tuple[str, ...] = ()  # the first and the last that count, where an axis is one of periods
    job: ClassVar[Job] = Job.COUNTS
    name: ClassVar[str] = "margins"
    paper: ClassVar[str] = "ours; after McKenna et al. 2018, Xiao et al. 2023"

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "axes", tuple(self.axes))
        object.__setattr__(self, "days", tuple(self.days))
        object.__setattr__(self, "values", tuple(tuple(values) for values in self.values))
        check_table(self.axes, self.values)
        whole("max_cells", self.max_cells, least=1)
        whole("min_units", self.min_units, least=0)
        if self.documents is not None:
            whole("documents", self.documents, least=1)
        if not 0 <= self.over_share < 1:
            raise InputError(f"over_share must be at least 0 and below 1, got {self.over_share}.")

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each axis has."""
        return tuple(map(len, self.values))

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """Of the table of each margin, the cells' (the last) is one."""
        return margins.chosen_weights(self.shape, self.max_cells if self.documents is None else 1)

    @property
    def sensitivity_factor(self) -> float:
        """How many times the bound one unit moves all sums that are priced as one: here there is but one."""
        return 1.0

    @property
    def norm(self) -> float:
        """L2 norm of a unit's weighted entries, at most."""
        if self.documents is None:
            return sqrt(margins.largest_square(self.shape, self.weights, self.max_cells))
        return self.documents * float(np.linalg.norm(self.weights))  # all of them in one cell

    @property
    def bound(self) -> float:
        """The norm, rounded up so that no count is ever scaled down."""
        grid = 2 * grid_for(
            self.norm * self.sensitivity_factor, self.cell_sigma
        )  # the bound's own grid is this one or its half
        return ceil(self.norm / grid) * grid

    @property
    def counts_over(self) -> bool:
        """Whether it looks at how many authors had more cells: a single document has but one."""
        return self.over_share > 0 and self.unit is Unit.AUTHOR and self.documents is None

    @property
    def cell_sigma(self) -> float:
        """Noise multiplier of cells and margins."""
        return self.sigma / sqrt(1 - self.over_share) if self.counts_over else self.sigma

    @property
    def over_sigma(self) -> float:
        """Noise multiplier of the number of units that had more cells."""
        return self.sigma / sqrt(self.over_share)

    @property
    def guarantee(self) -> Guarantee:
        """One Gaussian event for cells and margins, one for units that had more."""
        more = (Gaussian(self.over_sigma, nonnegative=True),) if self.counts_over else ()
        events = Gaussian(self.cell_sigma, nonnegative=True), *more
        return self.promise(*events, assumptions=(PUBLIC_CELLS,), limits=(SMALL_GROUPS,))

    def noise_std(self, **kept: bool) -> float:
        """Standard deviation of an entry of a margin, by the axes that it keeps: ``noise_std(topic=True)``."""
        which = margins.margins(len(self.axes)).index(tuple(kept.get(axis, False) for axis in self.axes))
        return self.noise * sqrt(float(margins.variances(self.shape, self.weights)[which]))

    @property
    def noise(self) -> float:
        """Standard deviation of each measurement."""
        return self.cell_sigma * self.bound * self.sensitivity_factor

    @property
    def public_words(self) -> tuple[str, ...]:
        """The names of cells."""
        return cell_names(prod(self.shape)).words

    def rehearsed(self, words: tuple[str, ...] = ()) -> list[tuple[Any, tuple[str, ...]]]:
        """A table of a few values of each axis."""
        small = replace(self, values=tuple(values[:3] for values in self.values))
        return [(small, small.public_words)]

    @property
    def rehearsal_size(self) -> int:
        """All cells."""
        return prod(self.shape)

    def check(self, corpus: BoundedCorpus) -> None:
        """The corpus must be one of cells: one public word for each."""
        mine: Any = self
        check_unit(mine, corpus)
        self.check_documents(corpus)

    def check_documents(self, corpus: BoundedCorpus) -> None:
        """As many public words as cells."""
        found = None if corpus.vocabulary is None else len(corpus.vocabulary)
        if found != prod(self.shape):
            raise InputError(f"counts need a corpus whose words are the {prod(self.shape):,} cells of the table.")

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[CountTable]:
        """Measure, make the measurements agree."""
        self.check(corpus)
        with progress.part(0.0, 0.8):
            cells = self._cells(self._measured(corpus, rng))
        with progress.part(0.8, 1.0):
            over = self._over(corpus, rng) if self.counts_over else None
        return Release.of(self._table(cells, over), self, rng)

    def _table(self, cells: NDArray[np.float64], over: float | None, **more: Any) -> CountTable:
        cube = margins.cube(cells)
        return CountTable(
            axes=self.axes,
            values=self.values,
            cube=np.where(cube < self.min_units, np.nan, cube) if self.min_units else cube,
            weights=self.weights,
            noise=self.noise,
            max_cells=self.max_cells,
            min_units=self.min_units,
            over=over,
            over_noise_std=self.over_sigma * self.over_sensitivity_factor if self.counts_over else None,
            unit=str(self.unit),
            documents=self.documents,
            model=self.model,
            **more,
        )

    @property
    def over_sensitivity_factor(self) -> float:
        """As ``sensitivity_factor``, of the number of units that had more cells."""
        return 1.0

    def _over(self, corpus: BoundedCorpus, rng: Generator) -> float:
        """How many units had more cells than they count in."""
        statistic = _MoreThan(prod(self.shape), self.max_cells)
        wider = corpus.limited(max_words=self.max_cells + 1)
        sensitivity_factor = self.over_sensitivity_factor
        return float(
            noisy_sum(
                wider, statistic, bound=1.0, sigma=self.over_sigma, rng=rng, sensitivity_factor=sensitivity_factor
            )[0, 0]
        )

    def _measured(self, corpus: BoundedCorpus, rng: Generator) -> NDArray[np.float64]:
        """The noisy tables of all margins, one after another: weight times counts."""
        limited, statistic = self._bounded(corpus), self._statistic
        sigma, sensitivity_factor = self.cell_sigma, self.sensitivity_factor
        return noisy_sum(
            limited, statistic, bound=self.bound, sigma=sigma, rng=rng, sensitivity_factor=sensitivity_factor
        )[:, 0]

    def _bounded(self, corpus: BoundedCorpus) -> BoundedCorpus:
        """What each unit counts in."""
        return corpus if self.documents is not None else corpus.limited(max_words=self.max_cells)

    @property
    def _tables(self) -> list[tuple[margins.Axes, tuple[int, ...]]]:
        """Axes and shape of every table that is measured."""
        sets = zip(margins.margins(len(self.shape)), self.weights, strict=True)
        return [(axes, margins.shape_of(self.shape, axes)) for axes, weight in sets if weight]

    @property
    def _statistic(self) -> "_Measured":
        first = np.cumsum([0, *(prod(shape) for _, shape in self._tables)])
        index = np.unravel_index(np.arange(prod(self.shape)), self.shape)
        place = [
            low + np.ravel_multi_index(tuple(i * keep for i, keep in zip(index, axes, strict=True)), shape)
            for low, (axes, shape) in zip(first, self._tables, strict=False)
        ]
        used = self.weights[np.flatnonzero(self.weights)]
        return _Measured(np.array(place, np.int32), used, int(first[-1]), self.documents is not None)

    def _cells(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """The cells that fit all tables best."""
        first = np.cumsum([0, *(prod(shape) for _, shape in self._tables)])
        spans = zip(first, first[1:], self._tables, strict=False)
        tables = iter(sums[low:high].reshape(shape) for low, high, (_, shape) in spans)
        every = (margins.shape_of(self.shape, axes) for axes in margins.margins(len(self.shape)))
        measured = [next(tables) if weight else np.zeros(s) for weight, s in zip(self.weights, every, strict=True)]
        return margins.least_squares(self.shape, self.weights, measured)
