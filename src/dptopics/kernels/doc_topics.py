"""Variational inference of topic shares, one document at a time, for fixed topics."""

import math

import numpy as np

from dptopics.kernels.jit import F32, F64, I32, I64, jit
from dptopics.kernels.simd import absorb


@jit
def exp_digamma(x: float) -> float:
    """exp(ψ(x)) for x > 0: recurrence up to 6, then the asymptotic series (absolute error of ψ below 1e-10)."""
    shift = 0.0
    while x < 6.0:
        shift += 1.0 / x
        x += 1.0
    inverse = 1.0 / (x * x)
    series = inverse * (1 / 12 - inverse * (1 / 120 - inverse * (1 / 252 - inverse * (1 / 240 - inverse / 132))))
    return x * math.exp(-0.5 / x - series - shift)


@jit
def infer(
    word: I32, count: F64, topics: F64, alpha: float, steps: int, tolerance: float, gamma: F64, pull: F64
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
    unit_start: I64, doc_start: I64, word: I32, count: F64, topics: F64, alpha: float, steps: int, tolerance: float
) -> tuple[I64, I32, F64]:
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
def doc_shares(doc_start: I64, word: I32, count: F64, topics: F64, alpha: float, steps: int, tolerance: float) -> F64:
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


@jit
def log_likelihoods(
    unit_start: I64, doc_start: I64, word: I32, count: F64, topics: F64, alpha: float, steps: int, tolerance: float
) -> F64:
    """Mean over a unit's documents of (1/n) Σ_w n_w ln Σ_k θ_k topics[w, k], θ = γ/Σγ; zero for units without words."""
    n_topics = topics.shape[1]
    gamma, pull = np.empty(n_topics), np.empty(n_topics)
    out = np.zeros(unit_start.size - 1)
    for u in range(unit_start.size - 1):
        n_docs = 0
        for d in range(unit_start[u], unit_start[u + 1]):
            first, last = doc_start[d], doc_start[d + 1]
            if first == last:
                continue
            infer(word[first:last], count[first:last], topics, alpha, steps, tolerance, gamma, pull)
            whole = 0.0
            for k in range(n_topics):
                whole += gamma[k]
            total, score = 0.0, 0.0
            for e in range(first, last):
                chance = 1e-300
                for k in range(n_topics):
                    chance += gamma[k] / whole * topics[word[e], k]
                total += count[e]
                score += count[e] * np.log(chance)
            n_docs += 1
            out[u] += score / total
        if n_docs > 0:
            out[u] /= n_docs
    return out


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
