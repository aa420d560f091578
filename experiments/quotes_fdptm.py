"""Numbers in the prose of docs/papers/fdptm.md, from the stored results."""

import math
import statistics

from quote_parts import Page, Quote, fixed
from table_parts import read, spread
from tables import EPSILONS, PIPELINES, fdptm_values

ALL_WORDS = {"figure": "3", "series": "all words, no privacy"}
PUBLISHED, SOUND = PIPELINES


def words() -> list[str]:
    tweets = read("membership_table4.json")["corpora"]["tweets"]
    sizes = set(fdptm_values("vocabulary", **ALL_WORDS))
    return [fixed(tweets["documents"]), *(fixed(size) for size in sizes), fixed(tweets["average_length"], 1)]


def least_possible() -> list[str]:
    """Equation 4 for ten words: no pair can have less than −ln of the number of documents."""
    documents = read("membership_table4.json")["corpora"]["tweets"]["documents"]
    pairs = math.comb(10, 2)
    return [str(pairs), str(documents), fixed(-pairs * math.log(documents))]


def at(value: str, series: str, first: float, second: float) -> list[float]:
    return fdptm_values(value, figure="4", series=series, epsilon_1=first, epsilon_2=second)


def top_thirty() -> list[str]:
    means = [statistics.mean(at("umass_code_30", PUBLISHED, 3.0, epsilon)) for epsilon in EPSILONS]
    return [f"{mean:.0f}".replace("-", "−") for mean in means]


def gap() -> list[str]:
    """How far the sound pipeline lies below the published one from ε = 3 on, and the spread of its runs."""
    cells = [pair for e in EPSILONS if e >= 3 for pair in ((e, 3.0), (3.0, e))]
    apart = [statistics.mean(at("umass", PUBLISHED, *c)) - statistics.mean(at("umass", SOUND, *c)) for c in cells]
    deviations = [statistics.stdev(at("umass", SOUND, *cell)) for cell in cells]
    return [fixed(value) for value in (min(apart), max(apart), min(deviations), max(deviations))]


def npmi_and_diversity() -> list[str]:
    both = [spread(at("npmi", series, 3.0, 3.0), 2) for series in (SOUND, PUBLISHED)]
    means = [fixed(statistics.mean(at("diversity", series, 3.0, 3.0)), 2) for series in (SOUND, PUBLISHED)]
    return [part for one in both for part in one.split(" ± ")] + means


def zhao() -> list[str]:
    found = [spread(fdptm_values("umass", figure="extra", epsilon_2=epsilon)) for epsilon in (3.0, 30.0, 300.0, 1000.0)]
    return [part for one in found for part in one.split(" ± ")]


FDPTM = Page(
    [
        Quote("the same {} tweets, unit document", lambda: words()[:1]),
        Quote("V = {}, {} words", lambda: words()[1:]),
        Quote("words or more, {}: the top ten", lambda: [fixed(statistics.mean(fdptm_values("umass", **ALL_WORDS)))]),
        Quote("{} pairs, each at least −ln {}, give at least {}.", least_possible),
        Quote("by that rule we get {} ± {}.", lambda: spread(fdptm_values("umass_code_30", **ALL_WORDS)).split(" ± ")),
        Quote("rise up to 7 ({}, {}, {}, {}, {}, {}, {})", top_thirty),
        Quote("stays {} to {} below from ε = 3 on, even at ε₂ = 10", lambda: gap()[:2]),
        Quote("runs spread by {} to {})", lambda: gap()[2:]),
        Quote("says the same: {} ± {} against {} ± {}, diversity {} against {}.", npmi_and_diversity),
        Quote("UMass {} ± {}, {} ± {}, {} ± {} and {} ± {} at ε", zhao),
    ],
    printed=("NLTK lemmas: V = 5,942", "coherence is far lower, about −1117.", "with M = 10, −1117 is impossible"),
    settings=("100 sweeps", "any vocabulary of 300 words", "ε = 3, 30, 300 and 1000"),
)
