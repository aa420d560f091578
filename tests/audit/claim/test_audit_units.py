"""What canaries are made of: their words, their place in the corpus, and the scores that look for them."""

from dataclasses import replace
from itertools import chain

import numpy as np
import pytest

from dptopics.audit.claim.distinguishing import SCORES, Canary, with_units
from dptopics.core.errors import InputError
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.corpus import Corpus
from dptopics.release.topic_model import TopicModel

TEXTS = ["skin knee pain"] * 40 + ["asthma night cough"] * 40
PRIVATE = Corpus.from_texts(TEXTS, authors=range(80))
NAMES = [f"word{number}" for number in range(400)]  # public words that nobody uses
PUBLIC = replace(PRIVATE, vocabulary=Vocabulary.of([*" ".join(TEXTS).split(), *NAMES]))


def test_units_are_added_as_if_they_had_been_read():
    read = Corpus.from_texts([*TEXTS, "skin " * 50, "birdword " * 50], authors=range(82))
    made = with_units(PRIVATE, [["skin"], ["birdword"]])
    for name in ("doc_start", "word", "count", "author"):
        np.testing.assert_array_equal(getattr(made, name), getattr(read, name))
        assert getattr(made, name).dtype == getattr(read, name).dtype
    assert list(made.words) == list(read.words)
    assert made.author_key.size == len(set(made.author_key.tolist())) == 82
    assert PRIVATE.n_documents == 80  # untouched
    again = with_units(made, [["skin"]])
    assert len(set(again.author_key.tolist())) == 83
    assert with_units(PRIVATE, []) is PRIVATE


def test_words_of_canaries():
    assert not set(chain(*Canary(n_words=3).choose(PRIVATE, 5))) & set(PRIVATE.words)
    taken = with_units(PRIVATE, Canary().choose(PRIVATE, 4))
    assert not set(chain(*Canary().choose(taken, 4))) & set(taken.words)
    assert set(chain(*Canary(n_words=2).choose(PUBLIC, 10))) <= set(NAMES)  # the rarest public ones
    assert set(chain(*Canary(words="widespread", n_words=6).choose(PUBLIC, 1))) == set(PRIVATE.words)
    assert len(Canary(words="widespread", n_words=20).choose(PRIVATE, 1)[0]) == 6  # all there are
    with pytest.raises(InputError, match="too few words") as caught:
        Canary(words="widespread").choose(PRIVATE, 7)
    assert not any(word in str(caught.value) for word in PRIVATE.words)


def test_crowds_are_there_without_their_canary():
    design = Canary(crowd=3)
    words = design.choose(PRIVATE, 2)
    crowded = design.crowded(PRIVATE, words)
    assert crowded.n_documents == 80 + 6
    assert all(crowded.words.count(w) == 1 for (w,) in words)


def test_scores():
    vocabulary = Vocabulary(("knee", "pain", "skin"), (3.0, -1.0, 5.0))
    assert SCORES["weight"](vocabulary, ["knee", "skin", "none"]) == 8.0
    assert SCORES["weight"](Vocabulary.of(["knee"]), ["knee", "skin"]) == 1.0
    model = TopicModel(
        topic_word=np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]), vocabulary=vocabulary,
        topic_share=np.array([0.25, 0.75]), alpha=0.1,
    )  # fmt: skip
    assert SCORES["weight"](model, ["skin"]) == 5.0
    assert SCORES["all topics"](model, ["skin"]) == pytest.approx(0.25 * 0.2 + 0.75 * 0.8)
    assert SCORES["heaviest topic"](model, ["skin"]) == pytest.approx(0.6)
    assert SCORES["likelihood"](model, ["knee", "skin"]) == pytest.approx(np.sqrt(0.1))
    assert SCORES["likelihood"](model, ["knee", "none"]) == 0
    noisy = replace(model, noise_std=np.array([0.1, 0.2]))
    assert SCORES["heaviest topic"](noisy, ["skin"]) == pytest.approx(4.0)
    assert SCORES["all topics"](noisy, ["skin"]) == pytest.approx(6.0)
    assert {score(None, ["skin"]) for score in SCORES.values()} == {-1.0}
    for name in ("heaviest topic", "all topics", "likelihood"):
        assert SCORES[name](vocabulary, ["skin"]) == 0
