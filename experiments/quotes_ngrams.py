"""Numbers in the prose of docs/papers/ngrams.md, from the stored results."""

import statistics
from math import sqrt
from typing import Any

from quote_parts import Page, Quote, fixed, significant
from table_parts import digits
from tables_ngrams import ORDER, everything, values

BAYES, LOG_FORM, PUBLISHED = "bayes (proved)", "bayes, log form (proved)", "BayesianDP (claimed)"
LAPLACE, TUNED = "laplace, W of the paper (proved)", "laplace, W tuned (proved)"
PUBLIC, PRIVATE, ANONYMOUS = "public baseline", "private baseline", "k-anonymity, k = 50 (none)"
REAL, MILLIONS = "reddit_college", "4 million synthetic"
TABLE_1 = ("ngrams.json", "ngrams_table1.json")


def kl(series: str, epsilon: float, data: str = MILLIONS) -> float:
    """Figure 1."""
    return statistics.mean(values("1", data=data, series=series, epsilon=epsilon))


def claim_at_scale() -> list[str]:
    ours, laplace = kl(PUBLISHED, 0.1), kl(LAPLACE, 0.1)
    return [fixed(100 * (1 - ours / laplace)), significant(ours, 3), significant(laplace, 3)]


def proved() -> list[str]:
    pairs = [(series, epsilon) for epsilon in (0.1, 1.0) for series in (BAYES, PUBLISHED)]
    places = (2, 3, 2, 2)
    found = [significant(kl(*pair), number) for pair, number in zip(pairs, places, strict=True)]
    return [*found, *(significant(kl(series, 1.0, REAL), 3) for series in (BAYES, PUBLISHED))]


def by_length(series: str, size: int) -> float:
    """Figure 3: KL for a list of so many trigrams."""
    return statistics.mean(values("3", series=series, x=size))


def few_authors() -> list[str]:
    found = [values("2", series=series, x=10_000) for series in (BAYES, PUBLIC)]
    return [significant(statistics.mean(one), 3) for one in found]


def perplexity(series: str, data: str) -> str:
    (found,) = [v for name in TABLE_1 for v in values("table", name, "perplexity", data=data, series=series)]
    return fixed(found, 1)


def poor_public_data() -> list[str]:
    """Percent more KL with noise of scale 100 on the public counts."""
    found = [[statistics.mean(values("4", series=s, x=x)) for x in (100.0, 0.0)] for s in (BAYES, PUBLISHED)]
    return [fixed(100 * (noisy / plain - 1)) for noisy, plain in found]


def log_form() -> list[str]:
    """Times the KL of BayesianDP on the real authors from ε = 1 on: the least and the most."""
    found = [kl(LOG_FORM, e, REAL) / kl(PUBLISHED, e, REAL) for e in (1.0, 2.0, 5.0)]
    return [fixed(min(found), 1), fixed(max(found), 1)]


def attack(series: str, epsilon: float, name: str = "ngrams_figure6.json") -> float:
    (found,) = values("6", name, "probability", series=series, epsilon=epsilon)
    return found


def repeats(name: str, **place: Any) -> list[str]:
    """How many pairs: the fewest and the most."""
    found = values("6", name, "repeats", **place)
    return [f"{min(found):.0f}", f"{max(found):.0f}"]


def sentences() -> list[str]:
    rows = [row for name in TABLE_1 for row in everything(name) if (row["part"], row["data"]) == ("table", REAL)]
    return [fixed(rows[0]["sentences"]), fixed(rows[0]["left_out"])]


def pairs_of_figure6() -> list[str]:
    """Of the private ones: the most, and at ε = 0.1 the fewest and the most."""
    few = [n for series in ORDER for n in values("6", value="repeats", series=series, epsilon=0.1)]
    return [f"{n:.0f}" for n in (max(values("6", value="repeats")), min(few), max(few))]


