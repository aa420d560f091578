"""What canaries are made of: their words, their place in the corpus, and the scores that look for them."""

from dataclasses import replace

import numpy as np
import pytest

from dptopics.audit.claim.distinguishing import SCORES
from dptopics.core.vocabulary import Vocabulary
from dptopics.release.topic_model import TopicModel


def test_scores():
    vocabulary = Vocabulary(("knee", "pain", "skin"), (3.0, -1.0, 5.0))
    assert SCORES["weight"](vocabulary, ["knee", "skin", "none"]) == 8.0
    assert SCORES["weight"](Vocabulary.of(["knee"]), ["knee", "skin"]) == 1.0
    model = TopicModel(
        topic_word=np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]), vocabulary=vocabulary,
        topic_share=np.array([0.25, 0.75]), alpha=0.1,
    )  # fmt: skip
    assert SCORES["weight"](model, ["skin"]) == 5.0
    assert SCORES["all topics"](model, ["skin"]) == pytest.approx(0.25 * 0.2 + 0.75 * 0.8)
    assert SCORES["heaviest topic"](model, ["skin"]) == pytest.approx(0.6)
    assert SCORES["likelihood"](model, ["knee", "skin"]) == pytest.approx(np.sqrt(0.1))
    assert SCORES["likelihood"](model, ["knee", "none"]) == 0
    noisy = replace(model, noise_std=np.array([0.1, 0.2]))
    assert SCORES["heaviest topic"](noisy, ["skin"]) == pytest.approx(4.0)
    assert SCORES["all topics"](noisy, ["skin"]) == pytest.approx(6.0)
    assert {score(None, ["skin"]) for score in SCORES.values()} == {-1.0}
    for name in ("heaviest topic", "all topics", "likelihood"):
        assert SCORES[name](vocabulary, ["skin"]) == 0
