"""Sentences that say that a paper is wrong, fails or differs, with the grounds of each: docs/papers/claims.toml.

    python experiments/accusations.py            what stands on a page and not in the file, and the other way round
    python experiments/accusations.py --write    put the file's words into the pages

Each claim has what we say, the paper's own words with their section, how we ran it, what the authors' code does, and a
script or a test. A page has the line's mark, ``<!-- claim: NAME -->``, where the claim stands; what follows it, up to
the next blank line or list item, is written from the file. tests/papers/test_accusations.py fails for a claim without
its grounds, and for accusing words on a page that are no claim's.
"""

import re
import sys
import textwrap
import tomllib
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
FILE = DOCS / "papers" / "claims.toml"
MARK = re.compile(r"^(?P<lead> *(?:[-*] |\d+\. )?)<!-- claim: (?P<name>[\w-]+) -->", re.MULTILINE)
NEXT = re.compile(r"\n(?=\s*\n|\s*(?:[-*] |\d+\. |<!--|\| |#))|\s*\Z")
# Words that accuse if a paper is what is spoken of.
ACCUSING = re.compile(
    r"(?:\*Differs\*|\b(?:differs|refuted|(?<!at 0.1 % )false(?! (?:positive|alarm))|wrong|incorrect|contradicts?|"
    r"vacuous|impossible|misses|misprint\w*|cannot|too low|does not hold|do not hold|not proved|is no bound|"
    r"not a bound|counterexample|understates?|overstates?|mistaken?|not reproduced|not as published|fails?)\b)",
    re.IGNORECASE,
)
PAPER = re.compile(
    r"\b(?:papers?(?:'s)?|published|printed|prints?|theorems?|lemmas?|claims? \d|definition \d|algorithm \d|"
    r"procedure 1|corollary|propositions?|remarks?|footnote|appendix|figures? \d|tables? \d|the authors'|"
    r"configurations?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Accusation:
    """One claim against a paper. ``item``: rows of the index in docs/papers/README.md that it stands for."""

    name: str
    page: str
    says: str
    paper: str
    section: str
    settings: str
    authors: str
    script: str
    item: tuple[str, ...] = ()

    def block(self) -> str:
        """The sentences of the page, with their grounds."""
        script = self.script if self.script.startswith("python ") else self.script.replace("::", " -k ")
        return (
            f"{self.says} *Grounds.* The paper ({self.section}): “{self.paper}”. Run: {self.settings}. "
            f"The authors' code: {self.authors}. By `{script}`."
        )


@cache
def accusations() -> dict[str, Accusation]:
    """All claims, by name."""
    found = tomllib.loads(FILE.read_text("utf-8"))["claim"]
    known = {field.name for field in fields(Accusation)}
    made = [Accusation(**{k: _plain(v) for k, v in one.items() if k in known}) for one in found]
    return {one.name: one for one in made}


@cache
def about_others() -> tuple[str, ...]:
    """Words of the pages that sound like a claim against a paper and are none."""
    return tuple(" ".join(one.split()) for one in tomllib.loads(FILE.read_text("utf-8"))["about_others"])


def _plain(value: object) -> object:
    return " ".join(value.split()) if isinstance(value, str) else tuple(value) if isinstance(value, list) else value


def parts(markdown: str) -> list[tuple[str, str, int, int]]:
    """Each mark of a page: its name, what leads its line, and where its block begins and ends."""
    found = []
    for mark in MARK.finditer(markdown):
        end = NEXT.search(markdown, mark.end())
        assert end is not None
        found.append((mark["name"], mark["lead"], mark.start(), end.start()))
    return found


def written(markdown: str) -> str:
    """The page with the blocks of the file."""
    for name, lead, begin, end in reversed(parts(markdown)):
        text = f"<!-- claim: {name} --> {accusations()[name].block()}"
        indent = " " * len(lead)
        wrapped = textwrap.fill(
            text, 120, initial_indent=lead, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
        markdown = markdown[:begin] + wrapped + markdown[end:]
    return markdown


def pages() -> list[Path]:
    """Where papers are spoken of."""
    return [*sorted((DOCS / "papers").glob("*.md")), *sorted((DOCS / "guarantees").glob("*.md")), DOCS / "audit.md"]


def loose(markdown: str) -> list[str]:
    """Paragraphs that accuse a paper outside of all claims; rows of tables do not count, the index has its own test."""
    for _, _, begin, end in reversed(parts(markdown)):
        markdown = markdown[:begin] + "\n\n" + markdown[end:]
    without = re.sub(r"```[\s\S]*?```|^    .*$|^#.*$|\]\([^)]*\)|`[^`]*`|^\|.*$", " ", markdown, flags=re.MULTILINE)
    found = []
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*] |\d+\. ))", without):
        plain = " ".join(paragraph.split())
        for words in about_others():
            plain = plain.replace(words, "")
        if accused := ACCUSING.search(plain) if PAPER.search(plain) or "*Differs*" in plain else None:
            found.append(f"{accused[0]}: {plain}")
    return found


def main() -> None:
    for path in pages():
        text = path.read_text("utf-8")
        made = written(text)
        if made != text:
            print(f"{path.relative_to(ROOT)}: {'written' if '--write' in sys.argv else 'differs from claims.toml'}")
            if "--write" in sys.argv:
                path.write_text(made, "utf-8")
        for paragraph in loose(made):
            print(f"{path.relative_to(ROOT)}: no claim's: {paragraph}")


if __name__ == "__main__":
    main()
