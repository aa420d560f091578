"""Holes to plant in mechanisms that are honest: each is a context in which a guarantee is stated and not kept."""

import random
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from unittest.mock import patch
from weakref import WeakKeyDictionary

import numpy as np

from dptopics.core.errors import InputError
from dptopics.data.bounded import UnitRows
from dptopics.data.corpus import Corpus
from dptopics.data.engines.memory import MemoryCorpus
from dptopics.mechanisms.topics.embedded import EmbeddedTopics
from dptopics.mechanisms.topics.mixture import MixtureTopics
from dptopics.mechanisms.topics.variational import VariationalTopics
from dptopics.mechanisms.vocabulary.threshold import ThresholdVocabulary, WeightedVocabulary
from dptopics.privacy import noise


@contextmanager
def drawing(change, bits=True):
    """Noise as ``change(draw, rng, scale, size)`` gives it, while everything is stated as before.

    ``bits``: the generator gives as many as for honest noise, so that only the noise shows the hole.
    """

    def holed_draw(draw, rng, scale, size):
        if bits:
            draw(rng, scale, size)
        return np.asarray(change(draw, rng, scale, size), np.int64)

    drawn = {name: getattr(noise, name) for name in ("gaussian", "laplace")}
    holed = {
        name: lambda rng, scale, size, draw=draw: holed_draw(draw, rng, scale, size) for name, draw in drawn.items()
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


def changed(change):
    """Every draw of a query as ``change(draws)`` leaves it: draws is rows × columns, and may be changed in place."""

    def drawn(draw, rng, scale, size):
        found = draw(rng, scale, size)
        cells = found.reshape(found.shape[0], -1) if found.ndim else found.reshape(1, 1)
        return np.asarray(change(cells, scale)).reshape(found.shape)

    return drawing(drawn)


def _last_column(cells, scale, share=1 / 1000):
    if cells.shape[1] > 1:
        cells[:, -1] = np.rint(cells[:, -1] * share)
    return cells


def _last_cell(cells, scale):
    cells.flat[-1:] = 0
    return cells


def _opposite_rows(cells, scale):
    cells[1:2] = -cells[: len(cells[1:2])]
    return cells


def _second_half(cells, scale):
    flat = cells.ravel()
    half = flat.size // 2
    flat[half : 2 * half] = flat[:half]
    return flat


def _centred(cells, scale):
    return np.rint(cells - cells.mean()) if cells.size > 1 else cells


def _cut(cells, scale):
    return np.clip(cells, -2.5 * scale, 2.5 * scale)


def _comb(cells, scale):
    return np.rint(cells / 64) * 64


def _low_rank(cells, scale):
    """Each cell has all its noise, but a few numbers decide all of it."""
    flat = cells.ravel().astype(float)
    if flat.size < 16:
        return cells
    mixing = np.random.default_rng(flat.size).standard_normal((flat.size, 8))
    mixing /= np.linalg.norm(mixing, axis=1, keepdims=True)
    return np.rint(mixing @ flat[:8])


def _smooth(cells, scale):
    flat = cells.ravel().astype(float)
    return np.rint((flat + np.roll(flat, 1)) / 2**0.5) if flat.size > 2 else cells


def left_out_in_one_run_of(n):
    """Every run has a generator of its own; one in ``n`` draws no noise."""
    chosen = WeakKeyDictionary()
    lottery = random.Random()

    def change(draw, rng, scale, size):
        without = chosen.setdefault(rng, lottery.randrange(n) == 0)
        found = draw(rng, scale, size)
        return found * 0 if without else found

    return drawing(change)


def one_stream():
    """All queries of a run take one stream of noise, each from one number further on."""
    streams = WeakKeyDictionary()

    def change(draw, rng, scale, size):
        shape = tuple(np.atleast_1d(size))
        n = int(np.prod(shape))
        stream, used = streams.get(rng, (np.zeros(0), 0))
        if stream.size < used + n:
            stream = np.concatenate([stream, draw(rng, 2.0**24, used + n - stream.size) / 2.0**24])
        streams[rng] = stream, used + 1
        return np.rint(stream[used : used + n] * scale).reshape(shape)

    return drawing(change)


def short_seed():
    """Noise of another generator, from 32 bits: all of them can be tried."""
    return drawing(
        lambda draw, rng, scale, size: draw(np.random.default_rng(int(rng.integers(2**32))), scale, size), bits=False
    )


@contextmanager
def released(change, kinds=(EmbeddedTopics, MixtureTopics, VariationalTopics)):
    """Topics as ``change(model, exact)`` leaves them; ``exact`` is who wrote how many of each word, without noise."""

    def holed(honest):
        def run(self, corpus, rng):
            release = honest(self, corpus, rng)

            def add(total, block):
                np.add.at(total, block.word, 1)
                return total

            past_the_guard = getattr(corpus, "_corpus", corpus)
            exact = past_the_guard.fold(add, np.zeros(len(corpus.words), np.int64))
            return replace(release, value=change(release.value, exact))

        return run

    with ExitStack() as patched:
        for kind in kinds:
            patched.enter_context(patch.object(kind, "__call__", holed(kind.__call__)))
        yield


def _of_nobody(model, exact):
    topics = model.topic_word * (exact > 0) if (exact > 0).any() else model.topic_word
    return replace(model, topic_word=topics / np.maximum(topics.sum(axis=1, keepdims=True), 1e-300))


def _ordered(model, exact):
    order = np.argsort(model.topic_word @ exact, kind="stable")
    return replace(model, topic_word=model.topic_word[order])


def _scaled(model, exact):
    return replace(model, alpha=float(10.0 ** -np.ceil(np.log10(max(exact.sum(), 10.5)))))


@contextmanager
def refusing():
    """Data in which nobody wrote a listed word are refused, before anything is charged."""

    def holed(honest):
        def check(self, corpus):
            honest(self, corpus)
            if not corpus.fold(lambda n, block: n + block.word.size, 0):
                raise InputError("nobody wrote any of these words")

        return check

    with ExitStack() as patched:
        for kind in (EmbeddedTopics, MixtureTopics, VariationalTopics, WeightedVocabulary):
            patched.enter_context(patch.object(kind, "check", holed(kind.check)))
        yield


@contextmanager
def few_bits():
    """An author's number of documents is kept in 16 bits, and what an author adds is divided by it, not clipped."""
    honest = MemoryCorpus.bounded_sum

    def bounded_sum(self, statistic, *, bound, **how):
        n_docs = np.diff(self._block.unit_start)
        wraps = n_docs.max(initial=0) >= 2**16
        return honest(self, statistic, bound=bound, **how) * (int(n_docs.max() // 2**16) + 1 if wraps else 1)

    with patch.object(MemoryCorpus, "bounded_sum", bounded_sum):
        yield


@contextmanager
def unpriced():
    """Every fifth query of the kind is made once more, and the mean is told."""
    from dptopics.mechanisms import queries

    count, honest = [0], queries.private_query

    def private_query(draw):
        count[0] += 1
        answer = honest(draw)
        return (answer + honest(draw)) / 2 if count[0] % 5 == 0 and isinstance(answer, np.ndarray) else answer

    with patch.object(queries, "private_query", private_query):
        yield


@contextmanager
def shared_memory():
    """Statistics return memory that the next call overwrites, in whatever thread."""
    honest = MemoryCorpus.bounded_sum
    space = np.empty(1 << 24)

    class Scratch:
        def __init__(self, statistic):
            self.statistic, self.height, self.width = statistic, statistic.height, statistic.width

        def __call__(self, block):
            start, rows, values = self.statistic(block)
            mine = space[: values.size].reshape(values.shape)
            mine[:] = values
            return UnitRows(start, rows, mine)

    def bounded_sum(self, statistic, **how):
        inner = getattr(statistic, "statistic", None)
        if inner is None:
            return honest(self, Scratch(statistic), **how)
        return honest(self, replace(statistic, statistic=Scratch(inner)), **how)

    with patch.object(MemoryCorpus, "bounded_sum", bounded_sum):
        yield


# Name: how it is planted, and what it needs: "words" chosen privately, "topics", several "columns", several "queries".
HOLES = {
    "no noise": (lambda: less_noise(0), ""),
    "noise/8": (lambda: less_noise(1 / 8), ""),
    "noise/2": (lambda: less_noise(1 / 2), ""),
    "noise/8 in one part": (less_noise_in_one_part, "queries"),
    "one draw for all cells": (one_draw_for_all_cells, ""),
    "one draw for each column": (one_draw_for_each_column, "columns"),
    "noise reused": (reused_noise, ""),
    "noise seeded": (seeded_noise, ""),
    "no threshold": (lambda: threshold_times(0), "words"),
    "threshold halved": (lambda: threshold_times(1 / 2), "words"),
    "clipping off": (no_clipping, "clipped"),
    "documents as units": (documents_as_units, ""),
    "wrong grid": (wrong_grid, ""),
    "noise only where somebody is": (noise_where_there_is_something, "queries"),
    "last column/1000": (lambda: changed(_last_column), "columns"),
    "last column/8": (lambda: changed(partial(_last_column, share=1 / 8)), "columns"),
    "last cell without noise": (lambda: changed(_last_cell), ""),
    "no noise in one run of a hundred": (lambda: left_out_in_one_run_of(100), ""),
    "opposite rows": (lambda: changed(_opposite_rows), ""),
    "second half repeats the first": (lambda: changed(_second_half), ""),
    "one stream, shifted by one": (one_stream, "queries"),
    "a seed of 32 bits": (short_seed, ""),
    "noise without its sum": (lambda: changed(_centred), ""),
    "noise without its tails": (lambda: changed(_cut), ""),
    "noise in steps of 64": (lambda: changed(_comb), ""),
    "noise of eight numbers": (lambda: changed(_low_rank), ""),
    "positive noise": (lambda: changed(lambda cells, scale: np.abs(cells)), ""),
    "noise smoothed over cells": (lambda: changed(_smooth), ""),
    "words of nobody dropped": (lambda: released(_of_nobody), "topics"),
    "topics ordered by exact sizes": (lambda: released(_ordered), "topics"),
    "a number scaled by exact size": (lambda: released(_scaled), "topics"),
    "check refuses by data": (refusing, "checks"),
    "a query that is not priced": (unpriced, "queries"),
    "number of documents in 16 bits": (few_bits, ""),
    "memory shared by threads": (shared_memory, "unlike"),
}
