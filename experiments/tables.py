"""Tables of the pages in docs/papers, as Markdown, from the stored results: a test holds the pages to them.

python experiments/tables.py [--write] [NAME …]
"""

import re
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tables_ngrams
import tables_spectral
import tables_topicdp
from table_parts import markdown, percent, read, spread

PAGES = Path(__file__).parent.parent / "docs" / "papers"

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


def fdptm_values(value: str, **place: Any) -> list[float]:
    return [row[value] for row in read("fdptm.json") if value in row and all(row[k] == v for k, v in place.items())]


def fdptm_figure8() -> str:
    head = ["ε₁", *(f"{e:g}" for e in EPSILONS)]
    sizes = {
        name: [statistics.mean(fdptm_values("vocabulary", figure="3", series=name, epsilon_1=e)) for e in EPSILONS]
        for name in CHOICES
    }
    return markdown(head, [[CHOICES[name], *(f"{s:.0f}" for s in line)] for name, line in sizes.items()])


def fdptm_figure3() -> str:
    head = ["ε₁", *(f"{e:g}" for e in EPSILONS), "all words"]
    plain = spread(fdptm_values("umass", figure="3", series="all words, no privacy"))
    rows = [
        [title, *(spread(fdptm_values("umass", figure="3", series=name, epsilon_1=e)) for e in EPSILONS)]
        for name, title in CHOICES.items()
    ]
    return markdown(head, [[*row, plain if i == 0 else ""] for i, row in enumerate(rows)])


def fdptm_figure4() -> str:
    rows = []
    for varied, fixed, title in (("epsilon_1", "epsilon_2", "ε₁"), ("epsilon_2", "epsilon_1", "ε₂")):
        for name, shown in PIPELINES.items():
            cells = [
                spread(fdptm_values("umass", figure="4", series=name, **{varied: e, fixed: 3.0})) for e in EPSILONS
            ]
            rows.append([f"{title} varied: {shown}", *cells])
    return markdown(["", *(f"{e:g}" for e in EPSILONS)], rows)


# --- membership ---

PAPER_TABLE_3 = {"zeta": 22.25, "negative entropy": 59.73, "logit of maximum": 86.52, "standard deviation": 77.02}
CORPORA = {"tweets": "TweetRumors", "nips": "NIPS", "newsgroups": "20 Newsgroups"}


def membership_table3() -> str:
    """Share of tests rejected, with and without correction for many tests: our learner, each corpus and all three."""
    found, plain, rows = read("membership_table3_ours.json")["corpora"], read("membership_table3_tweets.json"), []
    columns = {"together": "all three", **CORPORA}
    for name, paper in PAPER_TABLE_3.items():
        parts = [*(found[corpus][name] for corpus in columns), plain["corpora"]["tweets"][name]]
        cells = [f"{percent(one['share'], 2)} / {percent(one['share_without_correction'])}" for one in parts]
        rows.append(["ζ" if name == "zeta" else name, f"{paper:.2f} %", *cells])
    heads = [f"ours, {title}" for title in columns.values()]
    return markdown(["statistic", "paper, all three", *heads, "TweetRumors, scikit-learn's learner"], rows)


def membership_figure6() -> str:
    head = ["statistic", *(f"{title}: KL median, 95 %; in above out" for title in CORPORA.values())]
    found, rows = read("membership_table3_ours.json")["corpora"], []
    for name in PAPER_TABLE_3:
        parts = [found[corpus][name] for corpus in CORPORA]
        cells = [
            f"{p['kl_quantiles']['0.5']:.2f}, {p['kl_quantiles']['0.95']:.1f}; {percent(p['in_above_out'])}"
            for p in parts
        ]
        rows.append(["ζ" if name == "zeta" else name, *cells])
    return markdown(head, rows)


def membership_table1() -> str:
    """True positive rate at 0.1 % false positives; the baselines are thresholds on one statistic."""
    files = {corpus: read(f"membership_table1_{corpus}_ours.json")["attacks"] for corpus in CORPORA}
    sklearn = {attack["attack"]: attack for attack in read("membership_table1_tweets.json")["attacks"]}
    attacks = {corpus: {one["attack"]: one for one in found} for corpus, found in files.items()}
    kinds = {
        "ours, our learner": "LiRA online: zeta",
        "the same, offline": "LiRA offline: zeta",
        "the same online, variances of similar documents": "LiRA online: zeta, variances of documents alike",
        "ours, all statistics together": "LiRA online: zeta, negative entropy, logit of maximum, standard deviation",
    }
    rows = [["paper: LiRA with ζ", "12.8 %", "44.9 %", "21.1 %"]]
    rows.append(["ours, scikit-learn's learner", _rate(sklearn["LiRA online: zeta"]), "not run", "not run"])
    rows += [[title, *(_rate(found[kind]) for found in attacks.values())] for title, kind in kinds.items()]
    rows.append(
        [
            "paper: maximum, standard deviation, entropy",
            "0.19, 0.19, 0.18 %",
            "1.69, 1.69, 1.31 %",
            "0.57, 0.53, 0.57 %",
        ]
    )
    names = ("logit of maximum", "standard deviation", "negative entropy")
    cells = [", ".join(_rate(found[f"threshold: {name}"])[:-2] for name in names) + " %" for found in attacks.values()]
    rows.append(["ours: the same", *cells])
    return markdown(["", "TweetRumors, k = 5", "NIPS, k = 10", "20 Newsgroups, k = 20"], rows)


