"""Proved mechanisms lose no more privacy than they claim, and these very tests would notice if they did.

Each check runs a mechanism many times on two neighbouring corpora, one unit more in the first, and bounds ε from below
(:mod:`lower_bound`). The claim must stay above. A *muted twin*, which draws an eighth of the noise it claims, must not.
Seeds are fixed, so a result never changes by chance. With fresh seeds a check of a sound mechanism would raise a false
alarm with probability at most 1e-8, all of them together less than 1e-6.
"""

import numpy as np
import pytest
from lower_bound import FALSE_ALARM, epsilon_at_least, share_at_least

from dptopics.core.vocabulary import Vocabulary
from dptopics.data.corpus import Corpus
from dptopics.mechanisms.ngrams.bayes import BayesNgrams, Estimate
from dptopics.mechanisms.ngrams.laplace import LaplaceNgrams
from dptopics.mechanisms.topics.best_of import VocabularyThenTopics
from dptopics.mechanisms.topics.embedded import EmbeddedTopics
from dptopics.mechanisms.topics.mixture import MixtureTopics
from dptopics.mechanisms.topics.variational import VariationalTopics
from dptopics.mechanisms.vocabulary.policy import GreedyVocabulary, PolicyVocabulary
from dptopics.mechanisms.vocabulary.threshold import CountVocabulary, WeightedVocabulary
from dptopics.privacy import noise
from dptopics.privacy.guarantee import Strength
from dptopics.privacy.rng import secure_rng
from dptopics.release.ngrams import NgramTable

DELTA = 1e-3
RUNS = 640  # enough that the muted twin of every case is caught: fewer cannot show a loss above ε = 2.3
WORDS = Vocabulary.of(["knee", "skin"])
draw_gaussian = noise.gaussian
draw_laplace = noise.laplace


def bounded(texts, vocabulary=None):
    corpus = Corpus.from_texts(texts, authors=range(len(texts))).bounded()
    return corpus if vocabulary is None else corpus.limited(vocabulary=vocabulary)


def neighbours(others, unit, vocabulary=None):
    """The same corpus with and without one author."""
    return bounded([*others, unit], vocabulary), bounded(others, vocabulary)


def mute(monkeypatch, part=8):
    monkeypatch.setattr(noise, "gaussian", lambda rng, sigma, size: draw_gaussian(rng, sigma / part, size))
    monkeypatch.setattr(noise, "laplace", lambda rng, scale, size: draw_laplace(rng, scale / part, size))


def silence(monkeypatch):
    for kind in ("gaussian", "laplace"):
        monkeypatch.setattr(noise, kind, lambda rng, scale, size: np.zeros(size, np.int64))


class Observed:
    """A bounded corpus that keeps the exact sums that were asked of it, and the samples."""

    def __init__(self, corpus, seen=None):
        self.corpus = corpus
        self.seen = [] if seen is None else seen

    def __getattr__(self, name):
        return getattr(self.corpus, name)

    def limited(self, **limits):
        return Observed(self.corpus.limited(**limits), self.seen)

    def bounded_sum(self, statistic, *, bound, grid, sample=None, norm=2):
        exact = self.corpus.bounded_sum(statistic, bound=bound, grid=grid, sample=sample, norm=norm)
        self.seen.append((exact, bound, grid, sample))
        return exact


def skin_weight(vocabulary):
    return dict(zip(vocabulary.words, vocabulary.weights, strict=True)).get("skin", 0.0)


def skin_count(model):
    """The released expected count of "skin" over all topics: deviation is a known number over the topic's total."""
    return float((model.topic_word[:, model.vocabulary.index["skin"]] / model.noise_std).sum())


def vocabulary_case():
    # A full unit vector on one word that many others wrote: its noisy weight is in every release.
    mechanism = WeightedVocabulary(scale=1.5, tail=DELTA / 2, max_words=2, delta=DELTA)
    return mechanism, neighbours(["skin"] * 40, "skin " * 50), skin_weight, RUNS


def besides_case():
    # Most of what the unit wrote is public already: all of its weight is on the one word that is not.
    mechanism = WeightedVocabulary(
        scale=1.5, tail=DELTA / 2, max_words=3, delta=DELTA, public_vocabulary=Vocabulary.of(["hand", "knee"])
    )

    def score(vocabulary):
        return "skin" in vocabulary.index

    return mechanism, neighbours(["skin hand knee"] * round(mechanism.threshold), "skin hand knee"), score, 2000


def reacting_case(kind, **settings):
    """A mechanism whose units see each other, or count: the cutoff lies above all that is given to the word."""

    def case():
        mechanism = kind(scale=1.5, tail=DELTA / 2, max_words=2, delta=DELTA, **settings)
        return mechanism, neighbours(["skin"] * 60, "skin " * 50), skin_weight, RUNS

    return case


