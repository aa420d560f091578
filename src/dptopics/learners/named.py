"""Learners by the names that people type."""

from collections.abc import Callable

from dptopics.errors import InputError
from dptopics.learners import Learner
from dptopics.learners.adapters import TomotopyLearner, lsi, plsa
from dptopics.learners.lda_gibbs import GibbsLda
from dptopics.learners.lda_variational import VariationalLda
from dptopics.learners.spectral import SpectralLda

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
