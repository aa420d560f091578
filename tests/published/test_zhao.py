"""The reproduction of HDP-LDA (Zhao et al. 2021): the claim, what is noised, and that it says how little it hides."""

from dataclasses import replace
from math import log

import numpy as np
import pytest

from charging import charged
from dptopics.core.errors import InputError, PrivacyError
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.corpus import Corpus
from dptopics.kernels.noisy_gibbs import sweep_fixed
from dptopics.ledger.ledger import Ledger
from dptopics.mechanisms.topics.best_of import VocabularyThenTopics
from dptopics.mechanisms.vocabulary.threshold import WeightedVocabulary
from dptopics.mechanisms.vocabulary.two_stage import PublicVocabulary
from dptopics.privacy import noise
from dptopics.privacy.events import Relation
from dptopics.privacy.guarantee import Strength
from dptopics.privacy.rng import secure_rng
from dptopics.published import fdptm
from dptopics.published.fdptm import ZhaoTopics

DELTA = 1e-6
WORDS = Vocabulary.of(["cast", "cream", "fracture", "knee", "rash", "skin"])
TEXTS = ["fracture knee cast", "rash skin cream", "fracture knee", "rash skin"] * 100


def mechanism(**settings):
    return ZhaoTopics(
        **{"n_topics": 2, "epsilon_noise": 50.0, "epsilon_draws": 50.0, "delta": DELTA, "unit": "document"} | settings
    )


def corpus(**bounds):
    return Corpus.from_texts(TEXTS).bounded(**bounds).limited(vocabulary=WORDS)


def slow_sweep(start, order, word, topic, weight, alpha, bits):
    topic = topic.copy()
    n_topics = weight.shape[1]
    for d in range(start.size - 1):
        for i in order[start[d] : start[d + 1]]:
            others = [topic[j] for j in range(start[d], start[d + 1]) if j != i]
            p = (np.bincount(others, minlength=n_topics)[:n_topics] + alpha) * weight[word[i]]
            uniform = float(bits[i] >> np.uint64(11)) * 2.0**-53
            topic[i] = min(n_topics - 1, int(np.searchsorted(np.cumsum(p / p.sum()), uniform, side="right")))
    return topic


def test_sweep_from_a_fixed_table():
    rng = np.random.default_rng(2)
    start = np.concatenate([[0], np.cumsum(rng.integers(0, 12, 30))]).astype(np.int64)
    document = np.repeat(np.arange(30), np.diff(start))
    order = np.lexsort((rng.random(document.size), document))
    word = rng.integers(0, 9, document.size).astype(np.int32)
    topic = rng.integers(0, 4, document.size).astype(np.int32)
    weight = rng.random((9, 4))
    bits = rng.integers(0, 2**64 - 1, document.size, dtype=np.uint64, endpoint=True)
    expected = slow_sweep(start, order, word, topic, weight, 0.3, bits)
    sweep_fixed(start, order, word, topic, weight, 0.3, bits)
    np.testing.assert_array_equal(topic, expected)


# --- the claim ---


@pytest.mark.parametrize("sweeps, noise_part, clip, beta", [(1, 0.5, 1.0, 0.01), (20, 2.0, 0.1, 0.2)])
def test_claim_is_the_published_formula(sweeps, noise_part, clip, beta):
    draws = 2 * log(clip / beta + 1)
    reading = mechanism(steps=sweeps, epsilon_noise=noise_part, epsilon_draws=draws, beta=beta)
    assert reading.clip == pytest.approx(clip)
    # As pure ε; at δ > 0 an event of Laplace noise is cheaper by 2δ.
    assert reading.guarantee.epsilon_at(0.0) == pytest.approx(sweeps * (noise_part + 2 * log(clip / beta + 1)))
    assert reading.guarantee.epsilon == pytest.approx(reading.guarantee.epsilon_at(0.0), abs=1e-5)


def test_draws_of_two_words_differ_by_at_most_the_claim():
    # The one step that the formula covers: the exchanged word's own draw, for any noisy table.
    rng = np.random.default_rng(0)
    reading = mechanism(epsilon_draws=1.5, n_topics=4)
    worst = 0.0
    for _ in range(2000):
        table = rng.laplace(0, 10 * reading.clip, (2, 4))
        seen = np.clip(table, 0, reading.clip) + reading.beta
        common = rng.random(4)  # what is the same for both words: the document's topics, the topics' sizes
        p = seen * common / (seen * common).sum(axis=1, keepdims=True)
        worst = max(worst, np.abs(np.log(p[0] / p[1])).max())
    assert 0.75 < worst <= 1.5


