"""The likelihood-ratio attack on topic models (LiRA; Manzonelli et al. 2024, algorithms 2 and 3). NOT FOR RELEASE."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from dptopics.audit.membership.rates import STATISTICS, Attack, Shadows
from dptopics.core.counts import Counts
from dptopics.core.errors import InputError

Floats = NDArray[np.float64]

ALIKE = 8.0  # shadows that the variance of similar documents counts as; chosen on airline tweets and Daily KOS
_GROUPS = 20  # of similar documents


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over the shadows without (0) and with (1) each document, around a common centre."""

    n: Floats  # sides × documents
    total: Floats  # sides × documents × statistics
    square: Floats  # sides × documents × statistics × statistics
    centre: Floats
    alike: float = ALIKE

    @classmethod
    def of(cls, said: Floats, seen: NDArray[np.bool_], *, alike: float = ALIKE) -> Self:
        """``said``: shadows × documents × statistics; ``seen``: which shadows had which document."""
        centre = said.mean(axis=0)
        centred = said - centre  # sums of squares around 0 would lose digits
        sides = np.stack([~seen, seen]).astype(np.float64)
        total = np.einsum("zsd,sdk->zdk", sides, centred)
        square = np.stack([np.einsum("sd,sdk,sdl->dkl", side, centred, centred, optimize=True) for side in sides])
        return cls(sides.sum(axis=1), total, square, centre, alike)

    def without(self, said: Floats, seen: NDArray[np.bool_]) -> Self:
        """The same without this one shadow."""
        sides = np.stack([~seen, seen]).astype(np.float64)
        centred = said - self.centre
        total = self.total - sides[:, :, None] * centred
        square = self.square - sides[:, :, None, None] * np.einsum("dk,dl->dkl", centred, centred)
        return replace(self, n=self.n - sides, total=total, square=square)

    def means(self) -> Floats:
        """Sides × documents × statistics."""
        return np.asarray(self.centre + self.total / np.maximum(self.n, 1)[:, :, None])

    def shared_covariance(self) -> Floats:
        """Around the mean of each side, both sides together: documents × statistics × statistics."""
        return np.asarray(self._scatter().sum(axis=0) / np.maximum(1, self.n.sum(axis=0) - 2)[:, None, None])

    def inside(self) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the first statistic over the shadows that had the document."""
        return self._normal(1)

    def outside(self) -> tuple[Floats, Floats]:
        """The same over those that did not."""
        return self._normal(0)

    def _normal(self, side: int) -> tuple[Floats, Floats]:
        """Few shadows estimate a variance poorly, so it is shrunk towards that of similar documents (Smyth 2004)."""
        mean = self.means()[side, :, 0]
        freedom = np.maximum(self.n[side] - 1, 0)
        scatter = np.maximum(self._scatter()[side, :, 0, 0], 0.0)
        typical = _of_similar_documents(mean, scatter, freedom)
        variance = (scatter + self.alike * typical) / np.maximum(freedom + self.alike, 1)
        return mean, np.sqrt(variance) + 1e-6 * (1 + np.abs(mean))  # never 0

    def _scatter(self) -> Floats:
        n = np.maximum(self.n, 1)[:, :, None, None]
        return np.asarray(self.square - np.einsum("zdk,zdl->zdkl", self.total, self.total) / n)


def _of_similar_documents(mean: Floats, scatter: Floats, freedom: Floats) -> Floats:
    """The mean variance of documents with about the same mean: of similar length and rarity."""
    order = np.argsort(mean, kind="stable")
    group = np.empty(mean.size, np.int64)
    group[order] = np.arange(mean.size) * min(_GROUPS, max(1, mean.size // 25)) // max(1, mean.size)
    total = np.bincount(group, weights=scatter)
    return np.asarray((total / np.maximum(np.bincount(group, weights=freedom), 1))[group])


_REACH = (
    3.0  # standard deviations beyond either mean; chosen, with the shared covariance, on airline tweets and Daily KOS
)


def attack(
    shadows: Shadows,
    *,
    targets: int = 1,
    statistics: Sequence[str] = ("zeta",),
    online: bool = True,
    author: NDArray[np.int32] | None = None,
    alike: float = ALIKE,
) -> Attack:
    """LiRA against ``targets`` of the models, each with the others (but its complement) as shadows; scores pooled.

    Online: log N(t; in) − log N(t; out) for each document. Offline: −log P[N(out) > t]. Several statistics are modelled
    as multivariate normals of one covariance (online only). With ``author`` the scores of an author's documents are
    summed. A document's variance is shrunk towards that of similar documents, which counts as ``alike`` shadows; 0
    gives the attack as published.
    """
    columns = [_column(name) for name in statistics]
    if not 1 <= targets <= shadows.n_shadows:
        raise InputError(f"targets must lie between 1 and the {shadows.n_shadows} shadows, got {targets}.")
    if not online and len(columns) > 1:
        raise InputError("the offline attack takes one statistic at a time.")
    values = shadows.statistics[:, :, columns]
    moments = Moments.of(values, shadows.member, alike=alike)
    scores = in_turn(values, shadows.member, moments, targets, online=online)
    kind = "online" if online else "offline"
    return pooled(f"LiRA {kind}: {', '.join(statistics)}", scores, shadows.member[:targets], author)


def in_turn(said: Floats, seen: NDArray[np.bool_], moments: Moments, targets: int, *, online: bool) -> Floats:
    """Scores with each of the first shadows as the target, and the others but its complement as shadows."""
    scores = []
    for target in range(targets):
        others = moments
        for left_out in (target, target ^ 1):
            others = others.without(said[left_out], seen[left_out])
        scores.append(rate(said[target], others, online=online))
    return np.stack(scores)


def pooled(name: str, scores: Floats, member: NDArray[np.bool_], author: NDArray[np.int32] | None) -> Attack:
    """Scores of models × documents as one attack; those of an author's documents are summed."""
    if author is not None:
        number = np.unique(author, return_inverse=True)[1]
        scores = np.stack([np.bincount(number, weights=row) for row in scores])
        member = np.stack([np.bincount(number, weights=row.astype(float)) > 0 for row in member])
    models, units = scores.shape
    unit, target = np.tile(np.arange(units), models), np.repeat(np.arange(models), units)
    return Attack(name, scores.reshape(-1), member.reshape(-1), unit, target)


