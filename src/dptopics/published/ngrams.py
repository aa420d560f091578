"""What the published n-gram methods share: exact totals, and the sensitivity of the data at hand by brute force."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf, isclose
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics.core import progress
from dptopics.core.errors import InputError
from dptopics.core.settings import check_fields
from dptopics.data.bounded import Block, BoundedCorpus
from dptopics.data.public_inputs import PublicNgrams
from dptopics.kernels.counts import unit_counts
from dptopics.kernels.local_sensitivity import largest_dot, largest_share, largest_weighted_log
from dptopics.mechanisms.mechanism import Calibrated
from dptopics.mechanisms.ngrams.counts import OverNgrams, check_limits, check_list, positive_shares
from dptopics.mechanisms.queries import grid_for
from dptopics.privacy import noise
from dptopics.privacy.events import Event, Failure, Gaussian, Laplace
from dptopics.privacy.guarantee import PUBLIC_WORDS, Guarantee, Strength, Unit, check_budget
from dptopics.privacy.pricing import gaussian_delta, smallest
from dptopics.release.ngrams import NgramTable
from dptopics.release.release import Release

Array = NDArray[np.float64]
Rows = tuple[NDArray[np.int64], NDArray[np.int32], Array]  # start, n-grams, limited counts of each unit
Chosen = Callable[[int, int], NDArray[np.bool_]]  # which of the units first … first + n − 1


@dataclass(frozen=True, kw_only=True)
class PublishedNgrams(OverNgrams):
    """Fields of every published method. Page: docs/guarantees/ngram_published.md"""

    delta: float
    unit: Unit = Unit.AUTHOR
    prior: PublicNgrams | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_fields(self)

    def check(self, corpus: BoundedCorpus) -> None:
        """The list must be public, and the public counts must know some of it."""
        mine: Any = self
        check_list(mine, corpus, self.prior)

    def refuted(self, *events: Event, why: tuple[str, ...]) -> Guarantee:
        return self.promise(*events, strength=Strength.NONE, assumptions=(*why, PUBLIC_WORDS))


@dataclass(frozen=True, kw_only=True)
class LimitedAsPublished(PublishedNgrams):
    """Those whose authors give at most ``max_words`` n-grams: a thousandth of the number of units, if not said."""

    max_words: int | None = None
    max_count: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_limits(self.max_words, self.max_count)

    def limited(self, corpus: BoundedCorpus) -> BoundedCorpus:
        """At most |U|/1000 n-grams per unit, if no other limit is given: computed from the private |U|."""
        max_words = self.max_words
        if max_words is None:
            n_units = corpus.fold(lambda n, block: n + block.unit_start.size - 1, 0)
            max_words = max(1, n_units // 1000)
        return corpus.limited(max_words=max_words)

    def counted(self, corpus: BoundedCorpus) -> "tuple[Units, Tally]":
        """The limited units, and their exact totals."""
        with progress.part(0.0, 0.3):
            units = Units(self.limited(corpus), self.max_count)
        with progress.part(0.3, 0.6):
            return units, units.tally()


@dataclass(frozen=True, eq=False)
class Tally:
    """Exact totals over units: occurrences c and units N of each n-gram. As sensitive as the texts."""

    count: Array
    users: Array
    n_units: int


@dataclass(frozen=True, eq=False)
class Units:
    """The units of a corpus one block after another, or those that ``chosen`` picks by their place in its order."""

    corpus: BoundedCorpus
    max_count: int
    chosen: Chosen | None = None
    rows: tuple[Rows, ...] | None = None  # see kept

    def kept(self) -> "Units":
        """The same with its rows in memory, for many passes: to count a unit's words takes longer than to use them."""
        found: list[Rows] = []
        self.fold(lambda rows, _: found.append(rows))
        return replace(self, rows=tuple(found))

    def fold(self, step: Callable[[Rows, int], None]) -> None:
        """Hand the rows of each block, and its number of units, to ``step``."""
        if self.rows is not None:
            for rows in self.rows:
                step(rows, rows[0].size - 1)
            return
        n_words = len(self.corpus.words)

        def one(first: int, block: Block) -> int:
            start, rows, values = unit_counts(*block[:4], n_words, self.max_count)
            counts, n = np.ascontiguousarray(values[:, 0]), start.size - 1
            if self.chosen is not None:
                picked = self.chosen(first, n)
                keep = np.repeat(picked, np.diff(start))
                start = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.diff(start)[picked])])
                rows, counts = rows[keep], counts[keep]
            step((start, rows, counts), start.size - 1)
            return first + n

        self.corpus.fold(one, 0)

    def tally(self) -> Tally:
        size = len(self.corpus.words)
        count, users, n_units = np.zeros(size), np.zeros(size), [0]

        def add(rows: Rows, n: int) -> None:
            count[:] += np.bincount(rows[1], weights=rows[2], minlength=size)
            users[:] += np.bincount(rows[1], minlength=size)
            n_units[0] += n

        self.fold(add)
        return Tally(count, users, n_units[0])

    def largest(self, of_block: Callable[[Rows], float]) -> float:
        """The largest value over all blocks."""
        found = [0.0]
        self.fold(lambda rows, _: found.append(of_block(rows)))
        return max(found)

    def log_sensitivity(self, tally: Tally, slope: float, *, printed: bool = False) -> float:
        """‖w⊙x̂ − w₋⊙x̂₋‖₂ of the unit that moves it most (corollary 1), or what algorithm 1 prints for it."""
        step = slope / self.max_count
        return self.largest(lambda rows: largest_weighted_log(*rows, tally.count, tally.users, step, printed))

    def share_sensitivity(self, tally: Tally) -> float:
        """‖c/‖c‖₁ − c₋/‖c₋‖₁‖₁ of the unit that moves it most."""
        return self.largest(lambda rows: largest_share(*rows, tally.count))

    def dot_sensitivity(self, value: Array) -> float:
        """Σ Δc·value of the unit for which it is largest."""
        return self.largest(lambda rows: largest_dot(*rows, value))


