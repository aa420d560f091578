"""Offline labels on 20 Newsgroups: is a topic's label nearer to the name of its group than to any other name?

python benchmarks/labels.py --data FOLDER

Topics are matched to groups by the documents that they share (the Hungarian method): NOT FOR RELEASE. Names of groups
are written out ("comp.sys.mac.hardware": "computer system mac hardware"), and compared in the space of MiniLM.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from scipy.optimize import linear_sum_assignment

from dptopics import Corpus, publish
from dptopics.core.text import TextSettings
from dptopics.plan import Plan
from dptopics.public.embeddings import embedding, unit
from dptopics.release.labels import label
from results import bar, save

WRITTEN = {"comp": "computer", "sys": "system", "os": "operating system", "ms-windows": "windows", "ibm": "ibm",
           "rec": "recreation", "sci": "science", "med": "medicine", "soc": "society", "talk": "talk", "misc": "",
           "alt": "", "forsale": "for sale", "autos": "cars", "crypt": "cryptography", "mideast": "middle east",
           "pc": "pc", "x": "x window"}  # fmt: skip


def name(group: str) -> str:
    return " ".join(filter(None, (WRITTEN.get(part, part) for part in group.split("."))))


def named(texts: list[str], authors: list[str], labels: list[str], epsilon: float) -> dict[str, Any]:
    text = TextSettings()
    plan = Plan.topics(n_topics=20, epsilon=epsilon, delta=1e-6, unit="author", text=text)
    corpus = Corpus.from_texts(texts, authors, settings=text)
    release = publish(plan, lambda plan: corpus.bounded(unit=plan.unit))
    groups = sorted(set(labels))
    topic = release.value.transform(texts).argmax(axis=1)
    shared = np.zeros((release.value.n_topics, len(groups)))
    np.add.at(shared, (topic, [groups.index(one) for one in labels]), 1)
    topics, own = linear_sum_assignment(-shared)
    found = label(release)
    model = embedding("minilm")
    middle = unit(model.together([name(group) for group in groups]).astype(np.float64)).mean(axis=0)

    def placed(words: list[str]) -> np.ndarray:
        return unit(unit(model.together(words).astype(np.float64)) - middle)

    near = placed([found.labels[k].label for k in topics]) @ placed([name(group) for group in groups]).T
    right = near.argmax(axis=1) == own
    rows = [
        {"label": found.labels[k].label, "group": groups[g], "nearest": groups[near[i].argmax()]}
        for i, (k, g) in enumerate(zip(topics, own, strict=True))
    ]
    return {"epsilon": epsilon, "topics": release.value.n_topics, "right": int(right.sum()), "labels": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    table = pq.read_table(parser.parse_args().data / "newsgroups20.parquet", columns=["user", "text", "label"])
    rows = table.to_pydict()
    found: dict[str, Any] = {"runs": [named(rows["text"], rows["user"], rows["label"], e) for e in (1.0, 3.0, 8.0)]}
    found["bars"] = [
        bar(
            f"labels nearest to their own group at ε = {run['epsilon']:g}",
            run["right"],
            15,
            unit="of 20",
            at_least=True,
        )
        for run in found["runs"]
    ]
    for row in found["runs"][-1]["labels"]:
        print(row)
    save("labels", found)


if __name__ == "__main__":
    main()
