"""Topics over the heaviest words, then over all words of a larger vocabulary, by one noisy histogram."""

from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics.core import progress
from dptopics.core.errors import InputError, PrivacyError
from dptopics.core.settings import check_fields
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.bounded import Block, BoundedCorpus, UnitRows
from dptopics.kernels.doc_topics import words_by_shares
from dptopics.mechanisms.mechanism import Calibrated, Job, Mechanism, check_unit
from dptopics.mechanisms.queries import noisy_sum
from dptopics.mechanisms.topics.gaussian import expected_given_noisy, sized
from dptopics.mechanisms.topics.spectral import SpectralTopics
from dptopics.privacy.events import Gaussian
from dptopics.privacy.guarantee import Guarantee, Strength, Unit, composed
from dptopics.release.release import Release
from dptopics.release.topic_model import TopicModel

Floats = NDArray[np.float64]

_WEIGHT = 0.05  # of θ⊗θ beside the words: its k² numbers are few, and need little
_FLOOR = 1e-6  # of a topic's weight goes to all words alike


@dataclass(frozen=True)
class _WordsByShares:
    """A unit's words by the topic shares that released topics give its documents, and those shares squared."""

    known: NDArray[np.int32]
    topics: Floats
    alpha: float

    @property
    def height(self) -> int:
        """A row for each word and each topic."""
        return int(self.known.size) + self.width

    @property
    def width(self) -> int:
        return int(self.topics.shape[1])

    def __call__(self, block: Block) -> UnitRows:
        documents = block.unit_start, block.doc_start, block.word, block.counts.astype(np.float64)
        return UnitRows(*words_by_shares(*documents, self.known, self.topics, self.alpha, _WEIGHT, 20, 1e-3))


