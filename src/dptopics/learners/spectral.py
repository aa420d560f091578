"""LDA by moments and tensors: no local optima, a handful of passes over sparse counts, never a d × d array."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dptopics.data.counts import Counts
from dptopics.errors import InputError
from dptopics.learners.tensor import Floats, Parameters, parameters

SHORTEST = 3  # words that a document needs to have a third moment
_PARTS = 4  # of the rows of a sparse product, each whole in one thread: the result does not depend on their number
_CHUNK = 4096  # rows of a third moment that are held at once


@dataclass(frozen=True, kw_only=True)
class SpectralLda:
    """Latent Dirichlet allocation by the method of moments (Anandkumar et al. 2012).

    ``alpha0`` is the sum of the Dirichlet parameters of documents: small where a document has one topic. Documents of
    fewer than three words are left out. A function of the counts and ``key`` alone.

    >>> from dptopics.learners import two_documents
    >>> SpectralLda(n_topics=2, alpha0=0.1)(two_documents()).max(axis=1).round(2)
    array([1., 1.])
    """

    n_topics: int
    alpha0: float = 1.0
    key: int = 0

    def __post_init__(self) -> None:
        if self.n_topics < 2:
            raise InputError(f"n_topics must be at least 2, got {self.n_topics}.")
        if not 0 < self.alpha0 < np.inf:
            raise InputError(f"alpha0 must be a positive number, got {self.alpha0}.")

    def __call__(self, counts: Counts) -> Floats:
        """Learn, and return topics × words."""
        return self.parameters(counts).topic_word

    def parameters(self, counts: Counts) -> Parameters:
        """Topics with their Dirichlet parameters, the smallest topic first."""
        moments = CountMoments(counts)
        if moments.n_documents == 0:
            raise InputError(f"moments need documents of at least {SHORTEST} words, and there is none.")
        return parameters(moments, self.n_topics, self.alpha0, key=self.key)


class CountMoments:
    """Moments of the documents of at least three words: unbiased, from pairs and triples of distinct tokens.

    For counts c of a document of l words: c/l, (c⊗c − diag c)/(l(l−1)) and
    (c⊗c⊗c − sym₃(diag c ⊗ c) + 2 Σ cᵢ eᵢ⊗eᵢ⊗eᵢ)/(l(l−1)(l−2)).
    """

    mean_variance = 0.0
    noise_norm = 0.0

    def __init__(self, counts: Counts, share: Floats | None = None) -> None:
        """``share``: of each document in the means; None: all alike."""
        from scipy import sparse

        length = np.diff(np.concatenate([[0.0], np.cumsum(counts.count, dtype=np.float64)])[counts.doc_start])
        kept = np.flatnonzero(length >= SHORTEST)
        some = counts if kept.size == counts.n_documents else counts.take(kept)
        self.n_documents = int(kept.size)
        self._length = length[kept]
        self._share = np.full(kept.size, 1 / max(kept.size, 1)) if share is None else share[kept]
        values = some.count.astype(np.float64)
        self._rows = sparse.csr_array((values, some.word, some.doc_start), shape=(kept.size, counts.n_words))

    @cached_property
    def _columns(self) -> Any:
        """Words × documents, by rows."""
        return self._rows.T.tocsr()

    @cached_property
    def mean(self) -> Floats:
        """Mean over documents of their shares of words."""
        return np.asarray(self._columns @ (self._share / self._length))

    @cached_property
    def _pair_weight(self) -> Floats:
        return np.asarray(self._share / (self._length * (self._length - 1)))

    @cached_property
    def _pair_diagonal(self) -> Floats:
        return np.asarray(self._columns @ self._pair_weight)

    def pairs(self, block: Floats) -> Floats:
        """Two sparse products."""
        seen = _product(self._rows, block)
        seen *= self._pair_weight[:, None]
        result = _product(self._columns, seen)
        result -= self._pair_diagonal[:, None] * block
        return np.asarray(result)

    def triples(self, whitening: Floats) -> Floats:
        """Of the whitened documents Y = C W, less what repeated tokens add: two sparse and two dense products."""
        weight = self._pair_weight / (self._length - 2)
        seen = _product(self._rows, whitening)
        weighted = seen * weight[:, None]
        repeated = _cube(whitening, _product(self._columns, weighted))
        thrice = _cube(whitening, whitening * (self._columns @ weight)[:, None])
        repeated = repeated + repeated.transpose(0, 2, 1) + repeated.transpose(2, 0, 1)
        return np.asarray(_cube(seen, weighted) - repeated + 2 * thrice)


def _product(matrix: Any, block: Floats) -> Floats:
    """Sparse times dense on all cores."""
    edges = np.linspace(0, matrix.shape[0], _PARTS + 1).astype(int)
    block = np.ascontiguousarray(block)

    def part(n: int) -> NDArray[np.float64]:
        return np.asarray(matrix[edges[n] : edges[n + 1]] @ block)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return np.concatenate(list(pool.map(part, range(_PARTS))))


def _cube(twice: Floats, once: Floats) -> Floats:
    """Σ over rows of twice⊗twice⊗once. Only half of the pairs is computed, the rest is mirrored."""
    k = twice.shape[1]
    i, j = np.triu_indices(k)
    total = np.zeros((i.size, k))
    for first in range(0, len(twice), _CHUNK):
        part = twice[first : first + _CHUNK]
        total += (part[:, i] * part[:, j]).T @ once[first : first + _CHUNK]
    out = np.empty((k, k, k))
    out[i, j] = out[j, i] = total
    return out
