"""What the four published spectral configurations have in common: settings, budgets of edges, public words."""

from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator

from dptopics.core import progress
from dptopics.core.errors import InputError
from dptopics.core.settings import check_fields
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.bounded import BoundedCorpus
from dptopics.learners.spectral import Parameters, on_simplex, orthogonal_components, third_moment, unwhitened
from dptopics.mechanisms.mechanism import Calibrated, Job, calibrate
from dptopics.mechanisms.topics.spectral import packed_cube, unpacked_cube
from dptopics.privacy import noise
from dptopics.privacy.card import SMALL_GROUPS
from dptopics.privacy.events import Event, Failure, Gaussian, Laplace, Noise, Relation
from dptopics.privacy.guarantee import PUBLIC_WORDS, Guarantee, Strength, Unit, check_budget
from dptopics.published import spectral_edges as common
from dptopics.published.spectral_edges import (
    FORMULAS,
    REFUTED,
    Corrected,
    ExactMoments,
    Floats,
    PrivateBounds,
    Sensitivities,
    check_tail,
    private_bounds,
)
from dptopics.release.release import Release
from dptopics.release.topic_model import TopicModel


@dataclass(frozen=True, kw_only=True)
class SpectralConfiguration(Calibrated):
    """Fields of every configuration; ``shares`` divide the budget in 1/scale² among ``edges``.

    ``sensitivities``: ``corrected``, or as ``printed``, which arithmetic refutes.

    Page: docs/guarantees/spectral_published.md
    """

    n_topics: int
    scale: float
    delta: float
    unit: Unit = Unit.AUTHOR
    alpha0: float = 1.0
    shares: tuple[float, ...]
    sensitivities: Sensitivities = Sensitivities.CORRECTED
    vocabulary: Vocabulary | None = field(default=None, repr=False)
    job: ClassVar[Job] = Job.TOPICS
    noise_parameter: ClassVar[str] = "scale"
    edges: ClassVar[tuple[str, ...]]
    name: ClassVar[str]
    paper: ClassVar[str]
    usual_max_vocabulary: ClassVar[int | None] = 1000  # there is noise on every pair of words
    public_words_only: ClassVar[str] = (
        "it is about units exchanged for others, a vocabulary chosen from the data about units added or removed"
    )

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "shares", tuple(self.shares))  # a plan that was saved has a list
        object.__setattr__(self, "sensitivities", Sensitivities(self.sensitivities))
        common.check_settings(self)

    @property
    def by(self) -> Corrected:
        """The formulas that scale the noise."""
        return FORMULAS[self.sensitivities]

    @property
    def refutation(self) -> tuple[str, ...]:
        """What refutes the printed sensitivities, where they are used."""
        return REFUTED if self.sensitivities is Sensitivities.PRINTED else ()

    @property
    def edge_scales(self) -> dict[str, float]:
        """Noise on each edge, relative to its sensitivity."""
        return {edge: self.scale / sqrt(share) for edge, share in zip(self.edges, self.shares, strict=True)}

    @property
    def most_words(self) -> int:
        return common.LARGEST_VOCABULARY

    def check_size(self, public: int, private: int = 0) -> None:
        """A matrix of pairs must fit; the pure form draws a number for every triple of words."""
        if public + private > self.most_words:
            raise InputError(
                f"mechanism {self.name!r} takes at most {self.most_words:,} words with this noise, got "
                f"{public + private:,}. Give a shorter list, or use 'spectral'."
            )

    def check(self, corpus: BoundedCorpus) -> None:
        """Public words, no fewer than topics, and not too many."""
        common.check_corpus(self, corpus)


