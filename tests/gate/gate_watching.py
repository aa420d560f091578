"""Watchers for the gate: record what a run gets to know, play it back on other data, or look again along the same path.

All that a mechanism knows of the data comes through :func:`dptopics.mechanisms.queries.private_query`. So a run that is
played back must end in the same release whatever the data (:class:`Player`). And a run that looks at other data, but is
told what the first run was told, asks the same questions of it (:class:`Follower`): their exact answers are compared.
"""

from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import numpy as np

from dptopics.audit.claim import transcript
from dptopics.audit.claim.transcript import LeftThePath, bytes_of
from dptopics.data.engines import memory
from dptopics.learners import spectral
from dptopics.mechanisms.topics import embedded, embedded_space
from dptopics.privacy import noise
from dptopics.privacy.rng import secure_rng


def run(mechanism, corpus, watcher, rng=None):
    """The release, or None where the watcher had enough or nothing was released."""
    return transcript.run(mechanism, corpus, watcher, secure_rng() if rng is None else rng)


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
    pure = ((embedded_space, "of_words"), (embedded, "grouped"), (spectral, "orthogonal_components"))
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
