"""all-MiniLM-L6-v2 in bytes: faster, a little less exact, and just as deaf to the other texts.

Weights have 7 bits and a sign, numbers between layers 7 bits. Their scales are constants, read off public texts
beforehand: a scale taken from the texts at hand would tie each vector to the texts beside it.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from dptopics.kernels import transformer as kernel
from dptopics.kernels.tiles import COLUMNS
from dptopics.public.minilm import LAYERS, MiniLM, Network, network_of, weights
from dptopics.public.text_models import Floats

LEVELS = 127  # of a number between layers: 0 to 127
_LARGEST = 63  # of a weight: four products of two such bytes fit into 16 bits
INPUTS = {"qkv": 384, "mixed": 384, "up": 384, "down": 1536}  # numbers that each product reads
Ranges = dict[str, Floats]


@dataclass(frozen=True, eq=False)
class ByteLinear:
    """A product of bytes, with its scales."""

    columns: NDArray[np.int8]
    scale: Floats
    bias: Floats
    least: Floats
    per_step: Floats

    @classmethod
    def of(cls, matrix: Floats, bias: Floats, ranges: Floats) -> "ByteLinear":
        """From outputs × inputs, and each input's least, largest and mean value on public texts.

        A weight's rounding error times the input's mean is the same for every text: it is put into the bias.
        """
        least, largest, mean = ranges.astype(np.float64)
        step = (largest - least) / LEVELS
        scaled = matrix * step
        scale = np.abs(scaled).max(axis=1) / _LARGEST
        rounded = np.rint(scaled / scale[:, None])
        lost = (scaled - rounded * scale[:, None]) @ ((mean - least) / step)
        return cls(
            columns=packed_bytes(rounded.astype(np.int8)),
            scale=scale.astype(np.float32),
            bias=(bias + matrix @ least + lost).astype(np.float32),
            least=least.astype(np.float32),
            per_step=(1 / step).astype(np.float32),
        )

    def __call__(self, x: Floats, n: int) -> Floats:
        """For the first n rows."""
        return kernel.byte_linear(
            kernel.to_bytes(x, n, self.per_step, self.least), n, self.columns, self.scale, self.bias
        )


@dataclass(frozen=True)
class MiniLMInt8(MiniLM):
    """all-MiniLM-L6-v2 in bytes: a model of its own, whose vectors are not those of ``minilm``.

    Their mean cosine with those of ``minilm`` is above 0.99 (docs/embeddings.md).
    """

    name: str = field(default="minilm-int8", init=False)

    def network(self) -> Network:
        """In bytes."""
        return _byte_network(self.folder)


@lru_cache(maxsize=1)
def _byte_network(folder: str | None) -> Network:
    ranges = stored_ranges()
    return network_of(weights(folder), lambda name, matrix, bias: ByteLinear.of(matrix, bias, ranges[name]))


def stored_ranges() -> Ranges:
    """Least, largest and mean value of each input of each product; made by benchmarks/minilm_ranges.py."""
    with resources.files("dptopics").joinpath("resources/minilm_ranges.npy").open("rb") as file:
        table = np.load(file).astype(np.float32)
    names = [f"{name}.{i}" for i in range(LAYERS) for name in INPUTS]
    ends = np.cumsum([INPUTS[name.partition(".")[0]] for name in names])
    return dict(zip(names, np.split(table, ends[:-1], axis=1), strict=True))


def packed_bytes(matrix: NDArray[np.int8]) -> NDArray[np.int8]:
    """Outputs × inputs, as ``byte_block`` reads them: for eight inputs, 2 × 2 vectors of 8 outputs × 4 inputs."""
    outputs, inputs = matrix.shape
    split = matrix.reshape(outputs // COLUMNS, 2, 8, inputs // 8, 2, 4)
    return np.ascontiguousarray(split.transpose(0, 3, 1, 4, 2, 5)).ravel()
