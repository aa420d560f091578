"""Who says that a paper is wrong quotes it, and says how it was run, what its code does, and by which script."""

import importlib
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "experiments"))
accusations = importlib.import_module("accusations")
CLAIMS = accusations.accusations()
PAGES = accusations.pages()
INDEX = accusations.DOCS / "papers" / "README.md"
PLACE = re.compile(
    r"section|theorem|lemma|corollary|claim|figure|table|appendix|equation|algorithm|proposition|remark|definition|[A-Z]\.\d"
)
every = pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS.keys())
pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


@every
def test_a_claim_has_its_grounds(claim):
    for part in (claim.says, claim.paper, claim.section, claim.settings, claim.authors):
        assert len(part) > 2
    assert PLACE.search(claim.section)
    file, _, test = claim.script.removeprefix("python ").split(" --")[0].partition("::")
    assert (ROOT / file).is_file()
    assert not test or f"def {test}(" in (ROOT / file).read_text("utf-8")


@every
def test_a_claim_stands_on_its_page(claim):
    marks = accusations.parts((accusations.DOCS / claim.page).read_text("utf-8"))
    assert [name for name, *_ in marks].count(claim.name) == 1


@pages
def test_pages_are_written_from_the_file(page):
    text = page.read_text("utf-8")
    assert accusations.written(text) == text, "python experiments/accusations.py --write"


@pages
def test_no_page_accuses_otherwise(page):
    """Give the paragraph a claim in docs/papers/claims.toml, or put its words into ``about_others`` there."""
    assert accusations.loose(page.read_text("utf-8")) == []


def test_about_others_names_nothing_that_is_gone():
    text = " ".join(" ".join(page.read_text("utf-8").split()) for page in PAGES)
    assert [words for words in accusations.about_others() if words not in text] == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Theorem 4 of the paper is false.",
        "The published order cannot come out, whatever is drawn.",
        "*Differs*: here only one of them matters.",
        "The claim of section 3, figure 2, does not hold at any ε.",
        "- As printed, algorithm 1 understates the loss.",
    ],
)
def test_an_accusation_is_noticed(sentence):
    assert accusations.loose(f"A first paragraph.\n\n{sentence}\n\nA last one.") != []


def test_the_words_of_a_claim_are_no_loose_ones():
    (claim, *_) = CLAIMS.values()
    page = f"1. <!-- claim: {claim.name} --> anything\n   at all\n2. next"
    assert accusations.loose(accusations.written(page)) == []
    assert accusations.parts(accusations.written(page))[0][:2] == (claim.name, "1. ")
    assert accusations.written(page).endswith("\n2. next")


ACCUSED = re.compile(r"refuted|differs|false|vacuous|wrong|wasteful|not reproduced|fails|in part|not typical")


def rows():
    """(Paper, item, verdict) of each row of the index."""
    paper = ""
    for line in INDEX.read_text("utf-8").splitlines():
        if line.startswith("### "):
            paper = re.split(r"[ ,&]", line.removeprefix("### "))[0]
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("|") and len(cells) == 5 and cells[0] not in ("item", "---"):
            yield paper, cells[0], cells[4]


def test_the_index_accuses_where_a_claim_does():
    items = {item for claim in CLAIMS.values() for item in claim.item}
    found = {f"{paper}: {item}": verdict for paper, item, verdict in rows()}
    assert items <= found.keys()
    assert {item for item, verdict in found.items() if ACCUSED.search(verdict)} <= items
