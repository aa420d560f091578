"""Topics of a few hundred to a few thousand texts: the default at ε = 1 beside LDA without privacy.

    python benchmarks/atlas.py --data FOLDER            # resumable; results/atlas.json
    python benchmarks/atlas.py --data FOLDER --show

NMI of each text's topic with labels; three draws of each corpus, five runs each, ten topics. LDA: tomotopy without
privacy on the same texts read in the same way, ten topics, min_df 2, 500 iterations, three seeds.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from sklearn.metrics import normalized_mutual_info_score as nmi

from dptopics import Corpus, TextSettings
from dptopics.plan import Plan

STORED = Path(__file__).parent / "results" / "atlas.json"
LABELS = {"airline_tweets": "reason", "medquad": "source"}
CORPORA = ("newsgroups20", "octis_bbc_news", "reddit_posts", "airline_tweets", "wikipedia_schools", "medquad")
SIZES = (300, 500, 1000, 2000)
DRAWS, RUNS, SEEDS = 3, 5, 3
TEXT = TextSettings()


def rows_of(corpus: str, data: Path, draw: int) -> list[tuple[str, str]]:
    """Texts with their labels, shuffled."""
    table = pq.read_table(data / f"{corpus}.parquet")
    labels = table[LABELS.get(corpus, "label")].to_pylist()
    if corpus == "wikipedia_schools":
        labels = [one and one.split(".")[0] for one in labels]
    found = [(text, label) for text, label in zip(table["text"].to_pylist(), labels, strict=True) if text and label]
    return [found[i] for i in np.random.default_rng(draw).permutation(len(found))]


def private(rows: list[tuple[str, str]], epsilon: float, embedding: str | None) -> dict[str, list[float]]:
    """NMI and number of shown themes of each run of the default."""
    texts, labels = [text for text, _ in rows], [label for _, label in rows]
    plan = Plan.topics(n_topics=10, epsilon=epsilon, delta=1e-5, unit="document", text=TEXT, embedding=embedding)
    mechanism = plan.build()
    model = plan.settings["embedding"]
    embed = None if model.of_words else model
    corpus = Corpus.from_texts(texts, settings=TEXT, **({} if embed is None else {"embed": embed}))
    bounded = corpus.bounded(unit="document", max_words=plan.max_words)
    scores, themes = [], []
    for seed in range(RUNS):
        found = mechanism(bounded, np.random.default_rng(seed)).value
        scores.append(round(float(nmi(labels, found.assign(texts))), 4))
        themes.append(0 if found.themes is None else len(found.themes.shown))
    return {"private": scores, "themes": themes}


def lda(rows: list[tuple[str, str]]) -> list[float]:
    """NMI of LDA without privacy."""
    import tomotopy

    scores, labels = [], [label for _, label in rows]
    words = [list(TEXT.words(text)) or ["empty"] for text, _ in rows]
    for seed in range(SEEDS):
        model = tomotopy.LDAModel(k=10, min_df=2, seed=seed)
        for one in words:
            model.add_doc(one)
        model.train(500, workers=1)
        scores.append(round(float(nmi(labels, [int(np.argmax(d.get_topic_dist())) for d in model.docs])), 4))
    return scores


def show(stored: dict[str, dict[str, list[float]]]) -> None:
    """A table by corpus and size."""
    for n in SIZES:
        means = []
        for corpus in CORPORA:
            cells = [stored[key] for d in range(DRAWS) if (key := f"{corpus} {n} {d}") in stored]
            if not cells:
                continue
            ours = np.mean([s for c in cells for s in c["private"]])
            theirs = np.mean([s for c in cells for s in c.get("lda", [np.nan])])
            shown = np.mean([s for c in cells for s in c["themes"]])
            means.append((ours, theirs))
            ratio = f"ratio {ours / theirs:.2f}  themes {shown:.1f}"
            print(f"{n:5d} {corpus:18s} private {ours:.3f}  LDA {theirs:.3f}  {ratio}")
        if means:
            print(f"{n:5d} {'mean':18s} private {np.mean(means, 0)[0]:.3f}  LDA {np.mean(means, 0)[1]:.3f}", flush=True)


def main() -> None:
    """Run what is missing, and show it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--corpora", nargs="+", default=CORPORA)
    parser.add_argument("--n", nargs="+", type=int, default=SIZES)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--embedding")
    parser.add_argument("--no-lda", action="store_true")
    parser.add_argument("--out", type=Path, default=STORED)
    given = parser.parse_args()
    stored = json.loads(given.out.read_text()) if given.out.exists() else {}
    for corpus in () if given.show else given.corpora:
        for draw in range(DRAWS):
            rows = rows_of(corpus, given.data, draw)
            for n in given.n:
                cell = stored.setdefault(f"{corpus} {n} {draw}", {})
                if n > len(rows):
                    continue
                if "private" not in cell:
                    cell |= private(rows[:n], given.epsilon, given.embedding)
                if "lda" not in cell and not given.no_lda:
                    cell["lda"] = lda(rows[:n])
                given.out.write_text(json.dumps(stored, indent=1) + "\n")
    show(stored)


if __name__ == "__main__":
    main()
