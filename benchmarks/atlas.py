"""Topics of a few hundred to a few thousand texts: the default at ε = 1 beside LDA without privacy.

    python benchmarks/atlas.py --data FOLDER            # resumable; results/atlas.json
    python benchmarks/atlas.py --data FOLDER --show
    python benchmarks/atlas.py --data FOLDER --wrong    # themes shown of 300 texts that whole-text vectors do not see
    python benchmarks/atlas.py --data FOLDER --cover    # intervals of the sizes of themes, domains and the rest
    python benchmarks/atlas.py --data FOLDER --growing  # NMI on 1,000 other texts, from 300 texts to 16,000
    python benchmarks/atlas.py --data FOLDER --examples # what votes for sentences cost and give
    python benchmarks/atlas.py --data FOLDER --authors  # authors are protected, where they are known

NMI of each text's topic with labels; three draws of each corpus, five runs each, ten topics. LDA: tomotopy without
privacy on the same texts read in the same way, ten topics, min_df 2, 500 iterations, three seeds.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from sklearn.metrics import normalized_mutual_info_score as nmi

from dptopics import Corpus, TextSettings, TopicModel
from dptopics.kernels.embedded import in_steps
from dptopics.plan import Plan
from dptopics.public.atlas import shipped
from dptopics.public.embeddings import embedding, unit

STORED = Path(__file__).parent / "results" / "atlas.json"
LABELS = {"airline_tweets": "reason", "medquad": "source"}
CORPORA = ("newsgroups20", "octis_bbc_news", "reddit_posts", "airline_tweets", "wikipedia_schools", "medquad")
SIZES = (300, 500, 1000, 2000)
OF_AUTHORS = ("airline_tweets", "amazon_5core")  # topics beside the reasons of complaints, and beside categories
GROWING = (300, 500, 1000, 2000, 3000, 4000, 5000, 8000, 16000)
DRAWS, RUNS, SEEDS = 3, 5, 3
TEXT = TextSettings()


def rows_of(corpus: str, data: Path, draw: int) -> list[tuple[str, str]]:
    """Texts with their labels, shuffled."""
    return [(text, label) for text, label, _ in signed_rows(corpus, data, draw)]


def signed_rows(corpus: str, data: Path, draw: int) -> list[tuple[str, str, str | None]]:
    """Texts with their labels and authors, shuffled."""
    table = pq.read_table(data / f"{corpus}.parquet")
    labels = table[LABELS.get(corpus, "label")].to_pylist()
    if corpus == "wikipedia_schools":
        labels = [one and one.split(".")[0] for one in labels]
    users = table["user"].to_pylist() if "user" in table.column_names else [None] * len(labels)
    found = [row for row in zip(table["text"].to_pylist(), labels, users, strict=True) if row[0] and row[1]]
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


def authors(data: Path) -> dict[str, dict[str, float]]:
    """NMI of the default with authors as units, and of LDA without privacy; and how many authors there are."""
    found: dict[str, dict[str, float]] = {}
    for corpus in OF_AUTHORS:
        for n in SIZES[1:]:
            of: dict[str, list[float]] = {"private": [], "lda": [], "authors": []}
            for draw in range(DRAWS):
                rows = [row for row in signed_rows(corpus, data, draw) if row[2]][:n]
                texts, labels, users = map(list, zip(*rows, strict=True))
                plan = Plan.topics(n_topics=10, epsilon=1.0, delta=1e-5, unit="author", text=TEXT)
                mechanism, read = plan.build(), Corpus.from_texts(texts, users, settings=TEXT)
                bounded = read.bounded(unit="author", max_words=plan.max_words, max_docs=plan.max_docs)
                models = [mechanism(bounded, np.random.default_rng(seed)).value for seed in range(RUNS)]
                of["private"] += [float(nmi(labels, model.assign(texts))) for model in models]
                of["lda"] += lda([row[:2] for row in rows])
                of["authors"].append(len(set(users)))
            found[f"{corpus} {n}"] = {name: round(float(np.mean(values)), 4) for name, values in of.items()}
            print(corpus, n, found[f"{corpus} {n}"], flush=True)
    return found


def wrong(data: Path) -> dict[str, list[float]]:
    """Of 300 texts: how many themes are shown, and how many of them fewer than three texts have among their nearest.

    Nearest by MiniLM of whole texts, which placed nothing; a theme is the mean of its sentences.
    """
    model, themes = embedding("minilm"), shipped("english").themes
    said = unit(model.together([one for theme in themes for one in theme.sentences]).astype(float))
    of = np.repeat(np.arange(len(themes)), [len(theme.sentences) for theme in themes])
    centres = np.zeros((len(themes), said.shape[1]))
    np.add.at(centres, of, said - said.mean(axis=0))
    found: dict[str, list[float]] = {}
    for corpus in CORPORA:
        texts = [text for text, _ in rows_of(corpus, data, 0)[:300]]
        near = np.argsort(-unit(model(texts).astype(float) - said.mean(axis=0)) @ unit(centres).T, axis=1)[:, :3]
        times = np.bincount(near.ravel(), minlength=len(themes))
        shown = [one.themes.shown for one in releases(texts, RUNS)]
        found[corpus] = [float(np.mean([len(s) for s in shown])), float(min(len(s) for s in shown)),
                         float(np.mean([np.mean(times[s] < 3) for s in shown]))]  # fmt: skip
        many, least, off = found[corpus]
        print(f"{corpus:18s} shown {many:.1f} (at least {least:.0f})  wrong {off:.1%}")
    return found


def growing(data: Path, runs: int = 3) -> dict[str, dict[str, float]]:
    """NMI of the default on the first 1,000 texts of each corpus, learned from the next 300, 500, 1,000 … texts."""
    found: dict[str, dict[str, float]] = {}
    for corpus in CORPORA:
        rows = rows_of(corpus, data, 0)
        held, rest = rows[:1000], [text for text, _ in rows[1000:]]
        for n in (n for n in GROWING if n <= len(rest)):
            models = releases(rest[:n], runs)
            scores = [nmi([label for _, label in held], one.assign([text for text, _ in held])) for one in models]
            found.setdefault(corpus, {})[str(n)] = round(float(np.mean(scores)), 4)
        print(corpus, found[corpus], flush=True)
    return found


def examples(data: Path, runs: int = 8) -> dict[str, dict[str, list[float]]]:
    """Of 2,000 texts and 3,000, by corpus: NMI, words above the noise, themes with a sentence."""
    found: dict[str, dict[str, list[float]]] = {}
    for corpus in CORPORA:
        rows = rows_of(corpus, data, 0)
        for n in (n for n in (2000, 3000) if n <= len(rows)):
            texts, labels = [text for text, _ in rows[:n]], [label for _, label in rows[:n]]
            for name, start in (("without", 10**9), ("with", 1500)):
                models = list(releases(texts, runs, examples_from=start))
                score = np.mean([nmi(labels, model.assign(texts)) for model in models])
                words = np.mean([sum(map(len, model.top_words())) for model in models])
                many = np.mean([sum(bool(row.examples) for row in model.themes.rows()) for model in models])
                found.setdefault(f"{n} {name}", {})[corpus] = [round(float(score), 4), float(words), float(many)]
        print(corpus, {key: of[corpus] for key, of in found.items() if corpus in of}, flush=True)
    return found


def of_examples(stored: dict[str, dict[str, dict[str, list[float]]]]) -> str:
    """A sentence of the page."""
    said = []
    for n in (2000, 3000):
        without, voted = (list(stored["examples"][f"{n} {name}"].values()) for name in ("without", "with"))
        words = [np.mean([row[1] for row in rows]) for rows in (without, voted)]
        many = [row[2] for row in voted]
        said.append(
            f"{words[0]:.0f} words become {words[1]:.0f}, and {min(many):.1f} to {max(many):.1f} themes have a sentence"
        )
    return f"of 2,000 texts {said[0]}; of 3,000 texts {said[1]}"


def releases(texts: list[str], runs: int, **settings: int) -> Iterator[TopicModel]:
    """The default at ε = 1, ten topics."""
    plan = Plan.topics(n_topics=10, epsilon=1.0, delta=1e-5, unit="document", text=TEXT, **settings)
    mechanism, corpus = plan.build(), Corpus.from_texts(texts, settings=TEXT)
    bounded = corpus.bounded(unit="document", max_words=plan.max_words)
    for seed in range(runs):
        yield mechanism(bounded, np.random.default_rng(seed)).value


def cover(data: Path, runs: int = 200) -> dict[str, float]:
    """Share of 95 % intervals that hold the number of texts by the stated rule, over releases of 500 texts."""
    texts = [text for text, _ in rows_of("newsgroups20", data, 0)[:500]]
    hits: dict[str, list[bool]] = {"themes": [], "everything else": [], "domains": [], "topics": []}
    for model in releases(texts, runs):
        themes = model.themes
        true = np.bincount(themes.cells(in_steps(model.places(texts))), minlength=themes.n_cells)
        n, domain = len(themes.shown), themes.domain_of[themes.shown]
        for k, row in enumerate(themes.rows()):
            hits["themes" if k < n else "everything else"].append(row.size.low <= true[k] <= row.size.high)
        for d, row in enumerate(themes.domains()):
            whole = true[n + d] + true[:n][domain == d].sum()
            hits["domains"].append(row.size.low <= whole <= row.size.high)
        counted = np.bincount(model.assign(texts) % (model.n_topics + 1), minlength=model.n_topics + 1)
        for k in range(model.n_topics):
            one = model.sizes.estimate(k)
            hits["topics"].append(one.low <= counted[k] <= one.high)
    found = {name: round(float(np.mean(of)), 4) for name, of in hits.items()}
    print(found)
    return found


def table(stored: dict[str, dict[str, list[float]]]) -> str:
    """NMI by corpus and number of texts, private and (LDA without privacy); the last row is the mean."""

    def mean(corpus: str, n: int, of: str) -> float:
        cells = [stored[key].get(of, []) for d in range(DRAWS) if (key := f"{corpus} {n} {d}") in stored]
        found = [score for cell in cells for score in cell]
        return float(np.mean(found)) if found else float("nan")

    lines = ["| texts | " + " | ".join(f"{n:,}" for n in SIZES) + " |", "|---|" + "---|" * len(SIZES)]
    numbers = {corpus: [(mean(corpus, n, "private"), mean(corpus, n, "lda")) for n in SIZES] for corpus in CORPORA}
    numbers["mean"] = np.mean(list(numbers.values()), axis=0).tolist()
    for corpus, row in numbers.items():
        lines.append(f"| {corpus} | " + " | ".join(f"{ours:.3f} ({theirs:.3f})" for ours, theirs in row) + " |")
    shown = [np.mean([mean(corpus, n, "themes") for corpus in CORPORA]) for n in SIZES]
    lines.append("| themes shown | " + " | ".join(f"{many:.0f}" for many in shown) + " |")
    return "\n".join(lines)


def growing_table(stored: dict[str, dict[str, float]]) -> str:
    """NMI on other texts by how many were learned from; the last row: the mean of what has all sizes up to 8,000."""
    lines = ["| learned from | " + " | ".join(f"{n:,}" for n in GROWING) + " |", "|---|" + "---|" * len(GROWING)]
    rows = dict(stored["growing"])
    whole = [row for row in rows.values() if "8000" in row]
    rows["mean of five"] = {n: sum(row[n] for row in whole) / len(whole) for n in whole[-1]}
    for name, row in rows.items():
        lines.append(f"| {name} | " + " | ".join(f"{row[str(n)]:.3f}" if str(n) in row else "" for n in GROWING) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run what is missing, and show it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--wrong", action="store_true")
    parser.add_argument("--cover", action="store_true")
    parser.add_argument("--growing", action="store_true")
    parser.add_argument("--examples", action="store_true")
    parser.add_argument("--authors", action="store_true")
    parser.add_argument("--corpora", nargs="+", default=CORPORA)
    parser.add_argument("--n", nargs="+", type=int, default=SIZES)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--embedding")
    parser.add_argument("--no-lda", action="store_true")
    parser.add_argument("--out", type=Path, default=STORED)
    given = parser.parse_args()
    stored = json.loads(given.out.read_text()) if given.out.exists() else {}
    if other := [run for run in (wrong, cover, growing, examples, authors) if getattr(given, run.__name__)]:
        stored |= {run.__name__: run(given.data) for run in other}
        given.out.write_text(json.dumps(stored, indent=1) + "\n")
        return
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
    print(table(stored))


if __name__ == "__main__":
    main()