def centred_log(count: Array) -> Array:
    """log(c + 1) less its mean over the list: equations 1 and 2 of Ramadan et al."""
    logs = np.log1p(count)
    return np.asarray(logs - logs.mean())


def claim_1(tally: Tally, *, slope: float, max_count: int) -> float:
    """The bound of claim 1, as printed: ‖w ⊙ L·C + (S/C)·|x̂| ⊙ 1(N ≤ C/S)‖₂ over the whole list.

    An n-gram that nobody has is counted with N = 1: the paper's L divides by N.
    """
    size = tally.count.size
    weight = np.minimum(1.0, tally.users * slope / max_count)
    inverse = 1.0 / np.maximum(tally.users, 1.0)
    slopes = (1 - 1 / size) * inverse + (inverse.sum() - inverse) / size
    rare = tally.users <= max_count / slope
    moved = weight * slopes * max_count + slope / max_count * np.abs(centred_log(tally.count)) * rare
    return float(np.linalg.norm(moved))


def softmax(x: Array) -> Array:
    """exp(x), normalised."""
    raised = np.exp(x - x.max())
    return np.asarray(raised / raised.sum())


WHY_NONE = (
    "The claim is refuted: the noise is scaled to the sensitivity of the data at hand, and its scale shows in the "
    "release. One author unlike the others multiplies it, and is given away (docs/guarantees/ngram_published.md).",
    "Where the limit of n-grams per author follows the number of authors, as published, that number leaks too.",
)
SENSITIVITIES = ("brute-force", "claim-1", "algorithm-1")


