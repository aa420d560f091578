"""Phrases of two or three words, beside words: how texts give them, and which topics show."""

import numpy as np
import pytest

from dptopics import Corpus, InputError, PrivateTopics, TextSettings, TopicModel, Vocabulary
from dptopics.public.embeddings import word_weights
from dptopics.release import bundle

READ = TextSettings(phrases=3)
TEXTS = [
    "My blood pressure is high again. The blood pressure monitor shows it.",
    "There is a skin rash on my arm, and the skin rash itches.",
]


def test_a_text_gives_its_words_first_and_then_its_phrases():
    text = "Chest-pain when walking; the cold north wind! Chest, pain."
    words = TextSettings().words(text)
    found = READ.words(text)
    assert found[: len(words)] == words
    assert found[len(words) :] == ["chest pain", "cold north", "north wind", "cold north wind"]


@pytest.mark.parametrize("sign", [", ", ". ", " of ", " 3 ", "\n"])
def test_other_signs_and_stop_words_end_a_phrase(sign):
    assert READ.words(f"heart{sign}attack") == ["heart", "attack"]


def test_what_may_stand_on_a_public_list():
    assert READ.could_give("blood pressure monitor")
    assert not READ.could_give("high blood pressure monitor")
    assert not TextSettings().could_give("blood pressure")
    with pytest.raises(InputError, match="phrases have at most 3 words"):
        TextSettings(phrases=4)
    with pytest.raises(InputError, match="not with n-grams"):
        TextSettings(phrases=2, ngrams=2)


@pytest.mark.parametrize("mechanism", ["embedded", "mixture", "variational"])
def test_topics_show_their_phrases_apart(mechanism, tmp_path):
    corpus = Corpus.from_texts(TEXTS * 1500, authors=range(3000), settings=READ)
    fitted = PrivateTopics(2, epsilon=8.0, mechanism=mechanism, vocabulary="weighted").fit(corpus)
    bundle.save(fitted.release_, tmp_path / "release")
    model = TopicModel.load(tmp_path / "release")
    phrases, words = model.top_phrases(10), model.top_words(5)
    assert "blood pressure" in phrases[0] + phrases[1]
    assert "skin rash" in phrases[0] + phrases[1]
    assert not any(" " in word for row in words for word in row)
    assert "skin rash" in (tmp_path / "release" / "phrases.csv").read_text()
    shares = model.transform(["the skin rash is back", "my blood pressure monitor"])
    assert shares.argmax(axis=1).tolist() in ([0, 1], [1, 0])


def test_places_of_documents_do_not_count_words_twice():
    weights = word_weights(["skin", "rash", "skin rash"], "english")
    assert weights[2] == 0
    assert (weights[:2] > 0).all()


def test_columns_of_a_count_matrix_are_words_whatever_they_hold():
    model = TopicModel(
        topic_word=np.array([[0.5, 0.5]]), topic_share=np.ones(1), vocabulary=Vocabulary.of(["a b", "c"]), alpha=0.1
    )
    assert model.top_words(2) == [["a b", "c"]]
    assert model.top_phrases(2) == [[]]
