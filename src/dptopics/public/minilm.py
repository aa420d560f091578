"""all-MiniLM-L6-v2, a sentence model under the Apache-2.0 licence, without torch.

A text's vector is the same to the last bit whatever texts are embedded beside it: texts lie one after the other without
padding, and every sum is a text's own, in a fixed order (`dptopics.kernels.transformer`).
"""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dptopics.core import progress
from dptopics.core.errors import InputError
from dptopics.kernels import transformer as kernel
from dptopics.kernels.tiles import COLUMNS
from dptopics.public import minilm_files
from dptopics.public.text_models import Floats

LONGEST = 256  # tokens of a text, [CLS] and [SEP] among them; the rest is not read (the model's own limit)
WIDTH, LAYERS = 384, 6
_ROWS = 128  # tokens that are worked on together: their rows stay in the cache of one core
_TEXTS = 1024  # that are turned into tokens together
Tokens = NDArray[np.int32]


class Linear(Protocol):
    """Rows times a matrix, plus a bias."""

    def __call__(self, x: Floats, n: int) -> Floats:
        """For the first n rows."""
        ...


@dataclass(frozen=True, eq=False)
class FloatLinear:
    """In float32."""

    columns: Floats
    bias: Floats

    @classmethod
    def of(cls, matrix: Floats, bias: Floats) -> "FloatLinear":
        """From a matrix of outputs × inputs."""
        return cls(packed_floats(matrix), np.ascontiguousarray(bias))

    def __call__(self, x: Floats, n: int) -> Floats:
        """For the first n rows."""
        return kernel.linear(x, n, self.columns, self.bias)


@dataclass(frozen=True, eq=False)
class Norm:
    """Gain and shift of a layer's normalisation."""

    gain: Floats
    shift: Floats


@dataclass(frozen=True, eq=False)
class Layer:
    """Attention, and the two steps after it."""

    qkv: Linear
    mixed: Linear
    mixed_norm: Norm
    up: Linear
    down: Linear
    down_norm: Norm

    def __call__(self, x: Floats, start: NDArray[np.int64]) -> None:
        """Change the rows of the texts in place."""
        n = int(start[-1])
        context = kernel.attention(self.qkv(x, n), start)
        kernel.add_and_normalise(x, self.mixed(context, n), n, self.mixed_norm.gain, self.mixed_norm.shift)
        wide = self.up(x, n)
        kernel.gelu(wide, n)
        kernel.add_and_normalise(x, self.down(wide, n), n, self.down_norm.gain, self.down_norm.shift)


@dataclass(frozen=True, eq=False)
class Network:
    """The whole model: from tokens to a unit vector for each text."""

    words: Floats
    places: Floats
    norm: Norm
    layers: tuple[Layer, ...]

    def __call__(self, texts: Sequence[Tokens]) -> Floats:
        """Vectors of texts that are worked on together."""
        start = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)
        place = np.concatenate([np.arange(len(text), dtype=np.int32) for text in texts])
        x = kernel.embed(np.concatenate(texts), place, self.words, self.places, self.norm.gain, self.norm.shift)
        for layer in self.layers:
            layer(x, start)
        return kernel.means(x, start)


@dataclass(frozen=True)
class MiniLM:
    """all-MiniLM-L6-v2 of whole texts: English, 384 numbers, at most 256 tokens of a text. Licence: Apache-2.0.

    Files: those of the extra ``minilm``, or in ``folder``; their SHA-256 is checked. A text without words (blank, or
    of signs that the model drops) is a row of zeros.
    """

    folder: str | None = field(default=None, compare=False, repr=False)
    name: str = field(default="minilm", init=False)
    of_words: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        _tokenizer(self.folder)  # fail now if files are missing or changed
        self.network()

    def network(self) -> Network:
        """In float32."""
        return float_network(self.folder)

    def __call__(self, texts: Sequence[str]) -> Floats:
        """A vector for each text, a function of that text alone, to the last bit."""
        network, found, made = self.network(), np.zeros((len(texts), WIDTH), np.float32), dict[bytes, Floats]()
        with ExitStack() as held:
            # no pool for what is done at once: a pool costs more than a word
            spread = map if len(texts) == 1 else held.enter_context(ThreadPoolExecutor(os.cpu_count())).map
            for first in range(0, len(texts), _TEXTS):
                ids = tokens(self.folder, texts[first : first + _TEXTS])
                new = {row.tobytes(): row for row in ids if len(row) > 2}
                parts = list(_parts([row for key, row in new.items() if key not in made]))
                for part, vectors in zip(parts, spread(network, parts), strict=True):
                    made |= {row.tobytes(): vector for row, vector in zip(part, vectors, strict=True)}
                for i, row in enumerate(ids, start=first):
                    if len(row) > 2:
                        found[i] = made[row.tobytes()]
                progress.report(min(first + _TEXTS, len(texts)) / max(len(texts), 1))
        return found

    def together(self, words: Sequence[str]) -> Floats:
        """The same: a row knows nothing of the others."""
        return self(words)

    def __str__(self) -> str:
        return self.name


