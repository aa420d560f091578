"""Topics that somebody wants to see, by public words for each: where to begin, and what to lean to. Never evidence.

The words that a release shows come from the noisy sums alone. Seeds only say where documents are looked for.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from dptopics.errors import InputError
from dptopics.release.vocabulary import Vocabulary

Floats = NDArray[np.float64]
SeedWords = tuple[tuple[str, ...], ...]
LEAN = 0.3  # how far a seeded topic leans to its words in every round


def checked_seeds(seed_words: Iterable[Sequence[str]], n_topics: int) -> SeedWords:
    """One row of words for each wanted topic, at most as many as there are topics.

    >>> checked_seeds([["rash", "skin"], ["knee"]], 5)
    (('rash', 'skin'), ('knee',))
    """
    if isinstance(seed_words, str):
        raise InputError("seed_words must be a list of lists of words, one for each topic, got a single string.")
    rows = []
    for row in seed_words:
        if isinstance(row, str) or not row or not all(isinstance(word, str) and word.strip() for word in row):
            raise InputError("every topic of seed_words must be a list of at least one word.")
        rows.append(tuple(row))
    if len(rows) > n_topics:
        raise InputError(f"there are seed words for {len(rows)} topics, but only {n_topics} topics. Ask for more.")
    return tuple(rows)


def seed_shares(seed_words: SeedWords, vocabulary: Vocabulary) -> Floats:
    """Words × seeds: each topic's seed words that are in the vocabulary, all the same; zeros where none is."""
    found = np.zeros((len(vocabulary), len(seed_words)))
    for k, row in enumerate(seed_words):
        known = [vocabulary.index[word] for word in dict.fromkeys(row) if word in vocabulary.index]
        if known:
            found[known, k] = 1 / len(known)
    return found


def leaning(topics: Floats, seeds: Floats) -> Floats:
    """Topics (columns), the first of which lean to their seeds."""
    if not seeds.shape[1]:
        return topics
    led = topics.copy()
    known = np.flatnonzero(seeds.any(axis=0))
    led[:, known] = (1 - LEAN) * led[:, known] + LEAN * seeds[:, known]
    return led
