"""kill -9 at every step of a series, and races between two participation files: does anybody count beyond the cap?

A trial is one ledger, one series of eight weeks and six people who come every week, each counted in at most one or two.
Noise is switched off and every person has a cell of their own, so that each release tells who was counted. Runs are
forked; most are killed, at each step in turn (before and after every file that is renamed or synced, every write to the
ledger, the draw, the release) or at a random moment. After a death the week is repeated, or passed over; now and then a
copy of the file that was made at some moment is put in its place, or another file is named. In a race two runs go on at
once, with a new file each, or with copies of one; whoever was refused tries again.

    python benchmarks/crash/series_kills.py 500 100

Runs that were stopped go on where they were: the results file counts the trials.
"""

import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dptopics import Calendar, Ledger, TopicModel, Vocabulary, release_period
from dptopics.core import files as durable
from dptopics.core.axes import Axis
from dptopics.core.errors import DptopicsError
from dptopics.ledger import ledger as ledger_module
from dptopics.ledger.series import Participation
from dptopics.mechanisms.counts.periods import CountsOfPeriod
from dptopics.privacy.controls import under_noised
from dptopics.release import bundle

RESULTS = Path(__file__).parents[1] / "results" / "series_kills.json"
PEOPLE = [f"p{i}" for i in range(6)]
WEEKS = Calendar(period="week", first="2026-01-05", last="2026-03-01")
MODEL = TopicModel(
    topic_word=np.array([[0.9, 0.1], [0.1, 0.9]]),
    topic_share=np.array([0.5, 0.5]),
    vocabulary=Vocabulary.of(["asthma", "skin"]),
    alpha=0.1,
)
TABLE = pa.table({"note": ["asthma"] * len(PEOPLE), "patient": PEOPLE, "who": PEOPLE})
WRONG = ("above the cap", "week twice", "given out uncharged", "charged twice", "faults")
KILLED, DONE, REFUSED = -signal.SIGKILL, 0, 3


class Steps:
    """Counts the steps of a run, and kills this process at one of them."""

    def __init__(self, at: int | None) -> None:
        self.at, self.passed = at, 0

    def step(self) -> None:
        if self.passed == self.at:
            os.kill(os.getpid(), signal.SIGKILL)
        self.passed += 1

    def watch(self, where: Any, name: str) -> None:
        plain = getattr(where, name)

        def watched(*args: Any, **named: Any) -> Any:
            self.step()
            found = plain(*args, **named)
            self.step()
            return found

        setattr(where, name, watched)

    def everything(self) -> None:
        for where, name in ((os, "replace"), (os, "fsync"), (durable, "sync_folder"), (bundle, "save")):
            self.watch(where, name)
        for where, name in ((ledger_module, "write_charge"), (ledger_module, "rename_charge"), (Participation, "save")):
            self.watch(where, name)
        self.watch(CountsOfPeriod, "__call__")


def counted(folder: Path, week: str, *, most: int, out: Path, file: Path | None) -> None:
    """One run."""
    with under_noised(0.0), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release_period(
            MODEL, TABLE, calendar=WEEKS, at=week, by=[Axis.groups("who", PEOPLE)], text="note", author="patient",
            epsilon=1.0, delta=1e-6, ledger=folder / "ledger", max_periods=most, participation=file, out=out,
        )  # fmt: skip


