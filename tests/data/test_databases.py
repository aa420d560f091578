"""Tables from databases: SQLite, and a PostgreSQL of our own. No password and no word of the data is ever said."""

import logging
import sqlite3
import sys
import tempfile
from pathlib import Path
from uuid import UUID

import pytest
from collector_tools import NO_POSTGRES, fresh_schema, postgres_folder, postgres_server

from dptopics import Ledger, cli
from dptopics.core.errors import InputError, PrivacyWarning
from dptopics.data.corpus import Corpus
from dptopics.data.readers.columns import BATCH_ROWS
from dptopics.data.readers.databases import SqlQuery

PASSWORD = "swordfish77"
CANARY = "zanzibarina"
ROWS = 10_000  # more than a batch
NOTES = [f"knee pain number{i} {CANARY}" for i in range(ROWS)]
QUERY = "select note, patient from notes where note like '%knee%'"
CREATE = "create table notes (note text, patient integer, age real, id text)"


@pytest.fixture(scope="module")
def postgres():
    if postgres_folder() is None:
        pytest.skip(NO_POSTGRES)
    # Not in pytest's folder: another session that starts closes it to the server, which may run as another user.
    with tempfile.TemporaryDirectory() as folder, postgres_server(Path(folder)) as address:
        yield fresh_schema(address, "notes")


