"""Tables that are no file of a known name: separators, standard input, folders; and cells that swallowed rows."""

import io
import json

import pyarrow as pa
import pytest

from dptopics.core.errors import InputError, PrivacyWarning
from dptopics.data.corpus import Corpus
from dptopics.data.readers.delimited import Rejoined
from dptopics.data.readers.files import TableFile

ROWS = [("my knee; hurts, a lot", "ann"), ("a rash", "bob"), ("two\nlines", "ann")]


def read(source, **how):
    return Corpus.from_table(source, text="note", author="patient", **how)


def same(corpus):
    assert sorted(corpus.words) == ["hurts", "knee", "lines", "lot", "rash"]
    return (corpus.n_documents, corpus.n_authors) == (3, 2)


def csv(separator, rows=ROWS):
    return "\n".join([f"note{separator}patient", *(f'"{note}"{separator}{patient}' for note, patient in rows), ""])


@pytest.mark.parametrize(("separator", "given"), [("~", "~"), (":", ":"), ("\t", "tab"), (" ", "space"), (";", ";")])
def test_a_separator_that_is_given(tmp_path, separator, given):
    path = tmp_path / "notes.csv"
    path.write_text(csv(separator))
    assert same(read(path, separator=given))


def test_a_separator_that_is_given_is_the_only_one(tmp_path):
    path = tmp_path / "notes.csv"
    path.write_text(csv(";"))
    with pytest.raises(InputError, match="there is no column 'note' among the 1"):
        read(path, separator=",")


@pytest.mark.parametrize("separator", ["", "ab", '"', "\n", "ß", "a", "7", "\0"])
def test_what_is_no_separator(separator):
    with pytest.raises(InputError, match="a separator is one character"):
        TableFile("notes.csv", separator=separator)


def test_a_separator_is_for_csv(tmp_path):
    path = tmp_path / "notes.jsonl"
    path.write_text("{}")
    with pytest.raises(InputError, match=r"a separator is for CSV, but 'notes\.jsonl' is 'json'"):
        read(path, separator=";")
    with pytest.raises(InputError, match="a separator is for CSV, but the format is 'parquet'"):
        read(path, separator=";", format="parquet")
    with pytest.raises(InputError, match="separator and format are for files"):
        read(pa.table({"note": ["a"], "patient": ["b"]}), separator=";")


@pytest.mark.parametrize("name", ["notes", "notes.dat", "notes.xlsx"])
def test_a_format_that_is_given(tmp_path, name):
    path = tmp_path / name
    path.write_text(csv(","))
    assert same(read(path, format="csv"))
    with pytest.raises(InputError, match="there is no format 'cvs'"):
        read(path, format="cvs")


def test_zstandard(tmp_path):
    path = tmp_path / "notes.csv.zst"
    with pa.output_stream(path, compression="zstd") as stream:
        stream.write(csv(",").encode())
    assert same(read(path))


# --- standard input ---


@pytest.fixture
def piped(monkeypatch):
    """What comes in by standard input."""

    def send(data):
        raw = data if isinstance(data, bytes) else data.encode()
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw)))

    return send


OBJECTS = [{"note": note, "patient": patient} for note, patient in ROWS]


@pytest.mark.parametrize(
    "data",
    [
        csv(","),
        "\ufeff" + csv(";"),
        csv("\t"),
        "\n".join(map(json.dumps, OBJECTS)),
        "\n  " + json.dumps(OBJECTS, indent=2),
    ],
)
def test_standard_input(piped, data):
    piped(data)
    assert same(read("-"))


def test_standard_input_longer_than_its_beginning(piped):
    rows = [(f"knee number{i} " + "pain " * 40, f"p{i}") for i in range(2000)]
    piped(csv(",", rows))
    corpus = read("-")
    assert (corpus.n_documents, corpus.n_authors) == (2000, 2000)
    assert {f"number{i}" for i in (0, 777, 1999)} <= set(corpus.words)
    piped("\n".join(json.dumps({"note": note, "patient": patient}) for note, patient in rows))
    again = read("-")
    assert sorted(again.words) == sorted(corpus.words)


def test_standard_input_with_a_format(piped):
    piped(csv(","))
    with pytest.raises(InputError, match="line 1 of 'standard input' is not valid JSON"):
        read("-", format="json")
    for kind in ("parquet", "excel"):
        with pytest.raises(InputError, match=f"standard input cannot be '{kind}'"):
            read("-", format=kind)
    piped("[note]\t[patient]\na knee\tann\n")
    assert Corpus.from_table("-", text="[note]", author="[patient]", format="tsv").n_documents == 1


def test_standard_input_that_cannot_be_read(piped, monkeypatch):
    piped(b"\x1f\x8b\x08nothing")
    with pytest.raises(InputError, match="standard input is compressed"):
        read("-")
    piped("")
    with pytest.raises(InputError, match="'standard input' is empty"):
        read("-")
    piped(b"note,patient\ncaf\xe9,a\n")
    with pytest.raises(InputError, match="'standard input' is not valid UTF-8"):
        read("-")
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(InputError, match="standard input is empty"):
        read("-")


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_a_stream_is_whole_whatever_was_read_of_it(size):
    data = bytes(range(20))
    for head in (0, 1, 5, 20):
        rest = io.BytesIO(data)
        stream = Rejoined(rest.read(head), rest)
        pieces = list(iter(lambda stream=stream: stream.read(size), b""))
        assert b"".join(pieces) == data
        assert all(len(piece) == size for piece in pieces[:-1])


