"""Counts of people, or of documents, by topic, group and time: cells and all their margins in one noisy sum."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil, inf, prod, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics.core import progress
from dptopics.core.axes import cell_names, check_table
from dptopics.core.errors import InputError
from dptopics.core.rules import check_rules
from dptopics.core.settings import check_fields, number, whole
from dptopics.data.bounded import Block, BoundedCorpus, UnitRows
from dptopics.mechanisms.counts.people import Entries, Filled, People
from dptopics.mechanisms.mechanism import Calibrated, Job, check_unit
from dptopics.mechanisms.queries import grid_for, noisy_sum
from dptopics.privacy.card import SMALL_GROUPS
from dptopics.privacy.events import Gaussian
from dptopics.privacy.guarantee import Guarantee, Unit
from dptopics.release import margins
from dptopics.release.counts import Z95, CountTable
from dptopics.release.release import Release

PUBLIC_QUESTIONS = (
    "The questions, groups and periods were public before; what is true of a document depends on that document and its "
    "row alone."
)
PUBLIC_CELLS = (
    "The topics are those of a release; groups and periods were public before; a document's cell depends on that "
    "document alone."
)


@dataclass(frozen=True)
class _Measured:
    """The cells of a unit's documents in every table, with the weight of that table."""

    place: NDArray[np.int32]  # [table, cell]: row of the sum
    weight: NDArray[np.float64]
    height: int
    width: ClassVar[int] = 1

    def __call__(self, block: Block) -> UnitRows:
        start, cells = block.doc_start[block.unit_start] - block.doc_start[0], block.word
        rows = np.ascontiguousarray(self.place[:, cells].T).ravel()
        return UnitRows(start * self.weight.size, rows, np.tile(self.weight, cells.size)[:, None])


UNCUT = 50  # values of a single axis, up to which nobody is cut by default
USUAL_CELLS = 4  # what a unit is taken to fill, before anything is known


