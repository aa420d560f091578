"""Any function from data to a matrix, made private by noise on its output (TopicDP, Wang et al. 2022)."""

import hashlib
import json
from dataclasses import dataclass, field, replace
from functools import partial
from math import exp, inf, log, log1p, sqrt
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics.core import progress
from dptopics.core.counts import Counts
from dptopics.core.errors import InputError, PrivacyError
from dptopics.core.settings import Choice, check_fields
from dptopics.data.bounded import BoundedCorpus, raw_counts
from dptopics.learners import Learner, learn_anyway
from dptopics.learners.spectral import on_simplex
from dptopics.mechanisms import queries
from dptopics.mechanisms.mechanism import Registered, check_unit
from dptopics.mechanisms.topics.output_sensitivity import (
    DrawnUnits,
    MatrixFunction,
    SampledSensitivity,
    SampleSize,
    Units,
    check_gamma,
    n_pairs,
    sample_sensitivity,
    steps_of,
)
from dptopics.privacy import noise
from dptopics.privacy.events import Gaussian, Noise, Relation
from dptopics.privacy.guarantee import WORDS_BEFORE, WORDS_OF_DATA, Guarantee, Strength, Unit, check_budget
from dptopics.privacy.pricing import epsilon_of, smallest
from dptopics.release.release import Release


class Post(Choice):
    """What is done to noisy rows: project to the simplex, cut off below zero and normalise, or nothing."""

    SIMPLEX = "simplex"
    CLIP = "clip"
    NONE = "none"


@dataclass(frozen=True)
class Topics:
    """A topic model as a function: topics × words; with ``top``, only the heaviest words of each topic, else zero."""

    learner: Learner
    n_topics: int
    top: int | None = None

    def __call__(self, counts: Counts) -> NDArray[np.float64]:
        topics = learn_anyway(self.learner, counts, self.n_topics)
        return topics if self.top is None else np.asarray(np.where(heaviest(topics, self.top), topics, 0.0))


def heaviest(topics: NDArray[Any], n: int) -> NDArray[np.bool_]:
    """Which n words of each topic are the heaviest; of equal ones the first."""
    chosen = np.zeros(topics.shape, bool)
    np.put_along_axis(chosen, np.argsort(-topics, axis=1, kind="stable")[:, :n], True, axis=1)
    return chosen


def tidy(rows: NDArray[np.float64], post: Post | str) -> NDArray[np.float64]:
    """Noisy rows as distributions. Post-processing: it sees the noisy rows alone.

    >>> tidy(np.array([[0.9, 0.4, -0.2]]), "simplex").round(3), tidy(np.array([[0.6, 0.2, -0.2]]), "clip").round(3)
    (array([[0.75, 0.25, 0.  ]]), array([[0.75, 0.25, 0.  ]]))
    """
    if Post(post) is Post.NONE:
        return rows
    if Post(post) is Post.SIMPLEX:
        return on_simplex(rows)
    above = np.maximum(rows, 0.0)
    total = above.sum(axis=1, keepdims=True)
    return np.asarray(np.where(total > 0, above / np.where(total > 0, total, 1.0), 1 / rows.shape[1]))


class Calibration(Choice):
    """Which theorem the noise is taken from. All are valid; ``analytic`` is exact, so nothing needs less noise."""

    ANALYTIC = "analytic"
    RENYI_BEST = "renyi-best"
    RENYI = "renyi"


def renyi_epsilon(epsilon: float, delta: float, alpha: float) -> float:
    """Largest ε_R such that (α, ε_R)-Rényi DP implies (ε, δ)-DP, by proposition 2 (Asoodeh et al. 2021).

    max{ε − ln(ζ_α/δ)/(α − 1), ε + ln((e^ε − αδ)((1 − δ)/(e^ε − δ))^α + αδ)/(α − 1)}, ζ_α = (1/α)(1 − 1/α)^(α − 1). The
    paper prints ≥ where ≤ is meant.

    >>> round(renyi_epsilon(3.0, 1e-4, 2.0), 8)
    0.00380985
    """
    first = epsilon + (log(delta) + log(alpha) - (alpha - 1) * log1p(-1 / alpha)) / (alpha - 1)
    if alpha * delta >= 1:
        return first
    ratio = alpha * (log1p(-delta) - log(exp(epsilon) - delta))
    inside = (exp(epsilon) - alpha * delta) * exp(ratio) + alpha * delta
    return max(first, epsilon + log(inside) / (alpha - 1)) if inside > 0 else first


