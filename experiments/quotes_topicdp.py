"""Numbers in the prose of docs/papers/topicdp.md, from the stored results and the library's formulas."""

from itertools import product
from math import gamma as gamma_function
from math import log, sqrt
from statistics import median
from typing import Any

from quote_parts import Page, Quote, fixed, significant, within
from table_parts import read
from tables_topicdp import ALL, DRAWN, MODELS, SIZED, errors_of, rows_of

from dptopics.mechanisms.topics.output_matrix import multiplier
from dptopics.mechanisms.topics.output_sensitivity import n_pairs
from dptopics.published.topicdp import mvg_noise_std

DELTA, SIZE, GAMMA = 1e-4, 10, 0.1
FIGURE_3, FIGURE_4, FIGURE_9B = "3, 7a, 8a", "4, 7b, 8b", "9bd, 10bd"
OWN_NORM = "mvg, norm of f(D)"
APART = 0.002  # between the two modes of the distances with 30,000 users
PRINTED = {"renyi (published)": 0.8954, OWN_NORM: 77.1487, "mvg": 77.1487}  # the paper's, 10 × 10, ε = 3, γ = 0.1


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


def error(name: str, epsilon: float, way: str) -> float:
    """What the paper calls L1, at 10 × 10 and γ = 0.1."""
    found: float = published(name, epsilon)["errors"][way]["row_distance"]
    return found


def as_printed() -> list[str]:
    """With 30,000 users: TopicDP, MVG with both norms; the largest factor between these and the paper's; Laplace."""
    found = {way: error(DRAWN, 3.0, way) for way in PRINTED}
    factor = max(max(found[way] / value, value / found[way]) for way, value in PRINTED.items())
    return [
        *(significant(value, 3) for value in found.values()),
        within(factor, 2),
        fixed(error(DRAWN, 3.0, "laplace, split")),
    ]


def laplace_over_mvg() -> list[str]:
    """Times the error of MVG, with either norm, that Laplace has where ε is split over the entries."""
    cells = product(ALL, (1.0, 3.0, 5.0, 10.0), (OWN_NORM, "mvg"))
    return range_of([error(name, e, "laplace, split") / error(name, e, way) for name, e, way in cells])


def mvg_over_laplace() -> list[str]:
    """The other way round, where ε is for the matrix."""
    cells = product(ALL, (1.0, 3.0, 5.0, 10.0), (OWN_NORM, "mvg"))
    return range_of([error(name, e, way) / error(name, e, "laplace") for name, e, way in cells])


def norm_of_release() -> float:
    """Frobenius norm of the released matrix, recipients, 10 × 10."""
    topics = read("topicdp.json")["keywords"]["recipients"]["topics"]
    return sqrt(sum(value**2 for topic in topics for value in topic.values()))


LENGTH = sqrt(2) * gamma_function((SIZE + 1) / 2) / gamma_function(SIZE / 2)  # the mean of so many standard normals


def mvg_noise(norm: float, far: float = 1e-9) -> float:
    """The mean "L1" of the noise that the MVG theorem asks for at ε = 3; the least there is, when nothing moves."""
    place = {"epsilon": 3.0, "delta": DELTA, "sensitivity": far, "largest_norm": norm}
    return mvg_noise_std(SIZE, SIZE, **place) * LENGTH


def belongs() -> list[str]:
    """Δ of the error that the paper prints for TopicDP at γ = 0.02, and what MVG has with it."""
    far = 8.4426 / (multiplier(3.0, DELTA, "renyi") * LENGTH)
    (found,) = {fixed(round(mvg_noise(norm, far), -1)) for norm in (norm_of_release(), sqrt(SIZE))}
    return [significant(far, 3), found]


def distances(name: str) -> list[float]:
    return [pair[0] for pair in read("topicdp_pairs.json")[f"{name} lda {SIZE}"]["pairs"]]


def not_enough() -> list[str]:
    """Of the pairs with as many users as there are, those further apart than Δ with 30,000; how many; this Δ."""
    far, found = published(DRAWN, 3.0)["sensitivity"], distances("recipients")
    return [fixed(100 * sum(one > far for one in found) / len(found)), fixed(len(found)), significant(far, 3)]


def more_noise() -> str:
    return fixed(published("recipients", 3.0)["sensitivity"] / published(DRAWN, 3.0)["sensitivity"], 1)


