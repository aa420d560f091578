"""Figures on pages come from stored results: tables are made of the JSON again, and compared."""

import json
from pathlib import Path

import pytest

import audit_holes
import weekly

ROOT = Path(__file__).parents[2]


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


def test_bounds_against_a_curve_and_against_one_pair():
    found = json.loads((ROOT / "benchmarks/results/audit_curves.json").read_text())
    shown = [f"{found[epsilon][kind]:.0%}".rstrip("%") for kind in ("curve", "pair") for epsilon in ("3", "8")]
    curve = f"the curve gives {shown[0]} % of a true ε of 3 and {shown[1]} % of 8"
    text = " ".join(page("docs/audit.md").split())
    assert f"{curve}, where the tangent gives {shown[2]} and {shown[3]} %" in text


def test_what_an_installation_brings():
    found = json.loads((ROOT / "benchmarks/results/installation.json").read_text())["environments"]
    text = " ".join(page("docs/reference/commands.md").split())
    for kind in ("plain", "embeddings"):
        assert f"{found[kind]['packages']} packages" in text
        assert f"{found[kind]['megabytes']} MB" in text


def test_counts_every_week():
    found = json.loads((ROOT / "benchmarks/results/weekly.json").read_text())
    shown = page("docs/howto/counts.md")
    assert weekly.totals_table(found) in shown
    assert weekly.drift_table(found) in shown
    assert weekly.harder(found) in " ".join(shown.split())
    assert all(bar["met"] for bar in found["bars"])
