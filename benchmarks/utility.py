"""What private topics are worth on fifteen corpora: coherence, agreement with labels, topics found.

    python benchmarks/utility.py --data FOLDER [--only CORPUS …] [--minilm]      # computes what is not there yet
    python benchmarks/utility.py --draw                                          # chooses, and writes docs/utility.md
    python benchmarks/utility.py --data FOLDER --again                           # is the default as good as stored?

FOLDER holds Parquet files with columns ``text``, ``user`` and ``label``. Settings of ``embedded`` are chosen for each
corpus on all others (leave one out, slices of one file leave together): the best mean of NPMI and NMI, both less those
of LDA, on the first seed. What was chosen is written down. Coherence counts the words that are shown; a topic with
fewer than five is not found; LDA is scored on as many of its topics, largest first, and as many words of each. Five
seeds. ``--minilm`` adds a run with whole texts embedded by MiniLM, which takes long: their vectors are kept in a file
beside the results (private data in real life). Everything is computed from the texts: NOT FOR RELEASE.
"""

import argparse
import json
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import tomotopy
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_mutual_info_score, normalized_mutual_info_score

from dptopics import Corpus, TextSettings, TopicModel
from dptopics.core.errors import DptopicsError
from dptopics.evaluate import diversity, npmi
from dptopics.kernels.embedded import FULL, mean_of_words, projected
from dptopics.mechanisms.topics.embedded_space import of_words
from dptopics.plan import Plan
from dptopics.public.embeddings import common_words, embedding, unit
from results import RESULTS, bar, save
from utility_corpora import CORPORA, Data
from utility_figures import write

DELTA = 1e-5
SEEDS = 5
AGAIN_FROM = 8000
LEAST_WORDS = 5  # shown, for a topic to be found
# What the script may choose from. The first is what the library does by itself.
CANDIDATES: dict[str, dict[str, Any]] = {
    "usual": {},
    "axes as the model has them": {"evenness": 0.0},
    "no more clusters": {"more_clusters": 0},
    "more common words": {"steepness": 1.0},
}
FOLDER = RESULTS / "utility"


@lru_cache(maxsize=1)
def outside(folder: Path) -> Corpus:
    """English text of other kinds."""
    table = pq.read_table(folder / "public_english.parquet", columns=["text"])
    return Corpus.from_texts([text or "" for text in table["text"].to_pylist()])


def measured(data: Data, tops: list[list[str]], main: np.ndarray, folder: Path, **more: Any) -> dict[str, Any]:
    """``tops``: words shown, largest topic first."""
    found = [words for words in tops if len(words) >= LEAST_WORDS]
    known = set(data.corpus.words)
    words = [word for topic in found for word in topic]
    result: dict[str, Any] = {"asked": data.n_topics, "topics": len(tops), "found": len(found), "units": data.units}
    result |= {"shown": [len(topic) for topic in found], "diversity": diversity(found)}
    result["unwritten"] = sum(word not in known for word in words) / max(1, len(words))
    result["npmi"] = float(npmi(data.corpus, found).mean()) if found else None
    result["outside"] = float(npmi(outside(folder), found).mean()) if found else None
    if data.labels is not None:
        result["nmi"] = float(normalized_mutual_info_score(data.labels, main))
        result["ami"] = float(adjusted_mutual_info_score(data.labels, main))
    return result | more


def private(data: Data, mechanism: str, n: int | str, epsilon: float, seed: int, folder: Path, **own: Any) -> Any:
    plan = Plan.topics(
        mechanism=mechanism,
        n_topics=n,
        epsilon=epsilon,
        delta=DELTA,
        unit=data.unit,
        text=TextSettings(),
        **own,
    )
    start = time.perf_counter()
    try:
        model: TopicModel = plan.build()(data.corpus.bounded(unit=data.unit), np.random.default_rng(seed)).value
    except DptopicsError as error:  # nothing cleared the threshold, say
        return {"failed": str(error)}
    seconds = time.perf_counter() - start
    if model.space is not None and not model.space.of_words:
        assert data.corpus.vectors is not None
        space = model.space
        places = projected(data.corpus.vectors, space.mean, space.projection, space.middle)
        main = space.shares(places).argmax(axis=1)
    else:
        main = model.transform_counts(data.matrix(model.vocabulary)).argmax(axis=1)
    order = np.argsort(-model.topic_share, kind="stable")
    tops = model.top_words(10)
    written = set(data.corpus.words)
    known = np.array([word in written for word in model.vocabulary.words])
    mass = float(model.topic_share @ model.topic_word[:, ~known].sum(axis=1))
    return measured(data, [tops[k] for k in order], main, folder, seconds=seconds, unwritten_mass=mass)


