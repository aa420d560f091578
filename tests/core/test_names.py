"""Names of authors: one person's spellings are one author, and placeholders are no author. In memory and on Spark."""

import sys
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from dptopics import (
    Axis,
    Corpus,
    Ledger,
    PrivateTopics,
    TopicModel,
    Vocabulary,
    cli,
    release_counts,
    release_vocabulary,
)
from dptopics.core.errors import InputError, PrivacyError, PrivacyWarning
from dptopics.core.names import PLACEHOLDERS, clean_name, no_author, real_names
from dptopics.core.text import TextSettings
from dptopics.counting.tables import release_groups
from dptopics.data.bounded import Bounds
from dptopics.data.engines import arrow_parts
from dptopics.privacy.guarantee import Unit

ONE = [
    "Ann 7",
    "ANN 7",
    " ann  7 ",
    "an\u00adn\u00a07",
    "\uff21nn \uff17",
    "ann\u2065 7\ufff0",
    "\u2800ann 7\U000e0fff",
]
NOBODY = [
    "",
    " ",
    "nan",
    "NaN",
    "None",
    "null",
    "NULL",
    "N/A",
    "#N/A",
    "n.a.",
    "<NA>",
    "NaT",
    "-",
    "--",
    "\u2014",
    "?",
    "...",
]
NOBODY += [
    "[deleted]",
    "[removed]",
    "deleted user",
    "anonymous",
    "(Anonymous)",
    "anon",
    "Unknown",
    "un\u200bknown",
    "__none__",
]
NOBODY += ["\uff2e\uff55\uff4c\uff4c", "undefined", "no name", "Redacted", "'missing'", "N / A".replace(" ", "")]


def parts_of(names, **more):
    """Who is who on executors: the names of all authors that are kept, and how many rows are not."""
    table = pa.table({"text": ["knee"] * len(names), "author": pa.array(names, pa.string())})
    how = {"text": TextSettings(), "bounds": Bounds(unit=Unit.AUTHOR), "buckets": 1, "vocabulary": None}
    plan = arrow_parts.Reading(with_authors=True, with_vectors=False, **how, **more)
    (batch,) = arrow_parts.read(iter(table.to_batches()), plan)
    return sorted(batch["authors"][0].as_py()), batch["missing"][0].as_py()


def test_no_character_that_cannot_be_seen_makes_another_author():
    unseen = regex.compile(r"\p{Default_Ignorable_Code_Point}|\p{Cf}|\u2800")
    every = [c for c in map(chr, range(sys.maxunicode + 1)) if unseen.match(c)]
    assert len(every) > 4000
    assert [c for c in every if clean_name(f"A{c}nn{c}") != "ann"] == []


def test_every_character_is_folded_to_the_end():
    signs = [chr(i) for i in range(sys.maxunicode + 1) if not 0xD800 <= i < 0xE000]
    for name in ("".join(signs[i : i + 7]) for i in range(0, len(signs), 7)):
        assert clean_name(clean_name(name)) == clean_name(name)


@given(st.text(max_size=8))
def test_small_and_capital_letters_are_one_name(name):
    assert clean_name(name) == clean_name(name.casefold())


def test_whole_numbers_are_one_name_however_they_are_written():
    assert {clean_name(n) for n in ("7", "7.0", "7.00", " 7. ", "\uff17.\uff10")} == {"7"}
    assert len({clean_name(n) for n in ("7", "07", "7.5", "7.0.0", "-7", "70", "7e0")}) == 7


def test_memory_and_spark_agree_who_is_who():
    assert Corpus.from_texts(["knee"] * len(ONE), ONE).n_authors == 1
    assert parts_of(ONE) == (["ann 7"], 0)
    names = [*ONE, "bob", "7", "7.0", "Null"]
    in_memory = Corpus.from_texts(["knee"] * len(names), names, author_is=["null"])
    assert in_memory.n_authors == 4
    assert parts_of(names, author_is=frozenset({"null"})) == (["7", "ann 7", "bob", "null"], 0)


@pytest.mark.parametrize("name", NOBODY)
def test_a_placeholder_is_a_missing_author(name):
    """People under one name would share its bound: removing one of them moves a sum by up to two bounds."""
    table = pa.table({"note": ["knee", "back"], "patient": ["a", name]})
    for read in (
        lambda **how: Corpus.from_texts(["knee", "back"], ["a", name], **how),
        lambda **how: Corpus.from_table(table, text="note", author="patient", **how),
    ):
        with pytest.raises(InputError, match=r"row 2 has no author \(a placeholder such as"):
            read()
        assert (read(drop_missing=True).n_authors, read(drop_missing=True).left_out) == (1, 1)
        if clean_name(name):
            assert read(author_is=[name]).n_authors == 2
    with pytest.raises(InputError, match=r"row 2 has no author \(a placeholder such as"):
        Corpus.from_counts(np.eye(2, dtype=int), ["knee", "back"], authors=["a", name])
    assert parts_of(["a", name]) == (["a"], 1)


