"""Preview: what to expect of a plan from a number of units that is public. Reads no data and spends nothing.

An estimate, not a promise. Words are taken to be used as in the language at large (public frequencies), and units to
use a stated number of distinct words; what the noise does to that is known exactly. How many topics stand out of the
noise was measured on public corpora.
"""

from dataclasses import asdict, dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dptopics.core.errors import InputError
from dptopics.core.settings import whole
from dptopics.mechanisms.mechanism import Job
from dptopics.plan import COMMON, EXTENDED, Plan
from dptopics.release.counts import Z95

WORDS_OF_A_UNIT = 60  # distinct words that a unit is taken to use, stop words aside: a few messages
_TOKENS = 120  # in all
_WORDS_OF_A_TOPIC = 5  # that stand out of the noise, for a topic to be found
# Units that a topic needs to be found, for each standard deviation of the noise on its words. Fitted to the releases of
# benchmarks/results/utility (15 corpora of 1,762 to 34,659 units, ε = 1 and 3): topics from embeddings come out within
# a quarter of what was found there; of other mechanisms up to half too many, and often too few.
_NEEDED = {"embedded": 25.0}
_NEEDED_ELSE = 8.0
_CALIBRATED = (1_762, 34_659)  # units of these corpora
_MEASURED = (
    "How many topics come out is a rough guess, by what releases of 15 public corpora of {:,} to {:,} units gave "
    "(docs/utility.md): yours may have more or fewer{}."
)
_FEWEST_TOPICS = 3  # below, a release says little, however few were asked for
_PRECISE = 0.5  # of a topic's size, if all were equal: what its interval may be wide either way


@dataclass(frozen=True, kw_only=True)
class Preview:
    """What to expect. Numbers are rough: within a factor of two for texts like those of the language at large."""

    units: int
    threshold: float | None = None  # in units that must use a word, on average
    words: int | None = None  # that are chosen privately; None where these are not most of the words
    topics: int | None = None
    noise_std: float | None = None  # of the noise on a word's number of votes or counts
    size_noise_std: float | None = None  # of the noise on the size of a topic, in units
    advice: str = ""
    cells: int | None = None  # of a table of counts
    cell_noise_std: float | None = None  # of the noise on each count, of a cell or over all groups and periods
    themes: int | None = None  # of a public atlas, where the units are few
    votes_of_an_example: float | None = None  # units whose votes let an invented sentence stand beside a theme
    listed: bool = False  # whether there is a public list of words, which need no votes

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)

    def card(self) -> str:
        """For people."""
        lines = [f"About {self.units:,} units, by a rough estimate:"]
        if self.threshold is not None:
            which = "a word outside the public list" if self.listed else "a word"
            lines.append(f"- {which} is released if about {self.threshold:,.0f} units or more use it")
        if self.words is not None:
            lines.append(f"- about {self.words:,} words would be chosen")
        if self.noise_std is not None:
            lines.append(f"- noise on each number that topics are made of: standard deviation {self.noise_std:,.1f}")
        if self.themes is not None:
            lines.append(f"- themes of the public atlas with names and sizes: about {self.themes}; few words or none")
        if self.votes_of_an_example is not None:
            lines.append(
                f"- an example sentence stands beside a theme if about {self.votes_of_an_example:,.0f} vote for it"
            )
        if self.topics is not None:
            found = f"topics with {_WORDS_OF_A_TOPIC} or more words above the noise"
            lines.append(f"- {found}: about {self.topics}")
        if self.size_noise_std is not None:
            one = "topic" if self.themes is None else "theme"
            lines.append(f"- the size of a {one} is known to within ± {Z95 * self.size_noise_std:,.0f} units (95 %)")
        if self.cells is not None:
            lines.append(
                f"- {self.cells:,} cells, with about {self.units / self.cells:,.1f} units each if all were equal"
            )
            lines.append(f"- noise on every count, also over all groups: standard deviation {self.cell_noise_std:,.1f}")
        return "\n".join([*lines, self.advice, *([] if self.topics is None else [self.calibrated])])

    @property
    def calibrated(self) -> str:
        """How far the number of topics can be trusted."""
        low, high = _CALIBRATED
        outside = "" if low <= self.units <= high else f", and {self.units:,} units lie outside of that range"
        return _MEASURED.format(low, high, outside)

    def sentence(self, unit: str = "unit") -> str:
        """What to expect in one sentence, for whoever is about to spend."""
        parts = []
        if self.words is not None:
            parts.append(f"about {self.words:,} words")
        if self.topics is not None:
            parts.append(f"about {self.topics} topics with words above the noise" if self.topics else "no topic")
        if self.themes is not None and self.size_noise_std is not None:
            parts.append(f"about {self.themes} themes of the public atlas with their sizes")
            parts.append(f"each to within ± {Z95 * self.size_noise_std:,.0f} {unit}s (95 %)")
        elif self.size_noise_std is not None and self.topics:
            parts.append(f"sizes of topics to within ± {Z95 * self.size_noise_std:,.0f} {unit}s (95 %)")
        if self.cell_noise_std is not None:
            parts.append(f"counts to within ± {Z95 * self.cell_noise_std:,.0f} {unit}s (95 %)")
        return f"At this size expect {', '.join(parts)}. {self.advice}" if parts else ""