def forked(run: Callable[[], None], at: int | None) -> int:
    """Run in a child that dies at step ``at``."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            Steps(at).everything() if at is not None else None
            run()
            code = DONE
        except DptopicsError:
            code = REFUSED
        finally:
            os._exit(code)
    return child


def ended(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def n_steps() -> int:
    """Of a whole run that is not the first."""
    with tempfile.TemporaryDirectory() as name:
        folder = made(Path(name))
        counted(folder, WEEKS.names[0], most=1, out=folder / "first", file=None)
        reading, writing = os.pipe()

        def told() -> None:
            steps = Steps(-1)
            steps.everything()
            counted(folder, WEEKS.names[1], most=1, out=folder / "second", file=None)
            os.write(writing, str(steps.passed).encode())

        assert ended(forked(told, None)) == DONE
        found = int(os.read(reading, 16))
        os.close(reading)
        os.close(writing)
        return found


def made(folder: Path) -> Path:
    Ledger.create(folder / "ledger", epsilon=1, delta=1e-5)
    return folder


def file_of(folder: Path) -> Path | None:
    return next(iter(folder.glob("ledger.series-*")), None)


def killed_series(folder: Path, chance: random.Random, steps: Sequence[int], most: int) -> Counter[str]:
    """Eight weeks, until they or the steps to die at are used up: runs die at a step, at a random moment, or not."""
    found, week, copies, left = Counter[str](), 0, list[Path](), list(steps)
    for number in range(3 * len(steps)):
        if week == len(WEEKS.names) or not left:
            break
        name, kind = WEEKS.names[week], chance.choices(("step", "moment", "none"), (5, 2, 3))[0]
        out, at = folder / f"o{number}", left.pop(0) if kind == "step" else None
        child = forked(lambda name=name, out=out: counted(folder, name, most=most, out=out, file=None), at)
        if kind == "moment":
            time.sleep(chance.uniform(0.02, 0.2))
            os.kill(child, signal.SIGKILL)
        if (file := file_of(folder)) and chance.random() < 0.3:  # a backup, made at some moment
            copies.append(Path(shutil.copy2(file, folder / f"copy{number}")))
        code = ended(child)
        found.update({"runs": 1, "kills": code == KILLED, "refused": code == REFUSED, "faults": code == 1})
        if copies and chance.random() < 0.2:  # for this week, and for the next
            copy = chance.choice(copies)
            for again in (name, WEEKS.names[min(week + 1, 7)]):
                out = folder / f"c{number}{again}"
                code = ended(forked(lambda a=again, o=out, c=copy: counted(folder, a, most=most, out=o, file=c), None))
                found.update({"copies tried": 1, "copies that went on": code == DONE})
        week += chance.random() < 0.4
    return found + judged(folder, most)


def race(folder: Path, chance: random.Random, most: int) -> Counter[str]:
    """Two runs at once, with two files; whoever was refused tries again, and both try the next week."""
    found = Counter[str]()
    copies = chance.random() < 0.5
    files = [folder / "a.part", folder / "b.part"]
    if copies:  # of one file, after the first week
        counted(folder, WEEKS.names[0], most=most, out=folder / "first", file=files[0])
        shutil.copy2(files[0], files[1])
    weeks = [WEEKS.names[1], chance.choice(WEEKS.names[1:3])]
    for turn in range(3):
        children = []
        for i, (file, week) in enumerate(zip(files, weeks, strict=True)):
            out = folder / f"r{turn}{i}"
            children.append(forked(lambda f=file, w=week, o=out: counted(folder, w, most=most, out=o, file=f), None))
            time.sleep(chance.expovariate(1 / 0.01))
        codes = [ended(child) for child in children]
        found["refused"] += codes.count(REFUSED)
        found["faults"] += codes.count(1)
        if turn == 1:
            weeks = list(WEEKS.names[3:5])
    return found + judged(folder, most)


def judged(folder: Path, most: int) -> Counter[str]:
    """What was given out against the cap and the ledger."""
    times, weeks = Counter[str](), Counter[str]()
    for out in folder.iterdir():
        if not out.name.startswith(".") and (out / "bundle.json").exists():
            table = bundle.load(out).value
            weeks[table.period] += 1
            times.update(who for who in PEOPLE if round(table.count(who=who).value))
    receipts = Ledger.open(folder / "ledger").receipts()
    closed = {r.what.split()[1] for r in receipts if "under way" not in r.what}
    return Counter(
        {
            "given out": sum(weeks.values()),
            "above the cap": sum(n > most for n in times.values()),
            "week twice": sum(n > 1 for n in weeks.values()),
            "given out uncharged": len(weeks.keys() - closed),
            "charged twice": sum(r.price > 0 for r in receipts) > 1,
        }
    )


def trials(kills: int, folder: Path, seed: int, found: Counter[str]) -> Counter[str]:
    """Series until so many runs were killed."""
    chance, steps = random.Random(seed), n_steps()
    found["steps of a run"] = steps
    while found["kills"] < kills:
        place = made(Path(tempfile.mkdtemp(dir=folder)))
        first = found["kills"]
        found += killed_series(place, chance, [(first + i) % steps for i in range(12)], chance.choice((1, 2)))
        found["series"] += 1
        shutil.rmtree(place)
    return found


def races(n: int, folder: Path, seed: int) -> Counter[str]:
    chance, found = random.Random(seed), Counter[str]()
    for _ in range(n):
        place = made(Path(tempfile.mkdtemp(dir=folder)))
        found += race(place, chance, chance.choice((1, 2))) + Counter(races=1)
        shutil.rmtree(place)
    return found


def main() -> None:
    kills, n_races = (int(sys.argv[i]) if len(sys.argv) > i else n for i, n in ((1, 500), (2, 100)))
    found = Counter(json.loads(RESULTS.read_text())) if RESULTS.exists() else Counter[str]()
    while found["kills"] < kills or found["races"] < n_races:
        with tempfile.TemporaryDirectory() as name:
            if found["kills"] < kills:
                found = trials(min(kills, found["kills"] + 25), Path(name), found["kills"], found)
            else:
                found += races(min(10, n_races - found["races"]), Path(name), found["races"])
        whole = dict(found) | {what: found[what] for what in WRONG}
        RESULTS.write_text(json.dumps(whole, indent=2) + "\n")
        print(f"{found['kills']} kills, {found['races']} races: {whole}", flush=True)
    if bad := {what: found[what] for what in WRONG if found[what]}:
        sys.exit(f"NOT MET: {bad}")
    print("met: nobody above the cap, no week twice, nothing given out uncharged")


if __name__ == "__main__":
    main()
