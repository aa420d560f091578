"""How centres start, move under noise, and are merged; and the axes they lie in."""

import numpy as np
import pytest

from dptopics import Corpus
from dptopics.core.vocabulary import Vocabulary
from dptopics.mechanisms.topics.embedded import EmbeddedTopics
from dptopics.mechanisms.topics.embedded_space import Clusters, Moving, PublicWords, merged, strong
from dptopics.public.embeddings import unit

PLACES = np.array([[1.0, 0.0], [0.98, 0.2], [0.0, 1.0], [-1.0, 0.0]])


def test_weak_and_double_clusters_go():
    places = np.array([[1.0, 0], [0.999, 0.0447], [0, 1.0], [-1.0, 0], [0, -1.0]])
    found = strong(Clusters.of(places, np.array([50.0, 40, 30, 2, 60])), 10.0)
    np.testing.assert_array_equal(found.centres, places[[4, 0, 2]])
    np.testing.assert_array_equal(found.sizes, [60, 90, 30])
    assert len(strong(Clusters.of(places, np.full(5, -3.0)), 10.0).centres) == 2


def test_merging_joins_what_costs_least():
    found = merged(Clusters.of(PLACES, np.array([10.0, 30.0, 20.0, 5.0])), 3)
    assert found.sizes.tolist() == [40, 20, 5]
    assert found.centres[0] @ PLACES[1] > found.centres[0] @ PLACES[0] > 0.98  # the larger one pulls more
    np.testing.assert_allclose(np.linalg.norm(found.centres, axis=1), 1)
    assert len(merged(Clusters.of(PLACES, np.full(4, -1.0)), 9).centres) == 4


def test_two_seeded_centres_are_never_joined():
    found = merged(Clusters.of(PLACES, np.full(4, 10.0), n_seeds=2), 2)
    assert found.seeds.tolist() == [0, 1]


def test_a_sum_without_noise_decides_alone():
    moved = Moving.at(PLACES).by(7 * PLACES[::-1], 1e-9).by(5 * PLACES, 1e-9)
    np.testing.assert_allclose(moved.centres, unit(PLACES), atol=1e-6)


def test_rounds_add_up_where_noise_outweighs_each():
    """One round says nothing, eight say where the documents lie: without memory the centre would stay."""
    rng, dimensions, runs = np.random.default_rng(0), 64, 200
    truth, start = np.zeros((runs, dimensions)), np.zeros((runs, dimensions))
    truth[:, 0], start[:, 1] = 1.0, 1.0
    moving = Moving.at(start)
    for _ in range(8):
        moving = moving.by(6 * truth + rng.normal(0, 1, truth.shape), 1.0)
        alone = Moving.at(start).by(6 * truth + rng.normal(0, 1, truth.shape), 1.0)
    assert (moving.centres[:, 0]).mean() > (alone.centres[:, 0]).mean() + 0.3
    np.testing.assert_allclose(np.linalg.norm(moving.centres, axis=1), 1)


def test_noise_alone_moves_nothing_far():
    rng, start = np.random.default_rng(1), unit(np.ones((500, 64)))
    moving = Moving.at(start)
    for _ in range(8):
        moving = moving.by(rng.normal(0, 3.0, start.shape), 3.0)
    assert np.median((moving.centres * start).sum(axis=1)) > 0.5


def test_seeded_centres_lean():
    moving = Moving.at(PLACES).leaning(np.array([[0.0, 1.0]]), 0.5)
    np.testing.assert_allclose(moving.centres[0], [2**-0.5, 2**-0.5])
    np.testing.assert_array_equal(moving.centres[1:], PLACES[1:])
    np.testing.assert_allclose(Moving.at(PLACES).leaning(PLACES[:0], 0.5).centres, PLACES)


@pytest.mark.parametrize("evenness", [0.0, 1.0])
def test_even_axes_spread_words_alike_but_for_flat_ones(evenness):
    rng, n = np.random.default_rng(2), 4000
    vectors = rng.normal(0, [10.0, 7.0, 3.0, 0.3], (n, 4))
    public = PublicWords(vectors, np.full(n, 1 / n), np.ones(n))
    space = public.space(4, np.full(n, 1 / n), 0.2, evenness)
    along = ((vectors - space.mean) @ space.projection).std(axis=0)
    np.testing.assert_allclose(along, [1, 1, 1, 0.3 / (0.05**0.5 * 10)] if evenness else [10, 7, 3, 0.3], rtol=0.1)


@pytest.mark.parametrize("words", [("KNEE", "Knee"), ("knee pain", "pain knee")])
def test_words_of_one_vector_give_numbers(words):
    """They spread along no axis: nothing may be divided by that, least of all after the charge."""
    corpus = Corpus.from_texts(["knee pain"] * 20)
    for seed in range(15):
        mechanism = EmbeddedTopics(n_topics=2, sigma=2.0, delta=1e-6, unit="document", axes_from_data=0.0)
        given = corpus.bounded().limited(vocabulary=Vocabulary.of(words))
        model = mechanism(given, np.random.default_rng(seed)).value
        assert np.isfinite(model.topic_word).all()
        assert np.isfinite(model.space.projection).all()
        assert np.abs(model.space.projection).max() <= 1000
