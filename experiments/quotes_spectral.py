"""Numbers in the prose of docs/papers/spectral.md, from the stored results and the library's formulas."""

import statistics
from itertools import product
from math import sqrt
from typing import Any

import numpy as np
from quote_parts import Page, Quote, fixed, significant
from tables_spectral import EPSILONS, MAIN, by_seed, means_of_draws, rows_of

from dptopics.published import spectral_edges
from dptopics.published.spectral_edges import Corrected

UNITS, TOPICS, ALPHA0 = 100_000, 5, 1.0  # of the first corpus
LARGE, SMALL_ALPHA = "N=100k, α0=1, d=1000, K=10", "N=100k, α0=0.1"


def l1(series: str, epsilon: float | None, corpus: str = MAIN) -> float:
    return statistics.mean(by_seed("figure2", "l1", corpus=corpus, series=series, epsilon=epsilon)[0])


def drawn(part: str, config: int, kind: str, epsilon: float) -> float:
    """Mean over eight draws on five corpora of the first kind."""
    place = {"series": f"spectral-{config}", "sensitivities": kind, "epsilon": epsilon}
    return statistics.mean(means_of_draws(part, **place)[0])


def with_floor() -> list[str]:
    """Configuration 2 with the floor of the authors' code beside 1, printed sensitivities."""
    pairs = [(drawn("floor", 2, "printed", e), drawn("draws", 1, "printed", e)) for e in (0.3, 1.0)]
    return [significant(value, 2 if pair == pairs[0] else 3) for pair in pairs for value in pair]


def floor_too_high() -> list[str]:
    """σ_k, the floor under it, and by how much the noise of the whitened tensor is too small: (floor/σ_k)^1.5."""
    floor = 0.1 / (ALPHA0 * (ALPHA0 + 1))
    return [significant(spectrum()["sigma_k"]), f"{floor:g}", fixed((floor / spectrum()["sigma_k"]) ** 1.5)]


def chance(corpus: str, d: int, k: int) -> str:
    """The error of topics that all equal the word frequencies; topics as ``spectral.synthetic`` draws them."""
    seeds = {row["seed"] for row in rows_of("figure2") if row["corpus"] == corpus}
    far = []
    for seed in seeds:
        topics = np.random.default_rng([seed, d, k]).dirichlet(np.full(d, 0.1), k)
        far.append(np.abs(topics - shares(k) @ topics).sum(axis=1).mean())
    return significant(statistics.mean(far), 3)


def shares(k: int) -> Any:
    alpha = np.linspace(2.0, 0.5, k)
    return alpha / alpha.sum()


def best_tuned() -> list[str]:
    """DP-VI's clip and steps with the least mean error in the tuning."""
    errors: dict[tuple[float, int], list[float]] = {}
    for row in rows_of("tuning"):
        if row["series"] == "variational":
            errors.setdefault((row["clip"], row["steps"]), []).append(row["l1"])
    clip, steps = min(errors, key=lambda key: statistics.mean(errors[key]))
    return [f"{clip:g}", str(steps)]


def variational_runs(epsilon: float | None = None) -> list[float]:
    place = {"corpus": MAIN, "series": "variational"} | ({"epsilon": epsilon} if epsilon else {})
    rows = [row for row in rows_of("figure2") if all(row[k] == v for k, v in place.items())]
    return [row["l1"] for row in rows]


def astray() -> list[str]:
    runs = variational_runs()
    return [str(sum(error > 0.4 for error in runs)), str(len(runs))]


def starts() -> list[str]:
    """The runs from other starts, and that of the figure on the same corpus."""
    (first,) = by_seed("figure2", "l1", corpus=MAIN, series="variational", epsilon=1.0, seed=1)[0]
    return [significant(error) for error in sorted([first, *(row["l1"] for row in rows_of("starts"))])]


def good_start() -> str:
    """DP-VI at ε = 1 from the best start."""
    return significant(min(row["l1"] for row in rows_of("starts")))


def of_theorems(value: str) -> list[float]:
    """Of theorems 10 to 13 at ε = 1 and 10: the least and the most that is ``promised``, or measured (``l2``)."""
    found = []
    for config, epsilon in product((1, 2, 3, 4), (1.0, 10.0)):
        place = {"series": f"spectral-{config}", "sensitivities": "printed", "epsilon": epsilon}
        values = by_seed("printed", value, **place)[0]
        found += [statistics.mean(values)] if values else []
    return [min(found), max(found)]


def promised() -> list[str]:
    """How many times what two topics can differ by."""
    return [fixed(loss / sqrt(2)) for loss in of_theorems("promised")]


