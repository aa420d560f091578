"""The topic of a document depends on that document alone, to the last bit: the sums of counts are bounded by it."""

import numpy as np
import pytest
from scipy.special import softmax

from dptopics.kernels.embedded import FULL, in_steps
from dptopics.release.topic_sizes import DocumentSpace


def space_of(centres, sharpness):
    size = centres.shape[1]
    plain = {"mean": np.zeros(size), "projection": np.eye(size), "middle": np.zeros(size)}
    return DocumentSpace(embedding="none", of_words=True, centres=centres, sharpness=sharpness, **plain)


def directions(rng, *shape):
    found = rng.standard_normal(shape)
    return in_steps(found / np.linalg.norm(found, axis=-1, keepdims=True)) / FULL


def test_shares_are_the_softmax_of_cosines():
    rng = np.random.default_rng(0)
    documents, centres = directions(rng, 30, 16), directions(rng, 7, 16)
    documents[3] = 0
    np.testing.assert_allclose(space_of(centres, None).shares(in_steps(documents)), documents @ centres.T, atol=1e-12)
    expected = softmax(documents @ centres.T / 0.05, axis=1)
    np.testing.assert_allclose(space_of(centres, 0.05).shares(in_steps(documents)), expected, atol=1e-12)
    np.testing.assert_array_equal(space_of(centres, 0.05).shares(in_steps(documents))[3], np.full(7, 1 / 7))
    assert space_of(centres, 0.05).shares(in_steps(documents[:0])).shape == (0, 7)


@pytest.mark.parametrize("sharpness", [None, 0.05])
@pytest.mark.parametrize("n_topics", [2, 5, 20])
def test_a_row_is_the_same_in_any_batch(sharpness, n_topics):
    """One matrix product for all would round the last row of an odd batch in another way."""
    rng = np.random.default_rng(n_topics)
    documents = directions(rng, 33, 128)
    space = space_of(directions(rng, n_topics, 128), sharpness)
    alone = np.concatenate([space.shares(in_steps(documents[i : i + 1])) for i in range(len(documents))])
    for size in (2, 3, 5, 8, 33):
        parts = [space.shares(in_steps(documents[i : i + size])) for i in range(0, len(documents), size)]
        np.testing.assert_array_equal(np.concatenate(parts), alone)


def test_copies_of_a_text_between_two_centres_have_one_topic():
    rng = np.random.default_rng(1)
    for _ in range(200):
        text, first, second = directions(rng, 3, 128)
        first, second = (side - (side @ text) * text for side in (first, second))
        centres = np.stack([0.8 * text + 0.6 * side / np.linalg.norm(side) for side in (first, second)])
        for copies in (2, 3, 5):
            found = space_of(centres, None).shares(in_steps(np.repeat(text[None], copies, axis=0))).argmax(axis=1)
            assert len(set(found)) == 1
