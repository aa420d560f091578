"""Pages about the papers quote what is stored, what is stored is not older than its code, and every item has a row."""

import ast
import importlib
import json
import re
import statistics
import sys
from bisect import bisect_left
from collections import defaultdict
from math import isfinite
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXPERIMENTS, PAGES = ROOT / "experiments", ROOT / "docs" / "papers"
sys.path.insert(0, str(EXPERIMENTS))
store, tables = importlib.import_module("store"), importlib.import_module("tables")

RESULTS = sorted(path.name for path in store.FOLDER.glob("*.json") if path != store.NOTES)
# Made before it was noted what makes a result. Only ever shorter: run the experiment again, and take it off.
NOT_NOTED_YET = {
    "liars.json",
    "liars_fits.json",
    "local_perplexity.json",
    "membership_figure1.json",
    "membership_table1_newsgroups_ours.json",
    "membership_table1_nips_ours.json",
    "membership_table1_tweets.json",
    "membership_table2.json",
    "membership_table3_tweets_126.json",
    "ngrams.json",
    "poison.json",
    "spectral_choice.json",
    "spectral_figure2.json",
    "spectral_figure3.json",
    "spectral_figure4.json",
    "spectral_more_words.json",
    "spectral_starts.json",
    "spectral_table2.json",
    "spectral_tuning.json",
    "topicdp.json",
    "topicdp_pairs.json",
    "vocabulary_sizes.json",
}
# Tables of figures on each page that no function of experiments/tables.py writes yet. Only ever fewer.
NOT_BOUND_YET = {
    "fdptm.md": 0,
    "gibbs-and-local.md": 4,
    "membership-inference.md": 2,
    "ngrams.md": 8,
    "spectral.md": 8,
    "topicdp.md": 6,
}


def tables_of_figures(page):
    """The Markdown tables of a page of which most cells, but for the first of each line, hold a number."""
    found = []
    for table in re.findall(r"(?:^\|.*\n)+", page.read_text("utf-8") + "\n", re.MULTILINE):
        cells = [cell for line in table.strip().split("\n")[2:] for cell in line.strip("|").split("|")[1:]]
        if cells and sum(bool(re.match(r"[ *(−-]*\d", cell)) for cell in cells) > len(cells) / 2:
            found.append(table.strip())
    return found


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.name)
def test_tables_are_bound_to_what_is_stored(page):
    """Those that are written by hand are counted, so that there are never more of them."""
    made = [write() for name, write in tables.TABLES.values() if name == page.name]
    by_hand = [table for table in tables_of_figures(page) if table not in made]
    assert len(by_hand) == NOT_BOUND_YET.get(page.name, 0)


@pytest.mark.parametrize("name", tables.TABLES)
def test_a_page_quotes_what_is_stored(name):
    page, made = tables.TABLES[name]
    assert made() in (PAGES / page).read_text("utf-8"), f"write it again: python experiments/tables.py {name}"


@pytest.mark.parametrize("result", RESULTS)
def test_no_result_is_older_than_its_code(result):
    if result in NOT_NOTED_YET:
        assert result not in store.read(), "it is noted now: take it off the list"
        return
    assert result in store.read(), "run the experiment that makes it: it notes its code"
    assert store.stale(result) == [], "its code changed since: run again what 'command' says in made_by.json"


def test_the_list_of_what_is_not_noted_holds_nothing_else():
    assert set(RESULTS) >= NOT_NOTED_YET


@pytest.mark.parametrize("result", store.read())
def test_notes_say_how_and_how_long(result):
    one = store.read()[result]
    script = one["command"].split()[1]
    assert one["command"].startswith("python experiments/")
    assert (ROOT / script).is_file()
    assert one["minutes_on_two_cores"] > 0
    assert one["code"]


def test_a_changed_file_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "ROOT", tmp_path)
    monkeypatch.setattr(store, "FOLDER", tmp_path)
    monkeypatch.setattr(store, "NOTES", tmp_path / "made_by.json")
    (tmp_path / "code.py").write_text("one", "utf-8")
    with store.made("r.json", code=["code.py"], command="python experiments/x.py"):
        (tmp_path / "r.json").write_text("[1]", "utf-8")
    assert store.stale("r.json") == []
    (tmp_path / "r.json").write_text("[2]", "utf-8")
    assert store.stale("r.json") == ["r.json"]
    (tmp_path / "code.py").write_text("two", "utf-8")
    assert store.stale("r.json") == ["code.py", "r.json"]
    before = json.loads(store.NOTES.read_text("utf-8"))
    with store.made("r.json", code=["code.py"], command="python experiments/x.py"):
        (tmp_path / "r.json").write_text("[2, 3]", "utf-8")
    assert json.loads(store.NOTES.read_text("utf-8")) == before  # rows of two codes: not noted


