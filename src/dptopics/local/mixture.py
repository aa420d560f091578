"""Topics from three hashed words of each document: unbiased moments, and likelihood inference through the hashes."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dptopics import progress
from dptopics.errors import InputError
from dptopics.kernels.local_hash import mixture_pass, supported_values, supports
from dptopics.local.hashing import ThreeWords, in_threads
from dptopics.local.reconstruct import posterior_means

_BLOCK = 4096

Matrix = NDArray[np.float64]
Listed = tuple[NDArray[np.int64], NDArray[np.int32]]  # values that the answers of some reports support


def word_indicators(three: ThreeWords, answers: NDArray[np.void], place: int) -> NDArray[np.float32]:
    """Unbiased x̂, documents × values: E[x̂] is 1 at the value in that place of the document, 0 elsewhere.

    x̂(i) = (1[h(i) = y] − 1/g)/(p − 1/g).
    """
    out = np.empty((len(answers), three.n_values), np.float32)
    g, keep = three.hash.n_buckets, three.hash.keep
    one = answers[:, place]
    supports(np.ascontiguousarray(one["seed"]), np.ascontiguousarray(one["bucket"]), g, out)
    out -= np.float32(1 / g)
    out /= np.float32(keep - 1 / g)
    return out


def pair_moments(three: ThreeWords, answers: NDArray[np.void]) -> Matrix:
    """Unbiased estimate of E[x₁ ⊗ x₂], how often two words of one document are i and j: values × values, symmetric.

    The three answers of a report have seeds and coins of their own, so products of different places are unbiased; the
    product of a place with itself would not be.
    """
    total = np.zeros((three.n_values, three.n_values))
    for first in range(0, len(answers), _BLOCK):
        x = [word_indicators(three, answers[first : first + _BLOCK], place) for place in range(3)]
        whole = x[0] + x[1] + x[2]
        total += whole.T @ whole - sum(one.T @ one for one in x)
    return np.asarray(total / (6 * max(1, len(answers))))


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
        """Topics × words and the topics' shares."""
        hashing, flat = three.hash, answers.reshape(-1)

        def listed(some: NDArray[np.void]) -> Listed:
            part = some.reshape(-1)
            seed, sent = np.ascontiguousarray(part["seed"]), np.ascontiguousarray(part["bucket"])
            return supported_values(seed, sent, hashing.n_buckets, three.n_values)

        parts = in_threads(listed, answers)
        total = np.sum([np.bincount(value, minlength=three.n_values) for _, value in parts], axis=0)
        found = hashing.unbiased(total, flat.size)
        frequency = posterior_means(found, hashing.unit_deviation * np.sqrt(flat.size), flat.size)
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
