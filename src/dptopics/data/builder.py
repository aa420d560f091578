"""From batches of texts and authors to the arrays of a Corpus: raw text is never in memory as a whole."""

import ctypes
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import fields
from functools import cache, partial
from itertools import chain, islice, pairwise
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dptopics.core.errors import InputError, shielded, tell_owner
from dptopics.core.names import (
    PLACEHOLDER_TOLD,
    author_name,
    clean_name,
    is_placeholder,
    missing,
    no_author,
    real_names,
)
from dptopics.core.text import AUTO, INSIDE_WORDS, LETTERS, TextSettings
from dptopics.core.vocabulary import Vocabulary, check_stated
from dptopics.data.bounded import string_keys
from dptopics.data.corpus import Corpus, Embed
from dptopics.kernels.counts import INSIDE, LETTER, count_tokens, cut_words
from dptopics.public.embeddings import check_vectors, embedding

C = TypeVar("C", bound=Corpus)
T = TypeVar("T")
Numbers = tuple[NDArray[np.int32], NDArray[np.int64]]
Cut = tuple[Any, NDArray[np.int64], str]  # words as an Arrow dictionary, words per document, encoding

# Settings about one word at a time, or about the text before it is cut. Any other may be about several words: if one is
# set, texts are cut one by one.
_OF_ONE_WORD = frozenset({"language", "min_length", "max_length", "lemmas", "links", "stop_words"})
# Between documents: neither part of a word nor a letter with case, so that lower-casing stops there.
_SEPARATOR = "\x1c"
_PLANE = 1 << 16  # code points that are classified together
_MOST_SIGNS = 1 << 28  # characters that are cut at once: four bytes each
_PART = 1 << 20  # characters that a thread takes, at most


