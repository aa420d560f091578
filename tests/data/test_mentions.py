"""Words, phrases and patterns in texts."""

import time

import numpy as np
import pytest

from dptopics.core.errors import InputError
from dptopics.data.mentions import Mentions, check_pattern, matches

TEXTS = ["My blood-PRESSURE is high", "high blood", "pressure", "Insulinpumpe THE", "", "膝が痛い", "I don’t a b a b a",
         "\ud800 the", "A B A"]  # fmt: skip


@pytest.mark.parametrize(
    "phrase, where",
    [
        ("Blood pressure", [0]),
        ("blood", [0, 1]),
        ("insulin", []),
        ("insulin*", [3]),
        ("THE", [3, 7]),
        ("膝", [5]),
        ("don't", [6]),
        ("a b a", [6, 8]),
        ("pressure high", []),
        ("is high", [0]),
        ("ﬁne", []),
    ],
)
def test_a_phrase_is_found_whole_whatever_its_case(phrase, where):
    found = Mentions([phrase, "other"])(TEXTS)
    assert np.flatnonzero(found[:, 0]).tolist() == where
    assert not found[:, 1].any()


def test_each_text_by_itself():
    looks = Mentions(["a b a", "blood pressure", "insulin*"])
    whole = looks(TEXTS)
    alone = np.concatenate([looks([text]) for text in TEXTS])
    assert np.array_equal(whole, alone)
    assert np.array_equal(whole[::-1], looks(TEXTS[::-1]))
    assert looks([]).shape == (0, 3)


def test_patterns_take_linear_time():
    start = time.perf_counter()
    check_pattern("(a+)+$")
    assert matches("(a+)+$", ["a" * 100_000 + "b", "aa", "\ud800"]).tolist() == [False, True, False]
    assert time.perf_counter() - start < 2
    with pytest.raises(InputError, match="cannot be used"):
        check_pattern("[")
