"""What a topic matrix says of the words of its data: which there were, and how often. NOT FOR RELEASE."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def present_words(topics: Floats) -> NDArray[np.bool_]:
    """Words above the floor of some topic: the floor is what smoothing gives to a word that the data never held."""
    return np.asarray((topics > topics.min(axis=1, keepdims=True) * 1.01).any(axis=0))


def decoded_counts(topics: Floats) -> Floats | None:
    """How often each word was written, from φ_kw = (n_kw + β)/(n_k + Vβ): None where that does not give whole numbers.

    A row divided by its smallest entry is n_kw/β + 1 where some word has no token in the topic. Added over topics and
    divided by the smallest positive sum (a word that was written once), it is the count of the word. Variational
    learners spread a token over topics, and their sums are whole all the same.
    """
    floor = topics.min(axis=1, keepdims=True)
    if np.any(floor <= 0) or not np.all(np.isfinite(topics)):
        return None
    total = np.sum(topics / floor - 1, axis=0)
    written = total > 1e-3 * total.max(initial=0.0) / max(total.size, 1)
    if not written.any():
        return None
    total = total / total[written].min()
    whole = np.rint(total)
    close = np.abs(total - whole) <= 0.02 + 1e-4 * whole
    return whole if np.mean(close) >= 0.99 and np.mean(close[written]) >= 0.95 else None
