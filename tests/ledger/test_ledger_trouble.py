"""The ledger in trouble: processes at once, kills, a full disk, a file that cannot be written."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import pytest
from ledger_tools import CORPUS, Fake, fake, promise

from charging import charged
from dptopics.core.errors import BudgetExceeded, LedgerError
from dptopics.ledger import ledger_file as module
from dptopics.ledger.ledger import Budget, Ledger
from dptopics.privacy.rng import secure_rng

posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "clinic.ledger"


@pytest.fixture
def ledger(path):
    return Ledger.create(path, epsilon=3, delta=1e-6)


@posix
def test_two_processes_at_once_never_pass_the_budget(path, tmp_path):
    """Six children ask for 10 × 0.1 each, of 2.0: exactly twenty charges succeed, and all are on record."""
    Ledger.create(path, epsilon=2, delta=1e-6)

    def child(index):
        ledger, done = Ledger.open(path), 0
        for _ in range(10):
            try:
                ledger.charge(promise(0.1, 1e-9), f"child {index}")
                done += 1
            except BudgetExceeded:
                pass
        (tmp_path / f"done{index}").write_text(str(done))

    wait_for([fork(child, i) for i in range(6)])
    ledger = Ledger.open(path)
    for i in range(6):
        charged = [r for r in ledger.receipts() if r.what == f"child {i}"]
        assert len(charged) == int((tmp_path / f"done{i}").read_text())
    assert len(ledger.receipts()) == 20
    assert ledger.left == Budget(0.0, 1e-6 - 2e-8)


def test_two_programs_at_once(path):
    """The same from separate interpreters, which share nothing."""
    Ledger.create(path, epsilon=1, delta=1e-6)
    code = (
        "import sys; from dptopics.core import errors\n"
        "from dptopics.ledger import ledger; from dptopics.privacy import events, guarantee as g\n"
        "promise = {'unit': g.Unit.AUTHOR, 'strength': g.Strength.PROVED}\n"
        "cost = g.Guarantee(events=(events.Laplace(5.0),), delta=0.0, **promise)\n"
        "done = 0\n"
        "for _ in range(5):\n"
        "    try: ledger.Ledger.open(sys.argv[1]).charge(cost, 'x'); done += 1\n"
        "    except errors.BudgetExceeded: pass\n"
        "print(done)"
    )
    command = [sys.executable, "-c", code, str(path)]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert sum(int(child.communicate(timeout=120)[0]) for child in children) == 5
    assert len(Ledger.open(path).receipts()) == 5


def test_a_ledger_in_use_is_a_clear_error(ledger, path, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.1)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    mechanism = fake()
    with pytest.raises(LedgerError, match=r"in use by another process.*Try again"):
        charged(ledger, mechanism, CORPUS, secure_rng())
    assert mechanism.ran == []
    assert ledger.receipts() == []  # reading is still possible
    holder.close()
    charged(ledger, mechanism, CORPUS, secure_rng())


@posix
def test_killed_a_hundred_times_never_runs_uncharged(tmp_path):
    """kill -9 at random moments: the ledger opens again and holds at least as many charges as runs."""
    chance, kills, seen = random.Random(), 0, 0
    for round_ in range(5):
        path, side = tmp_path / f"{round_}.ledger", tmp_path / f"{round_}.runs"
        Ledger.create(path, epsilon=1e6, delta=1e-6)

        def child(path=path, side=side):
            ledger, runs = Ledger.open(path), os.open(side, os.O_CREAT | os.O_APPEND | os.O_WRONLY)

            class Writes(Fake):
                def __call__(self, corpus, rng):
                    os.write(runs, b"x")
                    os.fsync(runs)
                    return super().__call__(corpus, rng)

            rng = secure_rng()
            while True:
                charged(ledger, Writes(promise(1.0, 0.0), []), CORPUS, rng)

        for number in range(20):
            pid = fork(child)
            deadline = time.monotonic() + 60
            while number == 0 and not (side.exists() and side.stat().st_size) and time.monotonic() < deadline:
                time.sleep(0.005)  # the first child of a round gets somewhere, however busy the machine is
            time.sleep(chance.uniform(0.005, 0.06))
            os.kill(pid, signal.SIGKILL)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
            kills += 1
            charges = [r.number for r in Ledger.open(path).receipts()]
            runs = side.stat().st_size if side.exists() else 0
            assert charges == list(range(1, len(charges) + 1))
            # Every kill can strand one charge whose mechanism had not run yet, and nothing else.
            assert runs <= len(charges) <= runs + kills
        seen += runs
    assert kills >= 100
    assert seen >= 5  # the children got somewhere


@posix
def test_killed_while_creating(tmp_path):
    """What is left is no file, a whole ledger, or a remnant that is refused and explained."""
    chance = random.Random()
    for i in range(40):
        path = tmp_path / f"{i}.ledger"
        pid = fork(lambda path=path: Ledger.create(path, epsilon=1, delta=1e-6))
        time.sleep(chance.uniform(0, 0.02))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        try:
            outcome = str(Ledger.open(path).left)
        except LedgerError as error:
            outcome = str(error)
        assert any(text in outcome for text in (str(Budget(1.0, 1e-6)), "there is no ledger", "interrupted"))


@posix
@pytest.mark.parametrize("limit", [512, 5_000, 13_000, 20_000, 30_000])
def test_full_disk(ledger, path, limit):
    """The disk fills up at different stages of the commit: a clear error, and the mechanism did not run."""
    import resource

    class Wordy(Fake):
        name = "x" * 50_000  # makes the file grow past each limit

    def child():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        mechanism = Wordy(promise(), [])
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        try:
            charged(ledger, mechanism, CORPUS, secure_rng())
        except LedgerError as error:
            os.write(write, f"{mechanism.ran} {error}".encode())

    read, write = os.pipe()
    wait_for([fork(child)])
    os.close(write)
    with os.fdopen(read) as pipe:
        report = pipe.read()
    assert report.startswith("[] ")
    assert "disk is full or failing" in report
    assert Ledger.open(path).receipts() == []
    charged(ledger, fake(), CORPUS, secure_rng())


def test_a_commit_that_fails_stops_the_mechanism(ledger, monkeypatch):
    def broken(connection):
        connection.execute("ROLLBACK")
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(module, "_commit", broken)
    mechanism = fake()
    with pytest.raises(LedgerError):
        charged(ledger, mechanism, CORPUS, secure_rng())
    assert mechanism.ran == []


@posix
@pytest.mark.parametrize("what", ["file", "folder"])
def test_read_only(what):
    """A ledger that cannot be written can be read, and refuses to charge."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clinic.ledger"
        ledger = Ledger.create(path, epsilon=3, delta=1e-6)
        ledger.charge(promise(), "x")
        path.chmod(0o444 if what == "file" else 0o666)
        os.chmod(folder, 0o555)
        read, write = os.pipe()

        def child():
            if os.getuid() == 0:
                os.setuid(65534)  # root may write anything
            mechanism = fake()
            assert Ledger.open(path).left.epsilon == 2
            try:
                charged(ledger, mechanism, CORPUS, secure_rng())
            except LedgerError as error:
                os.write(write, f"{mechanism.ran} {error}".encode())

        wait_for([fork(child)])
        os.close(write)
        with os.fdopen(read) as pipe:
            report = pipe.read()
        os.chmod(folder, 0o755)
        assert report.startswith("[] ")
        assert "Check the permissions" in report
        assert len(ledger.receipts()) == 1


def fork(work, *args):
    """Run ``work`` in a forked child: warm imports make it start within milliseconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # numpy's idle threads: the child does not use them
        pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work(*args)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def wait_for(children):
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children] == [0] * len(children)