@dataclass(frozen=True, kw_only=True)
class CountsWithMargins(Calibrated):
    """How many units have a text in each cell of topic × group × period, and in each margin, and how sure that is.

    The corpus is one of cells: a document's words say where it counts. A unit counts once in every entry of every table
    that is its own, at most ``max_cells`` of a table (the others are left out by a hash of the unit's cells). Without
    ``max_cells`` nobody is cut in a table of one axis with up to 50 values; otherwise a first query, a histogram of how
    many entries units fill, for ``over_share`` of the budget (in μ²), chooses the bound with the narrowest intervals.
    How many units had more is measured with the table, and part of every interval. ``rules`` ask about ``facts`` of
    texts instead of topics. With ``documents``, documents are counted, at most so many of each unit: these add up, so
    that margins and cells are made to agree by least squares. Proof: docs/guarantees/counts.md

    >>> mechanism = CountsWithMargins.calibrated(epsilon=1.0, delta=1e-6, values=(tuple("abcdefghij"),))
    >>> round(mechanism.guarantee.epsilon, 6), round(mechanism.noise_std(topic=True), 1)
    (1.0, 14.0)
    """

    sigma: float
    delta: float
    unit: Unit = Unit.AUTHOR
    axes: tuple[str, ...] = ("topic",)
    values: tuple[tuple[str, ...], ...] = field(default=(("0", "1"),), repr=False)
    max_cells: int | None = None
    documents: int | None = None
    min_units: int = 0
    over_share: float = 0.05
    model: str = ""  # the fingerprint of the topics
    days: tuple[str, ...] = ()  # the first and the last that count, where an axis is one of periods
    facts: int = 0  # of a text, that rules may ask about
    rules: tuple[str, ...] = field(default=(), repr=False)  # one for each value of the first axis
    asked: tuple[str, ...] = field(default=(), repr=False)  # what each asks, in words
    number: str = ""  # column of numbers, of which people's means are released too
    number_range: tuple[float, ...] = ()  # its public bounds
    job: ClassVar[Job] = Job.COUNTS
    name: ClassVar[str] = "margins"
    paper: ClassVar[str] = "ours; of documents: after McKenna et al. 2018, Xiao et al. 2023"

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("axes", "days", "rules", "asked"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "values", tuple(tuple(values) for values in self.values))
        check_table(self.axes, self.values)
        for name in ("max_cells", "documents"):
            if getattr(self, name) is not None:
                whole(name, getattr(self, name), least=1)
        whole("min_units", self.min_units, least=0)
        if not 0 <= self.over_share < 1:
            raise InputError(f"over_share must be at least 0 and below 1, got {self.over_share}.")
        if self.rules and (len(self.rules) != self.shape[0] or self.documents is not None):
            raise InputError("there must be one rule for each value of the first axis, and documents must be left out.")
        check_rules(self.rules, self.facts)
        object.__setattr__(self, "number_range", tuple(number("number_range", end) for end in self.number_range))
        if bool(self.number) != bool(self.number_range) or (self.number and (self.rules or not self.people)):
            raise InputError("a column of numbers and its range go together, with counts of people by topic.")
        low, high = self.number_range if len(self.number_range) == 2 else (0.0, 0.0)
        if self.number and not -inf < low < high < inf:
            raise InputError(f"the range of {self.number!r} must be two numbers, the lower one first.")

    @property
    def vector_width(self) -> int | None:
        """Documents have their number as a vector."""
        return 1 if self.number else None

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each axis has."""
        return tuple(map(len, self.values))

    @property
    def people(self) -> bool:
        """Whether units are counted, each once in an entry, instead of documents, which add up."""
        return bool(self.rules) or (self.unit is Unit.AUTHOR and self.documents is None)

    @cached_property
    def entries(self) -> Entries:
        """What a unit fills."""
        return Entries(self.shape, self.facts if self.rules else self.shape[0], self.rules, bool(self.number))

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """Of the table of each margin, the cells' (the last) is one; of people, all are one."""
        return np.ones(2 ** len(self.shape)) if self.people else margins.chosen_weights(self.shape)

    @property
    def sensitivity_factor(self) -> float:
        """How many times the bound one unit moves all sums that are priced as one: here there is but one."""
        return 1.0

    @property
    def looks(self) -> bool:
        """Whether a first query chooses how many entries a unit counts in."""
        large = len(self.shape) > 1 or self.shape[0] > UNCUT
        return large and self.people and self.max_cells is None and self.over_share > 0

    @property
    def usual(self) -> int:
        """Entries of a table that a unit counts in, where the data do not choose."""
        uncut = max(self.entries.sizes)
        most = USUAL_CELLS if self.looks else uncut if self.max_cells is None else self.max_cells
        return min(most, uncut)

    def bound(self, most: int) -> float:
        """L2 norm of what a unit adds, at most, rounded up so that no count is ever scaled down."""
        if self.people:
            norm = sqrt(People(self.entries, most).square)
        else:
            norm = (self.documents or 1) * float(np.linalg.norm(self.weights))  # all of them in one cell
        grid = 2 * grid_for(norm * self.sensitivity_factor, self.cell_sigma)  # its own grid is this one or its half
        return ceil(norm / grid) * grid

    @property
    def cell_sigma(self) -> float:
        """Noise multiplier of cells and margins."""
        return self.sigma / sqrt(1 - self.over_share) if self.looks else self.sigma

    @property
    def look_sigma(self) -> float:
        """Noise multiplier of the histogram that chooses the bound."""
        return self.sigma / sqrt(self.over_share)

    @property
    def guarantee(self) -> Guarantee:
        """One Gaussian event for cells and margins, one for the histogram."""
        more = (Gaussian(self.look_sigma, nonnegative=True),) if self.looks else ()
        events = Gaussian(self.cell_sigma, nonnegative=not self.number), *more
        return self.promise(
            *events, assumptions=(PUBLIC_QUESTIONS if self.rules else PUBLIC_CELLS,), limits=(SMALL_GROUPS,)
        )

    def noise_std(self, **kept: bool) -> float:
        """Standard deviation of an entry of a margin, by the axes that it keeps: ``noise_std(topic=True)``.

        Where the data choose how many cells a unit counts in, it is taken to be four.
        """
        if self.people:
            return self.noise(self.usual)
        which = margins.margins(len(self.axes)).index(tuple(kept.get(axis, False) for axis in self.axes))
        return self.noise(1) * sqrt(float(margins.variances(self.shape, self.weights)[which]))

    def noise(self, most: int) -> float:
        """Standard deviation of each measurement."""
        return self.cell_sigma * self.bound(most) * self.sensitivity_factor

    @property
    def public_words(self) -> tuple[str, ...]:
        """The names of cells."""
        return cell_names(self.entries.n_cells).words

    def rehearsed(self, words: tuple[str, ...] = ()) -> list[tuple[Any, tuple[str, ...]]]:
        """A table of a few values of each axis; of all rules, since they name their facts."""
        small = tuple(values if self.rules and not i else values[:3] for i, values in enumerate(self.values))
        made = replace(self, values=small)
        return [(made, made.public_words)]

    @property
    def rehearsal_size(self) -> int:
        """All cells."""
        return self.entries.n_cells

    def check(self, corpus: BoundedCorpus) -> None:
        """The corpus must be one of cells: one public word for each."""
        mine: Any = self
        check_unit(mine, corpus)
        self.check_documents(corpus)

    def check_documents(self, corpus: BoundedCorpus) -> None:
        """As many public words as cells."""
        found, cells = None if corpus.vocabulary is None else len(corpus.vocabulary), self.entries.n_cells
        if found != cells:
            raise InputError(f"counts need a corpus whose words are the {cells:,} cells of the table.")

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[CountTable]:
        """Choose how many entries a unit counts in, if that is asked; measure."""
        self.check(corpus)
        with progress.part(0.0, 0.3):
            most = self._chosen(corpus, rng) if self.looks else self.usual
        with progress.part(0.3, 1.0):
            sums = noisy_sum(
                corpus,
                self._statistic(most),
                bound=self.bound(most),
                sigma=self.cell_sigma,
                rng=rng,
                sensitivity_factor=self.sensitivity_factor,
            )
        table = self._table(self._cells(sums[:, 0]), most, self.noise(most))
        if self.number:
            sums_of = np.where(np.isnan(table.cube), np.nan, self._cube(sums[:, 1]))
            table = replace(table, number=self.number, number_range=self.number_range, numbers=sums_of)
        return Release.of(table, self, rng)

    def _chosen(self, corpus: BoundedCorpus, rng: Generator) -> int:
        """The bound with the narrowest intervals, by a noisy histogram of how many entries units fill."""
        filled = noisy_sum(corpus, Filled(self.entries), bound=1.0, sigma=self.look_sigma, rng=rng)[:, 0]
        surely = np.where(filled > 3 * self.look_sigma, filled, 0.0)  # bins that may be noise alone say nothing
        uncut = max(self.entries.sizes)
        tried: list[int] = [min(1 << power, uncut) for power in range(len(filled))]
        widths = [
            Z95 * self.noise(most) * (2.0 if most == uncut else 1 + sqrt(2)) + surely[power + 1 :].sum()
            for power, most in enumerate(tried)
        ]
        return tried[int(np.argmin(widths))]

    def _table(self, cells: NDArray[np.float64], most: int, noise: float, **more: Any) -> CountTable:
        cube = self._cube(cells) if self.people else margins.cube(cells)
        cut = self.people and People(self.entries, most).cut
        return CountTable(
            axes=self.axes,
            values=self.values,
            cube=np.where(cube < self.min_units, np.nan, cube) if self.min_units else cube,
            weights=self.weights,
            noise=noise,
            max_cells=most,
            min_units=self.min_units,
            over=float(cells[-1]) if cut else None,
            over_noise_std=noise if cut else None,
            unit=str(self.unit),
            documents=self.documents,
            distinct=self.people,
            asked=self.asked,
            model=self.model,
            **more,
        )

    def _cube(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """The measurements of people in their places: each margin as it was measured."""
        cube, first = np.empty([n + 1 for n in self.shape]), 0
        for axes, size in zip(margins.margins(len(self.shape)), self.entries.sizes, strict=True):
            part = tuple(slice(0, -1) if kept else slice(-1, None) for kept in axes)
            cube[part] = sums[first : first + size].reshape(margins.shape_of(self.shape, axes))
            first += size
        return cube

    @property
    def _tables(self) -> list[tuple[margins.Axes, tuple[int, ...]]]:
        """Axes and shape of every table that is measured."""
        sets = zip(margins.margins(len(self.shape)), self.weights, strict=True)
        return [(axes, margins.shape_of(self.shape, axes)) for axes, weight in sets if weight]

    def _statistic(self, most: int) -> "People | _Measured":
        if self.people:
            return People(self.entries, most)
        first = np.cumsum([0, *(prod(shape) for _, shape in self._tables)])
        index = np.unravel_index(np.arange(prod(self.shape)), self.shape)
        place = [
            low + np.ravel_multi_index(tuple(i * keep for i, keep in zip(index, axes, strict=True)), shape)
            for low, (axes, shape) in zip(first, self._tables, strict=False)
        ]
        used = self.weights[np.flatnonzero(self.weights)]
        return _Measured(np.array(place, np.int32), used, int(first[-1]))

    def _cells(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """The cells that fit all tables of documents best; measurements of people as they are."""
        if self.people:
            return sums
        first = np.cumsum([0, *(prod(shape) for _, shape in self._tables)])
        spans = zip(first, first[1:], self._tables, strict=False)
        tables = iter(sums[low:high].reshape(shape) for low, high, (_, shape) in spans)
        every = (margins.shape_of(self.shape, axes) for axes in margins.margins(len(self.shape)))
        measured = [next(tables) if weight else np.zeros(s) for weight, s in zip(self.weights, every, strict=True)]
        return margins.least_squares(self.shape, self.weights, measured)