def test_guarantee_does_not_overstate():
    guarantee = mechanism().guarantee
    assert (guarantee.strength, guarantee.relation) == (Strength.CLAIMED, Relation.REPLACE_WORD)
    card = " ".join(guarantee.card().split())
    assert "Protected single words; NOT documents, NOT authors" in card
    assert "If the claim is true: ε" in card
    assert "whether one position of one document has a given word or another" in card
    assert "every single document" not in card
    assert len(guarantee.assumptions) == 4


def test_ledgers_of_other_relations_refuse_it(tmp_path):
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=1e5, delta=1e-3, unit="document")
    with pytest.raises(PrivacyError, match="one ledger, one unit, one relation"):
        charged(ledger, mechanism(), corpus(), secure_rng(), accept_unproven=True)
    own = Ledger.create(tmp_path / "b.ledger", epsilon=1e5, delta=1e-3, unit="document", relation="replace-word")
    with pytest.raises(PrivacyError, match="not 'proved'"):
        charged(own, mechanism(), corpus(), secure_rng())
    assert charged(own, mechanism(), corpus(), secure_rng(), accept_unproven=True).value.n_topics == 2
    assert own.strength is Strength.CLAIMED


def test_it_cannot_follow_a_vocabulary_that_hides_units():
    weighted = WeightedVocabulary.template(delta=DELTA, unit="document")
    with pytest.raises(PrivacyError, match="same unit under the same relation"):
        VocabularyThenTopics(vocabulary=weighted, topics=mechanism(), delta=DELTA)
    public = PublicVocabulary(vocabulary=WORDS, delta=DELTA, unit="document")  # looks at nothing
    whole = VocabularyThenTopics(vocabulary=public, topics=mechanism(), delta=DELTA).guarantee
    assert (whole.events, whole.relation) == (mechanism().guarantee.events, Relation.REPLACE_WORD)


# --- what it does ---


def test_topics_are_found_where_noise_is_free():
    topics = mechanism(steps=60)(corpus(), np.random.default_rng(1)).value.top_words(3)
    assert {frozenset(words) for words in topics} == {
        frozenset(["cast", "fracture", "knee"]),
        frozenset(["cream", "rash", "skin"]),
    }


def test_every_cell_is_noised_every_round(monkeypatch):
    drawn = []
    plain = noise.laplace

    def spy(rng, scale, size):
        drawn.append((scale, size))
        return plain(rng, scale, size)

    monkeypatch.setattr(noise, "laplace", spy)
    mechanism(steps=7, epsilon_noise=4.0)(corpus(), np.random.default_rng(1))
    assert drawn == [(2 / 4 * 2**23, (6, 2))] * 7  # scale 2/ε in steps of 2^-23, words × topics, once a round


def test_no_exact_count_reaches_the_draws_or_the_release(monkeypatch):
    # With noise that drowns everything, neither the tables of the sampler nor the topics depend on the texts.
    seen = []

    def spy(start, order, word, topic, weight, alpha, bits):
        seen.append(weight.copy())

    monkeypatch.setattr(noise, "laplace", lambda rng, scale, size: np.full(size, -(2**40), np.int64))
    monkeypatch.setattr(fdptm, "sweep_fixed", spy)
    released = mechanism(steps=3)(corpus(), np.random.default_rng(1)).value
    assert all((weight == weight[0]).all() for weight in seen)
    assert (released.topic_word == 1 / 6).all()


def test_words_may_be_given():
    whole = Corpus.from_texts(TEXTS).bounded()
    with pytest.raises(PrivacyError, match="words of this corpus are private"):
        mechanism()(whole, np.random.default_rng(0))
    given = mechanism(vocabulary=WORDS)
    first, second = given(whole, np.random.default_rng(0)), mechanism()(corpus(), np.random.default_rng(0))
    np.testing.assert_array_equal(first.value.topic_word, second.value.topic_word)
    assert "vocabulary" not in first.settings
    with pytest.raises(InputError, match="2 topics need at least as many words, but the vocabulary has 0"):
        mechanism(vocabulary=Vocabulary(())).check(whole)


@pytest.mark.parametrize("bounds", [{"max_words": 3}, {"max_words": 2}])
def test_limits_that_look_at_content_are_refused(bounds):
    with pytest.raises(PrivacyError, match="choose by content"):
        mechanism()(corpus(**bounds), secure_rng())


@pytest.mark.parametrize(
    "change, message",
    [
        ({"n_topics": 1}, "n_topics must be at least 2"),
        ({"beta": 0.0}, "alpha and beta must be positive"),
        ({"epsilon_noise": 0.0}, "epsilon_noise and epsilon_draws must be positive"),
        ({"epsilon_draws": float("nan")}, "epsilon_draws must be a number"),
        ({"steps": 0}, "steps must be at least 1"),
    ],
)
def test_settings_that_make_no_sense(change, message):
    with pytest.raises(InputError, match=message):
        replace(mechanism(), **change)
