"""What rose and what fell between two releases: of counts, answers, or themes. Post-processing: nothing is spent."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import product
from math import hypot, isnan
from statistics import NormalDist
from typing import Any

from dptopics.core.errors import InputError
from dptopics.release.counts import Z95, CountTable, Estimate
from dptopics.release.topic_model import TopicModel

ERROR = 0.05


@dataclass(frozen=True, kw_only=True)
class Change:
    """One row: its number in both releases, and the change with an interval that holds for all rows together."""

    row: str
    before: float
    after: float
    change: float
    low: float
    high: float
    deviations: float

    @property
    def verdict(self) -> str:
        """Whether the noise of both, and what a bound may have cut, leave that open."""
        return "rose" if self.low > 0 else "fell" if self.high < 0 else "open"


def compare(before: Any, after: Any, *, error: float = ERROR) -> list[Change]:
    """The rows that two values share, the surest change first.

    With probability 1 − ``error`` all intervals hold together (Bonferroni over the rows that are compared): of two
    releases of the same data, at most so many in a hundred show a change. People differ from period to period by
    chance as well: that is no noise of the release, and is in no interval.

    >>> import numpy as np
    >>> one, other = (CountTable(axes=("topic",), values=(("0", "1"),), cube=np.array(cells), noise=4.0)
    ...     for cells in ([100.0, 50.0, 150.0], [104.0, 90.0, 194.0]))
    >>> [(row.row, row.verdict) for row in compare(one, other)]
    [('all', 'rose'), ('topic 1', 'rose'), ('topic 0', 'open')]
    """
    if not 0 < error < 1:
        raise InputError(f"error must lie strictly between 0 and 1, got {error}.")
    rows = _rows(before), _rows(after)
    if _meaning(before) != _meaning(after):
        raise InputError("these two releases do not count the same: their topics, questions, units or axes differ.")
    shared = [name for name in rows[0] if name in rows[1]]
    if not shared:
        raise InputError("these two releases have no row in common.")
    far = NormalDist().inv_cdf(1 - error / 2 / len(shared))
    found = [_change(name, rows[0][name], rows[1][name], far) for name in shared]
    return sorted(found, key=lambda row: -abs(row.deviations))


def to_dict(rows: list[Change], error: float) -> dict[str, Any]:
    """Plain data for JSON."""
    return {"error": error, "rows": [asdict(row) | {"verdict": row.verdict} for row in rows]}


def _change(name: str, one: Estimate, other: Estimate, far: float) -> Change:
    noise_std, change = hypot(one.noise_std, other.noise_std), other.value - one.value
    down, up = (max(0.0, e.high - e.value - Z95 * e.noise_std) for e in (one, other))  # what a bound may have cut
    low, high = change - far * noise_std - down, change + far * noise_std + up
    deviations = change / noise_std if noise_std else 0.0
    return Change(row=name, before=one.value, after=other.value, change=change, low=low, high=high,
                  deviations=deviations)  # fmt: skip


def _meaning(value: Any) -> tuple[Any, ...]:
    """What must be alike. Of an atlas, other versions share themes."""
    if isinstance(value, CountTable):
        # Questions are part of the names of rows: those that both have are compared.
        return value.axes, value.unit, value.documents, "" if value.asked else value.model
    return (value.themes.unit,)


def _rows(value: Any) -> Mapping[str, Estimate]:
    """Every number of a release by the name of its row."""
    if isinstance(value, CountTable):
        places = product(*(range(n + 1) for n in value.shape))
        asked = value.wording
        return {_named(value, at, asked): one for at in places if not isnan((one := value.estimate(at)).value)}
    if isinstance(value, TopicModel) and value.themes is not None and value.themes.noisy is not None:
        return {row.name if row.topic is not None else f"{row.name}: {row.domain}": row.size
                for row in value.themes.rows()}  # fmt: skip
    raise InputError("compare two releases of counts, of answers, or of themes with their sizes.")


def _named(table: CountTable, index: tuple[int, ...], asked: Mapping[str, str]) -> str:
    names = [own[k] if k < len(own) else "" for own, k in zip(table.values, index, strict=True)]
    parts = [f"{axis} {name}" for axis, name in zip(table.axes, names, strict=True) if name]
    return " ".join(filter(None, [", ".join(parts), asked.get(names[0])])) or "all"
