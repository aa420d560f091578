"""Variational Bayes for LDA: the E-step over many documents, adding up expected counts."""

import numpy as np
from numpy.typing import NDArray

from dptopics.kernels.digamma import exp_digamma
from dptopics.kernels.jit import jit

LANES = 8  # topics are padded to a multiple of this, so that inner loops fill vector registers


@jit
def word_pull(weights: NDArray[np.float64], rows: NDArray[np.int64], n_topics: int, out: NDArray[np.float32]) -> None:
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
    docs: NDArray[np.int64],
    doc_start: NDArray[np.int64],
    word: NDArray[np.int32],
    count: NDArray[np.float32],
    topics: NDArray[np.float32],
    alpha: float,
    n_topics: int,
    steps: int,
    tolerance: float,
    total: NDArray[np.float32],
) -> None:
    """A few steps towards each document's γ, from equal shares, and total[w, k] += n_w φ_wk.

    φ_wk ∝ exp(ψ(γ_k)) · topics[w, k] (Blei et al. 2003, equations 6 and 7). The factor topics[w, k] is left out of
    ``total``: multiply once at the end. Eight running sums instead of one keep the processor busy.
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
                s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = np.float32(0)
                for k in range(0, padded, 8):
                    s0 += pull[k] * row[k]
                    s1 += pull[k + 1] * row[k + 1]
                    s2 += pull[k + 2] * row[k + 2]
                    s3 += pull[k + 3] * row[k + 3]
                    s4 += pull[k + 4] * row[k + 4]
                    s5 += pull[k + 5] * row[k + 5]
                    s6 += pull[k + 6] * row[k + 6]
                    s7 += pull[k + 7] * row[k + 7]
                norm = ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7)) + np.float32(1e-30)
                share = count[e] / norm
                for k in range(padded):
                    fresh[k] += share * row[k]
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
            s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = np.float32(0)
            for k in range(0, padded, 8):
                s0 += pull[k] * row[k]
                s1 += pull[k + 1] * row[k + 1]
                s2 += pull[k + 2] * row[k + 2]
                s3 += pull[k + 3] * row[k + 3]
                s4 += pull[k + 4] * row[k + 4]
                s5 += pull[k + 5] * row[k + 5]
                s6 += pull[k + 6] * row[k + 6]
                s7 += pull[k + 7] * row[k + 7]
            norm = ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7)) + np.float32(1e-30)
            share = count[e] / norm
            target = total[word[e]]
            for k in range(padded):
                target[k] += share * pull[k]
