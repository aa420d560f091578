"""Words that nobody sent are not shown, however few reports there are."""

import numpy as np
import pytest
from scipy.stats import binom

from dptopics.core.text import TextSettings
from dptopics.core.vocabulary import Vocabulary
from dptopics.local.collection import Collection
from dptopics.local.hashing import HashedPair
from dptopics.local.randomizer import BitFlips
from dptopics.local.topics import FALSE_WORDS, beyond_chance, fit_reports

TOPICS = (
    ("skin", "rash", "itching", "cream", "eczema", "scalp"),
    ("appointment", "week", "monday", "book", "slot", "free"),
    ("sugar", "insulin", "glucose", "diabetes", "fasting"),
)
WORDS = Vocabulary.of([word for topic in TOPICS for word in topic])
PAIR = HashedPair(vocabulary=WORDS, topics=TOPICS, epsilon=4.0)


def topics_of(randomizer, documents, rng, **how):
    data = np.frombuffer(b"".join(randomizer(one, rng) for one in documents), np.uint8).reshape(len(documents), -1)
    release = fit_reports(Collection(name="x", randomizer=randomizer, text=TextSettings()), data, **how)
    return release.value.top_words(10)


@pytest.mark.parametrize("how", [{}, {"clip": 1.0}])
@pytest.mark.parametrize("n_reports", [1, 3, 10, 50, 200])
def test_few_releases_of_pairs_show_a_word_that_nobody_sent(n_reports, how):
    """At most one in twenty; three standard deviations of a normal distribution give up to nine in ten."""
    releases, wrong = 60, 0
    for number in range(releases):
        rng = np.random.default_rng([n_reports, number])
        documents = [["skin"] if rng.random() < 0.6 else ["sugar"] for _ in range(n_reports)]
        skin, free, sugar = topics_of(PAIR, documents, rng, **how)
        wrong += bool(set(skin) - {"skin"} or free or set(sugar) - {"sugar"})
    assert wrong <= 0.1 * releases


def test_what_many_sent_is_shown():
    documents = [["skin"]] * 120 + [["sugar"]] * 80
    assert topics_of(PAIR, documents, np.random.default_rng(0)) == [["skin"], [], ["sugar"]]


def test_bits_that_nobody_set_are_not_shown():
    flips = BitFlips(vocabulary=WORDS, f=0.3, max_words=3)
    wrong = 0
    for number in range(30):
        rng = np.random.default_rng(number)
        found = topics_of(flips, [["skin", "rash"]] * 10, rng, n_topics=2)
        wrong += any(set(topic) - {"skin", "rash"} for topic in found)
    assert wrong <= 3


@pytest.mark.parametrize("by_chance", [1 / 56, 1 / 4, 0.15])
def test_the_chance_of_a_false_word_is_bounded_exactly(by_chance):
    """All cells together, for every number of reports."""
    cells = 51
    for n_reports in range(1, 201):
        counts = np.arange(n_reports + 1)
        believed = beyond_chance(np.resize(counts, max(cells, counts.size)), n_reports, by_chance)[: counts.size]
        chance = binom.pmf(counts, n_reports, by_chance)[believed].sum()
        assert max(cells, counts.size) * chance <= FALSE_WORDS * (1 + 1e-9)
