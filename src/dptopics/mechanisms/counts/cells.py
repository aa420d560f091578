"""Counts of people, or of documents, by topic, group and time: cells and all their margins in one noisy sum."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil, inf, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics.core import progress
from dptopics.core.axes import cell_names, check_table
from dptopics.core.errors import InputError
from dptopics.core.questions import check_rules
from dptopics.core.settings import check_fields, number, whole
from dptopics.data.bounded import BoundedCorpus
from dptopics.mechanisms.counts.people import Entries, Filled, People, margins, shape_of
from dptopics.mechanisms.mechanism import Calibrated, Job, check_unit
from dptopics.mechanisms.queries import grid_for, noisy_sum
from dptopics.privacy.card import SMALL_GROUPS
from dptopics.privacy.events import Gaussian
from dptopics.privacy.guarantee import Guarantee, Unit
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
    texts instead of topics. With ``documents``, documents are counted, at most so many of each unit. Proof:
    docs/guarantees/counts.md

    >>> mechanism = CountsWithMargins.calibrated(epsilon=1.0, delta=1e-6, values=(tuple("abcdefghij"),))
    >>> round(mechanism.guarantee.epsilon, 6), round(mechanism.noise_std, 1)
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
    paper: ClassVar[str] = "ours"

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
        if self.rules and len(self.rules) != self.shape[0]:
            raise InputError(f"there must be one rule for each of {self.shape[0]} questions, got {len(self.rules)}.")
        check_rules(self.rules, self.facts)
        self._check_numbers()

    def _check_numbers(self) -> None:
        ends = tuple(number("number_range", end) for end in self.number_range)
        object.__setattr__(self, "number_range", ends)
        if bool(self.number) != bool(ends) or (self.number and not self.people):
            raise InputError(
                "a column of numbers and its range go together, with counts of people: leave documents out."
            )
        if self.number and not (len(ends) == 2 and -inf < ends[0] < ends[1] < inf):
            raise InputError(f"the range of {self.number!r} must be two numbers, the lower one first.")

    @property
    def vector_width(self) -> int | None:
        """Documents have their number as a vector."""
        return 1 if self.number else None

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(map(len, self.values))

    @property
    def people(self) -> bool:
        """Whether units with several entries are counted, each once in an entry, instead of documents."""
        return self.documents is None and (bool(self.rules) or self.unit is Unit.AUTHOR)

    @cached_property
    def entries(self) -> Entries:
        facts = self.facts if self.rules else self.shape[0]
        return Entries(self.shape, facts, self.rules, bool(self.number), None if self.people else self.documents or 1)

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
        norm = sqrt(People(self.entries, most).square)
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

    @property
    def noise_std(self) -> float:
        """Standard deviation of every number; four rows of each table for a unit, where the data choose that."""
        return self.noise(self.usual)

    def noise(self, most: int) -> float:
        """Standard deviation of each measurement."""
        return self.cell_sigma * self.bound(most) * self.sensitivity_factor

    @property
    def public_words(self) -> tuple[str, ...]:
        return cell_names(self.entries.n_cells).words

    def rehearsed(self, words: tuple[str, ...] = ()) -> list[tuple[Any, tuple[str, ...]]]:
        """A table of a few values of each axis; of all rules, since they name their facts."""
        small = tuple(values if self.rules and not i else values[:3] for i, values in enumerate(self.values))
        made = replace(self, values=small)
        return [(made, made.public_words)]

    @property
    def rehearsal_size(self) -> int:
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
            how: dict[str, Any] = {"sigma": self.cell_sigma, "sensitivity_factor": self.sensitivity_factor}
            sums = noisy_sum(corpus, People(self.entries, most), bound=self.bound(most), rng=rng, **how)
        table = self._table(sums[:, 0], most, self.noise(most))
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

    def _table(self, sums: NDArray[np.float64], most: int, noise: float, **more: Any) -> CountTable:
        cube, cut = self._cube(sums), People(self.entries, most).cut
        return CountTable(
            axes=self.axes,
            values=self.values,
            cube=np.where(cube < self.min_units, np.nan, cube) if self.min_units else cube,
            noise=noise,
            max_cells=most,
            min_units=self.min_units,
            over=float(sums[-1]) if cut else None,
            over_noise_std=noise if cut else None,
            unit=str(self.unit),
            documents=self.documents,
            asked=self.asked,
            model=self.model,
            **more,
        )

    def _cube(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """The measurements of people in their places: each margin as it was measured."""
        cube, first = np.empty([n + 1 for n in self.shape]), 0
        for axes, size in zip(margins(len(self.shape)), self.entries.sizes, strict=True):
            part = tuple(slice(0, -1) if kept else slice(-1, None) for kept in axes)
            cube[part] = sums[first : first + size].reshape(shape_of(self.shape, axes))
            first += size
        return cube
