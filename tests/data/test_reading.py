"""Every way in gives the same corpus; whatever is wrong is said clearly, without a word of the data."""

import bz2
import gzip
import json
import subprocess
import sys
from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from scipy import sparse

from dptopics.core.errors import InputError, PrivacyWarning
from dptopics.core.text import TextSettings
from dptopics.data.bounded import string_keys
from dptopics.data.builder import GrowingArray
from dptopics.data.corpus import Corpus
from dptopics.data.readers.formats import read_lines

SECRET = "xylophonist"
TEXTS = [
    "knee pain after running",
    'a "quoted" text, with commas',
    "two\nlines, Zoë's café",
    "",
    "NA",
    "knee knee surgery",
    "null nan none",
    "tab\tseparated",
]
AUTHORS = ["ann", "bob", "ann", "née", "bob", "NB", "007", "7"]
EVERY_WORD = TextSettings(language="none", min_length=2)


def canonical(corpus):
    """Documents as (author number by first use, {word: count}), free of how words are numbered."""
    pairs = list(zip((corpus.words[w] for w in corpus.word), corpus.count.tolist(), strict=True))
    docs = [dict(pairs[a:b]) for a, b in pairwise(corpus.doc_start)]
    return docs if corpus.author is None else list(zip(corpus.author_key[corpus.author].tolist(), docs, strict=True))


def expected(authors=True):
    return canonical(Corpus.from_texts(TEXTS, AUTHORS if authors else None, settings=EVERY_WORD))


def table():
    return pa.table({"id": list(range(len(TEXTS))), "author": AUTHORS, "text": TEXTS})


