"""Words of many documents as numbers: what TextSettings.words finds in each, by compiled code for all at once.

Documents are cut together for speed only: a word depends on its own document and on nothing else, as before.
"""

import sys
from collections.abc import Sequence
from dataclasses import fields
from functools import lru_cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dptopics.kernels.words import INSIDE, LETTER, cut_words
from dptopics.public.text import AUTO, TextSettings, inside_words, letters
from dptopics.release.vocabulary import Vocabulary

Numbers = tuple[NDArray[np.int32], NDArray[np.int64]]

# Settings that look at one word at a time, or at the text before it is cut. Any other, if it is set, may look at
# several words: then texts are cut one by one.
_OF_ONE_WORD = frozenset({"language", "min_length", "max_length", "lemmas", "links", "stop_words"})
# Stands between documents: no part of a word, and no letter with case, so that lower case does not look past it.
_SEPARATOR = "\x1c"
_PLANE = 1 << 16  # code points that are looked at together
_MOST_SIGNS = 1 << 22  # that are cut at once: four bytes each


class NumberedWords:
    """Numbers words in the order of their first use. Words that do not count have none."""

    def __init__(self, text: TextSettings, vocabulary: Vocabulary | None) -> None:
        self.words: dict[str, int] = {}
        self._text = text
        self._known = None if vocabulary is None else vocabulary.index
        self._seen: dict[bytes, int] = {}  # words as the kernel gives them; -1: does not count
        others = [one for one in fields(text) if one.name not in _OF_ONE_WORD]
        self._together = text.language != AUTO and all(getattr(text, one.name) == one.default for one in others)

    def of(self, texts: Sequence[str]) -> Numbers:
        """The numbers of all words of these documents, one document after another; and how many each has."""
        if self._together and sum(map(len, texts)) <= _MOST_SIGNS:
            joined = _SEPARATOR.join([*map(self._text.plain, texts), ""])
            if joined.count(_SEPARATOR) == len(texts):
                return self._cut(joined.lower(), len(texts))
        return self._one_by_one(texts)

    def _one_by_one(self, texts: Sequence[str]) -> Numbers:
        tokens: list[int] = []
        lengths: list[int] = []
        for text in texts:
            found = [w for w in self._text.words(text) if self._known is None or w in self._known]
            tokens.extend(self.words.setdefault(word, len(self.words)) for word in found)
            lengths.append(len(found))
        return np.array(tokens, np.int32), np.array(lengths, np.int64)

    def _cut(self, joined: str, n_documents: int) -> Numbers:
        signs = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32)
        words, starts, lengths = cut_words(signs, _kinds(), ord(_SEPARATOR), n_documents, *self._text.lengths)
        buffers = [None, pa.py_buffer(starts * np.int32(4)), pa.py_buffer(words)]
        encoded = pa.Array.from_buffers(pa.binary(), starts.size - 1, buffers).dictionary_encode()
        found = encoded.dictionary.to_pylist()
        seen = zip(found, map(self._seen.get, found), strict=True)
        numbers = np.array([self._new(word) if number is None else number for word, number in seen], np.int32)
        tokens = numbers[encoded.indices.to_numpy()]
        counts = tokens >= 0
        documents = np.repeat(np.arange(n_documents), lengths)[counts]
        return tokens[counts], np.bincount(documents, minlength=n_documents).astype(np.int64)

    def _new(self, word: bytes) -> int:
        """The number of a word that was not met before, or -1."""
        kept = self._text.kept(word.decode("utf-32-le", "surrogatepass"))
        counts = kept is not None and (self._known is None or kept in self._known)
        self._seen[word] = self.words.setdefault(kept, len(self.words)) if kept is not None and counts else -1
        return self._seen[word]


@lru_cache(maxsize=1)
def _kinds() -> NDArray[np.uint8]:
    """What each code point is, by the expression that cuts single texts."""
    kinds = np.zeros(sys.maxunicode + 1, np.uint8)
    for first in range(0, kinds.size, _PLANE):
        signs = "".join(map(chr, range(first, first + _PLANE)))
        for pattern, kind in ((inside_words(), INSIDE), (letters(), LETTER)):
            for found in pattern.finditer(signs):
                kinds[first + found.start() : first + found.end()] = kind
    return kinds
