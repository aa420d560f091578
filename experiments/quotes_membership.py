"""Numbers in the prose of docs/papers/membership-inference.md, from the stored results."""

from typing import Any

from quote_parts import Page, Quote, fixed, within
from table_parts import read
from tables import CORPORA, PAPER_TABLE_2, PAPER_TABLE_3, PAPER_TABLE_4

PAPER_TABLE_1 = {"tweets": 12.8, "nips": 44.9, "newsgroups": 21.1}
BASELINES = [f"threshold: {name}" for name in PAPER_TABLE_3 if name != "zeta"]


def attack(corpus: str, kind: str = "LiRA online: zeta", learner: str = "_ours") -> Any:
    (found,) = [a for a in read(f"membership_table1_{corpus}{learner}.json")["attacks"] if a["attack"] == kind]
    return found


def rate(*where: str) -> float:
    """True positives at 0.1 % false positives, in percent."""
    found: float = 100 * attack(*where)["tpr_at_0.1%_fpr"]
    return found


def times_baselines() -> list[str]:
    """How many times as many members ζ finds as the best of the baselines."""
    return [fixed(rate(name) / max(rate(name, kind) for kind in BASELINES)) for name in CORPORA]


def against_table_1() -> list[str]:
    """Percent off the paper: tweets and newsgroups; tweets with scikit-learn's learner."""
    off = [within(100 * abs(rate(name) / PAPER_TABLE_1[name] - 1)) for name in ("tweets", "newsgroups")]
    sklearn = rate("tweets", "LiRA online: zeta", "")
    return [*off, fixed(100 * (sklearn / PAPER_TABLE_1["tweets"] - 1))]


def against_table_4() -> list[str]:
    """Tweets and newsgroups: documents, words and vocabulary, but for a tweet's words, printed without decimals."""
    found, off = read("membership_table4.json")["corpora"], []
    for name in ("tweets", "newsgroups"):
        paper = [float(text.strip("()").split()[0].replace(",", "")) for text in PAPER_TABLE_4[name][1:]]
        ours = [found[name][key] for key in ("documents", "average_length", "vocabulary")]
        off += [abs(b / a - 1) for a, b in zip(paper, ours, strict=True) if a > 9]
    return [within(100 * max(off))]


def alike() -> list[str]:
    kind = "LiRA online: zeta, variances of documents alike"
    gains = [100 * (rate(name, kind) / rate(name) - 1) for name in ("tweets", "newsgroups")]
    return [fixed(gains[0]), str(attack_file("tweets")["shadows"]), fixed(-gains[1])]


def attack_file(corpus: str) -> Any:
    return read(f"membership_table1_{corpus}_ours.json")


def by_shadows() -> list[str]:
    few = read("membership_rare_words.json")
    rate_of_few = 100 * few["rows"][0]["tpr_at_0.1%_fpr"]
    return [fixed(rate_of_few, 1), str(few["shadows"]), fixed(rate("tweets"), 1), str(attack_file("tweets")["shadows"])]


def online_and_offline() -> list[str]:
    kinds = ("LiRA offline: zeta", "LiRA online: zeta")
    return [fixed(rate(name, kind), 1) for name in CORPORA for kind in kinds]


def normality(name: str = "together", kind: str = "share", file: str = "ours") -> dict[str, float]:
    found = read(f"membership_table3_{file}.json")["corpora"][name]
    return {statistic: 100 * found[statistic][kind] for statistic in PAPER_TABLE_3}


def tests() -> list[str]:
    found = read("membership_table3_ours.json")
    return [str(found["shadows"]), fixed(found["documents"]), fixed(found["corpora"]["together"]["zeta"]["tests"])]


def table_3_apart() -> str:
    return within(max(abs(normality()[name] - paper) for name, paper in PAPER_TABLE_3.items()), 1)