def json_lines(rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def read(source, **options):
    return Corpus.from_table(source, **{"text": "text", "author": "author", "settings": EVERY_WORD} | options)


def write(path, data):
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def fails(match, call, *args, **options):
    """The call must raise an InputError whose message matches and holds no word of the data."""
    with pytest.raises(InputError, match=match) as caught:
        call(*args, **options)
    assert SECRET not in str(caught.value).lower()
    assert caught.value.__cause__ is None  # a printed traceback would show the message of the cause
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def tells(match, call, *args, **options):
    """The call succeeds; its owner is told something, without a word of the data."""
    with pytest.warns(PrivacyWarning, match=match) as told:
        call(*args, **options)
    assert not [note for note in told if SECRET in str(note.message).lower()]


# --- every way in ---


def test_from_texts_counts_words():
    corpus = Corpus.from_texts(["Knee pain, knee!", "the", "pain"], ["a", "b", "a"])
    ann = corpus.author_key[0]
    assert canonical(corpus) == [(ann, {"knee": 2, "pain": 1}), (corpus.author_key[1], {}), (ann, {"pain": 1})]
    assert corpus.n_documents == 3
    assert corpus.n_authors == 2
    assert (corpus.doc_start.dtype, corpus.word.dtype, corpus.count.dtype) == (np.int64, np.int32, np.int32)
    assert corpus.text == TextSettings()


def test_from_texts_takes_any_iterable():
    lazy = Corpus.from_texts((t for t in TEXTS), (a for a in AUTHORS), settings=EVERY_WORD)
    assert canonical(lazy) == expected()


def test_numbers_name_authors_as_strings_do():
    one = Corpus.from_texts(["knee", "pain", "back"], [1, np.int64(2), 1])
    two = Corpus.from_texts(["knee", "pain", "back"], ["1", "2", "1"])
    assert canonical(one) == canonical(two)


def test_more_rows_than_a_batch():
    texts = [f"word{chr(97 + i % 26)} common" for i in range(5000)]
    corpus = Corpus.from_texts(texts, [i % 7 for i in range(5000)])
    assert corpus.n_documents == 5000
    assert corpus.n_authors == 7
    assert len(corpus.words) == 27
    assert Counter(corpus.author.tolist()) == Counter(i % 7 for i in range(5000))
    columns = pa.table({"text": texts, "author": [i % 7 for i in range(5000)]})
    assert canonical(read(columns)) == canonical(corpus)


def csv_bytes(delimiter=","):
    sink = pa.BufferOutputStream()
    csv.write_csv(table(), sink, csv.WriteOptions(delimiter=delimiter))
    return sink.getvalue().to_pybytes()


def parquet_bytes(columns=None):
    sink = pa.BufferOutputStream()
    parquet.write_table(table() if columns is None else columns, sink, row_group_size=3)
    return sink.getvalue().to_pybytes()


FILES = {
    "notes.csv": lambda: csv_bytes(),
    "notes.tsv": lambda: csv_bytes("\t"),
    "notes.v2.csv.gz": lambda: gzip.compress(csv_bytes()),
    "notes.csv.bz2": lambda: bz2.compress(csv_bytes()),
    "notes.jsonl": lambda: json_lines(table().to_pylist()).encode(),
    "notes.ndjson.gz": lambda: gzip.compress(json_lines(table().to_pylist()).encode()),
    "notes.parquet": lambda: parquet_bytes(),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("authors", [True, False])
def test_files_give_the_corpus_of_their_texts(tmp_path, name, authors):
    path = write(tmp_path / name, FILES[name]())
    assert canonical(read(path, author="author" if authors else None)) == expected(authors)
    assert canonical(read(str(path))) == expected()


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8-sig", "utf-8"])
@pytest.mark.parametrize("name", ["notes.csv", "notes.tsv", "notes.jsonl"])
def test_named_encodings(tmp_path, name, encoding):
    path = write(tmp_path / name, FILES[name]().decode().encode(encoding))
    assert canonical(read(path, encoding=encoding)) == expected()


@pytest.mark.parametrize("name", ["notes.csv", "notes.jsonl"])
def test_marks_and_blank_lines_before_the_first_row_do_no_harm(tmp_path, name):
    plain = FILES[name]()
    assert canonical(read(write(tmp_path / name, b"\xef\xbb\xbf" + plain))) == expected()
    assert canonical(read(write(tmp_path / name, b"\n\n" + plain))) == expected()
    assert canonical(read(write(tmp_path / name, plain.rstrip(b"\n")))) == expected()


def test_windows_line_ends(tmp_path):
    plain = "text,author\r\nknee pain,ann\r\nback pain,bob\r\n"
    corpus = read(write(tmp_path / "notes.csv", plain))
    assert canonical(corpus) == canonical(Corpus.from_texts(["knee pain", "back pain"], ["ann", "bob"]))
    lines = '{"text": "knee pain", "author": "ann"}\r\n{"text": "back pain", "author": "bob"}\r\n'
    assert canonical(read(write(tmp_path / "notes.jsonl", lines))) == canonical(corpus)


def test_a_header_with_quotes_and_a_line_break(tmp_path):
    path = write(tmp_path / "notes.csv", '"the\ntext","author, id"\nknee pain,ann\n')
    assert read(path, text="the\ntext", author="author, id").n_documents == 1


def test_lines_are_whole_whatever_the_chunks():
    class Trickle:
        def __init__(self, data):
            self.data = data

        def read(self, _):
            head, self.data = self.data[:1], self.data[1:]
            return head

    for encoding in ("utf8", "utf-16"):
        assert list(read_lines(Trickle("é\n\nzwei\nend".encode(encoding)), encoding)) == ["é", "", "zwei", "end"]


def test_pandas_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"author": AUTHORS, "text": TEXTS})
    assert canonical(read(frame)) == expected()
    assert canonical(read(frame.astype("category"))) == expected()
    numbered = frame.assign(author=[1, 2, 1, 3, 2, 4, 5, 6])
    texts = Corpus.from_texts(TEXTS, ["1", "2", "1", "3", "2", "4", "5", "6"], settings=EVERY_WORD)
    assert canonical(read(numbered)) == canonical(texts)
    assert canonical(read(numbered[::-1])) == canonical(texts)[::-1]


def test_polars_frames():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"author": AUTHORS, "text": TEXTS})
    assert canonical(read(frame)) == expected()
    assert canonical(read(frame.with_columns(polars.col("author").cast(polars.Categorical)))) == expected()


