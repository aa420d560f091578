"""The built-in demo corpus: invented messages from patients to a clinic, the same ones for the same seed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np

_AUTHORS = 8_000
_MIXED = 0.15  # share of messages that end in a second theme
_TYPO = 0.03  # share of messages that may have two letters swapped
_FREQUENT = 22  # rare words given to the busiest authors, who repeat them
_INNERMOST = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True)
class DemoTexts:
    """Messages and their authors, with what only an evaluation may know.

    `themes` holds the true (main) theme of each message. Each of `rare_words` (lower case) identifies one
    author: nobody else ever writes it, and some authors write theirs often enough to pass a frequency cut.
    """

    texts: list[str]
    authors: list[str]
    themes: list[str]
    rare_words: frozenset[str]


@dataclass(frozen=True)
class _Author:
    """One author: how much they write, about what, and the word that would give them away."""

    messages: int
    name: str
    themes: tuple[str, ...]
    rare: tuple[str, str] | None  # (kind, word)
    rare_uses: int


def demo_corpus(seed: int = 7) -> DemoTexts:
    """Write the demo corpus: some 20,000 short messages by 8,000 authors on ten themes.

    The messages are invented, so nothing here is sensitive. Activity is uneven, as in real inboxes: most
    authors write once, a few write over a hundred times.

    Args:
        seed: the same seed gives the same messages on every platform.

    >>> demo = demo_corpus()
    >>> len(set(demo.authors)), len(set(demo.themes)), len(demo.rare_words)
    (8000, 10, 40)
    """
    wording = tomllib.loads(files("dptopics").joinpath("resources", "clinic_messages.toml").read_text("utf-8"))
    rng = np.random.Generator(np.random.PCG64(seed))
    pseudonyms = [f"patient-{number + 1:05d}" for number in _shuffled(rng, _AUTHORS)]
    rare = [(kind, word) for kind in wording["rare"]["sentences"] for word in wording["rare"][kind]]
    rare = [rare[i] for i in _shuffled(rng, len(rare))]
    draws = _uniforms(rng)

    rows: list[tuple[str, str, str]] = []
    for rank, pseudonym in enumerate(pseudonyms):
        author = _author(rank, rare, wording, draws)
        for number in range(author.messages):
            text, theme = _message(author, wording, draws, with_rare=number < author.rare_uses)
            rows.append((text, pseudonym, theme))

    rows = [rows[i] for i in _shuffled(rng, len(rows))]
    return DemoTexts(
        texts=[text for text, _, _ in rows],
        authors=[author for _, author, _ in rows],
        themes=[theme for _, _, theme in rows],
        rare_words=frozenset(word.lower() for _, word in rare),
    )


def _shuffled(rng: np.random.Generator, n: int) -> list[int]:
    """0 … n − 1 in random order; by sorting, since NumPy may change how `permutation` draws."""
    return [int(i) for i in np.argsort(rng.random(n), kind="stable")]


def _uniforms(rng: np.random.Generator) -> Iterator[float]:
    """Endless uniform numbers, drawn in blocks: a call to NumPy for each would dominate the time."""
    while True:
        yield from rng.random(1 << 16).tolist()


def _pick(options: Sequence[str], draws: Iterator[float]) -> str:
    """One option, the first ones most often."""
    u = next(draws)  # squared, as multiplication rounds alike on every platform and a power does not
    return options[int(u * u * len(options))]


def _any(options: Sequence[str], draws: Iterator[float]) -> str:
    """One option, all equally likely."""
    return options[int(next(draws) * len(options))]


def _author(rank: int, rare: Sequence[tuple[str, str]], wording: Mapping[str, Any], draws: Iterator[float]) -> _Author:
    """The author of this rank by activity: Zipf's law in whole numbers, so that no rounding can differ."""
    messages = 1 + 2_600 // (rank + 16)
    hat = [theme for theme, words in wording["themes"].items() for _ in range(words["share"])]
    themes = tuple(_any(hat, draws) for _ in range(1 + int(next(draws) * 3)))
    own, uses = _rare_word_of(rank, rare, draws)
    return _Author(messages, _pick(wording["first_names"], draws), themes, own, uses)


