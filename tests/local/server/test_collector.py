"""The collector's pages: what is accepted, what is refused and why, and that nothing about senders is kept."""

import gzip
import json
import logging
from dataclasses import replace
from datetime import date

import pytest
from collector_tools import KINDS, as_json, collection, report, stored
from starlette.testclient import TestClient

from dptopics.core import periods
from dptopics.core.errors import StoreError
from dptopics.local.collection import Collection
from dptopics.local.report_files import to_line
from dptopics.local.server import app as pages
from dptopics.local.server.app import MOST_REPORTS, MinuteLimit, Settings, largest_body, make_app
from dptopics.local.server.store import open_store

MADE = collection()
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path / "reports.db", MADE) as opened:
        yield opened


def client(store, made=MADE, **settings):
    return TestClient(make_app(made, store, Settings(**settings)), raise_server_exceptions=False)


@pytest.fixture
def asked(store):
    with client(store, per_minute=10**6) as one:
        yield one


def bodies(*reports):
    return [as_json(one) for one in reports]


@pytest.mark.parametrize("kind", KINDS)
def test_the_description_is_the_collection(kind, tmp_path):
    made = collection(kind)
    with open_store(tmp_path / "a.db", made) as store, client(store, made) as one:
        data = one.get("/collection").json()
    assert Collection.from_dict(data) == made
    assert data["stop_words"] == []


def test_one_or_many_are_accepted_and_stored_once(asked, store):
    one, two, three = (report(MADE, i) for i in (1, 2, 3))
    assert asked.post("/reports", json=as_json(one)).json() == {"accepted": 1, "refused": []}
    answer = asked.post("/reports", json=bodies(one, two, two))
    assert (answer.status_code, answer.json()) == (200, {"accepted": 3, "refused": []})
    lines = "\n".join(map(to_line, (two, three))) + "\n\n"
    answer = asked.post("/reports", content=lines, headers={"Content-Type": "application/x-ndjson"})
    assert (answer.status_code, answer.json()["accepted"]) == (200, 2)
    packed = gzip.compress(json.dumps(as_json(report(MADE, 4))).encode())
    head = {"Content-Type": "application/json; charset=utf-8", "Content-Encoding": "gzip"}
    assert asked.post("/reports", content=packed, headers=head).status_code == 200
    assert [number[-1] for number, _ in stored(store)] == [1, 2, 3, 4]


def test_what_does_not_fit_is_refused_with_its_reason(asked, store):
    good, other = as_json(report(MADE, 1)), as_json(report(collection(name="other"), 2))
    bad = {
        "malformed": [3, None, "x", [], {}, good | {"report": "00"}, good | {"data": "?"}, good | {"data": 4},
                      good | {"collection": "\ud800"}, as_json(report(MADE, 5, b"\x01"))],
        "of another collection": [other],
        "of another version of the words or settings": [good | {"version": "1"}],
        "of the wrong length": [as_json(report(MADE, 6, b"\x00\x00"))],
    }  # fmt: skip
    for reason, some in bad.items():
        for one in some:
            answer = asked.post("/reports", content=json.dumps([good, one]), headers=JSON)
            assert (answer.status_code, answer.json()) == (
                422, {"accepted": 1, "refused": [{"at": 1, "reason": reason}]}
            )  # fmt: skip
    assert len(stored(store)) == 1


def test_requests_that_are_none(asked, store):
    def status(content, **headers):
        head = {"Content-Type": "application/json"} | {k.replace("_", "-"): v for k, v in headers.items()}
        answer = asked.post("/reports", content=content, headers=head)
        assert set(answer.json()) == {"reason"}
        return answer.status_code

    one = json.dumps(as_json(report(MADE, 1))).encode()
    assert status(b"") == status(b"[]") == status(b"{") == status(b"[" * 100_000) == status(b"\xff\xfe") == 400
    assert status(one, Content_Type="text/plain") == 415
    assert status(one, Content_Encoding="br") == 415
    assert status(one, Content_Encoding="gzip") == 400
    assert status(gzip.compress(one)[:-9], Content_Encoding="gzip") == 400
    assert status(json.dumps([as_json(report(MADE, 1))] * (MOST_REPORTS + 1)).encode()) == 413
    assert status(b" " * (largest_body(MADE) + 1)) == 413
    assert asked.get("/reports").status_code == 405
    assert asked.get("/none").json() == {"reason": "Not Found"}
    assert stored(store) == []


def test_a_gzip_bomb_is_not_unpacked(asked, monkeypatch):
    unpacked = []

    async def watched(chunks, encoding, most):
        body = await read(chunks, encoding, most)
        unpacked.append(len(body))
        return body

    read = pages.read_body
    monkeypatch.setattr(pages, "read_body", watched)
    bomb = gzip.compress(bytes(200 << 20))  # 200 kB become 200 MB
    assert len(bomb) < largest_body(MADE)
    answer = asked.post(
        "/reports", content=bomb, headers={"Content-Type": "application/json", "Content-Encoding": "gzip"}
    )
    assert answer.status_code == 413
    assert unpacked == []


def test_the_largest_request_fits(asked, store):
    many = [as_json(report(MADE, i)) for i in range(MOST_REPORTS)]
    assert asked.post("/reports", json=many).json()["accepted"] == MOST_REPORTS
    assert len(stored(store)) == MOST_REPORTS


# --- limits ---


