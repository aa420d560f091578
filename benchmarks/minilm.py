"""all-MiniLM-L6-v2, one text at a time: how fast by whom, how near, whether a vector is a text's own, what it installs.

python benchmarks/minilm.py --data FOLDER [--before SOURCE]

``--before``: the folder src of a version that had an implementation of its own (commit 2210cba), measured beside the
others. 300 texts of 20 to 200 words, each in a call of its own, and 300 tweets in one call; CPU time of one core and
one thread, each model in a process of its own, turn by turn: the best of three turns (the machine may be shared).
"""

import argparse
import json
import os
import subprocess
import sys
import time
from importlib.metadata import distribution
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from packaging.requirements import Requirement

from dptopics.public.minilm import package_folder
from results import bar, save

CORPORA, EACH, TURNS = ("newsgroups20", "medquad", "octis_bbc_news", "amazon_5core"), 75, 3
GPU = ("cuda", "nvidia", "triton")  # what pip brings with torch on Linux, wanted or not
SOURCE = str(Path(__file__).parents[1] / "src")


def texts(data: Path, corpus: str, n: int, least: int) -> list[str]:
    held = pq.read_table(data / f"{corpus}.parquet", columns=["text"])["text"].to_pylist()
    held = sorted({text for text in held if text and least <= len(text.split()) <= 200})
    return [held[i] for i in np.random.default_rng(0).choice(len(held), n, replace=False)]


def work(name: str, threads: int, data: Path, out: Path) -> None:
    """By one core, alone: speed and vectors. By several: vectors of all texts in one call, in another order."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    from dptopics.public.embeddings import embedding

    model, given = embedding(name), [text for corpus in CORPORA for text in texts(data, corpus, EACH, 20)]
    if threads > 1:
        np.save(out, model(given[::-1])[::-1])
        np.save(out.with_suffix(".batch.npy"), model.together(given))
        return
    tweets = texts(data, "airline_tweets", len(given), 1)
    model(given[:1])
    start = time.process_time()
    vectors = [model([text])[0] for text in given]
    middle = time.process_time()
    model(tweets)
    np.save(out, vectors)
    print(json.dumps([len(given) / (middle - start), len(tweets) / (time.process_time() - middle)]))


def started(way: tuple[str, str], threads: int, data: Path, out: Path) -> str:
    """What a process for one model says."""
    limit = {k: str(threads) for k in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")}
    return subprocess.run(
        [sys.executable, __file__, "--data", data, "--work", way[0], f"{threads}", out],
        env=os.environ | limit | {"PYTHONPATH": way[1]}, stdout=subprocess.PIPE, text=True, check=True,
    ).stdout  # fmt: skip


def measured(ways: dict[str, tuple[str, str]], data: Path, folder: Path) -> dict[str, dict[str, Any]]:
    speeds: dict[str, list[list[float]]] = {way: [] for way in ways}
    for _ in range(TURNS):
        for way, how in ways.items():
            speeds[way].append(json.loads(started(how, 1, data, folder / f"{way}.npy").splitlines()[-1]))
            print(way, *speeds[way][-1], flush=True)
    found, exact = {}, np.load(folder / "minilm.npy")
    for way, how in ways.items():
        started(how, 2, data, folder / "beside.npy")
        alone, beside, batch = (np.load(folder / f"{file}.npy") for file in (way, "beside", "beside.batch"))
        near = (alone * exact).sum(axis=1).reshape(len(CORPORA), EACH)
        speed, tweets = np.max(speeds[way], axis=0).tolist()
        found[way] = {
            "texts_a_second_and_core": speed,
            "tweets_in_one_call_a_second_and_core": tweets,
            "same_bits_beside_others_with_two_threads": bool(np.array_equal(alone, beside)),
            "same_bits_as_public_words_are_embedded": bool(np.array_equal(alone, batch)),
            "cosine_with_minilm": dict(zip(CORPORA, near.mean(axis=1).tolist(), strict=True)),
            "least_cosine": float(near.min()),
            "largest_difference": float(np.abs(alone - exact).max()),
        }
    return found


def installed(*names: str) -> dict[str, float]:
    """Packages that these bring, with their megabytes, without those that every installation of dptopics has."""

    def closure(name: str, seen: dict[str, float]) -> dict[str, float]:
        own = distribution(name)
        key = own.metadata["Name"].lower().replace("_", "-")
        if key not in seen:
            seen[key] = sum(size for file in own.files or () if (size := _size(file.locate()))) / 1e6
            for needed in map(Requirement, own.requires or ()):
                if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                    closure(needed.name, seen)
        return seen

    base = closure("dptopics", {})
    return {key: size for name in names for key, size in closure(name, {}).items() if key not in base}


def _size(path: object) -> int:
    return Path(str(path)).stat().st_size if Path(str(path)).is_file() else 0


def table(found: dict[str, Any]) -> str:
    """As docs/embeddings.md shows it."""
    lines = [
        "| | texts a second | tweets in one call, a second | mean cosine with `minilm` | packages it brings |",
        "|---|---|---|---|---|",
    ]
    for way, one in found["ways"].items():
        brings = found["brings"][way.replace("-int8", "")]
        near = np.mean(list(one["cosine_with_minilm"].values()))
        lines.append(
            f"| {way} | {one['texts_a_second_and_core']:.1f} | {one['tweets_in_one_call_a_second_and_core']:.0f} "
            f"| {near:.3f} | {brings['packages']}, {brings['megabytes']:,} MB |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--before")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work[0], int(options.work[1]), options.data, Path(options.work[2]))
        return
    by_torch = f"sentence-transformers:{package_folder()}"
    ways = {"minilm": ("minilm", SOURCE), "minilm-int8": ("minilm-int8", SOURCE), "torch": (by_torch, SOURCE)}
    if options.before:
        ways |= {f"{name}, own implementation": (name, options.before) for name in ("minilm", "minilm-int8")}
    with TemporaryDirectory() as folder:
        found = measured(ways, options.data, Path(folder))
    brings = {
        "minilm": installed("onnx", "onnxruntime", "safetensors", "tokenizers"),
        "minilm, own implementation": installed("safetensors", "tokenizers"),
        "torch": installed("sentence-transformers"),
    }
    speed = {way: one["texts_a_second_and_core"] for way, one in found.items()}
    bars = [
        bar("minilm against torch, one text at a time", speed["minilm"] / speed["torch"], 1, unit="", at_least=True),
        bar("minilm-int8 against minilm", speed["minilm-int8"] / speed["minilm"], 2, unit="", at_least=True),
        bar(
            "minilm-int8, mean cosine on the worst corpus",
            min(found["minilm-int8"]["cosine_with_minilm"].values()), 0.99, unit="", at_least=True,
        ),
    ]  # fmt: skip
    for way in ("minilm", "minilm-int8") if options.before else ():
        for what in ("texts_a_second_and_core", "tweets_in_one_call_a_second_and_core"):
            share = found[way][what] / found[f"{way}, own implementation"][what]
            bars.append(bar(f"{way} against an own implementation, {what}", share, 0.8, unit="", at_least=True))
    packages = {
        way: {
            "packages": len(sizes),
            "megabytes": round(sum(sizes.values())),
            "of_it_for_gpus": round(sum(size for name, size in sizes.items() if name.startswith(GPU))),
        }
        for way, sizes in brings.items()
    }
    versions = {name: distribution(name).version for name in ("onnx", "onnxruntime", "sentence-transformers", "torch")}
    save("minilm", {"ways": found, "brings": packages, "versions": versions, "bars": bars})


if __name__ == "__main__":
    main()
