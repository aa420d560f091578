"""Variational inference of topic shares, one document at a time, for fixed topics."""

import numpy as np
from numpy.typing import NDArray

from dptopics.kernels.digamma import exp_digamma
from dptopics.kernels.jit import jit


@jit
def infer(
    word: NDArray[np.int32],
    count: NDArray[np.float64],
    topics: NDArray[np.float64],
    alpha: float,
    steps: int,
    tolerance: float,
    gamma: NDArray[np.float64],
    pull: NDArray[np.float64],
) -> None:
    """Fixed point of γ_k = α + Σ_w n_w φ_wk, φ_wk ∝ exp(ψ(γ_k)) · topics[w, k] (Blei et al. 2003, equations 6 and 7).

    ``topics`` is words × topics. Leaves the Dirichlet parameters in ``gamma`` and exp(ψ(γ)) in ``pull``.
    """
    n_topics = topics.shape[1]
    total = 0.0
    for e in range(word.size):
        total += count[e]
    for k in range(n_topics):
        gamma[k] = alpha + total / n_topics
    fresh = np.empty(n_topics)
    for _ in range(steps):
        for k in range(n_topics):
            pull[k] = exp_digamma(gamma[k])
            fresh[k] = 0.0
        for e in range(word.size):
            row = topics[word[e]]
            norm = 1e-300
            for k in range(n_topics):
                norm += pull[k] * row[k]
            share = count[e] / norm
            for k in range(n_topics):
                fresh[k] += share * row[k]
        change = 0.0
        for k in range(n_topics):
            value = alpha + pull[k] * fresh[k]
            change += abs(value - gamma[k])
            gamma[k] = value
        if change < tolerance * (total + alpha * n_topics):
            break
    for k in range(n_topics):
        pull[k] = exp_digamma(gamma[k])


@jit
def expected_counts(
    unit_start: NDArray[np.int64],
    doc_start: NDArray[np.int64],
    word: NDArray[np.int32],
    count: NDArray[np.float64],
    topics: NDArray[np.float64],
    alpha: float,
    steps: int,
    tolerance: float,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """E[n_wk] = n_w φ_wk of every document, listed unit by unit."""
    n_topics = topics.shape[1]
    gamma, pull = np.empty(n_topics), np.empty(n_topics)
    values = np.empty((word.size, n_topics))
    for d in range(doc_start.size - 1):
        first, last = doc_start[d], doc_start[d + 1]
        infer(word[first:last], count[first:last], topics, alpha, steps, tolerance, gamma, pull)
        for e in range(first, last):
            row = topics[word[e]]
            norm = 1e-300
            for k in range(n_topics):
                norm += pull[k] * row[k]
            share = count[e] / norm
            for k in range(n_topics):
                values[e, k] = share * pull[k] * row[k]
    return doc_start[unit_start], word, values


@jit
def doc_shares(
    doc_start: NDArray[np.int64],
    word: NDArray[np.int32],
    count: NDArray[np.float64],
    topics: NDArray[np.float64],
    alpha: float,
    steps: int,
    tolerance: float,
) -> NDArray[np.float64]:
    """Mean topic shares γ/Σγ of each document; a document without known words gets equal shares."""
    n_topics = topics.shape[1]
    shares = np.empty((doc_start.size - 1, n_topics))
    pull = np.empty(n_topics)
    for d in range(doc_start.size - 1):
        first, last = doc_start[d], doc_start[d + 1]
        gamma = shares[d]
        infer(word[first:last], count[first:last], topics, alpha, steps, tolerance, gamma, pull)
        gamma /= gamma.sum()
    return shares