class NumberedWords:
    """Numbers words in the order of their first use, or as a vocabulary does; words that do not count get none."""

    def __init__(self, text: TextSettings, vocabulary: Vocabulary | None) -> None:
        self.words: dict[str, int] = {} if vocabulary is None else dict(vocabulary.index)
        self._text = text
        self._known = None if vocabulary is None else vocabulary.index
        self._pool = ThreadPoolExecutor(os.cpu_count())
        self._seen: dict[bytes, int] = {}  # words as the kernel gives them; -1: does not count
        others = [one for one in fields(text) if one.name not in _OF_ONE_WORD]
        self._together = text.language != AUTO and all(getattr(text, one.name) == one.default for one in others)

    def begun(self, texts: Sequence[str]) -> Callable[[], Numbers]:
        """Other threads begin to cut. What is returned waits for them: numbers of all words, document after document,
        and how many words each document has, also those that do not count (−1). Call these in the order of texts."""
        if not (self._together and texts):
            return partial(self._one_by_one, texts)
        parts = list(_parts(texts))
        cuts = [self._pool.submit(self._cut, part) for part in parts]

        def numbered() -> Numbers:
            found = [
                self._one_by_one(part) if (cut := waited.result()) is None else self._numbered(*cut)
                for part, waited in zip(parts, cuts, strict=True)
            ]
            return np.concatenate([tokens for tokens, _ in found]), np.concatenate([lengths for _, lengths in found])

        return numbered

    def of_each(self, texts: Sequence[str], work: Callable[..., T]) -> Iterator[T]:
        """``work`` on starts, words of the vocabulary and counts of each run of texts, in threads."""

        def counted(part: Sequence[str]) -> T:
            cut = self._cut(part) if self._together else None
            tokens, lengths = self._one_by_one(part) if cut is None else self._numbered(*cut)
            sizes, word, count = count_tokens(tokens, lengths)
            return work(np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]), word, count)

        with ThreadPoolExecutor(os.cpu_count()) as pool:  # its own: a forked process has no threads of its parent's
            yield from pool.map(counted, _parts(texts))

    def _one_by_one(self, texts: Sequence[str]) -> Numbers:
        tokens: list[int] = []
        lengths: list[int] = []
        for text in texts:
            found = [w for w in self._text.words(text) if self._known is None or w in self._known]
            tokens.extend(self.words.setdefault(word, len(self.words)) for word in found)
            lengths.append(len(found))
        return np.array(tokens, np.int32), np.array(lengths, np.int64)

    def _cut(self, texts: Sequence[str]) -> Cut | None:
        """What each text's words are, by compiled code, which lets other threads work; None if that cannot be."""
        joined, encoding, linked = _SEPARATOR.join([*texts, ""]), "ascii", True
        if joined.isascii():  # in lower case, and whether a sign is there that every link has: other threads go on
            signs = np.frombuffer(joined.encode(), np.uint8)
            signs = signs + ((signs - np.uint8(65) < 26).view(np.uint8) << np.uint8(5))
            a, b, c, d = (signs[i : i - 3 or None] for i in range(4))
            linked = not self._text.links and bool(
                (signs == ord("@")).any()
                or ((a == ord(":")) & (b == ord("/")) & (c == ord("/"))).any()
                or ((a == ord("w")) & (b == ord("w")) & (c == ord("w")) & (d == ord("."))).any()
            )
        if linked:
            joined = _SEPARATOR.join([*map(self._text.plain, texts), ""]).lower()
            encoding, width = ("ascii", np.uint8) if joined.isascii() else ("utf-32-le", np.uint32)
            signs = np.frombuffer(joined.encode(encoding, "surrogatepass"), width)
        if signs.size > _MOST_SIGNS or np.count_nonzero(signs == ord(_SEPARATOR)) != len(texts):
            return None
        kinds = _kinds(1 + int(signs.max()) // _PLANE)
        words, starts, lengths = cut_words(signs, kinds, ord(_SEPARATOR), len(texts), *self._text.lengths)
        buffers = [None, pa.py_buffer(starts * np.int32(words.itemsize)), pa.py_buffer(words)]
        return pa.Array.from_buffers(pa.binary(), starts.size - 1, buffers).dictionary_encode(), lengths, encoding

    def _numbered(self, words: Any, lengths: NDArray[np.int64], encoding: str) -> Numbers:
        found = words.dictionary.to_pylist()
        seen = zip(found, map(self._seen.get, found), strict=True)
        numbers = [self._new(word, encoding) if number is None else number for word, number in seen]
        return np.array(numbers, np.int32)[np.from_dlpack(words.indices)], lengths

    def _new(self, word: bytes, encoding: str) -> int:
        """The number of a new word, or -1. The bytes of a word in one encoding are none of another's."""
        kept = self._text.kept(word.decode(encoding, "surrogatepass"))
        counts = kept is not None and (self._known is None or kept in self._known)
        self._seen[word] = self.words.setdefault(kept, len(self.words)) if kept is not None and counts else -1
        return self._seen[word]


def _parts(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Runs of texts of about the same length, for one thread each."""
    ends = np.cumsum([0, *map(len, texts)])
    cuts = [0, *np.searchsorted(ends, np.linspace(0, ends[-1], 1 + -(-int(ends[-1]) // _PART))), len(texts)]
    yield from (texts[low:high] for low, high in pairwise(np.unique(cuts).tolist()))


class NumberedCells:
    """Documents that already are numbers of cells: each counts once in its cell, or in each of several."""

    def begun(self, cells: Sequence[Any]) -> Callable[[], Numbers]:
        """As :meth:`NumberedWords.begun`."""
        return partial(self._of, cells)

    def _of(self, cells: Sequence[Any]) -> Numbers:
        if cells and isinstance(cells[0], tuple):
            cells = [one[0] if one and isinstance(one[0], tuple) else one for one in cells]
            lengths = np.fromiter(map(len, cells), np.int64, len(cells))
            return np.fromiter(chain.from_iterable(cells), np.int32, int(lengths.sum())), lengths
        return np.array(cells, np.int32), np.ones(len(cells), np.int64)


def numbers_of(documents: Sequence[tuple[Any, float]]) -> NDArray[np.float32]:
    """The numbers of documents that are pairs of their cells and a number."""
    return np.array([[number] for _, number in documents], np.float32)


@cache
def _kinds(planes: int) -> NDArray[np.uint8]:
    """The kind of each code point of so many planes, by the expressions that cut single texts."""
    kinds = np.zeros(planes * _PLANE, np.uint8)
    for first in range(0, kinds.size, _PLANE):
        signs = "".join(map(chr, range(first, first + _PLANE)))
        for pattern, kind in ((INSIDE_WORDS, INSIDE), (LETTERS, LETTER)):
            for found in pattern.finditer(signs):
                kinds[first + found.start() : first + found.end()] = kind
    return kinds


_BATCH_ROWS = 2048
_AHEAD = 1  # batches that are cut, and that are counted, while others are read


class GrowingArray:
    """An array that grows in place: ``resize`` moves pages without copying, so that the peak stays near the size."""

    def __init__(self, dtype: type) -> None:
        self._data: NDArray[Any] = np.empty(1024, dtype)
        self.size = 0

    def extend(self, values: NDArray[Any]) -> None:
        end = self.size + values.size
        if end > self._data.size:
            self._data.resize(max(end, self._data.size * 5 // 4), refcheck=False)
        self._data[self.size : end] = values
        self.size = end

    def finish(self) -> NDArray[Any]:
        """The array, cut to its size; do not use this object afterwards."""
        self._data.resize(self.size, refcheck=False)
        return self._data


class AuthorNumbers(dict[str, int]):
    """The number of each author by clean name, in the order of their first document; −1 for a placeholder."""

    def __init__(self, real: frozenset[str]) -> None:
        super().__init__()
        self._real = real

    def __missing__(self, written: str) -> int:
        name = clean_name(written)
        if name not in self and is_placeholder(name, self._real):
            return -1
        return self.setdefault(name, len(self))


class Builder:
    """Turns batches of texts and authors into the arrays of a Corpus; without ``text``, of cells of the vocabulary."""

    def __init__(
        self,
        text: TextSettings | None,
        *,
        with_authors: bool,
        drop_missing: bool = False,
        author_is: Iterable[str] = (),
        vocabulary: Vocabulary | None = None,
        embed: Embed | None = None,
        valued: bool = False,
    ) -> None:
        check_stated(vocabulary)
        self._text = text
        self._vocabulary = vocabulary  # public words: others are dropped while reading
        self._with_authors = with_authors
        self._drop_missing = drop_missing
        self._real = real_names(author_is)
        self._embed: Any = numbers_of if valued else None if embed is None else embedding(embed)
        self._vectors: list[NDArray[np.float32]] = []
        self._row = self._blank = 0
        self._pool = ThreadPoolExecutor(os.cpu_count())
        self._cut: deque[tuple[Sequence[Any], Callable[[], Numbers]]] = deque()
        self._counted: deque[tuple[Sequence[Any], Future[Any]]] = deque()
        self._words: Any = NumberedCells() if text is None else NumberedWords(text, vocabulary)
        self._kind: tuple[type, ...] = (int, tuple) if text is None else (str,)
        self._authors = AuthorNumbers(self._real)
        self._sizes = GrowingArray(np.int64)
        self._word = GrowingArray(np.int32)
        self._count = GrowingArray(np.int32)
        self._author = GrowingArray(np.int32)

    def add_all(self, texts: Iterable[str], authors: Iterable[str | int] | None) -> None:
        """Add any iterables, in batches."""
        if isinstance(texts, str):
            raise InputError("texts must be a list of strings, one per document, got a single string.")
        if hasattr(texts, "columns") or isinstance(texts, Mapping):
            raise InputError(
                f"texts must be a list or one column of strings, got {type(texts).__name__}. For a table, name its "
                "columns: Corpus.from_table(table, text=…, author=…)."
            )
        texts, authors = as_list(texts), as_list(authors)
        check_authors(authors)
        texts, author_iterator = _stream(texts), None if authors is None else _stream(authors)
        while batch := _next(texts, _BATCH_ROWS):
            names = None if author_iterator is None else _next(author_iterator, len(batch))
            if names is not None and len(names) < len(batch):
                raise InputError("there are fewer authors than texts. Give one author for each text.")
            self.add(batch, names)
        nothing = object()
        if author_iterator is not None and next(author_iterator, nothing) is not nothing:
            raise InputError("there are more authors than texts. Give one author for each text.")

    def add(self, texts: Sequence[str | int | None], authors: Sequence[str | int | None] | None) -> None:
        """Add a batch of documents: texts, or numbers of cells."""
        kept: Sequence[Any] = texts
        numbers: list[int] = [-1]
        if set(map(type, texts)).issubset(self._kind) and (authors is None or set(map(type, authors)) == {str}):
            numbers = [] if authors is None else list(map(self._authors.__getitem__, cast(Sequence[str], authors)))
        if -1 in numbers:
            kept, numbers = self._whole(texts, authors)
        self._row += len(texts)
        self._author.extend(np.array(numbers, np.int32))
        if self._embed is not None and kept:
            self._vectors.append(check_vectors(self._embed(kept), len(kept)))
        self._cut.append((kept, self._words.begun(kept)))
        self._take(_AHEAD)

    def _take(self, left: int) -> None:
        """Number and add the words of all batches but so many, which other threads still cut and count."""
        while len(self._cut) > left:
            kept, numbered = self._cut.popleft()
            self._counted.append((kept, self._pool.submit(count_tokens, *numbered())))
            del numbered  # holds what was cut
        while len(self._counted) > left:
            kept, counted = self._counted.popleft()
            sizes, word, count = counted.result()
            without = [kept[i] for i in np.flatnonzero(sizes == 0).tolist()]
            self._blank += sum(isinstance(text, str) and not text.strip() for text in without)
            self._sizes.extend(sizes)
            self._word.extend(word)
            self._count.extend(count)

    def _whole(self, texts: Sequence[Any], authors: Sequence[Any] | None) -> tuple[list[Any], list[int]]:
        """The complete rows among others, and their authors."""
        kept: list[Any] = []
        numbers: list[int] = []
        for i, text in enumerate(texts):
            row = self._row + i + 1
            if self._is_whole(text, authors, i, row):
                kept.append(text)
                if authors is not None:
                    numbers.append(self._authors[author_name(authors[i], row, self._real)])
        return kept, numbers

    def _is_whole(self, text: object, authors: Sequence[object] | None, i: int, row: int) -> bool:
        """Whether a row is complete; an incomplete one is refused unless such rows are dropped."""
        lacking = self._lacking(text, authors, i)
        if lacking and not self._drop_missing:
            raise InputError(
                f"row {row} has no {lacking}. Fill it in, or drop such rows with drop_missing=True (--drop-missing)."
            )
        if not lacking and not isinstance(text, self._kind):
            raise InputError(f"row {row}: a text must be a string, got {type(text).__name__}. Convert the column.")
        return not lacking

    def _lacking(self, text: object, authors: Sequence[object] | None, i: int) -> str:
        """What row i lacks: its text, its author or (empty) nothing."""
        if missing(text):
            return "text"
        return f"author{PLACEHOLDER_TOLD}" if authors is not None and no_author(authors[i], self._real) else ""

    def build(self, kind: type[C]) -> C:
        return self.build_named(kind)[0]

    def build_named(self, kind: type[C]) -> tuple[C, list[str]]:
        """The corpus and its authors' names. An empty one is accepted: its owner is told, its releases are noise."""
        self._take(0)
        tell_if_empty(self._row, self._sizes.size, self._word.size, self._text, self._vocabulary)
        made = self.arrays(kind)
        _give_back()
        return made

    def arrays(self, kind: type[C]) -> tuple[C, list[str]]:
        """The same for a part of a corpus, which may be empty."""
        self._take(0)
        words: Sequence[str] = list(self._words.words) if self._vocabulary is None else self._vocabulary.words
        sizes = self._sizes.finish()
        names, author, author_key = numbered_authors(list(self._authors), self._author.finish())
        corpus = kind(
            doc_start=np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]),
            word=self._word.finish(),
            count=self._count.finish(),
            words=words,
            author=author if self._with_authors else None,
            author_key=author_key if self._with_authors else None,
            vocabulary=self._vocabulary,
            text=self._text,
            vectors=None if self._embed is None else np.concatenate(self._vectors or [np.zeros((0, 0), np.float32)]),
            left_out=self._row - sizes.size,
            blank=self._blank,
            assumptions=() if self._text is None else self._text.assumptions,
        )
        return corpus, names


