"""The house in numbers: modules, imports, complexity, parameters, repeated lines, and how far a document walks.

    python benchmarks/house.py            measure, compare with the stored figures, and store them if none has risen
    python benchmarks/house.py --walks    measure the walks of `fit`, `count` and `audit claim` too (half a minute)
    python benchmarks/house.py --source ../older --show    figures of another checkout
    python benchmarks/house.py --draw     draw the rooms into docs/project/architecture.md

`tests/test_architecture.py` computes the same figures by the same code and holds them: a number may only fall.
"""

import argparse
import ast
import csv
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from inspect import CO_OPTIMIZED
from itertools import combinations, pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STORED = ROOT / "benchmarks" / "results" / "house.json"
# What each figure shall be at most.
MOST = {
    "modules": 215,
    "lines": 36_500,
    "lines of the longest file": 600,
    "cycles of rooms": 0,
    "pairs of packages": 60,
    "complexity": 15,
    "parameters": 20,
    "options of a command": 30,
    "pairs of repeated lines": 50,
    "changes of room: fit": 105,
    "changes of room: count": 105,
    "changes of room: audit claim": 105,
}
# Where the house is above that: what it may be at most until it has fallen.
ABOVE = {
    "lines": 37_947,
    "changes of room: fit": 156,
    "changes of room: count": 128,
    "changes of room: audit claim": 148,
}
# The layers, lowest first. A room imports rooms of lower layers only; those of one layer do not know each other.
LAYERS = (
    ("core", "kernels"),
    ("learners", "privacy", "public"),
    ("data", "ledger", "release"),
    ("mechanisms",),
    ("local", "published"),
    ("registry",),
    ("plan",),
    ("preview",),
    ("publishing",),
    ("audit", "subjects"),
    ("counting",),
    ("checking", "estimators", "evaluate"),
    ("cli",),
    ("__main__",),
)
PAGE = ROOT / "docs" / "project" / "architecture.md"
REPEATED = 6  # lines that two places share before they count
Graph = dict[str, set[str]]


class Checkout:
    """The modules of one checkout."""

    def __init__(self, root: Path = ROOT):
        self.root = root.resolve()
        self.package = self.root / "src" / "dptopics"
        if not self.package.is_dir():
            raise SystemExit(f"{root} has no src/dptopics: give the root of a checkout with --source.")

    @cached_property
    def files(self) -> dict[str, Path]:
        """Path of each module, by its dotted name."""
        return {self._name(path): path for path in sorted(self.package.rglob("*.py"))}

    @cached_property
    def trees(self) -> dict[str, ast.Module]:
        return {name: ast.parse(path.read_text("utf-8")) for name, path in self.files.items()}

    def _name(self, path: Path) -> str:
        parts = path.relative_to(self.package.parent).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def room(self, path: Path) -> str:
        """The folder directly under dptopics/ that a file lies in, or the file itself if it lies in none."""
        return path.relative_to(self.package).parts[0].removesuffix(".py")

    @cached_property
    def imports(self) -> Graph:
        """Who imports whom: inside functions and for type checks too."""
        found: Graph = {}
        for module, tree in self.trees.items():
            nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))
            found[module] = set().union(*map(self._named, nodes)) - {module}
        return found

    def _named(self, node: ast.Import | ast.ImportFrom) -> set[str]:
        """Modules of the package that an import statement names."""
        if isinstance(node, ast.Import):
            named = {alias.name for alias in node.names}
        else:
            wholes = {f"{node.module}.{alias.name}" for alias in node.names}
            named = {whole if whole in self.files else str(node.module) for whole in wholes}
            named = {name if name in self.files else name.rpartition(".")[0] for name in named}
        return named & self.files.keys()

    @cached_property
    def rooms(self) -> Graph:
        """Which rooms each room imports. The front door (``dptopics/__init__``) stands outside: it shows everything."""
        found: Graph = defaultdict(set)
        for module, others in self.imports.items():
            here = self.room(self.files[module])
            found[here] |= {self.room(self.files[other]) for other in others} - {here}
        found.pop("__init__", None)
        return dict(found)

    def is_package(self, room: str) -> bool:
        return (self.package / room).is_dir()


def cycles(graph: Graph) -> list[list[str]]:
    """Sets of nodes that all reach each other (strongly connected components of two or more)."""
    reached: dict[str, set[str]] = {}
    for start in graph:
        seen, waiting = set(), list(graph[start])
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen.add(node)
                waiting += graph.get(node, ())
        reached[start] = seen
    found = {frozenset(b for b in reached[a] if a in reached.get(b, ())) for a in graph if a in reached[a]}
    return sorted(sorted(group) for group in found)


