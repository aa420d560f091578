"""Bad input, as a table: what is written to a file, the command, and what its owner must be told.

Every file holds the canary; no message may. Unless a case says otherwise, the command is ``dptopics vocabulary FILE``.
"""

import bz2
import gzip
import io
import json
import lzma
import random
import sqlite3
import struct
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from canary import CANARY, NOTE
from pyarrow import parquet

READ = ["--text", "note", "--author", "patient"]
BY_FOLDER = ["--text", "text", "--author", "folder"]
RELEASE = ["--epsilon", "1", "--delta", "1e-9", "--out", "out", "--ledger", "clinic.ledger"]
FIT = [*RELEASE, "--topics", "2", "--mechanism", "mixture", "--set", "steps=1", "--vocabulary", "words.txt"]
SQL = "select note, patient from notes"
LITE = "sqlite:///notes.db"


@dataclass(frozen=True)
class Bad:
    """One case: the words of a command that is refused, what is said, and the file that it reads."""

    said: str
    words: tuple[str, ...]
    name: str = ""
    content: bytes | None = None
    piped: bytes | None = None
    code: int = 2


def bad(name, content, said, *more):
    """A file that cannot be read."""
    data = content if isinstance(content, bytes) else content.encode()
    return Bad(said, ("vocabulary", name, *READ, *RELEASE, *more), name, data)


def usage(said, *more, of="vocabulary", reads=("good.csv", *READ), code=2):
    """A good table, and options that make no sense."""
    return Bad(said, (of, *reads, *(FIT if of == "fit" else RELEASE), *more), code=code)


def piped(content, said, *more):
    """Something wrong comes in by standard input."""
    data = content if isinstance(content, bytes) else content.encode()
    return Bad(said, ("vocabulary", "-", *READ, *RELEASE, *more), piped=data)


def query(sql, said, *more, url=LITE):
    return Bad(said, ("vocabulary", "--sql", sql, "--database", url, *READ, *RELEASE, *more))


def plan(file, said):
    return Bad(said, ("vocabulary", "good.csv", *READ, "--out", "out", "--plan", file))


def checked(said, *more, reads=("good.csv", *READ), code=2, **file):
    """The check, which spends nothing, of a good table or of a file that is given; code 0: it is told, not refused."""
    return Bad(said, ("check", *reads, *more), code=code, **file)


def checked_csv(name, content, said, *more, code=0):
    return checked(said, *more, reads=(name, *READ), code=code, name=name, content=content.encode())


# --- contents ---


def lines(*objects):
    return "\n".join(one if isinstance(one, str) else json.dumps(one) for one in (GOOD, *objects)) + "\n"


def table(**columns):
    out = io.BytesIO()
    parquet.write_table(pa.table(columns), out)
    return out.getvalue()


