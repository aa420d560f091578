"""Guarantee: who is protected, from whom, how much, and how far that is proved. It prices itself."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import exp, inf
from typing import Any, NamedTuple, Self

from dptopics.core.errors import BundleError, InputError, PrivacyError
from dptopics.core.settings import Choice, whole
from dptopics.privacy import events as ev
from dptopics.privacy.events import Event, Relation, to_replace_one
from dptopics.privacy.pricing import epsilon_of

SCHEMA = 2  # 1: events did not say their relation, the guarantee did
LARGEST_EPSILON = 8.0  # above it the odds may grow more than 2,980-fold
LARGEST_DELTA = 1e-3  # above it more than one unit in a thousand may be published outright
# What composition reads: assumptions that it settles, or that it voids.
PUBLIC_WORDS = "The words were public beforehand, or released and charged by themselves."
WORDS_BEFORE = "The words were chosen without looking at this data."
WORDS_OF_DATA = (
    "The words were released from the same data: given them, the data no longer follow the distribution that the "
    "sensitivity was sampled from (docs/guarantees/output.md)."
)


class Unit(Choice):
    """Whose presence is hidden: one document, or an author with everything they wrote."""

    AUTHOR = "author"
    DOCUMENT = "document"


class Trust(StrEnum):
    """Who sees raw text: a trusted owner, or nobody but the author."""

    CENTRAL = "central"
    LOCAL = "local"


class Strength(StrEnum):
    """How far a guarantee is proved, strongest first."""

    PROVED = "proved"
    RANDOM = "random"
    CLAIMED = "claimed"
    NONE = "none"

    @property
    def meaning(self) -> str:
        """One sentence for the card."""
        return {
            Strength.PROVED: (
                "a theorem written down for this code; tests look for departures from it, and cannot exclude them"
            ),
            Strength.RANDOM: "holds with a stated probability over data sets of a stated distribution",
            Strength.CLAIMED: "as published; the proof has a known hole, named below",
            Strength.NONE: "no protection is promised",
        }[self]


def weakest(*strengths: Strength) -> Strength:
    """A whole is as strong as its weakest part."""
    return max(strengths, key=list(Strength).index)


class Price(NamedTuple):
    """ε at a δ."""

    epsilon: float
    delta: float


def check_budget(epsilon: float, delta: float) -> None:
    """Refuse an (ε, δ) that means nothing."""
    if not 0 < epsilon < inf:
        raise InputError(f"epsilon must be a positive number, got {epsilon}. Common choices lie between 0.5 and 8.")
    if not 0 < delta < 1:
        raise InputError(
            f"delta must lie strictly between 0 and 1, got {delta}. Choose it well below 1 / number of authors: 1e-6."
        )


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """What a release promises, read from the same fields as the noise that was drawn.

    Its relation is that of its events, which must all have the same. ``delta`` is the δ at which ε is stated; the same
    events have an ε at every other δ too. ``gamma`` is the chance that the statement does not hold for the data at
    hand, where it is one about data sets of a stated distribution. ``limits`` is what the reader of the release should
    know beside privacy. ``people`` is roughly how many units there are, where the owner declares that public: the
    exact number is private.

    >>> g = Guarantee(events=(ev.Gaussian(3.185703),), delta=1e-4, unit=Unit.AUTHOR, strength=Strength.PROVED)
    >>> round(g.epsilon, 6), round(g.epsilon_at(1e-6), 3)
    (1.0, 1.357)
    """

    events: tuple[Event, ...]
    delta: float
    unit: Unit
    strength: Strength
    trust: Trust = Trust.CENTRAL
    assumptions: tuple[str, ...] = ()
    gamma: float = 0.0
    limits: tuple[str, ...] = ()
    people: int | None = None

    def __post_init__(self) -> None:
        ev.relation_of(self.events)
        if self.people is not None:
            whole("people", self.people, least=1)
        if not 0 <= self.gamma <= 1:
            raise InputError(f"gamma must lie between 0 and 1, got {self.gamma}.")
        if self.strength is Strength.RANDOM and self.gamma == 0:
            raise InputError("a guarantee of strength 'random' must say with which chance it fails: give gamma.")

    @property
    def unrefuted(self) -> "Guarantee | None":
        """Itself; None if what it claims is refuted, so that it allows and forbids nothing."""
        return None if self.strength is Strength.NONE else self

    @property
    def relation(self) -> Relation:
        """Which two data sets must look alike."""
        return ev.relation_of(self.events)

    @property
    def epsilon(self) -> float:
        """ε at this guarantee's δ."""
        return self.epsilon_at(self.delta)

    def epsilon_at(self, delta: float) -> float:
        """ε of the same events at another δ."""
        return epsilon_of(self.events, delta)

    def weakened(self, strength: Strength, reason: str) -> Self:
        """The same guarantee with at most this strength, and the reason among its assumptions."""
        return replace(self, strength=weakest(self.strength, strength), assumptions=(*self.assumptions, reason))

    def noting(self, assumption: str) -> Self:
        """The same guarantee with one more thing the reader must know."""
        return replace(self, assumptions=(*self.assumptions, assumption))

    def assuming(self, lines: tuple[str, ...]) -> Self:
        """The same guarantee with what must be true of the data's form, before all else that is assumed."""
        return replace(self, assumptions=tuple(dict.fromkeys((*lines, *self.assumptions))))

    @property
    def replace_one(self) -> Price | None:
        """Price of the same release for one unit in place of another, or None where no figure is known.

        It is what counts for those who are known to be in the data. Failures count twice, so δ is larger by them.

        >>> g = Guarantee(events=(ev.Gaussian(4.224679),), delta=1e-6, unit=Unit.AUTHOR, strength=Strength.PROVED)
        >>> round(g.epsilon, 3), round(g.replace_one.epsilon, 3)
        (1.0, 2.123)
        """
        if self.strength is Strength.NONE:
            return None
        if self.relation is Relation.REPLACE:
            return Price(self.epsilon, self.delta)
        events = to_replace_one(self.events)
        if events is None:
            return None
        failures = sum(e.probability for e in self.events if isinstance(e, ev.Failure))
        noise = tuple(e for e in events if not isinstance(e, ev.Failure))
        left = self.delta - failures  # of δ + failures, less twice the failures
        return Price(epsilon_of(noise, left) if left >= 0 else inf, self.delta + failures)

    @property
    def large_epsilon(self) -> bool:
        """Is ε so large that it limits little?"""
        return self.strength is not Strength.NONE and self.epsilon * (1 - 1e-9) > LARGEST_EPSILON

    @property
    def large_delta(self) -> bool:
        """Is δ so large that publishing one unit outright, or one in a thousand, would satisfy it?"""
        return self.strength is not Strength.NONE and self.delta > min(LARGEST_DELTA, 1 / (self.people or 1))

    @property
    def sound(self) -> bool:
        """Whether it is proved, with figures that mean something. Pages may show that in green, and nothing else."""
        return self.strength is Strength.PROVED and not (self.large_epsilon or self.large_delta)

    def about(self, units: int | None) -> Self:
        """The same guarantee, for about so many units: a number that is public. None: not stated."""
        return replace(self, people=units)

    def belief(self, before: float) -> float:
        """How sure an attacker can be at most after seeing the release, who gave the secret this chance before.

        Odds grow at most e^ε-fold, but for a chance of about δ.

        >>> Guarantee(events=(ev.Laplace(1.0),), delta=0.0, unit=Unit.AUTHOR, strength=Strength.PROVED).belief(0.5)
        0.731...
        """
        if self.strength is Strength.NONE or self.epsilon == inf:
            return 1.0
        return before / (before + (1 - before) * exp(-self.epsilon))

    def card(self, width: int = 88) -> str:
        """A short card that somebody without mathematics can read."""
        from dptopics.privacy.card import card  # the words are about guarantees, and import this file

        return card(self, width)

    def __str__(self) -> str:
        return self.card()

    def _repr_html_(self) -> str:
        from dptopics.privacy.card import card_html

        return card_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON. The price is written for readers; loading computes it again from the events.

        What promises nothing has no price to write, whatever its events say.
        """
        epsilon = inf if self.strength is Strength.NONE else self.epsilon
        other = self.replace_one
        return {
            "schema": SCHEMA,
            "epsilon": None if epsilon == inf else epsilon,
            "delta": self.delta,
            "replace_one": None if other is None or other.epsilon == inf else other._asdict(),
            "sound": self.sound,
            "unit": str(self.unit),
            "relation": str(self.relation),
            "trust": str(self.trust),
            "strength": str(self.strength),
            "assumptions": list(self.assumptions),
            "events": [ev.to_dict(e) for e in self.events],
        } | {
            name: value
            for name, value in (("gamma", self.gamma), ("limits", list(self.limits)), ("people", self.people))
            if value
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_dict`."""
        try:
            if data["schema"] > SCHEMA:
                raise BundleError(
                    f"this guarantee has schema {data['schema']}, this version of dptopics reads up to {SCHEMA}. "
                    "Update dptopics."
                )
            delta = float(data["delta"])
            if not 0 <= delta < 1:
                raise ValueError("delta")
            relation = Relation(data["relation"])
            events = tuple(ev.from_dict(e, relation) for e in data["events"])
            if events and ev.relation_of(events) is not relation:
                raise ValueError("relation")
            return cls(
                events=events,
                delta=delta,
                unit=Unit(data["unit"]),
                trust=Trust(data["trust"]),
                strength=Strength(data["strength"]),
                assumptions=tuple(map(str, data["assumptions"])),
                gamma=float(data.get("gamma", 0.0)),
                limits=tuple(map(str, data.get("limits", ()))),
                people=data.get("people", data.get("about_units")),  # its name until 0.2
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise BundleError(f"the guarantee is damaged ({type(error).__name__}). Get the release again.") from error

    def to_json(self) -> str:
        """The guarantee as a JSON document."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)


def composed(*parts: Guarantee, delta: float) -> Guarantee:
    """What several looks at the same data promise together: all events priced at one δ, the weakest strength.

    Every γ, assumption and limit counts. Parts about different units, relations or people trusted do not add up.

    >>> one = Guarantee(events=(ev.Gaussian(2.0),), delta=1e-6, unit=Unit.AUTHOR, strength=Strength.PROVED)
    >>> other = replace(one, events=(ev.Gaussian(2.0, relation=Relation.REPLACE),))
    >>> composed(one, other, delta=1e-6)
    Traceback (most recent call last):
    dptopics.core.errors.PrivacyError: parts of one release must protect the same unit under the same relation, got ...
    """
    who: Sequence[tuple[str, str]] = list(dict.fromkeys((part.unit, part.trust) for part in parts))
    if len(who) > 1:
        raise PrivacyError(
            "parts of one release must protect the same unit under the same relation, got "
            f"{' and '.join(', '.join(each) for each in who)}. Give all parts the same unit."
        )
    return Guarantee(
        events=tuple(event for part in parts for event in part.events),
        delta=delta,
        unit=parts[0].unit,
        strength=weakest(*(part.strength for part in parts)),
        trust=parts[0].trust,
        assumptions=tuple(dict.fromkeys(line for part in parts for line in part.assumptions)),
        gamma=min(1.0, sum(part.gamma for part in parts)),
        limits=tuple(dict.fromkeys(line for part in parts for line in part.limits)),
        people=max((part.people for part in parts if part.people is not None), default=None),
    )


def composed_over_words(words: Guarantee, rest: Guarantee, *, delta: float) -> Guarantee:
    """What choosing words and then a look at the data through them promise together.

    That the words are public or charged for is then no longer assumed. Words that were chosen from the data void what
    rests on their being chosen without it.
    """
    if words.events and WORDS_BEFORE in rest.assumptions:
        rest = rest.weakened(Strength.CLAIMED, WORDS_OF_DATA)
        rest = replace(rest, assumptions=tuple(line for line in rest.assumptions if line != WORDS_BEFORE))
    whole = composed(words, rest, delta=delta)
    return replace(whole, assumptions=tuple(line for line in whole.assumptions if line != PUBLIC_WORDS))
