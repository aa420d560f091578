"""Documents as unit vectors, the centre nearest to each, and the words it votes for. One document at a time.

Sums run in a fixed order, so that a document's result does not depend on what else is in the block.
"""

import numpy as np

from dptopics.kernels.jit import F32, F64, I32, I64, jit


@jit
def mean_of_words(doc_start: I64, word: I32, count: I32, vectors: F32, middle: F64) -> F64:
    """Unit vector along x/‖x‖ − middle, x = Σ_w √n_w · vectors[w]; zero for a document without known words."""
    documents = np.zeros((doc_start.size - 1, vectors.shape[1]))
    for d in range(doc_start.size - 1):
        mine = documents[d]
        for e in range(doc_start[d], doc_start[d + 1]):
            often, row = np.sqrt(count[e]), vectors[word[e]]
            for j in range(mine.size):
                mine[j] += often * row[j]
        _away(mine, middle)
    return documents


@jit
def projected(raw: F32, mean: F64, projection: F64, middle: F64) -> F64:
    """Unit vector along x/‖x‖ − middle, x = (raw/‖raw‖ − mean) · projection; a row of zeros stays zero."""
    documents = np.zeros((raw.shape[0], projection.shape[1]))
    for d in range(raw.shape[0]):
        mine, size = documents[d], 0.0
        for i in range(raw.shape[1]):
            size += np.float64(raw[d, i]) ** 2
        if size > 0:
            size = np.sqrt(size)
            for i in range(raw.shape[1]):
                away, row = raw[d, i] / size - mean[i], projection[i]
                for j in range(mine.size):
                    mine[j] += away * row[j]
        _away(mine, middle)
    return documents


@jit
def _away(vector: F64, middle: F64) -> None:
    """Make it a unit vector, take the middle off, and make it one again."""
    for j in range(vector.size if _normalise(vector) else 0):
        vector[j] -= middle[j]
    _normalise(vector)


@jit
def _normalise(vector: F64) -> bool:
    size = 0.0
    for j in range(vector.size):
        size += vector[j] * vector[j]
    if size == 0.0:
        return False
    size = np.sqrt(size)
    for j in range(vector.size):
        vector[j] /= size
    return True


_TOGETHER = 8  # documents that share each look at the centres


@jit
def _dots(documents: F64, first: int, centres: F32, score: F32) -> None:
    """score[i, k] = documents[first + i] · centres[:, k] in single precision, which is twice as fast.

    Over centres in the inner loop, so that it can be vectorised without reordering a sum: dimensions are added one
    after another, four in a pass, whatever other documents there are.
    """
    width, n_docs = centres.shape[0], min(score.shape[0], documents.shape[0] - first)
    score[:] = 0.0
    for j in range(0, width - 3, 4):
        a, b, c, d = centres[j], centres[j + 1], centres[j + 2], centres[j + 3]
        for i in range(n_docs):
            mine, row = score[i], documents[first + i]
            w, x, y, z = np.float32(row[j]), np.float32(row[j + 1]), np.float32(row[j + 2]), np.float32(row[j + 3])
            for k in range(mine.size):
                mine[k] = mine[k] + w * a[k] + x * b[k] + y * c[k] + z * d[k]
    for j in range(width - width % 4, width):
        for i in range(n_docs):
            mine, y, a = score[i], np.float32(documents[first + i, j]), centres[j]
            for k in range(mine.size):
                mine[k] += y * a[k]


@jit
def nearest(documents: F64, centres: F64) -> I32:
    """argmax over k of documents[d] · centres[:, k], the first of equals; −1 for a document that is zero.

    A function of the document alone.
    """
    found = np.full(documents.shape[0], -1, np.int32)
    score, single = np.empty((_TOGETHER, centres.shape[1]), np.float32), centres.astype(np.float32)
    for d in range(documents.shape[0]):
        if d % _TOGETHER == 0:
            _dots(documents, d, single, score)
        mine, best = score[d % _TOGETHER], 0
        for k in range(1, mine.size):
            if mine[k] > mine[best]:
                best = k
        found[d] = best if documents[d].any() else -1
    return found


@jit
def near_themes(documents: F64, themes: F64, most: int) -> tuple[I32, F32]:
    """The ``most`` nearest of the themes (columns) for each document, nearest first, and their cosines.

    −1 and zero for a document that is zero. Single precision and a fixed order, as in :func:`nearest`.
    """
    n_docs, n_themes = documents.shape[0], themes.shape[1]
    found = np.full((n_docs, most), -1, np.int32)
    near = np.zeros((n_docs, most), np.float32)
    scores, single = np.empty((_TOGETHER, n_themes), np.float32), themes.astype(np.float32)
    for d in range(n_docs):
        if d % _TOGETHER == 0:
            _dots(documents, d, single, scores)
        mine, close, score = found[d], near[d], scores[d % _TOGETHER]
        least = np.float32(-np.inf)
        for k in range(n_themes if documents[d].any() else 0):
            if score[k] <= least:
                continue
            place = most - 1
            while place > 0 and (mine[place - 1] < 0 or score[k] > close[place - 1]):
                mine[place], close[place] = mine[place - 1], close[place - 1]
                place -= 1
            mine[place], close[place] = k, score[k]
            if mine[most - 1] >= 0:
                least = close[most - 1]
    return found, near


@jit
def cosines(documents: F64, centres: F64) -> F64:
    """documents[d] · centres[k], both of unit length. A matrix product may round a row by what else is in the batch."""
    across = np.ascontiguousarray(centres.T)
    found = np.zeros((documents.shape[0], centres.shape[0]))
    for d in range(documents.shape[0]):
        score = found[d]
        for j in range(documents.shape[1]):
            x, row = documents[d, j], across[j]
            for k in range(score.size):
                score[k] += x * row[k]
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
def with_size(documents: F64, kept: I64, size: float) -> F64:
    """The kept rows, each with ``size`` behind it: one pass instead of two copies."""
    width = documents.shape[1]
    rows = np.empty((kept.size, width + 1))
    for i in range(kept.size):
        for j in range(width):
            rows[i, j] = documents[kept[i], j]
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
