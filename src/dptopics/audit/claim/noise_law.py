"""The law of the noise, part by part: over runs, queries, rows, columns, blocks and cells, and between any two of them.

Every draw becomes a standard normal number exactly: a rounded draw is spread over the interval that rounds to it, and
Laplace noise goes through its own distribution function. So under a correct mechanism all numbers are independent and
standard normal, and each test has a probability that holds for any size (docs/audit.md gives the arguments). Tests of
one kind are corrected together by their number. Noise that is larger than stated is no violation. NOT FOR RELEASE.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, ndtr, ndtri
from scipy.stats import chi2, norm, poisson

from dptopics.mechanisms.queries import Query
from dptopics.privacy.events import Noise

Floats = NDArray[np.float64]
_FINE = 2.0**16  # steps: above, a normal density is flat within one
_BLOCKS = 16  # consecutive parts of a query's cells
_PAIRED = 1024  # cells of a query that are compared with one another over runs
_WORK = 2e8  # numbers that a comparison of queries may touch
_POOL = 50_000  # draws among which repeats are counted
_RUNS_COMPARED = 24  # runs whose noise is compared with one another at every shift
_SMALLEST = 8  # numbers that a correlation needs
_RANDOM = np.random.default_rng()  # spreads rounded draws: nothing is hidden by it


@dataclass(frozen=True)
class Oddity:
    """What was tested, where it was worst, and the largest probability of that by chance among all such tests."""

    what: str
    p_value: float


@dataclass
class NoiseLaw:
    """Draws of several runs, query by query in the order in which they were made."""

    runs: Sequence[Sequence[Query]]
    _kinds: dict[str, list[tuple[float, str, int]]] = field(default_factory=dict)  # least p, where, number of tests

    def oddities(self) -> list[Oddity]:
        """One for each kind of test."""
        places: dict[tuple[Any, ...], list[Query]] = {}
        for queries in self.runs:
            for place, query in enumerate(queries):
                places.setdefault((place, query.kind, query.scale, query.drawn.shape), []).append(query)
        groups = {key: same for key, same in places.items() if same[0].drawn.size}
        normal = {key: np.array([normals(query) for query in same]) for key, same in groups.items()}
        for (place, *_), cells in normal.items():
            self._of_one(cells, f"query {place + 1}")
        self._between_queries([cells.reshape(len(cells), -1) for cells in normal.values()])
        self._repeats(groups)
        found = []
        for name, kind in self._kinds.items():
            (least, where, _), n = min(kind), sum(tests for _, _, tests in kind)
            found.append(Oddity(f"{name} ({where})", min(1.0, least * n)))
        return found

    def _add(self, name: str, p_values: Any, where: str) -> None:
        values = np.atleast_1d(np.asarray(p_values, np.float64))
        self._kinds.setdefault(name, []).append((float(values.min(initial=1.0)), where, values.size))

    # --- one query ---

    def _of_one(self, cells: Floats, where: str) -> None:
        """``cells``: runs × rows × columns."""
        for part, numbers in parts(cells):
            squares = (numbers**2).sum(axis=1)
            n = numbers.shape[1]
            self._add(f"less noise was drawn than is stated, by {part}", gammainc(n / 2, squares / 2), where)
            largest = np.abs(numbers).max(axis=1)
            self._add(f"the largest draws are missing, by {part}", np.exp(n * np.log1p(-2 * ndtr(-largest))), where)
            if " of a run" not in part:
                self._add(f"the noise does not have its stated shape, by {part}", above_the_law(numbers), where)
            if n > 1:
                sums = numbers.sum(axis=1) / sqrt(n)
                self._add(f"the cells of a {part} share noise", 2 * norm.sf(np.abs(sums)), where)
                share = chi2(len(sums)).cdf(float(sums @ sums))
                self._add(f"sums have too little or too much noise, by {part}", _either(share), where)
        flat = cells.reshape(len(cells), -1)
        if flat.shape[1] >= 2:
            self._lags(flat, where)
        if len(flat) >= _SMALLEST:
            some = flat[:, _chosen(flat.shape[1])]
            # Given one cell, its product with another over the runs is normal.
            alike = np.abs(some.T @ some) / np.sqrt((some**2).sum(axis=0)).clip(1e-300)
            self._add("two cells share noise over runs", 2 * norm.sf(alike[np.triu_indices(len(alike), 1)]), where)
            if len(flat) >= 2:
                self._between_runs(flat, where)

    def _lags(self, flat: Floats, where: str) -> None:
        """Correlation of cells at every distance and power at every frequency: of each run, and over all."""
        n_runs, n = flat.shape
        power = np.abs(np.fft.rfft(flat, 2 * n)) ** 2
        products = np.fft.irfft(power, 2 * n)[:, 1:n]
        terms = np.arange(n - 1, 0, -1)
        self._add("cells of a query repeat others at some distance", shifted_products(products, terms), where)
        pooled = shifted_products(products.sum(axis=0), n_runs * terms)
        self._add("cells of a query repeat others at some distance over all runs", pooled, where)
        if n > 4:
            inner = 2 * (np.abs(np.fft.rfft(flat)[:, 1 : (n + 1) // 2]) ** 2).sum(axis=0) / n
            share = gammainc(n_runs, inner / 2)
            self._add("a regular pattern of cells has too little or too much noise", _either(share), where)

    def _between_runs(self, flat: Floats, where: str) -> None:
        """One query in two runs, at every shift."""
        n = flat.shape[1]
        waves = np.fft.rfft(flat)
        lengths = np.sqrt((flat**2).sum(axis=1)).clip(1e-300)
        few = list(combinations(range(min(len(flat), _RUNS_COMPARED)), 2)) if n >= _SMALLEST else []
        if few:
            one, other = np.array(few).T
            products = np.fft.irfft(waves[one].conj() * waves[other], n)
            self._add("two runs share noise", 2 * norm.sf(np.abs(products) / lengths[one][:, None]), where)
        half = len(flat) // 2
        one, other = waves[: 2 * half : 2], waves[1 : 2 * half : 2]
        products = np.fft.irfft((one.conj() * other).sum(axis=0), n)
        spread = np.sqrt((flat[: 2 * half : 2] ** 2).sum()).clip(1e-300)
        self._add("each run shares noise with the next", 2 * norm.sf(np.abs(products) / spread), where)

    # --- several queries ---

    def _between_queries(self, queries: list[Floats]) -> None:
        """Every two queries at every shift: in a few runs, and over all. Given the shorter, products are normal."""
        pairs = list(combinations(range(len(queries)), 2))
        if not pairs:
            return
        longest = max(cells.shape[1] for cells in queries)
        n_runs = max(1, min(max(map(len, queries)), int(_WORK / (len(pairs) * longest))))
        for i, j in pairs:
            one, other = sorted((queries[i], queries[j]), key=lambda cells: cells.shape[1])
            together = min(len(one), len(other), n_runs)
            n = other.shape[1]
            one, other = one[:together], other[:together]
            waves = np.fft.rfft(one, n).conj() * np.fft.rfft(other, n)
            lengths = (one**2).sum(axis=1)
            where = f"queries {i + 1} and {j + 1}"
            if one.shape[1] >= _SMALLEST:
                few = np.abs(np.fft.irfft(waves[:_SMALLEST], n)) / np.sqrt(lengths[:_SMALLEST].clip(1e-300))[:, None]
                self._add("two queries of a run share noise", 2 * norm.sf(few), where)
            pooled = np.abs(np.fft.irfft(waves.sum(axis=0), n)) / np.sqrt(lengths.sum().clip(1e-300))
            self._add("two queries share noise over all runs", 2 * norm.sf(pooled), where)

    def _repeats(self, groups: dict[tuple[Any, ...], list[Query]]) -> None:
        """The same draw twice, with either sign: within a query or a run, added up over runs, and between runs."""
        pools: dict[tuple[str, Noise, float], list[list[NDArray[np.int64]]]] = {}
        for (place, kind, scale, _), same in groups.items():
            draws = [query.drawn for query in same]
            pools[f"query {place + 1} of each run", kind, scale] = [[draw] for draw in draws]
            pools[f"query {place + 1} of all runs", kind, scale] = [draws]
        for queries in self.runs:
            in_run: dict[tuple[Noise, float], list[NDArray[np.int64]]] = {}
            for query in queries:
                in_run.setdefault((query.kind, query.scale), []).append(query.drawn)
            for key, draws in in_run.items():
                pools.setdefault(("each run", *key), []).append(draws)
                pools.setdefault(("all runs", *key), [[]])[0].extend(draws)
        for (where, kind, scale), several in pools.items():
            sizes = [np.abs(np.concatenate([draw.ravel() for draw in draws])[:_POOL]) for draws in several]
            self._add("one draw was used twice", repeated(sizes, kind, scale), where)


def normals(query: Query) -> Floats:
    """Draws as standard normal numbers, runs of two axes: a draw is spread over what rounds to it."""
    drawn = query.drawn.reshape(query.drawn.shape[0], -1) if query.drawn.ndim else query.drawn.reshape(1, 1)
    within = _RANDOM.random(drawn.shape)
    if query.kind is Noise.GAUSSIAN and query.scale >= _FINE:
        return np.asarray((drawn + (within - 0.5)) / query.scale)
    size = np.abs(drawn)
    near, far = (_beyond(query.kind, (size + half) / query.scale) for half in (-0.5, 0.5))
    return np.asarray(np.where(drawn < 0, 1, -1) * ndtri(np.maximum(far + within * (near - far), 1e-300)))


def _chosen(n: int) -> NDArray[np.int64]:
    """Cells that are compared with one another: the first, the last, and some between."""
    ends = np.arange(_PAIRED * 3 // 8)
    between = np.linspace(0, n - 1, _PAIRED // 4).astype(np.int64)
    return np.unique(np.concatenate([ends, between, n - 1 - ends]).clip(0, n - 1))


def _either(share: Any) -> Any:
    """Of a distribution function: the probability of a value as extreme, on either side."""
    return 2 * np.minimum(share, 1 - share)


def _beyond(kind: Noise, x: Floats) -> Floats:
    """P[Z > x]."""
    if kind is Noise.GAUSSIAN:
        return np.asarray(ndtr(-x))
    return np.where(x < 0, 1 - np.exp(-np.abs(x)) / 2, np.exp(-np.abs(x)) / 2)


def parts(cells: Floats) -> Iterator[tuple[str, Floats]]:
    """Each way to part the draws of a query (runs × rows × columns), as groups × numbers."""
    n_runs, n_rows, n_columns = cells.shape
    flat = cells.reshape(n_runs, -1)
    n = flat.shape[1]
    yield "query", flat.reshape(1, -1)
    if n_runs > 1:
        yield "run", flat
        yield "cell", flat.T
    size = n // _BLOCKS
    blocks = flat[:, : size * _BLOCKS].reshape(n_runs, _BLOCKS, -1) if size > 1 else None
    if min(n_rows, n_columns) > 1:
        yield "row", cells.transpose(1, 0, 2).reshape(n_rows, -1)
        yield "row of a run", cells.reshape(-1, n_columns)
        yield "column", cells.transpose(2, 0, 1).reshape(n_columns, -1)
        yield "column of a run", cells.transpose(0, 2, 1).reshape(-1, n_rows)
    if blocks is not None:
        yield "block", blocks.transpose(1, 0, 2).reshape(_BLOCKS, -1)
        yield "block of a run", blocks.reshape(-1, size)


def above_the_law(numbers: Floats) -> Floats:
    """Whether sizes of draws lie too near to zero: one-sided Kolmogorov–Smirnov for each group, by Massart's bound."""
    n = numbers.shape[1]
    law = 2 * ndtr(np.sort(np.abs(numbers), axis=1)) - 1
    gap = (np.arange(1, n + 1) / n - law).max(axis=1)
    return np.asarray(np.minimum(1.0, np.exp(-2 * n * np.maximum(gap, 0.0) ** 2)))