def rate(observed: NDArray[np.float64], moments: Moments, *, online: bool) -> NDArray[np.float64]:
    """Score of each document: its statistics under the target (documents × statistics) against the shadows."""
    if not online:
        mean, spread = moments.outside()
        return np.asarray(-log_ndtr((mean - observed[:, 0]) / spread))  # log P[N > t]; 1 − P would saturate
    if observed.shape[1] > 1:
        return _log_ratio(observed, moments)
    return _log_normal(observed[:, 0], *moments.inside()) - _log_normal(observed[:, 0], *moments.outside())


def threshold_attack(shadows: Shadows, statistic: str, *, targets: int = 1) -> Attack:
    """The same threshold for every document, on the statistic itself (Huang et al. 2022): the baseline."""
    scores = shadows.statistics[:targets, :, _column(statistic)]
    return pooled(f"threshold: {statistic}", scores, shadows.member[:targets], None)


def _column(name: str) -> int:
    if name not in STATISTICS:
        raise InputError(f"there is no statistic {name!r}. The statistics are: {', '.join(STATISTICS)}.")
    return STATISTICS.index(name)


def _log_normal(observed: Floats, mean: Floats, spread: Floats) -> Floats:
    """log density of each document's observed statistic under a normal (up to 2π)."""
    return np.asarray(-0.5 * ((observed - mean) / spread) ** 2 - np.log(spread))