@dataclass(frozen=True, kw_only=True)
class BayesLocalNgrams(LimitedAsPublished, Calibrated):
    """A reproduction that hides nobody: posterior of log counts under public counts, noise by local sensitivity.

    h = ρ·w⊙x̂ + (1 − ρ)·μ_p + noise, x̂ and μ_p the centred log counts of private and public data, w = min(1, S·N/C);
    θ = softmax(h). The noise is ``sigma`` times ρ times the largest change that removing any present unit makes
    (``brute-force``), or claim 1's estimate of it; ``algorithm-1`` follows two lines of the printed algorithm, which
    adds (S/C)·1(Δc > 0)⊙x̂₋ where that change is computed, and leaves w out of h. ``max_words`` None: a thousandth of
    the number of units, as published. Why it is wrong: docs/guarantees/ngram_published.md

    >>> str(BayesLocalNgrams.calibrated(epsilon=0.5, delta=1e-6).guarantee.strength)
    'none'
    """

    sigma: float
    slope: float = 0.01
    weight: float = 0.5
    sensitivity: str = "brute-force"
    name: ClassVar[str] = "bayes-published"
    paper: ClassVar[str] = "Ramadan et al. 2021"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (0 < self.slope < inf and 0 < self.weight <= 1):
            raise InputError(f"slope must be positive and weight in (0, 1], got {self.slope} and {self.weight}.")
        if self.sensitivity not in SENSITIVITIES:
            raise InputError(f"sensitivity must be one of {', '.join(SENSITIVITIES)}, got {self.sensitivity!r}.")

    @property
    def guarantee(self) -> Guarantee:
        return self.refuted(Gaussian(self.sigma), why=WHY_NONE)

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[NgramTable]:
        """Count, measure the sensitivity, add noise, normalise."""
        vocabulary = check_list(self, corpus, self.prior)
        units, tally = self.counted(corpus)
        with progress.part(0.6, 1.0):
            if self.sensitivity == "claim-1":
                moved = claim_1(tally, slope=self.slope, max_count=self.max_count)
            else:
                moved = units.log_sensitivity(tally, self.slope, printed=self.sensitivity == "algorithm-1")
        public = np.zeros(len(vocabulary)) if self.prior is None else self.prior.counts_of(vocabulary)
        slope = None if self.sensitivity == "algorithm-1" else self.slope
        mean = posterior_mean(tally, public, slope=slope, weight=self.weight, max_count=self.max_count)
        theta = noisy_softmax(mean, self.weight * moved, self.sigma, rng)
        progress.report(1.0)
        table = NgramTable(vocabulary=vocabulary, probability=theta, text=corpus.text)
        return Release.of(table, self, rng)


def posterior_mean(tally: Tally, public: Any, *, slope: float | None, weight: float, max_count: int) -> Any:
    """μ_ps = ρ·w⊙x̂ + (1 − ρ)·μ_p (corollary 1); without w, as algorithm 1 prints it, if ``slope`` is None."""
    w = 1.0 if slope is None else np.minimum(1.0, tally.users * slope / max_count)
    return weight * w * centred_log(tally.count) + (1 - weight) * centred_log(public)


def noisy_softmax(mean: Any, sensitivity: float, sigma: float, rng: Generator) -> Any:
    """softmax(mean + noise), noise of standard deviation sigma · sensitivity on a grid."""
    grid = grid_for(max(sensitivity, 2.0**-30), sigma)
    drawn = noise.gaussian(rng, sigma * max(sensitivity, 2.0**-30) / grid, mean.size)
    return softmax((np.rint(mean / grid) + drawn) * grid)


_TUNING_HOLE = (
    "The noise on the scores that choose S and ρ rests on claim 2, whose gradient is wrong (true: ρ(‖c‖₁θ − c)): a "
    "unit can move a score further than that noise is made for."
)
_HELD_OUT = 0.1
SLOPES = tuple(float(s) for s in np.logspace(-3, 4, 8))
WEIGHTS = (0.1, 0.3, 0.5, 0.7, 0.9)
TUNINGS = ("claim-2", "appendix-d")


