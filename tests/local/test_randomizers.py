"""Randomizers of local collection: exact channels, laws of what is sent, and refusals.

Channels of documents are in test_channels.py, exact and from the code. Here: prices at δ > 0, the channel of one
hashed answer, and statistical tests that the sampler flips and keeps as often as charged, which a twin with an eighth
of the noise fails.
"""

from itertools import product
from math import exp, inf, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, chisquare

from dptopics import Vocabulary
from dptopics.core.errors import InputError
from dptopics.kernels.local_hash import buckets, support, supported_values
from dptopics.local.hashing import ANSWER, HashedPair, LocalHash, ThreeWords
from dptopics.local.randomizer import BitFlips
from dptopics.privacy.events import Relation
from dptopics.privacy.guarantee import Strength, Trust
from dptopics.privacy.rng import secure_rng

WORDS = Vocabulary.of(["cast", "knee", "rash", "skin"])
RARE = 1e-8  # false alarm of one statistical test


def flips(**settings):
    return BitFlips(**({"vocabulary": WORDS, "f": 0.5, "max_words": 2} | settings))


# --- exact channels ---


@pytest.mark.parametrize("delta", [1e-6, 1e-2])
def test_epsilon_at_delta_is_exact_for_bits(delta):
    guarantee = flips(f=0.4, max_words=2, delta=delta).guarantee
    keep = 0.8
    p = np.array([np.prod([keep if b else 1 - keep for b in bits]) for bits in product((0, 1), repeat=4)])
    q = p[::-1]  # the opposite document

    def needed(epsilon):
        return np.maximum(p - exp(epsilon) * q, 0).sum()

    assert needed(guarantee.epsilon) <= delta * (1 + 1e-9)
    assert needed(guarantee.epsilon * (1 - 1e-6)) > delta


@pytest.mark.parametrize("epsilon", [0.5, 1.3, 4.0])
def test_hashed_answers_attain_their_epsilon_exactly(epsilon):
    hashing = LocalHash(epsilon)
    g, keep = hashing.n_buckets, hashing.keep
    values = np.arange(6)
    worst = 0.0
    for seed in np.arange(40, dtype=np.uint64):  # the seed is drawn without looking at the value
        true = buckets(np.full(6, seed), values, g)
        channel = np.where(np.arange(g)[None] == true[:, None], keep, (1 - keep) / (g - 1))
        np.testing.assert_allclose(channel.sum(axis=1), 1)
        worst = max(worst, np.log(channel.max(axis=0) / channel.min(axis=0)).max())
    assert worst == pytest.approx(epsilon, abs=1e-12)
    assert hashing.event.epsilon == pytest.approx(epsilon, abs=1e-12)


def test_guarantees_name_unit_relation_and_trust():
    pair = HashedPair(vocabulary=WORDS, topics=(("knee",), ("skin",)), epsilon=4.0)
    for randomizer in (flips(), pair, ThreeWords(vocabulary=WORDS, epsilon=4.0)):
        guarantee = randomizer.guarantee
        assert (guarantee.trust, guarantee.strength) == (Trust.LOCAL, Strength.PROVED)
        assert (guarantee.relation, guarantee.delta) == (Relation.REPLACE, 0)
        card = " ".join(guarantee.card().split())
        assert "everyone, including the collector of the data" in card
        assert "one report for each collection" in card
        assert "somebody sent a report is not hidden" in card
        assert "except with probability" not in card
    both = " ".join(flips(f=0.001, max_words=2).guarantee.card().split())
    assert "ε = 30.5" in both  # four bits
    assert "For one certain word, there or not: ε = 14.8, δ = 0." in both  # a third word pushes out one of two
    other = " ".join(flips(f=0.5, max_words=2, per="word").guarantee.card().split())
    assert "ε = 1.1," in other
    assert "For a whole document of at most 2 distinct words: ε = 4.4; of any length: ε = 4.4." in other


def test_golden_prices():
    # Section 4.2 of Zhao et al. 2019: f from 0.5 to 0.001 (the paper prints 1.089 for ln 3 = 1.0986).
    assert flips(f=0.5, per="word").guarantee.epsilon == pytest.approx(1.0986, abs=5e-5)
    assert flips(f=0.5, per="word").guarantee.relation is Relation.ADD_OR_REMOVE_WORD
    assert flips(f=0.001, per="word").guarantee.epsilon == pytest.approx(7.6004, abs=5e-5)
    assert flips(f=1.0).guarantee.epsilon == 0
    many = BitFlips(vocabulary=Vocabulary.of(map(str, range(1000))), f=0.5, max_words=100, delta=1e-6).guarantee
    assert many.epsilon < 200 * log(3) == pytest.approx(many.epsilon_at(0.0))


