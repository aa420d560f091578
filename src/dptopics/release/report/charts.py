"""Charts without scripts: plain SVG, each with a table of the same numbers."""

import re
from collections.abc import Sequence
from html import escape
from math import ceil, isnan, log10
from typing import TYPE_CHECKING, Any

from dptopics.release.counts import CountTable, Estimate, Shown

if TYPE_CHECKING:
    from dptopics.release.tree import TopicTree


_LEFT, _TOP, _SIZE = 60.0, 12.0, 340.0
_LOWEST = 1e-4
_COLOURS = 8  # classes c0 … c7 of the style sheet


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


def ledger_bar(ledger: dict[str, Any], ours: Sequence[int]) -> str:
    """The charges in order, and what is left."""
    limit, parts, at = float(ledger["limits"]["price"]) or 1.0, [], 0.0
    for charge in ledger["charges"]:
        width = 600 * float(charge["price"]) / limit
        kind = "ours" if charge["number"] in ours else f"part{charge['number'] % 2}"
        name = f"Charge {charge['number']}: {charge['what']}, {charge['price'] / limit:.1%} of the budget"
        parts.append(
            f'<rect class="{kind}" x="{at:.2f}" y="0" width="{width:.2f}" height="36">'
            f"<title>{escape(name)}</title></rect>"
        )
        if width > 24:
            parts.append(f'<text x="{at + width / 2:.2f}" y="23">{charge["number"]}</text>')
        at += width
    left = max(0.0, 1 - at / 600)
    parts.append(f'<rect class="left" x="{at:.2f}" y="0" width="{600 * left:.2f}" height="36"/>')
    if left > 0.12:
        parts.append(f'<text class="quiet" x="{at + 300 * left:.2f}" y="23">left: {left:.0%}</text>')
    label = f"{len(ledger['charges'])} charges; {left:.0%} of the budget is left. The table below has the numbers."
    return f'<svg class="ledger" viewBox="0 0 600 36" role="img" aria-label="{escape(label)}">{"".join(parts)}</svg>'


def roc_chart(audit: dict[str, Any]) -> str:
    """Members found by false alarms, on log axes, with what the claim allows; old audits have two points only."""
    attacks = audit.get("attacks", [])
    if not attacks:
        return ""
    rates = audit.get("roc_false_positive_rates")
    parts, legend = [_axes()], []
    for i, one in enumerate(attacks):
        colour = f"c{i % _COLOURS}{' dashed' if i >= _COLOURS else ''}"
        if rates and one.get("roc"):
            points = list(zip(rates, one["roc"], strict=True))
            parts.append(f'<polyline class="line {colour}" points="{_path(points)}"/>')
        else:
            points = [(0.001, one["tpr_at_0.1%_fpr"]), (0.01, one["tpr_at_1%_fpr"])]
            parts += [f'<circle class="dot {colour}" cx="{_x(x):.1f}" cy="{_y(y):.1f}" r="4"/>' for x, y in points]
        legend.append((f"line {colour}", one["attack"]))
    parts.append(f'<polyline class="line guess" points="{_path([(_LOWEST, _LOWEST), (1, 1)])}"/>')
    legend.append(("line guess", "guessing"))
    if rates and audit.get("roc_allowed"):
        bound = list(zip(rates, audit["roc_allowed"], strict=True))
        parts.append(f'<polyline class="line bound" points="{_path(bound)}"/>')
        legend.append(("line bound", "the maximum that the claimed ε allows"))
    keys = "".join(
        f'<li><svg viewBox="0 0 24 8" aria-hidden="true"><line class="{kind}" x1="0" y1="4" x2="24" y2="4"/></svg>'
        f"{escape(name)}</li>"
        for kind, name in legend
    )
    wide = _LEFT + _SIZE + 24
    return (
        f'<figure class="roc"><svg viewBox="0 0 {wide:.0f} {_TOP + _SIZE + 48:.0f}" role="img" '
        'aria-label="Members found by false alarms on log axes; the tables below have the numbers">'
        f"{''.join(parts)}</svg><figcaption>Share of members found, by share of others accused."
        f'<ul class="legend">{keys}'
        f"</ul></figcaption></figure>{_roc_table(audit, rates)}"
    )


def _roc_table(audit: dict[str, Any], rates: Sequence[float] | None) -> str:
    if not rates:
        return ""
    columns = [a for a in audit["attacks"] if a.get("roc")]
    allowed = audit.get("roc_allowed")
    rows = [
        (f"{rates[i]:.2g}", *(f"{a['roc'][i]:.3g}" for a in columns), *([f"{allowed[i]:.3g}"] if allowed else []))
        for i in range(0, len(rates), 6)
    ]
    heads = ("False alarms", *(a["attack"] for a in columns), *(["allowed by the claim"] if allowed else []))
    return f"<details><summary>The curves as a table</summary>{table('Share of members found', heads, rows)}</details>"