def shifted_products(sums: Floats, terms: Any) -> Floats:
    """P[|Σ xᵢ·xᵢ₊ₗ| ≥ |sum|], at most: Chernoff's bound for paths of ``terms`` products of standard normal numbers."""
    size, terms = np.abs(sums), np.broadcast_to(terms, sums.shape)
    u = 4 * size / (terms + np.sqrt(terms**2 + 16.0 * size**2))
    return np.asarray(np.minimum(1.0, 2 * np.exp(-u * size / 2 - terms / 8 * np.log1p(-(u**2)))))


def repeated(pools: Sequence[NDArray[np.int64]], kind: Noise, scale: float) -> float:
    """P of so many sizes that occurred before in their pool, at most: each did with P ≤ earlier · largest mass."""
    again = sum(pool.size - np.unique(pool).size for pool in pools)
    mass = min(1.0, (sqrt(2 / np.pi) if kind is Noise.GAUSSIAN else 1.0) / scale)
    expected = mass * sum(pool.size * (pool.size - 1) for pool in pools) / 2
    return 1.0 if again < expected + 1 else float(poisson.sf(again - 1, expected))


def smallest_share_seen(n: int, tests: int, error: float) -> float:
    """The share of the stated noise, in a group of ``n`` draws, that would be seen with probability 0.95."""
    return sqrt(float(chi2(n).ppf(error / tests)) / float(chi2(n).ppf(0.95)))


def rarest_event_seen(runs: int) -> float:
    """Of so many runs one has no noise, at most, for one to be met with probability 0.99."""
    return -runs / log(0.01) if runs else 0.0
