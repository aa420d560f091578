"""Tables of docs/papers/ngrams.md, from the stored results."""

from functools import cache
from math import sqrt
from typing import Any

from table_parts import digits, markdown, read, three

EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
ORDER = (
    "bayes (proved)", "bayes, log form (proved)", "BayesianDP (claimed)", "EndToEndDP (claimed)",
    "laplace, W of the paper (proved)", "laplace, W tuned (proved)", "laplace-public (claimed)", "public baseline",
)  # fmt: skip


LAPLACE_OF_PAPER = ORDER[4]


@cache
def everything(name: str = "ngrams.json") -> list[Any]:
    """Rows of a file of results."""
    found: list[Any] = read(name)
    return found


def values(part: str, name: str = "ngrams.json", value: str = "kl", **place: Any) -> list[float]:
    rows = [row for row in everything(name) if row["part"] == part]
    return [row[value] for row in rows if value in row and all(row[k] == v for k, v in place.items())]


def by_epsilon(part: str, data: str, name: str = "ngrams.json") -> str:
    rows = []
    for series in ORDER:
        fixed = values(part, name, data=data, series=series, epsilon=None)
        cells = [three(fixed or values(part, name, data=data, series=series, epsilon=e)) for e in EPSILONS]
        if set(cells) != {"-"}:
            rows.append([series, *cells])
    return markdown(["", *(f"{e:g}" for e in EPSILONS)], rows)


def figure2() -> str:
    sizes, rows = (10_000, 100_000, 1_000_000, 4_000_000), []
    for series in ORDER:
        cells = [three(values("2", series=series, x=size)) for size in sizes[:-1]]
        epsilon = None if series == "public baseline" else 0.1
        cells.append(three(values("1", data="4 million synthetic", series=series, epsilon=epsilon)))
        rows.append([series, *cells])
    return markdown(["", *(f"{size:,}" for size in sizes)], rows)


def figure4() -> str:
    scales = (0.0, 1.0, 10.0, 100.0, 1000.0)
    names = ("bayes (proved)", "BayesianDP (claimed)")
    rows = [[name, *(three(values("4", series=name, x=scale)) for scale in scales)] for name in names]
    return markdown(["scale of the noise", *(f"{scale:,.0f}" for scale in scales)], rows)


def figure5_k() -> str:
    numbers, name = (1, 5, 10, 20, 50, 100, 200), "k-anonymity (none)"
    return markdown(["", *map(str, numbers)], [[name, *(three(values("5", series=name, x=k)) for k in numbers)]])


def figure6() -> str:
    epsilons, rows = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 100.0), []
    for series in (ORDER[0], ORDER[2], *ORDER[4:5], ORDER[6], ORDER[3]):
        cells = [three(values("6", value="probability", series=series, epsilon=e)) for e in epsilons]
        rows.append([series, *cells])
    return markdown(["", *(f"{e:g}" for e in epsilons)], rows)


def figure6_large() -> str:
    epsilons, rows = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 100.0), []
    for series in ("BayesianDP (claimed)", "laplace, W of the paper (proved)", "bayes (proved)"):
        found = [values("6", "ngrams_figure6.json", "probability", series=series, epsilon=e) for e in epsilons]
        rows.append([series, *(f"{cell[0]:.2f}" if cell else "-" for cell in found)])
    return markdown(["", *(f"{e:g}" for e in epsilons)], rows)


def figure6_real() -> str:
    """Rows of ngrams_real.py: BayesianDP with each slope, and Laplace."""
    epsilons, name = (2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 100.0), "ngrams_real.json"
    series = [("BayesianDP (claimed)", f"BayesianDP, S = {s:g} (claimed)", s) for s in (1e-3, 1e-2)]
    rows = []
    for key, title, x in [*series, (LAPLACE_OF_PAPER, LAPLACE_OF_PAPER, None)]:
        found = [values("6", name, "probability", series=key, epsilon=e, x=x) for e in epsilons]
        rows.append([title, *(f"{cell[0]:.2f}" if cell else "-" for cell in found)])
    return markdown(["ε", *(f"{e:g}" for e in epsilons)], rows)


