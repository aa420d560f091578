"""The collector's bars: durable reports a second, waiting times, kill -9 under load, fuzz, and a fit of a million.

    python benchmarks/collector.py speed|kills|fuzz|silent|slow|million [--store postgresql://…] [--kind bits]
    python benchmarks/collector.py slow --connections 300 --seconds 5        a short look, which is not stored

Client and server run on one machine and share its cores. The load comes from one asyncio process over real sockets.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import random
import resource
import secrets
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from dptopics import Vocabulary
from dptopics.local.collection import Collection, Report
from dptopics.local.hashing import HashedPair, ThreeWords
from dptopics.local.randomizer import BitFlips
from dptopics.local.report_files import to_line, write_collection
from dptopics.local.server.store import open_store
from results import RESULTS, bar, save

WORDS = Vocabulary.of([f"w{i:03d}" for i in range(1000)])
TOPICS = tuple(tuple(WORDS.words[50 * k : 50 * k + 50]) for k in range(20))
KINDS = {
    "pair": Collection(name="bench", randomizer=HashedPair(vocabulary=WORDS, topics=TOPICS, epsilon=4.0)),
    "bits": Collection(name="bench", randomizer=BitFlips(vocabulary=WORDS, f=0.1, max_words=10)),
    "three-words": Collection(name="bench", randomizer=ThreeWords(vocabulary=WORDS, epsilon=18.0)),
}
MADE = KINDS["pair"]


def body(n, rng):
    """A request with n reports, as raw HTTP, and the reports' numbers."""
    made = []
    for _ in range(n):
        answer = rng.bytes(8) + int(rng.integers(0, MADE.randomizer.hash.n_buckets)).to_bytes(4, "little")
        made.append(Report(MADE.name, MADE.version, secrets.token_bytes(16), answer))
    content = ("[" + ",".join(map(to_line, made)) + "]").encode()
    head = (
        f"POST /reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content, [one.number for one in made]


class Server:
    """``dptopics local serve`` in a process of its own."""

    def __init__(self, folder, store):
        path = Path(folder) / "c.json"
        if not path.exists():
            write_collection(MADE, path)
        command = [sys.executable, "-m", "dptopics", "local", "serve", path, "--store", store, "--port", "0",
                   "--per-minute", "1000000000"]  # fmt: skip
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, env=os.environ | {"PYTHONUNBUFFERED": "1"})
        self.port = int(self.process.stderr.readline().decode().rsplit(":", 1)[1])

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        code = self.process.wait()
        self.process.stderr.close()
        return code


async def ask(reader, writer, data):
    """Send one request; whether it was accepted."""
    writer.write(data)
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    await reader.readexactly(length)
    return head.startswith(b"HTTP/1.1 200")


async def as_fast_as_possible(port, requests, connections):
    """All requests over so many connections; seconds, and waiting times."""
    waits, left = [], iter(requests)

    async def work():
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for data, _ in left:
            began = time.perf_counter()
            assert await ask(reader, writer, data)
            waits.append(time.perf_counter() - began)
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(connections)))
    return time.perf_counter() - began, waits


async def at_a_rate(port, requests, rate, connections):
    """Requests at random moments (Poisson), whether or not earlier ones were answered; their waiting times."""
    free = asyncio.Queue()
    for _ in range(connections):
        free.put_nowait(await asyncio.open_connection("127.0.0.1", port))
    waits, tasks, chance = [], [], random.Random(0)

    async def one(data, moment):
        reader, writer = await free.get()
        assert await ask(reader, writer, data)
        waits.append(time.perf_counter() - moment)
        free.put_nowait((reader, writer))

    moment = time.perf_counter()
    for data, _ in requests:
        moment += chance.expovariate(rate)
        await asyncio.sleep(max(0.0, moment - time.perf_counter()))
        tasks.append(asyncio.create_task(one(data, moment)))
    await asyncio.gather(*tasks)
    return waits


def speed(folder, store):
    rng = np.random.default_rng(0)
    server = Server(folder, store)
    batches, singles = [body(20, rng) for _ in range(3000)], [body(1, rng) for _ in range(15_000)]
    seconds, waits = asyncio.run(as_fast_as_possible(server.port, batches, 16))
    single = asyncio.run(at_a_rate(server.port, singles, 500, 200))
    assert server.end() == 0
    with open_store(store, MADE, create=False) as opened:
        n_stored = sum(len(numbers) for numbers, _ in opened.batches())
    assert n_stored == 3000 * 20 + 15_000, n_stored
    return {
        "bars": [
            bar("durable reports in batches of 20", 60_000 / seconds, 2000, unit="reports/s", at_least=True),
            bar("p99 at 500 single reports/s", 1000 * float(np.quantile(single, 0.99)), 250, unit="ms", at_least=False),
        ],
        "batches_p99_ms": 1000 * float(np.quantile(waits, 0.99)), "single_p50_ms": 1000 * float(np.median(single)),
        "reports": n_stored,
    }  # fmt: skip