def _log_ratio(observed: NDArray[np.float64], moments: Moments) -> NDArray[np.float64]:
    """log ratio of two multivariate normals, in and out, that share one covariance.

    The statistics of θ̂ accumulate at the corners of the simplex. With one covariance per side the ratio grows
    quadratically, and outsiders in the tails push the threshold beyond most members; with a shared one it grows
    linearly, and values are clipped at a few standard deviations.
    """
    (outside, inside), covariance = moments.means(), moments.shared_covariance()
    # A ridge keeps matrices of few shadows, and of constant statistics, invertible.
    ridge = 0.05 * np.einsum("dkk->dk", covariance) + 1e-9 * (1 + outside**2)
    covariance = 0.95 * covariance + np.einsum("dk,kl->dkl", ridge, np.eye(observed.shape[1]))
    weight = np.linalg.solve(covariance, (inside - outside)[:, :, None])[:, :, 0]
    reach = _REACH * np.sqrt(np.einsum("dkk->dk", covariance))
    observed = np.clip(observed, np.minimum(inside, outside) - reach, np.maximum(inside, outside) + reach)
    return np.asarray(np.sum((observed - (inside + outside) / 2) * weight, axis=1))


_CERTAIN = 50.0  # log ratio that counts as certain, for or against
_STEPS = 300  # of projected gradients; chosen, with the weights of words, on airline tweets
_POWERS = 30  # for the largest curvature


def presence_attack(
    shadows: Shadows, counts: Counts, *, targets: int, author: NDArray[np.int32] | None = None
) -> Attack:
    """Is every word of the document (or author) in the model, and how likely would that be without it?

    The score is −Σ log P(word is present | document is not), every other document being in by a fair coin; a missing
    word counts as strongly against membership as a word that nobody else wrote counts for it.
    """
    used = _units(counts, author)
    scores = np.stack([presence(used, shadows.present[target]) for target in range(targets)])
    return _by_unit("presence of words", scores, shadows, author, targets)


def presence(used: Any, present: NDArray[np.bool_], *, share: float = 0.5) -> Floats:
    """Scores of units; ``used`` is sparse, units × words; ``share`` of the units are in the data."""
    users = np.asarray((used > 0).sum(axis=0)).ravel()
    alone = users <= 1
    there = np.log1p(-((1 - share) ** np.where(alone, 1.0, users - 1.0)))  # that somebody else used the word
    worth = np.where(present, np.minimum(np.where(alone, _CERTAIN, -there), _CERTAIN), -_CERTAIN)
    return np.asarray((used > 0).astype(np.float64) @ worth)


def counts_attack(
    shadows: Shadows, counts: Counts, *, targets: int, author: NDArray[np.int32] | None = None
) -> Attack | None:
    """Which documents add up to the counts that the models reveal? None where a model reveals none."""
    totals = shadows.totals[:targets]
    if np.isnan(totals).any():
        return None
    tokens = _units(counts, author)
    return _by_unit("exact counts, decoded", who_adds_up(tokens, totals), shadows, author, targets)


def who_adds_up(tokens: Any, totals: Floats) -> Floats:
    """Least squares for xᵀC = n with 0 ≤ x ≤ 1, for all models at once: models × units, 1 for those inside.

    ``tokens`` C is sparse, units × words; ``totals`` n models × words. Words are weighted by inverse frequency, so rare
    ones decide. Projected gradients with momentum (FISTA; Beck and Teboulle 2009).
    """
    from scipy import sparse

    weight = 1 / np.sqrt(np.maximum(np.asarray(tokens.sum(axis=0)).ravel(), 1.0))
    # Single precision is twice as fast, and precise enough to separate in from out.
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
    """Scores are per unit already; membership is per document."""
    member = shadows.member[:targets]
    if author is not None:
        member = member[:, np.unique(author, return_index=True)[1]]  # whole authors are in or out
    return pooled(name, scores, member, None)
