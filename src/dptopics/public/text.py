"""Text to words, one document at a time: nothing here looks at more than the document in hand."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Self
from unicodedata import normalize

import regex

from dptopics.errors import InputError

_WORD = regex.compile(r"\p{L}[\p{L}\p{M}\p{Nd}]*")  # a letter, then letters, combining marks and digits
# For n-grams neighbours matter, so that numbers and the second half of "don't" are kept.
_TOKEN = regex.compile(r"[\p{L}\p{Nd}][\p{L}\p{M}\p{Nd}]*(?:['’]\p{L}[\p{L}\p{M}]*)*")
_SENTENCE_END = regex.compile(r"[.!?…。！？]+(?=\s|$)|\n+")
START, END = "<s>", "</s>"  # of a sentence; no token can hold these signs
MOST_NGRAMS = 5


@dataclass(frozen=True, kw_only=True)
class TextSettings:
    """How a document becomes words. Public: saved with every release so that new texts are read the same way.

    >>> TextSettings(language="english").words("The MRI of 3 May didn't show anything; Zoë's knee is fine.")
    ['mri', 'show', 'zoë', 'knee', 'fine']
    """

    language: str = "english"
    min_length: int = 3
    max_length: int = 15
    lemmas: bool = False
    ngrams: int = 1

    @classmethod
    def for_ngrams(cls, n: int) -> Self:
        """Keep every word, in its sentence: what n-grams are made of.

        >>> TextSettings.for_ngrams(3).words("I don't know. Do you?")
        ["<s> i don't", "i don't know", "don't know </s>", '<s> do you', 'do you </s>']
        """
        return cls(language="none", min_length=1, max_length=30, ngrams=n)

    def __post_init__(self) -> None:
        if not 1 <= self.ngrams <= MOST_NGRAMS:
            raise InputError(f"n-grams may have 1 to {MOST_NGRAMS} words, got {self.ngrams}.")
        if not 1 <= self.min_length <= self.max_length:
            raise InputError(
                f"word lengths must satisfy 1 ≤ min_length ≤ max_length, got {self.min_length} and {self.max_length}."
            )
        stop_words(self.language)  # fail now, not at the first document
        if self.lemmas:
            _lemmatizer(self.language)

    def words(self, text: str) -> list[str]:
        """Words of one document: NFKC, lower case, length and stop-word filters, optional lemmas.

        With ``ngrams`` = n > 1, the n-grams of its sentences instead: n words joined by blanks, where a sentence begins
        with one ``<s>`` and ends with one ``</s>``. A sentence that is shorter has none.
        """
        if self.ngrams == 1:
            return self._filtered(_WORD.findall(normalize("NFKC", text).lower()))
        n, found = self.ngrams, []
        for sentence in self.sentences(text):
            found += [" ".join(sentence[i : i + n]) for i in range(len(sentence) - n + 1)]
        return found

    def could_give(self, entry: str) -> bool:
        """Whether ``entry`` has the form of what :meth:`words` gives. Lengths, stop words and lemmas aside.

        >>> [TextSettings().could_give(entry) for entry in ("knee", "Knee", "my knee", "knee,p12")]
        [True, False, False, False]
        """
        if entry != normalize("NFKC", entry).lower():
            return False
        if self.ngrams == 1:
            return _WORD.fullmatch(entry) is not None
        first, *rest = entry.split(" ")
        if len(rest) != self.ngrams - 1:
            return False
        inner = ([] if first == START else [first]) + (rest[:-1] if rest[-1] == END else rest)
        return all(_TOKEN.fullmatch(word) for word in inner) and "’" not in entry

    def sentences(self, text: str) -> list[list[str]]:
        """Tokens of each sentence, with the marks of its beginning and end."""
        parts = _SENTENCE_END.split(normalize("NFKC", text).lower().replace("’", "'"))
        tokens = [self._filtered(_TOKEN.findall(part)) for part in parts]
        return [[START, *sentence, END] for sentence in tokens if sentence]

    def _filtered(self, found: list[str]) -> list[str]:
        stop = stop_words(self.language)
        low, high = self.min_length, self.max_length
        words = [w for w in found if low <= len(w) <= high and w not in stop]
        if self.lemmas:
            lemma = _lemmatizer(self.language)
            words = [lemma(w) for w in words]
        return words


@lru_cache
def stop_words(language: str) -> frozenset[str]:
    """Stop words of a language by name or ISO code; empty for ``"none"``.

    The English list is ours: the usual long one drops words such as *back*, *fire* and *computer*.
    """
    if language == "none":
        return frozenset()
    if language in ("english", "en"):
        text = resources.files("dptopics").joinpath("resources/stopwords_english.txt").read_text("utf-8")
        return frozenset(text.split())
    from stop_words import AVAILABLE_LANGUAGES, LANGUAGE_MAPPING, get_stop_words

    if language not in AVAILABLE_LANGUAGES and language not in LANGUAGE_MAPPING:
        known = ", ".join(sorted(AVAILABLE_LANGUAGES))
        raise InputError(
            f"there are no stop words for language {language!r}. Use one of: {known}; or 'none' to keep every word."
        )
    # Split the list as texts are split, so that "don't" stops "don" too.
    return frozenset(w for entry in get_stop_words(language) for w in _WORD.findall(normalize("NFKC", entry).lower()))


def language_code(language: str) -> str:
    """ISO code of a language given by name or code."""
    from stop_words import LANGUAGE_MAPPING

    codes: dict[str, str] = {name: code for code, name in LANGUAGE_MAPPING.items()}
    return codes.get(language, language)


@lru_cache
def _lemmatizer(language: str) -> Callable[[str], str]:
    try:
        import simplemma
    except ImportError:
        raise InputError("lemmas need an extra package. Run: pip install 'dptopics[lemmas]'") from None
    code = language_code(language)

    def lemma(word: str) -> str:
        return str(simplemma.lemmatize(word, lang=code)).lower()

    try:
        lemma("words")
    except ValueError:
        raise InputError(f"there are no lemmas for language {language!r}. Leave lemmas off.") from None
    return lru_cache(maxsize=100_000)(lemma)
