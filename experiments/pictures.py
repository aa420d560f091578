"""All pictures of results/, drawn again from what is stored, and a note of what each shows: a test compares.

python experiments/pictures.py      (needs matplotlib; seconds)
"""

import json

import fdptm_figures
import gibbs_and_local_figures
import membership_figures
import ngrams_figures
import spectral_figures
import tables_ngrams
import topicdp_figures
import vocabulary_sizes
from store import FOLDER, ROOT, digest

NOTES = FOLDER / "drawn_from.json"
TABLE_1 = tuple(f"membership_table1_{name}.json" for name in ("tweets", "nips_ours", "newsgroups_ours"))
# By the script that draws them: the results that each picture shows.
PICTURES = {
    "fdptm_figures.py": {"fdptm_coherence.png": ("fdptm.json",), "fdptm_vocabulary.png": ("fdptm.json",)},
    "gibbs_and_local_figures.py": {
        "gibbs_monitor.png": ("gibbs_monitor.json",),
        "local_perplexity.png": ("local_perplexity.json",),
    },
    "membership_figures.py": {
        "membership_figure1.png": ("membership_figure1.json",),
        "membership_figure2.png": TABLE_1,
        "membership_figure5.png": ("membership_figure5.json", "membership_table1_tweets.json"),
        "membership_figure6.png": ("membership_table3_ours.json",),
        "membership_figure7.png": TABLE_1,
        "membership_table2.png": ("membership_table2.json",),
    },
    "ngrams_figures.py": {"ngrams.png": ("ngrams.json",)},
    "spectral_figures.py": {f"spectral_figure{n}.png": (f"spectral_figure{n}.json",) for n in (2, 3, 4)},
    "topicdp_figures.py": {
        f"topicdp_{name}.png": ("topicdp.json",)
        for name in ("bound", "epsilon", "gamma", "kendall", "keywords_amazon", "keywords_enron", "models", "size")
    },
    "vocabulary_sizes.py": {"vocabulary_sizes.png": ("vocabulary_sizes.json",)},
}


def draw_all() -> None:
    def stored(name: str) -> object:
        return json.loads((FOLDER / name).read_text("utf-8"))

    fdptm_figures.draw(stored("fdptm.json"), FOLDER)
    gibbs_and_local_figures.draw(gibbs_and_local_figures.results(FOLDER), FOLDER)
    membership_figures.draw(FOLDER)
    ngrams_figures.draw(tables_ngrams.everything(), FOLDER)
    spectral_figures.draw_all()
    topicdp_figures.draw(stored("topicdp.json"), FOLDER)
    vocabulary_sizes.draw(stored("vocabulary_sizes.json")["corpora"])


def hashes() -> dict[str, dict[str, str]]:
    """For each picture: of itself, of the script that draws it and of the results that it shows."""
    folder = ROOT / "experiments"
    return {
        picture: {picture: digest(FOLDER / picture), script: digest(folder / script)}
        | {result: digest(FOLDER / result) for result in shown}
        for script, pictures in PICTURES.items()
        for picture, shown in pictures.items()
    }


def main() -> None:
    draw_all()
    NOTES.write_text(json.dumps(hashes(), indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
