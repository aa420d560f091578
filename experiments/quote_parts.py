"""What the quotes of the pages share: a quote, the prose of a page, and the numbers in it that nothing accounts for."""

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

Span = tuple[int, int]

NUMBER = r"−?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?"
# What tables.py writes, blocks of code, links' targets and code between words are no prose.
NOT_PROSE = re.compile(r"<!-- \w+ -->\n\n?(?:\|.*\n)*|^    .*$|^```[\s\S]*?^```$", re.MULTILINE)
HIDDEN = re.compile(r"`[^`]*`|\]\([^)]*\)|<!--.*?-->")
# A number that has to be accounted for: with a point, a thousands comma, an exponent or a minus, of three digits or
# more, or counting %, times, points or a fold, in a list of such too.
LIKE_A_RESULT = re.compile(rf"(?<![\w.,])(?=−|\d+[.,]\d|\d+e|\d{{3}}){NUMBER}")
COUNTED = re.compile(
    rf"(?<![\w.,]){NUMBER}(?:(?:,| to| and| or| against|, and) {NUMBER})*(?= ?(?:%|times|(?:percentage )?points|-fold))"
)
# What is set, not measured: after the name of a setting, a year, or the number of a theorem.
SETTING = rf"\b(?:ε|δ|γ|α|β|ρ|N|d|k|K|W|C|S|M|f|n|m)[₀₁₂]? ?[=≤≥<>] {NUMBER}"
SET = re.compile(rf"(?:{SETTING}|\b20[012]\d|(?:[Tt]heorem|[Ss]ection|[Dd]efinition) \d\.\d)(?![.,]?\d)")


@dataclass(frozen=True)
class Quote:
    """Words of a page with ``{}`` for each number, and the function that computes these from what is stored."""

    words: str
    numbers: Callable[[], Iterable[str]]

    def text(self) -> str:
        """The words as they should stand on the page, their numbers as they are written there."""
        return self.words.format(*self.numbers())

    def places(self, text: str) -> Iterator[Span]:
        """Where the numbers of this quote stand in ``text``, if what it says is there."""
        values = list(self.numbers())
        for found in re.finditer(re.escape(self.words.format(*values)), text):
            place = found.start()
            for piece, number in zip(self.words.split("{}"), values, strict=False):
                place += len(piece)
                yield place, place + len(number)
                place += len(number)

    def pattern(self) -> re.Pattern[str]:
        """The words with any numbers, however the page breaks its lines."""
        pieces = [r"\s+".join(re.escape(word) for word in piece.split(" ")) for piece in self.words.split("{}")]
        return re.compile(rf"({NUMBER}|∞)".join(pieces))


@dataclass(frozen=True)
class Page:
    """Quotes of one page; what the paper prints, and what is set, in the words of the page."""

    quotes: list[Quote]
    printed: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()


def fixed(value: float, places: int = 0) -> str:
    """So many decimals, thousands apart, a true minus sign."""
    return f"{value:,.{places}f}".replace("-", "−")


def significant(value: float, number: int = 2) -> str:
    """So many digits that count, zeros among them."""
    return f"{value:#.{number}g}".rstrip(".")


def within(value: float, places: int = 0) -> str:
    """Rounded up: what a value is not above."""
    return f"{math.ceil(value * 10**places - 1e-9) / 10**places:,.{places}f}"


def prose(markdown: str) -> str:
    """The words of a page on one line, without what is held elsewhere; tables that nobody writes count as prose."""
    return " ".join(NOT_PROSE.sub(" ", markdown).split())


def numbers(text: str) -> dict[Span, str]:
    """The numbers of prose that must be accounted for, by their place."""
    shown = HIDDEN.sub(lambda hidden: " " * len(hidden[0]), text)
    found = {match.span(): match[0] for match in LIKE_A_RESULT.finditer(shown)}
    for match in COUNTED.finditer(shown):
        for number in re.finditer(NUMBER, match[0]):
            found[match.start() + number.start(), match.start() + number.end()] = number[0]
    return dict(sorted(found.items()))


def untied(text: str, page: Page) -> list[str]:
    """Numbers of the prose that are no quote's, not printed in the paper and not set, with the words around them."""
    tied = {place for quote in page.quotes for place in quote.places(text)}
    known = [match.span() for match in SET.finditer(text)]
    for phrase in (*page.printed, *page.settings):
        known += [match.span() for match in re.finditer(re.escape(phrase), text)]
    return [
        f"{text[max(0, begin - 50) : begin]}[{text[begin:end]}]{text[end : end + 30]}"
        for begin, end in numbers(text)
        if (begin, end) not in tied and not any(first <= begin and end <= last for first, last in known)
    ]
