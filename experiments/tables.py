"""Tables of the pages in docs/papers, as Markdown, from the stored results: a test holds the pages to them.

python experiments/tables.py [NAME …]
"""

import json
import statistics
import sys
from collections.abc import Callable
from itertools import product
from math import sqrt
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"


def read(name: str) -> Any:
    return json.loads((FOLDER / name).read_text("utf-8"))


def markdown(head: list[str], rows: list[list[str]]) -> str:
    return (
        "\n".join("| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *rows])
        .replace("| --- ", "|---")
        .replace("|--- |", "|---|")
        .replace("|  |", "| |")
    )


def spread(values: list[float], digits: int = 0) -> str:
    """Mean ± standard deviation, with a true minus sign."""
    if not values:
        return "-"
    found = f"{statistics.mean(values):.{digits}f} ± {statistics.stdev(values) if len(values) > 1 else 0:.{digits}f}"
    return found.replace("-", "−")


# --- FDPTM ---

EPSILONS = (0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0)
CHOICES = {
    "published greedy": "greedy, published threshold (`none`)",
    "greedy": "greedy (`proved`)",
    "weighted": "weighted, Gaussian (`proved`)",
}
PIPELINES = {
    "published (greedy, zhu; none)": "published (`none`)",
    "sound (greedy, variational; proved)": "sound (`proved`)",
}


def _fdptm(value: str, **place: Any) -> list[float]:
    return [row[value] for row in read("fdptm.json") if value in row and all(row[k] == v for k, v in place.items())]


def fdptm_figure8() -> str:
    head = ["ε₁", *(f"{e:g}" for e in EPSILONS)]
    sizes = {
        name: [statistics.mean(_fdptm("vocabulary", figure="3", series=name, epsilon_1=e)) for e in EPSILONS]
        for name in CHOICES
    }
    return markdown(head, [[CHOICES[name], *(f"{s:.0f}" for s in line)] for name, line in sizes.items()])


def fdptm_figure3() -> str:
    head = ["ε₁", *(f"{e:g}" for e in EPSILONS), "all words"]
    plain = spread(_fdptm("umass", figure="3", series="all words, no privacy"))
    rows = [
        [title, *(spread(_fdptm("umass", figure="3", series=name, epsilon_1=e)) for e in EPSILONS)]
        for name, title in CHOICES.items()
    ]
    return markdown(head, [[*row, plain if i == 0 else ""] for i, row in enumerate(rows)])


def fdptm_figure4() -> str:
    rows = []
    for varied, fixed, title in (("epsilon_1", "epsilon_2", "ε₁"), ("epsilon_2", "epsilon_1", "ε₂")):
        for name, shown in PIPELINES.items():
            cells = [spread(_fdptm("umass", figure="4", series=name, **{varied: e, fixed: 3.0})) for e in EPSILONS]
            rows.append([f"{title} varied: {shown}", *cells])
    return markdown(["", *(f"{e:g}" for e in EPSILONS)], rows)


# --- membership ---

PAPER_TABLE_3 = {"zeta": 22.25, "negative entropy": 59.73, "logit of maximum": 86.52, "standard deviation": 77.02}


def membership_table3() -> str:
    head = ["statistic", "paper, rejected", "ours, rejected", "without correction", "KL(in ‖ out), median", "95 %",
            "mean in above mean out"]  # fmt: skip
    rows = []
    for name, found in read("membership_table3_tweets_256_ours.json")["statistics"].items():
        far = found["kl_quantiles"]
        rows.append([
            "ζ" if name == "zeta" else name, f"{PAPER_TABLE_3[name]:.2f} %", f"{found['share']:.2%}".replace("%", " %"),
            f"{found['share_without_correction']:.1%}".replace("%", " %"), f"{far['0.5']:.2f}", f"{far['0.95']:.1f}",
            f"{found['in_above_out']:.1%}".replace("%", " %"),
        ])  # fmt: skip
    return markdown(head, rows)


def _rate(row: Any) -> str:
    return f"{row['tpr_at_0.1%_fpr']:.2%}".replace("%", " %")


def membership_figure5() -> str:
    plain = read("membership_table1_tweets_ours.json")["attacks"][0]
    rows = [["no privacy, 128 shadows", "", _rate(plain), f"{plain['auc']:.3f}"]]
    for row in read("membership_figure5.json")["rows"]:
        first = ("sound: " if row["pipeline"] == "sound" else "") + f"{row['epsilon_1']:g}"
        rows.append([first, f"{row['epsilon_2']:g}", _rate(row), f"{row['auc']:.3f}"])
    return markdown(["ε₁", "ε₂", "TPR at 0.1 % FPR", "AUC"], rows)


def membership_rare_words() -> str:
    rows = []
    for row in read("membership_rare_words.json")["rows"]:
        most = row["left_out_up_to"]
        title = f"words that occur more than {most} times" if most else "all words"
        rows.append([title, f"{row['vocabulary']:,}", _rate(row)])
    return markdown(["tweets with …", "vocabulary", "TPR at 0.1 % FPR"], rows)


PAPER_TABLE_4 = {
    "tweets": ("TweetRumors", "(5,802 raw)", "9", "5,942"),
    "nips": ("NIPS", "1,494", "893", "10,346"),
    "newsgroups": ("20 Newsgroups", "18,037", "84", "74,781"),
}


def membership_table4() -> str:
    rows = []
    for name, found in read("membership_table4.json")["corpora"].items():
        title, documents, length, words = PAPER_TABLE_4[name]
        mine = (f"{found['documents']:,}", f"{found['average_length']:,.1f}", f"{found['vocabulary']:,}")
        pairs = zip((documents, length, words), mine, strict=True)
        rows.append([title, *(f"{theirs} / {ours}" for theirs, ours in pairs)])
    return markdown(["", "documents, paper / ours", "words per document", "vocabulary"], rows)


# --- spectral ---


def _printed(config: str, kind: str, epsilon: float, value: str) -> list[float]:
    """Of each seed the best of the splits by L1, as the paper chooses; seeds at which all refuse are left out."""
    rows = [
        row for row in read("spectral_printed.json")
        if (row["series"], row["sensitivities"], row["epsilon"]) == (config, kind, epsilon)
    ]  # fmt: skip
    best: dict[int, Any] = {}
    for row in rows:
        if "l1" in row and (row["seed"] not in best or row["l1"] < best[row["seed"]]["l1"]):
            best[row["seed"]] = row
    return [row[value] for row in best.values()]


def _three(values: list[float], runs: int = 5) -> str:
    if not values:
        return "refused"
    found = f"{statistics.mean(values):.3g}".replace("inf", "∞")
    return found if len(values) == runs else f"{found} ({len(values)} of {runs})"


def spectral_printed() -> str:
    epsilons = (0.3, 1.0, 3.0, 10.0, 30.0)
    rows = [
        [f"`spectral-{i}`, {kind}", *(_three(_printed(f"spectral-{i}", kind, e, "l1")) for e in epsilons)]
        for i in (1, 2, 3, 4)
        for kind in ("printed", "corrected")
    ]
    return markdown(["ε", *(f"{e:g}" for e in epsilons)], rows)


def spectral_utility() -> str:
    rows = []
    for i in (1, 2, 3, 4):
        config = f"spectral-{i}"
        for epsilon in (1.0, 10.0):
            promised, seen = (_printed(config, "printed", epsilon, value) for value in ("promised", "l2"))
            rows.append([f"theorem {9 + i}, `{config}`", f"{epsilon:g}", _three(promised), _three(seen)])
    return markdown(["", "ε", "promised loss of a topic, L2", "measured"], rows)


# --- the Gibbs monitor ---


def gibbs_monitor() -> str:
    head = ["corpus", "word level, N = 1", "as printed", "document level, N = longest document", "as printed", "N",
            "same word missing"]  # fmt: skip
    rows = []
    for corpus in ("KOS", "NIPS", "Enron"):
        runs = [r for r in read("gibbs_monitor.json") if (r["part"], r["corpus"]) == ("figure 1", corpus)]
        rows.append([
            corpus, spread([r["word"][-1] for r in runs], 3), spread([r["printed"]["word"] for r in runs], 3),
            spread([r["document"][-1] for r in runs], 1), spread([r["printed"]["document"] for r in runs], 1),
            str(runs[0]["removed"]["document"]), spread([r["same_word_missing"] for r in runs], 1),
        ])  # fmt: skip
    return markdown(head, rows)


# --- TopicDP ---

SHOWN = (2, 3, 4, 5, 6, 8, 10)
CORPORA = {"enron": "Enron", "amazon": "Amazon 5-core"}
MODELS = {"lsi": "LSI", "hdp": "HDP", "plsa": "PLSA", "lda-gibbs": "LDA, Gibbs"}


def _topicdp(figure: str, **place: Any) -> list[Any]:
    rows = (row for row in read("topicdp.json")["rows"] if row["figure"] == figure)
    return [row["errors"] for row in rows if all(row[k] == v for k, v in place.items())]


def topicdp_figure9bd() -> str:
    """By γ, the exchangeable sample: as published / analytic."""
    gammas, rows = (0.02, 0.07, 0.12, 0.17, 0.22), []
    for name, model in product(CORPORA, ("lsi", "hdp")):
        found = [
            _topicdp("9bd, 10bd", data=name, model=model, gamma=g, sample_size="exchangeable") for g in gammas
        ]  # fmt: skip
        pairs = [[e[0][how]["row_distance"] for how in ("renyi (published)", "analytic")] if e else [] for e in found]
        cells = [" / ".join(f"{value:.3g}" for value in pair) or "–" for pair in pairs]
        rows.append([f"{CORPORA[name]}, {MODELS[model]}", *cells])
    return markdown(["", *(f"γ = {g:g}" for g in gammas)], rows)


def topicdp_figure10() -> str:
    """Kendall's distance by ε: as published / analytic."""
    epsilons, rows = (1.0, 3.0, 5.0, 10.0), []
    for name, model in product(CORPORA, MODELS):
        found = [_topicdp("9ac, 10ac", data=name, model=model, epsilon=e)[0] for e in epsilons]
        cells = [f"{e['renyi (published)']['kendall']:.2f} / {e['analytic']['kendall']:.2f}" for e in found]
        rows.append([f"{CORPORA[name]}, {MODELS[model]}", *cells])
    return markdown(["", *(f"ε = {e:g}" for e in epsilons)], rows)


def topicdp_sizes() -> str:
    """Figures 5 and 6: "L1" by size; the binomial sample, 49 pairs."""
    ways, rows = {"renyi (published)": "as published", "analytic": "`analytic`", "laplace": "Laplace", "mvg": "MVG"}, []
    for name, (epsilon, figure) in product(CORPORA, ((3.0, 5), (5.0, 6))):
        found = [_topicdp(f"{figure}, 7cd, 8cd", data=name, size=size)[0] for size in SHOWN]
        for way, title in ways.items():
            cells = [f"{errors[way]['row_distance']:.3g}" for errors in found]
            rows.append([f"{CORPORA[name]}, ε = {epsilon:g}, {title}", *cells])
    return markdown(["", *(f"{size} × {size}" for size in SHOWN)], rows)


# --- n-grams ---


def _kl(part: str, **place: Any) -> list[float]:
    rows = (row for row in read("ngrams.json") if row["part"] == part)
    return [row["kl"] for row in rows if all(row[k] == v for k, v in place.items())]


def ngrams_readings() -> str:
    rows = []
    for reading in ("claim-2", "appendix-d"):
        found = [_kl("d", series=f"EndToEndDP, {reading} (none)", epsilon=e) for e in (0.1, 1.0, 5.0)]
        rows.append([f"EndToEndDP, `{reading}`", *(_three(cell) for cell in found)])
    return markdown(["KL", "ε = 0.1", "1", "5"], rows)


def ngrams_figure3() -> str:
    found = [row for row in read("ngrams.json") if (row["part"], row["data"]) == ("3", "100,000 synthetic")]
    rows = []
    for name in dict.fromkeys(row["series"] for row in found):
        cells = [
            [row["kl"] for row in found if (row["series"], row["x"]) == (name, size)] for size in (5000, 10000, 20000)
        ]
        rows.append([name, *(_three(cell, len(cell)) for cell in cells)])
    return markdown(["", "5,000", "10,000", "20,000"], rows)


def ngrams_cap() -> str:
    """What Gaussian noise lets any test reach that tells which of two releases is which: Φ(μ/√2), δ = 1e-7."""
    from scipy.stats import norm

    from dptopics.privacy.pricing import gaussian_delta, smallest

    epsilons = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 100.0)
    most = [norm.cdf(1 / smallest(lambda s, e=e: gaussian_delta(e, 1 / s) <= 1e-7) / sqrt(2)) for e in epsilons]
    return markdown(["ε", *(f"{e:g}" for e in epsilons)], [["at most", *(f"{p:.2f}" for p in most)]])


