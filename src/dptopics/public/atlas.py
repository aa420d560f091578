"""The atlas: public themes that people write about, each with a name, a domain, words and invented sentences.

Written for this package and shipped with it; it never saw the data. An owner may bring another one, a text file::

    # Patient care
    ## Prescription refills
    words: refill prescription pharmacy medication renew pills
    - My prescription runs out on Friday. Can you send a refill to the pharmacy?
"""

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from itertools import islice, product
from pathlib import Path
from unicodedata import combining, normalize

import numpy as np
from numpy.typing import NDArray

from dptopics.core.errors import InputError
from dptopics.core.text import AUTO, TextSettings, language_name
from dptopics.core.tokenizers import chinese_signs

MOST_THEMES = 5000
_MOST_LETTERS = 80  # of a name
_LETTERS = str.maketrans({"ł": "l", "ß": "ss", "œ": "oe"})
_UMLAUTS = _LETTERS | str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
SHIPPED = (
    "english", "chinese", "dutch", "french", "german", "italian", "japanese", "polish", "portuguese", "spanish",
)  # fmt: skip


@dataclass(frozen=True)
class Theme:
    """A subject by its public name and domain, words that people use for it, and invented sentences.

    ``key`` is the name of the same subject in the English atlas, for themes of other languages.
    """

    name: str
    domain: str
    words: tuple[str, ...]
    sentences: tuple[str, ...] = ()
    key: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """What somebody might write about it: its sentences, and its name with half of its words each time."""
        halves = (" ".join(self.words[part::2]) for part in (0, 1))
        return (*self.sentences, *(f"{self.name} {half}" for half in halves))

    def read(self, text: TextSettings) -> list[str]:
        """Its words as texts are read; those of a theme of several languages were read when it was made."""
        return list(self.words) if text.language == AUTO else [w for entry in self.words for w in text.words(entry)]


@dataclass(frozen=True)
class Atlas:
    """Themes in a fixed order, with a checksum of the text that they were read from.

    >>> [theme.name for theme in shipped("english").find("insomnia")]
    ['Insomnia and sleep habits']
    """

    themes: tuple[Theme, ...]
    sha256: str
    language: str = "english"

    def __post_init__(self) -> None:
        if not 2 <= len(self.themes) <= MOST_THEMES:
            raise InputError(f"an atlas has 2 to {MOST_THEMES:,} themes, got {len(self.themes):,}.")
        names: dict[str, str] = {}
        for theme in self.themes:
            if not theme.words:
                raise InputError(f"the theme {theme.name!r} of the atlas has no words. Give it some: words: …")
            if (twin := names.setdefault(theme.name.casefold(), theme.name)) is not theme.name:
                raise InputError(f"the atlas has two themes {twin!r}. Give each a name of its own.")

    def __repr__(self) -> str:
        return f"<Atlas: {len(self.themes):,} themes, {self.language}, {self.sha256[:12]}>"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(theme.name for theme in self.themes)

    @property
    def domains(self) -> tuple[str, ...]:
        """Each once, in the order of their first themes."""
        return tuple(dict.fromkeys(theme.domain for theme in self.themes))

    @property
    def domain_of(self) -> NDArray[np.int64]:
        """The number of each theme's domain."""
        number = {name: k for k, name in enumerate(self.domains)}
        return np.array([number[theme.domain] for theme in self.themes], np.int64)

    def find(self, query: str) -> list[Theme]:
        """Themes whose name, words or sentences have this word, in that order."""
        wanted = query.casefold().strip()
        names = [t for t in self.themes if wanted in t.name.casefold()]
        words = [t for t in self.themes if wanted in t.words]
        said = [t for t in self.themes if any(wanted in s.casefold() for s in t.sentences)]
        return list(dict.fromkeys([*names, *words, *said]))

    def listed_words(self, text: TextSettings) -> list[str]:
        """The words of all themes as texts are read, and in other languages than English as they are typed in haste."""
        entries = [entry for theme in self.themes for entry in theme.words]
        found = entries if text.language == AUTO else text.words_of(entries)
        return list(dict.fromkeys([*found, *(other for word in found for other in spellings(word, self.language))]))


