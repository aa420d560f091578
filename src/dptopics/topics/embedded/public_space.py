"""Words in a public space: its axes, and candidates for centres. From public numbers and released ones alone."""

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
_FLAT = 0.05  # variance of an axis, of that of the longest, below which it is not stretched any more


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

    def space(self, dimensions: int, here: Floats, from_data: float, evenness: float) -> Space:
        """The principal axes of the words' vectors, common words weighted most.

        ``from_data`` of the weight goes by how common a word is ``here``, the rest by the language. ``evenness`` one:
        words spread as far along each axis; zero: as they do in the model, where few axes decide.
        """
        weight = (1 - from_data) * _common(self.frequency) + from_data * _common(here)
        mean = weight @ self.vectors
        away = self.vectors - mean
        variance, axes = np.linalg.eigh((away * weight[:, None]).T @ away)
        # words of one and the same vector spread along no axis at all
        spread = np.sqrt(np.maximum(variance, max(_FLAT * float(variance[-1]), 1e-6)))
        projection = np.ascontiguousarray((axes * spread**-evenness)[:, ::-1][:, :dimensions])
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


def _common(frequency: Floats) -> Floats:
    weight = frequency / (_TELLING + frequency)
    return np.asarray(weight / weight.sum())
