"""Thresholds of all vocabulary mechanisms against values computed with other means and many digits."""

from math import ceil, inf

import mpmath as mp
import numpy as np
import pytest

from dptopics import Corpus, Vocabulary
from dptopics.core.errors import InputError
from dptopics.mechanisms.vocabulary import threshold
from dptopics.mechanisms.vocabulary.policy import GreedyVocabulary, PolicyVocabulary
from dptopics.mechanisms.vocabulary.threshold import CountVocabulary, WeightedVocabulary, clearing
from dptopics.plan import Plan
from dptopics.privacy.events import Noise
from dptopics.privacy.guarantee import Unit
from dptopics.published.vocabulary import GreedyAsPublished
from dptopics.registry import catalogue, mechanisms

mp.mp.dps = 40
EPSILON = pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
DELTA = pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-10])
MAX_WORDS = pytest.mark.parametrize("max_words", [1, 2, 37, 200])
# Mechanism and noise; the norm of a lone unit's equal weights, 0 where every word weighs one.
EQUAL = [
    (WeightedVocabulary, "gaussian", 2),
    (WeightedVocabulary, "laplace", 1),
    (PolicyVocabulary, "gaussian", 2),
    (PolicyVocabulary, "laplace", 1),
    (CountVocabulary, "gaussian", 0),
    (CountVocabulary, "laplace", 0),
]


def survival(noise, z):
    """P[draw of scale one > z]."""
    if noise == "gaussian":
        return mp.erfc(z / mp.sqrt(2)) / 2
    return mp.exp(-z) / 2 if z >= 0 else 1 - mp.exp(z) / 2


def gaussian_delta(epsilon, sigma):
    """Balle & Wang 2018, theorem 8."""
    mu = 1 / mp.mpf(sigma)
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


@EPSILON
@DELTA
@MAX_WORDS
@pytest.mark.parametrize("kind, noise, norm", EQUAL)
def test_t_lone_words_stay_hidden_with_the_stated_probability(kind, noise, norm, epsilon, delta, max_words):
    mechanism = kind.calibrated(epsilon=epsilon, delta=delta, max_words=max_words, noise=noise)
    tail = mp.mpf(delta) / 2 if noise == "gaussian" else mp.mpf(delta)
    assert mechanism.tail == pytest.approx(float(tail), rel=1e-15)
    rho, scale = mp.mpf(mechanism.threshold), mp.mpf(mechanism.scale) * mp.mpf(getattr(mechanism, "bound", 1))
    slipped = []
    for t in range(1, max_words + 1):
        weight = mp.mpf(t) ** (mp.mpf(-1) / norm) if norm else mp.mpf(1)
        slipped.append(1 - (1 - survival(noise, (rho - weight) / scale)) ** t)
    assert max(slipped) <= tail * (1 + mp.mpf(1e-8))
    assert max(slipped) == pytest.approx(tail, rel=1e-8)  # the least threshold, too


@EPSILON
@DELTA
def test_noise_scales(epsilon, delta):
    for kind, noise, _ in EQUAL:
        mechanism = kind.calibrated(epsilon=epsilon, delta=delta, max_words=50, noise=noise)
        assert epsilon * (1 - 1e-6) <= mechanism.guarantee.epsilon <= epsilon
        if noise == "laplace":
            assert mechanism.scale == pytest.approx(1 / epsilon, rel=1e-9)
        else:
            sigma = mechanism.scale / (1 + getattr(mechanism, "slack", 0))
            assert gaussian_delta(epsilon, sigma) == pytest.approx(mp.mpf(delta) / 2, rel=1e-6)


# The table of docs: ε = 1, δ = 1e-6, 100 words. Evaluated with mpmath from the printed formulas.
GOLDEN = {
    (WeightedVocabulary, "gaussian"): 25.1155192522,
    (WeightedVocabulary, "laplace"): 17.7375330684,
    (PolicyVocabulary, "laplace"): 17.7375330684,
    (CountVocabulary, "gaussian"): 251.155192522,
    (CountVocabulary, "laplace"): 1773.75330684,
    (GreedyVocabulary, "laplace"): 17.7445704266,
}


