"""Topics from three hashed words of each document: unbiased moments, and likelihood inference through the hashes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dptopics import progress
from dptopics.errors import InputError
from dptopics.kernels.local_hash import supports
from dptopics.local.hashing import ThreeWords

_BLOCK = 4096

Matrix = NDArray[np.float64]


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
        runs = []
        for start in range(self.starts):
            with progress.part(start / self.starts, (start + 1) / self.starts):
                runs.append(self._fit(three, answers, start))
        topics, share, _ = max(runs, key=lambda run: run[2])
        words = topics[:, :-1]  # without "no word"
        return words / words.sum(axis=1, keepdims=True), share

    def _fit(self, three: ThreeWords, answers: NDArray[np.void], start: int) -> tuple[Matrix, Matrix, float]:
        hash_, n_values = three.hash, three.n_values
        miss = (1 - hash_.keep) / (hash_.n_buckets - 1)
        frequency = np.mean([hash_.estimate(np.ascontiguousarray(answers[:, i]), n_values) for i in range(3)], axis=0)
        frequency = np.maximum(frequency, hash_.unit_deviation * np.sqrt(len(answers)) / 10)
        frequency /= frequency.sum()
        public = np.random.Generator(np.random.PCG64([self.key, start]))
        topics = frequency * public.gamma(3.0, 1.0, (self.n_topics, n_values))
        topics /= topics.sum(axis=1, keepdims=True)
        share = np.full(self.n_topics, 1 / self.n_topics)
        score = -np.inf
        block = np.empty((_BLOCK, n_values), np.float32)
        for number in range(self.passes):
            score, heads, totals = 0.0, np.zeros(self.n_topics), np.zeros((self.n_topics, n_values))
            rest = np.zeros(self.n_topics)
            pull = topics.T.astype(np.float32)
            for first in range(0, len(answers), _BLOCK):
                some = answers[first : first + _BLOCK]
                # P[y | w] = miss + (keep − miss)·[h(w) = y]: the first part needs no matrix.
                held, chances = [], []
                for place in range(3):
                    one = some[:, place]
                    out = block[: len(some)] if place == 0 else np.empty((len(some), n_values), np.float32)
                    seed, sent = np.ascontiguousarray(one["seed"]), np.ascontiguousarray(one["bucket"])
                    supports(seed, sent, hash_.n_buckets, out)
                    held.append(out)
                    chances.append(miss + (hash_.keep - miss) * (out @ pull).astype(np.float64))
                joint = share * chances[0] * chances[1] * chances[2]
                whole = joint.sum(axis=1, keepdims=True)
                score += float(np.log(whole).sum())
                belongs = joint / whole
                heads += belongs.sum(axis=0)
                for out, chance in zip(held, chances, strict=True):
                    weight = belongs / chance
                    totals += (hash_.keep - miss) * (weight.T.astype(np.float32) @ out)
                    rest += miss * weight.sum(axis=0)
            counts = topics * (totals + rest[:, None]) + self.background * frequency
            topics = counts / counts.sum(axis=1, keepdims=True)
            share = (heads + 1) / (heads + 1).sum()
            progress.report((number + 1) / self.passes)
        return topics, share, score