def complexities(checkout: Checkout) -> list[tuple[int, str]]:
    """(cyclomatic complexity, module.function) of every function and method, the worst first."""
    from radon.complexity import cc_visit

    found = set()
    for module, path in checkout.files.items():
        for block in cc_visit(path.read_text("utf-8")):
            if block.letter in "FM":
                found.add((block.complexity, f"{module}.{getattr(block, 'fullname', block.name)}"))
    return sorted(found, reverse=True)


def parameters(checkout: Checkout) -> list[tuple[int, str]]:
    """(parameters, module.function) outside the command line, most first, without ``self``.

    Fields of a dataclass do not count: each has its own line and explanation.
    """
    found = set()
    for module, tree in checkout.trees.items():
        if not module.startswith("dptopics.cli"):
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    found.add((len(_arguments(node)), f"{module}.{node.name}"))
    return sorted(found, reverse=True)


def options(checkout: Checkout) -> list[tuple[int, str]]:
    """(options, module.function) of every command, most first; what all commands share to read data does not count."""
    found = set()
    for module, tree in checkout.trees.items():
        if module.startswith("dptopics.cli"):
            for node in tree.body:
                if isinstance(node, ast.FunctionDef):
                    found.add((len(_arguments(node)), f"{module}.{node.name}"))
    return sorted(found, reverse=True)