def printed(kind, noise):
    """The formulas of the tables, with a σ found by bisection."""
    delta, words = mp.mpf("1e-6"), 100
    if noise == "gaussian":
        low, high = mp.mpf(1), mp.mpf(10)
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (low, middle) if gaussian_delta(1, middle) <= delta / 2 else (middle, high)

        def quantile(t):
            miss = -mp.expm1(mp.log1p(-delta / 2) / t)
            return mp.sqrt(2) * mp.erfinv(1 - 2 * miss)

        if kind is CountVocabulary:
            return 1 + mp.sqrt(words) * high * quantile(words)
        return max(1 / mp.sqrt(t) + high * quantile(t) for t in range(1, words + 1))
    if kind is GreedyVocabulary:
        return 1 + mp.log((1 + (words - 1) * mp.exp(-1)) / (2 * delta))

    def hidden(t):
        return mp.log(1 / (2 * -mp.expm1(mp.log1p(-delta) / t)))

    if kind is CountVocabulary:
        return 1 + words * hidden(words)
    return max(mp.mpf(1) / t + hidden(t) for t in range(1, words + 1))


@pytest.mark.parametrize("kind, noise", GOLDEN)
def test_golden_thresholds(kind, noise):
    mechanism = kind.calibrated(epsilon=1.0, delta=1e-6, max_words=100, noise=noise)
    assert mechanism.threshold == pytest.approx(float(printed(kind, noise)), rel=1e-7)
    assert mechanism.threshold == pytest.approx(GOLDEN[kind, noise], rel=1e-7)


@EPSILON
@DELTA
@MAX_WORDS
def test_greedy_threshold(epsilon, delta, max_words):
    # One lone word of weight one and the unit's other lone words of none: a union bound that is met exactly.
    mechanism = GreedyVocabulary.calibrated(epsilon=epsilon, delta=delta, max_words=max_words)
    rho, scale = mp.mpf(mechanism.threshold), mp.mpf(mechanism.scale)
    slipped = survival("laplace", (rho - 1) / scale) + (max_words - 1) * survival("laplace", rho / scale)
    assert slipped == pytest.approx(mp.mpf(delta), rel=1e-8)
    assert mechanism.threshold >= 1 - mechanism.scale * np.log(2 * delta) - 1e-9  # never below the published one
    if max_words == 1:
        assert mechanism.threshold == pytest.approx(1 - np.log(2 * delta) / epsilon, rel=1e-9)


@pytest.mark.parametrize("tail", [0.3, 0.6, 0.99])
@pytest.mark.parametrize("kind", [k for k in mechanisms("vocabulary").values() if k is not GreedyAsPublished])
def test_large_tails_are_on_the_safe_side(kind, tail):
    for noise in kind.noises:
        mechanism = kind(scale=2.0, tail=tail, max_words=3, delta=0.999, noise=noise)
        scale = mechanism.scale * getattr(mechanism, "bound", 1)
        rho = mp.mpf(mechanism.threshold)
        norm = {"count": 0, "greedy": inf}.get(kind.name, noise.norm)
        for t in (1, 2, 3):
            weights = [1] * t if norm == 0 else [1, 0, 0][:t] if norm == inf else [t ** (-1 / norm)] * t
            hidden = mp.fprod(1 - survival(str(noise), (rho - w) / scale) for w in weights)
            assert 1 - hidden <= tail * (1 + 1e-9)


@pytest.mark.parametrize("kind", [PolicyVocabulary, GreedyVocabulary])
def test_cutoff_lies_alpha_scales_above_the_threshold(kind):
    for noise in kind.noises:
        mechanism = kind(scale=2.0, tail=1e-3, max_words=5, delta=1e-2, alpha=4.0, noise=noise)
        assert mechanism.cutoff == pytest.approx(mechanism.threshold + 8.0)
    # At least one, however low the threshold: a lone word must have room for all that a unit may give.
    assert kind(scale=1e-3, tail=0.9999, max_words=1, delta=0.99995, alpha=0.0).cutoff >= 1


def test_slack_of_rounding_is_small_and_covers_its_claim():
    for scale in (0.3, 1.0, 3.4, 40.0):
        mechanism = PolicyVocabulary(scale=scale, tail=1e-7, max_words=200, delta=1e-6)
        assert 0 < mechanism.slack < 5e-4 * max(1.0, scale)
        assert mechanism.slack >= mechanism.grid * 2**15.5  # 2³¹ words, each rounded by a step
        assert mechanism.guarantee.events[0].sigma == pytest.approx(scale / (1 + mechanism.slack))
    exact = PolicyVocabulary(scale=1.0, tail=1e-7, max_words=200, delta=1e-6, noise="laplace")
    assert exact.slack == 0
    assert exact.guarantee.events[0].scale == 1.0


