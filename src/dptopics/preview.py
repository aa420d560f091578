"""Preview: what to expect of a plan from a number of units that is public. Reads no data and spends nothing.

An estimate, not a promise. Words are taken to be used as in the language at large (public frequencies), and units to
use a stated number of distinct words; what the noise does to that is known exactly.
"""

from dataclasses import asdict, dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dptopics.errors import InputError
from dptopics.plan import COMMON, EXTENDED, Plan
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
    cells: int | None = None  # of a table of counts
    cell_deviation: float | None = None  # of the noise on the count of one cell
    topic_deviation: float | None = None  # of the noise on a topic's count over all groups and periods

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
        if self.cells is not None:
            lines.append(
                f"- {self.cells:,} cells, with about {self.units / self.cells:,.1f} units each if all were equal"
            )
            lines.append(f"- noise on the count of a cell: standard deviation {self.cell_deviation:,.1f}")
            lines.append(f"- noise on a topic's count over all groups: standard deviation {self.topic_deviation:,.1f}")
        return "\n".join([*lines, self.advice])


def expected(plan: Plan, units: int) -> Preview:
    """What ``plan`` would give from so many units."""
    whole("about_units", units, least=1)
    mechanism: Any = plan.build()
    if plan.job is Job.COUNTS:
        return _of_counts(mechanism, units)
    needed = mechanism.units_needed(WORDS_OF_A_UNIT)
    words = None if needed is None else int(np.count_nonzero(units * _used(plan) >= needed))
    if words is not None and plan.max_vocabulary is not None:
        words = min(words, plan.max_vocabulary)
    noise = mechanism.word_noise if plan.job is Job.TOPICS else None
    topics = None if noise is None else _readable(noise, plan.n_topics or 1, units)
    return Preview(
        units=units,
        threshold=needed,
        words=words,
        topics=topics,
        deviation=noise,
        advice=_advice(plan, words, topics),
    )


def _of_counts(mechanism: Any, units: int) -> Preview:
    """Noise is known exactly; how units spread over cells is not."""
    first, *others = mechanism.axes
    cells, topics = prod(mechanism.shape), mechanism.shape[0]
    cell = mechanism.deviation(**dict.fromkeys(mechanism.axes, True))
    topic = mechanism.deviation(**{first: True})
    advice = "That looks like enough."
    if units / topics < 4 * topic:
        advice = "So few units say little even about whole topics: raise epsilon, or get more units."
    elif others and units / cells < 2 * cell:
        advice = "Most cells would be noise, totals would not: use fewer groups or longer periods, or read totals."
    given: dict[str, Any] = {"threshold": None, "words": None, "topics": None, "deviation": None}
    return Preview(units=units, advice=advice, cells=cells, cell_deviation=cell, topic_deviation=topic, **given)


def _readable(noise: float, n_topics: int, units: int) -> int:
    """Topics whose words stand out, if a tenth of a topic's units use each of its usual words.

    Sizes of topics are taken to fall off like 1, 1/2, 1/3 …
    """
    share = 1 / np.arange(1, n_topics + 1)
    votes = units * share / share.sum() * 0.1 / np.sqrt(_WORDS_OF_A_TOPIC)
    return int(np.count_nonzero(votes > 2 * noise))


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
    private = plan.vocabulary not in (COMMON, EXTENDED)
    if private and words is not None and words < 5 * (plan.n_topics or 1):
        return "That is little: use public words (--vocabulary common, or FILE), more units, or a higher epsilon."
    if topics == 0:
        return "So few units carry no topic: expect no words above the noise. Raise epsilon, or get more units."
    if plan.settings.get("auto"):
        return "That looks like enough."
    if topics is not None and topics < (plan.n_topics or 1) / 2:
        return "Ask for fewer topics, or a higher epsilon: most of these would be noise."
    return "That looks like enough."