def _rare_word_of(
    rank: int, rare: Sequence[tuple[str, str]], draws: Iterator[float]
) -> tuple[tuple[str, str] | None, int]:
    """The word of the author of this rank, if any, and in how many messages they write it."""
    if rank < _FREQUENT:  # 5 to 40 times: a cut by document count keeps these words
        return rare[rank], 5 + int(next(draws) * 36)
    step, off = divmod(rank - 30, 60)  # the others go to every sixtieth author, who writes 3 times or more
    if off == 0 and 0 <= step < len(rare) - _FREQUENT:
        return rare[_FREQUENT + step], 1 + int(next(draws) * 3)
    return None, 0


def _message(
    author: _Author, wording: Mapping[str, Any], draws: Iterator[float], *, with_rare: bool
) -> tuple[str, str]:
    """One message and its main theme."""
    theme = _pick(author.themes, draws)
    sentences = _sentences(theme, wording, draws)
    if next(draws) < _MIXED:
        others = [other for other in wording["themes"] if other != theme]
        sentences = [*sentences[:2], _sentences(_any(others, draws), wording, draws)[0]]
    if next(draws) < 0.15:
        sentences.insert(0, _expand(_any(wording["openers"], draws), wording["slots"], draws))
    if len(" ".join(sentences)) < 90 or next(draws) < 0.3:  # rarely under fifteen words
        sentences.append(_expand(_any(wording["closers"], draws), wording["slots"], draws))
    if next(draws) < _TYPO:
        _misspell(sentences, draws)
    if with_rare and author.rare is not None:  # after the misspelling, which would hide the word
        kind, word = author.rare
        template = _any(wording["rare"]["sentences"][kind], draws)
        sentences.insert(1 + int(next(draws) * len(sentences)), template.replace("{word}", word))
    return _framed(" ".join(sentences), author.name, wording, draws), theme


def _sentences(theme: str, wording: Mapping[str, Any], draws: Iterator[float]) -> list[str]:
    """Two or three different sentences on a theme."""
    words = wording["themes"][theme]
    slots = wording["slots"] | words["slots"]
    left = list(words["sentences"])
    count = 2 + int(next(draws) * 2)
    return [_expand(left.pop(int(next(draws) * len(left))), slots, draws) for _ in range(count)]


def _expand(template: str, slots: Mapping[str, Sequence[str]], draws: Iterator[float]) -> str:
    """The template with each {slot} and each {a|b|c} replaced by one of its alternatives."""

    def choice(match: re.Match[str]) -> str:
        body = match[1]
        return _pick(body.split("|") if "|" in body else slots[body], draws)

    while "{" in template:  # inner braces first
        template = _INNERMOST.sub(choice, template)
    return template[0].upper() + template[1:]


def _misspell(sentences: list[str], draws: Iterator[float]) -> None:
    """Swap two inner letters of one word of one sentence."""
    place = int(next(draws) * len(sentences))
    words = sentences[place].split(" ")
    target = int(next(draws) * len(words))
    word = words[target]
    if len(word) >= 6 and word.isalpha():
        at = 1 + int(next(draws) * (len(word) - 3))
        words[target] = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        sentences[place] = " ".join(words)


def _framed(body: str, name: str, wording: Mapping[str, Any], draws: Iterator[float]) -> str:
    """The message with, often, a greeting before it and a sign-off after it."""
    if next(draws) < 0.4:
        body = f"{_pick(wording['greetings'], draws)} {body}"
    if next(draws) < 0.45:
        ending = f", {name}" if next(draws) < 0.6 else "."
        body = f"{body} {_pick(wording['signoffs'], draws)}{ending}"
    return body
