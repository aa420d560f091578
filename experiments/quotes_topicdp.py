"""Numbers in the prose of docs/papers/topicdp.md, from the stored results and the library's formulas."""

from itertools import product
from math import sqrt
from typing import Any

from quote_parts import Page, Quote, fixed, significant
from table_parts import read
from tables_topicdp import ALL, CORPORA, MODELS, errors_of, rows_of

from dptopics.published.topicdp.mvg import mvg_deviation
from dptopics.topics.output.renyi import multiplier
from dptopics.topics.output.sensitivity import n_pairs

DELTA, SIZE, GAMMA = 1e-4, 10, 0.1
FIGURE_3, FIGURE_4, FIGURE_9B = "3, 7a, 8a", "4, 7b, 8b", "9bd, 10bd"


def users(name: str) -> str:
    return fixed(read("topicdp.json")["table 1"][name]["users"])


def cell(name: str) -> Any:
    return read("topicdp.json")["sensitivities"][name]


def drawn(name: str) -> str:
    """How many pairs there are."""
    return fixed(cell(f"{name} lda {SIZE}")["pairs"])


def asked(gamma: float, size: str = "dkw") -> str:
    """How many pairs a sample needs."""
    return fixed(n_pairs(gamma, size))


def published(name: str, epsilon: float) -> Any:
    (row,) = rows_of(FIGURE_3, data=name, epsilon=epsilon)
    return row


def true_l1() -> str:
    """Over what the paper calls L1."""
    found = published("enron", 1.0)["errors"]["renyi (published)"]
    return fixed(found["l1"] / found["row_distance"], 1)


def less_noise(epsilon: float) -> float:
    """Times less noise that ``analytic`` needs than the published calibration."""
    return multiplier(epsilon, DELTA, "renyi") / multiplier(epsilon, DELTA)


def mvg_over_laplace() -> list[str]:
    found = [published(name, epsilon)["errors"] for name, epsilon in product(ALL, (1.0, 3.0, 5.0, 10.0))]
    times = [one["mvg"]["row_distance"] / one["laplace"]["row_distance"] for one in found]
    return [fixed(min(times)), fixed(max(times))]


def least_mvg() -> float:
    """The deviation that the MVG theorem asks for at ε = 3 when nothing moves."""
    place = {"epsilon": 3.0, "delta": DELTA, "sensitivity": 1e-9, "largest_norm": sqrt(SIZE)}
    return mvg_deviation(SIZE, SIZE, **place)


def by_gamma(name: str, kind: str, gamma: float) -> float:
    (row,) = rows_of(FIGURE_4, data=name, gamma=gamma, sample_size=kind)
    found: float = row["sensitivity"]
    return found


def fall() -> list[str]:
    """Of Δ on Enron with the published sample, from γ = 0.02 to 0.22."""
    first, last = by_gamma("enron", "dkw", 0.02), by_gamma("enron", "dkw", 0.22)
    return [fixed(first / last, 1), significant(first, 3), significant(last)]


def small_sizes(way: str, sizes: tuple[int, ...]) -> list[float]:
    """Times the error of ``way`` that MVG has at these sizes."""
    cells = product(CORPORA, ("5, 7cd, 8cd", "6, 7cd, 8cd"), sizes)
    found = [errors_of(figure, data=name, size=size)[0] for name, figure, size in cells]
    return [errors["mvg"]["row_distance"] / errors[way]["row_distance"] for errors in found]


def range_of(values: list[float], places: int = 0) -> list[str]:
    return [fixed(min(values), places), fixed(max(values), places)]


def three_topics() -> list[str]:
    far = [pair[0] for pair in read("topicdp_pairs.json")["amazon lda 3"]["pairs"]]
    few, many = n_pairs(GAMMA, "binomial"), n_pairs(GAMMA, "dkw")
    return [str(few), significant(max(far[:few]), 1), str(many), significant(max(far[:many]))]


def other_models() -> list[str]:
    """What an exchanged user moves on Amazon, Gibbs sampling, HDP and PLSA."""
    models = [model for model in MODELS if model != "lsi"]
    found = [rows_of("9ac, 10ac", data="amazon", model=model, epsilon=3.0)[0]["sensitivity"] for model in models]
    return [*range_of(found, 2), users("amazon")]


def lsi_by_gamma() -> str:
    place = {"data": "amazon", "model": "lsi", "sample_size": "exchangeable"}
    first, last = (rows_of(FIGURE_9B, gamma=gamma, **place)[0]["sensitivity"] for gamma in (0.02, 0.22))
    return fixed(first / last, 1)


def whole_matrix() -> list[str]:
    """Amazon reviews: times less noise than top words; both sensitivities; times less than published."""
    whole = read("topicdp.json")["whole matrix, exchangeable"]["reviews"]["sensitivity"]
    top = published("reviews", 3.0)["sensitivity"]
    return [fixed(top / whole), significant(whole), significant(top), fixed(round(top / whole * less_noise(3.0), -1))]


