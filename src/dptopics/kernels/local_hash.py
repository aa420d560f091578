"""Hashes of local hashing: which bucket a value falls into under a report's seed, and who supports which value."""

import numpy as np

from dptopics.kernels.arrays import F32, F64, I32, I64, U32, U64
from dptopics.kernels.jit import jit
from dptopics.kernels.splitmix import draw


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
def supports(seed: U64, sent: U32, n_buckets: int, out: F32) -> None:
    """out[d, i] = 1 where answer d falls into the bucket of value i, else 0."""
    for d in range(seed.size):
        for i in range(out.shape[1]):
            out[d, i] = np.float32(bucket(seed[d], i, n_buckets) == sent[d])


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
