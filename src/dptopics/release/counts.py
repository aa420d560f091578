"""CountTable: released counts of units by topic, group and period, with confidence intervals. Public."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import ceil, exp, floor, hypot, isnan, log, prod, sqrt
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dptopics.core.axes import ALL, edges_of
from dptopics.core.errors import BundleError, InputError
from dptopics.core.files import Arrays, known
from dptopics.core.questions import in_words
from dptopics.core.vocabulary import Vocabulary
from dptopics.release.release import Tabular, as_csv

Z95 = 1.959963984540054  # 97.5 % of a normal distribution lies below
Place = tuple[int | None, ...]  # for each axis a value by its number, or None for all


class Estimate(NamedTuple):
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float
    noise_std: float

    @property
    def rounded(self) -> tuple[float, int, int]:
        """For tables: as measured, the interval rounded outward."""
        return round(self.value, 1), floor(self.low), ceil(self.high)

    @classmethod
    def of(cls, value: float, variance: float, more: tuple[float, float] = (0.0, 0.0)) -> Self:
        """Of a normal variable with known variance, to which at most ``more`` may be added: another one.

        The upper limit is that of the sum.
        """
        noise_std = sqrt(max(variance, 0.0))
        high = value + max(Z95 * noise_std, more[0] + Z95 * sqrt(max(variance, 0.0) + more[1]) if any(more) else 0.0)
        return cls(value, value - Z95 * noise_std, high, noise_std)


class Shown(NamedTuple):
    """A count for display, in whole numbers."""

    value: int
    low: int
    high: int

    @classmethod
    def of(cls, found: Estimate) -> Self:
        """Clipped at 0 and rounded outward; an interval below 0 still reaches one standard deviation."""
        high = ceil(max(found.high, found.noise_std))
        return cls(*(max(0, n) for n in (round(found.value), floor(found.low), high)))

    @property
    def interval(self) -> str:
        return f"{self.low:,} to {self.high:,}"

    def __str__(self) -> str:
        return f"{self.value:,} ({self.interval})"


class Share(NamedTuple):
    """A ratio of two counts with its 95 % set (Fieller 1940)."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} times ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True, eq=False, kw_only=True)
