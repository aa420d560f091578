"""CountTable: released counts of units by topic, group and period, with confidence intervals. Public."""

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import ceil, floor, isnan, sqrt
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dptopics.core.axes import ALL
from dptopics.core.errors import BundleError, InputError, renamed_attribute
from dptopics.core.files import Arrays, known
from dptopics.core.vocabulary import Vocabulary
from dptopics.release import margins
from dptopics.release.tabular import Tabular

_NUMBERS = ("count", "low", "high", "share_low", "share_high")
Z95 = 1.959963984540054  # 97.5 % of a normal distribution lies below
Place = tuple[int | None, ...]  # for each axis a value by its number, or None for all


class Estimate(NamedTuple):
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float
    noise_std: float

    @classmethod
    def of(cls, value: float, variance: float) -> Self:
        """Of a normal variable with known variance."""
        noise_std = sqrt(max(variance, 0.0))
        return cls(value, value - Z95 * noise_std, value + Z95 * noise_std, noise_std)


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
        """As text."""
        return f"{self.low:,} to {self.high:,}"


class Share(NamedTuple):
    """A ratio of two counts with its 95 % set (Fieller 1940)."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False, kw_only=True)
class CountTable(Tabular):
    """Counts of units in cells and margins. Totals agree: every margin is the sum of its cells.

    ``cube`` holds the counts; along each axis the last entry is the sum over the others. Counts are of *bounded*
    contributions: a unit counts in at most ``max_cells`` cells; ``over`` is how many units had more. Intervals cover
    the noise in these counts. NaN: suppressed, because the noisy count was below ``min_units``.

    >>> table = CountTable(axes=("topic", "ward"), values=(("0", "1"), ("north", "south")),
    ...     cube=margins.cube(np.array([[90.0, 10.0], [40.0, 60.0]])), weights=np.ones(4), noise=2.0)
    >>> table.count(topic="0", ward="north").value, table.count(topic="0").value, table.count().value
    (90.0, 100.0, 200.0)
    >>> table.difference({"topic": "0"}, {"topic": "1"}).value
    0.0
    >>> [round(x, 2) for x in table.share({"topic": "0", "ward": "north"}, of={"ward": "north"})]
    [0.69, 0.67, 0.71]
    """

    axes: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    cube: NDArray[np.float64]
    weights: NDArray[np.float64]  # of the measurement of every margin
    noise: float  # standard deviation of each measurement
    max_cells: int = 1
    min_units: int = 0
    over: float | None = None
    over_noise_std: float | None = None
    unit: str = "author"
    documents: int | None = None  # of each unit that count, where documents are counted
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

    deviations = renamed_attribute("deviations", "noise_std")

    @cached_property
    def noise_std(self) -> NDArray[np.float64]:
        """Standard deviation of each count of ``cube``: the same throughout a margin."""
        found = self.noise * np.sqrt(margins.variances(self.shape, self.weights))
        where = np.ix_(*((np.arange(n + 1) < n).astype(int) for n in self.shape))
        return np.asarray(found.reshape((2,) * len(self.shape))[where])

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
        variance = self.covariance(a, a) + self.covariance(b, b) - 2 * self.covariance(a, b)
        return Estimate.of(self._at(a).value - self._at(b).value, variance)

    def share(self, one: Mapping[str, str], *, of: Mapping[str, str]) -> Share | None:
        """One count as a share of another, with Fieller's set within 0 to 1. None: the set is unbounded."""
        a, b = self.place(one), self.place(of)
        first, second = self._at(a).value, self._at(b).value
        low, high = fieller(first, second, self.covariance(a, a), self.covariance(a, b), self.covariance(b, b))
        return None if isnan(low) else Share(first / second, float(low), float(high))

    def covariance(self, one: Place, other: Place) -> float:
        """Of two counts, from the noise alone."""
        return self.noise**2 * margins.covariance(self.shape, self.weights, one, other)

    def _at(self, place: Place) -> Estimate:
        index = tuple(-1 if value is None else value for value in place)
        return Estimate.of(float(self.cube[index]), float(self.noise_std[index]) ** 2)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Cells and margins, the total first: names, count, interval rounded outward, share of the first axis.

        Counts and intervals are as measured and may lie below 0, so that sums of cells stay unbiased.
        """
        low, high = self.cube - Z95 * self.noise_std, self.cube + Z95 * self.noise_std
        share_low, share_high = self.shares()
        names = [[*values, ALL] for values in self.values]
        for index in product(*(range(n, -1, -1) for n in self.shape)):
            count = float(self.cube[index])
            row: dict[str, Any] = {head: names[i][k] for i, (head, k) in enumerate(zip(self.heads, index, strict=True))}
            if isnan(count):
                yield row | {"count": None, "low": None, "high": None, "share_low": None, "share_high": None}
                continue
            shares = [None if isnan(float(s[index])) else float(s[index]) for s in (share_low, share_high)]
            yield row | {
                "count": round(count, 1),
                "low": floor(low[index]),
                "high": ceil(high[index]),
                "share_low": shares[0],
                "share_high": shares[1],
            }

    @property
    def heads(self) -> tuple[str, ...]:
        """Names of the axes as column heads, distinct from those of the numbers."""
        found: list[str] = []
        for axis in self.axes:
            while axis in (*_NUMBERS, *found):
                axis += "_group"
            found.append(axis)
        return tuple(found)

    def shares(self) -> tuple[Any, ...]:
        """Fieller sets of each count as a share of all on the first axis, in the same group and period."""
        whole = np.broadcast_to(self.cube[-1:], self.cube.shape)
        both = np.empty_like(self.cube)
        for totals in product((False, True), repeat=len(self.shape)):
            part = tuple(slice(-1, None) if total else slice(0, -1) for total in totals)
            one: Place = tuple(None if total else 0 for total in totals)
            both[part] = self.covariance(one, (None, *one[1:]))
        noise_std = np.broadcast_to(self.noise_std[-1:], self.cube.shape)
        return fieller(self.cube, whole, self.noise_std**2, both, noise_std**2)

    # --- in a bundle ---

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Counts and weights; the measurements only where small counts are not suppressed."""
        return known(cube=self.cube, weights=self.weights, latest=None if self.min_units else self.latest)

    def fields(self) -> dict[str, Any]:
        """Axes, noise and bounds."""
        names = ("noise", "max_cells", "min_units", "over", "over_noise_std", "unit", "documents", "model")
        series = ("period", "since", "n_periods", "max_periods") if self.period else ()
        own = {name: getattr(self, name) for name in (*names, *series)}
        return {"axes": list(self.axes), "values": [list(values) for values in self.values], **own}

    @classmethod
    def restored(cls, vocabulary: Vocabulary, arrays: Arrays, fields: Mapping[str, Any]) -> Self:
        """From a bundle."""
        own = {**fields, "axes": tuple(fields["axes"]), "values": tuple(map(tuple, fields["values"]))}
        table = cls(cube=arrays["cube"], weights=arrays["weights"], latest=arrays.get("latest"), **own)
        if table.cube.shape != tuple(n + 1 for n in table.shape) or table.weights.size != 2 ** len(table.axes):
            raise BundleError("counts and axes do not match.")
        return table

    def tables(self) -> dict[str, str]:
        """All cells and margins."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([*self.heads, *_NUMBERS])
        for row in self.rows():
            *names, count, low, high, share_low, share_high = row.values()
            shares = ["" if share is None else f"{share:.4f}" for share in (share_low, share_high)]
            writer.writerow([*names, "" if count is None else count, "" if low is None else low,
                             "" if high is None else high, *shares])  # fmt: skip
        return {"counts.csv": out.getvalue()}

    def summary(self) -> list[str]:
        """What is counted, what the bound omits, and the files."""
        small = f" Counts below {self.min_units} are left empty." if self.min_units else ""
        return [
            f"Noisy {self.what} of {self.counted}s by {', '.join(self.axes)}, with 95 % intervals.{small}",
            *([f"Sums over cells count {self.title(margin=True).lower()}."] if self.pairs else []),
            self.bounded,
            "",
            f"counts.csv: every cell and margin ('{ALL}' is the sum over an axis), with intervals of its count and of "
            f"its share of all {self.axes[0]}s in the same place (empty: the noise is too large). Counts and their "
            "intervals are as measured: noise may take them below 0, and their sums are unbiased. Pages and terminals "
            "show 0 instead.",
            "counts.npz: the same in full precision (NumPy).",
        ]

    @property
    def what(self) -> str:
        """Counts, of a period, or running totals."""
        if self.since:
            return f"running totals from {self.since} to {self.period}"
        return f"counts in {self.period}" if self.period else "counts"

    @property
    def counted(self) -> str:
        """What is counted: authors or documents."""
        return self.unit if self.documents is None else "document"

    @property
    def pairs(self) -> bool:
        """Whether a sum over cells may count a unit more than once."""
        return self.documents is None and self.max_cells > 1 and len(self.axes) > 1

    def title(self, *, margin: bool) -> str:
        """What a cell, or a sum over cells, counts: for the head of a column."""
        many = f"{self.counted.capitalize()}s"
        return f"{many}, once for each of their cells" if margin and self.pairs else many

    @property
    def bounded(self) -> str:
        """What the bound on contributions omits, in a sentence or two."""
        if not self.period or self.unit == "document":
            return self._in_cells
        times = "one period" if self.max_periods == 1 else f"at most {self.max_periods} periods"
        return f"{self._in_cells} Each {self.unit} counts in {times} of the series, the first ones."

    @property
    def _in_cells(self) -> str:
        if self.documents is not None:
            return f"At most {self.documents} documents of each {self.unit} count; others are left out."
        times = "one cell" if self.max_cells == 1 else f"at most {self.max_cells} cells"
        if self.over is None or self.over_noise_std is None:
            return f"Each {self.unit} counts in {times}."
        many = Shown.of(Estimate.of(self.over, self.over_noise_std**2)).interval
        return f"Each {self.unit} counts in {times}. {many} {self.unit}s had more cells, and do not count in the rest."

    def columns(self) -> dict[str, Any]:
        """One row for each cell and margin, as columns."""
        rows = list(self.rows())
        return {name: [row[name] for row in rows] for name in rows[0]}

    def summary_json(self, n: int) -> dict[str, Any]:
        """The margin of the first axis, and what the bound omits."""
        names = self.values[0]
        counts = [{self.axes[0]: name, **self.count(**{self.axes[0]: name})._asdict()} for name in names]
        plain = [{k: None if v != v else v for k, v in row.items()} for row in counts]
        return {"counts": plain, "axes": list(self.axes), "bounded": self.bounded}


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
