"""Preview: what to expect of a plan from a number of units that is public. Reads no data and spends nothing.

An estimate, not a promise. Words are taken to be used as in the language at large (public frequencies), and units to
use a stated number of distinct words; what the noise does to that is known exactly.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dptopics.errors import InputError
from dptopics.plan import Plan
from dptopics.privacy.fields import whole
from dptopics.privacy.mechanism import Job

WORDS_OF_A_UNIT = 60  # distinct words that a unit is taken to use, stop words aside: a few messages
_TOKENS = 120  # in all
_WORDS_OF_A_TOPIC = 8  # that stand out of the noise, for a topic to be worth reading


@dataclass(frozen=True, kw_only=True)
class Preview:
    """What to expect. Numbers are rough: within a factor of two for texts like those of the language at large."""

    units: int
    threshold: float | None  # in units that must use a word, on average
    words: int | None  # that are chosen privately; None where all words are public
    topics: int | None
    deviation: float | None  # of the noise on a word's number of votes or counts
    advice: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)

    def card(self) -> str:
        """For people."""
        lines = [f"About {self.units:,} units, by a rough estimate:"]
        if self.threshold is not None:
            lines.append(f"- a word is released if about {self.threshold:,.0f} units or more use it")
        if self.words is not None:
            lines.append(f"- about {self.words:,} words would be chosen")
        if self.deviation is not None:
            lines.append(f"- noise on each number that topics are made of: standard deviation {self.deviation:,.1f}")
        if self.topics is not None:
            lines.append(f"- topics with {_WORDS_OF_A_TOPIC} words that stand out of the noise: about {self.topics}")
        return "\n".join([*lines, self.advice])


def expected(plan: Plan, units: int) -> Preview:
    """What ``plan`` would give from so many units."""
    whole("about_units", units, least=1)
    mechanism: Any = plan.build()
    chooser = mechanism if plan.job is Job.VOCABULARY else getattr(mechanism, "vocabulary", None)
    chooser = getattr(chooser, "vocabulary", chooser)  # inside an exchange of units
    threshold = words = None
    if hasattr(chooser, "threshold"):
        threshold, words = _chosen(chooser, plan, units)
    topics, deviation = (None, None) if plan.job is not Job.TOPICS else _topics(mechanism, plan, units)
    return Preview(
        units=units,
        threshold=threshold,
        words=words,
        topics=topics,
        deviation=deviation,
        advice=_advice(plan, words, topics),
    )


def _chosen(chooser: Any, plan: Plan, units: int) -> tuple[float, int]:
    """How many units must use a word for it to be released with even odds, and how many words that many use."""
    each = min(WORDS_OF_A_UNIT, chooser.max_words) ** -0.5 if chooser.name == "weighted" else 1.0
    needed = chooser.threshold / each
    found = int(np.count_nonzero(units * _used(plan) >= needed))
    limit = chooser.max_size
    return float(needed), found if limit is None else min(found, limit)


def _topics(mechanism: Any, plan: Plan, units: int) -> tuple[int, float | None]:
    """Topics whose words stand out: each of k equal topics gets units/k votes for each of its usual words."""
    part = getattr(mechanism, "topics", mechanism)
    sigma = getattr(part, "word_sigma", None) or getattr(part, "step_sigma", None) or getattr(part, "sigma", None)
    k = plan.n_topics or 1
    if sigma is None:
        return 0, None
    # The usual words of a topic are used by a tenth of its units; sizes of topics fall off like 1, 1/2, 1/3 …
    share = 1 / np.arange(1, k + 1) / np.sum(1 / np.arange(1, k + 1))
    votes = units * share * 0.1 / np.sqrt(_WORDS_OF_A_TOPIC)
    return int(np.count_nonzero(votes > 2 * sigma)), float(sigma)


def _used(plan: Plan) -> NDArray[np.float64]:
    """The share of units that use each of the language's common words, the most used first."""
    from dptopics.public.embeddings import common_words, frequencies
    from dptopics.public.text import TextSettings

    text = plan.text or TextSettings()
    try:
        listed = common_words(text)
        share = frequencies(listed.words, text.language)
    except InputError:  # without the extra: Zipf's law
        share = 0.1 / np.arange(1, 30_001)
    share = np.sort(share)[::-1] / share.sum()
    return np.asarray(-np.expm1(-_TOKENS * share))


def _advice(plan: Plan, words: int | None, topics: int | None) -> str:
    """What to do where little is to be expected."""
    if words is not None and words < 5 * (plan.n_topics or 1):
        return "That is little: use public words (--vocabulary common, or FILE), more units, or a higher epsilon."
    if topics is not None and topics < (plan.n_topics or 1) / 2:
        return "Ask for fewer topics, or a higher epsilon: most of these would be noise."
    return "That looks like enough."
