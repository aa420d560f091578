"""What the measures of the house share: which checkout is measured, what its modules are, where figures are kept.

Every script here takes ``--source``, the root of a checkout (this one if not given), so that two states of the project
are measured by the same code, and ``--label``, the name under which the figures are stored:

    git worktree add ../before a88ec4e
    for what in imports complexity repeats walk; do
        python benchmarks/house/$what.py --source ../before --label before
        python benchmarks/house/$what.py --label after
    done
"""

import argparse
import ast
import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"


class Checkout:
    """The modules of one checkout."""

    def __init__(self, root: Path):
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
        parts = path.relative_to(self.package).parts
        return parts[0] if len(parts) == 1 else f"{parts[0]}/"

    def at_the_top(self) -> list[str]:
        """Modules directly under dptopics/, without __init__ and __main__."""
        return sorted(path.stem for path in self.package.glob("*.py") if not path.stem.startswith("__"))

    def functions(self) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
        for module, tree in self.trees.items():
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield module, node


def asked(description: str | None) -> tuple[Checkout, str]:
    """The checkout to measure and the label of its figures, from the command line."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("--source", type=Path, default=ROOT, help="root of the checkout to measure (default: this one)")
    parser.add_argument("--label", default="after", help="name of these figures in the results (default: after)")
    given = parser.parse_args()
    return Checkout(given.source), given.label


def table(title: str, rows: Sequence[tuple[object, ...]]) -> None:
    """Print rows in columns."""
    print(f"\n{title}")
    widths = [max(len(str(row[i])) for row in rows) for i in range(len(rows[0]))] if rows else []
    for row in rows:
        cells = (str(x).rjust(w) if isinstance(x, int) else str(x).ljust(w) for x, w in zip(row, widths, strict=True))
        print("  " + "  ".join(cells).rstrip())


def at_most(name: str, found: int, bar: int) -> dict[str, object]:
    """Print a figure beside its bar."""
    print(f"{name}: {found} (bar ≤ {bar}, {'met' if found <= bar else 'MISSED'})")
    return {"found": found, "bar": bar, "met": found <= bar}


def store(name: str, label: str, figures: dict[str, object]) -> None:
    """Write the figures under their label into results/NAME.json, beside those of other labels."""
    path = RESULTS / f"{name}.json"
    kept = json.loads(path.read_text("utf-8")) if path.exists() else {}
    kept[label] = figures
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
