"""Counts over time on the page: one small chart for each topic, with the band that the noise leaves open."""

import re
from collections.abc import Sequence
from html import escape

from dptopics.release.counts import CountTable
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
    series = [[number(table, {0: k, axis: i}) for i in periods] for k in range(min(len(names), _MOST_CHARTS))]
    highest = max((one[2] for row in series for one in row if one), default=1) or 1
    first, last = table.values[axis][periods[0]], table.values[axis][periods[-1]]
    drawn = "".join(
        _chart(name, row, highest, first, last) for name, row in zip(names, series, strict=False) if any(row)
    )
    return (
        '<section id="trends" aria-labelledby="trends-title"><h2 id="trends-title">Over time</h2>'
        f"<p>{escape(table.counted.capitalize())}s by {escape(table.axes[axis])}. The band is the 95 % interval: where "
        f"it covers a flat line, nothing is known to have changed.</p><div class='multiples'>{drawn}</div></section>"
    )


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
    around = [[at(i, n[2]) for i, n in p] + [at(i, n[1]) for i, n in reversed(p)] for p in pieces]
    bands = "".join(f'<polygon class="band" points="{" ".join(points)}"/>' for points in around)
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
