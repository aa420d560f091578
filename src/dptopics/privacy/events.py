"""Privacy events: what a mechanism draws, from which its price follows.

An event describes one draw of noise; a pricing function turns events into ε. Scales are relative to the sensitivity,
the largest change between two neighbours, so every event states its neighbouring relation: the same noise is
a different event under another relation, and events of different relations have no common price.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import log, sqrt
from typing import Any

from dptopics.core.errors import PrivacyError
from dptopics.core.settings import Choice


class Relation(Choice):
    """Which data sets are neighbours.

    With and without a unit; with one unit replaced by another; or with a single word of one document replaced by
    another, which hides neither documents nor authors and occurs only in claims of published methods. With and without
    one given word in one document hides as little; reports of local collection state it in addition.
    """

    ADD_OR_REMOVE = "add-or-remove"
    REPLACE = "replace"
    REPLACE_WORD = "replace-word"
    ADD_OR_REMOVE_WORD = "add-or-remove-word"


@dataclass(frozen=True)
class Gaussian:
    """Gaussian noise of standard deviation ``sigma`` times the L2 sensitivity, drawn ``count`` times.

    ``nonnegative``: no unit's contribution to the sum has a negative entry, so replace-one costs less than twice as
    much (:func:`to_replace_one`). ``adaptive``: it stands for any number of draws, each with a multiplier chosen from
    earlier answers, whose 1/multiplier² never add up to more than its own (Smith and Thakurta 2022: the same price).
    """

    sigma: float
    count: int = 1
    relation: Relation = Relation.ADD_OR_REMOVE
    nonnegative: bool = False
    adaptive: bool = False

    def __post_init__(self) -> None:
        _check(self.sigma > 0 and self.count >= 1, self)


@dataclass(frozen=True)
class SampledGaussian:
    """The same on a Poisson sample: each unit is included independently with probability ``rate``."""

    sigma: float
    rate: float
    count: int = 1
    relation: Relation = Relation.ADD_OR_REMOVE

    def __post_init__(self) -> None:
        _check(self.sigma > 0 and self.count >= 1 and 0 < self.rate <= 1, self)


@dataclass(frozen=True)
class Laplace:
    """Laplace noise of ``scale`` times the L1 sensitivity, drawn ``count`` times."""

    scale: float
    count: int = 1
    relation: Relation = Relation.ADD_OR_REMOVE

    def __post_init__(self) -> None:
        _check(self.scale > 0 and self.count >= 1, self)


@dataclass(frozen=True)
class RandomizedResponse:
    """One of ``values`` answers: each wrong one with probability ``lie``, else the true one; ``count`` of them."""

    lie: float
    values: int = 2
    count: int = 1
    relation: Relation = Relation.ADD_OR_REMOVE

    def __post_init__(self) -> None:
        _check(self.values >= 2 and self.count >= 1 and 0 < self.lie <= 1 / self.values, self)

    @property
    def keep(self) -> float:
        """Probability of the true answer."""
        return 1 - (self.values - 1) * self.lie

    @property
    def epsilon(self) -> float:
        """ε of one answer, at δ = 0: ln(keep/lie)."""
        return max(0.0, log(self.keep / self.lie))


@dataclass(frozen=True)
class Failure:
    """With this probability anything may be revealed (a lone word that passes its threshold): part of δ."""

    probability: float
    relation: Relation = Relation.ADD_OR_REMOVE

    def __post_init__(self) -> None:
        _check(0 <= self.probability < 1, self)


def _check(possible: bool, event: object) -> None:
    """A NaN or negative scale must never become a low price."""
    if not possible:
        raise PrivacyError(f"impossible privacy event {event}: scales are positive, counts at least 1, rates up to 1.")


Event = Gaussian | SampledGaussian | Laplace | RandomizedResponse | Failure
_KINDS: dict[str, type[Event]] = {
    kind.__name__: kind for kind in (Gaussian, SampledGaussian, Laplace, RandomizedResponse, Failure)
}


class Noise(Choice):
    """Kinds of noise: Gaussian for the L2 norm, Laplace for the L1 norm."""

    GAUSSIAN = "gaussian"
    LAPLACE = "laplace"

    @property
    def norm(self) -> int:
        """The norm in which a contribution is bounded."""
        return 2 if self is Noise.GAUSSIAN else 1

    def event(self, scale: float, relation: Relation = Relation.ADD_OR_REMOVE, *, nonnegative: bool = False) -> Event:
        """One draw of ``scale`` times the sensitivity."""
        if self is Noise.LAPLACE:  # two non-negative vectors differ by up to twice their L1 norm: nothing is gained
            return Laplace(scale, relation=relation)
        return Gaussian(scale, relation=relation, nonnegative=nonnegative)


def relation_of(events: Sequence[Event]) -> Relation:
    """The relation of all events (add-or-remove if there are none); unknown events and mixed relations are refused."""
    for event in events:
        if not isinstance(event, Event):
            raise PrivacyError(f"unknown privacy event {type(event).__name__}: it has no price.")
    found = list(dict.fromkeys(event.relation for event in events))
    if len(found) > 1:
        raise PrivacyError(
            f"parts of one release must protect the same unit under the same relation, got {' and '.join(found)}. Use "
            "mechanisms of one relation (ReplaceOneVocabulary makes a vocabulary of 'replace')."
        )
    return found[0] if found else Relation.ADD_OR_REMOVE


def to_dict(event: Event) -> dict[str, Any]:
    """Plain data for JSON; ``nonnegative`` and ``adaptive`` are written only where true."""
    fields = {"kind": type(event).__name__, **asdict(event), "relation": str(event.relation)}
    return {name: value for name, value in fields.items() if name not in ("nonnegative", "adaptive") or value}


def from_dict(data: dict[str, Any], relation: Relation = Relation.ADD_OR_REMOVE) -> Event:
    """Inverse of :func:`to_dict`; ``relation`` is for events of version 0.1, which did not state theirs."""
    fields = {"relation": relation} | data
    fields["relation"] = Relation(fields["relation"])
    kind = _KINDS.get(fields.pop("kind", ""))
    if kind is None:
        raise PrivacyError(f"unknown privacy event {data.get('kind')!r}: update dptopics to read this guarantee.")
    return kind(**fields)


def to_replace_one(events: Sequence[Event]) -> tuple[Event, ...] | None:
    """The same draws under replace-one, or None where no price is known.

    A replacement is a removal and an addition, so sums move by at most twice as much: each multiplier is halved. Two
    contributions u, v ≥ 0 of L2 norm at most C differ by less: ‖u − v‖² = ‖u‖² + ‖v‖² − 2⟨u, v⟩ ≤ 2C². Lone words of
    either unit may be released: failures count twice. Proof: docs/guarantees/README.md, section 4.

    >>> to_replace_one([Gaussian(2.0)])
    (Gaussian(sigma=1.0, count=1, relation=<Relation.REPLACE: 'replace'>, nonnegative=False, adaptive=False),)
    """
    found: list[Event] = []
    for event in events:
        if event.relation is not Relation.ADD_OR_REMOVE:
            return None
        match event:
            case Gaussian(sigma, nonnegative=nonnegative):
                smaller = sigma / (sqrt(2) if nonnegative else 2)
                found.append(replace(event, sigma=smaller, relation=Relation.REPLACE))
            case Laplace(scale, count):
                found.append(Laplace(scale / 2, count, Relation.REPLACE))
            case Failure(probability):
                found += [Failure(probability, Relation.REPLACE)] * 2
            case _:  # no formula here prices replace-one with sampling
                return None
    return tuple(found)
