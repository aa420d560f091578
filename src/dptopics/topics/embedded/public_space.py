"""What can be said of words and centres without the data: a public space, candidates, scores and priors."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dptopics.public.embeddings import Embedding, frequencies, unit, word_weights
from dptopics.public.text import TextSettings
from dptopics.release.vocabulary import Vocabulary

Floats = NDArray[np.float64]

_COMMONEST = 0.005  # frequency of a word that nobody votes for
_FREQUENT = 8000  # words that candidates are made of
# Chosen on public corpora (Wikipedia for Schools, Reddit posts; see docs/utility.md), never on the evaluation's.
_SHARPNESS = 0.1  # of the share that a word gives to each topic
_PRIOR_SHARPNESS = 0.08
_PRIOR_FREQUENCY = 0.6
_PRIOR_DOUBT = 8.0  # standard deviation of the prior, in its means
_ALIKE = 0.95  # centres with a larger cosine are one


@dataclass(frozen=True, eq=False)
class Space:
    """Words as unit vectors of a public space of few dimensions."""

    words: Floats
    word_means: NDArray[np.float32]  # a word's part in the mean of a document
    frequency: Floats
    mean: Floats
    projection: Floats

    def candidates(self, n: int) -> Floats:
        """Unit vectors spread over the frequent words: possible centres."""
        from sklearn.cluster import MiniBatchKMeans

        frequent = self.words[np.argsort(-self.frequency, kind="stable")[:_FREQUENT]]
        if len(frequent) <= n:
            return frequent
        groups = MiniBatchKMeans(n, n_init=1, batch_size=2048, random_state=0).fit(frequent)
        return unit(groups.cluster_centers_.astype(np.float64))

    def word_scores(self, centres: Floats) -> NDArray[np.float32]:
        """How gladly a document of topic k votes for word w: cosine × rarity × √(share of w that is k's)."""
        near = self.words @ centres.T
        share = np.exp((near - near.max(axis=1, keepdims=True)) / _SHARPNESS)
        share /= share.sum(axis=1, keepdims=True)
        rarity = np.log(_COMMONEST / np.minimum(self.frequency + 1e-7, 0.9 * _COMMONEST))
        return np.asarray(np.maximum(near, 0) * rarity[:, None] * np.sqrt(share), np.float32)

    def word_prior(self, centres: Floats) -> Floats:
        """Words × topics: which words a topic has, before any vote: p ∝ exp(cosine/τ) · frequency^a."""
        scores = self.words @ centres.T / _PRIOR_SHARPNESS + _PRIOR_FREQUENCY * np.log(self.frequency)[:, None]
        prior = np.exp(scores - scores.max(axis=0))
        return np.asarray(prior / prior.sum(axis=0))


def of_words(vocabulary: Vocabulary, embedding: Embedding, text: TextSettings | None, dimensions: int) -> Space:
    """The principal axes of a vocabulary's vectors, common words weighted most."""
    language = "english" if text is None else text.language
    frequency = np.maximum(frequencies(vocabulary.words, language), 1e-9)
    vectors = unit(embedding.together(vocabulary.words).astype(np.float64))
    weight = frequency / (1e-4 + frequency)
    weight /= weight.sum()
    mean = weight @ vectors
    away = vectors - mean
    _, axes = np.linalg.eigh((away * weight[:, None]).T @ away)
    projection = np.ascontiguousarray(axes[:, ::-1][:, :dimensions])
    placed = away @ projection
    # A document is the weighted mean of its words; the mean of the language is taken off each word.
    means = placed * word_weights(vocabulary.words, language)[:, None]
    return Space(unit(placed), np.ascontiguousarray(means, np.float32), frequency, mean, projection)


def grouped(candidates: Floats, noisy: Floats, sigma: float, n: int) -> Floats:
    """n centres from candidates with noisy counts. Counts that could be noise do not pull."""
    from sklearn.cluster import KMeans

    real = noisy > 2 * sigma
    if np.count_nonzero(real) <= n:
        return candidates[np.sort(np.argsort(-noisy, kind="stable")[:n])]
    groups = KMeans(n, n_init=10, random_state=0).fit(candidates[real], sample_weight=noisy[real])
    return unit(groups.cluster_centers_.astype(np.float64))


def strong(centres: Floats, sizes: Floats, least: float) -> tuple[Floats, Floats]:
    """Clusters of at least the given noisy size; those whose centres lie together are merged. The largest two stay."""
    kept: list[int] = []
    sizes = np.maximum(sizes, 1.0)
    for k in np.argsort(-sizes, kind="stable"):
        twins = [j for j in kept if centres[j] @ centres[k] > _ALIKE]
        if len(kept) < 2 or (sizes[k] >= least and not twins):
            kept.append(int(k))
        elif twins:
            sizes[twins[0]] += sizes[k]
    return centres[kept], sizes[kept]


def posterior(noisy: Floats, sigma: float, expected: Floats) -> Floats:
    """Mean of each count, normal around ``expected`` give or take a multiple of it, seen through Gaussian noise.

    (noisy · v + expected · σ²)/(v + σ²), v the prior's variance; never quite zero, so that every word stays possible.
    """
    variance = (_PRIOR_DOUBT * expected) ** 2 + 0.01
    mean = (noisy * variance + expected * sigma**2) / (variance + sigma**2)
    return np.asarray(np.maximum(mean, 1e-3 * expected + 1e-9))
