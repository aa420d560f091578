"""Bad inputs over real sockets: whatever a client sends, it gets a reason or a closed connection, and never a fault."""

import contextlib
import gzip
import json
import socket
from urllib.parse import quote

import pytest
from collector_tools import as_json, collection, report, running, stored

from dptopics.local.server.store import open_store

MADE = collection("pair")
GOOD = as_json(report(MADE, 1))
BODY = json.dumps(GOOD).encode()
LINE = b"POST /reports HTTP/1.1\r\n"


def request(body=BODY, *headers, line=LINE, kind=b"application/json", length=None):
    """A request's bytes. ``length`` says something else than the truth; b"" leaves it out."""
    said = b"Content-Length: %d" % len(body) if length is None else length
    lines = [b"Host: x", b"Connection: close", b"Content-Type: " + kind, said, *headers]
    return line + b"\r\n".join(one for one in lines if one) + b"\r\n\r\n" + body


def chunked(*chunks, more=()):
    return request(b"".join(chunks), b"Transfer-Encoding: chunked", *more, length=b"")


def lines(*reports):
    return request(b"\n".join(reports), kind=b"application/x-ndjson")


def with_(**changes):
    return request(json.dumps(GOOD | changes).encode())


BAD = {
    # heads
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100) + b"\r\n\r\n",
    "no version": b"POST /reports\r\n\r\n",
    "HTTP 2 as text": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "no host": b"POST /reports HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
    "two hosts": request(BODY, b"Host: y"),
    "a method of our own": request(line=b"DELETE-ALL /reports HTTP/1.1\r\n"),
    "CONNECT": b"CONNECT survey.example:443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    "TRACE": b"TRACE /reports HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    "options of everything": b"OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    "a NUL in the path": request(line=b"POST /reports\0 HTTP/1.1\r\n"),
    "a NUL in a header": request(BODY, b"X: a\0b"),
    "a NUL in the path, quoted": request(line=b"POST /reports%00 HTTP/1.1\r\n"),
    "half a character in the path": request(line=b"POST /reports%ff%fe HTTP/1.1\r\n"),
    "out of the folder": b"GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    "out of the folder, quoted": b"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    "an address in the path": request(line=b"POST http://[::1/reports HTTP/1.1\r\n"),
    "a header without a colon": request(BODY, b"nonsense"),
    "a blank before the colon": request(BODY, b"X : a"),
    "a header that is no ASCII": request(BODY, "Ⅹ: ä".encode()),
    "a head that is too long": request(BODY, b"X: " + b"y" * 200_000),
    # lengths and chunks
    "two lengths that differ": request(BODY, b"Content-Length: 3"),
    "two lengths in one": request(length=b"Content-Length: 3, 4"),
    "a negative length": request(length=b"Content-Length: -1"),
    "a length with a sign": request(length=b"Content-Length: +5"),
    "a length that is a word": request(length=b"Content-Length: many"),
    "a length in other digits": request(length="Content-Length: ٣".encode()),
    "a huge length": request(length=b"Content-Length: 99999999999999999999"),
    "an endless length": request(length=b"Content-Length: " + b"9" * 5000),
    "length and chunks": chunked(b"0\r\n\r\n", more=[b"Content-Length: 5"]),
    "a chunk of no size": chunked(b"zz\r\nabc\r\n0\r\n\r\n"),
    "a chunk of negative size": chunked(b"-1\r\nabc\r\n0\r\n\r\n"),
    "a chunk of huge size": chunked(b"ffffffffffffffffffffffff\r\nabc"),
    "a chunk that is longer than it says": chunked(b"1\r\nabcdef\r\n0\r\n\r\n"),
    "another transfer coding": request(BODY, b"Transfer-Encoding: gzip, identity", length=b""),
    "chunks twice": request(b"0\r\n\r\n", b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked", length=b""),
    # types and encodings
    "no type": request(kind=b""),
    "a form": request(b"collection=survey", kind=b"application/x-www-form-urlencoded"),
    "a form of many parts": request(kind=b'multipart/form-data; boundary="x"'),
    "a type that is no ASCII": request(kind="application/jsön".encode()),
    "gzip that is none": request(BODY, b"Content-Encoding: gzip"),
    "gzip with something behind": request(gzip.compress(BODY) + b"more", b"Content-Encoding: gzip"),
    "gzip in gzip": request(gzip.compress(gzip.compress(BODY)), b"Content-Encoding: gzip, gzip"),
    "an unknown encoding": request(BODY, b"Content-Encoding: zstd"),
    # JSON
    "JSON nested deep": request(b"[" * 100_000),
    "objects nested deep": request(b'{"a":' * 50_000 + b"1" + b"}" * 50_000),
    "lines nested deep": lines(b"[" * 100_000, b'{"a":' * 50_000),
    "a NUL for a body": request(b"\0"),
    "a NUL in a string": request(BODY.replace(b"survey", b"sur\0ey")),
    "a quoted NUL": with_(collection="sur\0vey"),
    "half a character": request(b'{"collection": "\xff"}'),
    "half a surrogate pair": request(BODY.replace(b"survey", b"\\ud800")),
    "no number": request(b"NaN"),
    "endless digits": request(b"1" * 100_000),
    "a number beyond all": request(b"[1e999999]"),
    "a name twice": request(BODY[:-1] + b', "data": 3}'),
    # reports
    "a list of lists": request(json.dumps([[GOOD]]).encode()),
    "an object of reports": request(json.dumps({"reports": [GOOD]}).encode()),
    "a version that is a number": with_(version=1),
    "a number that is too short": with_(report="00"),
    "a number in wide digits": with_(report="０" * 32),
    "a number with blanks": with_(report="0 " * 16),
    "a number in capitals and no hex": with_(report="ZZ" * 16),
    "data in another alphabet": with_(data="____----____----"),
    "data with line breaks": with_(data="AAAA\nAAAA\nAAAAAAAA"),
    "data that is too long": with_(data="AAAA" * 10_000),
    "a bucket that does not exist": with_(data="/" * 16),
    "a name that looks the same": with_(collection="surv\u0435y"),  # a Cyrillic letter
    "a name of no width": with_(collection="survey\u200b"),
    "a name in wide letters": with_(collection="ｓｕｒｖｅｙ"),
}  # fmt: skip