def test_duckdb_relations():
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.register("notes", table())
        assert canonical(read(connection.sql("SELECT text, author FROM notes ORDER BY id"))) == expected()


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
def test_arrow_string_types(tmp_path, kind):
    columns = pa.table({"text": pa.array(TEXTS).cast(kind), "author": pa.array(AUTHORS).cast(kind)})
    assert canonical(read(columns)) == expected()
    if kind != pa.string_view():
        assert canonical(read(write(tmp_path / "notes.parquet", parquet_bytes(columns)))) == expected()


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint64(), pa.dictionary(pa.int32(), pa.int64())])
def test_arrow_integer_authors(kind):
    authors = pa.array([3, 1, 3], pa.int64())
    authors = authors.dictionary_encode() if pa.types.is_dictionary(kind) else authors.cast(kind)
    corpus = read(pa.table({"text": ["knee", "back", "pain"], "author": authors}))
    assert canonical(corpus) == canonical(Corpus.from_texts(["knee", "back", "pain"], ["3", "1", "3"]))


# --- counts ---

COUNTS = np.array([[2, 0, 1], [0, 0, 0], [0, 3, 0]])
THREE_WORDS = ["knee", "pain", "back"]
COUNTED = [{"knee": 2, "back": 1}, {}, {"pain": 3}]


@pytest.mark.parametrize(
    "counts",
    [COUNTS, COUNTS.tolist(), COUNTS.astype(float), COUNTS.astype(np.uint8), np.asfortranarray(COUNTS)]
    + [kind(COUNTS) for kind in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array, sparse.lil_array)],
)
def test_counts_in_any_form(counts):
    corpus = Corpus.from_counts(counts, THREE_WORDS)
    assert canonical(corpus) == COUNTED
    assert corpus.vocabulary is None
    assert corpus.text is None


def test_counts_with_authors_and_a_public_vocabulary():
    corpus = Corpus.from_counts(COUNTS, np.array(THREE_WORDS), authors=["a", 7, "a"], public_vocabulary=True)
    assert corpus.vocabulary.words == ("back", "knee", "pain")
    assert corpus.author.tolist() == [0, 1, 0]
    assert canonical(corpus) == canonical(Corpus.from_texts(["knee back knee", "", "pain " * 3], ["a", "7", "a"]))


def test_a_matrix_is_left_as_it_was():
    """Repeated entries are added up and zeros dropped in a copy: a sparse matrix shares memory with its copies."""
    arrays = (np.array([1, 0, 2, 3]), np.array([1, 0, 1, 1]), np.array([0, 2, 4]))
    matrix = sparse.csr_array(tuple(a.copy() for a in arrays), shape=(2, 3))
    assert canonical(Corpus.from_counts(matrix, THREE_WORDS)) == [{"pain": 1}, {"pain": 5}]
    for before, after in zip(arrays, (matrix.data, matrix.indices, matrix.indptr), strict=True):
        assert before.tolist() == after.tolist()


# --- memory ---


def test_growing_array():
    rng = np.random.default_rng(0)
    growing, parts = GrowingArray(np.int32), []
    for size in [0, 1, 1023, 1, 0, 5000, *rng.integers(0, 3000, 50)]:
        parts.append(rng.integers(-9, 9, size).astype(np.int32))
        growing.extend(parts[-1])
        assert growing.size == sum(p.size for p in parts)
    array = growing.finish()
    assert array.dtype == np.int32
    assert array.tolist() == np.concatenate(parts).tolist()
    assert array.nbytes == array.size * 4


def test_growing_array_without_values():
    assert GrowingArray(np.int64).finish().tolist() == []


MEASURE = """
import sys
from pathlib import Path
from dptopics.data.corpus import Corpus

def peak():
    # ru_maxrss starts from the size of the process that started this one; the kernel's own mark does not.
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) * 1024
    import resource
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

Corpus.from_table(sys.argv[1], text="text", author="author")  # imports and compiled kernels
before = peak()
corpus = Corpus.from_table(sys.argv[2], text="text", author="author")
print(corpus.n_documents, corpus.word.nbytes + corpus.count.nbytes + corpus.doc_start.nbytes, before, peak())
"""


