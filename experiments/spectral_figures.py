"""Tables and figures of experiments/spectral.py, from its results.

python experiments/spectral_figures.py     (needs matplotlib)
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent / "results"
STYLE = {
    "spectral": ("C0", "o-", "spectral (sound)"),
    "spectral-1": ("C1", "s-", "configuration 1"),
    "spectral-1, pure ε": ("C1", "s:", "configuration 1, pure ε"),
    "spectral-2": ("C2", "^-", "configuration 2"),
    "spectral-3": ("C3", "v-", "configuration 3"),
    "spectral-4": ("C4", "d-", "configuration 4"),
    "variational": ("k", "x--", "DP-VI"),
}
Rows = list[dict[str, Any]]


def results(name: str) -> Rows:
    path = FOLDER / f"spectral_{name}.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else []


def best(rows: Rows, measure: str) -> dict[float | None, float | None]:
    """By ε: mean over seeds of the best split; None where any split was refused on every seed."""
    found: dict[float | None, float | None] = {}
    for epsilon in sorted({row["epsilon"] for row in rows}, key=lambda e: e or 0):
        splits: dict[Any, list[float]] = {}
        for row in rows:
            if row["epsilon"] == epsilon and measure in row:
                splits.setdefault(row.get("shares"), []).append(row[measure])
        found[epsilon] = min((float(np.mean(values)) for values in splits.values()), default=None)
    return found


def table(rows: Rows, key: str, measure: str) -> None:
    """Markdown: one line for each series, a column for each ε."""
    for group in dict.fromkeys(row[key] for row in rows):
        here = [row for row in rows if row[key] == group]
        epsilons = sorted({row["epsilon"] for row in here if row["epsilon"] is not None})
        print(f"\n{key} {group}: {measure}\n\n| | " + " | ".join(f"ε = {e:g}" for e in epsilons) + " |")
        print("|---" * (len(epsilons) + 1) + "|")
        for series in dict.fromkeys(row["series"] for row in here):
            values = best([row for row in here if row["series"] == series], measure)
            if None in values:
                print(f"| {series}: {values[None]:.4g} |" + " |" * len(epsilons))
                continue
            cells = [
                "" if e not in values else "refused" if values[e] is None else f"{values[e]:.3g}" for e in epsilons
            ]
            print(f"| {series} | " + " | ".join(cells) + " |")


def draw(rows: Rows, key: str, measure: str, label: str, path: Path) -> None:
    """One panel for each group, a curve for each series; refused runs are left out."""
    from matplotlib.figure import Figure

    groups = list(dict.fromkeys(row[key] for row in rows))
    across = min(4, len(groups))
    down = -(-len(groups) // across)
    figure = Figure(figsize=(4 * across, 3.4 * down), layout="constrained")
    panels = np.ravel(figure.subplots(down, across, squeeze=False))
    for axes in panels[len(groups) :]:
        axes.set_axis_off()
    for axes, group in zip(panels, groups, strict=False):
        here = [row for row in rows if row[key] == group]
        for series, (colour, line, name) in STYLE.items():
            values = best([row for row in here if row["series"] == series], measure)
            points = [(e, v) for e, v in values.items() if v is not None]
            if points:
                axes.plot(*zip(*points, strict=True), line, color=colour, label=name, markersize=4)
        for series, colour in (("spectral, no privacy", "C0"), ("variational, no privacy", "k")):
            flat = best([row for row in here if row["series"] == series], measure).get(None)
            if flat is not None:
                axes.axhline(flat, color=colour, linewidth=0.7, linestyle=(0, (1, 3)), label=series)
        axes.set(
            xscale="log",
            yscale="log",
            xlim=(0.25, 40),
            title=f"{key} {group}" if key == "k" else group,
            xlabel="ε",
            ylabel=label,
        )
    handles, names = panels[0].get_legend_handles_labels()
    panels[len(groups) if len(groups) < panels.size else 0].legend(handles, names, fontsize=8)
    figure.savefig(path, dpi=110)


def draw_spectrum(rows: Rows, path: Path) -> None:
    """Figure 3: the smallest eigenvalue that is needed by α₀, and the gap of the tensor by k."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.5, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    five = sorted((row for row in rows if row["k"] == 5), key=lambda row: row["alpha0"])
    alpha0 = np.array([row["alpha0"] for row in five])
    sigma = np.array([row["sigma_k"] for row in five])
    left.plot(alpha0, sigma, "o-", label="σ_k(M₂)")
    left.plot(alpha0, sigma * alpha0 * (alpha0 + 1), "s--", label="σ_k of M₂ scaled by α₀(α₀+1)")
    left.plot(alpha0, [row["sigma_next"] for row in five], "k:", label="σ_k+1(M₂): sampling noise")
    left.set(xscale="log", yscale="log", xlabel="α₀", title="(a) k = 5")
    left.legend(fontsize=7)
    by_k = sorted((row for row in rows if row["alpha0"] == 1.0), key=lambda row: row["k"])
    right.plot([row["k"] for row in by_k], [row["gap"] for row in by_k], "o-")
    right.set(yscale="log", xlabel="k", ylabel="γ_s", title="(b) α₀ = 1")
    figure.savefig(path, dpi=110)


def draw_all() -> None:
    draw(results("figure2"), "corpus", "l1", "mean L1 error of topics", FOLDER / "spectral_figure2.png")
    draw(results("figure4"), "k", "perplexity", "perplexity", FOLDER / "spectral_figure4.png")
    draw_spectrum(results("figure3"), FOLDER / "spectral_figure3.png")


def main() -> None:
    synthetic, wikipedia = results("figure2"), results("figure4")
    table(synthetic, "corpus", "l1")
    table(synthetic, "corpus", "frobenius")
    table(wikipedia, "k", "perplexity")
    for row in results("table2"):
        print(f"\n{row['series']}, ε = {row['epsilon']:g}, {row['vocabulary']} words, NPMI {row['npmi']:.3f}")
        print("\n".join(row["words"]))
    draw_all()


if __name__ == "__main__":
    main()
