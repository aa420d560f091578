"""Topic shares of single documents against SciPy and a slow twin."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import psi

from dptopics.kernels.doc_topics import doc_shares, exp_digamma, expected_counts, infer

ALPHA = 0.1


def random_topics(rng, n_words, n_topics):
    topics = rng.gamma(0.3, 1.0, (n_words, n_topics)) + 1e-9
    return topics / topics.sum(axis=0)


def random_documents(seed, n_docs=12, n_words=30):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 9, n_docs)
    sizes[[2, -1]] = 0  # documents without words, one at the end
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    word = np.concatenate([np.sort(rng.choice(n_words, s, replace=False)) for s in sizes]).astype(np.int32)
    count = rng.integers(1, 6, word.size).astype(float)
    return start, word, count


def slow_infer(word, count, topics, alpha, steps, tolerance):
    n_topics = topics.shape[1]
    gamma = np.full(n_topics, alpha + count.sum() / n_topics)
    for _ in range(steps):
        phi = np.exp(psi(gamma)) * topics[word]
        phi /= phi.sum(axis=1, keepdims=True)
        fresh = alpha + count @ phi
        change = np.abs(fresh - gamma).sum()
        gamma = fresh
        if change < tolerance * (count.sum() + alpha * n_topics):
            break
    return gamma


def fast_infer(word, count, topics, alpha, steps, tolerance):
    gamma, pull = np.empty(topics.shape[1]), np.empty(topics.shape[1])
    infer(word, count, topics, alpha, steps, tolerance, gamma, pull)
    return gamma, pull


def test_exp_digamma_agrees_with_scipy():
    for x in np.concatenate([np.geomspace(0.01, 1e9, 500), np.linspace(0.05, 12, 500)]):
        assert exp_digamma(x) == pytest.approx(np.exp(psi(x)), rel=1e-10, abs=1e-300)


@pytest.mark.parametrize("x", [1e-300, 1e-5, 5e-324])
def test_exp_digamma_of_almost_nothing_is_nothing(x):
    assert exp_digamma(x) == 0.0


@pytest.mark.parametrize("steps", [1, 2, 20])
@pytest.mark.parametrize("tolerance", [0.0, 1e-3])
def test_infer_agrees_with_the_twin(steps, tolerance):
    topics = random_topics(np.random.default_rng(1), 30, 5)
    start, word, count = random_documents(2)
    for a, b in pairwise(start):
        gamma, pull = fast_infer(word[a:b], count[a:b], topics, ALPHA, steps, tolerance)
        np.testing.assert_allclose(gamma, slow_infer(word[a:b], count[a:b], topics, ALPHA, steps, tolerance), rtol=1e-8)
        np.testing.assert_allclose(pull, np.exp(psi(gamma)), rtol=1e-9)


@given(st.integers(0, 2**32 - 1), st.floats(0.02, 5.0))
def test_infer_ends_at_a_fixed_point_that_keeps_all_tokens(seed, alpha):
    rng = np.random.default_rng(seed)
    topics = random_topics(rng, 20, 3)
    word = np.sort(rng.choice(20, 6, replace=False)).astype(np.int32)
    count = rng.integers(1, 10, 6).astype(float)
    gamma, _ = fast_infer(word, count, topics, alpha, 5000, 1e-12)
    assert gamma.sum() == pytest.approx(3 * alpha + count.sum())
    phi = np.exp(psi(gamma)) * topics[word]
    again = alpha + count @ (phi / phi.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(again, gamma, atol=1e-6)


def test_expected_counts_share_out_every_token():
    topics = random_topics(np.random.default_rng(3), 30, 4)
    start, word, count = random_documents(4)
    unit_start = np.array([0, 3, 3, 7, 12])  # several documents, none, several, the rest
    first, rows, values = expected_counts(unit_start, start, word, count, topics, ALPHA, 20, 1e-3)
    assert first.tolist() == start[unit_start].tolist()
    assert rows.tolist() == word.tolist()
    np.testing.assert_allclose(values.sum(axis=1), count, rtol=1e-12)
    assert (values >= 0).all()
    for a, b in pairwise(start):
        phi = np.exp(psi(slow_infer(word[a:b], count[a:b], topics, ALPHA, 20, 1e-3))) * topics[word[a:b]]
        twin = count[a:b, None] * phi / phi.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(values[a:b], twin, rtol=1e-6, atol=1e-12)


def test_a_document_is_read_by_itself():
    topics = random_topics(np.random.default_rng(5), 30, 4)
    start, word, count = random_documents(6)
    units = np.arange(start.size)
    _, _, together = expected_counts(units, start, word, count, topics, ALPHA, 20, 1e-3)
    for a, b in pairwise(start):
        alone = np.array([0, b - a])
        _, _, values = expected_counts(np.array([0, 1]), alone, word[a:b], count[a:b], topics, ALPHA, 20, 1e-3)
        assert np.array_equal(values, together[a:b])  # to the last bit


def test_words_that_no_topic_knows_stay_finite():
    topics = random_topics(np.random.default_rng(7), 4, 3)
    topics[1] = 0.0
    args = (np.array([0, 2], np.int64), np.array([0, 1], np.int32), np.array([2.0, 3.0]))
    _, _, values = expected_counts(np.array([0, 1]), *args, topics, ALPHA, 20, 1e-3)
    np.testing.assert_allclose(values.sum(axis=1), [2.0, 0.0])
    assert doc_shares(*args, topics, ALPHA, 20, 1e-3).sum() == pytest.approx(1.0)


def test_doc_shares_sum_to_one_and_agree_with_the_twin():
    topics = random_topics(np.random.default_rng(8), 30, 4)
    start, word, count = random_documents(9)
    shares = doc_shares(start, word, count, topics, ALPHA, 50, 1e-4)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    for d, (a, b) in enumerate(pairwise(start)):
        gamma = slow_infer(word[a:b], count[a:b], topics, ALPHA, 50, 1e-4)
        np.testing.assert_allclose(shares[d], gamma / gamma.sum(), rtol=1e-7)
        if a == b:
            assert shares[d].tolist() == [0.25] * 4


def test_no_documents():
    topics = random_topics(np.random.default_rng(10), 5, 2)
    nothing = (np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0))
    assert doc_shares(*nothing, topics, ALPHA, 5, 1e-3).shape == (0, 2)
    _, rows, values = expected_counts(np.zeros(1, np.int64), *nothing, topics, ALPHA, 5, 1e-3)
    assert rows.size == 0
    assert values.shape == (0, 2)
