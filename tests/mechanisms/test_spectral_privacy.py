"""Spectral topics lose no more than they claim, by what an attacker sees at most: the noisy sums themselves.

As in :mod:`test_mechanisms`; all that follows the sums is post-processing and would only blur the score.
"""

from dataclasses import replace

import numpy as np
from lower_bound import epsilon_at_least

from dptopics.core.vocabulary import Vocabulary
from dptopics.data.corpus import Corpus
from dptopics.learners import spectral as tensor
from dptopics.mechanisms.topics import spectral
from dptopics.mechanisms.topics.spectral import SpectralTopics
from dptopics.privacy import noise
from dptopics.privacy.guarantee import Strength

DELTA = 1e-3
SIGMA = 0.5  # so little noise that the attack has power with few runs
WORDS = Vocabulary.of(["knee", "skin"])
RUNS = 500
draw_gaussian = noise.gaussian
draw_sum = spectral.noisy_sum


def bounded(texts):
    return Corpus.from_texts(texts, authors=range(len(texts))).bounded().limited(vocabulary=WORDS)


def mechanism_for():
    return SpectralTopics(n_topics=2, sigma=SIGMA, delta=DELTA, size_share=0.0)


# One word many times has norm one in every moment.
OTHERS, UNIT = ["skin skin knee", "skin knee knee"] * 30, "skin " * 50


def exact(block, statistic):
    """Without noise, rounding and threads: quick."""
    start, rows, values = statistic(block)
    each = np.zeros((start.size - 1, statistic.height, statistic.width))
    np.add.at(each, (np.repeat(np.arange(start.size - 1), np.diff(start)), rows), values)
    norm = np.sqrt((each**2).sum(axis=(1, 2)))
    return (each / np.maximum(norm, 1.0)[:, None, None]).sum(axis=0)


def scores(monkeypatch, mechanism, texts, rng):
    """Runs on one corpus: each noisy sum, less what the others give, along the unit's own vector, by its variance.

    An attacker knows the unit and the others, and every statistic is public: it depends on earlier sums only.
    """
    seen = []
    unit, others = (corpus._block for corpus in (bounded([UNIT]), bounded(OTHERS)))

    def watched(corpus, statistic, *, bound, sigma, rng):
        noisy = draw_sum(corpus, statistic, bound=bound, sigma=sigma, rng=rng)
        seen[-1] += float(((noisy - exact(others, statistic)) * exact(unit, statistic)).sum()) / sigma**2
        return noisy

    monkeypatch.setattr(spectral, "noisy_sum", watched)
    monkeypatch.setattr(spectral, "bounds_from", lambda *rest: np.ones(3))  # the unit meets all bounds at once
    # What follows the last sum is post-processing.
    monkeypatch.setattr(tensor, "orthogonal_components", lambda cube, key: (np.ones(2), np.eye(2)))
    corpus = bounded(texts)
    for _ in range(RUNS):
        seen.append(0.0)
        mechanism(corpus, rng)
    return seen


def measured(monkeypatch, mechanism, seed):
    """Lower bound on ε, and how far apart the scores are, in deviations: 1/σ for a unit at its bounds."""
    rng = np.random.default_rng(seed)
    with_unit, without_unit = (scores(monkeypatch, mechanism, texts, rng) for texts in ([*OTHERS, UNIT], OTHERS))
    apart = (np.mean(with_unit) - np.mean(without_unit)) / np.sqrt((np.var(with_unit) + np.var(without_unit)) / 2)
    return epsilon_at_least(with_unit, without_unit, delta=DELTA), apart


# Standard error of the distance (Hedges & Olkin 1985), six of them: false alarms below 1e-8.
ERROR = 6 * np.sqrt(2 / RUNS + SIGMA**-2 / (4 * RUNS))


def test_claim_is_not_exceeded_and_nearly_met(monkeypatch):
    mechanism = mechanism_for()
    assert mechanism.guarantee.strength is Strength.PROVED
    epsilon, apart = measured(monkeypatch, mechanism, 1)
    assert 1 < epsilon <= mechanism.guarantee.epsilon
    assert abs(apart - 1 / SIGMA) < ERROR < 0.3 / SIGMA


def test_muted_twin_is_caught(monkeypatch):
    mechanism = mechanism_for()
    monkeypatch.setattr(noise, "gaussian", lambda rng, sigma, size: draw_gaussian(rng, sigma / 8, size))
    _, apart = measured(monkeypatch, mechanism, 2)
    assert apart > 1 / SIGMA + ERROR


def test_muted_twin_of_a_stronger_claim_is_caught(monkeypatch):
    # By the bound on ε alone, which needs no law of the scores.
    mechanism = replace(mechanism_for(), sigma=3.0)
    monkeypatch.setattr(noise, "gaussian", lambda rng, sigma, size: draw_gaussian(rng, sigma / 8, size))
    epsilon, _ = measured(monkeypatch, mechanism, 3)
    assert epsilon > mechanism.guarantee.epsilon
