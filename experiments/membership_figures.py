"""Figures 1, 2, 5, 6 and 7 and a plot of table 2, from what membership.py wrote. NOT FOR RELEASE."""

import json
from pathlib import Path
from typing import Any

import numpy as np

GRID = np.geomspace(1e-4, 1, 81)
CORPORA = {"tweets": "TweetRumors, k = 5", "nips": "NIPS, k = 10", "newsgroups": "20 Newsgroups, k = 20"}


def read(folder: Path, name: str) -> dict[str, Any] | None:
    path = folder / f"membership_{name}.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else None


def table_1(folder: Path) -> dict[str, dict[str, Any]]:
    """For each corpus the paper's learner, or ours where that was not run."""
    found = {name: read(folder, f"table1_{name}") or read(folder, f"table1_{name}_ours") for name in CORPORA}
    return {name: result for name, result in found.items() if result is not None}


def draw(folder: Path) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("No figures: matplotlib is not installed.")
        return

    def save(figure: Any, name: str) -> None:
        figure.suptitle("NOT FOR RELEASE: computed from the texts", x=0.99, ha="right", fontsize=7, color="grey")
        figure.savefig(folder / f"membership_{name}.png", dpi=110)

    def panels(n: int, **options: Any) -> tuple[Any, Any]:
        figure = Figure(figsize=(4.6 * n, 4.2), layout="constrained")
        return figure, np.atleast_1d(figure.subplots(1, n, **options))

    results = table_1(folder)
    for name, wanted in (("figure2", "zeta"), ("figure7", "online")):
        if not results:
            break
        figure, axes = panels(len(results), sharey=True)
        for axis, (corpus, result) in zip(axes, results.items(), strict=True):
            for one in result["attacks"]:
                lira = one["attack"].startswith("LiRA") and "," not in one["attack"]
                if (lira and wanted in one["attack"]) or (name == "figure2" and not one["attack"].startswith("LiRA")):
                    axis.plot(GRID, np.maximum(one["curve"], 1e-5), label=one["attack"], linewidth=1.2)
            roc(axis, f"{CORPORA[corpus]} ({result['learner']})")
        save(figure, name)
    if result := read(folder, "figure1"):
        figure, axes = panels(4)
        for axis, one in zip(axes, result["documents"], strict=True):
            for side in ("in", "out"):
                axis.hist(one["zeta"][side], bins=16, alpha=0.6, label=side)
            axis.set(title=f"{one['document']} ({one['words']} words)", xlabel="ζ")
            axis.legend(fontsize=8, loc="upper left")
        save(figure, "figure1")
    if result := read(folder, "figure5"):
        plain = results.get("tweets")
        figure, axes = panels(2, sharey=True)
        for axis, fixed, title in (
            (axes[0], "epsilon_1", "ε₁ = 5, ε₂ varied"),
            (axes[1], "epsilon_2", "ε₂ = 5, ε₁ varied"),
        ):
            for row in result["rows"]:
                if row[fixed] == 5.0:
                    label = f"{row['pipeline']}: ε₁ = {row['epsilon_1']:g}, ε₂ = {row['epsilon_2']:g}"
                    axis.plot(GRID, np.maximum(row["curve"], 1e-5), label=label, linewidth=1.2)
            if plain:
                axis.plot(
                    GRID, np.maximum(plain["attacks"][0]["curve"], 1e-5), "k--", label="no privacy", linewidth=1.2
                )
            roc(axis, title)
        save(figure, "figure5")
    if result := read(folder, "table3_ours"):
        found = {name: part for name, part in result["corpora"].items() if name in CORPORA}
        figure, axes = panels(len(found), sharey=True)
        for axis, (corpus, part) in zip(axes, found.items(), strict=True):
            quantiles = {name: one["kl_quantiles"] for name, one in part.items()}
            ends = {"whislo": "0.05", "q1": "0.25", "med": "0.5", "q3": "0.75", "whishi": "0.95"}
            boxes = [{"label": name} | {k: q[v] for k, v in ends.items()} for name, q in quantiles.items()]
            axis.bxp(boxes, showfliers=False)
            axis.set(yscale="log", ylabel="KL(in ‖ out), 5 % to 95 %", title=f"Figure 6: {CORPORA[corpus]}")
            axis.tick_params(axis="x", labelsize=6)
        save(figure, "figure6")
    if result := read(folder, "table2"):
        figure, axes = panels(1)
        topics = [row["topics"] for row in result["rows"]]
        for kind in ("online", "offline"):
            axes[0].plot(topics, [row[kind]["tpr_at_0.1%_fpr"] for row in result["rows"]], "o-", label=f"ours, {kind}")
        axes[0].plot([5, 10, 15, 20, 25], [0.318, 0.449, 0.605, 0.679, 0.725], "k:", label="paper, online")
        axes[0].set(xlabel="topics k", ylabel="TPR at 0.1 % FPR", title="Table 2: NIPS", ylim=(0, 1))
        axes[0].legend(fontsize=8)
        save(figure, "table2")


def roc(axis: Any, title: str) -> None:
    axis.plot(GRID, GRID, "k:", linewidth=1)
    axis.set(xscale="log", yscale="log", xlim=(1e-4, 1), ylim=(1e-4, 1.1), title=title)
    axis.set(xlabel="false positive rate", ylabel="true positive rate")
    axis.legend(fontsize=6, loc="lower right")


if __name__ == "__main__":
    draw(Path(__file__).parent / "results")
