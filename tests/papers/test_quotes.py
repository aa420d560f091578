"""Numbers in the prose of the pages about papers: computed from what is stored, the paper's own, or a setting."""

import importlib
import json
import re
import shutil
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "papers"
sys.path.insert(0, str(ROOT / "experiments"))
names = ("quotes", "quote_parts", "table_parts", "tables")
quotes, parts, table_parts, tables = (importlib.import_module(name) for name in names)
Page, Quote = parts.Page, parts.Quote

pages = pytest.mark.parametrize("name", sorted(path.name for path in PAGES.glob("*.md")))
ADVICE = "python experiments/quotes.py says what the page should say, --write puts it there"


def text(name):
    return (PAGES / name).read_text("utf-8")


@cache
def computed(name):
    """The page's quotes, each computed once."""
    page, missing = quotes.computed(quotes.QUOTED[name])
    assert missing == []
    return page


@pages
def test_quotes_stand_on_their_page(name):
    assert [quote.text() for quote in quotes.wrong(text(name), computed(name))] == [], ADVICE


@pages
def test_every_number_is_accounted_for(name):
    """Add a quote to experiments/quotes_*.py, or its words to ``printed`` or ``settings`` there."""
    assert parts.untied(parts.prose(text(name)), computed(name)) == []


@pages
def test_tables_that_are_left_to_another_test_are_known_there(name):
    left = set(re.findall(r"<!-- (\w+) -->", text(name)))
    assert left == {table for table, (page, _) in tables.TABLES.items() if page == name}


@pages
def test_what_the_paper_prints_and_settings_stand_on_their_page(name):
    assert quotes.gone(text(name), quotes.QUOTED[name]) == []


@pages
def test_a_wrong_number_is_noticed(name):
    """Any number of the page but for settings, changed by one in its last digit."""
    page, prose = computed(name), parts.prose(text(name))
    known = [match.span() for match in parts.SET.finditer(prose)]
    known += [match.span() for words in page.settings for match in re.finditer(re.escape(words), prose)]
    changed = 0
    for begin, end in parts.numbers(prose):
        if any(first <= begin and end <= last for first, last in known):
            continue
        other = str((int(prose[end - 1]) + 1) % 10)
        wrong = prose[: end - 1] + other + prose[end:]
        assert quotes.wrong(wrong, page) or quotes.gone(wrong, page) or parts.untied(wrong, page), prose[begin:end]
        changed += 1
    assert changed > 10


def columns(markdown):
    """Cells of the index by column, for each row: where, there, here."""
    rows = [line.strip("|").split(" | ") for line in markdown.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row[1:4]] for row in rows if len(row) == 5 and row[2].strip() != "there"]


def test_the_index_has_the_papers_numbers_there_and_ours_here():
    page = computed("README.md")
    rows = columns(text("README.md"))
    assert len(rows) > 50
    assert parts.untied(" | ".join(row[1] for row in rows), Page([], page.printed)) == []
    assert parts.untied(" | ".join(row[2] for row in rows), Page(page.quotes, (), page.settings)) == []


def test_the_index_quotes_the_paper_as_its_page_does():
    for where, there, _ in columns(text("README.md")):
        for linked in re.findall(r"\[page\]\(([\w-]+\.md)\)", where):
            on_page = set(re.findall(parts.NUMBER, text(linked)))
            assert set(parts.numbers(there).values()) <= on_page, there


def test_a_changed_result_is_noticed(tmp_path, monkeypatch):
    shutil.copytree(table_parts.FOLDER, tmp_path / "results", ignore=shutil.ignore_patterns("*.png"))
    monkeypatch.setattr(table_parts, "FOLDER", tmp_path / "results")
    page = quotes.QUOTED["membership-inference.md"]
    assert quotes.wrong(text("membership-inference.md"), page) == []
    path = tmp_path / "results" / "membership_table4.json"
    found = json.loads(path.read_text("utf-8"))
    found["corpora"]["tweets"]["vocabulary"] += 1
    path.write_text(json.dumps(found), "utf-8")
    (quote,) = quotes.wrong(text("membership-inference.md"), page)
    assert f"{found['corpora']['tweets']['vocabulary']:,} words" in quote.text()


