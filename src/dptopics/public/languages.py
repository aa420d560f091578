"""What differs from language to language: lengths of words, how they are cut, and which language texts look like."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

import regex

if TYPE_CHECKING:  # the command line answers --help before NumPy is there
    import numpy as np
    from numpy.typing import NDArray

# Letters of the shortest and longest words kept. Below: words of one letter, or of two, are mostly particles; above:
# addresses and keys. Of the 30,000 most frequent words in wordfreq, 1 in 10,000 at most is longer.
_USUAL = (3, 22)
_LENGTHS = {
    "english": (3, 15),
    "none": (3, 30),
    "auto": (1, 40),  # those of each text's own language hold
    **dict.fromkeys(("danish", "dutch", "finnish", "german", "norwegian", "swedish"), (3, 30)),
    **dict.fromkeys(("arabic", "gujarati", "hebrew", "hindi", "korean", "persian", "vietnamese"), (2, 22)),
    **dict.fromkeys(("chinese", "japanese"), (2, 15)),
    "thai": (2, 30),
}
_NO_BLANKS = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")
_MOST_WORDS = 1000  # that a guess is made from
_GUESSED, _SHORTEST = 1000, 16  # signs of a text that its language is told by, at most and at least
_SURE = 10.0  # nats by which another language must fit better: kin such as Spanish and Galician lie within


def usual_lengths(language: str) -> tuple[int, int]:
    """Letters of the shortest and the longest word kept in a language."""
    return _LENGTHS.get(language, _USUAL)


def without_blanks(words: Sequence[str], counts: "NDArray[np.int64]") -> bool:
    """Whether most words are of scripts that put no blanks between words: they are sentences, then."""
    import numpy as np

    there = np.fromiter((_NO_BLANKS.search(word) is not None for word in words), bool, len(words))
    return bool(2 * counts[there].sum() > counts.sum())


def another_language(words: Sequence[str], counts: "NDArray[np.int64]", code: str) -> str | None:
    """The code of the language that the most frequent words look like, if it is surely another than ``code``.

    None as well where :func:`identifies` is false.
    """
    if not identifies(code):
        return None
    import numpy as np

    most = np.argsort(-counts, kind="stable")[:_MOST_WORDS]
    scores = _scores(" ".join(words[i] for i in most))
    best = max(scores, key=scores.__getitem__)
    return best if scores[best] - scores[code] > _SURE else None


def guessed(text: str) -> str:
    """The code of the language that one text looks like, by a fixed public rule of that text alone; "" if too short.

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
