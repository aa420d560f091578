"""Answers to questions and counts of people: do 95 % intervals hold for the true number, and how wide are they?

python benchmarks/answers.py DATA [--full]

DATA is a folder with amazon_5core.parquet and enron_senders.parquet; the demo comes with the package. The truth is
computed without noise from the texts: NOT FOR RELEASE. Authors have one to fifty texts drawn from each corpus; a text's
topic is a fixed function of its words. --full: 500 releases of each table and a million texts (half an hour).
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dptopics import Corpus, secure_rng
from dptopics.core.axes import cell_names
from dptopics.core.periods import Earlier
from dptopics.core.questions import Questions
from dptopics.data.bounded import PeriodCorpus
from dptopics.mechanisms.counts.cells import CountsWithMargins
from dptopics.mechanisms.counts.periods import CountsOfPeriod
from dptopics.privacy.controls import under_noised
from dptopics.public.demo import demo_corpus
from dptopics.release.compare import compare
from dptopics.release.counts import CountTable
from dptopics.subjects import Asked
from results import bar, save

BUDGET = {"epsilon": 1.0, "delta": 1e-6}
WORDS = (
    "insulin",
    "rash",
    "insurance",
    "vaccine",
    "pregnan*",
    "sleep",
    "chest pain",
    "refill",
    "anxiety",
    "asthma*",
    "knee",
    "refund",
    "allerg*",
    "blood pressure",
    "fever",
    "doctor",
    "appointment",
    "cream",
    "migraine",
    "cancer",
)
OTHERS = ("guitar", "sound", "price", "the", "strings", "pedal", "work", "music", "quality", "battery", "please",
          "thanks", "meeting", "gas", "deal", "call", "attached", "agreement", "week", "power")  # fmt: skip


def texts_of(name: str, data: Path) -> list[str]:
    if name == "demo":
        return list(demo_corpus().texts)
    return [text for text in pq.read_table(data / f"{name}.parquet").column("text").to_pylist() if text]


def people(texts: list[str], n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of texts and their authors: one to fifty each, few in most cases."""
    many = np.exp(rng.uniform(0, np.log(51), n)).astype(int)
    return rng.integers(0, len(texts), many.sum()), np.repeat(np.arange(n), many)


def corpus_of(documents: list[list[int]], authors: np.ndarray, n_cells: int, vectors: Any = None) -> Any:
    sizes = np.array([len(one) for one in documents])
    from scipy import sparse

    places = np.repeat(np.arange(len(documents)), sizes), np.array([c for one in documents for c in one])
    counts = sparse.csr_array((np.ones(places[1].size, np.int64), places), shape=(len(documents), n_cells))
    corpus = Corpus.from_counts(counts, cell_names(n_cells).words, authors=authors.tolist(), public_vocabulary=True)
    return (corpus if vectors is None else corpus.with_vectors(vectors)).bounded()


def truth_of(made: CountsWithMargins, corpus: Any) -> CountTable:
    """Everybody in every row that is theirs: uncut, without noise."""
    from dataclasses import replace

    with under_noised(0.0):
        return replace(made, max_cells=max(made.entries.sizes))(corpus, secure_rng()).value


def held(tables: list[CountTable], truth: np.ndarray) -> dict[str, float]:
    """Share of intervals that hold, all rows pooled, their mean width, bias and error."""
    hits, widths, errors, n = 0, 0.0, [], 0
    for table in tables:
        for index in np.ndindex(truth.shape):
            found, true = table.estimate(index), round(float(truth[index]))
            hits, widths, n = hits + (found.low <= true <= found.high), widths + found.high - found.low, n + 1
            errors.append(found.value - true)
    return {"coverage": hits / n, "mean_width": widths / n, "bias": float(np.mean(errors)),
            "rmse": float(np.sqrt(np.mean(np.square(errors))))}  # fmt: skip


def covered(made: CountsWithMargins, corpus: Any, runs: int) -> dict[str, Any]:
    truth = truth_of(made, corpus).cube
    tables = [made(corpus, secure_rng()).value for _ in range(runs)]
    uncut = 2 * 1.96 * made.sigma * float(np.sqrt(sum(made.entries.sizes)))
    return {**held(tables, truth), "width_uncut": uncut, "rows": truth.size,
            "max_cells": sorted({table.max_cells for table in tables})}  # fmt: skip


