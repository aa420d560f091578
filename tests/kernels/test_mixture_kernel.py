"""Documents in the columns of their topics, against a slow twin."""

from itertools import pairwise

import numpy as np
import pytest

from dptopics.kernels.embedded import assigned_words


@pytest.fixture
def documents():
    rng = np.random.default_rng(0)
    sizes = np.array([3, 0, 5, 1])
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    word = np.concatenate([np.sort(rng.choice(9, n, replace=False)) for n in sizes]).astype(np.int32)
    return start, word, rng.integers(1, 20, word.size).astype(np.int32)


def slow(start, word, count, weight, log_topics, sharpness):
    rows = []
    for first, last in pairwise(start):
        x = count[first:last] * weight[word[first:last]]
        x = x / np.linalg.norm(x) if x.any() else x
        score = sharpness * x @ log_topics[word[first:last]]
        share = np.exp(score - score.max())
        rows.append(np.outer(x, share / np.linalg.norm(share)))
    return np.concatenate(rows)


@pytest.mark.parametrize("sharpness", [0.5, 5.0, 500.0])
def test_equals_the_slow_twin(documents, sharpness):
    rng = np.random.default_rng(1)
    weight, log_topics = rng.gamma(1, 1, 9), np.log(rng.dirichlet(np.ones(9), 4).T)
    values = assigned_words(*documents, weight, log_topics, sharpness)
    np.testing.assert_allclose(values, slow(*documents, weight, log_topics, sharpness), atol=1e-14)
    for first, last in pairwise(documents[0]):
        assert np.linalg.norm(values[first:last]) == pytest.approx(1.0 if last > first else 0.0)


def test_words_of_weight_zero_are_nothing(documents):
    values = assigned_words(*documents, np.zeros(9), np.zeros((9, 2)), 1.0)
    assert not values.any()


def test_a_document_is_the_same_in_any_block(documents):
    start, word, count = documents
    rng = np.random.default_rng(2)
    weight, log_topics = rng.gamma(1, 1, 9), np.log(rng.dirichlet(np.ones(9), 4).T)
    together = assigned_words(start, word, count, weight, log_topics, 5.0)
    alone = assigned_words(start[2:4] - start[2], word[start[2] :], count[start[2] :], weight, log_topics, 5.0)
    np.testing.assert_array_equal(together[start[2] : start[3]], alone[: start[3] - start[2]])