def expected(plan: Plan, units: int) -> Preview:
    """What ``plan`` would give from so many units."""
    whole("people", units, least=1)
    mechanism: Any = plan.build()
    if plan.job is Job.COUNTS:
        return _of_counts(mechanism, units)
    needed = mechanism.units_needed(WORDS_OF_A_UNIT)
    listed = plan.vocabulary in (COMMON, EXTENDED)
    words = None if needed is None or listed else int(np.count_nonzero(units * _used(plan) >= needed))
    if words is not None and plan.max_vocabulary is not None:
        words = min(words, plan.max_vocabulary)
    noise = mechanism.word_noise if plan.job is Job.TOPICS else None
    each = _NEEDED.get(plan.mechanism, _NEEDED_ELSE)
    themed = mechanism.themes_expected(units) if plan.job is Job.TOPICS else None
    found = Preview(units=units, threshold=needed, listed=listed)
    if themed is not None:
        found = replace(found, **themed._asdict())
        return replace(found, advice=_of_themes(found))
    topics = None if noise is None else found_topics(each * noise, plan.n_topics or 1, units)
    if topics is not None and words is not None:
        topics = min(topics, words // _WORDS_OF_A_TOPIC)  # they are made of words
    size = mechanism.size_noise if plan.job is Job.TOPICS else None
    found = replace(found, words=words, topics=topics, noise_std=noise, size_noise_std=size)
    return replace(found, advice=_advice(plan, found))


def _of_counts(mechanism: Any, units: int) -> Preview:
    """Noise is known exactly; how units spread over cells is not."""
    cells, noise, advice = prod(mechanism.shape), mechanism.noise_std, _ENOUGH
    if mechanism.rules:  # questions do not share people among them
        advice = _ENOUGH if units >= 20 * noise else "Ask fewer questions, or get more units: answers would be noise."
    elif units / mechanism.shape[0] < 4 * noise:
        advice = "Too few units even for whole topics: count fewer topics, or get more units."
    elif mechanism.axes[1:] and units / cells < 2 * noise:
        advice = "Most cells would be noise, totals would not: use fewer groups or longer periods, or read totals."
    return Preview(units=units, advice=advice, cells=cells, cell_noise_std=noise)


def found_topics(needed: float, n_topics: int, units: int) -> int:
    """Topics of at least so many units, if their sizes fall off like 1, 1/2, 1/3 …

    >>> found_topics(173, 20, 8000)
    12
    """
    share = 1 / np.arange(1, n_topics + 1)
    return int(np.count_nonzero(units * share / share.sum() > needed))


def _used(plan: Plan) -> NDArray[np.float64]:
    """The share of units that use each of the language's common words, the most used first."""
    from dptopics.core.text import TextSettings
    from dptopics.public.embeddings import common_words, frequencies

    text = plan.text or TextSettings()
    try:
        listed = common_words(text)
        share = frequencies(listed.words, text.language)
    except InputError:  # without the extra: Zipf's law
        share = 0.1 / np.arange(1, 30_001)
    share = np.sort(share)[::-1] / share.sum()
    return np.asarray(-np.expm1(-_TOKENS * share))


_ENOUGH = "That looks like enough."
_FEWEST_THEMES = 8


def _of_themes(found: Preview) -> str:
    if (found.themes or 0) < _FEWEST_THEMES:
        return "Few themes would be more than noise: get more units before you spend anything."
    return _ENOUGH


def _advice(plan: Plan, found: Preview) -> str:
    """What to do where little is to be expected."""
    # Never to raise ε: how much people may lose is not decided by how much there is to see.
    words, topics = found.words, found.topics
    if words is not None and words < 5 * (plan.n_topics or 1):
        return "That is little: use public words (--vocabulary common, or FILE), or get more units."
    if topics == 0:
        return "Too few units for any topic: expect no words above the noise. Get more units before you spend anything."
    if topics is None:
        return _ENOUGH
    if topics < min(_FEWEST_TOPICS, plan.n_topics or 1):
        return f"Only {topics} of the topics would be more than noise. Get more units before you spend anything."
    if found.size_noise_std is not None and Z95 * found.size_noise_std > _PRECISE * found.units / topics:
        return "Sizes of topics would be little more than noise: ask for fewer topics, or get more units."
    if not plan.settings.get("auto") and topics < (plan.n_topics or 1) / 2:
        return "Ask for fewer topics, or get more units: most of these would be noise."
    return _ENOUGH