def test_reading_needs_little_more_memory_than_its_result(tmp_path):
    pytest.importorskip("resource")
    n_docs, n_words = 300_000, 12
    rng = np.random.default_rng(0)
    words = np.array([a + b + c + "oid" for a in "bcdfgklmnp" for b in "aeiou" for c in "bcdfgklmnprstvwxyz"])
    texts = [" ".join(row) for row in words[rng.integers(0, words.size, (n_docs, n_words))].tolist()]
    whole = pa.table({"text": texts, "author": rng.integers(0, 20_000, n_docs)})
    parquet.write_table(whole, tmp_path / "large.parquet")
    parquet.write_table(whole[:10], tmp_path / "small.parquet")
    files = [str(tmp_path / name) for name in ("small.parquet", "large.parquet")]
    done = subprocess.run([sys.executable, "-c", MEASURE, *files], capture_output=True, text=True, check=True)
    documents, counts, before, peak = map(int, done.stdout.split())
    print(f"counts {counts / 1e6:.1f} MB, before {before / 1e6:.1f} MB, peak {peak / 1e6:.1f} MB")
    assert documents == n_docs
    assert peak <= 1.3 * counts + 300e6
    assert peak - before <= 1.3 * counts + 60e6  # the words, the authors and one batch


# --- what is wrong with the data ---

ROWS = f"text,author\nknee {SECRET},ann\n"


@pytest.mark.parametrize("name", ["notes.jsonl", "notes.parquet"])
@pytest.mark.parametrize("options", [{"text": "note"}, {"author": "note"}])
def test_a_missing_column(tmp_path, name, options):
    rule = r"no column 'note' among the 3 of the table: 'id', 'author', 'text'\. Use one of these"
    fails(rule, read, write(tmp_path / name, FILES[name]()), **options)
    fails(rule, read, table(), **options)


def test_a_missing_column_of_a_csv(tmp_path):
    fails("among the 2 of the table: 'text', 'author'. Did you mean 'text'", read, write(tmp_path / "notes.csv", ROWS),
          text="texts")  # fmt: skip
    fails("differs only in case", read, write(tmp_path / "notes.csv", ROWS), text=" Text")


@pytest.mark.parametrize("more", ["a long answer to some open question of a survey", "", "17", "31.1.2026", "x,x", "x"])
def test_a_first_row_that_cannot_be_names_is_not_shown(tmp_path, more):
    """Without a header the first line is somebody's row: it is counted, not shown."""
    path = write(tmp_path / "notes.csv", f"{SECRET},{more}\nback,bob\n")
    fails("no column 'text' among the [23] of the table. This row may contain data, not column names", read, path)


def test_the_most_similar_column_comes_first(tmp_path):
    path = write(tmp_path / "notes.csv", "ward,note,notes of nurses,date\n")
    fails("among the 4 of the table: 'note', 'ward', 'notes of nurses', 'date'. Did you mean 'note'?", read, path,
          text="Nte", author="ward")  # fmt: skip
    path = write(tmp_path / "notes.csv", ",".join(f"question {one}" for one in range(100, 132)))
    fails("among the 32 of the table: .* and 2 more. Use one of these", read, path, text="xy",
          author="question 100")  # fmt: skip


def test_a_missing_column_after_blank_lines(tmp_path):
    path = write(tmp_path / "notes.jsonl", "\n\n" + json_lines([{"note": SECRET}]))
    fails("no column 'text' among the 1", read, path)


def test_a_column_twice(tmp_path):
    fails("2 columns 'text'", read, write(tmp_path / "notes.csv", f"text,text,author\n{SECRET},b,c\n"))
    twice = pa.table([pa.array([SECRET]), pa.array(["b"]), pa.array(["c"])], names=["text", "text", "author"])
    fails("2 columns 'text'", read, twice)


@pytest.mark.parametrize("name", ["notes.csv", "notes.tsv", "notes.parquet", "notes.csv.gz"])
def test_an_empty_file(tmp_path, name):
    fails("empty|damaged", read, write(tmp_path / name, b""))
    if "parquet" not in name and "gz" not in name:
        fails("empty", read, write(tmp_path / name, b"\n \n\n".replace(b" ", b"")))


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_header_and_nothing_else(tmp_path, end):
    """The form is right: that there is nobody in it is told to the owner and to nobody else."""
    tells("no documents", read, write(tmp_path / "notes.csv", "text,author" + end))
    tells("no documents", read, write(tmp_path / "notes.parquet", parquet_bytes(table()[:0])))
    tells("no documents", read, write(tmp_path / "notes.jsonl", end))
    tells("no documents", read, table()[:0])


