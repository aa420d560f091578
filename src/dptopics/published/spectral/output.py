"""Configuration 4 of DeCarolis et al. 2020: noise on the topics themselves, scaled by private bounds."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from dptopics import progress
from dptopics.data.bounded import BoundedCorpus
from dptopics.learners.tensor import Parameters, on_simplex, orthogonal_components, third_moment, unwhitened
from dptopics.privacy.guarantee import Guarantee
from dptopics.published.spectral import edges as common
from dptopics.published.spectral.configuration import BoundedConfiguration
from dptopics.published.spectral.edges import ExactMoments
from dptopics.published.spectral.procedure import PrivateBounds
from dptopics.published.spectral.whitened import topic_model
from dptopics.release.release import Release
from dptopics.release.topic_model import TopicModel

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
