"""Measures of topics against slow twins that follow the definitions word by word."""

from math import exp, inf, log

import numpy as np
import pytest

from dptopics import evaluate as metrics
from dptopics.core.errors import InputError
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.corpus import Corpus
from dptopics.evaluate import diversity, npmi, perplexity, umass
from dptopics.kernels.hashing import siphash
from dptopics.release.topic_model import TopicModel

LETTERS = "abcdefgh"


def random_texts(seed, n=60):
    rng = np.random.default_rng(seed)
    weights = np.array([8, 6, 5, 4, 3, 2, 1, 1]) / 30
    return [" ".join(f"word{LETTERS[w]}" for w in rng.choice(8, rng.integers(1, 7), p=weights)) for _ in range(n)]


TOPICS = [["worda", "wordb", "wordc", "wordh"], ["wordg", "never", "worda", "nowhere"], ["never", "nowhere"]]


def documents(texts, *words):
    return sum(all(word in text.split() for word in words) for text in texts)


def slow_umass(texts, words):
    total = 0.0
    for m in range(1, len(words)):
        for l in range(m):
            alone, both = documents(texts, words[l]), documents(texts, words[m], words[l])
            total += log((both + 1) / alone) if alone else -log(len(texts))
    return total


def slow_npmi(texts, words):
    scores = []
    for m in range(1, len(words)):
        for l in range(m):
            joint = documents(texts, words[m], words[l]) / len(texts)
            apart = documents(texts, words[m]) / len(texts) * documents(texts, words[l]) / len(texts)
            scores.append(-1.0 if joint == 0 else 1.0 if joint == 1 else log(joint / apart) / -log(joint))
    return sum(scores) / len(scores)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("fast, slow", [(umass, slow_umass), (npmi, slow_npmi)])
def test_coherence_is_its_definition(fast, slow, seed):
    texts = random_texts(seed)
    found = fast(Corpus.from_texts(texts), TOPICS)
    assert found == pytest.approx([slow(texts, words) for words in TOPICS])


def test_umass_counts_the_order_of_words():
    # D(v_l) of the heavier word is below the line: equation 4 of Manzonelli et al. 2024.
    texts = ["knee pain", "knee", "knee", "knee"]
    found = umass(Corpus.from_texts(texts), [["knee", "pain"], ["pain", "knee"]])
    assert found == pytest.approx([log(2 / 4), log(2 / 1)])


def test_words_that_never_occur_are_as_bad_as_can_be():
    corpus = Corpus.from_texts(random_texts(0))
    assert npmi(corpus, [["never", "nowhere"]]) == [-1]
    assert umass(corpus, [["never", "nowhere"]]) == pytest.approx([-log(60)])
    worst = min(umass(corpus, [[a, b] for a in corpus.words for b in corpus.words if a != b]))
    assert worst >= -log(60)


@pytest.mark.parametrize("measure", [umass, npmi])
@pytest.mark.parametrize("words", [[], ["worda"]])
def test_one_word_has_no_coherence(measure, words):
    with pytest.raises(InputError, match="at least two words"):
        measure(Corpus.from_texts(random_texts(0)), [["worda", "wordb"], words])


def test_words_that_are_always_together():
    corpus = Corpus.from_texts(["knee pain"] * 3)
    assert npmi(corpus, [["knee", "pain"]]) == [1]
    assert umass(corpus, [["knee", "pain"]]) == pytest.approx([log(4 / 3)])


def test_diversity():
    assert diversity([["a", "b"], ["c", "d"]]) == 1
    assert diversity([["a", "b"]] * 4) == 0.25
    assert diversity([[], []]) == 0


# --- perplexity ---


def model(n_topics=3, seed=0, zero=False):
    topics = np.random.default_rng(seed).gamma(0.5, 1.0, (n_topics, 8))
    if zero:
        topics[:, 0] = 0
    words = Vocabulary.of(f"word{letter}" for letter in LETTERS)
    share = np.full(n_topics, 1 / n_topics)
    return TopicModel(
        topic_word=topics / topics.sum(axis=1, keepdims=True), vocabulary=words, topic_share=share, alpha=0.2
    )


def slow_perplexity(corpus, model, key):
    counts = corpus.counts(model.vocabulary)
    logs = []
    for d in range(counts.n_documents):
        entries = range(counts.doc_start[d], counts.doc_start[d + 1])
        tokens = [counts.word[e] for e in entries for _ in range(counts.count[e])]
        halves = [], []
        for place, word in enumerate(tokens):
            mixed = (int(counts.doc_key[d]) + place) % 2**64
            ticket = siphash(np.array([mixed], np.uint64), np.uint64(key), np.uint64(2))[0]
            halves[int(ticket) & 1].append(word)
        shares = model.transform_counts(np.bincount(halves[0], minlength=8)[None])[0]
        logs += [log(shares @ model.topic_word[:, word]) for word in halves[1]]
    return exp(-sum(logs) / len(logs))


@pytest.mark.parametrize("key", [0, 7])
def test_perplexity_is_its_definition(key):
    corpus = Corpus.from_texts([*random_texts(1), "unknown words only"])
    assert perplexity(corpus, model(), key=key) == pytest.approx(slow_perplexity(corpus, model(), key))


def test_perplexity_of_even_topics_is_the_number_of_words():
    even = TopicModel(
        topic_word=np.full((2, 8), 1 / 8), vocabulary=model().vocabulary, topic_share=np.full(2, 0.5), alpha=0.1
    )
    assert perplexity(Corpus.from_texts(random_texts(1)), even) == pytest.approx(8)


def test_perplexity_is_lower_for_the_true_topics():
    true = model(seed=4)
    rng = np.random.default_rng(1)
    counts = np.array([rng.multinomial(30, true.topic_word[rng.integers(3)]) for _ in range(200)])
    corpus = Corpus.from_counts(counts, true.vocabulary.words)
    assert perplexity(corpus, true) < 0.9 * min(perplexity(corpus, model(seed=seed)) for seed in range(4))


def test_perplexity_does_not_depend_on_the_order_of_rows():
    texts = random_texts(2)
    first, second = (perplexity(Corpus.from_texts(rows), model()) for rows in (texts, texts[::-1]))
    assert first == pytest.approx(second)


def test_a_word_that_no_topic_can_say():
    assert perplexity(Corpus.from_texts(random_texts(1)), model(zero=True)) == inf


def test_nothing_to_score():
    with pytest.raises(InputError, match="no document has a word"):
        perplexity(Corpus.from_texts(["unknown words only"]), model())


def test_every_measure_says_who_may_see_it():
    for name in ("npmi", "umass", "diversity", "perplexity"):
        assert "NOT FOR RELEASE" in getattr(metrics, name).__doc__