@pytest.mark.parametrize("name", ["notes.csv", "notes.tsv", "notes.jsonl"])
@pytest.mark.parametrize("early", [True, False])
def test_bytes_that_are_not_text(tmp_path, name, early):
    bad = f"{SECRET} café"
    texts = [bad, "knee"] if early else ["knee pain"] * 20_000 + [bad]
    if name == "notes.jsonl":
        whole = json_lines({"text": t, "author": "ann"} for t in texts)
    else:
        gap = "\t" if name == "notes.tsv" else ","
        whole = f"text{gap}author\n" + "".join(f"{t}{gap}ann\n" for t in texts)
    path = write(tmp_path / name, whole.encode("latin-1"))
    fails(rf"'{name}' is not valid UTF-8\. Save it as UTF-8, or name its encoding", read, path)
    fails("is not valid ascii", read, path, encoding="ascii")
    assert "café" in read(path, encoding="latin-1").words


def test_bytes_cut_off_in_the_middle_of_a_letter(tmp_path):
    line = json_lines([{"text": f"{SECRET} é", "author": "ann"}]).encode()
    fails("is not valid UTF-8", read, write(tmp_path / "notes.jsonl", line[: line.index(b"\xa9")]))


def test_strings_that_are_not_text():
    bad = pa.array([f"{SECRET} café".encode("latin-1")]).view(pa.string())
    fails("cannot be read", read, pa.table({"text": bad, "author": ["ann"]}))


def test_an_unknown_encoding(tmp_path):
    for name in ("notes.csv", "notes.jsonl"):
        fails("no encoding 'klingon-8'", read, write(tmp_path / name, FILES[name]()), encoding="klingon-8")


@pytest.mark.parametrize("missing", [None, float("nan"), np.float64("nan")])
def test_missing_texts_and_authors(missing):
    fails(r"row 2 has no text.*drop_missing=True \(--drop-missing\)", Corpus.from_texts, [SECRET, missing, "back"])
    fails("row 3 has no author.*drop_missing", Corpus.from_texts, [SECRET, "b", "c"], ["a", "b", missing])


ONE_NAME = [
    "Zo\u00eb Lee",
    "Zoe\u0308 Lee",
    " Zo\u00eb\u00a0Lee\t",
    "Zo\u00eb  Lee\u200b",
    "\ufeffZoe\u200d\u0308 Lee\ufe0f",
]


def test_one_person_written_in_several_ways_is_one_author(tmp_path):
    """Two spellings of one name would be two units, each with a budget of its own."""
    texts = ["knee"] * len(ONE_NAME)
    table = [{"text": text, "author": name} for text, name in zip(texts, ONE_NAME, strict=True)]
    path = write(tmp_path / "notes.jsonl", "".join(json.dumps(row) + "\n" for row in table))
    corpora = [
        Corpus.from_texts(texts, ONE_NAME),
        Corpus.from_counts(np.ones((len(texts), 1), int), ["knee"], authors=ONE_NAME),
        Corpus.from_table(path, text="text", author="author"),
    ]
    for corpus in corpora:
        assert corpus.n_authors == 1
        assert corpus.author_key[0] == string_keys(["zo\u00eb lee"])[0]


def test_names_that_look_different_stay_apart():
    names = ["anna", "anna@work", "AnnaLee", "Anna Lee", "Zoe", "Zo\u00eb", "\u0645\u06cc", "007", 7, "7.5", -7]
    assert Corpus.from_texts(["knee"] * len(names), names).n_authors == len(names)


@pytest.mark.parametrize("blank", ["", " ", "\t", "\u200b", " \ufe0f\u3164"])
def test_a_blank_author_is_a_missing_author(tmp_path, blank):
    """As one author they would throw many people together, who would then share one contribution."""
    fails("row 2 has no author", Corpus.from_texts, [SECRET, "back"], ["a", blank])
    fails("row 2 has no author", Corpus.from_counts, COUNTS[:2], THREE_WORDS, authors=["a", blank])
    rows = [{"text": SECRET, "author": "a"}, {"text": "back", "author": blank}]
    fails("row 2 has no author", read, write(tmp_path / "notes.jsonl", json_lines(rows)))
    fails("row 2 has no author", read, write(tmp_path / "notes.csv", f"text,author\n{SECRET},a\nback,{blank}\n"))
    fails("row 2 has no author", read, pa.Table.from_pylist(rows))


