"""Two attacks that read the words of a topic model, and train no shadows of it. NOT FOR RELEASE.

A model shows which words its data held: they are in its vocabulary, above the floor that smoothing gives to all others.
A model that is a matrix of counts and smoothing shows how often each word was written, to the last token.
"""

from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dptopics.audit.lira import pooled
from dptopics.audit.rates import Attack
from dptopics.audit.shadows import Shadows
from dptopics.data.counts import Counts

Floats = NDArray[np.float64]

_CERTAIN = 50.0  # log ratio that counts as certain, for or against
_STEPS = 300  # of projected gradients; chosen, with the weights of words, on airline tweets
_POWERS = 30  # for the largest curvature


def presence_attack(
    shadows: Shadows, counts: Counts, *, targets: int, author: NDArray[np.int32] | None = None
) -> Attack:
    """Is every word of the document (or author) in the model, and how likely would that be without it?

    The score is −Σ log P(word is there | the document is not), each other document being in by a fair coin; a word that
    is missing speaks as strongly against as a word that nobody else wrote speaks for it.
    """
    used = _units(counts, author)
    scores = np.stack([presence(used, shadows.present[target]) for target in range(targets)])
    return _by_unit("presence of words", scores, shadows, author, targets)


def presence(used: Any, present: NDArray[np.bool_], *, share: float = 0.5) -> Floats:
    """Scores of units; ``used`` is sparse, units × words; ``share`` of the units are in the data."""
    users = np.asarray((used > 0).sum(axis=0)).ravel()
    alone = users <= 1
    there = np.log1p(-((1 - share) ** np.where(alone, 1.0, users - 1.0)))  # that somebody else brought the word
    worth = np.where(present, np.minimum(np.where(alone, _CERTAIN, -there), _CERTAIN), -_CERTAIN)
    return np.asarray((used > 0).astype(np.float64) @ worth)


def counts_attack(
    shadows: Shadows, counts: Counts, *, targets: int, author: NDArray[np.int32] | None = None
) -> Attack | None:
    """Which documents add up to the counts that the models give away? None where one of them gives none away."""
    totals = shadows.totals[:targets]
    if np.isnan(totals).any():
        return None
    tokens = _units(counts, author)
    return _by_unit("exact counts, decoded", who_adds_up(tokens, totals), shadows, author, targets)


def who_adds_up(tokens: Any, totals: Floats) -> Floats:
    """Least squares for xᵀC = n with 0 ≤ x ≤ 1, for all models at once: models × units, 1 for those inside.

    ``tokens`` C is sparse, units × words; ``totals`` n models × words. A word counts by one over its frequency, so that
    rare ones decide. Projected gradients with momentum (FISTA; Beck and Teboulle 2009).
    """
    from scipy import sparse

    weight = 1 / np.sqrt(np.maximum(np.asarray(tokens.sum(axis=0)).ravel(), 1.0))
    # Single precision is twice as fast, and finer than any difference between in and out.
    rows = sparse.csr_array(tokens.multiply(weight[None, :])).astype(np.float32)
    columns, wanted = sparse.csr_array(rows.T), np.ascontiguousarray((totals * weight).T, np.float32)
    steepest = np.ones((rows.shape[0], 1), np.float32)
    for _ in range(_POWERS):
        steepest = rows @ (columns @ steepest)
        steepest /= max(float(np.linalg.norm(steepest)), 1e-300)
    curvature = 1.05 * float(np.linalg.norm(columns @ steepest)) ** 2 + 1e-12
    found = np.full((rows.shape[0], totals.shape[0]), 0.5, np.float32)
    ahead, momentum = found, 1.0
    for _ in range(_STEPS):
        closer = np.clip(ahead - rows @ (columns @ ahead - wanted) / np.float32(curvature), 0.0, 1.0)
        grown = (1 + sqrt(1 + 4 * momentum**2)) / 2
        ahead = closer + (momentum - 1) / grown * (closer - found)
        found, momentum = closer, grown
    return np.asarray(found.T, np.float64)


def _units(counts: Counts, author: NDArray[np.int32] | None) -> Any:
    """Units × words, sparse: how often a document (author) wrote a word."""
    from scipy import sparse

    tokens = counts.matrix().astype(np.float64)
    if author is not None:
        number = np.unique(author, return_inverse=True)[1]
        whose = sparse.csr_array((np.ones(number.size), (number, np.arange(number.size))))
        tokens = sparse.csr_array(whose @ tokens)
    return tokens


def _by_unit(name: str, scores: Floats, shadows: Shadows, author: NDArray[np.int32] | None, targets: int) -> Attack:
    """Scores are of units already; membership is of documents."""
    member = shadows.member[:targets]
    if author is not None:
        first = np.unique(author, return_index=True)[1]
        member = member[:, first]  # whole authors are in or out
    return pooled(name, scores, member, None)