def count_case(noise):
    def case():
        # Two words: the unit moves both, and the sum of both noisy counts tells more than one alone.
        mechanism = CountVocabulary(scale=1.5, tail=DELTA / 2, max_words=2, delta=DELTA, noise=noise)

        def score(vocabulary):
            return sum(vocabulary.weights)

        return mechanism, neighbours(["skin knee"] * 80, "skin knee"), score, RUNS

    return case


def topics_case():
    # One word many times: clipped to norm 1, all of it in one cell (short texts are of one topic).
    mechanism = VariationalTopics(n_topics=2, sigma=1.5 * 2**0.5, steps=2, delta=DELTA)
    return mechanism, neighbours(["skin"] * 60, "skin " * 50, WORDS), skin_count, RUNS


def embedded_case():
    # Two clusters of one word each: the unit's vote is a whole one, in the cell where all of that word's votes are.
    mechanism = EmbeddedTopics(
        n_topics=2, sigma=1.5, steps=1, delta=DELTA, dimensions=2, start_share=0.1, centre_share=0.1
    )

    def score(model):
        return float((model.topic_word[:, model.vocabulary.index["skin"]] / model.noise_std).max())

    return mechanism, neighbours(["skin"] * 60 + ["knee"] * 60, "skin " * 50, WORDS), score, RUNS


def mixture_case():
    # A document of one word is of norm one, nearly all of it in one column; the last round tells most.
    mechanism = MixtureTopics(n_topics=2, sigma=1.5, steps=2, delta=DELTA, sharpness=50.0)
    return mechanism, neighbours(["skin"] * 60, "skin " * 50, WORDS), skin_count, RUNS


def sampled_case():
    # Nobody else wrote the word, so that the sample of the others adds no noise of its own.
    mechanism = VariationalTopics(n_topics=2, sigma=1.5, steps=2, delta=DELTA, sampling_rate=0.5)
    return mechanism, neighbours(["knee"], "skin " * 50, WORDS), skin_count, 2 * RUNS  # half of them saw the unit


def pipeline_case():
    vocabulary = WeightedVocabulary(scale=2.0, tail=DELTA / 2, max_words=2, delta=DELTA)
    topics = VariationalTopics(n_topics=2, sigma=2.0, steps=1, delta=DELTA)
    pipeline = VocabularyThenTopics(vocabulary=vocabulary, topics=topics, delta=DELTA)

    def score(model):  # two noisy looks at the same unit, the noise about equal
        return skin_weight(model.vocabulary) + 2.0 * skin_count(model)

    return pipeline, neighbours(["skin knee"] * 60, "skin " * 50), score, RUNS


class PlainBayes(BayesNgrams):
    """Without the posterior, which is post-processing and slow: an attacker sees the noisy numbers themselves."""

    def _estimate(self, noisy, public):
        return Estimate(noisy, np.ones(noisy.size))


def ngram_case(kind, **settings):
    """Two n-grams (n = 1) that the unit has both of: the sum of both estimates tells more than one alone."""

    def case():
        mechanism = kind(scale=1.5, delta=DELTA, **settings)

        def score(table):
            return table.total

        return mechanism, neighbours(["skin knee"] * 40, "skin knee", WORDS), score, RUNS

    return case


CASES = {
    "n-grams": ngram_case(PlainBayes, max_words=2),
    "n-grams, bayes laplace": ngram_case(PlainBayes, max_words=2, noise="laplace"),
    "n-grams, bayes log": ngram_case(PlainBayes, max_words=2, slope=0.01),
    "n-grams, laplace": ngram_case(LaplaceNgrams, max_total=2.0),
    "n-grams, laplace gaussian": ngram_case(LaplaceNgrams, max_total=2**0.5, noise="gaussian"),
    "vocabulary": vocabulary_case,
    "vocabulary, beside public words": besides_case,
    "vocabulary, laplace": reacting_case(WeightedVocabulary, noise="laplace"),
    "vocabulary, count": count_case("gaussian"),
    "vocabulary, count laplace": count_case("laplace"),
    "vocabulary, policy": reacting_case(PolicyVocabulary, alpha=50.0),
    "vocabulary, policy laplace": reacting_case(PolicyVocabulary, alpha=50.0, noise="laplace"),
    "vocabulary, greedy": reacting_case(GreedyVocabulary, alpha=50.0),
    "topics": topics_case,
    "embedded topics": embedded_case,
    "mixture topics": mixture_case,
    "sampled topics": sampled_case,
    "pipeline": pipeline_case,
}


