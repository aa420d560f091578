"""Text to words: each document alone, never by looking at another."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from importlib import resources
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Self
from unicodedata import normalize

import regex

from dptopics.core.errors import InputError
from dptopics.core.tokenizers import PACKAGES, Split, Tokenizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# Letters of the shortest and longest words kept: shorter ones are mostly particles, longer ones addresses and keys. Of
# the 30,000 most frequent words in wordfreq, at most 1 in 10,000 is longer.
_USUAL = (3, 22)
_LENGTHS = {
    "english": (3, 15),
    "none": (3, 30),
    "auto": (1, 40),  # the limits of each text's own language apply
    **dict.fromkeys(("danish", "dutch", "finnish", "german", "norwegian", "swedish"), (3, 30)),
    **dict.fromkeys(("arabic", "gujarati", "hebrew", "hindi", "korean", "persian", "vietnamese"), (2, 22)),
    "chinese": (1, 15),  # many everyday words have one character; others of one are stop words
    "japanese": (2, 15),
    "thai": (2, 30),
}
NO_BLANKS = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")
_MOST_WORDS = 1000  # that identify a language
_GUESSED, _SHORTEST = 1000, 16  # characters that identify a text's language, at most and at least
_SURE = 10.0  # nats by which another language must fit better: related ones (Spanish, Galician) differ by less


def usual_lengths(language: str) -> tuple[int, int]:
    """Lengths of the shortest and the longest word kept in a language."""
    return _LENGTHS.get(language, _USUAL)


def without_blanks(words: Sequence[str], counts: "NDArray[np.int64]") -> bool:
    """Whether most "words" are in scripts without spaces between words, so that they are sentences."""
    import numpy as np

    there = np.fromiter((NO_BLANKS.search(word) is not None for word in words), bool, len(words))
    return bool(2 * counts[there].sum() > counts.sum())


def another_language(words: Sequence[str], counts: "NDArray[np.int64]", code: str) -> str | None:
    """The language code of the most frequent words if it is surely not ``code``; None where it cannot be identified."""
    if not identifies(code):
        return None
    import numpy as np

    most = np.argsort(-counts, kind="stable")[:_MOST_WORDS]
    scores = _scores(" ".join(words[i] for i in most))
    best = max(scores, key=scores.__getitem__)
    return best if scores[best] - scores[code] > _SURE else None


def guessed(text: str) -> str:
    """The language code of one text, by a fixed public rule and that text alone; "" if it is too short.

    >>> guessed("Das Knie schmerzt seit dem langen Lauf, und ich kann nicht schlafen."), guessed("ok")
    ('de', '')
    """
    import py3langid

    plain = " ".join(text.split())[:_GUESSED]
    return str(py3langid.classify(plain)[0]) if len(plain) >= _SHORTEST else ""


def identifies(code: str) -> bool:
    """Whether the extra ``languages`` is installed and knows the language."""
    return find_spec("py3langid") is not None and code in _scores("")


def _scores(text: str) -> dict[str, float]:
    """Log-probability of each language, by its code."""
    import py3langid

    return {str(code): float(score) for code, score in py3langid.rank(text)}


_LETTER, _INSIDE = r"\p{L}", r"[\p{L}\p{M}\p{Nd}]"
LETTERS, INSIDE_WORDS = regex.compile(f"{_LETTER}+"), regex.compile(f"{_INSIDE}+")  # runs of signs, for fast cutting
_WORD = regex.compile(f"{_LETTER}{_INSIDE}*")  # a letter, then letters, combining marks and digits
_TOKEN = regex.compile(r"[\p{L}\p{Nd}][\p{L}\p{M}\p{Nd}]*(?:['’]\p{L}[\p{L}\p{M}]*)*")  # of n-grams: numbers, "don't"
_WIDE_END = regex.compile("[。！？｡]+")  # no space follows these
# Words with only a space or a hyphen between them: phrases are made of these.
_RUN = regex.compile(r"\p{L}[\p{L}\p{M}\p{Nd}]*(?:[ \t-]\p{L}[\p{L}\p{M}\p{Nd}]*)*")
_SENTENCE_END = regex.compile(r"[.!?…。！？]+(?=\s|$)|\n+")
# Web and e-mail addresses, after NFKC. In ASCII only: the client in browsers has the same two expressions.
_WEB = regex.compile(r"(?:[hH][tT][tT][pP][sS]?://|(^|[^A-Za-z0-9])(?:www|WWW)\.)[!#-;=?-~]+")
_MAIL = regex.compile(r"(^|[^A-Za-z0-9._%+-])[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+")
AUTO = "auto"
START, END = "<s>", "</s>"  # of a sentence; no token can contain these characters
MOST_NGRAMS = 5
MOST_PHRASE = 3


@dataclass(frozen=True, kw_only=True)
class TextSettings:
    """How a document becomes words. Public: saved with every release, so that new texts are read the same way.

    ``language`` "auto" reads each text in its own language, identified by a fixed public rule from that text alone
    (extra ``languages``). Lengths default to those usual in the language. ``tokenizer``: how texts are cut, instead of
    at non-letters: "chinese", "japanese" or "thai" (the default for these languages; extra ``languages``), a function
    from one text to its words, or its name, module:function; your own function gets the text with its links.
    ``phrases``: besides its words, a text gives phrases of up to so many adjacent words, none of them a stop word.
    ``links``: whether the words of web and e-mail addresses count. ``stop_words``: words to leave out in addition to
    those of the language; like all settings, they are published with the release.

    >>> TextSettings(language="english").words("The MRI of 3 May didn't show anything; Zoë's knee is fine.")
    ['mri', 'show', 'zoë', 'knee', 'fine']
    >>> TextSettings(stop_words=("Knee", "MRI")).words("The MRI shows my knee and Zoë's knees.")
    ['shows', 'zoë', 'knees']
    """

    language: str = "english"
    min_length: int | None = None
    max_length: int | None = None
    lemmas: bool = False
    ngrams: int = 1
    phrases: int = 1
    links: bool = False
    stop_words: tuple[str, ...] = ()
    tokenizer: Tokenizer | Split | str | None = None

    @classmethod
    def for_ngrams(cls, n: int, tokenizer: Tokenizer | Split | str | None = None) -> Self:
        """Keep every word, sentence by sentence, for n-grams.

        >>> TextSettings.for_ngrams(3).words("I don't know. Do you?")
        ["<s> i don't", "i don't know", "don't know </s>", '<s> do you', 'do you </s>']
        """
        return cls(language="none", min_length=1, max_length=30, ngrams=n, links=True, tokenizer=tokenizer)

    def __post_init__(self) -> None:
        if not 1 <= self.ngrams <= MOST_NGRAMS:
            raise InputError(f"n-grams may have 1 to {MOST_NGRAMS} words, got {self.ngrams}.")
        if not 1 <= self.phrases <= MOST_PHRASE or (self.phrases > 1 and self.ngrams > 1):
            raise InputError(
                f"phrases have at most {MOST_PHRASE} words and go with words, not with n-grams; got phrases of "
                f"{self.phrases} and {self.ngrams}-grams."
            )
        object.__setattr__(self, "language", _base_language(self.language))
        name = language_name(self.language)
        for place, field in enumerate(("min_length", "max_length")):
            if getattr(self, field) is None:
                object.__setattr__(self, field, usual_lengths(name)[place])
        low, high = self.lengths
        if not 1 <= low <= high:
            raise InputError(f"word lengths must satisfy 1 ≤ min_length ≤ max_length, got {low} and {high}.")
        cut = name if self.tokenizer is None and name in PACKAGES else self.tokenizer
        object.__setattr__(self, "tokenizer", None if cut is None else Tokenizer.of(cut))
        stop_words(self.language)  # fail now, not at the first document
        if self.language == AUTO:
            self._check_auto()
        object.__setattr__(self, "stop_words", self._own_stop_words())
        if self.lemmas:
            _lemmatizer(self.language)

    def _check_auto(self) -> None:
        """Refuse now what fails in some language: otherwise a single text could refuse the run."""
        if self.lemmas or self.ngrams > 1 or self.tokenizer is not None:
            raise InputError("language 'auto' works with words only: leave out lemmas, n-grams and tokenizers.")
        if find_spec("py3langid") is None:
            raise InputError("language 'auto' needs an extra: pip install 'dptopics[languages]'. Or name the language.")
        for code in ("", "th", *sorted(language_codes())):
            self._in(code)  # impossible lengths, a missing package

    @property
    def lengths(self) -> tuple[int, int]:
        """Lengths of the shortest and the longest word kept."""
        assert self.min_length is not None
        assert self.max_length is not None
        return self.min_length, self.max_length

    @property
    def cutter(self) -> Tokenizer | None:
        """The tokenizer, unless words are runs of letters."""
        assert self.tokenizer is None or isinstance(self.tokenizer, Tokenizer)
        return self.tokenizer

    @cached_property
    def stops(self) -> frozenset[str]:
        """All words to leave out, the language's and the owner's."""
        return stop_words(self.language) | frozenset(self.stop_words)

    def _own_stop_words(self) -> tuple[str, ...]:
        """The owner's stop words, split and written as texts are, each once."""
        given: Any = self.stop_words
        if not isinstance(given, list | tuple | set | frozenset) or not all(isinstance(word, str) for word in given):
            raise InputError("stop_words must be a list of words, each a string.")
        plain = " ".join(normalize("NFKC", word).lower() for word in given)
        own = self.cutter is not None and not self.cutter.built_in
        return tuple(sorted({*(plain.split() if own else (_WORD if self.ngrams == 1 else _TOKEN).findall(plain))}))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the guarantee assumes of the tokenizer; nothing for built-in ones."""
        return () if self.cutter is None else self.cutter.assumptions

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        found = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("tokenizer", "stop_words")}
        own = {"stop_words": list(self.stop_words)} if self.stop_words else {}
        return found | own | ({} if self.cutter is None else {"tokenizer": self.cutter.to_dict()})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of :meth:`to_dict`. A function that a file names is not run (see Tokenizer)."""
        if not isinstance(data, Mapping):
            raise TypeError("text settings must be a mapping")
        named = data.get("tokenizer")  # and older files, which do not mention links, were made when their words counted
        return cls(**{"links": True, **data, "tokenizer": None if named is None else Tokenizer.stored(named)})

    def words(self, text: str) -> list[str]:
        """Words of one document: NFKC, lower case, length and stop-word filters, optional lemmas.

        With ``ngrams`` = n > 1, the n-grams of its sentences: n words joined by spaces, each sentence between ``<s>``
        and ``</s>``. A shorter sentence has none.
        """
        if self.language == AUTO:
            return self._in(guessed(text)).words(text)
        if self.phrases > 1:
            return self._with_phrases(text)
        if self.ngrams == 1:
            return self._filtered(self._cut(text, _WORD))
        n, found = self.ngrams, []
        for sentence in self.sentences(text):
            found += [" ".join(sentence[i : i + n]) for i in range(len(sentence) - n + 1)]
        return found

    def words_of(self, entries: Iterable[str]) -> list[str]:
        """Words of one entry after another. Where words are runs of letters, all are cut at once, which is faster."""
        at_once = self.cutter is None and self.phrases == self.ngrams == 1 and self.language != AUTO
        return [word for one in (["\n".join(entries)] if at_once else entries) for word in self.words(one)]

    def _in(self, code: str) -> "TextSettings":
        """The same settings for one language; without stop words where it has none."""
        if code not in self._by_language:
            name = code if code == "th" or code in language_codes() else "none"
            low, high = (
                None if own == usual else own for own, usual in zip(self.lengths, usual_lengths(AUTO), strict=True)
            )
            self._by_language[code] = replace(self, language=name, min_length=low, max_length=high)
        return self._by_language[code]

    @cached_property
    def _by_language(self) -> "dict[str, TextSettings]":
        return {}

    def could_give(self, entry: str) -> bool:
        """Whether ``entry`` has the form of what :meth:`words` gives, apart from lengths, stop words and lemmas.

        >>> [TextSettings().could_give(entry) for entry in ("knee", "Knee", "my knee", "knee,p12")]
        [True, False, False, False]
        """
        if entry != normalize("NFKC", entry).lower():
            return False
        own = self.cutter is not None and not self.cutter.built_in
        if self.ngrams == 1:
            parts = entry.split(" ") if self.phrases > 1 else [entry]
            single = all(self._own_word(part) if own else _WORD.fullmatch(part) for part in parts)
            return single and len(parts) <= self.phrases
        first, *rest = entry.split(" ")
        if len(rest) != self.ngrams - 1:
            return False
        inner = ([] if first == START else [first]) + (rest[:-1] if rest[-1] == END else rest)
        form = self._own_word if own else _TOKEN.fullmatch
        return all(form(word) for word in inner) and "’" not in entry

    def _with_phrases(self, text: str) -> list[str]:
        """The words of a text, then its phrases, which end at words left out and at any character but a hyphen."""
        words: list[str] = []
        phrases: list[str] = []
        for run in self._runs(text):
            piece: list[str] = []
            for word in [*run, ""]:
                kept = self._filtered([word]) if word else []
                if kept:
                    piece += kept
                    continue
                words += piece
                for n in range(2, self.phrases + 1):
                    phrases += [" ".join(piece[i : i + n]) for i in range(len(piece) - n + 1)]
                piece = []
        return words + phrases

    def _runs(self, text: str) -> list[list[str]]:
        """Runs of adjacent words; those of a tokenizer are one run."""
        if self.cutter is not None:
            return [self._cut(text, _WORD)]
        return [_WORD.findall(run) for run in _RUN.findall(self.plain(text).lower())]

    def _own_word(self, entry: str) -> bool:
        """Whether an owner's tokenizer could give it: any characters, but no whole sentence."""
        return entry.split() == [entry] and len(entry) <= self.lengths[1]

    def sentences(self, text: str) -> list[list[str]]:
        """Tokens of each sentence, with its start and end marks."""
        parts = _SENTENCE_END.split(normalize("NFKC", _WIDE_END.sub("\n", text)).replace("’", "'"))
        tokens = [self._filtered(self._cut(part, _TOKEN)) for part in parts]
        return [[START, *sentence, END] for sentence in tokens if sentence]

    def _cut(self, text: str, pattern: Any) -> list[str]:
        """Pieces of a text that match the pattern, or what an owner's tokenizer takes for words."""
        cutter = self.cutter
        if cutter is None:
            found: list[str] = pattern.findall(self.plain(text).lower())
            return found
        if cutter.built_in:
            return [w for piece in cutter(self.plain(text).lower()) for w in pattern.findall(piece)]
        return [w for piece in cutter(text) for w in normalize("NFKC", piece).lower().split()]

    def plain(self, text: str) -> str:
        """A text in NFKC, without links unless they count."""
        text = normalize("NFKC", text)
        return text if self.links else _without_links(text)

    def kept(self, word: str) -> str | None:
        """What one word counts as; None if it does not count."""
        return next(iter(self._filtered([word])), None)

    def _filtered(self, found: list[str]) -> list[str]:
        stop = self.stops
        low, high = self.lengths
        words = [w for w in found if low <= len(w) <= high and w not in stop]
        if self.lemmas:
            lemma = _lemmatizer(self.language)
            words = [base for w in words if (base := lemma(w)) not in self.stop_words]
        return words