def lda(data: Data, seed: int) -> dict[str, Any]:
    """tomotopy's LDA over words of at least ten documents: what people do who need no privacy."""
    corpus = data.corpus
    common = np.bincount(corpus.word, minlength=len(corpus.words)) >= 10
    tokens, start = (
        np.repeat(corpus.word, corpus.count),
        np.concatenate([[0], np.cumsum(corpus.count)])[corpus.doc_start],
    )
    names = np.array(corpus.words, object)
    model, rows = tomotopy.LDAModel(k=data.n_topics, seed=seed + 1), []
    for row in range(corpus.n_documents):
        mine = tokens[start[row] : start[row + 1]]
        if (mine := mine[common[mine]]).size:
            model.add_doc(names[mine].tolist())
            rows.append(row)
    begun = time.perf_counter()
    model.train(100, workers=1)
    main = np.zeros(corpus.n_documents, int)
    main[rows] = [int(np.argmax(document.get_topic_dist())) for document in list(model.docs)]
    topics = np.array([model.get_topic_word_dist(k) for k in range(data.n_topics)])
    size = np.array(model.get_count_by_topics(), float)
    rank = np.log(topics) - 0.4 * np.log(size / size.sum() @ topics)  # as TopicModel.top_words
    words = [[model.used_vocabs[w] for w in np.argsort(-rank[k])[:10]] for k in np.argsort(-size, kind="stable")]
    found: dict[str, Any] = {"words": words, "seconds": time.perf_counter() - begun}
    if data.labels is not None:
        found["nmi"] = float(normalized_mutual_info_score(data.labels, main))
        found["ami"] = float(adjusted_mutual_info_score(data.labels, main))
    return found


def clusters(data: Data, seed: int, folder: Path) -> dict[str, Any]:
    """Clusters of embeddings without privacy, with BERTopic's words."""
    words = common_words(TextSettings())
    counts = data.corpus.counts(words)
    public = of_words(words, embedding(), TextSettings())
    space = public.space(128, public.frequency / public.frequency.sum(), 0.0, 1.0)
    places = mean_of_words(counts.doc_start, counts.word, counts.count, space.word_means, np.zeros(128)) / FULL
    main = KMeans(data.n_topics, n_init=1, random_state=seed).fit_predict(unit(places - places.mean(axis=0)))
    used = data.matrix(words) > 0
    share = np.array([np.asarray(used[main == k].sum(axis=0)).ravel() for k in range(data.n_topics)], float)
    score = share * np.log1p(share.sum() / data.n_topics / (share.sum(axis=0) + 1))
    order = np.argsort(-np.bincount(main, minlength=data.n_topics), kind="stable")
    return measured(data, [[words.words[w] for w in np.argsort(-score[k])[:10]] for k in order], main, folder)


def cells(seeds: int, lda_seeds: int, minilm: bool) -> list[tuple[str, str, float, int]]:
    """What to compute: kind, setting, ε, seed. The most telling first."""
    every = range(seeds)
    wanted = [("lda", "", 0.0, seed) for seed in range(lda_seeds)]
    wanted += [(kind, setting, 1.0, s) for s in every for kind, setting in (("embedded", "usual"), ("mixture", ""))]
    wanted += [("embedded", setting, 1.0, 0) for setting in CANDIDATES if setting != "usual"]
    wanted += [("embedded", "usual", 3.0, seed) for seed in every]
    wanted += [("minilm", "", epsilon, seed) for epsilon in (1.0, 3.0) for seed in (every if minilm else ())]
    return [*wanted, ("variational", "", 1.0, 0), ("auto", "", 1.0, 0), ("clusters", "", 0.0, 0)]


