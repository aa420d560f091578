"""Words of a language as the atlas places them: where no public model of words comes with the package."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dptopics.core.text import TextSettings, language_name, listed_words
from dptopics.public.atlas import shipped, spellings, without_accents

Floats = NDArray[np.float32]
_DOMAIN = 0.8  # of a theme's own direction: that of its domain
_STEM, _PART = 0.8, 0.6  # how much less a word says that shares its stem, or a part, with a listed one
_LEAST_STEM = 4
_MANY_ENDINGS = ("polish",)  # cases
_PARTS = {"german": 5, "dutch": 5, "chinese": 2}  # signs that a part of a word has at least, where parts count


@dataclass(frozen=True)
class AtlasWords:
    """A word is the sum of the themes that list it, or its stem, or a part of it; what none lists has no place.

    A document is the weighted mean of its words, by public frequencies, so that counts are enough.

    >>> AtlasWords("german")(["tennis", "tennisturnier", "beim"]).any(axis=1)
    array([ True,  True, False])
    """

    language: str
    of_words: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "language", language_name(self.language))
        shipped(self.language)

    @property
    def name(self) -> str:
        return f"atlas-words:{self.language}"

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Sums of the vectors of a text's words: each row of that text alone."""
        listed = _listed(self.language)
        rows = [sum((listed.vector(word) for word in text.lower().split()), listed.nothing) for text in texts]
        return np.array(rows, np.float32).reshape(len(texts), listed.nothing.size)

    def together(self, words: Sequence[str]) -> Floats:
        """The same: a row knows nothing of the others."""
        return self(words)

    def placed(self, words: Sequence[str]) -> tuple[str, ...]:
        listed = _listed(self.language)
        return tuple(word for word in words if listed.vector(word).any())

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class _Listed:
    """The themes of each listed word and of each stem, by number."""

    language: str
    themes: NDArray[np.float64]  # one row each: its own direction, and its domain's
    words: dict[str, list[int]]
    stems: dict[str, list[int]]
    known: dict[str, NDArray[np.float64]] = field(default_factory=dict)

    @property
    def nothing(self) -> NDArray[np.float64]:
        return np.zeros(self.themes.shape[1])

    def vector(self, word: str) -> NDArray[np.float64]:
        """Its themes, each by one over the root of their number."""
        if word not in self.known:
            found, weight = self._themes(word)
            rows = self.themes[found].sum(axis=0) / max(1, len(found)) ** 0.5
            self.known[word] = weight * rows if found else self.nothing
        return self.known[word]

    def _themes(self, word: str) -> tuple[list[int], float]:
        if word in self.words:
            return self.words[word], 1.0
        if found := self._of_stem(word):
            return found, _STEM
        for length in range(len(word) - 1, _PARTS.get(self.language, len(word)) - 1, -1):
            for part in (word[-length:], word[:length]):
                if found := self.words.get(part) or self._of_stem(part):
                    return found, _PART
        return [], 0.0

    def _of_stem(self, word: str) -> list[int]:
        """The themes of the longest stem that it shares with listed words."""
        return next((found for stem in _stems(word, self.language) if (found := self.stems.get(stem))), [])


@lru_cache(maxsize=4)
def _listed(language: str) -> _Listed:
    atlas, text = shipped(language), TextSettings(language=language)
    domains = atlas.domain_of
    themes = np.hstack([np.eye(len(domains)), _DOMAIN * np.eye(len(atlas.domains))[domains]])
    words: dict[str, list[int]] = {}
    stems: dict[str, list[int]] = {}
    for number, theme in enumerate(atlas.themes):
        read = theme.read(text)
        for word in dict.fromkeys([*read, *(other for one in read for other in spellings(one, language))]):
            words.setdefault(word, []).append(number)
            for stem in [word[:2]] if language == "chinese" else _stems(word, language):
                of_stem = stems.setdefault(stem, [])
                of_stem += [number] if number not in of_stem else []
    return _Listed(language, themes, words, stems)


def _stems(word: str, language: str) -> list[str]:
    """What is left without an ending: the shortest; where words have many endings all, the longest first."""
    word, endings = without_accents(word, language), listed_words("endings", language)
    cut = [word[:-n] for n in range(1, min(len(word) - _LEAST_STEM, 8) + 1) if word[-n:] in endings]
    return [word, *cut] if language in _MANY_ENDINGS else [cut[-1] if cut else word]
