"""The server: counts, rebuilt documents, moments, and topics from flipped bits and hashed words."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from dptopics import Vocabulary
from dptopics.core.errors import InputError
from dptopics.kernels.local_hash import channel_likelihood, channel_weights, mixture_pass, repair
from dptopics.local.collection import Collection
from dptopics.local.hashing import ANSWER, HashedPair, ThreeWords
from dptopics.local.inference import (
    FlipChannelLda,
    HashedMixture,
    as_counts,
    count_noise_std,
    count_ones,
    estimated_counts,
    likely_counts,
    rebuilt,
    unpacked,
)
from dptopics.local.randomizer import BitFlips
from dptopics.local.topics import fit_reports
from dptopics.privacy.guarantee import Trust

K, EACH = 3, 8
WORDS = Vocabulary.of([f"w{i:02d}" for i in range(K * EACH)])
TRUTH = np.kron(np.eye(K), np.ones(EACH) / EACH) * 0.94 + 0.06 / (K * EACH)


def documents(n, length=12, seed=0):
    """Documents of mostly one topic, as counts; and the topic."""
    rng = np.random.default_rng(seed)
    main = rng.integers(K, size=n)
    shares = 0.1 * rng.dirichlet(np.ones(K), n) + 0.9 * np.eye(K)[main]
    return np.array([rng.multinomial(length, share @ TRUTH) for share in shares]), main


def distance(topics):
    cost = np.abs(topics[:, None] - TRUTH[None]).sum(axis=2)
    return cost[linear_sum_assignment(cost)].mean()


def bits_of(present, f, seed=1):
    flips = BitFlips(vocabulary=WORDS, f=f, max_words=12)
    return flips, np.packbits(flips.randomize(present, np.random.default_rng(seed)), axis=1)


# --- counts and rebuilt documents ---


def test_counts_are_unbiased_with_the_stated_deviation():
    present = documents(400)[0] > 0
    found = []
    for seed in range(200):
        _, bits = bits_of(present, 0.5, seed)
        found.append(estimated_counts(count_ones(bits, len(WORDS)), 400, 0.5))
    noise_std = count_noise_std(400, 0.5)
    assert np.std(found, axis=0).mean() == pytest.approx(noise_std, rel=0.05)
    np.testing.assert_allclose(np.mean(found, axis=0), present.sum(axis=0), atol=6 * noise_std / np.sqrt(200))
    # Golden: equation 10 of Zhao et al. 2019, (2 − f)fM/(4(1 − f)²) at f = 0.5, M = 3000.
    assert count_noise_std(3000, 0.5) ** 2 == pytest.approx(2250)


def test_likely_counts_are_closer_than_unbiased_ones():
    rng = np.random.default_rng(0)
    true = np.sort(rng.pareto(1.2, 500) * 10).clip(0, 2000)
    for f in (0.5, 0.2):
        noisy = true + rng.normal(0, count_noise_std(3000, f), true.size)
        ones = np.rint(noisy * (1 - f) + f * 3000 / 2).astype(int)
        plain, likely = estimated_counts(ones, 3000, f), likely_counts(ones, 3000, f)
        assert (likely > 0).all()
        assert np.mean((likely - true) ** 2) < 0.7 * np.mean((plain - true) ** 2)
    exact = likely_counts(np.array([5, 50, 500, 2900]), 3000, 1e-9)
    np.testing.assert_allclose(exact, [5, 50, 500, 2900], rtol=0.02)


def test_rebuilt_documents_have_the_estimated_counts():
    present = documents(300)[0] > 0
    for f in (0.8, 0.3, 0.01):
        _, bits = bits_of(present, f)
        new = rebuilt(bits, len(WORDS), f)
        ones = count_ones(bits, len(WORDS))
        wanted = np.clip(np.rint(estimated_counts(ones, 300, f)), 0, 300)
        np.testing.assert_array_equal(count_ones(new, len(WORDS)), wanted)
        changed = unpacked(bits, len(WORDS)) != unpacked(new, len(WORDS))
        np.testing.assert_array_equal(changed.sum(axis=0), abs(wanted - ones))  # as few as it takes
        counts = as_counts(new, len(WORDS))
        np.testing.assert_array_equal(counts.matrix().toarray(), unpacked(new, len(WORDS)))


def test_repair_chooses_uniformly():
    changed = np.zeros(20)
    for seed in range(3000):
        bits = np.packbits(np.ones((20, 1), bool), axis=1)
        repair(bits, np.array([20]), np.array([15]), np.uint64(seed * 7919 + 1))
        changed += bits[:, 0] == 0
    assert changed.sum() == 3000 * 5
    assert abs(changed - 750).max() < 6 * np.sqrt(3000 * 0.25 * 0.75)


# --- the flip channel ---


def test_channel_kernels_against_slow_twins():
    rng = np.random.default_rng(0)
    present = rng.random((6, 11)) < 0.4
    rate = rng.gamma(1.0, 1.0, (6, 11)).astype(np.float32)
    flip, n = 0.2, np.arange(60)
    weights = rate.copy()
    channel_weights(np.packbits(present, axis=1), flip, weights)
    likelihood = channel_likelihood(np.packbits(present, axis=1), flip, rate)
    logs = np.zeros(6)
    for d in range(6):
        for w in range(11):
            log_factorial = np.concatenate([[0.0], np.cumsum(np.log(n[1:]))])
            poisson = np.exp(-rate[d, w] + n * np.log(rate[d, w]) - log_factorial)
            seen = np.where((n > 0) == present[d, w], 1 - flip, flip) * poisson
            assert weights[d, w] * rate[d, w] == pytest.approx(seen @ n / seen.sum(), rel=1e-4)  # E[n | bit]
            logs[d] += np.log(seen.sum())
    np.testing.assert_allclose(likelihood, logs, rtol=1e-5)


@pytest.mark.parametrize("f", [0.001, 0.3])
def test_planted_topics_are_found_through_the_channel(f):
    _, bits = bits_of(documents(1500)[0] > 0, f)
    topics, share = FlipChannelLda(n_topics=K, background=1.0)(bits, len(WORDS), f)
    np.testing.assert_allclose(topics.sum(axis=1), 1)
    np.testing.assert_allclose(share, 1 / K, atol=0.1)
    assert distance(topics) < 0.35


def test_the_same_bits_say_more_than_rebuilt_documents():
    flips, bits = bits_of(documents(1500)[0] > 0, 0.3)
    made = Collection(name="survey", randomizer=flips)
    ours = fit_reports(made, bits, n_topics=K)
    published = fit_reports(made, bits, n_topics=K, method="published", sweeps=100)
    assert distance(ours.value.topic_word) < distance(published.value.topic_word)
    assert published.settings["method"] == "published"


def test_key_decides_and_strength_is_chosen():
    _, bits = bits_of(documents(200)[0] > 0, 0.1)
    learner = FlipChannelLda(n_topics=K, passes=5)
    np.testing.assert_array_equal(learner(bits, len(WORDS), 0.1)[0], learner(bits, len(WORDS), 0.1)[0])
    for bad in ({"passes": 0}, {"n_topics": 1}, {"strengths": ()}):
        with pytest.raises(InputError):
            FlipChannelLda(**({"n_topics": 2} | bad))


# --- hashed words ---


def send_pairs(pair, counts, main, seed=3):
    """Many clients at once: the topic each belongs to, and one of its words."""
    rng = np.random.default_rng(seed)
    words = np.array([rng.choice(len(WORDS), p=row / row.sum()) for row in counts])
    return pair.hash.send(main * len(WORDS) + words, rng)


def test_pairs_give_the_top_words_of_every_public_topic():
    counts, main = documents(6000)
    pair = HashedPair(vocabulary=WORDS, topics=tuple((WORDS.words[k * EACH],) for k in range(K)), epsilon=4.0)
    answers = send_pairs(pair, counts, main)
    made = Collection(name="survey", randomizer=pair)
    release = fit_reports(made, answers.view(np.uint8).reshape(len(answers), -1))
    assert release.guarantee == pair.guarantee
    assert release.guarantee.trust is Trust.LOCAL
    for k, top in enumerate(release.value.top_words(EACH)):
        assert set(top) == set(WORDS.words[k * EACH : (k + 1) * EACH])
    np.testing.assert_allclose(release.value.topic_share, 1 / K, atol=0.05)
    assert release.value.noise_std is not None


def test_mixture_pass_against_a_slow_twin():
    rng = np.random.default_rng(0)
    seen = rng.random((8, 3, 5)) < 0.4  # which values each answer supports
    start = np.concatenate([[0], np.cumsum(seen.sum(axis=2).ravel())])
    value = np.nonzero(seen.reshape(24, 5))[1].astype(np.int32)
    topics, share = rng.dirichlet(np.ones(5), 2).T.copy(), np.array([0.3, 0.7])
    counts, heads = np.zeros((5, 2)), np.zeros(2)
    score = mixture_pass(start, value, 3, 0.6, 0.1, topics, share, counts, heads)
    channel = np.where(seen, 0.6, 0.1)
    chance = channel @ topics  # reports × answers × topics
    joint = share * chance.prod(axis=1)
    belongs = joint / joint.sum(axis=1, keepdims=True)
    assert score == pytest.approx(np.log(joint.sum(axis=1)).sum())
    np.testing.assert_allclose(heads, belongs.sum(axis=0))
    slow = np.einsum("dk,div,vk,dik->vk", belongs, channel, topics, 1 / chance)
    np.testing.assert_allclose(counts, slow)
    np.testing.assert_allclose(counts.sum(), 24)


def test_three_words_find_planted_topics_where_epsilon_is_large():
    counts, _ = documents(6000, length=3)
    three = ThreeWords(vocabulary=WORDS, epsilon=12.0)
    words = np.array([np.repeat(np.arange(len(WORDS)), row) for row in counts])
    rng = np.random.default_rng(0)
    data = three.hash.send(words.ravel(), rng).view(np.uint8).reshape(len(counts), -1)
    release = fit_reports(Collection(name="survey", randomizer=three), data, n_topics=K)
    assert distance(release.value.topic_word) < 0.5
    with pytest.raises(InputError, match="at least 1"):
        HashedMixture(n_topics=0)


# --- refusals ---


def test_server_refusals():
    made = Collection(name="survey", randomizer=BitFlips(vocabulary=WORDS, f=0.5, max_words=3))
    none, some = np.zeros((0, 3), np.uint8), np.zeros((30, 3), np.uint8)
    with pytest.raises(InputError, match="no valid reports"):
        fit_reports(made, none)
    with pytest.raises(InputError, match="no method"):
        fit_reports(made, some, method="magic")
    with pytest.raises(InputError, match="n_topics must be at least 2"):
        fit_reports(made, some, n_topics=1)
    coins = Collection(name="survey", randomizer=BitFlips(vocabulary=WORDS, f=1.0, max_words=3))
    with pytest.raises(InputError, match="every bit is a coin"):
        fit_reports(coins, some)
    pair = HashedPair(vocabulary=WORDS, topics=(("w00",),), epsilon=1.0)
    one = np.zeros((1, ANSWER.itemsize), np.uint8)
    with pytest.raises(InputError, match="1 public topics"):
        fit_reports(Collection(name="survey", randomizer=pair), one, n_topics=4)
    with pytest.raises(InputError, match="hashed words"):
        fit_reports(Collection(name="survey", randomizer=pair), one, method="published")
    with pytest.raises(InputError, match="no reports"):
        estimated_counts(np.zeros(3, np.int64), 0, 0.5)
