"""Word vectors of all-MiniLM-L6-v2: the model is asked for each word alone, and its answers are kept in bytes.

    python benchmarks/minilm_words.py     # minutes; needs the extra minilm, wordsegment, Debian's wamerican-large

Words: the 36,000 most frequent of the package ``wordsegment`` (Apache-2.0) that are in the word list SCOWL or a whole
piece of the model's tokenizer; these pieces, by which other words are put together; and those of the public atlas.
192 principal axes of the first. Written to src/dptopics/resources/minilm_words.npz. Beside it atlas_minilm.npz: the
texts of the atlas, each embedded as a whole.
"""

import re
from hashlib import sha256
from itertools import islice
from pathlib import Path

import numpy as np
import wordsegment

from dptopics import TextSettings
from dptopics.public import minilm
from dptopics.public.atlas import shipped
from dptopics.public.embeddings import MiniLM, unit
from dptopics.public.minilm_words import WIDTH

TARGET = Path(__file__).parents[1] / "src" / "dptopics" / "resources" / "minilm_words.npz"
PLAIN = re.compile("[a-z0-9]+")
DICTIONARY, N_WORDS = Path("/usr/share/dict/american-english-large"), 36_000


def frequent(pieces: set[str]) -> list[str]:
    """Most frequent first, each as the reader gives it."""
    text, known = TextSettings(), {line.strip().lower() for line in DICTIONARY.open(encoding="utf-8")} | pieces
    with (Path(wordsegment.__file__).parent / "unigrams.txt").open(encoding="utf-8") as lines:
        read = dict.fromkeys(word for line in lines for word in text.words(line.split("\t")[0]))
    return list(islice((word for word in read if word in known), N_WORDS))


def in_bytes(vectors: np.ndarray) -> np.ndarray:
    """Each row's direction."""
    return np.round(127 * vectors / np.abs(vectors).max(axis=1, keepdims=True)).astype(np.int8)


def main() -> None:
    model = MiniLM()
    tokens = set(minilm.loaded(None, False)[0].get_vocab())
    common, pieces = frequent(tokens), {piece.removeprefix("##") for piece in tokens}
    words = [*common, *sorted({piece for piece in pieces if PLAIN.fullmatch(piece)} - set(common))]
    words = list(dict.fromkeys([*words, *sorted(shipped("english").listed_words(TextSettings()))]))
    vectors = unit(model.together(words).astype(np.float64))
    away = vectors[: len(common)] - vectors[: len(common)].mean(axis=0)
    axes = np.linalg.eigh(away.T @ away)[1][:, ::-1][:, :WIDTH]
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(WIDTH)])  # the same on every machine
    listed = np.frombuffer("\n".join(words).encode(), np.uint8)
    np.savez_compressed(TARGET, words=listed, rows=in_bytes(vectors @ axes), projection=axes.astype(np.float32))
    print(len(words), "words,", TARGET.stat().st_size, "bytes")
    texts = [one for theme in shipped("english").themes for one in theme.texts]
    name = np.frombuffer(sha256("\n".join(texts).encode()).digest(), np.uint8)
    np.savez_compressed(
        TARGET.with_name("atlas_minilm.npz"), texts=name, rows=in_bytes(unit(model(texts).astype(float)))
    )


if __name__ == "__main__":
    main()
