"""Figures of experiments/topicdp.py: the paper's figures 2 to 10, 12 and 13."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from dptopics.mechanisms.topics.output_matrix import multiplier

LABELS = {
    "renyi (published)": ("TopicDP as published (renyi)", "C0"),
    "analytic": ("the same, analytic", "C2"),
    "mvg": ("MVG, γ_f = √m", "C1"),
    "mvg, norm of f(D)": ("MVG, γ_f = ‖f(D)‖", "C4"),
    "laplace": ("Laplace, ε for the matrix", "C3"),
    "laplace, split": ("Laplace, ε / (m · n) an entry", "C5"),
}
MEASURES = {"row_distance": "“L1” (mean row distance)", "rmse": "RMSE", "kendall": "Kendall distance"}
DRAWN = "recipients-30000"  # data sets of 30,000 users, as the authors' code draws them
NAMES = {"enron": "Enron", DRAWN: "Enron, n = 30,000", "amazon": "Amazon 5-core", "reviews": "Amazon reviews"}
DELTA = 1e-4


def select(results: dict[str, Any], **wanted: Any) -> list[dict[str, Any]]:
    rows = [row for row in results["rows"] if all(row[name] == value for name, value in wanted.items())]
    return sorted(rows, key=lambda row: (row["epsilon"], row["gamma"], row["size"]))


def lines(axes: Any, rows: list[dict[str, Any]], x: str, measure: str, **style: Any) -> None:
    for name, (label, colour) in LABELS.items():
        points = [(row[x], row["errors"][name][measure]) for row in rows]
        if points:
            axes.plot(*zip(*points, strict=True), color=colour, label=label, **({"marker": "."} | style))
    axes.set_ylabel(MEASURES[measure])
    if measure != "kendall":
        axes.set_yscale("log")
    else:
        axes.axhline(0.5, color="grey", linewidth=0.5)


def save(figure: Any, folder: Path, name: str, title: str) -> None:
    figure.suptitle(f"{title}. NOT FOR RELEASE", fontsize=9)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    if handles:
        shown = handles[: len(LABELS)], labels[: len(LABELS)]
        figure.legend(*shown, fontsize=7, loc="lower center", ncols=len(LABELS))
    figure.tight_layout(rect=(0, 0.04 if handles else 0, 1, 1))
    figure.savefig(folder / f"topicdp_{name}.png", dpi=110)
    plt.close(figure)


def bound(data: dict[str, Any], folder: Path) -> None:
    figure, axes = plt.subplots(figsize=(4, 3))
    axes.plot(*zip(*data["figure 2"], strict=True), marker=".")
    axes.set(xlabel="ε", ylabel="ε_R (α = 2, δ = 1e-4)", yscale="log")
    save(figure, folder, "bound", "Figure 2")


def by_epsilon(data: dict[str, Any], folder: Path) -> None:
    figure, axes = plt.subplots(2, 4, figsize=(15, 6), sharex=True)
    for column, name in enumerate(NAMES):
        for row, measure in enumerate(("row_distance", "rmse")):
            lines(axes[row, column], select(data, figure="3, 7a, 8a", data=name), "epsilon", measure)
        axes[0, column].set_title(NAMES[name])
        axes[1, column].set_xlabel("ε")
    save(figure, folder, "epsilon", "Figure 3: errors by ε, 10 × 10, γ = 0.1")


def by_gamma(data: dict[str, Any], folder: Path) -> None:
    figure, axes = plt.subplots(2, 3, figsize=(12, 6), sharex=True)
    for column, name in enumerate(("enron", DRAWN, "amazon")):
        for row, measure in enumerate(("row_distance", "rmse")):
            for size, style in (("dkw", "-"), ("binomial", "--"), ("exchangeable", ":")):
                rows = select(data, figure="4, 7b, 8b", data=name, sample_size=size)
                lines(axes[row, column], rows, "gamma", measure, linestyle=style)
        axes[0, column].set_title(NAMES[name])
        axes[1, column].set_xlabel("γ")
    title = "Figure 4: errors by γ, 10 × 10, ε = 3 (solid: dkw, dashed: binomial, dotted: exchangeable)"
    save(figure, folder, "gamma", title)


def by_size(data: dict[str, Any], folder: Path) -> None:
    figure, axes = plt.subplots(2, 6, figsize=(19, 6), sharex=True)
    for half, number in enumerate((5, 6)):
        for side, name in enumerate(("enron", DRAWN, "amazon")):
            column = 3 * half + side
            rows = select(data, figure=f"{number}, 7cd, 8cd", data=name)
            for row, measure in enumerate(("row_distance", "rmse")):
                lines(axes[row, column], rows, "size", measure)
            axes[0, column].set_title(f"{NAMES[name]}, ε = {3 if number == 5 else 5}")
            axes[1, column].set_xlabel("m = n")
    save(figure, folder, "size", "Figures 5 and 6: errors by size, γ = 0.1")


def kendall(data: dict[str, Any], folder: Path) -> None:
    figure, axes = plt.subplots(3, 4, figsize=(14, 8), sharey=True)
    for row, name in enumerate(("enron", DRAWN, "amazon")):
        lines(axes[row, 0], select(data, figure="3, 7a, 8a", data=name), "epsilon", "kendall")
        rows = select(data, figure="4, 7b, 8b", data=name, sample_size="exchangeable")
        lines(axes[row, 1], rows, "gamma", "kendall")
        lines(axes[row, 2], select(data, figure="5, 7cd, 8cd", data=name), "size", "kendall")
        lines(axes[row, 3], select(data, figure="6, 7cd, 8cd", data=name), "size", "kendall")
        for column, label in enumerate(("ε (γ = 0.1)", "γ (ε = 3)", "m = n (ε = 3)", "m = n (ε = 5)")):
            axes[row, column].set_xlabel(label)
        axes[row, 0].set_title(NAMES[name])
    save(figure, folder, "kendall", "Figures 7 and 8: ranks of keywords (0.5: chance)")


def by_model(data: dict[str, Any], folder: Path) -> None:
    figure, axes = plt.subplots(2, 6, figsize=(19, 6))
    for side, name in enumerate(("enron", DRAWN, "amazon")):
        for row, measure in enumerate(("row_distance", "kendall")):
            for model, style in (("lsi", "-"), ("hdp", "--")):
                rows = select(data, figure="9ac, 10ac", data=name, model=model)
                lines(axes[row, 2 * side], rows, "epsilon", measure, linestyle=style)
                rows = select(data, figure="9bd, 10bd", data=name, model=model, sample_size="exchangeable")
                lines(axes[row, 2 * side + 1], rows, "gamma", measure, linestyle=style)
            axes[row, 2 * side].set_xlabel("ε (γ = 0.1)")
            axes[row, 2 * side + 1].set_xlabel("γ (ε = 3)")
        axes[0, 2 * side].set_title(f"{NAMES[name]} (solid: LSI, dashed: HDP)")
    save(figure, folder, "models", "Figures 9 and 10: other models, 10 × 10")


def keywords(data: dict[str, Any], folder: Path) -> None:
    """Figures 12 and 13, with the paper's numbers of topics."""
    for name, chosen in (("enron", (2, 4, 5, 9)), ("amazon", (2, 3, 6, 7))):
        shown = data["keywords"][name]
        words = sorted({word for topic in shown["topics"] for word in topic})
        exact = np.array([[topic.get(word, 0.0) for word in words] for topic in shown["topics"]])
        listed, after = exact > 0, {}
        for kind, label in (("renyi", "renyi (published)"), ("analytic", "analytic")):
            drawn = np.random.default_rng(12).normal(0, multiplier(3.0, DELTA, kind), exact.shape)
            noisy = np.maximum(np.where(listed, exact + shown["sensitivity"] * drawn, 0.0), 0.0)
            after[f"{LABELS[label][0]}, clipped"] = noisy / noisy.sum(axis=1, keepdims=True) * exact.sum(1)[:, None]
        keyword_plot(exact, after, words, folder / f"topicdp_keywords_{name}.png", topics=[k - 1 for k in chosen])


