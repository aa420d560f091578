"""The reproduction of Zhu et al. 2016: what it draws, and that anyone can read exact counts from what it releases."""

from dataclasses import replace

import numpy as np
import pytest

from dptopics.core.vocabulary import Vocabulary
from dptopics.data.corpus import Corpus
from dptopics.kernels.noisy_gibbs import sweep_perturbed
from dptopics.privacy import noise
from dptopics.privacy.rng import secure_rng
from dptopics.public.demo import demo_corpus
from dptopics.published.fdptm import ZhuTopics

DELTA = 1e-6


def slow_sweep(start, word, topic, nw, nk, alpha, beta, n_topics, word_noise, doc_noise, bits):
    """The docstring's formula, token by token."""
    topic, nw, nk = topic.copy(), nw.astype(float), nk.astype(float)
    for d in range(start.size - 1):
        mine = slice(start[d], start[d + 1])
        for i in range(start[d], start[d + 1]):
            nw[word[i], topic[i]] -= 1
            nk[topic[i]] -= 1
            others = np.delete(topic[mine], i - start[d])
            nd = np.bincount(others, minlength=n_topics)
            x, y, length = word_noise[i], doc_noise[i], start[d + 1] - start[d]
            a = (nw[word[i], :n_topics] + x + beta) / (nk[:n_topics] - x + nw.shape[0] * beta)
            a = a * (nd + y + alpha) / (length - y + n_topics * alpha)
            p = (a - a.min()) / (a - a.min()).sum()
            uniform = float(bits[i] >> np.uint64(11)) * 2.0**-53
            topic[i] = min(n_topics - 1, int(np.searchsorted(np.cumsum(p), uniform, side="right")))
            nw[word[i], topic[i]] += 1
            nk[topic[i]] += 1
    return topic, nw, nk


@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
def test_noisy_sweep_is_the_formula(scale):
    rng = np.random.default_rng(5)
    n_docs, n_words, n_topics, padded = 40, 12, 5, 8
    start = np.concatenate([[0], np.cumsum(rng.integers(0, 15, n_docs))]).astype(np.int64)
    word = rng.integers(0, n_words, start[-1]).astype(np.int32)
    topic = rng.integers(0, n_topics, start[-1]).astype(np.int32)
    nw = np.zeros((n_words, padded), np.float32)
    np.add.at(nw, (word, topic), 1)
    nk = np.bincount(topic, minlength=padded).astype(np.int64)
    drawn = rng.laplace(0, scale, (2, word.size))
    bits = rng.integers(0, 2**64 - 1, word.size, dtype=np.uint64, endpoint=True)
    expected = slow_sweep(start, word, topic, nw, nk, 0.2, 0.1, n_topics, drawn[0], drawn[1], bits)
    sweep_perturbed(start, word, topic, nw, nk, 0.2, 0.1, n_topics, drawn[0], drawn[1], bits)
    for found, wanted in zip((topic, nw, nk), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_equal_weights_are_a_fair_draw():
    # One token and no other counts: all topics alike, so the lowest-weight rule has nothing to go by.
    seen = set()
    for share in (0.0, 0.4, 0.7, 0.99):
        topic, nw, nk = np.zeros(1, np.int32), np.zeros((1, 8), np.float32), np.zeros(8, np.int64)
        nw[0, 0] = nk[0] = 1
        bits = np.array([int(share * 2**64)], np.uint64)
        zero = np.zeros(1)
        sweep_perturbed(np.array([0, 1]), np.zeros(1, np.int32), topic, nw, nk, 0.1, 0.1, 3, zero, zero, bits)
        seen.add(int(topic[0]))
        assert (nw.sum(), nk.sum()) == (1, 1)
    assert seen == {0, 1, 2}


def read_counts(topic_word, beta):
    """The attack: n_kw from Φ and β alone.

    Φ_kw = (n_kw + β)/(n_k + Vβ), so a guess m of a topic's lowest count gives all its counts; only the right guess
    makes all of them whole numbers.
    """
    found = []
    for row in topic_word:
        for lowest in range(10_000):
            counts = row * ((lowest + beta) / row.min()) - beta
            if np.abs(counts - counts.round()).max() < 1e-6:
                break
        else:
            pytest.fail("no whole counts")
        found.append(counts.round().astype(int))
    return np.array(found)


@pytest.mark.parametrize("epsilon", [0.1, 3.0])
def test_released_topics_reveal_the_exact_word_counts(epsilon):
    demo = demo_corpus()
    corpus = Corpus.from_texts(demo.texts[:3000], demo.authors[:3000])
    common = np.argsort(-np.bincount(corpus.word, corpus.count))[:500]
    vocabulary = Vocabulary.of([corpus.words[w] for w in common])
    mechanism = ZhuTopics.calibrated(n_topics=5, epsilon=epsilon, delta=DELTA)
    release = mechanism(corpus.bounded().limited(vocabulary=vocabulary), secure_rng())

    # Only what the release holds from here on.
    found = read_counts(release.value.topic_word, mechanism.beta)
    truth = corpus.counts(vocabulary).matrix().sum(axis=0)
    assert truth.min() > 0
    np.testing.assert_array_equal(found.sum(axis=0), truth)  # every count of the corpus, exactly


def test_one_more_document_shows():
    # The difference attack: with and without one document, whatever ε says.
    texts = ["fracture knee cast", "rash skin cream", "fracture knee", "rash skin"] * 20
    vocabulary = Vocabulary.of(["cast", "cream", "fracture", "knee", "rash", "skin", "zoster"])
    mechanism = ZhuTopics(n_topics=2, epsilon=1e-3, delta=DELTA, unit="document")
    totals = []
    for corpus in (Corpus.from_texts(texts), Corpus.from_texts([*texts, "zoster rash"])):
        topics = mechanism(corpus.bounded().limited(vocabulary=vocabulary), secure_rng()).value.topic_word
        totals.append(read_counts(topics, mechanism.beta).sum(axis=0))
    assert (totals[1] - totals[0]).tolist() == [0, 0, 0, 0, 1, 0, 1]


def test_topics_are_found():
    texts = ["fracture knee cast", "rash skin cream"] * 150
    vocabulary = Vocabulary.of(["cast", "cream", "fracture", "knee", "rash", "skin"])
    corpus = Corpus.from_texts(texts).bounded().limited(vocabulary=vocabulary)
    mechanism = ZhuTopics(n_topics=2, epsilon=10.0, delta=DELTA, unit="document", steps=50)
    topics = mechanism(corpus, np.random.default_rng(3)).value.top_words(3)
    assert {frozenset(words) for words in topics} == {
        frozenset(["cast", "fracture", "knee"]),
        frozenset(["cream", "rash", "skin"]),
    }


def test_noise_has_the_published_scale(monkeypatch):
    scales = []

    def spy(rng, scale, size):
        scales.append(scale)
        return np.zeros(size, np.int64)

    monkeypatch.setattr(noise, "laplace", spy)
    vocabulary = Vocabulary.of(["knee", "skin"])
    corpus = Corpus.from_texts(["knee skin"] * 5).bounded().limited(vocabulary=vocabulary)
    mechanism = ZhuTopics(n_topics=2, epsilon=8.0, delta=DELTA, unit="document", steps=1)
    mechanism(corpus, np.random.default_rng(0))
    replace(mechanism, epsilon=4.0)(corpus, np.random.default_rng(0))
    assert scales == [2 / 8 * 2**24, 2 / 4 * 2**24]  # in steps of the grid
