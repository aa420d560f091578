"""What canaries leave in a release: the scores that look for them."""

from dataclasses import replace

import numpy as np
import pytest

from dptopics.audit.claim.distinguishing import canary_scores
from dptopics.core.vocabulary import Vocabulary
from dptopics.release.ngrams import NgramTable
from dptopics.release.topic_model import TopicModel


def test_scores():
    vocabulary = Vocabulary(("knee", "pain", "skin"), (3.0, -1.0, 5.0))
    assert canary_scores(vocabulary, ["knee", "skin", "none"]).tolist() == [8.0, 0.0, 0.0, 0.0]
    assert canary_scores(vocabulary, ["pain"])[0] > 0
    assert canary_scores(Vocabulary.of(["knee"]), ["knee", "skin"])[0] == 1.0
    model = TopicModel(
        topic_word=np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]), vocabulary=vocabulary,
        topic_share=np.array([0.25, 0.75]), alpha=0.1,
    )  # fmt: skip
    assert canary_scores(model, ["skin"]).tolist() == pytest.approx([5.0, 0.25 * 0.2 + 0.75 * 0.8, 0.6, 0.0])
    noisy = replace(model, noise_std=np.array([0.1, 0.2]))
    assert canary_scores(noisy, ["skin"]).tolist() == pytest.approx([5.0, 6.0, 4.0, 0.0])
    table = NgramTable(vocabulary=Vocabulary.of(["a b", "b c"]), probability=np.array([0.25, 0.75]))
    assert canary_scores(table, ["b c"])[3] == 0.75
    assert set(canary_scores(None, ["skin"])) == {-1.0}
