"""What tests of the collector share: collections, reports, both kinds of stores, and servers in processes."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from dptopics import Vocabulary
from dptopics.local.collection import Collection, Report
from dptopics.local.hashing import HashedPair, ThreeWords
from dptopics.local.randomizer import BitFlips
from dptopics.local.report_files import to_line, write_collection

WORDS = Vocabulary.of(["cast", "knee", "rash", "skin", "zoë"])
KINDS = {
    "bits": BitFlips(vocabulary=WORDS, f=0.5, max_words=2),
    "pair": HashedPair(vocabulary=WORDS, topics=(("knee", "cast"), ("rash",)), epsilon=4.0),
    "three-words": ThreeWords(vocabulary=WORDS, epsilon=4.0),
}
NO_POSTGRES = "no PostgreSQL: install the server (Debian: postgresql)"


def collection(kind="bits", name="survey"):
    return Collection(name=name, randomizer=KINDS[kind])


def report(made, number, data=None):
    data = bytes(made.randomizer.n_bytes) if data is None else data
    return Report(made.name, made.version, number.to_bytes(16, "big"), data)


def as_json(one):
    return json.loads(to_line(one))


def stored(store):
    return [row for numbers, data in store.batches() for row in zip(numbers, data, strict=True)]


# --- PostgreSQL ---


def postgres_folder():
    """Where the server's programs lie, or None."""
    if found := shutil.which("initdb"):
        return Path(found).parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    return folders[-1] if folders else None


@contextmanager
def postgres_server(folder):
    """A PostgreSQL server of our own, on a socket in this folder; its address."""
    programs, user = postgres_folder(), None
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # PostgreSQL refuses to run as root
        user = "postgres"
        shutil.chown(folder, user)
        for parent in folder.parents:  # pytest's folders are for their owner only
            if parent.owner() == "root" and parent.stat().st_mode & 0o777 == 0o700 and "pytest" in str(parent):
                parent.chmod(0o711)
    quiet = {"user": user, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": "/"}
    subprocess.run([programs / "initdb", "-D", folder / "data", "-A", "trust", "-U", "tester"], check=True, **quiet)
    options = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={folder}"]
    server = subprocess.Popen([programs / "postgres", "-D", folder / "data", *options], **quiet)
    try:
        address = f"postgresql:///postgres?host={folder}&user=tester"
        wait_until(lambda: server.poll() is not None or answers(address))
        yield address
    finally:
        server.send_signal(signal.SIGINT)  # "fast": open connections are ended
        server.wait(60)


def answers(address):
    import psycopg

    try:
        psycopg.connect(address).close()
    except psycopg.OperationalError:
        return False
    return True


def fresh_schema(address, name):
    """An address of the same database that sees a schema of its own."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f'CREATE SCHEMA "{name}"')
    return f"{address}&options=-csearch_path%3D{name}"


# --- a collector ---


class Running:
    """A collector in a process of its own."""

    def __init__(self, process, port):
        self.process, self.port = process, port
        self.address = f"http://127.0.0.1:{port}"

    def post(self, body, headers=None, page="/reports"):
        """Status and parsed answer."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(
            self.address + page, data, {"Content-Type": "application/json"} | (headers or {})
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        code = self.process.wait(40)
        return code, self.process.stderr.read().decode()


@contextmanager
def running(folder, made, store, *more, port=0, limits=None):
    """Start ``dptopics local serve`` and wait until it listens; ``limits`` changes names of ``server.run``."""
    path = folder / f"{made.version}.json"
    if not path.exists():
        write_collection(made, path)
    program = ["-m", "dptopics"]
    if limits:
        changed = "; ".join(f"run.{name} = {value!r}" for name, value in limits.items())
        program = ["-c", f"from dptopics.cli import main; from dptopics.local.server import run; {changed}; main()"]
    command = [sys.executable, *program, "local", "serve", path, "--store", store, "--port", str(port), *more]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, env=os.environ | {"PYTHONUNBUFFERED": "1"})
    try:
        line = process.stderr.readline().decode()
        assert "Collecting" in line, line + process.stderr.read().decode()
        yield Running(process, int(line.rsplit(":", 1)[1]))
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stderr.close()


def wait_until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)
