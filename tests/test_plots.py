"""Pictures of keywords: written, marked, and refused where matrices do not fit."""

import sys

import numpy as np
import pytest

from dptopics.core.errors import InputError
from dptopics.evaluate import keyword_plot

WORDS = ["cast", "knee", "rash", "skin"]
BEFORE = np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1]])


def test_keywords_before_and_after(tmp_path):
    path = keyword_plot(BEFORE, {"noisy": BEFORE[:, ::-1]}, WORDS, tmp_path / "k.svg", topics=[0, 2], n=3)
    text = path.read_text()
    assert "<svg" in text
    assert keyword_plot(BEFORE, {}, WORDS, tmp_path / "all.png").stat().st_size > 1000


def test_matrices_that_do_not_fit(tmp_path):
    with pytest.raises(InputError, match="3 × 4 is needed"):
        keyword_plot(BEFORE, {"noisy": BEFORE[:2]}, WORDS, tmp_path / "k.png")


def test_the_missing_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(InputError, match=r"dptopics\[plots\]"):
        keyword_plot(BEFORE, {}, WORDS, tmp_path / "k.png")