def compute(data: Data, cell: tuple[str, str, float, int], folder: Path, lists: dict[int, Any]) -> Any:
    kind, setting, epsilon, seed = cell
    if kind == "lda":
        return lda(data, seed)
    if kind == "clusters":
        return clusters(data, seed, folder)
    own = dict(CANDIDATES.get(setting, {}))
    if "embedding" in own:
        own["embedding"] = embedding(own["embedding"])
    n: int | str = "auto" if kind == "auto" else data.n_topics
    if kind == "minilm":
        own = {"embedding": data.embedded()}
    name = "embedded" if kind in ("auto", "minilm") else kind
    found = private(data, name, n, epsilon, seed, folder, **own)
    if found.get("found"):  # LDA on as many topics and words
        peers = [words[:n] for words, n in zip(lists[seed] or lists[0], found["shown"], strict=False)]
        found["lda_npmi"] = float(npmi(data.corpus, peers).mean())
        found["lda_outside"] = float(npmi(outside(folder), peers).mean())
    return found


def again(data: Path, seeds: int) -> None:
    """The default at ε = 1 beside what is stored, where there are 8,000 units or more: the same seeds, other code."""
    stored = {path: json.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.json"))}
    kinds, found = ("npmi", "nmi", "found"), {}
    for before in stored.values():
        keys = [key for seed in range(seeds) if (key := f"embedded | usual | 1.0 | {seed}") in before]
        cells = [before[key] for key in keys]
        if cells[0]["units"] < AGAIN_FROM:
            continue
        held = Data(data, before["corpus"])
        now = [private(held, "embedded", held.n_topics, 1.0, seed, data) for seed in range(len(cells))]
        found[before["corpus"]] = {
            kind: [float(np.mean([one[kind] for one in of])) for of in (cells, now)] for kind in kinds if kind in now[0]
        }
        print(before["corpus"], found[before["corpus"]], flush=True)
    bars = []
    for kind, slack in zip(kinds, (0.005, 0.005, 0.0), strict=True):
        before, now = np.mean([one[kind] for one in found.values() if kind in one], axis=0).tolist()
        bars.append(bar(f"{kind} in the mean", now, before - slack, unit="", at_least=True))
    save("utility_again", {"seeds": seeds, "before and now": found, "bars": bars})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--only", nargs="+", choices=CORPORA, default=list(CORPORA))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--lda-seeds", type=int, default=SEEDS, help="fewer, to save time: the first stands in")
    parser.add_argument("--minilm", action="store_true", help="also with whole texts embedded by MiniLM")
    parser.add_argument("--draw", action="store_true", help="only write the page of what is there")
    parser.add_argument("--again", action="store_true", help="compare the default with what is stored")
    arguments = parser.parse_args()
    if arguments.again:
        again(arguments.data, arguments.seeds)
        return
    FOLDER.mkdir(exist_ok=True)
    for name in [] if arguments.draw else arguments.only:
        path = FOLDER / f"{''.join(c if c.isalnum() else '_' for c in name)}.json"
        done: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {"corpus": name}
        missing = [
            cell
            for cell in cells(arguments.seeds, arguments.lda_seeds, arguments.minilm)
            if " | ".join(map(str, cell)) not in done
        ]
        data = Data(arguments.data, name) if missing else None
        for cell in missing:
            assert data is not None
            lists = {s: done.get(f"lda |  | 0.0 | {s}", {}).get("words") for s in range(arguments.seeds)}
            key = " | ".join(map(str, cell))
            done[key] = found = compute(data, cell, arguments.data, lists)
            path.write_text(json.dumps(done, ensure_ascii=False) + "\n", "utf-8")
            shown = {k: round(v, 3) for k, v in found.items() if isinstance(v, float)}
            print(name, key, found.get("found"), shown, flush=True)
    if arguments.draw:
        write([json.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.json"))], list(CANDIDATES))


if __name__ == "__main__":
    main()
