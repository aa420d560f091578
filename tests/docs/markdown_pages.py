"""The pages of the documentation, and the blocks of code in them."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

SHELL = ("sh", "bash", "console")
# Commands that a test cannot run: they install, clone or take long.
NOT_HERE = {"pip", "make", "git", "source"}
SCRIPTS = re.compile(r"python ((?:benchmarks|experiments)/\w+\.py)\b")
# What gives away a command or a program in a block of text, where nothing would run it.
PROGRAM = re.compile(r"\s*(?:\$ |dptopics |pip |make |from \w[\w.]* import |import \w|>>> )")
# Why a block may stay un-run: <!-- not run: REASON --> on the line before it.
REASONS = {"needs a model of your own", "needs Spark", "runs until it is stopped", "needs a collector"}
MOST_NOT_RUN = 9
_NOT_RUN = re.compile(r"<!-- not run: (.+?) -->\s*$")


@dataclass(frozen=True)
class Block:
    """A block of code: its language ('' if it is only indented), first line, text, and why it is not run, if so."""

    page: Path
    line: int
    language: str
    code: str
    not_run: str | None

    def __str__(self) -> str:
        return f"{name(self.page)}, line {self.line}"

    def commands(self) -> list[str]:
        """The commands of a shell block, continued lines joined, comments on lines of their own left out."""
        lines = (line.strip().removeprefix("$ ") for line in self.code.replace("\\\n", " ").splitlines())
        return [line for line in lines if line and not line.startswith("#")]


def name(page: Path) -> str:
    """The path of a page, as people write it."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    """All blocks of code of a page, in order."""
    found, before = [], ""
    for token in MarkdownIt("commonmark").parse(page.read_text("utf-8")):
        if token.type in ("fence", "code_block"):
            reason = _NOT_RUN.search(before)
            language = token.info.strip() if token.type == "fence" else ""
            found.append(Block(page, token.map[0] + 1, language, token.content, reason and reason[1]))
        before = token.content if token.type == "html_block" else ""
    return found


def words(command: str) -> tuple[list[str], str | None, bool, int]:
    """A command's words, the file its output goes to (and whether it is added there), and the exit code it says."""
    said = re.search(r"#.*\bexits with (\d)\b", command)
    parts = shlex.split(command, comments=True)
    for sign in (">>", ">"):
        if sign in parts:
            place = parts.index(sign)
            return parts[:place], parts[place + 1], sign == ">>", int(said[1]) if said else 0
    return parts, None, False, int(said[1]) if said else 0
