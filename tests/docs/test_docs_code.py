"""Every block of code in README and docs runs: README, tutorial, how-to pages and the rest, one after another in one
folder, as somebody would who tries them all. Only the invented messages are fewer."""

import re
import subprocess
import sys
from functools import lru_cache, partial

import pytest
from markdown_pages import MOST_NOT_RUN, NOT_HERE, PAGES, PROGRAM, REASONS, ROOT, SCRIPTS, SHELL, blocks, name, words

from dptopics import cli
from dptopics.audit.claim.examiner import Effort
from dptopics.mechanisms.topics import embedded_space
from dptopics.public.demo import DemoTexts, demo_corpus
from dptopics.public.embeddings import common_words

BLOCKS = {page: blocks(page) for page in PAGES}
MESSAGES = 4000  # of 20,000: enough words at ε = 1, and quick
FEWER = {"--shadows": "4", "--trials": "8", "--sweeps": "5"}  # than a real audit takes
BY_SHELL = {"head", "ls", "cat"}
COMMON_WORDS = 2000  # of 28,000 public words
# What depends on public words alone is computed once for all pages.
PLACES = lru_cache(embedded_space.of_words)


def runs(block):
    return block.language in ("python", *SHELL) and block.not_run is None


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where all pages run. Whatever they need, an earlier one must have told the reader to make."""
    return tmp_path_factory.mktemp("reader")


@pytest.fixture(scope="module")
def demo():
    return lru_cache(fewer_messages)


def fewer_messages(seed=7):
    whole = demo_corpus(seed)
    return DemoTexts(whole.texts[:MESSAGES], whole.authors[:MESSAGES], whole.themes[:MESSAGES], whole.rare_words)


@pytest.fixture(autouse=True)
def quick(folder, monkeypatch, demo):
    """The folder, and less of everything that takes long."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("dptopics.public.demo.demo_corpus", demo)
    monkeypatch.setattr("dptopics.cli.demo.demo_corpus", demo)
    monkeypatch.setattr("dptopics.plan.common_words", lambda text, most=None: common_words(text, COMMON_WORDS, most))
    monkeypatch.setattr("dptopics.mechanisms.topics.embedded_space.of_words", PLACES)
    monkeypatch.setattr(
        "dptopics.audit.claim.examiner.Effort", partial(Effort, trials=100, runs=6, units=20, seconds=0.1)
    )
    monkeypatch.setattr(
        "dptopics.audit.membership.attack.plot_roc", lambda *_: True
    )  # drawing takes longer than training


def run_command(command, monkeypatch, capsys):
    arguments, target, add, expected = words(command)
    if arguments[0] in BY_SHELL:
        subprocess.run(arguments, check=True, capture_output=True)
        return
    for option, value in FEWER.items():
        if option in arguments:
            arguments[arguments.index(option) + 1] = value
    monkeypatch.setattr(sys, "argv", arguments)
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        cli.main()
    printed = capsys.readouterr()
    # Less is tried here than an audit takes: 6 says so.
    allowed = (expected, 6) if arguments[1:3] == ["audit", "claim"] else (expected,)
    assert (stop.value.code or 0) in allowed, printed.err
    if target is not None:
        with open(target, "a" if add else "x", encoding="utf-8") as file:
            file.write(printed.out)


def waits(command):
    """A command that the tests leave out, and may."""
    script = SCRIPTS.match(command)
    return command.split()[0] in NOT_HERE or (script is not None and (ROOT / script[1]).is_file())


# As a reader goes on: the README, the tutorial, the how-to pages from their list on, then the rest.
FIRST = [ROOT / "README.md", ROOT / "docs" / "tutorial.md", ROOT / "docs" / "howto" / "README.md"]
REST = sorted(set(PAGES) - set(FIRST), key=lambda page: (page.parent.name != "howto", page))


@pytest.mark.parametrize("page", [page for page in FIRST + REST if any(map(runs, BLOCKS[page]))], ids=name)
def test_every_block_runs(page, monkeypatch, capsys):
    names = {"__name__": "__main__"}
    for block in filter(runs, BLOCKS[page]):
        try:
            if block.language == "python":
                exec(compile(block.code, str(block), "exec"), names)
            else:
                for command in block.commands():
                    if not waits(command):
                        run_command(command, monkeypatch, capsys)
        except BaseException as error:
            error.add_note(f"in {block}")
            raise


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_block_is_left_out_silently(page):
    for block in BLOCKS[page]:
        if block.not_run is not None:
            assert block.not_run in REASONS, f"{block}: the reason is not one of {sorted(REASONS)}"
        elif block.language in SHELL:
            for command in block.commands():
                known = command.split()[0] in {"dptopics", *BY_SHELL} or waits(command)
                assert known, f"{block}: nothing runs {command!r}. Use a command that a test can run"
        elif block.language in ("", "text"):  # formulas, and what a program printed
            lost = [line for line in block.code.splitlines() if PROGRAM.match(line)]
            assert not lost, f"{block}: fence it as ```python or ```sh, so that it is run: {lost[0]!r}"
        else:
            site_only = block.language.startswith("{") and name(block.page).startswith("docs/")
            assert site_only or block.language == "python", f"{block}: nothing runs {block.language!r}"


INVENTED = re.compile(r"(?<![\w-])(?:(?:more-)?notes\.csv|public\.csv|(?:wards|topics|words|note)\.txt)")
WRITES = re.compile(r"dptopics demo --(?:files \.|messages notes\.csv)")


@pytest.mark.parametrize("page", [page for page in PAGES if any(map(runs, BLOCKS[page]))], ids=name)
def test_a_page_says_first_where_its_files_come_from(page):
    """Readers come to a page from anywhere, and the files that it uses must be there."""
    code = [block.code for block in filter(runs, BLOCKS[page]) if INVENTED.search(block.code)]
    if not code:
        return
    used = {file for block in code for file in INVENTED.findall(block)}
    text = page.read_text("utf-8")
    told = WRITES.search(text)
    assert told, f"{name(page)} uses {sorted(used)}: say first that dptopics demo --files . writes them"
    assert told.start() < text.index(code[0]) + INVENTED.search(code[0]).start()
    assert used <= {"notes.csv"} or "--files" in told[0]


def test_few_blocks_are_not_run():
    left = [str(block) for page in PAGES for block in BLOCKS[page] if block.not_run is not None]
    assert len(left) <= MOST_NOT_RUN, left


def test_a_block_that_fails_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "```sh\ndptopics show \\\n  nowhere/  # exits with 2\n```\n\n    dptopics fit\n\n```python\n1 / 0\n```\n"
    )
    first, second, third = blocks(page)
    assert words(first.commands()[0]) == (["dptopics", "show", "nowhere/"], None, False, 2)
    assert PROGRAM.match(second.code)
    assert runs(third)
    page.write_text("<!-- not run: no reason -->\n```python\n```\n")
    assert blocks(page)[0].not_run == "no reason"
