"""Pages about the papers quote what is stored, what is stored is not older than its code, and every item has a row."""

import ast
import importlib
import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXPERIMENTS, PAGES = ROOT / "experiments", ROOT / "docs" / "papers"
sys.path.insert(0, str(EXPERIMENTS))
store, tables = importlib.import_module("store"), importlib.import_module("tables")
pictures = importlib.import_module("pictures")

RESULTS = sorted({path.name for path in store.FOLDER.glob("*.json")} - {store.NOTES.name, pictures.NOTES.name})


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
    """A function of experiments/tables.py writes every table of figures: none is written by hand."""
    made = [write() for name, write in tables.TABLES.values() if name == page.name]
    assert [table for table in tables_of_figures(page) if table not in made] == []


@pytest.mark.parametrize("name", tables.TABLES)
def test_a_page_quotes_what_is_stored(name):
    page, made = tables.TABLES[name]
    assert made() in (PAGES / page).read_text("utf-8"), f"write it again: python experiments/tables.py {name}"


@pytest.mark.parametrize("result", RESULTS)
def test_no_result_is_older_than_its_code(result):
    assert result in store.read(), "run the experiment that makes it: it notes its code"
    assert store.stale(result) == [], "its code changed since: run again what 'command' says in made_by.json"


def test_every_picture_shows_what_is_stored():
    """Neither the results nor the script that draws them changed since, and no picture comes from elsewhere."""
    noted, now = json.loads(pictures.NOTES.read_text("utf-8")), pictures.hashes()
    assert {path.name for path in store.FOLDER.glob("*.png")} == set(now)
    old = {name: [part for part in now[name] if noted.get(name, {}).get(part) != now[name][part]] for name in now}
    assert {name: parts for name, parts in old.items() if parts} == {}, "draw again: python experiments/pictures.py"


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


COMMANDS = re.compile(r"^    python experiments/(\w+)\.py.*?# (.+)$", re.MULTILINE)
FROM_RESULTS = {"store", "quotes"}  # no experiments: they show what is stored


def test_every_experiment_is_listed_with_its_time():
    listed = dict(COMMANDS.findall((EXPERIMENTS / "README.md").read_text("utf-8")))
    scripts = {path.stem for path in EXPERIMENTS.glob("*.py") if "def main" in path.read_text("utf-8")}
    drawn = {name for name in scripts if name.endswith("_figures")}
    missing = scripts - listed.keys() - FROM_RESULTS - drawn
    assert missing == set()
    timed = {name for name, said in listed.items() if re.search(r"second|minute|hour", said)}
    assert scripts - drawn - FROM_RESULTS <= timed


def test_a_table_is_written_below_its_name(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "PAGES", tmp_path)
    monkeypatch.setattr(tables, "TABLES", {"one": ("page.md", lambda: "| new |"), "two": ("page.md", lambda: "")})
    (tmp_path / "page.md").write_text("a\n\n<!-- one -->\n\n| old |\n| more |\n\nb\n", "utf-8")
    tables.put(["one"])
    assert (tmp_path / "page.md").read_text("utf-8") == "a\n\n<!-- one -->\n\n| new |\n\nb\n"
    with pytest.raises(SystemExit, match="0 places for two"):
        tables.put(["two"])
