"""Counts over time on the page: one small chart for each topic, with bands for the noise and for chance."""

import re
from collections.abc import Sequence
from html import escape

from dptopics.release.counts import CountTable, Estimate, Shown
from dptopics.release.report.count_maps import number

_PERIOD = re.compile(r"\d{4}-(?:W?\d{2})(?:-\d{2})?")
_WIDE, _HIGH, _LEFT, _UNDER = 260.0, 90.0, 44.0, 18.0
_MOST_CHARTS = 60
_FEWEST = 2  # periods


def time_axis(table: CountTable) -> int | None:
    """Which axis is one of days, weeks or months, if there is one."""
    for axis in range(1, len(table.axes)):
        known = [value for value in table.values[axis] if value != "other"]
        if len(known) >= _FEWEST and all(_PERIOD.fullmatch(value) for value in known):
            return axis
    return None


def charts(table: CountTable, names: Sequence[str]) -> str:
    """A chart for each value of the first axis; nothing where the table has no time."""
    axis = time_axis(table)
    if axis is None:
        return ""
    periods = [i for i, value in enumerate(table.values[axis]) if value != "other"]
    series = [[_point(table, {0: k, axis: i}) for i in periods] for k in range(min(len(names), _MOST_CHARTS))]
    highest = max((one[4] for row in series for one in row if one), default=1) or 1
    first, last = table.values[axis][periods[0]], table.values[axis][periods[-1]]
    drawn = "".join(
        _chart(name, row, highest, first, last) for name, row in zip(names, series, strict=False) if any(row)
    )
    return (
        '<section id="trends" aria-labelledby="trends-title"><h2 id="trends-title">Over time</h2>'
        f"<p>{escape(table.title(margin=True))} by {escape(table.axes[axis])}. The dark band is what the noise of "
        "the release leaves open (95 %). The pale band adds what chance alone would change if other people of the same "
        "kind had written: where it covers a flat line, there is nothing to explain. Weeks differ by more than that "
        f"for many reasons, seasons and campaigns among them.</p><div class='multiples'>{drawn}</div></section>"
    )


def _point(table: CountTable, where: dict[int, int]) -> list[float] | None:
    """[count, low, high] by the noise alone, then low and high with the chance of drawing people; None: suppressed.

    People come by themselves (Poisson), but one who counts in up to m cells moves sums of cells m at a time.
    """
    shown = number(table, where)
    if shown is None:
        return None
    index = tuple(where.get(axis, -1) for axis in range(len(table.axes)))
    count, deviation = float(table.cube[index]), float(table.deviations[index])
    both = Estimate.of(count, deviation**2 + (table.documents or table.max_cells) * max(count, 0.0))
    return [*shown, *Shown.of(both)[1:]]


def _chart(name: str, row: Sequence[Sequence[float] | None], highest: float, first: str, last: str) -> str:
    step = _WIDE / max(1, len(row) - 1)

    def at(i: int, value: float) -> str:
        return f"{_LEFT + i * step:.1f},{4 + _HIGH * (1 - value / highest):.1f}"

    pieces: list[list[tuple[int, Sequence[float]]]] = []
    piece: list[tuple[int, Sequence[float]]] = []
    for i, one in enumerate([*row, None]):  # a suppressed period leaves a gap
        if one is None:
            if piece:
                pieces.append(piece)
            piece = []
        else:
            piece.append((i, one))
    bands = "".join(
        f'<polygon class="{kind}" points="'
        f'{" ".join([at(i, n[high]) for i, n in p] + [at(i, n[low]) for i, n in reversed(p)])}"/>'
        for kind, low, high in (("chance", 3, 4), ("band", 1, 2))
        for p in pieces
    )
    lines = "".join(f'<polyline class="line c0" points="{" ".join(at(i, n[0]) for i, n in p)}"/>' for p in pieces)
    known = [one for one in row if one]
    label = f"{name}: {known[0][0]:,} at first, {known[-1][0]:,} at last; the table below has all numbers"
    floor = 4 + _HIGH
    return (
        f'<figure><figcaption><bdi>{escape(name)}</bdi></figcaption><svg viewBox="0 0 {_LEFT + _WIDE + 4:.0f} '
        f'{floor + _UNDER:.0f}" role="img" aria-label="{escape(label)}">'
        f'<line class="grid" x1="{_LEFT}" x2="{_LEFT + _WIDE}" y1="{floor}" y2="{floor}"/>{bands}{lines}'
        f'<text class="tick" x="{_LEFT - 4}" y="12" text-anchor="end">{highest:,.0f}</text>'
        f'<text class="tick" x="{_LEFT - 4}" y="{floor}" text-anchor="end">0</text>'
        f'<text class="tick" x="{_LEFT}" y="{floor + 14}">{escape(first)}</text>'
        f'<text class="tick" x="{_LEFT + _WIDE}" y="{floor + 14}" text-anchor="end">{escape(last)}</text>'
        "</svg></figure>"
    )
