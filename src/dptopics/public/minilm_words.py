"""Word vectors distilled from all-MiniLM-L6-v2: the default, without torch and without the model itself."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

# Of words and rows. Releases place their words by this file: another one needs another name.
SHA256 = "9eaef6649cb298c33640b3701f332efb16f82d14574ba21f929a01fefae84938"
WIDTH = 192  # a multiple of eight: a sign for each bit of a hash
_OWN = 2.0  # of an unknown word's vector: how much longer its own direction is than what its parts say
_LONGEST = 20  # letters of a part


@dataclass(frozen=True)
class MiniLMWords:
    """What all-MiniLM-L6-v2 says of each of 42,509 English words and parts of words. Licence: Apache-2.0.

    An unknown word gets the mean of its longest known parts, and a longer direction of its own, from a hash: a name
    that the model has never seen ("jetblue") is no jet and not blue.
    """

    name: str = field(default="minilm-words", init=False)
    of_words: bool = field(default=True, init=False)

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Mean of the vectors of a text's words: each row is added up from that text's words alone."""
        known = _known()
        rows = np.array([known.index.get(text, -1) for text in texts], np.int64)
        found = known.rows[rows].astype(np.float32)  # most texts are single words: all of these at once
        found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-30)
        for row in np.flatnonzero(rows < 0).tolist():
            words = texts[row].lower().split()
            found[row] = np.mean([_vector(word, known) for word in words], axis=0) if words else 0.0
        return found

    def together(self, words: Sequence[str]) -> Floats:
        """The same: a row knows nothing of the others."""
        return self(words)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class Known:
    """Words and parts of words, with a row of a matrix for each."""

    index: dict[str, int]
    rows: NDArray[np.int8]


def is_known(word: str) -> bool:
    """Whether the model was asked for this word, so that its vector says something."""
    return word in _known().index


@lru_cache(maxsize=1)
def _known() -> Known:
    with files("dptopics").joinpath("resources", "minilm_words.npz").open("rb") as file, np.load(file) as stored:
        words = bytes(stored["words"]).decode().split("\n")
        return Known({word: row for row, word in enumerate(words)}, stored["rows"])


def _vector(word: str, known: Known) -> NDArray[np.float64]:
    row = known.index.get(word)
    if row is not None:
        return _unit(known.rows[row].astype(np.float64))
    parts = [_unit(known.rows[part].astype(np.float64)) for part in _parts(word, known.index)]
    said = _unit(np.mean(parts, axis=0)) if parts else np.zeros(WIDTH)
    return _unit(said + _OWN * own_direction(word))


def own_direction(word: str) -> NDArray[np.float64]:
    """A direction that a hash of the word decides: two words' are nearly at right angles. The same on every machine."""
    digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=WIDTH // 8).digest()
    signs = np.unpackbits(np.frombuffer(digest, np.uint8))
    return np.asarray((2.0 * signs - 1) / np.sqrt(WIDTH))


def _parts(word: str, index: dict[str, int]) -> Iterator[int]:
    """From left to right, each as long as possible; signs that no part begins with are left out."""
    start = 0
    while start < len(word):
        for end in range(min(len(word), start + _LONGEST), start, -1):
            if (row := index.get(word[start:end])) is not None:
                yield row
                break
        else:
            end = start + 1
        start = end


def _unit(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    return vector / max(float(np.linalg.norm(vector)), 1e-300)
