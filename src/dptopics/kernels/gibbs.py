"""Collapsed Gibbs sampling for LDA: one sweep over all tokens.

Every draw is a hash of (key, document, position, sweep), so the result is a function of the counts and the key alone,
and taking a document away shifts nobody else's draws.
"""

from typing import Any

import numpy as np

from dptopics.kernels.hashing import draw
from dptopics.kernels.jit import F32, F64, I32, I64, U8, U64, Flags, Real, jit
from dptopics.kernels.simd import LANES, LINE, STEP, fall, fall_in_lanes, prefetch, weigh

AHEAD = 3  # tokens between asking for a word's counts and using them


@jit
def start_topics(start: I64, word: I32, doc_seed: U64, nw: F32, n_topics: int) -> I32:
    """A uniform topic for each token, and the words × topics counts that follow."""
    topic = np.empty(word.size, np.int32)
    for d in range(start.size - 1):
        for i in range(start[d], start[d + 1]):
            topic[i] = draw(doc_seed[d], i - start[d]) % np.uint64(n_topics)
            nw[word[i], topic[i]] += np.float32(1)
    return topic


@jit
def ask(cells: F32, word: I32, i: int, padded: int) -> None:
    """Ask for the counts of token i's word ahead of their use, if it is another than the last one's."""
    if i < word.size and word[i] != word[i - 1]:
        for k in range(0, padded, LINE):
            prefetch(cells, word[i] * padded + k)


@jit
def enter(topic: Any, nk: Any, alpha: float, total_beta: float, nd: Real, pull: F32) -> None:
    """Count the topics of a document's tokens, and set (n_dk + α)/(n_k + Vβ)."""
    nd[:] = 0
    for i in range(topic.size):
        nd[topic[i]] += 1
    for k in range(nd.size):
        pull[k] = np.float32((nd[k] + alpha) / (nk[k] + total_beta))


@jit
def move(k: Any, by: int, nd: Real, nk: Any, row: F32, pull: F32, alpha: float, total_beta: float) -> None:
    """Count a token more or less of topic k in its document, in all, and of its word."""
    own, whole = nd[k] + by, nk[k] + by
    nd[k], nk[k] = own, whole
    pull[k] = np.float32((own + alpha) / (whole + total_beta))
    row[k] += np.float32(by)


@jit
def uniform(seed: np.uint64, i: int) -> np.float32:
    """The i-th number of the stream ``seed``, in [0, 1)."""
    return np.float32(np.float64(draw(seed, i) >> np.uint64(40)) * 2.0**-24)


@jit
def chosen(p: F32, sums: F32, u: np.float32, rest: F32, n_topics: int) -> int:
    """The topic that a uniform draw u falls on, by the weights p and their ``sums``; ``rest`` as in `fall`."""
    new = fall(sums, u, rest)
    left = rest[0]
    while new + STEP < p.size and left >= p[new]:
        left -= p[new]
        new += STEP
    return min(new, n_topics - 1)  # rounding can push the draw into the padding, which has no mass


@jit
def gibbs_sweep(
    start: I64,
    word: I32,
    topic: I32,
    nw: F32,
    nk: I64,
    alpha: float,
    beta: float,
    n_topics: int,
    seeds: U64,
    sweep: int,
) -> None:
    """Draw each token's topic from p(k) ∝ (n_dk + α)(n_wk + β)/(n_k + Vβ), the token itself left out.

    Griffiths & Steyvers 2004, equation 5. Topics are padded with zeros to a multiple of STEP. The total is kept in STEP
    sums (sum j holds topics j, j + STEP, …), so a draw finds its sum and then its topic in few steps.
    """
    padded = nw.shape[1]
    cells = nw.reshape(-1)
    total_beta = nw.shape[0] * beta
    nd, held = np.zeros(n_topics), nk.astype(np.float64)
    p = np.zeros(padded, np.float32)
    pull = np.zeros(padded, np.float32)  # (n_dk + α)/(n_k + Vβ): a token changes it in two places only
    sums, rest = np.zeros(STEP, np.float32), np.zeros(2, np.float32)
    for d in range(start.size - 1):
        seed = draw(seeds[d], -1 - sweep)
        enter(topic[start[d] : start[d + 1]], held, alpha, total_beta, nd, pull)
        for i in range(start[d], start[d + 1]):
            ask(cells, word, i + AHEAD, padded)
            row = nw[word[i]]
            move(topic[i], -1, nd, held, row, pull, alpha, total_beta)
            weigh(p, pull, row, np.float32(beta), sums)
            topic[i] = new = chosen(p, sums, uniform(seed, i - start[d]), rest, n_topics)
            move(new, 1, nd, held, row, pull, alpha, total_beta)
    nk[:] = held.astype(np.int64)


@jit
def sweep_together(
    start: I64, word: I32, count: I32, member: Flags, topic: U8, nw: F32, nk: F64, alpha: float, beta: float, seeds: U64
) -> None:
    """`gibbs_sweep`, draw for draw, in up to LANES models of up to STEP topics, each with its own of the documents.

    A token costs all models the same few steps: no branch to guess, and no draw that waits for the one before it.
    ``member`` and ``seeds`` (of this sweep) are documents × models, ``topic`` is tokens × models, ``nw`` words × topics
    × LANES, and ``nk`` topics × LANES.
    """
    total_beta, size = nw.shape[0] * beta, nk.size
    nd, pull = np.zeros(nk.shape), np.zeros(nk.shape, np.float32)
    p, sums = np.zeros((STEP, LANES), np.float32), np.zeros(STEP, np.float32)
    cells, flat, filled = nw.reshape(-1), pull.reshape(-1), p.reshape(-1)[:size]
    u, new = np.zeros(LANES, np.float32), np.zeros(LANES, np.int32)
    first = 0
    for d in range(start.size - 1):
        models = np.flatnonzero(member[d]).astype(np.uint64)
        i = first
        first += count[start[d] : start[d + 1]].sum()
        begin = i
        pull[:] = np.float32(0)
        for m in models:
            enter(topic[i:first, m], nk[:, m], alpha, total_beta, nd[:, m], pull[:, m])
        for e in range(start[d], start[d + 1]):
            row = nw[word[e]]
            ask(cells, word, e + 1, size)
            for _ in range(count[e]):
                for m in models:
                    move(topic[i, m], -1, nd[:, m], nk[:, m], row[:, m], pull[:, m], alpha, total_beta)
                    u[m] = uniform(seeds[d, m], i - begin)
                weigh(filled, flat, row.reshape(-1), np.float32(beta), sums)
                fall_in_lanes(p, u, new)
                for m in models:
                    topic[i, m] = found = np.uint64(min(new[m], nk.shape[0] - 1))
                    move(found, 1, nd[:, m], nk[:, m], row[:, m], pull[:, m], alpha, total_beta)
                i += 1