def _axes() -> str:
    parts = [f'<rect class="frame" x="{_LEFT}" y="{_TOP}" width="{_SIZE}" height="{_SIZE}"/>']
    for power in range(-4, 1):
        name, x, y = f"{100 * 10.0**power:g} %", _x(10.0**power), _y(10.0**power)
        parts += [
            f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{_TOP + _SIZE}"/>',
            f'<line class="grid" y1="{y:.1f}" y2="{y:.1f}" x1="{_LEFT}" x2="{_LEFT + _SIZE}"/>',
            f'<text class="tick" x="{x:.1f}" y="{_TOP + _SIZE + 16}" text-anchor="middle">{name}</text>',
            f'<text class="tick" x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{name}</text>',
        ]
    middle = _LEFT + _SIZE / 2
    parts.append(f'<text class="tick" x="{middle}" y="{_TOP + _SIZE + 38}" text-anchor="middle">false alarms</text>')
    parts.append(
        f'<text class="tick" transform="translate(12 {_TOP + _SIZE / 2}) rotate(-90)" text-anchor="middle">'
        "members found</text>"
    )
    return "".join(parts)


def _path(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{_x(x):.1f},{_y(y):.1f}" for x, y in points)


def _x(rate: float) -> float:
    return _LEFT + _SIZE * (1 - log10(max(rate, _LOWEST)) / log10(_LOWEST))


def _y(rate: float) -> float:
    return _TOP + _SIZE * log10(min(1.0, max(rate, _LOWEST))) / log10(_LOWEST)


_MOST_COLUMNS = 120  # a wider table is in counts.csv only
_SHADES = 9  # heat1 … heat9 in the style


def counts(table: CountTable) -> dict[str, Any]:
    """The content of the page as plain data: each number as [count, low, high], or null where suppressed."""
    maps = []
    for axis in range(1, len(table.axes)):
        if table.shape[axis] <= _MOST_COLUMNS:
            cells = [[number(table, {0: k, axis: j}) for j in range(table.shape[axis])] for k in range(table.shape[0])]
            maps.append({"by": table.axes[axis], "columns": list(table.values[axis]), "cells": cells})
    return {
        "kind": "counts",
        "title": "Counts",
        "place": "topics",
        "total": table.cube.size,
        "axis": table.axes[0],
        "unit": table.title(margin=True),
        "cell": table.title(margin=False),
        "note": table.bounded,
        "rows": list(table.values[0]),
        "overview": [number(table, {0: k}) for k in range(table.shape[0])],
        "maps": maps,
    }


def number(table: CountTable, where: dict[int, int]) -> list[float] | None:
    """[count, low, high] of a cell or margin in whole numbers; None where suppressed."""
    found = table.estimate(tuple(where.get(axis, -1) for axis in range(len(table.axes))))
    return None if isnan(found.value) else list(Shown.of(found))


def counts_section(data: dict[str, Any]) -> str:
    """The overview, then the maps."""
    axis, unit = escape(data["axis"].capitalize()), escape(data["unit"])  # what a sum over the other axes counts
    rows = "".join(
        f"<tr><th scope='row'><bdi>{escape(name)}</bdi></th>{_overview(number)}</tr>"
        for name, number in zip(data["rows"], data["overview"], strict=True)
    )
    head = f"<thead><tr><th>{axis}</th><th>{unit}</th><th>95 % interval</th></tr></thead>"
    first = f"<table><caption>{unit} by {escape(data['axis'])}</caption>{head}<tbody>{rows}</tbody></table>"
    return (
        f'<section id="{data["place"]}" aria-labelledby="{data["place"]}-title"><h2 id="{data["place"]}-title">'
        f"{escape(data['title'])}</h2><p>{escape(data['note'])} Intervals cover the noise.</p>"
        f'<div class="scroll" tabindex="0" role="region" aria-label="Counts">{first}</div>'
        f"{''.join(_map(data, one) for one in data['maps'])}</section>"
    )


def _overview(number: list[float] | None) -> str:
    if number is None:
        return "<td>suppressed</td><td></td>"
    return f"<td>{number[0]:,}</td><td>{number[1]:,} to {number[2]:,}</td>"


def _map(data: dict[str, Any], one: dict[str, Any]) -> str:
    """A table with larger cells darker; each number's interval is its tooltip."""
    largest = max((number[0] for row in one["cells"] for number in row if number), default=1) or 1
    heads = "".join(f"<th scope='col'><bdi>{escape(name)}</bdi></th>" for name in one["columns"])
    body = "".join(
        f"<tr><th scope='row'><bdi>{escape(name)}</bdi></th>{''.join(_cell(number, largest) for number in row)}</tr>"
        for name, row in zip(data["rows"], one["cells"], strict=True)
    )
    counted = data["cell"] if len(data["maps"]) == 1 else data["unit"]
    title = f"{data['axis'].capitalize()} by {one['by']}, {counted.lower()}: point at a number for its interval"
    return (
        f'<div class="wide" tabindex="0"><table class="heat"><caption>{escape(title)}</caption>'
        f"<thead><tr><th></th>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell(number: list[float] | None, largest: float) -> str:
    if number is None:
        return "<td></td>"
    shade = max(1, min(_SHADES, ceil(_SHADES * number[0] / largest)))
    return f'<td class="heat{shade}" title="{number[1]:,} to {number[2]:,} (95 %)">{number[0]:,}</td>'


_ROW, _WIDE, _TEXT = 20.0, 300.0, 420.0
_MOST_TOPICS = 200


def tree_section(tree: "TopicTree", names: Sequence[str]) -> str:
    """A tree of at least three topics, with their names as leaves."""
    if not 2 < tree.n_topics <= _MOST_TOPICS:
        return ""
    top = float(tree.heights[-1]) or 1.0
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

    place(tree.to_dict())
    return (
        '<section id="tree" aria-labelledby="tree-title"><h2 id="tree-title">Similar topics</h2>'
        f'<div class="scroll" tabindex="0" role="region" aria-label="Tree of topics"><svg class="tree" viewBox="-2 0 '
        f'{_WIDE + _TEXT:.0f} {_ROW * (tree.n_topics + 0.5):.0f}" role="img" aria-label="Tree of topics; the same as '
        f'text: dptopics show --tree">{"".join(parts)}</svg></div><p class="help">Topics joined further to the right '
        "are more similar. Merging them costs nothing (<code>release.merged(n)</code>).</p></section>"
    )


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


def charts(table: CountTable, names: Sequence[str]) -> str:
    """A chart for each value of the first axis; nothing without a time axis."""
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
        f"<p>{escape(table.title(margin=True))} by {escape(table.axes[axis])}. The dark band covers the noise of the "
        "release (95 %). The pale band adds the sampling of people: where it covers a flat line, chance explains the "
        "changes. Periods differ by more for many reasons, such as seasons and campaigns.</p>"
        f"<div class='multiples'>{drawn}</div></section>"
    )


def _point(table: CountTable, where: dict[int, int]) -> list[float] | None:
    """[count, low, high] by the noise alone, then low and high with sampling of people; None: suppressed.

    People arrive independently (Poisson); one who counts in up to m cells moves sums of cells by up to m.
    """
    shown = number(table, where)
    if shown is None:
        return None
    index = tuple(where.get(axis, -1) for axis in range(len(table.axes)))
    count, noise_std = float(table.cube[index]), float(table.noise_std[index])
    both = Estimate.of(count, noise_std**2 + table.times * max(count, 0.0))
    return [*shown, *Shown.of(both)[1:]]


def _chart(name: str, row: Sequence[Sequence[float] | None], highest: float, first: str, last: str) -> str:
    step = _T_WIDE / max(1, len(row) - 1)

    def at(i: int, value: float) -> str:
        return f"{_T_LEFT + i * step:.1f},{4 + _HIGH * (1 - value / highest):.1f}"

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
        f'<figure><figcaption><bdi>{escape(name)}</bdi></figcaption><svg viewBox="0 0 {_T_LEFT + _T_WIDE + 4:.0f} '
        f'{floor + _UNDER:.0f}" role="img" aria-label="{escape(label)}">'
        f'<line class="grid" x1="{_T_LEFT}" x2="{_T_LEFT + _T_WIDE}" y1="{floor}" y2="{floor}"/>{bands}{lines}'
        f'<text class="tick" x="{_T_LEFT - 4}" y="12" text-anchor="end">{highest:,.0f}</text>'
        f'<text class="tick" x="{_T_LEFT - 4}" y="{floor}" text-anchor="end">0</text>'
        f'<text class="tick" x="{_T_LEFT}" y="{floor + 14}">{escape(first)}</text>'
        f'<text class="tick" x="{_T_LEFT + _T_WIDE}" y="{floor + 14}" text-anchor="end">{escape(last)}</text>'
        "</svg></figure>"
    )
