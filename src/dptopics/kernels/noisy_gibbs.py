"""Gibbs sweeps of published private LDAs: from counts perturbed at each draw, or at the start, or from a fixed table.

Randomness enters as arrays with one entry per token: ``bits`` are 64 uniform bits.
"""

import numpy as np

from dptopics.kernels.jit import F32, F64, I32, I64, U64, jit


@jit
def count_topics(topic: I32, nd: F64) -> None:
    """How many tokens of a document have each topic."""
    nd[:] = 0.0
    for i in range(topic.size):
        nd[topic[i]] += 1.0


@jit
def picked(p: F64, left: float) -> int:
    """The topic in which mass ``left`` of the weights ends."""
    new = 0
    while new < p.size - 1 and left >= p[new]:
        left -= p[new]
        new += 1
    return new


@jit
def sweep_perturbed(
    start: I64,
    word: I32,
    topic: I32,
    nw: F32,
    nk: I64,
    alpha: float,
    beta: float,
    n_topics: int,
    word_noise: F64,
    doc_noise: F64,
    bits: U64,
) -> None:
    """Draw each token's topic from p(k) ∝ a_k − min a, the token itself left out of its counts, where

    a_k = (n_wk + x + β)/(n_k − x + Vβ) · (n_dk + y + α)/(n_d − y + Kα)

    with the token's noise x, y, shared by all topics; n_d counts the token too (Zhu et al. 2016, in the evaluation of
    Manzonelli et al. 2024). The counts themselves stay exact.
    """
    total_alpha, total_beta = n_topics * alpha, nw.shape[0] * beta
    nd = np.zeros(n_topics)
    p = np.empty(n_topics)
    for d in range(start.size - 1):
        count_topics(topic[start[d] : start[d + 1]], nd)
        length = start[d + 1] - start[d]
        for i in range(start[d], start[d + 1]):
            row, old, x, y = nw[word[i]], topic[i], word_noise[i], doc_noise[i]
            nd[old] -= 1.0
            row[old] -= np.float32(1)
            nk[old] -= 1
            lowest = np.inf
            for k in range(n_topics):
                p[k] = (row[k] + x + beta) / (nk[k] - x + total_beta)
                p[k] *= (nd[k] + y + alpha) / (length - y + total_alpha)
                lowest = min(lowest, p[k])
            total = 0.0
            for k in range(n_topics):
                p[k] -= lowest
                total += p[k]
            uniform = np.float64(bits[i] >> np.uint64(11)) * 2.0**-53
            new = picked(p, uniform * total) if total > 0 else int(uniform * n_topics)  # then all topics are alike
            topic[i] = new
            nd[new] += 1.0
            row[new] += np.float32(1)
            nk[new] += 1


@jit
def sweep_fixed(start: I64, order: I64, word: I32, topic: I32, weight: F64, alpha: float, bits: U64) -> None:
    """Draw each token's topic from p(k) ∝ (n_dk + α) · weight[w, k], the token itself left out of n_dk.

    The tokens of document d are visited as order[start[d]:start[d+1]]. ``weight`` stays as it is during the sweep.
    """
    n_topics = weight.shape[1]
    nd = np.zeros(n_topics)
    p = np.empty(n_topics)
    for d in range(start.size - 1):
        count_topics(topic[start[d] : start[d + 1]], nd)
        for place in range(start[d], start[d + 1]):
            i = order[place]
            nd[topic[i]] -= 1.0
            total = 0.0
            for k in range(n_topics):
                p[k] = (nd[k] + alpha) * weight[word[i], k]
                total += p[k]
            new = picked(p, np.float64(bits[i] >> np.uint64(11)) * 2.0**-53 * total)
            topic[i] = new
            nd[new] += 1.0


@jit
def sweep_shifted(
    start: I64, word: I32, topic: I32, nw: F64, nk: F64, nd: F64, alpha: float, beta: float, bits: U64
) -> None:
    """Draw each token's topic from p(k) ∝ (n_dk + α)(n_wk + β)/(n_k + Vβ), counts that started off noisy.

    The noise stays in the counts while tokens move; a factor that it makes negative counts as zero.
    """
    n_topics = nw.shape[1]
    total_beta = nw.shape[0] * beta
    p = np.empty(n_topics)
    per_token = 1.0 / np.maximum(nk + total_beta, 1e-9)
    for d in range(start.size - 1):
        pull = nd[d]
        for i in range(start[d], start[d + 1]):
            row, old = nw[word[i]], topic[i]
            pull[old] -= 1.0
            row[old] -= 1.0
            nk[old] -= 1.0
            per_token[old] = 1.0 / max(nk[old] + total_beta, 1e-9)
            for k in range(n_topics):
                a, b = pull[k] + alpha, row[k] + beta
                p[k] = (a if a > 0 else 0.0) * (b if b > 0 else 0.0) * per_token[k]
            total = 0.0
            for k in range(n_topics):
                total += p[k]
            uniform = np.float64(bits[i] >> np.uint64(11)) * 2.0**-53
            new = int(uniform * n_topics)  # all topics alike, if none has weight
            if total > 0:
                new = picked(p, uniform * total)
            topic[i] = new
            pull[new] += 1.0
            row[new] += 1.0
            nk[new] += 1.0
            per_token[new] = 1.0 / max(nk[new] + total_beta, 1e-9)