def _without_links(text: str) -> str:
    """Replaces each link by a sign that ends words and phrases."""
    return text if is_free_of_links(text) else _MAIL.sub(r"\1 | ", _WEB.sub(r"\1 | ", text))


def is_free_of_links(text: str) -> bool:
    """Whether no sign is there that every link has."""
    return not ("@" in text or "://" in text or "www." in text or "WWW." in text)


@lru_cache
def stop_words(language: str) -> frozenset[str]:
    """Stop words of a language by name or ISO code; empty for ``"none"``."""
    if language in ("none", AUTO):
        return frozenset()
    if language in ("english", "en"):  # our own list: the usual long one drops words such as back, fire and computer
        text = resources.files("dptopics").joinpath("resources/stopwords_english.txt").read_text("utf-8")
        return frozenset(text.split())
    if language in ("thai", "th"):
        return _thai_stop_words()
    from stop_words import AVAILABLE_LANGUAGES, LANGUAGE_MAPPING, get_stop_words

    if language not in AVAILABLE_LANGUAGES and language not in LANGUAGE_MAPPING:
        known = ", ".join(sorted([*AVAILABLE_LANGUAGES, "thai"]))
        raise InputError(
            f"there are no stop words for language {language!r}. Use one of: {known}; or 'none' to keep every word."
        )
    # Split the list as texts are split, so that "don't" stops "don" too.
    given = frozenset(w for one in get_stop_words(language) for w in _WORD.findall(normalize("NFKC", one).lower()))
    return given | listed_words("stopwords", language_name(language))


