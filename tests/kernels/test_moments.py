"""Moments of units as packed vectors, against slow twins; a unit's numbers do not depend on other units."""

from itertools import combinations_with_replacement, permutations

import numpy as np
import pytest

from dptopics.kernels.moments import dense_pairs, document_norms, packed_pairs, packed_triples, unit_norms, unit_scales

WORDS = 4
# Units of documents; the short ones have no moments.
UNITS = [[[3, 0, 1, 0], [1, 1, 0, 2]], [[0, 1, 1, 0]], [[5, 0, 0, 0]], [[1, 1, 1, 1], [0, 0, 1, 0], [0, 2, 0, 2]]]
BOUNDS = np.array([0.5, 0.3, 0.2])


def arrays(units):
    documents = np.array([document for unit in units for document in unit])
    row, word = np.nonzero(documents)
    unit_start = np.concatenate([[0], np.cumsum([len(unit) for unit in units])]).astype(np.int64)
    doc_start = np.searchsorted(row, np.arange(len(documents) + 1)).astype(np.int64)
    return unit_start, doc_start, word.astype(np.int32), documents[row, word].astype(np.int32)


def dense(document):
    """Means over tokens, pairs and triples of distinct tokens."""
    tokens = np.repeat(np.arange(WORDS), document)
    one, two, three = np.zeros(WORDS), np.zeros((WORDS,) * 2), np.zeros((WORDS,) * 3)
    np.add.at(one, tokens, 1)
    for pair in permutations(tokens, 2):
        two[pair] += 1
    for triple in permutations(tokens, 3):
        three[triple] += 1
    return one / one.sum(), two / two.sum(), three / three.sum()


def unit_twin(unit):
    """s, and the unit's mean moments times s."""
    moments = [dense(document) for document in unit if sum(document) >= 3]
    if not moments:
        return 0.0, None
    norms = np.mean([[np.linalg.norm(m) for m in document] for document in moments], axis=0)
    s = min(1.0, *(BOUNDS / norms))
    return s, [s * np.mean([document[j] for document in moments], axis=0) for j in range(3)]


def scaled(units):
    unit_start, doc_start, word, count = arrays(units)
    norms = document_norms(doc_start, count)
    return (unit_start, doc_start, word, count, norms), unit_scales(unit_start, norms, BOUNDS)


def test_one_factor_for_all_moments():
    _, scales = scaled(UNITS)
    for unit, scale in zip(UNITS, scales, strict=True):
        n = sum(sum(document) >= 3 for document in unit)
        assert scale * n == pytest.approx(unit_twin(unit)[0])


def pairs_of(units):
    documents, scales = scaled(units)
    start, rows, values = packed_pairs(*documents, scales, np.array([2.0, 3.0, 5.0]), WORDS)
    out = np.zeros((len(units), 1 + WORDS + WORDS * (WORDS + 1) // 2))
    np.add.at(out, (np.repeat(np.arange(len(units)), np.diff(start)), rows), values[:, 0])
    return out


def test_packed_pairs():
    found = pairs_of(UNITS)
    for unit, row in zip(UNITS, found, strict=True):
        s, moments = unit_twin(unit)
        if moments is None:
            assert not row.any()
            continue
        upper = [
            moments[1][i, j] * (1 if i == j else 2**0.5) for i, j in combinations_with_replacement(range(WORDS), 2)
        ]
        np.testing.assert_allclose(row, [2 * s, *(3 * moments[0]), *(5 * np.array(upper))], atol=1e-14)
        assert np.linalg.norm(row[1 + WORDS :]) == pytest.approx(5 * np.linalg.norm(moments[1]))


def test_many_documents_take_no_more_room_than_their_words():
    """However many documents a unit has; and the sum is the same, bit for bit."""
    rng = np.random.default_rng(2)
    alone = [rng.integers(0, 4, WORDS).tolist() for _ in range(50)]
    documents, scales = scaled([alone, [[1, 1, 1, 1]]])
    start, rows, values = packed_pairs(*documents, scales, np.array([2.0, 3.0, 5.0]), WORDS)
    room = 1 + WORDS + WORDS * (WORDS + 1) // 2
    assert np.diff(start).tolist() == [room, room]
    assert sorted(rows[:room].tolist()) == list(range(room))
    # The same documents as units of their own, each with the factor of the whole: added up one after another.
    unit_start, doc_start, word, count, norms = documents
    apart = np.arange(doc_start.size, dtype=np.int64)
    factors = np.repeat(scales, np.diff(unit_start))
    start, apart_rows, apart_values = packed_pairs(
        apart, doc_start, word, count, norms, factors, np.array([2.0, 3.0, 5.0]), WORDS
    )
    expected, order = np.zeros(room), []
    for row, value in zip(apart_rows[: start[50]].tolist(), apart_values[: start[50], 0].tolist(), strict=True):
        expected[row] += value
        order += [row] if row not in order else []
    assert rows[:room].tolist() == order
    assert values[:room, 0].tolist() == expected[order].tolist()


def triples_of(units, view):
    documents, scales = scaled(units)
    return packed_triples(*documents, scales, view)


def test_packed_triples():
    view = np.random.default_rng(0).normal(size=(WORDS, 3))
    found = triples_of(UNITS, view)
    for unit, row in zip(UNITS, found, strict=True):
        _, moments = unit_twin(unit)
        if moments is None:
            assert not row.any()
            continue
        cube = np.einsum("abc,ai,bj,cl->ijl", moments[2], view, view, view)
        packed = [
            cube[triple] * len(set(permutations(triple))) ** 0.5
            for triple in combinations_with_replacement(range(3), 3)
        ]
        np.testing.assert_allclose(row, packed, atol=1e-12)
        assert np.linalg.norm(row) == pytest.approx(np.linalg.norm(cube))


def test_a_unit_is_the_same_in_any_company():
    view = np.random.default_rng(1).normal(size=(WORDS, 3))
    together = pairs_of(UNITS), triples_of(UNITS, view)
    for number, unit in enumerate(UNITS):
        np.testing.assert_array_equal(pairs_of([unit])[0], together[0][number])
        np.testing.assert_array_equal(triples_of([unit], view)[0], together[1][number])


def test_mean_norms_of_units():
    unit_start, doc_start, _, count = arrays(UNITS)
    found = unit_norms(unit_start, document_norms(doc_start, count))
    for unit, row in zip(UNITS, found, strict=True):
        norms = [[np.linalg.norm(m) for m in dense(document)] for document in unit if sum(document) >= 3]
        np.testing.assert_allclose(row, np.mean(norms, axis=0) if norms else np.zeros(3))


def test_dense_pairs():
    _, doc_start, word, count = arrays(UNITS)
    documents = [np.array(document) for unit in UNITS for document in unit]
    weight = np.arange(1.0, len(documents) + 1)
    twin = sum(w * (np.outer(c, c) - np.diag(c)) for w, c in zip(weight, documents, strict=True))
    np.testing.assert_allclose(dense_pairs(doc_start, word, count, weight, WORDS), twin)
