"""Configuration 1 of DeCarolis et al. 2020: noise on the second moment, twice, and on the third."""

from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator

from dptopics import progress
from dptopics.data.bounded import BoundedCorpus
from dptopics.learners.tensor import orthogonal_components, third_moment, unwhitened
from dptopics.privacy import noise
from dptopics.privacy.card import SMALL_GROUPS
from dptopics.privacy.events import Noise
from dptopics.privacy.guarantee import PUBLIC_WORDS, Guarantee, Strength, check_budget
from dptopics.privacy.mechanism import calibrate
from dptopics.privacy.relation import Relation
from dptopics.published.spectral import edges as common
from dptopics.published.spectral.configuration import SpectralConfiguration
from dptopics.published.spectral.edges import Floats
from dptopics.release.release import Release
from dptopics.release.topic_model import TopicModel

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
        """Largest vocabulary."""
        return common.LARGEST_VOCABULARY if self.noise is Noise.GAUSSIAN else _MOST_WORDS_PURE

    @property
    def guarantee(self) -> Guarantee:
        """A Gaussian for each edge; Laplace noise is one draw on the vector of all three, of L1 sensitivity one."""
        scales = self.edge_scales.values() if self.noise is Noise.GAUSSIAN else [self.scale]
        return Guarantee(
            events=tuple(self.noise.event(scale, Relation.REPLACE) for scale in scales),
            delta=self.delta,
            unit=self.unit,
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
        model = TopicModel(
            topic_word=found.topic_word,
            vocabulary=vocabulary,
            topic_share=found.alpha / found.alpha.sum(),
            alpha=self.alpha0 / self.n_topics,
            text=corpus.text,
        )
        return Release.of(model, self, rng)

    def _triple_noise(self, n_units: int, whitening: Floats, rng: Generator) -> Floats:
        """E(W, W, W) for independent noise E on all d³ numbers of M₃, made symmetric.

        Gaussian noise keeps its law under rotations: E(W, W, W) is k³ draws with every mode multiplied by (WᵀW)^½.
        Laplace noise does not, so all d³ numbers are drawn, d² at a time.
        """
        deviation = self.edge_scales["e3"] * self.by.triples(self.alpha0, n_units, self.noise.norm)
        grid = common.fine_grid(deviation, 1.0)
        d, k = whitening.shape
        if self.noise is Noise.GAUSSIAN:
            drawn = noise.gaussian(rng, deviation / grid, (k, k, k)) * grid
            values, vectors = np.linalg.eigh(whitening.T @ whitening)
            root = vectors * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
            seen = np.einsum("abc,ai,bj,cl->ijl", drawn, root, root, root, optimize=True)
        else:
            seen = np.zeros((k, k, k))
            for word in range(d):
                drawn = noise.laplace(rng, deviation / grid, (d, d)) * grid
                seen += whitening[word][:, None, None] * (whitening.T @ drawn @ whitening)
        turns = ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))
        return np.asarray(sum(seen.transpose(turn) for turn in turns) / 6)
