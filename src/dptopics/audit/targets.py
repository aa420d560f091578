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
from dptopics.learners.adapters import GensimLearner, SklearnLearner, TomotopyLearner
from dptopics.learners.lda_gibbs import GibbsLda
from dptopics.learners.named import named_learner
from dptopics.privacy.mechanism import Mechanism
from dptopics.release.topic_model import TopicModel


def of_learner(learner: Learner, counts: Counts) -> Trainer:
    """A learner on some documents of ``counts``, with a seed of its own each time: an attacker does not know it.

    A learner with a ``key`` field gets another key, an adapted scikit-learn, gensim or tomotopy model another seed.
    """

    def train(documents: NDArray[np.int64], seed: int) -> NDArray[np.float64]:
        return learn(seeded(learner, seed), counts.take(documents))

    return train


def seeded(learner: Learner, seed: int) -> Learner:
    """The learner with another seed, by whatever name it has one; a learner without randomness stays as it is."""
    chosen: Any = learner
    if isinstance(learner, SklearnLearner):
        from sklearn.base import clone

        estimator = clone(learner.estimator)
        if "random_state" in estimator.get_params(deep=False):
            estimator.set_params(random_state=seed)
        return replace(learner, estimator=estimator)
    if isinstance(learner, GensimLearner):
        name = "random_seed" if learner.model == "LsiModel" else "random_state"
        settings = {key: value for key, value in learner.settings.items() if key != "random_seed"}
        return replace(learner, settings=settings | {name: seed})
    if isinstance(learner, TomotopyLearner):
        return replace(learner, settings=dict(learner.settings) | {"seed": seed})
    if is_dataclass(learner) and not isinstance(learner, type) and hasattr(learner, "key"):
        chosen = replace(chosen, key=seed)
    result: Learner = chosen
    return result


def audited_learner(name: str, n_topics: int) -> Learner:
    """The learner that an audit attacks, by name: gibbs, sklearn, gensim, tomotopy, or one of ``named_learner``.

    Each is set as people use it: scikit-learn's, gensim's and tomotopy's LDA at their defaults.
    """
    if name == "gibbs":
        return GibbsLda(n_topics=n_topics, alpha=1 / n_topics, beta=1 / n_topics)
    if name == "sklearn":
        from sklearn.decomposition import LatentDirichletAllocation

        return SklearnLearner(LatentDirichletAllocation(n_topics))
    if name == "gensim":
        return GensimLearner("LdaModel", n_topics)
    if name == "tomotopy":
        return TomotopyLearner("LDAModel", n_topics)
    try:
        return named_learner(name, n_topics)
    except InputError:
        known = "gibbs, variational, sklearn, gensim, tomotopy, spectral, lsi, plsa, hdp"
        raise InputError(f"there is no learner {name!r} to audit. The learners are: {known}.") from None


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