def archive(**files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for name, content in files.items():
            packed.writestr(name.replace("_", "."), content)
    return out.getvalue()


def locked_archive():
    """The flag of encryption is set by hand: the standard library cannot encrypt."""
    data = bytearray(archive(notes_csv=CSV))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


def book(*sheets):
    import openpyxl

    made = openpyxl.Workbook()
    made.remove(made.active)
    for number, rows in enumerate(sheets):
        sheet = made.create_sheet(f"sheet {number}")
        for row in rows:
            sheet.append(row)
    out = io.BytesIO()
    made.save(out)
    return out.getvalue()


def merged_book():
    """A title over two columns, and the names below it."""
    import openpyxl

    made = openpyxl.Workbook()
    for row in (("Notes of 2026", None), ("note", "patient"), (NOTE, CANARY)):
        made.active.append(row)
    made.active.merge_cells("A1:B1")
    out = io.BytesIO()
    made.save(out)
    return out.getvalue()


def locked_book():
    """What Excel writes for a workbook with a password: a compound file with a stream EncryptedPackage."""
    free, end = 0xFFFFFFFF, 0xFFFFFFFE
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    head += struct.pack("<IIIIIIIII", 0, 1, 1, 0, 4096, end, 0, end, 0) + struct.pack("<109I", 0, *[free] * 108)
    fat = struct.pack("<128I", 0xFFFFFFFD, end, *range(3, 10), end, *[free] * 118)

    def entry(name, kind, child, start, size):
        title = name.encode("utf-16-le").ljust(64, b"\0") + struct.pack("<HBB", 2 * len(name) + 2, kind, 1)
        return title + struct.pack("<III", free, free, child) + bytes(36) + struct.pack("<IQ", start, size)

    folder = entry("Root Entry", 5, 1, end, 0) + entry("EncryptedPackage", 2, free, 2, 4096) + bytes(256)
    return head + fat + folder + bytes(8 * 512)


def damaged_database():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "notes.db"
        connection = sqlite3.connect(path)
        connection.execute("create table notes (note text, patient text)")
        connection.executemany("insert into notes values (?, ?)", [(NOTE * 20, CANARY)] * 500)
        connection.commit()
        connection.close()
        data = path.read_bytes()
    return data[: len(data) // 3]


GOOD = {"note": "knee pain", "patient": "ann"}
CSV = f"note,patient\nknee pain,ann\n{NOTE.replace(',', '')},{CANARY}\n"
MIXED = "note,patient\ncafé,ann\n".encode() + "café,bob\n".encode("latin-1")
ZSTD = pa.compress(CSV.encode(), codec="zstd", asbytes=True)

TABLES = {
    "an empty file": bad("a.csv", "", "'a.csv' is empty"),
    "blank lines": bad("b.csv", "\n\n\n", "'b.csv' is empty"),
    "no header": bad("c.csv", f'"{NOTE}",ann\nx,y\n', "among the 2 of the table. This row may contain data"),
    "no header, short texts": bad("c2.csv", f"{CANARY},ann\nx,y\n", r"is not shown. .* \(--header-row\)"),
    "a mistyped name": bad("c3.csv", f"nte,patient\n{CANARY},b\n", "'nte', 'patient'. Did you mean 'nte'"),
    "capital letters": bad("d.csv", f"Note,patient\n{CANARY},b\n", "differs only in case"),
    "blanks in a name": bad("e.csv", f"note ,patient\n{CANARY},b\n", "differs only in case or surrounding blanks"),
    "texts twice": bad("f.csv", f"note,note,patient\n{CANARY},a,b\n", "there are 2 columns 'note'"),
    "authors twice": bad("g.csv", f"note,patient,patient\n{CANARY},a,b\n", "there are 2 columns 'patient'"),
    "a row too long": bad("h.csv", CSV + f"a,b,{CANARY}\n", "has 2 columns but row 4 has 3"),
    "a row too short": bad("i.csv", CSV + f"{CANARY}\n", "has 2 columns but row 4 has 1"),
    "an open quotation mark": bad("j.csv", CSV + f'"{NOTE}\n', "close every quotation mark"),
    "Latin letters": bad("k.csv", CSV.encode() + b"caf\xe9,b\n", "'k.csv' is not valid UTF-8"),
    "mixed encodings": bad("l.csv", MIXED, "'l.csv' is not valid UTF-8"),
    "mixed encodings, said": bad("m.csv", MIXED, "is not valid ascii", "--encoding", "ascii"),
    "16 bits a letter": bad("n.csv", CSV.encode("utf-16"), "not valid UTF-8"),
    "not 16 bits a letter": bad("o.csv", CSV + "x", "is not valid utf-16", "--encoding", "utf-16"),
    "random bytes": bad("p.csv", random.Random(1).randbytes(5000), "UTF-8|there is no column|empty"),
    "a zero byte in a name": bad("q.csv", "no\0te,patient\na,b\n", "there is no column 'note'"),
    "100 MB in a cell": Bad("a row longer than 16 MiB", ("vocabulary", "huge.csv", *READ, *RELEASE), "huge.csv"),
    "no author": bad("r.csv", CSV + f"{CANARY},\n", "row 3 has no author"),
    "a blank author": bad("s.csv", CSV + f"{CANARY},\u200b \n", "row 3 has no author"),
    "the wrong separator": bad("t.csv", CSV.replace(",", ";"), "among the 1 of the table", "--separator", "|"),
    "a format it has not": bad("u.csv", CSV, "line 1 of 'u.csv' is not valid JSON", "--format", "json"),
    "no Parquet, though said": bad("v.csv", CSV, "is damaged or not in the format", "--format", "parquet"),
    "no workbook, though said": bad("w.csv", CSV, "damaged or not a workbook", "--format", "excel"),
    "another format": bad("a.docx", CSV, r"cannot tell the format of 'a\.docx'"),
    "no format": bad("a", CSV, "cannot tell the format of 'a'"),
    "an archive of archives": bad("a.tar.gz", CSV, r"cannot tell the format of 'a\.tar\.gz'"),
    "gzip that is none": bad("b.csv.gz", CSV, "is damaged"),
    "gzip cut off": bad("c.csv.gz", gzip.compress(CSV.encode() * 50)[:-9], "is damaged"),
    "bzip2 that is none": bad("d.csv.bz2", CSV, "is damaged"),
    "bzip2 cut off": bad("e.csv.bz2", bz2.compress(CSV.encode() * 50)[:-9], "is damaged"),
    "xz that is none": bad("f.csv.xz", CSV, "is damaged"),
    "xz cut off": bad("g.csv.xz", lzma.compress(CSV.encode() * 50)[:-9], "is damaged"),
    "Zstandard that is none": bad("h.csv.zst", CSV, "is damaged"),
    "Zstandard cut off": bad("i.csv.zst", ZSTD[:-9], "is damaged|has 2 columns but|is empty"),
    "a zip that is none": bad("j.csv.zip", CSV, "is damaged"),
    "a zip of two files": bad("k.zip", archive(a_csv=CSV, b_csv=CSV), "'k.zip' holds 2 files"),
    "a zip of no files": bad("l.zip", archive(), "'l.zip' holds 0 files"),
    "a zip with a password": bad("m.zip", locked_archive(), "'m.zip' is protected by a password"),
    "a zip of something else": bad("n.zip", archive(a_docx=CSV), "cannot tell the format"),
    "a zip cut off": bad("o.csv.zip", archive(a_csv=CSV)[:-30], "is damaged"),
    "a broken line": bad("a.jsonl", lines(f'{{"note": "{CANARY}"'), "line 2 of 'a.jsonl' is not valid JSON"),
    "no JSON at all": bad("b.jsonl", CSV, "line 1 of 'b.jsonl' is not valid JSON"),
    "a line that is a word": bad("c.jsonl", lines(f'"{CANARY}"'), "line 2 of 'c.jsonl' is not a JSON object"),
    "a line that is a list": bad("d.jsonl", lines([CANARY]), "line 2 of 'd.jsonl' is not a JSON object"),
    "two objects on a line": bad("e.jsonl", lines("{} {}"), "line 2 of 'e.jsonl' is not valid JSON"),
    "one object on many lines": bad("f.json", json.dumps(GOOD, indent=1), "line 1 of 'f.json' is not valid JSON"),
    "a deep line": bad("g.jsonl", lines('{"note":' + "[" * 99_999), "line 2 of 'g.jsonl' is not valid JSON"),
    "a long number": bad("h.jsonl", lines('{"note": ' + "7" * 6000 + "}"), "line 2 of 'h.jsonl' is not valid JSON"),
    "other keys": bad("i.jsonl", json.dumps({"words": NOTE}), "no column 'note' among .*: 'words'"),
    "an empty object": bad("j.jsonl", "{}\n", "there is no column 'note' among the 0"),
    "a text that is null": bad("k.jsonl", lines({"note": None, "patient": CANARY}), "row 2 has no text"),
    "a text that is not there": bad("l.jsonl", lines({"patient": CANARY}), "row 2 has no text"),
    "a text that is a number": bad("m.jsonl", lines({"note": 3.5, "patient": CANARY}), "row 2: a text must be"),
    "a text that is a list": bad("n.jsonl", lines({"note": [NOTE], "patient": "a"}), "must be a string, got list"),
    "a text that is an object": bad("o.jsonl", lines({"note": {CANARY: 1}, "patient": "a"}), "string, got dict"),
    "an author that is null": bad("p.jsonl", lines({"note": NOTE, "patient": None}), "row 2 has no author"),
    "an author that is a half": bad("q.jsonl", lines({"note": NOTE, "patient": 0.5}), "whole number, got float"),
    "an author that is true": bad("r.jsonl", lines({"note": NOTE, "patient": True}), "whole number, got bool"),
    "an author that is a list": bad("s.jsonl", lines({"note": NOTE, "patient": [CANARY]}), "whole number, got list"),
    "an author that is no number": bad("t.jsonl", lines('{"note": "a", "patient": NaN}'), "row 2 has no author"),
    "an array cut off": bad("u.json", json.dumps([GOOD])[:-1], "is not valid JSON"),
    "an array of words": bad("v.json", json.dumps([CANARY]), "entry 1 of 'v.json' is not a JSON object"),
    "an array and more": bad("w.json", json.dumps([GOOD]) + CANARY, "is not valid JSON"),
    "an array without the column": bad("x.json", json.dumps([{"words": CANARY}]), "no column 'note' among .*: 'words'"),
    "lines of 16 bits": bad("y.jsonl", lines(GOOD).encode("utf-16"), "not valid UTF-8"),
    "no Parquet": bad("a.parquet", CSV, "'a.parquet' is damaged"),
    "no bytes": bad("b.parquet", "", "'b.parquet' is damaged"),
    "Parquet cut off": bad("c.parquet", table(note=[NOTE], patient=[CANARY])[:-9], "'c.parquet' is damaged"),
    "texts of numbers": bad("d.parquet", table(note=[1], patient=[CANARY]), "column 'note' holds int64, not text"),
    "texts of dates": bad(
        "e.parquet", table(note=pa.array([1], pa.date32()), patient=[CANARY]), "column 'note' holds date32"
    ),
    "texts of lists": bad("f.parquet", table(note=[[NOTE]], patient=["a"]), "column 'note' holds list, not text"),
    "texts of objects": bad("g.parquet", table(note=[{CANARY: 1}], patient=["a"]), "column 'note' holds struct"),
    "texts of bytes": bad("h.parquet", table(note=[b"a"], patient=["a"]), "column 'note' holds binary, not text"),
    "authors of halves": bad("i.parquet", table(note=[NOTE], patient=[0.5]), "column 'patient' holds double"),
    "authors of truths": bad("j.parquet", table(note=[NOTE], patient=[True]), "column 'patient' holds bool"),
    "authors of nothing": bad("k.parquet", table(note=[NOTE], patient=[None]), "row 1 has no author"),
    "other columns": bad("l.parquet", table(words=[CANARY]), "no column 'note' among .*: 'words'"),
    "a workbook with a password": bad("a.xlsx", locked_book(), "'a.xlsx' is protected by a password"),
    "a damaged workbook": bad("b.xlsx", b"PK\x03\x04" + NOTE.encode(), "'b.xlsx' is damaged or not a workbook"),
    "a text called a workbook": bad("c.xlsx", CSV, "'c.xlsx' is damaged or not a workbook"),
    "an old workbook that is none": bad("d.xls", CSV, "'d.xls' is damaged or not a workbook"),
    "an open workbook that is none": bad("e.ods", CSV, "'e.ods' is damaged or not a workbook"),
    "several sheets": bad("f.xlsx", book([("note", "patient")], [("note", "patient")]), "2 sheets of 'f.xlsx' have"),
    "an empty sheet": bad("g.xlsx", book([]), "no sheet of 'g.xlsx' has 'note' and 'patient'"),
    "merged header rows": bad("h.xlsx", merged_book(), "may contain data, not column names"),
    "a column twice in a sheet": bad("i.xlsx", book([("note", "note", "patient")]), "there are 2 columns 'note'"),
    "texts of numbers in a sheet": bad("j.xlsx", book([("note", "patient"), (3, "a")]), "must be a string, got int"),
    "no author in a sheet": bad("k.xlsx", book([("note", "patient"), (NOTE, None)]), "row 1 has no author"),
    "halves in a sheet": bad("l.xlsx", book([("note", "patient"), (NOTE, 0.5)]), "whole number, got float"),
    "truths in a macro workbook": bad("m.xlsm", book([("note", "patient"), (NOTE, True)]), "whole number, got bool"),
    "a macro workbook of two sheets": bad("n.xlsm", book([("note", "patient")] * 2, [("note", "patient")]), "2 sheets"),
}  # fmt: skip

PIPED = {
    "nothing": piped("", "'standard input' is empty"),
    "something packed": piped(gzip.compress(CSV.encode()), "standard input is compressed"),
    "an archive": piped(archive(a_csv=CSV), "standard input is compressed"),
    "Latin letters": piped(CSV.encode() + b"caf\xe9,b\n", "'standard input' is not valid UTF-8"),
    "another header": piped(f"words,who\n{CANARY},2\n", "there is no column 'note' .*: 'words', 'who'"),
    "a row too long": piped(CSV + f"a,b,{CANARY}\n", "'standard input' has 2 columns but row 4 has 3"),
    "a broken line": piped(lines("{"), "line 2 of 'standard input' is not valid JSON"),
    "a broken array": piped("[{", "'standard input' is not valid JSON"),
    "CSV called JSON": piped(CSV, "line 1 of 'standard input' is not valid JSON", "--format", "json"),
    "Parquet": piped(table(note=[NOTE], patient=["a"]), "cannot be 'parquet'", "--format", "parquet"),
    "a workbook": piped(book([("note", "patient")]), "cannot be 'excel'", "--format", "excel"),
}

QUERIES = {
    "no SQL": query(CANARY, "the query was refused"),
    "an empty query": query("", "the query was refused|does not return"),
    "two queries": query(f"{SQL}; {SQL}", "the query was refused"),
    "another table": query(f"select * from {CANARY}", "the query was refused"),
    "another column": query("select patient from notes", "there is no column 'note' among the 1"),
    "a column twice": query("select note, note, patient from notes", "there are 2 columns 'note'"),
    "texts of numbers": query("select 3 as note, patient from notes", "row 1: a text must be a string, got int"),
    "no authors": query("select note, null as patient from notes", "row 1 has no author"),
    "authors of halves": query("select note, 0.5 as patient from notes", "whole number, got float"),
    "to delete": query("delete from notes", "the query was refused"),
    "to drop": query("drop table notes", "the query was refused"),
    "no address": query(SQL, "this is not a database address", url="notes.db"),
    "an address of nothing": query(SQL, "this is not a database address", url=f"klingon://{CANARY}@host/name"),
    "no file": query(SQL, r"there is no SQLite file 'nothing\.db'", url="sqlite:///nothing.db"),
    "a file in memory": query(SQL, "there is no SQLite file ''", url="sqlite://"),
    "no database": query(SQL, "the query was refused", url="sqlite:///good.csv"),
    "a database that goes away half-way": query(
        SQL, "was lost, or the database failed|was refused", url="sqlite:///half.db"
    ),
    "no server": query(SQL, "cannot be reached", url=f"postgresql://a:{CANARY}@/x?host=/nowhere"),
    "no driver": query(SQL, "the driver of this database is not installed", url=f"mysql+mysqldb://a:{CANARY}@b/c"),
    "a file as well": Bad("one of the two", ("vocabulary", "good.csv", "--sql", SQL, *READ, *RELEASE)),
    "no database said": Bad("--sql needs the address", ("vocabulary", "--sql", SQL, *READ, *RELEASE)),
    "on Spark": query(SQL, "leave --sql, --separator, .* and - out", "--engine", "spark"),
}

FOLDERS = {
    "by another column": usage("has the columns text, folder, file, not 'note'", reads=("texts", *READ)),
    "in Latin letters": usage("file 1 of the folder 'latin', .* is not valid utf8", reads=("latin", *BY_FOLDER)),
    "without authors": usage("row 1 has no author", reads=("texts", *BY_FOLDER)),
    "with a separator": usage("has no separator, format", "--separator", ";", reads=("texts", *BY_FOLDER)),
    "with a format": usage("has no separator, format", "--format", "csv", reads=("texts", *BY_FOLDER)),
    "that is not there": usage("there is no file 'nowhere'", reads=("nowhere", *BY_FOLDER)),
}

OPTIONS = {
    "no table": usage("one of the two", reads=READ),
    "an empty name": usage("there is no file ''", reads=("", *READ)),
    "a zero byte": usage("there is no file", reads=("a\0b.csv", *READ)),
    "no such file": usage(r"there is no file 'nothing\.csv'", reads=("nothing.csv", *READ)),
    "no column of texts": usage("name the column with the texts", reads=("good.csv",)),
    "another column of texts": usage("no column 'text'", reads=("good.csv", "--text", "text", "--author", "patient")),
    "another column of authors": usage("no column 'who'", reads=("good.csv", "--text", "note", "--author", "who")),
    "one column for both": usage("name the same column", reads=("good.csv", "--text", "note", "--author", "note")),
    "authors without a column": usage("needs --author", "--unit", "author", reads=("good.csv", "--text", "note")),
    "no such unit": usage("Invalid value for '--unit'", "--unit", "household"),
    "no such encoding": usage("there is no encoding 'klingon'", "--encoding", "klingon"),
    "a codec that is no encoding": usage("there is no encoding 'rot13'", "--encoding", "rot13"),
    "a separator of two signs": usage("a separator is one character", "--separator", "ab"),
    "a separator that quotes": usage("a separator is one character", "--separator", '"'),
    "a letter as separator": usage("a separator is one character", "--separator", "e"),
    "a separator of JSON": usage("a separator is for CSV", "--separator", ";", "--format", "json"),
    "no such format": usage("there is no format 'docx'", "--format", "docx"),
    "no such engine": usage("Invalid value for '--engine'", "--engine", "abacus"),
    "a master without Spark": usage("are for --engine spark", "--master", "local[2]"),
    "no such language": usage("there are no stop words for language 'klingon'", "--language", "klingon"),
    "lemmas that are not there": usage("there are no lemmas", "--language", "chinese", "--lemmas"),
    "no letters": usage("word lengths must satisfy", "--min-length", "0"),
    "short words longer than long ones": usage("word lengths must satisfy", "--min-length", "9", "--max-length", "8"),
    "no tokenizer": usage("a tokenizer is one of chinese", "--tokenizer", "klingon"),
    "a tokenizer that is not there": usage(r"\(ModuleNotFoundError\)", "--tokenizer", "klingon:split"),
    "a tokenizer of that name only": usage(r"\(AttributeError\)", "--tokenizer", "json:split"),
    "a tokenizer that is not a function": usage("is not a function", "--tokenizer", "string:ascii_letters"),
    "a tokenizer of no strings": usage("did not return strings", "--tokenizer", "builtins:str.encode"),
    "a tokenizer that fails": usage(r"failed \(\w+\)", "--tokenizer", "json:loads"),
    "no epsilon": Bad("say how much privacy", ("vocabulary", "good.csv", *READ, "--delta", "1e-9", "--out", "out")),
    "epsilon 0": usage("epsilon must be", "--epsilon", "0"),
    "epsilon below 0": usage("epsilon must be", "--epsilon", "-1"),
    "epsilon that is no number": usage("epsilon must be", "--epsilon", "nan"),
    "epsilon that is a word": usage("Invalid value for '--epsilon'", "--epsilon", "much"),
    "delta 1": usage("delta must", "--delta", "1"),
    "delta below 0": usage("delta must", "--delta", "-0.1"),
    "no words of a unit": usage("max_words must be at least 1", "--max-words", "0"),
    "no documents of an author": usage("max_docs must be at least 1", "--max-docs", "0"),
    "no such mechanism": usage("there is no", "--mechanism", "abacus"),
    "no such noise": usage("Invalid value for '--noise'", "--noise", "pink"),
    "no such option": usage("No such option", "--nothing"),
    "no such ledger": usage("ledger", "--ledger", "nothing.ledger"),
    "a ledger that is none": usage("ledger", "--ledger", "good.csv"),
    "a folder that exists": usage("exists", "--out", "texts"),
    "a folder nowhere": usage("nowhere", "--out", "nowhere/out"),
    "more than is left": usage("needs ε", "--epsilon", "50", code=3),
    "one topic": usage("n_topics must lie between 2", "--topics", "1", of="fit"),
    "many topics": usage("--topics must be a whole number of at least 2, or auto", "--topics", "many", of="fit"),
    "too many topics": usage("n_topics must lie between 2 and 10,000", "--topics", "10001", of="fit"),
    "no such topics": usage("there is no", "--mechanism", "abacus", of="fit"),
    "no such words": usage("no vocabulary mechanism or word list", "--vocabulary", "abacus", of="fit"),
    "the table as words": usage("is the private table itself", "--vocabulary", "good.csv", of="fit"),
    "a table as words": usage("is a table, not the word list", "--vocabulary", "public.csv", of="fit"),
    "sentences as words": usage("cannot come out of a text", "--vocabulary", "sentences.txt", of="fit"),
    "an empty list": usage("is empty", "--vocabulary", "empty.txt", of="fit"),
    "a list of Latin letters": usage("is not valid UTF-8", "--vocabulary", "latin.txt", of="fit"),
    "a share of everything": usage("vocabulary_share must lie", "--vocabulary-share", "1", of="fit"),
    "an embedding that nobody uses": usage("has no setting embedding", "--embedding", "minilm-words", of="fit"),
    "a sensitivity that nobody samples": usage("Leave --sensitivity out", "--sensitivity", "s.npz", of="fit"),
    "the table as public texts": usage(
        "is the private table itself", "--mechanism", "output", "--public-corpus", "good.csv", of="fit"
    ),
    "a plan that is not there": plan("nothing.toml", "cannot read the plan"),
    "a plan that is a folder": plan("texts", "cannot read the plan"),
    "a plan that is no plan": plan("words.txt", "'words.txt' is not valid JSON"),
    "a plan of other fields": plan("other.toml", "a plan has no field colour"),
    "a plan of a later day": plan("later.toml", "this plan is of a newer version"),
    "a plan and options": usage("the plan says it already", "--plan", "good.csv", "--max-words", "3"),
    "a preview of nothing": usage("--preview needs a number of units", "--preview"),
}  # fmt: skip

TWO_SHEETS = book([("note", "patient"), (NOTE, CANARY)], [("a", "b")])
SHEET = ("--sheet", "sheet 0")
ROW = "--header-row"
MONTH = ("--by", "month:seen", "--from", "2026-01-01", "--to", "2026-03-31")
WARDS = ("--by", "ward", "--groups", "wards.txt")
SEEN = f"note,patient,seen,ward\n{CANARY} knee,{CANARY},2026-01-05,{CANARY}\nrash,b,5.1.2026,x\n"

READING = {
    "no such sheet": bad("p.xlsx", TWO_SHEETS, "no sheet 'one'. Its sheets: 'sheet 0', 'sheet 1'", "--sheet", "one"),
    "a sheet without the columns": bad("q.xlsx", TWO_SHEETS, "no column 'note' among the 2", "--sheet", "sheet 1"),
    "a sheet of CSV": usage(r"a sheet \(--sheet\) is for workbooks, but 'good.csv' is 'csv'", *SHEET),
    "a sheet of a format": usage("but the format is 'json'", *SHEET, "--format", "json"),
    "a sheet of a folder": usage("sheet or header row", *SHEET, reads=("texts", *BY_FOLDER)),
    "a sheet of standard input": piped(CSV, "a sheet .* but 'standard input' is 'csv'", *SHEET),
    "a sheet of a query": query(SQL, "are for files", *SHEET),
    "row 0": usage("--header-row must be at least 1, got 0", ROW, "0"),
    "row -1": usage("--header-row must be at least 1, got -1", ROW, "-1"),
    "a row that is a word": usage("Invalid value for '--header-row'", ROW, "two"),
    "a row beyond the end": usage("'good.csv' has no column names in row 9", ROW, "9"),
    "a row far beyond": bad("r2.csv", CSV * 3000, r"in row 9999 .* in its first 64 KiB", ROW, "9999"),
    "a blank row": bad("s2.csv", f"note,patient\n\n{CANARY},b\n", "no column names in row 2", ROW, "2"),
    "a row of data": bad("t2.csv", CSV + CSV, "is not shown", ROW, "3"),
    "a row of JSON": bad("z.jsonl", lines(GOOD), r"is for CSV and workbooks, but 'z.jsonl' is 'json'", ROW, "2"),
    "a row of piped JSON": piped(lines(GOOD), "but 'standard input' is 'json'", ROW, "2"),
    "a row of Parquet": bad("m.parquet", table(note=[NOTE], patient=["a"]), "but 'm.parquet' is 'parquet'", ROW, "2"),
    "a row beyond a workbook": bad("r.xlsx", TWO_SHEETS, "has no row 9 .* its longest sheet has 2 rows", ROW, "9"),
    "a row of a folder": usage("sheet or header row", ROW, "2", reads=("texts", *BY_FOLDER)),
    "a row on Spark": usage("leave --sql, .* --header-row and - out", ROW, "2", "--engine", "spark"),
}  # fmt: skip

CHECKS = {
    "no table": checked("one of the two", reads=READ),
    "an empty table": checked_csv("a3.csv", "", "'a3.csv' is empty", code=2),
    "a header alone": checked_csv("b3.csv", "note,patient\n", "Nobody is there: noise alone"),
    "a folder": checked("'text', 'folder', 'file'", reads=("texts",), code=0),
    "a folder by another column": checked("not 'note'", reads=("texts", *READ)),
    "standard input": checked("Read 2 texts of 2 authors", reads=("-", *READ), code=0, piped=CSV.encode()),
    "standard input without columns": checked("say which column holds the texts", reads=("-",), piped=CSV.encode()),
    "no column of texts": checked("2 columns. .* may contain data.* could be the texts", reads=("good.csv",), code=0),
    "another column": checked("no column 'nte' among the 2 of the table: 'note', 'patient'. Did you mean 'note'",
                              reads=("good.csv", "--text", "nte", "--author", "patient")),
    "one column for both": checked("name the same column", reads=("good.csv", "--text", "note", "--author", "note")),
    "a query that is none": checked("the query was refused", reads=("--sql", "x", "--database", LITE, *READ)),
    "texts of numbers": checked("row 1: a text must be a string", reads=("a3.jsonl", *READ), name="a3.jsonl",
                                content=b'{"note": 3, "patient": "a"}'),
    "texts all missing": checked("Rows without text: 1; without author: 0", reads=("b3.jsonl", *READ), name="b3.jsonl",
                                 content=b'{"note": null, "patient": "a"}', code=0),
    "one person": checked_csv("c3.csv", f"note,patient\nknee,{CANARY}\nrash,{CANARY}\n", "All texts are of one person"),
    "mixed dates": checked_csv("d3.csv", SEEN, "1 of 2 understood .* of these 1 from 2026-01-01", *MONTH),
    "other dates": checked_csv("e3.csv", SEEN.replace("2026-01-05", "6.1.2026"), r"%d.%m.%Y \(2 of 2\)", *MONTH),
    "no dates": checked_csv("f3.csv", CSV, "there is no column 'seen'", *MONTH, code=2),
    "a range the wrong way round": checked("must start before it ends", *MONTH, "--to", "2025-01-01"),
    "a range without an end": checked("needs a public range", *MONTH[:4]),
    "a range of no days": checked("--from must be a day", *MONTH, "--from", "May"),
    "a date format that is none": checked("'%Q' is not a date format", *MONTH, "--date-format", "%Q"),
    "a date format of hours": checked("is not a date format", *MONTH, "--date-format", "%H:%M"),
    "a date format of words": checked("'yesterday' is not a date format", *MONTH, "--date-format", "yesterday"),
    "all of them other": checked_csv("g3.csv", SEEN, "0 of 2 rows match, 100% count as 'other'; 0 of the 2", *WARDS),
    "no list of groups": checked("--by ward needs the list", "--by", "ward"),
    "the table as groups": checked("is the private table itself", "--by", "patient", "--groups", "good.csv"),
    "groups of texts": checked("would publish them one by one", "--by", "note", "--groups", "wards.txt"),
    "a release of counts": checked("counts", "--release", "counted"),
    "no release": checked("nowhere", "--release", "nowhere"),
    "one topic": checked("n_topics must lie between 2", "--topics", "1"),
    "epsilon 0": checked("epsilon must be", "--epsilon", "0"),
    "no such language": checked("there are no stop words for language 'klingon'", "--language", "klingon"),
    "results as JSON": checked("No such option", "--json"),
}  # fmt: skip

EVERYTHING = {
    f"{kind}: {name}": case
    for kind, cases in {
        "table": TABLES, "standard input": PIPED, "query": QUERIES, "folder": FOLDERS, "option": OPTIONS,
        "reading": READING, "check": CHECKS,
    }.items()
    for name, case in cases.items()
}  # fmt: skip