def test_rows_without_text_or_author_can_be_dropped(tmp_path):
    rows = [
        {"text": None, "author": "a"},
        {"text": "knee", "author": "a"},
        {"text": "pain", "author": None},
        {"text": "back", "author": ""},
        {"text": "", "author": "b"},
    ]
    left = canonical(Corpus.from_texts(["knee", ""], ["a", "b"]))
    path = write(tmp_path / "notes.jsonl", json_lines(rows))
    for source in (pa.Table.from_pylist(rows), path):
        assert canonical(read(source, drop_missing=True)) == left
        fails("row 1 has no text", read, source)
    pandas = pytest.importorskip("pandas")
    assert canonical(read(pandas.DataFrame(rows), drop_missing=True)) == left
    tells("no rows are left", read, pa.Table.from_pylist(rows[2:4]), drop_missing=True)
    tells("no rows are left", read, pa.table({"text": pa.nulls(2), "author": ["a", "b"]}), drop_missing=True)


def test_the_row_number_counts_over_batches():
    fails("row 3001 has no text", Corpus.from_texts, [SECRET] * 3000 + [None])
    fails("row 3001 has no text", read, pa.table({"text": [SECRET] * 3000 + [None], "author": ["a"] * 3001}))


@pytest.mark.parametrize("value", [3, 2.5, True, b"bytes", ["list"]])
def test_texts_that_are_not_strings(tmp_path, value):
    fails(f"row 2: a text must be a string, got {type(value).__name__}", Corpus.from_texts, [SECRET, value])
    if not isinstance(value, bytes):
        path = write(tmp_path / "notes.jsonl", json_lines([{"text": value, "author": SECRET}]))
        fails(f"row 1: a text must be a string, got {type(value).__name__}", read, path)
        fails("column 'text' holds .*, not text", read, pa.table({"text": [value], "author": [SECRET]}))


@pytest.mark.parametrize("value", [1.0, True, np.bool_(True), b"ann", ("ann",)])
def test_authors_that_name_nobody(value):
    rule = f"row 2: an author must be a string or a whole number, got {type(value).__name__}"
    fails(rule, Corpus.from_texts, [SECRET, "back"], ["ann", value])
    fails(rule, Corpus.from_counts, COUNTS[:2], THREE_WORDS, authors=["ann", value])


@pytest.mark.parametrize("authors", [[1.0, 2.0], [True, False], [b"a", b"b"]])
def test_author_columns_that_name_nobody(authors):
    fails(
        "column 'author' holds .*, not strings or whole numbers",
        read,
        pa.table({"text": [SECRET, "b"], "author": authors}),
    )


def test_whole_numbers_that_pandas_made_floats():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": [SECRET, "back"], "author": [1, None]})
    fails("column 'author' holds double", read, frame)


@pytest.mark.parametrize("texts", [["knee", 3], [3, SECRET], [SECRET, {"a": 1}], [SECRET, 2.5]])
def test_frames_that_mix_types(texts):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": pandas.Series(texts, dtype=object), "author": ["a", "b"]})
    fails("mixes types", read, frame)


@pytest.mark.parametrize(("authors", "rule"), [(["a"], "fewer"), (["a", "b", "c"], "more"), (["a", "b", None], "more")])
def test_one_author_for_each_text(authors, rule):
    fails(f"{rule} authors than texts", Corpus.from_texts, [SECRET, "back"], authors)
    fails(f"{rule} authors than texts", Corpus.from_texts, iter([SECRET, "back"]), iter(authors))


def test_a_string_is_not_a_list():
    fails("texts must be a list", Corpus.from_texts, SECRET)
    fails("authors must be a list", Corpus.from_texts, [SECRET, "back"], "ab")
    fails("authors must be a list", Corpus.from_counts, COUNTS, THREE_WORDS, authors="abc")
    fails("vocabulary must be a list", Corpus.from_counts, COUNTS, SECRET[:3])


