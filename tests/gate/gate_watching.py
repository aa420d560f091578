"""Watchers for the gate: record what a run gets to know, play it back on other data, or look again along the same path.

All that a mechanism knows of the data comes through :func:`dptopics.privacy.looks.through`. So a run that is played
back must end in the same release whatever the data (:class:`Player`). And a run that looks at other data, but is told
what the first run was told, asks the same questions of it (:class:`Shadow`): their exact answers can be compared.
"""

from contextlib import ExitStack, contextmanager
from dataclasses import fields, is_dataclass
from unittest.mock import patch

import numpy as np
from numpy.random import PCG64

from dptopics.data.engines import memory
from dptopics.errors import NothingReleased
from dptopics.learners import tensor
from dptopics.privacy import noise
from dptopics.privacy.looks import watched_by
from dptopics.privacy.rng import secure_rng
from dptopics.topics.embedded import public_space


class LeftThePath(Exception):
    """A run asked for more, or for something else, than the run that it follows."""


class Enough(Exception):
    """The last look was taken: what follows is post-processing, and takes time."""


class Recorder:
    """Keeps every look, and every answer after its noise.

    With a ``seeded`` generator each primitive draws from a random substream of its own, so that whatever else the run
    draws does not depend on how much noise was drawn.
    """

    def __init__(self, seeded=None):
        self.looks, self.answers = [], []
        self._seeded, self._inside = seeded, False
        self._salt = 0 if seeded is None else int(seeded.integers(2**32))

    def look(self, look):
        self.looks.append(look)

    def through(self, draw):
        if self._inside:  # a look within a look: the outer one is what the mechanism gets to know
            return draw()
        self._inside = True
        try:
            return self._answer(draw)
        finally:
            self._inside = False

    def _answer(self, draw):
        answer = self._drawn(draw)
        self.answers.append(_copy(answer))
        return answer

    def _drawn(self, draw):
        if self._seeded is None:
            return draw()
        bits = self._seeded.bit_generator
        before, bits.state = bits.state, PCG64([self._salt, len(self.answers)]).state
        try:
            return draw()
        finally:
            bits.state = before


class Player(Recorder):
    """Answers as recorded, whatever the data. Looks that it sees were taken past it."""

    def __init__(self, answers, seeded=None):
        super().__init__(seeded)
        self._given = iter(answers)

    def _answer(self, draw):
        return _copy(self._next())

    def _next(self):
        try:
            return next(self._given)
        except StopIteration:
            raise LeftThePath("more questions were asked than before") from None


class Shadow(Player):
    """Looks at the data, keeps the looks, and answers as recorded; ``stop`` ends the run after the last answer."""

    def __init__(self, answers, *, seeded=None, stop=False):
        super().__init__(answers, seeded)
        self._left, self._stop = len(answers), stop

    def _answer(self, draw):
        self.answers.append(_copy(self._drawn(draw)))
        self._left -= 1
        if self._stop and self._left == 0:
            raise Enough
        return _copy(self._next())


def run(mechanism, corpus, watcher, rng=None):
    """The release, or None where the watcher had enough or nothing was released."""
    with watched_by(watcher):
        try:
            return mechanism(corpus, secure_rng() if rng is None else rng)
        except (Enough, NothingReleased):
            return None


@contextmanager
def muted(factor):
    """All noise multiplied by ``factor``, while everything is stated as before."""
    if factor == 1:
        yield
        return
    gaussian, laplace = noise.gaussian, noise.laplace

    def less(draw):
        if factor == 0:
            return lambda rng, scale, size: np.zeros(size, np.int64)
        return lambda rng, scale, size: draw(rng, scale * factor, size)

    with patch.multiple(noise, gaussian=less(gaussian), laplace=less(laplace)):
        yield


@contextmanager
def planned(draws):
    """Noise that is given: one array for each draw, in order."""
    left = iter(draws)

    def give(rng, scale, size):
        found = next(left, None)
        if found is None or found.shape != (size if isinstance(size, tuple) else (size,)):
            raise LeftThePath("other noise was drawn than before")
        return found.copy()

    with patch.multiple(noise, gaussian=give, laplace=give):
        yield


@contextmanager
def everybody():
    """Samples take in everybody: amplification by sampling is a theorem about sums of all."""
    units = memory.units
    with patch.object(memory, "units", lambda block, low, high, sample: units(block, low, high, None)):
        yield


class OneThread:
    """Stands in for a pool of threads: starting one takes longer than these small sums."""

    def __init__(self, n=1):
        pass

    def map(self, *work):
        return map(*work)

    def shutdown(self, **how):
        pass


@contextmanager
def quick():
    """Runs on small corpora without what takes long: threads, and post-processing of the same answers again."""
    pure = ((public_space, "of_words"), (public_space, "grouped"), (tensor, "orthogonal_components"))
    with ExitStack() as patched:
        patched.enter_context(patch.object(memory, "ThreadPoolExecutor", OneThread))
        for module, name in pure:
            patched.enter_context(patch.object(module, name, _remembered(getattr(module, name))))
        yield


def _remembered(function):
    known = {}

    def remembered(*public):
        key = bytes_of(public)
        if key not in known:
            known[key] = function(*public)
        return known[key]

    return remembered


def bytes_of(thing):
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


def _copy(answer):
    return answer.copy() if isinstance(answer, np.ndarray) else answer