@dataclass(frozen=True, kw_only=True)
class EndToEndNgrams(LimitedAsPublished):
    """A reproduction that hides nobody: BayesianDP that also chooses its own settings, on authors set aside.

    A tenth of the units, by fair coins, score every pair (S, ρ) by cross-entropy plus Laplace noise of ``tuning_scale``
    times claim 2's sensitivity; the best pair is used on the rest, with noise ``sigma`` times the local sensitivity.
    ``tuning``: claim 2 multiplies ρ‖c‖₂ by ‖Δμ_ps‖₂. That is ρ‖Δr‖₂ by its definition (``claim-2``), and ‖Δr‖₂ as its
    proof prints it (``appendix-d``), 1/ρ times as much. Why both are wrong: docs/guarantees/ngram_published.md

    >>> mechanism = EndToEndNgrams.calibrated(epsilon=0.9, delta=1e-6)
    >>> round(1 / mechanism.tuning_scale, 2), round(mechanism.guarantee.epsilon, 2) <= 0.9
    (0.3, True)
    """

    sigma: float
    tuning_scale: float
    tuning: str = "claim-2"
    name: ClassVar[str] = "end-to-end"
    paper: ClassVar[str] = "Ramadan et al. 2021"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tuning not in TUNINGS:
            raise InputError(f"tuning must be one of {', '.join(TUNINGS)}, got {self.tuning!r}.")

    @classmethod
    def template(
        cls,
        *,
        delta: float,
        unit: Unit = Unit.AUTHOR,
        epsilon: float = 1.0,
        shares: tuple[float, float] = (2 / 3, 1 / 3),
        **more: Any,
    ) -> Self:
        """Noise for ε, the first share of it for the n-grams, the second for tuning, as published."""
        if len(shares) != 2 or min(shares) <= 0 or not isclose(sum(shares), 1.0, rel_tol=1e-9):
            raise InputError(
                f"the shares of ε for n-grams and tuning must be positive and add up to 1, got {shares}: "
                f"the sum is {sum(shares):g}."
            )
        sigma = smallest(lambda s: gaussian_delta(epsilon * shares[0], 1 / s) <= delta)
        return cls(sigma=sigma, tuning_scale=1 / (epsilon * shares[1]), delta=delta, unit=unit, **more)

    @classmethod
    def calibrated(cls, *, epsilon: float, delta: float, **settings: Any) -> Self:
        """The noise that the paper takes for (ε, δ); ``settings`` as for :meth:`template`."""
        check_budget(epsilon, delta)
        return cls.template(delta=delta, epsilon=epsilon, **settings)

    @classmethod
    def accepts(cls) -> frozenset[str]:
        """Settings of a plan: shares of ε instead of two scales."""
        return (super().accepts() | {"shares"}) - {"sigma", "tuning_scale"}

    def rescaled(self, factor: float) -> Self:
        return replace(self, sigma=self.sigma * factor, tuning_scale=self.tuning_scale * factor)

    @property
    def guarantee(self) -> Guarantee:
        """What the paper claims (the two parts add up), and that it does not hold."""
        return self.refuted(Gaussian(self.sigma), Laplace(self.tuning_scale), why=(*WHY_NONE, _TUNING_HOLE))

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[NgramTable]:
        """Split, score every pair of settings, take the best, release."""
        vocabulary = check_list(self, corpus, self.prior)
        corpus = self.limited(corpus)
        n_units = corpus.fold(lambda n, block: n + block.unit_start.size - 1, 0)
        held = rng.integers(0, 2**32, n_units, dtype=np.uint64) < np.uint64(_HELD_OUT * 2**32)
        tuning = Units(corpus, self.max_count, lambda first, n: held[first : first + n]).kept()
        training = Units(corpus, self.max_count, lambda first, n: ~held[first : first + n]).kept()
        validation, tally = tuning.tally(), training.tally()
        public = np.zeros(len(vocabulary)) if self.prior is None else self.prior.counts_of(vocabulary)
        best: tuple[float, Any, float] | None = None
        for number, slope in enumerate(SLOPES):
            moved = training.log_sensitivity(tally, slope)
            for weight in WEIGHTS:
                mean = posterior_mean(tally, public, slope=slope, weight=weight, max_count=self.max_count)
                log_theta = mean - mean.max() - np.log(np.exp(mean - mean.max()).sum())
                score = -float(validation.count @ log_theta)  # equation 6
                claimed = max(
                    self.steepest(validation.count, weight) * moved, tuning.dot_sensitivity(np.abs(log_theta))
                )  # claim 2
                noisy = score + self._laplace(2 * self.tuning_scale * claimed, rng)
                if best is None or noisy < best[0]:
                    best = noisy, mean, weight * moved
            progress.report((number + 1) / len(SLOPES))
        assert best is not None
        theta = noisy_softmax(best[1], best[2], self.sigma, rng)
        return Release.of(NgramTable(vocabulary=vocabulary, probability=theta, text=corpus.text), self, rng)

    def steepest(self, count: NDArray[np.float64], weight: float) -> float:
        """What claim 2 takes for the most that a score moves with ‖Δr‖₂, r = w⊙x̂: ρ‖c‖₂, or ρ times that."""
        return weight * float(np.linalg.norm(count)) * (weight if self.tuning == "claim-2" else 1.0)

    @staticmethod
    def _laplace(scale: float, rng: Generator) -> float:
        grid = grid_for(max(scale, 2.0**-30), 1.0)
        return float(noise.laplace(rng, max(scale, 2.0**-30) / grid, 1)[0] * grid)


