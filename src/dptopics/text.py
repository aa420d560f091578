"""Text to words, one document at a time: nothing here looks at more than the document in hand."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from unicodedata import normalize

import regex

from dptopics.errors import InputError

_WORD = regex.compile(r"\p{L}[\p{L}\p{M}\p{Nd}]*")  # a letter, then letters, combining marks and digits


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

    def __post_init__(self) -> None:
        if not 1 <= self.min_length <= self.max_length:
            raise InputError(
                f"word lengths must satisfy 1 ≤ min_length ≤ max_length, got {self.min_length} and {self.max_length}."
            )
        stop_words(self.language)  # fail now, not at the first document
        if self.lemmas:
            _lemmatizer(self.language)

    def words(self, text: str) -> list[str]:
        """Words of one document: NFKC, lower case, length and stop-word filters, optional lemmas."""
        stop = stop_words(self.language)
        low, high = self.min_length, self.max_length
        found = _WORD.findall(normalize("NFKC", text).lower())
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
        text = resources.files("dptopics").joinpath("data/stopwords_english.txt").read_text("utf-8")
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
