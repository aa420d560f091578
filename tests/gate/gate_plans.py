"""What the gate is about: every mechanism that is registered, and every composition that the command line can build."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations, product
from math import inf
from typing import Any
from unittest.mock import patch

from gate_corpora import ATLAS, COMMON, CORE, COUNTED, LISTED, MODEL, SERIES, TABLE, TEXT, corpus_of, crowd

from dptopics import plan as plans
from dptopics.core.errors import InputError, PrivacyError
from dptopics.mechanisms.mechanism import Job
from dptopics.plan import Plan
from dptopics.privacy import pricing
from dptopics.privacy.guarantee import Strength, Unit
from dptopics.public.atlas import Atlas, shipped
from dptopics.public.embeddings import available
from dptopics.registry import mechanism_class, mechanisms

EPSILON, DELTA = 8.0, 1e-2  # little noise: a few hundred runs tell what is promised from what is not
# Settings that make runs short and bounds easy to reach, of mechanisms that have them.
SHORT: Mapping[Job, Mapping[str, Any]] = {
    Job.VOCABULARY: {},
    Job.TOPICS: {"steps": 2, "dimensions": 4, "candidates": 8},
    Job.NGRAMS: {"max_words": 1, "max_total": 1.0},
    Job.COUNTS: {**TABLE, **SERIES},
}
# And each of these once, where a mechanism has it.
BESIDES: Mapping[str, Any] = {
    "sampling_rate": 0.5,
    "slope": 0.1,
    "max_count": 3,
    "bounds": (1.0, 1.0, 1.0),
    "embedding": MODEL,
    "clip": 0.3,
    "max_words": 3,
    "max_total": 7.3,
    "max_cells": 3,
    "documents": 4,
    "over_share": 0.0,
    "min_units": 5,
    "max_periods": 3,
    "running": True,
    "seed_words": (tuple(LISTED.words[:2]),),
    "examples_from": 0,
}


@dataclass(frozen=True)
class Case:
    """One thing that can be asked for. ``words`` is a vocabulary mechanism, a public list by name, or None."""

    job: Job
    name: str
    words: str | None = None
    noise: str | None = None
    unit: Unit = Unit.AUTHOR
    settings: Mapping[str, Any] = field(default_factory=dict)
    short: bool = True  # else with as many rounds as by default

    def __str__(self):
        named = [str(key) for key in self.settings]
        return " ".join(filter(None, [self.name, self.words and f"over {self.words}", self.noise, *named, self.unit]))

    @property
    def plan(self):
        """The plan, as the command line makes it; refused ones raise."""
        made: dict[str, Any] = {"mechanism": self.name, "epsilon": EPSILON, "delta": DELTA, "unit": self.unit}
        settings = {**(_short(self) if self.short else {}), **with_themes(self.job, self.name), **self.settings}
        match self.job:
            case Job.VOCABULARY:
                return Plan.words(max_words=len(CORE), noise=self.noise, **made, **settings)
            case Job.NGRAMS:
                prior = COUNTED if self.words is None else None
                return Plan.ngrams(prior=prior, vocabulary=self.words, noise=self.noise, **made, **settings)
            case Job.COUNTS:
                return Plan.counts(**made, **settings)
        words = LISTED if self.words == "list" else self.words
        if "atlas" in settings:
            made["text"] = TEXT
        return Plan.topics(n_topics=2, vocabulary=words, max_words=len(CORE), noise=self.noise, **made, **settings)

    def build(self):
        """The mechanism, or None where the plan is refused.

        The public list of common words is a short one here. What has no price in closed form (samples, two draws of
        Laplace noise) is calibrated by a simple upper bound of it: more noise than is needed, but at once.
        """
        with (
            patch.object(plans, "common_words", lambda text, **_: COMMON),
            patch.object(pricing, "_pld_epsilon", lambda events, delta: inf),
        ):
            pricing.epsilon_of.cache_clear()
            try:
                return self.plan.build()
            except (InputError, PrivacyError):
                return None
            finally:
                pricing.epsilon_of.cache_clear()

    def crowd(self):
        """Enough people that a word of theirs is released: n-grams may propose 200 words each, so it takes more."""
        many = self.job is Job.NGRAMS and self.words is not None
        return corpus_of(crowd(1000 if many else 30), self.unit, public=self.public)

    @property
    def public(self):
        """Whether the words of the corpus are a public list: of n-grams, or of cells."""
        return self.job is Job.COUNTS or (self.job is Job.NGRAMS and self.words is None)


def with_themes(job, name):
    """Settings that a mechanism of themes needs: a small atlas."""
    return {"atlas": ATLAS} if job is Job.TOPICS and name == "atlas" else {}


def _short(case):
    """Short settings that all the mechanisms named have."""
    kinds = [mechanism_class(case.job, name) for name in case.name.split(",")]
    common = frozenset.intersection(*(kind.accepts() for kind in kinds))
    few = {"atlas": Atlas(shipped("english").themes[::20], "0")} if case.name == "atlas" else {}
    return few | {name: value for name, value in SHORT[case.job].items() if name in common}


def noises(job, name):
    """The kinds of noise to choose from, as the command line writes them; None where there is no choice."""
    return [str(kind) for kind in mechanism_class(job, name).noises] or [None]


def proved(job, name):
    """Whether a mechanism says that it is proved. Those that must be prepared on data are not."""
    return mechanism_class(job, name).example().guarantee.strength is Strength.PROVED


def installed(name):
    return name not in ("embedded", "atlas") or available()


def each(job):
    """Every proved mechanism of a job alone, with every noise, and with every setting of BESIDES that it has."""
    found = []
    for name, kind in mechanisms(job).items():
        if proved(job, name) and installed(name):
            found += of(job, name, kind)
    return found


def of(job, name, kind):
    """One mechanism alone: topics over a public list."""
    words = "common" if name == "atlas" else "list" if job is Job.TOPICS else None
    chosen = [None] if job is Job.TOPICS else noises(job, name)
    found = [Case(job, name, words, noise) for noise in chosen]
    of_the_plan = {"max_words"} if job is not Job.NGRAMS else set()  # that is how many words a unit may propose
    extra = [setting for setting in BESIDES if setting in kind.accepts() - of_the_plan]
    return found + [Case(job, name, words, chosen[0], settings={setting: BESIDES[setting]}) for setting in extra]


def vocabularies():
    """(name, noise) of every vocabulary that can stand in front."""
    private = [(name, noise) for name in _private() for noise in noises(Job.VOCABULARY, name)]
    beside = [("common+weighted", noise) for noise in noises(Job.VOCABULARY, "weighted")]
    return [*private, *((("common", None), *beside) if available() else ()), ("list", None)]


def compositions():
    """Every topic and n-gram mechanism over every vocabulary, the best of every two, for both units."""
    found = []
    topics = [name for name in mechanisms(Job.TOPICS) if proved(Job.TOPICS, name) and installed(name)]
    for unit in Unit:
        found += [Case(Job.VOCABULARY, name, None, noise, unit) for name, noise in vocabularies() if name in _private()]
        found += [
            Case(Job.TOPICS, name, *words, unit) for name, words in product(topics, vocabularies()) if name != "atlas"
        ]
        found += [Case(Job.TOPICS, "atlas", *words, unit) for words in vocabularies() if words[0].startswith("common")]
        own = {"vocabulary_epsilon": EPSILON / 3}  # an ε each, instead of shares
        found += [
            Case(Job.TOPICS, "variational", *words, unit, own) for words in vocabularies() if words[0] in _private()
        ]
        found += [
            Case(Job.TOPICS, ",".join(pair), "list", None, unit)
            for pair in combinations([name for name in topics if name != "atlas"], 2)
        ]
        for name in (name for name in mechanisms(Job.NGRAMS) if proved(Job.NGRAMS, name)):
            found += [
                Case(Job.NGRAMS, name, words, noise, unit)
                for words, noise in product([None, *_private()], noises(Job.NGRAMS, name))
            ]
        counts = [name for name in mechanisms(Job.COUNTS) if proved(Job.COUNTS, name)]
        asked = {"rules": ("f0 and not f1", "f0 or f1"), "facts": 2}  # of as many facts as TABLE has topics
        found += [Case(Job.COUNTS, name, unit=unit, settings=more) for name in counts for more in ({}, asked)]
        if unit is Unit.AUTHOR:
            numbers = {"number": "x", "number_range": (1.0, 5.0)}
            more = (numbers, numbers | asked, asked | {"documents": 4})
            found += [Case(Job.COUNTS, "margins", unit=unit, settings=one) for one in more]
    return found


def _private():
    return [name for name in mechanisms(Job.VOCABULARY) if proved(Job.VOCABULARY, name)]
