"""Attacks that read a model's words, and need no shadows."""

import numpy as np
import pytest

from dptopics.audit.membership.models import audited_learner, of_learner, seeded
from dptopics.audit.membership.rates import decoded_counts, present_words, train_shadows
from dptopics.audit.membership.scores import Moments, counts_attack, presence_attack, who_adds_up
from dptopics.data.corpus import Corpus

# Importing tomotopy warns.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")

RNG = np.random.default_rng(0)
ROWS = np.stack([RNG.multinomial(12, RNG.dirichlet(np.full(300, 0.05))) for _ in range(80)])
COUNTS = Corpus.from_counts(ROWS, [f"w{i:03d}" for i in range(300)]).counts()


@pytest.mark.parametrize("name", ["gibbs", "variational", "sklearn", "gensim", "tomotopy"])
def test_words_of_the_data_are_above_the_floor(name):
    half = np.arange(40)
    topics = of_learner(audited_learner(name, 3), COUNTS)(half, 5)
    used = np.bincount(COUNTS.take(half).word, minlength=300) > 0
    np.testing.assert_array_equal(present_words(topics.astype(np.float32).astype(float)), used)


@pytest.mark.parametrize("name, exact", [("gibbs", True), ("sklearn", True), ("plsa", False), ("tomotopy", False)])
def test_counts_are_decoded_to_the_last_token(name, exact):
    half = np.arange(40)
    part = COUNTS.take(half)
    topics = of_learner(audited_learner(name, 3), COUNTS)(half, 5)
    found = decoded_counts(topics)
    if exact:
        np.testing.assert_array_equal(found, np.bincount(part.word, weights=part.count, minlength=300))
    else:
        assert found is None  # words that were not used have no weight at all: there is no floor to divide by


def test_noise_on_the_topics_hides_the_counts():
    topics = of_learner(audited_learner("gibbs", 3), COUNTS)(np.arange(40), 5)
    assert decoded_counts(topics * np.exp(0.3 * RNG.normal(size=topics.shape))) is None


def test_who_adds_up():
    from scipy import sparse

    member = RNG.random(80) < 0.5
    tokens = sparse.csr_array(ROWS.astype(float))
    found = who_adds_up(tokens, (ROWS[member].sum(axis=0))[None].astype(float))[0]
    assert found[member].min() > 0.8
    assert found[~member].max() < 0.2


@pytest.mark.parametrize("by_author", [False, True])
def test_both_find_members(by_author):
    author = np.repeat(np.arange(40, dtype=np.int32), 2) if by_author else None
    shadows = train_shadows(of_learner(audited_learner("gibbs", 3), COUNTS), COUNTS, n_shadows=4, author=author)
    for one in (
        presence_attack(shadows, COUNTS, targets=4, author=author),
        counts_attack(shadows, COUNTS, targets=4, author=author),
    ):
        assert one.score.size == 4 * (40 if by_author else 80)
        assert one.area() > 0.9


def test_a_model_without_data_gives_nothing_away():
    def blind(documents, seed):
        return np.random.default_rng(seed).dirichlet(np.ones(300), 3)

    shadows = train_shadows(blind, COUNTS, n_shadows=8)
    assert abs(presence_attack(shadows, COUNTS, targets=8).area() - 0.5) < 0.1
    assert counts_attack(shadows, COUNTS, targets=8) is None


@pytest.mark.parametrize("name", ["gibbs", "variational", "sklearn", "gensim", "tomotopy", "spectral", "plsa"])
def test_seeds_of_shadows_really_differ(name):
    train = of_learner(audited_learner(name, 3), COUNTS)
    first, again, other = (train(np.arange(60), seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    if name != "spectral":  # which has no local optima to be led into
        assert np.abs(first - other).max() > 1e-6


def test_seeds_have_many_names():
    from dptopics.learners.adapters import GensimLearner, TomotopyLearner

    assert seeded(GensimLearner("LsiModel", 2), 7).settings == {"random_seed": 7}
    assert seeded(GensimLearner("LdaModel", 2, {"passes": 3}), 7).settings == {"passes": 3, "random_state": 7}
    assert seeded(TomotopyLearner("LDAModel", 2), 7).settings == {"seed": 7}
    assert seeded(len, 7) is len


def test_moments_without_a_shadow_are_those_of_the_others():
    said, seen = RNG.normal(100, 1, (6, 50, 2)), RNG.random((6, 50)) < 0.5
    seen[0], seen[1], seen[2], seen[3] = True, False, True, False
    others = Moments.of(said[:5], seen[:5])
    left = Moments.of(said, seen).without(said[5], seen[5])
    np.testing.assert_allclose(left.means(), others.means())
    np.testing.assert_allclose(left.shared_covariance(), others.shared_covariance(), atol=1e-9)
    np.testing.assert_allclose(left.outside()[1], others.outside()[1])


def test_few_shadows_borrow_the_variance_of_documents_alike():
    said = RNG.normal(0, 2.0, (4, 500, 1))
    seen = np.tile([[True], [False], [True], [False]], (1, 500))
    alone = said[~seen[:, 0]][:, :, 0].std(axis=0, ddof=1)
    spread = Moments.of(said, seen).outside()[1]
    assert np.abs(spread - 2).mean() < 0.5 * np.abs(alone - 2).mean()
    np.testing.assert_allclose(Moments.of(said, seen, alike=0.0).outside()[1], alone, rtol=1e-3)  # as published
