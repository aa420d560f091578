"""Hashes of local hashing: which bucket a value falls into under a report's seed, and who supports which value."""

import numpy as np

from dptopics.kernels.hashing import draw
from dptopics.kernels.jit import F32, F64, I32, I64, U8, U32, U64, jit


@jit
def bucket(seed: np.uint64, value: int, n_buckets: int) -> np.uint32:
    """h(value) in 0 … g − 1: 32 bits of a mixed word (splitmix64), scaled to g.

    What a report hides does not depend on the hash; how well the server estimates does.
    """
    return np.uint32(((draw(seed, value + 1) >> np.uint64(32)) * np.uint64(n_buckets)) >> np.uint64(32))


@jit
def buckets(seed: U64, value: I64, n_buckets: int) -> I64:
    """The bucket of each value under its own seed."""
    out = np.empty(value.size, np.int64)
    for i in range(value.size):
        out[i] = bucket(seed[i], value[i], n_buckets)
    return out


@jit
def _span(sent: np.uint32, n_buckets: int) -> tuple[np.uint64, np.uint64]:
    """The 32 bits that fall into bucket b are those from ⌈b·2³²/g⌉ on: the first, and how many there are.

    A comparison in place of a multiplication for each value.
    """
    g, one, place = np.uint64(n_buckets), np.uint64(1), np.uint64(sent) << np.uint64(32)
    first = (place + g - one) // g
    return first, (place + (one << np.uint64(32)) + g - one) // g - first


@jit
def support(seed: U64, sent: U32, n_buckets: int, n_values: int) -> I64:
    """How many answers fall into the bucket of each value."""
    total = np.zeros(n_values, np.int64)
    for d in range(seed.size):
        first, width = _span(sent[d], n_buckets)
        for i in range(n_values):
            total[i] += (draw(seed[d], i + 1) >> np.uint64(32)) - first < width
    return total


@jit
def supported_values(seed: U64, sent: U32, n_buckets: int, n_values: int) -> tuple[I64, I32]:
    """The values in the bucket that each answer names, listed: answer a owns start[a]:start[a+1]."""
    start = np.zeros(seed.size + 1, np.int64)
    for a in range(seed.size):
        first, width = _span(sent[a], n_buckets)
        for i in range(n_values):
            start[a + 1] += (draw(seed[a], i + 1) >> np.uint64(32)) - first < width
        start[a + 1] += start[a]
    value = np.empty(start[-1], np.int32)
    for a in range(seed.size):
        place = start[a]
        first, width = _span(sent[a], n_buckets)
        for i in range(n_values):
            if (draw(seed[a], i + 1) >> np.uint64(32)) - first < width:
                value[place] = i
                place += 1
    return start, value


