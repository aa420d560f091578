"""Counts on the page: an overview of the first axis, and a heat map of it by each other axis. No script is needed."""

from html import escape
from math import ceil, isnan
from typing import Any

from dptopics.release.counts import CountTable, Estimate, Shown

_MOST_COLUMNS = 120  # a wider map is left to counts.csv
_SHADES = 9  # heat1 … heat9 in the style


def counts(table: CountTable) -> dict[str, Any]:
    """What the page shows, as plain data: for each number [count, low, high], or null where it was suppressed."""
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
    """[count, low, high] of a cell or margin in whole numbers, for people; None where it was suppressed."""
    index = tuple(where.get(axis, -1) for axis in range(len(table.axes)))
    found = Estimate.of(float(table.cube[index]), float(table.deviations[index]) ** 2)
    return None if isnan(found.value) else list(Shown.of(found))


def section(data: dict[str, Any]) -> str:
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
        f"{escape(data['title'])}</h2><p>{escape(data['note'])} Intervals tell what the noise leaves open.</p>"
        f'<div class="scroll" tabindex="0" role="region" aria-label="Counts">{first}</div>'
        f"{''.join(_map(data, one) for one in data['maps'])}</section>"
    )


def _overview(number: list[float] | None) -> str:
    if number is None:
        return "<td>suppressed</td><td></td>"
    return f"<td>{number[0]:,}</td><td>{number[1]:,} to {number[2]:,}</td>"


def _map(data: dict[str, Any], one: dict[str, Any]) -> str:
    """A table whose cells are the darker the larger; the interval stands behind each number."""
    largest = max((number[0] for row in one["cells"] for number in row if number), default=1) or 1
    heads = "".join(f"<th scope='col'><bdi>{escape(name)}</bdi></th>" for name in one["columns"])
    body = "".join(
        f"<tr><th scope='row'><bdi>{escape(name)}</bdi></th>{''.join(_cell(number, largest) for number in row)}</tr>"
        for name, row in zip(data["rows"], one["cells"], strict=True)
    )
    counted = data["cell"] if len(data["maps"]) == 1 else data["unit"]
    title = (
        f"{data['axis'].capitalize()} by {one['by']}, {counted.lower()}: the interval of a number shows when the "
        "pointer rests on it"
    )
    return (
        f'<div class="wide" tabindex="0"><table class="heat"><caption>{escape(title)}</caption>'
        f"<thead><tr><th></th>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell(number: list[float] | None, largest: float) -> str:
    if number is None:
        return "<td></td>"
    shade = max(1, min(_SHADES, ceil(_SHADES * number[0] / largest)))
    return f'<td class="heat{shade}" title="{number[1]:,} to {number[2]:,} (95 %)">{number[0]:,}</td>'
