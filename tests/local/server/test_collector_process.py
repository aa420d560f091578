"""The collector as a process: stops, crashes, silence, bodies that are cut off, and two servers on one store."""

import contextlib
import http.client
import json
import signal
import socket
import threading
import time
from pathlib import Path

import pytest
from collector_tools import as_json, collection, report, running, stored

from dptopics.cli import main
from dptopics.local.server import run
from dptopics.local.server.store import open_store

MADE = collection()


def send_for_ever(server, first, acknowledged, size=5):
    """Batches of reports until the server is gone; what it acknowledged."""
    number = first
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        while True:
            body = json.dumps([as_json(report(MADE, number + i)) for i in range(size)])
            connection.request("POST", "/reports", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            if answer.status == 200:
                acknowledged += range(number, number + size)
            number += size
    except (OSError, http.client.HTTPException):
        pass
    finally:
        connection.close()


def under_load(server, stop, first=0, senders=4):
    """Numbers that were acknowledged before and while the server was stopped."""
    found = [[] for _ in range(senders)]
    threads = [
        threading.Thread(target=send_for_ever, args=(server, first + (i << 32), acknowledged))
        for i, acknowledged in enumerate(found)
    ]
    for thread in threads:
        thread.start()
    while not all(found):
        time.sleep(0.01)
    stop()
    for thread in threads:
        thread.join()
    return {number for acknowledged in found for number in acknowledged}


def numbers_of(where):
    with open_store(where, MADE, create=False) as store:
        found = [int.from_bytes(number, "big") for number, _ in stored(store)]
    assert len(found) == len(set(found))
    return set(found)


def test_kill_9_loses_nothing_that_was_acknowledged(where, tmp_path):
    acknowledged = set()
    for turn in range(3):
        with running(tmp_path, MADE, where, "--per-minute", "1000000000") as server:
            acknowledged |= under_load(server, lambda: server.stop(signal.SIGKILL), first=turn << 64)
    assert acknowledged <= numbers_of(where)
    assert len(acknowledged) >= 60


def test_a_stop_finishes_requests_under_way(tmp_path):
    where = str(tmp_path / "a.db")
    with running(tmp_path, MADE, where) as server, socket.create_connection(("127.0.0.1", server.port)) as slow:
        body = json.dumps(as_json(report(MADE, 77))).encode()
        head = "POST /reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        slow.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body[:20])
        time.sleep(0.3)
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        slow.sendall(body[20:])
        slow.settimeout(20)
        answer = b""
        while part := slow.recv(4096):
            answer += part
        assert answer.startswith(b"HTTP/1.1 200"), answer
        assert b'{"accepted":1,' in answer
        assert server.process.wait(20) == 0
        assert server.process.stderr.read() == b""
    assert numbers_of(where) == {77}
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("a.db")) == ["a.db"]  # closed


def test_two_servers_on_one_store(where, tmp_path):
    more = ("--per-minute", "1000000000")
    with running(tmp_path, MADE, where, *more) as one, running(tmp_path, MADE, where, *more) as two:
        found = []
        threads = [threading.Thread(target=send_for_ever, args=(server, 0, found)) for server in (one, two)]
        for thread in threads:  # both get the same numbers
            thread.start()
        time.sleep(1.0)
        assert [server.stop()[0] for server in (one, two)] == [0, 0]
        for thread in threads:
            thread.join()
    assert set(found) <= numbers_of(where)
    assert len(found) > 20


