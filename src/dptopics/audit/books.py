"""Whether the noise that a run states is the noise that its guarantee prices."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isclose

import numpy as np
from scipy.optimize import linear_sum_assignment

from dptopics.privacy.events import Event, Gaussian, Laplace, Noise, SampledGaussian
from dptopics.privacy.guarantee import Guarantee
from dptopics.privacy.looks import Look
from dptopics.privacy.relation import Relation

_SLACK = 1e-3  # by which a price may exceed the noise drawn: ℓ2-descent pays for rounding
_NEVER = 1e6


@dataclass(frozen=True)
class Books:
    """How far one neighbour may move each look according to the guarantee; and what does not add up, in words."""

    allowed: tuple[float, ...]
    problem: str = ""
    priced: int = 0  # draws that the guarantee prices

    @property
    def in_sight(self) -> bool:
        """Whether every draw that is priced was seen as a look."""
        return not self.problem and len(self.allowed) == self.priced > 0


def stated(events: Sequence[Event]) -> list[tuple[Noise, float]]:
    """(kind of noise, multiplier) of every draw that the events price."""
    found = []
    for event in events:
        match event:
            case Gaussian(sigma, count) | SampledGaussian(sigma, _, count):
                found += [(Noise.GAUSSIAN, sigma)] * count
            case Laplace(scale, count):
                found += [(Noise.LAPLACE, scale)] * count
            case _:
                pass
    return found


def compare(guarantee: Guarantee, looks: Sequence[Look]) -> Books:
    """Match looks with priced draws, each at no more noise than was stated for its sensitivity.

    Under replace-one the noise may be up to twice what one unit more or less needs.
    """
    priced = stated(guarantee.events)
    if not looks:
        return Books((), priced=len(priced))
    widest = 2.0 if guarantee.relation is Relation.REPLACE else 1.0
    cost = np.full((len(looks), max(len(priced), len(looks))), _NEVER)
    for row, look in enumerate(looks):
        for column, (kind, multiplier) in enumerate(priced):
            over = look.scale / look.sensitivity / multiplier
            if kind is look.kind and 1 - 1e-9 <= over <= widest * (1 + _SLACK):
                cost[row, column] = min(abs(over - 1), abs(over - widest))
    rows, columns = linear_sum_assignment(cost)
    if cost[rows, columns].max() >= _NEVER:
        return Books(
            tuple(look.sensitivity for look in looks),
            f"{len(looks)} looks at the data are not the {len(priced)} draws of noise that are priced",
            len(priced),
        )
    allowed = []
    for look, column in zip(looks, columns, strict=True):
        over = look.scale / look.sensitivity / priced[column][1]
        allowed.append(look.sensitivity * (1.0 if isclose(over, 1, rel_tol=1e-9) else over))
    return Books(tuple(allowed), priced=len(priced))
