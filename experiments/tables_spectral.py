"""Tables of docs/papers/spectral.md, from the stored results."""

import statistics
from functools import cache
from itertools import product
from typing import Any

from table_parts import digits, markdown, read, three

EPSILONS = (0.3, 1.0, 3.0, 10.0, 30.0)
SERIES = {
    "spectral": "`spectral` (`proved`)", "variational": "DP-VI (`proved`)", "spectral-1": "`spectral-1`, Gaussian",
    "spectral-1, pure ε": "`spectral-1`, pure ε", "spectral-2": "`spectral-2`", "spectral-3": "`spectral-3`",
    "spectral-4": "`spectral-4`",
}  # fmt: skip
MAIN = "N=100k, α0=1"
CONFIGURATIONS = ("spectral-1", "spectral-2", "spectral-3", "spectral-4")
DRAWS = range(8)


@cache
def rows_of(part: str) -> list[Any]:
    found: list[Any] = read(f"spectral_{part}.json")
    return found


def by_seed(part: str, value: str, **place: Any) -> tuple[list[float], int]:
    """Of each seed the best of the splits by L1, as the paper chooses; and the number of seeds, refused ones too."""
    rows = [row for row in rows_of(part) if all(row[k] == v for k, v in place.items())]
    best: dict[int, Any] = {}
    for row in rows:
        if "l1" in row and (row["seed"] not in best or row["l1"] < best[row["seed"]]["l1"]):
            best[row["seed"]] = row
    return [row[value] for row in best.values()], len({row["seed"] for row in rows})


def cell(values: list[float], runs: int) -> str:
    return three(values, runs) if runs else ""


def means_of_draws(part: str, **place: Any) -> tuple[list[float], int, int]:
    """Mean error over the corpora of each draw of the noise; how many of how many runs released anything."""
    rows = [row for row in rows_of(part) if all(row[k] == v for k, v in place.items())]
    by_draw = [[one for one in draw if one is not None] for draw in zip(*(row["l1"] for row in rows), strict=True)]
    runs = sum(len(row["l1"]) for row in rows)
    return [statistics.mean(found) for found in by_draw if found], sum(map(len, by_draw)), runs


def over_draws(part: str, **place: Any) -> str:
    """Mean ± standard deviation over eight draws, each the mean of five corpora; how many released, if not all."""
    means, released, runs = means_of_draws(part, **place)
    if len(means) < 2:
        return three(means, len(DRAWS)) if means else "refused"
    spread = f"{digits(statistics.mean(means))} ± {statistics.stdev(means):.1g}"
    return spread if released == runs else f"{spread} ({released} of {runs})"


def printed() -> str:
    rows = []
    for i in (1, 2, 3, 4):
        for kind, part in product(("printed", "corrected"), ("draws", "floor")):
            place = {"series": f"spectral-{i}", "sensitivities": kind}
            if part == "draws" or i in (2, 3):
                title = f"`spectral-{i}`, {kind}" + (", with a floor (not private)" if part == "floor" else "")
                rows.append([title, *(over_draws(part, epsilon=e, **place) for e in EPSILONS)])
    return markdown(["ε", *(f"{e:g}" for e in EPSILONS)], rows)


def utility() -> str:
    rows = []
    for i in (1, 2, 3, 4):
        for epsilon in (1.0, 10.0):
            place = {"series": f"spectral-{i}", "sensitivities": "printed", "epsilon": epsilon}
            promised, seen = (cell(*by_seed("printed", value, **place)) for value in ("promised", "l2"))
            rows.append([f"theorem {9 + i}, `spectral-{i}`", f"{epsilon:g}", promised, seen])
    return markdown(["", "ε", "bound on the loss of a topic, L2", "measured"], rows)


def figure2() -> str:
    """The first corpus, by ε."""
    rows = []
    for series, title in SERIES.items():
        cells = [cell(*by_seed("figure2", "l1", corpus=MAIN, series=series, epsilon=e)) for e in EPSILONS]
        if series in CONFIGURATIONS:
            place = {"series": series, "sensitivities": "corrected"}
            cells = [over_draws("draws", epsilon=e, **place) for e in EPSILONS]
        rows.append([title, *cells])
    return markdown(["ε", *(f"{e:g}" for e in EPSILONS)], rows)


