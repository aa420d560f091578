"""What a run gets to know of the data, one question after another: recorded, asked again, or played back.

All that a sound mechanism knows goes through :func:`dptopics.privacy.looks.through`. A recorded question can be asked
again with new noise, which costs one sum instead of a whole run. The same questions can be asked of other data by a run
that is told what the first run was told (:class:`Follower`), so that two data sets can be compared sum by sum. And a
run that is played back must end in the same release whatever the data (:class:`Player`). NOT FOR RELEASE.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.random import PCG64, Generator

from dptopics.data.bounded import BoundedCorpus
from dptopics.errors import NothingReleased
from dptopics.privacy.looks import Look, watched_by
from dptopics.privacy.mechanism import Mechanism
from dptopics.release.release import Release

T = TypeVar("T")


class LeftThePath(Exception):
    """A run asked for more, or for something else, than the run that it follows."""


class Enough(Exception):
    """The last look was taken: what follows is post-processing, and takes time."""


@dataclass(frozen=True, eq=False)
class Question:
    """What was asked, what noise was drawn for it, and what the mechanism was told."""

    draw: Callable[[], Any]
    looks: tuple[Look, ...]
    answer: Any

    def again(self) -> "Question":
        """The same question of the same data, with new noise."""
        watcher = _Looks()
        with watched_by(watcher):
            answer = self.draw()
        return Question(self.draw, tuple(watcher.looks), answer)


class _Looks:
    """Keeps looks."""

    def __init__(self) -> None:
        self.looks: list[Look] = []

    def look(self, look: Look) -> None:
        self.looks.append(look)

    def through(self, draw: Callable[[], T]) -> T:
        return draw()


class Recorder(_Looks):
    """Keeps every question.

    With a ``seeded`` generator each question draws from a random substream of its own, so that whatever else the run
    draws does not depend on how much noise was drawn.
    """

    def __init__(self, seeded: Generator | None = None) -> None:
        super().__init__()
        self.questions: list[Question] = []
        self._seeded, self._inside = seeded, False
        self._salt = 0 if seeded is None else int(seeded.integers(2**32))

    @property
    def answers(self) -> list[Any]:
        """What the run was told."""
        return [question.answer for question in self.questions]

    def through(self, draw: Callable[[], T]) -> T:
        """Ask, and keep the question."""
        if self._inside:  # a look within a look: the outer one is what the mechanism gets to know
            return draw()
        self._inside = True
        try:
            return self._told(draw)
        finally:
            self._inside = False

    def _told(self, draw: Callable[[], T]) -> T:
        return self._asked(draw)

    def _asked(self, draw: Callable[[], T]) -> T:
        before = len(self.looks)
        answer = self._drawn(draw)
        self.questions.append(Question(draw, tuple(self.looks[before:]), _copy(answer)))
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
    """Answers as recorded, whatever the data. Looks that it sees were taken past it."""

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
    """Looks at the data, keeps the questions, and answers as recorded; ``stop`` ends the run after the last answer."""

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
    """The release, or None where the watcher had enough or nothing was released."""
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
