"""Counting n-grams per unit, and brute-force sensitivity, against slow twins."""

import numpy as np
import pytest

from dptopics.kernels.counts import unit_counts
from dptopics.kernels.gather import compact
from dptopics.kernels.local_sensitivity import largest_dot, largest_share, largest_weighted_log


def random_units(seed, n_units=30, n_words=9):
    rng = np.random.default_rng(seed)
    docs, unit_start = [], [0]
    for _ in range(n_units):
        for _ in range(rng.integers(0, 4)):
            words = np.sort(rng.permutation(n_words)[: rng.integers(0, 6)])
            docs.append((words, rng.integers(1, 9, words.size)))
        unit_start.append(len(docs))
    doc_start = np.concatenate([[0], np.cumsum([w.size for w, _ in docs])]).astype(np.int64)
    word = np.concatenate([w for w, _ in docs]).astype(np.int32)
    count = np.concatenate([c for _, c in docs]).astype(np.int32)
    return np.array(unit_start), doc_start, word, count


def slow_matrix(units, n_words, most):
    unit_start, doc_start, word, count = units
    table = np.zeros((unit_start.size - 1, n_words))
    for unit in range(unit_start.size - 1):
        for e in range(doc_start[unit_start[unit]], doc_start[unit_start[unit + 1]]):
            table[unit, word[e]] += count[e]
    return np.minimum(table, most)


@pytest.mark.parametrize("most", [1, 3, 100])
@pytest.mark.parametrize("seed", range(4))
def test_unit_counts(seed, most):
    units = random_units(seed)
    start, rows, values = unit_counts(*units, 9, most)
    found = np.zeros((start.size - 1, 9))
    for unit in range(start.size - 1):
        mine = slice(start[unit], start[unit + 1])
        assert len(set(rows[mine].tolist())) == rows[mine].size
        found[unit, rows[mine]] = values[mine, 0]
    np.testing.assert_array_equal(found, slow_matrix(units, 9, most))
    assert (values[:, 1] == 1).all()


def test_unit_counts_beyond_32_bits():
    one = 2**31 - 1
    units = (np.array([0, 3]), np.array([0, 1, 2, 3]), np.zeros(3, np.int32), np.full(3, one, np.int32))
    assert unit_counts(*units, 1, 10**12)[2][0, 0] == 3 * one
    assert unit_counts(*units, 1, 7)[2][0, 0] == 7


@pytest.mark.parametrize("slope", [0.01, 0.2, 5.0])
@pytest.mark.parametrize("most", [1, 4])
@pytest.mark.parametrize("seed", range(3))
def test_local_sensitivity(seed, most, slope):
    units = random_units(seed)
    table = slow_matrix(units, 9, most)
    start, rows, values = unit_counts(*units, 9, most)
    delta = np.ascontiguousarray(values[:, 0])

    def value(rows):
        logs = np.log1p(rows.sum(axis=0))
        return np.minimum(1, slope * (rows > 0).sum(axis=0)) * (logs - logs.mean())

    def without(unit):
        return np.delete(table, unit, axis=0)

    everybody = range(table.shape[0])
    count, users = table.sum(axis=0), (table > 0).sum(axis=0).astype(float)
    slow = max(np.linalg.norm(value(table) - value(without(u))) for u in everybody)
    assert largest_weighted_log(start, rows, delta, count, users, slope, False) == pytest.approx(slow, rel=1e-12)

    def printed(unit):
        """‖w ⊙ Δx̂ + (S/C) 1(Δc > 0) ⊙ x̂₋‖₂, algorithm 1 word for word."""
        logs, others = np.log1p(count), np.log1p(without(unit).sum(axis=0))
        change = (logs - logs.mean()) - (others - others.mean())
        return np.linalg.norm(
            np.minimum(1, slope * users) * change + slope * (table[unit] > 0) * (others - others.mean())
        )

    slow = max(map(printed, everybody))
    assert largest_weighted_log(start, rows, delta, count, users, slope, True) == pytest.approx(slow, rel=1e-12)

    def share(rows):
        return rows.sum(axis=0) / rows.sum()

    slow = max(np.abs(share(table) - share(without(u))).sum() for u in everybody)
    assert largest_share(start, rows, delta, count) == pytest.approx(slow, rel=1e-12)
    weight = np.random.default_rng(seed).random(9)
    assert largest_dot(start, rows, delta, weight) == pytest.approx(float((table @ weight).max()), rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_compact(seed):
    _, doc_start, word, count = random_units(seed)
    keep = np.random.default_rng(seed).random(word.size) < 0.5
    before = np.concatenate([[0], np.cumsum(keep)])
    start, kept_word, kept_count = compact(doc_start, word.copy(), count.copy(), keep)
    np.testing.assert_array_equal(start, before[doc_start])
    np.testing.assert_array_equal(kept_word, word[keep])
    np.testing.assert_array_equal(kept_count, count[keep])