def tables(name: str, data: Path, runs: int, n_people: int) -> dict[str, Any]:
    """Topics, questions, groups × topics, and a week of a series."""
    rng, texts = np.random.default_rng(3), texts_of(name, data)
    row, author = people(texts, n_people, rng)
    asked = Asked(Questions.of(WORDS if name == "demo" else OTHERS))
    facts = np.concatenate([asked(texts[i : i + 2048]) for i in range(0, len(texts), 2048)])
    topic = np.array([min(crc32(word.encode()) % 997 for word in text.lower().split() or [""]) for text in texts])
    topic = np.searchsorted(np.quantile(topic, np.linspace(0, 1, 51)[1:-1] ** 2), topic)  # some are rare
    home = rng.integers(0, 20, n_people)[author]
    group = np.where(rng.random(row.size) < 0.8, home, rng.integers(0, 20, row.size))
    values = {n: tuple(map(str, range(n))) for n in (10, 20, 50)}
    found = {"texts": int(row.size)}

    def table(values: tuple[tuple[str, ...], ...], **more: Any) -> CountsWithMargins:
        axes = ("topic", "group")[: len(values)]
        return CountsWithMargins.calibrated(axes=axes, values=values, **BUDGET, **more)

    ten = corpus_of([[t] for t in (topic[row] % 10).tolist()], author, 10)
    found["topics"] = covered(table((values[10],)), ten, runs)
    several = [np.flatnonzero(one).tolist() for one in facts[row]]
    rules = {"facts": asked.cells, "rules": asked.questions.rules}
    of_all = corpus_of(several, author, asked.cells)
    found["questions"] = covered(table((asked.values,), **rules), of_all, runs)
    found["questions, five answers"] = covered(table((asked.values,), max_cells=5, **rules), of_all, runs)
    cells = corpus_of([[c] for c in (topic[row] * 20 + group).tolist()], author, 1000)
    found["groups × topics"] = covered(table((values[50], values[20])), cells, runs)
    week = CountsOfPeriod.calibrated(axes=("topic",), values=(values[10],), periods=tuple("abcdefgh"), at="c",
                                     max_periods=8, **BUDGET)  # fmt: skip
    first = rng.random(row.size) < 1 / 8
    part = corpus_of([[t] for t in (topic[row][first] % 10).tolist()], author[first], 10)
    truth = truth_of(table((values[10],)), part).cube
    weeks = [week(PeriodCorpus(part, Earlier.none()), secure_rng()).value for _ in range(runs)]
    found["weekly series"] = held(weeks, truth)
    return found


def ratings(data: Path, runs: int) -> dict[str, Any]:
    """Means of ratings by ten topics of 300 people or more."""
    table = pq.read_table(data / "amazon_5core.parquet")
    user, rating, texts = (table.column(name).to_pylist() for name in ("user", "rating", "text"))
    topic = np.array([min(crc32(word.encode()) % 997 for word in (text or "x").lower().split()) % 10 for text in texts])
    scaled = ((np.array(rating, np.float32) - 3) / 2)[:, None]
    corpus = corpus_of([[t] for t in topic.tolist()], np.array(user), 10, scaled)
    found: dict[str, Any] = {}
    for epsilon in (1.0, 3.0):
        made = CountsWithMargins.calibrated(epsilon=epsilon, delta=1e-6, values=(tuple(map(str, range(10))),),
                                            number="rating", number_range=(1.0, 5.0))  # fmt: skip
        exact, hits, errors = truth_of(made, corpus), 0, []
        large = [name for name in exact.values[0] if exact.count(topic=name).value >= 300]
        for _ in range(runs):
            noisy = made(corpus, secure_rng()).value
            for name in large:
                mean, true = noisy.mean(topic=name), exact.mean(topic=name).value
                hits += mean.low <= true <= mean.high
                errors.append(mean.value - true)
        found[f"epsilon {epsilon:g}"] = {"topics": len(large), "coverage": hits / len(errors),
                                         "people": [round(exact.count(topic=name).value) for name in large],
                                         "rmse": float(np.sqrt(np.mean(np.square(errors))))}  # fmt: skip
    return found


