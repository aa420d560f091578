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
from dptopics.mechanisms.budget import Asked, Budget
from dptopics.mechanisms.counts import cells, people
from dptopics.mechanisms.counts.cells import CountsWithMargins
from dptopics.mechanisms.counts.people import Filled, People
from dptopics.mechanisms.queries import noisy_sum
from dptopics.mechanisms.topics.atlas import Belonging, Chart, Nearby, Places, Units
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
        kinds = sorted({one for one in seen if np.prod(one)}, key=lambda one: (np.prod(one), one))
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


def one_stream(step=1):
    """All queries of a run take one stream of noise, each from so many numbers further on."""
    streams = WeakKeyDictionary()

    def change(draw, rng, scale, size):
        shape = tuple(np.atleast_1d(size))
        n = int(np.prod(shape))
        stream, used = streams.get(rng, (np.zeros(0), 0))
        if stream.size < used + n:
            stream = np.concatenate([stream, draw(rng, 2.0**24, used + n - stream.size) / 2.0**24])
        streams[rng] = stream, used + step
        return np.rint(stream[used : used + n] * scale).reshape(shape)

    return drawing(change)


def short_seed():
    """Noise of another generator, from 32 bits: all of them can be tried."""
    return drawing(
        lambda draw, rng, scale, size: draw(np.random.default_rng(int(rng.integers(2**32))), scale, size), bits=False
    )


def raw(corpus):
    """The corpus behind the examiner's guard."""
    return getattr(corpus, "_corpus", corpus)


@contextmanager
def released(change, kinds=(EmbeddedTopics, MixtureTopics, VariationalTopics)):
    """Topics as ``change(model, exact)`` leaves them; ``exact`` is who wrote how many of each word, without noise."""

    def holed(honest):
        def run(self, corpus, rng):
            release = honest(self, corpus, rng)

            def add(total, block):
                np.add.at(total, block.word, 1)
                return total

            exact = raw(corpus).fold(add, np.zeros(len(corpus.words), np.int64))
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


def _counted(model, exact, odd=False):
    """Between two and all of the topics, by how many words were written; or one fewer where that is odd."""
    n = 2 + int(exact.sum()) % max(1, model.n_topics - 1)
    if odd:
        n = max(2, model.n_topics - int(exact.sum()) % 2)
    if n >= model.n_topics:
        return model
    share = model.topic_share[:n] / model.topic_share[:n].sum()
    of_noise = None if model.noise_std is None else np.broadcast_to(model.noise_std, model.n_topics)[:n]
    fewer = {"topic_word": model.topic_word[:n], "topic_share": share, "noise_std": of_noise}
    return replace(model, **fewer, themes=None, space=None, sizes=None, seeds=None)


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
def unpriced(more=1):
    """Every fifth query of the kind is made so many times more, and the mean is told."""
    from dptopics.mechanisms import queries

    count, honest = [0], queries.private_query

    def private_query(draw):
        count[0] += 1
        answer = honest(draw)
        if count[0] % 5 or not isinstance(answer, np.ndarray):
            return answer
        return sum((honest(draw) for _ in range(more)), answer) / (more + 1)

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


# --- what only themes, or only counts, can have ---


def exactly(corpus, statistic, bound=1.0):
    return raw(corpus).bounded_sum(statistic, bound=bound, grid=2.0**-20) * 2.0**-20


def answering(kind, change):
    """What is asked about one statistic within a budget, as ``change(answer, exact, statistic)`` leaves it."""
    honest = Asked.sum

    def holed(self, statistic, sigma, **how):
        answer, own = honest(self, statistic, sigma, **how), getattr(statistic, "statistic", statistic)
        return change(answer.copy(), exactly(self.corpus, statistic), own) if isinstance(own, kind) else answer

    return patch.object(Asked, "sum", holed)


@contextmanager
def themes_shown_by_exact_counts():
    """The last one."""
    honest, seen = Chart.shown, []

    def keep(answer, exact, statistic):
        seen[:] = [exact[:, 0]]
        return answer

    def shown(self, noisy, sigma):
        found = honest(self, noisy, sigma)
        others = seen[0].copy()
        others[found[:-1]] = -1.0
        found[-1] = others.argmax()
        return found

    with answering(Places, keep), patch.object(Chart, "shown", shown):
        yield


def _first(answer, exact, statistic):
    answer[0] = exact[0]
    return answer


def _domains(answer, exact, statistic):
    """What is left of each domain makes its sum exact."""
    themes = statistic.themes
    of = themes.domain_of[themes.shown]
    for d in range(len(themes.domain_names)):
        mine, rest = np.flatnonzero(of == d), len(of) + d
        answer[rest] = exact[mine].sum() + exact[rest] - answer[mine].sum()
    return answer


@contextmanager
def queried_once_more(where):
    """On one path there is a query that nobody paid for."""
    honest = getattr(EmbeddedTopics, where)

    def holed(self, asked, *more):
        noisy_sum(asked.corpus, Units(), bound=1.0, sigma=self.count_sigma, rng=asked.rng)
        return honest(self, asked, *more)

    with patch.object(EmbeddedTopics, where, holed):
        yield


@contextmanager
def budget_counts_half():
    """Of the last query: it may spend twice what is left."""
    honest = Budget.pay

    def pay(self, multiplier, **how):
        before = self.spent
        found = honest(self, multiplier, **how)
        if before > 0.3:
            self.spent -= (self.spent - before) / 2
        return found

    with patch.object(Budget, "pay", pay):
        yield