def multiplier(epsilon: float, delta: float, calibration: Calibration | str = Calibration.ANALYTIC) -> float:
    """Standard deviation of the noise over the sensitivity, σ/Δ, for (ε, δ).

    >>> [round(multiplier(3.0, 1e-4, kind), 4) for kind in Calibration]
    [1.2232, 1.3287, 16.2012]
    """
    check_budget(epsilon, delta)

    def at(alpha: float) -> float:
        budget = renyi_epsilon(epsilon, delta, alpha)
        return sqrt(alpha / (2 * budget)) if budget > 0 else inf

    match Calibration(calibration):
        case Calibration.ANALYTIC:
            return smallest(lambda sigma: epsilon_of((Gaussian(sigma),), delta) <= epsilon)
        case Calibration.RENYI:
            return at(2.0)  # the published order
        case Calibration.RENYI_BEST:
            import numpy as np
            from scipy.optimize import minimize_scalar

            grid = np.geomspace(1e-3, 1e4, 400)  # α − 1: coarse first, the objective is infinite in places
            best = grid[int(np.argmin([at(1 + excess) for excess in grid]))]
            found = minimize_scalar(
                lambda x: at(1 + exp(x)), bounds=(log(best) - 0.1, log(best) + 0.1), method="bounded"
            )
            return min(at(1 + float(best)), float(found.fun))


USUAL_GAMMA = 0.1  # the paper's
# What a plan may set, of mechanisms that are made of this.
SETTINGS = frozenset({"learner", "steps", "gamma", "public", "sample_size", "calibration", "max_pairs", "seed"})
FROM_P = (
    "The data are units drawn independently from the distribution that the sampled neighbours were drawn from. For a "
    "unit unlike all of those, nothing is guaranteed."
)
N_PUBLIC = "The number of units is public: one is replaced by another."
PRIVATE_P = (
    "The sensitivity was sampled from the private data itself, as published: the scale of the noise depends on the "
    "data, and no part of the budget covers that (docs/guarantees/output.md)."
)