async def until_it_dies(server, rng, seconds):
    """Numbers that were acknowledged before the server is killed at a random moment."""
    acknowledged = []

    async def work():
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            while True:
                data, numbers = body(int(rng.integers(1, 20)), rng)
                if await ask(reader, writer, data):
                    acknowledged.extend(numbers)
        except (OSError, asyncio.IncompleteReadError):
            return

    workers = [asyncio.create_task(work()) for _ in range(8)]
    await asyncio.sleep(seconds)
    server.process.send_signal(signal.SIGKILL)
    await asyncio.gather(*workers)
    return acknowledged


def kills(folder, store, times=200):
    rng, chance = np.random.default_rng(0), random.Random(1)
    acknowledged = []
    for _ in range(times):
        server = Server(folder, store)
        acknowledged += asyncio.run(until_it_dies(server, rng, chance.uniform(0.05, 0.4)))
        server.end(signal.SIGKILL)
    with open_store(store, MADE, create=False) as opened:
        found = [number for numbers, _ in opened.batches() for number in numbers]
    lost = len(set(acknowledged) - set(found))
    print(f"{times} kills: {len(acknowledged)} acknowledged, {lost} lost, {len(found) - len(set(found))} twice")
    return {"kills": times, "acknowledged": len(acknowledged), "lost": lost, "twice": len(found) - len(set(found))}


def planted(kind, rng, n):
    """Bytes of n reports of one kind: everybody has one topic, and words of it, the first ones often."""
    topic = rng.integers(0, len(TOPICS), n)

    def words(times):
        return 50 * topic[:, None] + np.minimum(rng.geometric(0.1, (n, times)) - 1, 49)

    randomizer = KINDS[kind].randomizer
    if kind == "pair":
        return randomizer.hash.send(topic * len(WORDS) + words(1)[:, 0], rng).view(np.uint8).reshape(n, -1)
    if kind == "three-words":
        return randomizer.hash.send(words(3).ravel(), rng).view(np.uint8).reshape(n, -1)
    there = np.zeros((n, len(WORDS)), bool)
    np.put_along_axis(there, words(10), True, axis=1)
    return np.packbits(randomizer.randomize(there, rng), axis=1)


def million(folder, _store, kind="pair", n_reports=1_000_000):
    """A store of so many reports of planted topics, and how long a fit takes in a process of its own."""
    made, store, rng = KINDS[kind], Path(folder) / "million.db", np.random.default_rng(0)
    with open_store(store, made) as opened:
        for _ in range(0, n_reports, 10_000):
            opened.add([(secrets.token_bytes(16), one.tobytes()) for one in planted(kind, rng, 10_000)])
    write_collection(made, Path(folder) / "c.json")
    began = time.perf_counter()
    command = [sys.executable, "-m", "dptopics", "local", "fit", "c.json", "million.db", "--out", "release", "--json"]
    done = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    output = done.stdout.read()
    _, code, used = os.wait4(done.pid, 0)
    seconds = time.perf_counter() - began
    assert code == 0
    assert json.loads(output)["reports"] == n_reports
    return {
        "bars": [
            bar(f"fit of {n_reports:,} stored reports of {kind}, 20 topics, 1,000 words", seconds, 60, unit="s",
                at_least=False),
            bar("its memory", used.ru_maxrss / 2**20, 2, unit="GB", at_least=False),
        ],
        "reports": n_reports, "store_bytes": store.stat().st_size, "cpu_seconds": used.ru_utime + used.ru_stime,
    }  # fmt: skip


