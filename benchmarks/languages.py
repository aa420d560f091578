"""Topics of texts in other languages beside LDA without privacy, and how fast they are cut into words.

    python benchmarks/languages.py --data FOLDER            German (1,028 articles) and Japanese (1,500 of 3,683)
    python benchmarks/languages.py --data FOLDER --speed    megabytes a second of each segmenter, the former one beside

FOLDER has german_news and japanese_news (.parquet: text, label). ε = 1, δ = 1e-5, document level, ten topics,
defaults, five draws of the noise; LDA is tomotopy, K = 10, min_df 2, 500 iterations, on the same words, three seeds.
NOT FOR RELEASE: seeded noise. Results go to results/languages.json.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from sklearn.metrics import normalized_mutual_info_score

from dptopics import Corpus, Plan, TextSettings
from dptopics.core.tokenizers import Tokenizer
from dptopics.privacy.guarantee import Unit
from dptopics.public.atlas import has_atlas
from results import RESULTS, save

CORPORA = {"german": ("german_news", 1028), "japanese": ("japanese_news", 1500)}
EPSILON, DELTA, TOPICS, DRAWS, SEEDS = 1.0, 1e-5, 10, 5, 3


def read(folder: Path, name: str, n: int) -> tuple[list[str], np.ndarray]:
    table = pq.read_table(folder / f"{name}.parquet").to_pydict()
    chosen = np.random.default_rng(0).permutation(len(table["text"]))[:n]
    return [table["text"][i] for i in chosen], np.array([table["label"][i] for i in chosen])


def lda(documents: list[list[str]], labels: np.ndarray, seed: int) -> float:
    import tomotopy

    model = tomotopy.LDAModel(k=TOPICS, min_df=2, seed=seed)
    placed = [model.add_doc(words or ["-"]) for words in documents]
    assert len(placed) == len(labels)
    model.train(500, workers=1)
    found = [int(np.argmax(one.get_topic_dist())) for one in model.docs]
    return float(normalized_mutual_info_score(labels[: len(found)], found))


def topics(language: str, folder: Path) -> dict[str, Any]:
    texts, labels = read(folder, *CORPORA[language])
    text = TextSettings(language=language)
    corpus, scores, shown = Corpus.from_texts(texts, settings=text), [], []
    plan = Plan.topics(n_topics=TOPICS, epsilon=EPSILON, delta=DELTA, unit="document", text=text)
    for seed in range(DRAWS):
        model = plan.build()(corpus.bounded(unit=Unit.DOCUMENT), np.random.default_rng(seed)).value
        scores.append(float(normalized_mutual_info_score(labels, model.assign(texts))))
        shown.append(0 if model.themes is None else len(model.themes.shown))
    documents = [text.words(one) for one in texts]
    plain = [lda(documents, labels, seed) for seed in range(SEEDS)]
    return {"texts": len(texts), "mechanism": plan.mechanism, "nmi": scores, "themes": shown, "lda_nmi": plain}


def speed(folder: Path) -> dict[str, float]:
    """Megabytes a second, one core; Japanese text for both, since it is what there is."""
    texts, _ = read(folder, "japanese_news", 400)
    size, found = sum(len(one.encode()) for one in texts) / 1e6, {}
    for name in ("japanese", "chinese"):
        cut = Tokenizer.of(name)
        cut(texts[0])
        begin = time.perf_counter()
        for one in texts:
            cut(one)
        found[f"{name} ({cut.version})"] = size / (time.perf_counter() - begin)
    try:
        from janome.tokenizer import Tokenizer as Janome
    except ImportError:
        return found
    former, some = Janome(wakati=True), texts[:20]
    begin = time.perf_counter()
    for one in some:
        list(former.tokenize(one))
    return found | {"janome": sum(len(one.encode()) for one in some) / 1e6 / (time.perf_counter() - begin)}


def store(name: str, found: object) -> None:
    path = RESULTS / "languages.json"
    before = json.loads(path.read_text("utf-8")) if path.exists() else {}
    print(name, found, flush=True)
    save("languages", before | {name: found})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--speed", action="store_true")
    arguments = parser.parse_args()
    print("NOT FOR RELEASE")
    if arguments.speed:
        return store("speed", speed(arguments.data))
    for language in filter(has_atlas, CORPORA):
        store(language, topics(language, arguments.data))


if __name__ == "__main__":
    main()
