"""LDA by moments: exact on exact moments, 1/√N on samples, and refusals that say what is wrong."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from dptopics.core.counts import Counts
from dptopics.core.errors import InputError
from dptopics.kernels.moments import document_norms
from dptopics.learners import learn, spectral
from dptopics.learners.adapters import named_learner
from dptopics.learners.spectral import (
    CountMoments,
    SpectralLda,
    on_simplex,
    orthogonal_components,
    parameters,
    top_eigenpairs,
)


def counts_of(matrix):
    matrix = sparse.csr_array(matrix)
    start, word = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    return Counts(
        start, word, matrix.data.astype(np.int32), matrix.shape[1], np.arange(len(start) - 1, dtype=np.uint64)
    )


def planted(n, d, k, length, alpha0, seed=0):
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(d, 0.1), k)
    shares = rng.dirichlet(np.full(k, alpha0 / k), n)
    return counts_of(rng.multinomial(length, shares @ topics)), topics


def matched(truth, found):
    """For each true topic the found one, and the mean L1 distance."""
    distance = np.abs(truth[:, None] - found[None]).sum(axis=2)
    rows, columns = linear_sum_assignment(distance)
    return columns, distance[rows, columns].mean()


class Population:
    """The exact moments of LDA."""

    mean_variance = 0.0
    noise_norm = 0.0

    def __init__(self, topics, alpha):
        total = alpha.sum()
        self.topics, self.alpha, self.total = topics, alpha, total
        self.mean = alpha @ topics / total
        self.second = (np.outer(alpha, alpha) + np.diag(alpha)) / (total * (total + 1))  # E[θ⊗θ]

    def pairs(self, block):
        return self.topics.T @ (self.second @ (self.topics @ block))

    def triples(self, whitening):
        a, total = self.alpha, self.total
        third = np.einsum("i,j,l->ijl", a, a, a)
        diagonal = np.einsum("ij,l->ijl", np.diag(a), a)
        third += diagonal + diagonal.transpose(0, 2, 1) + diagonal.transpose(2, 0, 1)
        i = np.arange(len(a))
        third[i, i, i] += 2 * a
        third /= total * (total + 1) * (total + 2)  # E[θ⊗θ⊗θ], from rising factorials
        seen = self.topics @ whitening
        return np.einsum("abc,ai,bj,cl->ijl", third, seen, seen, seen, optimize=True)


@pytest.mark.parametrize("d", [40, 900])  # all eigenvalues at once; subspace iteration
@pytest.mark.parametrize(
    "alpha",
    [[0.5, 0.3, 0.9, 0.2], [0.25] * 4, [2.0, 2.0, 1.0, 0.05, 0.4, 0.4]],
    ids=["different", "all equal", "two pairs equal"],  # equal α: equal eigenvalues of the tensor, still unique
)
def test_exact_moments_give_exact_parameters(alpha, d):
    alpha = np.array(alpha)
    topics = np.random.default_rng(1).dirichlet(np.full(d, 0.3), alpha.size)
    found = parameters(Population(topics, alpha), alpha.size, float(alpha.sum()))
    order, _ = matched(topics, found.topic_word)
    np.testing.assert_allclose(found.topic_word[order], topics, atol=1e-8)
    np.testing.assert_allclose(found.alpha[order], alpha, atol=1e-8)


def test_orthogonal_topics_of_equal_size_are_no_trouble():
    # M₂ itself has one eigenvalue many times: any basis of it will do.
    topics = np.kron(np.eye(3), np.full((1, 4), 0.25))
    found = parameters(Population(topics, np.full(3, 0.2)), 3, 0.6)
    distance = matched(topics, found.topic_word)[1]
    assert distance < 1e-8


def test_error_falls_with_the_root_of_the_documents():
    errors = []
    for n in (1000, 4000, 16000):
        runs = []
        for seed in range(3):
            counts, topics = planted(n, 30, 3, 40, 1.0, seed)
            runs.append(matched(topics, SpectralLda(n_topics=3, alpha0=1.0)(counts))[1])
        errors.append(np.mean(runs))
    slope = np.polyfit(np.log([1000, 4000, 16000]), np.log(errors), 1)[0]
    assert -0.65 < slope < -0.35
    assert errors[-1] < 0.02


def dense_moments(count):
    """M̃₂ and M̃₃ of one document, token by token: the slow twin."""
    tokens = np.repeat(np.arange(len(count)), count)
    length, d = tokens.size, len(count)
    second, third = np.zeros((d, d)), np.zeros((d, d, d))
    for x in range(length):
        for y in range(length):
            for z in range(length):
                if len({x, y, z}) == 3:
                    third[tokens[x], tokens[y], tokens[z]] += 1
            if x != y:
                second[tokens[x], tokens[y]] += 1
    return second / (length * (length - 1)), third / (length * (length - 1) * (length - 2))


DOCUMENTS = [[3, 0, 0], [1, 1, 1], [4, 2, 1], [0, 5, 3], [2, 2, 2], [1, 0, 2]]


def test_moments_are_means_over_triples_of_tokens():
    moments = CountMoments(counts_of(np.array([*DOCUMENTS, [1, 1, 0], [0, 0, 0]])))  # the last two are too short
    dense = [dense_moments(c) for c in DOCUMENTS]
    np.testing.assert_allclose(moments.mean, np.mean([np.array(c) / sum(c) for c in DOCUMENTS], axis=0))
    np.testing.assert_allclose(moments.pairs(np.eye(3)), np.mean([m for m, _ in dense], axis=0), atol=1e-14)
    view = np.random.default_rng(0).normal(size=(3, 2))
    third = np.mean([t for _, t in dense], axis=0)
    np.testing.assert_allclose(
        moments.triples(view), np.einsum("abc,ai,bj,cl->ijl", third, view, view, view), atol=1e-12
    )


def test_norms_without_tensors():
    counts = counts_of(np.array(DOCUMENTS))
    norms = document_norms(counts.doc_start, counts.count)
    for row, count in enumerate(DOCUMENTS):
        second, third = dense_moments(count)
        exact = [np.linalg.norm(np.array(count) / sum(count)), np.linalg.norm(second), np.linalg.norm(third)]
        np.testing.assert_allclose(norms[row], exact, rtol=1e-12)


def test_short_documents_have_no_norms():
    counts = counts_of(np.array([[1, 1, 0], [2, 1, 0]]))
    norms = document_norms(counts.doc_start, counts.count)
    assert (norms[0] == 0).all()
    assert (norms[1] > 0).all()


def test_subspace_iteration_finds_the_largest():
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(700, 700)))[0]
    spectrum = np.concatenate([[9.0, 7, 5, 5, 3], rng.uniform(-1, 1, 695)])
    matrix = basis * spectrum @ basis.T
    values, vectors = top_eigenpairs(lambda x: matrix @ x, 700, 5, 0)
    np.testing.assert_allclose(values, [9, 7, 5, 5, 3], rtol=1e-4)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=0.1)


def test_orthogonal_components_in_noise():
    rng = np.random.default_rng(2)
    axes = np.linalg.qr(rng.normal(size=(8, 8)))[0]
    weights = np.linspace(3, 1, 8)
    exact = np.einsum("c,ic,jc,lc->ijl", weights, axes, axes, axes)
    noise = rng.normal(0, 0.01, exact.shape)
    noise = sum(noise.transpose(p) for p in [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]) / 6
    found, vectors = orthogonal_components(exact + noise)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(8), atol=1e-12)
    np.testing.assert_allclose(found, weights, atol=0.05)
    assert np.abs(np.einsum("ic,ic->c", axes, vectors)).min() > 0.99


def test_nearest_distribution():
    rows = np.array([[0.2, 0.8, 0.0], [0.9, 0.4, -0.2], [-1.0, -1.0, -1.0]])
    np.testing.assert_allclose(on_simplex(rows), [[0.2, 0.8, 0], [0.75, 0.25, 0], [1 / 3] * 3], atol=1e-12)


def test_learner_is_a_learner_and_depends_on_the_counts_alone():
    counts, _ = planted(1500, 40, 4, 30, 0.5)
    first = learn(named_learner("spectral", 4), counts)
    assert first.shape == (4, 40)
    np.testing.assert_array_equal(first, learn(named_learner("spectral", 4), counts))


# --- bad input ---


def test_only_short_documents():
    with pytest.raises(InputError, match="documents of at least 3 words"):
        SpectralLda(n_topics=2)(counts_of(np.array([[1, 1, 0], [0, 2, 0]])))


def test_rank_below_the_number_of_topics():
    topics = np.random.default_rng(0).dirichlet(np.ones(20), 2)
    with pytest.raises(InputError, match="only 2 topics apart, 3 were asked for"):
        parameters(Population(topics, np.array([0.4, 0.6])), 3, 1.0)


@pytest.mark.parametrize("document", [[1, 1, 1, 0], [40, 30, 20, 10], [5, 0, 0, 0]])
def test_all_documents_equal(document):
    with pytest.raises(InputError, match=r"only [01] topics apart"):
        SpectralLda(n_topics=2)(counts_of(np.array([document] * 50)))


def test_fewer_words_than_topics():
    counts, _ = planted(100, 3, 2, 20, 1.0)
    with pytest.raises(InputError, match="4 topics need at least as many words, but there are 3"):
        SpectralLda(n_topics=4)(counts)


@pytest.mark.parametrize("alpha0", [0.0, -1.0, -2.0, float("nan"), float("inf")])
def test_alpha0_must_be_positive(alpha0):
    with pytest.raises(InputError, match="alpha0 must be a positive number"):
        SpectralLda(n_topics=2, alpha0=alpha0)
    with pytest.raises(InputError, match="alpha0 must be a positive number"):
        spectral.parameters(Population(np.eye(2), np.ones(2)), 2, alpha0)


def test_one_topic_is_refused():
    with pytest.raises(InputError, match="n_topics must be at least 2"):
        SpectralLda(n_topics=1)
