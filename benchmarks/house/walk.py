"""The walk of a document: which files and rooms `dptopics fit notes.csv` passes through.

    python benchmarks/house/walk.py [--source CHECKOUT] [--label NAME]

Functions are put down in the order in which they are first entered. A change of room is a step from a function in one
room to a function in another: the fewer, the easier to follow. The command runs in a process of its own.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
from inspect import CO_OPTIMIZED
from itertools import pairwise
from pathlib import Path

from measured import asked, at_most, store, table

MOST_CHANGES = 45
COMMAND = "fit notes.csv --text note --author patient --topics 3 --epsilon 5 --delta 1e-4"
WORDS = ["fever", "cough", "rash", "knee", "cast", "pain", "sleep", "dose", "tablet", "allergy", "visit", "school"]


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


def notes(path: Path) -> None:
    """Two hundred short notes of fifty patients."""
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["note", "patient"])
        for i in range(200):
            table.writerow([" ".join(WORDS[(i * 5 + j * j) % len(WORDS)] for j in range(6)), f"p{i % 50}"])


def main() -> None:
    checkout, label = asked(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        notes(Path(folder) / "notes.csv")
        ran = subprocess.run(
            [sys.executable, __file__, "--traced", str(checkout.package), *COMMAND.split(), "--out", "release"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(checkout.package.parent)},
            capture_output=True,
            text=True,
        )
    if ran.returncode:
        raise SystemExit(ran.stderr)
    outcome = json.loads(ran.stdout.splitlines()[-1])
    if outcome["ended"]:
        raise SystemExit(f"the command ended with {outcome['ended']}:\n{ran.stdout}\n{ran.stderr}")
    steps = [(Path(file), function) for file, function in outcome["entered"]]
    rooms = [checkout.room(file) for file, _ in steps]
    visits: list[tuple[str, list[str]]] = []
    for file, function in steps:
        name = file.relative_to(checkout.package).as_posix()
        if not visits or visits[-1][0] != name:
            visits.append((name, []))
        visits[-1][1].append(function)
    table(f"dptopics {COMMAND}", [(name, ", ".join(functions)[:90]) for name, functions in visits])
    changes = sum(a != b for a, b in pairwise(rooms))
    figures = {
        "command": COMMAND,
        "functions": len(steps),
        "files": len({file for file, _ in steps}),
        "rooms": len(set(rooms)),
        "changes of file": len(visits) - 1,
    }
    print()
    for name, value in figures.items():
        print(f"{name}: {value}")
    store("house_walk", label, figures | {"changes of room": at_most("changes of room", changes, MOST_CHANGES)})


if __name__ == "__main__":
    traced() if sys.argv[1:2] == ["--traced"] else main()
