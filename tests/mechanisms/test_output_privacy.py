"""Output perturbation loses no more than it says on pairs within the sampled distance, and these tests would notice.

The strength is `random`: what is tested is the part that is about noise and order. As in test_mechanisms.py, ε is
bounded from below from many runs on two neighbours; a muted twin and a twin that keeps the order of topics are caught.
"""

from dataclasses import fields

import numpy as np
import pytest
from lower_bound import epsilon_at_least

from dptopics.core.vocabulary import Vocabulary
from dptopics.data.corpus import Corpus
from dptopics.mechanisms.topics.output_matrix import OutputMatrix, units_of
from dptopics.mechanisms.topics.output_sensitivity import DrawnUnits, distance, draw_pair, n_pairs
from dptopics.privacy import noise
from dptopics.published.topicdp import LaplaceOutputTopics

DELTA = 1e-3
RUNS = 4000
WORDS = Vocabulary.of(["knee", "skin"])
draw_gaussian, draw_laplace = noise.gaussian, noise.laplace


def bounded(texts):
    return Corpus.from_texts(texts).bounded(unit="document").limited(vocabulary=WORDS)


PUBLIC = Corpus.from_texts(["knee knee knee", "skin skin skin"] * 10).bounded(unit="document")
FIRST = bounded(["knee skin"] * 30 + ["knee knee knee"])
SECOND = bounded(["knee skin"] * 30 + ["skin skin skin"])


def histogram(counts):
    """One unit moves it by (3, −3)/10."""
    return np.bincount(counts.word, counts.count, counts.n_words)[None] / 10


def swapping(counts):
    """Two topics far apart, whose order hangs on a single word."""
    topics = np.array([[1.0, 0.0], [0.0, 1.0]]) + histogram(counts) * 0.01
    return topics if histogram(counts)[0, 0] % 0.2 < 0.1 else topics[::-1]


def mute(monkeypatch, part=8):
    monkeypatch.setattr(noise, "gaussian", lambda rng, sigma, size: draw_gaussian(rng, sigma / part, size))
    monkeypatch.setattr(noise, "laplace", lambda rng, scale, size: draw_laplace(rng, scale / part, size))


def prepared(function, **settings):
    mechanism = OutputMatrix.calibrated(
        function=function, epsilon=2.0, delta=DELTA, gamma=0.1, public=PUBLIC, unit="document", **settings
    )
    return mechanism.prepared(FIRST)


def scores(mechanism, corpus, direction, seed):
    """How far each release lies in the direction that tells the neighbours apart best."""
    rng = np.random.default_rng(seed)
    exact = mechanism.exact(corpus)  # the same every time: learn once
    object.__setattr__(mechanism, "exact", lambda _: exact)
    found = [float(np.sum(mechanism.noisy(corpus, rng)[0] * direction)) for _ in range(RUNS)]
    object.__delattr__(mechanism, "exact")
    return found


def lower_bound(mechanism, direction):
    return epsilon_at_least(
        scores(mechanism, FIRST, direction, 1), scores(mechanism, SECOND, direction, 2), delta=DELTA
    )


def test_the_pair_is_as_far_as_the_sampled_ones():
    mechanism = prepared(histogram, matched=False)
    first, second = (histogram(units_of(corpus).counts) for corpus in (FIRST, SECOND))
    assert distance(first, second) == pytest.approx(mechanism.sensitivity.value, rel=1e-6)


def test_claim_and_muted_twin(monkeypatch):
    mechanism = prepared(histogram, matched=False)
    direction = np.array([[1.0, -1.0]])
    honest = lower_bound(mechanism, direction)
    assert 0.2 < honest <= mechanism.guarantee.epsilon  # and the test has power
    mute(monkeypatch)
    assert lower_bound(mechanism, direction) > 2 * mechanism.guarantee.epsilon


def test_matching_with_forgotten_order_and_the_twin_that_keeps_it():
    # Neighbours whose topics come in another order: matched, they are 0.006 apart; as they are, 2.
    mechanism = prepared(swapping)
    first, second = (swapping(units_of(corpus).counts) for corpus in (FIRST, SECOND))
    assert distance(first, second, matched=False) > 1.9
    assert distance(first, second) <= mechanism.sensitivity.value < 0.01
    direction = np.array([[1.0, -1.0], [-1.0, 1.0]])
    assert lower_bound(mechanism, direction) <= mechanism.guarantee.epsilon

    class Ordered(OutputMatrix):
        """The matched sensitivity, but topics in the function's order."""

        def noisy(self, corpus, rng):
            steps, far = self.exact(corpus)
            return (steps + noise.gaussian(rng, self.sigma * far / self.grid, steps.shape)) * self.grid, 0.0

    same = {field.name: getattr(mechanism, field.name) for field in fields(mechanism)}
    assert lower_bound(Ordered(**same), direction) > 2 * mechanism.guarantee.epsilon


def test_sampled_sensitivity_covers_fresh_pairs_as_often_as_it_says():
    # Over sampler seeds and fresh pairs: missed at most γ of the time.
    rng, texts = np.random.default_rng(5), []
    for size in rng.pareto(1.5, 200) * 3 + 1:  # some units are much larger than others
        texts.append(" ".join(rng.choice(WORDS.words, int(min(size, 400)))))
    units = DrawnUnits(units_of(bounded(texts)))
    gamma, n = 0.3, 6
    far = [
        distance(*(histogram(part) for part in draw_pair(units, n, np.random.default_rng([9, i])))) for i in range(4000)
    ]
    rounds = np.array(far).reshape(-1, n_pairs(gamma) + 1)
    missed = np.mean(rounds[:, -1] > rounds[:, :-1].max(axis=1))
    assert missed <= gamma + 0.03
    assert missed > 0.1  # it is not that nothing is ever missed: the statement is about probability


# --- Laplace by global sensitivity: proved ---


def extreme(counts):
    """The most that a function into two distributions can do with one document."""
    knee = np.bincount(counts.word, counts.count, 2)[0] > 31
    return np.array([[1.0, 0.0]] * 2) if knee else np.array([[0.0, 1.0]] * 2)


def laplace_scores(mechanism, corpus, seed):
    """Log likelihood ratio of the two outputs there are: the best test."""
    rng = np.random.default_rng(seed)
    released = [mechanism(corpus, rng).value.topic_word for _ in range(RUNS // 2)]
    one, other = np.array([[1.0, 0.0]] * 2), np.array([[0.0, 1.0]] * 2)
    return [float(np.sum(np.abs(matrix - other) - np.abs(matrix - one))) for matrix in released]


def test_laplace_claim_and_muted_twin(monkeypatch):
    mechanism = LaplaceOutputTopics.calibrated(
        learner=extreme, n_topics=2, epsilon=2.0, delta=DELTA, unit="document", post="none"
    )
    honest = epsilon_at_least(laplace_scores(mechanism, FIRST, 1), laplace_scores(mechanism, SECOND, 2), delta=DELTA)
    assert 0.2 < honest <= mechanism.guarantee.epsilon
    mute(monkeypatch)
    muted = epsilon_at_least(laplace_scores(mechanism, FIRST, 1), laplace_scores(mechanism, SECOND, 2), delta=DELTA)
    assert muted > 1.5 * mechanism.guarantee.epsilon
