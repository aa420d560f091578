"""Tables as people have them: other separators, workbooks, archives."""

import gzip
import lzma
import zipfile

import pytest

from dptopics.core.errors import InputError
from dptopics.core.text import TextSettings
from dptopics.data.corpus import Corpus
from dptopics.data.readers.files import TableFile

ROWS = [("my knee; hurts, a lot", "ann"), ("a rash", "bob"), ("two\nlines", "ann")]


def csv(separator):
    lines = [separator.join(("note", "patient"))]
    lines += [f'"{note}"{separator}{patient}' for note, patient in ROWS]
    return "\n".join(lines) + "\n"


def read(path):
    return Corpus.from_table(path, text="note", author="patient")


def same(corpus):
    assert sorted(corpus.words) == ["hurts", "knee", "lines", "lot", "rash"]
    return (corpus.n_documents, corpus.n_authors) == (3, 2)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("suffix", [".csv", ".txt"])
def test_separators_are_found_by_the_names_of_columns(tmp_path, separator, suffix):
    path = tmp_path / f"notes{suffix}"
    path.write_text(csv(separator))
    assert same(read(path))


def test_a_header_without_the_columns_is_told_by_its_own_separator(tmp_path):
    path = tmp_path / "notes.csv"
    path.write_text("a;b\n1;2\n3;4\n")
    with pytest.raises(InputError, match="there is no column 'note' among the 2 of the table: 'a', 'b'"):
        read(path)


@pytest.mark.parametrize("packing", ["gz", "xz", "zip", "bare zip"])
def test_packed_files(tmp_path, packing):
    name = "notes.zip" if packing == "bare zip" else f"notes.csv.{packing}"
    path = tmp_path / name
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("folder/notes.csv", csv(";"))
            archive.writestr("__MACOSX/folder/._notes.csv", "nothing")
    else:
        path.write_bytes({"gz": gzip, "xz": lzma}[packing].compress(csv(",").encode()))
    assert same(read(path))


def test_archives_of_several_files_or_of_none_are_refused(tmp_path):
    path = tmp_path / "notes.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", "note\nx\n")
        archive.writestr("b.csv", "note\nx\n")
    with pytest.raises(InputError, match="holds 2 files"):
        read(path)
    path.write_bytes(b"PK\x03\x04 no archive")
    with pytest.raises(InputError):
        read(path)


def book(path, **sheets):
    openpyxl = pytest.importorskip("openpyxl")
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, rows in sheets.items():
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append(row)
    made.save(path)
    return path


def test_workbooks(tmp_path):
    rows = [("patient", "other", "note"), *((patient, 1, note) for note, patient in ROWS)]
    assert same(read(book(tmp_path / "notes.xlsx", empty=[], data=rows, more=[("a",), ("b",)])))


def test_numbers_are_authors_and_no_texts(tmp_path):
    rows = [("note", "patient"), ("a knee", 12), ("a rash", 12.0), ("a bill", 13)]
    assert read(book(tmp_path / "notes.xlsx", data=rows)).n_authors == 2
    with pytest.raises(InputError, match="row 1: a text must be a string, got int"):
        Corpus.from_table(tmp_path / "notes.xlsx", text="patient")


def test_workbooks_that_cannot_be_read_are_refused(tmp_path):
    path = book(tmp_path / "notes.xlsx", one=[("note", "patient")], two=[("note", "patient")])
    with pytest.raises(InputError, match="2 sheets"):
        read(path)
    path = book(tmp_path / "merged.xlsx", one=[("Clinic notes 2026",), ("note", "patient"), ("a", "b")])
    with pytest.raises(InputError, match=r"may contain data, not column names, .* \(--header-row\)"):
        read(path)
    (tmp_path / "damaged.xlsx").write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(InputError, match="damaged or not a workbook"):
        read(tmp_path / "damaged.xlsx")
    missing = [("note", "patient"), ("a knee", None)]
    with pytest.raises(InputError, match="row 1 has no author"):
        read(book(tmp_path / "missing.xlsx", one=missing))


TITLE = [("Survey of 2026",), (), ("note", "patient"), *ROWS]


def of(path, **how):
    return Corpus.from_table(TableFile(path, **how), text="note", author="patient", settings=TextSettings())


def test_a_row_of_names_below_a_title(tmp_path):
    path = book(tmp_path / "notes.xlsx", one=TITLE)
    assert same(of(path, header_row=3))
    (tmp_path / "notes.csv").write_text('"Survey,\nof 2026",\n\n' + csv(";"))
    assert same(of(tmp_path / "notes.csv", header_row=3))
    (tmp_path / "notes.csv").write_text("Survey\r\n" + csv(",").replace("\n", "\r\n"))
    assert of(tmp_path / "notes.csv", header_row=2).n_documents == 3


def test_a_row_that_looks_more_like_names_is_told(tmp_path):
    rows = [("a text that is longer than names of columns are, as most are", f"p{i}") for i in range(9)]
    for source in (
        book(tmp_path / "notes.xlsx", one=[("Survey of 2026",), (), ("note", "who"), *rows]),
        tmp_path / "notes.csv",
    ):
        if source.suffix == ".csv":
            source.write_text("\nSurvey;\nnote;who\n" + "\n".join(map(";".join, rows)))
        with pytest.raises(InputError, match=r"row 3 looks like one \(--header-row\)"):
            of(source)


def test_the_sheet_that_is_named(tmp_path):
    path = book(tmp_path / "notes.xlsx", old=[("note", "patient"), ("old", "ann")], new=[("note", "patient"), *ROWS])
    assert same(of(path, sheet="new"))
    assert of(path, sheet="old").n_documents == 1
    with pytest.raises(InputError, match=r"has no sheet 'newest'\. Its sheets: 'old', 'new'"):
        of(path, sheet="newest")
    with pytest.raises(InputError, match=r"2 sheets of .* have columns 'note' and 'patient': 'old', 'new'"):
        of(path)


def test_a_workbook_without_the_columns_tells_those_it_has(tmp_path):
    one = book(tmp_path / "one.xlsx", one=[("note", "who"), ("a", "b")])
    with pytest.raises(InputError, match="no column 'patient' among the 2 of the table: 'note', 'who'"):
        of(one)
    two = book(tmp_path / "two.xlsx", one=[("note", "who")], two=[("a", "b")])
    with pytest.raises(InputError, match=r"no sheet of 'two.xlsx' has .* once each. Its sheets: 'one', 'two'"):
        of(two)
    with pytest.raises(InputError, match="no column 'patient' among the 2 of the table: 'note', 'who'"):
        of(two, sheet="one")


def names(source):
    return {sheet: header.names for sheet, header in source.header().items()}


def test_names_of_columns(tmp_path):
    path = book(tmp_path / "notes.xlsx", one=TITLE, two=[("a", 7.0)])
    assert names(TableFile(path)) == {"one": ["Survey of 2026", ""], "two": ["a", "7"]}
    assert names(TableFile(path, sheet="one", header_row=3)) == {"one": ["note", "patient"]}
    for separator in ",;|":
        (tmp_path / "notes.csv").write_text(csv(separator))
        assert names(TableFile(tmp_path / "notes.csv")) == {None: ["note", "patient"]}
    (tmp_path / "notes.json").write_text('[{"note": 1, "patient": 2}]')
    assert names(TableFile(tmp_path / "notes.json")) == {None: ["note", "patient"]}
    assert names(TableFile(tmp_path)) == {None: ["text", "folder", "file"]}
