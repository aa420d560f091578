"""Figures on pages come from stored results: tables are made of the JSON again, and compared."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

import audit_holes  # noqa: E402


def page(name):
    return (ROOT / name).read_text("utf-8")


def test_planted_holes():
    results = json.loads((ROOT / "benchmarks/results/audit_holes.json").read_text())
    assert audit_holes.table(results) in page("docs/audit.md")
    assert audit_holes.honest(results) in page("docs/audit.md")


@pytest.mark.parametrize(("name", "fewest"), [("docs/audit.md", 5), ("README.md", 3)])
def test_planted_documents(name, fewest):
    lines = (ROOT / "experiments/results/poison.md").read_text("utf-8").splitlines()
    rows = [line for line in lines if line.startswith("| ") and "%" in line]
    shown = page(name)
    assert sum(row in shown for row in rows) >= fewest