def spectrum(k: int = TOPICS, alpha0: float = ALPHA0) -> Any:
    (found,) = [row for row in rows_of("figure3") if (row["k"], row["alpha0"]) == (k, alpha0)]
    return found


def sensitivities() -> dict[str, str]:
    """Table 1 for the first corpus; λ of a topic of share p is (2/(α₀+2))·√((α₀+1)/p)."""
    one = spectrum()
    tensor = spectral_edges.whitened_sensitivity(ALPHA0, UNITS, TOPICS, one["sigma_k"])
    components = spectral_edges.component_sensitivity(tensor, TOPICS, one["gap"])
    weights = 2 / (ALPHA0 + 2) * np.sqrt((ALPHA0 + 1) / shares(TOPICS))
    values = {"largest": one["sigma_1"], "smallest": one["sigma_k"], "weight": float(weights.max())}
    output = Corrected().topics(ALPHA0, UNITS, TOPICS, components, **values)
    pairs, triples = spectral_edges.pair_sensitivity(ALPHA0, UNITS), spectral_edges.triple_sensitivity(ALPHA0, UNITS)
    return {
        "pairs": f"{pairs:.1e}".replace("e-0", "e-"), "triples": f"{triples:.1e}".replace("e-0", "e-"),
        "tensor": fixed(tensor), "least λ": fixed(weights.min(), 1), "most λ": fixed(weights.max(), 1),
        "components": fixed(round(components, -2)), "output": fixed(round(output, -2)),
        "most": fixed(sqrt(2 * TOPICS), 1),
    }  # fmt: skip


def wikipedia(k: int, series: str, epsilon: float | None = None, value: str = "perplexity") -> float:
    rows = [r for r in rows_of("figure4") if (r["k"], r["series"], r["epsilon"]) == (k, series, epsilon)]
    return statistics.mean(row[value] for row in rows)


def plain(k: int) -> list[str]:
    names = ("spectral, no privacy", "variational, no privacy", "word frequencies")
    return [fixed(wikipedia(k, name)) for name in names]


def behind() -> list[str]:
    """Percent by which our perplexity lies above that of DP-VI: the least and the most."""
    cells = product((10, 20), EPSILONS)
    found = [100 * (wikipedia(k, "spectral", e) / wikipedia(k, "variational", e) - 1) for k, e in cells]
    return [fixed(min(found)), fixed(max(found))]


def npmi() -> list[str]:
    pairs = [wikipedia(10, series, e, "npmi") for e in (10.0, 3.0) for series in ("spectral", "variational")]
    return [fixed(value, 2) for value in pairs]


def excess(corpus: str) -> float:
    """Excess error over the fit without privacy at ε = 1: the best published over ours."""
    plain_error = l1("spectral, no privacy", None, corpus)
    names = ("spectral-1", "spectral-1, pure ε", "spectral-2", "spectral-3", "spectral-4")
    found = [by_seed("figure2", "l1", corpus=corpus, series=name, epsilon=1.0)[0] for name in names]
    best = min(statistics.mean(values) for values in found if values)
    return (best - plain_error) / (l1("spectral", 1.0, corpus) - plain_error)


def excesses() -> list[str]:
    found = [excess(corpus) for corpus in (MAIN, LARGE, SMALL_ALPHA, "N=100k, α0=10")]
    others = [excess(corpus) for corpus in ("N=100k, α0=1000", "N=1k, α0=10", "N=1k, α0=1")]
    return [fixed(min(found)), fixed(max(found)), *(fixed(value, 1) for value in others)]


def beside_variational() -> list[str]:
    others = [(l1(s, 1.0, c)) for c in (LARGE, SMALL_ALPHA, "N=100k, α0=10") for s in ("spectral", "variational")]
    return [significant(l1("spectral", 1.0)), good_start(), *(significant(value) for value in others)]


