"""LDA from its first three moments: whitening, the whitened third moment, orthogonal tensor power iteration.

Anandkumar et al. 2012 and 2014. With p the word distribution of a random document, α₀ the sum of the Dirichlet
parameters, a = α₀/(α₀+1), b = α₀/(α₀+2), c = 2α₀²/((α₀+1)(α₀+2)), and M₁ = E[p]:

    M₂ = E[p⊗p] − a M₁⊗M₁                            = Σ αᵢ/(α₀(α₀+1)) μᵢ⊗μᵢ
    M₃ = E[p⊗p⊗p] − b sym₃(E[p⊗p]⊗M₁) + c M₁⊗M₁⊗M₁   = Σ 2αᵢ/(α₀(α₀+1)(α₀+2)) μᵢ⊗μᵢ⊗μᵢ
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dptopics.core.counts import Counts
from dptopics.core.errors import InputError

Floats = NDArray[np.float64]

_DENSE = 600  # up to so many words all eigenvalues are computed at once
_EXTRA = 12  # columns beyond those that are wanted, in subspace iteration
_STARTS = 10  # of the tensor power iteration
_LEAST = 1e-12  # an eigenvalue below this part of the largest is zero


class Moments(Protocol):
    """The raw moments of a random document's word distribution p, or noisy estimates of them."""

    @property
    def mean(self) -> Floats:
        """E[p]."""

    @property
    def mean_variance(self) -> float:
        """Variance of independent noise on each number of ``mean``, which its products must be rid of."""

    @property
    def noise_norm(self) -> float:
        """How large an eigenvalue noise alone gives to E[p⊗p]: smaller ones are read as this. 0: there is no noise."""

    def pairs(self, block: Floats) -> Floats:
        """E[p⊗p] times some columns."""

    def triples(self, whitening: Floats) -> Floats:
        """E[p⊗p⊗p] seen through d × k ``whitening`` from all sides: k × k × k."""


@dataclass(frozen=True)
class Parameters:
    """``topic_word``: μ, a distribution in each row. ``alpha``: Dirichlet parameters. ``column_norm``: what noise of
    deviation one on every number of M₂ would do to a weight of each topic, to first order. ``rows``: μ as it came out,
    before the nearest distribution was taken. ``noise_share``: how much of each topic lies along axes that noise made.
    """

    topic_word: Floats
    alpha: Floats
    column_norm: Floats
    rows: Floats
    noise_share: Floats = field(default_factory=lambda: np.zeros(0))


def parameters(moments: Moments, n_topics: int, alpha0: float, *, key: int = 0) -> Parameters:
    """α and μ of LDA from moments, exactly where the moments are exact (section 4 of Anandkumar et al. 2014)."""
    if not 0 < alpha0 < np.inf:
        raise InputError(f"alpha0 must be a positive number, got {alpha0}.")
    size = moments.mean.size
    if size < n_topics:
        raise InputError(f"{n_topics} topics need at least as many words, but there are {size}.")
    values, vectors = top_eigenpairs(second_moment(moments, alpha0), size, n_topics, key)
    noise = noise_in_axes(values, moments.noise_norm, size)
    if moments.noise_norm > 0:
        values = np.maximum(values, moments.noise_norm)
    elif values[-1] <= _LEAST * max(values[0], 0.0):
        rank = int(np.count_nonzero(values > _LEAST * max(values[0], 0.0)))
        raise InputError(
            f"the co-occurrences of words tell only {rank} topics apart, {n_topics} were asked for. Ask for fewer "
            "topics, or give more (and more varied) documents."
        )
    whitening, back = vectors / np.sqrt(values), vectors * np.sqrt(values)
    weights, axes = orthogonal_components(third_moment(moments, whitening, alpha0), key)
    return replace(unwhitened(weights, axes, whitening, back, alpha0), noise_share=noise @ axes**2)


def noise_in_axes(values: Floats, edge: float, size: int) -> Floats:
    """How much of each eigenvector is noise, if noise alone gives eigenvalues up to ``edge`` (Benaych-Georges 2011).

    An eigenvalue v above the edge e comes from θ = (v + √(v² − e²))/2, and e²/4θ² of its vector's square is noise; of
    the vectors of others, all. The largest one of noise alone lies within some size^(−2/3) of the edge.
    """
    if edge <= 0:
        return np.zeros(values.size)
    true = (values + np.sqrt(np.maximum(values**2 - edge**2, 0.0))) / 2
    above = values > edge * (1 + 4 * size ** (-2 / 3))
    return np.where(above, edge**2 / (4 * np.maximum(true, edge / 2) ** 2), 1.0)


def coefficients(alpha0: float) -> tuple[float, float, float]:
    """a, b and c of the products of lower moments in M₂ and M₃."""
    return alpha0 / (alpha0 + 1), alpha0 / (alpha0 + 2), 2 * alpha0**2 / ((alpha0 + 1) * (alpha0 + 2))


def second_moment(moments: Moments, alpha0: float) -> Callable[[Floats], Floats]:
    """M₂, as what it does to columns."""
    mean, a = moments.mean, coefficients(alpha0)[0]

    def apply(block: Floats) -> Floats:
        return np.asarray(moments.pairs(block) - a * (np.outer(mean, mean @ block) - moments.mean_variance * block))

    return apply


