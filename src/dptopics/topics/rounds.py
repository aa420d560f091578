"""Learning topics in rounds, each from one noisy words × topics table: what follows the noise. Post-processing."""

from collections.abc import Callable
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from dptopics.public.text import TextSettings
from dptopics.release.topic_model import TopicModel
from dptopics.release.vocabulary import Vocabulary
from dptopics.topics.seeds import SeedWords, leaning, seed_shares
from dptopics.topics.shrink import expected_given_noisy

Floats = NDArray[np.float64]
_EVERY_WORD = 0.01  # of a count: no topic gives a word no weight at all


def learned_in_rounds(
    vocabulary: Vocabulary,
    n_topics: int,
    noisy_table: Callable[[Floats, int], Floats],
    *,
    steps: int,
    last: float,
    deviation: float,
    start: int,
    alpha: float,
    text: TextSettings | None,
    seed_words: SeedWords = (),
) -> TopicModel:
    """Topics after ``steps`` rounds; ``noisy_table`` is given topics and the round, its noise has ``deviation``.

    Early rounds move fast; later ones average, which cuts the noise: the weight of a new table falls from one to
    ``last``. That, like the start, is public. The average is read as counts given the known noise.
    """
    seeds = seed_shares(seed_words, vocabulary)
    topics = _public_start((len(vocabulary), n_topics), start)
    average, variance = np.zeros(topics.shape), 0.0
    counts = average
    for step in range(steps):
        weight = 1.0 - (1.0 - last) * step / max(1, steps - 1)
        average = (1 - weight) * average + weight * noisy_table(leaning(topics, seeds), step)
        variance = (1 - weight) ** 2 * variance + (weight * deviation) ** 2
        counts = expected_given_noisy(average, sqrt(variance)) + _EVERY_WORD
        topics = counts / counts.sum(axis=0)
    total = counts.sum(axis=0)
    return TopicModel(
        topic_word=np.ascontiguousarray(topics.T),
        vocabulary=vocabulary,
        topic_share=total / total.sum(),
        alpha=alpha,
        deviation=sqrt(variance) / total,
        text=text,
        seeds=np.where(np.arange(n_topics) < len(seed_words), np.arange(n_topics), -1) if seed_words else None,
    )


def _public_start(shape: tuple[int, int], start: int) -> Floats:
    """Random topics to begin with, drawn without the data from a public number."""
    topics = np.random.Generator(np.random.PCG64(start)).gamma(1.0, 1.0, shape)
    return np.asarray(topics / topics.sum(axis=0))
