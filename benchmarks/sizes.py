"""Do the intervals of topics' sizes hold what the released model says of the same texts?

python benchmarks/sizes.py --data FOLDER [--runs 42]
python benchmarks/sizes.py --data FOLDER --utility    what sizes cost: NMI with labels, with and without them

Three corpora with authors, 800 and 8,000 of them, ε = 1 and 3, the usual mechanism and settings. The truth is computed
without noise from the private texts by ``TopicModel.assign``: NOT FOR RELEASE. Resumable: finished cells are kept.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from dptopics import Corpus, PrivateTopics
from results import RESULTS, bar, save

CORPORA = ("airline_tweets", "amazon_reviews", "newsgroups20")
SIZES, EPSILONS, DELTA, TOPICS = (800, 8000), (1.0, 3.0), 1e-6, 10
MOST = 20  # documents of an author, here and in the plan


def people(path: Path, n: int) -> tuple[list[str], list[str]]:
    """Texts of the first n authors, at most so many of each that none is cut."""
    table = pq.read_table(path, columns=["user", "text"]).to_pydict()
    texts: dict[str, list[str]] = {}
    for user, text in zip(table["user"], table["text"], strict=True):
        if user is not None and text and (user in texts or len(texts) < n):
            texts.setdefault(user, []).append(text)
    rows = [(user, text) for user, own in texts.items() for text in own[:MOST]]
    return [user for user, _ in rows], [text for _, text in rows]


def exact(topic: np.ndarray, n_topics: int, authors: list[str]) -> np.ndarray:
    """Σ over authors of the share of their texts in each topic, the last for none."""
    _, who, many = np.unique(authors, return_inverse=True, return_counts=True)
    return np.bincount(np.where(topic < 0, n_topics, topic), weights=1 / many[who], minlength=n_topics + 1)


def cell(data: Path, name: str, n: int, epsilon: float, runs: int) -> dict[str, float]:
    authors, texts = people(data / f"{name}.parquet", n)
    corpus = Corpus.from_texts(texts, authors=authors)
    inside = rows = 0
    square, widths = 0.0, []
    for _ in range(runs):
        asked = {"n_topics": TOPICS, "epsilon": epsilon, "delta": DELTA, "max_docs": MOST, "progress": False}
        fitted = PrivateTopics(**asked).fit(corpus)
        sizes = fitted.topic_sizes_
        true = exact(fitted.model_.assign(texts), fitted.n_topics_, authors)
        # As people see them: not below zero. Rounding outward to whole numbers is left out.
        found = [sizes.estimate(k) for k in range(fitted.n_topics_ + 1)]
        held = [max(0, e.low) <= t + 1e-3 and t - 1e-3 <= max(0, e.high) for e, t in zip(found, true, strict=True)]
        inside += int(sum(held))
        square += float((((sizes.noisy - true) / sizes.noise) ** 2).sum())
        rows += true.size
        widths.append(found[0].high - found[0].low)
    return {
        "people": len(set(authors)), "releases": runs, "rows": rows, "inside": inside, "coverage": inside / rows,
        "mean square of errors over variance": square / rows, "width": float(np.mean(widths)),
    }  # fmt: skip


def utility(data: Path, seeds: int = 5) -> list[dict[str, object]]:
    """NMI of topics with labels at ε = 1, with the usual share of the budget for sizes and with none, in one run."""
    from sklearn.metrics import normalized_mutual_info_score

    rows = []
    for name, topics in (("octis_bbc_news", 5), ("reddit_posts", 20), ("newsgroups20", 20)):
        table = pq.read_table(data / f"{name}.parquet", columns=["text", "label"]).to_pydict()
        corpus = Corpus.from_texts(table["text"])
        for share in (0.05, 0.0):
            found = []
            for _ in range(seeds):
                asked = {"n_topics": topics, "epsilon": 1.0, "delta": 1e-5, "unit": "document", "progress": False}
                model = PrivateTopics(settings={"size_share": share}, **asked).fit(corpus).model_
                found.append(float(normalized_mutual_info_score(table["label"], model.assign(table["text"]))))
            rows.append({"corpus": name, "size_share": share, "nmi": found, "mean": float(np.mean(found))})
            print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=42)
    parser.add_argument("--utility", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    kept = RESULTS / "sizes.json"
    if asked.utility:
        save("sizes", json.loads(kept.read_text()) | {"utility": utility(asked.data)})
        return
    cells = json.loads(kept.read_text())["cells"] if kept.exists() else {}
    for name in CORPORA:
        for n in SIZES:
            for epsilon in EPSILONS:
                key = f"{name}, {n:,} people, ε = {epsilon:g}"
                if cells.get(key, {}).get("releases", 0) < asked.runs:
                    cells[key] = cell(asked.data, name, n, epsilon, asked.runs)
                    print(key, cells[key], flush=True)
                    save("sizes", {"cells": cells})
    rows, inside = (sum(one[what] for one in cells.values()) for what in ("rows", "inside"))
    releases = sum(one["releases"] for one in cells.values())
    share = 100 * inside / rows
    bars = [
        bar("releases", releases, 500, unit="", at_least=True),
        bar("rows within their 95 % interval, pooled", share, 93, unit="%", at_least=True),
        bar("the same", share, 97, unit="%", at_least=False),
    ]
    save("sizes", json.loads(kept.read_text()) | {"cells": cells, "bars": bars})


if __name__ == "__main__":
    main()
