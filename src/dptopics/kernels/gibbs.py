"""Collapsed Gibbs sampling for LDA: one sweep over all tokens.

Every draw is a hash of (key, document, position, sweep), so the result is a function of the counts and the key alone,
and taking a document away shifts nobody else's draws.
"""

import numpy as np

from dptopics.kernels.hashing import draw
from dptopics.kernels.jit import F32, I32, I64, U64, jit
from dptopics.kernels.simd import BANKS, LINE, STEP, WIDTH, prefetch, weigh

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
def enter(topic: I32, nk: I64, alpha: float, total_beta: float, nd: F32, pull: F32) -> None:
    """Count the topics of a document's tokens, and set (n_dk + α)/(n_k + Vβ)."""
    nd[:] = np.float32(0)
    for i in range(topic.size):
        nd[topic[i]] += np.float32(1)
    for k in range(nd.size):
        pull[k] = np.float32((nd[k] + alpha) / (nk[k] + total_beta))


@jit
def found(p: F32, sums: F32, lanes: F32, bits: np.uint64, n_topics: int) -> int:
    """The topic that a draw of ``bits`` falls on, if the weights p add up to ``sums`` and ``lanes``."""
    s01, s45 = lanes[0] + lanes[1], lanes[4] + lanes[5]
    low = s01 + (lanes[2] + lanes[3])
    u = np.float32(np.float64(bits >> np.uint64(40)) * 2.0**-24) * (low + (s45 + (lanes[6] + lanes[7])))
    new = 0
    if u >= low:
        u -= low
        new = 4
        s01 = s45
    if u >= s01:
        u -= s01
        new += 2
    if u >= lanes[new]:
        u -= lanes[new]
        new += 1
    for _ in range(BANKS - 1):
        if u >= sums[new]:
            u -= sums[new]
            new += WIDTH
        else:
            break
    while new + STEP < p.size and u >= p[new]:
        u -= p[new]
        new += STEP
    return min(new, n_topics - 1)  # rounding can push the draw into the padding, which has no mass


@jit
def fold_lanes(sums: F32, lanes: F32) -> None:
    """STEP sums to WIDTH: four banks together."""
    for lane in range(WIDTH):
        lanes[lane] = (sums[lane] + sums[lane + 8]) + (sums[lane + 16] + sums[lane + 24])


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
    doc_seed: U64,
    sweep: int,
) -> None:
    """Draw each token's topic from p(k) ∝ (n_dk + α)(n_wk + β)/(n_k + Vβ), the token itself left out.

    Griffiths & Steyvers 2004, equation 5. Topics are padded with zeros to a multiple of STEP. The total is kept in STEP
    sums (sum j holds topics j, j + STEP, …), so a draw finds its lane, its bank and then its topic in few steps.
    """
    padded = nw.shape[1]
    cells = nw.reshape(-1)
    total_beta = nw.shape[0] * beta
    b, one = np.float32(beta), np.float32(1)
    nd = np.zeros(n_topics, np.float32)
    p = np.zeros(padded, np.float32)
    pull = np.zeros(padded, np.float32)  # (n_dk + α)/(n_k + Vβ): a token changes it in two places only
    sums = np.zeros(STEP, np.float32)
    lanes = np.zeros(WIDTH, np.float32)
    for d in range(start.size - 1):
        seed = draw(doc_seed[d], -1 - sweep)
        enter(topic[start[d] : start[d + 1]], nk, alpha, total_beta, nd, pull)
        for i in range(start[d], start[d + 1]):
            ask(cells, word, i + AHEAD, padded)
            old = topic[i]
            row = nw[word[i]]
            nd[old] -= one
            row[old] -= one
            nk[old] -= 1
            pull[old] = np.float32((nd[old] + alpha) / (nk[old] + total_beta))
            weigh(p, pull, row, b, sums)
            fold_lanes(sums, lanes)
            new = found(p, sums, lanes, draw(seed, i - start[d]), n_topics)
            topic[i] = new
            nd[new] += one
            row[new] += one
            nk[new] += 1
            pull[new] = np.float32((nd[new] + alpha) / (nk[new] + total_beta))
