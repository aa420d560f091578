"""The command ask, in process: questions of all kinds, what is refused before the charge, and what comes out."""

import csv
import json
import sys

import numpy as np
import pyarrow as pa
import pytest

from dptopics import Axis, InputError, TextSettings, TopicModel, Vocabulary, ask, cli
from dptopics.cli import terminal
from dptopics.privacy.controls import under_noised
from dptopics.privacy.guarantee import Guarantee, Strength, Unit
from dptopics.release import bundle
from dptopics.release.counts import CountTable
from dptopics.release.release import Release

SECRET = "zanzibarian"
MODEL = TopicModel(
    topic_word=np.array([[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]]),
    topic_share=np.array([0.5, 0.5]),
    vocabulary=Vocabulary.of(["asthma", "clinic", "skin"]),
    alpha=0.1,
    text=TextSettings(),
)
TEXTS = ["My Insulin-pump failed", "insulin, 20 units", "asthma clinic, the nurse was kind", f"skin {SECRET} 7"]
WARDS = ["north", "south"]
FILE = """
[insulin]
mention = ["insulin", "insulinpump"]
[pump]
mention = "insulin pump"
[both]
all = ["insulin", "pump"]
[dose]
regex = '[0-9]+ ?units'
[north]
column = "ward"
is = "north"
[skin]
topic = 1
[without]
formula = "insulin and not pump"
[either]
formula = "(pump or dose) and not skin"
"""


