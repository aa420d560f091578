"""What the documentation says of each mechanism is what the code says."""

import re
from collections import Counter

import pytest
from markdown_pages import ROOT, name

from dptopics.registry import catalogue

GUARANTEES = ROOT / "docs" / "guarantees"
PAGES = sorted(set(GUARANTEES.glob("*.md")) - {GUARANTEES / "README.md"})
MECHANISMS = [pytest.param(row, id=f"{row['job']}-{row['name']}") for row in catalogue()]
ANSWERS = ("Releases", "Guarantee", "Use it", "Cost")  # what the first lines of a mechanism's page tell


def rows(page, columns):
    """The lines of a table that begins with these columns."""
    lines = page.read_text("utf-8").splitlines()
    start = lines.index("| " + " | ".join(columns) + " |")
    found = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        found.append(dict(zip(columns, (cell.strip() for cell in line.strip("|").split(" | ")), strict=True)))
    return found


TABLE = rows(GUARANTEES / "README.md", ("job", "name", "how", "protects", "strength", "page"))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_strength_table_says_what_the_code_says(mechanism):
    found = [row for row in TABLE if (row["job"], row["name"]) == (mechanism["job"], f"`{mechanism['name']}`")]
    assert len(found) == 1, "add a line to the table of docs/guarantees/README.md"
    assert found[0]["strength"].startswith(f"`{mechanism['strength']}`")
    assert found[0]["protects"].startswith(mechanism["unit"])
    target = re.search(r"\]\(([\w.]+)", found[0]["page"])[1]
    assert (GUARANTEES / target).is_file()


def test_the_strength_table_lists_nothing_else():
    assert Counter(row["job"] for row in TABLE) == Counter(row["job"] for row in catalogue())


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_readme_puts_each_mechanism_in_its_row(mechanism):
    (row,) = [r for r in rows(ROOT / "README.md", ("strength", "meaning", "exists today"))
              if r["strength"] == f"`{mechanism['strength']}`"]  # fmt: skip
    jobs = [part.split(":") for part in row["exists today"].split(";") if ":" in part]
    listed = [(job.strip(), words) for job, words in jobs]
    assert any(job == mechanism["job"] and f"`{mechanism['name']}`" in words for job, words in listed), row


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_answers_first_and_proves_afterwards(page):
    head = page.read_text("utf-8").split("\n## ")[0]
    for answer in ANSWERS:
        assert f"- **{answer}:** " in head, f"say it in the first lines of {name(page)}: **{answer}:** …"
    promise = re.search(r"- \*\*Guarantee:\*\* (.*?)\n- \*\*", head, re.DOTALL)[1]
    assert re.search(r"`(proved|random|claimed|none)`", promise)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_claims_no_more_than_its_mechanisms(page):
    strengths = {row["strength"].split("`")[1] for row in TABLE if f"({page.name}" in row["page"]}
    first = re.search(r"\*\*Guarantee:\*\* .*?`(\w+)`", page.read_text("utf-8"), re.DOTALL)[1]
    assert first in strengths or not strengths