def measured(case, seed):
    mechanism, corpora, score, runs = case()
    if hasattr(mechanism, "max_words"):
        corpora = [corpus.limited(max_words=mechanism.max_words) for corpus in corpora]  # once, not in every run
    rng = np.random.default_rng(seed)
    with_unit, without_unit = ([score(mechanism(corpus, rng).value) for _ in range(runs)] for corpus in corpora)
    return epsilon_at_least(with_unit, without_unit, delta=mechanism.delta), mechanism.guarantee


@pytest.mark.parametrize("name", CASES)
def test_claim_is_not_exceeded(name):
    lost, guarantee = measured(CASES[name], seed=1)
    assert guarantee.strength is Strength.PROVED
    assert lost <= guarantee.epsilon < 2.3


@pytest.mark.parametrize("name", CASES)
def test_muted_twin_is_caught(name, monkeypatch):
    mute(monkeypatch)
    lost, guarantee = measured(CASES[name], seed=2)
    assert lost > guarantee.epsilon


def test_bound_is_sound_and_not_empty():
    rng = np.random.default_rng(3)
    bounds = [epsilon_at_least(rng.normal(1, 1, 4000), rng.normal(0, 1, 4000), delta=DELTA) for _ in range(20)]
    assert max(bounds) <= 3.138671  # ε of the Gaussian mechanism with σ = 1 at δ = 1e-3
    assert min(bounds) > 0.5
    # The other direction, and the other tail.
    assert epsilon_at_least(rng.normal(-3, 1, 4000), rng.normal(0, 1, 4000), delta=DELTA) > 2
    assert epsilon_at_least(rng.random(4000) < 0.5, np.zeros(4000), delta=DELTA) > 3


# --- the threshold of the vocabulary ---

TAIL = 0.05
MANY = " ".join("q" + "".join(chr(97 + int(digit)) for digit in str(number)) for number in range(1000, 4000))


