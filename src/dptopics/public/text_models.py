"""Public models of whole texts. Private texts are embedded one at a time.

A model that pads a batch to its longest text rounds differently beside other texts: one author more or less would move
the vectors of everybody in the batch, and a bounded sum by more than its bound. So each private text gets a call of its
own, or a place in a batch of fixed shape (:mod:`dptopics.public.shapes`). Only public words are embedded together.
"""

import os
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dptopics.core import progress
from dptopics.core.errors import InputError, PrivacyError, shielded, tell_owner

Floats = NDArray[np.float32]
_BATCH = 256
_PROBES = ("word", "A few words.", "A sentence that is longer than the others, to be read between two looks at them.")


class Embedding(Protocol):
    """A public model. ``of_words`` says whether a document is the mean of its words, so that counts are enough."""

    @property
    def name(self) -> str:
        """What a reader of the release needs to get the same model."""

    @property
    def of_words(self) -> bool:
        """Whether documents are embedded through their words alone."""

    def __hash__(self) -> int:
        """Models of one name are one."""

    def __call__(self, texts: Sequence[str]) -> Floats:
        """A vector for each text, a function of that text alone: this is for private texts."""

    def together(self, words: Sequence[str]) -> Floats:
        """A vector for each of many public words, which may move each other's last digits: this is fast."""


@dataclass(frozen=True)
class TextModel:
    """Any callable, or any model with ``encode`` (sentence-transformers, model2vec), called with one text at a time.

    >>> TextModel("lengths", lambda texts: [[len(max(texts, key=len))] for text in texts])(["a", "word"]).tolist()
    [[1.0], [4.0]]
    """

    name: str
    encode: Callable[..., Any] = field(repr=False, compare=False)
    of_words: bool = field(default=False, init=False)

    @property
    def how(self) -> str:
        """What decides the last digits of its vectors, beside the text; empty if each text has a call of its own."""
        return ""

    def __call__(self, texts: Sequence[str]) -> Floats:
        """The model's vectors, each from a call of its own; equal texts share one."""
        found: dict[str, Floats] = {}
        for number, text in enumerate(texts, start=1):
            if text not in found:
                found[text] = self.vectors([text])
            if number % _BATCH == 0:
                progress.report(number / len(texts))
        return joined([found[text] for text in texts])

    def together(self, words: Sequence[str]) -> Floats:
        """The model's vectors of public words, in batches."""
        return joined([self.vectors(list(words[i : i + _BATCH])) for i in range(0, len(words), _BATCH)])

    def vectors(self, texts: Sequence[Any], *shape: int) -> Floats:
        """The model's answer to one call."""
        call, told = partial(self.encode, texts, *shape), f"{self.name} cannot embed a text"
        return check_vectors(shielded(call, told, "Try the model on public texts."), len(texts))

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class CachedModel:
    """A model that remembers vectors in a file, see :func:`cached`. Public words and private texts are kept apart."""

    model: Embedding
    store: sqlite3.Connection = field(repr=False, compare=False)

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def of_words(self) -> bool:
        return self.model.of_words

    @property
    def how(self) -> str:
        return getattr(self.model, "how", "")

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Vectors of texts that were embedded one at a time, now or before."""
        return self._remembered("alone", self.model, texts)

    def together(self, words: Sequence[str]) -> Floats:
        return self._remembered("together", self.model.together, words)

    def _remembered(self, how: str, model: Callable[[Sequence[str]], Floats], texts: Sequence[str]) -> Floats:
        # How a vector was made is part of its key: one from a batch must never pass for one made alone.
        how += self.how
        keys = {
            text: blake2b(f"{how}\0{self.name}\0{text}".encode("utf-8", "surrogatepass")).digest() for text in texts
        }
        found = {text: self._recall(key) for text, key in keys.items()}
        missing = [text for text, vector in found.items() if vector is None]
        if missing:
            found |= dict(zip(missing, model(missing)[:, None], strict=True))
            rows = [(keys[text], np.asarray(found[text]).tobytes()) for text in missing]
            with self.store:
                self.store.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
        return joined([vector for text in texts if (vector := found[text]) is not None])

    def _recall(self, key: bytes) -> Floats | None:
        row = self.store.execute("SELECT vector FROM vectors WHERE key = ?", (key,)).fetchone()
        return None if row is None else np.frombuffer(row[0], np.float32)[None]

    def __str__(self) -> str:
        return self.name


def cached(model: Embedding, path: str | Path) -> CachedModel:
    """The same model, remembering vectors in a file. It holds private data: only its owner can read it (mode 600).

    Texts are found by a hash of text and model; the texts themselves are not written.
    """
    path = Path(path)
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    elif path.stat().st_mode & 0o077:
        raise InputError(f"others can read the cache {str(path)!r}, and it holds private data. Run: chmod 600 {path}")
    store = sqlite3.connect(path, check_same_thread=False)
    try:
        store.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB)")
    except sqlite3.DatabaseError:
        raise InputError(f"{str(path)!r} is not a cache of embeddings. Choose another file.") from None
    return CachedModel(model, store)


def check_vectors(vectors: Any, n: int) -> Floats:
    """n rows of finite numbers, or an error that says what is wrong with their form."""
    rule = "embeddings must be a matrix of numbers, one row for each document"
    array = shielded(lambda: np.asarray(vectors, np.float32), rule, "Embed the documents again.")
    if n == 0 and array.size == 0:
        return array.reshape(0, array.shape[1] if array.ndim == 2 else 0)
    if array.ndim != 2 or array.shape[0] != n or array.shape[1] == 0:
        raise InputError(
            f"embeddings must have one row for each document: {n} rows are needed, got shape {array.shape}."
        )
    wrong = np.asarray(~np.isfinite(array).all(axis=1))
    if wrong.any():  # not refused: whose text the model cannot read would be told for free
        tell_owner(f"the vectors of {wrong.sum():,} documents hold NaN or infinite numbers: zeros were taken for them.")
        array = np.where(wrong[:, None], np.float32(0), array)
    return array


def check_repeatable(model: Embedding) -> None:
    """Refuse a model that gives one text two vectors: by what it read before, or by chance. Looks at public texts.

    It can refuse, not prove: a model may keep its state from these few.
    """
    model = model.model if isinstance(model, CachedModel) else model
    if not np.array_equal(model(_PROBES), model(_PROBES[::-1])[::-1]):
        raise PrivacyError(
            f"{model.name} gives the same text different vectors, so that one document's vector may depend on others. "
            "Switch off what is random or remembers (dropout, training mode), or use another model."
        )


def joined(parts: list[Floats]) -> Floats:
    """Rows of vectors of one length, as one matrix."""
    if len({part.shape[1] for part in parts}) > 1:
        raise InputError("the embeddings differ in length. Embed all documents with one model.")
    return np.concatenate(parts) if parts else np.empty((0, 1), np.float32)