def learners_apart() -> str:
    ours, theirs = normality("tweets"), normality("tweets", file="tweets")
    return within(max(abs(ours[name] - theirs[name]) for name in PAPER_TABLE_3), 1)


def least_rejected() -> str:
    """Of the statistics but ζ, on the tweets."""
    return str(int(min(value for name, value in normality("tweets").items() if name != "zeta")))


def by_statistic() -> list[str]:
    names = ("zeta", "logit of maximum", "negative entropy", "standard deviation")
    return [fixed(rate("tweets", f"LiRA online: {name}"), 1) for name in names]


def below_table_2() -> list[str]:
    rows = read("membership_table2.json")["rows"]
    below = [100 - 1e4 * row["online"]["tpr_at_0.1%_fpr"] / PAPER_TABLE_2[row["topics"]][0] for row in rows]
    return [fixed(min(below)), fixed(max(below))]


MEMBERSHIP = Page(
    [
        Quote(
            "the known ones: {} words instead",
            lambda: [fixed(read("membership_table4.json")["corpora"]["tweets"]["vocabulary"])],
        ),
        Quote("The tweets and 20 Newsgroups agree within {} %", against_table_4),
        Quote(
            "{} shadows, as in the paper. ζ finds {} times as many members as each baseline on the tweets, {} times on "
            "NIPS and {} times on 20 Newsgroups.",
            lambda: [str(attack_file("tweets")["shadows"]), *times_baselines()],
        ),
        Quote(
            "agree*: within {} % and {} % of the paper; with scikit-learn's learner the tweets are {} % above it.",
            against_table_1,
        ),
        Quote(
            "(AUC {} and {})",
            lambda: [fixed(attack("tweets", learner=learner)["auc"], 3) for learner in ("_ours", "")],
        ),
        Quote("gain {} % on the tweets with {} shadows and lose {} % on 20 Newsgroups", alike),
        Quote("The tweets with our learner: {} % with {} shadows, {} % with {}.", by_shadows),
        Quote("*NIPS is {} % below the paper", lambda: [fixed(100 * (1 - rate("nips") / PAPER_TABLE_1["nips"]))]),
        Quote(
            "{} against {} % on the tweets, {} against {} % on NIPS, {} against {} % on 20 Newsgroups.",
            online_and_offline,
        ),
        Quote("As in the paper: {} shadows, {} documents of each of the three corpora", lambda: tests()[:2]),
        Quote("so {} tests of Shapiro", lambda: tests()[2:]),
        Quote("corrected over all {} tests", lambda: tests()[2:]),
        Quote(
            "over its {} for each corpus",
            lambda: [fixed(read("membership_table3_ours.json")["corpora"]["tweets"]["zeta"]["tests"])],
        ),
        Quote("each share is within {} percentage points of the paper's", lambda: [table_3_apart()]),
        Quote("hardly ever normal ({} % rejected and more)", lambda: [least_rejected()]),
        Quote(
            "ζ is rejected in {} % of the tests",
            lambda: [fixed(normality("together", "share_without_correction")["zeta"])],
        ),
        Quote("on the tweets is within {} points of ours", lambda: [learners_apart()]),
        Quote(
            "ζ finds {} %, the logit of the maximum {} %, negative entropy {} %, the standard deviation {} %.",
            by_statistic,
        ),
        Quote("TPR at 0.1 % FPR, {} shadows of our learner", lambda: [str(read("membership_table2.json")["shadows"])]),
        Quote("at every k, by {} to {} %", below_table_2),
    ],
    printed=(
        "| shadows | 128, a new set",
        "words instead of 5,942",
        "(The paper uses 256 shadows",
        "(the paper: 128 of",
    ),
    settings=(
        "every word that occurs 20 times or fewer",
        "WordNet 3.0",
        "| 128 unless a table",
        "rate at 0.1 % false",
        "procedure at 0.05.",
        "(p values up to 0.05)",
        "median and 95 % quantile",
        "TPR at 0.1 % FPR",
    ),
)