def test_an_interrupted_run_goes_on(tmp_path, monkeypatch):
    for name, value in (("ROOT", tmp_path), ("FOLDER", tmp_path), ("NOTES", tmp_path / "made_by.json")):
        monkeypatch.setattr(store, name, value)
    (tmp_path / "code.py").write_text("one", "utf-8")
    noted = {"code": ["code.py"], "command": "python experiments/x.py"}
    run = store.made("r.json", **noted)
    run.__enter__()
    (tmp_path / "r.json").write_text("[1]", "utf-8")
    assert run.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None) in (False, None)
    assert store.stale("r.json") == ["r.json"]  # not whole yet
    with store.made("r.json", **noted):
        (tmp_path / "r.json").write_text("[1, 2]", "utf-8")
    assert store.stale("r.json") == []


@pytest.mark.parametrize("script", sorted(path.stem for path in EXPERIMENTS.glob("*.py")))
def test_every_experiment_can_be_imported_and_says_how_to_run(script):
    pytest.importorskip("pyarrow")
    importlib.import_module(script)
    text = ast.get_docstring(ast.parse((EXPERIMENTS / f"{script}.py").read_text("utf-8"))) or ""
    assert text
    if "def main" in (EXPERIMENTS / f"{script}.py").read_text("utf-8"):
        assert f"python experiments/{script}.py" in text


# --- figures in tables that are still written by hand ---

MADE_OF = {
    "gibbs-and-local.md": ("gibbs_monitor", "local_perplexity"),
    "membership-inference.md": ("membership_",),
    "ngrams.md": ("ngrams",),
    "spectral.md": ("spectral_",),
    "topicdp.md": ("topicdp.json",),
}
# The papers' own figures, or ratios of two of ours.
NOT_OURS = {
    "gibbs-and-local.md": {"209,169", "410,753", "356,363"},
    "membership-inference.md": {
        *("5,555", "12.8", "44.9", "21.1", "0.19", "0.18", "1.69", "1.31", "0.57", "0.53"),
        *("31.8", "60.5", "67.9", "72.5", "43.6", "56.0", "63.2", "70.2"),
    },
    "ngrams.md": {"29.48", "35.51", "35.55", "894", "580"},
    "spectral.md": {"22.2", "22.5", "18.1", "2.36", "2.05"},
    "topicdp.md": {"3,815", "50,000", "34,659"},
}
NUMBER = re.compile(r"(?<![\w.^])\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")
CURVES = {"curve", "zeta", "rates", "word", "document", "mean_document"}  # long series that no table quotes
PLACES = {"epsilon", "x", "k", "f", "d", "share", "core_words", "size", "gamma"}


def leaves(value):
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for name, part in items:
            if name not in CURVES:
                yield from leaves(part)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)


def stored(prefixes):
    """Numbers of these results, means and minima over repetitions, seeds and splits, and all in percent; sorted."""
    found = []
    for path in (p for p in store.FOLDER.glob("*.json") if p.name.startswith(prefixes)):
        data = json.loads(path.read_text("utf-8"))
        found += leaves(data)
        rows = [row for row in (data if isinstance(data, list) else data.get("rows", [])) if isinstance(row, dict)]
        for over in ({"repetition"}, {"seed"}, {"shares"}, {"seed", "shares"}):
            groups = defaultdict(list)
            for row in rows:
                place = [
                    (k, row[k]) for k in sorted(row.keys() - over - {"cell"}) if isinstance(row[k], str) or k in PLACES
                ]
                for k, value in row.items():
                    if isinstance(value, float):
                        groups[json.dumps(place), k].append(value)
            found += [number for group in groups.values() for number in (statistics.mean(group), min(group))]
    found += [100 * value for value in found if abs(value) <= 1]
    return sorted(value for value in found if isfinite(value))


def is_stored(text, values, times=1.0):
    """Whether some stored number, rounded as ``text`` is, is that one."""
    plain = text.replace(",", "")
    value = float(plain) * times
    decimals = len(plain.split("e")[0].partition(".")[2]) - (int(plain.split("e")[1]) if "e" in plain else 0)
    half = 0.501 * 10.0**-decimals
    if "." not in plain and len(plain.strip("0")) <= 3:  # three digits of a large number
        half = max(half, 0.0055 * value)
    place = bisect_left(values, value - half)
    return place < len(values) and values[place] <= value + half


def quoted(page):
    made = {write() for name, write in tables.TABLES.values() if name == page}
    for table in set(tables_of_figures(PAGES / page)) - made:
        for line in table.split("\n")[2:]:
            yield from NUMBER.findall("|".join(line.strip("|").split("|")[1:]))


@pytest.mark.parametrize("page", MADE_OF)
def test_every_figure_in_a_table_is_stored(page):
    values, seen = stored(MADE_OF[page]), set(quoted(page))
    assert {text for text in seen if not is_stored(text, values)} <= NOT_OURS[page] <= seen
    long = [text for text in seen - NOT_OURS[page] if len(text.strip("0.").replace(".", "")) >= 3]
    caught = [text for text in long if not is_stored(text, values, times=1.13)]
    assert len(caught) > len(long) / 4, "so many numbers are stored that a wrong one would hardly be noticed"
