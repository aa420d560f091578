"""The steps of a small BERT, on the rows (tokens) of several texts that lie one after the other, without padding.

A row's numbers depend on the rows of its own text alone, and all sums have a fixed order: a text gets the same bits
whatever lies beside it. Arrays have a few rows more than there are tokens, because products are made in blocks of rows.
"""

import numpy as np

from dptopics.kernels.jit import F32, I8, I32, I64, U8, jit
from dptopics.kernels.tiles import BYTE_ROWS, COLUMNS, FLOAT_ROWS, byte_block, float_block

SPARE_ROWS = 8  # more than a block can reach beyond the last row
HEAD = 32  # numbers of an attention head
_LOG2_E, _LN2_HIGH, _LN2_LOW = np.float32(1.44269504), np.float32(0.693359375), np.float32(-2.12194440e-4)
_ROUND = np.float32(12582912.0)  # 1.5 · 2²³: adding it leaves no digits behind the point
_ONE, _HALF = np.float32(1), np.float32(0.5)


@jit
def embed(ids: I32, place: I32, words: F32, places: F32, gain: F32, shift: F32) -> F32:
    """Normalised sum of each token's own vector and that of its place."""
    out = np.zeros((ids.size + SPARE_ROWS, words.shape[1]), np.float32)
    lanes, away = np.empty(COLUMNS, np.float32), np.empty(words.shape[1], np.float32)
    for r in range(ids.size):
        row, word, where = out[r], words[ids[r]], places[place[r]]
        for j in range(row.size):
            row[j] = word[j] + where[j]
        _normalise(row, gain, shift, lanes, away)
    return out


@jit
def linear(x: F32, n: int, columns: F32, bias: F32) -> F32:
    """x·W + bias for the first n rows; W as ``packed_floats`` puts it."""
    depth, width = x.shape[1], bias.size
    out = np.empty((x.shape[0], width), np.float32)
    flat_x, flat = x.ravel(), out.ravel()
    for panel in range(0, width, COLUMNS):  # a panel of W stays in the nearest cache while all rows pass
        for r in range(0, n, FLOAT_ROWS):
            float_block(
                flat, r * width + panel, width, flat_x, r * depth, depth, columns, panel * depth, depth, bias, panel
            )
    return out


@jit
def byte_linear(x: U8, n: int, columns: I8, scale: F32, bias: F32) -> F32:
    """The same from bytes: bias + scale · (x·W), the sums exact; W as ``packed_bytes`` puts it."""
    depth, width = x.shape[1], bias.size
    out = np.empty((x.shape[0], width), np.float32)
    flat_x, flat = x.ravel(), out.ravel()
    for panel in range(0, width, COLUMNS):
        for r in range(0, n, BYTE_ROWS):
            byte_block(
                flat, r * width + panel, width, flat_x, r * depth, depth, columns, panel * depth, depth // 8, scale,
                bias, panel,
            )  # fmt: skip
    return out


@jit
def attention(x: F32, start: I64) -> F32:
    """softmax(q·kᵀ)·v by head and text; rows of x hold q (already scaled), k and v side by side."""
    width = x.shape[1] // 3
    out = np.zeros((x.shape[0], width), np.float32)
    longest = 0
    for t in range(start.size - 1):
        longest = max(longest, start[t + 1] - start[t])
    padded = (longest + COLUMNS - 1) // COLUMNS * COLUMNS
    keys, values = np.zeros(padded * HEAD, np.float32), np.zeros(padded * HEAD, np.float32)
    scores = np.zeros((longest + SPARE_ROWS) * padded, np.float32)
    found = np.zeros((longest + SPARE_ROWS) * HEAD, np.float32)
    lanes, none, flat = np.zeros(COLUMNS, np.float32), np.zeros(HEAD, np.float32), x.ravel()
    for t in range(start.size - 1):
        first, n = start[t], start[t + 1] - start[t]
        length = (n + COLUMNS - 1) // COLUMNS * COLUMNS
        for head in range(0, width, HEAD):
            _pack(x[first : first + n, width + head : width + head + HEAD], keys, length)
            for half in range(0, HEAD, COLUMNS):
                for k in range(n):
                    for j in range(COLUMNS):
                        values[half * n + k * COLUMNS + j] = x[first + k, 2 * width + head + half + j]
            for r in range(0, n, FLOAT_ROWS):
                at = (first + r) * 3 * width + head
                for panel in range(0, length, COLUMNS):
                    float_block(
                        scores, r * length + panel, length, flat, at, 3 * width, keys, panel * HEAD, HEAD, none, 0
                    )
            for r in range(n):
                _softmax(scores[r * length : (r + 1) * length], n, lanes)
            for r in range(0, n, FLOAT_ROWS):
                for half in range(0, HEAD, COLUMNS):
                    float_block(found, r * HEAD + half, HEAD, scores, r * length, length, values, half * n, n, none, 0)
            for r in range(n):
                out[first + r, head : head + HEAD] = found[r * HEAD : (r + 1) * HEAD]
    return out