KINDS = {
    "weighted": (WeightedVocabulary, {}),
    "weighted, laplace": (WeightedVocabulary, {"noise": "laplace"}),
    "count": (CountVocabulary, {}),
    "count, laplace": (CountVocabulary, {"noise": "laplace"}),
    "policy": (PolicyVocabulary, {}),
    "policy, laplace": (PolicyVocabulary, {"noise": "laplace"}),
    "greedy": (GreedyVocabulary, {}),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def times_shown(unit, *, max_words, runs, seed, kind="weighted"):
    """How often any word of its only author is published."""
    make, settings = KINDS[kind]
    mechanism = make(scale=2.0, tail=TAIL, max_words=max_words, delta=0.1, **settings)
    corpus = bounded(["knee pain"] * 20 + [unit]).limited(max_words=max_words)  # once, not in every run
    rng = np.random.default_rng(seed)
    hidden = {"knee", "pain"}
    return sum(not hidden.issuperset(mechanism(corpus, rng).value.words) for _ in range(runs))


@every_kind
@pytest.mark.parametrize("words", [1, 2, 4])
def test_lone_words_stay_hidden(kind, words):
    shown = times_shown(" ".join(MANY.split()[:words]), max_words=4, runs=600, seed=words, kind=kind)
    assert share_at_least(shown, 600, FALSE_ALARM) <= TAIL
    assert shown > 0  # the tail is measurable: the twin below is not caught for want of luck


@every_kind
def test_words_that_were_cut_stay_hidden_too(kind):
    # An author of 3000 words may give 4. The others have no weight, and noise alone must not lift one of them.
    shown = times_shown(MANY, max_words=4, runs=400, seed=5, kind=kind)
    assert share_at_least(shown, 400, FALSE_ALARM) <= TAIL


@every_kind
def test_lowered_threshold_is_caught(kind, monkeypatch):
    monkeypatch.setattr(KINDS[kind][0], "threshold", 1.0)  # 1 + 0 σ
    shown = times_shown(" ".join(MANY.split()[:4]), max_words=4, runs=400, seed=6, kind=kind)
    assert share_at_least(shown, 400, FALSE_ALARM) > TAIL


def test_words_and_weights_are_sorted_whatever_the_rows(monkeypatch):
    silence(monkeypatch)
    mechanism = WeightedVocabulary(scale=0.1, tail=TAIL, max_words=4, delta=0.1)
    release = mechanism(bounded(["zebra apple"] * 20 + ["apple"] * 20), np.random.default_rng(0))
    assert release.value.words == ("apple", "zebra")
    assert release.value.weights == pytest.approx((20 + 20 * 0.5**0.5, 20 * 0.5**0.5), abs=1e-4)


# --- every cell, every step ---


@pytest.mark.parametrize("rate", [1.0, 0.5])
@pytest.mark.parametrize("clip", [1.0, 0.3])
def test_every_step_draws_noise_on_every_cell(monkeypatch, clip, rate):
    calls = []

    def spy(rng, sigma, size):
        calls.append((sigma, size))
        return draw_gaussian(rng, sigma, size)

    monkeypatch.setattr(noise, "gaussian", spy)
    mechanism = VariationalTopics(
        n_topics=2, sigma=3.0, steps=5, delta=DELTA, clip=clip, sampling_rate=rate, size_share=0.0
    )
    corpus = Observed(bounded(["skin knee"] * 9, WORDS))
    mechanism(corpus, np.random.default_rng(0))
    assert [size for _, size in calls] == [(2, 2)] * 5
    assert [sigma for sigma, _ in calls] == pytest.approx([3.0 * clip / mechanism.grid] * 5, rel=1e-12)
    assert [(exact.shape, bound, grid) for exact, bound, grid, _ in corpus.seen] == [((2, 2), clip, mechanism.grid)] * 5
    (event,) = mechanism.guarantee.events
    assert (event.sigma, event.count, getattr(event, "rate", 1.0)) == (3.0, 5, rate)


@every_kind
def test_vocabulary_draws_noise_on_every_word(kind, monkeypatch):
    calls = []
    for law in ("gaussian", "laplace"):
        monkeypatch.setattr(
            noise,
            law,
            lambda rng, scale, size, law=law: calls.append((law, scale, size)) or np.zeros(size, np.int64),
        )
    make, settings = KINDS[kind]
    mechanism = make(scale=3.0, tail=TAIL, max_words=2, delta=0.1, **settings)
    mechanism(bounded(["skin knee hand", "foot"]), np.random.default_rng(0))
    sensitivity = {"count": 2**0.5, "count, laplace": 2.0}.get(kind, 1.0)
    ((law, scale, size),) = calls
    assert (law, size) == (str(mechanism.noise), (4,))
    assert scale == pytest.approx(3.0 * sensitivity / mechanism.grid, rel=1e-7)
    # The event that is priced is of the same scale; policies under Gaussian noise pay a little more for rounding.
    event = mechanism.guarantee.events[0]
    assert type(event).__name__.lower() == law
    priced = getattr(event, "sigma", None) or event.scale
    assert 3.0 * (1 - 3e-3) < priced <= 3.0


def test_every_step_samples_anew():
    mechanism = VariationalTopics(n_topics=2, sigma=3.0, steps=4, delta=DELTA, sampling_rate=0.25, size_share=0.0)
    corpus = Observed(bounded(["skin knee"] * 9, WORDS))
    rng = secure_rng()
    for _ in range(5):
        mechanism(corpus, rng)
    samples = [sample for *_, sample in corpus.seen]
    assert {sample.rate for sample in samples} == {0.25}
    assert len({half for sample in samples for half in sample.key}) == 40
    assert max(half for sample in samples for half in sample.key) > 2**60  # all 64 bits are used


def test_each_unit_is_sampled_at_the_stated_rate(monkeypatch):
    silence(monkeypatch)
    mechanism = VariationalTopics(n_topics=2, sigma=1.0, steps=1, delta=DELTA, sampling_rate=0.3, size_share=0.0)
    corpus = Observed(bounded(["knee " * 50, "skin " * 50], WORDS))
    rng = np.random.default_rng(4)
    for _ in range(1000):
        mechanism(corpus, rng)
    taken = np.array([(exact > 0).any(axis=1) for exact, *_ in corpus.seen])
    # Normal approximation with room for 5.7 deviations: two-sided 1e-8.
    assert np.abs(taken.mean(axis=0) - 0.3).max() < 5.7 * (0.3 * 0.7 / 1000) ** 0.5
    assert abs(taken.all(axis=1).mean() - 0.09) < 5.7 * (0.09 * 0.91 / 1000) ** 0.5


# --- nothing but noise is random (that nothing but noisy sums gets out: tests/gate) ---


def plain(model):
    if isinstance(model, NgramTable):
        return [model.probability.tolist(), model.total, model.noise_std.tolist(), model.vocabulary]
    return [model.topic_word.tolist(), model.topic_share.tolist(), model.noise_std.tolist(), model.vocabulary]


@pytest.mark.parametrize("name", CASES)
def test_without_noise_runs_are_equal(monkeypatch, name):
    mechanism, (corpus, _), score, _ = CASES[name]()
    silence(monkeypatch)
    first, second = (mechanism(corpus, np.random.default_rng(7)).value for _ in range(2))
    assert score(first) == score(second)
    if not name.startswith("vocabulary"):
        assert plain(first) == plain(second)
    if name != "sampled topics":  # the sample is drawn from the seed
        third = mechanism(corpus, np.random.default_rng(8)).value
        assert score(first) == score(third)
