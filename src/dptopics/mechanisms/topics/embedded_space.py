"""Words in a public space: its axes, and candidates for centres. From public numbers and released ones alone."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from math import log, sqrt
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from dptopics.core.text import TextSettings
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.bounded import Block, UnitRows
from dptopics.kernels.embedded import in_steps, mean_of_words, nearest, projected, votes, with_size
from dptopics.mechanisms.topics.gaussian import posterior_mean
from dptopics.public.embeddings import Embedding, frequencies, unit, weighted_vectors

Floats = NDArray[np.float64]
Steps = NDArray[np.int16]  # unit vectors in steps (kernels/embedded.py)

_FREQUENT = 8000  # words that candidates are made of
_ROUNDS = 5  # that spread them
_TELLING = 1e-4  # frequency from which on a word counts for half in the axes
_FLAT = 0.05  # variance of an axis, of that of the longest, below which it is not stretched any more


@cache
def _libraries() -> ThreadpoolController:
    """Those of NumPy and SciPy, looked for once: that takes longer than most sums do."""
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()


def one_thread() -> AbstractContextManager[Any]:
    """For small matrices: threads wait for each other, and change the last digits."""
    return cast(AbstractContextManager[Any], _libraries().limit(limits=1))


@dataclass(frozen=True, eq=False)
class Space:
    """Words and candidates as unit vectors of a space of few dimensions."""

    words: Floats
    word_means: NDArray[np.float32]  # a word's part in the mean of a document
    frequency: Floats  # in the language
    here: Floats  # share of the words of these documents, read off noisy numbers
    mean: Floats
    projection: Floats


@dataclass(frozen=True, eq=False)
class PublicWords:
    """Words in a public model's own space, with what is known of them before any look at the data."""

    vectors: Floats
    frequency: Floats  # in the language
    weight: Floats  # of a word in the mean of a document

    def shares_here(self, noisy: Floats, sigma: float) -> Floats:
        """Each word's share of these documents' words, from noisy weights: the language says what to expect."""
        total = max(float(noisy.sum()), 10 * sigma)
        expected = np.maximum(self.frequency / self.frequency.sum() * total, 1e-3 * sigma)
        found = np.maximum(posterior_mean(noisy, sigma, expected), 1e-9 * total)
        return np.asarray(found / found.sum())

    def space(self, dimensions: int, here: Floats, from_data: float, evenness: float) -> Space:
        """The principal axes of the words' vectors, common words weighted most.

        ``from_data`` of the weight goes by how common a word is ``here``, the rest by the language. ``evenness`` one:
        words spread as far along each axis; zero: as they do in the model, where few axes decide.
        """
        weight = (1 - from_data) * _common(self.frequency) + from_data * _common(here)
        mean = weight @ self.vectors
        away = self.vectors - mean
        with one_thread():
            variance, axes = np.linalg.eigh((away * weight[:, None]).T @ away)
        # words of one and the same vector spread along no axis at all
        spread = np.sqrt(np.maximum(variance, max(_FLAT * float(variance[-1]), 1e-6)))
        return self.along(mean, np.ascontiguousarray((axes * spread**-evenness)[:, ::-1][:, :dimensions]), here)

    def along(self, mean: Floats, projection: Floats, here: Floats) -> Space:
        """Along axes that are known."""
        placed = (self.vectors - mean) @ projection
        # A document is the weighted mean of its words; the mean of the language is taken off each word.
        means = np.ascontiguousarray(placed * self.weight[:, None], np.float32)
        return Space(unit(placed), means, self.frequency, here, mean, projection)

    def candidates(self, space: Space, n: int, themes: Floats) -> Floats:
        """At most n possible centres in the space, spread over the frequent words, half of them over the themes."""
        words = self.vectors[np.argsort(-self.frequency, kind="stable")[:_FREQUENT]]
        found = np.concatenate([_spread(words, n - min(n // 2, len(themes))), _spread(themes, n // 2)])
        return unit((found - space.mean) @ space.projection)


def of_words(vocabulary: Vocabulary, embedding: Embedding, text: TextSettings | None) -> PublicWords:
    """A vocabulary's words by a public model."""
    language = "english" if text is None else text.language
    frequency = np.maximum(frequencies(vocabulary.words, language), 1e-9)
    vectors, weight = weighted_vectors(vocabulary.words, embedding, language)
    return PublicWords(vectors, frequency, weight)


@lru_cache(maxsize=4)
def means_of(rows: tuple[tuple[str, ...], ...], embedding: Embedding) -> Floats:
    """The mean vector of each row of words."""
    return np.array([unit(embedding.together(row).astype(np.float64)).mean(axis=0) for row in rows])


def of_seeds(seed_words: tuple[tuple[str, ...], ...], embedding: Embedding, space: Space) -> Floats:
    """A centre for each row of seed words."""
    return unit((means_of(seed_words, embedding) - space.mean) @ space.projection)


def _spread(points: Floats, n: int) -> Floats:
    return (
        k_means(points, np.ones(len(points)), n, starts=1, rounds=_ROUNDS, tries=1).centres
        if len(points) > n
        else points
    )


def _common(frequency: Floats) -> Floats:
    weight = frequency / (_TELLING + frequency)
    return np.asarray(weight / weight.sum())


SIZE_WEIGHT = 0.5  # of the count beside a unit vector in the sums of a cluster
SUMS_BOUND = sqrt(1 + SIZE_WEIGHT**2)  # L2 norm of a document's row in these sums


@dataclass(frozen=True)
class Frequencies:
    """A document's distinct words, each the same: L2 norm one together."""

    height: ClassVar[None] = None
    width: ClassVar[int] = 1

    def __call__(self, block: Block) -> UnitRows:
        """One over the root of the number of its words."""
        n_words = np.diff(block.doc_start)
        each = np.repeat(1 / np.sqrt(np.maximum(n_words, 1)), n_words)
        return UnitRows(block.doc_start[block.unit_start], block.word, each[:, None])


@dataclass(frozen=True)
class Documents:
    """Documents of a block as unit vectors of the public space: by their own vectors, or as the mean of their words."""

    space: Space
    of_words: bool
    middle: Floats

    def __call__(self, block: Block) -> Steps:
        """One row for each document; zeros where it has no place."""
        if self.of_words:
            return mean_of_words(block.doc_start, block.word, block.counts, self.space.word_means, self.middle)
        assert block.vectors is not None  # checked before
        return projected(block.vectors, self.space.mean, self.space.projection, self.middle)


def seen(block: Block) -> Steps:
    """Places of documents, of a statistic inside ``Placed``."""
    assert block.vectors is not None
    return block.vectors


@dataclass(frozen=True)
class Nearest:
    """One for the candidate nearest to each document."""

    candidates: Floats
    width: ClassVar[int] = 1

    @property
    def height(self) -> int:
        return len(self.candidates)

    def __call__(self, block: Block) -> UnitRows:
        """A one in the row of the nearest."""
        found = nearest(seen(block), in_steps(self.candidates))
        start, kept = _kept(block, found)
        return UnitRows(start, found[kept], np.ones((kept.size, 1)))


@dataclass(frozen=True)
class Sums:
    """A document's unit vector and a weight for its size, in the row of its cluster."""

    centres: Floats
    size_weight: float = SIZE_WEIGHT

    @property
    def height(self) -> int:
        return len(self.centres)

    @property
    def width(self) -> int:
        return int(self.centres.shape[1]) + 1

    def __call__(self, block: Block) -> UnitRows:
        """The vector and the weight: norm ``SUMS_BOUND`` together."""
        vectors = seen(block)
        found = nearest(vectors, in_steps(self.centres))
        start, kept = _kept(block, found)
        return UnitRows(start, found[kept], with_size(vectors, kept, self.size_weight))


@dataclass(frozen=True)
class Votes:
    """A document's votes for words, in the column of its topic."""

    centres: Floats
    score: NDArray[np.float32]
    most: int
    height: ClassVar[None] = None

    @property
    def width(self) -> int:
        return len(self.centres)

    def __call__(self, block: Block) -> UnitRows:
        """At most ``most`` words of the highest scores, norm one together."""
        found = nearest(seen(block), in_steps(self.centres))
        start, word, weight = votes(block.doc_start, block.word, found, self.score, self.most)
        values = np.zeros((word.size, self.width))
        values[np.arange(word.size), np.repeat(found, np.diff(start))] = weight
        return UnitRows(start[block.unit_start], word, values)


def _kept(block: Block, found: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Documents that have a place, and where each unit's begin among them."""
    before = np.concatenate([[0], np.cumsum(found >= 0)])
    return before[block.unit_start], np.flatnonzero(found >= 0)


_ALIKE = 0.95  # centres with a larger cosine are one
_MEMORY = 0.9  # of earlier rounds, for a cluster whose sum is all noise


def grouped(candidates: Floats, noisy: Floats, least: float, n: int) -> Floats:
    """n centres from candidates with noisy counts; those of at most ``least`` do not pull."""
    real = noisy > least
    if np.count_nonzero(real) <= n:
        return candidates[np.sort(np.argsort(-noisy, kind="stable")[:n])]
    return unit(k_means(candidates[real], noisy[real], n).centres)


class Means(NamedTuple):
    """Centres, the centre of each point, and the sum of weighted squared distances."""

    centres: Floats
    of: NDArray[np.int64]
    cost: float


def k_means(
    points: Floats, weights: Floats, n: int, *, starts: int = 10, rounds: int = 100, tries: int | None = None
) -> Means:
    """The best of several starts of Lloyd's algorithm from k-means++ (Arthur and Vassilvitskii 2007); always the same.

    Each first centre is the best of ``tries``, 2 + log n if that is None. Beside scikit-learn's it spares its import,
    which takes longer than all of these sums.
    """
    draw, tries = np.random.Generator(np.random.PCG64(0)), 2 + int(log(n)) if tries is None else tries
    given = points, (points**2).sum(axis=1), weights
    with one_thread():
        found = (_lloyd(*given, _first(*given, n, draw, tries), rounds) for _ in range(starts))
        return min(found, key=lambda one: one.cost)


def _apart(points: Floats, square: Floats, centres: Floats) -> Floats:
    far = square[:, None] - 2 * (points @ centres.T) + (centres**2).sum(axis=1)
    return np.asarray(np.maximum(far, 0.0))


def _first(points: Floats, square: Floats, weights: Floats, n: int, draw: Generator, tries: int) -> Floats:
    chosen = np.zeros(n, np.int64)
    least = np.ones(len(points))
    for k in range(n):
        mass = np.cumsum(weights * least)
        lots = np.minimum(np.searchsorted(mass, draw.random(tries) * mass[-1]), len(points) - 1)
        near = _apart(points, square, points[lots]).T
        near = near if k == 0 else np.minimum(near, least)
        best = int((near @ weights).argmin())
        chosen[k], least = lots[best], near[best]
    return points[chosen]


def _lloyd(points: Floats, square: Floats, weights: Floats, centres: Floats, rounds: int) -> Means:
    of = np.full(len(points), -1)
    for _ in range(rounds):
        before, of = of, _apart(points, square, centres).argmin(axis=1)
        if np.array_equal(of, before):
            break
        order, mass = np.argsort(of, kind="stable"), np.bincount(of, weights, len(centres))
        there, first = np.unique(of[order], return_index=True)
        centres = centres.copy()
        sums = np.add.reduceat(points[order] * weights[order, None], first, axis=0)
        centres[there] = sums / np.maximum(mass[there], 1e-300)[:, None]
    return Means(centres, of, float(weights @ _apart(points, square, centres).min(axis=1)))


@dataclass(frozen=True, eq=False)
class Moving:
    """Centres between two rounds, with what earlier rounds said of each."""

    centres: Floats
    sums: Floats
    variance: Floats  # of the noise in ``sums``, in that of one round

    @classmethod
    def at(cls, centres: Floats) -> "Moving":
        """Where they start: nothing was said yet."""
        return cls(centres, np.zeros_like(centres), np.zeros(len(centres)))

    def by(self, noisy: Floats, noise_std: float) -> "Moving":
        """After a round's noisy sums of unit vectors; ``noise_std`` is the standard deviation of their noise.

        Where a cluster's sum is lost in the noise, those of earlier rounds are added to it, which nearly the same
        documents made: noise grows slower than they do. What noise outweighs even so stays where it was.
        """
        kept = _MEMORY * (1 - _trust(noisy, noise_std))
        sums = kept[:, None] * self.sums + noisy
        variance = kept**2 * self.variance + 1
        trust = _trust(sums, noise_std * np.sqrt(variance))[:, None]
        return Moving(unit(trust * unit(sums) + (1 - trust) * self.centres), sums, variance)

    def leaning(self, seeds: Floats, share: float) -> "Moving":
        """The first centres drawn by a ``share`` towards their seeds."""
        leant = unit((1 - share) * self.centres[: len(seeds)] + share * seeds)
        return replace(self, centres=np.concatenate([leant, self.centres[len(seeds) :]]))


def _trust(sums: Floats, noise_std: float | Floats) -> Floats:
    """How much of each row's square is not noise (James and Stein 1961), at least zero."""
    noise = sums.shape[1] * np.square(noise_std)
    return np.asarray(np.maximum(0.0, 1 - noise / np.maximum((sums**2).sum(axis=1), 1e-300)))


@dataclass(frozen=True, eq=False)
class Clusters:
    """Centres with their noisy sizes, and which seed each began from (−1: none)."""

    centres: Floats
    sizes: Floats
    seeds: NDArray[np.int64]

    @classmethod
    def of(cls, centres: Floats, sizes: Floats, n_seeds: int = 0) -> "Clusters":
        """As they came out of the rounds: those that were seeded first."""
        number = np.arange(len(centres))
        return cls(centres, np.maximum(sizes, 1.0), np.where(number < n_seeds, number, -1))

    def take(self, chosen: Sequence[int] | NDArray[np.int64]) -> "Clusters":
        index = np.asarray(chosen, np.int64)
        return Clusters(self.centres[index], self.sizes[index], self.seeds[index])


def merged(clusters: Clusters, n: int) -> Clusters:
    """At most n centres: again and again the two are joined that add least to the squared distances (Ward 1963).

    Two that were seeded stay apart.
    """
    centres, sizes, seeds = clusters.centres.copy(), clusters.sizes.copy(), clusters.seeds
    while len(centres) > n:
        apart = ((centres[:, None] - centres[None]) ** 2).sum(axis=2)
        cost = sizes[:, None] * sizes / (sizes[:, None] + sizes) * apart
        cost[(seeds[:, None] >= 0) & (seeds >= 0)] = np.inf
        np.fill_diagonal(cost, np.inf)
        stays, goes = sorted(divmod(int(cost.argmin()), len(centres)))
        both = sizes[stays] + sizes[goes]
        centres[stays] = (sizes[stays] * centres[stays] + sizes[goes] * centres[goes]) / both
        sizes[stays] = both
        centres, sizes, seeds = np.delete(centres, goes, axis=0), np.delete(sizes, goes), np.delete(seeds, goes)
    return Clusters(unit(centres), sizes, seeds)


def strong(clusters: Clusters, least: float) -> Clusters:
    """Clusters of at least the given noisy size; those whose centres lie together are merged. The largest two stay."""
    kept: list[int] = []
    centres, sizes, seeds = clusters.centres, clusters.sizes.copy(), clusters.seeds.copy()
    for k in np.argsort(-sizes, kind="stable"):
        twins = [j for j in kept if centres[j] @ centres[k] > _ALIKE]
        if len(kept) < 2 or (sizes[k] >= least and not twins):
            kept.append(int(k))
        elif twins:
            sizes[twins[0]] += sizes[k]
            seeds[twins[0]] = max(seeds[twins[0]], seeds[k])
    return Clusters(centres, sizes, seeds).take(kept)
