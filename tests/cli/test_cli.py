"""The command line, in process: exit codes, messages, and what lands on disk."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dptopics import Ledger, TopicModel, cli
from dptopics.cli.terminal import show_topics
from dptopics.core.vocabulary import Vocabulary
from dptopics.public import demo
from dptopics.release.bundle import load

SECRET = "zanzibarian"
TEXTS = ["knee pain after running", "knee hurts when running", "glasses for reading", "eyes need reading glasses"] * 100


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run_command(*words):
        monkeypatch.setattr(sys, "argv", ["dptopics", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        assert SECRET not in printed.err
        return stop.value.code or 0, printed.out, " ".join(printed.err.split())

    return run_command


@pytest.fixture
def notes(tmp_path):
    path = tmp_path / "notes.csv"
    rows = [f"{text},p{i}\n" for i, text in enumerate(TEXTS)]
    path.write_text("note,patient\n" + "".join(rows) + f"my name is {SECRET},p0\n")
    return path


def fit(notes, *more):
    settings = {"--text": "note", "--author": "patient", "--topics": 2, "--epsilon": 20, "--delta": 1e-6, "--out": "r"}
    settings |= {"--mechanism": "variational"}
    settings |= dict(zip(more[::2], more[1::2], strict=True))
    return ["fit", notes, *(word for pair in settings.items() if pair[1] is not None for word in pair)]


def test_topics_come_from_embeddings_by_default(run, notes, tmp_path):
    code, out, _ = run(*fit(notes, "--mechanism", None))
    assert code == 0
    assert "knee" in out
    settings = json.loads((tmp_path / "r/bundle.json").read_text("utf-8"))["settings"]
    assert settings["topics"]["mechanism"] == "embedded"
    assert settings["topics"]["embedding"] == {"mechanism": "minilm-words", "name": "minilm-words", "of_words": True}
    assert SECRET not in out
    code, _, _ = run("transform", "r", notes, "--text", "note", "--out", "shares.csv")
    assert code == 0


def test_embeddings_only_where_they_are_used(run, notes):
    code, _, err = run(*fit(notes, "--embedding", "minilm-words"))
    assert code == 2
    assert "has no setting embedding" in err
    code, _, err = run(*fit(notes, "--mechanism", "embedded", "--embedding", "word2vec"))
    assert code == 2
    assert "there is no embedding 'word2vec'" in " ".join(err.split())
    code, _, err = run(*fit(notes, "--mechanism", "embedded", "--embedding-cache", "c"))
    assert code == 2
    assert "word vectors need none" in err


def test_every_word_is_shown_once(capsys):
    words = Vocabulary.of(["common", "left", "right"])
    model = TopicModel(
        topic_word=np.array([[0.55, 0.43, 0.02], [0.55, 0.02, 0.43]]),
        topic_share=np.ones(2) / 2,
        vocabulary=words,
        alpha=0.1,
        noise_std=np.array([0.15, 0.15]),  # "common" is sure, and second
    )
    show_topics(model, 2, min_z=0)
    shown = capsys.readouterr().out
    assert "(left), common" in shown
    assert "(right), common" in shown
    show_topics(model, 2)
    shown = capsys.readouterr().out
    assert "common" in shown
    assert "left" not in shown  # it may be chance: not shown, whether there are colours or not


def test_the_main_job(run, notes, tmp_path):
    code, out, _ = run(*fit(notes))
    assert code == 0
    assert "knee" in out
    assert "PRIVACY GUARANTEE" in out
    assert "Other releases of the same data are not counted" in " ".join(out.replace("│", " ").split())
    assert SECRET not in out
    for file in (tmp_path / "r").iterdir():
        assert SECRET.encode() not in file.read_bytes()
    assert load(tmp_path / "r").guarantee.epsilon <= 20
    code, out, _ = run("show", "r")
    assert code == 0
    assert "knee" in out


def test_json_is_json_alone(run, notes):
    _, out, _ = run(*fit(notes), "--json")
    data = json.loads(out)
    assert data["guarantee"]["strength"] == "proved"
    assert len(data["topics"]) == 2
    assert json.loads(run("show", "r", "--json")[1])["settings"]["mechanism"] == "vocabulary-then-topics"
    rows = json.loads(run("mechanisms", "--json")[1])["mechanisms"]
    assert {row["name"] for row in rows if row["strength"] != "proved"} == {
        *("zhu", "zhao", "output", "mvg", "laplace-counts"),
        *("spectral-1", "spectral-2", "spectral-3", "spectral-4"),
        *("bayes-published", "end-to-end", "laplace-public", "k-anonymity", "greedy-published"),
    }


@pytest.mark.parametrize("choice", [("weighted", "laplace"), ("count", "laplace"), ("policy", "gaussian"), ("greedy",)])
def test_other_vocabularies(run, notes, tmp_path, choice):
    noise = ("--noise", choice[1]) if len(choice) == 2 else ()
    budget = ("--text", "note", "--author", "patient", "--epsilon", 40, "--delta", 1e-6, "--max-words", 20)
    code, out, _ = run("vocabulary", notes, *budget, "--mechanism", choice[0], *noise, "--out", "v", "--json")
    assert code == 0
    (event, _) = json.loads(out)["guarantee"]["events"]
    assert event["kind"].lower() == (*choice, "laplace")[1]
    assert load(tmp_path / "v").settings["mechanism"] == choice[0]
    assert SECRET not in load(tmp_path / "v").value.words
    code, out, _ = run("fit", notes, *budget, "--topics", 2, "--vocabulary", choice[0], *noise, "--out", "f", "--json")
    assert code == 0
    assert json.loads(out)["guarantee"]["epsilon"] == pytest.approx(40, rel=1e-6)


def test_noise_that_a_mechanism_does_not_have(run, notes):
    budget = ("--text", "note", "--author", "patient", "--epsilon", 1, "--delta", 1e-6, "--out", "v")
    code, _, err = run("vocabulary", notes, *budget, "--mechanism", "greedy", "--noise", "gaussian")
    assert code == 2
    assert "Laplace noise only" in err
    assert run("vocabulary", notes, *budget, "--noise", "uniform")[0] == 2


def test_vocabulary(run, notes, tmp_path):
    code, out, _ = run(
        "vocabulary", notes, "--text", "note", "--author", "patient", "--epsilon", 20, "--delta", 1e-6, "--out", "v"
    )
    assert code == 0
    assert "words may be published" in out
    words = load(tmp_path / "v").value.words
    assert "knee" in words
    assert SECRET not in words
    assert run("show", "v")[0] == 0
    assert len(json.loads(run("show", "v", "--json")[1])["words"]) == len(words)
    code, _, err = run("transform", "v", notes, "--text", "note", "--out", "s.csv")
    assert code == 2
    assert "not topics" in err


def test_stop_words_of_ones_own(run, notes, tmp_path):
    (tmp_path / "stop.txt").write_text("Knee\n\nrunning\n")
    budget = ("--text", "note", "--author", "patient", "--epsilon", 20, "--delta", 1e-6, "--stop-words", "stop.txt")
    assert run("vocabulary", notes, *budget, "--out", "v")[0] == 0
    words = load(tmp_path / "v").value.words
    assert "glasses" in words
    assert not {"knee", "running"} & set(words)
    assert run(*fit(notes, "--vocabulary", "weighted", "--stop-words", "stop.txt"))[0] == 0
    model = TopicModel.load(tmp_path / "r")
    assert model.text.stop_words == ("knee", "running")  # published: new texts are read alike
    assert not {"knee", "running"} & set(model.vocabulary.words)
    assert "Stop words: 2 of the owner's own" in (tmp_path / "r" / "README.txt").read_text("utf-8")
    (tmp_path / "stop.txt").write_text("\n")
    code, _, err = run("vocabulary", notes, *budget, "--out", "w")
    assert code == 2
    assert "the list of stop words 'stop.txt' is empty" in err


def test_a_large_delta_is_told_on_the_card(run, notes):
    code, out, _ = run("vocabulary", notes, "--text", "note", "--author", "patient", "--epsilon", 1, "--delta", 0.5,
        "--out", "v")  # fmt: skip
    assert code == 0
    assert "δ = 0.5 is above 0.001" in out


def test_transform(run, notes, tmp_path):
    run(*fit(notes))
    code, _, err = run("transform", "r", notes, "--text", "note", "--out", "shares.csv")
    assert code == 0
    assert "NOT FOR RELEASE" in err
    lines = (tmp_path / "shares.csv").read_text().splitlines()
    assert lines[0] == "row,topic_0,topic_1,known_words"
    assert len(lines) == len(TEXTS) + 2
    assert lines[1].split(",")[0] == "1"  # as in messages
    code, _, err = run("transform", "r", notes, "--text", "note", "--out", "shares.csv")
    assert code == 2
    assert "exists already" in err


def test_transform_tells_which_texts_it_knows_nothing_of(run, notes, tmp_path):
    run(*fit(notes))
    table = pa.table({"note": [None, "knee pain", "übermorgen vielleicht", None, ""]})
    pq.write_table(table, tmp_path / "new.parquet")
    code, _, err = run("transform", "r", "new.parquet", "--text", "note", "--out", "shares.csv")
    assert code == 2
    assert "row 1 has no text" in err
    assert "--drop-missing" in err
    code, _, err = run("transform", "r", "new.parquet", "--text", "note", "--drop-missing", "--out", "shares.csv")
    assert code == 0
    assert "2 of 3 texts have no word that the topics know" in err
    assert "Shares of 3 texts" in err
    with open(tmp_path / "shares.csv", newline="") as file:
        found = [(row["row"], row["known_words"], row["topic_0"]) for row in csv.DictReader(file)]
    assert [one[:2] for one in found] == [("2", "2"), ("3", "0"), ("5", "0")]
    assert [share for *_, share in found[1:]] == ["0.50000"] * 2


def test_public_word_list(run, notes, tmp_path):
    (tmp_path / "words.txt").write_text("knee\nglasses\nreading\nrunning\n")
    assert run(*fit(notes, "--vocabulary", "words.txt"))[0] == 0
    assert TopicModel.load(tmp_path / "r").vocabulary.words == ("glasses", "knee", "reading", "running")
    code, _, err = run(*fit(notes, "--vocabulary", "words.txt", "--topics", 9, "--out", "r2"))
    assert code == 2
    assert "9 topics need at least as many words" in err


def test_ledger(run, notes, tmp_path):
    assert run("ledger", "create", "clinic.ledger", "--epsilon", 30, "--delta", 1e-5)[0] == 0
    code, out, _ = run(*fit(notes, "--ledger", "clinic.ledger"))
    assert code == 0
    assert "not counted" not in out
    code, _, err = run(*fit(notes, "--ledger", "clinic.ledger", "--out", "r2"))
    assert code == 3
    assert "needs ε = 20 but 10 of 30 is left in ledger 'clinic'" in err
    assert not (tmp_path / "r2").exists()
    data = json.loads(run("ledger", "show", "clinic.ledger", "--json")[1])
    assert data["spent"]["epsilon"] == pytest.approx(20)
    assert run("ledger", "create", "clinic.ledger", "--epsilon", 30, "--delta", 1e-5)[0] == 2
    assert run("ledger", "show", "nothing.ledger")[0] == 2


@pytest.mark.parametrize(
    "more, message",
    [
        (("--text", "nte"), "no column 'nte' among the 2 of the table"),
        (("--author", "doctor"), "no column 'doctor'"),
        (("--epsilon", 0), "epsilon must be a positive number"),
        (("--epsilon", "nan"), "epsilon must be a number, got nan"),
        (("--delta", 0), "delta must lie"),
        (("--delta", 2), "delta must lie"),
        (("--topics", 1), "n_topics must lie between 2 and"),
        (("--mechanism", "magic"), "no mechanism 'magic'"),
        (("--vocabulary", "nowhere.txt"), "word list of that name"),
        (("--language", "klingon"), "no stop words for language 'klingon'"),
        (("--language", "sv", "--mechanism", "embedded"), "minilm-words knows English only"),
        (("--ledger", "nothing.ledger"), "there is no ledger"),
        (("--out", "missing/folder"), "does not exist"),
        (("--max-docs", 0), "max_docs must be at least 1"),
        (("--unit", "author", "--author", None), "--unit author needs --author"),
        (("--encoding", "klingon"), "encoding"),
    ],
)
def test_mistakes_are_explained_and_cost_nothing(run, notes, tmp_path, more, message):
    Ledger.create(tmp_path / "l.ledger", epsilon=100, delta=0.5)
    more = more if "--ledger" in more else (*more, "--ledger", "l.ledger")
    code, _, err = run(*fit(notes, *more))
    assert code == 2
    assert message in err
    assert Ledger.open(tmp_path / "l.ledger").receipts() == []
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "empty"),
        (b"note,patient\n\xff\xfe" + SECRET.encode() + b",p1\n", "not valid UTF-8"),
        (f"note,patient\n{SECRET},\n".encode(), "row 1 has no author"),
        (f"note,patient\n{SECRET},a,b,c\n".encode(), "has 2 columns but row 2 has 4"),
    ],
)
def test_bad_files_cost_nothing(run, tmp_path, content, message):
    Ledger.create(tmp_path / "l.ledger", epsilon=100, delta=1e-3)
    (tmp_path / "bad.csv").write_bytes(content)
    code, _, err = run(*fit(tmp_path / "bad.csv", "--ledger", "l.ledger"))
    assert code == 2
    assert message in err
    assert Ledger.open(tmp_path / "l.ledger").receipts() == []


def test_output_folder_exists(run, notes, tmp_path):
    (tmp_path / "r").mkdir()
    code, _, err = run(*fit(notes))
    assert code == 2
    assert "exists already" in err


def test_damaged_and_missing_bundles(run, notes, tmp_path):
    run(*fit(notes))
    (tmp_path / "r" / "topics.npz").write_bytes(b"nonsense")
    code, _, err = run("show", "r")
    assert code == 2
    assert "damaged" in err
    assert run("show", "nowhere")[0] == 2


def test_no_author_warns_that_documents_are_the_unit(run, notes):
    code, out, err = run(*fit(notes, "--author", None))
    assert code == 0
    assert "each document is protected by itself" in err
    assert "NOT authors" in out


def test_large_delta_warns(run, notes):
    code, _, err = run(*fit(notes, "--delta", 0.1))
    assert code == 0
    assert "larger than 1 / number of authors" in err


def test_missing_options_are_explained(run, notes):
    code, _, err = run("fit", notes)
    assert code == 2
    assert "Missing option" in err
    code, _, err = run("fit", notes, "--text", "note", "--epsilon", 1, "--delta", 1e-6, "--mechanism", "mixture")
    assert code == 2
    assert "--out FOLDER" in err


def test_interrupt_writes_nothing_and_keeps_the_charge(notes, tmp_path):
    ledger = Ledger.create(tmp_path / "l.ledger", epsilon=100, delta=1e-3)
    command = [str(word) for word in fit(notes, "--ledger", "l.ledger", "--set", "steps=100000")]
    process = subprocess.Popen(
        [sys.executable, "-m", "dptopics", *command],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests run in the background ignore it
    )
    deadline = time.monotonic() + 60
    while not ledger.receipts() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)
    for _ in range(3):  # an interrupt that falls into a finalizer is lost: people press again
        os.kill(process.pid, signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            _, err = process.communicate(timeout=20)
            break
    else:
        process.kill()
    assert process.returncode == 130, err
    assert "Nothing was written" in err
    assert "Traceback" not in err
    assert len(ledger.receipts()) == 1
    assert not [p for p in tmp_path.iterdir() if p.name not in ("l.ledger", "notes.csv")]


def test_an_interrupt_ends_the_wait_for_a_program_that_is_silent(tmp_path):
    command = ["fit", "-", "--text", "note", "--author", "patient", "--epsilon", "1", "--delta", "1e-5"]
    head = b"note,patient\n" + b"".join(b"the knee hurts after the run,p%d\n" % i for i in range(4000))
    with subprocess.Popen(
        [sys.executable, "-m", "dptopics", *command, "--topics", "2", "--out", "release"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        os.write(process.stdin.fileno(), head)  # more than a pipe holds: it is being read, and the rest does not come
        os.kill(process.pid, signal.SIGINT)
        try:
            process.wait(timeout=60)
        finally:
            process.kill()
        assert b"nothing was written" in process.stderr.read()
    assert process.returncode == 130
    assert not list(tmp_path.iterdir())


def test_audit(run, notes, tmp_path):
    code, out, err = run(
        "audit", "membership", notes, "--text", "note", "--topics", 2, "--shadows", 4, "--repeats", 2, "--out", "a"
    )
    assert code == 0
    assert "NOT FOR RELEASE" in out
    assert "NOT FOR RELEASE" in err
    data = json.loads((tmp_path / "a" / "audit.json").read_text())
    assert data["not_for_release"] is True
    assert SECRET not in json.dumps(data)
    assert (tmp_path / "a" / "roc.png").exists()
    code, _, err = run("audit", "membership", notes, "--text", "note", "--topics", 2, "--shadows", 4, "--out", "a")
    assert code == 2
    assert "holds an audit already" in err
    assert run("audit", "membership", notes, "--text", "note", "--topics", 2, "--shadows", 3, "--out", "b")[0] == 2


def test_audit_of_a_mechanism_says_what_it_could_have_seen(run, notes):
    words = ("--mechanism", "weighted", "--epsilon", 4, "--trials", 64, "--json")
    code, out, _ = run("audit", "claim", notes, "--text", "note", "--author", "patient", *words, "--out", "a")
    assert code == 6  # 64 trials are not enough
    data = json.loads(out)
    assert data["claim"]["epsilon"] == pytest.approx(4)
    assert [one["name"] for one in data["checks"] if not one["enough"]] == ["lone words", "distinguishing"]
    assert data["not_for_release"] is True


def test_demo_shows_the_leak_and_the_cure(run, monkeypatch, tmp_path):
    whole = demo.demo_corpus()
    n = 6000
    part = demo.DemoTexts(whole.texts[:n], whole.authors[:n], whole.themes[:n], whole.rare_words)
    monkeypatch.setattr("dptopics.cli.demo.demo_corpus", lambda: part)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code, out, _ = run("demo", "--epsilon", 8, "--out", "release")
    assert code == 0
    assert "NOT private" in out
    assert "stand above the noise, 0 are such words" in " ".join(out.split())
    shown = {word for row in TopicModel.load(tmp_path / "release").top_words(1000) for word in row}
    assert not shown & whole.rare_words
    page = re.search(r"file://(\S+report\.html)", out)[1]
    assert Path(page).is_relative_to(tmp_path)
    assert "NOT FOR RELEASE" not in Path(page).read_text("utf-8")
    code, _, err = run("demo", "--report", page)
    assert code == 2
    assert "exists already" in err


def test_the_demo_hands_out_its_messages(run, monkeypatch, tmp_path):
    people = ["patient-00001", "patient-00002", "patient-00002"]
    part = demo.DemoTexts(['"Quoted", and\na new line'] * 3, people, [], frozenset())
    monkeypatch.setattr("dptopics.cli.demo.demo_corpus", lambda: part)
    assert run("demo", "--messages", "notes.csv")[0] == 0
    with open("notes.csv", encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["note", "patient", "ward", "date"]
    assert [row[:2] for row in rows] == list(map(list, zip(part.texts, part.authors, strict=True)))
    assert run("demo", "--messages", "notes.csv")[0] == 0  # the same once more
    Path("notes.csv").write_text("mine")
    code, _, err = run("demo", "--messages", "notes.csv")
    assert code == 2
    assert Path("notes.csv").read_text() == "mine"
    assert "exists already" in err


def test_what_was_read_is_said_to_the_owner_before_the_release(run, tmp_path):
    """A quotation mark left open swallows the rows after it: that must not happen in silence."""
    rows = [f"note {i} about a knee,patient{i}" for i in range(50)]
    rows[10] = '"a mark left open,patient10'
    rows[40] = 'and closed here",patient40'
    (tmp_path / "open.csv").write_text("note,patient\n" + "\n".join(rows) + "\n")
    line = ("--text", "note", "--author", "patient", "--epsilon", 1, "--delta", 1e-6, "--out", "release")
    _, _, err = run("vocabulary", tmp_path / "open.csv", *line)
    assert "Read 20 texts of 20 authors" in err


def test_help_loads_no_command():
    """Nor the libraries that commands need: it answers at once."""
    code = (
        "import sys\nfrom dptopics.cli import main\nsys.argv = ['dptopics', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "assert not {'numpy', 'regex', 'dptopics.cli.look', 'dptopics.cli.source'} & set(sys.modules)"
    )
    assert "label" in subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
