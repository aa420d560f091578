"""Counts with margins: do intervals hold, how fast are they, and is their order right on real texts?

python benchmarks/counts.py [--data FOLDER]

Coverage: 1,000 releases of an invented corpus whose bounded counts are known. Speed: a million documents whose topics
are known already. Order (--data): airline tweets, topic × airline × day, author level; the truth is computed without
noise from the private texts: NOT FOR RELEASE.
"""

import argparse
import resource
import tempfile
import time
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from dptopics import Axis, Corpus, TopicModel, publish, secure_rng
from dptopics.core.axes import cell_names
from dptopics.core.text import TextSettings
from dptopics.data.cells import corpus_of_cells
from dptopics.mechanisms.counts.cells import CountsWithMargins
from dptopics.mechanisms.mechanism import Mechanism
from dptopics.plan import Plan
from dptopics.privacy.controls import under_noised
from dptopics.release import bundle
from dptopics.release.counts import Z95, CountTable
from results import bar, save

RUNS, EPSILON, DELTA = 1000, 1.0, 1e-6


def mechanism(shape: tuple[int, ...], **more: Any) -> CountsWithMargins:
    axes = tuple(f"axis{i}" for i in range(len(shape)))
    values = tuple(tuple(map(str, range(n))) for n in shape)
    return CountsWithMargins.calibrated(epsilon=EPSILON, delta=DELTA, axes=axes, values=values, **more)


def exact(made: Mechanism[CountTable], corpus: Any) -> np.ndarray:
    """The bounded counts: the owner's eyes only."""
    with under_noised(0.0):
        return np.round(made(corpus, secure_rng()).value.cube)


def coverage(max_cells: int) -> dict[str, float]:
    """The share of 95 % intervals that hold the bounded count, pooled, before any rounding."""
    rng, shape = np.random.default_rng(0), (5, 6, 8)
    cells = rng.choice(prod(shape), 4000, p=rng.dirichlet(np.ones(prod(shape))))
    counts = np.zeros((cells.size, prod(shape)), np.int64)
    counts[np.arange(cells.size), cells] = 1
    authors = rng.integers(0, 1500, cells.size).tolist()
    words = cell_names(prod(shape)).words
    corpus = Corpus.from_counts(counts, words, authors=authors, public_vocabulary=True).bounded()
    made = mechanism(shape, max_cells=max_cells)
    truth = exact(made, corpus)
    inner = np.zeros(truth.shape, np.bool_)
    inner[:-1, :-1, :-1] = True
    places = [tuple(int(rng.integers(n + 1)) for n in shape) for _ in range(400)]
    pairs = [(a, b) for a, b in zip(places[::2], places[1::2], strict=True) if a != b]
    first, second = (np.array(part).T for part in zip(*pairs, strict=True))
    spread, held = None, {"cells": 0, "margins": 0, "differences": 0}
    for _ in range(RUNS):
        table = made(corpus, secure_rng()).value
        if spread is None:
            named = [
                [tuple(None if i == n else i for i, n in zip(p, shape, strict=True)) for p in pair] for pair in pairs
            ]
            variance = [table.covariance(a, a) + table.covariance(b, b) - 2 * table.covariance(a, b) for a, b in named]
            spread = Z95 * np.sqrt(variance)
        inside = np.abs(table.cube - truth) <= Z95 * table.noise_std
        held["cells"] += int(inside[inner].sum())
        held["margins"] += int(inside[~inner].sum())
        error = table.cube - truth
        held["differences"] += int((np.abs(error[tuple(first)] - error[tuple(second)]) <= spread).sum())
    sizes = {"cells": inner.sum(), "margins": (~inner).sum(), "differences": len(pairs)}
    return {name: number / (RUNS * int(sizes[name])) for name, number in held.items()}