@pytest.mark.parametrize("per", ["document", "word"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("epsilon", [0.1, 4.0, 30.0])
def test_calibration_hits_epsilon_from_below(epsilon, delta, per):
    made = BitFlips.calibrated(vocabulary=WORDS, epsilon=epsilon, max_words=2, per=per, delta=delta)
    assert epsilon * (1 - 1e-6) <= made.guarantee.epsilon <= epsilon


# --- what is sent ---


def sent_bits(randomizer, document, runs):
    rng = secure_rng()
    rows = [np.frombuffer(randomizer(document, rng), np.uint8) for _ in range(runs)]
    return np.unpackbits(np.array(rows), axis=1, count=len(WORDS))


def agrees(randomizer, claimed):
    """Whether bits are flipped as often as claimed, for words that are there and words that are not."""
    bits = sent_bits(randomizer, ["knee"], 4000)
    wrong = np.count_nonzero(bits != (np.array(WORDS.words) == "knee"))
    return binomtest(wrong, bits.size, claimed).pvalue > RARE


def test_bits_are_flipped_as_often_as_charged_and_a_muted_twin_is_caught():
    assert agrees(flips(), 0.25)
    assert not agrees(flips().rescaled(1 / 8), 0.25)
    for factor in (2 / 3, 3 / 2):
        assert not agrees(flips().rescaled(factor), 0.25)


def test_an_empty_document_is_a_document_like_others():
    bits = sent_bits(flips(), [], 4000)
    assert binomtest(int(bits.sum()), bits.size, 0.25).pvalue > RARE
    empty = HashedPair(vocabulary=WORDS, topics=(("knee",),), epsilon=1.0)([], secure_rng())
    assert len(empty) == ANSWER.itemsize
    assert len(ThreeWords(vocabulary=WORDS, epsilon=1.0)(["unknown"], secure_rng())) == 3 * ANSWER.itemsize


@given(st.sets(st.integers(0, 11)), st.sets(st.integers(0, 11)), st.integers(1, 8))
def test_any_two_documents_differ_in_few_bits(first, second, max_words):
    words = Vocabulary.of([f"w{i:02d}" for i in range(12)])
    quiet = BitFlips(vocabulary=words, f=1e-15, max_words=max_words)  # as good as no flips: the bits are those kept
    rng = np.random.default_rng(0)
    sent = [quiet([f"w{i:02d}" for i in chosen], rng) for chosen in (first, second)]
    bits = np.unpackbits(np.array([list(report) for report in sent], np.uint8), axis=1)
    assert bits.sum(axis=1).max() <= max_words
    assert (bits[0] != bits[1]).sum() <= quiet.most_different_bits


def test_a_long_document_counts_with_some_of_its_words_and_per_word_with_all():
    assert sent_bits(flips(f=1e-9, max_words=3, per="word"), [*WORDS.words, "unknown"], 400).all()
    bits = sent_bits(flips(f=1e-9, max_words=3), [*WORDS.words, "unknown"], 400)
    assert set(bits.sum(axis=1)) == {3}
    assert chisquare(bits.sum(axis=0)).pvalue > RARE  # no word is preferred


def hashed_as_claimed(hashing, claim, runs=20_000):
    answers = hashing.send(np.zeros(runs, np.int64), secure_rng())
    kept = buckets(answers["seed"], np.zeros(runs, np.int64), claim.n_buckets) == answers["bucket"]
    return binomtest(int(kept.sum()), runs, claim.keep).pvalue > RARE


def test_buckets_are_kept_as_often_as_charged_and_a_muted_twin_is_caught():
    claim = LocalHash(2.0)
    assert hashed_as_claimed(claim, claim)

    class Muted(LocalHash):
        """Replaces the true bucket an eighth as often as it says."""

        @property
        def n_buckets(self):
            return claim.n_buckets

        @property
        def keep(self):
            return 1 - (1 - claim.keep) / 8

    assert not hashed_as_claimed(Muted(2.0), claim)


def test_the_other_buckets_are_sent_alike():
    hashing = LocalHash(1.0)
    answers = hashing.send(np.full(30_000, 5), secure_rng())
    true = buckets(answers["seed"], np.full(30_000, 5), hashing.n_buckets)
    away = (answers["bucket"].astype(int) - true)[answers["bucket"] != true] % hashing.n_buckets
    assert chisquare(np.bincount(away, minlength=hashing.n_buckets)[1:]).pvalue > RARE


def test_pair_is_the_public_topic_and_a_word_of_the_document():
    pair = HashedPair(vocabulary=WORDS, topics=(("knee", "cast"), ("skin",)), epsilon=18.0)
    rng = secure_rng()
    rows = [np.frombuffer(pair(["skin", "skin", "knee", "unknown"], rng), ANSWER)[0] for _ in range(300)]
    table = pair.table(np.array(rows, ANSWER))  # "skin" is the word that is repeated
    assert table.shape == (2, 4)
    np.testing.assert_allclose(table[0], 0, atol=1)
    np.testing.assert_allclose(table[1, :3], 0, atol=1)
    assert abs(table[1, 3] - 300) < 6 * np.sqrt(300)  # half of the answers lie: the deviation of a count is √n
    assert pair.topic_of(["knee", "skin"]) == 0  # the first of equals
    rows = [np.frombuffer(pair(["skin", "rash"], rng), ANSWER)[0] for _ in range(300)]
    np.testing.assert_allclose(pair.table(np.array(rows, ANSWER))[1, 2:], 150, atol=6 * np.sqrt(300))


def supported(three, answers):
    seeds = np.repeat(answers["seed"].ravel(), three.n_values)
    bucket = buckets(seeds, np.tile(np.arange(three.n_values), answers.size), three.hash.n_buckets)
    return bucket.reshape(answers.size, -1) == answers["bucket"].reshape(-1, 1)


def test_three_words_are_drawn_without_replacement():
    three = ThreeWords(vocabulary=WORDS, epsilon=54.0)
    rng = secure_rng()
    answers = np.array([np.frombuffer(three(["cast", "knee", "rash"], rng), ANSWER) for _ in range(200)])
    found = np.array([three.hash.estimate(np.ascontiguousarray(answers[:, i]), three.n_values) for i in range(3)])
    np.testing.assert_allclose(found.sum(axis=0)[:3], 200, atol=6 * np.sqrt(200))
    np.testing.assert_allclose(found.sum(axis=0)[3:], 0, atol=1)
    words = np.array([supported(three, answers[:, i])[:, :3].argmax(axis=1) for i in range(3)])
    both = np.array([supported(three, answers[:, i])[:, :3].any(axis=1) for i in range(2)]).all(axis=0)
    assert both.sum() > 20
    assert (words[0] != words[1])[both].all()  # never the same place twice


# --- hashes against slow twins ---


def test_hash_kernels():
    seeds = np.random.default_rng(0).integers(0, 2**63, 50).astype(np.uint64)
    bucket = np.array([buckets(np.full(9, seed), np.arange(9), 5) for seed in seeds])
    assert set(bucket.ravel()) == set(range(5))

    def slow(seed, value):
        mask = 2**64 - 1
        x = (int(seed) + (value + 1) * 0x9E3779B97F4A7C15) & mask
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
        return ((x ^ (x >> 31)) >> 32) * 5 >> 32

    assert bucket.tolist() == [[slow(seed, value) for value in range(9)] for seed in seeds]
    sent = np.random.default_rng(1).integers(0, 5, 50).astype(np.uint32)
    np.testing.assert_array_equal(support(seeds, sent, 5, 9), (bucket == sent[:, None]).sum(axis=0))
    start, value = supported_values(seeds, sent, 5, 9)
    np.testing.assert_array_equal(value, np.nonzero(bucket == sent[:, None])[1])
    np.testing.assert_array_equal(np.diff(start), (bucket == sent[:, None]).sum(axis=1))


def test_estimates_are_unbiased():
    hashing = LocalHash(1.5)
    truth = np.repeat([0, 1, 3], [6000, 3000, 1000])
    found = hashing.estimate(hashing.send(truth, secure_rng()), 5)
    noise_std = hashing.unit_noise_std * np.sqrt(truth.size)
    np.testing.assert_allclose(found, [6000, 3000, 0, 1000, 0], atol=6 * noise_std)
    assert abs(found - [6000, 3000, 0, 1000, 0]).max() > noise_std / 20


# --- bad input ---


@pytest.mark.parametrize("f", [0.0, -0.1, 1.5, float("nan"), inf])
def test_f_must_be_a_chance(f):
    with pytest.raises(InputError, match=r"must lie in \(0, 1\]"):
        flips(f=f)


def test_other_bad_settings():
    with pytest.raises(InputError, match="max_words must be at least 1"):
        flips(max_words=0)
    with pytest.raises(InputError, match="per must be"):
        flips(per="author")
    with pytest.raises(InputError, match="vocabulary is empty"):
        flips(vocabulary=Vocabulary(()))
    with pytest.raises(InputError, match="delta must lie"):
        flips(delta=1.0)
    for epsilon in (0.0, -1.0, float("nan"), inf):
        with pytest.raises(InputError, match="positive number"):
            BitFlips.calibrated(vocabulary=WORDS, epsilon=epsilon, max_words=1)
        with pytest.raises(InputError, match="positive number"):
            ThreeWords(vocabulary=WORDS, epsilon=epsilon)
    with pytest.raises(InputError, match="at most 20"):
        HashedPair(vocabulary=WORDS, topics=(("knee",),), epsilon=21.0)
    with pytest.raises(InputError, match="every public topic"):
        HashedPair(vocabulary=WORDS, topics=(("knee",), ()), epsilon=1.0)
