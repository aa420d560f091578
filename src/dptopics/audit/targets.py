"""What can be attacked: any learner, and any mechanism that releases topics. Runs are uncharged: NOT FOR RELEASE."""

from dataclasses import is_dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dptopics.audit.shadows import Trainer
from dptopics.data.corpus import Corpus
from dptopics.data.counts import Counts
from dptopics.errors import InputError, NothingReleased
from dptopics.learners import Learner, learn
from dptopics.learners.adapters import SklearnLearner
from dptopics.privacy.mechanism import Mechanism
from dptopics.release.topic_model import TopicModel


def of_learner(learner: Learner, counts: Counts) -> Trainer:
    """A learner on some documents of ``counts``, with a seed of its own each time: an attacker does not know it.

    A learner with a ``key`` field gets another key, an adapted scikit-learn estimator another ``random_state``.
    """

    def train(documents: NDArray[np.int64], seed: int) -> NDArray[np.float64]:
        chosen: Any = learner
        if isinstance(learner, SklearnLearner):
            from sklearn.base import clone

            estimator = clone(learner.estimator)
            if "random_state" in estimator.get_params(deep=False):
                estimator.set_params(random_state=seed)
            chosen = replace(learner, estimator=estimator)
        elif is_dataclass(learner) and not isinstance(learner, type) and hasattr(learner, "key"):
            chosen = replace(learner, key=seed)
        return learn(chosen, counts.take(documents))

    return train


def of_mechanism(mechanism: Mechanism[TopicModel], corpus: Corpus, *, max_docs: int | None = None) -> Trainer:
    """A mechanism on some documents of ``corpus``; columns are those of ``corpus.counts()``.

    Words that were not released have no mass in any topic, so the attack leaves them out. An empty release knows no
    word at all. The noise is seeded: these runs show how the mechanism behaves, nothing of them is published.
    """
    column = {word: i for i, word in enumerate(corpus.words)}

    def train(documents: NDArray[np.int64], seed: int) -> NDArray[np.float64]:
        bounded = corpus.take(documents).bounded(unit=mechanism.unit, max_docs=max_docs)
        try:
            model = mechanism(bounded, np.random.default_rng(seed)).value
        except NothingReleased:
            return np.zeros((2, len(corpus.words)))
        if not isinstance(model, TopicModel):
            raise InputError("this attack needs a mechanism that releases topics.")
        topics = np.zeros((model.n_topics, len(corpus.words)))
        for row, word in enumerate(model.vocabulary.words):
            if word in column:  # a public word list may hold words that nobody used
                topics[:, column[word]] = model.topic_word[:, row]
        return topics

    return train
