"""Private text cannot pass for public words by accident: not the data's file, not a table, not a bare list."""

import gzip
import os
import shutil
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from dptopics import Corpus, PrivateTopics, PublicNgrams, TextSettings, Vocabulary, cli
from dptopics.core.errors import InputError
from dptopics.plan import Plan
from dptopics.privacy.guarantee import Unit
from dptopics.public.word_lists import check_entries, check_not_the_data, read_stop_words, read_words

NOTE = "my hiv test is positive, anna zanzibarina, ward 7"
SETTINGS = {"epsilon": 50.0, "delta": 1e-6, "unit": Unit.DOCUMENT}


@pytest.fixture
def notes(tmp_path):
    path = tmp_path / "notes.csv"
    path.write_text("note,patient\n" + f'"{NOTE}",p1\n' * 40, "utf-8")
    return path


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)

    def run_command(*words):
        monkeypatch.setattr(sys, "argv", ["dptopics", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        printed = capsys.readouterr()
        assert "zanzibarina" not in printed.out + printed.err
        assert not (tmp_path / "r").exists()
        return stop.value.code, " ".join(printed.err.split())

    return run_command


def command(name, source, *more):
    return [name, source, "--text", "note", "--unit", "document", "--epsilon", 9, "--delta", 1e-6, "--out", "r", *more]


def copies(notes, tmp_path):
    """The private table under other names."""
    link, hard, copy, packed = (tmp_path / name for name in ("link.txt", "hard.txt", "copy.txt", "packed.txt.gz"))
    link.symlink_to(notes)
    os.link(notes, hard)
    shutil.copy(notes, copy)
    packed.write_bytes(gzip.compress(notes.read_bytes()))
    return [notes, link, hard, copy, packed]


def test_the_data_itself_is_no_public_list(run, notes, tmp_path):
    for path in copies(notes, tmp_path):
        for words in (
            command("fit", notes, "--topics", 2, "--mechanism", "mixture", "--vocabulary", path),
            command("fit", notes, "--topics", 2, "--mechanism", "output", "--public-corpus", path),
            command("vocabulary", notes, "--mechanism", path),
            command("vocabulary", notes, "--stop-words", path),
            command("fit", notes, "--topics", 2, "--mechanism", "mixture", "--stop-words", path),
            command("ngrams", notes, "--n", 2, "--public", path),
            ["audit", "claim", notes, "--text", "note", "--mechanism", "mixture", "--vocabulary", path, "--out", "r"],
        ):
            code, said = run(*words)
            assert code == 2
            assert "is the private table itself" in said, words


def test_what_is_not_the_data_passes(notes, tmp_path):
    other = tmp_path / "other.txt"
    other.write_bytes(notes.read_bytes() + b"one more\n")
    for public in (other, "weighted", None, tmp_path / "nothing.txt", "x" * 5000):
        check_not_the_data(public, notes)
    check_not_the_data(other, "table_on_spark")
    folder = tmp_path / "parts"
    folder.mkdir()
    part = folder / "part-0.parquet"
    part.write_bytes(b"x")
    with pytest.raises(InputError, match="the private table itself"):
        check_not_the_data(part, folder)


@pytest.mark.parametrize("name", ["w.csv", "w.tsv", "w.jsonl", "w.parquet", "w.CSV", "w.csv.gz"])
def test_a_table_is_no_list(run, notes, tmp_path, name):
    (tmp_path / name).write_text("knee\nskin\nrash\n")
    code, said = run(*command("fit", notes, "--topics", 2, "--mechanism", "mixture", "--vocabulary", name))
    assert code == 2
    assert "is a table, not the word list" in said
    with pytest.raises(InputError, match="is a table, not the n-gram list"):
        PublicNgrams.from_file(tmp_path / name, n=1)


@pytest.mark.parametrize(
    "lines", [f"knee\n{NOTE}\n", "word,count\nknee,3\nskin,2\n", "knee\tp1\n", "my knee\n", "knee;p1\n", "p.1\n"]
)
def test_entries_that_no_text_gives_are_refused_by_number(tmp_path, lines):
    path = tmp_path / "words.txt"
    path.write_text(lines)
    with pytest.raises(InputError, match=r"\d of the \d entries of the public list cannot come out of a text") as no:
        read_words(path)
    assert "knee" not in str(no.value)
    assert "zanzibarina" not in str(no.value)
    with pytest.raises(InputError, match="cannot come out of a text") as no:
        read_stop_words(path, TextSettings())
    assert "knee" not in str(no.value)
    with pytest.raises(InputError, match=r"entries|words, but n is|a number must follow"):
        PublicNgrams.from_file(path, n=1)
    with pytest.raises(InputError, match="cannot come out"):
        Plan.topics(vocabulary=Vocabulary.public(lines.split("\n")), n_topics=1, text=TextSettings(), **SETTINGS)


def test_what_the_tokeniser_gives_is_never_refused():
    text = "Zoë's MRI isn't fine, 3 May; ABC2 naïve İstanbul ﬁne ŉ Ⅷ knee-pain l’été. don’t!"
    for n in (1, 2, 3):
        for settings in (TextSettings.for_ngrams(n), TextSettings(ngrams=n)):
            found = settings.words(text)
            assert found
            check_entries(found, settings)
    with pytest.raises(InputError, match="2 words in lower case"):
        check_entries(["the knee", "the, knee"], TextSettings.for_ngrams(2))


@pytest.mark.parametrize(
    "words",
    [
        ["knee", "skin"],
        ("knee", "skin"),
        {"knee", "skin"},
        np.array(["knee", "skin"]),
        pd.Series(["knee", "skin"]),
        pl.Series(["knee", "skin"]),
        pd.DataFrame({"w": ["knee", "skin"]}),
        CountVectorizer().fit([NOTE]).get_feature_names_out(),
        CountVectorizer().fit([NOTE]).vocabulary_,
    ],
    ids=lambda words: type(words).__name__,
)
def test_words_must_be_stated_to_be_public(words):
    texts = ["knee skin"] * 30
    rule = r"write Vocabulary\.public\(words\)"
    for mechanism in ("mixture", "mixture,variational", None):
        with pytest.raises(InputError, match=rule) as no:
            PrivateTopics(2, mechanism=mechanism, vocabulary=words, unit="document").fit(texts)
        assert "zanzibarina" not in str(no.value)
    with pytest.raises(InputError, match=rule):
        Plan.topics(mechanism="mixture", vocabulary=words, n_topics=2, **SETTINGS).build()
    with pytest.raises(InputError, match=rule):
        Corpus.from_texts(texts, vocabulary=words)


def test_stated_words_are_taken():
    for words in (["knee", "skin"], np.array(["knee", "skin"]), pd.Series(["skin", "knee"])):
        stated = Vocabulary.public(words)
        model = PrivateTopics(2, epsilon=50.0, mechanism="mixture", vocabulary=stated, unit="document")
        assert model.fit(["knee", "skin"] * 30).vocabulary_ == ("knee", "skin")
    for wrong in ("knee", ["knee", 3], [b"knee"], [None]):
        with pytest.raises(InputError, match="public words must be"):
            Vocabulary.public(wrong)


def test_the_private_corpus_is_not_the_public_one():
    corpus = Corpus.from_texts(["knee skin rash", "cast bone knee"] * 9)
    model = PrivateTopics(2, mechanism="output", settings={"public": corpus}, unit="document", accept_unproven=True)
    with pytest.raises(InputError, match="the private corpus itself"):
        model.fit(corpus)


def test_a_file_is_not_a_private_choice_of_ngrams(run, notes, tmp_path):
    (tmp_path / "list.txt").write_text("anna zanzibarina\n")
    code, said = run(*command("ngrams", notes, "--n", 2, "--vocabulary", "list.txt"))
    assert code == 2
    assert "a public list goes to prior= (--public)" in said
    with pytest.raises(InputError, match="chosen privately, by one of"):
        Plan.ngrams(mechanism="bayes", vocabulary=str(notes), **SETTINGS).build()
