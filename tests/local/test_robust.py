"""Clipped estimates: right for honest reports, and a liar's reach is bounded as stated."""

from dataclasses import replace

import numpy as np
import pytest

from dptopics import Vocabulary
from dptopics.core.errors import InputError
from dptopics.kernels.local_hash import bucket, buckets, clipped_support
from dptopics.local.collection import Collection
from dptopics.local.hashing import ANSWER, HashedPair, ThreeWords
from dptopics.local.inference import ClippedPairs, FlipChannelLda
from dptopics.local.randomizer import BitFlips
from dptopics.local.topics import fit_reports

WORDS = Vocabulary.of([f"w{i:02d}" for i in range(40)])
PAIR = HashedPair(vocabulary=WORDS, topics=(("w00",), ("w01",), ("w02",)), epsilon=2.0)
TRUE = np.array([5000, 3000, 2000])


def answers(seed, pair=PAIR):
    """10,000 honest answers: each topic's first word, and half of the first topic its second."""
    value = np.repeat(np.arange(3) * 40, TRUE)
    value[:2500] += 1
    return pair.hash.send(value, np.random.default_rng(seed))


def test_the_kernel_against_its_slow_twin():
    some = answers(0)[:50]
    total = np.zeros((3, 40))
    clipped_support(
        np.ascontiguousarray(some["seed"]), np.ascontiguousarray(some["bucket"]), PAIR.hash.n_buckets, 4.5, total
    )
    wanted = np.zeros((3, 40))
    for one in some:
        hits = np.array([bucket(one["seed"], v, PAIR.hash.n_buckets) == one["bucket"] for v in range(120)]).reshape(
            3, 40
        )
        wanted += hits * np.minimum(1, 4.5 / np.maximum(1, hits.sum(axis=1)))[:, None]
    np.testing.assert_allclose(total, wanted, rtol=1e-12)


@pytest.mark.parametrize("clip", [0.5, 1.0, 2.0])
def test_honest_counts_are_unbiased_with_the_stated_deviation(clip):
    clipped = ClippedPairs(PAIR, clip)
    tables = np.array([clipped.table(answers(seed)) for seed in range(60)])
    mean, noise_std = tables.mean(axis=0), clipped.unit_noise_std * 100
    wanted = np.zeros((3, 40))
    wanted[:, 0], wanted[0, 1] = TRUE - [2500, 0, 0], 2500
    assert np.abs(mean - wanted).max() < 6 * noise_std / np.sqrt(60)
    assert tables.std(axis=0).mean() == pytest.approx(noise_std, rel=0.05)
    rows = tables.sum(axis=2)
    assert np.all(np.abs(rows.mean(axis=0) - TRUE) < 6 * rows.std(axis=0) / np.sqrt(60))


def test_without_a_limit_nothing_changes():
    wide = ClippedPairs(PAIR, 1e9)
    np.testing.assert_allclose(wide.table(answers(1)), PAIR.table(answers(1)), rtol=1e-9, atol=1e-6)
    assert wide.unit_noise_std == pytest.approx(PAIR.hash.unit_noise_std)


def worst_lie(topic=2):
    """Of 20,000 seeds, the one with most words of a topic in one bucket."""
    seeds = np.random.default_rng(0).integers(0, 2**63, 20_000).astype(np.uint64)
    g = PAIR.hash.n_buckets
    found = np.array([buckets(seeds, np.full(seeds.size, 40 * topic + w), g) for w in range(40)])
    counts = np.array([(found == b).sum(axis=0) for b in range(g)])
    b, place = np.unravel_index(counts.argmax(), counts.shape)
    lie = np.empty(1, ANSWER)
    lie["seed"], lie["bucket"] = seeds[place], b
    return lie


def test_no_report_moves_a_topic_by_more_than_is_stated():
    lie, before = worst_lie(), answers(3)
    reach = {}
    for clip in (1.0, 1e9):
        clipped = ClippedPairs(PAIR, clip)
        tables = [clipped.table(some).sum(axis=1)[2] for some in (before, np.concatenate([before, lie]))]
        reach[clip] = tables[1] - tables[0]
        assert reach[clip] <= clipped.topic_influence * (1 + 1e-9)
    assert reach[1.0] == pytest.approx(ClippedPairs(PAIR, 1.0).topic_influence)  # attained
    assert reach[1e9] > 2 * reach[1.0]


