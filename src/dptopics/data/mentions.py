"""Which texts mention which words and phrases, and which match a pattern: by Arrow, in time linear in the text.

A phrase is mentioned where its words follow one another, whole, whatever their case and what stands between them.
``insulin*`` stands for all words that begin so. In scripts without blanks between words a phrase may stand anywhere.
"""

from collections.abc import Sequence
from time import thread_time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dptopics.core.errors import InputError
from dptopics.core.text import NO_BLANKS

_BETWEEN = r"[^\pL\pN\pM]+"
_SLOWEST = 1.0  # processor seconds that a pattern may take for the invented text: most take some hundredths
_INVENTED = "".join(f"{chr(97 + i * 7 % 26)}{' .-@'[i % 4]}{i}aaaa" for i in range(20_000))


def arrow_texts(texts: Sequence[str]) -> Any:
    """Texts for Arrow; what is no valid Unicode is replaced."""
    try:
        return pa.array(texts, pa.large_string())
    except (UnicodeEncodeError, pa.ArrowInvalid):
        return pa.array([text.encode("utf-8", "replace").decode() for text in texts], pa.large_string())


def check_pattern(pattern: str) -> None:
    """Refuse a pattern that Arrow's engine (RE2: linear time, no look-around) cannot read, or is slow at."""
    pc.match_substring_regex(pa.array(["a"]), "a")  # the first call loads the engine
    start = thread_time()
    try:
        pc.match_substring_regex(pa.array([_INVENTED, ""], pa.large_string()), pattern)
    except pa.ArrowInvalid as error:
        raise InputError(
            f"the regular expression {pattern!r} cannot be used: {error}. RE2's syntax has no look-around and no "
            "references back."
        ) from None
    if thread_time() - start > _SLOWEST:
        raise InputError(f"the regular expression {pattern!r} takes too long on invented text. Simplify it.")


def matches(pattern: str, texts: Sequence[str]) -> NDArray[np.bool_]:
    """Which texts match."""
    found = pc.match_substring_regex(arrow_texts(texts), pattern)
    return np.asarray(found.to_numpy(zero_copy_only=False), np.bool_)


def _plain(texts: Any) -> Any:
    if pc.all(pc.string_is_ascii(texts)).as_py():  # the same, faster
        return pc.ascii_lower(texts)
    return pc.utf8_lower(pc.utf8_normalize(texts, form="NFKC"))


class Mentions:
    """Looks for many phrases at once: each text is cut into words once."""

    def __init__(self, phrases: Sequence[str]) -> None:
        plain = _plain(pa.array([*phrases, ""], pa.large_string())).to_pylist()[:-1]
        self._anywhere = {i: one for i, one in enumerate(plain) if NO_BLANKS.search(one)}
        marked = [one.rstrip().endswith("*") for one in plain]
        self._phrases = [self._words(one) for one in plain]
        self._ends = [f"{words[-1]}*" if star else words[-1] for words, star in zip(self._phrases, marked, strict=True)]

    @staticmethod
    def _words(plain: str) -> list[str]:
        return [word for word in pc.split_pattern_regex(pa.scalar(plain), _BETWEEN).as_py() if word]

    def __call__(self, texts: Sequence[str]) -> NDArray[np.bool_]:
        """[text, phrase]: each text by itself."""
        plain = _plain(arrow_texts(texts))
        cut = pc.split_pattern_regex(plain, _BETWEEN)
        words = cut.flatten().dictionary_encode()
        code = words.indices.to_numpy()
        order = np.argsort(code, kind="stable")
        ranked, text = code[order], np.repeat(np.arange(len(texts)), np.diff(cut.offsets.to_numpy()))
        known = {word: number for number, word in enumerate(words.dictionary.to_pylist())}
        found = np.zeros((len(texts), len(self._phrases)), np.bool_)

        def places(word: str) -> NDArray[np.int64]:
            begins = word.endswith("*")
            like = [n for w, n in known.items() if w.startswith(word[:-1])] if begins else [known.get(word, -1)]
            spans = [order[slice(*np.searchsorted(ranked, [n, n + 1]))] for n in like]
            return np.sort(np.concatenate([np.zeros(0, np.int64), *spans]))

        for i, (phrase, end) in enumerate(zip(self._phrases, self._ends, strict=True)):
            if i in self._anywhere:
                found[:, i] = pc.match_substring(plain, self._anywhere[i]).to_numpy(zero_copy_only=False)
                continue
            last = places(end)
            for back, word in enumerate(reversed(phrase[:-1]), start=1):
                before = last - back
                last = last[(before >= 0) & np.isin(before, places(word))]
            last = last[last >= len(phrase) - 1]
            last = last[text[last] == text[last - len(phrase) + 1]]
            found[text[last], i] = True
        return found
