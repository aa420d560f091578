"""Whether a text is far from every released topic: a public rule, which follows from the release alone.

A text is far if the topics know none of its words. Topics that are clusters of embeddings also have centres: there a
text is far, too, if a random direction would more likely than not have a larger cosine with one of them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dptopics.release.topic_model import TopicModel

_BY_CHANCE = 0.5


def far_below(model: TopicModel) -> float | None:
    """The cosine below which a text is far from every topic; None for topics without centres.

    For K centres in d dimensions, 1 − (1 − P(cosine of a random direction with one of them > this))^K is one half.
    """
    if model.space is None:
        return None
    from scipy.stats import beta

    half = (model.space.centres.shape[1] - 1) / 2
    return float(2 * beta.isf(1 - (1 - _BY_CHANCE) ** (1 / model.n_topics), half, half) - 1)


def topic_or_far(
    model: TopicModel, texts: Sequence[str], far: float | None, *, embedding: Any = None
) -> NDArray[np.int64]:
    """The main topic of each text; one past the last for a text that is far from all of them."""
    asked = model.transform if far is None else model.cosines
    scores = asked(texts, embedding=embedding)
    known = np.ptp(scores, axis=1) > 0  # texts without known words have equal shares, or cosines of zero
    near = known if far is None else known & (scores.max(axis=1) >= far)
    return np.asarray(np.where(near, scores.argmax(axis=1), model.n_topics), np.int64)