@pytest.mark.parametrize("claim", quotes.CLAIMS, ids=lambda claim: claim.words)
def test_claims_hold_and_stand_on_their_page(claim):
    assert claim.words in parts.prose(text(claim.page))
    assert claim.holds(), "the results say otherwise: change the sentence"


def test_a_claim_that_does_not_hold_is_noticed(tmp_path, monkeypatch):
    assert quotes.refuted() == []
    shutil.copytree(table_parts.FOLDER, tmp_path / "results", ignore=shutil.ignore_patterns("*.png"))
    monkeypatch.setattr(table_parts, "FOLDER", tmp_path / "results")
    path = tmp_path / "results" / "membership_table2.json"
    found = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(found | {"rows": found["rows"][::-1]}), "utf-8")
    assert quotes.refuted() == ["membership-inference.md: does not hold: more topics leak more"]


LINES = """# Title 1

Code `0.1` and [a link](page-0.2.md), ε = 0.3 and a year, 2019; theorem 4.1.

    python script.py 0.4

<!-- held -->

| held | 0.5 |
|---|---|
| by tables.py | 0.6 |

| by hand | 0.7 |

About 8 to
9 %, 10 times, 1,100 of 12 or −13, 1.4e-5 and 150.
"""


def test_which_numbers_are_found():
    found = list(parts.numbers(parts.prose(LINES)).values())
    assert found == ["0.3", "2019", "4.1", "0.7", "8", "9", "10", "1,100", "−13", "1.4e-5", "150"]
    assert len(parts.untied(parts.prose(LINES), Page([]))) == len(found) - 3
    several = Page([Quote("About {} to {} %", lambda: ("8", "9"))], ("10 times",), ("by hand | 0.7",))
    assert len(parts.untied(parts.prose(LINES), several)) == len(found) - 3 - 4


def test_only_computed_numbers_are_tied():
    """A number in the words of a quote is not computed: it stays untied."""
    assert parts.untied("from 0.1 to 0.2", Page([Quote("from 0.1 to {}", lambda: ["0.2"])])) == ["from [0.1] to 0.2"]


def test_numbers_are_put_where_lines_break():
    quote = Quote("gave {} and {}", lambda: ("0.5", "−1,200"))
    assert quotes.written("It gave\n  0.031 and\n−7; gave up.", quote) == "It gave\n  0.5 and\n−1,200; gave up."
    assert quotes.written("nothing", quote) is None
    assert quotes.written("gave 1 and 2, gave 3 and 4", quote) is None


def test_a_page_is_looked_at_and_mended(tmp_path):
    (tmp_path / "page.md").write_text("It gave\n0.1 of 0.2.\n", "utf-8")
    found = [
        Quote("gave {} of", lambda: ["0.3"]),
        Quote("lost {}", lambda: ["0.4"]),
        Quote("none {}", lambda: [{}["x"]]),
    ]
    told = quotes.look(tmp_path / "page.md", Page(found, ("a phrase",)), write=True)
    assert (tmp_path / "page.md").read_text("utf-8") == "It gave\n0.3 of 0.2.\n"
    assert [line.split(":")[0] for line in told] == [
        "cannot be computed", "should say", "words not found once", "not on the page", "nothing accounts for",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("made", "shown"),
    [
        (lambda: parts.fixed(-1234.56, 1), "−1,234.6"),
        (lambda: parts.significant(0.0998), "0.10"),
        (lambda: parts.significant(26.2), "26"),
        (lambda: parts.within(4.31, 1), "4.4"),
        (lambda: parts.within(1.0), "1"),
    ],
)
def test_how_numbers_are_written(made, shown):
    assert made() == shown
