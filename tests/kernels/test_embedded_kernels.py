"""Documents as vectors, nearest centres and votes, against slow twins."""

import numpy as np
import pytest

from dptopics.kernels.embedded import FULL, cosines, in_steps, mean_of_words, near_themes, nearest, projected, votes


def unit(x):
    size = np.linalg.norm(x)
    return x / size if size > 0 else x


@pytest.fixture
def documents():
    rng = np.random.default_rng(0)
    sizes = np.array([3, 0, 5, 1])
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    word = np.concatenate([np.sort(rng.choice(9, n, replace=False)) for n in sizes]).astype(np.int32)
    return start, word, rng.integers(1, 20, word.size).astype(np.int32)


def test_mean_of_words(documents):
    start, word, count = documents
    rng = np.random.default_rng(1)
    vectors, middle = rng.normal(size=(9, 4)).astype(np.float32), 0.2 * rng.normal(size=4)
    found = mean_of_words(start, word, count, vectors, middle)
    for d in range(4):
        mine = slice(start[d], start[d + 1])
        mean = unit((np.sqrt(count[mine])[:, None] * vectors[word[mine]].astype(float)).sum(axis=0))
        expected = unit(mean - middle) if mine.start < mine.stop else np.zeros(4)
        np.testing.assert_allclose(found[d] / FULL, expected, atol=0.6 / FULL)


def test_projected():
    rng = np.random.default_rng(2)
    raw, mean, axes, middle = rng.normal(size=(5, 6)), rng.normal(size=6), rng.normal(size=(6, 3)), rng.normal(size=3)
    raw = raw.astype(np.float32)
    raw[2] = 0
    found = projected(raw, mean, axes, middle)
    for d in (0, 1, 3, 4):
        expected = unit(unit((unit(raw[d].astype(float)) - mean) @ axes) - middle)
        np.testing.assert_allclose(found[d] / FULL, expected, atol=0.6 / FULL)
    assert not found[2].any()


def test_a_document_is_the_same_in_any_block(documents):
    start, word, count = documents
    rng = np.random.default_rng(3)
    vectors, middle = rng.normal(size=(9, 4)).astype(np.float32), 0.2 * rng.normal(size=4)
    together = mean_of_words(start, word, count, vectors, middle)
    alone = mean_of_words(start[2:4] - start[2], word[start[2] :], count[start[2] :], vectors, middle)
    np.testing.assert_array_equal(together[2], alone[0])


def test_nearest():
    rng = np.random.default_rng(4)
    documents, centres = (in_steps(np.array([unit(row) for row in rng.normal(size=(n, 60))])) for n in (50, 7))
    documents[3] = 0
    exact = documents.astype(np.int64) @ centres.astype(np.int64).T
    expected = exact.argmax(axis=1)
    expected[3] = -1
    np.testing.assert_array_equal(nearest(documents, centres), expected)
    np.testing.assert_allclose(cosines(documents, centres), exact / FULL**2, atol=1e-15)
    found, near = near_themes(documents, centres, 3)
    order = np.argsort(-exact, axis=1, kind="stable")[:, :3]
    order[3] = -1
    np.testing.assert_array_equal(found, order)
    np.testing.assert_allclose(near, np.where(order < 0, 0, np.take_along_axis(exact, order, 1) / FULL**2))
    same = in_steps(np.full((3, 4), 0.5))
    np.testing.assert_array_equal(nearest(same[:1], same), [0])  # the first of equals


def test_the_product_of_equal_unit_vectors_fits_32_bits():
    for width in (1, 3, 128, 1024):
        one = in_steps(np.full((1, width), width**-0.5))
        assert nearest(one, one).tolist() == [0]
        assert cosines(one, one)[0, 0] == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("most", [1, 2, 8])
def test_votes(documents, most):
    start, word, _ = documents
    rng = np.random.default_rng(5)
    score = rng.integers(-2, 4, size=(9, 3)).astype(np.float32)  # many equal scores, some negative
    topic = np.array([2, 0, 1, -1], np.int32)
    first, chosen, weight = votes(start, word, topic, score, most)
    for d in range(4):
        mine = word[start[d] : start[d + 1]]
        liked = [w for w in mine if topic[d] >= 0 and score[w, topic[d]] > 0]
        best = sorted(liked, key=lambda w: (-score[w, topic[d]], w))[:most]
        got = slice(first[d], first[d + 1])
        assert chosen[got].tolist() == best
        if best:
            np.testing.assert_allclose(weight[got], unit(score[best, topic[d]].astype(float)))
            assert np.linalg.norm(weight[got]) == pytest.approx(1)
