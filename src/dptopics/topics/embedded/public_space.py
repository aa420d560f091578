"""Words and centres in a public space: axes, candidates, groups. From public numbers and released ones alone."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from dptopics.public.embeddings import Embedding, frequencies, unit, word_weights
from dptopics.public.text import TextSettings
from dptopics.release.vocabulary import Vocabulary
from dptopics.topics.shrink import posterior_mean

Floats = NDArray[np.float64]

_FREQUENT = 8000  # words that candidates are made of
_TELLING = 1e-4  # frequency from which on a word counts for half in the axes
_ALIKE = 0.95  # centres with a larger cosine are one


@dataclass(frozen=True, eq=False)
class Space:
    """Words and candidates as unit vectors of a space of few dimensions."""

    words: Floats
    word_means: NDArray[np.float32]  # a word's part in the mean of a document
    candidates: Floats  # possible centres
    frequency: Floats  # in the language
    here: Floats  # share of the words of these documents, read off noisy numbers
    mean: Floats
    projection: Floats


@dataclass(frozen=True, eq=False)
class PublicWords:
    """Words in a public model's own space, with what is known of them before any look at the data."""

    vectors: Floats
    candidates: Floats  # points spread over the frequent words
    frequency: Floats  # in the language
    weight: Floats  # of a word in the mean of a document

    def shares_here(self, noisy: Floats, sigma: float) -> Floats:
        """Each word's share of these documents' words, from noisy weights: the language says what to expect."""
        total = max(float(noisy.sum()), 10 * sigma)
        expected = np.maximum(self.frequency / self.frequency.sum() * total, 1e-3 * sigma)
        found = np.maximum(posterior_mean(noisy, sigma, expected), 1e-9 * total)
        return np.asarray(found / found.sum())

    def space(self, dimensions: int, here: Floats, from_data: float) -> Space:
        """The principal axes of the words' vectors, common words weighted most.

        ``from_data`` of the weight goes by how common a word is ``here``, the rest by the language.
        """
        weight = (1 - from_data) * _common(self.frequency) + from_data * _common(here)
        mean = weight @ self.vectors
        away = self.vectors - mean
        _, axes = np.linalg.eigh((away * weight[:, None]).T @ away)
        projection = np.ascontiguousarray(axes[:, ::-1][:, :dimensions])
        placed = away @ projection
        # A document is the weighted mean of its words; the mean of the language is taken off each word.
        means = np.ascontiguousarray(placed * self.weight[:, None], np.float32)
        candidates = unit((self.candidates - mean) @ projection)
        return Space(unit(placed), means, candidates, self.frequency, here, mean, projection)


def of_words(vocabulary: Vocabulary, embedding: Embedding, text: TextSettings | None, n: int) -> PublicWords:
    """A vocabulary's words by a public model, and n candidates."""
    from sklearn.cluster import MiniBatchKMeans

    language = "english" if text is None else text.language
    frequency = np.maximum(frequencies(vocabulary.words, language), 1e-9)
    vectors = unit(embedding.together(vocabulary.words).astype(np.float64))
    candidates = vectors[np.argsort(-frequency, kind="stable")[:_FREQUENT]]
    if len(candidates) > n:
        with threadpool_limits(1):  # small matrices: threads wait for each other, and on a busy machine very long
            groups = MiniBatchKMeans(n, n_init=1, batch_size=2048, random_state=0).fit(candidates)
        candidates = groups.cluster_centers_.astype(np.float64)
    return PublicWords(vectors, candidates, frequency, word_weights(vocabulary.words, language))


def of_seeds(seed_words: Sequence[Sequence[str]], embedding: Embedding, space: Space) -> Floats:
    """A centre for each row of seed words: the mean of their vectors."""
    rows = [unit(embedding.together(tuple(row)).astype(np.float64)).mean(axis=0) for row in seed_words]
    return unit((np.array(rows) - space.mean) @ space.projection)


def grouped(candidates: Floats, noisy: Floats, sigma: float, n: int) -> Floats:
    """n centres from candidates with noisy counts. Counts that could be noise do not pull."""
    from sklearn.cluster import KMeans

    real = noisy > 2 * sigma
    if np.count_nonzero(real) <= n:
        return candidates[np.sort(np.argsort(-noisy, kind="stable")[:n])]
    with threadpool_limits(1):
        groups = KMeans(n, n_init=10, random_state=0).fit(candidates[real], sample_weight=noisy[real])
    return unit(groups.cluster_centers_.astype(np.float64))


@dataclass(frozen=True, eq=False)
class Clusters:
    """Centres with their noisy sizes, of how many clusters each is made, and which seed each began from (−1: none)."""

    centres: Floats
    sizes: Floats
    parts: Floats
    seeds: NDArray[np.int64]

    @classmethod
    def of(cls, centres: Floats, sizes: Floats, n_seeds: int = 0) -> "Clusters":
        """As they came out of the rounds: those that were seeded first."""
        number = np.arange(len(centres))
        return cls(centres, np.maximum(sizes, 1.0), np.ones(len(centres)), np.where(number < n_seeds, number, -1))

    def take(self, chosen: Sequence[int] | NDArray[np.int64]) -> "Clusters":
        """Some of them, in this order."""
        index = np.asarray(chosen, np.int64)
        return Clusters(self.centres[index], self.sizes[index], self.parts[index], self.seeds[index])


def merged(clusters: Clusters, n: int) -> Clusters:
    """At most n centres: again and again the two are joined that add least to the squared distances (Ward 1963).

    Two that were seeded stay apart.
    """
    centres, sizes, parts, seeds = (
        clusters.centres.copy(),
        clusters.sizes.copy(),
        clusters.parts.copy(),
        clusters.seeds,
    )
    while len(centres) > n:
        apart = ((centres[:, None] - centres[None]) ** 2).sum(axis=2)
        cost = sizes[:, None] * sizes / (sizes[:, None] + sizes) * apart
        cost[(seeds[:, None] >= 0) & (seeds >= 0)] = np.inf
        np.fill_diagonal(cost, np.inf)
        stays, goes = sorted(divmod(int(cost.argmin()), len(centres)))
        both = sizes[stays] + sizes[goes]
        centres[stays] = (sizes[stays] * centres[stays] + sizes[goes] * centres[goes]) / both
        sizes[stays] = both
        parts[stays] += parts[goes]
        centres, sizes, parts = np.delete(centres, goes, axis=0), np.delete(sizes, goes), np.delete(parts, goes)
        seeds = np.delete(seeds, goes)
    return Clusters(unit(centres), sizes, parts, seeds)


def strong(clusters: Clusters, least: float) -> Clusters:
    """Clusters of at least the given noisy size; those whose centres lie together are merged. The largest two stay."""
    kept: list[int] = []
    centres, sizes, parts, seeds = clusters.centres, clusters.sizes.copy(), clusters.parts.copy(), clusters.seeds.copy()
    for k in np.argsort(-sizes, kind="stable"):
        twins = [j for j in kept if centres[j] @ centres[k] > _ALIKE]
        if len(kept) < 2 or (sizes[k] >= least and not twins):
            kept.append(int(k))
        elif twins:
            sizes[twins[0]] += sizes[k]
            parts[twins[0]] += parts[k]
            seeds[twins[0]] = max(seeds[twins[0]], seeds[k])
    return Clusters(centres, sizes, parts, seeds).take(kept)


def _common(frequency: Floats) -> Floats:
    weight = frequency / (_TELLING + frequency)
    return np.asarray(weight / weight.sum())
