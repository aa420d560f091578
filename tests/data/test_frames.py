"""Frames of pandas, Polars, Arrow and DuckDB, by the names of their columns: all of them the same release."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dptopics import Corpus, PrivacyWarning, PrivateTopics, Vocabulary, release_ngrams, release_vocabulary
from dptopics.core.errors import InputError
from dptopics.core.text import TextSettings
from dptopics.data.readers.databases import SqlQuery
from dptopics.data.readers.files import TableFile

NOTES = ["knee pain after running", "knee hurts when running", "glasses for reading", "eyes need reading glasses"] * 50
ARROW = pa.table({"age": range(200), "note": NOTES, "patient": [f"p{i % 100}" for i in range(200)]})
PANDAS = ARROW.to_pandas()
FRAMES = {
    "pandas": PANDAS,
    "pandas categories": PANDAS.astype({"note": "category", "patient": "category"}),
    "polars": pl.from_arrow(ARROW),
    "polars categories": pl.from_arrow(ARROW).cast({"note": pl.Categorical, "patient": pl.Categorical}),
    "arrow": ARROW,
    "duckdb": duckdb.from_arrow(ARROW),
}
WORDS = Vocabulary.public(["knee", "pain", "running", "glasses", "reading", "eyes"])


def topics():
    return PrivateTopics(
        n_topics=2, epsilon=20.0, mechanism="mixture", settings={"steps": 2}, vocabulary=WORDS, random_state=7
    )


@pytest.fixture(scope="module")
def as_lists():
    with pytest.warns(PrivacyWarning, match="not private"):
        return topics().fit(NOTES, authors=ARROW["patient"].to_pylist())


@pytest.mark.filterwarnings("ignore:A seeded release")
@pytest.mark.parametrize("name", FRAMES)
def test_columns_of_a_frame_are_as_good_as_lists(name, as_lists):
    model = topics().fit(FRAMES[name], text="note", authors="patient")
    np.testing.assert_array_equal(model.components_, as_lists.components_)
    assert model.guarantee_ == as_lists.guarantee_
    np.testing.assert_array_equal(model.transform(FRAMES[name]), as_lists.transform(NOTES))
    np.testing.assert_array_equal(model.transform(NOTES[:3]), as_lists.transform(NOTES[:3]))
    if name != "duckdb":
        np.testing.assert_array_equal(model.transform(FRAMES[name]["note"]), as_lists.transform(NOTES))


@pytest.mark.filterwarnings("ignore:A seeded release")
@pytest.mark.parametrize("name", ["pandas", "polars", "arrow"])
def test_single_columns_as_before(name, as_lists):
    frame = FRAMES[name]
    model = topics().fit(frame["note"], authors=frame["patient"])
    np.testing.assert_array_equal(model.components_, as_lists.components_)
    np.testing.assert_array_equal(model.transform(frame["note"]), as_lists.transform(NOTES))
    assert Corpus.from_texts(frame["note"], frame["patient"]).n_authors == 100


@pytest.mark.filterwarnings("ignore:A seeded release")
def test_files_and_queries_as_well(tmp_path, as_lists):
    PANDAS.to_csv(tmp_path / "notes.dat", sep="|", index=False)
    model = topics().fit(TableFile(tmp_path / "notes.dat", format="csv"), text="note", authors="patient")
    np.testing.assert_array_equal(model.components_, as_lists.components_)
    PANDAS.to_csv(tmp_path / "notes.csv")
    model = topics().fit(str(tmp_path / "notes.csv"), text="note", authors="patient")
    np.testing.assert_array_equal(model.components_, as_lists.components_)
    with pytest.raises(InputError, match="there is no SQLite file"):
        topics().fit(SqlQuery("select 1", "sqlite:///nothing.db"), text="note", authors="patient")


@pytest.mark.filterwarnings("ignore:A seeded release")
def test_fit_and_transform_in_one(as_lists):
    shares = topics().fit_transform(PANDAS, text="note", authors="patient")
    np.testing.assert_array_equal(shares, as_lists.transform(NOTES))


def test_without_authors_documents_are_protected():
    with pytest.warns(PrivacyWarning, match="each document is protected separately"):
        model = PrivateTopics(n_topics=2, mechanism="mixture", settings={"steps": 1}, vocabulary=WORDS).fit(
            PANDAS, text="note"
        )
    assert model.guarantee_.unit == "document"


def test_other_columns_do_no_harm():
    strange = PANDAS.assign(mixed=[1, "a"] * 100, things=[object()] * 200)
    assert Corpus.from_table(strange, text="note", author="patient").n_authors == 100


@pytest.mark.parametrize(
    ("columns", "rule"),
    [
        ({"text": "nothing", "authors": "patient"}, "there is no column 'nothing'"),
        ({"text": "note", "authors": "nobody"}, "there is no column 'nobody'"),
        ({"authors": "patient"}, "name the columns of texts and authors"),
        ({"text": "note", "authors": PANDAS["patient"]}, "name the columns of texts and authors"),
        ({"text": 3, "authors": "patient"}, "name the columns of texts and authors"),
        ({"text": "note", "authors": "note"}, "name the same column, 'note'"),
        ({"text": "age", "authors": "patient"}, "column 'age' holds int64, not text"),
    ],
)
@pytest.mark.parametrize("name", ["pandas", "polars", "arrow"])
def test_names_that_do_not_fit(name, columns, rule):
    with pytest.raises(InputError, match=rule):
        PrivateTopics(n_topics=2, mechanism="mixture", vocabulary=WORDS).fit(FRAMES[name], **columns)


def test_a_name_twice():
    twice = pd.concat([PANDAS, PANDAS[["note"]]], axis=1)
    with pytest.raises(InputError, match=r"two have one name|there are 2 columns 'note'"):
        PrivateTopics(n_topics=2, mechanism="mixture", vocabulary=WORDS).fit(twice, text="note", authors="patient")


@pytest.mark.parametrize("name", ["pandas", "polars", "arrow"])
def test_vocabularies_and_ngrams_of_frames(name):
    budget = {"epsilon": 50.0, "delta": 1e-6}
    words = release_vocabulary(FRAMES[name], text="note", authors="patient", **budget)
    assert {"knee", "reading"} <= set(words.value.words)
    short = TextSettings(max_length=4)
    few = release_vocabulary(FRAMES[name], text="note", authors="patient", settings=short, **budget)
    assert "reading" not in few.value.words
    pairs = release_ngrams(FRAMES[name], text="note", authors="patient", n=2, **budget)
    assert "reading glasses" in pairs.value.vocabulary.words or "<s> knee" in pairs.value.vocabulary.words
