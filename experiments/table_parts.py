"""What the tables of the pages share: reading results, and writing numbers and Markdown."""

import json
import statistics
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"


def read(name: str) -> Any:
    return json.loads((FOLDER / name).read_text("utf-8"))


def markdown(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(cells) + " |" for cells in [head, *rows]]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]]).replace("|  ", "| ").replace("|  ", "| ")


def spread(values: list[float], digits: int = 0) -> str:
    """Mean ± standard deviation, with a true minus sign."""
    if not values:
        return "-"
    found = f"{statistics.mean(values):.{digits}f} ± {statistics.stdev(values) if len(values) > 1 else 0:.{digits}f}"
    return found.replace("-", "−")


def three(values: list[float], runs: int | None = None) -> str:
    """The mean with three digits; with ``runs``, how many of them gave a number."""
    if not values:
        return "refused" if runs else "-"
    found = digits(statistics.mean(values))
    return found if runs in (None, len(values)) else f"{found} ({len(values)} of {runs})"


def digits(value: float) -> str:
    """Three digits, without an exponent where that is readable."""
    if value == float("inf"):
        return "∞"
    if abs(value) >= 1e7:
        return f"{value:.2g}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def percent(value: float, places: int = 1) -> str:
    return f"{100 * value:.{places}f} %"
