"""What a run learns about the data, question by question: recorded, asked again, or played back.

All that a sound mechanism learns passes :func:`dptopics.mechanisms.queries.private_query`. A recorded question can be
asked again with new noise, without another sum. The same questions can be asked of other data by a run that receives
the answers of the first run (:class:`Follower`), so two data sets can be compared sum by sum. And a replayed run must
end in the same release whatever the data (:class:`Player`). Every run sees its corpus through a guard, which notes what
is read beside the questions. NOT FOR RELEASE.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, fields, is_dataclass
from threading import Thread
from typing import Any, TypeVar

import numpy as np
from numpy.random import PCG64, Generator

from dptopics.core.errors import NothingReleased
from dptopics.data.bounded import Block, BoundedCorpus, Statistic, UnitRows
from dptopics.data.engines.memory import units
from dptopics.mechanisms.mechanism import Mechanism
from dptopics.mechanisms.queries import Query, watched_by
from dptopics.privacy.controls import share_of_noise
from dptopics.privacy.rng import bits_drawn, is_secure
from dptopics.release.release import Release

T = TypeVar("T")
_SHORT = 64  # cells of an answer by which a mechanism may choose what it asks next


class LeftThePath(Exception):
    """A run asked more questions, or other ones, than the run that it follows."""


class Enough(Exception):
    """The last query was made: what follows is slow post-processing."""


@dataclass(frozen=True, eq=False)
class Question:
    """What was asked, the noise drawn for it, the answer that the mechanism received, and the sums behind it."""

    draw: Callable[[], Any]
    queries: tuple[Query, ...]
    answer: Any
    sums: tuple[Any, ...]
    watcher: "Recorder"

    @property
    def told(self) -> Any:
        """The answer, or where it is short that of a run whose noise was larger by ``shift``: it leads elsewhere."""
        short = isinstance(self.answer, np.ndarray) and self.answer.size <= _SHORT
        return self.answer + self.watcher.shift if short else _copy(self.answer)

    def again(self) -> "Question":
        """The same question of the same data, with new noise."""
        return self.watcher.again(self)


class Recorder:
    """Records every question. With a ``seeded`` generator each question draws from a substream of its own.

    ``beside`` lists what a sound mechanism does not do, in words; ``in_parts``: statistics are also tried on parts of
    their blocks, from two threads; ``shift``: what short answers are larger by, when told.
    """

    def __init__(self, seeded: Generator | None = None, *, in_parts: bool = False, shift: int = 0) -> None:
        self.queries: list[Query] = []
        self.questions: list[Question] = []
        self.beside: list[str] = []
        self.in_parts, self.shift = in_parts, shift
        self._seeded, self._inside = seeded, False
        self._salt = 0 if seeded is None else int(seeded.integers(2**32))
        self._handed: Generator | None = None
        self._bits = 0
        self._sums: list[Any] = []
        self._known: Iterator[Any] | None = None  # sums of the same question, asked before of the same data

    @property
    def answers(self) -> list[Any]:
        return [question.told for question in self.questions]

    # --- what is asked ---

    def private_query(self, draw: Callable[[], T]) -> T:
        if self._inside:  # a query within a query: the mechanism learns the outer one
            return draw()
        self._inside = True
        try:
            return self._told(draw)
        finally:
            self._inside = False

    def _told(self, draw: Callable[[], Any]) -> Any:
        self._asked(draw)
        return self.questions[-1].told

    def _asked(self, draw: Callable[[], Any], known: Sequence[Any] | None = None) -> None:
        before, self._sums = len(self.queries), []
        self._known = None if known is None else iter(known)
        try:
            answer = self._drawn(draw)
        finally:
            self._known = None
        queries, sums = tuple(self.queries[before:]), tuple(self._sums)
        self.questions.append(Question(draw, queries, _copy(answer), sums, self))

    def again(self, question: Question) -> Question:
        """Ask once more: the same sums, new noise."""
        self.questions, self.queries, self._inside = [], [], True
        try:
            with watched_by(self):
                self._asked(question.draw, question.sums)
        finally:
            self._inside = False
        return self.questions[0]

    def _drawn(self, draw: Callable[[], T]) -> T:
        if self._seeded is None:
            return draw()
        bits: Any = self._seeded.bit_generator
        before, bits.state = bits.state, PCG64([self._salt, len(self.questions)]).state
        try:
            return draw()
        finally:
            bits.state = before

    # --- what is noticed ---

    def begin(self, rng: Generator) -> None:
        self._handed = rng
        self._bits = bits_drawn(rng) if is_secure(rng) else 0

    def note(self, what: str) -> None:
        """Something that a sound mechanism does not do."""
        if what not in self.beside:
            self.beside.append(what)

    def query(self, query: Query) -> None:
        """Noise was drawn: inside a question, from the generator of the run, which gave as many bits as it takes."""
        self.queries.append(query)
        if not self._inside:
            self.note("noise is drawn outside its queries")
        if share_of_noise() != 1.0 or self._handed is None:
            return
        if query.rng is not self._handed:
            self.note("noise is drawn from another generator than the one that was handed in")
        elif self._seeded is None and is_secure(self._handed):
            before, self._bits = self._bits, bits_drawn(self._handed)
            if self._bits - before < 64 * query.drawn.size:
                self.note("noise is drawn without the bits of the generator that was handed in")

    def read(self, what: str, compute: Callable[[], T]) -> T:
        """A sum or a fold over the data."""
        if not self._inside:
            self.note(f"{what} is taken outside its queries")
            return compute()
        if "fold" in what:  # it may keep more than it returns
            return compute()
        known = None if self._known is None else next(self._known, None)
        found = compute() if known is None else deepcopy(known)
        self._sums.append(deepcopy(found))
        return found

    def read_words(self) -> None:
        if not self._inside:
            self.note("words that are private are read outside its queries")


class Player(Recorder):
    """Answers as recorded, whatever the data. Queries that it observes bypassed it."""

    def __init__(self, answers: Sequence[Any], seeded: Generator | None = None, **how: Any) -> None:
        super().__init__(seeded, **how)
        self._given = iter(answers)

    def _told(self, draw: Callable[[], T]) -> T:
        return self._next()

    def _next(self) -> Any:
        try:
            return _copy(next(self._given))
        except StopIteration:
            raise LeftThePath("more questions were asked than before") from None


class Follower(Player):
    """Queries the data, records the questions, and answers as recorded; ``stop`` ends the run after the last.

    ``same``: questions of an earlier run on the same data, whose sums need not be computed again.
    """

    def __init__(
        self, answers: Sequence[Any], *, stop: bool = False, same: Sequence[Question] = (), **how: Any
    ) -> None:
        super().__init__(answers, **how)
        self._left, self._stop, self._same = len(answers), stop, same

    def _told(self, draw: Callable[[], T]) -> T:
        place = len(self.questions)
        self._asked(draw, self._same[place].sums if place < len(self._same) else None)
        self._left -= 1
        if self._stop and self._left == 0:
            raise Enough
        return self._next()


class GuardedCorpus:
    """A bounded corpus whose watcher learns what is read of it, and when. Samples take in everybody."""

    def __init__(self, corpus: BoundedCorpus, watcher: Recorder) -> None:
        self._corpus, self._watcher = corpus, watcher

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            self._watcher.note("the raw data are read outside its queries")
        return getattr(self._corpus, name)

    @property
    def words(self) -> Sequence[str]:
        if self._corpus.vocabulary is None:
            self._watcher.read_words()
        return self._corpus.words

    def limited(self, **limits: Any) -> "GuardedCorpus":
        return GuardedCorpus(self._corpus.limited(**limits), self._watcher)

    def bounded_sum(self, statistic: Statistic, *, sample: Any = None, **how: Any) -> Any:
        tried: Any = _InParts(statistic, self._watcher) if self._watcher.in_parts else statistic
        return self._watcher.read("a sum over units", lambda: self._corpus.bounded_sum(tried, **how))

    def fold(self, step: Callable[[Any, Block], Any], state: Any, **how: Any) -> Any:
        return self._watcher.read("a fold over units", lambda: self._corpus.fold(step, state, **how))


@dataclass(frozen=True)
class _InParts:
    """A statistic that is also asked for two halves of its block, the second in another thread."""

    statistic: Statistic
    watcher: Recorder

    def __getattr__(self, name: str) -> Any:
        return getattr(self.statistic, name)

    def __call__(self, block: Block) -> UnitRows:
        """The rows of the whole block; what differs in its parts is noted."""
        found = self.statistic(block)
        whole = deepcopy(found)
        n = block.unit_start.size - 1
        if n > 1:
            halves = [self.statistic(units(block, 0, n // 2, None))]
            first = bytes_of(list(halves[0]))
            other = Thread(target=lambda: halves.append(self.statistic(units(block, n // 2, n, None))))
            other.start()
            other.join()
            if bytes_of(list(halves[0])) != first or bytes_of(list(found)) != bytes_of(list(whole)):
                self.watcher.note("threads share the memory in which units are added up")
            elif not _joined(halves, whole):
                self.watcher.note("what a unit adds depends on the other units of its block")
        return whole


def _joined(halves: Sequence[UnitRows], whole: UnitRows) -> bool:
    """Whether two halves are the whole."""
    if len(halves) != 2 or halves[0].rows.size + halves[1].rows.size != whole.rows.size:
        return False
    rows, values = (np.concatenate([getattr(half, name) for half in halves]) for name in ("rows", "values"))
    return np.array_equal(rows, whole.rows) and np.array_equal(values, whole.values, equal_nan=True)


def run(mechanism: Mechanism[T], corpus: BoundedCorpus, watcher: Recorder, rng: Generator) -> Release[T] | None:
    """The release, or None where the watcher stopped the run or nothing was released."""
    guarded: Any = GuardedCorpus(corpus, watcher)
    watcher.begin(rng)
    with watched_by(watcher):
        try:
            mechanism.check(guarded)
            return mechanism(guarded, rng)
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
