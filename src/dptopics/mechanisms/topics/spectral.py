"""Private topics by moments and tensors: three noisy bounded sums, then LDA's parameters in closed form."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics.core import progress
from dptopics.core.errors import InputError
from dptopics.data.bounded import Block, BoundedCorpus, UnitRows
from dptopics.kernels.moments import document_norms, packed_pairs, packed_triples, unit_norms, unit_scales
from dptopics.learners.spectral import parameters
from dptopics.mechanisms.mechanism import check_words
from dptopics.mechanisms.queries import noisy_sum
from dptopics.mechanisms.topics.gaussian import GaussianTopics, posterior_mean
from dptopics.privacy.events import Gaussian
from dptopics.privacy.guarantee import Guarantee
from dptopics.release.release import Release
from dptopics.release.topic_model import TopicModel

Floats = NDArray[np.float64]

BINS = 24  # of the j-th root of ‖M̃ⱼ‖, four to an octave: from 1 down to 1/64, documents of 4,096 different words
_PER_OCTAVE = 4
_ORDER = (1, 2, 3)
_EDGES = [2.0 ** (-np.arange(1, BINS) * j / _PER_OCTAVE) for j in _ORDER]  # lower edges of all bins but the last
_SURE = 2.0  # standard deviations of noise by which a count must be above what is asked for


@dataclass(frozen=True)
class NormHistogram:
    """A unit's three mean norms, each as a one in its bin, over √3: a vector of norm one. Bin 0 has the largest."""

    width: ClassVar[int] = 1
    height: ClassVar[int] = 3 * BINS

    def __call__(self, block: Block) -> UnitRows:
        """By comparisons, not by logarithms: their last digit may depend on a unit's place in the block."""
        norms = unit_norms(block.unit_start, document_norms(block.doc_start, block.counts))
        seen = norms[:, 0] > 0
        places = [np.searchsorted(-edges, -norms[seen, j]) + j * BINS for j, edges in enumerate(_EDGES)]
        rows = np.column_stack(places).astype(np.int32)
        start = np.concatenate([np.zeros(1, np.int64), np.cumsum(3 * seen, dtype=np.int64)])
        return UnitRows(start, rows.reshape(-1), np.full((rows.size, 1), 1 / sqrt(3)))


def bounds_from(noisy: Floats, noise_std: float, above: float) -> Floats:
    """Bounds on the three norms that a share ``above`` of the units exceeds, from the noisy sum of histograms.

    Bins are added up from the largest norms down, until the sum is surely, by what is known of the noise, more than the
    share asked for; inside the last bin by proportion. With few units the bounds come out too small, never wild.
    """
    counts = noisy.reshape(3, BINS) * sqrt(3)
    sure = _SURE * noise_std * sqrt(3) * np.sqrt(np.arange(1, BINS + 1))
    bounds = np.empty(3)
    for j, row in enumerate(counts):
        total = np.cumsum(row)
        wanted = max(above * total[-1], 0.0)
        past = np.flatnonzero(total > wanted + sure)
        last = int(past[0]) if past.size else BINS - 1
        before = total[last - 1] if last else 0.0
        part = np.clip((wanted - before) / max(total[last] - before, 1e-9), 0.0, 1.0)
        bounds[j] = 2.0 ** (-(last + part) * _ORDER[j] / _PER_OCTAVE)
    return bounds


def unpacked_square(packed: Floats, size: int) -> Floats:
    """A symmetric matrix from its upper triangle by rows, off the diagonal multiplied by √2."""
    matrix = np.zeros((size, size))
    at = 0
    for row in range(size):
        matrix[row, row:] = packed[at : at + size - row]
        at += size - row
    matrix /= sqrt(2)
    matrix[np.diag_indices(size)] /= sqrt(2)
    matrix += matrix.T
    return matrix


def _places(size: int) -> tuple[Any, Any, Any, Floats]:
    """The entries i ≤ j ≤ l of a symmetric tensor, in order, and the root of how often each occurs in the whole."""
    index = np.indices((size, size, size)).reshape(3, -1)
    i, j, m = index[:, (index[0] <= index[1]) & (index[1] <= index[2])]
    return i, j, m, np.sqrt(np.array([6.0, 3.0, 1.0])[(i == j).astype(int) + (j == m)])


