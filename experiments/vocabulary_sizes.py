"""How many words each vocabulary mechanism releases, and how much of the text they leave out, by ε.

    python experiments/vocabulary_sizes.py --data FOLDER

The folder holds Parquet tables with the columns ``user`` and ``text``. Size and missing mass (share of the corpus's
words, counted with repeats, that are not in the released vocabulary) are exact numbers about the data: NOT FOR RELEASE.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from store import note

from dptopics import Corpus, Unit, Vocabulary, secure_rng
from dptopics.plan import Plan
from dptopics.registry import mechanisms

CORPORA = ("newsgroups20", "amazon_5core", "pheme_threads")
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
DELTA, MAX_WORDS, RUNS = 1e-6, 100, 3
CHOICES = [(name, str(noise)) for name, kind in mechanisms("vocabulary").items() for noise in kind.noises]
RESULTS = Path(__file__).parent / "results"
CODE = (
    "experiments/vocabulary_sizes.py",
    "src/dptopics/mechanisms/vocabulary/policy.py",
    "src/dptopics/mechanisms/vocabulary/policy.py",
    "src/dptopics/mechanisms/vocabulary/threshold.py",
)
MARK = "not for release: computed from the data without noise"


def missing_mass(corpus: Corpus, vocabulary: Vocabulary) -> float:
    known = set(vocabulary.words)
    covered = np.array([word in known for word in corpus.words])
    return 1 - float(corpus.count[covered[corpus.word]].sum() / corpus.count.sum())


def measure(corpus: Corpus) -> list[dict[str, object]]:
    bounded = corpus.bounded(unit=Unit.AUTHOR, max_words=MAX_WORDS)
    rows: list[dict[str, object]] = []
    for name, noise in CHOICES:
        for epsilon in EPSILONS:
            mechanism = Plan.words(
                mechanism=name, epsilon=epsilon, delta=DELTA, unit=Unit.AUTHOR, noise=noise, max_words=MAX_WORDS
            ).build()
            start = time.perf_counter()
            released = [mechanism(bounded, secure_rng()).value for _ in range(RUNS)]
            seconds = (time.perf_counter() - start) / RUNS
            size = float(np.mean([len(words) for words in released]))
            missing = float(np.mean([missing_mass(corpus, words) for words in released]))
            rows.append(
                {
                    "mechanism": name,
                    "noise": noise,
                    "epsilon": epsilon,
                    "words": round(size, 1),
                    "missing_mass": round(missing, 4),
                    "seconds": round(seconds, 3),
                }
            )
    return rows


def show(name: str, rows: list[dict[str, object]]) -> None:
    print(f"\n{name}: words released (missing mass) by ε — {MARK}")
    print(f"{'':20}" + "".join(f"{epsilon:>16g}" for epsilon in EPSILONS))
    for mechanism, noise in CHOICES:
        own = [row for row in rows if (row["mechanism"], row["noise"]) == (mechanism, noise)]
        cells = [f"{row['words']:.0f} ({row['missing_mass']:.2f})" for row in own]
        print(f"{mechanism + ' ' + noise:20}" + "".join(f"{cell:>16}" for cell in cells))


def draw(results: dict[str, list[dict[str, object]]]) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("matplotlib is not installed: no picture.")
        return
    figure = Figure(figsize=(10, 5.5), layout="constrained")
    axes = figure.subplots(2, len(results), sharex=True, squeeze=False)
    for column, (corpus, rows) in enumerate(results.items()):
        for mechanism, noise in CHOICES:
            own = [row for row in rows if (row["mechanism"], row["noise"]) == (mechanism, noise)]
            for line, key in enumerate(("words", "missing_mass")):
                axes[line][column].plot(
                    EPSILONS,
                    [row[key] for row in own],
                    "-o" if noise == "gaussian" else "--s",
                    color=f"C{list(mechanisms('vocabulary')).index(mechanism)}",
                    markersize=3,
                    label=f"{mechanism}, {noise}",
                )
        axes[0][column].set(title=corpus, ylabel="words released" if column == 0 else "")
        axes[1][column].set(xscale="log", xlabel="ε", ylabel="missing mass" if column == 0 else "")
        axes[1][column].set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
        axes[1][column].minorticks_off()
    axes[0][0].legend(fontsize=7)
    figure.suptitle(f"Vocabulary by ε, δ = {DELTA:g} ({MARK})", fontsize=9)
    figure.savefig(RESULTS / "vocabulary_sizes.png", dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with the Parquet tables")
    folder, begin = parser.parse_args().data, time.perf_counter()
    results = {}
    for name in CORPORA:
        corpus = Corpus.from_table(folder / f"{name}.parquet", text="text", author="user", drop_missing=True)
        results[name] = measure(corpus)
        show(name, results[name])
    RESULTS.mkdir(exist_ok=True)
    settings = {"delta": DELTA, "max_words": MAX_WORDS, "runs": RUNS}
    written = {"note": MARK, "settings": settings, "corpora": results}
    (RESULTS / "vocabulary_sizes.json").write_text(json.dumps(written, indent=1, ensure_ascii=False) + "\n")
    command, minutes = "python experiments/vocabulary_sizes.py --data FOLDER", (time.perf_counter() - begin) / 60
    files = [folder / f"{name}.parquet" for name in CORPORA]
    note("vocabulary_sizes.json", code=CODE, command=command, minutes=max(minutes, 0.1), inputs=files)
    draw(results)


if __name__ == "__main__":
    main()