@lru_cache
def listed_words(name: str, language: str) -> frozenset[str]:
    """What a list that comes with the package has for a language."""
    lines = resources.files("dptopics").joinpath(f"resources/{name}.txt").read_text("utf-8").splitlines()
    return frozenset(word for line in lines if line.startswith(f"{language}: ") for word in line.split()[1:])


def language_codes() -> frozenset[str]:
    """Codes of the languages that have stop words."""
    from stop_words import LANGUAGE_MAPPING

    return frozenset(LANGUAGE_MAPPING)


def language_code(language: str) -> str:
    """ISO code of a language by name or code."""
    from stop_words import LANGUAGE_MAPPING

    codes: dict[str, str] = {name: code for code, name in LANGUAGE_MAPPING.items()} | {"thai": "th"}
    return codes.get(language, language)


def _base_language(language: str) -> str:
    """Without a region, in lower case: "EN" and "en-US" are "en"."""
    return str(language).strip().lower().replace("_", "-").partition("-")[0]


def language_name(language: str) -> str:
    """Name of a language by name or ISO code."""
    language = _base_language(language)
    if language in ("english", "none", AUTO):
        return language
    from stop_words import LANGUAGE_MAPPING

    names: dict[str, str] = {**LANGUAGE_MAPPING, "th": "thai"}
    return names.get(language, language)


def _thai_stop_words() -> frozenset[str]:
    os.environ.setdefault("PYTHAINLP_READ_ONLY", "1")  # as in tokenizers.py
    try:
        from pythainlp.corpus import thai_stopwords
    except ImportError:
        return frozenset()  # the owner's own tokenizer needs no package
    return frozenset(thai_stopwords())


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
