"""TopicDP's two baselines: Laplace noise by the global sensitivity, and the matrix-variate Gaussian mechanism."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from charging import charged
from dptopics import Corpus
from dptopics.core.counts import Counts
from dptopics.core.errors import InputError
from dptopics.core.vocabulary import Vocabulary
from dptopics.learners.lda import VariationalLda
from dptopics.ledger.ledger import Unrecorded
from dptopics.privacy import noise
from dptopics.privacy.events import Laplace
from dptopics.privacy.guarantee import Strength
from dptopics.privacy.rng import secure_rng
from dptopics.published.topicdp import _WHOLE, LaplaceOutputTopics, MvgTopics, mvg_noise_std

TEXTS = ["knee cast", "knee skin", "skin rash", "rash skin", "cast knee knee"] * 10
WORDS = Vocabulary.of(["cast", "knee", "rash", "skin"])
EMPTY = Counts(np.array([0, 0]), np.zeros(0, np.int32), np.zeros(0, np.int32), 4, np.zeros(1, np.uint64))


def corpus():
    return Corpus.from_texts(TEXTS).bounded(unit="document")


def laplace(learner=None, n_topics=2, **settings):
    settings = {"epsilon": 2.0, "delta": 1e-3, "unit": "document", "vocabulary": WORDS} | settings
    learner = learner or VariationalLda(n_topics=n_topics, passes=2)
    return LaplaceOutputTopics.calibrated(learner=learner, n_topics=n_topics, **settings)


def mvg(**settings):
    settings = {"epsilon": 2.0, "delta": 1e-3, "gamma": 0.2, "unit": "document", "vocabulary": WORDS} | settings
    return MvgTopics.calibrated(learner=VariationalLda(n_topics=2, passes=2), n_topics=2, **settings)


@given(st.integers(0, 10**6), st.integers(1, 5), st.sampled_from([0.01, 1.0, 100.0]))
def test_any_two_outputs_are_within_the_sensitivity(seed, n_topics, concentration):
    rng = np.random.default_rng(seed)
    results = []
    for _ in range(2):
        matrix = rng.dirichlet(np.full(4, concentration), n_topics) * (1 + 1e-7 * rng.uniform(-1, 1))
        matrix = np.where(np.isfinite(matrix), matrix, 0.25)
        mechanism = laplace(lambda counts, m=matrix: m, n_topics)
        results.append(mechanism.steps(EMPTY))
    assert (results[0].sum(axis=1) <= _WHOLE).all()
    assert (results[0] >= 0).all()
    assert np.abs(results[0] - results[1]).sum() <= mechanism.sensitivity * _WHOLE


def test_laplace_noise_is_that_of_the_price(monkeypatch):
    drawn = []

    def spy(rng, scale, size):
        drawn.append((scale, size))
        return np.zeros(size, np.int64)

    monkeypatch.setattr(noise, "laplace", spy)
    mechanism = laplace()
    (event,) = mechanism.guarantee.events
    assert isinstance(event, Laplace)
    release = mechanism(corpus(), secure_rng())
    assert drawn == [(event.scale * 2 * 2 * _WHOLE, (2, 4))]
    assert release.guarantee == mechanism.guarantee
    np.testing.assert_allclose(release.value.topic_word.sum(axis=1), 1)


def test_laplace_is_proved_and_needs_no_consent():
    assert laplace().guarantee.strength is Strength.PROVED
    charged(Unrecorded(), laplace(), corpus(), secure_rng())


def test_laplace_refusals():
    with pytest.raises(InputError, match="epsilon is too small for 2 topics"):
        laplace(epsilon=1e-3, delta=1e-9).check(corpus())
    with pytest.raises(InputError, match="gives 2 topics where 3 were asked for"):
        laplace(lambda counts: np.full((2, 4), 0.25), 3).check(corpus())
    with pytest.raises(InputError, match="must be distributions"):
        laplace(lambda counts: np.zeros((2, 4)))(corpus(), secure_rng())
    with pytest.raises(InputError, match="scale must be a positive number"):
        LaplaceOutputTopics(learner=len, n_topics=2, scale=0.0, delta=1e-3)


def test_mvg_draws_what_its_theorem_asks_for(monkeypatch):
    drawn = []

    def spy(rng, sigma, size):
        drawn.append((sigma, size))
        return np.zeros(size, np.int64)

    monkeypatch.setattr(noise, "gaussian", spy)
    mechanism = mvg().prepared(corpus())
    far = mechanism.output.sensitivity.value
    release = mechanism(corpus(), secure_rng())
    noise_std = mvg_noise_std(2, 4, epsilon=2.0, delta=1e-3, sensitivity=far, largest_norm=2**0.5)
    assert drawn == [(pytest.approx(noise_std / mechanism.output.grid), (2, 4))]
    assert release.value.noise_std == pytest.approx(noise_std)
    assert noise_std > 5 * mechanism.output.sigma * far  # far more than (ε, δ) needs
    assert release.guarantee == mechanism.guarantee


def test_mvg_refusals():
    with pytest.raises(InputError, match="at least as many words"):
        mvg(vocabulary=Vocabulary.of(["knee"])).check(corpus())
    assert mvg().guarantee.strength is Strength.CLAIMED  # neighbours from the private data
    assert mvg().rescaled(2).guarantee.epsilon < mvg().guarantee.epsilon
