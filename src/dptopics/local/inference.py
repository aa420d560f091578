"""Topics from flipped bits by likelihood: the channel is known, so nothing has to be rebuilt first."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import psi

from dptopics.core import progress
from dptopics.core.counts import Counts
from dptopics.core.errors import InputError
from dptopics.kernels.hashing import siphash
from dptopics.kernels.local_hash import (
    channel_likelihood,
    channel_weights,
    clipped_support,
    mixture_pass,
    ones_of_each,
    repair,
    supported_values,
)
from dptopics.learners import check_topics
from dptopics.local.hashing import HashedPair, ThreeWords, in_threads

_BITS_BLOCK = 8192
_GRID, _STEPS = 80, 300

Bits = NDArray[np.uint8]  # reports × bytes, the first word in the highest bit of the first byte


def count_ones(bits: Bits, n_words: int) -> NDArray[np.int64]:
    """How many reports have each word's bit set (step 1)."""
    return ones_of_each(np.ascontiguousarray(bits), n_words)


def unpacked(bits: Bits, n_words: int) -> NDArray[np.uint8]:
    """Bits as zeros and ones, reports × words."""
    return np.unpackbits(bits, axis=1, count=n_words)


def estimated_counts(ones: NDArray[np.int64], n_reports: int, f: float) -> NDArray[np.float64]:
    """Unbiased number of documents with each word, (2n − fM)/(2(1 − f)) (step 2, equation 9).

    >>> estimated_counts(np.array([400]), 1000, 0.5)
    array([300.])
    """
    if f >= 1:
        raise InputError("with f = 1 every bit is a coin: the reports say nothing. Collect with a smaller f.")
    if n_reports < 1:
        raise InputError("there are no reports. Collect at least one.")
    return np.asarray((2 * ones - f * n_reports) / (2 * (1 - f)))


def count_noise_std(n_reports: int, f: float) -> float:
    """Deviation of each estimated count, √((2 − f)fM)/(2(1 − f)) (equation 10)."""
    return float(np.sqrt((2 - f) * f * n_reports) / (2 * (1 - f)))


def likely_counts(ones: NDArray[np.int64], n_reports: int, f: float) -> NDArray[np.float64]:
    """Posterior mean of each word's document count, all positive: the noise is known, so it need not be believed."""
    estimate = estimated_counts(ones, n_reports, f)
    return posterior_means(estimate, max(count_noise_std(n_reports, f), 0.5), n_reports)


def posterior_means(estimate: NDArray[np.float64], noise_std: float, most: float) -> NDArray[np.float64]:
    """What counts between one half and ``most`` probably were, given estimates with normal noise of known deviation.

    The prior is a mixture of 80 counts whose weights are learned from all estimates together by EM (empirical Bayes:
    Kiefer & Wolfowitz 1956). Where the noise is far below the counts they come out unchanged; the order stays.

    >>> posterior_means(np.array([20.0, 10.0, -10.0, -20.0, 500.0]), 25.0, 1000.0).round()
    array([  1.,   1.,   1.,   1., 502.])
    """
    grid = np.geomspace(0.5, max(1.0, most), _GRID)
    # At small noise the grid would be coarser than the estimates: a grid point stands for its whole cell.
    cell = np.gradient(grid) ** 2
    spread = np.sqrt(noise_std**2 + cell)
    log_fit = -0.5 * ((estimate[:, None] - grid) / spread) ** 2 - np.log(spread)
    fit = np.exp(log_fit - log_fit.max(axis=1, keepdims=True))
    weight = np.full(_GRID, 1 / _GRID)
    for _ in range(_STEPS):
        share = fit * weight
        share /= share.sum(axis=1, keepdims=True)
        weight = share.mean(axis=0)
    # Inside a cell the estimate itself decides, as far as its noise allows.
    inner = grid + (estimate[:, None] - grid) * cell / spread**2
    return np.asarray(np.clip(np.sum(share * inner, axis=1), 0.5, max(1.0, most)))