@dataclass(frozen=True, kw_only=True)
class OutputMatrix(Registered):
    """Add Gaussian noise to the matrix that any fixed function makes of the data.

    The noise has deviation sigma · Δ, where Δ is the largest distance between the function's values on pairs of
    neighbouring data sets drawn from a distribution: units of a ``public`` corpus, or, as published, of the private
    data. Rows are released sorted by their noisy values if ``matched``: then Δ is the distance after the best matching
    of rows. Proof: docs/guarantees/output.md

    Here: how many users rated each of three items (a histogram), with invented users as public distribution.

    >>> from dptopics import Corpus, secure_rng
    >>> def histogram(counts):
    ...     return np.bincount(counts.word, minlength=counts.n_words).astype(float)[None]
    >>> rng = np.random.default_rng(0)
    >>> ratings, invented = (rng.integers(0, 2, (500, 3)) for _ in range(2))
    >>> users, others = (
    ...     Corpus.from_counts(m, ["film a", "film b", "film c"], public_vocabulary=True).bounded()
    ...     for m in (ratings, invented))
    >>> mechanism = OutputMatrix.calibrated(
    ...     function=histogram, epsilon=1.0, delta=1e-6, gamma=0.1, public=others, unit="document", matched=False,
    ...     grid=2.0**-10)
    >>> release = mechanism(users, secure_rng())
    >>> bool(np.abs(release.value - ratings.sum(axis=0)).max() < 60)
    True
    >>> str(release.guarantee.strength), round(release.guarantee.epsilon, 6), release.guarantee.gamma
    ('random', 1.0, 0.1)
    """

    function: MatrixFunction
    gamma: float
    sigma: float
    delta: float
    unit: Unit = Unit.AUTHOR
    public: BoundedCorpus | None = field(default=None, repr=False, compare=False)
    sample_size: SampleSize = SampleSize.EXCHANGEABLE
    matched: bool = True
    grid: float = 2.0**-24
    seed: int = 0
    max_pairs: int | None = field(default=1000, repr=False)
    sensitivity: SampledSensitivity | None = None
    words_of_data: bool = False
    name: ClassVar[str] = "output-matrix"
    paper: ClassVar[str] = "Wang et al. 2022 (TopicDP)"

    def __post_init__(self) -> None:
        check_fields(self)
        check_gamma(self.gamma)
        object.__setattr__(self, "sample_size", SampleSize(self.sample_size))
        object.__setattr__(self, "unit", Unit(self.unit))
        if not (0 < self.sigma < inf and 0 < self.grid < inf):
            raise InputError(f"sigma and grid must be positive numbers, got {self.sigma} and {self.grid}.")
        if self.sensitivity is not None and self.sensitivity.public != (self.public is not None):
            raise PrivacyError(
                "the saved sensitivity was sampled from private data but the settings say public, or vice versa. "
                "Sample it again."
            )

    @classmethod
    def calibrated(
        cls, *, epsilon: float, delta: float, calibration: Calibration | str = Calibration.ANALYTIC, **settings: Any
    ) -> Self:
        """The noise for (ε, δ), by the theorem asked for; ``settings`` are other fields."""
        return cls(sigma=multiplier(epsilon, delta, calibration), delta=delta, **settings)

    def rescaled(self, factor: float) -> Self:
        return replace(self, sigma=self.sigma * factor)

    @property
    def guarantee(self) -> Guarantee:
        """One Gaussian of multiplier ``sigma``, with probability 1 − γ over data and sampled neighbours."""
        holes = ([] if self.public is not None else [PRIVATE_P]) + ([WORDS_OF_DATA] if self.words_of_data else [])
        return Guarantee(
            events=(Gaussian(self.sigma, relation=Relation.REPLACE),),
            delta=self.delta,
            unit=self.unit,
            strength=Strength.CLAIMED if holes else Strength.RANDOM,
            gamma=self.gamma,
            assumptions=(*holes, FROM_P, N_PUBLIC, *([] if self.words_of_data else [WORDS_BEFORE])),
        )

    def check(self, corpus: BoundedCorpus) -> None:
        """Words must be public, the public corpus bounded alike, and a saved sensitivity must be of this very case."""
        check_unit(self, corpus)
        if corpus.vocabulary is None:
            raise PrivacyError("the words of this corpus are private. Put a vocabulary in front, or give public words.")
        self.check_documents(corpus)
        units = unit_sizes(self._source(corpus)).size
        if units * self.gamma < 1:
            raise InputError(
                f"neighbours are drawn from {units} units, but gamma = {self.gamma} needs at least "
                f"{int(np.ceil(1 / self.gamma))}: with fewer, one of them alone has probability gamma. Give more "
                "units, or raise gamma."
            )
        if self.sensitivity is not None and self.sensitivity.key != self.key(corpus):
            raise PrivacyError(
                "the saved sensitivity is of another corpus, vocabulary, learner or setting (or another number of "
                "units). Sample it again, or use the settings it was sampled with."
            )
        if self.sensitivity is not None and self.sigma * self.sensitivity.value / self.grid > noise.MAX_SCALE:
            raise InputError(
                f"noise of {self.sigma * self.sensitivity.value:.3g} is too large for a grid of {self.grid:.3g}. "
                "Use a coarser grid; for topics: nothing would be left of them, so raise epsilon."
            )

    def check_documents(self, corpus: BoundedCorpus) -> None:
        """The public corpus must be bounded alike."""
        if self.public is not None and self.public.bounds != corpus.bounds:
            raise PrivacyError(
                f"the public corpus is bounded by {self.public.bounds}, the private one by {corpus.bounds}. Bound both "
                "alike, or the sampled sensitivity is that of another function."
            )

    def check_pairs(self) -> None:
        """Refuse too many pairs before the charge, where the sampling comes after it."""
        wanted = n_pairs(self.gamma, self.sample_size)
        if self.max_pairs is not None and wanted > self.max_pairs:
            raise InputError(
                f"{wanted:,} pairs of fits are more than {self.max_pairs:,}. Say --no-sampling-limit (max_pairs=None)."
            )

    def key(self, corpus: BoundedCorpus) -> str:
        """A hash of all that the sampled sensitivity depends on.

        Of the private data that is the number of units, which is public here; where neighbours are drawn from the
        private units, all of these as well, and what holds the hash is as private as they are.
        """
        assert corpus.vocabulary is not None
        parts = {
            "function": _name(self.function),
            "n_units": int(unit_sizes(corpus).size),
            "bounds": repr(corpus.bounds),
            "words": hashlib.sha256("\n".join(corpus.vocabulary.words).encode()).hexdigest(),
            "neighbours": units_of(self._source(corpus)).digest,
            # False: a setting of former versions, whose saved sensitivities still fit
            "settings": [self.gamma, self.sample_size, False, self.matched, self.grid, self.seed],
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def prepared(self, corpus: BoundedCorpus, *, sensitivity: SampledSensitivity | None = None, **how: Any) -> Self:
        """The same mechanism with its sensitivity sampled, or with one that was sampled before: the offline stage.

        It spends nothing if the neighbours are public. ``how`` goes to :func:`sample_sensitivity`.
        """
        known = self if sensitivity is None else replace(self, sensitivity=sensitivity)
        known.check(corpus)
        if known.sensitivity is not None:
            return known
        sampled = sample_sensitivity(
            self.function,
            DrawnUnits(units_of(self._source(corpus))),
            unit_sizes(corpus).size,
            gamma=self.gamma,
            sample_size=self.sample_size,
            matched=self.matched,
            grid=self.grid,
            seed=self.seed,
            public=self.public is not None,
            key=self.key(corpus),
            max_pairs=self.max_pairs,
            **how,
        )
        return replace(self, sensitivity=sampled)

    def exact(self, corpus: BoundedCorpus) -> tuple[NDArray[np.int64], float]:
        """f in steps of the grid, without noise, and Δ. Private: for the mechanisms that add the noise."""
        sampled = self.sensitivity
        assert sampled is not None
        failed = np.zeros(sampled.shape, np.int64)
        try:
            with progress.part(0.9, 1.0):
                steps = steps_of(self.function, units_of(corpus).counts, self.grid)
        except Exception:  # of anybody's function: to fail on this data alone would tell it from all other data
            steps = failed
        return steps if steps.shape == sampled.shape else failed, sampled.value

    def noisy(self, corpus: BoundedCorpus, rng: Generator) -> tuple[NDArray[np.float64], float]:
        """The released matrix and the standard deviation of its noise."""
        assert self.sensitivity is not None
        steps = queries.private_query(lambda: self._rows(corpus, rng))
        progress.report(1.0)
        return np.asarray(steps * self.grid, np.float64), self.sigma * self.sensitivity.value

    def _rows(self, corpus: BoundedCorpus, rng: Generator) -> NDArray[np.int64]:
        """Noisy rows, in an order that only they decide if ``matched``: f's own would tell more."""
        exact, far = self.exact(corpus)
        steps = queries.noisy(  # which adds in place; whoever computed the function may keep its value
            exact.copy(), kind=Noise.GAUSSIAN, sensitivity=far / self.grid, multiplier=self.sigma, rng=rng
        )
        return steps[np.lexsort(steps.T[::-1])] if self.matched else steps

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[NDArray[np.float64]]:
        with progress.part(0.0, 0.9):
            ready = self.prepared(corpus)
        matrix, _ = ready.noisy(corpus, rng)
        return Release.of(matrix, ready, rng)

    def _source(self, corpus: BoundedCorpus) -> BoundedCorpus:
        return corpus if self.public is None else self.public.limited(vocabulary=corpus.vocabulary)


def invented_corpus() -> BoundedCorpus:
    """A public corpus of one text: for examples."""
    from dptopics.data.corpus import Corpus

    return Corpus.from_texts(["some public text"]).bounded()


def units_of(corpus: BoundedCorpus) -> Units:
    """The documents of a bounded corpus with public words, by unit. As private as the corpus."""
    sizes = unit_sizes(corpus)
    with progress.shown_by(lambda share: None):
        counts = raw_counts(corpus)
    return Units(counts, np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)]))


def unit_sizes(corpus: BoundedCorpus) -> NDArray[np.int64]:
    """Documents of each unit."""
    with progress.shown_by(lambda share: None):  # nothing of the work that people wait for
        return np.concatenate(corpus.fold(lambda seen, block: [*seen, np.diff(block.unit_start)], [np.zeros(0, int)]))


def _name(function: Any) -> str:
    """What tells one function from another, the same in every run: its settings, or where it was defined."""
    if isinstance(function, Topics):
        return f"Topics({_name(function.learner)}, {function.n_topics}, {function.top})"
    if isinstance(function, partial):
        return f"{_name(function.func)}{function.args}{function.keywords}"
    qualified = getattr(function, "__qualname__", None)
    return repr(function) if qualified is None else f"{function.__module__}.{qualified}"