@dataclass(frozen=True, kw_only=True)
class ExtendedTopics(Calibrated):
    """Learn topics over the ``core_words`` heaviest words by ``core``, then give every other word its topics.

    Given released topics, a document's shares θ follow from its core words. A unit's vector is the mean over its
    documents of (x⊗θ, θ⊗θ), x the shares of all words, clipped to norm ``clip``; the sum gets noise of multiplier
    ``sigma``, for one unit more or less: the core must be about that relation too. Since E[x⊗θ] = φᵀE[θ⊗θ], a k × k
    system gives the topics' weights for all words: post-processing. The heaviest words are those of the noisy weights
    that a vocabulary mechanism released. ``size_sigma`` is the noise multiplier of the sizes of topics; None: they
    are not counted. Proof: docs/guarantees/spectral.md

    >>> round(ExtendedTopics.calibrated(n_topics=5, epsilon=1.0, delta=1e-6).guarantee.epsilon, 6)
    1.0
    """

    core: Mechanism[TopicModel]
    sigma: float
    delta: float
    size_sigma: float | None = None
    core_words: int = 1000
    clip: float = 0.1
    job: ClassVar[Job] = Job.TOPICS
    name: ClassVar[str] = "spectral-extended"
    paper: ClassVar[str] = "after DeCarolis et al. 2020"

    def __post_init__(self) -> None:
        check_fields(self)
        if not (0 < self.clip < inf and 0 < self.sigma < inf):
            raise InputError(f"clip and sigma must be positive numbers, got {self.clip} and {self.sigma}.")
        if self.core_words < 2:
            raise InputError(f"core_words must be at least 2, got {self.core_words}.")
        _ = self.guarantee  # the histogram's noise is made for one unit more or less: a core of 'replace' is refused

    @classmethod
    def template(cls, *, share: float = 0.2, size_share: float = 0.05, **settings: Any) -> Self:
        """Spectral topics as the core, ``share`` of the budget for the histogram, ``size_share`` for the sizes.

        ``settings`` are those of either.
        """
        if not (0 < share < 1 and 0 <= size_share < 1):
            raise InputError(f"share and size_share must lie between 0 and 1, got {share} and {size_share}.")
        own: dict[str, Any] = {name: settings.pop(name) for name in ("core_words", "clip") if name in settings}
        core = SpectralTopics.template(**settings, size_share=0.0).rescaled(1 / sqrt((1 - share) * (1 - size_share)))
        own["size_sigma"] = 1 / sqrt(size_share) if size_share else None
        return cls(core=core, sigma=1 / sqrt(share * (1 - size_share)), delta=settings["delta"], **own)

    @classmethod
    def accepts(cls) -> frozenset[str]:
        """Its own settings, and those of its core."""
        return SpectralTopics.accepts() | {"core_words", "clip", "share"}

    def check_size(self, public: int, private: int = 0) -> None:
        """Public words have no weights: which of them are the heaviest cannot be told."""
        if public and public + private > self.core_words:
            raise self._too_many(public + private)

    @property
    def size_noise(self) -> float | None:
        return self.size_sigma

    @property
    def unit(self) -> Unit:
        return self.core.unit

    @property
    def guarantee(self) -> Guarantee:
        """The events of the core, one Gaussian for the histogram, one for the sizes."""
        histogram = Guarantee(
            events=(
                Gaussian(self.sigma, nonnegative=True),
                *(() if self.size_sigma is None else (Gaussian(self.size_sigma, nonnegative=True),)),
            ),
            delta=self.delta,
            unit=self.core.unit,
            strength=Strength.PROVED,
        )
        return composed(self.core.guarantee, histogram, delta=self.delta)

    def rescaled(self, factor: float) -> Self:
        sizes = None if self.size_sigma is None else self.size_sigma * factor
        return replace(self, core=self.core.rescaled(factor), sigma=self.sigma * factor, size_sigma=sizes)

    def check(self, corpus: BoundedCorpus) -> None:
        """Public words with released weights, or few enough to be the core."""
        check_unit(self, corpus)
        self.core.check(corpus.limited(vocabulary=self.core_of(corpus.vocabulary)))

    def core_of(self, vocabulary: Vocabulary | None) -> Vocabulary:
        """The heaviest words; a list too long and without weights is refused."""
        if vocabulary is None:
            raise PrivacyError(
                "the words of this corpus are private. Put a vocabulary in front (VocabularyThenTopics)."
            )
        if len(vocabulary) > self.core_words and vocabulary.weights is None:
            raise self._too_many(len(vocabulary))
        return Vocabulary.of(vocabulary.heaviest(self.core_words))

    def _too_many(self, n_words: int) -> InputError:
        return InputError(
            f"{n_words:,} words without weights cannot be told apart: which {self.core_words:,} are the heaviest? Let "
            "a vocabulary mechanism choose them, or give a shorter list."
        )

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[TopicModel]:
        """Core topics, histogram, all topics, sizes."""
        self.check(corpus)
        vocabulary = corpus.vocabulary
        assert vocabulary is not None
        words = self.core_of(vocabulary)
        with progress.part(0.0, 0.8):
            core = self.core(corpus.limited(vocabulary=words), rng).value
        known = np.array([words.index.get(word, -1) for word in vocabulary.words], np.int32)
        statistic = _WordsByShares(known, np.ascontiguousarray(core.topic_word.T), core.alpha)
        with progress.part(0.8, 0.97):
            sums = noisy_sum(corpus, statistic, bound=self.clip, sigma=self.sigma, rng=rng)
        topics, spread = _extended(sums, known, core.topic_word, self.sigma * self.clip)
        model = replace(
            core,
            topic_word=(1 - _FLOOR) * topics + _FLOOR / len(vocabulary),
            vocabulary=vocabulary,
            noise_std=spread if core.noise_std is None else np.maximum(spread, core.noise_std),
            text=corpus.text,
        )
        if self.size_sigma is not None:
            model = sized(model, corpus, sigma=self.size_sigma, rng=rng)
        progress.report(1.0)
        return Release.of(model, self, rng)


def _extended(sums: Floats, known: NDArray[np.int32], core: Floats, noise_std: float) -> tuple[Floats, Floats]:
    """Topics × all words, from the noisy histogram and topics × core words; and the noise on a weight of each topic."""
    n = known.size
    inside = known >= 0
    if inside.all():
        return core[:, known], np.zeros(len(core))
    # Noise on θ⊗θ must not make it singular: no eigenvalue below its noise.
    shares = (sums[n:] + sums[n:].T) / (2 * _WEIGHT)
    values, vectors = np.linalg.eigh(shares)
    values = np.maximum(values, 2 * noise_std / _WEIGHT * sqrt(len(shares)))
    inverse = vectors / values @ vectors.T
    # Other words: what their counts probably were, each word's split over topics led back to its topics.
    outside = np.maximum(expected_given_noisy(sums[:n][~inside], noise_std) @ inverse, 0.0)
    mass = np.maximum(sums[:n][inside].sum(axis=0) @ inverse, 1e-9)  # of the core words, in each topic
    topics = np.empty((len(core), n))
    topics[:, inside] = core[:, known[inside]] * mass[:, None]
    topics[:, ~inside] = outside.T
    total = topics.sum(axis=1)
    return topics / total[:, None], noise_std * np.linalg.norm(inverse, axis=0) / total
