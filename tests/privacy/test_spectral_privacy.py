"""Spectral topics lose no more than they claim, by what an attacker sees at most: the noisy sums themselves.

As in :mod:`test_mechanisms`; all that follows the sums is post-processing and would only blur the score.
"""

import numpy as np
from lower_bound import epsilon_at_least

from dptopics import noise
from dptopics.corpus import Corpus
from dptopics.guarantee import Strength
from dptopics.learners import tensor
from dptopics.release import Vocabulary
from dptopics.topics import spectral
from dptopics.topics.spectral import SpectralTopics

DELTA = 1e-3
WORDS = Vocabulary.of(["knee", "skin"])
RUNS = 600
draw_gaussian = noise.gaussian
draw_sum = spectral._noisy


def bounded(texts):
    return Corpus.from_texts(texts, authors=range(len(texts))).bounded().limited(vocabulary=WORDS)


def mechanism_for():
    # One word many times has norm one in every moment, which meets every bound.
    bounds = {"mean_bound": 1.0, "pair_bound": 1.0, "triple_bound": 1.0}
    return SpectralTopics(n_topics=2, sigma=1.6, delta=DELTA, **bounds)


OTHERS = ["skin skin knee", "skin knee knee"] * 30


def exact(corpus, statistic):
    return corpus.bounded_sum(statistic, bound=1.0, grid=2.0**-24) * 2.0**-24


def scores(monkeypatch, mechanism, texts, rng):
    """Runs on one corpus: each noisy sum, less what the others give, along the unit's own vector, by its variance."""
    seen, known = [], {}
    unit, others = bounded(["skin " * 50]), bounded(OTHERS)

    def watched(corpus, statistic, sigma, rng):
        noisy = draw_sum(corpus, statistic, sigma, rng)
        # An attacker knows the unit and the others, and the statistic is public. That of pairs is always the same.
        key = type(statistic) if isinstance(statistic, spectral._Pairs) else len(seen)
        if key not in known:
            known[key] = exact(unit, statistic), exact(others, statistic)
        own, rest = known[key]
        seen[-1] += float(((noisy - rest) * own).sum()) / sigma**2
        return noisy

    monkeypatch.setattr(spectral, "_noisy", watched)
    monkeypatch.setattr(tensor, "_STARTS", 1)  # post-processing, and slow on noise
    corpus = bounded(texts)
    for _ in range(RUNS):
        seen.append(0.0)
        mechanism(corpus, rng)
    return seen


def measured(monkeypatch, mechanism, seed):
    rng = np.random.default_rng(seed)
    with_unit, without_unit = (
        scores(monkeypatch, mechanism, texts, rng) for texts in ([*OTHERS, "skin " * 50], OTHERS)
    )
    return epsilon_at_least(with_unit, without_unit, delta=DELTA)


def test_claim_is_not_exceeded(monkeypatch):
    mechanism = mechanism_for()
    assert mechanism.guarantee.strength is Strength.PROVED
    assert measured(monkeypatch, mechanism, 1) <= mechanism.guarantee.epsilon < 3


def test_muted_twin_is_caught(monkeypatch):
    mechanism = mechanism_for()
    monkeypatch.setattr(noise, "gaussian", lambda rng, sigma, size: draw_gaussian(rng, sigma / 8, size))
    assert measured(monkeypatch, mechanism, 2) > mechanism.guarantee.epsilon


def test_topics_depend_on_the_data_through_noisy_sums_only(monkeypatch):
    mechanism = mechanism_for()
    releases = []
    for texts in (["skin knee knee"] * 9, ["skin"], ["knee " * 100] * 80 + ["hand"]):
        planned = np.random.default_rng(9)
        looks = []

        def planned_sum(corpus, statistic, sigma, rng, planned=planned, looks=looks):
            looks.append(draw_sum(corpus, statistic, sigma, rng).shape)
            return planned.normal(40, 20, looks[-1])

        monkeypatch.setattr(spectral, "_noisy", planned_sum)
        releases.append(mechanism(bounded(texts), np.random.default_rng(0)))
        assert looks == [(1 + 2 + 3, 1), (1, 4)]
    models = [
        [r.value.topic_word.tolist(), r.value.topic_share.tolist(), r.value.deviation.tolist(), r.settings]
        for r in releases
    ]
    assert models[0] == models[1] == models[2]