def fuzz(folder, store, n_requests=10_000):
    """Random requests over real sockets: how many of each status."""
    rng, statuses = random.Random(0), {}
    server = Server(folder, store)
    numbers = np.random.default_rng(0)

    def request():
        data, _ = body(rng.randint(1, 3), numbers)
        head, _, content = data.partition(b"\r\n\r\n")
        kind = rng.randrange(6)
        if kind == 0:
            content = rng.randbytes(rng.randrange(300))
        elif kind == 1:  # flip some bytes
            broken = bytearray(content)
            for _ in range(rng.randint(1, 5)):
                broken[rng.randrange(len(broken))] = rng.randrange(256)
            content = bytes(broken)
        elif kind == 2:
            content = content[: rng.randrange(len(content))]
        elif kind == 3:
            content = json.dumps(rng.choice([None, 1, [], {}, [[]], "x", [{"report": {}}], [1e308] * 50])).encode()
        elif kind == 4:
            head = head.replace(b"application/json", rng.choice([b"", b"text/html", b"application/x-ndjson", b"\xff"]))
        lines = [line for line in head.split(b"\r\n") if not line.startswith(b"Content-Length")]
        if kind == 5:
            lines.append(rng.choice([b"Content-Encoding: gzip", b"Content-Encoding: br", b"X: " + b"y" * 5000]))
        return (
            b"\r\n".join([*lines, b"Content-Length: %d" % len(content), b"Connection: close"]) + b"\r\n\r\n" + content
        )

    async def one(data):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(data)
        answer = await reader.read()
        status = answer[9:12].decode()
        statuses[status] = statuses.get(status, 0) + 1
        assert b"Traceback" not in answer
        writer.close()

    async def everything():
        for _ in range(0, n_requests, 50):
            await asyncio.gather(*(one(request()) for _ in range(50)))

    asyncio.run(everything())
    server.process.send_signal(signal.SIGTERM)
    said = server.process.stderr.read()
    assert (server.process.wait(), said) == (0, b"")
    print(statuses)
    assert not [status for status in statuses if status.startswith("5")]
    return {"requests": n_requests, "statuses": dict(sorted(statuses.items()))}