TOLERATED = {  # by the parser of HTTP
    "HTTP 9": request(line=b"POST /reports HTTP/9.9\r\n"),
    "a folded header": request(BODY, b"X: a\r\n b"),
    "ten thousand headers": request(BODY, *(b"X%d: y" % i for i in range(10_000))),
    "only line feeds": request().replace(b"\r\n", b"\n"),
    "an upgrade": request(BODY, b"Upgrade: websocket", b"Connection: upgrade"),
}
AFTERWARDS = {  # what comes after an answer, or where one is expected
    "a bad chunk": (b"POST /none HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", b"zz\r\n"),
    "no second request": (b"GET /collection HTTP/1.1\r\nHost: x\r\n\r\n", b"\0\0\r\n\r\n"),
    "more after the end": (b"GET /collection HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", b"\0\0\r\n\r\n"),
    "more of what was too much": (request(length=b"Content-Length: 99999999"), b"more" * 50_000),
    "another body than expected": (request(b"", b"Expect: 100-continue", length=b"Content-Length: 3"), b"no\r\n\0\0"),
}  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    where = str(folder / "a.db")
    with running(folder, MADE, where, "--page", "--per-minute", "1000000") as one:
        yield one, where
        assert one.stop() == (0, "")  # and nothing was printed


def answer(port, data):
    """All that comes back; nothing where the connection was closed without a word, or where more is waited for."""
    found = b""
    with socket.create_connection(("127.0.0.1", port), timeout=1) as one, contextlib.suppress(OSError):
        one.sendall(data)
        while part := one.recv(65536):
            found += part
    return found


@pytest.mark.parametrize("name", BAD)
def test_bad_inputs_are_refused(server, name):
    running_server, where = server
    found = answer(running_server.port, BAD[name])
    if found:
        assert found[:9] in (b"HTTP/1.1 ", b"HTTP/1.0 ")
        assert found[9:10] == b"4", found[:300]
    assert b"Traceback" not in found
    assert b"root:" not in found
    with open_store(where, MADE, create=False) as store:
        assert stored(store) == []


@pytest.mark.parametrize("name", TOLERATED)
def test_odd_requests_are_no_fault(server, name):
    found = answer(server[0].port, TOLERATED[name].replace(BODY, b"?" * len(BODY)))
    assert found[9:10] == b"4"


@pytest.mark.parametrize("name", AFTERWARDS)
def test_nonsense_after_an_answer(server, name):
    """The connection is closed; that nothing is printed is seen when the server ends."""
    first, then = AFTERWARDS[name]
    with socket.create_connection(("127.0.0.1", server[0].port), timeout=1) as one:
        one.sendall(first)
        assert one.recv(65536)[9:10] in (b"1", b"2", b"4")
        found = b""
        with contextlib.suppress(OSError):
            one.sendall(then)
            while part := one.recv(65536):
                found += part
    assert b" 500 " not in found
    assert b"Traceback" not in found


def test_good_ones_come_through_afterwards(server):
    running_server, where = server
    good = request(json.dumps(as_json(report(MADE, 2))).encode())
    assert answer(running_server.port, good).startswith(b"HTTP/1.1 200")
    body = json.dumps(as_json(report(MADE, 3))).encode()
    parts = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    assert answer(running_server.port, chunked(parts)).startswith(b"HTTP/1.1 200")
    path = quote("/collection").encode()
    assert answer(running_server.port, b"GET " + path + b" HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 200")
    with open_store(where, MADE, create=False) as store:
        assert len(stored(store)) == 2
