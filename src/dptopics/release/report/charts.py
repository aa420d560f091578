"""Charts without scripts: SVG with its numbers printed beside it."""

import re
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from math import ceil, floor, isnan
from typing import TYPE_CHECKING, Any, NamedTuple

from dptopics.core.axes import edges_of
from dptopics.release.counts import CountTable, Estimate, Shown

if TYPE_CHECKING:
    from dptopics.release.tree import TopicTree


def table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]], raw: Sequence[int] = ()) -> str:
    """A table with a caption and headers. Cells are escaped, except in the columns ``raw``, which are markup."""
    head = "".join(f'<th scope="col">{escape(h)}</th>' for h in heads)
    body = "".join(
        "<tr>"
        + "".join(
            f"<td>{cell if i in raw else escape(cell)}</td>" if i else f'<th scope="row">{escape(cell)}</th>'
            for i, cell in enumerate(row)
        )
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
        f"<caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def asset(name: str) -> str:
    """A file that lies beside this one."""
    return files("dptopics.release.report").joinpath(name).read_text("utf-8")


def section(place: str, title: str, *body: str) -> str:
    """A part of the page with its heading, which is markup."""
    head = f'<section id="{place}" aria-labelledby="{place}-title"><h2 id="{place}-title">{title}</h2>'
    return f"{head}{''.join(body)}</section>"


def folded(summary: str, body: str) -> str:
    """What is open in print only."""
    return f"<details><summary>{escape(summary)}</summary>{body}</details>"


class Bar(NamedTuple):
    """A number with the ends of its error bar, and how both are printed."""

    name: str
    value: float = 0.0
    low: float | None = None
    high: float | None = None
    shown: str = ""
    interval: str = ""
    note: str = ""

    @classmethod
    def counted(cls, name: str, found: Estimate, note: str = "") -> "Bar":
        """A count in whole numbers; NaN: suppressed."""
        if isnan(found.value):
            return cls(name, shown="suppressed", note=note)
        whole = Shown.of(found)
        return cls(name, whole.value, whole.low, whole.high, f"{whole.value:,}", f"({whole.interval})", note)

    @classmethod
    def percent(cls, name: str, value: float, low: float, high: float) -> "Bar":
        """A share with its 95 % set, rounded outward."""
        ends = f"({floor(1000 * low) / 10:.1f} to {ceil(1000 * high) / 10:.1f})"
        return cls(name, min(1.0, max(0.0, value)), low, high, f"{100 * min(1.0, max(0.0, value)):.1f} %", ends)


def bars(rows: Sequence[Bar], ends: tuple[float, float] | None = None) -> str:
    """Horizontal bars with error bars, as a list that is read aloud as it is seen; ``ends``: of the scale."""
    low, high = ends or span(rows)

    def at(x: float) -> str:
        return f"{100 * (min(max(x, low), high) - low) / max(high - low, 1e-300):.4g}"

    def drawn(row: Bar) -> str:
        left, right = at(min(row.value, 0.0)), at(max(row.value, 0.0))
        size = f'<path class="size" d="M{left} 1.5H{right}V8.5H{left}Z"/>'
        if row.low is None or row.high is None:
            return size
        a, b = at(row.low), at(row.high)
        return f'{size}<path class="error" d="M{a} 2.5V7.5M{a} 5H{b}M{b} 2.5V7.5"/>'

    lines = "".join(
        f'<li><span class="name"><bdi>{escape(row.name)}</bdi>{_small(row.note)}</span><svg viewBox="0 0 100 10" '
        f'preserveAspectRatio="none" aria-hidden="true">{drawn(row)}</svg> <b>{escape(row.shown)}</b> '
        f"<span>{escape(row.interval)}</span></li>"
        for row in rows
    )
    return f'<ol class="bars" role="list">{lines}</ol>'


def _small(note: str) -> str:
    return f" <small>{escape(note)}</small>" if note else ""


def span(rows: Iterable[Bar]) -> tuple[float, float]:
    """The scale on which all error bars fit, with zero in it."""
    ends = [end for row in rows for end in (row.value, row.low, row.high) if end is not None]
    return min(0.0, *ends, 0.0), max(1e-12, *ends, 0.0)


def multiples(charts: Iterable[tuple[str, str, str]]) -> str:
    """Small charts beside each other, each with its title and a note."""
    drawn = "".join(
        f"<figure><figcaption><bdi>{escape(title)}</bdi>{_small(note)}</figcaption>{chart}</figure>"
        for title, note, chart in charts
    )
    return f'<div class="multiples">{drawn}</div>'


def breakdown(table: CountTable, names: Sequence[str], order: Sequence[int]) -> str:
    """What is counted over time, then by groups."""
    return trends(table, names, order) + groups(table, names, order)


_MOST_GROUPS = 12  # bars of a chart; more are in the table
_MOST_CELLS = 4_000  # of that table; more are in counts.csv


def groups(table: CountTable, names: Sequence[str], order: Sequence[int]) -> str:
    """For each axis beside the first and time: the shares of its groups, by what is counted."""
    found = []
    for axis in sorted({*range(1, len(table.axes))} - {time_axis(table)}):
        values = table.values[axis]
        largest = sorted(range(len(values)), key=lambda j: -number(table, {axis: j}).value)
        most = sorted(largest[:_MOST_GROUPS])
        rows = [(names[k], "", [_share(table, axis, k, j) for j in most]) for k in order[:_MOST_CHARTS]]
        ends = span(bar for *_, row in rows for bar in row)
        several = f"the {_MOST_GROUPS} largest of {len(values)} groups; " if len(most) < len(values) else ""
        said = (_OF_BIN if edges_of(values) else _OF_GROUP).format(several, escape(table.counted))
        drawn = multiples((name, note, bars(row, ends)) for name, note, row in rows)
        title = f"By {escape(table.axes[axis])}"
        found.append(section(f"by-{axis}", title, said, drawn, _tables(table, axis, names)))
    return "".join(found)


_OF_GROUP = (
    "<p>Each bar is a share of its own group ({}the same scale throughout): of all {} there (95 % interval).</p>"
)
_OF_BIN = "<p>Each bar is a share of its chart's own {1} ({0}the same scale throughout; 95 % interval).</p>"


def _share(table: CountTable, axis: int, k: int, j: int) -> Bar:
    """A cell's share of its group, or its bin's share of the row."""
    group = table.values[axis][j]
    found, _ = table.shares_by(table.axes[axis], table.values[0][k], group)
    if isnan(sum(number(table, where).value for where in ({0: k, axis: j}, {0: k}, {axis: j}))):
        return Bar(group, shown="suppressed")
    if found is None:
        return Bar(group, shown="too few to say")
    return Bar.percent(group, *found)


def _tables(table_of: CountTable, axis: int, names: Sequence[str]) -> str:
    """Counts of an axis with their intervals; of groups also how many times the share in the first theirs are."""
    values, named = table_of.values[axis], table_of.axes[axis]
    if len(names) * len(values) > _MOST_CELLS:
        return "<p>All counts are in counts.csv of the release.</p>"
    rows = [
        (name, *(" ".join(Bar.counted("", number(table_of, {0: k, axis: j}))[4:6]).strip() for j in range(len(values))))
        for k, name in enumerate(names)
    ]
    title = f"{table_of.title(margin=True)} by {named}"
    counts = folded(f"{title}, as a table", table(f"{title} (95 % interval)", (table_of.axes[0], *values), rows))
    if edges_of(values) or axis == time_axis(table_of):
        return counts
    ratios = [[table_of.shares_by(named, one, value)[1] for value in values[1:]] for one in table_of.values[0]]
    rows = [(name, *(str(one or "-") for one in row)) for name, row in zip(names, ratios, strict=True)]
    title = f"Shares beside that in {values[0]} (95 % interval)"
    return counts + folded(title, table(title, (table_of.axes[0], *values[1:]), rows))


def number(table: CountTable, where: dict[int, int]) -> Estimate:
    """The count of a cell or margin by the places of its values; NaN where suppressed."""
    return table.estimate(tuple(where.get(axis, -1) for axis in range(len(table.axes))))


_ROW, _WIDE, _TEXT = 20.0, 300.0, 420.0
_MOST_TOPICS = 200


def tree(found: "TopicTree", names: Sequence[str]) -> str:
    """A tree of at least three topics, with their names as leaves."""
    if not 2 < found.n_topics <= _MOST_TOPICS:
        return ""
    top = float(found.heights[-1]) or 1.0
    parts: list[str] = []
    leaf = [0]

    def place(node: dict[str, Any]) -> tuple[float, float]:
        """The position of a node; its branches and leaves are drawn recursively."""
        if "topic" in node:
            y = _ROW * (leaf[0] + 0.7)
            leaf[0] += 1
            parts.append(f'<text x="{_WIDE + 8}" y="{y + 4:.1f}">{escape(names[node["topic"]])}</text>')
            return _WIDE, y
        x = _WIDE * (1 - node["height"] / top)
        ends = [place(child) for child in node["of"]]
        parts.extend(f'<path class="branch" d="M{end:.1f} {y:.1f}H{x:.1f}"/>' for end, y in ends)
        parts.append(f'<path class="branch" d="M{x:.1f} {ends[0][1]:.1f}V{ends[1][1]:.1f}"/>')
        return x, (ends[0][1] + ends[1][1]) / 2

    place(found.to_dict())
    drawn = (
        f'<div class="scroll" tabindex="0" role="region" aria-label="Tree of topics"><svg class="tree" viewBox="-2 0 '
        f'{_WIDE + _TEXT:.0f} {_ROW * (found.n_topics + 0.5):.0f}" role="img" aria-label="Tree of topics; the same as '
        f'text: dptopics show --tree">{"".join(parts)}</svg></div>'
    )
    note = "Topics joined further to the right are more similar. Merging them costs nothing"
    return section("tree", "Similar topics", drawn, f"<p>{note} (<code>release.merged(n)</code>).</p>")


_PERIOD = re.compile(r"\d{4}-(?:W?\d{2})(?:-\d{2})?")
_T_WIDE, _HIGH, _T_LEFT, _UNDER = 260.0, 90.0, 44.0, 18.0
_MOST_CHARTS = 60
_FEWEST = 2  # periods


def time_axis(table: CountTable) -> int | None:
    """The axis of days, weeks or months, if there is one."""
    for axis in range(1, len(table.axes)):
        known = [value for value in table.values[axis] if value != "other"]
        if len(known) >= _FEWEST and all(_PERIOD.fullmatch(value) for value in known):
            return axis
    return None


def trends(table: CountTable, names: Sequence[str], order: Sequence[int]) -> str:
    """A chart for each value of the first axis; nothing without a time axis."""
    axis = time_axis(table)
    if axis is None:
        return ""
    periods = [i for i, value in enumerate(table.values[axis]) if value != "other"]
    series = [(names[k], [_point(table, {0: k, axis: i}) for i in periods]) for k in order[:_MOST_CHARTS]]
    highest = max((one[4] for _, row in series for one in row if one), default=1) or 1
    first, last = table.values[axis][periods[0]], table.values[axis][periods[-1]]
    return section(
        "trends",
        "Over time",
        f"<p>{escape(table.title(margin=True))} by {escape(table.axes[axis])}. The dark band covers the noise of the "
        "release (95 %). The pale band adds the sampling of people: where it covers a flat line, chance explains the "
        "changes. Periods differ by more for many reasons, such as seasons and campaigns.</p>",
        multiples((name, "", _lines(row, highest, first, last)) for name, row in series if any(row)),
        _tables(table, axis, names),
    )


def _point(table: CountTable, where: dict[int, int]) -> tuple[int, ...] | None:
    """Count, low, high by the noise alone, then low and high with sampling of people; None: suppressed.

    People arrive independently (Poisson); one who counts in up to m cells moves sums of cells by up to m.
    """
    found = number(table, where)
    if isnan(found.value):
        return None
    of_people = table.times * max(found.value, 0.0)
    return (*Shown.of(found), *Shown.of(Estimate.of(found.value, found.noise_std**2 + of_people))[1:])


def _lines(row: Sequence[Sequence[int] | None], highest: float, first: str, last: str) -> str:
    """A line with its two bands; a suppressed period leaves a gap."""
    step, floor = _T_WIDE / max(1, len(row) - 1), 4 + _HIGH

    def at(i: int, value: float) -> str:
        return f"{_T_LEFT + i * step:.1f},{4 + _HIGH * (1 - value / highest):.1f}"

    known = [(i, one) for i, one in enumerate(row) if one]
    breaks = [n for n, (i, _) in enumerate(known) if n and i != known[n - 1][0] + 1]
    pieces = [known[a:b] for a, b in zip([0, *breaks], [*breaks, len(known)], strict=True)]
    bands = "".join(
        f'<polygon class="{kind}" points="'
        f'{" ".join([at(i, n[high]) for i, n in p] + [at(i, n[low]) for i, n in reversed(p)])}"/>'
        for kind, low, high in (("chance", 3, 4), ("band", 1, 2))
        for p in pieces
    )
    lines = "".join(f'<polyline class="line c0" points="{" ".join(at(i, n[0]) for i, n in p)}"/>' for p in pieces)
    said = [f"{n[0]:,} ({n[1]:,} to {n[2]:,})" for n in (known[0][1], known[-1][1])]
    return (
        f'<svg viewBox="0 0 {_T_LEFT + _T_WIDE + 4:.0f} {floor + _UNDER:.0f}" aria-hidden="true">'
        f'<line class="grid" x1="{_T_LEFT}" x2="{_T_LEFT + _T_WIDE}" y1="{floor}" y2="{floor}"/>{bands}{lines}'
        f'<text class="tick" x="{_T_LEFT - 4}" y="12" text-anchor="end">{highest:,.0f}</text>'
        f'<text class="tick" x="{_T_LEFT - 4}" y="{floor}" text-anchor="end">0</text>'
        f'<text class="tick" x="{_T_LEFT}" y="{floor + 14}">{escape(first)}</text>'
        f'<text class="tick" x="{_T_LEFT + _T_WIDE}" y="{floor + 14}" text-anchor="end">{escape(last)}</text>'
        f'</svg><p class="ends">First {said[0]}, last {said[1]}</p>'
    )
