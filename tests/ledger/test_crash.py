"""Crashes: kill -9 with two processes at one ledger, and power loss at every moment. Long runs: benchmarks/crash."""

import os
import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest

from dptopics.core import files
from dptopics.ledger.ledger import Ledger

SCRIPTS = Path(__file__).parents[2] / "benchmarks" / "crash"

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]
needs_compiler = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("gcc") is None, reason="needs Linux and gcc"
)


@pytest.fixture
def scripts(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import kill_nine
    import power_loss

    return kill_nine, power_loss


def test_twenty_kills_of_two_processes_lose_and_double_nothing(scripts, tmp_path):
    kill_nine, _ = scripts
    found = kill_nine.trials(20, tmp_path, seed=0)
    assert found["trials"] == 20
    assert found["kills"] == 40
    assert found["charges"] >= 20
    assert {what: found[what] for what in kill_nine.WRONG if found[what]} == {}


def test_what_is_missing_or_double_would_be_seen(scripts, tmp_path):
    kill_nine, _ = scripts
    ledger = Ledger.create(tmp_path / "ledger", epsilon=1.0, delta=1e-6)
    for what in ("t a 0", "t a 0", "t b 0", "t b 1", "t b 2"):
        ledger.charge(kill_nine.COST, what)
    found = kill_nine.judged(tmp_path / "ledger", "t", ["t a 0", "t a 1"])
    assert found == Counter({"charges": 4, "missing": 1, "double": 1, "unsaid": 3, "unsaid, more than one a child": 1})


def test_kills_and_races_of_a_series_put_nobody_above_the_cap(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import series_kills

    found = series_kills.trials(4, tmp_path, 0, Counter()) + series_kills.races(1, tmp_path, 1)
    assert found["kills"] >= 4
    assert found["given out"] >= 1
    assert found["steps of a run"] > 30
    assert {what: found[what] for what in series_kills.WRONG if found[what]} == {}


def test_somebody_above_the_cap_would_be_seen(monkeypatch, tmp_path):
    """Three weeks of the same people, with a new file each time."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import series_kills

    folder = series_kills.made(tmp_path)
    monkeypatch.setattr("dptopics.ledger.series.Series.notes", lambda *_: [])  # nothing was counted before
    monkeypatch.setattr("dptopics.ledger.series.SeriesAccount._closed", lambda self, receipts: receipts[-1])
    monkeypatch.setattr(Ledger, "_check_room", lambda *_: None)
    for week in series_kills.WEEKS.names[:3]:
        series_kills.counted(folder, week, most=1, out=folder / week, file=folder / f"{week}.part")
    found = series_kills.judged(folder, most=1)
    assert found["above the cap"] == 6
    assert found["charged twice"]


@needs_compiler
@pytest.mark.parametrize("name", ["ledger", "bundle", "reports"])
def test_what_was_saved_survives_a_loss_of_power(scripts, name):
    """Only what was synced is kept: each file's bytes and, in its folder, its name."""
    _, power_loss = scripts
    found = power_loss.tried(name, random_disks=1)
    assert found["said"] > 0
    assert not power_loss.wrong(found), found


@needs_compiler
def test_a_missing_sync_would_be_seen(scripts):
    _, power_loss = scripts
    for name in ("bundle", "reports"):
        assert power_loss.wrong(power_loss.tried(name, deaf=True, random_disks=0))


def test_names_of_new_folders_are_synced(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(files, "sync_folder", synced.append)
    files.make_folder(tmp_path / "a" / "b")
    assert sorted(synced) == [tmp_path, tmp_path / "a"]
    files.make_folder(tmp_path / "a" / "b")
    assert len(synced) == 2
