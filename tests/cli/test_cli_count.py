"""The command count, in process: exit codes, messages, and what lands on disk."""

import csv
import json
import sys
from dataclasses import replace

import numpy as np
import pytest

from dptopics import Axis, TextSettings, TopicModel, Vocabulary, cli, release_counts
from dptopics.core.errors import BundleError, InputError, PrivacyWarning
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
PROMISE = Guarantee(events=(), delta=0.0, unit=Unit.AUTHOR, strength=Strength.PROVED)


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    bundle.save(Release(value=MODEL, guarantee=PROMISE, settings={}), tmp_path / "topics")
    (tmp_path / "wards.txt").write_text("north\nsouth\n", "utf-8")
    with open("notes.csv", "w", newline="", encoding="utf-8") as file:
        rows = [
            (
                "asthma" if i % 3 else f"skin {SECRET}",
                f"p{i}",
                ("north", "south", SECRET)[i % 3],
                f"2026-0{1 + i % 2}-07",
            )
            for i in range(900)
        ]
        csv.writer(file).writerows([("note", "patient", "ward", "date"), *rows])

    def run_command(*words):
        monkeypatch.setattr(sys, "argv", ["dptopics", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        assert SECRET not in printed.err + printed.out
        return stop.value.code or 0, printed.out, " ".join(printed.err.split())

    return run_command


BASE = ("count", "topics", "notes.csv", "--text", "note", "--author", "patient", "--epsilon", 1, "--delta", 1e-6)
BY = ("--by", "ward", "--by", "month:date", "--groups", "wards.txt", "--from", "2026-01-01", "--to", "2026-02-28")


def test_from_topics_to_counts(run, tmp_path):
    assert run("ledger", "create", "l.json", "--epsilon", 2, "--delta", 1e-5)[0] == 0
    code, out, message = run(*BASE, *BY, "--ledger", "l.json", "--out", "counts", "--json")
    assert code == 0, message
    assert "300 of 900 rows (33%) count as 'other' for 'ward'" in message
    assert json.loads(out)["guarantee"]["epsilon"] == pytest.approx(1.0)
    table = CountTable.load(tmp_path / "counts")
    assert table.axes == ("topic", "ward", "month")
    assert table.values[2] == ("2026-01", "2026-02", "other")
    for value, where in ((600, {"topic": "0"}), (300, {"topic": "1", "ward": "north"}), (900, {})):
        assert abs(table.count(**where).value - value) < 6 * table.count(**where).noise_std
    for file in (tmp_path / "counts").iterdir():
        assert SECRET.encode() not in file.read_bytes()
    code, out, _ = run("show", "counts")
    assert code == 0
    assert "rows of each table" in " ".join(out.split()) or "one row of each table" in " ".join(out.split())
    assert "who wrote about it" in out
    code, out, _ = run("ledger", "show", "l.json")
    assert "margins: ε = 1" in out
    code, _, message = run(*BASE, *BY, "--ledger", "l.json", "--out", "counts")
    assert (code, "exists already" in message) == (2, True)
    assert run(*BASE, *BY, "--ledger", "l.json", "--out", "counts2", "--epsilon", 1.5)[0] == 3


@pytest.mark.parametrize(
    "more, message",
    [
        (("--by", "ward"), "--by ward needs the list of its values that are public: --groups ward=FILE"),
        (("--by", "patient", "--groups", "wards.txt"), "would publish them one by one"),
        (("--by", "month:date"), "needs a public range: --from and --to"),
        (("--by", "ward", "--groups", "notes.csv"), "is the private table itself"),
        (("--by", "nowhere", "--groups", "wards.txt"), "there is no column 'nowhere'"),
        (("--by", "ward", "--by", "ward", "--groups", "ward=wards.txt"), "axes of different names"),
        (("--by", "topic", "--groups", "wards.txt"), "the axis 'topic' is always there"),
        (("--groups", "wards.txt"), "say which column --groups is about"),
        (("--max-cells", 0), "max_cells must be at least 1"),
    ],
)
def test_what_settings_make_impossible_costs_nothing(run, tmp_path, more, message):
    assert run("ledger", "create", "l.json", "--epsilon", 2, "--delta", 1e-5)[0] == 0
    code, _, told = run(*BASE, *more, "--ledger", "l.json", "--out", "counts")
    assert code == 2
    assert message in told
    assert not (tmp_path / "counts").exists()
    assert "Spent ε = 0" in " ".join(run("ledger", "show", "l.json")[1].split())


def test_a_ledger_of_another_unit_and_a_release_of_something_else(run, tmp_path):
    assert run("ledger", "create", "l.json", "--epsilon", 2, "--delta", 1e-5, "--unit", "document")[0] == 0
    code, _, message = run(*BASE, "--ledger", "l.json", "--out", "counts")
    assert code == 2
    assert "document" in message
    words = Release(value=Vocabulary.of(["a", "b"]), guarantee=PROMISE, settings={})
    with pytest.raises(BundleError, match="contains words, not topics"):
        release_counts(words, "notes.csv", by=[], text="note", epsilon=1.0, delta=1e-6)
    assert run("report", "topics", "--out", "page.html")[0] == 0


def test_groups_without_a_public_list_are_released_first(run, tmp_path):
    ask = ("vocabulary", "notes.csv", "--column", "ward", "--author", "patient", "--delta", 1e-6, "--out", "wards")
    with open("notes.csv", "a", encoding="utf-8") as file:
        file.write("".join(f"skin,q{i},only {i},2026-01-01\n" for i in range(50)))
    # What many have is no secret: the word is on everybody's lips here.
    text = (tmp_path / "notes.csv").read_text("utf-8").replace(SECRET, "east")
    (tmp_path / "notes.csv").write_text(text, "utf-8")
    code, out, message = run(*ask, "--epsilon", 1)
    assert code == 0, message
    assert "3 groups may be published" in out
    code, _, message = run(*BASE, "--by", "ward", "--groups", "wards", "--out", "counts")
    assert code == 0, message
    table = CountTable.load(tmp_path / "counts")
    assert table.values[1] == ("east", "north", "south", "other")
    assert abs(table.count(ward="other").value - 50) < 6 * table.count(ward="other").noise_std
    assert run(*ask[:3], "patient", *ask[4:], "--epsilon", 1)[0] == 2


def test_means_of_a_column_of_numbers(run, tmp_path):
    rows = [("asthma" if i % 2 else "skin", f"p{i}", ("4", "2.5", "nan", "", "900", "x", "3", "3")[i % 8])
            for i in range(1600)]  # fmt: skip
    with open("rated.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("note", "patient", "stars"), *rows])
    base = ("count", "topics", "rated.csv", *BASE[3:7], "--epsilon", 8, "--delta", 1e-6)
    code, _, message = run(*base, "--number", "stars", "--range", "1,5", "--out", "counts", "--json")
    assert code == 0, message
    table = CountTable.load(tmp_path / "counts")
    assert abs(table.count().value - 1000) < 40  # those with a number
    skin, asthma = (table.mean(topic=name) for name in "10")
    assert skin.low < (4 + 5 + 3) / 3 < skin.high  # clipped to 5
    assert asthma.low < (2.5 + 3) / 2 < asthma.high
    head, *_ = (tmp_path / "counts" / "counts.csv").read_text("utf-8").splitlines()
    assert head == "topic,people,low,high,share_low,share_high,mean,mean_low,mean_high"
    assert "Mean stars" in run("show", "counts")[1]
    for more in (("--number", "stars"), ("--range", "1,5"), ("--number", "stars", "--range", "5,1"),
                 ("--number", "stars", "--range", "x"), ("--number", "nowhere", "--range", "1,5")):  # fmt: skip
        assert run(*base, *more, "--out", "no")[0] == 2
        assert not (tmp_path / "no").exists()


def test_the_page_of_counts(run, tmp_path):
    assert run(*BASE, *BY, "--min-units", 60, "--out", "counts")[0] == 0
    assert run("report", "counts", "--out", "page.html")[0] == 0
    page = (tmp_path / "page.html").read_text("utf-8")
    assert 'id="by-1"' in page  # the ward
    assert 'id="trends"' in page  # the month
    assert page.count("as a table</summary>") == 2
    assert "had more: that is how many a count may lack" in page
    assert "People who wrote about it" in page
    assert "<td>suppressed</td>" in page
    assert SECRET not in page


def by_blanks(text):
    return text.split()


def test_counts_by_a_tokenizer_of_the_owner_say_so(tmp_path):
    (tmp_path / "notes.csv").write_text("note,patient\n" + "asthma clinic,p1\n" * 3)
    settings = {"by": [], "text": "note", "epsilon": 1.0, "delta": 1e-6, "unit": "document"}
    own = replace(MODEL, text=TextSettings(tokenizer=by_blanks))
    for model, told in ((MODEL, False), (own, True)):
        release = release_counts(model, str(tmp_path / "notes.csv"), **settings)
        assert any("by_blanks, splits each text" in line for line in release.guarantee.assumptions) is told


def test_an_empty_table_and_documents_as_units(run, tmp_path):
    (tmp_path / "empty.csv").write_text("note,patient,ward\n")
    with pytest.warns(PrivacyWarning, match="holds no documents"):
        release = release_counts(
            MODEL, "empty.csv", by=[Axis.groups("ward", ["a"])], text="note", epsilon=1.0, delta=1e-6, unit="document"
        )
    assert release.value.over is None
    assert abs(release.value.count().value) < 8 * release.value.count().noise_std
    with pytest.raises(InputError, match="has no setting typo"):
        release_counts(MODEL, "empty.csv", by=[], text="note", epsilon=1.0, delta=1e-6, typo=3)


# --- every week ---

WEEK = ("--period", "week:date", "--from", "2026-01-01", "--to", "2026-02-28", "--ledger", "l.json")


def test_every_week(run, tmp_path):
    assert run("ledger", "create", "l.json", "--epsilon", 1, "--delta", 1e-5)[0] == 0
    weeks = {}
    for at in ("2026-01-07", "2026-W06"):  # by a day, or by name
        code, out, message = run(*BASE, *WEEK, "--max-periods", 2, "--at", at, "--out", at, "--json")
        assert code == 0, message
        assert "450 of 900 rows have no date, or one outside this period" in message
        assert "all 9 periods of the series together" in out
        weeks[at] = CountTable.load(tmp_path / at)
    assert [table.period for table in weeks.values()] == ["2026-W02", "2026-W06"]
    assert weeks["2026-W06"].values[0] == ("0", "1", "far")
    for table in weeks.values():
        for where, value in (({"topic": "0"}, 300), ({"topic": "1"}, 150)):
            assert abs(table.count(**where).value - value) < 6 * table.count(**where).noise_std
    shown = run("ledger", "show", "l.json")[1]
    assert "2026-W02 of series" in shown
    assert "charged with the first" in shown
    (file,) = tmp_path.glob("l.json.series-*")
    assert SECRET.encode() not in file.read_bytes()
    code, _, message = run(*BASE, *WEEK, "--max-periods", 2, "--at", "2026-W06", "--out", "again")
    assert (code, "was counted before" in message) == (2, True)
    once = (*BASE[:3], *BASE[3:7], "--epsilon", 0.5, "--delta", 1e-6)
    assert run("ledger", "create", "once.json", "--epsilon", 1, "--delta", 1e-5)[0] == 0
    for at, told in (("2026-W02", False), ("2026-W03", True)):  # the same rows twice: everybody counted before
        whole = ("--period", "week", *WEEK[2:-2], "--ledger", "once.json")
        code, _, message = run(*once, *whole, "--at", at, "--out", f"once-{at}")
        assert code == 0, message
        assert ("900 of 900 authors (100%) have already counted in as many periods as they may" in message) == told
    file.unlink()
    code, _, message = run(*BASE, *WEEK, "--max-periods", 2, "--at", "2026-W07", "--out", "again")
    assert (code, "is not there" in message) == (2, True)
    text = " ".join((tmp_path / "2026-W06" / "README.txt").read_text("utf-8").split())
    assert "People who wrote about it: noisy counts in 2026-W06 by topic" in text
    assert "people who counted in fewer than 2 earlier periods: each author counts in at most 2 periods" in text


def test_running_totals_and_groups(run, tmp_path):
    assert run("ledger", "create", "l.json", "--epsilon", 1, "--delta", 1e-5)[0] == 0
    by = ("--by", "ward", "--groups", "wards.txt", "--period", "month", "--from", "2026-01-01", "--to", "2026-12-31")
    for at in ("2026-01", "2026-03"):
        more = ("--max-periods", 12, "--running", "--participation", "who.series", "--ledger", "l.json")
        assert run(*BASE, *by, *more, "--at", at, "--out", at)[0] == 0
    table = CountTable.load(tmp_path / "2026-03")
    assert (table.since, table.period, len(table.latest)) == ("2026-01", "2026-03", 2)
    count = table.count(ward="north")  # without a column of dates, every row counts in every run
    assert abs(count.value - 600) < 6 * count.noise_std
    assert (tmp_path / "who.series").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "more, message",
    [
        (("--at", "2026-W02"), "are for a series: --period week"),
        (("--period", "week", "--from", "2026-01-01", "--to", "2026-02-28"), "say which period to count"),
        ((*WEEK, "--at", "next"), "is no week and no day"),
        ((*WEEK, "--at", "2027-01-09"), "is not one of the series"),
        ((*WEEK, "--at", "2026-W02", "--period", "fortnight"), "periods are month"),
        ((*WEEK, "--at", "2026-W02", "--period", "week:patient"), "must not be that of texts, authors or groups"),
        ((*WEEK, "--at", "2026-W02", "--by", "month:date"), "needs a public range"),
        ((*WEEK[:-2], "--at", "2026-W02"), "a series needs a ledger"),
        ((*WEEK, "--at", "2026-W02", "--max-periods", 0), "max_periods must be at least 1"),
        ((*WEEK, "--at", "2026-W02", "--period", "week:nowhere"), "there is no column 'nowhere'"),
    ],
)
def test_a_series_that_cannot_be_costs_nothing(run, tmp_path, more, message):
    assert run("ledger", "create", "l.json", "--epsilon", 2, "--delta", 1e-5)[0] == 0
    code, _, told = run(*BASE, *more, "--out", "counts")
    assert code == 2
    assert message in told
    assert not list(tmp_path.glob("*series*"))
    assert "Spent ε = 0" in " ".join(run("ledger", "show", "l.json")[1].split())


def test_drift_is_told_from_the_folders_of_weeks(run, tmp_path):
    assert run("ledger", "create", "l.json", "--epsilon", 1, "--delta", 1e-5)[0] == 0
    for at in ("2026-W02", "2026-W06"):
        assert run(*BASE, *WEEK, "--at", at, "--out", at)[0] == 0
    code, out, message = run("drift", "2026-W02", "2026-W06")
    assert (code, "No signal" in message) == (0, True)
    assert "2026-W06" in out
    code, out, _ = run("drift", "2026-W02", "--json")
    assert (code, json.loads(out)["refit"]) == (0, False)
    code, _, message = run("drift", "topics")
    assert (code, "contains topics, not counts" in message) == (2, True)


# --- plans and previews ---


def test_counts_can_be_run_again_from_their_plan(run, tmp_path):
    assert run(*BASE, *BY, "--max-cells", 2, "--out", "counts")[0] == 0
    plan = json.loads((tmp_path / "counts" / "bundle.json").read_text("utf-8"))["record"]["plan"]
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    again = (*BASE[:7], "--plan", "plan.json")
    code, out, message = run(*again, "--by", "ward", "--by", "month:date", "--out", "again", "--json")
    assert code == 0, message
    assert json.loads(out)["record"]["plan"] == plan
    one, other = (CountTable.load(tmp_path / name) for name in ("counts", "again"))
    assert (one.values, one.max_cells, one.noise) == (other.values, other.max_cells, other.noise)
    for where in ({"topic": "0", "month": "2026-01"}, {"ward": "north"}):
        assert abs(one.count(**where).value - other.count(**where).value) < 9 * one.count(**where).noise_std
    for more, told in (
        (("--by", "ward"), "the plan counts by 'month'"),
        (("--by", "ward", "--by", "month:date", "--by", "week:date"), "does not count by"),
        (("--by", "ward", "--by", "month:date", "--max-cells", 2), "leave --max-cells out"),
    ):
        code, _, message = run(*again, *more, "--out", "third")
        assert (code, told in message) == (2, True), message
    (tmp_path / "plan.json").write_text(json.dumps(plan | {"settings": {**plan["settings"], "model": "other"}}))
    code, _, message = run(*again, "--by", "ward", "--by", "month:date", "--out", "third")
    assert (code, "not one for counts of these topics" in message) == (2, True)
    assert "--epsilon and --delta" in run(*BASE[:7], *BY, "--out", "third")[2]


def test_a_preview_of_counts_reads_nothing(run, tmp_path):
    (tmp_path / "notes.csv").unlink()
    code, out, message = run(*BASE, *BY, "--preview", "--people", 900, "--out", "counts")
    assert (code, "Nothing was read and nothing was spent" in message) == (0, True)
    assert "27 cells, with about 33.3 units each" in out
    assert "Most cells would be noise, totals would not" in out
    code, out, _ = run(*BASE, *WEEK, "--at", "2026-W02", "--max-periods", 4, "--preview", "--people", 50,
                       "--json", "--out", "counts")  # fmt: skip
    assert code == 0
    assert json.loads(out)["cell_noise_std"] == pytest.approx(16.9, abs=0.1)
    assert "Too few units" in json.loads(out)["advice"]
    assert not list(tmp_path.glob("*series*"))


# --- audits ---


@pytest.mark.parametrize("more", [("--max-cells", 2), (*WEEK[:-2], "--at", "2026-W02", "--max-periods", 4)])
def test_the_claim_of_counts_can_be_audited(run, tmp_path, more):
    assert run("ledger", "create", "l.json", "--epsilon", 1, "--delta", 1e-5)[0] == 0
    assert run(*BASE, *more, "--ledger", "l.json", "--out", "counts")[0] == 0
    data = ("notes.csv", "--text", "note", "--author", "patient")
    code, out, message = run("audit", "claim", *data, "--release", "counts", "--trials", 64, "--out", "audit", "--json")
    assert code in (0, 6), message  # 6: so few trials say little
    found = json.loads(out)
    assert not found["findings"]
    assert len(found["checks"]) >= 4
    code, _, message = run("audit", "membership", *data, "--release", "counts", "--shadows", 4, "--out", "other")
    assert (code, "counts have no model to attack" in message) == (2, True)