def test_what_is_no_placeholder():
    for name in ("0", "-1", "Ann", "Na Li", "\U0001f98a", "\u674e", "Nan Goldin", "none of us", "user", "A-"):
        assert not no_author(name)
    assert no_author(None)
    assert no_author(float("nan"))
    assert not no_author(7)
    assert all(clean_name(name) == name for name in PLACEHOLDERS)
    assert real_names([" NULL "]) == {"null"}
    with pytest.raises(InputError, match="author_is must be a list of names"):
        real_names("null")
    with pytest.raises(InputError, match="author_is must be a list of names"):
        Corpus.from_texts(["knee"], ["a"], author_is=[7])


def test_no_message_quotes_a_name():
    with pytest.raises(InputError) as error:
        Corpus.from_texts(["knee", "back"], ["a", "[Deleted User]"])
    assert "Deleted" not in str(error.value)


# --- author columns of many kinds ---


@pytest.mark.parametrize(
    "column, authors",
    [
        (pa.array([7, 8, None], pa.int64()), 2),
        (pa.array([7, 8, None], pa.uint8()), 2),
        (pa.array(["7", "7.0", None]), 1),
        (pa.array(["7", "\uff17", "-"]).dictionary_encode(), 1),
        (pa.array(["\u00ad", " \t", "N/A"], pa.large_string()), 0),
        (pa.array([None, None, None], pa.float64()), 0),
        (pa.nulls(3), 0),
    ],
)
def test_columns_of_authors(column, authors):
    table = pa.table({"note": ["knee"] * 3, "patient": column})
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        corpus = Corpus.from_table(table, text="note", author="patient", drop_missing=True)
    assert corpus.n_authors == authors
    assert corpus.left_out >= (0 if authors == 2 else 1) or corpus.n_documents == 2


@pytest.mark.parametrize("authors", [[1.0, 2.0], ["a", 2.0], ["a", True], ["a", b"a"], ["a", ("a",)], ["a", pd.NaT]])
def test_mixed_types_are_refused_by_their_form(authors):
    with pytest.raises(InputError, match=r"row [12]: an author must be a string or a whole number, got \w+"):
        Corpus.from_texts(["knee", "back"], authors)


@pytest.mark.parametrize("authors", [["-", "N/A"], [None, "nan"]])
def test_authors_that_are_all_missing_are_noise_alone(authors):
    """Nobody is left: that is no refusal, but zeros plus noise, charged."""
    with pytest.warns(PrivacyWarning, match="no rows are left"):
        release = release_vocabulary(["knee", "back"], authors=authors, epsilon=1.0, delta=1e-6, drop_missing=True)
    assert release.value.words == ()


# --- through every door ---


def test_author_is_goes_through_every_door(tmp_path):
    table = pa.table({"note": ["asthma", "skin"] * 40, "patient": ["Null", "a"] * 40, "ward": ["n", "s"] * 40})
    model = TopicModel(
        topic_word=np.array([[0.9, 0.1], [0.1, 0.9]]),
        topic_share=np.array([0.5, 0.5]),
        vocabulary=Vocabulary.of(["asthma", "skin"]),
        alpha=0.1,
    )
    how = {"epsilon": 1.0, "delta": 1e-6}
    named = {"text": "note", "author": "patient", "by": [Axis.groups("ward", ["n", "s"])]}
    doors = (
        lambda **more: release_counts(model, table, **named, **how, **more),
        lambda **more: release_groups(table, column="ward", author="patient", **how, **more),
        lambda **more: release_vocabulary(table, text="note", authors="patient", **how, **more),
        lambda **more: PrivateTopics(
            n_topics=2, mechanism="mixture", vocabulary=Vocabulary.public(["asthma", "skin"]), **how
        ).fit(table, text="note", authors="patient", **more),
    )
    for door in doors:
        with pytest.raises(InputError, match=r"has no author \(a placeholder such as"):
            door()
        door(author_is=["null"])
    corpus = Corpus.from_table(table, text="note", author="patient", author_is=["Null"])
    with pytest.raises(InputError, match="already has its authors"):
        release_vocabulary(corpus, author_is=["Null"], **how)


def test_the_option(tmp_path, monkeypatch, capsys):
    table = tmp_path / "notes.csv"
    table.write_text("note,patient\n" + "knee pain,Null\nback pain,ann\n" * 50)

    def run(out, *more):
        words = ["vocabulary", str(table), "--text", "note", "--author", "patient", "--epsilon", "1", "--delta", "1e-6"]
        monkeypatch.setattr(sys, "argv", ["dptopics", *words, "--out", str(tmp_path / out), *more])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        return stop.value.code or 0, " ".join(capsys.readouterr().err.split())

    code, said = run("one")
    assert code == 2
    assert "row 1 has no author (a placeholder such as" in said
    assert run("two", "--author-is", "null", "--author-is", "unknown")[0] == 0
    code, said = run("three", "--drop-missing")
    assert code == 0
    assert "50 rows without text or author were left out" in said


