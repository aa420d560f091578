"""What a run learns about the data, question by question: recorded, asked again, or played back.

All that a sound mechanism learns passes :func:`dptopics.mechanisms.queries.private_query`. A recorded question can be
asked again with new noise, which costs one sum instead of a whole run. The same questions can be asked of other data by
a run that receives the answers of the first run (:class:`Follower`), so two data sets can be compared sum by sum. And
a replayed run must end in the same release whatever the data (:class:`Player`). NOT FOR RELEASE.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import combinations
from typing import Any, TypeVar

import numpy as np
from numpy.random import PCG64, Generator
from numpy.typing import NDArray
from scipy.stats import binom, chi2, gamma, kstest, norm, poisson

from dptopics.core.errors import NothingReleased
from dptopics.data.bounded import BoundedCorpus
from dptopics.mechanisms.mechanism import Mechanism
from dptopics.mechanisms.queries import Query, watched_by
from dptopics.privacy.events import Noise
from dptopics.release.release import Release

T = TypeVar("T")


class LeftThePath(Exception):
    """A run asked more questions, or other ones, than the run that it follows."""


class Enough(Exception):
    """The last query was made: what follows is slow post-processing."""


@dataclass(frozen=True, eq=False)
class Question:
    """What was asked, the noise drawn for it, and the answer that the mechanism received."""

    draw: Callable[[], Any]
    queries: tuple[Query, ...]
    answer: Any

    def again(self) -> "Question":
        """The same question of the same data, with new noise."""
        watcher = _Queries()
        with watched_by(watcher):
            answer = self.draw()
        return Question(self.draw, tuple(watcher.queries), answer)


class _Queries:
    """Records queries."""

    def __init__(self) -> None:
        self.queries: list[Query] = []

    def query(self, query: Query) -> None:
        self.queries.append(query)

    def private_query(self, draw: Callable[[], T]) -> T:
        return draw()


class Recorder(_Queries):
    """Records every question. With a ``seeded`` generator each question draws from a substream of its own."""

    def __init__(self, seeded: Generator | None = None) -> None:
        super().__init__()
        self.questions: list[Question] = []
        self._seeded, self._inside = seeded, False
        self._salt = 0 if seeded is None else int(seeded.integers(2**32))

    @property
    def answers(self) -> list[Any]:
        """What the run received."""
        return [question.answer for question in self.questions]

    def private_query(self, draw: Callable[[], T]) -> T:
        """Ask, and record the question."""
        if self._inside:  # a query within a query: the mechanism learns the outer one
            return draw()
        self._inside = True
        try:
            return self._told(draw)
        finally:
            self._inside = False

    def _told(self, draw: Callable[[], T]) -> T:
        return self._asked(draw)

    def _asked(self, draw: Callable[[], T]) -> T:
        before = len(self.queries)
        answer = self._drawn(draw)
        self.questions.append(Question(draw, tuple(self.queries[before:]), _copy(answer)))
        return answer

    def _drawn(self, draw: Callable[[], T]) -> T:
        if self._seeded is None:
            return draw()
        bits: Any = self._seeded.bit_generator
        before, bits.state = bits.state, PCG64([self._salt, len(self.questions)]).state
        try:
            return draw()
        finally:
            bits.state = before


class Player(Recorder):
    """Answers as recorded, whatever the data. Queries that it observes bypassed it."""

    def __init__(self, answers: Sequence[Any], seeded: Generator | None = None) -> None:
        super().__init__(seeded)
        self._given = iter(answers)

    def _told(self, draw: Callable[[], T]) -> T:
        found: T = self._next()
        return found

    def _next(self) -> Any:
        try:
            return _copy(next(self._given))
        except StopIteration:
            raise LeftThePath("more questions were asked than before") from None


class Follower(Player):
    """Queries the data, records the questions, and answers as recorded; ``stop`` ends the run after the last."""

    def __init__(self, answers: Sequence[Any], *, seeded: Generator | None = None, stop: bool = False) -> None:
        super().__init__(answers, seeded)
        self._left, self._stop = len(answers), stop

    def _told(self, draw: Callable[[], T]) -> T:
        self._asked(draw)
        self._left -= 1
        if self._stop and self._left == 0:
            raise Enough
        found: T = self._next()
        return found


def run(mechanism: Mechanism[T], corpus: BoundedCorpus, watcher: Recorder, rng: Generator) -> Release[T] | None:
    """The release, or None where the watcher stopped the run or nothing was released."""
    with watched_by(watcher):
        try:
            return mechanism(corpus, rng)
        except (Enough, NothingReleased):
            return None


def bytes_of(thing: Any) -> bytes:
    """A release, or any part of it, as bytes: arrays bit for bit."""
    if isinstance(thing, np.ndarray):
        return b"".join([str((thing.dtype, thing.shape)).encode(), np.ascontiguousarray(thing).tobytes()])
    if is_dataclass(thing) and not isinstance(thing, type):
        return bytes_of({field.name: getattr(thing, field.name) for field in fields(thing)})
    if isinstance(thing, dict):
        return b"{" + b",".join(bytes_of(str(name)) + b":" + bytes_of(value) for name, value in thing.items()) + b"}"
    if isinstance(thing, list | tuple):
        return b"[" + b",".join(map(bytes_of, thing)) + b"]"
    return repr(thing).encode()


def _copy(answer: T) -> T:
    return answer.copy() if isinstance(answer, np.ndarray) else answer


Floats = NDArray[np.float64]
_FEW = 256  # cells of each query that are compared with those of others
_MANY = 20_000  # cells for the shape of the distribution
_SMALLEST = 8  # cells that a correlation needs
_COARSE = 1000.0  # steps: below, rounding shows


@dataclass(frozen=True)
class Oddity:
    """A property of the noise, and its probability by chance."""

    what: str
    p_value: float


def oddities(runs: Sequence[Sequence[Query]]) -> list[Oddity]:
    """One for each test, from the queries of several runs in order."""
    found: list[Oddity] = []
    for place, queries in enumerate(zip(*runs, strict=False)):
        found += _of_one(queries, f"query {place + 1} of {len(runs[0])}")
    return found + _between([query for queries in runs for query in queries])


def _of_one(queries: Sequence[Query], where: str) -> list[Oddity]:
    """The same query in several runs."""
    cells = [(query.drawn / query.scale).ravel() for query in queries]
    kind, n = queries[0].kind, sum(part.size for part in cells)
    if kind is Noise.GAUSSIAN:
        less = float(chi2(n).cdf(sum(float(part @ part) for part in cells)))
    else:
        less = float(gamma(n).cdf(sum(float(np.abs(part).sum()) for part in cells)))
    found = [Oddity(f"{where}: less noise was drawn than is stated", less)]
    if queries[0].scale >= _COARSE and less > 1e-12:
        pooled = np.concatenate([part[:_MANY] for part in cells])[:_MANY]
        law = norm.cdf if kind is Noise.GAUSSIAN else _laplace
        # Noise wider than stated hides more: the test is one-sided.
        shape = kstest(np.abs(pooled), lambda x: 2 * law(x) - 1, alternative="greater")
        found.append(Oddity(f"{where}: the noise is not {kind}", float(shape.pvalue)))
    found += [Oddity(f"{where}: {what}", p) for query in queries[:2] for what, p in _shared(query)]
    return found


def _laplace(x: Floats) -> Floats:
    return np.where(x < 0, np.exp(x) / 2, 1 - np.exp(-np.abs(x)) / 2)


def _shared(query: Query) -> list[tuple[str, float]]:
    """Draws that several cells share: in all cells, in a row or in a column."""
    cells = query.drawn.ravel()
    if cells.size < 2:
        return []
    found = [("one draw was used for several cells", _repeats(cells[: 4 * _FEW], query.scale))]
    if query.drawn.ndim == 2 and min(query.drawn.shape) > 1:
        normal = _normal(query)
        for axis, name in ((0, "column"), (1, "row")):
            sums = normal.sum(axis=axis) / np.sqrt(normal.shape[axis])
            found.append((f"the cells of a {name} share noise", float(chi2(sums.size).sf(float(sums @ sums)))))
    return found


def _between(queries: Sequence[Query]) -> list[Oddity]:
    """Draws that two queries share, as they are or scaled: between runs and between parts."""
    found = []
    by_size: dict[int, list[Query]] = {}
    for query in queries:
        by_size.setdefault(min(query.drawn.size, _FEW), []).append(query)
    for size, group in by_size.items():
        if len(group) < 2:
            continue
        if size >= _SMALLEST:
            normal = np.array([_normal(query).ravel()[:size] for query in group])
            alike = np.abs(normal @ normal.T) / np.sqrt((normal**2).sum(axis=1).clip(1e-300))[:, None]
            # Given one query, the product with another is normal.
            most = max(float(alike[i, j]) for i, j in combinations(range(len(group)), 2))
            pairs = len(group) * (len(group) - 1) / 2
            found.append(Oddity("two queries share their noise", min(1.0, pairs * 2 * float(norm.sf(most)))))
        else:
            scale = min(query.scale for query in group)
            cells = np.concatenate([query.drawn.ravel()[:1] for query in group])
            found.append(Oddity("two queries share their noise", _repeats(cells, scale)))
    return found


def _normal(query: Query) -> Floats:
    """Draws as standard normal numbers."""
    cells = query.drawn / query.scale
    if query.kind is Noise.GAUSSIAN:
        return np.asarray(cells)
    return np.asarray(norm.ppf(np.clip(_laplace(cells), 1e-12, 1 - 1e-12)))


def _repeats(cells: NDArray[np.int64], scale: float) -> float:
    """Probability of so many equal numbers: a pair is equal with probability about 1/(2·scale) at most."""
    repeated = cells.size - np.unique(cells).size
    if repeated == 0:
        return 1.0
    if scale < _COARSE:  # rounding makes equal numbers: only a single value for all is suspicious
        return float(binom.sf(cells.size - 2, cells.size - 1, 1 / (1 + scale))) if np.unique(cells).size == 1 else 1.0
    return float(poisson.sf(repeated - 1, cells.size**2 / (2 * scale)))
