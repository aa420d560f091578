"""Settings that all tests and doctests share."""

import os
from hashlib import sha256
from itertools import count
from secrets import randbelow

import pytest
from hypothesis import core, settings

# Before numpy is loaded: on cores that others compute on, threads of small matrices wait a hundred times as long.
for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")  # workers and processes that tests start inherit it

from dptopics.privacy import rng  # noqa: E402

# Every run tries other examples of a property, and other neighbours; whoever has the seed sees the same failure.
SEED = int(os.environ.setdefault("DPTOPICS_TEST_SEED", str(randbelow(2**31))))  # workers inherit it
core.global_force_seed = SEED
settings.register_profile("house", deadline=None, database=None)  # the first example may have to compile a kernel
settings.load_profile("house")

NO_BROWSER = "no browser: install Chromium and its driver (Debian: chromium chromium-driver)"
NO_AXE = "no axe-core: install npm (Debian: npm), which fetches it"
NO_JAVA = "no Java: install Java 17 or newer (Debian: default-jre-headless)"
NO_NODE = "no Node.js: install it (Debian: nodejs)"
NO_POSTGRES = "no PostgreSQL: install the server (Debian: postgresql)"
SKIPPED = {
    NO_BROWSER: ("BROWSER", "The report pages and the browser's client were NOT tried"),
    NO_AXE: ("ACCESSIBILITY", "The report pages were NOT checked by axe-core"),
    NO_JAVA: ("SPARK", "The Spark engine was NOT run"),
    NO_NODE: ("JAVASCRIPT", "The browser's client was NOT compared with the Python client"),
    NO_POSTGRES: ("POSTGRESQL", "The collector's store and queries in PostgreSQL were NOT tried"),
}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How to see a failure again; and, loudly, what was not tried for want of a program."""
    if terminalreporter.stats.get("failed"):
        terminalreporter.line(f"Run it again with DPTOPICS_TEST_SEED={SEED}.", red=True, bold=True)
    for reason, (kind, what) in SKIPPED.items():
        skipped = [r for r in terminalreporter.stats.get("skipped", []) if reason in str(r.longrepr)]
        if skipped:
            terminalreporter.section(f"{len(skipped)} {kind} TESTS WERE SKIPPED", "!", red=True, bold=True)
            terminalreporter.line(f"{what}: {reason}.", red=True, bold=True)


@pytest.fixture(autouse=True)
def _keys_from_the_name_of_the_test(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cipher that releases draw from gets a key that only the test's name decides, a new one for each generator.

    Private topics at a finite ε are sometimes poor by chance; a test must not be. That real keys come from the system
    is a test of its own (tests/privacy/test_noise.py).
    """
    number, here = count(), os.getpid()

    def key(bits: int) -> int:
        fork = "" if os.getpid() == here else os.getpid()
        test = request.node.nodeid.removesuffix("@spark")  # what xdist adds to tests that share a process
        name = f"{test} {next(number)} {fork}".encode()
        return int.from_bytes(sha256(name).digest()) & ((1 << bits) - 1)

    monkeypatch.setattr(rng.secrets, "randbits", key)
