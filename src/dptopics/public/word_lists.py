"""Lists that were public before: how their files are read, and what cannot be one.

A public list is published as it is. Nobody can prove that a list is public, but private text taken for one is easily
seen: it is the data's own file, a table, or full of entries that no text is ever split into.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from unicodedata import normalize

from dptopics.core.errors import InputError
from dptopics.core.files import read_list, unpacked
from dptopics.core.text import TextSettings
from dptopics.core.vocabulary import Vocabulary

_CHUNK = 1 << 20


def read_words(path: str | Path) -> Vocabulary:
    """A word list, one word per line."""
    # Written as texts are read (see TextSettings.words), or an accent in two pieces would match nothing.
    lines = read_list(path, "word list")
    words = [w for line in lines if (w := normalize("NFKC", line).strip().lower())]
    if not words:
        raise InputError(f"the word list {Path(path).name!r} is empty. Put one word on each line.")
    check_entries(words, TextSettings())
    return Vocabulary.of(words)


def read_seed_words(path: str | Path) -> tuple[tuple[str, ...], ...]:
    """Public words of the topics that are wanted: one topic on each line, its words with blanks or commas between."""
    lines = read_list(path, "list of seed words")
    rows = [tuple(normalize("NFKC", line).lower().replace(",", " ").split()) for line in lines]
    if not any(rows):
        raise InputError(f"the list of seed words {Path(path).name!r} is empty. Put the words of one topic on a line.")
    return tuple(row for row in rows if row)


def read_stop_words(path: str | Path, text: TextSettings) -> tuple[str, ...]:
    """Words to leave out, one on each line. They are published with the settings of the release."""
    words = [w for line in read_list(path, "list of stop words") if (w := normalize("NFKC", line).strip().lower())]
    if not words:
        raise InputError(f"the list of stop words {Path(path).name!r} is empty. Put one word on each line.")
    check_entries(words, text)
    return tuple(words)


def check_entries(entries: Sequence[str], text: TextSettings) -> None:
    """Refuse entries that texts can never be split into. Says how many, never which: they may be private text."""
    wrong = sum(not text.could_give(entry) for entry in entries)
    if not wrong:
        return
    form = "a single word in lower case: letters, then letters and digits"
    if text.ngrams > 1:
        form = f"{text.ngrams} words in lower case with a blank between (a sentence begins with <s>, ends with </s>)"
    raise InputError(
        f"{wrong:,} of the {len(entries):,} entries of the public list cannot come out of a text, and the list is "
        f"published as it is. Is it a table, or private text? Each entry must be {form}, without other signs. Take the "
        "others out."
    )


def is_file(path: str | Path) -> bool:
    """Whether there is such a file; False also for what can be no path."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def check_not_the_data(path: str | Path | None, source: str | Path | None) -> None:
    """Refuse the private table, a link to it, a copy of it or a part of its folder as something public."""
    if path is None or source is None or not is_file(path) or not Path(source).exists():
        return
    public, private = Path(path), Path(source)
    inside = private.is_dir() and private.resolve() in public.resolve().parents
    if inside or os.path.samefile(public, private) or (private.is_file() and _same_bytes(public, private)):
        raise InputError(
            f"{public.name!r} is the private table itself. What is given as public is published without noise: give "
            "something that was public before."
        )


def _same_bytes(one: Path, other: Path) -> bool:
    """Whether two files hold the same, unpacked."""
    try:
        with unpacked(one) as (first, _), unpacked(other) as (second, _):
            while chunk := first.read(_CHUNK):
                if chunk != second.read(_CHUNK):
                    return False
            return not second.read(1)
    except Exception:
        return False  # whoever reads the file says what is wrong with it