@jit
def mixture_pass(
    start: I64, value: I32, answers: int, hit: float, miss: float, topics: F64, share: F64, counts: F64, heads: F64
) -> float:
    """One pass of EM for a mixture of topics (values × topics) over reports of so many answers each.

    P[y | v] is ``hit`` for the values that an answer supports, else ``miss``; e_ik = Σ_v φ_vk P[y_i | v]; a report has
    topic k with weight ∝ π_k Π_i e_ik. Adds expected counts of values and of reports; returns the log-likelihood.
    """
    n_topics = topics.shape[1]
    chance = np.empty((answers, n_topics))
    belongs = np.empty(n_topics)
    weight = np.empty(n_topics)
    rest = np.zeros(n_topics)  # the part of miss · weight that all values share
    score = 0.0
    for d in range((start.size - 1) // answers):
        belongs[:] = share
        for i in range(answers):
            a = answers * d + i
            chance[i] = 0.0
            for e in range(start[a], start[a + 1]):
                v = value[e]  # read once: the compiler cannot know that chance does not overlap it
                for k in range(n_topics):
                    chance[i, k] += topics[v, k]
            for k in range(n_topics):
                chance[i, k] = miss + (hit - miss) * chance[i, k]
                belongs[k] *= chance[i, k]
        total = belongs.sum()
        score += np.log(total)
        for k in range(n_topics):
            belongs[k] /= total
            heads[k] += belongs[k]
        for i in range(answers):
            a = answers * d + i
            for k in range(n_topics):
                weight[k] = belongs[k] / chance[i, k]
                rest[k] += miss * weight[k]
                weight[k] *= hit - miss
            for e in range(start[a], start[a + 1]):
                v = value[e]
                for k in range(n_topics):
                    counts[v, k] += weight[k]
    for v in range(topics.shape[0]):
        for k in range(n_topics):
            counts[v, k] = topics[v, k] * (counts[v, k] + rest[k])
    return score


@jit
def clipped_support(seed: U64, sent: U32, n_buckets: int, most: float, total: F64) -> None:
    """Adds to total[k, j] the support of value k·columns + j, where no answer gives a row more than ``most`` in all.

    An answer that supports c > most values of a row gives each of them most/c.
    """
    n_rows, n_columns = total.shape
    hit = np.empty(n_columns, np.bool_)
    for d in range(seed.size):
        for k in range(n_rows):
            count = 0
            for j in range(n_columns):
                hit[j] = bucket(seed[d], k * n_columns + j, n_buckets) == sent[d]
                count += hit[j]
            if count:
                weight = min(1.0, most / count)
                for j in range(n_columns):
                    if hit[j]:
                        total[k, j] += weight


@jit
def channel_weights(bits: U8, flip: float, rate: F32) -> None:
    """Replace each rate λ by a/(a + (b − a)e^(−λ)), a = P[bit | word there], b = P[bit | word not there].

    If n ~ Poisson(λ), the word is there if n ≥ 1, and its bit is flipped with probability ``flip``, then E[n | bit] is
    λ times that weight. ``bits`` is documents × bytes, first word in the highest bit; ``rate`` documents × words.
    """
    a1, b1 = np.float32(1 - flip), np.float32(flip)
    for d in range(rate.shape[0]):
        for w in range(rate.shape[1]):
            gone = np.exp(-rate[d, w])
            if (bits[d, w >> 3] >> np.uint8(7 - (w & 7))) & np.uint8(1):
                rate[d, w] = a1 / (a1 + (b1 - a1) * gone)
            else:
                rate[d, w] = b1 / (b1 + (a1 - b1) * gone)


@jit
def channel_likelihood(bits: U8, flip: float, rate: F32) -> F64:
    """Σ log P[bit | λ] of each document under the same channel."""
    total = np.zeros(rate.shape[0])
    for d in range(rate.shape[0]):
        for w in range(rate.shape[1]):
            there = flip + (1 - 2 * flip) * -np.expm1(-np.float64(rate[d, w]))
            seen = (bits[d, w >> 3] >> np.uint8(7 - (w & 7))) & np.uint8(1)
            total[d] += np.log(there) if seen else np.log1p(-there)
    return total


@jit
def ones_of_each(bits: U8, n_words: int) -> I64:
    """How many rows have each bit set."""
    total = np.zeros(8 * bits.shape[1], np.int64)
    for d in range(bits.shape[0]):
        for byte in range(bits.shape[1]):
            value = np.int64(bits[d, byte])
            for bit in range(8):
                total[8 * byte + bit] += (value >> (7 - bit)) & 1
    return total[:n_words]


@jit
def repair(bits: U8, ones: I64, wanted: I64, seed: np.uint64) -> None:
    """Change as few bits of each word as it takes to have ``wanted`` ones instead of ``ones``, chosen uniformly.

    One pass (selection sampling: Fan, Muller & Rezucha 1962): of the candidates left, the next is taken with
    probability needed/left. Zhao et al. 2019, section 3.2, steps 3 and 4.
    """
    n_words = ones.size
    need = np.abs(wanted - ones)
    left = np.where(wanted > ones, bits.shape[0] - ones, ones)
    turn_off = wanted < ones
    for d in range(bits.shape[0]):
        row = draw(seed, d)
        for w in range(n_words):
            if need[w] == 0:
                continue
            mask = np.uint8(128) >> np.uint8(w & 7)
            if ((bits[d, w >> 3] & mask) != 0) == turn_off[w]:
                if ((draw(row, w) >> np.uint64(32)) * np.uint64(left[w])) >> np.uint64(32) < np.uint64(need[w]):
                    bits[d, w >> 3] ^= mask
                    need[w] -= 1
                left[w] -= 1
