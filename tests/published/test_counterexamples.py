"""Why these reproductions promise nothing: neighbours that their release tells apart better than the claimed ε allows.

Each test runs the shipped code on two neighbouring data sets and counts how often something shows. The bound on ε that
follows is exact (Clopper–Pearson), wrong with probability at most 1e-6; it must lie above the claim.
"""

from math import inf, log

import numpy as np
import pytest
from scipy.stats import beta

from dptopics import Corpus
from dptopics.core.errors import NothingReleased
from dptopics.privacy.guarantee import Strength
from dptopics.privacy.rng import secure_rng
from dptopics.published import spectral_edges
from dptopics.published.gibbs import LaplaceCountsTopics
from dptopics.published.spectral import (
    SpectralComponentsTopics,
    SpectralMomentsTopics,
    SpectralOutputTopics,
    SpectralTensorTopics,
)
from dptopics.published.spectral_edges import private_bounds

DELTA = 1e-6
RARE = 1e-6  # false alarm of one bound


def at_least(often, seldom, runs, delta):
    """A lower bound on ε from how often the same thing was seen on either of two neighbours."""
    low = beta.ppf(RARE / 2, often, runs - often + 1) if often else 0.0
    high = beta.ppf(1 - RARE / 2, seldom + 1, runs - seldom)
    return log((low - delta) / high) if low > delta else -inf


def corpus_of(rows, counts, repeats):
    words = [f"w{i:02d}" for i in range(counts)]
    return Corpus.from_counts(np.repeat(rows, repeats, axis=0), words, public_vocabulary=True).bounded(unit="document")


# --- laplace-counts: exact counts are recovered ---


def whole_count(mechanism, model, word):
    """Whether some topic holds a whole number of this word: a cell whose noise was cut at zero holds β and tokens."""
    for weights in model.topic_word:
        count = weights[word] * mechanism.beta / weights.min() - mechanism.beta
        if count > 0.5 and abs(count - round(count)) < 1e-9:
            return True
    return False


def test_laplace_counts_shows_a_word_as_a_whole_number():
    claimed, runs = 0.1, 1000
    mechanism = LaplaceCountsTopics.calibrated(n_topics=5, epsilon=claimed, delta=DELTA, unit="document", steps=10)
    without = np.repeat(np.arange(40)[None] < 5, 4, axis=0).astype(int)
    with_word = without.copy()
    with_word[3, 25] += 1  # one word more, in one document
    seen = []
    for rows in (with_word, without):
        corpus = corpus_of(rows, 40, 1)
        models = (mechanism(corpus, secure_rng()).value for _ in range(runs))
        seen.append(sum(whole_count(mechanism, model, 25) for model in models))
    assert mechanism.guarantee.strength is Strength.NONE
    assert mechanism.guarantee.epsilon <= claimed < at_least(*seen, runs, DELTA)


# --- configuration 2: the whitening jumps where two eigenvalues cross ---


def crossing(n_second):
    """Many documents of one word; then two directions of pairs, all but equal: one of triples too, one of none."""
    rows = np.zeros((23, 23), int)
    rows[0, 0], rows[1, 1], rows[2, 0] = 3, 3, 1  # the last is too short to count
    rows[3:, 2], rows[3:, 3:] = 2, np.eye(20, dtype=int)  # word 2 twice, and one of twenty others
    n_third = 8100 - n_second
    spread = np.full(20, n_third // 20) + (np.arange(20) < n_third % 20)
    return corpus_of(rows, 23, [5000, n_second, 30_000, *spread])


def test_configuration_2_jumps_where_eigenvalues_cross():
    claimed, runs = 1.0, 60
    settings = {"n_topics": 2, "delta": DELTA, "unit": "document", "alpha0": 1e-9}
    mechanism = SpectralTensorTopics.calibrated(epsilon=claimed, **settings)
    neighbours = crossing(2097), crossing(2096)  # one document exchanged for another
    seen = [sum(mechanism(corpus, secure_rng()).value.topic_share.min() > 0.2 for _ in range(runs))
            for corpus in neighbours]  # fmt: skip
    assert mechanism.guarantee.strength is Strength.NONE
    assert mechanism.guarantee.epsilon <= claimed < at_least(*seen, runs, DELTA)


# --- configurations 3 and 4: whether there is a release at all ---


def two_topics(first, second):
    """So many documents of one word and of another, among half a million that are too short to count."""
    return corpus_of(np.array([[3, 0], [0, 3], [1, 0]]), 2, [first, second, 500_000 - first - second])


def refused(mechanism, data):
    try:
        private_bounds(data, mechanism.n_topics, mechanism.alpha0, mechanism.edge_scales["bounds"], mechanism.tail,
                       secure_rng(), gap=True)  # fmt: skip
    except NothingReleased:
        return True
    return False


@pytest.mark.parametrize("kind", [SpectralComponentsTopics, SpectralOutputTopics])
def test_configurations_3_and_4_refuse_one_of_two_neighbours(kind):
    # The gap between the topics is 0 for equal numbers, and 90 times the 2/N of lemma 9 after one exchange.
    claimed, runs = 2.0, 200
    mechanism = kind.calibrated(epsilon=claimed, n_topics=2, delta=DELTA, unit="document", alpha0=1e-9)
    neighbours = [spectral_edges.exact_moments(two_topics(*sizes)) for sizes in ((1000, 1000), (1001, 999))]
    seen = [sum(refused(mechanism, data) for _ in range(runs)) for data in neighbours]
    assert mechanism.guarantee.strength is Strength.NONE
    assert mechanism.guarantee.epsilon <= claimed < at_least(*seen, runs, DELTA)


@pytest.mark.parametrize("kind", [SpectralComponentsTopics, SpectralOutputTopics])
def test_the_refusal_is_what_an_owner_sees(kind):
    mechanism = kind.calibrated(epsilon=2.0, n_topics=2, delta=DELTA, unit="document", alpha0=1e-9)
    with pytest.raises(NothingReleased, match="the gap between topics"):
        mechanism(two_topics(1000, 1000), secure_rng())
    mechanism(two_topics(1001, 999), secure_rng())


def test_configuration_1_is_not_among_them():
    # The same pairs of data sets: what it adds noise to moves by no more than that noise is made for.
    alpha0 = 1e-9
    for pair in ((crossing(2097), crossing(2096)), (two_topics(1000, 1000), two_topics(1001, 999))):
        one, other = (spectral_edges.exact_moments(corpus) for corpus in pair)
        moved = np.linalg.norm(one.lda_pairs(alpha0) - other.lda_pairs(alpha0))
        assert moved <= spectral_edges.pair_sensitivity(alpha0, one.n_units)
        same = np.eye(one.mean.size)
        moved = np.linalg.norm(one.triples(same) - other.triples(same))
        assert moved <= spectral_edges.triple_sensitivity(alpha0, one.n_units)
    assert SpectralMomentsTopics.template(n_topics=2, delta=DELTA).guarantee.strength is Strength.CLAIMED