def packed_cube(cube: Floats) -> Floats:
    """The entries i ≤ j ≤ l of a symmetric tensor, each multiplied by the root of how often it occurs."""
    i, j, m, root = _places(len(cube))
    return np.asarray(cube[i, j, m] * root)


def unpacked_cube(packed: Floats, size: int) -> Floats:
    """Inverse of :func:`packed_cube`."""
    i, j, m, root = _places(size)
    cube = np.empty((size, size, size))
    value = packed / root
    for a, b, c in ((i, j, m), (i, m, j), (j, i, m), (j, m, i), (m, i, j), (m, j, i)):
        cube[a, b, c] = value
    return cube


LARGEST_VOCABULARY = 10_000  # a number for each pair of words: 50 million
_SLACK = 1.5  # of the bound on whitened triples over what a typical document has
_LEAST_FILLED = 1e-3  # of a topic's weight is smoothed at least
_COUNTED = 4.0  # of the number of units: if that is not known, nothing is
_LOST = 0.3  # of a topic along axes that noise made: then no word of it stands above the noise
_FLOOR = 1e-6  # of a topic's weight goes to all words alike, so that no word is impossible


@dataclass(frozen=True)
class _Pairs:
    """A unit's count, words and pairs of words: the first three moments (0, 1, 2), each within its bound."""

    n_words: int
    bounds: Floats
    weights: Floats
    width: ClassVar[int] = 1

    @property
    def height(self) -> int:
        return 1 + self.n_words + self.n_words * (self.n_words + 1) // 2

    def __call__(self, block: Block) -> UnitRows:
        norms = document_norms(block.doc_start, block.counts)
        scales = unit_scales(block.unit_start, norms, self.bounds)
        documents = block.unit_start, block.doc_start, block.word, block.counts
        return UnitRows(*packed_pairs(*documents, norms, scales, self.weights, self.n_words))


@dataclass(frozen=True)
class _Triples:
    """A unit's third moment, seen through released axes, with the factor of its first moments; at most ``most``."""

    bounds: Floats
    view: Floats
    most: float
    height: ClassVar[int] = 1

    @property
    def width(self) -> int:
        k = int(self.view.shape[1])
        return k * (k + 1) * (k + 2) // 6

    def __call__(self, block: Block) -> UnitRows:
        norms = document_norms(block.doc_start, block.counts)
        scales = unit_scales(block.unit_start, norms, self.bounds) / self.most
        documents = block.unit_start, block.doc_start, block.word, block.counts
        values = packed_triples(*documents, norms, scales, self.view)
        return UnitRows(np.arange(len(values) + 1), np.zeros(len(values), np.int32), values)


@dataclass(frozen=True)
class _NoisyMoments:
    """Moments as the tensor learner wants them. Only ``third`` looks at the corpus again, through noise."""

    mean: Floats
    mean_variance: float
    noise_norm: float
    second: Floats
    third: Callable[[Floats, float], Floats]
    typical: float

    def pairs(self, block: Floats) -> Floats:
        return np.asarray(self.second @ block)

    def triples(self, whitening: Floats) -> Floats:
        """The bound is what a typical document has: (E⟨Wᵀx, Wᵀx′⟩ + E‖Wᵀx‖²/l)^(3/2) for tokens x, x′ of one."""
        view = np.ascontiguousarray(whitening)
        alike = float(np.einsum("ij,ij->", view, self.pairs(view)))
        alone = float(np.maximum(self.mean, 0.0) @ (view**2).sum(axis=1))
        return self.third(view, _SLACK * (max(alike, 1.0) + self.typical * alone) ** 1.5)


