"""What made each stored result: a hash of the code it calls, of its inputs and of itself, its command and its time.

    python experiments/store.py                       what is stored, and which results are older than their code
    python experiments/store.py NAME --code PATH …    note the present code for a result that was checked by hand

``results/made_by.json`` has one entry for each result. A test (tests/papers/test_pages.py) computes the hashes of the
code again: a result whose code has changed since is found, and has to be run again.
"""

import argparse
import ast
import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FOLDER = Path(__file__).parent / "results"
NOTES = FOLDER / "made_by.json"


def digest(path: Path) -> str:
    """SHA-256 of a file; of Python, what it does: comments, docstrings and layout do not count."""
    content = path.read_bytes()
    if path.suffix == ".py":
        tree = ast.parse(content)
        for node in ast.walk(tree):
            documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            if documented and ast.get_docstring(node) is not None:
                del node.body[0]
        content = ast.dump(tree).encode()
    return hashlib.sha256(content).hexdigest()[:32]


def code_hashes(code: Sequence[str]) -> dict[str, str]:
    """Hash of each file of code, by its path under the project's root."""
    return {name: digest(ROOT / name) for name in sorted(code)}


def note(
    result: str, *, code: Sequence[str], command: str, minutes: float | None = None, inputs: Sequence[Path] = ()
) -> None:
    """Write down what made ``results/<result>``: ``minutes`` on two cores, ``inputs`` (public data) by their hash."""
    notes = read()
    before = notes.get(result, {})
    notes[result] = {
        "command": command,
        "minutes_on_two_cores": before.get("minutes_on_two_cores") if minutes is None else round(minutes, 1),
        "inputs": {path.name: digest(path) for path in inputs} or before.get("inputs", {}),
        "code": code_hashes(code),
        "result": digest(FOLDER / result),
    }
    _write(notes)


def _write(notes: dict[str, Any]) -> None:
    NOTES.write_text(json.dumps(dict(sorted(notes.items())), indent=1, ensure_ascii=False) + "\n", "utf-8")


@contextmanager
def made(result: str, *, code: Sequence[str], command: str, inputs: Sequence[Path] = ()) -> Iterator[None]:
    """Note a result to which rows are added inside, but for rows of other code: those must be run again first."""
    notes, path = read().get(result), FOLDER / result
    mixed = path.exists() and (notes is None or notes["code"] != code_hashes(code))
    begin = time.perf_counter()
    if not path.exists():  # an interrupted run goes on as long as the code is the same
        _write(
            read()
            | {result: {"command": command, "code": code_hashes(code), "minutes_on_two_cores": None, "result": ""}}
        )
    yield
    if mixed:
        print(f"results/{result} has rows that other code made, and is not noted. Move it away to run all again.")
        return
    minutes = (time.perf_counter() - begin) / 60
    before = 0.0 if notes is None else notes["minutes_on_two_cores"] or 0.0
    note(result, code=code, command=command, minutes=before + minutes, inputs=inputs)


def read() -> dict[str, Any]:
    """All that is noted."""
    found: dict[str, Any] = json.loads(NOTES.read_text("utf-8")) if NOTES.exists() else {}
    return found


def stale(result: str) -> list[str]:
    """What has changed since ``result`` was made: files of code, or the result itself."""
    one = read()[result]
    gone = [name for name in one["code"] if not (ROOT / name).is_file()]
    changed = [name for name, seen in one["code"].items() if name not in gone and digest(ROOT / name) != seen]
    return gone + changed + ([result] if digest(FOLDER / result) != one["result"] else [])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", nargs="?")
    parser.add_argument("--code", nargs="+", default=[])
    parser.add_argument("--command", default="")
    parser.add_argument("--minutes", type=float)
    arguments = parser.parse_args()
    if arguments.result:
        note(arguments.result, code=arguments.code, command=arguments.command, minutes=arguments.minutes)
    for result, one in read().items():
        changed = stale(result)
        print(f"{result}: {one['command']}" + (f" OLDER THAN {', '.join(changed)}" if changed else ""))


if __name__ == "__main__":
    main()
