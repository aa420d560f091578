"""The table and the plot of docs/utility.md, from results/utility.json."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from results import RESULTS

DOCS = Path(__file__).parent.parent / "docs"
BEGIN, END = "<!-- table: written by benchmarks/utility.py -->", "<!-- end of the table -->"
SHOWN = (1.0, 3.0, 8.0)


def grouped(done: dict[str, Any]) -> dict[tuple[str, str, str, str], list[dict[str, Any]]]:
    cells: dict[tuple[str, str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for key, found in done.items():
        corpus, kind, unit, epsilon, _ = key.split(" | ")
        if "failed" not in found:
            cells[corpus, unit, kind, epsilon].append(found)
    return cells


def spread(values: list[float | None], digits: int = 3) -> str:
    """Mean, and the range of the seeds."""
    numbers = [v for v in values if v is not None]
    if not numbers:
        return "–"
    mean = f"{np.mean(numbers):.{digits}f}"
    return mean if len(numbers) == 1 else f"{mean} ({min(numbers):.{digits}f} to {max(numbers):.{digits}f})"


def table(done: dict[str, Any]) -> str:
    lines = [
        "| corpus, unit | ε | topics by | released | of 8 sure words | NPMI | diversity | NMI | perplexity |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    cells = grouped(done)
    for (corpus, unit, kind, epsilon), found in sorted(cells.items(), key=_order):
        if epsilon != "None" and float(epsilon) not in SHOWN:
            continue
        asked = "∞" if epsilon == "None" else f"{float(epsilon):g}"
        columns = [
            f"{corpus}, {unit}",
            asked,
            kind,
            spread([f["topics"] for f in found], 0),
            spread([f.get("topics_of_8_sure_words") for f in found], 0),
            *(spread([f[name] for f in found]) for name in ("npmi", "diversity", "nmi")),
            spread([f.get("perplexity") for f in found], 0),
        ]
        lines.append("| " + " | ".join(columns) + " |")
    return "\n".join(lines)


def _order(item: tuple[tuple[str, str, str, str], Any]) -> tuple[Any, ...]:
    corpus, unit, kind, epsilon = item[0]
    corpora = ["20 Newsgroups", "BBC News", "tweets", "Amazon reviews", "Enron senders"]
    return corpora.index(corpus), unit != "document", 99.0 if epsilon == "None" else float(epsilon), kind


def plot(done: dict[str, Any]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    cells = grouped(done)
    corpora = list(dict.fromkeys(corpus for corpus, unit, *_ in sorted(cells, key=lambda c: _order((c, None)))))
    figure, axes = plt.subplots(2, len(corpora), figsize=(3.4 * len(corpora), 6.4), squeeze=False, sharex=True)
    kinds = sorted({kind for _, _, kind, epsilon in cells if epsilon != "None"})
    plain = sorted({kind for _, _, kind, epsilon in cells if epsilon == "None"})
    for column, corpus in enumerate(corpora):
        for row, measure in enumerate(("npmi", "nmi")):
            axis = axes[row][column]
            for number, kind in enumerate(kinds):
                for unit, style in (("document", "-o"), ("author", "--s")):
                    points = sorted(
                        (float(epsilon), [f[measure] for f in found if f[measure] is not None])
                        for (c, u, k, epsilon), found in cells.items()
                        if (c, u, k) == (corpus, unit, kind)
                    )
                    points = [(e, v) for e, v in points if v]
                    if points:
                        axis.plot(
                            [e for e, _ in points], [np.mean(v) for _, v in points], style, color=f"C{number}",
                            markersize=4, label=f"{kind}, {unit}",
                        )  # fmt: skip
            for number, kind in enumerate(plain):
                values = [
                    f[measure] for f in cells.get((corpus, "document", kind, "None"), []) if f[measure] is not None
                ]
                if values:
                    axis.axhline(np.mean(values), color="0.5", linestyle=(0, (number + 1, 2)), label=kind)
            axis.set_xscale("log")
            axis.set_xticks([0.5, 1, 2, 3, 5, 8], ["½", "1", "2", "3", "5", "8"])
            axis.minorticks_off()
            axis.grid(alpha=0.3)
            if column == 0:
                axis.set_ylabel({"npmi": "NPMI of the top 10 words", "nmi": "NMI with labels"}[measure])
            if row == 0:
                axis.set_title(corpus)
            else:
                axis.set_xlabel("ε")
            if not axis.lines:
                axis.text(0.5, 0.5, "no labels", transform=axis.transAxes, ha="center", color="0.5")
    handles = {label: h for axis in axes.flat for h, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="lower center", ncols=3, fontsize=8, frameon=False)
    figure.tight_layout(rect=(0, 0.07 + 0.02 * (len(handles) // 3), 1, 1))
    figure.savefig(DOCS / "utility.png", dpi=130)


def write(done: dict[str, Any]) -> None:
    """Put the table into docs/utility.md and draw docs/utility.png."""
    page = DOCS / "utility.md"
    text = page.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n{table(done)}\n{END}{after}", "utf-8")
    plot(done)


if __name__ == "__main__":
    write(json.loads((RESULTS / "utility.json").read_text("utf-8")))
