"""How many members an attack finds, with confidence limits, and which rates the data can support. NOT FOR RELEASE."""

import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, log10
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, norm, t

from dptopics.audit.claim.curves import share_at_least, share_at_most
from dptopics.core import progress
from dptopics.core.counts import Counts
from dptopics.core.errors import InputError
from dptopics.kernels.zeta import zeta

LEVEL = 0.95  # of all the intervals of one table together
_SMALLEST = 0.001  # false positive rate of first interest
ACCUSED = 8  # outsiders that a threshold must accuse before it is known, with the confidence of a table, to do so
_FEWEST = 20  # documents or authors: half of them outsiders, which is one for a false positive rate of 10 %


@dataclass(frozen=True, eq=False)
class Attack:
    """Scores of documents (or authors), higher for "was in the data", and the truth.

    ``unit`` and ``target`` number the document (or author) and attacked model of each score; without, all independent.
    """

    name: str
    score: NDArray[np.float64]
    member: NDArray[np.bool_]
    unit: NDArray[np.int64] | None = None
    target: NDArray[np.int64] | None = None

    @cached_property
    def n_outsiders(self) -> int:
        """Distinct documents (or authors) that some attacked model did not see."""
        outside = ~self.member
        return int(outside.sum() if self.unit is None else np.count_nonzero(np.bincount(self.unit[outside])))

    def true_positive_rate(self, false_positive_rate: float) -> float:
        """Share of members found when at most this share of non-members is accused."""
        return float(self.roc(np.array([false_positive_rate]))[0])

    def roc(self, false_positive_rates: NDArray[np.float64]) -> NDArray[np.float64]:
        """True positive rate at each false positive rate."""
        # A rate of 0.01 of 300 is 3: the product in floating point may lie just below.
        allowed = np.floor(false_positive_rates * self._outside.size * (1 + 1e-12)).astype(int)
        threshold = self._outside[np.minimum(allowed, self._outside.size - 1)]
        return np.asarray(1 - np.searchsorted(self._inside, threshold, side="right") / self._inside.size)

    @cached_property
    def _outside(self) -> NDArray[np.float64]:
        return np.asarray(np.sort(self.score[~self.member])[::-1])

    @cached_property
    def _inside(self) -> NDArray[np.float64]:
        return np.sort(self.score[self.member])

    def area(self) -> float:
        """Area under the ROC curve: the probability that a member scores above a non-member."""
        rising = self._outside[::-1]
        below = np.searchsorted(rising, self._inside, side="left") + np.searchsorted(rising, self._inside, side="right")
        return float(np.mean(below) / 2 / rising.size)  # a tie counts one half

    def interval(self, false_positive_rate: float, *, level: float = LEVEL) -> tuple[float, float]:
        """Confidence interval of the true positive rate at a false positive rate, over documents and models.

        The threshold that accuses this share of outsiders lies between two of their order statistics; the share of
        members above each is bounded by Clopper and Pearson. Each of the four limits fails with a quarter of the error.
        With too few outsiders to bound the threshold from above the lower limit is 0. Scores of one document, or of one
        model, are correlated: they count at their effective sample size (Korn and Graubard 1998), with two-way clusters
        (Cameron, Gelbach and Miller 2011).
        """
        if not 0 < false_positive_rate < 1 or not 0 < level < 1:
            raise InputError(f"rates and levels must lie between 0 and 1, got {false_positive_rate} and {level}.")
        asked = (false_positive_rate, level)
        if asked not in self._intervals:
            self._intervals[asked] = self._interval(false_positive_rate, level)
        return self._intervals[asked]

    @cached_property
    def _intervals(self) -> dict[tuple[float, float], tuple[float, float]]:
        """Those computed so far."""
        return {}

    def _interval(self, false_positive_rate: float, level: float) -> tuple[float, float]:
        outside, inside = self._outside, self._inside
        allowed = min(int(false_positive_rate * outside.size * (1 + 1e-12)), outside.size - 1)
        error = (1 - level) / 4
        size = self._effective(~self.member, outside[allowed])
        few = (
            int(binom.ppf(error, size, false_positive_rate)) - 1
        )  # fewer are above the true threshold with probability ≤ error
        many = int(binom.isf(error, size, false_positive_rate)) + 1
        scale = outside.size / size
        above = outside[int(few * scale)] if few >= 0 else np.inf
        below = outside[min(int(np.ceil(many * scale)), outside.size) - 1] if many < size else -np.inf
        size = self._effective(self.member, outside[allowed])
        low = 1 - float(np.searchsorted(inside, above, side="right")) / inside.size
        high = 1 - float(np.searchsorted(inside, below, side="left")) / inside.size
        return float(share_at_least(low * size, size, error)), float(share_at_most(high * size, size, error))

    def _effective(self, chosen: NDArray[np.bool_], threshold: float) -> int:
        """The number of independent scores that would estimate the share above the threshold equally well."""
        hit = (self.score[chosen] > threshold).astype(float)
        if self.unit is None:
            return int(hit.size)
        unit = self.unit[chosen]
        if hit.min() == hit.max():
            return int(np.count_nonzero(np.bincount(unit)))
        share, n = hit.mean(), hit.size
        by_unit = _clustered(hit - share, unit)
        # A model and its complement share the split: one cluster.
        by_model = 0.0 if self.target is None else _clustered(hit - share, self.target[chosen] // 2)
        variance = max(by_unit, by_model, by_unit + by_model - share * (1 - share) / n)
        return int(np.clip(share * (1 - share) / variance, 1, n))

    def to_dict(self, rates: Sequence[float] = (0.001, 0.01), level: float = LEVEL) -> dict[str, Any]:
        """Rates for a report, each with its interval; None where there are too few outsiders for the rate."""
        supported = smallest_rate(self.n_outsiders)
        old = {f"tpr_at_{name}_fpr": rate for name, rate in (("0.1%", 0.001), ("1%", 0.01))}
        shown = {key: rate if rate >= supported else None for key, rate in old.items()}
        return {
            "not_for_release": True,
            "attack": self.name,
            "auc": self.area(),
            "outsiders": self.n_outsiders,
            "level": level,
            "rates": [self.at(rate, level) for rate in rates if rate >= supported],
            **{key: None if rate is None else self.true_positive_rate(rate) for key, rate in shown.items()},
            **{f"{key}_interval": None if r is None else self.interval(r, level=level) for key, r in shown.items()},
        }

    def at(self, rate: float, level: float = LEVEL) -> dict[str, Any]:
        """The share of members found at a false positive rate, with its interval."""
        low, high = self.interval(rate, level=level)
        found = self.true_positive_rate(rate)
        return {"false_positive_rate": rate, "true_positive_rate": found, "interval": [low, high], "level": level}


def _clustered(residual: NDArray[np.float64], cluster: NDArray[np.int64]) -> float:
    """Variance of a mean over clusters; wider for few clusters, and 0 for a single one."""
    total, n = np.bincount(cluster, weights=residual), int(np.count_nonzero(np.bincount(cluster)))
    if n < 2:
        return 0.0
    few = (t.isf(0.025, n - 1) / norm.isf(0.025)) ** 2
    return float(np.sum(total**2) / residual.size**2 * n / (n - 1) * few)


def binomial_interval(hits: int, runs: int, *, level: float = LEVEL) -> tuple[float, float]:
    """Exact interval of a probability (Clopper and Pearson 1934).

    >>> tuple(round(limit, 3) for limit in binomial_interval(0, 100))
    (0.0, 0.036)
    """
    error = (1 - level) / 2
    return float(share_at_least(hits, runs, error)), float(share_at_most(hits, runs, error))


def check_enough(n_units: int, unit: str) -> None:
    """Refuse an attack whose rates could not be distinguished from chance."""
    if n_units < _FEWEST:
        raise InputError(
            f"{n_units} {unit}s are too few for any statement: half of them are outsiders, and a false positive rate "
            f"of 10 % needs ten. Give at least {_FEWEST} {unit}s."
        )


def smallest_rate(n_outsiders: int) -> float:
    """The smallest of 0.1 %, 0.2 %, 0.5 %, 1 % … at which at least one of the outsiders is accused.

    >>> [smallest_rate(n) for n in (5000, 999, 60, 3)]
    [0.001, 0.002, 0.02, 0.5]
    """
    wanted = max(_SMALLEST, 1 / max(n_outsiders, 1))
    power = 10.0 ** np.floor(log10(wanted) + 1e-9)
    return min(1.0, float(next(round(m * power, 6) for m in (1, 2, 5, 10) if m * power >= wanted * (1 - 1e-9))))


def shown_rates(n_outsiders: int) -> tuple[float, ...]:
    """The false positive rates of a table: the smallest that can be measured, and one at which lower limits exist.

    >>> [shown_rates(n) for n in (5000, 900, 60, 30, 3)]
    [(0.001, 0.01), (0.002, 0.01), (0.02, 0.2), (0.05, 0.1), (0.5,)]
    """
    first = smallest_rate(n_outsiders)
    bounded = [rate for rate in (0.01, 0.02, 0.05, 0.1, 0.2) if rate * n_outsiders >= ACCUSED]
    second = next((rate for rate in (*bounded, 0.1) if rate > first), None)
    return (first,) if second is None else (first, second)


def corrected(n_attacks: int, level: float = LEVEL) -> float:
    """Level of each interval so that all hold simultaneously (Bonferroni): the best of many attacks is selected."""
    return 1 - (1 - level) / max(1, n_attacks)


Floats = NDArray[np.float64]


def present_words(topics: Floats) -> NDArray[np.bool_]:
    """Words above the floor of some topic, which is what smoothing gives to a word not in the data."""
    return np.asarray((topics > topics.min(axis=1, keepdims=True) * 1.01).any(axis=0))


def decoded_counts(topics: Floats) -> Floats | None:
    """How often each word was written, from φ_kw = (n_kw + β)/(n_k + Vβ); None where the result is not integral.

    A row divided by its smallest entry is n_kw/β + 1 where some word has no token in the topic. Summed over topics and
    divided by the smallest positive sum (a word written once), it is the word's count. Variational learners split
    tokens between topics, but their sums are integral too.
    """
    floor = topics.min(axis=1, keepdims=True)
    if np.any(floor <= 0) or not np.all(np.isfinite(topics)):
        return None
    total = np.sum(topics / floor - 1, axis=0)
    written = total > 1e-3 * total.max(initial=0.0) / max(total.size, 1)
    if not written.any():
        return None
    total = total / total[written].min()
    whole = np.rint(total)
    close = np.abs(total - whole) <= 0.02 + 1e-4 * whole
    return whole if np.mean(close) >= 0.99 and np.mean(close[written]) >= 0.95 else None


STATISTICS = ("zeta", "negative entropy", "logit of maximum", "standard deviation")


def document_statistics(
    counts: Counts, topics: NDArray[np.float64], *, tolerance: float = 1e-7, steps: int = 2000
) -> NDArray[np.float64]:
    """Four statistics of each document under a topics × words matrix, in the order of ``STATISTICS``.

    ζ is the log-likelihood of the document under its best topic shares θ̂ (Manzonelli et al. 2024, equation 3); the
    others describe θ̂ (Huang et al. 2022): Σ θ log θ, log(max θ/(1 − max θ)), and the standard deviation of its
    entries. A document without known words has ζ = 0 and equal shares. Rows need not sum to 1: a row of twice the
    weight counts twice.
    """
    topics = np.asarray(topics, np.float64)
    if topics.ndim != 2 or topics.shape[0] < 1 or topics.shape[1] != counts.n_words:
        raise InputError(f"the matrix must be topics × {counts.n_words} words, got shape {topics.shape}.")
    if not np.all(np.isfinite(topics)) or np.any(topics < 0):
        raise InputError("the entries of a topic matrix must be finite and not negative.")
    value = np.empty(counts.n_documents)
    shares = np.empty((counts.n_documents, topics.shape[0]))
    words_first = np.ascontiguousarray(topics.T)
    zeta(counts.doc_start, counts.word, counts.count.astype(np.float64), words_first, tolerance, steps, value, shares)
    safe = np.clip(shares, 1e-12, 1.0)
    largest = np.clip(shares.max(axis=1), None, 1 - 1e-12)
    entropy = np.sum(safe * np.log(safe), axis=1)
    return np.stack([value, entropy, np.log(largest / (1 - largest)), shares.std(axis=1)], axis=1)


Trainer = Callable[..., NDArray[np.float64]]  # documents, seed → topics × words; `together`: members, seeds → several


@dataclass(frozen=True, eq=False)
class Shadows:
    """Models trained on halves, and their statistics of every document. Shadow 2i + 1 has the complement of 2i."""

    member: NDArray[np.bool_]  # shadows × documents
    statistics: NDArray[np.float64]  # shadows × documents × statistics
    present: NDArray[np.bool_] = field(default_factory=lambda: np.ones((0, 0), bool))  # shadows × words above the floor
    totals: NDArray[np.float64] = field(default_factory=lambda: np.ones((0, 0)))  # counts decoded; NaN: not available

    @property
    def n_shadows(self) -> int:
        return int(self.member.shape[0])


def halves(n_units: int, n_shadows: int, key: int) -> NDArray[np.bool_]:
    """Members of each shadow: n/2 random halves and their complements, so every unit is in exactly n/2."""
    if n_shadows < 4 or n_shadows % 2:
        raise InputError(f"the number of shadows must be even and at least 4, got {n_shadows}. The paper uses 128.")
    if n_units < 4:
        raise InputError(f"an attack needs at least 4 documents or authors to split, got {n_units}.")
    rng = np.random.Generator(np.random.PCG64(key))
    member = np.zeros((n_shadows, n_units), bool)
    for pair in range(n_shadows // 2):
        member[2 * pair, rng.permutation(n_units)[: n_units // 2]] = True
        member[2 * pair + 1] = ~member[2 * pair]
    return member


def train_shadows(
    train: Trainer,
    counts: Counts,
    *,
    n_shadows: int = 128,
    key: int = 0,
    author: NDArray[np.int32] | None = None,
    folder: Path | None = None,
    settings: dict[str, Any] | None = None,
    words: Sequence[str] | None = None,
) -> Shadows:
    """Train all shadows (those already in ``folder`` are read back) and compute every document's statistics.

    ``train`` maps documents of ``counts`` and a seed to topics; see :mod:`dptopics.audit.membership.models`. With
    ``author`` (a number for each document) whole authors are in or out. ``settings`` describe the learner; a folder of
    other settings or data is refused. With ``words`` (of the columns) the folder also serves to attack models trained
    elsewhere: :func:`dptopics.audit.membership.target_attack.read_shadows`.
    """
    units = np.arange(counts.n_documents) if author is None else np.unique(author, return_inverse=True)[1]
    member = halves(int(units.max()) + 1, n_shadows, key)[:, units]
    if folder is not None:
        # Authors decide the halves: shadows of another author column are of other data.
        whose = None if author is None else hashlib.sha256(units.astype(np.int64).tobytes()).hexdigest()
        described = {"n_shadows": n_shadows, "key": key, "author": whose} | (settings or {})
        _claim(Path(folder), counts, described)
        if words is not None:
            _save(Path(folder) / "corpus.npz", member=member, doc_key=counts.doc_key, words=np.array(words, np.str_))

    many: Any = train if hasattr(train, "together") else None  # several at once, with work for every core
    several = 1 if many is None else min(many.at_once, ceil(n_shadows / (os.cpu_count() or 1)))

    def some(first: int) -> dict[int, _Said]:
        paths = {i: folder and Path(folder) / f"shadow-{i:04d}.npz" for i in range(n_shadows)[first : first + several]}
        found = {i: saved for i, path in paths.items() if path and (saved := _read(path, counts)) is not None}
        if len(found) == len(paths):
            return found
        seeds = [key * 1_000_003 + shadow for shadow in paths]
        models = many.together(member[[*paths]], seeds) if many else [train(np.flatnonzero(member[first]), seeds[0])]
        for (shadow, path), trained in zip(paths.items(), models, strict=True):
            if shadow not in found:
                # Single precision halves the folder and moves ζ by less than its tolerance.
                topics = np.asarray(trained, np.float32)
                statistics = document_statistics(counts, topics.astype(np.float64))
                if path:
                    _save(path, topics=topics, statistics=statistics)
                found[shadow] = _said(statistics, topics)
        return found

    said: dict[int, _Said] = {}
    for found in _in_parallel(some, range(0, n_shadows, several)):
        said |= found
        progress.report(len(said) / n_shadows)
    ordered = [said[shadow] for shadow in range(n_shadows)]
    statistics, present = np.stack([one[0] for one in ordered]), np.stack([one[1] for one in ordered])
    return Shadows(member, statistics, present, np.stack([one[2] for one in ordered]))


_Said = tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]


def _said(statistics: NDArray[np.float64], topics: NDArray[np.float32]) -> _Said:
    """Statistics of documents, words above the floor, decoded counts of words."""
    wide = topics.astype(np.float64)
    totals = decoded_counts(wide)
    return statistics, present_words(wide), np.full(wide.shape[1], np.nan) if totals is None else totals


def _read(path: Path, counts: Counts) -> _Said | None:
    """A shadow trained before; None where it is missing or damaged, and is trained again."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as saved:
            statistics, topics = np.asarray(saved["statistics"]), np.asarray(saved["topics"])
    except (OSError, KeyError, ValueError, EOFError, BadZipFile, zlib.error):
        return None
    if statistics.shape[:1] != (counts.n_documents,) or topics.ndim != 2 or topics.shape[1] != counts.n_words:
        return None
    return _said(statistics, topics)


def _in_parallel(work: Callable[[int], Any], numbers: Iterable[int]) -> Iterator[Any]:
    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        for job in as_completed([pool.submit(work, i) for i in numbers]):
            yield job.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _save(path: Path, **arrays: Any) -> None:
    """Written atomically: a crash leaves no partial file."""
    partial = path.with_name(f"{path.stem}.partial-{os.getpid()}.npz")
    np.savez(partial, **arrays)
    partial.replace(path)


def _claim(folder: Path, counts: Counts, settings: dict[str, Any]) -> None:
    """Use a folder for these settings and this data only; it holds models of private data, readable by its owner."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    digest = hashlib.sha256(counts.doc_start.tobytes() + counts.word.tobytes() + counts.count.tobytes()).hexdigest()
    wanted = json.dumps({"not_for_release": True, "data": digest, **settings}, sort_keys=True, default=str)
    path = folder / "settings.json"
    if not path.exists():
        path.write_text(wanted)
    elif path.read_text() != wanted:
        raise InputError(
            f"the folder {str(folder)!r} has shadows of other data or settings. Choose another folder, or remove it."
        )