def test_ten_thousand_silent_connections_do_not_keep_others_out(tmp_path):
    """More of them than the server holds at once: the oldest make room, and everybody who speaks is answered."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    n_silent = 10_000
    if hard != resource.RLIM_INFINITY and hard < n_silent + 500:
        n_silent = hard - 500
        if n_silent < run._MOST_CONNECTIONS + 200:
            pytest.skip("this system allows too few open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, n_silent + 500), hard))
    silent, slowest = [], 0.0
    try:
        with running(tmp_path, MADE, str(tmp_path / "a.db")) as server:
            for number in range(n_silent):
                silent.append(socket.create_connection(("127.0.0.1", server.port)))
                if number % 500 == 499:
                    began = time.monotonic()
                    assert server.post(as_json(report(MADE, number)))[0] == 200
                    slowest = max(slowest, time.monotonic() - began)
            assert slowest < 5
            files = Path(f"/proc/{server.process.pid}/fd")
            if files.exists():
                assert len(list(files.iterdir())) < run._MOST_CONNECTIONS + 100
            silent[0].settimeout(5)
            assert silent[0].recv(1) == b""  # closed by the server
            assert server.stop()[0] == 0
    finally:
        for one in silent:
            one.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


ASK = b"GET /reports HTTP/1.1\r\nHost: x\r\n\r\n"  # answered at once, with 405
HEAD = b"POST /reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
SHAPES = {  # what comes first, whether its answer is waited for, what comes then, and what then comes byte by byte
    "a second request": (ASK, True, b"G", b""),
    "a head byte by byte": (HEAD + b"X-More: ", False, b"", b"y"),
    "a second head byte by byte": (ASK, True, b"", b"G"),
    "a body byte by byte": (HEAD + b"Content-Length: 9999\r\n\r\n", False, b"", b" "),
    "a body after its answer": (b"POST /none HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n", True, b"", b" "),
    "idle after an answer": (ASK, True, b"", b""),
    "never reads": (2000 * b"GET /collection HTTP/1.1\r\nHost: x\r\n\r\n", False, b"", b""),
}


def unfinished(server, shape):
    first, read, then, _ = SHAPES[shape]
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    one.settimeout(20)
    one.connect(("127.0.0.1", server.port))
    one.sendall(first)
    if read:
        assert b" 40" in one.recv(4096)
    one.sendall(then)
    return one


def n_files(server):
    files = Path(f"/proc/{server.process.pid}/fd")
    if not files.exists():
        pytest.skip("needs Linux")
    return len(list(files.iterdir()))


@pytest.mark.parametrize("shape", SHAPES)
def test_who_keeps_the_collector_waiting_is_let_go(tmp_path, shape):
    """Whatever came before, and however many bytes still come."""
    with running(tmp_path, MADE, str(tmp_path / "a.db"), limits={"REQUEST_SECONDS": 1.0}) as server:
        before = n_files(server)
        with unfinished(server, shape) as one:
            time.sleep(0.3)
            assert n_files(server) == before + 1
            end, closed = time.monotonic() + 5, False
            while not closed and time.monotonic() < end:
                time.sleep(0.1)
                with contextlib.suppress(OSError):
                    one.send(SHAPES[shape][3])
                closed = n_files(server) == before
            assert closed
        assert server.post(as_json(report(MADE, 1)))[0] == 200
        assert server.stop() == (0, "")


@pytest.mark.parametrize("shape", ["mixed", *SHAPES])
def test_newcomers_are_answered_while_the_table_is_full(tmp_path, shape):
    """Three times as many unfinished connections as are held: those who wait longest make room, not who comes."""
    limits = {"_MOST_CONNECTIONS": 60, "_AT_ONCE": 8}
    shapes = list(SHAPES) if shape == "mixed" else [shape]
    held = []
    with running(tmp_path, MADE, str(tmp_path / "a.db"), limits=limits) as server:
        try:
            before = n_files(server)
            for number in range(180):
                held.append(unfinished(server, shapes[number % len(shapes)]))
                if number % 10 == 9:
                    assert server.post(as_json(report(MADE, number)))[0] == 200
            assert n_files(server) <= before + 60 + 2
        finally:
            for one in held:
                one.close()
    assert len(numbers_of(str(tmp_path / "a.db"))) == 18


def test_a_connection_may_be_used_for_long(tmp_path):
    """Each answer starts the clock anew: an honest client keeps its connection beyond the limit of one request."""
    with running(tmp_path, MADE, str(tmp_path / "a.db"), limits={"REQUEST_SECONDS": 1.0}) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        connection.connect()
        first = connection.sock
        for number in range(8):
            body = json.dumps(as_json(report(MADE, number)))
            connection.request("POST", "/reports", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            assert (answer.status, connection.sock is first) == (200, True)
            time.sleep(0.3)
        connection.close()


def test_a_body_that_is_cut_off_brings_nothing(tmp_path):
    where = str(tmp_path / "a.db")
    with running(tmp_path, MADE, where) as server:
        body = json.dumps([as_json(report(MADE, i)) for i in range(3)]).encode()
        for cut in (0, 1, len(body) // 2, len(body) - 1):
            with socket.create_connection(("127.0.0.1", server.port)) as one:
                head = "POST /reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                one.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body[:cut])
        with socket.create_connection(("127.0.0.1", server.port)) as one:
            one.sendall(b"\x16\x03\x01 this is no HTTP\r\n\r\n")
            assert b"400" in one.recv(4096)
        assert server.post(as_json(report(MADE, 9)))[0] == 200
        assert server.stop() == (0, "")
    assert numbers_of(where) == {9}


def test_a_disk_that_is_full_for_a_while(tmp_path):
    """No file of the server may grow, as on a full disk: 503, nothing lost; the same requests are accepted later."""
    resource = pytest.importorskip("resource")
    if not hasattr(resource, "prlimit"):
        pytest.skip("needs Linux")
    where = str(tmp_path / "a.db")
    with running(tmp_path, MADE, where, "--per-minute", "1000000") as server:
        assert server.post(as_json(report(MADE, 0)))[0] == 200
        many = [[as_json(report(MADE, 1 + 500 * turn + i)) for i in range(500)] for turn in range(4)]
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (4096, hard))
        answers = [server.post(some) for some in many]
        assert {status for status, _ in answers} == {503}
        assert "Nothing of this request was kept" in answers[0][1]["reason"]
        assert server.post({"no": "report"})[0] == 422  # what needs no disk is answered as ever
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (hard, hard))
        assert [server.post(some)[0] for some in many] == [200] * 4
        assert server.stop() == (0, "")
    assert numbers_of(where) == set(range(2001))


def test_a_collector_that_cannot_start(tmp_path, monkeypatch, capsys):
    from dptopics.local.report_files import write_collection

    write_collection(MADE, tmp_path / "c.json")
    open_store(tmp_path / "a.db", collection(name="other")).close()
    monkeypatch.setattr("sys.argv", ["dptopics", "local", "serve", str(tmp_path / "c.json"), "--store",
                                     str(tmp_path / "a.db")])  # fmt: skip
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert "another collection" in " ".join(capsys.readouterr().err.split())