def time() -> list[str]:
    one = cell(f"enron lda {SIZE}")
    fits, minutes = fixed(2 * one["pairs"]), fixed(one["seconds"] / 60, 1)
    return [fixed(one["pairs"]), fits, minutes, fixed(one["seconds"] / one["pairs"], 2)]


TOPICDP = Page(
    [
        Quote("That is done too: the {} recipients", lambda: [users("recipients")]),
        Quote("The true L1 is in the rows too, {} times larger", lambda: [true_l1()]),
        Quote(
            "ε_R = {}, {}, {}, {} at ε = 1, 3, 5, 10",
            lambda: [
                significant(bound, 3) for e, bound in read("topicdp.json")["figure 2"] if e in (1.0, 3.0, 5.0, 10.0)
            ],
        ),
        Quote(
            "(Δ = {} instead of {}). Paper, Enron",
            lambda: [fixed(published(name, 3.0)["sensitivity"], 3) for name in ("recipients", "enron")],
        ),
        Quote(
            "here {} at ε = 1 and {} at 3.",
            lambda: [
                significant(published("enron", e)["errors"]["renyi (published)"]["row_distance"], 3) for e in (1.0, 3.0)
            ],
        ),
        Quote(
            "**{} times less noise** than the published calibration at ε = 3 ({} at 1, {} at 5, {} at 10)",
            lambda: [fixed(less_noise(epsilon), 1) for epsilon in (3.0, 1.0, 5.0, 10.0)],
        ),
        Quote("MVG is worse than Laplace at every ε, {} to {} times", mvg_over_laplace),
        Quote(
            "is at least {} *however small Δ is*; Laplace noise of scale 2m/ε has deviation {}.",
            lambda: [fixed(least_mvg(), 1), fixed(sqrt(2) * 2 * SIZE / 3, 1)],
        ),
        Quote("below what its formula allows (about {})", lambda: [fixed(least_mvg() * sqrt(SIZE))]),
        Quote(
            "On Enron there are {}, what `dkw` asks for at γ = 0.02; on Amazon {}, enough for γ = 0.07; of "
            "recipients {},",
            lambda: [drawn(name) for name in ("enron", "amazon", "recipients")],
        ),
        Quote("the largest of {} is not far below the largest of {}: on Enron", lambda: [asked(0.22), asked(0.02)]),
        Quote("it falls {}-fold (Δ from {} to {})", fall),
        Quote("{} distances also show", lambda: [drawn("enron")]),
        Quote("with {} pairs instead of {} at γ = 0.1", lambda: [asked(GAMMA, "exchangeable"), asked(GAMMA)]),
        Quote(
            "its sensitivity jumps: {} as long as no list of top words changes, {} when one does",
            lambda: [significant(by_gamma("amazon", "exchangeable", gamma)) for gamma in (0.22, 0.12)],
        ),
        Quote("the published sample (`dkw`): {} pairs for each size", lambda: [asked(GAMMA)]),
        Quote("it is {} to {} times worse there", lambda: range_of(small_sizes("renyi (published)", (2, 3)))),
        Quote("MVG has {} to {} times the error of Laplace", lambda: range_of(small_sizes("laplace", (2,)), 1)),
        Quote("in the first {} pairs (Δ = {}), in {} pairs one did (Δ = {})", three_topics),
        Quote("(`exchangeable`: {} pairs, `dkw`: {})", lambda: [asked(GAMMA, "exchangeable"), asked(GAMMA)]),
        Quote("HDP and PLSA move by {} to {} when one user of {} is exchanged", other_models),
        Quote(
            "Matching matters for HDP ({} instead of {})",
            lambda: [fixed(far, 2) for far in cell("amazon hdp 10")["largest"][:2]],
        ),
        Quote("but for LSI on Amazon ({}-fold)", lambda: [lsi_by_gamma()]),
        Quote(
            "that is {} times less noise than the published form with the same calibration (Δ = {} instead of {}), and "
            "{} times less than published",
            whole_matrix,
        ),
        Quote("With {} users there is nothing", lambda: [users("enron")]),
        Quote(
            "With {} users half of the heaviest words survive, with {} nearly all",
            lambda: [users("amazon"), users("reviews")],
        ),
        Quote("{} pairs on Enron ({} fits, five passes) in {} minutes, {} s a pair", time),
        Quote("on Amazon ({} pairs: three quarters", lambda: [asked(0.02)]),
    ],
    printed=(
        "for MVG at 10 × 10 and ε = 3, 4.80, is below",
        "TopicDP from 8.44 down to 0.139, MVG from 6475 to 4.80, over γ from 0.02 to 0.22)",
        "cannot fall 1,350-fold where TopicDP falls 61-fold",
        "TopicDP 0.0179 to 0.895, MVG 0.0794 to 77.1.",
    ),
    settings=(
        "its own 1,000 most frequent",
        "enough for 0.1.)",
        "0.5 is chance",
        "topics × 1,000 words",
        "(the 1,000 most frequent",
    ),
)