@dataclass(frozen=True, kw_only=True)
class BoundedConfiguration(SpectralConfiguration):
    """A configuration whose noise is scaled by private lower bounds, each of which fails with chance ``tail``.

    Page: docs/guarantees/spectral_published.md
    """

    tail: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_tail(self.tail)

    @classmethod
    def template(cls, **settings: Any) -> Self:
        """Noise of one over all edges together, to be rescaled; a tenth of δ for each bound."""
        return super().template(**({"tail": settings["delta"] / 10} | settings))

    def refuted(self, *why: str, n_bounds: int) -> Guarantee:
        """What is claimed, and the reasons why it does not hold, its own first."""
        holes = (*self.refutation, *why, *common.WHITENED_HOLES, *common.HOLES, PUBLIC_WORDS)
        return self.promise(*self.bounded_events(n_bounds=n_bounds), strength=Strength.NONE, assumptions=holes)

    def start(
        self, corpus: BoundedCorpus, rng: Generator, *, gap: bool
    ) -> tuple[Vocabulary, common.ExactMoments, PrivateBounds]:
        """The public words, exact moments (private), and private bounds."""
        vocabulary = common.check_corpus(self, corpus)
        with progress.part(0.0, 0.5):
            data = common.exact_moments(corpus.limited(vocabulary=vocabulary))
        scale = self.edge_scales["bounds"]
        bounds = private_bounds(data, self.n_topics, self.alpha0, scale, self.tail, rng, gap=gap, by=self.by)
        return vocabulary, data, bounds

    def way_back(self, data: common.ExactMoments, rng: Generator) -> tuple[common.Floats, common.Floats]:
        """Noisy eigenpairs of M₂, edge e8."""
        far = self.by.pairs(self.alpha0, data.n_units)
        return common.noisy_pairs(data, self.n_topics, self.alpha0, self.edge_scales["e8"], rng, sensitivity=far)

    def bounded_events(self, *, n_bounds: int) -> tuple[Event, ...]:
        """Laplace noise on the bounds, the failure of each, and a Gaussian for every other edge."""
        first, *rest = self.edge_scales.values()
        failures = (Failure(self.tail, Relation.REPLACE),) * n_bounds
        edges = (Gaussian(scale, relation=Relation.REPLACE) for scale in rest)
        return (Laplace(first, relation=Relation.REPLACE), *failures, *edges)


_MOST_WORDS_PURE = 500  # the pure form draws a number for every triple of words


@dataclass(frozen=True, kw_only=True)
class SpectralMomentsTopics(SpectralConfiguration):
    """A reproduction: for experiments, not to publish with; ``spectral`` is the sound form.

    Noise goes on M₃ (edge e3), on M₂ for the whitening (e4) and on M₂ again for the way back (e8); ``shares`` divide
    the budget among the three, in 1/σ² (Gaussian) or in ε (Laplace, which makes it pure ε). ``sensitivities``: the
    paper's, corrected, or as printed. Page: docs/guarantees/spectral_published.md

    >>> mechanism = SpectralMomentsTopics.calibrated(n_topics=5, epsilon=1.0, delta=1e-6, noise="laplace")
    >>> round(mechanism.guarantee.epsilon_at(0.0), 3), str(mechanism.guarantee.relation)
    (1.0, 'replace')
    """

    noise: Noise = Noise.GAUSSIAN
    shares: tuple[float, ...] = (0.4, 0.3, 0.3)
    name: ClassVar[str] = "spectral-1"
    paper: ClassVar[str] = "DeCarolis et al. 2020, configuration 1"
    edges: ClassVar[tuple[str, ...]] = ("e3", "e4", "e8")
    noises: ClassVar[tuple[Noise, ...]] = tuple(Noise)

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", Noise(self.noise))
        super().__post_init__()

    @classmethod
    def calibrated(cls, *, epsilon: float, delta: float, **settings: Any) -> Self:
        """The least noise for (ε, δ); pure ε for Laplace noise, which needs no δ; ``settings`` are other fields."""
        check_budget(epsilon, delta)
        template = cls.template(delta=delta, **settings)
        if template.noise is Noise.LAPLACE:
            return replace(template, scale=1 / epsilon)
        return calibrate(template, epsilon=epsilon)

    @property
    def edge_scales(self) -> dict[str, float]:
        """Noise on each edge, relative to its sensitivity."""
        parts = self.shares if self.noise is Noise.LAPLACE else tuple(sqrt(share) for share in self.shares)
        return {edge: self.scale / part for edge, part in zip(self.edges, parts, strict=True)}

    @property
    def most_words(self) -> int:
        return common.LARGEST_VOCABULARY if self.noise is Noise.GAUSSIAN else _MOST_WORDS_PURE

    @property
    def guarantee(self) -> Guarantee:
        """A Gaussian for each edge; Laplace noise is one draw on the vector of all three, of L1 sensitivity one."""
        scales = self.edge_scales.values() if self.noise is Noise.GAUSSIAN else [self.scale]
        return self.promise(
            *(self.noise.event(scale, Relation.REPLACE) for scale in scales),
            strength=Strength.NONE if self.refutation else Strength.CLAIMED,
            assumptions=(*self.refutation, *common.HOLES, PUBLIC_WORDS),
            limits=(SMALL_GROUPS,),
        )

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[TopicModel]:
        """Noisy M₂ twice, noisy M₃ through the first, back through the second."""
        vocabulary = common.check_corpus(self, corpus)
        with progress.part(0.0, 0.5):
            data = common.exact_moments(corpus.limited(vocabulary=vocabulary))
        scales = self.edge_scales
        far = self.by.pairs(self.alpha0, data.n_units, self.noise.norm)
        first, (values, vectors) = (
            common.noisy_pairs(data, self.n_topics, self.alpha0, scales[edge], rng, self.noise, far)
            for edge in ("e4", "e8")
        )
        whitening = common.whitening_like(*first, vectors)
        tensor = third_moment(data, whitening, self.alpha0) + self._triple_noise(data.n_units, whitening, rng)
        weights, axes = orthogonal_components(tensor)
        found = unwhitened(weights, axes, vectors / np.sqrt(values), vectors * np.sqrt(values), self.alpha0)
        progress.report(1.0)
        return Release.of(topic_model(found, vocabulary, corpus, self.alpha0), self, rng)

    def _triple_noise(self, n_units: int, whitening: Floats, rng: Generator) -> Floats:
        """E(W, W, W) for independent noise E on all d³ numbers of M₃, made symmetric.

        Gaussian noise keeps its law under rotations: E(W, W, W) is k³ draws with every mode multiplied by (WᵀW)^½.
        Laplace noise does not, so all d³ numbers are drawn, d² at a time.
        """
        noise_std = self.edge_scales["e3"] * self.by.triples(self.alpha0, n_units, self.noise.norm)
        grid = common.fine_grid(noise_std, 1.0)
        d, k = whitening.shape
        if self.noise is Noise.GAUSSIAN:
            drawn = noise.gaussian(rng, noise_std / grid, (k, k, k)) * grid
            values, vectors = np.linalg.eigh(whitening.T @ whitening)
            root = vectors * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
            seen = np.einsum("abc,ai,bj,cl->ijl", drawn, root, root, root, optimize=True)
        else:
            seen = np.zeros((k, k, k))
            for word in range(d):
                drawn = noise.laplace(rng, noise_std / grid, (d, d)) * grid
                seen += whitening[word][:, None, None] * (whitening.T @ drawn @ whitening)
        turns = ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))
        return np.asarray(sum(seen.transpose(turn) for turn in turns) / 6)