def modes() -> list[str]:
    """With 30,000 users: pairs of the lower mode, all pairs; the ends of the two modes."""
    found = distances(DRAWN)
    low, high = [one for one in found if one < APART], [one for one in found if one > APART]
    share = fixed(100 * len(low) / len(found), 1)
    return [share, fixed(len(found)), significant(max(low), 1), significant(min(high), 1)]


def missing(gamma: float) -> float:
    """How often none of the pairs of the published sample is of the upper mode, in per cent."""
    found = distances(DRAWN)
    return 100 * (sum(one < APART for one in found) / len(found)) ** n_pairs(gamma, "dkw")


def runs_of_pairs() -> list[float]:
    """Δ at γ = 0.22 of one run of stored pairs after the other."""
    found, size = distances(DRAWN), n_pairs(0.22, "dkw")
    return [max(found[i : i + size]) for i in range(0, len(found) - size + 1, size)]


def lucky() -> list[str]:
    """Runs of pairs in which no list changes, all runs; how far Δ falls from γ = 0.02 in these and in others."""
    runs, largest = runs_of_pairs(), max(distances(DRAWN))
    low, high = [one for one in runs if one < APART], [one for one in runs if one > APART]
    falls = [fixed(round(largest / median(low), -1)), fixed(largest / median(high), 1)]
    return [fixed(len(low)), fixed(len(runs)), fixed(n_pairs(0.22, "dkw")), *falls]


def sudden() -> str:
    """How far Δ falls between two values of γ in a smaller sample, with 30,000 users."""
    return fixed(round(by_gamma(DRAWN, "binomial", 0.07) / by_gamma(DRAWN, "binomial", 0.12), -1))


def theorem_3() -> list[str]:
    """At α = 2, ε = 3: the theorem's bound on α; what Rényi and what the classical Gaussian need, in Δ."""
    epsilon, hidden = 3.0, log(1 / DELTA)
    xi = 2 * sqrt(log(1.25 / DELTA)) * epsilon - epsilon
    bound = ((xi - sqrt(xi**2 - 4 * epsilon * hidden)) / (2 * epsilon) + 1) ** 2
    return [fixed(bound, 2), fixed(sqrt(1 / epsilon), 2), fixed(sqrt(2 * log(1.25 / DELTA)) / (epsilon + hidden), 2)]


def deviation(name: str) -> str:
    """Of the noise on every entry, as published at ε = 3."""
    return significant(multiplier(3.0, DELTA, "renyi") * published(name, 3.0)["sensitivity"])


def mean_probability() -> str:
    """Of the listed words, over Enron, recipients and Amazon."""
    shown = read("topicdp.json")["keywords"]
    found = [
        value
        for name in ("enron", "recipients", "amazon")
        for topic in shown[name]["topics"]
        for value in topic.values()
    ]
    return significant(sum(found) / len(found), 1)


def by_gamma(name: str, kind: str, gamma: float) -> float:
    (row,) = rows_of(FIGURE_4, data=name, gamma=gamma, sample_size=kind)
    found: float = row["sensitivity"]
    return found


def by_size(name: str, size: int) -> float:
    (row,) = rows_of("5, 7cd, 8cd", data=name, size=size)
    found: float = row["sensitivity"]
    return found


def ranks(name: str, size: int) -> float:
    """Kendall's distance as published, ε = 3."""
    found: float = errors_of("5, 7cd, 8cd", data=name, size=size)[0]["renyi (published)"]["kendall"]
    return found


def fall(name: str = "enron") -> list[str]:
    """Of Δ with the published sample, from γ = 0.02 to 0.22."""
    first, last = by_gamma(name, "dkw", 0.02), by_gamma(name, "dkw", 0.22)
    return [fixed(first / last, 1), significant(first, 3), significant(last)]


def small_sizes(way: str, sizes: tuple[int, ...], mvg: str = "mvg") -> list[float]:
    """Times the error of ``way`` that MVG has at these sizes."""
    cells = product(SIZED, ("5, 7cd, 8cd", "6, 7cd, 8cd"), sizes)
    found = [errors_of(figure, data=name, size=size)[0] for name, figure, size in cells]
    return [errors[mvg]["row_distance"] / errors[way]["row_distance"] for errors in found]


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


def lsi_by_gamma(name: str) -> float:
    """Fall of Δ from γ = 0.02 to 0.22."""
    place = {"data": name, "model": "lsi", "sample_size": "exchangeable"}
    first, last = (rows_of(FIGURE_9B, gamma=gamma, **place)[0]["sensitivity"] for gamma in (0.02, 0.22))
    return float(first / last)


