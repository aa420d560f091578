"""First three moments of documents, unit by unit: norms without tensors, packed symmetric entries.

For counts c of a document of l ≥ 3 words, with a mean over its tokens, pairs and triples of distinct tokens:
M̃₁ = c/l, M̃₂ = (c⊗c − diag c)/(l(l−1)), M̃₃ = (c⊗c⊗c − sym₃(diag c ⊗ c) + 2 Σ cᵢ eᵢ⊗eᵢ⊗eᵢ)/(l(l−1)(l−2)).
Everything is added in the order of the document's entries, one unit at a time: no result depends on other units.
"""

import numpy as np

from dptopics.kernels.jit import F64, I32, I64, jit


@jit
def document_norms(doc_start: I64, count: I32) -> F64:
    """‖M̃₁‖, ‖M̃₂‖ and ‖M̃₃‖ of each document; zeros where it has fewer than three words.

    With p_q = Σ cᵢ^q and eᵢ = cᵢ(cᵢ−1): ‖M̃₂‖² = (p₂² − p₄ + Σeᵢ²)/(l(l−1))², ‖M̃₃‖² =
    (p₂³ − 3p₂p₄ + 2p₆ + 3(p₂Σeᵢ² − Σeᵢ²cᵢ²) + Σ(eᵢ(cᵢ−2))²)/(l(l−1)(l−2))².
    """
    norms = np.zeros((doc_start.size - 1, 3))
    for doc in range(doc_start.size - 1):
        length = p2 = p4 = p6 = e2 = e2c2 = e3 = 0.0
        for entry in range(doc_start[doc], doc_start[doc + 1]):
            c = float(count[entry])
            square, pair = c * c, c * (c - 1)
            length += c
            p2 += square
            p4 += square * square
            p6 += square * square * square
            e2 += pair * pair
            e2c2 += pair * pair * square
            e3 += (pair * (c - 2)) ** 2
        if length >= 3:
            norms[doc, 0] = np.sqrt(p2) / length
            norms[doc, 1] = np.sqrt(max(0.0, p2 * p2 - p4 + e2)) / (length * (length - 1))
            third = p2 * p2 * p2 - 3 * p2 * p4 + 2 * p6 + 3 * (p2 * e2 - e2c2) + e3
            norms[doc, 2] = np.sqrt(max(0.0, third)) / (length * (length - 1) * (length - 2))
    return norms


@jit
def unit_norms(unit_start: I64, norms: F64) -> F64:
    """Mean norms of each unit over its documents of at least three words; zeros where there is none."""
    means = np.zeros((unit_start.size - 1, 3))
    for unit in range(unit_start.size - 1):
        n = 0
        for doc in range(unit_start[unit], unit_start[unit + 1]):
            if norms[doc, 0] > 0:
                n += 1
                for j in range(3):
                    means[unit, j] += norms[doc, j]
        if n > 0:
            for j in range(3):
                means[unit, j] /= n
    return means


@jit
def unit_scales(unit_start: I64, norms: F64, bounds: F64) -> F64:
    """s/n of each unit, n its documents of at least three words: s = min(1, bounds[j]/norm[j], …), one for all moments.

    The norm of a unit's mean is bounded by the mean of its documents' norms. Zero where n is zero.
    """
    scales = np.zeros(unit_start.size - 1)
    for unit in range(unit_start.size - 1):
        mean = np.zeros(3)
        n = 0
        for doc in range(unit_start[unit], unit_start[unit + 1]):
            if norms[doc, 0] > 0:
                n += 1
                for j in range(3):
                    mean[j] += norms[doc, j]
        if n > 0:
            s = 1.0
            for j in range(3):
                if mean[j] > bounds[j] * n:
                    s = min(s, bounds[j] * n / mean[j])
            scales[unit] = s / n
    return scales


@jit
def _write(word: I32, count: I32, scale: float, weights: F64, n_words: int, at: int, rows: I32, values: F64) -> int:
    """A document's entries, from place ``at`` on. Returns the next free place."""
    length = 0.0
    for e in range(word.size):
        length += count[e]
    rows[at], values[at, 0] = 0, scale * weights[0]
    at += 1
    one = scale * weights[1] / length
    two = scale * weights[2] / (length * (length - 1))
    for e in range(word.size):
        c = float(count[e])
        rows[at], values[at, 0] = 1 + word[e], c * one
        at += 1
        for f in range(e, word.size):
            i, j = np.int64(min(word[e], word[f])), np.int64(max(word[e], word[f]))
            rows[at] = 1 + n_words + i * (2 * n_words - i + 1) // 2 + j - i
            values[at, 0] = c * (c - 1) * two if e == f else np.sqrt(2.0) * c * count[f] * two
            at += 1
    return at


@jit
def _add(
    word: I32,
    count: I32,
    scale: float,
    weights: F64,
    n_words: int,
    m: int,
    place: I64,
    where: I64,
    at: int,
    rows: I32,
    values: F64,
) -> int:
    """The same, added to the entries that its unit has. ``place`` numbers the unit's m words; where[i] is the entry of
    the unit's i-th row (count, words, pairs), −1 if it has none yet."""
    n = 1 + word.size + word.size * (word.size + 1) // 2
    new_rows, new_values, own = np.empty(n, np.int32), np.empty((n, 1)), np.zeros(n, np.int64)
    _write(word, count, scale, weights, n_words, 0, new_rows, new_values)
    i = 1
    for e in range(word.size):
        own[i] = 1 + place[word[e]]
        i += 1
        for f in range(e, word.size):
            low, high = min(place[word[e]], place[word[f]]), max(place[word[e]], place[word[f]])
            own[i] = 1 + m + high * (high + 1) // 2 + low
            i += 1
    for i in range(n):
        if where[own[i]] < 0:
            where[own[i]] = at
            rows[at], values[at, 0] = new_rows[i], 0.0
            at += 1
        values[where[own[i]], 0] += new_values[i, 0]
    return at