NGRAMS = Page(
    [
        Quote("BayesianDP is {} % below Laplace with the paper's W ({} against {})", claim_at_scale),
        Quote("with W = 5, Laplace alone has {}.", lambda: [significant(kl(TUNED, 0.1))]),
        Quote(
            "has KL {} at ε = 0.1 (BayesianDP {}) and {} at ε = 1 ({}); on the real 60,000 authors {} against {}",
            proved,
        ),
        Quote("much better than public data alone ({} against {})", few_authors),
        Quote(
            "at ε = 0.2: `bayes` {}, as low as that of the private counts themselves ({}), BayesianDP {}, k = 50 {}; "
            "Laplace with the paper's W {}.",
            lambda: [perplexity(series, MILLIONS) for series in (BAYES, PRIVATE, PUBLISHED, ANONYMOUS, LAPLACE)],
        ),
        Quote(
            "54,000 authors: `bayes` {}, BayesianDP {}, k = 50 {}, public text alone {}.",
            lambda: [perplexity(series, REAL) for series in (BAYES, PUBLISHED, ANONYMOUS, PUBLIC)],
        ),
        Quote("costs `bayes` {} % and BayesianDP {} %;", poor_public_data),
        Quote("at ε ≥ 1 ({} to {} times)", log_form),
        Quote(
            "public text alone from ε = 0.5 on (KL {} at ε = 0.5, {} at 1)",
            lambda: [significant(kl("EndToEndDP (claimed)", epsilon), 3) for epsilon in (0.5, 1.0)],
        ),
        Quote("k = 50 has KL {};", lambda: [digits(values("5", series="k-anonymity (none)", x=50)[0])]),
        Quote(
            "with 4 million authors ({} at ε = 0.5, {} at 1)",
            lambda: [significant(kl(PUBLISHED, epsilon)) for epsilon in (0.5, 1.0)],
        ),
        Quote("{} pairs each, {} to {} at ε = 0.1; chance", pairs_of_figure6),
        Quote("is right every time ({} pairs)", lambda: repeats("ngrams.json", series="k-anonymity (none)")[:1]),
        Quote(
            "{} pairs each, `bayes` {})",
            lambda: [repeats("ngrams_figure6.json", series=series)[1] for series in (PUBLISHED, BAYES)],
        ),
        Quote(
            "has {} at 5 (the standard deviation of {} pairs is {}) and {} at 100",
            lambda: [
                fixed(attack(PUBLISHED, 5.0), 2),
                (pairs := repeats("ngrams_figure6.json", series=PUBLISHED)[1]),
                fixed(sqrt(0.25 / int(pairs)), 3),
                fixed(attack(PUBLISHED, 100.0), 2),
            ],
        ),
        Quote("classical Gaussian; {} pairs each;", lambda: repeats("ngrams_real.json", series=PUBLISHED)[1:]),
        Quote(
            "{} and {} there, {} and {} at ε = 15.",
            lambda: [
                fixed(values("6", "ngrams_real.json", "probability", series=PUBLISHED, epsilon=e, x=s)[0] + 1e-9, 2)
                for e in (5.0, 15.0)
                for s in (1e-3, 1e-2)
            ],
        ),
        Quote(
            "{} sentences of held-out authors with every trigram on the list, as in the paper; {} others",
            sentences,
        ),
        Quote(
            "Public counts alone have {} with a million authors.", lambda: [significant(by_length(PUBLIC, 5_000), 3)]
        ),
    ],
    printed=(
        "Reddit, 4.4 million users",
        "50,000 or 60,000 trigrams",
        '("up to 85 %" less KL',
        "and is below 0.9 even at ε = 100.",
        "Laplace stays below 0.9 even at ε = 100.",
    ),
    settings=(
        "60,000 authors",
        "3.35 million words",
        "100,000 synthetic authors",
        "10,000 authors",
        "real 54,000 authors",
        "with 54,000 k = 50",
        "noise of scale 100 on",
        "at scale 1,000,",
        "100,000 authors",
        "1.2 million users",
        "(reddit_college, 2,000 trigrams",
        "chance: 0.5)",
        "(the 60,000 authors of reddit_college, 50,000 trigrams",
        "at 100: these authors are harder",
        "With 2,000 trigrams and the limits of 60,000 authors (above)",
        "60,000 authors, 50,000 trigrams:",
        "ε = 0.2, 60,000 trigrams",
        "(1.2 million synthetic authors, 50,000 trigrams;",
        "50,000 of Google's",
        "5,000 trigrams",
    ),
)

# The same figures where the guarantees repeat them.
NGRAMS_REPEATED = {
    "ngram_bayes.md": [
        Quote(
            "60,000 authors: {}, where public data alone has {}",
            lambda: [digits(kl(BAYES, 1.0, REAL)), digits(values("1", data=REAL, series=PUBLIC)[0])],
        )
    ],
    "ngram_laplace.md": [
        Quote(
            "60,000 authors: {} with a tuned limit of five n-grams per author, {} with the paper's limit",
            lambda: [digits(kl(series, 1.0, REAL)) for series in (TUNED, LAPLACE)],
        )
    ],
    "ngram_published.md": [
        Quote(
            "60,000 authors: {} (BayesianDP), {} (Laplace with public data), {} (EndToEndDP), where the proved `bayes` "
            "has {}",
            lambda: [
                digits(kl(series, 1.0, REAL))
                for series in (PUBLISHED, "laplace-public (claimed)", "EndToEndDP (claimed)", BAYES)
            ],
        )
    ],
}
