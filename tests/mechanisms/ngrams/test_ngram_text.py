"""Texts to n-grams, public lists, and what cannot be read."""

import numpy as np
import pytest

from dptopics import Corpus, TextSettings, Vocabulary
from dptopics.core.errors import InputError, PrivacyWarning
from dptopics.data.public_inputs import PublicNgrams

TEXTS = ["I like tea. You like tea!", "We don’t like it\nbut I like tea"]


@pytest.mark.parametrize(
    "n, text, found",
    [
        (1, "I like tea.", ["i", "like", "tea"]),
        (2, "I like tea.", ["<s> i", "i like", "like tea", "tea </s>"]),
        (3, "Don’t! 3.5 mg", ["<s> don't </s>", "<s> 3 5", "3 5 mg", "5 mg </s>"]),
        (4, "Yes. No!", []),
        (5, "a b c", ["<s> a b c </s>"]),
        (3, "", []),
        (3, "... !", []),
    ],
)
def test_ngrams_of_a_text(n, text, found):
    assert TextSettings.for_ngrams(n).words(text) == found


@pytest.mark.parametrize("n", [0, 6, -1])
def test_impossible_n(n):
    with pytest.raises(InputError, match=f"1 to 5 words, got {n}"):
        TextSettings.for_ngrams(n)


def test_marks_cannot_be_written():
    assert TextSettings.for_ngrams(2).words("</s> <s>") == ["<s> s", "s s", "s </s>"]


def test_corpus_over_a_public_list_drops_the_rest_while_reading():
    listed = Vocabulary.of(["i like tea", "like tea </s>", "never seen this"])
    corpus = Corpus.from_texts(TEXTS, ["a", "b"], settings=TextSettings.for_ngrams(3), vocabulary=listed)
    assert corpus.words == listed.words
    assert corpus.vocabulary is listed
    assert np.bincount(corpus.word, weights=corpus.count, minlength=3).tolist() == [2, 3, 0]


def test_table_over_a_public_list(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('who,text\na,"I like tea."\nb,nothing here\n', "utf-8")
    corpus = Corpus.from_table(
        path, text="text", author="who", settings=TextSettings.for_ngrams(2), vocabulary=Vocabulary.of(["like tea"])
    )
    assert (corpus.n_documents, corpus.word.tolist()) == (2, [0])


def test_public_data_without_overlap():
    with pytest.warns(PrivacyWarning, match="none of the listed words or n-grams occurs"):
        Corpus.from_texts(TEXTS, settings=TextSettings.for_ngrams(3), vocabulary=Vocabulary.of(["x y z"]))
    public = PublicNgrams.of({"x y": 3})
    with pytest.raises(InputError, match="nothing in common"):
        public.counts_of(Vocabulary.of(["a b"]))


def test_n_larger_than_every_document():
    with pytest.warns(PrivacyWarning, match="no sentence is long enough for n-grams of 5 words"):
        Corpus.from_texts(["Yes.", "No way."], settings=TextSettings.for_ngrams(5))


def test_most_frequent_public_ngrams():
    public = PublicNgrams.from_texts(TEXTS, n=2, size=2)
    assert dict(zip(public.vocabulary.words, public.counts, strict=True)) == {"like tea": 3.0, "tea </s>": 3.0}
    assert public.counts_of(Vocabulary.of(["like tea", "other one"])).tolist() == [3.0, 0.0]
    with pytest.raises(InputError, match="at least one n-gram, got size 0"):
        PublicNgrams.from_texts(TEXTS, n=2, size=0)


def test_public_table(tmp_path):
    path = tmp_path / "public.jsonl"
    path.write_text('{"t": "I like tea"}\n{"t": null}\n', "utf-8")
    assert len(PublicNgrams.from_table(path, text="t", n=3).vocabulary) == 3


def test_list_from_a_file(tmp_path):
    path = tmp_path / "list.txt"
    path.write_text("I Like\t5\nlike tea\n\n i like\t2.5\nbig one\t99999999999\n", "utf-8")
    public = PublicNgrams.from_file(path, n=2)
    assert public.vocabulary.words == ("big one", "i like", "like tea")
    assert public.counts.tolist() == [99999999999.0, 7.5, 1.0]  # beyond 32 bits


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"a b c\n", "line 1 of 'list.txt' has 3 words, but n is 2"),
        (b"a b\tmany\n", "line 1 of 'list.txt'.*a number must follow"),
        (b"a b\t-3\n", "numbers of at least 0"),
        (b"a b\tnan\n", "numbers of at least 0"),
        (b"caf\xe9 au\n", "not valid UTF-8"),
    ],
)
def test_bad_lists(tmp_path, content, message):
    path = tmp_path / "list.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        PublicNgrams.from_file(path, n=2)


def test_missing_list(tmp_path):
    with pytest.raises(InputError, match="cannot read the n-gram list"):
        PublicNgrams.from_file(tmp_path / "none.txt", n=2)
    with pytest.raises(InputError, match="holds no n-grams"):
        PublicNgrams.of({})