def _give_back() -> None:
    """Return what reading needed and has freed to the system: what follows needs as much again."""
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)


def tell_if_empty(
    n_rows: int, n_documents: int, n_entries: int, text: TextSettings | None, vocabulary: Vocabulary | None
) -> None:
    """Tell the owner if no words are left, and why. A refusal would reveal for free that nobody wrote a listed word."""
    if n_entries:
        return
    if not n_rows:
        why = "the data holds no documents. Check the file and the name of the text column."
    elif not n_documents:
        why = "no rows are left after those without text or author were dropped."
    elif vocabulary is not None:
        why = (
            "none of the listed words or n-grams occurs in the data. Check the language, the text column and the "
            "number of words per n-gram, or use another public list."
        )
    elif text is not None and text.ngrams > 1:
        why = f"no sentence is long enough for n-grams of {text.ngrams} words. Use shorter ones."
    else:
        why = "no words are left in any document after tokenizing. Check the text column and the language."
    tell_owner(
        f"{why} A release will be noise alone, and will be charged: a refusal would reveal that nothing is there."
    )


_UNREAD = "texts or authors cannot be read", "Give lists of strings."


def _stream(values: Iterable[T]) -> Iterator[T]:
    return shielded(lambda: iter(values), *_UNREAD)


def _next(values: Iterator[T], n: int) -> list[T]:
    """The next n values of a stream, perhaps the owner's own, whose exceptions may quote data."""
    return shielded(lambda: list(islice(values, n)), *_UNREAD)


