"""The first hour of a newcomer, timed: a workbook of 800 answers to a page in three commands; a clone to the demo.

python benchmarks/first_hour.py [--clone] [--out FILE]    (--clone installs from the package index: some minutes)
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import openpyxl

from dptopics.public.demo import demo_corpus

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "benchmarks" / "results" / "first_hour.json"
QUESTION = "What should we do better?"
TABLE = ("answers.xlsx", "--text", QUESTION, "--author", "Patient")
COMMANDS = (
    ("check", *TABLE),
    ("fit", *TABLE, "--epsilon", "1", "--delta", "1e-6", "--out", "themes"),
    ("report", "themes", "--out", "page.html"),
)


def workbook(path):
    """800 answers of 800 people."""
    book = openpyxl.Workbook()
    book.active.append([QUESTION, "Patient"])
    for number, text in enumerate(demo_corpus().texts[:800]):
        book.active.append([text, f"patient {number}"])
    book.save(path)


def timed(command, folder, **options):
    """Seconds of a command that must succeed."""
    began = time.perf_counter()
    done = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True, check=False, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed: {done.stderr[-2000:]}")
    return round(time.perf_counter() - began, 1)


def three_commands(folder, program):
    """From the workbook to the page, and what is on it."""
    workbook(folder / "answers.xlsx")
    seconds = {command[0]: timed([*program, *command], folder) for command in COMMANDS}
    page = (folder / "page.html").read_text("utf-8")
    title = re.search("<h1>(.*?)</h1>", page)[1]
    assert re.search(r"What about \d+ people wrote about: \w+ subjects?", title), title
    named = re.findall(r'class="name"><bdi>(.*?)</bdi>', page.split('id="overview"')[1].split("</section>")[0])
    assert len(named) >= 5
    kilobytes = round(len(page.encode()) / 1000)
    return {"seconds": seconds, "total": round(sum(seconds.values()), 1), "title": title, "kilobytes": kilobytes}


def from_a_clone(folder):
    """Clone, install as make demo does, demo."""
    clone = folder / "clone"
    found = {"clone": timed(["git", "clone", "--quiet", ROOT, clone], folder)}
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    found["make demo"] = timed(["make", "demo", f"PYTHON={sys.executable}"], clone, env=environment)
    return {"seconds": found, "total": round(sum(found.values()), 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clone", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULT)
    given = parser.parse_args()
    found = json.loads(given.out.read_text()) if given.out.exists() else {}
    with tempfile.TemporaryDirectory() as name:
        found["workbook to page"] = three_commands(Path(name), [sys.executable, "-m", "dptopics"])
        if given.clone:
            assert shutil.which("make")
            found["clone to demo"] = from_a_clone(Path(name))
    given.out.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", "utf-8")
    print(json.dumps(found, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