def third_moment(moments: Moments, whitening: Floats, alpha0: float) -> Floats:
    """M₃(W, W, W): k × k × k."""
    _, b, c = coefficients(alpha0)
    m = whitening.T @ moments.mean
    raw_pairs = whitening.T @ moments.pairs(whitening)
    cubic = np.einsum("i,j,l->ijl", m, m, m) - moments.mean_variance * _sym3(whitening.T @ whitening, m)
    return np.asarray(moments.triples(whitening) - b * _sym3((raw_pairs + raw_pairs.T) / 2, m) + c * cubic)


def unwhitened(weights: Floats, axes: Floats, whitening: Floats, back: Floats, alpha0: float) -> Parameters:
    """α and μ from the components of the whitened tensor: μᵢ = ((α₀+2)/2)·λᵢ·(Wᵀ)†vᵢ, with ``back`` for (Wᵀ)†."""
    weights = np.maximum(weights, 2 * np.sqrt(alpha0 + 1) / (alpha0 + 2))  # noise apart, no αᵢ is above α₀
    alpha = 4 * alpha0 * (alpha0 + 1) / ((alpha0 + 2) ** 2 * weights**2)
    scale = (alpha0 + 2) / 2 * weights
    rows = (back @ axes * scale).T
    total = _total(rows)
    norm = scale * np.linalg.norm(whitening @ axes, axis=0) / total[:, 0]
    return Parameters(on_simplex(rows / total), alpha, norm, rows / total)


def _total(rows: Floats) -> Floats:
    """What to divide each row by: its sum, which is one for exact moments; where noise nearly cancels it, a tenth of
    the absolute sum."""
    whole = rows.sum(axis=1, keepdims=True)
    return np.asarray(np.maximum(np.maximum(whole, 0.1 * np.abs(rows).sum(axis=1, keepdims=True)), 1e-300))


def _sym3(matrix: Floats, vector: Floats) -> Floats:
    """Σ over the three places of the vector: A_ij x_l + A_il x_j + A_jl x_i."""
    one = np.einsum("ij,l->ijl", matrix, vector)
    return np.asarray(one + one.transpose(0, 2, 1) + one.transpose(2, 0, 1))


def top_eigenpairs(apply: Callable[[Floats], Floats], size: int, n: int, key: int) -> tuple[Floats, Floats]:
    """The n largest eigenvalues, falling, and their vectors, of a symmetric matrix known by its products.

    Randomized subspace iteration (Halko et al. 2011) with a Rayleigh–Ritz step; all at once where the matrix is small.
    """
    if size <= max(_DENSE, n + _EXTRA):
        matrix = apply(np.eye(size))
        values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
        return values[::-1][:n].copy(), vectors[:, ::-1][:, :n].copy()
    rng = np.random.Generator(np.random.PCG64(key))
    basis = np.linalg.qr(rng.standard_normal((size, n + _EXTRA)))[0]
    before = np.zeros(n)
    for _ in range(16):
        image = apply(basis)
        small = basis.T @ image
        values, turn = np.linalg.eigh((small + small.T) / 2)
        values = values[::-1][:n]
        if np.abs(values - before).max() <= 1e-5 * np.abs(values).min():
            break
        before = values
        basis = np.linalg.qr(image)[0]
    return values.copy(), basis @ turn[:, ::-1][:, :n]


def orthogonal_components(tensor: Floats, key: int = 0) -> tuple[Floats, Floats]:
    """(λ, V) with tensor ≈ Σ λᵢ vᵢ⊗vᵢ⊗vᵢ, V orthogonal, all vᵢ at once, λ falling and not negative.

    v ← T(I, v, v) for every column, weighted by T(v, v, v), then the nearest orthogonal matrix: fixed points of the
    contrast Σ T(vᵢ, vᵢ, vᵢ)². The best of several starts; each start diagonalises one random slice T(I, I, θ). Equal λ
    do no harm: a third-order orthogonal decomposition is unique all the same.
    """
    k = tensor.shape[0]
    rng = np.random.Generator(np.random.PCG64(key))
    best, found = -1.0, (np.zeros(k), np.eye(k))
    for _ in range(_STARTS):
        axes = np.linalg.eigh(tensor @ rng.standard_normal(k))[1]
        for _ in range(100):
            image = np.einsum("ijc,jc->ic", tensor @ axes, axes)
            left, _, right = np.linalg.svd(image * np.einsum("ic,ic->c", image, axes))
            fresh = left @ right
            done = np.abs(fresh - axes).max() < 1e-13
            axes = fresh
            if done:
                break
        weights = np.einsum("ic,ic->c", np.einsum("ijc,jc->ic", tensor @ axes, axes), axes)
        contrast = float(weights @ weights)
        if contrast > best * (1 + 1e-9):
            best, found = contrast, (weights, axes)
    weights, axes = found
    axes, weights = axes * np.where(weights < 0, -1.0, 1.0), np.abs(weights)
    order = np.argsort(-weights, kind="stable")
    return weights[order], axes[:, order]


def on_simplex(rows: Floats) -> Floats:
    """The nearest distribution to each row (Duchi et al. 2008)."""
    falling = -np.sort(-rows, axis=1)
    excess = (np.cumsum(falling, axis=1) - 1) / np.arange(1, rows.shape[1] + 1)
    last = np.count_nonzero(falling > excess, axis=1) - 1
    return np.asarray(np.maximum(rows - excess[np.arange(rows.shape[0]), last][:, None], 0.0))


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