# --- choosing ---


def test_strictly_above_the_rounded_threshold():
    weight = np.array([9, 10, 11, 12, 99])
    candidates = np.array([True, True, True, True, False])

    def kept(least):
        return clearing("abcde", weight, candidates, least=least, grid=0.5, max_size=None).words

    assert kept(10) == ("c", "d")  # 10 steps are not above 10 steps
    assert kept(11) == ("d",)


@pytest.mark.parametrize("name", mechanisms("vocabulary"))
def test_the_threshold_is_rounded_up(name, monkeypatch):
    """With what rounding may add to a lone word's weight on top."""
    mechanism = Plan.words(mechanism=name, epsilon=1.0, delta=1e-6, unit=Unit.AUTHOR).build()
    seen = []
    monkeypatch.setattr(threshold, "clearing", lambda *a, least, **more: seen.append(least) or Vocabulary(()))
    mechanism(Corpus.from_texts(["knee"], ["a"]).bounded(), np.random.default_rng(0))
    assert seen == [ceil(mechanism.threshold / mechanism.grid) + mechanism.spare]
    assert mechanism.spare == (name == "policy")


def test_ties_at_the_maximal_size_go_by_the_alphabet():
    weight = np.array([5, 7, 7, 7, 3])
    found = clearing("abcde", weight, weight > 0, least=0, grid=1.0, max_size=2)
    assert (found.words, found.weights) == (("b", "c"), (7.0, 7.0))


# --- by name ---


@pytest.mark.parametrize("name", mechanisms("vocabulary"))
def test_every_noise_by_name(name):
    for noise in (None, *mechanisms("vocabulary")[name].noises):
        mechanism = Plan.words(
            mechanism=name, epsilon=1.0, delta=1e-6, unit=Unit.AUTHOR, noise=noise, max_words=9
        ).build()
        assert mechanism.name == name
        assert mechanism.noise is (noise or mechanisms("vocabulary")[name].noise)
        assert mechanism.max_words == 9
        assert 1 - 1e-6 <= mechanism.guarantee.epsilon <= 1


@pytest.mark.parametrize("name", mechanisms("vocabulary"))
def test_every_noise_in_a_pipeline(name):
    for noise in mechanisms("vocabulary")[name].noises:
        pipeline = Plan.topics(
            mechanism="variational",
            vocabulary=name,
            noise=str(noise),
            n_topics=5,
            epsilon=1.0,
            delta=1e-6,
            unit=Unit.AUTHOR,
        ).build()
        assert pipeline.vocabulary.noise is noise
        assert 1 - 1e-6 <= pipeline.guarantee.epsilon <= 1
        assert pipeline.vocabulary.tail == 5e-7  # the topics' noise needs the rest of δ
        # Both kinds of noise get a similar part of the budget: alone, the vocabulary would cost about as much.
        assert 0.4 < pipeline.vocabulary.guarantee.epsilon < 0.8


def test_bad_names_of_noise():
    for build in (
        lambda name, **more: Plan.words(mechanism=name, **more).build(),
        lambda name, **more: Plan.topics(mechanism="variational", vocabulary=name, n_topics=2, **more).build(),
    ):
        with pytest.raises(InputError, match="noise must be 'gaussian' or 'laplace', got 'uniform'"):
            build("weighted", epsilon=1.0, delta=1e-6, unit=Unit.AUTHOR, noise="uniform")
        with pytest.raises(InputError, match="Laplace noise only"):
            build("greedy", epsilon=1.0, delta=1e-6, unit=Unit.AUTHOR, noise="gaussian")


def test_catalogue_lists_mechanisms_and_their_noise():
    rows = {row["name"]: row for row in catalogue() if row["job"] == "vocabulary"}
    assert {name: rows[name]["noise"] for name in mechanisms("vocabulary")} == {
        "weighted": "gaussian, laplace",
        "count": "gaussian, laplace",
        "policy": "gaussian, laplace",
        "greedy": "laplace",
        "greedy-published": "laplace",
    }
    assert rows["public"]["noise"] == "-"
    assert {name for name, row in rows.items() if row["strength"] != "proved"} == {"greedy-published"}
    assert rows["greedy-published"]["strength"] == "none"


def test_norms():
    assert (Noise("gaussian").norm, Noise("laplace").norm) == (2, 1)
