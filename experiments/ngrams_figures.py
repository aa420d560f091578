"""Tables and figures of the n-gram experiment, from results/ngrams.json."""

import json
import statistics
from collections import defaultdict
from math import isfinite
from pathlib import Path

Rows = list[dict[str, object]]
Curve = dict[object, list[float]]

COLOURS = {
    "bayes (proved)": "C0", "bayes, log form (proved)": "C9",
    "BayesianDP (claimed)": "C1", "EndToEndDP (claimed)": "C3",
    "laplace, W of the paper (proved)": "C2", "laplace, W tuned (proved)": "C8", "laplace-public (claimed)": "C4",
    "k-anonymity (none)": "C5", "public baseline": "grey",
}  # fmt: skip


def curves(rows: Rows, part: str, x: str, y: str = "kl", **fixed: object) -> dict[str, Curve]:
    """Series: value of x: values of y over repetitions."""
    found: dict[str, Curve] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["part"] == part and y in row and all(row[k] == v for k, v in fixed.items()):
            found[str(row["series"])][row[x]].append(float(row[y]))  # type: ignore[arg-type]
    return found


def merged(*several: dict[str, Curve]) -> dict[str, Curve]:
    found: dict[str, Curve] = defaultdict(dict)
    for one in several:
        for name, curve in one.items():
            found[name] |= curve
    return found


def views(rows: Rows) -> dict[str, dict[str, Curve]]:
    """What each figure of the paper shows."""
    millions = curves(rows, "1", "epsilon", data="4 million synthetic")
    at_tenth = curves(rows, "1", "data", data="4 million synthetic", epsilon=0.1)
    base = curves(rows, "1", "data", data="4 million synthetic", epsilon=None)
    here = {name: curve["4 million synthetic"] for name, curve in merged(at_tenth, base).items()}
    largest = {name: {4_000_000: values} for name, values in here.items()}
    longest = {name: {50_000: values} for name, values in here.items()}
    return {
        "figure 1: KL by ε, 4 million synthetic authors": millions,
        "figure 1: KL by ε, reddit_college (60,000 authors)": curves(rows, "1", "epsilon", data="reddit_college"),
        "figure 2: KL by authors, ε = 0.1": merged(curves(rows, "2", "x"), largest),
        "figure 3: KL by n-grams on the list, 4 million authors, ε = 0.1": merged(curves(rows, "3", "x"), longest),
        "figure 4: KL by noise on the public counts, ε = 0.1": curves(rows, "4", "x"),
        "figure 5: KL by k, 100,000 authors": {n: c for n, c in curves(rows, "5", "x").items() if n.startswith("k-")},
        "figure 5: KL by ε, 100,000 authors": {
            n: c for n, c in curves(rows, "5", "epsilon").items() if not n.startswith("k-")
        },
        "figure 6: the attack is right, by ε": curves(rows, "6", "epsilon", "probability"),
        "table 1: perplexity, reddit_college, ε = 0.2": curves(
            rows, "table", "epsilon", "perplexity", data="reddit_college"
        ),
        "table 1: perplexity, 4 million synthetic authors, ε = 0.2": curves(
            rows, "table", "epsilon", "perplexity", data="4 million synthetic"
        ),
        "bigrams, Google's counts: KL by ε, reddit_college": curves(rows, "bigrams", "epsilon"),
    }


def table(rows: Rows) -> None:
    for title, series in views(rows).items():
        print(f"\n{title} (mean; NOT FOR RELEASE)")
        for name, curve in series.items():
            points = sorted(curve.items(), key=lambda p: (p[0] is not None, p[0] or 0))
            cells = [f"{'-' if x is None else f'{x:g}'}: {statistics.mean(v):.4g}" for x, v in points]  # type: ignore[str-format]
            print(f"  {name}: {'; '.join(cells)}")


def draw(rows: Rows, folder: Path) -> None:
    try:
        import matplotlib
    except ImportError:
        print("No figures: matplotlib is not installed.")
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    shown = views(rows)
    figure, axes = plt.subplots(3, 3, figsize=(18, 14))
    titles = [title for title in shown if title.startswith("figure")]
    for place, title in zip(axes.flat, titles, strict=False):
        for name, curve in shown[title].items():
            means = {x: statistics.mean(v) for x, v in curve.items()}
            colour = COLOURS.get(name, "k")
            if set(means) == {None}:
                place.axhline(means[None], color=colour, linestyle=":", label=name)
                continue
            points = sorted((x, y) for x, y in means.items() if x is not None and isfinite(y))  # type: ignore[type-var]
            if points:
                place.plot(*zip(*points, strict=True), marker="o", markersize=4, color=colour, label=name)
        if any(curve for curve in shown[title].values()):
            place.set_xscale("symlog" if "noise on" in title else "log")
            if "attack" not in title:
                place.set_yscale("log")
            place.legend(fontsize=7)
        place.set_title(title, fontsize=10)
        place.set_ylabel("share of pairs" if "attack" in title else "KL(private ‖ released)")
        place.grid(alpha=0.3)
    for place in list(axes.flat)[len(titles) :]:
        place.axis("off")
    figure.text(0.995, 0.005, "NOT FOR RELEASE: computed from the texts", ha="right", fontsize=7, color="grey")
    figure.tight_layout()
    figure.savefig(folder / "ngrams.png", dpi=80)
    print("Written: ngrams.png")


if __name__ == "__main__":
    results = Path(__file__).parent / "results"
    everything = json.loads((results / "ngrams.json").read_text("utf-8"))
    table(everything)
    draw(everything, results)