@pytest.fixture(scope="module")
def filled(postgres):
    """The address of a database with notes, and a password that it does not ask for."""
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("create table notes (note text, patient integer, number numeric, id uuid, day date)")
        rows = [(note, i // 2, i // 2, str(UUID(int=i // 2)), "2026-01-31") for i, note in enumerate(NOTES)]
        connection.cursor().executemany("insert into notes values (%s, %s, %s, %s, %s)", rows)
        connection.execute("create role stranger login")
        connection.execute("grant usage on schema notes to stranger")
    return f"{postgres}&password={PASSWORD}"


@pytest.fixture(scope="module")
def lite(tmp_path_factory):
    path = tmp_path_factory.mktemp("lite") / "notes of 2026.db"
    with sqlite3.connect(path) as connection:
        connection.execute(CREATE)
        rows = [(note, i // 2, 0.5, f"p{i // 2}") for i, note in enumerate(NOTES)]
        connection.executemany("insert into notes values (?, ?, ?, ?)", rows)
    connection.close()
    return f"sqlite:///{path}"


@pytest.fixture(params=["lite", "filled"])
def where(request):
    return request.getfixturevalue(request.param)


def read(query, url, author="patient", **how):
    return Corpus.from_sql(query, url, text="note", author=author, **how)


def refused(match, query, url, **how):
    with pytest.raises(InputError, match=match) as no:
        read(query, url, **how)
    said = str(no.value)
    assert PASSWORD not in said
    assert CANARY not in said
    assert no.value.__cause__ is no.value.__context__ is None  # their messages quote addresses and cells


def test_a_query_is_a_table(where):
    corpus = read(QUERY, where)
    assert (corpus.n_documents, corpus.n_authors) == (ROWS, ROWS // 2)
    assert {"knee", "number0", f"number{ROWS - 1}"} <= set(corpus.words)
    again = Corpus.from_texts(NOTES, [str(i // 2) for i in range(ROWS)])
    assert corpus.digest == again.digest
    assert sorted(corpus.author_key) == sorted(again.author_key)


@pytest.mark.parametrize("author", ["number", "id"])
def test_names_of_authors_in_postgresql(filled, author):
    assert read(f"select note, {author} from notes", filled, author).n_authors == ROWS // 2


def test_a_query_without_rows_is_an_empty_corpus(where):
    with pytest.warns(PrivacyWarning, match="the data holds no documents"):
        assert read("select note, patient from notes where 1 = 0", where).n_documents == 0


def test_columns_of_a_query(where):
    refused("there is no column 'note' among the 1", "select patient from notes", where)
    refused("there are 2 columns 'note'", "select note, note, patient from notes", where)
    refused("row 1: a text must be a string, got int", "select patient as note, patient from notes", where)
    refused(
        "row 1: an author must be .* got (float|Decimal)",
        "select note, 0.5 + patient * 1e0 as patient from notes",
        where,
    )
    refused("row 1 has no author", "select note, null as patient from notes", where)


def test_queries_that_are_refused(where):
    for query in ("selekt", "", "select note from nowhere", "select nothing from notes", "\0"):
        refused(r"not valid SQL|the query was refused", query, where)


def test_a_query_may_only_read(where):
    for query in ("delete from notes", "drop table notes", "insert into notes (note) values ('x') returning note"):
        refused("would write|not valid SQL|refused|failed", query, where)
    assert read(QUERY, where).n_documents == ROWS


def test_a_user_without_rights(filled):
    refused("this user may not read", QUERY, filled.replace("user=tester", "user=stranger"))


def test_databases_that_cannot_be_reached(filled, tmp_path):
    refused("cannot be reached", QUERY, filled.replace("/postgres?", "/nothing?"))
    refused("refuses this user", QUERY, filled.replace("user=tester", "user=nobody"))
    refused("cannot be reached", QUERY, f"postgresql://me:{PASSWORD}@/none?host=/nowhere")
    refused("there is no SQLite file", QUERY, f"sqlite:///{tmp_path}/nothing.db")
    assert not (tmp_path / "nothing.db").exists()
    refused("there is no SQLite file", QUERY, "sqlite://")
    (tmp_path / "text.db").write_text(f"{CANARY}\n" * 1000)
    refused("the query was refused", QUERY, f"sqlite:///{tmp_path}/text.db")


@pytest.mark.parametrize("url", ["", "notes.db", f"://{PASSWORD}", f"nothing://a:{PASSWORD}@b/c", f"{PASSWORD}://a"])
def test_what_is_no_address(url):
    refused("this is not a database address", QUERY, url)


def test_a_driver_that_is_missing():
    refused("the driver of this database is not installed", QUERY, f"mysql+mysqldb://a:{PASSWORD}@b/c")


def test_the_extra_that_is_missing(monkeypatch):
    monkeypatch.setattr("dptopics.data.readers.databases.find_spec", lambda name: None)
    refused(r"pip install 'dptopics\[sql\]'", QUERY, "sqlite:///notes.db")


def test_a_password_is_not_shown():
    assert PASSWORD not in repr(SqlQuery(QUERY, f"postgresql://me:{PASSWORD}@host/db"))


# --- the command line ---


@pytest.fixture
def run(monkeypatch, capfd, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    (tmp_path / "words.txt").write_text("knee\npain\n")
    Ledger.create(tmp_path / "clinic.ledger", epsilon=10.0, delta=1e-6)

    def run_command(command, *more, code=0):
        words = [command, *more, "--text", "note", "--author", "patient"]
        monkeypatch.setattr(sys, "argv", ["dptopics", *words])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        said = "".join(capfd.readouterr())
        assert (stop.value.code or 0) == code, said
        assert PASSWORD not in said
        assert CANARY not in said
        return said

    return run_command


FIT = ["--epsilon", "1", "--delta", "1e-9", "--topics", "2", "--mechanism", "mixture", "--set", "steps=1"]
FIT += ["--vocabulary", "words.txt", "--ledger", "clinic.ledger", "--out", "out"]


def spent(tmp_path):
    return len(Ledger.open(tmp_path / "clinic.ledger").receipts())


def test_a_release_of_a_query(run, tmp_path, where):
    said = run("fit", "--sql", QUERY, "--database", where, *FIT)
    assert "Read 10,000 texts of 5,000 authors" in said
    assert spent(tmp_path) == 1
    for path in [*(tmp_path / "out").rglob("*"), tmp_path / "clinic.ledger"]:
        kept = path.read_bytes() if path.is_file() else b""
        assert PASSWORD.encode() not in kept
        assert b"select note" not in kept


def test_a_user_without_rights_spends_nothing(run, tmp_path, filled):
    stranger = filled.replace("user=tester", "user=stranger")
    assert "this user may not read" in run("fit", "--sql", QUERY, "--database", stranger, *FIT, code=2)
    assert spent(tmp_path) == 0


def test_the_address_may_be_a_variable(run, monkeypatch, filled):
    monkeypatch.setenv("DPTOPICS_DATABASE", filled)
    assert "Read 10,000 texts" in run("fit", "--sql", QUERY, *FIT)
    assert PASSWORD not in run("fit", "--help")


def test_an_empty_answer_is_charged(run, tmp_path, where):
    said = run("fit", "--sql", "select note, patient from notes where 1 = 0", "--database", where, *FIT)
    assert "the data holds no documents" in said
    assert spent(tmp_path) == 1


def test_a_server_that_goes_away_half_way(run, tmp_path, filled, monkeypatch):
    """The session is ended from outside, after the first rows."""
    import psycopg

    from dptopics.data import builder

    add, seen = builder.Builder.add, []

    def interrupted(self, texts, authors):
        add(self, texts, authors)
        seen.append(len(texts))
        if len(seen) == 1:
            with psycopg.connect(filled, autocommit=True) as other:
                other.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() "
                    "and datname = 'postgres' and application_name <> 'psql' and state like 'idle in transaction%'"
                )

    monkeypatch.setattr(builder.Builder, "add", interrupted)
    said = run("fit", "--sql", QUERY, "--database", filled, *FIT, code=2)
    assert "the connection was lost, or the database failed" in said
    assert seen == [BATCH_ROWS]
    assert spent(tmp_path) == 0
    assert not (tmp_path / "out").exists()


def test_a_file_that_goes_away_half_way(run, tmp_path, monkeypatch):
    path = tmp_path / "notes.db"
    with sqlite3.connect(path) as connection:
        connection.execute(CREATE)
        rows = [(f"{note} " * 50, 1) for note in NOTES]
        connection.executemany("insert into notes (note, patient) values (?, ?)", rows)
    connection.close()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 3])
    said = run("fit", "--sql", QUERY, "--database", f"sqlite:///{path}", *FIT, code=2)
    assert "the connection was lost, or the database failed" in said or "the query was refused" in said
    assert spent(tmp_path) == 0


def test_options_that_do_not_go_together(run, lite):
    Path("notes.csv").write_text("note,patient\nknee,a\n")
    assert "one of the two" in run("fit", "notes.csv", "--sql", QUERY, "--database", lite, *FIT, code=2)
    assert "one of the two" in run("fit", "--database", lite, *FIT, code=2)
    assert "--sql needs the address" in run("fit", "--sql", QUERY, *FIT, code=2)
    assert "leave --sql" in run("fit", "--sql", QUERY, "--database", lite, "--engine", "spark", *FIT, code=2)


@pytest.mark.parametrize(
    "command",
    [
        ["vocabulary", "--epsilon", "9", "--delta", "1e-9", "--out", "words"],
        ["ngrams", "--epsilon", "99", "--delta", "1e-9", "--n", "2", "--out", "pairs"],
        ["count", "out", "--epsilon", "1", "--delta", "1e-9", "--out", "counted"],
        ["vocabulary", "--column", "patient", "--epsilon", "1", "--delta", "1e-9", "--out", "listed"],
        ["audit", "membership", "--out", "audited", "--shadows", "4", "--topics", "2"],
        ["audit", "monitor", "--topics", "2", "--sweeps", "2"],
        ["transform", "out", "--out", "shares.csv"],
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_every_command_that_reads_a_table_reads_a_query(run, lite, command, monkeypatch, capfd):
    query = ["--sql", f"{QUERY} limit 40", "--database", lite]
    run("fit", *query, *FIT)
    columns = ["--text", "note"] if "--column" not in command else ["--author", "id"]
    columns += ["--author", "patient"] if not {"--column", "monitor", "transform"} & {*command} else []
    query = ["--sql", "select * from notes limit 40", "--database", lite]
    monkeypatch.setattr(sys, "argv", ["dptopics", *command, *query, *columns])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    said = capfd.readouterr().err
    assert not stop.value.code, said
    assert any(one in said for one in ("Read 40 texts", "Read 40 rows", "40 texts written"))


def test_nothing_is_logged(lite, monkeypatch):
    """Even where an application logs everything that SQLAlchemy says."""
    heard, logger = [], logging.getLogger("sqlalchemy")
    handler = logging.Handler()
    handler.emit = lambda record: heard.append(record.getMessage())
    monkeypatch.setattr(logger, "handlers", [handler])
    level = logger.level
    logger.setLevel(logging.DEBUG)
    try:
        read(QUERY, lite)
    finally:
        logger.setLevel(level)
    assert not [line for line in heard if CANARY in line or "select" in line]
