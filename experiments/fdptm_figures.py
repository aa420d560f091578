"""Figures and a table from the rows that fdptm.py wrote. NOT FOR RELEASE: the rows come from the texts."""

import json
import statistics
from collections import defaultdict
from pathlib import Path

Rows = list[dict[str, object]]
Curve = dict[float, list[float]]


def curves(rows: Rows, figure: str, by: str, value: str, **fixed: float | None) -> dict[str, Curve]:
    """Series → ε → values of all repetitions."""
    found: dict[str, Curve] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["figure"] == figure and row.get(value) is not None and all(row[k] == v for k, v in fixed.items()):
            found[str(row["series"])][row[by]].append(row[value])  # type: ignore[index,arg-type]
    return found


def deviation(values: list[float]) -> float:
    return statistics.stdev(values) if len(values) > 1 else 0.0


def _epsilon(point: tuple[float | None, list[float]]) -> float:
    return point[0] or 0.0


def table(rows: Rows) -> None:
    places = [
        ("figure 8: vocabulary size by ε₁", curves(rows, "3", "epsilon_1", "vocabulary")),
        ("figure 3: UMass by ε₁, LDA without privacy", curves(rows, "3", "epsilon_1", "umass")),
        ("figure 4: UMass by ε₁, ε₂ = 3", curves(rows, "4", "epsilon_1", "umass", epsilon_2=3.0)),
        ("figure 4: UMass by ε₂, ε₁ = 3", curves(rows, "4", "epsilon_2", "umass", epsilon_1=3.0)),
        ("figure 3, top 30 by the authors' code", curves(rows, "3", "epsilon_1", "umass_code_30")),
        ("ε₁, top 30 by the authors' code", curves(rows, "4", "epsilon_1", "umass_code_30", epsilon_2=3.0)),
        ("ε₂, top 30 by the authors' code", curves(rows, "4", "epsilon_2", "umass_code_30", epsilon_1=3.0)),
        ("NPMI by ε₂, ε₁ = 3", curves(rows, "4", "epsilon_2", "npmi", epsilon_1=3.0)),
        ("diversity by ε₂, ε₁ = 3", curves(rows, "4", "epsilon_2", "diversity", epsilon_1=3.0)),
        ("extra: UMass by claimed ε, words given", curves(rows, "extra", "epsilon_2", "umass")),
    ]
    for title, series in places:
        print(f"\n{title} (mean, standard deviation; NOT FOR RELEASE)")
        for name, curve in series.items():
            cells = [
                f"{e or 0:g}: {statistics.mean(v):.4g} ± {deviation(v):.2g}"
                for e, v in sorted(curve.items(), key=_epsilon)
            ]
            print(f"  {name}: {'; '.join(cells)}")


def draw(rows: Rows, folder: Path) -> None:
    try:
        import matplotlib
    except ImportError:
        print("No figures: matplotlib is not installed.")
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    def panel(axes, series: dict[str, Curve], title: str, x: str, y: str) -> None:  # type: ignore[no-untyped-def]
        for name, curve in series.items():
            points = sorted((e, v) for e, v in curve.items() if e is not None)
            if not points:
                mean = statistics.mean(curve[None])  # type: ignore[index]
                axes.axhline(mean, color="grey", linestyle=":", label=name)
                continue
            means, spread = [statistics.mean(v) for _, v in points], [deviation(v) for _, v in points]
            axes.errorbar([e for e, _ in points], means, spread, marker="o", markersize=4, capsize=3, label=name)
        axes.set(title=title, xlabel=x, ylabel=y)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)

    figure, axes = plt.subplots(1, 2, figsize=(12, 4.5))
    sizes = curves(rows, "3", "epsilon_1", "vocabulary")
    sizes.pop("all words, no privacy", None)
    panel(axes[0], sizes, "Figure 8: vocabulary size", "ε₁", "words")
    panel(axes[1], curves(rows, "3", "epsilon_1", "umass"), "Figure 3: LDA without privacy", "ε₁", "UMass, top 10")
    _save(figure, folder / "fdptm_vocabulary.png")
    figure, axes = plt.subplots(1, 2, figsize=(12, 4.5), sharey=True)
    left = curves(rows, "4", "epsilon_1", "umass", epsilon_2=3.0)
    right = curves(rows, "4", "epsilon_2", "umass", epsilon_1=3.0)
    panel(axes[0], left, "Figure 4: ε₁ varied, ε₂ = 3", "ε₁", "UMass, top 10")
    panel(axes[1], right, "Figure 4: ε₂ varied, ε₁ = 3", "ε₂", "UMass, top 10")
    _save(figure, folder / "fdptm_coherence.png")


def _save(figure, path: Path) -> None:  # type: ignore[no-untyped-def]
    figure.text(0.995, 0.005, "NOT FOR RELEASE: computed from the texts", ha="right", fontsize=7, color="grey")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    print(f"Written: {path.name}")


if __name__ == "__main__":
    results = Path(__file__).parent / "results"
    everything = json.loads((results / "fdptm.json").read_text("utf-8"))
    table(everything)
    draw(everything, results)
