"""Words that many authors use come back, words of few do not, and policies find more where words are shared."""

import numpy as np
import pytest

from dptopics.core.errors import InputError
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.corpus import Corpus
from dptopics.plan import Plan
from dptopics.privacy.guarantee import Unit
from dptopics.registry import mechanisms

COMMON, RARE, AUTHORS = 20, 2000, 4000
WORDS = [*(f"common{i:02d}" for i in range(COMMON)), *(f"rare{i:04d}" for i in range(RARE))]
CHOICES = [(name, noise) for name, kind in mechanisms("vocabulary").items() for noise in kind.noises]


@pytest.fixture(scope="module")
def corpus():
    """Every author has five of 20 common words and five of 2000 rare ones."""
    rng = np.random.default_rng(0)
    counts = np.zeros((AUTHORS, len(WORDS)), np.int32)
    for row in counts:
        row[rng.choice(COMMON, 5, replace=False)] = 2
        row[COMMON + rng.choice(RARE, 5, replace=False)] = 1
    return Corpus.from_counts(counts, WORDS, authors=range(AUTHORS)).bounded()


def released(corpus, name, noise, **settings):
    mechanism = Plan.words(
        mechanism=name,
        epsilon=settings.pop("epsilon", 2.0),
        delta=1e-6,
        unit=Unit.AUTHOR,
        noise=noise,
        max_words=10,
        **settings,
    ).build()
    return mechanism(corpus, np.random.default_rng(1)).value


@pytest.mark.parametrize("name, noise", CHOICES)
def test_common_words_come_back(corpus, name, noise):
    found = set(released(corpus, name, noise).words)
    # A word that is full lies only alpha scales above the threshold: noise loses one in forty (Laplace, alpha = 3).
    assert len(found & set(WORDS[:COMMON])) >= COMMON - 2
    assert len(found) < COMMON + RARE / 4


@pytest.mark.parametrize("name, noise", CHOICES)
def test_weights_are_noisy_weights(corpus, name, noise):
    found = released(corpus, name, noise, max_vocabulary=COMMON, epsilon=8.0)
    expected = {"count": 1000, "weighted": 1000 / (10**0.5 if noise == "gaussian" else 10)}.get(name)
    if expected is not None:
        assert np.mean(found.weights) == pytest.approx(expected, rel=0.05)
    else:
        mechanism = Plan.words(
            mechanism=name, epsilon=8.0, delta=1e-6, unit=Unit.AUTHOR, noise=noise, max_words=10
        ).build()
        assert np.mean(found.weights) == pytest.approx(mechanism.cutoff, rel=0.2)


def test_policies_spend_less_on_common_words(corpus):
    # The common words fill up early; what authors give after that goes to rare words.
    for noise in ("gaussian", "laplace"):
        plain, policy = (len(released(corpus, name, noise, epsilon=8.0)) for name in ("weighted", "policy"))
        assert policy > plain + 100


@pytest.mark.parametrize("name, noise", CHOICES)
def test_one_author_alone_is_not_seen(name, noise):
    alone = Corpus.from_texts(["some private words of mine"], ["me"]).bounded()
    assert len(released(alone, name, noise)) == 0


def test_public_words_are_there_anyway_and_cost_the_others_nothing(corpus):
    known = Vocabulary.of([*WORDS[: COMMON - 5], "nobody wrote this"])
    mechanism = Plan.words(
        mechanism="weighted",
        epsilon=2.0,
        delta=1e-6,
        unit=Unit.AUTHOR,
        max_words=10,
        public_vocabulary=known,
        max_vocabulary=5,
    ).build()
    alone = Plan.words(
        mechanism="weighted", epsilon=2.0, delta=1e-6, unit=Unit.AUTHOR, max_words=10, max_vocabulary=5
    ).build()
    release = mechanism(corpus, np.random.default_rng(1))
    assert set(release.value.words) == {*known.words, *WORDS[COMMON - 5 : COMMON]}
    assert release.value.weights is None
    assert any("public beforehand" in line for line in release.guarantee.assumptions)
    assert mechanism.guarantee.epsilon == alone.guarantee.epsilon


def test_common_words_and_private_ones_by_name():
    texts = ["metformin helps my knee"] * 400 + ["the weather is fine"] * 400
    corpus = Corpus.from_texts(texts)
    settings = {"n_topics": 2, "epsilon": 8.0, "delta": 1e-6, "unit": Unit.DOCUMENT, "text": corpus.text}
    pipeline = Plan.topics(mechanism="mixture", vocabulary="common+weighted", **settings).build()
    assert pipeline.guarantee.epsilon == pytest.approx(8.0)
    words = pipeline.vocabulary(corpus.bounded(), np.random.default_rng(0)).value
    assert {"metformin", "knee", "weather", "mountain"} <= set(words.words)
    usual = Plan.topics(mechanism="embedded", **settings).build().vocabulary  # the same, and words of the atlas
    assert set(pipeline.vocabulary.public_vocabulary.words) < set(usual.public_vocabulary.words)
    with pytest.raises(InputError, match="spectral"):
        Plan.topics(
            mechanism="spectral", vocabulary="common+weighted", **settings
        ).build()  # before anything is charged
