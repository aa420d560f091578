"""Standard output that cannot be written: what was paid for is there, and the exit code says so."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dptopics import Ledger, cli
from dptopics.cli.streams import Stream, guarded, saved, where_saved

FULL = Path("/dev/full")
TEXTS = ["knee pain after running", "glasses for reading"] * 100
needs_full = pytest.mark.skipif(not FULL.exists(), reason="this system has no device that is always full")


@pytest.fixture
def started(tmp_path):
    """A run of the command line in its own process, with standard output wherever a test wants it."""
    rows = "".join(f"{text},p{i}\n" for i, text in enumerate(TEXTS))
    (tmp_path / "notes.csv").write_text("note,patient\n" + rows)
    Ledger.create(tmp_path / "a.ledger", epsilon=50, delta=1e-3)

    def start(*words, **streams):
        command = [sys.executable, "-m", "dptopics", *map(str, words)]
        return subprocess.run(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, check=False, **streams)

    return start


RELEASE = ("vocabulary", "notes.csv", "--text", "note", "--author", "patient", "--epsilon", 8, "--delta", 1e-6,
           "--ledger", "a.ledger", "--out")  # fmt: skip


@needs_full
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_full_disk_under_standard_output_does_not_hide_what_was_paid_for(started, tmp_path, more):
    with FULL.open("w") as full:
        run = started(*RELEASE, "words", *more, stdout=full)
    assert run.returncode == 4  # never 2: a script that tries again would pay twice
    assert "Nothing was written" not in run.stderr
    assert "What was asked for is in words, complete." in " ".join(run.stderr.split())
    assert (tmp_path / "words" / "bundle.json").exists()
    assert len(Ledger.open(tmp_path / "a.ledger").to_dict()["charges"]) == 1
    if more:
        return
    with FULL.open("w") as full:
        shown = started("show", "words", stdout=full)
    assert (shown.returncode, "Nothing was spent." in " ".join(shown.stderr.split())) == (2, True)


def test_a_reader_who_has_enough_is_no_error(started):
    """As with ``dptopics show | head -1``: quiet."""
    read, write = os.pipe()
    os.close(read)
    run = started("mechanisms", stdout=write)
    os.close(write)
    assert (run.returncode, run.stderr) == (0, "")


class Broken(io.StringIO):
    """A stream on a disk that is full."""

    encoding = "utf-8"

    def __init__(self, file):
        super().__init__()
        self.file = file

    def fileno(self):
        return self.file.fileno()

    def flush(self):
        raise OSError(28, "No space left on device")


def test_a_stream_keeps_its_first_error(tmp_path):
    with (tmp_path / "below").open("w") as file:
        stream = Stream(Broken(file))
        assert stream.write("ε") == 1
        stream.flush()
        stream.write("lost")
        assert stream.problem == "No space left on device"


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), RuntimeError("a word of the data")])
def test_no_error_after_a_save_says_that_nothing_was_written(monkeypatch, capsys, error):
    def app():
        saved("there")
        raise error

    monkeypatch.setattr(cli, "app", app)
    with pytest.raises(SystemExit) as stop:
        cli.main()
    told = " ".join(capsys.readouterr().err.split())
    assert stop.value.code == (4 if isinstance(error, OSError) else 1)
    assert "is in there, complete" in told
    assert "Nothing was written" not in told


def test_a_run_begins_with_nothing_saved():
    saved("of another run")
    with guarded():
        assert where_saved() == ""
    saved("")