def speed() -> dict[str, float]:
    """A million documents of 250,000 authors whose topics are known, to a saved release."""
    rng, n, size = np.random.default_rng(1), 1_000_000, 2048
    groups = Axis.groups("group", [f"ward {i:02}" for i in range(50)])
    weeks = Axis.periods("week:date", first="2026-01-05", last="2027-01-03")
    topic = [str(t) for t in rng.integers(0, 20, n)]
    authors = [f"author {a}" for a in rng.integers(0, 250_000, n)]
    names = [f"ward {g:02}" for g in rng.integers(0, 50, n)]
    days = np.datetime_as_string(np.datetime64("2026-01-05") + rng.integers(0, 364, n)).tolist()
    batches = ([column[i : i + size] for column in (topic, authors, names, days)] for i in range(0, n, size))
    start = time.perf_counter()
    corpus = corpus_of_cells(
        batches, lambda texts: np.array(texts, np.int64), 20, [groups, weeks], author="author"
    ).bounded()
    read = time.perf_counter()
    values = (tuple(map(str, range(20))), groups.values, weeks.values)
    made = CountsWithMargins.calibrated(
        epsilon=EPSILON, delta=DELTA, axes=("topic", "group", "week"), values=values, max_cells=4
    )
    release = made(corpus, secure_rng())
    counted = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        bundle.save(release, Path(folder) / "counts")
    end = time.perf_counter()
    return {
        "seconds": end - start,
        "reading": read - start,
        "counting": counted - read,
        "saving": end - counted,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def order(data: Path, n_topics: int, max_cells: int, runs: int = 10) -> dict[str, Any]:
    """Of pairs whose true counts differ by more than the sum of their half-widths: how many come out in order."""
    table = pq.read_table(data / "airline_tweets.parquet", columns=["text", "user", "label", "day"]).to_pydict()
    texts, authors = table["text"], table["user"]
    text = TextSettings()
    plan = Plan.topics(n_topics=n_topics, epsilon=EPSILON, delta=DELTA, unit="author", text=text)
    corpus = Corpus.from_texts(texts, authors, settings=text)
    model: TopicModel = publish(plan, lambda plan: corpus.bounded(unit=plan.unit)).value
    days = [str(day)[:10] for day in table["day"]]
    axes = [
        Axis.groups("airline", sorted(set(table["label"]))),
        Axis.groups("day", sorted(set(days))),
    ]
    batch = [[texts, authors, table["label"], days]]
    cells = corpus_of_cells(
        batch, lambda part: model.assign(part) % (model.n_topics + 1), model.n_topics + 1, axes, author="author"
    ).bounded()
    values = (tuple(map(str, range(model.n_topics + 1))), *(axis.values for axis in axes))
    settings: dict[str, Any] = {"axes": ("topic", "airline", "day"), "values": values, "delta": DELTA}
    made = CountsWithMargins.calibrated(epsilon=EPSILON, max_cells=max_cells, **settings)
    truths = {
        "bounded": exact(made, cells),
        "all": exact(CountsWithMargins.calibrated(epsilon=EPSILON, max_cells=1000, **settings), cells),
    }
    found: dict[str, Any] = {"asked_for": n_topics, "topics": model.n_topics, "max_cells": max_cells, "runs": runs}
    found["standard_deviation"] = {"cell": made.noise_std(topic=True, airline=True, day=True)}
    found["standard_deviation"] |= {"topic": made.noise_std(topic=True)}
    tables = [made(cells, secure_rng()).value for _ in range(runs)]
    for name, truth in truths.items():
        right: dict[str, list[int]] = {"cells": [0, 0], "margins": [0, 0]}
        for part in np.ndindex(2, 2, 2):
            at = tuple(slice(-1, None) if total else slice(0, -1) for total in part)
            true = truth[at].ravel()
            for one in tables:
                apart, correct = _pairs(true, one.cube[at].ravel(), 2 * Z95 * float(one.noise_std[at].flat[0]))
                kind = right["margins" if any(part) else "cells"]
                kind[0], kind[1] = kind[0] + apart, kind[1] + correct
        found[name] = {
            kind: {"pairs_a_run": apart / runs, "in_order": correct / apart if apart else None}
            for kind, (apart, correct) in right.items()
        }
    return found


def _pairs(true: np.ndarray, seen: np.ndarray, gap: float) -> tuple[int, int]:
    """Pairs that truly differ by more than ``gap``, and those of them in the right order."""
    more = true[:, None] - true[None] > gap
    return int(more.sum()), int((more & (seen[:, None] > seen[None])).sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    found: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "runs": RUNS}
    found["coverage"] = {f"max_cells {most}": coverage(most) for most in (1, 3)}
    print(found, flush=True)
    found["speed"] = speed()
    print(found["speed"], flush=True)
    topic = mechanism((20, 50, 52)).noise_std(axis0=True)
    found["standard_deviation_of_a_topic_over_50_groups_and_52_weeks"] = topic
    if options.data:
        found["airline_tweets"] = [order(options.data, n, most) for n in (8, 20) for most in (1, 2)]
    shares = [share for one in found["coverage"].values() for share in one.values()]
    found["bars"] = [
        bar("least coverage", min(shares), 0.945, unit="", at_least=True),
        bar("most coverage", max(shares), 0.96, unit="", at_least=False),
        bar("a million documents", found["speed"]["seconds"], 60, unit="s", at_least=False),
        bar("memory", found["speed"]["peak_gb"], 4, unit="GB", at_least=False),
        bar("standard deviation of a topic's total", topic, 12, unit="", at_least=False),
    ]
    for one in found.get("airline_tweets", []):
        for kind, held in one["bounded"].items():
            name = f"airline tweets, {one['asked_for']} topics asked for, max_cells {one['max_cells']}, {kind} in order"
            found["bars"].append(bar(name, held["in_order"], 0.95, unit="", at_least=True))
    print(found)
    save("counts", found)


if __name__ == "__main__":
    main()
