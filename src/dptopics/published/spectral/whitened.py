"""Configurations 2 and 3 of DeCarolis et al. 2020: noise after whitening, scaled by private bounds (Procedure 1)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from dptopics import progress
from dptopics.data.bounded import BoundedCorpus
from dptopics.learners.tensor import Parameters, orthogonal_components, third_moment, unwhitened
from dptopics.privacy.guarantee import Guarantee
from dptopics.published.spectral import edges as common
from dptopics.published.spectral.configuration import BoundedConfiguration
from dptopics.published.spectral.edges import ExactMoments, Floats
from dptopics.release.release import Release
from dptopics.release.topic_model import TopicModel
from dptopics.release.vocabulary import Vocabulary
from dptopics.topics.spectral.packed import packed_cube, unpacked_cube


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
