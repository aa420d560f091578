"""The likelihood-ratio attack on topic models (LiRA; Manzonelli et al. 2024, algorithms 2 and 3). NOT FOR RELEASE."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from dptopics.audit.moments import ALIKE, Moments
from dptopics.audit.rates import Attack
from dptopics.audit.shadows import Shadows
from dptopics.audit.statistics import STATISTICS
from dptopics.errors import InputError

_REACH = 3.0  # deviations beyond either mean; chosen, with the shared covariance, on airline tweets and Daily KOS


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

    Online: log N(t; in) − log N(t; out) for each document. Offline: −log P[N(out) > t]. Several statistics are taken
    as multivariate normals of one covariance (online only). With ``author`` the scores of an author's documents are
    added up. A document's variance is drawn towards that of documents alike, which counts as ``alike`` shadows; with 0
    it is the attack as published.
    """
    columns = [_column(name) for name in statistics]
    if not 1 <= targets <= shadows.n_shadows:
        raise InputError(f"targets must lie between 1 and the {shadows.n_shadows} shadows, got {targets}.")
    if not online and len(columns) > 1:
        raise InputError("the offline attack takes one statistic at a time.")
    values = shadows.statistics[:, :, columns]
    moments = Moments.of(values, shadows.member, alike=alike)
    scores = []
    for target in range(targets):
        others = moments
        for left_out in (target, target ^ 1):
            others = others.without(values[left_out], shadows.member[left_out])
        scores.append(rate(values[target], others, online=online))
    kind = "online" if online else "offline"
    return pooled(f"LiRA {kind}: {', '.join(statistics)}", np.stack(scores), shadows.member[:targets], author)


def pooled(
    name: str, scores: NDArray[np.float64], member: NDArray[np.bool_], author: NDArray[np.int32] | None
) -> Attack:
    """Scores of models × documents as one attack; those of an author's documents are added up."""
    if author is not None:
        number = np.unique(author, return_inverse=True)[1]
        scores = np.stack([np.bincount(number, weights=row) for row in scores])
        member = np.stack([np.bincount(number, weights=row.astype(float)) > 0 for row in member])
    models, units = scores.shape
    unit, target = np.tile(np.arange(units), models), np.repeat(np.arange(models), units)
    return Attack(name, scores.reshape(-1), member.reshape(-1), unit, target)


def rate(observed: NDArray[np.float64], moments: Moments, *, online: bool) -> NDArray[np.float64]:
    """Score of each document: what the target says of it (documents × statistics) against what the shadows say."""
    if not online:
        mean, deviation = moments.outside()
        return np.asarray(-log_ndtr((mean - observed[:, 0]) / deviation))  # log P[N > t]; 1 − P would saturate
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


def _log_normal(
    observed: NDArray[np.float64], mean: NDArray[np.float64], deviation: NDArray[np.float64]
) -> NDArray[np.float64]:
    """log density of each document's observed statistic under a normal (up to 2π)."""
    return np.asarray(-0.5 * ((observed - mean) / deviation) ** 2 - np.log(deviation))


def _log_ratio(observed: NDArray[np.float64], moments: Moments) -> NDArray[np.float64]:
    """log ratio of two multivariate normals, in and out, that share one covariance.

    The statistics of θ̂ pile up at the corners of the simplex. With a covariance for each side the ratio grows with the
    square of the distance, and outsiders far out in such tails push the threshold beyond most members; with one for
    both it grows in proportion, and nothing counts as further out than a few standard deviations.
    """
    (outside, inside), covariance = moments.means(), moments.shared_covariance()
    # A little of the diagonal keeps matrices of few shadows, and of statistics that never vary, invertible.
    ridge = 0.05 * np.einsum("dkk->dk", covariance) + 1e-9 * (1 + outside**2)
    covariance = 0.95 * covariance + np.einsum("dk,kl->dkl", ridge, np.eye(observed.shape[1]))
    weight = np.linalg.solve(covariance, (inside - outside)[:, :, None])[:, :, 0]
    reach = _REACH * np.sqrt(np.einsum("dkk->dk", covariance))
    observed = np.clip(observed, np.minimum(inside, outside) - reach, np.maximum(inside, outside) + reach)
    return np.asarray(np.sum((observed - (inside + outside) / 2) * weight, axis=1))