def as_list(values: T) -> T:
    """A list of an Arrow column, whose items are not strings themselves; other values as they are."""
    listed: Any = getattr(values, "to_pylist", None)
    return values if listed is None or hasattr(values, "column_names") else shielded(listed, *_UNREAD)


def check_authors(authors: object) -> None:
    """Refuse a string, which would pass for one-letter authors, and a frame, which would pass for its columns."""
    if isinstance(authors, str):
        raise InputError("authors must be a list, one per document, got a single string.")
    if hasattr(authors, "columns") or isinstance(authors, Mapping):
        raise InputError(f"authors must be a list or one column, one per document, got {type(authors).__name__}.")


def numbered_authors(
    names: list[str], numbers: NDArray[np.int32]
) -> tuple[list[str], NDArray[np.int32], NDArray[np.uint64]]:
    """The authors' names, the author of each document and the key of each name.

    Authors whose names share a key are numbered in the order of their names, whatever the order of rows.
    """
    keys = string_keys(names)
    if np.diff(np.sort(keys)).all():
        return names, numbers, keys
    order = np.array(sorted(range(len(names)), key=names.__getitem__))
    place = np.empty(order.size, np.int32)
    place[order] = np.arange(order.size, dtype=np.int32)
    return [names[i] for i in order.tolist()], place[numbers], keys[order]