def rebuilt(bits: Bits, n_words: int, f: float, *, key: int = 0) -> Bits:
    """Reports changed in as few bits as it takes for every word to have its estimated count (steps 2 to 4).

    Which reports change is drawn uniformly, by a public key: reports are private already.
    """
    ones = count_ones(bits, n_words)
    wanted = np.clip(np.rint(estimated_counts(ones, len(bits), f)), 0, len(bits)).astype(np.int64)
    out = bits.copy()
    repair(out, ones, wanted, siphash(np.array([key], np.uint64), np.uint64(0), np.uint64(3))[0])
    return out


def as_counts(bits: Bits, n_words: int, *, key: int = 0) -> Counts:
    """Reports as documents that hold each of their words once (step 5), for a learner."""
    sizes, words = [], []
    for first in range(0, len(bits), _BITS_BLOCK):
        document, word = np.nonzero(unpacked(bits[first : first + _BITS_BLOCK], n_words))
        sizes.append(np.bincount(document, minlength=len(bits[first : first + _BITS_BLOCK])))
        words.append(word.astype(np.int32))
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate(sizes))])
    tokens = np.concatenate(words)
    keys = siphash(np.arange(len(bits), dtype=np.uint64), np.uint64(key), np.uint64(4))
    return Counts(start.astype(np.int64), tokens, np.ones(tokens.size, np.int32), n_words, keys)


_BLOCK = 2048
_HELD_OUT = 10  # one report in ten chooses the strength of the background
_SHARES_STEPS = 20


