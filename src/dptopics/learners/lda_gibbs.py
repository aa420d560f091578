"""LDA by collapsed Gibbs sampling, deterministic by a key."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dptopics import progress
from dptopics.data.counts import Counts
from dptopics.kernels.gibbs import gibbs_sweep, start_topics
from dptopics.kernels.simd import STEP
from dptopics.kernels.siphash import siphash
from dptopics.learners import check_topics


class GibbsState(NamedTuple):
    """Where the sampler is: a topic for each token, and the counts that follow from it."""

    start: NDArray[np.int64]
    word: NDArray[np.int32]
    topic: NDArray[np.int32]
    word_topic: NDArray[np.float32]  # words × topics, topics padded with zeros
    topic_total: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class GibbsLda:
    """Latent Dirichlet allocation by collapsed Gibbs sampling (Griffiths & Steyvers 2004).

    A function of the counts and ``key`` alone: the same on any machine load and thread count, and without a document
    all others draw the same random numbers as with it. Topics are the posterior mean given the last sweep's counts.

    >>> from dptopics.learners import two_documents
    >>> GibbsLda(n_topics=2, sweeps=20)(two_documents()).max(axis=1).round(2)
    array([1., 1.])
    """

    n_topics: int
    alpha: float = 0.1
    beta: float = 0.01
    sweeps: int = 100
    key: int = 0

    def __post_init__(self) -> None:
        check_topics(self.n_topics, self.alpha, self.beta)

    def __call__(self, counts: Counts) -> NDArray[np.float64]:
        """Run all sweeps and return topics × words."""
        state = self.begin(counts)
        seeds = self.seeds(counts)
        for sweep in range(self.sweeps):
            self.sweep(state, seeds, sweep)
            progress.report((sweep + 1) / self.sweeps)
        return self.topics(state)

    def begin(self, counts: Counts) -> GibbsState:
        """Every token in a random topic."""
        start, word = counts.tokens()
        padded = -(-self.n_topics // STEP) * STEP
        word_topic = np.zeros((counts.n_words, padded), np.float32)
        topic = start_topics(start, word, self.seeds(counts), word_topic, self.n_topics)
        topic_total = np.bincount(topic, minlength=padded).astype(np.int64)
        return GibbsState(start, word, topic, word_topic, topic_total)

    def sweep(self, state: GibbsState, seeds: NDArray[np.uint64], sweep: int) -> None:
        """Draw every token's topic once more."""
        gibbs_sweep(*state, self.alpha, self.beta, self.n_topics, seeds, sweep)

    def topics(self, state: GibbsState) -> NDArray[np.float64]:
        """φ_kw = (n_kw + β)/(n_k + Vβ)."""
        counts = state.word_topic[:, : self.n_topics].T.astype(np.float64) + self.beta
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))

    def seeds(self, counts: Counts) -> NDArray[np.uint64]:
        """A random stream for each document, by its content and the key."""
        return siphash(counts.doc_key, np.uint64(self.key), np.uint64(0))


def log_likelihood(state: GibbsState, n_topics: int, alpha: float, beta: float) -> float:
    """log p(words, topics) per token of the current state (Griffiths & Steyvers 2004, equations 2 and 3)."""
    from scipy.special import gammaln

    n_docs, n_words = state.start.size - 1, state.word_topic.shape[0]
    doc = np.repeat(np.arange(n_docs), np.diff(state.start))
    doc_topic = np.bincount(doc * n_topics + state.topic, minlength=n_docs * n_topics)
    word_topic = state.word_topic[:, :n_topics]
    total = np.sum(gammaln(word_topic + beta)) - word_topic.size * gammaln(beta)
    total -= np.sum(gammaln(state.topic_total[:n_topics] + n_words * beta) - gammaln(n_words * beta))
    total += np.sum(gammaln(doc_topic + alpha)) - doc_topic.size * gammaln(alpha)
    total -= np.sum(gammaln(np.diff(state.start) + n_topics * alpha) - gammaln(n_topics * alpha))
    return float(total / max(1, state.word.size))
