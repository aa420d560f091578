"""Figure 5 of Manzonelli et al. 2024 with one vocabulary for the target and all shadows, as the authors' code has it.

    python experiments/membership_fixed.py --data FOLDER --wordnet FOLDER

The authors' ``train_shadow_models`` trains every shadow over the vocabulary of the target; membership.py lets
each shadow choose its own. Here the greedy vocabulary (ε₁) is chosen once, from half of the tweets, and 64 shadows
train ``zhu`` (ε₂) over it. Five minutes of one core. Results go to results/membership_fixed.json, one row at a time.
All numbers are computed from the texts, with seeded noise: NOT FOR RELEASE.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from membership import CODE as CODE_OF_ALL
from membership import FOLDER, fdptm, lira, rates
from membership_data import tweets
from store import made

from dptopics import Corpus, TextSettings, Unit
from dptopics.audit.membership.rates import halves, train_shadows

COMMAND = "python experiments/membership_fixed.py --data FOLDER --wordnet FOLDER"
CODE = (*CODE_OF_ALL, "experiments/membership_fixed.py", "src/dptopics/published/fdptm.py")
PAIRS = ((1.0, 5.0), (5.0, 5.0), (10.0, 5.0), (5.0, 1.0), (5.0, 10.0))
SHADOWS = 64


def row_of(corpus: Corpus, first: float, second: float) -> dict[str, object]:
    """The attack where all models have the vocabulary of one half."""
    pipeline = fdptm("published", first, second)
    half = np.flatnonzero(halves(corpus.n_documents, SHADOWS, 0)[0])
    bounded = corpus.take(half).bounded(unit=Unit.DOCUMENT)
    words = pipeline.vocabulary(bounded, np.random.default_rng(7)).value
    column = {word: number for number, word in enumerate(corpus.words)}
    place = [column[word] for word in words.words]

    def train(documents: np.ndarray, seed: int) -> np.ndarray:
        part = corpus.take(documents).bounded(unit=Unit.DOCUMENT).limited(vocabulary=words)
        model = pipeline.topics(part, np.random.default_rng(seed)).value
        topics = np.zeros((model.n_topics, len(corpus.words)))
        topics[:, place] = model.topic_word
        return topics

    one = lira(train_shadows(train, corpus.counts(), n_shadows=SHADOWS))
    return {"epsilon_1": first, "epsilon_2": second, "words": len(words), **rates(one)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--wordnet", type=Path, help="folder with index.noun and noun.exc of WordNet 3.0")
    arguments = parser.parse_args()
    path = FOLDER / "membership_fixed.json"
    rows = json.loads(path.read_text("utf-8"))["rows"] if path.exists() else []
    with made(path.name, code=CODE, command=COMMAND, inputs=[arguments.data / "tweet_rumours.parquet"]):
        texts = [" ".join(words) for words in tweets(arguments.data, arguments.wordnet)]
        corpus = Corpus.from_texts(texts, settings=TextSettings(language="none"))
        for first, second in PAIRS[len(rows) :]:
            rows.append(row_of(corpus, first, second))
            found = {"not_for_release": True, "corpus": "tweets", "shadows": SHADOWS, "rows": rows}
            path.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
            print({key: value for key, value in rows[-1].items() if key != "curve"}, flush=True)


if __name__ == "__main__":
    main()
