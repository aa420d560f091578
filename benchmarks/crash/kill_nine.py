"""kill -9 while two processes charge one ledger: is a charge missing, or there twice?

Children are forked from a process that has imported everything, name each charge, and say so on a pipe once it is made.
Then one of them is killed at a random moment; the other must go on, and is killed as well. A charge that was said to be
made must be in the ledger, once; each child may leave one that it had no time to speak about.

    python benchmarks/crash/kill_nine.py 1000

Runs that were stopped go on where they were: the results file counts the trials.
"""

import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from dptopics.ledger.ledger import Ledger
from dptopics.privacy.events import Laplace
from dptopics.privacy.guarantee import Guarantee, Strength, Unit

RESULTS = Path(__file__).parents[1] / "results" / "kill_nine.json"
TRIALS_PER_LEDGER = 25
COST = Guarantee(events=(Laplace(1e4),), delta=0.0, unit=Unit.AUTHOR, strength=Strength.PROVED)


def forked(task: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        try:
            task()
        finally:
            os._exit(1)
    return child


def charge_on(path: Path, reading: int, pipe: int, name: str) -> None:
    """Charge until killed, or until nobody listens."""
    os.close(reading)
    ledger, number = Ledger.open(path), 0
    while True:
        what = f"{name} {number}"
        ledger.charge(COST, what)
        os.write(pipe, f"{what}\n".encode())  # short writes to a pipe are whole
        number += 1


def kill(child: int) -> bool:
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def trial(path: Path, name: str, chance: random.Random) -> Counter[str]:
    """One round of two children, killed one after the other."""
    reading, writing = os.pipe()
    children = [forked(lambda child=child: charge_on(path, reading, writing, f"{name} {child}")) for child in "ab"]
    os.close(writing)
    heard = os.read(reading, 65536)  # somebody got somewhere
    time.sleep(chance.expovariate(1 / 0.03))
    chance.shuffle(children)
    first = kill(children[0])
    time.sleep(chance.expovariate(1 / 0.01))
    second = kill(children[1])
    while more := os.read(reading, 65536):
        heard += more
    os.close(reading)
    return judged(path, name, heard.decode().splitlines()) | Counter(
        {"kills": first + second, "died by themselves": 2 - first - second}
    )


def judged(path: Path, name: str, said: list[str]) -> Counter[str]:
    """What the ledger holds against what the children said."""
    receipts = Ledger.open(path).receipts()
    made = Counter(r.what for r in receipts if r.what.startswith(f"{name} "))
    unsaid = made.keys() - set(said)
    return Counter(
        {
            "charges": len(made),
            "missing": len(set(said) - made.keys()),
            "double": sum(n - 1 for n in made.values()),
            "unsaid": len(unsaid),
            "unsaid, more than one a child": max(0, len(unsaid) - 2),
            "out of order": [r.number for r in receipts] != list(range(1, len(receipts) + 1)),
        }
    )


WRONG = ("missing", "double", "unsaid, more than one a child", "out of order", "died by themselves")


def trials(n: int, folder: Path, seed: int) -> Counter[str]:
    """n trials on one new ledger."""
    path, chance, found = folder / f"{seed}.ledger", random.Random(seed), Counter[str]()
    Ledger.create(path, epsilon=1e6, delta=1e-6)
    for number in range(n):
        found += trial(path, f"trial {number}", chance) + Counter(trials=1)
    return found


def main() -> None:
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    found = Counter(json.loads(RESULTS.read_text())) if RESULTS.exists() else Counter[str]()
    while found["trials"] < wanted:
        with tempfile.TemporaryDirectory() as folder:
            found += trials(min(TRIALS_PER_LEDGER, wanted - found["trials"]), Path(folder), seed=found["trials"])
        whole = dict(found) | {what: found[what] for what in WRONG}
        RESULTS.write_text(json.dumps(whole, indent=2) + "\n")
        print(f"{found['trials']} of {wanted}: {whole}", flush=True)
    if bad := {what: found[what] for what in WRONG if found[what]}:
        sys.exit(f"NOT MET: {bad}")
    print("met: no charge missing, none double")


if __name__ == "__main__":
    main()