def test_tokens_are_asked_for_and_limited(store, tmp_path):
    with client(store, per_minute=3, tokens=frozenset({"red", "blue"})) as one:

        def send(token, n=1):
            head = {} if token is None else {"Authorization": f"Bearer {token}"}
            return one.post("/reports", json=bodies(*(report(MADE, i) for i in range(n))), headers=head)

        assert [send(token).status_code for token in (None, "green", "")] == [401] * 3
        assert [send("red", n).status_code for n in (1, 2, 1)] == [200, 200, 429]
        assert send("red").headers["Retry-After"].isdecimal()
        assert send("blue", 3).status_code == 200
    for file in tmp_path.iterdir():
        assert b"red" not in file.read_bytes()
        assert b"testclient" not in file.read_bytes()


def test_without_tokens_addresses_are_limited(store):
    with client(store, per_minute=2) as one:
        for wanted in (200, 200, 429):
            head = {"Authorization": f"Bearer made up {wanted}"}
            assert one.post("/reports", json=as_json(report(MADE, 1)), headers=head).status_code == wanted


@pytest.mark.parametrize("per_minute", [1, 30, 600, MOST_REPORTS, 5000])
def test_every_request_that_is_taken_for_its_form_passes_within_a_minute(store, per_minute, monkeypatch):
    """Reports in a request are limited to what a minute allows: more are refused for good (413), not put off (429)."""
    now = 0.0
    monkeypatch.setattr(pages, "MinuteLimit", lambda most: MinuteLimit(most, clock=lambda: now))
    most = min(per_minute, MOST_REPORTS)
    with client(store, per_minute=per_minute) as one:
        for size in sorted({1, most // 2 + 1, most}):
            many = [as_json(report(MADE, i)) for i in range(size)]
            answer = one.post("/reports", json=many)
            if answer.status_code == 429:
                now += int(answer.headers["Retry-After"])
                assert int(answer.headers["Retry-After"]) <= 60
                answer = one.post("/reports", json=many)
            assert (answer.status_code, answer.json()["accepted"]) == (200, size)
        answer = one.post("/reports", json=[as_json(report(MADE, i)) for i in range(most + 1)])
        assert (answer.status_code, f"holds 1 to {most} reports" in answer.json()["reason"]) == (413, True)


def test_the_largest_request_passes_by_default(store):
    for size in (601, 700, MOST_REPORTS):
        with client(store) as one:
            assert one.post("/reports", json=[as_json(report(MADE, i)) for i in range(size)]).status_code == 200


def test_the_limit_forgets_every_minute_and_counts_on_no_wall_clock():
    now = 0.0
    limit = MinuteLimit(2, clock=lambda: now)
    assert [limit.seconds_to_wait("somebody", 2), limit.seconds_to_wait("somebody", 1)] == [0, 60]
    now = 59.5
    assert limit.seconds_to_wait("somebody", 1) == 1
    now = 60.0
    assert limit.seconds_to_wait("somebody", 2) == 0
    assert "somebody" not in repr(limit.__dict__["_counts"])


# --- failures ---


def test_a_store_that_fails_is_a_503_and_nothing_is_accepted(store, monkeypatch):
    with client(store) as one:

        def fail(rows):
            raise StoreError("the disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(store, "add", fail)
            answer = one.post("/reports", json=as_json(report(MADE, 1)))
            assert (answer.status_code, answer.json()) == (503, {"reason": "the disk is full"})
            assert int(answer.headers["Retry-After"]) > 0
            patch.setattr(store, "add", lambda rows: 1 / 0)
            assert one.post("/reports", json=as_json(report(MADE, 1))).status_code == 503
        assert one.post("/reports", json=as_json(report(MADE, 1))).status_code == 200


def test_a_report_brings_no_time_and_a_wrong_clock_is_a_503(tmp_path, monkeypatch):
    """Whatever time a report names is dropped; the collector's own clock is refused where it cannot be right."""
    made = replace(MADE, period="week")
    with open_store(tmp_path / "a.db", made) as store, client(store, made) as one:
        sent = as_json(report(made, 1)) | {"time": "2031-02-03T04:05:06Z", "period": "2031-W01"}
        monkeypatch.setattr(periods, "_today", lambda: date(1970, 1, 1))
        answer = one.post("/reports", json=sent)
        assert (answer.status_code, "clock says 1970" in answer.json()["reason"]) == (503, True)
        monkeypatch.setattr(periods, "_today", lambda: date(2026, 11, 16))
        assert one.post("/reports", json=sent).status_code == 200
        assert store.periods() == ("2026-W47",)
        assert one.get("/collection").json()["period"] == "week"
    for file in tmp_path.iterdir():
        assert b"2031" not in file.read_bytes()


def test_a_fault_of_ours_shows_no_traceback(asked, monkeypatch, caplog):
    monkeypatch.setattr(pages, "parse", lambda *_: 1 / 0)
    with caplog.at_level(logging.DEBUG):
        answer = asked.post("/reports", json=as_json(report(MADE, 1)))
    assert (answer.status_code, list(answer.json())) == (500, ["reason"])
    assert "Traceback" not in answer.text


def test_other_pages_may_send_only_if_named(store):
    with client(store, origins=("https://survey.example",)) as one:
        ask = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
        good = one.options("/reports", headers=ask | {"Origin": "https://survey.example"})
        assert good.headers["Access-Control-Allow-Origin"] == "https://survey.example"
        assert one.options("/reports", headers=ask | {"Origin": "https://evil.example"}).status_code == 400
    with client(store) as one:
        assert "Access-Control-Allow-Origin" not in one.get("/collection").headers
        assert one.get("/").status_code == 404  # no page unless asked for