# --- folders ---


def folder(tmp_path, **files):
    for name, text in files.items():
        path = tmp_path / name.replace("__", "/")
        path.parent.mkdir(exist_ok=True, parents=True)
        path.with_suffix(".txt").write_bytes(text if isinstance(text, bytes) else text.encode())
    return tmp_path


def test_a_folder_is_a_table_of_its_text_files(tmp_path):
    made = folder(tmp_path / "notes", ann__1="my knee", ann__2024__2="two knees", bob__1="a rash")
    corpus = Corpus.from_table(made, text="text", author="folder")
    assert (corpus.n_documents, corpus.n_authors) == (3, 2)
    assert {"knee", "knees", "rash"} <= set(corpus.words)
    assert Corpus.from_table(made, text="text").n_authors is None
    assert Corpus.from_table(made, text="text", author="file").n_authors == 2  # both are called 1, and are one author


def test_files_beside_sub_folders_have_no_author(tmp_path):
    made = folder(tmp_path, one="my knee", ann__1="a rash")
    with pytest.raises(InputError, match="row 2 has no author"):
        Corpus.from_table(made, text="text", author="folder")
    assert Corpus.from_table(made, text="text", author="folder", drop_missing=True).account() == (
        "Read 2 rows: 1 text of 1 author; 1 row without text or author was left out."
    )


def test_other_files_of_a_folder(tmp_path):
    made = folder(tmp_path, ann__1="my knee")
    (tmp_path / ".hidden").write_text("knee")
    (tmp_path / "ann" / "photo.jpg").write_bytes(b"\xff")
    with pytest.warns(PrivacyWarning, match=r"1 files that do not end in \.txt were left out"):
        assert Corpus.from_table(made, text="text", author="folder").n_documents == 1


def test_folders_that_cannot_be_read(tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.csv").write_text("note\nknee\n")
    with pytest.raises(InputError, match="has the columns text, folder, file, not 'note'"):
        Corpus.from_table(tmp_path / "other", text="note")
    made = folder(tmp_path / "latin", zanzibarina__1=b"caf\xe9")
    with pytest.raises(InputError, match=r"file 1 of the folder 'latin', in alphabetical order, is not valid utf8"):
        Corpus.from_table(made, text="text")
    assert Corpus.from_table(made, text="text", encoding="latin-1").words == ["café"]
    (tmp_path / "empty").mkdir()
    with pytest.warns(PrivacyWarning, match="the data holds no documents"):
        Corpus.from_table(tmp_path / "empty", text="text")


# --- what was read ---


def swallowed(tmp_path, column):
    """A stray quotation mark in row 200 of 4,000, closed by one at the end."""
    rows = [f"a knee {i},p{i}" for i in range(4000)]
    rows[200] = '"my knee,p200' if column == "note" else 'my knee,"p200'
    rows[-1] = 'the last",p' if column == "note" else 'the last,p"'
    path = tmp_path / "notes.csv"
    path.write_text("\n".join(["note,patient", *rows, ""]))
    return path


@pytest.mark.parametrize("column", ["note", "patient"])
def test_a_quotation_mark_that_swallows_rows_is_told(tmp_path, column):
    with pytest.warns(PrivacyWarning, match=r"one cell holds 3,799 line breaks, and most of its lines look like rows"):
        corpus = read(swallowed(tmp_path, column))
    assert corpus.n_documents == 201  # the run goes on: data decides nothing
    assert corpus.account().startswith("Read 201 texts of 201 authors")


def test_long_texts_are_no_swallowed_rows(tmp_path, recwarn):
    path = tmp_path / "notes.csv"
    letter = "\n".join(["Dear doctor,", *["my knee hurts and I cannot sleep"] * 200, "Yours, Ann"])
    path.write_text(csv(",", [(letter, "ann")]))
    assert read(path).n_documents == 1
    assert not recwarn.list


def test_a_very_long_cell_is_told(tmp_path):
    path = tmp_path / "notes.csv"
    path.write_text(csv(",", [("knee " * 200_001, "ann")]))
    with pytest.warns(PrivacyWarning, match=r"one cell is 1,000,005 bytes long"):
        read(path)


def test_the_account_of_what_was_read():
    settings = {"text": "note", "author": "patient", "drop_missing": True}
    notes = ["my knee", "", " \n", "the and", None, "a rash", "skin"]
    table = pa.table({"note": notes, "patient": ["a", "a", "b", "b", "c", None, "d"]})
    corpus = Corpus.from_table(table, **settings)
    assert corpus.account() == (
        "Read 7 rows: 5 texts of 3 authors; 2 texts are empty; 1 more holds no word that counts; 2 rows without text "
        "or author were left out."
    )