_WHY_NONE = (
    "Counts are exact and no noise is drawn: whoever knows all authors but one reads off the rest, and an n-gram that "
    "appears when its k-th author joins gives that author away."
)


@dataclass(frozen=True, kw_only=True)
class KAnonymousNgrams(PublishedNgrams):
    """A comparison that hides nobody: n-grams of at least ``k`` units keep their exact counts, others count nothing.

    Why it is no protection: docs/guarantees/ngram_published.md
    """

    k: int
    max_count: int = 1_000_000
    name: ClassVar[str] = "k-anonymity"
    paper: ClassVar[str] = "Samarati & Sweeney 1998"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_limits(None, self.max_count)
        if self.k < 1:
            raise InputError(f"k must be at least 1, got {self.k}.")

    @classmethod
    def template(cls, *, delta: float, unit: Unit = Unit.AUTHOR, k: int = 50, **more: Any) -> Self:
        return cls(k=k, delta=delta, unit=unit, **more)

    @classmethod
    def calibrated(cls, *, epsilon: float, delta: float, **settings: Any) -> Self:
        """The same for every ε: there is no noise."""
        return cls.template(delta=delta, **settings)

    def rescaled(self, factor: float) -> Self:
        return self

    @property
    def guarantee(self) -> Guarantee:
        """Anything may be revealed: no ε at all."""
        return self.refuted(Failure(1 - 2.0**-53), why=(_WHY_NONE,))

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[NgramTable]:
        """Exact counts where there are enough units."""
        vocabulary = check_list(self, corpus, self.prior)
        tally = Units(corpus, self.max_count).tally()
        kept = np.where(tally.users >= self.k, tally.count, 0.0)
        progress.report(1.0)
        table = NgramTable(
            vocabulary=vocabulary,
            probability=positive_shares(kept),
            total=float(kept.sum() + kept.size),
            text=corpus.text,
        )
        return Release.of(table, self, rng)


_LAPLACE_WHY_NONE = (
    "The claim is refuted: the noise is scaled to the sensitivity of the data at hand, and its scale shows in the "
    "release. One author who wrote more than the others multiplies it, and is given away "
    "(docs/guarantees/ngram_published.md)."
)


@dataclass(frozen=True, kw_only=True)
class LaplacePublicNgrams(LimitedAsPublished, Calibrated):
    """A reproduction that hides nobody: the private distribution's distance from the public one, plus noise.

    max(Σ_n w_n·(c̃ⁿ − α̃) + noise + α̃, 0), normalised: c̃ⁿ a unit's shares, w_n its part of all counts, α̃ public
    shares. As Σ w_n = 1 the public shares cancel, and what is left is c/‖c‖₁ plus noise; they matter only where the
    result is not positive, where we put them in place of zero. Why it is wrong: docs/guarantees/ngram_published.md

    >>> str(LaplacePublicNgrams.calibrated(epsilon=0.5, delta=1e-6).guarantee.strength)
    'none'
    """

    scale: float
    noise_parameter: ClassVar[str] = "scale"
    name: ClassVar[str] = "laplace-public"
    paper: ClassVar[str] = "Ramadan et al. 2021"

    @property
    def guarantee(self) -> Guarantee:
        return self.refuted(Laplace(self.scale), why=(_LAPLACE_WHY_NONE,))

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[NgramTable]:
        """Shares, their sensitivity here, noise."""
        vocabulary = check_list(self, corpus, self.prior)
        units, tally = self.counted(corpus)
        with progress.part(0.6, 1.0):
            moved = max(units.share_sensitivity(tally), 2.0**-40)
        public = np.ones(len(vocabulary)) if self.prior is None else self.prior.counts_of(vocabulary) + 1.0
        shares = tally.count / max(1.0, tally.count.sum())
        grid = grid_for(moved, self.scale)
        noisy = (np.rint(shares / grid) + noise.laplace(rng, self.scale * moved / grid, shares.size)) * grid
        floor = public / public.sum() / public.size  # instead of zero, which no perplexity survives
        raised = np.maximum(noisy, floor)
        progress.report(1.0)
        table = NgramTable(
            vocabulary=vocabulary,
            probability=raised / raised.sum(),
            noise_std=np.full(raised.size, 2**0.5 * self.scale * moved / raised.sum()),
            text=corpus.text,
        )
        return Release.of(table, self, rng)
