"""Documents as unit vectors, the centre nearest to each, and the words it votes for. One document at a time.

Unit vectors are whole numbers of steps of 1/``FULL``, two bytes each. Their products are sums of integers: exact in any
order, so that a document's result depends on nothing else in the block.
"""

import numpy as np

from dptopics.kernels.jit import F32, F64, I16, I32, I64, Real, jit

FULL = 32767  # steps in one


def in_steps(vectors: Real) -> I16:
    """Unit vectors, to the nearest step."""
    return np.asarray(np.rint(np.clip(vectors, -1, 1) * FULL), np.int16)


@jit
def mean_of_words(doc_start: I64, word: I32, count: I32, vectors: F32, middle: F64) -> I16:
    """Unit vector along x/‖x‖ − middle, x = Σ_w √n_w · vectors[w]; zero for a document without known words."""
    documents = np.zeros((doc_start.size - 1, vectors.shape[1]), np.int16)
    mine = np.empty(vectors.shape[1], np.float32)
    for d in range(doc_start.size - 1):
        mine[:] = 0
        for e in range(doc_start[d], doc_start[d + 1]):
            often, row = np.float32(np.sqrt(count[e])), vectors[word[e]]
            for j in range(mine.size):
                mine[j] += often * row[j]
        _away(mine, middle, documents[d])
    return documents


@jit
def projected(raw: F32, mean: F64, projection: F64, middle: F64) -> I16:
    """Unit vector along x/‖x‖ − middle, x = (raw/‖raw‖ − mean) · projection; a row of zeros stays zero."""
    documents = np.zeros((raw.shape[0], projection.shape[1]), np.int16)
    mine = np.empty(projection.shape[1])
    for d in range(raw.shape[0]):
        size = _size(raw[d])
        mine[:] = 0
        if size > 0:
            for i in range(raw.shape[1]):
                away, row = raw[d, i] / size - mean[i], projection[i]
                for j in range(mine.size):
                    mine[j] += away * row[j]
        _away(mine, middle, documents[d])
    return documents


@jit
def _away(vector: Real, middle: F64, steps: I16) -> None:
    """Make it a unit vector, take the middle off, make it one again, and round it to steps."""
    size = _size(vector)
    if size == 0.0:
        return
    for j in range(vector.size):
        vector[j] = vector[j] / size - middle[j]
    size = _size(vector)
    for j in range(vector.size if size > 0 else 0):
        steps[j] = np.int16(np.rint(vector[j] / size * FULL))


