"""Figures and tables from the rows that gibbs_and_local.py wrote. NOT FOR RELEASE: the rows come from the texts."""

import json
import statistics
from pathlib import Path

Rows = list[dict[str, object]]
CORPORA = ("KOS", "NIPS", "Enron")


def curve(rows: Rows, corpus: str, series: str) -> list[tuple[float, float, float]]:
    """(ε per bit, mean perplexity, deviation), by ε."""
    found: dict[float, list[float]] = {}
    for row in rows:
        if (row["part"], row["corpus"], row.get("series")) == ("figure 2", corpus, series):
            found.setdefault(row.get("epsilon") or 0.0, []).append(row["perplexity"])  # type: ignore[arg-type]
    return [(e, statistics.mean(v), statistics.stdev(v) if len(v) > 1 else 0.0) for e, v in sorted(found.items())]


def table(rows: Rows) -> None:
    names = dict.fromkeys(str(row["series"]) for row in rows if row["part"] == "figure 2")
    for corpus in CORPORA:
        print(f"\n{corpus}: test perplexity by ε per bit (mean ± deviation; NOT FOR RELEASE)")
        for name in names:
            cells = [f"{e:.2f}: {m:.0f} ± {d:.0f}" for e, m, d in curve(rows, corpus, name)]
            print(f"  {name}: {'; '.join(cells)}")
        for row in rows:
            if (row["part"], row["corpus"]) == ("figure 1", corpus):
                for level, removed in row["removed"].items():  # type: ignore[attr-defined]
                    series = row[level]
                    print(
                        f"  monitor, {level} (N = {removed}): {series[149]:.4g} after 150, {series[-1]:.4g} after 300"
                    )  # type: ignore[index]


def draw(rows: Rows, folder: Path) -> None:
    table(rows)
    try:
        import matplotlib
    except ImportError:
        print("No figures: matplotlib is not installed.")
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(15, 4.2))
    titles = {"document": "N = longest document", "mean_document": "N = mean length", "word": "N = 1 word"}
    for panel, level in zip(axes, titles, strict=True):
        for row in rows:
            if row["part"] == "figure 1":
                values = row[level]
                panel.plot(range(1, len(values) + 1), values, label=row["corpus"])  # type: ignore[arg-type]
        panel.set(title=f"Figure 1: {titles[level]}", xlabel="sweeps", ylabel="ε of the monitor (no bound)")
        panel.grid(alpha=0.3)
        panel.legend()
    _save(figure, folder / "gibbs_monitor.png")
    figure, axes = plt.subplots(1, 3, figsize=(15, 4.4))
    for panel, corpus in zip(axes, CORPORA, strict=True):
        for name in dict.fromkeys(str(row["series"]) for row in rows if row["part"] == "figure 2"):
            points = curve(rows, corpus, name)
            if name.startswith("no privacy") and points:
                panel.axhline(points[0][1], linestyle=":", color="grey", linewidth=1)
                panel.annotate(name, (7.6, points[0][1]), fontsize=7, color="grey", ha="right", va="bottom")
            elif points:
                panel.errorbar(*zip(*points, strict=True), marker="o", markersize=4, capsize=3, label=name)
        panel.set(title=f"Figure 2: {corpus}", xlabel="ε per bit (baseline: claimed ε)", ylabel="test perplexity")
        panel.grid(alpha=0.3)
        panel.legend(fontsize=8)
    _save(figure, folder / "local_perplexity.png")


def _save(figure, path: Path) -> None:  # type: ignore[no-untyped-def]
    figure.text(0.995, 0.005, "NOT FOR RELEASE: computed from the texts", ha="right", fontsize=7, color="grey")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    print(f"Written: {path.name}")


def results(folder: Path) -> Rows:
    """All rows there are."""
    files = [folder / name for name in ("gibbs_monitor.json", "local_perplexity.json")]
    return [row for file in files if file.exists() for row in json.loads(file.read_text("utf-8"))]


if __name__ == "__main__":
    here = Path(__file__).parent / "results"
    draw(results(here), here)