def speed(n_texts: int, folder: Path) -> dict[str, float]:
    """A hundred questions of many texts, by the command, from a file to a release."""
    texts = texts_of("demo", folder)
    rng = np.random.default_rng(1)
    notes = [texts[i] for i in rng.integers(0, len(texts), n_texts)]
    pq.write_table(pa.table({"note": notes, "patient": rng.integers(0, n_texts // 4, n_texts)}), folder / "n.parquet")
    words = sorted({word.strip(".,?!").lower() for text in texts[:3000] for word in text.split()})
    listed = ",".join(word for word in words[:: len(words) // 100] if word.isalpha())
    command = [sys.executable, "-m", "dptopics", "ask", str(folder / "n.parquet"), "--text", "note"]
    command += ["--author", "patient", "--mention", listed, "--epsilon", "1", "--delta", "1e-6"]
    command += ["--out", str(folder / "a")]
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    return {"texts": n_texts, "questions": listed.count(",") + 1, "seconds": time.perf_counter() - start, "gb": peak}


def no_changes(pairs: int) -> float:
    """In how many of a hundred comparisons of the same data something seems to have changed."""
    rng = np.random.default_rng(5)
    corpus = corpus_of([[c] for c in rng.integers(0, 100, 6000).tolist()], rng.integers(0, 2000, 6000), 100)
    made = CountsWithMargins.calibrated(axes=("topic", "group"), values=(tuple("abcdefghij"), tuple("klmnopqrst")),
                                        max_cells=8, **BUDGET)  # fmt: skip
    both = (compare(*(made(corpus, secure_rng()).value for _ in range(2))) for _ in range(pairs))
    return 100 * sum(any(row.verdict != "open" for row in rows) for rows in both) / pairs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--full", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    runs, n_people, n_texts = (500, 2000, 1_000_000) if options.full else (20, 1000, 100_000)
    found: dict[str, Any] = {"runs": runs, "people": n_people, **BUDGET}
    for name in ("demo", "amazon_5core", "enron_senders"):
        found[name] = tables(name, options.data, runs, n_people)
        print(name, json.dumps(found[name], indent=1), flush=True)
    large = tables("demo", options.data, 20, 8000)
    found["8,000 authors of the demo"] = {name: large[name] for name in ("questions", "questions, five answers")}
    found["ratings"] = ratings(options.data, runs)
    found["false changes in 100"] = no_changes(runs)
    with tempfile.TemporaryDirectory() as folder:
        found["speed"] = speed(n_texts, Path(folder))
    corpora = ("demo", "amazon_5core", "enron_senders")
    each = [found[n][t]["coverage"] for n in corpora for t in found["demo"] if t != "texts"]
    questions = found["8,000 authors of the demo"]["questions"]
    five = CountsWithMargins.calibrated(values=(WORDS,), max_cells=5, **BUDGET).noise(5)
    found["bars"] = [
        bar("least coverage of true numbers of people", min(each), 0.94, unit="", at_least=True),
        bar("twenty questions: error", questions["rmse"], 20, unit="people", at_least=False),
        bar("twenty questions: bias", abs(questions["bias"]), 2, unit="people", at_least=False),
        bar("five answers: noise", five, 12, unit="people", at_least=False),
        bar("mean ratings at ε = 1", found["ratings"]["epsilon 1"]["rmse"], 0.15, unit="stars", at_least=False),
        bar("mean ratings at ε = 3", found["ratings"]["epsilon 3"]["rmse"], 0.06, unit="stars", at_least=False),
        bar("coverage of means", found["ratings"]["epsilon 1"]["coverage"], 0.94, unit="", at_least=True),
        bar("false changes in 100", max(found["false changes in 100"], 1e-3), 5, unit="", at_least=False),
        bar("texts × 100 questions", found["speed"]["seconds"], 60, unit="s", at_least=False),
        bar("memory", found["speed"]["gb"], 3, unit="GB", at_least=False),
    ]
    print(json.dumps(found, indent=1))
    if options.full:
        save("answers", found)


if __name__ == "__main__":
    main()
