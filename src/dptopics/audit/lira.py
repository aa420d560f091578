"""The likelihood-ratio attack on topic models (LiRA; Manzonelli et al. 2024, algorithms 2 and 3). NOT FOR RELEASE."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from dptopics.audit.shadows import Shadows
from dptopics.audit.statistics import STATISTICS
from dptopics.errors import InputError

_REACH = 3.0  # deviations beyond either mean; chosen, with the shared covariance, on airline tweets and Daily KOS


@dataclass(frozen=True, eq=False)
class Attack:
    """Scores of documents (or authors), higher for "was in the data", and the truth."""

    name: str
    score: NDArray[np.float64]
    member: NDArray[np.bool_]

    def true_positive_rate(self, false_positive_rate: float) -> float:
        """Share of members found when at most so small a share of non-members is accused."""
        return float(self.roc(np.array([false_positive_rate]))[0])

    def roc(self, false_positive_rates: NDArray[np.float64]) -> NDArray[np.float64]:
        """True positive rate at each false positive rate."""
        outside = np.sort(self.score[~self.member])[::-1]
        allowed = np.minimum(np.floor(false_positive_rates * outside.size).astype(int), outside.size - 1)
        return self._found(outside[allowed])

    def _found(self, threshold: NDArray[np.float64]) -> NDArray[np.float64]:
        """Share of members strictly above each threshold."""
        inside = np.sort(self.score[self.member])
        return np.asarray(1 - np.searchsorted(inside, threshold, side="right") / inside.size)

    def area(self) -> float:
        """Area under the ROC curve: the chance that a member scores above a non-member."""
        from scipy.stats import rankdata

        ranks, n = rankdata(self.score), int(self.member.sum())
        return float((ranks[self.member].sum() - n * (n + 1) / 2) / (n * (self.member.size - n)))

    def interval(self, false_positive_rate: float, *, repeats: int = 1000, level: float = 0.95) -> tuple[float, float]:
        """Bootstrap interval of the true positive rate: members and others are drawn again apart.

        The threshold is an order statistic of the others, and the rate a binomial share of the members above it, so a
        repeat is one beta and one binomial draw.
        """
        rng = np.random.Generator(np.random.PCG64(0))
        outside = np.sort(self.score[~self.member])[::-1]
        allowed = min(int(np.floor(false_positive_rate * outside.size)), outside.size - 1)
        place = np.floor(rng.beta(allowed + 1, outside.size - allowed, repeats) * outside.size).astype(int)
        n = int(self.member.sum())
        rates = rng.binomial(n, self._found(outside[np.minimum(place, outside.size - 1)])) / n
        low, high = np.quantile(rates, [(1 - level) / 2, (1 + level) / 2])
        return float(low), float(high)

    def to_dict(self) -> dict[str, Any]:
        """Rates for a report."""
        return {
            "not_for_release": True,
            "attack": self.name,
            "auc": self.area(),
            "tpr_at_0.1%_fpr": self.true_positive_rate(0.001),
            "tpr_at_0.1%_fpr_interval": self.interval(0.001),
            "tpr_at_1%_fpr": self.true_positive_rate(0.01),
            "tpr_at_1%_fpr_interval": self.interval(0.01),
        }


def attack(
    shadows: Shadows,
    *,
    targets: int = 1,
    statistics: Sequence[str] = ("zeta",),
    online: bool = True,
    author: NDArray[np.int32] | None = None,
) -> Attack:
    """LiRA against ``targets`` of the models, each with the others (but its complement) as shadows; scores pooled.

    Online: log N(t; in) − log N(t; out) for each document. Offline: −log P[N(out) > t]. Several statistics are taken
    as multivariate normals of one covariance (online only). With ``author`` the scores of an author's documents are
    added up.
    """
    columns = [_column(name) for name in statistics]
    if not 1 <= targets <= shadows.n_shadows:
        raise InputError(f"targets must lie between 1 and the {shadows.n_shadows} shadows, got {targets}.")
    if not online and len(columns) > 1:
        raise InputError("the offline attack takes one statistic at a time.")
    scores, members = [], []
    for target in range(targets):
        others = np.delete(np.arange(shadows.n_shadows), [target, target ^ 1])
        said = shadows.statistics[others][:, :, columns]
        score = rate(shadows.statistics[target][:, columns], said, shadows.member[others], online=online)
        member = shadows.member[target]
        if author is not None:
            number = np.unique(author, return_inverse=True)[1]
            member = np.bincount(number, weights=member.astype(float)) > 0
            score = np.asarray(np.bincount(number, weights=score), np.float64)
        scores.append(score)
        members.append(member)
    kind = "online" if online else "offline"
    return Attack(f"LiRA {kind}: {', '.join(statistics)}", np.concatenate(scores), np.concatenate(members))


def rate(
    observed: NDArray[np.float64], said: NDArray[np.float64], seen: NDArray[np.bool_], *, online: bool
) -> NDArray[np.float64]:
    """Score of each document: what the target says of it (documents × statistics) against what the shadows say.

    ``said`` is shadows × documents × statistics; ``seen`` tells which shadows had which document.
    """
    if not online:
        mean, deviation = _moments(said[:, :, 0], ~seen)
        return np.asarray(-log_ndtr((mean - observed[:, 0]) / deviation))  # log P[N > t]; 1 − P would saturate
    if said.shape[2] > 1:
        return _log_ratio(observed, said, seen)
    return _log_normal(observed[:, 0], said[:, :, 0], seen) - _log_normal(observed[:, 0], said[:, :, 0], ~seen)


def threshold_attack(shadows: Shadows, statistic: str, *, targets: int = 1) -> Attack:
    """The same threshold for every document, on the statistic itself (Huang et al. 2022): the baseline."""
    column = _column(statistic)
    return Attack(
        f"threshold: {statistic}",
        np.concatenate([shadows.statistics[t][:, column] for t in range(targets)]),
        np.concatenate([shadows.member[t] for t in range(targets)]),
    )


def _column(name: str) -> int:
    if name not in STATISTICS:
        raise InputError(f"there is no statistic {name!r}. The statistics are: {', '.join(STATISTICS)}.")
    return STATISTICS.index(name)


def _moments(values: NDArray[np.float64], chosen: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and deviation of each document over the chosen shadows; the deviation never quite vanishes."""
    n = np.maximum(chosen.sum(axis=0), 2)
    mean = np.sum(values * chosen, axis=0) / n
    variance = np.sum((values - mean) ** 2 * chosen, axis=0) / (n - 1)
    return mean, np.sqrt(variance) + 1e-6 * (1 + np.abs(mean))


