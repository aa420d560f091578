"""What draws of noise that were made for one unit more or less are for one unit in place of another."""

from collections.abc import Sequence
from math import sqrt

from dptopics.privacy.events import Event, Failure, Gaussian, Laplace
from dptopics.privacy.relation import Relation


def exchanged(events: Sequence[Event]) -> tuple[Event, ...] | None:
    """The same draws under replace-one, or None where no price is known.

    An exchange is a removal and an addition, so that sums move by at most twice as much: each multiplier is halved. Two
    contributions u, v ≥ 0 of L2 norm at most C differ by less: ‖u − v‖² = ‖u‖² + ‖v‖² − 2⟨u, v⟩ ≤ 2C². Words of either
    unit alone may fail to stay hidden: failures count twice. Proof: docs/guarantees/README.md, section 4.

    >>> exchanged([Gaussian(2.0)])
    (Gaussian(sigma=1.0, count=1, relation=<Relation.REPLACE: 'replace'>, nonnegative=False),)
    """
    found: list[Event] = []
    for event in events:
        if event.relation is not Relation.ADD_OR_REMOVE:
            return None
        match event:
            case Gaussian(sigma, count, nonnegative=nonnegative):
                found.append(Gaussian(sigma / (sqrt(2) if nonnegative else 2), count, Relation.REPLACE, nonnegative))
            case Laplace(scale, count):
                found.append(Laplace(scale / 2, count, Relation.REPLACE))
            case Failure(probability):
                found += [Failure(probability, Relation.REPLACE)] * 2
            case _:  # what a sample does to an exchange is priced by no formula here
                return None
    return tuple(found)
