"""N-grams with a public prior, the sound twin of BayesianDP: noise for the worst data set, not for the one at hand."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from math import ceil, inf, sqrt
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.optimize import minimize

from dptopics.core import progress
from dptopics.core.errors import InputError
from dptopics.core.settings import check_fields
from dptopics.data.bounded import BoundedCorpus
from dptopics.data.public_inputs import PublicNgrams
from dptopics.mechanisms.mechanism import Calibrated
from dptopics.mechanisms.ngrams.counts import CountsAndUsers, OverNgrams, check_limits, check_list
from dptopics.mechanisms.queries import grid_for, noisy, private_query
from dptopics.privacy.events import Noise
from dptopics.privacy.guarantee import PUBLIC_WORDS, Guarantee, Unit
from dptopics.release.ngrams import NgramTable
from dptopics.release.release import Release

LARGEST_COUNT = 1e8  # of one n-gram that is thought possible
_LEVELS = 192  # possible values of log(c + 1) that are weighed against each other
_SAMPLE = 1200  # n-grams that the prior is fitted on
_ROWS = 4096  # n-grams handled at once
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """Posterior mean and standard deviation of each count."""

    count: Array
    noise_std: Array


def posterior(
    noisy: Array, *, transform: Callable[[Array], Array], kind: Noise, scale: float, public: Array
) -> Estimate:
    """Posterior mean of counts c, from ``noisy`` = transform(c) + noise of deviation (Laplace: magnitude) ``scale``.

    The prior says that log(c + 1) is normal around a + k·log(public + 1), deviation s. (a, k, s) are those under which
    the noisy numbers are most likely (empirical Bayes): they are computed from what is released anyway, so that they
    cost nothing. With a fixed weight for the prior instead, this is the posterior mean of Ramadan et al., corollary 1.
    """
    level = np.linspace(0.0, np.log1p(LARGEST_COUNT), _LEVELS)
    known = np.log1p(public)

    def evidence(rows: NDArray[np.int64], levels: Array) -> Array:
        """Likelihood of levels of log(c + 1), up to a constant per row."""
        distance = (noisy[rows, None] - transform(np.expm1(levels))) / scale
        value = -0.5 * distance * distance if kind is Noise.GAUSSIAN else -np.abs(distance)
        return np.asarray(np.exp(value - value.max(axis=1, keepdims=True)))

    order = np.argsort(known, kind="stable")
    sample = order[np.linspace(0, order.size - 1, min(order.size, _SAMPLE)).astype(np.int64)]
    base, power, spread = _fitted(evidence(sample, level[None, :]), known[sample], level)
    count, square = np.empty(noisy.size), np.empty(noisy.size)
    near, width = _inverse(noisy, transform, scale, level)
    fine = width < 2 * (level[1] - level[0])  # noise too small for the levels: look closer
    window = np.linspace(-5, 5, 41) if kind is Noise.GAUSSIAN else np.linspace(-12, 12, 97)
    for group in (np.flatnonzero(~fine), np.flatnonzero(fine)):
        for start in range(0, group.size, _ROWS):
            rows = group[start : start + _ROWS]
            levels = level[None, :]
            if fine[rows[0]]:
                levels = np.maximum(near[rows, None] + width[rows, None] * window, 0.0)
            weight = evidence(rows, levels) * _prior(levels, base + power * known[rows], spread)
            weight /= weight.sum(axis=1, keepdims=True)
            value = np.expm1(levels)
            count[rows] = (weight * value).sum(axis=1)
            square[rows] = (weight * (value - count[rows, None]) ** 2).sum(axis=1)
    return Estimate(count, np.sqrt(square))


def _inverse(noisy: Array, transform: Callable[[Array], Array], scale: float, level: Array) -> tuple[Array, Array]:
    """The level that each number would come from without noise, and what the noise is there, in levels.

    Infinite where the transform has no inverse: log counts with a centre fall before they rise.
    """
    expected = transform(np.expm1(level))
    if not np.all(np.diff(expected) > 0):
        return np.zeros(noisy.size), np.full(noisy.size, np.inf)
    near = np.interp(noisy, expected, level)
    for _ in range(3):  # Newton: from the nearest levels to the place itself
        rise = (transform(np.expm1(near + 1e-5)) - transform(np.expm1(np.maximum(near - 1e-5, 0)))) / 2e-5
        near = np.clip(near - (transform(np.expm1(near)) - noisy) / np.maximum(rise, 1e-300), 0.0, level[-1])
    return near, scale / np.maximum(rise, 1e-300)


def _prior(levels: Array, middle: Array, spread: float) -> Array:
    """Normal density of log(c + 1), for each n-gram; never quite zero, so that evidence can overrule it."""
    distance = (levels - middle[:, None]) / spread
    return np.asarray(np.exp(-0.5 * distance * distance) + 1e-9)


def _fitted(likelihood: Array, known: Array, level: Array) -> tuple[float, float, float]:
    """(a, k, s) of the largest marginal likelihood, from the best of a few starts; deterministic."""
    middle = float(known.mean())

    def settings(x: Array) -> tuple[float, float, float]:
        power, spread = float(np.clip(x[1], 0.0, 3.0)), float(np.exp(np.clip(x[2], -2.0, 2.0)))
        return float(x[0]) - power * middle, power, spread

    def loss(x: Array) -> float:
        base, power, spread = settings(x)
        weight = _prior(level[None, :], base + power * known, spread)
        chance = (likelihood * weight).sum(axis=1) / weight.sum(axis=1)
        # Where the noise drowns everything, any setting will do: then public counts are taken as they are.
        usual = ((power - 1) / 0.2) ** 2 + float(np.log(spread)) ** 2
        return usual / 2 - float(np.log(np.maximum(chance, 1e-300)).sum())

    starts = [np.array([share * level[-1], 1.0, 0.0]) for share in (0.05, 0.15, 0.3, 0.45, 0.6, 0.75)]
    best = minimize(
        loss, min(starts, key=loss), method="Nelder-Mead", options={"maxfev": 100, "xatol": 0.01, "fatol": 0.1}
    )
    return settings(best.x)


MOST_AUTHORS = 1_000_000  # until the weight is full: keeps the search short and rounding far below the grid


def weighted_log(
    users: NDArray[np.float64], count: NDArray[np.float64], *, max_count: int, slope: float, centre: float
) -> NDArray[np.float64]:
    """f = w(N)·(log(c + 1) − m₀), w(N) = min(1, S·N/C): one number for each n-gram, 0 where nobody has it.

    >>> weighted_log(np.array([1.0, 5.0]), np.array([1.0, 7.0]), max_count=1, slope=0.1, centre=2.0).round(4)
    array([-0.1307,  0.0397])
    """
    weight = np.minimum(1.0, users * (slope / max_count))
    return np.asarray(weight * (np.log1p(count) - centre))


@lru_cache(maxsize=256)
def largest_step(max_count: int, slope: float, centre: float) -> float:
    """b: the most that f changes when one author joins, over all data sets (docs/guarantees/ngram_bayes.md, lemma 1).

    The author raises N by one and c by δ, 1 ≤ δ ≤ C. For given N the change is monotone in δ, and as a function of c
    it falls, then rises: its extremes lie at the ends of N ≤ c ≤ CN or beside its turning point. Beyond N = C/S the
    weight is full and the change only gets smaller.

    >>> round(largest_step(1, 0.1, 0.0), 6), round(largest_step(10, 10.0, 5.0), 6)
    (0.325569, 4.306853)
    """
    full = max_count / slope
    if not 0 < full <= MOST_AUTHORS:
        raise InputError(
            f"max_count / slope must lie above 0 and be at most {MOST_AUTHORS:,}, got {full:.3g}: so many authors give "
            "an n-gram its full weight."
        )
    users = np.arange(0, ceil(full) + 1, dtype=np.float64)
    before = np.minimum(1.0, users * (slope / max_count))
    after = np.minimum(1.0, (users + 1) * (slope / max_count))
    largest = 0.0
    for delta in {1, max_count}:
        with np.errstate(divide="ignore", invalid="ignore"):
            turn = before * delta / (after - before) - 1
        turn = np.where(np.isfinite(turn), turn, 0.0)
        for count in (users, max_count * users, np.floor(turn), np.ceil(turn)):
            count = np.clip(count, users, max_count * users)
            change = after * (np.log1p(count + delta) - centre) - before * (np.log1p(count) - centre)
            largest = max(largest, float(np.abs(change).max()))
    return largest


_FINEST = 2.0**-40  # far above the rounding errors of f


@dataclass(frozen=True, kw_only=True)
class BayesNgrams(OverNgrams, Calibrated):
    """Release how probable each n-gram of a public list is, from noisy counts and public ones.

    Each unit gives at most ``max_words`` (W) n-grams of the list and counts up to ``max_count`` (C). With a ``slope``,
    f = w(N)·(log(c + 1) − centre), w(N) = min(1, slope·N/C), for an n-gram with N units and c occurrences, as in
    Ramadan, Withers & Orr, corollary 1, whose noise follows the data at hand. Without one, f = c: where the noise must
    hold in every data set, the logarithm only costs. One unit moves one coordinate by at most b in *every* data set,
    hence f by √W·b (L2) or W·b (L1); noise of ``scale`` times that goes on every coordinate. Probabilities are the
    posterior mean under public counts (``prior``). Proof: docs/guarantees/ngram_bayes.md

    >>> mechanism = BayesNgrams.calibrated(epsilon=1.0, delta=1e-6)
    >>> round(mechanism.guarantee.epsilon, 6)
    1.0
    """

    scale: float
    delta: float
    unit: Unit = Unit.AUTHOR
    max_words: int = 50
    max_count: int = 1
    slope: float | None = None
    centre: float = 0.0
    noise: Noise = Noise.GAUSSIAN
    prior: PublicNgrams | None = field(default=None, repr=False)
    noise_parameter: ClassVar[str] = "scale"
    name: ClassVar[str] = "bayes"
    paper: ClassVar[str] = "after Ramadan et al. 2021"
    noises: ClassVar[tuple[Noise, ...]] = tuple(Noise)

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "noise", Noise(self.noise))
        check_limits(self.max_words, self.max_count)
        if not ((self.slope is None or 0 < self.slope < inf) and abs(self.centre) <= 100):
            raise InputError(
                f"slope must be positive and centre between -100 and 100, got {self.slope} and {self.centre}."
            )
        _ = self.step  # refuse impossible settings now

    @property
    def guarantee(self) -> Guarantee:
        return self.promise(self.noise.event(self.scale), assumptions=(PUBLIC_WORDS,))

    @property
    def step(self) -> float:
        """b: the most that one unit moves one coordinate."""
        if self.slope is None:
            return float(self.max_count)
        return largest_step(self.max_count, self.slope, self.centre)

    @property
    def grid(self) -> float:
        """Step of the integers that f is rounded to."""
        return max(grid_for(self._together(self.step), self.scale), _FINEST)

    @property
    def bound(self) -> float:
        """Sensitivity of the rounded f: a coordinate moves by at most b and two grid steps of rounding."""
        return self._together(self.step + 2 * self.grid)

    def _together(self, one: float) -> float:
        """W coordinates that move by ``one`` each, in the noise's norm."""
        return one * (sqrt(self.max_words) if self.noise is Noise.GAUSSIAN else self.max_words)

    def check(self, corpus: BoundedCorpus) -> None:
        """The list must be public, and the public counts must know some of it."""
        check_list(self, corpus, self.prior)

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[NgramTable]:
        """Count, transform, add noise, and weigh the result against public counts."""
        vocabulary = check_list(self, corpus, self.prior)
        with progress.part(0.0, 0.9):
            seen = private_query(lambda: self._noisy(corpus, rng))
        public = np.zeros(seen.size) if self.prior is None else self.prior.counts_of(vocabulary)
        estimate = self._estimate(seen, public)
        total = float(estimate.count.sum())
        progress.report(1.0)
        table = NgramTable(
            vocabulary=vocabulary,
            probability=estimate.count / total,
            total=total,
            noise_std=estimate.noise_std / total,
            text=corpus.text,
        )
        return Release.of(table, self, rng)

    def _noisy(self, corpus: BoundedCorpus, rng: Generator) -> NDArray[np.float64]:
        """f with its noise."""
        sensitivity = self.bound / self.grid
        steps = noisy(self._steps(corpus), kind=self.noise, sensitivity=sensitivity, multiplier=self.scale, rng=rng)
        return np.asarray(steps * self.grid, np.float64)

    def _steps(self, corpus: BoundedCorpus) -> NDArray[np.int64]:
        """f on the grid: the only place where the corpus is looked at. Counts are exact, and noise must follow."""
        corpus = corpus.limited(max_words=self.max_words)
        statistic = CountsAndUsers(len(corpus.words), self.max_count)
        # A bound that no unit within its limits reaches: nothing is scaled, the sums are whole numbers.
        most = float(self.max_words * (self.max_count + 1))
        count, users = corpus.bounded_sum(statistic, bound=most, grid=1.0, norm=1).T.astype(np.float64)
        return np.rint(self._signal(users, count) / self.grid).astype(np.int64)

    def _estimate(self, noisy: NDArray[np.float64], public: NDArray[np.float64]) -> Estimate:
        """Counts from noisy f: post-processing."""
        return posterior(
            noisy,
            transform=lambda count: self._signal(count, count),  # most authors who have an n-gram have it once
            kind=self.noise,
            scale=self.scale * self.bound,
            public=public,
        )

    def _signal(self, users: NDArray[np.float64], count: NDArray[np.float64]) -> NDArray[np.float64]:
        """f, from the number of units and of occurrences of each n-gram."""
        if self.slope is None:
            return count
        return weighted_log(users, count, max_count=self.max_count, slope=self.slope, centre=self.centre)