def test_damaged_parquet(tmp_path):
    whole = parquet_bytes(pa.table({"text": [f"{SECRET} {i}" for i in range(999)], "author": list(range(999))}))
    damaged = [b"not a parquet file", SECRET.encode() * 9, whole[: len(whole) // 2], whole[:-1], whole[100:]]
    for at in (4, 50, 300, len(whole) // 2, len(whole) - 300, len(whole) - 12):
        damaged.append(whole[:at] + b"\xff" * 8 + whole[at + 8 :])
    for data in damaged:
        fails(r"'notes.parquet' is damaged.*Write the file again", read, write(tmp_path / "notes.parquet", data))


@pytest.mark.parametrize("name", ["notes.csv.gz", "notes.jsonl.gz"])
def test_damaged_gzip(tmp_path, name):
    rows = ROWS * 50 if "csv" in name else json_lines([{"text": SECRET, "author": "a"}] * 50)
    for data in (gzip.compress(rows.encode())[:-12], rows.encode()):
        fails("is damaged", read, write(tmp_path / name, data))


def test_files_that_are_not_there_or_not_tables(tmp_path):
    fails("there is no file", read, tmp_path / "nothing.csv")
    fails("a folder of text files has the columns text, folder, file, not 'author'", read, str(tmp_path))
    for name in ("notes.docx", "notes", "notes.gz"):
        fails(rf"cannot tell the format of '{name}'\. Use \.csv", read, write(tmp_path / name, SECRET))
    for name in ("notes.xlsx", "notes.csv.zip"):
        fails("is damaged", read, write(tmp_path / name, SECRET))
    fails(r"cannot read a table from list\. Give a file path", read, [SECRET])
    fails("cannot read a table from dict", read, {"text": [SECRET], "author": ["a"]})


@pytest.mark.parametrize("bad", [f"{SECRET},b,c", SECRET, f'"{SECRET},b'])
@pytest.mark.parametrize("before", [1, 30_000])
def test_a_ragged_row(tmp_path, bad, before):
    path = write(tmp_path / "notes.csv", "text,author\n" + "knee pain,ann\n" * before + bad + "\n")
    got = bad.count(",") + 1 if '"' not in bad else 1
    fails(rf"has 2 columns but row {before + 2} has {got}\..*quotation mark", read, path)


def test_a_quotation_mark_left_open_for_long(tmp_path, monkeypatch):
    monkeypatch.setattr("dptopics.data.readers.delimited.BLOCK_BYTES", 1 << 20)
    path = write(tmp_path / "notes.csv", f'text,author\n"{SECRET},ann\n' + "knee pain,ann\n" * 200_000)
    fails("a row longer than 1 MiB. Is a quotation mark not closed", read, path)


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        (f'{{"text": "{SECRET}", author}}', "line 2 of 'notes.jsonl' is not valid JSON"),
        (f'{{"text": "{SECRET}"', "line 2 of 'notes.jsonl' is not valid JSON"),
        ('{"text": ' + "1" * 5000 + "}", "line 2 of 'notes.jsonl' is not valid JSON"),
        ("[" * 100_000, "line 2 of 'notes.jsonl' is not valid JSON"),
        (f'["{SECRET}"]', "line 2 of 'notes.jsonl' is not a JSON object"),
        (f'"{SECRET}"', "line 2 of 'notes.jsonl' is not a JSON object"),
        (f'{{"note": "{SECRET}", "author": "a"}}', "row 2 has no text"),
        (f'{{"text": "{SECRET}"}}', "row 2 has no author"),
        (f'{{"text": "{SECRET}", "author": 1.5}}', "row 2: an author must be .* got float"),
        (f'{{"text": "{SECRET}", "author": true}}', "row 2: an author must be .* got bool"),
    ],
)
def test_invalid_json_lines(tmp_path, line, rule):
    fails(rule, read, write(tmp_path / "notes.jsonl", '{"text": "knee", "author": "a"}\n' + line + "\n"))


@pytest.mark.parametrize("name", ["notes.json", "notes.jsonl", "notes.json.gz"])
def test_a_json_array(tmp_path, name):
    rows = [{"text": text, "author": author} for text, author in zip(TEXTS, AUTHORS, strict=True)]
    data = f"\n {json.dumps(rows, indent=1)}\n".encode()
    assert canonical(read(write(tmp_path / name, gzip.compress(data) if ".gz" in name else data))) == expected()


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (f'[\n{{"text": "{SECRET}"}}\n]', "there is no column 'author'"),
        (f'[{{"text": "{SECRET}", "author": "a"}}', "is not valid JSON"),
        (f'[{{"text": "{SECRET}", "author": "a"}}] {SECRET}', "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        (f'[{{"text": "knee", "author": "a"}}, "{SECRET}"]', "entry 2 of 'notes.json' is not a JSON object"),
        (f'[["{SECRET}"]]', "entry 1 of 'notes.json' is not a JSON object"),
    ],
)
def test_invalid_json_arrays(tmp_path, data, rule):
    fails(rule, read, write(tmp_path / "notes.json", data))


