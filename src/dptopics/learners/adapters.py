"""Topic models of scikit-learn, gensim and tomotopy as learners: counts in, topics × words out.

Each runs on one thread with a fixed seed, so that it is one deterministic function of the counts.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dptopics.core.counts import Counts
from dptopics.core.errors import InputError
from dptopics.kernels.counts import distributions
from dptopics.learners import Learner
from dptopics.learners.lda import GibbsLda, VariationalLda
from dptopics.learners.spectral import SpectralLda


@dataclass(frozen=True)
class SklearnLearner:
    """Any scikit-learn estimator with ``components_``: LatentDirichletAllocation, NMF, TruncatedSVD, …

    Rows are made distributions: absolute values, divided by their sum.
    """

    estimator: Any

    def __call__(self, counts: Counts) -> NDArray[np.float64]:
        from sklearn.base import clone
        from threadpoolctl import threadpool_limits

        estimator = clone(self.estimator)
        parameters = estimator.get_params(deep=False)
        if "random_state" in parameters and parameters["random_state"] is None:
            estimator.set_params(random_state=0)
        with threadpool_limits(1):  # threads change the order of sums, and with it the last digits
            estimator.fit(counts.matrix())
        return distributions(np.asarray(estimator.components_, np.float64))


def lsi(n_topics: int) -> SklearnLearner:
    """Latent semantic indexing (Deerwester et al. 1990): a truncated singular value decomposition of the counts."""
    from sklearn.decomposition import TruncatedSVD

    return SklearnLearner(TruncatedSVD(n_topics, algorithm="randomized", random_state=0))


def plsa(n_topics: int, *, steps: int = 200, seed: int = 0, tolerance: float = 1e-5) -> SklearnLearner:
    """Probabilistic latent semantic analysis (Hofmann 1999), which is NMF under Kullback-Leibler divergence."""
    from sklearn.decomposition import NMF

    return SklearnLearner(
        NMF(
            n_topics,
            init="random",
            solver="mu",
            beta_loss="kullback-leibler",
            max_iter=steps,
            tol=tolerance,
            random_state=seed,
        )
    )


@dataclass(frozen=True)
class GensimLearner:
    """A gensim model by its class name in ``gensim.models``: LdaModel, HdpModel, LsiModel, Nmf, …

    ``settings`` go to the class. HdpModel finds its own number of topics: the ``n_topics`` heaviest are kept.
    """

    model: str
    n_topics: int
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, counts: Counts) -> NDArray[np.float64]:
        kind = _model("gensim", "gensim.models", self.model)
        names = {i: str(i) for i in range(counts.n_words)}
        documents = [
            list(zip(words.tolist(), numbers.tolist(), strict=True))
            for words, numbers in zip(
                np.split(counts.word, counts.doc_start[1:-1]),
                np.split(counts.count, counts.doc_start[1:-1]),
                strict=True,
            )
        ]
        settings = {"random_state": 0, **self.settings}
        if self.model == "LsiModel":
            settings = {"random_seed": settings.pop("random_state"), **settings}
        if self.model == "HdpModel":
            model = kind(documents, id2word=names, T=max(2 * self.n_topics, 20), **settings)
            topics = np.asarray(model.get_topics())
            shares = model.hdp_to_lda()[0]
            topics = topics[np.argsort(-np.asarray(shares), kind="stable")]
        else:
            model = kind(documents, id2word=names, num_topics=self.n_topics, **settings)
            topics = np.asarray(model.get_topics())
        return _exactly(distributions(topics), self.n_topics)


@dataclass(frozen=True)
class TomotopyLearner:
    """A tomotopy model by its class name: LDAModel, HDPModel, CTModel, …

    ``settings`` go to the class. HDPModel finds its own number of topics: the ``n_topics`` heaviest are kept.
    """

    model: str
    n_topics: int
    sweeps: int = 100
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, counts: Counts) -> NDArray[np.float64]:
        kind = _model("tomotopy", "tomotopy", self.model)
        size = "initial_k" if self.model == "HDPModel" else "k"
        model = kind(**({size: self.n_topics, "seed": 1} | dict(self.settings)))
        start, word = counts.tokens()
        for first, last in pairwise(start):
            if last > first:
                model.add_doc([str(w) for w in word[first:last]])
        model.train(self.sweeps, workers=1)
        ids = np.array([int(w) for w in model.used_vocabs])
        order = np.argsort(-np.asarray(model.get_count_by_topics()), kind="stable")
        if self.model == "HDPModel":
            order = np.array([k for k in order if model.is_live_topic(int(k))])
        topics = np.zeros((order.size, counts.n_words))
        for row, k in enumerate(order):
            topics[row, ids] = model.get_topic_word_dist(int(k))
        return _exactly(distributions(topics), self.n_topics)


def _model(package: str, module: str, name: str) -> Any:
    """A class of a package that is installed only if asked for."""
    try:
        import_module(package)
        kind = getattr(import_module(module), name, None)
    except ImportError:
        raise InputError(f"{package} models need an extra package. Run: pip install 'dptopics[{package}]'") from None
    if kind is None:
        raise InputError(f"{package} has no model {name!r}.")
    return kind


def _exactly(topics: NDArray[np.float64], n_topics: int) -> NDArray[np.float64]:
    """The first n topics; if there are fewer, uniform ones are added: a function of fixed shape is wanted."""
    missing = max(0, n_topics - topics.shape[0])
    filler = np.full((missing, topics.shape[1]), 1.0 / topics.shape[1])
    return np.concatenate([topics[:n_topics], filler])


_LEARNERS: dict[str, Callable[[int, int], Learner]] = {
    "variational": lambda n_topics, steps: VariationalLda(n_topics=n_topics, passes=steps),
    "gibbs": lambda n_topics, steps: GibbsLda(n_topics=n_topics, sweeps=steps),
    "spectral": lambda n_topics, steps: SpectralLda(n_topics=n_topics),
    "lsi": lambda n_topics, steps: lsi(n_topics),
    "plsa": lambda n_topics, steps: plsa(n_topics, steps=steps, tolerance=0.0),
    "hdp": lambda n_topics, steps: TomotopyLearner("HDPModel", n_topics, sweeps=steps),
}


def named_learner(name: str, n_topics: int, *, steps: int = 15) -> Learner:
    """variational, gibbs, spectral, lsi, plsa or hdp (truncated to so many topics).

    ``steps`` are passes or sweeps; the spectral learner and LSI have none.

    >>> named_learner("gibbs", 5, steps=20).sweeps
    20
    """
    if name not in _LEARNERS:
        raise InputError(f"there is no learner {name!r}. The learners are: {', '.join(_LEARNERS)}.")
    if steps < 1:
        raise InputError(f"steps must be at least 1, got {steps}.")
    return _LEARNERS[name](n_topics, steps)


def learner_of(learner: str | Learner, n_topics: int, steps: int = 15) -> Learner:
    """A learner by its name, or one that is given as such."""
    return named_learner(learner, n_topics, steps=steps) if isinstance(learner, str) else learner
