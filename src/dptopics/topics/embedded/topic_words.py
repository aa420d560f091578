"""Which words a document votes for, what to expect of the votes, and how to read them once noise is on them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dptopics.release.topic_model import SURE
from dptopics.topics.embedded.public_space import Space

Floats = NDArray[np.float64]

_COMMONEST = 3.0  # in documents' shares: how steeply votes fall for words that stand in many documents
_RARE = 0.02  # share of the documents from which on a word may hope to be seen, and to meet others
_POWER = 0.25  # at most, of nearness and of the share that is the topic's: the data shall say which words belong
_UNITS = 100  # of a topic, for each standard deviation of noise on a word's votes: what makes five words stand out
_SHARPNESS = 0.1  # of the share that a word gives to each topic
_PRIOR_SHARPNESS = 0.08
_PRIOR_DOUBT = 8.0  # standard deviation of the prior, in its means
_OTHERS = 0.01  # of a topic's weight for words that nothing but the prior speaks for
SEEN = 3.5  # standard deviations of the noise by which the documents must be seen to use a word
LEAST_WORDS = 5  # above the noise, for a topic that nobody asked for


def words_of_a_document(used: Floats, size: float) -> float:
    """How many distinct words a document has, from noisy numbers: each gave the root of it in all."""
    return max(1.0, max(float(used.sum()), 0.0) / size) ** 2


def units_of_a_topic(sigma: float) -> float:
    """How many units a topic needs for some of its words to stand above noise of this size."""
    return _UNITS * sigma


def trust_in_model(units: float, sigma: float) -> float:
    """The power of nearness in a word's score: the more units a topic has, the less the model needs to say."""
    return _POWER * min(1.0, units_of_a_topic(sigma) / max(units, 1.0))


def scores(space: Space, centres: Floats, n_words: float, steepness: float, trust: float) -> NDArray[np.float32]:
    """How gladly a document of topic k votes for word w: near the centre, and neither rare nor everywhere.

    Rare is what few *documents* hold, so that short texts vote for more common words: others would never meet there.
    ``trust``: how far nearness counts.
    """
    near = space.words @ centres.T
    share = np.exp((near - near.max(axis=1, keepdims=True)) / _SHARPNESS)
    share /= share.sum(axis=1, keepdims=True)
    held = n_words * space.here  # about the share of documents that hold the word
    common = np.log(_COMMONEST / np.minimum(held, 0.8 * _COMMONEST))
    telling = np.sqrt(held / (held + _RARE)) * common**steepness
    return np.asarray((np.maximum(near, 0) * share) ** trust * telling[:, None], np.float32)


def expected_votes(space: Space, centres: Floats, votes: Floats) -> Floats:
    """Words × topics, before any vote: ∝ exp(cosine/τ) · √(frequency in the language · share here)."""
    common = np.sqrt(space.frequency * space.here)
    score = space.words @ centres.T / _PRIOR_SHARPNESS + np.log(common)[:, None]
    prior = np.exp(score - score.max(axis=0))
    return np.asarray(prior / prior.sum(axis=0) * votes)


def posterior(noisy: Floats, sigma: float, expected: Floats) -> Floats:
    """Mean of each count, normal around ``expected`` give or take a multiple of it, seen through Gaussian noise.

    (noisy · v + expected · σ²)/(v + σ²), v the prior's variance; never quite zero, so that every word stays possible.
    """
    variance = (_PRIOR_DOUBT * expected) ** 2 + 0.01
    mean = (noisy * variance + expected * sigma**2) / (variance + sigma**2)
    return np.asarray(np.maximum(mean, 1e-3 * expected + 1e-9))


@dataclass(frozen=True, eq=False)
class Weights:
    """Words × topics, each column a distribution, and what noise does to them."""

    share: Floats
    deviation: Floats  # one number for each topic
    sure: NDArray[np.int64]  # words of each topic that stand above the noise


def weights(counts: Floats, sigma: float, expected: Floats, seen: NDArray[np.bool_]) -> Weights:
    """Nearly all weight goes to words that were ``seen`` in the documents, or that the votes carry.

    The others share the little that is left as the prior has it: no word of a public list looks like a finding.
    """
    sure = counts >= SURE * sigma
    spoken = np.where(sure | seen[:, None], counts, 0.0)
    total = spoken.sum(axis=0)
    others = expected / expected.sum(axis=0)
    share = np.where(total > 0, (1 - _OTHERS) * spoken / np.where(total > 0, total, 1.0) + _OTHERS * others, others)
    deviation = np.where(total > 0, (1 - _OTHERS) * sigma / np.where(total > 0, total, 1.0), 1.0)
    return Weights(share, deviation, np.count_nonzero(sure, axis=0))


def telling(sure: NDArray[np.int64], sizes: Floats, least: int) -> NDArray[np.int64]:
    """Topics with at least so many words above the noise, largest first; at least the two that have most of them.

    Documents of the others go to the nearest that stays.
    """
    most = np.lexsort((-sizes, -sure))
    kept = most[: max(2, np.count_nonzero(sure >= least))]
    return np.asarray(kept[np.argsort(-sizes[kept], kind="stable")])