PAPER_TABLE_2 = {5: (31.8, 31.8), 10: (44.9, 43.6), 15: (60.5, 56.0), 20: (67.9, 63.2), 25: (72.5, 70.2)}


def membership_table2() -> str:
    rows = []
    for row in read("membership_table2.json")["rows"]:
        online, offline = (percent(row[kind]["tpr_at_0.1%_fpr"]) for kind in ("online", "offline"))
        theirs = [f"{value:.1f} %" for value in PAPER_TABLE_2[row["topics"]]]
        rows.append([str(row["topics"]), theirs[0], online, theirs[1], offline])
    return markdown(["k", "paper, online", "ours, online", "paper, offline", "ours, offline"], rows)


def _rate(row: Any) -> str:
    return f"{row['tpr_at_0.1%_fpr']:.2%}".replace("%", " %")


def membership_figure5() -> str:
    plain = read("membership_table1_tweets_ours.json")["attacks"][0]
    rows = [["no privacy, 128 shadows", "", _rate(plain), f"{plain['auc']:.3f}"]]
    for row in read("membership_figure5.json")["rows"]:
        first = ("sound: " if row["pipeline"] == "sound" else "") + f"{row['epsilon_1']:g}"
        rows.append([first, f"{row['epsilon_2']:g}", _rate(row), f"{row['auc']:.3f}"])
    return markdown(["ε₁", "ε₂", "TPR at 0.1 % FPR", "AUC"], rows)


def membership_fixed() -> str:
    rows = [
        [f"{row['epsilon_1']:g}", f"{row['epsilon_2']:g}", str(row["words"]), _rate(row), f"{row['auc']:.3f}"]
        for row in read("membership_fixed.json")["rows"]
    ]
    return markdown(["ε₁", "ε₂", "words", "TPR at 0.1 % FPR", "AUC"], rows)


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


PAPER_WORDS = {"KOS": 209_169, "NIPS": 410_753, "Enron": 356_363}


def gibbs_table1() -> str:
    rows = []
    for row in read("gibbs_monitor.json"):
        if row["part"] == "table 1":
            cells = [f"{value:,}" for value in (PAPER_WORDS[row["corpus"]], row["words"], row["training"], row["test"])]
            rows.append([row["corpus"], *cells])
    return markdown(["corpus", "words (paper)", "words (ours)", "training", "test"], rows)


LOCAL = {
    "LP-LDA": "LP-LDA, as published", "ours": "ours, from the same bits",
    "baseline, scale 1/ε": "baseline, noise 1/ε in each cell",
    "baseline, scale √K/ε": "baseline, noise √K/ε in each cell",
}  # fmt: skip


def local_perplexity(corpus: str) -> str:
    found = [row for row in read("local_perplexity.json") if row["corpus"] == corpus and row["f"]]
    epsilons = sorted({row["epsilon"] for row in found})
    rows = []
    for series, title in LOCAL.items():
        values = [[r["perplexity"] for r in found if (r["series"], r["epsilon"]) == (series, e)] for e in epsilons]
        rows.append([title, *(f"{statistics.mean(cell):.0f}" for cell in values)])
    return markdown([f"{corpus}, ε per bit", *(f"{e:.2f}" for e in epsilons)], rows)


TABLES: dict[str, tuple[str, Callable[[], str]]] = {
    "fdptm_figure8": ("fdptm.md", fdptm_figure8),
    "fdptm_figure3": ("fdptm.md", fdptm_figure3),
    "fdptm_figure4": ("fdptm.md", fdptm_figure4),
    "membership_table1": ("membership-inference.md", membership_table1),
    "membership_table2": ("membership-inference.md", membership_table2),
    "membership_table3": ("membership-inference.md", membership_table3),
    "membership_figure6": ("membership-inference.md", membership_figure6),
    "membership_figure5": ("membership-inference.md", membership_figure5),
    "membership_fixed": ("membership-inference.md", membership_fixed),
    "membership_rare_words": ("membership-inference.md", membership_rare_words),
    "membership_table4": ("membership-inference.md", membership_table4),
    "gibbs_monitor": ("gibbs-and-local.md", gibbs_monitor),
    "gibbs_table1": ("gibbs-and-local.md", gibbs_table1),
    "local_perplexity_kos": ("gibbs-and-local.md", lambda: local_perplexity("KOS")),
    "local_perplexity_nips": ("gibbs-and-local.md", lambda: local_perplexity("NIPS")),
    "local_perplexity_enron": ("gibbs-and-local.md", lambda: local_perplexity("Enron")),
    **{name: ("spectral.md", write) for name, write in tables_spectral.TABLES.items()},
    **{name: ("topicdp.md", write) for name, write in tables_topicdp.TABLES.items()},
    **{name: ("ngrams.md", write) for name, write in tables_ngrams.TABLES.items()},
}


def put(names: list[str]) -> None:
    """Write each table into its page, in place of the one below the line ``<!-- its name -->``."""
    for name in names:
        page, write = TABLES[name]
        path, table = PAGES / page, write()
        place = re.compile(rf"(<!-- {name} -->\n\n?)(?:\|.*\n)*")
        text, number = place.subn(lambda found, table=table: f"{found[1]}{table}\n", path.read_text("utf-8"))
        if number != 1:
            raise SystemExit(f"docs/papers/{page} has {number} places for {name}.")
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    chosen = [name for name in sys.argv[1:] if name != "--write"] or list(TABLES)
    if "--write" in sys.argv:
        put(chosen)
    for table in chosen if "--write" not in sys.argv else ():
        print(f"\n{table}: docs/papers/{TABLES[table][0]}\n\n{TABLES[table][1]()}")
