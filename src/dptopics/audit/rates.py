"""How many members an attack finds, how sure that is, and what too few outsiders cannot say. NOT FOR RELEASE."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log10
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainccinv, betaincinv
from scipy.stats import binom, norm, t

from dptopics.errors import InputError

LEVEL = 0.95  # of all the intervals of one table together
_SMALLEST = 0.001  # false positive rate that is asked for first
_FEWEST = 20  # documents or authors: half of them outsiders, which is one for a false positive rate of 10 %


@dataclass(frozen=True, eq=False)
class Attack:
    """Scores of documents (or authors), higher for "was in the data", and the truth.

    ``unit`` and ``target`` number the document (or author) and the attacked model of each score; without them every
    score counts as independent of the others.
    """

    name: str
    score: NDArray[np.float64]
    member: NDArray[np.bool_]
    unit: NDArray[np.int64] | None = None
    target: NDArray[np.int64] | None = None

    @cached_property
    def n_outsiders(self) -> int:
        """Different documents (or authors) that some attacked model did not have."""
        outside = ~self.member
        return int(outside.sum() if self.unit is None else np.count_nonzero(np.bincount(self.unit[outside])))

    def true_positive_rate(self, false_positive_rate: float) -> float:
        """Share of members found when at most so small a share of non-members is accused."""
        return float(self.roc(np.array([false_positive_rate]))[0])

    def roc(self, false_positive_rates: NDArray[np.float64]) -> NDArray[np.float64]:
        """True positive rate at each false positive rate."""
        # A rate of 0.01 of 300 is 3: the product in floating point may lie just below.
        allowed = np.floor(false_positive_rates * self._outside.size * (1 + 1e-12)).astype(int)
        threshold = self._outside[np.minimum(allowed, self._outside.size - 1)]
        return np.asarray(1 - np.searchsorted(self._inside, threshold, side="right") / self._inside.size)

    @cached_property
    def _outside(self) -> NDArray[np.float64]:
        """Scores of the others, falling."""
        return np.asarray(np.sort(self.score[~self.member])[::-1])

    @cached_property
    def _inside(self) -> NDArray[np.float64]:
        """Scores of the members, rising."""
        return np.sort(self.score[self.member])

    def area(self) -> float:
        """Area under the ROC curve: the chance that a member scores above a non-member."""
        return self._area

    @cached_property
    def _area(self) -> float:
        rising = self._outside[::-1]
        below = np.searchsorted(rising, self._inside, side="left") + np.searchsorted(rising, self._inside, side="right")
        return float(np.mean(below) / 2 / rising.size)  # a tie counts one half

    def interval(self, false_positive_rate: float, *, level: float = LEVEL) -> tuple[float, float]:
        """Confidence interval of the true positive rate at a false positive rate, over documents and models.

        The threshold that truly accuses such a share of outsiders lies between two order statistics of theirs; the
        share of members above each of the two is bounded by Clopper and Pearson. Each of the four limits fails with a
        quarter of the error. Too few outsiders to bound the threshold from above give a lower limit of 0. Scores of
        one document under several models, and of one model, hang together: they count as as many independent ones as
        their variance says (Korn and Graubard 1998), by clusters both ways (Cameron, Gelbach and Miller 2011).
        """
        if not 0 < false_positive_rate < 1 or not 0 < level < 1:
            raise InputError(f"rates and levels must lie between 0 and 1, got {false_positive_rate} and {level}.")
        asked = (false_positive_rate, level)
        if asked not in self._intervals:
            self._intervals[asked] = self._interval(false_positive_rate, level)
        return self._intervals[asked]

    @cached_property
    def _intervals(self) -> dict[tuple[float, float], tuple[float, float]]:
        """Those that were asked for already."""
        return {}

    def _interval(self, false_positive_rate: float, level: float) -> tuple[float, float]:
        outside, inside = self._outside, self._inside
        allowed = min(int(false_positive_rate * outside.size * (1 + 1e-12)), outside.size - 1)
        error = (1 - level) / 4
        size = self._effective(~self.member, outside[allowed])
        few = int(binom.ppf(error, size, false_positive_rate)) - 1  # fewer are above the true threshold: error at most
        many = int(binom.isf(error, size, false_positive_rate)) + 1
        scale = outside.size / size
        above = outside[int(few * scale)] if few >= 0 else np.inf
        below = outside[min(int(np.ceil(many * scale)), outside.size) - 1] if many < size else -np.inf
        size = self._effective(self.member, outside[allowed])
        low = 1 - float(np.searchsorted(inside, above, side="right")) / inside.size
        high = 1 - float(np.searchsorted(inside, below, side="left")) / inside.size
        return share_at_least(low, size, error), share_at_most(high, size, error)

    def _effective(self, chosen: NDArray[np.bool_], threshold: float) -> int:
        """As many independent scores would estimate the share above the threshold as well."""
        hit = (self.score[chosen] > threshold).astype(float)
        if self.unit is None:
            return int(hit.size)
        unit = self.unit[chosen]
        if hit.min() == hit.max():
            return int(np.count_nonzero(np.bincount(unit)))
        share, n = hit.mean(), hit.size
        by_unit = _clustered(hit - share, unit)
        # A model and its complement share the split: they are one.
        by_model = 0.0 if self.target is None else _clustered(hit - share, self.target[chosen] // 2)
        variance = max(by_unit, by_model, by_unit + by_model - share * (1 - share) / n)
        return int(np.clip(share * (1 - share) / variance, 1, n))

    def to_dict(self, rates: Sequence[float] = (0.001, 0.01), level: float = LEVEL) -> dict[str, Any]:
        """Rates for a report, each with its interval; None where there are too few outsiders for the rate."""
        supported = smallest_rate(self.n_outsiders)
        old = {f"tpr_at_{name}_fpr": rate for name, rate in (("0.1%", 0.001), ("1%", 0.01))}
        shown = {key: rate if rate >= supported else None for key, rate in old.items()}
        return {
            "not_for_release": True,
            "attack": self.name,
            "auc": self.area(),
            "outsiders": self.n_outsiders,
            "level": level,
            "rates": [self.at(rate, level) for rate in rates if rate >= supported],
            **{key: None if rate is None else self.true_positive_rate(rate) for key, rate in shown.items()},
            **{f"{key}_interval": None if r is None else self.interval(r, level=level) for key, r in shown.items()},
        }

    def at(self, rate: float, level: float = LEVEL) -> dict[str, Any]:
        """The share of members found at a false positive rate, with its interval."""
        low, high = self.interval(rate, level=level)
        found = self.true_positive_rate(rate)
        return {"false_positive_rate": rate, "true_positive_rate": found, "interval": [low, high], "level": level}


def _clustered(residual: NDArray[np.float64], cluster: NDArray[np.int64]) -> float:
    """Variance of a mean over clusters; wider for few clusters, and 0 where there is only one to look at."""
    total, n = np.bincount(cluster, weights=residual), int(np.count_nonzero(np.bincount(cluster)))
    if n < 2:
        return 0.0
    few = (t.isf(0.025, n - 1) / norm.isf(0.025)) ** 2
    return float(np.sum(total**2) / residual.size**2 * n / (n - 1) * few)


def share_at_least(share: float, size: int, error: float) -> float:
    """Lower confidence limit of a probability (Clopper and Pearson, one-sided); the size may be an effective one."""
    hits = share * size
    return 0.0 if hits <= 0 else float(betaincinv(hits, size - hits + 1, error))


def share_at_most(share: float, size: int, error: float) -> float:
    """Upper confidence limit of a probability (Clopper and Pearson, one-sided); the size may be an effective one."""
    hits = share * size
    return 1.0 if hits >= size else float(betainccinv(hits + 1, size - hits, error))


def binomial_interval(hits: int, runs: int, *, level: float = LEVEL) -> tuple[float, float]:
    """Exact interval of a probability (Clopper and Pearson 1934).

    >>> tuple(round(limit, 3) for limit in binomial_interval(0, 100))
    (0.0, 0.036)
    """
    error = (1 - level) / 2
    return share_at_least(hits / runs, runs, error), share_at_most(hits / runs, runs, error)


def check_enough(n_units: int, unit: str) -> None:
    """Refuse an attack whose rates could not be told from chance."""
    if n_units < _FEWEST:
        raise InputError(
            f"{n_units} {unit}s are too few for any statement: half of them are outsiders, and a false positive rate "
            f"of 10 % needs ten. Give at least {_FEWEST} {unit}s."
        )


def smallest_rate(n_outsiders: int) -> float:
    """The smallest of 0.1 %, 0.2 %, 0.5 %, 1 % … that so many outsiders can show: one of them is accused.

    >>> [smallest_rate(n) for n in (5000, 999, 60, 3)]
    [0.001, 0.002, 0.02, 0.5]
    """
    wanted = max(_SMALLEST, 1 / max(n_outsiders, 1))
    power = 10.0 ** np.floor(log10(wanted) + 1e-9)
    return min(1.0, float(next(round(m * power, 6) for m in (1, 2, 5, 10) if m * power >= wanted * (1 - 1e-9))))


def shown_rates(n_outsiders: int) -> tuple[float, ...]:
    """The false positive rates of a table: the smallest that is supported, and a larger one."""
    first = smallest_rate(n_outsiders)
    second = next((rate for rate in (0.01, 0.1) if rate > first), None)
    return (first,) if second is None else (first, second)


def corrected(n_attacks: int, level: float = LEVEL) -> float:
    """Level of each interval so that all of them hold together: the best of many attacks is chosen by looking."""
    return 1 - (1 - level) / max(1, n_attacks)