@jit
def _pack(keys: F32, packed: F32, length: int) -> None:
    """Keys as columns of blocks; zeros beyond the last."""
    packed[(length - COLUMNS) * HEAD : length * HEAD] = np.float32(0)
    for j in range(keys.shape[0]):
        panel, lane = j // COLUMNS * COLUMNS * HEAD, j % COLUMNS
        for k in range(HEAD):
            packed[panel + k * COLUMNS + lane] = keys[j, k]


@jit
def _exp(x: np.float32) -> np.float32:
    """e^x for −87 ≤ x ≤ 88 to about 2e-7 of itself: 2^n by bits, the rest by its series."""
    n = (x * _LOG2_E + _ROUND) - _ROUND
    r = (x - n * _LN2_HIGH) - n * _LN2_LOW
    p = np.float32(1 / 720)
    p = p * r + np.float32(1 / 120)
    p = p * r + np.float32(1 / 24)
    p = p * r + np.float32(1 / 6)
    p = p * r + _HALF
    p = p * r + _ONE
    p = p * r + _ONE
    return p * np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)


@jit
def _softmax(row: F32, n: int, lanes: F32) -> None:
    """Softmax of the first n entries; sums and maxima by lanes, which can be vectorised without reordering them."""
    for j in range(n, row.size):
        row[j] = np.float32(-3e38)
    lanes[:] = row[:COLUMNS]
    for first in range(COLUMNS, row.size, COLUMNS):
        for j in range(COLUMNS):
            lanes[j] = row[first + j] if row[first + j] > lanes[j] else lanes[j]
    top = lanes[0]
    for j in range(1, COLUMNS):
        top = lanes[j] if lanes[j] > top else top
    for j in range(row.size):
        away = row[j] - top
        row[j] = _exp(away if away > np.float32(-87) else np.float32(-87))
    for j in range(n, row.size):
        row[j] = np.float32(0)
    share = _ONE / _sum(row, lanes)
    for j in range(row.size):
        row[j] *= share


@jit
def _sum(row: F32, lanes: F32) -> np.float32:
    lanes[:] = np.float32(0)
    for first in range(0, row.size, COLUMNS):
        for j in range(COLUMNS):
            lanes[j] += row[first + j]
    total = np.float32(0)
    for j in range(COLUMNS):
        total += lanes[j]
    return total


@jit
def _normalise(row: F32, gain: F32, shift: F32, lanes: F32, away: F32) -> None:
    """Mean zero, variance one, then the layer's own gain and shift; ``lanes`` and ``away`` are room to work in."""
    mean = _sum(row, lanes) / np.float32(row.size)
    for j in range(row.size):
        row[j] -= mean
        away[j] = row[j] * row[j]
    size = _ONE / np.float32(np.sqrt(_sum(away, lanes) / np.float32(row.size) + np.float32(1e-12)))
    for j in range(row.size):
        row[j] = row[j] * size * gain[j] + shift[j]


@jit
def add_and_normalise(x: F32, more: F32, n: int, gain: F32, shift: F32) -> None:
    """x = normalised x + more, for the first n rows."""
    lanes, away = np.empty(COLUMNS, np.float32), np.empty(x.shape[1], np.float32)
    for r in range(n):
        row, other = x[r], more[r]
        for j in range(row.size):
            row[j] += other[j]
        _normalise(row, gain, shift, lanes, away)


@jit
def gelu(x: F32, n: int) -> None:
    """x·Φ(x) for the first n rows: the error function by formula 7.1.26 of Abramowitz and Stegun, to 1.5e-7."""
    flat = x[:n].ravel()
    for i in range(flat.size):
        z = np.float32(0.70710678) * flat[i]
        size = abs(z)
        size = size if size < np.float32(9) else np.float32(9)
        t = _ONE / (_ONE + np.float32(0.3275911) * size)
        p = np.float32(1.061405429)
        p = p * t + np.float32(-1.453152027)
        p = p * t + np.float32(1.421413741)
        p = p * t + np.float32(-0.284496736)
        p = p * t + np.float32(0.254829592)
        rest = _HALF * p * t * _exp(-size * size)  # 1 − Φ(|x|)
        flat[i] *= _ONE - rest if z >= 0 else rest


@jit
def to_bytes(x: F32, n: int, step: F32, least: F32) -> U8:
    """round((x − least)/step), from 0 to 127, for the first n rows; ``step`` holds 1/step of each column."""
    out = np.zeros(x.shape, np.uint8)
    for r in range(n):
        row, made = x[r], out[r]
        for j in range(row.size):
            value = (row[j] - least[j]) * step[j] + _HALF
            value = value if value > 0 else np.float32(0)
            made[j] = np.uint8(np.int32(value if value < 127 else np.float32(127)))
    return out


@jit
def means(x: F32, start: I64) -> F32:
    """Mean of the rows of each text, made a unit vector."""
    out = np.zeros((start.size - 1, x.shape[1]), np.float32)
    for t in range(start.size - 1):
        row = out[t]
        for r in range(start[t], start[t + 1]):
            for j in range(row.size):
                row[j] += x[r, j]
        size = np.float32(0)
        for j in range(row.size):
            size += row[j] * row[j]
        if size > 0:
            share = _ONE / np.float32(np.sqrt(size))
            for j in range(row.size):
                row[j] *= share
    return out
