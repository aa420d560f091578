"""Variational Bayes for LDA: the E-step over many documents, adding up expected counts."""

import numpy as np

from dptopics.kernels.arrays import F32, F64, I32, I64
from dptopics.kernels.digamma import exp_digamma
from dptopics.kernels.jit import jit
from dptopics.kernels.simd import absorb


@jit
def word_pull(weights: F64, rows: I64, n_topics: int, out: F32) -> None:
    """out[w, k] = exp(E[log φ_kw]) for the given words, from Dirichlet parameters ``weights`` (words × topics)."""
    total = np.zeros(n_topics)
    for w in range(weights.shape[0]):
        for k in range(n_topics):
            total[k] += weights[w, k]
    for k in range(n_topics):
        total[k] = 1.0 / exp_digamma(total[k])
    for i in range(rows.size):
        w = rows[i]
        for k in range(n_topics):
            out[w, k] = np.float32(exp_digamma(weights[w, k]) * total[k])


@jit
def expect(
    docs: I64,
    doc_start: I64,
    word: I32,
    count: F32,
    topics: F32,
    alpha: float,
    n_topics: int,
    steps: int,
    tolerance: float,
    total: F32,
) -> None:
    """A few steps towards each document's γ, from equal shares, and total[w, k] += n_w φ_wk.

    φ_wk ∝ exp(ψ(γ_k)) · topics[w, k] (Blei et al. 2003, equations 6 and 7). The factor topics[w, k] is left out of
    ``total``: multiply once at the end. Topics are padded with zeros to whole vectors.
    """
    gamma = np.empty(n_topics, np.float32)
    padded = topics.shape[1]
    pull = np.zeros(padded, np.float32)
    fresh = np.zeros(padded, np.float32)
    for i in range(docs.size):
        d = docs[i]
        first, last = doc_start[d], doc_start[d + 1]
        words = np.float32(0)
        for e in range(first, last):
            words += count[e]
        gamma[:] = np.float32(alpha + words / n_topics)
        for _ in range(steps):
            for k in range(n_topics):
                pull[k] = np.float32(exp_digamma(gamma[k]))
            fresh[:] = np.float32(0)
            for e in range(first, last):
                row = topics[word[e]]
                absorb(fresh, pull, row, row, count[e])
            change = 0.0
            for k in range(n_topics):
                value = np.float32(alpha + pull[k] * fresh[k])
                change += abs(value - gamma[k])
                gamma[k] = value
            if change < tolerance * (words + alpha * n_topics):
                break
        for k in range(n_topics):
            pull[k] = np.float32(exp_digamma(gamma[k]))
        for e in range(first, last):
            row = topics[word[e]]
            absorb(total[word[e]], pull, row, pull, count[e])