# --- one ledger, one column of authors ---


def people():
    n = 300
    columns = {"patient": [f"p{i}" for i in range(n)], "doctor": [f"d{i // 6}" for i in range(n)]}
    return pa.table({"note": ["knee pain"] * n, **columns})


def released(ledger, by, data=None, **more):
    data = people() if data is None else data
    return release_vocabulary(data, text="note", authors=by, epsilon=1.0, delta=1e-6, ledger=ledger, **more)


def test_a_ledger_protects_the_authors_of_one_column(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger", epsilon=8, delta=1e-4)
    released(ledger, "patient")
    assert ledger.receipts()[0].by == "patient"
    assert "each author (add-or-remove), by column 'patient'" in ledger.card()
    with pytest.raises(PrivacyError, match=r"authors of column 'patient', but .* column 'doctor'.*ledger same-people"):
        released(ledger, "doctor")
    corpus = Corpus.from_table(people(), text="note", author="doctor")
    with pytest.raises(PrivacyError, match="column 'doctor'"):
        PrivateTopics(n_topics=2, epsilon=1.0, mechanism="mixture", ledger=ledger).fit(corpus)
    assert len(ledger.receipts()) == 1
    released(Ledger.open(tmp_path / "ledger"), "patient")
    with pytest.warns(PrivacyWarning, match="does not say which column"):
        release_vocabulary(["knee"] * 9, authors=range(9), epsilon=1.0, delta=1e-6, ledger=ledger)
    assert len(ledger.receipts()) == 3


def test_another_column_of_the_same_people_may_be_declared(tmp_path, monkeypatch, capsys):
    ledger = Ledger.create(tmp_path / "ledger", epsilon=8, delta=1e-4)
    data = people().append_column("number", pa.array(range(300)))
    released(ledger, "patient")
    spent = ledger.spent
    monkeypatch.setattr(sys, "argv", ["dptopics", "ledger", "same-people", str(tmp_path / "ledger"), "number"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert not stop.value.code
    assert "by column 'patient', 'number'" in " ".join(capsys.readouterr().out.split())
    assert (ledger.spent, len(ledger.receipts())) == (spent, 2)
    for by in ("number", "patient"):
        released(ledger, by, data)
    with pytest.raises(PrivacyError):
        released(ledger, "doctor", data)


@pytest.mark.parametrize("relation", ["add-or-remove", "replace"])
def test_columns_do_not_matter_where_documents_are_units(tmp_path, relation):
    documents = Ledger.create(tmp_path / "documents", epsilon=8, delta=1e-4, unit="document")
    released(documents, "patient", unit="document")
    released(documents, "doctor", unit="document")
    assert [r.by for r in documents.receipts()] == [None, None]
    with pytest.raises(InputError, match="protects documents"):
        documents.same_people("doctor")
    authors = Ledger.create(tmp_path / "authors", epsilon=8, delta=1e-4, relation=relation)
    assert authors.same_people("number").price == 0.0
    assert authors.receipts()[0].by == "number"


# --- a second argument of fit ---


def test_authors_as_a_second_argument_are_refused_with_a_hint():
    texts, ids = ["knee pain", "back pain"] * 20, list(range(40))
    words = Vocabulary.public(["knee", "back", "pain"])
    model = PrivateTopics(n_topics=2, mechanism="mixture", vocabulary=words)
    with pytest.raises(InputError, match=r"fit\(X, y\) ignores y.*fit\(X, authors=…\)"):
        model.fit(texts, ids)
    with pytest.raises(InputError, match=r"fit\(X, y\) ignores y"):
        model.fit_transform(texts, ids)
    assert model.fit(texts, None, authors=ids).guarantee_.unit is Unit.AUTHOR
    corpus = Corpus.from_texts(texts, ids)
    labelled = PrivateTopics(n_topics=2, mechanism="mixture", vocabulary=words)
    assert labelled.fit(corpus, ids).guarantee_.unit is Unit.AUTHOR
    alone = PrivateTopics(n_topics=2, mechanism="mixture", vocabulary=words, unit="document")
    assert alone.fit(texts, ids).guarantee_.unit is Unit.DOCUMENT  # labels for a classifier behind it
    with pytest.warns(PrivacyWarning, match="No authors were given"):
        PrivateTopics(n_topics=2, mechanism="mixture", vocabulary=words).fit(texts, None)


def test_a_column_of_a_frame_has_its_name(tmp_path):
    """Passing the columns themselves does not get around it."""
    ledger = Ledger.create(tmp_path / "ledger", epsilon=8, delta=1e-4)
    released(ledger, "patient")
    frame = people().to_pandas()
    with pytest.raises(PrivacyError, match="column 'doctor'"):
        release_vocabulary(frame["note"], authors=frame["doctor"], epsilon=1.0, delta=1e-6, ledger=ledger)
    assert len(ledger.receipts()) == 1