def silent(folder, store, n_silent=10_000, n_honest=1000):
    """Connections that say nothing, opened as fast as they can be, and honest single reports among them."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    n_silent = n_silent if hard == resource.RLIM_INFINITY else min(n_silent, hard - 500)
    resource.setrlimit(resource.RLIMIT_NOFILE, (n_silent + 500, hard))
    server, rng, opened, waits = Server(folder, store), np.random.default_rng(0), [], []
    honest = [body(1, rng) for _ in range(n_honest)]
    most_files = 0
    for number in range(n_silent):
        opened.append(socket.create_connection(("127.0.0.1", server.port)))
        if number % (n_silent // n_honest) == 0:  # a new connection each, as people in browsers have
            data, _ = honest.pop()
            began = time.perf_counter()
            with socket.create_connection(("127.0.0.1", server.port)) as one:
                one.sendall(data)
                assert one.recv(4096).startswith(b"HTTP/1.1 200")
            waits.append(time.perf_counter() - began)
            most_files = max(most_files, len(os.listdir(f"/proc/{server.process.pid}/fd")))
    for one in opened:
        one.close()
    assert server.end() == 0
    print(
        f"{n_silent} silent: {len(waits)} honest reports, slowest {max(waits):.3f} s, {most_files} files of the server"
    )
    return {"silent": n_silent, "honest_accepted": len(waits), "p99_ms": 1000 * float(np.quantile(waits, 0.99)),
            "slowest_ms": 1000 * max(waits), "most_files_of_the_server": most_files}  # fmt: skip


ASK = b"GET /reports HTTP/1.1\r\nHost: x\r\n\r\n"  # answered at once, with 405
HEAD = b"POST /reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
SHAPES = {  # what is sent at first; whether its answer is read; what comes byte by byte
    "second request, one byte of it": (ASK, True, b""),
    "a head byte by byte": (HEAD + b"X-More: ", False, b"y"),
    "a body byte by byte": (HEAD + b"Content-Length: 9999\r\n\r\n", False, b" "),
    "idle after an answer": (ASK, True, b""),
    "never reads its answers": (100 * b"GET /collection HTTP/1.1\r\nHost: x\r\n\r\n", False, b""),
}


def half_open(port, shape):
    """A connection that will never be finished, or None where it was closed at once."""
    first, read, _ = SHAPES[shape]
    one = socket.socket()
    try:
        if shape.startswith("never"):
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.settimeout(10)
        one.connect(("127.0.0.1", port))
        one.sendall(first)
        if read and not one.recv(4096).startswith(b"HTTP/1.1 405"):
            raise OSError("closed")
        if shape.startswith("second"):
            one.sendall(b"G")
        one.setblocking(False)
    except OSError:
        one.close()
        return None
    return one


def is_open(one, shape):
    """Send the next byte, and look whether the server has closed it."""
    try:
        if more := SHAPES[shape][2]:
            one.send(more)
        elif not shape.startswith("never") and one.recv(4096) == b"":
            return False
    except BlockingIOError:
        return True
    except OSError:
        return False
    return True


def attack(port, n, opened, stop):
    """Open n connections of all shapes as fast as possible, and open anew what is closed, until told to stop."""
    allow_files(n + 500)
    held = [(None, shape) for _, shape in zip(range(n), list(SHAPES) * n, strict=False)]
    while not stop.is_set():
        for place, (one, shape) in enumerate(held):
            if one is None or not is_open(one, shape):
                if one is not None:
                    one.close()
                held[place] = (half_open(port, shape), shape)
                opened.value += 1
            if stop.is_set():
                return
        time.sleep(0.5)


def allow_files(wanted):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert hard == resource.RLIM_INFINITY or hard >= wanted, f"this system allows {hard} open files, not {wanted}"
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def slow(folder, store, connections=(2000, 10_000), seconds=60):
    """Unfinished requests of five shapes, held and opened anew, and honest single reports among them."""
    rows = [slow_once(folder, store, n, seconds) for n in connections]
    with open_store(store, MADE, create=False) as reports:
        n_stored = sum(len(numbers) for numbers, _ in reports.batches())
    assert n_stored >= sum(row["honest"] - row["refused"] for row in rows)
    return {"shapes": list(SHAPES), "runs": rows}


def slow_once(folder, store, n, seconds):
    server, rng = Server(folder, store), np.random.default_rng(n)
    opened, stop = multiprocessing.Value("q", 0), multiprocessing.Event()
    attacker = multiprocessing.Process(target=attack, args=(server.port, n, opened, stop))
    attacker.start()
    waits, refused, most_files, end = [], 0, 0, None
    while end is None or time.perf_counter() < end:
        if end is None and opened.value >= n:
            end = time.perf_counter() + seconds  # all have been there once: go on while they are held
        data, _ = body(1, rng)
        began = time.perf_counter()
        try:
            with socket.create_connection(("127.0.0.1", server.port), timeout=30) as one:  # one try, as a person has
                one.sendall(data)
                refused += not one.recv(4096).startswith(b"HTTP/1.1 200")
        except OSError:
            refused += 1
        waits.append(time.perf_counter() - began)
        most_files = max(most_files, len(os.listdir(f"/proc/{server.process.pid}/fd")))
        time.sleep(0.02)
    stop.set()
    attacker.join()
    server.end(signal.SIGKILL)
    result = {"held": n, "opened": opened.value, "seconds": seconds, "honest": len(waits),
              "refused": refused, "p99_ms": 1000 * float(np.quantile(waits, 0.99)), "slowest_ms": 1000 * max(waits),
              "most_files_of_the_server": most_files}  # fmt: skip
    print(result)
    return result


JOBS = {"speed": speed, "kills": kills, "million": million, "fuzz": fuzz, "silent": silent, "slow": slow}

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("job", choices=JOBS)
    parser.add_argument("--store", help="a postgresql:// address; SQLite without it")
    parser.add_argument("--kind", choices=KINDS, default="pair", help="million: which randomiser")
    parser.add_argument("--reports", type=int, default=1_000_000, help="million: how many reports")
    parser.add_argument("--connections", type=int, help="slow: how many; 2,000 and then 10,000 without it")
    parser.add_argument("--seconds", type=int, default=60, help="slow: how long they are held")
    parser.add_argument("--folder", help="where the SQLite store lies; a temporary folder without it")
    given, load = parser.parse_args(), os.getloadavg()[0]  # a busy machine waits longer
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        more = {"kind": given.kind, "n_reports": given.reports} if given.job == "million" else {}
        if given.job == "slow":
            more = {"seconds": given.seconds} | ({"connections": [given.connections]} if given.connections else {})
        result = JOBS[given.job](folder, given.store or str(Path(folder) / "reports.db"), **more)
    if given.job == "slow" and given.connections:
        sys.exit()  # a part is not stored
    kind = "postgres" if given.store else "sqlite"
    kind += f" {given.kind}" if given.job == "million" and given.kind != "pair" else ""
    path = RESULTS / "collector.json"
    all_results = json.loads(path.read_text()) if path.exists() else {}
    save(
        "collector",
        all_results | {f"{given.job} {kind}": result | {"sqlite": sqlite3.sqlite_version, "load_before": load}},
    )