def table(n=800):
    return [(TEXTS[i % 4], f"p{i // 2}", WARDS[i // 2 % 2], "2026-01-07") for i in range(n)]  # two texts each


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(terminal.out, "width", 200)
    promise = Guarantee(events=(), delta=0.0, unit=Unit.AUTHOR, strength=Strength.PROVED)
    bundle.save(Release(value=MODEL, guarantee=promise, settings={}), tmp_path / "topics")
    (tmp_path / "questions.toml").write_text(FILE, "utf-8")
    (tmp_path / "wards.txt").write_text("north\n", "utf-8")
    with open("notes.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("note", "patient", "ward", "date"), *table()])

    def run_command(*words):
        monkeypatch.setattr(sys, "argv", ["dptopics", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        assert SECRET not in printed.err + printed.out
        return stop.value.code or 0, printed.out, " ".join(printed.err.split())

    return run_command


BASE = ("ask", "notes.csv", "--text", "note", "--author", "patient", "--epsilon", 1, "--delta", 1e-6)


def test_questions_from_a_file(run, tmp_path):
    with under_noised(0.0):
        code, out, message = run(*BASE, "--questions", "questions.toml", "--topics", "topics", "--out", "a", "--json")
    assert code == 0, message
    found = CountTable.load(tmp_path / "a")
    counts = {name: round(found.count(question=name).value) for name in found.values[0]}
    assert counts == {"insulin": 200, "pump": 200, "both": 200, "dose": 200, "north": 200, "skin": 200, "without": 0,
                      "either": 200}  # fmt: skip
    assert round(found.count().value) == 400
    told = json.loads(out)
    assert told["counted"] == "People of whom it is true"
    assert "The questions, groups and periods were public before" in " ".join(told["guarantee"]["assumptions"])
    readme = (tmp_path / "a" / "README.txt").read_text("utf-8")
    assert "without: insulin and not pump" in readme
    head, whole, *_ = (tmp_path / "a" / "counts.csv").read_text("utf-8").splitlines()
    assert head == "question,people,low,high,share_low,share_high"
    assert whole.startswith("(all),400.0")
    code, out, _ = run("show", "a")
    assert "45.0% to" in out or "50.0% to" in out or "% to" in out
    assert "without: insulin and not pump" in " ".join(out.replace("│", " ").split())
    assert run("report", "a", "--out", "page.html")[0] == 0
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "People of whom it is true" in page
    assert "insulin and not pump" in page
    for people, advice in ((400, "That looks like enough"), (60, "Ask fewer questions")):
        told = run(*BASE, "--mention", "x,y,z", "--preview", "--people", people, "--out", "b")[1]
        assert advice in " ".join(told.split())


def test_words_by_group_and_by_week(run, tmp_path):
    by = ("--by", "ward", "--groups", "wards.txt")
    with under_noised(0.0):
        assert run(*BASE, "--mention", "insulin,nobody says this", *by, "--max-answers", 2, "--out", "a")[0] == 0
        found = CountTable.load(tmp_path / "a")
        assert [round(found.count(question="insulin", ward=w).value) for w in ("north", "other", "(all)")] == [
            200,
            0,
            200,
        ]
        assert found.count(question="nobody says this").value == 0
        assert run("ledger", "create", "l", "--epsilon", 2, "--delta", 1e-5)[0] == 0
        week = ("--period", "week:date", "--from", "2026-01-05", "--to", "2026-02-28", "--at", "2026-W02")
        code, _, message = run(*BASE, "--mention", "insulin", *week, "--ledger", "l", "--out", "w")
        assert code == 0, message
        assert round(CountTable.load(tmp_path / "w").count(question="insulin").value) == 200
        code, _, message = run(*BASE, "--mention", "insulin", *week, "--ledger", "l", "--out", "w2")
        assert "was counted before" in message


@pytest.mark.parametrize(
    "asked, message",
    [
        ("", "ask 1 to 1,000 questions at once, got 0"),
        ("[a]\nmention = [' - ']", "question 'a' has no words to look for"),
        ("[a]\nmention = []", "question 'a' has no words to look for"),
        ("[a]\nregex = '(a'", "cannot be used: Invalid regular expression: missing )"),
        ("[a]\nregex = '(?=a)b'", "no look-around"),
        ("[a]\nregex = '((a{100}){100}){100}'", "cannot be used"),
        ("[a]\nmention = 'x'\nregex = 'y'", "question 'a' must ask one of mention"),
        ("[a]\nmention = 'x'\nabove = 0.5", "question 'a' cannot have above"),
        ("[a]\nformula = 'b'", "a formula joins names of questions above it"),
        ("[a]\nmention = 'x'\n[b]\nformula = '__import__(1)'", "a formula joins names of questions above it"),
        ("[a]\nnear = 'x'\nabove = 2", "above must be a cosine from -1 to 1, got 2"),
        ("[a]\ntopic = 9", "there is no topic 9"),
        ("[a]\ntheme = 'nothing'", "the atlas has no theme 'nothing'"),
        ("[a]\ncolumn = 'patient'\nis = 'p1'", "would publish them one by one"),
        ("[a]\ncolumn = 'nowhere'\nis = 'x'", "there is no column 'nowhere'"),
        ("[a]\nfunction = 'os:getcwd'", "Allow it: --allow os:getcwd"),
        ("a = 3", "question 'a' must have a name and say what it asks"),
        ("[a", "is not valid TOML"),
        ("".join(f"[q{i}]\nmention = 'x'\n" for i in range(1001)), "ask 1 to 1,000 questions"),
    ],
)
def test_what_cannot_be_asked_costs_nothing(run, tmp_path, asked, message):
    (tmp_path / "q.toml").write_text(asked, "utf-8")
    assert run("ledger", "create", "l", "--epsilon", 2, "--delta", 1e-5)[0] == 0
    code, _, told = run(*BASE, "--questions", "q.toml", "--topics", "topics", "--ledger", "l", "--out", "a")
    assert (code, message in told) == (2, True), told
    assert not (tmp_path / "a").exists()
    assert "Spent ε = 0" in " ".join(run("ledger", "show", "l")[1].split())


def long_one(text):
    if "clinic" in text:
        raise ValueError(text)
    return len(text) > 20


def test_a_function_of_the_owner_is_on_the_card_and_its_errors_are_no():
    data = pa.table(dict(zip(("note", "patient", "ward", "date"), zip(*table(), strict=True), strict=True)))
    how = {"text": "note", "author": "patient", "epsilon": 1.0, "delta": 1e-6}
    with under_noised(0.0), pytest.warns(Warning, match="raised an error on 200 texts: counted as no") as told:
        release = ask(data, {"long": {"function": long_one}}, **how)
    assert not any(SECRET in str(one.message) for one in told)
    assert round(release.value.count(question="long").value) == 200
    assert any("long_one answers for each text by that text alone" in line for line in release.guarantee.assumptions)
    assert "sha256" in release.value.asked[0]
    seen = []

    def remembers(text):
        seen.append(text)
        return len(seen) % 2

    remembers.__qualname__ = "remembers"
    with pytest.raises(InputError, match="gave two results for one text"):
        ask(data, {"odd": {"function": remembers}}, **how)


def test_ratios_of_groups_and_texts_that_are_near():
    rows = [("insulin pump", i, "north" if i % 3 else "south") for i in range(6000)]
    rows += [("the weather", i, "north" if i % 2 else "south") for i in range(6000, 12000)]
    data = pa.table(dict(zip(("note", "patient", "ward"), zip(*rows, strict=True), strict=True)))
    how = {"text": "note", "author": "patient", "epsilon": 3.0, "delta": 1e-6}
    asked = {"insulin": {"mention": "insulin"}, "near": {"near": "my insulin pump", "above": 0.6}}
    table_ = ask(data, asked, by=[Axis.groups("ward", ["north", "south"])], **how).value
    north, south = ({"ward": ward} for ward in ("north", "south"))
    found = table_.ratio(*(table_.share({"question": "insulin", **ward}, of=ward) for ward in (north, south)))
    assert found.low < (4000 / 7000) / (2000 / 5000) < found.high
    assert found.high - found.low < 0.3
    assert abs(table_.count(question="near").value - 6000) < 100


RATED = ("ask", "rated.csv", "--text", "note", "--author", "patient", "--epsilon", 3, "--delta", 1e-6)
STARS = {"insulin": "5", "refund": "1.5", "nothing": "none"}


@pytest.fixture
def rated(tmp_path):
    """Six thousand people: a third with insulin and five stars, a third with refunds, in the south twice as often."""
    with open(tmp_path / "rated.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(("note", "patient", "ward", "stars"))
        for i in range(6000):
            word = ("insulin", "refund", "nothing")[i % 3]
            rows.writerow((f"my {word} {SECRET}", i, "south" if (i // 3) % (2 if word == "refund" else 3) else "north",
                           STARS[word]))  # fmt: skip
    (tmp_path / "wards.txt").write_text("north\nsouth\n", "utf-8")


def test_groups_stand_beside_the_first_one(run, rated, tmp_path):
    code, out, message = run(
        *RATED, "--mention", "insulin,refund", "--by", "ward", "--groups", "wards.txt", "--out", "a"
    )
    assert code == 0, message
    found = CountTable.load(tmp_path / "a")
    share, times = found.shares_by("ward", "refund", "south")
    assert times.low < (1000 / 3667) / (1000 / 2333) < times.high
    assert "Beside north" in out
    (line,) = [one for one in out.splitlines() if "refund" in one and "south" in one]
    assert str(times) in line
    assert f"{share.low:.1%} to {share.high:.1%}" in line
    assert run("report", "a", "--out", "page.html")[0] == 0
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "Shares beside that in north" in page
    assert str(times) in page


def test_a_histogram_of_a_column_of_numbers(run, rated, tmp_path):
    by = ("--mention", "insulin,refund", "--by", "stars", "--bins", "1,2,3,4,5")
    with under_noised(0.0):
        code, out, message = run(*RATED, *by, "--number", "stars", "--range", "1,5", "--out", "a")
    assert code == 0, message
    found = CountTable.load(tmp_path / "a")
    assert found.values[1] == ("1 to below 2", "2 to below 3", "3 to below 4", "4 to below 5", "5 or more", "other")
    many = {name: [round(found.count(question=name, stars=one).value) for one in found.values[1]]
            for name in ("insulin", "refund", "(all)")}  # fmt: skip
    # Without a number nothing counts, since means are asked for.
    assert many == {
        "insulin": [0, 0, 0, 0, 2000, 0],
        "refund": [2000, 0, 0, 0, 0, 0],
        "(all)": [2000, 0, 0, 0, 2000, 0],
    }
    assert found.mean(question="refund").value == pytest.approx(1.5, abs=0.01)
    assert "Share of the row" in out
    assert run("report", "a", "--out", "page.html")[0] == 0
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "share of its chart's own people" in page
    assert "Shares beside" not in page
    # The same from a plan, which knows its bins.
    (tmp_path / "plan.json").write_text(json.dumps(bundle.load("a").record.plan))
    again = ("ask", "rated.csv", "--text", "note", "--author", "patient", "--mention", "insulin,refund", "--plan")
    with under_noised(0.0):
        code, _, message = run(*again, "plan.json", "--by", "stars", "--out", "b")
    assert code == 0, message
    assert np.allclose(CountTable.load(tmp_path / "b").cube, found.cube, atol=0.1)
    two = ("--by", "stars", "--by", "ward")
    for more, told in (
        (("--by", "stars", "--bins", "1,2,2"), "each above the one before; got [1.0, 2.0, 2.0]"),
        (("--by", "stars", "--bins", "1,x"), "--bins must be numbers, as 1,5; got '1,x'"),
        ((*two, "--bins", "1,2", "--groups", "ward=wards.txt"), "say which column --bins is about"),
        ((*two, "--bins", "stars=1,2"), "--by ward needs the list of its values"),
    ):
        assert told in run(*RATED, "--mention", "insulin", *more, "--out", "c")[2], more


def test_texts_instead_of_people(run, tmp_path):
    with under_noised(0.0):
        code, out, message = run(*BASE, "--mention", "insulin,asthma", "--documents", 2, "--out", "a")
    assert code == 0, message
    found = CountTable.load(tmp_path / "a")
    assert [round(found.count(question=one).value) for one in ("insulin", "asthma", "(all)")] == [400, 200, 800]
    assert "Texts of which it is true" in out
    assert "At most 2 texts of each author count" in out
    assert (tmp_path / "a" / "counts.csv").read_text("utf-8").startswith("question,texts,low,high")
    more = ("--number", "ward", "--range", "1,5")
    assert "leave documents out" in run(*BASE, "--mention", "insulin", "--documents", 2, *more, "--out", "b")[2]


def test_a_column_may_be_asked_about_and_counted_by(run, tmp_path):
    (tmp_path / "q.toml").write_text("[north]\ncolumn = 'ward'\nis = 'north'", "utf-8")
    with under_noised(0.0):
        code, _, message = run(*BASE, "--questions", "q.toml", "--by", "ward", "--groups", "wards.txt", "--out", "a")
    assert code == 0, message
    found = CountTable.load(tmp_path / "a")
    assert [round(found.count(question="north", ward=one).value) for one in ("north", "other")] == [200, 0]
