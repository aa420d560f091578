"""Topics from flipped bits by likelihood: the channel is known, so nothing has to be rebuilt first."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import psi

from dptopics import progress
from dptopics.errors import InputError
from dptopics.kernels.flip_channel import channel_likelihood, channel_weights
from dptopics.learners import check_topics
from dptopics.local.reconstruct import Bits, count_ones, likely_counts, unpacked

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