def spellings(word: str, language: str) -> list[str]:
    """How else a word is typed: without accents; in Chinese with Traditional characters.

    >>> spellings("devolución", "spanish"), spellings("头发", "chinese")
    (['devolucion'], ['頭發', '頭髮'])
    """
    if language != "chinese":
        return [without_accents(word, language)]
    forms = chinese_signs()[2]
    return ["".join(signs) for signs in islice(product(*(forms.get(sign, sign) for sign in word)), 8)]


def without_accents(word: str, language: str) -> str:
    """A word as it is typed without accents; only Latin letters have another spelling.

    >>> without_accents("müllabfuhr", "german"), without_accents("łóżko", "polish"), without_accents("ガス", "japanese")
    ('muellabfuhr', 'lozko', 'ガス')
    """
    signs = normalize("NFKD", word.translate(_UMLAUTS if language == "german" else _LETTERS))
    bare = "".join(sign for sign in signs if not combining(sign))
    return bare if bare.isascii() and language != "english" else word


@lru_cache(maxsize=16)
def shipped(language: str) -> Atlas:
    """The atlas of a language that comes with the package; of "auto" the themes that all of these share."""
    name = language_name(language)
    if name == AUTO:
        return _of_all()
    if name not in SHIPPED:
        raise InputError(f"there is no atlas for language {language!r}. Give one of your own (--atlas FILE).")
    return parsed(files("dptopics").joinpath("resources", f"atlas_{name}.md").read_text("utf-8"), name)


def _of_all() -> Atlas:
    """English themes with the words of all languages, each as its language reads it, and as it is typed in haste."""
    english = {theme.name: theme for theme in shipped("english").themes}
    others, themes = [shipped(name) for name in SHIPPED[1:]], []
    for same in zip(*(atlas.themes for atlas in others), strict=True):
        theme = english[same[0].key]
        words = [word for part in (*theme.words, *theme.sentences) for word in TextSettings().words(part)]
        for atlas, own in zip(others, same, strict=True):
            read = own.read(TextSettings(language=atlas.language))
            words += [*read, *(other for word in read for other in spellings(word, atlas.language))]
        themes.append(replace(theme, words=tuple(dict.fromkeys(words)), key=theme.name))
    versions = " ".join(shipped(name).sha256 for name in SHIPPED)
    return Atlas(tuple(themes), sha256(versions.encode()).hexdigest(), AUTO)


def has_atlas(language: str) -> bool:
    """Whether the package has one for this language."""
    return language_name(language) in (*SHIPPED, AUTO)


def read_atlas(path: str | Path, language: str = "english") -> Atlas:
    """An owner's atlas."""
    try:
        content = Path(path).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the atlas {str(path)!r} cannot be read ({type(error).__name__}).") from None
    return parsed(content, language)


def parsed(content: str, language: str) -> Atlas:
    """Themes from text; lines that are empty or between parentheses are comments."""
    found: list[tuple[str, str, list[str], list[str]]] = []
    domain = ""
    for number, line in enumerate(content.splitlines(), start=1):
        mark, _, rest = line.strip().partition(" ")
        rest = rest.strip()
        if mark == "#":
            domain = _named(rest, number)
        elif mark == "##":
            found.append((_named(rest, number), domain or "Other", [], []))
        elif mark in ("words:", "-") and rest and found:
            found[-1][2].extend(re.split(r"[,\s]+", rest.casefold())) if mark == "words:" else found[-1][3].append(rest)
        elif mark and not mark.startswith("("):
            raise InputError(
                f"line {number} of the atlas is none of '# domain', '## theme', 'words: …' and '- sentence', or "
                "comes before the first theme."
            )
        if len(found) > MOST_THEMES:
            break
    themes = []
    for name, of, words, said in found:
        title, _, key = name.partition(" | ")
        themes.append(Theme(title, of, tuple(dict.fromkeys(words)), tuple(said), key))
    return Atlas(tuple(themes), sha256(content.encode()).hexdigest(), language)


def _named(name: str, number: int) -> str:
    if not 0 < len(name.partition(" | ")[0]) <= _MOST_LETTERS or not name.isprintable():
        raise InputError(f"line {number} of the atlas: a name has 1 to {_MOST_LETTERS} printable signs.")
    return name
