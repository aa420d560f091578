"""The Gibbs sweep of `kernels.gibbs` with the privacy monitor of Zhao et al. 2019 in its inner loop."""

import numpy as np

from dptopics.kernels.gibbs import AHEAD, ask, chosen, enter, move, uniform
from dptopics.kernels.hashing import draw
from dptopics.kernels.jit import F32, F64, I32, I64, U64, jit
from dptopics.kernels.simd import STEP, steepest, weigh


@jit
def growth(count: int, removed: int, total_beta: float) -> np.float32:
    """N/(n + Vβ − N), N = min(removed, n): by how much a topic's weights grow when it loses N tokens."""
    lost = min(count, removed)
    return np.float32(lost / (count - lost + total_beta))


@jit
def grown(nk: I64, removed: int, total_beta: float, out: F32) -> int:
    """`growth` of every topic; how many of them have fewer tokens than would be removed."""
    short = 0
    for k in range(nk.size):
        out[k] = growth(nk[k], removed, total_beta)
        short += nk[k] < removed
    return short


@jit
def log1plus(x: float) -> float:
    """ln(1 + x) for x ≥ 0: a series where it is exact to the last digits, since the monitor spends its time here."""
    if x > 2.0**-7:
        return float(np.log1p(x))
    return x * (1 - x * (1 / 2 - x * (1 / 3 - x * (1 / 4 - x * (1 / 5 - x * (1 / 6 - x / 7))))))


@jit
def lifted(p: F32, grow: F32, total: float) -> float:
    """max_k r_k g_k/R: ln(1 + it) is all that steps 3 to 7 of algorithm 1 leave as printed, step 4 being negative."""
    most = np.float32(0)
    for k in range(p.size):
        most = max(most, p[k] * grow[k])
    return np.float64(most) / total


@jit
def without_the_word(p: F32, row: F32, nk: I64, beta: float, total_beta: float, total: float) -> float:
    """max_k max |p′/p| − 1, either way up, when topic k loses one token of the very word that is drawn for.

    a = q_k/r_k = (n_kt − 1 + β)/(n_kt + β) · D_k/(D_k − 1); then R_k/R = 1 + p_k(a − 1) = s, and p′_k/p_k = a/s.
    """
    most = 1.0
    for k in range(nk.size):
        if row[k] >= 1:
            denominator = nk[k] + total_beta
            a = (row[k] - 1 + beta) / (row[k] + beta) * denominator / (denominator - 1)
            s = 1 + np.float64(p[k]) / total * (a - 1)
            for ratio in (s, a / s):
                most = max(most, ratio, 1 / ratio)
    return most - 1


@jit
def look_beside(
    beside: F64, p: F32, row: F32, nk: I64, grow: F32, beta: float, total_beta: float, total: float
) -> None:
    """Add what algorithm 1 says as printed, and what one missing token of the same word would do."""
    for j in range(grow.shape[0]):
        beside[j] += 2.0 * log1plus(lifted(p[: nk.size], grow[j], total))
    beside[grow.shape[0]] += 2.0 * log1plus(without_the_word(p, row, nk, beta, total_beta, total))


@jit
def monitored_sweep(
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
    removed: I64,
    loss: F64,
    beside: F64,
) -> I64:
    """`gibbs_sweep`, draw for draw, which adds to loss[j, i] what token i's draw says about ``removed[j]`` tokens.

    ``beside``, if it has rows: what algorithm 1 says as printed, for each of ``removed``, and in the last row what one
    missing token of the same word would do.

    With r_k the weights of the draw, R = Σ r_k, D_k = n_k + Vβ and N_k = min(N, n_k), all N tokens in topic k:

        q_k = r_k D_k/(D_k − N_k),  R_k = R − r_k + q_k,  loss = 2 max_k max{ln(R_k/R), ln(q_k R/(r_k R_k))}

    (Zhao et al. 2019, algorithm 1, its step 4 corrected.) With g_k = N_k/(D_k − N_k) the two are ln(1 + r_k g_k/R) and
    ln(1 + g_k (R − r_k)/(R + r_k g_k)): nothing cancels. Returns in how many draws some topic held fewer than N tokens.
    """
    padded = nw.shape[1]
    cells = nw.reshape(-1)
    total_beta = nw.shape[0] * beta
    nd = np.zeros(n_topics)
    p = np.zeros(padded, np.float32)
    pull = np.zeros(padded, np.float32)  # (n_dk + α)/(n_k + Vβ): a token changes it in two places only
    sums, rest = np.zeros(STEP, np.float32), np.zeros(2, np.float32)
    grow = np.zeros((removed.size, padded), np.float32)
    short = np.zeros(removed.size, np.int64)  # topics with fewer tokens than would be removed
    capped = np.zeros(removed.size, np.int64)
    for j in range(removed.size):
        short[j] = grown(nk[:n_topics], removed[j], total_beta, grow[j])
    for d in range(start.size - 1):
        seed = draw(doc_seed[d], -1 - sweep)
        enter(topic[start[d] : start[d + 1]], nk, alpha, total_beta, nd, pull)
        for i in range(start[d], start[d + 1]):
            ask(cells, word, i + AHEAD, padded)
            old = topic[i]
            row = nw[word[i]]
            move(old, -1, nd, nk, row, pull, alpha, total_beta)
            for j in range(removed.size):
                grow[j, old] = growth(nk[old], removed[j], total_beta)
                short[j] += nk[old] == removed[j] - 1
            weigh(p, pull, row, np.float32(beta), sums)
            new = chosen(p, sums, uniform(seed, i - start[d]), rest, n_topics)
            total = rest[1]
            for j in range(removed.size):
                loss[j, i] += 2.0 * log1plus(np.float64(steepest(p, grow[j], total)))
                capped[j] += short[j] > 0
            if beside.size > 0:
                look_beside(beside[:, i], p, row, nk[:n_topics], grow, beta, total_beta, np.float64(total))
            topic[i] = new
            move(new, 1, nd, nk, row, pull, alpha, total_beta)
            for j in range(removed.size):
                grow[j, new] = growth(nk[new], removed[j], total_beta)
                short[j] -= nk[new] == removed[j]
    return capped