def _log_normal(
    observed: NDArray[np.float64], values: NDArray[np.float64], chosen: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """log density of each document's observed statistic under a normal fitted to the chosen shadows (up to 2π)."""
    mean, deviation = _moments(values, chosen)
    return np.asarray(-0.5 * ((observed - mean) / deviation) ** 2 - np.log(deviation))


def _log_ratio(
    observed: NDArray[np.float64], values: NDArray[np.float64], seen: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """log ratio of two multivariate normals, in and out, that share one covariance.

    The statistics of θ̂ pile up at the corners of the simplex. With a covariance for each side the ratio grows with the
    square of the distance, and outsiders far out in such tails push the threshold beyond most members; with one for
    both it grows in proportion, and nothing counts as further out than a few standard deviations.
    """
    inside, outside = _mean(values, seen), _mean(values, ~seen)
    centred = values - np.where(seen[:, :, None], inside, outside)
    covariance = np.einsum("sdk,sdl->dkl", centred, centred) / max(1, values.shape[0] - 2)
    # A little of the diagonal keeps matrices of few shadows, and of statistics that never vary, invertible.
    ridge = 0.05 * np.einsum("dkk->dk", covariance) + 1e-9 * (1 + outside**2)
    covariance = 0.95 * covariance + np.einsum("dk,kl->dkl", ridge, np.eye(observed.shape[1]))
    weight = np.linalg.solve(covariance, (inside - outside)[:, :, None])[:, :, 0]
    reach = _REACH * np.sqrt(np.einsum("dkk->dk", covariance))
    observed = np.clip(observed, np.minimum(inside, outside) - reach, np.maximum(inside, outside) + reach)
    return np.asarray(np.sum((observed - (inside + outside) / 2) * weight, axis=1))


def _mean(values: NDArray[np.float64], chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Mean over the chosen shadows: documents × statistics."""
    n = np.maximum(chosen.sum(axis=0), 1)[:, None]
    return np.asarray(np.einsum("sdk,sd->dk", values, chosen.astype(float)) / n)