@dataclass(frozen=True, kw_only=True)
class SpectralTensorTopics(BoundedConfiguration):
    """A reproduction, configuration 2, that hides nobody: for experiments only; ``spectral`` is the sound form.

    The whitening is exact. Noise goes on the whitened tensor (edge e6), as much as a private lower bound on σ_k(M₂)
    asks for, and on M₂ for the way back (e8). ``shares`` divide the budget in 1/scale² among the bound, e6 and e8; the
    bound fails with chance ``tail``. Page: docs/guarantees/spectral_published.md

    >>> str(SpectralTensorTopics.calibrated(n_topics=5, epsilon=1.0, delta=1e-6).guarantee.strength)
    'none'
    """

    shares: tuple[float, ...] = (0.1, 0.6, 0.3)
    name: ClassVar[str] = "spectral-2"
    paper: ClassVar[str] = "DeCarolis et al. 2020, configuration 2"
    edges: ClassVar[tuple[str, ...]] = ("bounds", "e6", "e8")

    @property
    def guarantee(self) -> Guarantee:
        """Laplace noise on the bound, its failure, and a Gaussian for each edge."""
        return self.refuted(*common.CROSSING, n_bounds=1)

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[TopicModel]:
        """A private bound, the noisy way back, the noisy tensor."""
        vocabulary, data, bounds = self.start(corpus, rng, gap=False)
        scales = self.edge_scales
        values, vectors = self.way_back(data, rng)
        whitening = common.whitening_like(bounds.values, bounds.vectors, vectors)
        exact = packed_cube(third_moment(data, whitening, self.alpha0))
        tensor = unpacked_cube(common.noisy(exact, bounds.whitened, scales["e6"], rng), self.n_topics)
        weights, axes = orthogonal_components(tensor)
        found = unwhitened(weights, axes, vectors / np.sqrt(values), vectors * np.sqrt(values), self.alpha0)
        progress.report(1.0)
        return Release.of(topic_model(found, vocabulary, corpus, self.alpha0), self, rng)