def figure2_corpora() -> str:
    """All corpora at ε = 1."""
    names = list(dict.fromkeys(row["corpus"] for row in rows_of("figure2")))
    lines: dict[str, list[str]] = {"without privacy": []} | {title: [] for title in SERIES.values()}
    lines |= {"excess error of the best published / of ours": [], "runs": []}
    for name in names:
        plain, runs = by_seed("figure2", "l1", corpus=name, series="spectral, no privacy")
        lines["without privacy"].append(three(plain))
        means = {}
        for series, title in SERIES.items():
            values, seeds = by_seed("figure2", "l1", corpus=name, series=series, epsilon=1.0)
            lines[title].append(cell(values, seeds))
            if values:
                means[series] = statistics.mean(values) - statistics.mean(plain)
        best = min(value for series, value in means.items() if series.startswith("spectral-"))
        lines["excess error of the best published / of ours"].append(digits(best / means["spectral"]))
        lines["runs"].append(str(runs))
    heads = [name.replace("α0", "α₀") for name in names]
    return markdown(["", *heads], [[title, *cells] for title, cells in lines.items()])


def figure2_variational() -> str:
    """DP-VI and ours at every ε, all corpora."""
    rows = []
    for name in dict.fromkeys(row["corpus"] for row in rows_of("figure2")):
        for series in ("spectral", "variational"):
            found = [by_seed("figure2", "l1", corpus=name, series=series, epsilon=e) for e in EPSILONS]
            cells = [f"{cell(*one)} ({one[1]})" if one[1] else "not run" for one in found]
            rows.append([f"{name.replace('α0', 'α₀')}: {SERIES[series]}", *cells])
    return markdown(["ε", *(f"{e:g}" for e in EPSILONS)], rows)


def figure4(k: int) -> str:
    rows = []
    for series in ("spectral", "variational", "spectral-1", "spectral-2", "spectral-3", "spectral-4"):
        cells = []
        for epsilon in EPSILONS:
            here = [r for r in rows_of("figure4") if (r["k"], r["series"], r["epsilon"]) == (k, series, epsilon)]
            found = [row["perplexity"] for row in here if "perplexity" in row]
            cells.append(f"{statistics.mean(found):,.0f}" if found else "refused")
        rows.append([SERIES[series], *cells])
    return markdown(["ε", *(f"{e:g}" for e in EPSILONS)], rows)


def table2() -> str:
    rows = []
    for row in sorted(rows_of("table2"), key=lambda row: (row["series"], row["epsilon"])):
        topics = "; ".join(" ".join(words.split()[:7]) for words in row["words"][:3])
        cells = [f"{row['epsilon']:g}", f"{row['vocabulary']:,}", f"{row['npmi']:.2f}", topics]
        rows.append([f"`{row['series']}`", *cells])
    return markdown(["mechanism", "ε", "words", "NPMI of ten", "first three topics"], rows)


def choice() -> str:
    rows = []
    for row in rows_of("choice"):
        alone = ["refused" if value is None else digits(value) for value in row["alone"].values()]
        cells = [f"{row['epsilon']:g}", digits(row["chosen"]), ", ".join(alone)]
        rows.append([", ".join(row["candidates"]), *cells])
    return markdown(["candidates", "ε", "chosen", "alone"], rows)


def pair_share() -> str:
    shares, rows = (0.4, 0.55, 0.65, 0.75, 0.8, 0.85), []
    for d in (100, 500):
        for epsilon in (1.0, 10.0):
            here = [r for r in rows_of("tuning") if r["series"] == "pair_share"]
            here = [r for r in here if (r["d"], r["epsilon"]) == (d, epsilon)]
            cells = [three([row["l1"] for row in here if row["share"] == share]) for share in shares]
            rows.append([f"d = {d}, ε = {epsilon:g}", *cells])
    return markdown(["pair_share", *(f"{share:g}" for share in shares)], rows)


TABLES = {
    "spectral_figure2": figure2,
    "spectral_figure2_corpora": figure2_corpora,
    "spectral_figure2_variational": figure2_variational,
    "spectral_printed": printed,
    "spectral_utility": utility,
    "spectral_figure4_10": lambda: figure4(10),
    "spectral_figure4_20": lambda: figure4(20),
    "spectral_table2": table2,
    "spectral_choice": choice,
    "spectral_pair_share": pair_share,
}