SPECTRAL = Page(
    [
        Quote("clip {} and {} steps: the best of nine", best_tuned),
        Quote(
            "Without privacy: spectral {}, variational {} (one corpus)",
            lambda: [significant(l1(f"{name}, no privacy", None), 3) for name in ("spectral", "variational")],
        ),
        Quote(
            "have an error of {} in the mean (d = 1,000, ten topics: {})",
            lambda: [chance(MAIN, 100, 5), chance(LARGE, 1000, 10)],
        ),
        Quote(
            "only with α₀ = 0.1 from ε = 10 on ({}, {})",
            lambda: [significant(l1("spectral-2", e, SMALL_ALPHA)) for e in (10.0, 30.0)],
        ),
        Quote("{} of its {} runs in the first table ended above", astray),
        Quote("four random starts gave {}, {}, {} and {};", starts),
        Quote(
            "levels off at {} on the first corpora ({} with α₀ = 10)",
            lambda: [significant(l1("spectral", 30.0)), significant(l1("spectral", 30.0, "N=100k, α0=10"))],
        ),
        Quote("passes it at ε = 30 ({})", lambda: [significant(min(variational_runs(30.0)))]),
        Quote("comes near it there ({})", lambda: [significant(l1("spectral-1, pure ε", 30.0))]),
        Quote("({} against {} at ε = 0.3, {} against {} at ε = 1)", with_floor),
        Quote("σ_k is {} here, the floor is {}, and the noise is {} times too small", floor_too_high),
        Quote("below all of them up to ε = 10 ({} at ε = 1", lambda: [significant(l1("spectral", 1.0), 3)]),
        Quote("no two are further apart than {}.", lambda: [fixed(sqrt(2), 2)]),
        Quote("every bound is above {}, by {} to {} times", lambda: [fixed(sqrt(2), 2), *promised()]),
        Quote(
            "(σ₁ = {}, σ_k = {}, γ = {})",
            lambda: [significant(spectrum()["sigma_1"], 3), *(significant(spectrum()[v]) for v in ("sigma_k", "gap"))],
        ),
        Quote(
            "√2(1 + 2a)/N | {} | M₂, whose k-th eigenvalue is {} |",
            lambda: [sensitivities()["pairs"], significant(spectrum()["sigma_k"])],
        ),
        Quote("√2(1 + 6b + 3c)/N | {} | M₃", lambda: [sensitivities()["triples"]]),
        Quote(
            "equation 64 | {} | T, whose values λ lie between {} and {} |",
            lambda: [sensitivities()[name] for name in ("tensor", "least λ", "most λ")],
        ),
        Quote("theorem 6, all 2k | {} | unit vectors", lambda: [sensitivities()["components"]]),
        Quote(
            "theorem 7, all 2k | {} | distributions, which cannot differ by more than √(2k) = {} |",
            lambda: [sensitivities()[name] for name in ("output", "most")],
        ),
        Quote(
            "from {} at α₀ = 0.1 to {} at 10",
            lambda: [significant(spectrum(alpha0=alpha0)["sigma_k"]) for alpha0 in (0.1, 10.0)],
        ),
        Quote("falls from {} at k = 2 to {} at k = 20", lambda: [significant(spectrum(k)["gap"]) for k in (2, 20)]),
        Quote("k = 10. Without privacy: spectral {}, variational {}; word frequencies alone {}.", lambda: plain(10)),
        Quote("k = 20. Without privacy: spectral {}, variational {}; word frequencies alone {}.", lambda: plain(20)),
        Quote("ours comes within {} to {} %", behind),
        Quote("(NPMI {} and {} at k = 10) but not at ε = 3 ({} and {})", npmi),
        Quote("than likelihood does ({} against {})", lambda: plain(10)[:2]),
        Quote(
            "our topics are chance (NPMI {})",
            lambda: [
                fixed(r["npmi"], 2) for r in rows_of("table2") if (r["series"], r["epsilon"]) == ("spectral", 1.0)
            ],
        ),
        Quote("for d = 1,000: {} to {} times. Not for α₀ = 1,000 ({})", lambda: excesses()[:3]),
        Quote("nothing works at ε = 1: {} and {} |", lambda: excesses()[3:]),
        Quote(
            "at ε = 1 ({} against {} from good starts; {} against {}; {} against {}; {} against {})", beside_variational
        ),
        Quote(
            "Not from good starts at ε = 30 ({} against {})",
            lambda: [significant(l1("spectral", 30.0)), significant(min(variational_runs(30.0)))],
        ),
    ],
    printed=(
        "N = 100,000 and 1,000, α₀ small, large and 1,000;",
        "| δ | 1e-7 |",
        "√(2 ln(1.25/δ))/ε",
        '"N = 100k and α₀ = 1000,',
    ),
    settings=(
        "is under 0.1, or there is none, 0.1 is taken for it",
        "(0.05 for our M₂",
        "LDA, 100 words a document, bursty topics (Dirichlet 0.1), α falling from 2 to 0.5",
        "| 1e-7 | | configurations",
        "2 has an error below 0.6",
        "ended above 0.4",
        "sampling noise of 100,000 documents",
        "11,618 training and 1,291 test documents, the 500 most frequent words",
        "ε = 1 and 12,909 documents",
        "30,000 documents, d = 100",
        "(30,000 documents;",
        "default of 0.75 had been chosen on a corpus of 500 words",
        "at least 5 times less excess error",
    ),
)