def test_the_fit_takes_it():
    made = Collection(name="survey", randomizer=PAIR)
    honest = answers(4)
    lies = np.repeat(worst_lie(), 500)
    data = np.concatenate([honest, lies]).view(np.uint8).reshape(-1, 12)
    plain, clipped = fit_reports(made, data, clip=None), fit_reports(made, data)
    assert "clip" not in plain.settings
    assert clipped.settings["clip"] == 1.0  # usual for pairs
    assert abs(clipped.value.topic_share[2] - 0.2) < abs(plain.value.topic_share[2] - 0.2) - 0.05
    with pytest.raises(InputError, match="only pairs, and bits by likelihood"):
        fit_reports(replace(made, randomizer=ThreeWords(vocabulary=WORDS, epsilon=1.0)), data, clip=1.0)
    with pytest.raises(InputError, match=r"at least 0\.5"):
        fit_reports(made, data, clip=0.1)


# --- bits ---

FLIPS = BitFlips(vocabulary=WORDS, f=0.1, max_words=6)


def bits(n=2000, liars=0):
    """Reports about one of two topics, six draws from the first or last twenty words; liars have all of the first."""
    rng = np.random.default_rng(0)
    there = np.zeros((n, 40), bool)
    topic = rng.integers(0, 2, n)
    np.put_along_axis(there, 20 * topic[:, None] + rng.integers(0, 20, (n, 6)), True, axis=1)
    lies = np.tile(np.arange(40) < 20, (liars, 1))
    return np.packbits(np.concatenate([FLIPS.randomize(there, rng), lies]), axis=1)


def weight_of_first(data, clip=None):
    made = Collection(name="survey", randomizer=FLIPS)
    model = fit_reports(made, data, n_topics=3, clip=clip).value
    return model.topic_share @ model.topic_word[:, :20].sum(axis=1)


def test_clipped_bits_move_less_and_honest_ones_stay():
    honest, lied = bits(), bits(liars=100)
    assert weight_of_first(honest, 2.0) == pytest.approx(weight_of_first(honest), abs=0.01)
    moved, clipped = (weight_of_first(lied, clip) - weight_of_first(honest, clip) for clip in (None, 2.0))
    assert moved > 0.05
    assert clipped < 0.6 * moved


def test_no_report_of_bits_adds_more_tokens_than_stated():
    learner = FlipChannelLda(n_topics=3, clip=2.0)
    gamma = np.random.default_rng(0).gamma(0.5, 20.0, (500, 3)).astype(np.float32) + np.float32(0.1)
    tokens = gamma.sum(axis=1, keepdims=True) - 0.3
    weights = learner._weights(gamma, 7.0)
    assert np.all(tokens * weights <= 14 * (1 + 1e-5))
    np.testing.assert_array_equal(weights[tokens < 13.9], 1)  # others are left alone
    np.testing.assert_array_equal(replace(learner, clip=None)._weights(gamma, 7.0), 1)


def test_what_is_usual_for_each_kind():
    def clip(randomizer, data, **how):
        return fit_reports(Collection(name="survey", randomizer=randomizer), data, **how).settings.get("clip")

    assert clip(PAIR, answers(0)[:50].view(np.uint8).reshape(50, -1)) == 1.0
    assert clip(FLIPS, bits(50), n_topics=2) == 2.0
    assert clip(FLIPS, bits(50), n_topics=2, clip=3.0) == 3.0
    assert clip(FLIPS, bits(50), n_topics=2, clip=None) is None
    assert clip(FLIPS, bits(50), n_topics=2, method="published", sweeps=2) is None
    three = ThreeWords(vocabulary=WORDS, epsilon=9.0)
    sent = three.hash.send(np.arange(60) % 40, np.random.default_rng(0)).view(np.uint8).reshape(20, -1)
    assert clip(three, sent, n_topics=2) is None


def test_bits_that_cannot_be_clipped():
    made = Collection(name="survey", randomizer=FLIPS)
    with pytest.raises(InputError, match="at least 1 usual document"):
        fit_reports(made, bits(50), n_topics=2, clip=0.5)
    with pytest.raises(InputError, match="by likelihood"):
        fit_reports(made, bits(50), n_topics=2, clip=2.0, method="published")
