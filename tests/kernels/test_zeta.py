"""ζ against SciPy's optimum, and its corner cases."""

import numpy as np
import pytest
from scipy.optimize import minimize

from dptopics.audit.membership.rates import STATISTICS, document_statistics
from dptopics.core.counts import Counts
from dptopics.core.errors import InputError
from dptopics.kernels.zeta import zeta


def random_case(seed, n_documents=12, length=30, n_topics=5, n_words=200, concentration=0.05):
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(n_words, concentration), n_topics) + 1e-7
    topics /= topics.sum(axis=1, keepdims=True)
    rows = [rng.multinomial(length, rng.dirichlet(np.full(n_topics, 0.2)) @ topics) for _ in range(n_documents)]
    return counts_of(np.array(rows)), topics


def counts_of(matrix):
    document, word = np.nonzero(matrix)
    start = np.searchsorted(document, np.arange(matrix.shape[0] + 1)).astype(np.int64)
    count = matrix[document, word].astype(np.int32)
    return Counts(start, word.astype(np.int32), count, matrix.shape[1], np.arange(matrix.shape[0], dtype=np.uint64))


def scipy_optimum(words, numbers, topics):
    """SLSQP over the simplex, with the exact gradient."""
    p = topics[:, words]
    k = topics.shape[0]
    best = minimize(
        lambda theta: -numbers @ np.log(np.maximum(theta @ p, 1e-300)),
        np.full(k, 1 / k),
        jac=lambda theta: -p @ (numbers / np.maximum(theta @ p, 1e-300)),
        method="SLSQP",
        bounds=[(0, 1)] * k,
        constraints={"type": "eq", "fun": lambda theta: theta.sum() - 1, "jac": lambda theta: np.ones(k)},
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    # It may leave the simplex a little, which pays: put it back before its value is read.
    theta = np.maximum(best.x, 0.0)
    return numbers @ np.log(np.maximum(theta / theta.sum() @ p, 1e-300))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("length, n_topics", [(6, 2), (30, 5), (300, 20)])
def test_zeta_is_the_optimum(seed, length, n_topics):
    counts, topics = random_case(seed, length=length, n_topics=n_topics)
    value = document_statistics(counts, topics)[:, 0]
    for d in range(counts.n_documents):
        own = slice(counts.doc_start[d], counts.doc_start[d + 1])
        best = scipy_optimum(counts.word[own], counts.count[own].astype(float), topics)
        assert value[d] == pytest.approx(best, rel=1e-6)


def test_shares_are_where_the_maximum_is():
    counts, topics = random_case(1)
    value, shares = np.empty(12), np.empty((12, 5))
    zeta(
        counts.doc_start,
        counts.word,
        counts.count.astype(float),
        np.ascontiguousarray(topics.T),
        1e-9,
        5000,
        value,
        shares,
    )
    assert shares.sum(axis=1) == pytest.approx(np.ones(12))
    assert shares.min() >= 0
    for d in range(12):
        own = slice(counts.doc_start[d], counts.doc_start[d + 1])
        assert counts.count[own] @ np.log(shares[d] @ topics[:, counts.word[own]]) == pytest.approx(value[d])


def test_words_unknown_to_the_model_and_empty_documents_are_defined():
    topics = np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])
    found = document_statistics(counts_of(np.array([[0, 0, 4], [0, 0, 0], [2, 0, 1]])), topics)
    assert np.all(np.isfinite(found))
    assert found[:2, 0] == pytest.approx([0, 0])
    assert found[2, 0] == pytest.approx(0)  # the best topic gives the known word for certain
    assert found.shape[1] == len(STATISTICS)


@pytest.mark.parametrize("scale", [1e-6, 0.5, 3.0])
def test_rows_that_do_not_sum_to_one_only_shift_zeta(scale):
    counts, topics = random_case(2)
    length = np.add.reduceat(counts.count, counts.doc_start[:-1])
    whole, scaled = document_statistics(counts, topics), document_statistics(counts, scale * topics)
    assert scaled[:, 0] == pytest.approx(whole[:, 0] + length * np.log(scale), rel=1e-6)
    assert scaled[:, 3] == pytest.approx(whole[:, 3], abs=1e-2)


def test_matrices_with_zeros_are_defined():
    counts, topics = random_case(3)
    rng = np.random.default_rng(0)
    for hole in (rng.random(topics.shape) < 0.7, np.arange(5)[:, None] == 2, np.ones_like(topics, bool)):
        found = document_statistics(counts, np.where(hole, 0.0, topics))
        assert np.all(np.isfinite(found))


@pytest.mark.parametrize(
    "topics, message",
    [
        (np.ones((2, 5)) / 5, "topics × 3 words"),
        (np.empty((0, 3)), "topics × 3 words"),
        (np.ones(3) / 3, "topics × 3 words"),
        (np.full((2, 3), np.nan), "finite"),
        (np.array([[1.5, -0.5, 0.0], [0.3, 0.3, 0.4]]), "not negative"),
    ],
)
def test_matrices_that_are_no_topics(topics, message):
    with pytest.raises(InputError, match=message):
        document_statistics(counts_of(np.ones((4, 3), int)), topics)