def _arguments(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    more = [one for one in (node.args.vararg, node.args.kwarg) if one is not None]
    return [argument.arg for argument in (*given, *more) if argument.arg not in ("self", "cls")]


def repeats(checkout: Checkout) -> dict[tuple[str, str], list[tuple[int, int]]]:
    """Pairs of modules that share six lines or more to the letter, with the first lines of what they share.

    Blank lines, comments, docstrings and imports do not count, nor does indentation.
    """
    places = defaultdict(list)
    for module, path in checkout.files.items():
        counted = _lines(path, checkout.trees[module])
        for i in range(len(counted) - REPEATED + 1):
            window = tuple(line for _, line in counted[i : i + REPEATED])
            if sum(len(line) > 3 for line in window) >= REPEATED - 2:  # not only brackets
                places[window].append((module, counted[i][0]))
    found = defaultdict(list)
    for shared in places.values():
        for (one, first), (other, second) in combinations(shared, 2):
            if one != other or abs(second - first) >= REPEATED:
                found[one, other].append((first, second))
    return dict(found)


def _lines(path: Path, tree: ast.Module) -> list[tuple[int, str]]:
    passed: set[int] = set()
    for node in ast.walk(tree):
        text_alone = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if text_alone or isinstance(node, ast.Import | ast.ImportFrom):
            passed |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    text = ((n, line.strip()) for n, line in enumerate(path.read_text("utf-8").splitlines(), 1))
    return [(n, line) for n, line in text if n not in passed and line and not line.startswith("#")]


def picture(checkout: Checkout) -> str:
    """The rooms as a picture: one line for each, highest layer first, with a mark under each room that it imports."""
    order = [name for layer in LAYERS for name in layer if name in checkout.rooms and name != "__main__"]
    lines = ["".ljust(14) + " ".join(name[:4].ljust(4) for name in order).rstrip()]
    for name in reversed(order):
        marks = ("●" if other in checkout.rooms[name] else "╲" if other == name else "·" for other in order)
        lines.append(f"{name:<14}" + " ".join(mark.ljust(4) for mark in marks).rstrip())
    return "\n".join(lines)


def draw(checkout: Checkout) -> None:
    """Put the picture into its page."""
    before, mark, rest = PAGE.read_text("utf-8").partition("● marks what it imports:\n\n```text\n")
    PAGE.write_text(f"{before}{mark}{picture(checkout)}\n```{rest.partition('```')[2]}", encoding="utf-8")


def figures(checkout: Checkout) -> dict[str, int]:
    """Everything that is read off the source."""
    sizes = [len(path.read_text("utf-8").splitlines()) for path in checkout.files.values()]
    rooms = checkout.rooms
    return {
        "modules": len(sizes),
        "lines": sum(sizes),
        "lines of the longest file": max(sizes),
        "cycles of rooms": len(cycles(rooms)),
        "pairs of packages": sum(
            checkout.is_package(room) and checkout.is_package(other) for room in rooms for other in rooms[room]
        ),
        "complexity": complexities(checkout)[0][0],
        "parameters": parameters(checkout)[0][0],
        "options of a command": options(checkout)[0][0],
        "pairs of repeated lines": len(repeats(checkout)),
    }


# Walks: which files and rooms a command passes through. Functions count in the order in which they are first entered.
WORDS = ["fever", "cough", "rash", "knee", "cast", "pain", "sleep", "dose", "tablet", "allergy", "visit", "school"]
BOUNDS = "--topics 3 --epsilon 5 --delta 1e-4"
NOT_ENOUGH = 6  # how an audit of few trials ends
WALKS = {
    "fit": f"fit notes.csv --text note --author patient {BOUNDS} --out release",
    "count": "count release notes.csv --text note --author patient --epsilon 1 --delta 1e-5 --out counts",
    "audit claim": "audit claim notes.csv --text note --author patient --release release --trials 64 --out audit",
}


def traced() -> None:
    """Run the command line with the other arguments; the last line printed is what was entered, as JSON."""
    package, *arguments = sys.argv[2:]
    entered: dict[tuple[str, str], None] = {}  # in order of first entry

    def watch(frame, event, argument):
        code = frame.f_code
        ours = event == "call" and code.co_filename.startswith(package)
        if ours and code.co_flags & CO_OPTIMIZED and not code.co_name.startswith("<"):  # functions, not modules
            entered.setdefault((code.co_filename, code.co_name))

    from dptopics.cli import main

    sys.argv = ["dptopics", *arguments]
    sys.setprofile(watch)
    ended = 0
    try:
        main()
    except SystemExit as stop:
        ended = stop.code or 0
    sys.setprofile(None)
    print("\n" + json.dumps({"ended": ended, "entered": list(entered)}))


def walks(checkout: Checkout) -> Iterator[tuple[str, list[str]]]:
    """Each command with the rooms that it enters, one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        with (Path(folder) / "notes.csv").open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["note", "patient"])
            for i in range(200):
                table.writerow([" ".join(WORDS[(i * 5 + j * j) % len(WORDS)] for j in range(6)), f"p{i % 50}"])
        for name, command in WALKS.items():
            ran = subprocess.run(
                [sys.executable, __file__, "--traced", str(checkout.package), *command.split()],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(checkout.package.parent)},
                capture_output=True,
                text=True,
            )
            outcome = json.loads(ran.stdout.splitlines()[-1]) if ran.returncode == 0 else {"ended": ran.returncode}
            if outcome["ended"] not in (0, NOT_ENOUGH):
                raise SystemExit(f"{command!r} ended with {outcome['ended']}:\n{ran.stdout[-2000:]}\n{ran.stderr}")
            yield name, [checkout.room(Path(file)) for file, _ in outcome["entered"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--source", type=Path, default=ROOT, help="root of the checkout to measure (default: this one)")
    parser.add_argument("--walks", action="store_true", help="run three commands and count how often they change rooms")
    parser.add_argument("--show", action="store_true", help="store nothing")
    parser.add_argument("--draw", action="store_true", help="only draw the rooms into the page of the architecture")
    given = parser.parse_args()
    checkout = Checkout(given.source)
    if given.draw:
        return draw(checkout)
    found = figures(checkout)
    stored = json.loads(STORED.read_text("utf-8")) if STORED.exists() else {}
    if given.walks:
        for name, rooms in walks(checkout):
            found[f"changes of room: {name}"] = sum(a != b for a, b in pairwise(rooms))
    for name, value in found.items():
        before = f", {stored[name]:,} before" if name in stored else ""
        missed = ", MISSED" if value > MOST[name] else ""
        print(f"{name}: {value:,} (at most {MOST[name]:,}{before}{missed})")
    print("\nhardest:", *complexities(checkout)[:8], sep="\n  ")
    print("\nmost parameters:", *parameters(checkout)[:4], *options(checkout)[:4], sep="\n  ")
    print("\nrepeated:", *sorted((len(runs), *pair) for pair, runs in repeats(checkout).items())[-8:], sep="\n  ")
    if given.show:
        return
    held = MOST | ABOVE
    if risen := [name for name, value in found.items() if value > held[name]]:
        raise SystemExit(f"\nnot stored: {', '.join(risen)} may only fall")
    STORED.write_text(json.dumps(stored | found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    traced() if sys.argv[1:2] == ["--traced"] else main()