@jit
def _size(vector: Real) -> float:
    """The norm, by four sums side by side: one would wait for itself."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = vector.size - vector.size % 4
    for j in range(0, whole, 4):
        a += np.float64(vector[j]) ** 2
        b += np.float64(vector[j + 1]) ** 2
        c += np.float64(vector[j + 2]) ** 2
        d += np.float64(vector[j + 3]) ** 2
    for j in range(whole, vector.size):
        a += np.float64(vector[j]) ** 2
    return float(np.sqrt((a + b) + (c + d)))


@jit
def _dot(one: I16, other: I16) -> np.int32:
    """Of unit vectors: at most ``FULL``² but for rounding, so that 32 bits are enough, and compilers know the way."""
    total = np.int32(0)
    for j in range(one.size):
        total = np.int32(total + np.int32(one[j]) * np.int32(other[j]))
    return total


@jit
def nearest(documents: I16, centres: I16) -> I32:
    """argmax over k of documents[d] · centres[k], the first of equals; −1 for a document that is zero."""
    found, none = np.empty(documents.shape[0], np.int32), np.int64(-(2**62))
    for d in range(documents.shape[0]):
        mine, most = documents[d], none
        for k in range(centres.shape[0] if mine.any() else 0):  # by score, then by place, in one number: no branches
            most = max(most, (np.int64(_dot(mine, centres[k])) << 32) - k)
        found[d] = -1 if most == none else -most & 0x7FFFFFFF
    return found


@jit
def near_themes(documents: I16, themes: I16, most: int) -> tuple[I32, F64]:
    """The ``most`` nearest of the themes for each document, nearest first, and their cosines.

    −1 and zero for a document that is zero.
    """
    found = np.full((documents.shape[0], most), -1, np.int32)
    near = np.zeros((documents.shape[0], most), np.int32)
    for d in range(documents.shape[0]):
        mine, close, row = found[d], near[d], documents[d]
        for k in range(themes.shape[0] if row.any() else 0):
            score = _dot(row, themes[k])
            if mine[most - 1] >= 0 and score <= close[most - 1]:
                continue
            place = most - 1
            while place > 0 and (mine[place - 1] < 0 or score > close[place - 1]):
                mine[place], close[place] = mine[place - 1], close[place - 1]
                place -= 1
            mine[place], close[place] = k, score
    return found, near / np.float64(FULL**2)


@jit
def cosines(documents: I16, centres: I16) -> F64:
    """documents[d] · centres[k]."""
    found = np.empty((documents.shape[0], centres.shape[0]))
    for d in range(documents.shape[0]):
        for k in range(centres.shape[0]):
            found[d, k] = _dot(documents[d], centres[k]) / np.float64(FULL**2)
    return found


@jit
def softmax(scores: F64) -> F64:
    """exp(scores) over its sum, row by row."""
    shares = np.empty_like(scores)
    for d in range(scores.shape[0]):
        mine, total = shares[d], 0.0
        most = scores[d].max()
        for k in range(mine.size):
            mine[k] = np.exp(scores[d, k] - most)
        for k in range(mine.size):
            total += mine[k]
        for k in range(mine.size):
            mine[k] /= total
    return shares


@jit
def with_size(documents: I16, kept: I64, size: float) -> F32:
    """The kept rows, each with ``size`` behind it."""
    width = documents.shape[1]
    rows = np.empty((kept.size, width + 1), np.float32)
    for i in range(kept.size):
        for j in range(width):
            rows[i, j] = documents[kept[i], j] * np.float32(1.0 / FULL)
        rows[i, width] = size
    return rows


@jit
def votes(doc_start: I64, word: I32, topic: I32, score: F32, most: int) -> tuple[I64, I32, F64]:
    """Each document's ``most`` words of the highest positive score[w, its topic], with weights ∝ score, L2 norm one.

    Returns where each document's votes start, their words and weights. Of equal scores the lower word number wins.
    """
    n_docs = doc_start.size - 1
    start = np.zeros(n_docs + 1, np.int64)
    chosen = np.empty(n_docs * most, np.int32)
    weight = np.empty(n_docs * most)
    for d in range(n_docs):
        first, n, k = start[d], 0, topic[d]
        for e in range(doc_start[d], doc_start[d + 1] if k >= 0 else doc_start[d]):
            w = word[e]
            value = np.float64(score[w, k])
            if value <= 0.0:
                continue
            place = n
            while place > 0 and (
                value > weight[first + place - 1]
                or (value == weight[first + place - 1] and w < chosen[first + place - 1])
            ):
                place -= 1
            if place >= most:
                continue
            n = min(n + 1, most)
            for i in range(n - 1, place, -1):
                chosen[first + i], weight[first + i] = chosen[first + i - 1], weight[first + i - 1]
            chosen[first + place], weight[first + place] = w, value
        size = 0.0
        for i in range(first, first + n):
            size += weight[i] * weight[i]
        for i in range(first, first + n):
            weight[i] /= np.sqrt(size)
        start[d + 1] = first + n
    return start, chosen[: start[n_docs]], weight[: start[n_docs]]


@jit
def assigned_words(doc_start: I64, word: I32, count: I32, weight: F64, log_topics: F64, sharpness: float) -> F64:
    """x_w · r_k for every entry of every document: x its weighted counts, r its topics, both scaled to L2 norm one.

    r_k ∝ exp(sharpness · Σ_w x_w · log_topics[w, k]). So a document's numbers have L2 norm one, however sure its topic
    is; they do not depend on other documents.
    """
    n_topics = log_topics.shape[1]
    values = np.empty((word.size, n_topics))
    share = np.empty(n_topics)
    for d in range(doc_start.size - 1):
        first, last = doc_start[d], doc_start[d + 1]
        size = 0.0
        for e in range(first, last):
            size += (count[e] * weight[word[e]]) ** 2
        size = np.sqrt(size)
        if not size > 0.0:
            values[first:last] = 0.0
            continue
        share[:] = 0.0
        for e in range(first, last):
            x = count[e] * weight[word[e]] / size
            for k in range(n_topics):
                share[k] += sharpness * x * log_topics[word[e], k]
        most = share.max()
        total = 0.0
        for k in range(n_topics):
            share[k] = np.exp(share[k] - most)
            total += share[k] ** 2
        total = np.sqrt(total)
        for e in range(first, last):
            x = count[e] * weight[word[e]] / (size * total)
            for k in range(n_topics):
                values[e, k] = x * share[k]
    return values