def whole_matrix() -> list[str]:
    """Amazon reviews: times less noise than top words; both sensitivities; times less than published."""
    whole = read("topicdp.json")["whole matrix, exchangeable"]["reviews"]["sensitivity"]
    top = published("reviews", 3.0)["sensitivity"]
    return [fixed(top / whole), significant(whole), significant(top), fixed(round(top / whole * less_noise(3.0), -1))]


def seconds_a_pair(name: str) -> float:
    found: float = cell(name)["seconds"] / cell(name)["pairs"]
    return found


def time() -> list[str]:
    one = cell(f"enron lda {SIZE}")
    fits, minutes = fixed(2 * one["pairs"]), fixed(one["seconds"] / 60, 1)
    return [fixed(one["pairs"]), fits, minutes, fixed(one["seconds"] / one["pairs"], 2)]


TOPICDP = Page(
    [
        Quote("We run that too, with the {} recipients", lambda: [users("recipients")]),
        Quote("The true L1 is in the rows too, {} times larger", lambda: [true_l1()]),
        Quote(
            "ε_R = {}, {}, {}, {} at ε = 1, 3, 5, 10",
            lambda: [
                significant(bound, 3) for e, bound in read("topicdp.json")["figure 2"] if e in (1.0, 3.0, 5.0, 10.0)
            ],
        ),
        Quote("the norm of the released matrix itself, {} at 10 × 10", lambda: [fixed(norm_of_release(), 3)]),
        Quote(
            "TopicDP has {} (paper 0.895), MVG {} with ‖f(D)‖ and {} with √m (paper 77.1). Printed and measured are "
            'within a factor of {}. Laplace, split, is "far larger" at {}.',
            as_printed,
        ),
        Quote("{} % of the {} pairs drawn are further apart than this Δ of {};", not_enough),
        Quote("TopicDP's noise is {} times larger.", lambda: [more_noise()]),
        Quote(
            "here {} at ε = 1 with n = 30,000, and {} with the actual number of recipients",
            lambda: [significant(error(name, 1.0, "renyi (published)"), 3) for name in (DRAWN, "recipients")],
        ),
        Quote(
            "changes little (Δ = {} instead of {})",
            lambda: [fixed(published(name, 3.0)["sensitivity"], 3) for name in ("recipients", "enron")],
        ),
        Quote(
            "**{} times less noise** than the published calibration at ε = 3 ({} at 1, {} at 5, {} at 10)",
            lambda: [fixed(less_noise(epsilon), 1) for epsilon in (3.0, 1.0, 5.0, 10.0)],
        ),
        Quote("With ε split over the entries it is, {} to {} times that of MVG", laplace_over_mvg),
        Quote("MVG is worse than Laplace at every ε, {} to {} times", mvg_over_laplace),
        Quote(
            "it cannot be below {} with γ_f = √m, however small Δ is; with ‖f(D)‖ it can go down to {}.",
            lambda: [fixed(mvg_noise(sqrt(SIZE))), fixed(mvg_noise(norm_of_release()), 1)],
        ),
        Quote(
            "On Enron and on Amazon there are {}, what `dkw` asks for at γ = 0.02; of recipients {},",
            lambda: [min(drawn("enron"), drawn("amazon")), drawn("recipients")],
        ),
        Quote(
            "our Δ falls {}-fold on Enron (from {} to {}) and {}-fold with n = 30,000",
            lambda: [*fall(), fall(DRAWN)[0]],
        ),
        Quote(
            "In {} % of the {} pairs no list of top words changes, and they are at most {} apart;", lambda: modes()[:3]
        ),
        Quote("a word enters a list, and they are at least {} apart", lambda: modes()[3:]),
        Quote("h = {}, the second kind is always among them", lambda: [asked(0.02)]),
        Quote(
            "it is missing in {} % of draws (in {} of {} runs of {} stored pairs)",
            lambda: [fixed(missing(0.22)), *lucky()[:3]],
        ),
        Quote("Δ then falls {}-fold, otherwise about {}-fold", lambda: lucky()[3:]),
        Quote("h = {}, it is missing in {} %.", lambda: [asked(GAMMA), significant(missing(GAMMA), 1)]),
        Quote("8.44 belongs to Δ = {}, with which MVG has {} for either γ_f", belongs),
        Quote("`binomial` {}-fold from γ = 0.07 to 0.12", lambda: [sudden()]),
        Quote("is a {}-fold fall of Δ.", lambda: [fixed(sqrt(8.4426 / 0.1389), 1)]),
        Quote("{} distances also show", lambda: [drawn("enron")]),
        Quote("with {} pairs instead of {} at γ = 0.1", lambda: [asked(GAMMA, "exchangeable"), asked(GAMMA)]),
        Quote(
            "its sensitivity jumps: {} as long as no list of top words changes, {} when one does",
            lambda: [significant(by_gamma("amazon", "exchangeable", gamma)) for gamma in (0.22, 0.12)],
        ),
        Quote("the published sample (`dkw`): {} pairs for each size", lambda: [asked(GAMMA)]),
        Quote(
            "Here MVG with √m is {} to {} times worse at these sizes, and with ‖f(D)‖ {} to {} times.",
            lambda: [
                *range_of(small_sizes("renyi (published)", (2, 3))),
                *range_of(small_sizes("renyi (published)", (2, 3), OWN_NORM), 1),
            ],
        ),
        Quote("the distance is {} at 4 × 4 and ε = 3", lambda: [fixed(ranks(DRAWN, 4), 2)]),
        Quote(
            "in any of the {} pairs (Δ = {} and {})",
            lambda: [asked(GAMMA), *(fixed(by_size(DRAWN, size), 5) for size in (4, 6))],
        ),
        Quote("in the first {} pairs (Δ = {}), in {} pairs one did (Δ = {})", three_topics),
        Quote("(`exchangeable`: {} pairs, `dkw`: {})", lambda: [asked(GAMMA, "exchangeable"), asked(GAMMA)]),
        Quote("HDP and PLSA move by {} to {} when one user of {} is replaced", other_models),
        Quote(
            "with n = 30,000 HDP still moves by {}.",
            lambda: [fixed(rows_of("9ac, 10ac", data=DRAWN, model="hdp", epsilon=3.0)[0]["sensitivity"], 2)],
        ),
        Quote(
            "Matching matters for HDP ({} instead of {})",
            lambda: [fixed(far, 2) for far in cell("amazon hdp 10")["largest"][:2]],
        ),
        Quote("except for LSI on Amazon ({}-fold)", lambda: [fixed(lsi_by_gamma("amazon"), 1)]),
        Quote("LSI falls {}-fold from γ = 0.02 to 0.22", lambda: [fixed(round(lsi_by_gamma(DRAWN), -1))]),
        Quote(
            "standard deviation {} (Enron), {} (n = 30,000) or {} (Amazon), where the listed words have probabilities "
            "of {}",
            lambda: [*(deviation(name) for name in ("enron", DRAWN, "amazon")), mean_probability()],
        ),
        Quote(
            "that is {} times less noise than the published form with the same calibration (Δ = {} instead of {}), and "
            "{} times less than published",
            whole_matrix,
        ),
        Quote("With {} users this mechanism has nothing", lambda: [users("enron")]),
        Quote(
            "With {} users half of the heaviest words survive, with {} nearly all",
            lambda: [users("amazon"), users("reviews")],
        ),
        Quote("{} pairs on Enron ({} fits, five passes) in {} minutes, {} s a pair", time),
        Quote(
            "with n = 30,000 in {} minutes; a pair of fits of LSI takes {} s there, of HDP {} s.",
            lambda: [
                fixed(cell(f"{DRAWN} lda {SIZE}")["seconds"] / 60, 1),
                *(fixed(seconds_a_pair(f"{DRAWN} {model} {SIZE}")) for model in ("lsi", "hdp")),
            ],
        ),
    ],
    printed=(
        "draws 30,000 users",
        "(paper 0.895)",
        "(paper 77.1)",
        '("greater than 2500")',
        "and ε = 3, 4.80 (figure 4)",
        "TopicDP from 8.44 down to 0.139, MVG from 6475 to 4.80, over γ from 0.02 to 0.22)",
        "TopicDP's 61-fold is",
        "At γ = 0.02, for instance, 8.44 belongs",
        "and not 6475.",
        "cannot fall 1,350-fold where TopicDP falls 61-fold",
        "TopicDP 0.0179 to 0.895, MVG 0.0794 to 77.1.",
        "a factor of 4.4 at 2 × 2",
        "table 1 has 158 users",
    ),
    settings=(
        "n = 30,000",
        "with our 158 recipients",
        "The noise of n = 30,000 is not enough for 158 users",
        "one user among 30,000. With 158 users",
        "γ = 0.1 allows 10 %",
        "from γ = 0.07 to 0.12",
        "from γ = 0.02 to 0.22, because",
        "its own 1,000 most frequent",
        "enough for 0.1.)",
        "0.5 is chance",
        "topics × 1,000 words",
        "(the 1,000 most frequent",
    ),
)