@dataclass(frozen=True, kw_only=True)
class FlipChannelLda:
    """Topics of documents that are seen only through randomly flipped bits.

    Word j occurs n_j ~ Poisson(Σ_k θ_k φ_kj) times in a document, θ_k ~ Gamma(α); it is there if n_j ≥ 1; its bit is
    flipped with probability f/2. Given the bit, E[n_jk] = θ_k φ_kj · a/(a + (b − a)e^(−λ_j)), which is all that
    variational EM needs. Topics have a Dirichlet prior around the background: the word frequencies that the bits
    themselves estimate. Where bits are too noisy to tell topics apart, the background is what is left.

    ``background`` is that prior's weight, in tokens for each word of the vocabulary. None: the strongest of
    ``strengths`` that predicts held-out reports as well as any, up to one standard error, when one half of a report's
    words predicts the other half. Reports are private already, so choosing costs nothing.

    ``clip`` limits liars: in every pass a report adds at most ``clip`` times the mean number of a document's tokens.
    A report with many bits of one topic would else count as a very long document about it.
    """

    n_topics: int
    alpha: float = 0.1
    background: float | None = None
    strengths: tuple[float, ...] = (1.0, 3.0, 10.0)
    passes: int = 30
    key: int = 0
    clip: float | None = None

    def __post_init__(self) -> None:
        check_topics(self.n_topics, self.alpha, self.background or 1.0)
        if self.passes < 1 or not self.strengths:
            raise InputError("passes must be at least 1, and there must be a strength to try.")
        if self.clip is not None and not self.clip >= 1:
            raise InputError(f"clip must be at least 1 usual document for bits, got {self.clip}. 2 is a good choice.")

    def __call__(self, bits: Bits, n_words: int, f: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Learn from packed reports: topics × words, and the topics' shares of all tokens."""
        weight = self.background
        end = len(self.strengths) + 1
        if weight is None and len(bits) >= 2 * _HELD_OUT and len(self.strengths) > 1:
            held = np.arange(len(bits)) % _HELD_OUT == 0
            seen, unseen = bits[~held], bits[held]
            scores = []
            for i, strength in enumerate(self.strengths):
                with progress.part(i / end, (i + 1) / end):
                    topics, _, length = self._learn(seen, n_words, f, strength, passes=-(-self.passes // 2))
                scores.append(self._held_out(unseen, n_words, f, topics, length))
            weight = _strongest(self.strengths, np.array(scores))
        with progress.part((end - 1) / end, 1.0):
            return self._learn(bits, n_words, f, weight or self.strengths[0], self.passes)[:2]

    def _learn(
        self, bits: Bits, n_words: int, f: float, background: float, passes: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Variational EM: topics, their shares, and the mean number of tokens in a document."""
        n_documents = len(bits)
        there = likely_counts(count_ones(bits, n_words), n_documents, f) / n_documents
        rate = -np.log1p(-np.minimum(there, 0.99))  # Poisson rates with these chances of at least one
        length = float(rate.sum())
        prior = background * n_words * rate / length
        public = np.random.Generator(np.random.PCG64(self.key))
        weights = prior + public.standard_exponential((self.n_topics, n_words)) * rate * (n_documents / self.n_topics)
        gamma = np.full((n_documents, self.n_topics), self.alpha + length / self.n_topics, np.float32)
        exposure = 1 + self.alpha * self.n_topics / length
        for number in range(passes):
            pull = np.exp(psi(weights) - psi(weights.sum(axis=1, keepdims=True))).astype(np.float32)
            total = np.zeros((self.n_topics, n_words), np.float32)
            for first in range(0, n_documents, _BLOCK):
                part = slice(first, first + _BLOCK)
                for last in (False, True):
                    share = (np.exp(psi(gamma[part])) / exposure).astype(np.float32)
                    seen = share @ pull
                    channel_weights(bits[part], f / 2, seen)
                    gamma[part] = self.alpha + share * (seen @ pull.T)
                    if last:
                        total += (share * self._weights(gamma[part], length)).T @ seen
            weights = prior + pull * total
            progress.report((number + 1) / passes)
        size = np.sum(pull * total, axis=1, dtype=np.float64)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True)), size / size.sum(), length

    def _weights(self, gamma: NDArray[np.float32], length: float) -> NDArray[np.float32]:
        """How much each report counts: less than 1 where it seems to hold more than ``clip`` times the mean length."""
        if self.clip is None:
            return np.ones((len(gamma), 1), np.float32)
        tokens = gamma.sum(axis=1, keepdims=True) - np.float32(self.alpha * self.n_topics)
        most = np.float32(self.clip * length)
        return np.asarray(np.minimum(np.float32(1), most / np.maximum(tokens, np.float32(1e-6))))

    def _held_out(
        self, bits: Bits, n_words: int, f: float, topics: NDArray[np.float64], length: float
    ) -> NDArray[np.float64]:
        """Each report's log-likelihood of one half of the words' bits, shares inferred from the other half."""
        order = np.random.Generator(np.random.PCG64(self.key)).random(n_words).argsort()
        known, asked = np.sort(order[: n_words // 2]), np.sort(order[n_words // 2 :])
        plain = unpacked(bits, n_words)
        known_bits, asked_bits = (np.packbits(plain[:, part], axis=1) for part in (known, asked))
        known_topics, asked_topics = (topics[:, part].astype(np.float32) for part in (known, asked))
        exposure = known_topics.sum(axis=1) + self.alpha * self.n_topics / length
        gamma = np.full((len(bits), self.n_topics), self.alpha + length / self.n_topics)
        for _ in range(_SHARES_STEPS):
            share = (np.exp(psi(gamma)) / exposure).astype(np.float32)
            seen = share @ known_topics
            channel_weights(known_bits, f / 2, seen)
            gamma = self.alpha + share * (seen @ known_topics.T)
        return channel_likelihood(asked_bits, f / 2, (gamma / exposure).astype(np.float32) @ asked_topics)


def _strongest(strengths: tuple[float, ...], scores: NDArray[np.float64]) -> float:
    """The largest strength whose scores (strengths × reports) are within one standard error of the best's."""
    best = scores[np.argmax(scores.mean(axis=1))]
    short = best - scores
    error = short.std(axis=1) / np.sqrt(scores.shape[1])
    return max(s for s, lost, e in zip(strengths, short.mean(axis=1), error, strict=True) if lost <= e)


Matrix = NDArray[np.float64]
Listed = tuple[NDArray[np.int64], NDArray[np.int32]]  # values that the answers of some reports support


@dataclass(frozen=True, kw_only=True)
class HashedMixture:
    """A mixture of topics, one for each document, fitted to three hashed words of each by EM.

    P[y | word w] is p if h(w) = y, else (1 − p)/(g − 1), so the likelihood of a report is Σ_k π_k Π_i Σ_w φ_kw
    P[y_i | w]: no moments, no inversion. Of ``starts`` random starts the likeliest is kept: reports are private
    already, so choosing costs nothing.
    """

    n_topics: int
    background: float = 100.0
    passes: int = 60
    starts: int = 3
    key: int = 0

    def __post_init__(self) -> None:
        if self.n_topics < 1 or self.passes < 1 or self.starts < 1:
            raise InputError("n_topics, passes and starts must be at least 1.")

    def __call__(self, three: ThreeWords, answers: NDArray[np.void]) -> tuple[Matrix, Matrix]:
        hashing, flat = three.hash, answers.reshape(-1)

        def listed(some: NDArray[np.void]) -> Listed:
            part = some.reshape(-1)
            seed, sent = np.ascontiguousarray(part["seed"]), np.ascontiguousarray(part["bucket"])
            return supported_values(seed, sent, hashing.n_buckets, three.n_values)

        parts = in_threads(listed, answers)
        total = np.sum([np.bincount(value, minlength=three.n_values) for _, value in parts], axis=0)
        found = hashing.unbiased(total, flat.size)
        frequency = posterior_means(found, hashing.unit_noise_std * np.sqrt(flat.size), flat.size)
        frequency /= frequency.sum()
        runs = []
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for attempt in range(self.starts):
                with progress.part(attempt / self.starts, (attempt + 1) / self.starts):
                    runs.append(self._fit(three, parts, frequency, attempt, pool))
        topics, share, _ = max(runs, key=lambda run: run[2])
        words = topics[:, :-1]  # without "no word"
        return words / words.sum(axis=1, keepdims=True), share

    def _fit(
        self, three: ThreeWords, parts: list[Listed], frequency: Matrix, attempt: int, pool: ThreadPoolExecutor
    ) -> tuple[Matrix, Matrix, float]:
        """EM from one random start: topics × values, shares, and the log-likelihood before the last pass."""
        keep, g = three.hash.keep, three.hash.n_buckets
        public = np.random.Generator(np.random.PCG64([self.key, attempt]))
        topics = frequency[:, None] * public.gamma(3.0, 1.0, (frequency.size, self.n_topics))
        topics /= topics.sum(axis=0)
        share = np.full(self.n_topics, 1 / self.n_topics)
        score = 0.0

        def expected(part: Listed) -> tuple[Matrix, Matrix, float]:
            counts, heads = np.zeros_like(topics), np.zeros(self.n_topics)
            return counts, heads, mixture_pass(*part, 3, keep, (1 - keep) / (g - 1), topics, share, counts, heads)

        for number in range(self.passes):
            done = list(pool.map(expected, parts))  # added up in the order of the parts, whoever was first
            counts = sum((some for some, _, _ in done), self.background * frequency[:, None])
            heads = sum((some for _, some, _ in done), np.ones(self.n_topics))
            score = sum(some for _, _, some in done)
            topics, share = counts / counts.sum(axis=0), heads / heads.sum()
            progress.report((number + 1) / self.passes)
        return topics.T, share, score


@dataclass(frozen=True)
class ClippedPairs:
    """Unbiased counts of (topic, word) pairs from answers whose support of each topic is limited.

    A client chooses its seed itself, so a liar looks for one that puts many words of a topic into one bucket. Honest
    answers support V/g words of a topic on average; one that supports more than ``clip`` standard deviations above
    that is scaled down. What this does to honest answers is known exactly, and taken back: with n_v holders of the
    pair v, and n_k of all pairs of its topic,

        E[support of v] = n_v·A + (n_k − n_v)·B + (n − n_k)·C.

    >>> from dptopics.core.vocabulary import Vocabulary
    >>> words = Vocabulary(tuple(f"w{i:03}" for i in range(200)))
    >>> pair = HashedPair(vocabulary=words, topics=(("w001",),), epsilon=4.0)
    >>> clipped = ClippedPairs(pair, 1.0)
    >>> clipped.topic_influence < ClippedPairs(pair, 1e9).topic_influence / 20
    True
    """

    pair: HashedPair = field(repr=False)
    clip: float

    def __post_init__(self) -> None:
        if not self.clip >= 0.5:
            raise InputError(f"clip must be at least 0.5 standard deviations, got {self.clip}. 1 is a good choice.")

    @property
    def most(self) -> float:
        """Support that one answer may give to one topic."""
        n, q = len(self.pair.vocabulary), 1 / self.pair.hash.n_buckets
        return min(float(n), 1 + n * q + self.clip * sqrt(n * q * (1 - q)))

    @cached_property
    def _means(self) -> tuple[float, float, float]:
        """A, B and C: mean support by a holder of the pair, of another pair of its topic, of another topic."""
        n, g, keep = len(self.pair.vocabulary), self.pair.hash.n_buckets, self.pair.hash.keep
        return (
            keep * self._weight(1, n - 1),
            (keep * self._weight(2, n - 2) + (1 - keep) * self._weight(1, n - 2)) / g,
            self._weight(1, n - 1) / g,
        )

    def _weight(self, there: int, more: int, power: int = 1) -> float:
        """E[min(1, most/(there + X))^power], X the support among ``more`` other words."""
        from scipy.stats import binom  # slow to load: only who clips waits for it

        x = np.arange(max(0, more) + 1)
        chance = binom.pmf(x, max(0, more), 1 / self.pair.hash.n_buckets)
        return float(chance @ np.minimum(1.0, self.most / (there + x)) ** power)

    @property
    def _topic_step(self) -> float:
        """What one more holder adds to the support of a whole topic."""
        n, (a, b, c) = len(self.pair.vocabulary), self._means
        return a + (n - 1) * b - n * c

    @property
    def topic_influence(self) -> float:
        """The most that one report, however it was made, adds to the estimated number of a topic's holders."""
        return (self.most - len(self.pair.vocabulary) * self._means[2]) / self._topic_step

    @property
    def unit_noise_std(self) -> float:
        """Standard deviation that one report adds to the estimated count of a rare pair."""
        n, (a, b, c) = len(self.pair.vocabulary), self._means
        square = self._weight(1, n - 1, power=2) / self.pair.hash.n_buckets
        return sqrt(square - c * c) / (a - b)

    def table(self, answers: NDArray[np.void]) -> NDArray[np.float64]:
        """Unbiased estimate of the topics × words table of drawn words."""
        n, (a, b, c) = len(self.pair.vocabulary), self._means

        def count(some: NDArray[np.void]) -> NDArray[np.float64]:
            part = np.zeros((len(self.pair.topics), n))
            seed, sent = np.ascontiguousarray(some["seed"]), np.ascontiguousarray(some["bucket"])
            clipped_support(seed, sent, self.pair.hash.n_buckets, self.most, part)
            return part

        total = np.sum(in_threads(count, answers), axis=0)
        holders = (total.sum(axis=1) - answers.size * n * c) / self._topic_step
        return np.asarray((total - holders[:, None] * b - (answers.size - holders[:, None]) * c) / (a - b))
