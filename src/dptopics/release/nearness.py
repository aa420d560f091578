"""Whether a text is far from every released topic: a public rule, which follows from the release alone.

A text is far if the topics know none of its words. Topics that are clusters of embeddings also have centres, and know
nearly every word: there a text is far, too, if none of its words stands out of the noise in any topic, and its cosines
with all centres are no larger than a random direction may have by chance. (Of the rules that were tried, on tweets to
airlines and on Reddit posts, with texts from elsewhere, this one told new texts best from usual ones.)
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dptopics.public.text import TextSettings
from dptopics.release.topic_model import SURE, TopicModel

_BY_CHANCE = 0.05


def far_below(model: TopicModel) -> float | None:
    """The cosine below which a text is far from every topic; None for topics without centres.

    For K centres in d dimensions, 1 − (1 − P(cosine of a random direction with one of them > this))^K is 5 %.
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
    if far is None:
        topic = model.assign(texts, embedding=embedding)
        return np.where(topic < 0, model.n_topics, topic)
    scores = model.cosines(texts, embedding=embedding)
    near = scores.max(axis=1) >= far
    doubtful = np.flatnonzero(~near)
    near[doubtful] = _some_word_stands_out(model, [texts[i] for i in doubtful.tolist()])
    return np.asarray(np.where(near, scores.argmax(axis=1), model.n_topics), np.int64)


def _some_word_stands_out(model: TopicModel, texts: Sequence[str]) -> list[bool]:
    """Whether a word of each text is above the noise in any topic; where the noise is not known, no word is."""
    if model.deviation is None:
        return [False] * len(texts)
    above = (model.topic_word >= SURE * model.deviation[:, None]).any(axis=0)
    stand_out = {model.vocabulary.words[i] for i in np.flatnonzero(above).tolist()}
    settings = model.text or TextSettings()
    return [not stand_out.isdisjoint(settings.words(text)) for text in texts]