@jit
def packed_pairs(
    unit_start: I64, doc_start: I64, word: I32, count: I32, norms: F64, scales: F64, weights: F64, n_words: int
) -> tuple[I64, I32, F64]:
    """(start, rows, values): weights[j] times the scaled moments j = 0, 1, 2 of each unit, as a sparse vector.

    Row 0 is the count, 1 + w word w of M̃₁, then the upper triangle of M̃₂ by rows; entries off the diagonal are
    multiplied by √2, so that the vector's norm is the Frobenius norm of the whole. Where a unit's documents have more
    entries than its m distinct words have pairs, equal rows are added up here, in the order of documents and each in
    its first place: no unit takes more than 1 + m + m(m + 1)/2 entries, however many documents it has.
    """
    n_units = unit_start.size - 1
    room = np.zeros(n_units, np.int64)
    own_words = np.full(n_units, -1, np.int64)  # of a unit whose equal rows are added up
    mark = np.full(n_words, -1, np.int64)
    for unit in range(n_units):
        own = np.int64(0)
        for doc in range(unit_start[unit], unit_start[unit + 1]):
            if norms[doc, 0] > 0:
                n = doc_start[doc + 1] - doc_start[doc]
                room[unit] += 1 + n + n * (n + 1) // 2
                for e in range(doc_start[doc], doc_start[doc + 1]):
                    if mark[word[e]] != unit:
                        mark[word[e]] = unit
                        own += 1
        if room[unit] > 1 + own + own * (own + 1) // 2:
            room[unit] = 1 + own + own * (own + 1) // 2
            own_words[unit] = own
    start = np.zeros(n_units + 1, np.int64)
    rows = np.empty(room.sum(), np.int32)
    values = np.empty((rows.size, 1))
    place = np.empty(n_words, np.int64)  # of a word among its unit's own
    mark[:] = -1
    at = 0
    for unit in range(n_units):
        m = own_words[unit]
        where = np.full(room[unit] if m >= 0 else 0, -1, np.int64)
        known = 0
        for doc in range(unit_start[unit], unit_start[unit + 1]):
            if norms[doc, 0] == 0:
                continue
            first, last = doc_start[doc], doc_start[doc + 1]
            if m < 0:
                at = _write(word[first:last], count[first:last], scales[unit], weights, n_words, at, rows, values)
                continue
            for e in range(first, last):
                if mark[word[e]] != unit:
                    mark[word[e]] = unit
                    place[word[e]] = known
                    known += 1
            at = _add(
                word[first:last], count[first:last], scales[unit], weights, n_words, m, place, where, at, rows, values
            )
        start[unit + 1] = at
    return start, rows[:at], values[:at]


@jit
def packed_triples(unit_start: I64, doc_start: I64, word: I32, count: I32, norms: F64, scales: F64, view: F64) -> F64:
    """M̃₃(W, W, W) of each unit, scaled, W the words × k ``view``: entries i ≤ j ≤ l of the symmetric tensor, in order.

    Each is multiplied by the root of how often it occurs in the whole (1, 3 or 6), so that norms are kept. With
    y = Wᵀc, A = Σ cᵢ wᵢ⊗wᵢ, B = Σ cᵢ wᵢ⊗wᵢ⊗wᵢ: y⊗y⊗y − sym₃(A⊗y) + 2B, over l(l−1)(l−2).
    """
    k = view.shape[1]
    out = np.zeros((unit_start.size - 1, k * (k + 1) * (k + 2) // 6))
    y, a, b = np.empty(k), np.empty((k, k)), np.empty(out.shape[1])
    for unit in range(unit_start.size - 1):
        for doc in range(unit_start[unit], unit_start[unit + 1]):
            if norms[doc, 0] == 0:
                continue
            y[:], a[:], b[:] = 0.0, 0.0, 0.0
            length = 0.0
            for e in range(doc_start[doc], doc_start[doc + 1]):
                c = float(count[e])
                w = view[word[e]]
                length += c
                at = 0
                for i in range(k):
                    y[i] += c * w[i]
                    for j in range(i, k):
                        pair = c * w[i] * w[j]
                        a[i, j] += pair
                        for m in range(j, k):
                            b[at] += pair * w[m]
                            at += 1
            scale = scales[unit] / (length * (length - 1) * (length - 2))
            at = 0
            for i in range(k):
                for j in range(i, k):
                    for m in range(j, k):
                        value = y[i] * y[j] * y[m] - a[i, j] * y[m] - a[i, m] * y[j] - a[j, m] * y[i] + 2 * b[at]
                        alike = (i == j) + (j == m)
                        times = 6.0 if alike == 0 else (3.0 if alike == 1 else 1.0)
                        out[unit, at] += np.sqrt(times) * scale * value
                        at += 1
    return out


@jit
def dense_pairs(doc_start: I64, word: I32, count: I32, weight: F64, n_words: int) -> F64:
    """Σ over documents of weight · (c⊗c − diag c), as a whole matrix."""
    out = np.zeros((n_words, n_words))
    for doc in range(doc_start.size - 1):
        for e in range(doc_start[doc], doc_start[doc + 1]):
            c = weight[doc] * count[e]
            out[word[e], word[e]] += c * (count[e] - 1)
            for f in range(e + 1, doc_start[doc + 1]):
                i, j = min(word[e], word[f]), max(word[e], word[f])
                out[i, j] += c * count[f]
    for i in range(n_words):
        for j in range(i):
            out[i, j] = out[j, i]
    return out
