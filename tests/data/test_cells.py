"""Tables into corpora of cells: where each document counts, in memory and from every kind of file."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from dptopics.core.axes import Axis
from dptopics.core.errors import InputError, PrivacyWarning
from dptopics.data.cells import arrow_cells, corpus_of_cells, in_period, invented_cells
from dptopics.data.readers.files import read_columns

WARDS = Axis.groups("ward", ["north", "south"])
MONTHS = Axis.periods("month:date", first="2026-01-01", last="2026-02-28")
ROWS = {
    "note": ["b", "a", "none of them", "a"],
    "patient": ["p", "p", "q", "r"],
    "ward": ["north", "south", "east", "north"],
    "date": ["2026-01-03", "2026-02-03", "2026-02-04", "soon"],
}
CELLS = [(1, 0, 0), (0, 1, 1), (2, 2, 1), (0, 0, 2)]


def topics(texts):
    return np.array([{"a": 0, "b": 1}.get(text, 2) for text in texts])


def read(source, **more):
    batches = read_columns(source, ["note", "patient", "ward", "date"], encoding="utf8")
    return corpus_of_cells(batches, topics, 3, [WARDS, MONTHS], author="author", **more)


def written(kind, tmp_path, rows=ROWS):
    path = tmp_path / f"notes.{kind}"
    table = pa.table(rows)
    if kind == "csv":
        csv.write_csv(table, path)
    elif kind == "parquet":
        parquet.write_table(table, path)
    else:
        path.write_text("\n".join(json.dumps(row) for row in table.to_pylist()))
    return path


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl", "frame"])
def test_every_document_counts_in_its_cell(kind, tmp_path):
    source = pa.table(ROWS) if kind == "frame" else written(kind, tmp_path)
    with pytest.warns(PrivacyWarning, match="count as 'other'") as told:
        corpus = read(source)
    assert len(told) == 2
    assert "east" not in str(told[0].message)
    assert [tuple(map(int, cell)) for cell in zip(*np.unravel_index(corpus.word, (3, 3, 3)), strict=True)] == CELLS
    assert corpus.author.tolist() == [0, 0, 1, 2]
    assert len(corpus.vocabulary) == 27


def test_dates_of_arrow_and_numbers_are_read_as_they_are_written(tmp_path):
    dates = pa.array([20_456, 20_487, 20_487, None], pa.int32()).cast(pa.date32())
    rows = {**ROWS, "date": dates, "ward": [1, 2, 3, None]}
    numbers = Axis.groups("ward", ["1", "2"])
    batches = read_columns(pa.table(rows), ["note", "patient", "ward", "date"], encoding="utf8")
    with pytest.warns(PrivacyWarning):
        corpus = corpus_of_cells(batches, topics, 3, [numbers, MONTHS], author="author")
    assert np.unravel_index(corpus.word, (3, 3, 3))[2].tolist() == [0, 1, 1, 2]
    assert np.unravel_index(corpus.word, (3, 3, 3))[1].tolist() == [0, 1, 2, 2]


def test_missing_texts_are_refused_or_left_out():
    rows = pa.table({**ROWS, "note": ["b", None, "a", "a"]})
    with pytest.raises(InputError, match="row 2 has no text"):
        read(rows)
    with pytest.warns(PrivacyWarning):
        assert read(rows, drop_missing=True).n_documents == 3


def test_columns_of_lists_are_refused():
    rows = pa.table({**ROWS, "ward": [["secret"], [], [], []]})
    with pytest.raises(InputError, match="not single values") as error:
        read(rows)
    assert "secret" not in str(error.value)


def test_rows_of_one_period_are_told_by_the_day_that_is_written():
    days = ["2026-01-31T23:59-08:00", "2026-02-01", " 2026-01-05 ", "05/01/2026", None, "2025-01-05"]
    rows = [[["a", "b", "c", "d", "e", "f"], list("pqrstu"), days]]
    with pytest.warns(PrivacyWarning, match="outside this period"):
        (found,) = in_period(rows, 2, MONTHS, 0)
    assert found == [["a", "c"], ["p", "r"]]
    assert list(in_period([[["a"], ["2026-02-01"]]], 1, MONTHS, 1)) == [[["a"]]]


def test_only_those_who_are_admitted_count():
    seen = []

    def admitted(names):
        seen.extend(names)
        return np.array([name != "p" for name in names])

    rows = [[["a", "b", "a"], ["p", "q", "p"]]]
    corpus = corpus_of_cells(rows, topics, 3, [], author="author", admitted=admitted)
    assert sorted(seen) == ["p", "q"]
    assert corpus.n_documents == 1


def test_cells_as_batches_of_arrow_are_those_in_memory():
    table = pa.table({**ROWS, "note": ["b", "a", None, "a"], "patient": [1, 1, 2, 3]})
    (batch,) = arrow_cells(table.to_batches(), topics, 3, [WARDS, MONTHS], True, None)
    columns = [column.to_pylist() for column in table.columns]
    with pytest.warns(PrivacyWarning, match="count as 'other'"):
        corpus = corpus_of_cells([columns], topics, 3, [WARDS, MONTHS], author="author", drop_missing=True)
    told = [cell for cells in batch.column("text").to_pylist() if cells is not None for cell in cells]
    assert told == corpus.word.tolist()
    assert batch.column("author").to_pylist() == ["1", "1", "2", "3"]
    assert batch.column("text").null_count == 1


def test_invented_people_fill_any_table():
    for cells in (1, 2, 1000):
        corpus = invented_cells(cells, with_authors=True)
        assert (corpus.n_documents, corpus.n_authors, len(corpus.words)) == (80, 60, cells)
    assert invented_cells(5, with_authors=False).author is None