class CountTable(Tabular):
    """Counts of units in cells and margins, with intervals.

    A unit counts once in each cell and in each margin that is its own, so that a margin is less than the sum of its
    cells; in at most ``max_cells`` entries of each table, and ``over`` is how many units had more: intervals reach up
    by it. Or ``documents`` of each unit are counted. ``cube`` holds the counts; along each axis the last entry is that
    of all values. Each was measured by itself. NaN: suppressed, below ``min_units``.

    >>> table = CountTable(axes=("topic", "ward"), values=(("0", "1"), ("north", "south")),
    ...     cube=np.array([[90.0, 10.0, 95.0], [40.0, 60.0, 95.0], [120.0, 65.0, 150.0]]), noise=2.0)
    >>> table.count(topic="0", ward="north").value, table.count(topic="0").value, table.count().value
    (90.0, 95.0, 150.0)
    >>> table.difference({"topic": "0"}, {"topic": "1"}).value
    0.0
    >>> [round(x, 2) for x in table.share({"topic": "0", "ward": "north"}, of={"ward": "north"})]
    [0.75, 0.71, 0.79]
    """

    axes: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    cube: NDArray[np.float64]
    noise: float  # standard deviation of each measurement
    max_cells: int = 1
    min_units: int = 0
    over: float | None = None
    over_noise_std: float | None = None
    unit: str = "author"
    documents: int | None = None  # of each unit that count, where documents are counted
    number: str = ""  # a column of numbers in a declared range, clipped to it
    number_range: tuple[float, ...] = ()
    numbers: NDArray[np.float64] | None = None  # sums of each unit's own mean, scaled to −1 to 1
    asked: tuple[str, ...] = ()  # what each value of the first axis stands for, where that is a question
    model: str = ""
    period: str = ""  # the counted one, where the table belongs to a series
    since: str = ""  # the first period of running totals
    n_periods: int = 1  # of the whole series
    max_periods: int = 1  # of these that a unit counts in
    latest: NDArray[np.float64] | None = None  # of running totals: the new measurements in this table
    kind: ClassVar[str] = "counts"
    many: ClassVar[str] = "counts"

    def __repr__(self) -> str:
        return f"<CountTable: {' × '.join(self.axes)}>"

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each axis has."""
        return tuple(map(len, self.values))

    @property
    def vocabulary(self) -> Vocabulary:
        """The values of all axes: public words."""
        return Vocabulary.public(value for values in self.values for value in values)

    @property
    def noise_std(self) -> NDArray[np.float64]:
        """Standard deviation of each count of ``cube``: each was measured by itself."""
        return np.full(self.cube.shape, self.noise)

    def place(self, where: Mapping[str, str]) -> Place:
        """The place of a cell or margin: a value for some axes, all values of the rest."""
        if unknown := sorted(where.keys() - set(self.axes)):
            raise InputError(f"there is no axis {', '.join(unknown)}. The axes are: {', '.join(self.axes)}.")
        found: list[int | None] = []
        for axis, values in zip(self.axes, self.values, strict=True):
            value = where.get(axis, ALL)
            if value != ALL and str(value) not in values:
                raise InputError(f"axis {axis!r} has no value {value!r}. The sum over all of them is {ALL!r}.")
            found.append(None if value == ALL else values.index(str(value)))
        return tuple(found)

    def count(self, /, **where: str) -> Estimate:
        """The count of a cell or margin: ``table.count(topic="3", ward="north")``, summed over axes not named."""
        return self._at(self.place(where))

    def difference(self, one: Mapping[str, str], other: Mapping[str, str]) -> Estimate:
        """The count of one cell or margin less that of another, by their joint distribution."""
        a, b = self.place(one), self.place(other)
        variance = 2 * self.noise**2 * (a != b)
        less, value = self._more(b), self._at(a).value - self._at(b).value
        below = -Estimate.of(-value, variance, less).high
        return Estimate.of(value, variance, self._more(a))._replace(low=below)

    def share(self, one: Mapping[str, str], *, of: Mapping[str, str]) -> Share | None:
        """One count as a share of another, with Fieller's set within 0 to 1. None: the set is unbounded."""
        return self._share(self.place(one), self.place(of))

    def _share(self, a: Place, b: Place) -> Share | None:
        first, second, more, fewer = self._at(a).value, self._at(b).value, self._more(a), self._more(b)
        variances = self.noise**2, self.noise**2 * (a == b), self.noise**2
        high = fieller(first + max(more[0], 0.0), second, variances[0] + more[1], *variances[1:])[1]
        low = fieller(first, second + max(fewer[0], 0.0), *variances[:2], variances[2] + fewer[1])[0]
        return None if isnan(low) or isnan(high) else Share(first / second, float(low), float(high))

    def ratio(self, one: Share | None, other: Share | None) -> Share | None:
        """How many times one share is another, with a 95 % interval: theirs are combined on the scale of logarithms.

        (Donner and Zou 2012: the method of variance estimates recovery.) None where one may be zero.
        """
        if one is None or other is None or min(one.low, other.low) <= 0:
            return None
        value = one.value / other.value
        down = hypot(log(one.value / one.low), log(max(other.high, other.value) / other.value))
        up = hypot(log(max(one.high, one.value) / one.value), log(other.value / other.low))
        return Share(value, value * exp(-down), value * exp(up))

    def shares_by(self, axis: str, value: str, group: str) -> tuple[Share | None, Share | None]:
        """What share of a group a value of the first axis has, and how many times that of the axis's first group.

        Of an axis of bins, instead: what share of those with this value are in the bin, and nothing.
        """
        first, whole = self.values[self.axes.index(axis)][0], {self.axes[0]: value}
        if edges_of(self.values[self.axes.index(axis)]):
            return self.share({**whole, axis: group}, of=whole), None
        one, other = (self.share({**whole, axis: place}, of={axis: place}) for place in (group, first))
        return one, None if group == first else self.ratio(one, other)

    def mean(self, /, **where: str) -> Share | None:
        """The mean of the people in a cell or margin, each with the mean of their own numbers, with its 95 % interval.

        By Fieller's set. None: nobody, as far as the noise shows.
        """
        return self._mean(self.place(where))

    def _mean(self, place: Place) -> Share | None:
        if self.numbers is None:
            raise InputError("these counts are without numbers. Name a column and its range: number=, number_range=.")
        index = tuple(-1 if value is None else value for value in place)
        n, (lowest, highest) = float(self.cube[index]), self.number_range
        upper, half = (n + float(self.numbers[index])) / 2, self.noise**2 / 2  # of it all, by the share of the range
        more, doubt = max(self._more(place)[0], 0.0), self._more(place)[1]
        low = fieller(upper, n + more, half, half, 2 * half + doubt)[0]
        high = fieller(upper + more, n + more, half + doubt, half + doubt, 2 * half + doubt)[1]
        if isnan(n) or isnan(low) or isnan(high):
            return None
        return Share(*(lowest + (highest - lowest) * float(part) for part in (min(max(upper / n, 0), 1), low, high)))

    def total(self, /, **where: str) -> Estimate:
        """The sum over people of each one's own mean, with its 95 % interval."""
        place = self.place(where)
        index = tuple(-1 if value is None else value for value in place)
        middle, half = sum(self.number_range) / 2, (self.number_range[1] - self.number_range[0]) / 2
        value = middle * float(self.cube[index]) + half * float(self.numbers[index] if self.numbers is not None else 0)
        found = Estimate.of(value, self.noise**2 * (middle**2 + half**2))
        over, doubt = self._more(place)
        missing = max(0.0, over + Z95 * sqrt(doubt))
        low, high = (missing * end for end in (min(0.0, self.number_range[0]), max(0.0, self.number_range[1])))
        return found._replace(low=found.low + low, high=found.high + high)

    def estimate(self, index: tuple[int, ...]) -> Estimate:
        """The count at a place of the cube: along each axis the number of a value, or -1 for all of them."""
        more = self._more(self._place(index))
        return Estimate.of(float(self.cube[index]), self.noise**2, more)

    def _place(self, index: tuple[int, ...]) -> Place:
        return tuple(None if k in (-1, n) else k for k, n in zip(index, self.shape, strict=True))

    def _at(self, place: Place) -> Estimate:
        return self.estimate(tuple(-1 if value is None else value for value in place))

    def _more(self, place: Place) -> tuple[float, float]:
        """What the bound may have taken from a count, and the variance of that: nothing, where it cuts nobody."""
        entries = prod(1 if value is None else n for value, n in zip(place, self.shape, strict=True))
        if self.over is None or self.over_noise_std is None or self.max_cells >= entries:
            return 0.0, 0.0
        return self.over, self.over_noise_std**2

    def rows(self) -> Iterator[dict[str, Any]]:
        """Cells and margins, the total first: names, count, interval rounded outward, share of the first axis.

        Counts and intervals are as measured and may lie below 0: they are unbiased.
        """
        names = [[*values, ALL] for values in self.values]
        heads, numbers_of = self.heads, zip(*(np.flip(one).ravel().tolist() for one in self._numbers()), strict=True)
        for index, found in zip(product(*(range(n, -1, -1) for n in self.shape)), numbers_of, strict=True):
            row: dict[str, Any] = {head: names[i][k] for i, (head, k) in enumerate(zip(heads, index, strict=True))}
            if isnan(found[0]):
                yield row | dict.fromkeys(self.columns_of_numbers)
                continue
            shares = (None, None) if isnan(found[3]) or isnan(found[4]) else found[3:]
            numbers: tuple[Any, ...] = round(found[0], 1), floor(found[1]), ceil(found[2]), *shares
            if self.numbers is not None:
                numbers += tuple(self._mean(self._place(index)) or (None,) * 3)
            yield row | dict(zip(self.columns_of_numbers, numbers, strict=True))

    def _numbers(self) -> tuple[Any, ...]:
        """Each count with its limits, and those of its share of the first axis: as :meth:`count` and :meth:`share`."""
        entries = np.ones(self.cube.shape, np.int64)  # of the table that each belongs to
        for axis, n in enumerate(self.shape):
            np.moveaxis(entries, axis, 0)[:n] *= n
        cut = (entries > self.max_cells) & (None not in (self.over, self.over_noise_std))
        over, doubt = cut * (self.over or 0.0), cut * (self.over_noise_std or 0.0) ** 2
        same, whole, noise = np.zeros(self.cube.shape), self.cube[-1:], self.noise**2
        same[-1], least = noise, Z95 * sqrt(noise)
        more, up = np.maximum(over, 0.0), np.where(cut, np.maximum(least, over + Z95 * np.sqrt(noise + doubt)), least)
        low = fieller(self.cube, whole + more[-1:], noise, same, noise + doubt[-1:])[0]
        high = fieller(self.cube + more, whole, noise + doubt, same, noise)[1]
        return self.cube, self.cube - least, self.cube + up, low, high

    @property
    def heads(self) -> tuple[str, ...]:
        """Names of the axes as column heads, distinct from those of the numbers."""
        found: list[str] = []
        for axis in self.axes:
            while axis in (*self.columns_of_numbers, *found):
                axis += "_group"
            found.append(axis)
        return tuple(found)

    # --- in a bundle ---

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Counts and weights; the measurements only where small counts are not suppressed."""
        latest = None if self.min_units else self.latest
        return known(cube=self.cube, latest=latest, numbers=self.numbers)

    def fields(self) -> dict[str, Any]:
        """Axes, noise and bounds."""
        names = ("noise", "max_cells", "min_units", "over", "over_noise_std", "unit", "documents", "model")
        series = ("period", "since", "n_periods", "max_periods") if self.period else ()
        own = {name: getattr(self, name) for name in (*names, *series, *(["asked"] if self.asked else []))}
        own |= {"number": self.number, "number_range": list(self.number_range)} if self.number else {}
        return {"axes": list(self.axes), "values": [list(values) for values in self.values], **own}

    @classmethod
    def restored(cls, vocabulary: Vocabulary, arrays: Arrays, fields: Mapping[str, Any]) -> Self:
        """From a bundle."""
        own = {**fields, "axes": tuple(fields["axes"]), "values": tuple(map(tuple, fields["values"]))}
        own |= {name: tuple(fields.get(name, ())) for name in ("asked", "number_range")}
        more: dict[str, Any] = {name: arrays.get(name) for name in ("latest", "numbers")}
        table = cls(cube=arrays["cube"], **more, **own)
        if table.cube.shape != tuple(n + 1 for n in table.shape):
            raise BundleError("counts and axes do not match.")
        return table

    def tables(self) -> dict[str, str]:
        """All cells and margins."""
        lines, exact = [], len(self.heads) + 3
        for row in self.rows():
            shown = ["" if value is None else value for value in row.values()]
            lines.append([*shown[:exact], *(part if part == "" else f"{part:.4f}" for part in shown[exact:])])
        return {"counts.csv": as_csv([*self.heads, *self.columns_of_numbers], lines)}

    def summary(self) -> list[str]:
        """What is counted, what the bound omits, and the files."""
        small = f" Counts below {self.min_units} are left empty." if self.min_units else ""
        return [
            f"{self.title()}: noisy {self.what} by {', '.join(self.axes)}, with 95 % intervals.{small}",
            self.bounded,
            *(f"{name}: {words}" for name, words in self.wording.items()),
            "",
            f"counts.csv: every cell and margin ('{ALL}' is all values of an axis), with intervals of its count and of "
            f"its share of all {self.counted} in the same place (empty: the noise is too large). Counts and their "
            "intervals are as measured: noise may take them below 0, and they are unbiased. Pages and terminals "
            "show 0 instead.",
            "counts.npz: the same in full precision (NumPy).",
        ]

    @property
    def wording(self) -> dict[str, str]:
        """What each question asks, in words; of one that mentions no more than its name, nothing."""
        asked = {name: in_words(said) for name, said in zip(self.values[0], self.asked, strict=False)}
        return {name: words for name, words in asked.items() if words != f"mentions “{name}”"}

    @property
    def what(self) -> str:
        """Counts, of a period, or running totals."""
        if self.since:
            return f"running totals from {self.since} to {self.period}"
        return f"counts in {self.period}" if self.period else "counts"

    @property
    def counted(self) -> str:
        """What is counted: people or texts."""
        return "people" if self.unit == "author" and self.documents is None else "texts"

    @property
    def columns_of_numbers(self) -> tuple[str, ...]:
        """Names of the numbers of a row: the first says what is counted."""
        means = () if self.numbers is None else ("mean", "mean_low", "mean_high")
        return self.counted, "low", "high", "share_low", "share_high", *means

    @property
    def times(self) -> int:
        """How often a unit may count in one number."""
        return self.documents or 1

    def title(self, *, margin: bool = False) -> str:
        """What a number counts: for the head of a column. Cells and margins count alike."""
        people = self.counted == "people"
        if self.axes[0] == "question":
            return "People of whom it is true" if people else "Texts of which it is true"
        return "People who wrote about it" if people else "Texts about it"

    @property
    def bounded(self) -> str:
        """What the bound on contributions omits, in a sentence or two."""
        if self.number:
            low, high = self.number_range
            means = f" Means are of each {'person' if self.counted == 'people' else 'text'}'s own mean of {self.number}"
            means += ", over the texts of which it is true if there are any" if self.asked else ""
            return f"{self._in_cells}{means}, clipped to {low:g} to {high:g}; texts without a number do not count."
        if not self.period or self.unit == "document":
            return self._in_cells
        if self.max_periods >= self.n_periods and not self.since:
            return self._in_cells
        times = "one period" if self.max_periods == 1 else f"at most {self.max_periods} periods"
        often = self.since and self.max_periods > 1
        total = " A total counts a person once for each of their periods." if often else ""
        return (
            f"{self._in_cells} Counted are people who counted in fewer than {self.max_periods} earlier periods: each "
            f"{self.unit} counts in {times} of the series, the first ones.{total}"
        )

    @property
    def _in_cells(self) -> str:
        if self.documents is not None:
            return f"At most {self.documents} texts of each {self.unit} count; others are left out."
        if self.over is None or self.over_noise_std is None:
            each = "person counts once in every row that is theirs" if self.counted == "people" else "text counts once"
            return f"Each {each}; nobody is left out."
        many = Shown.of(Estimate.of(self.over, self.over_noise_std**2)).interval
        rows = "one row" if self.max_cells == 1 else f"at most {self.max_cells} rows"
        return (
            f"Each {'person' if self.counted == 'people' else 'text'} counts in {rows} of each table. {many} had more: "
            "that is how many a count may lack, and intervals reach up by it."
        )

    def columns(self) -> dict[str, Any]:
        """One row for each cell and margin, as columns."""
        rows = list(self.rows())
        return {name: [row[name] for row in rows] for name in rows[0]}

    def summary_json(self, n: int) -> dict[str, Any]:
        """The margin of the first axis, and what the bound omits."""
        names = self.values[0]
        counts = [{self.axes[0]: name, **self.count(**{self.axes[0]: name})._asdict()} for name in names]
        plain = [{k: None if v != v else v for k, v in row.items()} for row in counts]
        return {"counted": self.title(), "counts": plain, "axes": list(self.axes), "bounded": self.bounded}


def fieller(first: Any, second: Any, variance: Any, both: Any, whole: Any) -> tuple[Any, ...]:
    """95 % limits of first/second within 0 to 1: all ratios that the two normal variables do not refute.

    (a − ρb)² ≤ z²(v_a − 2ρ c + ρ² v_b), Fieller 1940. NaN where the set is unbounded: b does not differ from zero.
    """
    square = Z95**2
    leading = second**2 - square * whole
    middle = first * second - square * both
    last = first**2 - square * variance
    bounded = (leading > 0) & (second > 0)
    root = np.sqrt(np.maximum(middle**2 - leading * last, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = (middle - root) / leading, (middle + root) / leading
        return tuple(np.where(bounded, np.clip(limit, 0.0, 1.0), np.nan) for limit in (low, high))