@dataclass(frozen=True, kw_only=True)
class SpectralComponentsTopics(BoundedConfiguration):
    """A reproduction, configuration 3, that hides nobody: for experiments only; ``spectral`` is the sound form.

    Whitening and decomposition are exact. Noise goes on the tensor's vectors and values (edge e7), as much as private
    lower bounds on σ_k(M₂) and on the gap between its values ask for, and on M₂ for the way back (e8). ``shares``
    divide the budget in 1/scale² among the two bounds together, e7 and e8; each bound fails with chance ``tail``. Page:
    docs/guarantees/spectral_published.md

    >>> str(SpectralComponentsTopics.calibrated(n_topics=5, epsilon=1.0, delta=1e-6).guarantee.strength)
    'none'
    """

    shares: tuple[float, ...] = (0.1, 0.6, 0.3)
    name: ClassVar[str] = "spectral-3"
    paper: ClassVar[str] = "DeCarolis et al. 2020, configuration 3"
    edges: ClassVar[tuple[str, ...]] = ("bounds", "e7", "e8")

    @property
    def guarantee(self) -> Guarantee:
        """Laplace noise on the pair of bounds, their failures, and a Gaussian for each edge."""
        return self.refuted(*common.GAP, n_bounds=2)

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[TopicModel]:
        """Private bounds, the noisy way back, noisy vectors and values."""
        vocabulary, data, bounds = self.start(corpus, rng, gap=True)
        scales = self.edge_scales
        values, vectors = self.way_back(data, rng)
        exact = self._components(data, common.whitening_like(bounds.values, bounds.vectors, vectors))
        seen = common.noisy(exact, bounds.component, scales["e7"], rng)
        found = unwhitened(seen[0], seen[1:], vectors / np.sqrt(values), vectors * np.sqrt(values), self.alpha0)
        progress.report(1.0)
        return Release.of(topic_model(found, vocabulary, corpus, self.alpha0), self, rng)

    def _components(self, data: ExactMoments, whitening: Floats) -> Floats:
        """Values in the first row, vectors in the columns below. Private."""
        weights, axes = orthogonal_components(third_moment(data, whitening, self.alpha0))
        return np.vstack([weights, axes])


def topic_model(found: Parameters, vocabulary: Vocabulary, corpus: BoundedCorpus, alpha0: float) -> TopicModel:
    """What is released, from noisy parameters."""
    return TopicModel(
        topic_word=found.topic_word,
        vocabulary=vocabulary,
        topic_share=found.alpha / found.alpha.sum(),
        alpha=alpha0 / len(found.alpha),
        text=corpus.text,
    )


_OUTPUT_HOLE = (
    "The noise is scaled by the largest eigenvalues of pairs and tensor too (theorem 7), and these are exact: its "
    "amount tells something about the data that no noise covers.",
)


@dataclass(frozen=True, kw_only=True)
class SpectralOutputTopics(BoundedConfiguration):
    """A reproduction, configuration 4, that hides nobody: for experiments only; ``spectral`` is the sound form.

    Everything is exact until the end. Noise goes on topics and Dirichlet parameters (edge e9), as much as private lower
    bounds on σ_k(M₂) and on the gap between the tensor's values ask for. ``shares`` divide the budget in 1/scale²
    between the two bounds together and e9; each bound fails with chance ``tail``. Page:
    docs/guarantees/spectral_published.md

    >>> str(SpectralOutputTopics.calibrated(n_topics=5, epsilon=1.0, delta=1e-6).guarantee.strength)
    'none'
    """

    shares: tuple[float, ...] = (0.1, 0.9)
    name: ClassVar[str] = "spectral-4"
    paper: ClassVar[str] = "DeCarolis et al. 2020, configuration 4"
    edges: ClassVar[tuple[str, ...]] = ("bounds", "e9")

    @property
    def guarantee(self) -> Guarantee:
        """Laplace noise on the pair of bounds, their failures, and a Gaussian on the output."""
        return self.refuted(*common.GAP, *_OUTPUT_HOLE, n_bounds=2)

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[TopicModel]:
        """Private bounds, then noisy topics."""
        vocabulary, data, bounds = self.start(corpus, rng, gap=True)
        scales = self.edge_scales
        root = np.sqrt(bounds.values)
        whitening, back = bounds.vectors / root, bounds.vectors * root
        weights, axes = orthogonal_components(third_moment(data, whitening, self.alpha0))
        exact = unwhitened(weights, axes, whitening, back, self.alpha0)
        far = self._sensitivity(data, bounds, float(weights[0]))
        seen = common.noisy(np.column_stack([exact.topic_word, exact.alpha]), far, scales["e9"], rng)
        alpha = np.clip(seen[:, -1], 1e-6 * self.alpha0, self.alpha0)
        found = Parameters(on_simplex(seen[:, :-1]), alpha, exact.column_norm, seen[:, :-1])
        progress.report(1.0)
        return Release.of(topic_model(found, vocabulary, corpus, self.alpha0), self, rng)

    def _sensitivity(self, data: ExactMoments, bounds: PrivateBounds, weight: float) -> float:
        """Claimed for all topics and parameters together."""
        values = {"largest": float(bounds.values[0]), "smallest": bounds.smallest, "weight": weight}
        return self.by.topics(self.alpha0, data.n_units, self.n_topics, bounds.component, **values)
