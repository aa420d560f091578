"""MiniLM without torch: how fast against the matrix products alone, and how near the bytes come to float32.

python benchmarks/minilm.py --data FOLDER [--model FOLDER]

Texts of 128 tokens, by one core (CPU time, the best of several turns: the machine may be shared) and by all of them.
The limit is numpy's product (OpenBLAS) of the same shapes, in the same run, turn by turn.
"""

import argparse
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits

from dptopics.public import minilm
from dptopics.public.minilm_int8 import MiniLMInt8
from results import bar, save

TOKENS, TURNS = 128, 12
SHAPES = ((384, 1152), (384, 384), (384, 1536), (1536, 384))  # of each layer's products
SEEN_NEVER = ("newsgroups20", "airline_tweets", "medquad", "octis_bbc_news")  # by the ranges of minilm-int8


def cpu_seconds(work: Callable[[], object]) -> float:
    start = time.thread_time()
    work()
    return time.thread_time() - start


def cosines(model: str | None, data: Path) -> dict[str, dict[str, float]]:
    exact, rough, found = minilm.MiniLM(model), MiniLMInt8(model), {}
    for corpus in SEEN_NEVER:
        held = pq.read_table(data / f"{corpus}.parquet", columns=["text"])["text"].to_pylist()
        texts = [held[i] or "" for i in np.random.default_rng(1).choice(len(held), 60, replace=False)]
        near = (exact(texts) * rough(texts)).sum(axis=1)
        near = near[near != 0]  # texts without words
        found[corpus] = {"mean": float(near.mean()), "least": float(near.min())}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--model", help="folder of the model's files")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    text = [rng.integers(1000, 30000, TOKENS).astype(np.int32)]
    models = {"minilm": minilm.MiniLM(options.model).network(), "minilm-int8": MiniLMInt8(options.model).network()}
    pairs = [tuple(rng.normal(size=size).astype(np.float32) for size in ((TOKENS, k), (k, n))) for k, n in SHAPES]

    def products() -> None:
        for _ in range(minilm.LAYERS):
            for left, right in pairs:
                left @ right

    work: dict[str, Callable[[], object]] = {"products": products}
    work |= {name: lambda network=network: network(text) for name, network in models.items()}
    best = dict.fromkeys(work, np.inf)
    with threadpool_limits(1):
        for _ in range(TURNS):
            best = {name: min(best[name], cpu_seconds(made)) for name, made in work.items()}
    speed = {name: 1 / seconds for name, seconds in best.items()}
    cores, wall = os.cpu_count() or 1, {}
    for name, network in models.items():
        start = time.perf_counter()
        with ThreadPoolExecutor(cores) as pool:
            list(pool.map(network, [text] * 20 * cores))
        wall[name] = 20 * cores / (time.perf_counter() - start)
    found = {
        "texts_a_second_of_one_core": speed,
        "texts_a_second_of_all_cores_as_shared_then": wall,
        "cores": cores,
        "load_then": os.getloadavg()[0],
        "bars": [
            bar(
                "minilm, share of the products alone", speed["minilm"] / speed["products"], 0.6, unit="", at_least=True
            ),
            bar("minilm-int8 on two cores, twice one", 2 * speed["minilm-int8"], 100, unit="texts/s", at_least=True),
        ],
    }
    if options.data:
        found["cosine_of_int8"] = near = cosines(options.model, options.data)
        least = min(corpus["mean"] for corpus in near.values())
        found["bars"].append(bar("minilm-int8, mean cosine on the worst corpus", least, 0.99, unit="", at_least=True))
    print(found)
    save("minilm", found)


if __name__ == "__main__":
    main()
