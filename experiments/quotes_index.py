"""Numbers of docs/papers/README.md, the index of every item: the column *here* from the stored results."""

import statistics
from math import sqrt
from typing import Any

from quote_parts import Page, Quote, fixed, significant, within
from quotes_gibbs import corpus
from quotes_membership import normality, rate, tests
from quotes_ngrams import (
    ANONYMOUS,
    BAYES,
    LAPLACE,
    MILLIONS,
    PRIVATE,
    PUBLIC,
    PUBLISHED,
    attack,
    by_length,
    claim_at_scale,
    perplexity,
)
from quotes_spectral import drawn, good_start, l1, of_theorems
from quotes_topicdp import (
    DRAWN,
    as_printed,
    asked,
    deviation,
    error,
    fall,
    less_noise,
    mean_probability,
    missing,
    published,
    theorem_3,
    users,
)
from table_parts import read
from tables import CORPORA, PAPER_WORDS, fdptm_values
from tables_ngrams import values


def table_2() -> list[str]:
    found = read("membership_table2.json")
    rates = [100 * row["online"]["tpr_at_0.1%_fpr"] for row in found["rows"]]
    return [fixed(rates[0], 1), fixed(rates[-1], 1), str(found["shadows"])]


def table_4() -> list[str]:
    found: Any = read("membership_table4.json")["corpora"]["tweets"]
    return [fixed(found["vocabulary"]), fixed(found["average_length"], 1), fixed(found["documents"])]


def greedy_words() -> list[str]:
    return [fixed(statistics.mean(fdptm_values("vocabulary", figure="3", series="published greedy", epsilon_1=3.0)))]


def first_configuration(kind: str) -> str:
    return significant(drawn("draws", 1, kind, 1.0), 3)


def real_authors() -> list[str]:
    """Figure 6 with the paper's limits: the slopes' least and most at ε = 5 and 15."""
    place = {"series": PUBLISHED, "part": "6", "name": "ngrams_real.json", "value": "probability"}
    found = [sorted(values(**place, epsilon=e)) for e in (5.0, 15.0)]
    return [fixed(one + 1e-9, 2) for pair in found for one in pair]


def words_apart() -> list[str]:
    return [within(100 * abs(corpus(name)["words"] / paper - 1)) for name, paper in PAPER_WORDS.items()]


INDEX = Page(
    [
        Quote("{}, {}, {} %, our learner", lambda: [fixed(rate(name), 1) for name in CORPORA]),
        Quote("{} to {} %, {} shadows", table_2),
        Quote(
            "{}, {}, {}, {} %: {} shadows of our learner, {} documents of each corpus, {} tests",
            lambda: [*(fixed(share, 2) for share in normality().values()), *tests()],
        ),
        Quote("{} words, {} a tweet, {} tweets", table_4),
        Quote("not the top 10; {} words at ε₁ = 3", greedy_words),
        Quote(
            "they bound it by {} to {} where {} is the maximum possible; measured {} to {}",
            lambda: [
                significant(of_theorems("promised")[0]),
                fixed(of_theorems("promised")[1]),
                fixed(sqrt(2), 2),
                *(significant(value, 1) for value in of_theorems("l2")),
            ],
        ),
        Quote(
            "Configuration 1 at ε = 1: {} printed, {} corrected (five corpora",
            lambda: [first_configuration(kind) for kind in ("printed", "corrected")],
        ),
        Quote("`spectral` {}, DP-VI {} from good starts", lambda: [significant(l1("spectral", 1.0)), good_start()]),
        Quote("`analytic` has {} times less noise at ε = 3", lambda: [fixed(less_noise(3.0), 1)]),
        Quote(
            "recipients as users ({} of them): Δ = {}, owners of mailboxes {}",
            lambda: [
                users("recipients"),
                *(fixed(published(name, 3.0)["sensitivity"], 3) for name in ("recipients", "enron")),
            ],
        ),
        Quote("at α = 2, ε = 3 (its bound on α: {}) it is {}Δ, and {}Δ directly", theorem_3),
        Quote(
            "{}, {} or {} (γ_f), {} (ε split over the entries; {} if not); n = 30,000 as in the authors' code",
            lambda: [*as_printed()[:3], as_printed()[4], significant(error(DRAWN, 3.0, "laplace"), 3)],
        ),
        Quote(
            "of Δ {}-fold with n = 30,000, much more in {} % of draws; {}-fold with 147 users",
            lambda: [fall(DRAWN)[0], fixed(missing(0.22)), fall()[0]],
        ),
        Quote(
            "standard deviation {} to {} on probabilities of about {}, at ε = 3",
            lambda: [deviation(DRAWN), deviation("enron"), mean_probability()],
        ),
        Quote("the same, {} pairs for each size as published", lambda: [asked(0.1)]),
        Quote("{} % at 4 million authors; most of it is W", lambda: claim_at_scale()[:1]),
        Quote(
            "{} to {} for 5,000 to 20,000 trigrams, `bayes` {} to {};",
            lambda: [significant(by_length(series, size)) for series in (PUBLISHED, BAYES) for size in (5_000, 20_000)],
        ),
        Quote(
            "60,000 real users with the paper's limits: BayesianDP {} and {} at ε = 5, {} and {} at 15; 1.2 million "
            "synthetic ones: {} at 5, Laplace {} at 100",
            lambda: [*real_authors(), fixed(attack(PUBLISHED, 5.0), 2), fixed(attack(LAPLACE, 100.0), 2)],
        ),
        Quote(
            "4 million authors: {}, {}, {}, {} and {}, {}",
            lambda: [
                perplexity(series, MILLIONS)
                for series in (PRIVATE, ANONYMOUS, PUBLISHED, "laplace-public (claimed)", LAPLACE, PUBLIC)
            ],
        ),
        Quote("within {}, {} and {} %", words_apart),
    ],
    printed=(
        "12.8, 44.9, 21.1 %",
        "31.8 to 72.5 % by k",
        "22.25, 59.73, 86.52, 77.02 % rejected",
        "5,942 words, 9 a tweet",
        "√(2 ln(1.25/δ))/ε",
        "0.895, 77.1, “far larger” at ε = 3",
        "falls 61-fold from γ = 0.02 to 0.22",
        "up to 85 % below Laplace",
        "Laplace below 0.9 at 100",
        "perplexity: private 29.48, k = 50 35.51, BayesianDP 35.55, Laplace 580.46 and 894.32, public 43.00",
    ),
    settings=(
        "5,000 to 20,000 trigrams",
        "60,000 real users with",
        "1.2 million synthetic ones",
        "Laplace 0.60 at 100",
        "n = 30,000",
        "with 147 users",
    ),
)