@dataclass(frozen=True, kw_only=True)
class SpectralTopics(GaussianTopics):
    """LDA by the method of moments, from three noisy sums.

    A unit's vector is the mean over its documents of at least three words of (1, M̃₁, M̃₂): unbiased shares of words
    and of pairs of words. One factor makes M̃₁, M̃₂ and M̃₃ fit three ``bounds``: given, or (None) such that about a
    share ``clipped`` of the units exceeds them, by a noisy histogram of norms. The noisy sums give the axes along which
    topics differ; along these, in k × k × k numbers, the third moments are added up, with noise again. All else is
    post-processing. ``alpha0`` is the sum of the Dirichlet parameters of documents. The shares divide the budget (in
    1/σ²) among bounds, count, words and pairs; triples get the rest. At most ``max_words`` words of a unit take part.
    Proof: docs/guarantees/spectral.md

    >>> mechanism = SpectralTopics.calibrated(n_topics=10, epsilon=2.0, delta=1e-6)
    >>> round(mechanism.guarantee.epsilon, 6)
    2.0
    """

    alpha0: float = 1.0
    bounds: tuple[float, float, float] | None = None
    clipped: float = 0.03
    bound_share: float = 0.02
    count_share: float = 0.02
    mean_share: float = 0.08
    pair_share: float = 0.75
    max_words: int = 400
    name: ClassVar[str] = "spectral"
    usual_max_vocabulary: ClassVar[int | None] = 1000  # there is noise on every pair of words
    paper: ClassVar[str] = "after DeCarolis et al. 2020"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("alpha0", "bound_share", "count_share", "mean_share", "pair_share"):
            if not 0 < getattr(self, name) < inf:
                raise InputError(f"{name} must be a positive number, got {getattr(self, name)}.")
        if self.bounds is not None and not (len(self.bounds) == 3 and all(0 < bound < inf for bound in self.bounds)):
            raise InputError(f"bounds must be three positive numbers (for words, pairs, triples), got {self.bounds}.")
        if not 0 < self.clipped < 1:
            raise InputError(f"clipped must lie strictly between 0 and 1, got {self.clipped}.")
        if self.triple_share <= 0:
            raise InputError("bound_share, count_share, mean_share and pair_share must leave a share for triples.")
        if self.max_words < 1:
            raise InputError(f"max_words must be at least 1, got {self.max_words}.")

    @property
    def first_share(self) -> float:
        """Share of the budget for count, words and pairs, which are one event."""
        return self.count_share + self.mean_share + self.pair_share

    @property
    def first_sigma(self) -> float:
        """Noise multiplier of count, words and pairs."""
        return self.in_share(self.first_share)

    @property
    def triple_share(self) -> float:
        """What is left for triples of what sizes leave of the budget."""
        return 1 - self.first_share - (self.bound_share if self.bounds is None else 0.0)

    @property
    def triple_sigma(self) -> float:
        """Noise multiplier of triples."""
        return self.in_share(self.triple_share)

    @property
    def bound_sigma(self) -> float:
        """Noise multiplier of the histogram of norms, where bounds are not given."""
        return self.in_share(self.bound_share)

    def weights(self, bounds: Floats) -> Floats:
        """What count, words and pairs are multiplied by: at their bounds they make a vector of norm one."""
        shares = np.array([self.count_share, self.mean_share, self.pair_share])
        return np.asarray(np.sqrt(shares / self.first_share) / [1.0, bounds[0], bounds[1]])

    @property
    def guarantee(self) -> Guarantee:
        """Gaussian events: norms, unless bounds are given; count, words and pairs; triples; sizes."""
        norms = () if self.bounds is not None else (Gaussian(self.bound_sigma, nonnegative=True),)
        return self.promised(*norms, Gaussian(self.first_sigma, nonnegative=True), Gaussian(self.triple_sigma))

    def check(self, corpus: BoundedCorpus) -> None:
        """The words must be public: no fewer than topics, and not too many."""
        self.check_size(len(check_words(self, corpus, corpus.vocabulary, self.n_topics)))

    def check_size(self, public: int, private: int = 0) -> None:
        """A number for each pair of words must fit in memory."""
        if public + private > LARGEST_VOCABULARY:
            raise InputError(
                f"mechanism 'spectral' counts pairs of words and takes at most {LARGEST_VOCABULARY:,} words, got "
                f"{public + private:,}. Limit them (--max-vocabulary; about 1,000 are best), or use another mechanism."
            )

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[TopicModel]:
        """Bounds, pairs, axes, triples, topics, sizes."""
        self.check(corpus)
        every, corpus = corpus, corpus.limited(max_words=self.max_words)
        vocabulary = corpus.vocabulary
        assert vocabulary is not None
        with progress.part(0.0, 0.1):
            bounds = self._bounds(corpus, rng)
        scaling = self.weights(bounds)
        with progress.part(0.1, 0.5):
            sums = noisy_sum(
                corpus, _Pairs(len(vocabulary), bounds, scaling), bound=1.0, sigma=self.first_sigma, rng=rng
            )[:, 0]

        def third(view: Floats, most: float) -> Floats:
            with progress.part(0.5, 0.97):
                packed = noisy_sum(corpus, _Triples(bounds, view, most), bound=1.0, sigma=self.triple_sigma, rng=rng)[0]
            return np.asarray(unpacked_cube(packed, view.shape[1]) * (most / units))

        units = max(sums[0] / scaling[0], 1.0)  # how many, of full weight
        noise_std = self.first_sigma / (scaling * units)  # of the noise on each mean
        d = len(vocabulary)
        moments = _NoisyMoments(
            mean=sums[1 : d + 1] / (scaling[1] * units),
            mean_variance=noise_std[1] ** 2,
            noise_norm=noise_std[2] * sqrt(2 * d),  # edge of the spectrum of symmetric noise (Wigner's semicircle)
            second=unpacked_square(sums[d + 1 :] / (scaling[2] * units), d),
            third=third,
            typical=float(bounds[0]) ** 2,
        )
        found = parameters(moments, self.n_topics, self.alpha0)
        order = np.argsort(-found.alpha, kind="stable")
        spread = found.column_norm[order] * noise_std[2] / sqrt(2)
        known = units > _COUNTED * self.first_sigma / scaling[0]  # so many standard deviations of its noise
        lost = found.noise_share[order] if known else np.ones(self.n_topics)
        common = np.maximum(moments.mean, 0.5 * noise_std[1])
        weights = _filled(found.rows[order], found.topic_word[order], common / common.sum(), spread)
        model = TopicModel(
            topic_word=(1 - _FLOOR) * weights + _FLOOR / d,
            vocabulary=vocabulary,
            topic_share=found.alpha[order] / found.alpha.sum(),
            alpha=self.alpha0 / self.n_topics,
            # To first order noise is half of what it is where it rules; a topic of which it is most says nothing.
            noise_std=np.where(lost > _LOST, 1.0, np.minimum(spread * np.sqrt(1 + 3 * lost), 1.0)),
            text=corpus.text,
        )
        return Release.of(self.sized(model, every, rng), self, rng)

    def _bounds(self, corpus: BoundedCorpus, rng: Generator) -> Floats:
        """The bounds on the three norms."""
        if self.bounds is not None:
            return np.array(self.bounds)
        return bounds_from(
            noisy_sum(corpus, NormHistogram(), bound=1.0, sigma=self.bound_sigma, rng=rng)[:, 0],
            self.bound_sigma,
            self.clipped,
        )


def _filled(rows: Floats, topics: Floats, common: Floats, spread: Floats) -> Floats:
    """Topics with what noise leaves open filled by the words' frequencies ``common``, not by zeros or by noise.

    ``rows`` as they came out, with noise of deviation ``spread`` on a weight, ``topics`` the distributions nearest to
    them: right where weights are well above the noise. Where noise is much of a row, a weight is read as its posterior
    mean under an exponential prior of the mean in ``common``; the share of noise in a row's square, as in James and
    Stein's estimate, decides between the two. First-order noise is about half of all noise where noise rules: so four
    times its square.
    """
    spread = np.maximum(spread, 1e-12)[:, None]
    far = np.maximum(((rows - common) ** 2).sum(axis=1, keepdims=True), 1e-300)
    part = np.clip(4 * common.size * spread**2 / far, _LEAST_FILLED, 1.0)
    likely = posterior_mean(rows, spread, common)
    likely /= np.maximum(likely.sum(axis=1, keepdims=True), 1e-300)
    return np.asarray((1 - part) * topics + part * likely)
