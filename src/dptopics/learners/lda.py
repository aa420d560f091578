"""LDA by collapsed Gibbs sampling, deterministic by a key."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dptopics.core import progress
from dptopics.core.counts import Counts
from dptopics.core.errors import InputError
from dptopics.kernels.doc_topics import expect, word_pull
from dptopics.kernels.gibbs import gibbs_sweep, start_topics
from dptopics.kernels.hashing import siphash
from dptopics.kernels.simd import STEP, WIDTH
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


_PARTS = 2  # documents are added up in so many parts, whatever the number of threads: the sum must not depend on it


@dataclass(frozen=True, kw_only=True)
class VariationalLda:
    """Latent Dirichlet allocation by variational Bayes (Blei et al. 2003); online with ``batch_size`` (Hoffman 2010).

    A function of the counts and ``key`` alone, whatever the thread count. Each pass takes only a few ``steps`` towards
    a document's shares, always from equal ones: faster, and it ends in better optima than full convergence or than
    going on from the last pass. Online steps have the weight (delay + t)^−decay.

    >>> from dptopics.learners import two_documents
    >>> VariationalLda(n_topics=2, passes=20)(two_documents()).max(axis=1).round(2)
    array([1., 1.])
    """

    n_topics: int
    alpha: float = 0.1
    beta: float = 0.01
    passes: int = 20
    batch_size: int | None = None
    delay: float = 10.0
    decay: float = 0.7
    steps: int = 10
    tolerance: float = 1e-3
    key: int = 0

    def __post_init__(self) -> None:
        check_topics(self.n_topics, self.alpha, self.beta)
        if self.batch_size is not None and self.batch_size < 1:
            raise InputError(f"batch_size must be at least 1, or None for batch learning, got {self.batch_size}.")
        if not (0.5 <= self.decay <= 1 and self.delay >= 0):
            raise InputError(f"decay must lie in [0.5, 1] and delay be at least 0, got {self.decay} and {self.delay}.")

    def __call__(self, counts: Counts) -> NDArray[np.float64]:
        """Learn, and return the mean topics × words."""
        weights = self.weights(counts).T
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def weights(self, counts: Counts) -> NDArray[np.float64]:
        """Dirichlet parameters λ of the topics, words × topics."""
        batch = counts.n_documents if self.batch_size is None else min(self.batch_size, counts.n_documents)
        weights = self._start(counts.n_words)
        count = counts.count.astype(np.float32)
        pull = np.zeros((counts.n_words, -(-self.n_topics // WIDTH) * WIDTH), np.float32)
        everything = np.arange(counts.n_words)
        n_batches = max(1, round(counts.n_documents / batch))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for number in range(self.passes * n_batches):
                docs = self._batch(counts, number, n_batches)
                rows = everything if n_batches == 1 else np.unique(counts.take(docs).word).astype(np.int64)
                word_pull(weights, rows, self.n_topics, pull)
                expected = self._expected(pool, counts, count, docs, pull)
                target = self.beta + (counts.n_documents / max(1, docs.size)) * expected
                rate = 1.0 if n_batches == 1 else (self.delay + number) ** -self.decay
                weights = target if rate == 1 else (1 - rate) * weights + rate * target
                progress.report((number + 1) / (self.passes * n_batches))
        return weights

    def _start(self, n_words: int) -> NDArray[np.float64]:
        rng = np.random.Generator(np.random.PCG64(self.key))
        return rng.gamma(100.0, 0.01, (n_words, self.n_topics))

    def _batch(self, counts: Counts, number: int, n_batches: int) -> NDArray[np.int64]:
        """Documents of one batch: a fresh order for each pass, by a hash of key, pass and document."""
        if n_batches == 1:
            return np.arange(counts.n_documents)
        lottery = siphash(counts.doc_key, np.uint64(self.key), np.uint64(1 + number // n_batches))
        return np.sort(np.argsort(lottery, kind="stable")[number % n_batches :: n_batches])

    def _expected(
        self,
        pool: ThreadPoolExecutor,
        counts: Counts,
        count: NDArray[np.float32],
        docs: NDArray[np.int64],
        pull: NDArray[np.float32],
    ) -> NDArray[np.float64]:
        """Expected words × topics counts of some documents."""

        def part(some: NDArray[np.int64]) -> NDArray[np.float32]:
            total = np.zeros_like(pull)
            expect(
                some,
                counts.doc_start,
                counts.word,
                count,
                pull,
                self.alpha,
                self.n_topics,
                self.steps,
                self.tolerance,
                total,
            )
            return total

        parts = list(pool.map(part, np.array_split(docs, _PARTS)))
        total = sum(p.astype(np.float64) for p in parts[1:]) + parts[0]
        return np.asarray(total * pull)[:, : self.n_topics]