TABLES: dict[str, tuple[str, Callable[[], str]]] = {
    "fdptm_figure8": ("fdptm.md", fdptm_figure8),
    "fdptm_figure3": ("fdptm.md", fdptm_figure3),
    "fdptm_figure4": ("fdptm.md", fdptm_figure4),
    "membership_table3": ("membership-inference.md", membership_table3),
    "membership_figure5": ("membership-inference.md", membership_figure5),
    "membership_rare_words": ("membership-inference.md", membership_rare_words),
    "membership_table4": ("membership-inference.md", membership_table4),
    "spectral_printed": ("spectral.md", spectral_printed),
    "spectral_utility": ("spectral.md", spectral_utility),
    "gibbs_monitor": ("gibbs-and-local.md", gibbs_monitor),
    "topicdp_sizes": ("topicdp.md", topicdp_sizes),
    "topicdp_figure9bd": ("topicdp.md", topicdp_figure9bd),
    "topicdp_figure10": ("topicdp.md", topicdp_figure10),
    "ngrams_readings": ("ngrams.md", ngrams_readings),
    "ngrams_figure3": ("ngrams.md", ngrams_figure3),
    "ngrams_cap": ("ngrams.md", ngrams_cap),
}


if __name__ == "__main__":
    for table in sys.argv[1:] or TABLES:
        print(f"\n{table}: docs/papers/{TABLES[table][0]}\n\n{TABLES[table][1]()}")