def _parts(texts: Sequence[Tokens]) -> Iterator[list[Tokens]]:
    """Texts that are worked on together, in their order."""
    part: list[Tokens] = []
    size = 0
    for text in texts:
        if part and size + len(text) > _ROWS:
            yield part
            part, size = [], 0
        part.append(text)
        size += len(text)
    if part:
        yield part


def tokens(folder: str | None, texts: Sequence[str]) -> list[Tokens]:
    """Numbers of each text's word pieces, between [CLS] and [SEP]."""
    # a lone surrogate is no text: it becomes a sign that the model knows nothing of
    clean = [text.encode("utf-8", "replace").decode() for text in texts]
    return [np.array(row.ids, np.int32) for row in _tokenizer(folder).encode_batch_fast(clean)]


@lru_cache(maxsize=1)
def _tokenizer(folder: str | None) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise InputError(f"minilm needs extra packages. {minilm_files.EXTRA}") from None
    tokenizer = Tokenizer.from_buffer(minilm_files.read(_place(folder), "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST)
    return tokenizer


@lru_cache(maxsize=1)
def weights(folder: str | None) -> dict[str, Floats]:
    """The model's own arrays by their names; the query's are divided by √32, as attention needs them."""
    try:
        from safetensors.numpy import load
    except ImportError:
        raise InputError(f"minilm needs extra packages. {minilm_files.EXTRA}") from None
    found: dict[str, Floats] = load(minilm_files.read(_place(folder), "model.safetensors"))
    for name in found:
        if ".query." in name:
            found[name] = found[name] / np.float32(np.sqrt(kernel.HEAD))
    return found


@lru_cache(maxsize=1)
def float_network(folder: str | None) -> Network:
    """The network in float32."""
    found = weights(folder)
    return network_of(found, lambda name, matrix, bias: FloatLinear.of(matrix, bias))


def network_of(found: dict[str, Floats], linear: Any) -> Network:
    """A network from the model's arrays; ``linear(name, matrix, bias)`` makes its products."""

    def norm(name: str) -> Norm:
        return Norm(found[f"{name}.LayerNorm.weight"], found[f"{name}.LayerNorm.bias"])

    def layer(i: int) -> Layer:
        at = f"encoder.layer.{i}"
        three = [f"{at}.attention.self.{part}" for part in ("query", "key", "value")]

        def product(name: str, *parts: str) -> Linear:
            matrix, bias = (np.concatenate([found[f"{part}.{kind}"] for part in parts]) for kind in ("weight", "bias"))
            made: Linear = linear(f"{name}.{i}", matrix, bias)
            return made

        return Layer(
            qkv=product("qkv", *three),
            mixed=product("mixed", f"{at}.attention.output.dense"),
            mixed_norm=norm(f"{at}.attention.output"),
            up=product("up", f"{at}.intermediate.dense"),
            down=product("down", f"{at}.output.dense"),
            down_norm=norm(f"{at}.output"),
        )

    # every token is of the first kind (there are no second sentences): its vector is added to those of the places
    places = found["embeddings.position_embeddings.weight"] + found["embeddings.token_type_embeddings.weight"][0]
    words = found["embeddings.word_embeddings.weight"]
    return Network(words, places, norm("embeddings"), tuple(layer(i) for i in range(LAYERS)))


def packed_floats(matrix: Floats) -> Floats:
    """Outputs × inputs, in panels of 16 outputs: for each input its 16 numbers side by side."""
    outputs, inputs = matrix.shape
    return np.ascontiguousarray(matrix.reshape(outputs // COLUMNS, COLUMNS, inputs).transpose(0, 2, 1)).ravel()


def _place(folder: str | None) -> Path:
    return minilm_files.folder() if folder is None else Path(folder)
