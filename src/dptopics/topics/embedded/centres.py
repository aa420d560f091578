"""Centres of clusters: where they start, how noisy sums move them, which are merged. All after the noise."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from dptopics.public.embeddings import unit

Floats = NDArray[np.float64]

_ALIKE = 0.95  # centres with a larger cosine are one
_MEMORY = 0.9  # of earlier rounds, for a cluster whose sum is all noise


def grouped(candidates: Floats, noisy: Floats, sigma: float, n: int) -> Floats:
    """n centres from candidates with noisy counts. Counts that could be noise do not pull."""
    from sklearn.cluster import KMeans

    real = noisy > 2 * sigma
    if np.count_nonzero(real) <= n:
        return candidates[np.sort(np.argsort(-noisy, kind="stable")[:n])]
    with threadpool_limits(1):
        groups = KMeans(n, n_init=10, random_state=0).fit(candidates[real], sample_weight=noisy[real])
    return unit(groups.cluster_centers_.astype(np.float64))


@dataclass(frozen=True, eq=False)
class Moving:
    """Centres between two rounds, with what earlier rounds said of each."""

    centres: Floats
    sums: Floats
    variance: Floats  # of the noise in ``sums``, in that of one round

    @classmethod
    def at(cls, centres: Floats) -> "Moving":
        """Where they start: nothing was said yet."""
        return cls(centres, np.zeros_like(centres), np.zeros(len(centres)))

    def by(self, noisy: Floats, deviation: float) -> "Moving":
        """After a round's noisy sums of unit vectors; ``deviation`` is the standard deviation of their noise.

        Where a cluster's sum is lost in the noise, those of earlier rounds are added to it, which nearly the same
        documents made: noise grows slower than they do. What noise outweighs even so stays where it was.
        """
        kept = _MEMORY * (1 - _trust(noisy, deviation))
        sums = kept[:, None] * self.sums + noisy
        variance = kept**2 * self.variance + 1
        trust = _trust(sums, deviation * np.sqrt(variance))[:, None]
        return Moving(unit(trust * unit(sums) + (1 - trust) * self.centres), sums, variance)

    def leaning(self, seeds: Floats, share: float) -> "Moving":
        """The first centres drawn by a ``share`` towards their seeds."""
        leant = unit((1 - share) * self.centres[: len(seeds)] + share * seeds)
        return replace(self, centres=np.concatenate([leant, self.centres[len(seeds) :]]))


def _trust(sums: Floats, deviation: float | Floats) -> Floats:
    """How much of each row's square is not noise (James and Stein 1961), at least zero."""
    noise = sums.shape[1] * np.square(deviation)
    return np.asarray(np.maximum(0.0, 1 - noise / np.maximum((sums**2).sum(axis=1), 1e-300)))


@dataclass(frozen=True, eq=False)
class Clusters:
    """Centres with their noisy sizes, and which seed each began from (−1: none)."""

    centres: Floats
    sizes: Floats
    seeds: NDArray[np.int64]

    @classmethod
    def of(cls, centres: Floats, sizes: Floats, n_seeds: int = 0) -> "Clusters":
        """As they came out of the rounds: those that were seeded first."""
        number = np.arange(len(centres))
        return cls(centres, np.maximum(sizes, 1.0), np.where(number < n_seeds, number, -1))

    def take(self, chosen: Sequence[int] | NDArray[np.int64]) -> "Clusters":
        """Some of them, in this order."""
        index = np.asarray(chosen, np.int64)
        return Clusters(self.centres[index], self.sizes[index], self.seeds[index])


def merged(clusters: Clusters, n: int) -> Clusters:
    """At most n centres: again and again the two are joined that add least to the squared distances (Ward 1963).

    Two that were seeded stay apart.
    """
    centres, sizes, seeds = clusters.centres.copy(), clusters.sizes.copy(), clusters.seeds
    while len(centres) > n:
        apart = ((centres[:, None] - centres[None]) ** 2).sum(axis=2)
        cost = sizes[:, None] * sizes / (sizes[:, None] + sizes) * apart
        cost[(seeds[:, None] >= 0) & (seeds >= 0)] = np.inf
        np.fill_diagonal(cost, np.inf)
        stays, goes = sorted(divmod(int(cost.argmin()), len(centres)))
        both = sizes[stays] + sizes[goes]
        centres[stays] = (sizes[stays] * centres[stays] + sizes[goes] * centres[goes]) / both
        sizes[stays] = both
        centres, sizes, seeds = np.delete(centres, goes, axis=0), np.delete(sizes, goes), np.delete(seeds, goes)
    return Clusters(unit(centres), sizes, seeds)


def strong(clusters: Clusters, least: float) -> Clusters:
    """Clusters of at least the given noisy size; those whose centres lie together are merged. The largest two stay."""
    kept: list[int] = []
    centres, sizes, seeds = clusters.centres, clusters.sizes.copy(), clusters.seeds.copy()
    for k in np.argsort(-sizes, kind="stable"):
        twins = [j for j in kept if centres[j] @ centres[k] > _ALIKE]
        if len(kept) < 2 or (sizes[k] >= least and not twins):
            kept.append(int(k))
        elif twins:
            sizes[twins[0]] += sizes[k]
            seeds[twins[0]] = max(seeds[twins[0]], seeds[k])
    return Clusters(centres, sizes, seeds).take(kept)