def draw(data: dict[str, Any], folder: Path) -> None:
    for figure in (bound, by_epsilon, by_gamma, by_size, kendall, by_model, keywords):
        figure(data, folder)


def keyword_plot(
    before: np.ndarray,
    after: Mapping[str, np.ndarray],
    words: Sequence[str],
    path: str | Path,
    *,
    topics: Sequence[int] | None = None,
    n: int = 10,
) -> Path:
    """Bars of each topic's n heaviest words before noise, beside each matrix of ``after``, whose rows match."""
    chosen = list(range(before.shape[0])) if topics is None else list(topics)
    columns = min(4, len(chosen))
    rows = -(-len(chosen) // columns)
    figure = plt.figure(figsize=(4 * columns, 3.5 * rows))
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    width = 0.9 / (1 + len(after))
    for place, topic in zip(axes, chosen, strict=False):
        heaviest = np.argsort(-before[topic], kind="stable")[:n]
        at = np.arange(heaviest.size)
        for i, (label, matrix) in enumerate({"before": before, **after}.items()):
            place.bar(
                at + i * width, matrix[topic, heaviest], width, label=label, color="grey" if i == 0 else f"C{i - 1}"
            )
        place.set_xticks(at + 0.4, [words[w] for w in heaviest], rotation=60, fontsize=7)
        place.set_title(f"topic {topic}", fontsize=9)
    for empty in axes[len(chosen) :]:
        empty.axis("off")
    axes[0].legend(fontsize=7)
    figure.suptitle("NOT FOR RELEASE: keywords before and after noise", fontsize=9)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    return Path(path)
