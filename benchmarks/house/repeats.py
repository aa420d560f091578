"""Pairs of places that share six or more lines to the letter.

    python benchmarks/house/repeats.py [--source CHECKOUT] [--label NAME]

Blank lines, comments, docstrings and imports do not count, nor does indentation. Two files that share several runs are
one pair, as are two places of one file. Lines of the same shape with other names are not seen here.
"""

import ast
from collections import defaultdict
from itertools import combinations
from pathlib import Path

from measured import Checkout, asked, store, table

LINES = 6


def lines(path: Path, tree: ast.Module) -> list[tuple[int, str]]:
    """(number, text) of the lines that count."""
    passed: set[int] = set()
    for node in ast.walk(tree):
        text_alone = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if text_alone or isinstance(node, ast.Import | ast.ImportFrom):
            passed |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    text = ((n, line.strip()) for n, line in enumerate(path.read_text("utf-8").splitlines(), 1))
    return [(n, line) for n, line in text if n not in passed and line and not line.startswith("#")]


def pairs(checkout: Checkout) -> dict[tuple[str, str], list[tuple[int, int]]]:
    """First lines of all shared windows, by the two modules that share them."""
    places = defaultdict(list)
    for module, path in checkout.files.items():
        counted = lines(path, checkout.trees[module])
        for i in range(len(counted) - LINES + 1):
            window = tuple(line for _, line in counted[i : i + LINES])
            if sum(len(line) > 3 for line in window) >= LINES - 2:  # not only brackets
                places[window].append((module, counted[i][0]))
    found = defaultdict(list)
    for shared in places.values():
        for (one, first), (other, second) in combinations(shared, 2):
            if one != other or abs(second - first) >= LINES:
                found[one, other].append((first, second))
    return found


def main() -> None:
    checkout, label = asked(__doc__)
    found = pairs(checkout)
    rows = [(len(runs), one, runs[0][0], other, runs[0][1]) for (one, other), runs in found.items()]
    table("windows of six lines shared, and the first of them", sorted(rows, reverse=True))
    print(f"\npairs of modules that share six lines or more: {len(found)}")
    store("house_repeats", label, {"pairs": len(found), "shared windows": sum(map(len, found.values()))})


if __name__ == "__main__":
    main()
