"""Which values the inputs of MiniLM's products take on public texts: the constants of ``minilm-int8``.

python benchmarks/minilm_ranges.py --data FOLDER

Wikipedia for Schools and Reddit posts, whole and cut short. Written to src/dptopics/resources/minilm_ranges.npy.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from dptopics.public import minilm
from dptopics.public.minilm_int8 import INPUTS

TARGET = Path(__file__).parents[1] / "src" / "dptopics" / "resources" / "minilm_ranges.npy"
TEXTS = 120  # of each corpus, and as many again of 100 signs
RARE = 0.02  # of the parts (128 tokens) may go beyond a range: the largest of all values would make it too coarse
WIDEST = 1.0  # no range is narrower than this many medians: few weights then need large steps


@dataclass(frozen=True)
class Watched:
    """A product that remembers what it was given."""

    product: minilm.FloatLinear
    seen: list[np.ndarray]

    def __call__(self, x: np.ndarray, n: int) -> np.ndarray:
        given = x[:n]
        self.seen.append(np.stack([given.min(axis=0), given.max(axis=0), given.sum(axis=0), np.full(x.shape[1], n)]))
        return self.product(x, n)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", help="folder of the model's files")
    options = parser.parse_args()
    rng, texts = np.random.default_rng(0), []
    for corpus in ("wikipedia_schools", "reddit_posts"):
        held = pq.read_table(options.data / f"{corpus}.parquet", columns=["text"])["text"].to_pylist()
        texts += [held[i] for i in rng.choice(len(held), TEXTS, replace=False)]
        texts += [held[i][:100] for i in rng.choice(len(held), TEXTS, replace=False)]
    seen: dict[str, list[np.ndarray]] = {}

    def watched(name: str, matrix: np.ndarray, bias: np.ndarray) -> Watched:
        return Watched(minilm.FloatLinear.of(matrix, bias), seen.setdefault(name, []))

    network = minilm.network_of(minilm.weights(options.model), watched)
    for part in minilm._parts(minilm.tokens(options.model, texts)):
        network(part)
    columns = []
    for name in (f"{name}.{i}" for i in range(minilm.LAYERS) for name in INPUTS):
        table = np.stack(seen[name]).astype(np.float64)
        low, high = np.quantile(table[:, 0], RARE, axis=0), np.quantile(table[:, 1], 1 - RARE, axis=0)
        mean = table[:, 2].sum(axis=0) / table[:, 3].sum(axis=0)
        middle, half = (low + high) / 2, (high - low) / 2
        half = np.maximum(half, WIDEST * np.median(half))
        columns.append(np.stack([middle - half, middle + half, mean]))
    np.save(TARGET, np.concatenate(columns, axis=1).astype(np.float16))


if __name__ == "__main__":
    main()
