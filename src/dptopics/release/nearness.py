"""How near a text is to the nearest of released topics, and from where on it is far from all of them. Public rules.

Topics that are clusters of embeddings have centres: nearness is the largest cosine, and a text is far if a random
direction would come as near with a chance of 5 % or more. Topics that are distributions over words know some words:
nearness is the share of a text's words that they know, and a text is far if they know fewer than half.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dptopics.public.text import TextSettings
from dptopics.release.topic_model import TopicModel

_BY_CHANCE = 0.05
_KNOWN = 0.5


def far_below(model: TopicModel) -> float:
    """The nearness below which a text is far from every topic: a function of the release alone.

    For K centres in d dimensions, K · P(cosine of a random direction with one of them > this) = 5 %.
    """
    if model.space is None:
        return _KNOWN
    from scipy.stats import beta

    half = (model.space.centres.shape[1] - 1) / 2
    return float(2 * beta.isf(_BY_CHANCE / model.n_topics, half, half) - 1)


def topic_or_far(
    model: TopicModel, texts: Sequence[str], far: float | None, *, embedding: Any = None
) -> NDArray[np.int64]:
    """The main topic of each text; one past the last: topics know none of its words; two past: far from all topics.

    Without ``far`` no text is.
    """
    if model.space is not None:
        scores = model.cosines(texts, embedding=embedding)
        near = scores.max(axis=1)
    else:
        scores = model.transform(texts, embedding=embedding)
        near = _known_share(model, texts)
    found = np.where(np.ptp(scores, axis=1) > 0, scores.argmax(axis=1), model.n_topics)
    if far is not None:
        found = np.where((found < model.n_topics) & (near < far), model.n_topics + 1, found)
    return np.asarray(found, np.int64)


def _known_share(model: TopicModel, texts: Sequence[str]) -> NDArray[np.float64]:
    """The share of each text's words that are in the vocabulary."""
    settings, index = model.text or TextSettings(), model.vocabulary.index
    words = [settings.words(text) for text in texts]
    known = np.array([sum(word in index for word in row) for row in words], np.float64)
    return known / np.maximum([len(row) for row in words], 1)
