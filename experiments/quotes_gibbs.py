"""Numbers in the prose of docs/papers/gibbs-and-local.md, from the stored results."""

import statistics
from typing import Any

from quote_parts import Page, Quote, fixed, within
from table_parts import read
from tables import PAPER_WORDS

CORPORA = ("KOS", "NIPS", "Enron")


def monitored() -> list[Any]:
    return [row for row in read("gibbs_monitor.json") if row["part"] == "figure 1"]


def corpus(name: str) -> Any:
    (found,) = [row for row in read("gibbs_monitor.json") if (row["part"], row["corpus"]) == ("table 1", name)]
    return found


def kos_words() -> list[str]:
    ours = corpus("KOS")["words"]
    return [fixed(ours), within(100 * abs(ours / PAPER_WORDS["KOS"] - 1))]


def printed_less() -> list[str]:
    """The most by which algorithm 1 as printed lies below the corrected one, in any run and at any level."""
    levels = ("word", "document", "mean_document")
    return [fixed(100 * max(1 - row["printed"][at] / row[at][-1] for row in monitored() for at in levels))]


def same_word() -> list[str]:
    """A missing token of the same word, over what the word level says, in thousands: the least and the most run."""
    found = [row["same_word_missing"] / row["word"][-1] for row in monitored()]
    return [fixed(round(value, -3)) for value in (min(found), max(found))]


def mean_lengths() -> list[str]:
    found = {row["corpus"]: row["removed"]["mean_document"] for row in monitored()}
    return [str(found[name]) for name in ("NIPS", "KOS", "Enron")]


def by_mean_length() -> list[str]:
    rows = monitored()
    names = ("NIPS", "KOS", "Enron")
    return [fixed(statistics.mean(r["mean_document"][-1] for r in rows if r["corpus"] == name), 1) for name in names]


def perplexity(name: str, series: str, flips: float | None = None) -> float:
    rows = [row for row in read("local_perplexity.json") if (row["corpus"], row["series"]) == (name, series)]
    return statistics.mean(row["perplexity"] for row in rows if row["f"] == flips)


def without_privacy(name: str) -> list[str]:
    series = ("Gibbs", "our inference", "word frequencies")
    return [f"{perplexity(name, f'no privacy: {one}'):.0f}" for one in series]


def gains(name: str, most: float) -> list[float]:
    """Percent by which ours lies below LP-LDA, at every ε up to ``most``."""
    flips = {row["f"]: row["epsilon"] for row in read("local_perplexity.json") if row["f"] and row["corpus"] == name}
    kept = [f for f, epsilon in flips.items() if epsilon <= most]
    return [100 * (1 - perplexity(name, "ours", f) / perplexity(name, "LP-LDA", f)) for f in kept]


def small_epsilon() -> list[str]:
    return [fixed(of(gains(name, 3.0))) for name in CORPORA for of in (min, max)]


def largest_epsilon() -> list[str]:
    """At the fewest flips."""
    least = min(row["f"] for row in read("local_perplexity.json") if row["f"])
    pairs = [(perplexity(name, "ours", least), perplexity(name, "LP-LDA", least)) for name in CORPORA]
    return [fixed(100 * (1 - ours / theirs)) for ours, theirs in pairs]


def longest() -> list[str]:
    """A document's distinct words, and the bits in which two documents can differ."""
    return [str(corpus("KOS")["longest"]), str(2 * corpus("KOS")["longest"])]


GIBBS = Page(
    [
        Quote("counted this way, we have {} for KOS, within {} % of theirs", kos_words),
        Quote(
            "Enron is whole mail bodies of mailbox owners, {} drawn",
            lambda: [fixed(corpus("Enron")["training"] + corpus("Enron")["test"])],
        ),
        Quote("the printed version; ε after {} sweeps", lambda: [str(len(monitored()[0]["word"]))]),
        Quote("algorithm 1 says up to {} % less on these corpora", printed_less),
        Quote("of a token by {} to {} times what the word level says", same_word),
        Quote("which is {} words for NIPS, {} for KOS and {} for Enron", mean_lengths),
        Quote(
            "that curve too: {}, {} and {} after {} sweeps",
            lambda: [*by_mean_length(), str(len(monitored()[0]["word"]))],
        ),
        Quote("with up to {} distinct words, it is up to {} times as much", longest),
        *(
            Quote(
                name + " without privacy: Gibbs sampling {}, our inference {}, word frequencies alone {}.",
                lambda name=name: without_privacy(name),
            )
            for name in CORPORA
        ),
        Quote("at ε ≤ 3 by {} to {} % on KOS, {} to {} % on NIPS and {} to {} % on Enron", small_epsilon),
        Quote("at the largest ε by {}, {} and {} %.", largest_epsilon),
    ],
    settings=("K = 50, 300 sweeps", "the 1,000 most frequent words"),
)
