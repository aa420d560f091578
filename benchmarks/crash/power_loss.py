"""Power loss at every moment: is what was said to be saved still there, if only what was synced is?

A child works under a library that logs all it does to files (record.c, compiled here with gcc). The log is replayed up
to each operation, on a disk that keeps nothing that was not synced, everything, or some of it at random (disk.py), and
the result is opened again. kill -9 cannot show this: the system keeps what a dead process wrote.

    python benchmarks/crash/power_loss.py
"""

import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

HERE = Path(__file__).parent
RANDOM_DISKS = 6  # for each moment, beside the one that keeps nothing and the one that keeps all
CHARGES, REPORTS = 5, 3
SAID = b".said"  # a file that the work tells what it has done: not part of the disk


def work_ledger(root: Path, say: Callable[[str], None]) -> None:
    from kill_nine import COST

    from dptopics.ledger.ledger import Ledger

    ledger = Ledger.create(root / "ledger", epsilon=1e6, delta=1e-6)
    say("created")
    for number in range(CHARGES):
        ledger.charge(COST, f"charge {number}")
        say(f"charge {number}")


def wrong_ledger(root: Path, said: list[str]) -> Iterator[str]:
    from dptopics.core.errors import LedgerError
    from dptopics.ledger.ledger import Ledger

    try:
        made = [r.what for r in Ledger.open(root / "ledger").receipts()]
    except LedgerError as error:
        if said:
            yield f"a ledger that was made cannot be opened: {type(error).__name__}"
        return
    charged = [what for what in said if what != "created"]
    if made[: len(charged)] != charged:
        yield "a charge is missing"
    if len(made) > len(charged) + 1 or len(set(made)) != len(made):
        yield "a charge is there twice"


def work_bundle(root: Path, say: Callable[[str], None]) -> None:
    from kill_nine import COST

    from dptopics.core.vocabulary import Vocabulary
    from dptopics.release.bundle import save
    from dptopics.release.release import Release

    save(Release(value=Vocabulary(("knee", "pain"), (3.0, 4.0)), guarantee=COST, settings={}), root / "release")
    say("saved")


def wrong_bundle(root: Path, said: list[str]) -> Iterator[str]:
    from dptopics.core.errors import BundleError
    from dptopics.release.bundle import load

    if said and not (root / "release").exists():
        yield "a saved release is gone"
    if (root / "release").exists():
        try:
            load(root / "release")
        except BundleError:
            yield "a release is there in part"


def work_reports(root: Path, say: Callable[[str], None]) -> None:
    from dptopics.local.client import Sent, SentFolder
    from dptopics.local.collection import Report

    for number in range(REPORTS):
        one = Sent(Report(f"collection {number}", "1", bytes([number]), b"data"), 1.0)
        SentFolder(root / "state" / "sent").keep(lambda before, one=one: one)
        say(f"collection {number}")


def wrong_reports(root: Path, said: list[str]) -> Iterator[str]:
    from dptopics.core.errors import PrivacyError
    from dptopics.local.client import SentFolder

    try:
        kept = [sent.report.collection for sent in SentFolder(root / "state" / "sent").sent()]
    except PrivacyError:
        yield "what was sent cannot be read"
        return
    if not set(said) <= set(kept):
        yield "a second report would be sent"
    if len(kept) > len(said) + 1 or len(set(kept)) != len(kept):
        yield "a report is kept twice"


WORK = {
    "ledger": (work_ledger, wrong_ledger),
    "bundle": (work_bundle, wrong_bundle),
    "reports": (work_reports, wrong_reports),
}


def recorded(name: str, folder: Path) -> tuple[Path, bytes]:
    """Do the work in a child; the folder it worked in, and the log of what it did."""
    library, root, log = folder / "record.so", folder / "disk", folder / "log"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, HERE / "record.c", "-ldl"], check=True)
    root.mkdir()
    variables = os.environ | {"LD_PRELOAD": str(library), "RECORD_ROOT": str(root), "RECORD_LOG": str(log)}
    subprocess.run([sys.executable, __file__, name, str(root)], env=variables, check=True)
    return root, log.read_bytes()


def worked(name: str, root: Path) -> None:
    """In the child."""
    handle = os.open(root / os.fsdecode(SAID), os.O_CREAT | os.O_WRONLY)
    WORK[name][0](root, lambda what: os.write(handle, f"{what}\n".encode()) and None)


def tried(name: str, *, deaf: bool = False, random_disks: int = RANDOM_DISKS) -> Counter[str]:
    """Cut the power after every operation; how often what went wrong. A ``deaf`` disk ignores sync: the control."""
    from disk import Disk, operations

    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve()
        root, log = recorded(name, folder)
        disk, said, telling = Disk(str(root)), [], set[int]()
        for moment, step in enumerate(operations(log)):
            if step.what == "O" and step.first.endswith(SAID):
                telling.add(step.descriptor)
            elif step.descriptor in telling:
                said += step.first.decode().split("\n")[:-1]
                telling -= {step.descriptor} if step.what == "C" else set()
            elif not (deaf and step.what == "S"):
                disk.apply(step)
            for number in range(2 + random_disks):
                chance = random.Random(1000 * moment + number)
                keep = (lambda: False, lambda: True, lambda chance=chance: chance.random() < 0.5)[min(number, 2)]
                with tempfile.TemporaryDirectory(dir=folder) as left:
                    disk.after_power_loss(Path(left), keep)
                    found.update(WORK[name][1](Path(left), said))
                found["disks"] += 1
            found["moments"] += 1
        found["said"] = len(said)
    return found


def wrong(counts: dict[str, int]) -> bool:
    return bool(set(counts) - {"moments", "disks", "said"})


def main() -> None:
    if len(sys.argv) == 3:
        return worked(sys.argv[1], Path(sys.argv[2]))
    sys.path.insert(0, str(HERE.parent))
    from results import save

    found = {name: dict(tried(name)) for name in WORK}
    controls = {name: dict(tried(name, deaf=True, random_disks=0)) for name in WORK}
    for name in WORK:
        print(f"{name}: {found[name]}; control: {controls[name]}")
    save("power_loss", {"synced": found, "control: sync ignored": controls})
    if any(map(wrong, found.values())) or not all(map(wrong, controls.values())):
        sys.exit("NOT MET")
    print("met: what was said to be saved was there")


if __name__ == "__main__":
    main()