def as_printed() -> str:
    rows, slopes = [], (1e-3, 1e-2, 1e-1, 1.0, 10.0)
    for limits in ((60, 1), (1_200, 10)):
        places = [[*limits, slope] for slope in slopes]
        for key, title in (("true", "corollary 1"), ("printed", "algorithm 1")):
            cells = [digits(values("algorithm 1", "ngrams_real.json", key, x=place)[0]) for place in places]
            rows.append([f"W = {limits[0]:,}, C = {limits[1]}: {title}", *cells])
    return markdown(["S", *(f"{s:g}" for s in slopes)], rows)


PAPER = {
    "private baseline": "29.48", "k-anonymity, k = 50 (none)": "35.51", "BayesianDP (claimed)": "35.55",
    "laplace, W of the paper (proved)": "894.32", "laplace-public (claimed)": "580.46", "public baseline": "43.00",
}  # fmt: skip


def table1() -> str:
    order = ("private baseline", "k-anonymity, k = 50 (none)", *ORDER[:4], ORDER[5], ORDER[4], *ORDER[6:])
    rows = []
    for series in order:
        cells = [PAPER.get(series, "-")]
        for data in ("reddit_college", "4 million synthetic"):
            place = {"data": data, "series": series}
            found = [
                v for n in ("ngrams.json", "ngrams_table1.json") for v in values("table", n, "perplexity", **place)
            ]
            cells.append(f"{found[0]:.1f}" if found and found[0] < 1e4 else digits(found[0]) if found else "not run")
        rows.append([series, *cells])
    return markdown(["", "paper", "54,000 authors", "4 million synthetic authors"], rows)


def readings() -> str:
    rows = []
    for reading in ("claim-2", "appendix-d"):
        found = [values("d", series=f"EndToEndDP, {reading} (none)", epsilon=e) for e in (0.1, 1.0, 5.0)]
        rows.append([f"EndToEndDP, `{reading}`", *(three(cell) for cell in found)])
    return markdown(["KL", "ε = 0.1", "1", "5"], rows)


def figure3() -> str:
    found = [row for row in everything() if row["part"] == "3"]
    rows = []
    for name in dict.fromkeys(row["series"] for row in found):
        cells = [
            [row["kl"] for row in found if (row["series"], row["x"]) == (name, size)] for size in (5000, 10000, 20000)
        ]
        rows.append([name, *(three(cell) for cell in cells)])
    return markdown(["", "5,000", "10,000", "20,000"], rows)


def cap() -> str:
    """What Gaussian noise lets any test reach that tells which of two releases is which: Φ(μ/√2), δ = 1e-7."""
    from scipy.stats import norm

    from dptopics.privacy.pricing import gaussian_delta, smallest

    epsilons = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 100.0)
    most = [norm.cdf(1 / smallest(lambda s, e=e: gaussian_delta(e, 1 / s) <= 1e-7) / sqrt(2)) for e in epsilons]
    return markdown(["ε", *(f"{e:g}" for e in epsilons)], [["at most", *(f"{p:.2f}" for p in most)]])


TABLES = {
    "ngrams_figure1": lambda: by_epsilon("1", "reddit_college"),
    "ngrams_figure1_millions": lambda: by_epsilon("1", "4 million synthetic"),
    "ngrams_figure2": figure2,
    "ngrams_figure3": figure3,
    "ngrams_figure4": figure4,
    "ngrams_figure5_k": figure5_k,
    "ngrams_figure5": lambda: by_epsilon("5", "synthetic"),
    "ngrams_figure6": figure6,
    "ngrams_figure6_large": figure6_large,
    "ngrams_figure6_real": figure6_real,
    "ngrams_as_printed": as_printed,
    "ngrams_table1": table1,
    "ngrams_bigrams": lambda: by_epsilon("bigrams", "reddit_college", "ngrams_bigrams.json"),
    "ngrams_readings": readings,
    "ngrams_cap": cap,
}