@pytest.mark.parametrize("bad", [-1, 0.5, np.nan, np.inf, 2.0**31])
@pytest.mark.parametrize("kind", [np.array, sparse.csr_array])
def test_counts_that_count_nothing(bad, kind):
    counts = COUNTS.astype(float)
    counts[1, 1] = bad
    fails(
        "whole numbers from 0 to 2.31 - 1.*not weights such as tf-idf",
        Corpus.from_counts,
        kind(counts),
        [SECRET, "b", "c"],
    )


@pytest.mark.parametrize(
    "counts",
    [[1, 2, 3], 3, None, np.ones((2, 2, 3)), COUNTS * 1j, [[SECRET, 1, 2]], np.array([[SECRET, 1, 2]], object)],
)
def test_counts_that_are_no_matrix_of_numbers(counts):
    fails("counts must be a matrix of numbers", Corpus.from_counts, counts, THREE_WORDS)


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ([SECRET, "b"], "3 columns but the vocabulary has 2 words"),
        ([SECRET, "b", "c", "d"], "3 columns but the vocabulary has 4 words"),
        ([SECRET, SECRET, "b"], "holds a word twice"),
        ([1, "1", "b"], "holds a word twice"),
    ],
)
def test_vocabularies_that_do_not_fit(words, rule):
    fails(rule, Corpus.from_counts, COUNTS, words)
    fails(rule, Corpus.from_counts, COUNTS, words, public_vocabulary=True)


@pytest.mark.parametrize("authors", [["a", "b"], ["a", "b", "c", "d"]])
def test_one_author_for_each_row_of_counts(authors):
    fails(f"{len(authors)} authors for 3 documents", Corpus.from_counts, COUNTS, THREE_WORDS, authors=authors)


@pytest.mark.parametrize(
    "call", [lambda: Corpus.from_texts([]), lambda: Corpus.from_counts(np.zeros((0, 3)), THREE_WORDS)]
)
def test_no_documents(call):
    tells("no documents", call)


@pytest.mark.parametrize("texts", [["the and with"], ["", "…"], ["ab 12"]])
def test_no_words(texts):
    tells("no words are left", Corpus.from_texts, texts)
    tells("no words are left", Corpus.from_counts, np.zeros((2, 3)), [SECRET, "b", "c"])


def test_bounds_that_make_no_sense():
    corpus = Corpus.from_texts([SECRET])
    fails("unit 'author' needs authors. Name the author column, or use unit 'document'", corpus.bounded, unit="author")
    fails("unit must be 'author' or 'document', got 'person'", corpus.bounded, unit="person")
    for value in (0, -3):
        fails(f"max_docs must be at least 1, got {value}", corpus.bounded, max_docs=value)
        fails(f"max_words must be at least 1, got {value}", corpus.bounded, max_words=value)
    fails("key must lie between 0 and", corpus.bounded, key=-1)
    fails("key must lie between 0 and", corpus.bounded, key=2**64)


def test_repr_hides_the_data():
    with_authors = Corpus.from_texts([SECRET], [SECRET])
    assert repr(with_authors) == "<Corpus: sensitive, unit 'author'>"
    assert repr(Corpus.from_texts([SECRET])) == "<Corpus: sensitive, unit 'document'>"
    assert str(with_authors.bounded().bounds.unit) == "author"
    assert str(with_authors.bounded(unit="document").bounds.unit) == "document"