@contextmanager
def path_by_exact_number():
    honest = EmbeddedTopics.__call__

    def call(self, corpus, rng):
        n = exactly(corpus, Units())[0, 0]
        chosen = replace(self, few=0 if n >= min(self.few, 8000) else 10**12) if self.atlas else self
        return honest(chosen, corpus, rng)

    with patch.object(EmbeddedTopics, "__call__", call):
        yield


@contextmanager
def counted(change):
    """Tables as ``change(mechanism, table, exact sums)`` leaves them."""
    honest = CountsWithMargins.__call__

    def call(self, corpus, rng):
        release = honest(self, corpus, rng)
        most = release.value.max_cells
        exact = exactly(corpus, People(self.entries, most), self.bound(most))[:, 0]
        return replace(release, value=change(self, release.value, exact))

    with patch.object(CountsWithMargins, "__call__", call):
        yield


def _of_exactly_nobody(mechanism, table, exact):
    return replace(table, cube=np.where(np.rint(mechanism._cube(exact)) == 0, 0.0, table.cube))


def _exact_total(mechanism, table, exact):
    cube = table.cube.copy()
    cube.flat[-1] = mechanism._cube(exact).flat[-1]
    return replace(table, cube=cube)


def _small_ones_hidden(mechanism, table, exact):
    return replace(table, cube=np.where(mechanism._cube(exact) < 10, np.nan, table.cube))


def _exactly_over(mechanism, table, exact):
    return table if table.over is None else replace(table, over=float(exact[-1]))


@contextmanager
def bound_by_exact_histogram():
    def chosen(corpus, statistic, **how):
        answer = noisy_sum(corpus, statistic, **how)
        return exactly(corpus, statistic) if isinstance(statistic, Filled) else answer

    with patch.object(cells, "noisy_sum", chosen):
        yield


@contextmanager
def numbers_not_clipped():
    """A person's number adds what it is, however large."""

    class Unclipped:
        def __getattr__(self, name):
            return getattr(np, name)

        def clip(self, values, low, high):
            return values

    honest = MemoryCorpus.bounded_sum

    def bounded_sum(self, statistic, *, bound, **how):
        return honest(self, statistic, bound=bound * (64 if isinstance(statistic, People) else 1), **how)

    with patch.object(people, "np", Unclipped()), patch.object(MemoryCorpus, "bounded_sum", bounded_sum):
        yield


@contextmanager
def bound_without_margins():
    """What a unit adds to the table itself is priced; what it adds to the margins is not."""
    honest = MemoryCorpus.bounded_sum

    def bounded_sum(self, statistic, *, bound, **how):
        return honest(self, statistic, bound=bound * (64 if isinstance(statistic, People) else 1), **how)

    def square(self):
        return min(self.most, self.entries.sizes[-1]) * self.width + self.cut

    with (
        patch.object(People, "square", property(square)),
        patch.object(MemoryCorpus, "bounded_sum", bounded_sum),
    ):
        yield


# Name: how it is planted, and what it needs: "words" chosen privately, "topics", several "columns", several "queries",
# "themes", "clusters", "cells", several "tables", "numbers".
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
    "one stream, shifted by four": (lambda: one_stream(4), "queries"),
    "a seed of 32 bits": (short_seed, ""),
    "noise without its sum": (lambda: changed(_centred), ""),
    "noise without its tails": (lambda: changed(_cut), ""),
    "noise in steps of 64": (lambda: changed(_comb), ""),
    "noise of eight numbers": (lambda: changed(_low_rank), ""),
    "positive noise": (lambda: changed(lambda cells, scale: np.abs(cells)), ""),
    "noise smoothed over cells": (lambda: changed(_smooth), ""),
    "words of nobody dropped": (lambda: released(_of_nobody), "topics"),
    "topics ordered by exact sizes": (lambda: released(_ordered), "topics"),
    "topics counted by exact sizes": (lambda: released(_counted), "topics"),
    "one topic fewer for an odd size": (lambda: released(partial(_counted, odd=True)), "topics"),
    "a number scaled by exact size": (lambda: released(_scaled), "topics"),
    "check refuses by data": (refusing, "checks"),
    "a query that is not priced": (unpriced, "queries"),
    "fifty queries that are not priced": (lambda: unpriced(50), "queries"),
    "number of documents in 16 bits": (few_bits, ""),
    "memory shared by threads": (shared_memory, "unlike"),
    "themes shown by exact counts": (themes_shown_by_exact_counts, "themes"),
    "a theme's size is exact": (lambda: answering(Belonging, _first), "themes"),
    "sums of domains are exact": (lambda: answering(Belonging, _domains), "themes"),
    "sentences by exact votes": (lambda: answering(Nearby, lambda answer, exact, own: exact), "examples"),
    "one query more for few people": (lambda: queried_once_more("_themes"), "themes"),
    "one query more for many people": (lambda: queried_once_more("_clusters"), "clusters"),
    "half of what is spent is counted": (budget_counts_half, "themes"),
    "themes or clusters by the exact number": (path_by_exact_number, "clusters"),
    "zero where exactly nobody is": (lambda: counted(_of_exactly_nobody), "cells"),
    "the total is exact": (lambda: counted(_exact_total), "cells"),
    "small ones hidden by exact numbers": (lambda: counted(_small_ones_hidden), "cells"),
    "exactly how many had more cells": (lambda: counted(_exactly_over), "tables"),
    "cells of a person by exact numbers": (bound_by_exact_histogram, "tables"),
    "margins are not priced": (bound_without_margins, "tables"),
    "numbers are not clipped": (numbers_not_clipped, "numbers"),
}
