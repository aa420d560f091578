"""Holes to plant in mechanisms that are honest: each is a context in which a guarantee is stated and not kept."""

from contextlib import ExitStack, contextmanager
from dataclasses import replace
from unittest.mock import patch

import numpy as np

from dptopics.data.corpus import Corpus
from dptopics.data.engines.memory import MemoryCorpus
from dptopics.mechanisms.vocabulary.threshold import ThresholdVocabulary
from dptopics.privacy import noise


@contextmanager
def drawing(change):
    """Noise as ``change(draw, rng, scale, size)`` gives it, while everything is stated as before."""
    drawn = {name: getattr(noise, name) for name in ("gaussian", "laplace")}
    holed = {
        name: lambda rng, scale, size, draw=draw: np.asarray(change(draw, rng, scale, size), np.int64)
        for name, draw in drawn.items()
    }
    with patch.multiple(noise, **holed):
        yield


def less_noise(factor):
    if factor == 0:
        return drawing(lambda draw, rng, scale, size: np.zeros(size))
    return drawing(lambda draw, rng, scale, size: draw(rng, scale * factor, size))


def less_noise_in_one_part(factor=1 / 8):
    """In every seventh draw, or in draws of the narrowest kind: a mechanism of few looks has one of those."""
    seen = []

    def change(draw, rng, scale, size):
        shape = tuple(np.atleast_1d(size))
        seen.append(shape)
        kinds = sorted(set(seen), key=lambda one: (np.prod(one), one))
        chosen = shape == kinds[0] if len(kinds) > 1 else len(seen) % 5 == 0
        return draw(rng, scale * (factor if chosen else 1), size)

    return drawing(change)


def one_draw_for_all_cells():
    return drawing(lambda draw, rng, scale, size: np.full(size, draw(rng, scale, 1)[0]))


def one_draw_for_each_column():
    return drawing(
        lambda draw, rng, scale, size: np.broadcast_to(draw(rng, scale, tuple(np.atleast_1d(size))[-1:]), size)
    )


def reused_noise():
    """The first draw of each form serves for ever."""
    kept = {}

    def change(draw, rng, scale, size):
        key = (scale, size)
        if key not in kept:
            kept[key] = draw(rng, scale, size)
        return kept[key]

    return drawing(change)


def seeded_noise():
    """Every run begins with the same generator: its looks differ among themselves."""
    return drawing(lambda draw, rng, scale, size: draw(np.random.default_rng(5), scale, size))


def noise_where_there_is_something():
    """Cells of nobody get no noise: zero says that nobody is there."""
    from dptopics.mechanisms import queries

    honest = queries.noisy

    def noisy(exact, **how):
        empty = exact == 0
        found = honest(exact, **how)
        found[empty] = 0
        return found

    return patch.object(queries, "noisy", noisy)


@contextmanager
def threshold_times(factor):
    kinds = [ThresholdVocabulary]
    for kind in kinds:
        kinds += kind.__subclasses__()
    with ExitStack() as patched:
        for kind in kinds[1:]:
            if "threshold" in vars(kind):
                honest = vars(kind)["threshold"]
                lowered = property(lambda self, honest=honest: honest.__get__(self) * factor)
                patched.enter_context(patch.object(kind, "threshold", lowered))
        yield


@contextmanager
def no_clipping():
    """Neither norms nor numbers of words are limited."""
    honest, limited = MemoryCorpus.bounded_sum, MemoryCorpus.limited

    def bounded_sum(self, statistic, *, bound, **how):
        return honest(self, statistic, bound=bound * 64, **how)

    def unlimited(self, *, vocabulary=None, max_words=None):
        return limited(self, vocabulary=vocabulary)

    with patch.multiple(MemoryCorpus, bounded_sum=bounded_sum, limited=unlimited):
        yield


@contextmanager
def documents_as_units():
    honest = Corpus.bounded

    def bounded(self, **how):
        keys = np.arange(self.n_documents, dtype=np.uint64)
        return honest(replace(self, author=keys.astype(np.int32), author_key=keys), **how)

    with patch.object(Corpus, "bounded", bounded):
        yield


@contextmanager
def wrong_grid():
    """Sums are counted in finer steps than the noise."""
    honest = MemoryCorpus.bounded_sum

    def bounded_sum(self, statistic, *, grid, **how):
        return honest(self, statistic, grid=grid / 8, **how)

    with patch.object(MemoryCorpus, "bounded_sum", bounded_sum):
        yield


# Name: how it is planted, and whether it needs words that are chosen privately.
HOLES = {
    "no noise": (lambda: less_noise(0), False),
    "noise/8": (lambda: less_noise(1 / 8), False),
    "noise/2": (lambda: less_noise(1 / 2), False),
    "noise/8 in one part": (less_noise_in_one_part, False),
    "one draw for all cells": (one_draw_for_all_cells, False),
    "one draw for each column": (one_draw_for_each_column, False),
    "noise reused": (reused_noise, False),
    "noise seeded": (seeded_noise, False),
    "no threshold": (lambda: threshold_times(0), True),
    "threshold halved": (lambda: threshold_times(1 / 2), True),
    "clipping off": (no_clipping, False),
    "documents as units": (documents_as_units, False),
    "wrong grid": (wrong_grid, False),
}
