"""Whatever a request holds, the collector answers with a reason, and keeps only reports that fit."""

import gzip
import json

import numpy as np
import pytest
from collector_tools import KINDS, as_json, collection, report, stored
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from dptopics.local.server.app import Settings, make_app
from dptopics.local.server.store import open_store

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.sampled_from(["collection", "version", "report", "data"]) | st.text(max_size=3), inner),
    max_leaves=8,
)  # fmt: skip
HEADERS = st.fixed_dictionaries({
    "Content-Type": st.sampled_from(["application/json", "application/x-ndjson", "text/plain", ""]),
    "Content-Encoding": st.sampled_from(["", "gzip", "identity", "br", "GZIP"]),
})  # fmt: skip


@st.composite
def near_reports(draw, made):
    """A good report with one field changed."""
    one = as_json(report(made, draw(st.integers(0, 2**128 - 1)), draw(st.binary(max_size=made.randomizer.n_bytes + 1))))
    field = draw(st.sampled_from(["none", *one]))
    return one if field == "none" else one | {field: draw(JSON | st.just(one[field][:-1]))}


@st.composite
def bodies(draw, made):
    kind = draw(st.sampled_from(["bytes", "json", "reports", "lines"]))
    if kind == "bytes":
        body = draw(st.binary(max_size=200))
    elif kind == "json":
        body = json.dumps(draw(JSON)).encode()
    else:
        some = draw(st.lists(near_reports(made), max_size=4))
        body = json.dumps(some).encode() if kind == "reports" else "\n".join(map(json.dumps, some)).encode()
    return gzip.compress(body) if draw(st.booleans()) else body[: draw(st.integers(0, len(body)))] or body


@pytest.mark.parametrize("kind", KINDS)
def test_any_request_gets_an_answer(kind, where):
    made = collection(kind)
    n_requests = 0
    with open_store(where, made) as store:
        with TestClient(make_app(made, store, Settings(per_minute=10**9)), raise_server_exceptions=True) as client:

            @settings(max_examples=300, suppress_health_check=list(HealthCheck))
            @given(body=bodies(made), headers=HEADERS, method=st.sampled_from(["POST"] * 8 + ["GET", "PUT"]))
            def check(body, headers, method):
                nonlocal n_requests
                n_requests += 1
                answer = client.request(method, "/reports", content=body, headers=headers)
                assert answer.status_code in (200, 400, 405, 413, 415, 422), answer.status_code
                found = answer.json()
                assert ("accepted" in found) is (answer.status_code in (200, 422))

            check()
        rows = stored(store)
    assert n_requests >= 300
    assert all(len(number) == 16 for number, _ in rows)
    data = np.array([list(data) for _, data in rows], np.uint8).reshape(len(rows), made.randomizer.n_bytes)
    assert made.randomizer.valid(data).all()
