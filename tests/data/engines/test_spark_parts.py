"""What executors compute, without Spark: any cut into tasks and buckets gives the integers of the engine in memory."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dptopics.core.text import TextSettings
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.bounded import Bounds, Sample
from dptopics.data.corpus import Corpus
from dptopics.data.engines import arrow_parts as parts
from dptopics.data.engines.memory import offsets, steps
from dptopics.mechanisms.topics.variational import _ExpectedCounts
from dptopics.mechanisms.vocabulary.threshold import EqualWeights
from dptopics.privacy.guarantee import Unit

WORDS = ["apple", "bread", "cheese", "dates", "eggs", "figs"]
PUBLIC = Vocabulary.of(["bread", "cheese", "eggs", "zucchini"])
EVERY_WORD = TextSettings(language="none")
TOPICS = np.random.default_rng(0).dirichlet(np.ones(len(PUBLIC)), 3).T.copy()

documents = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
rows = st.lists(st.tuples(documents, st.sampled_from("abcd"), st.integers(0, 2)), min_size=1, max_size=14)
limits = st.none() | st.integers(1, 3)


def vector(number):
    return [1.0, 0.5 * number, -1.0]


def tasks_of(table, cuts):
    """Record batches of (text, author, vector), a list for each task."""
    batch = pa.table(
        {
            "t": pa.array([t for t, _, _ in table], pa.string()),
            "a": pa.array([a for _, a, _ in table], pa.string()),
            "v": pa.array([None if v is None else vector(v) for _, _, v in table], pa.list_(pa.float32())),
        }
    )
    edges = sorted({0, len(table), *(c % (len(table) + 1) for c in cuts)})
    return [batch.slice(a, b - a).to_batches(max_chunksize=3) for a, b in pairwise(edges)]


class Shuffled:
    """The same steps as engines/spark.py, with lists for shuffles."""

    def __init__(self, table, bounds, *, cuts=(), buckets=1, vocabulary=None, vectors=True):
        plan = parts.Reading(
            text=EVERY_WORD,
            bounds=bounds,
            buckets=buckets,
            with_authors=True,
            with_vectors=vectors,
            vocabulary=vocabulary,
        )
        columns = ["t", "a", "v"] if vectors else ["t", "a"]
        tasks = [[b.select(columns) for b in task] for task in tasks_of(table, cuts)]
        self.bounds, self.n_buckets = bounds, buckets
        self.read = [batch for task in tasks for batch in parts.read(iter(task), plan)]
        self.held = [[b for b in self.read if b["bucket"][0].as_py() == k] for k in range(buckets)]

    def total(self, name):
        return sum(batch[name][0].as_py() for batch in self.read)

    @property
    def words(self):
        found = [w for batch in parts.words(iter(self.read)) for w in batch["word"].to_pylist()]
        return sorted(set(found))

    def blocks(self, max_words, words):
        bounds = Bounds(unit=self.bounds.unit, max_docs=self.bounds.max_docs, max_words=max_words)
        return [list(parts.arranged(iter(task), bounds, pa.array(words, pa.string()))) for task in self.held]

    def sum(self, statistic, words, *, max_words=None, sample=None):
        blocks = self.blocks(max_words, words)
        sizes = np.array([sum(b["units"][0].as_py() for b in task) for task in blocks])
        shape = (len(words), statistic.width)
        more = {"shape": shape, "limit": steps(1.5, 2.0**-20, 2), "grid": 2.0**-20, "norm": 2}
        places = offsets(sizes)
        sums = [b for task in blocks for b in parts.added(iter(task), statistic, **more, sample=sample, places=places)]
        return np.frombuffer(next(parts.merged_sums(iter(sums), shape=shape))["total"][0].as_py(), np.int64)


def memory(table, bounds):
    corpus = Corpus.from_texts([t for t, _, _ in table], [a for _, a, _ in table], settings=EVERY_WORD)
    corpus = corpus.with_vectors(np.array([vector(v) for _, _, v in table], np.float32))
    return corpus.bounded(unit=bounds.unit, max_docs=bounds.max_docs)


@settings(max_examples=150)
@given(rows, st.lists(st.integers(0, 14), max_size=4), st.integers(1, 7), st.sampled_from(Unit), limits, limits)
def test_any_cut_gives_the_integers_of_the_engine_in_memory(table, cuts, buckets, unit, max_docs, max_words):
    table = [("apple", "e", 0), *table]
    bounds = Bounds(unit=unit, max_docs=max_docs)
    cut, whole = Shuffled(table, bounds, cuts=cuts, buckets=buckets), memory(table, bounds)
    assert cut.words == list(whole.words)
    weights, limited = EqualWeights(len(cut.words), 2), whole.limited(max_words=max_words)
    expected = limited.bounded_sum(weights, bound=1.5, grid=2.0**-20)
    assert cut.sum(weights, cut.words, max_words=max_words).tolist() == expected.ravel().tolist()
    counts, limited = _ExpectedCounts(TOPICS, 0.1), limited.limited(vocabulary=PUBLIC)
    for sample in (None, Sample(0.5, (3, 4))):
        expected = limited.bounded_sum(counts, bound=1.5, grid=2.0**-20, sample=sample)
        found = cut.sum(counts, PUBLIC.words, max_words=max_words, sample=sample)
        assert found.tolist() == expected.ravel().tolist()


@settings(max_examples=60)
@given(rows, st.lists(st.integers(0, 14), max_size=4), st.integers(1, 5), st.sampled_from(Unit), limits)
def test_buckets_one_after_another_are_the_canonical_order(table, cuts, buckets, unit, max_docs):
    """Also where documents of equal words differ in their vectors: what is kept is not left to the order of rows."""
    table = [("apple", "e", 0), *table]
    bounds = Bounds(unit=unit, max_docs=max_docs)
    cut = Shuffled(table, bounds, cuts=cuts, buckets=buckets)
    words = cut.words
    found = [parts.block_of(b, 0) for task in cut.blocks(None, words) for b in task]
    expected = memory(table, bounds).fold(lambda seen, block: [*seen, block], [])
    for name in ("word", "counts", "vectors"):
        one, two = (np.concatenate([getattr(b, name) for b in blocks]) for blocks in (found, expected))
        assert one.tolist() == two.tolist()
    sizes = [[n for b in blocks for n in np.diff(b.unit_start)] for blocks in (found, expected)]
    assert sizes[0] == sizes[1]


def test_a_public_vocabulary_is_applied_while_reading():
    table = [("apple bread", "a", 0), ("cheese figs", "b", 0), ("figs", "c", 0)]
    cut = Shuffled(table, Bounds(unit=Unit.AUTHOR), cuts=[1], buckets=2, vocabulary=PUBLIC)
    assert set(cut.words) == {"bread", "cheese"}
    assert cut.total("entries") == 2
    assert cut.total("documents") == 3


def test_one_person_written_in_several_ways_is_one_author_in_every_task():
    names = ["Zo\u00eb Lee", "Zoe\u0308 Lee", " Zo\u00eb\u00a0Lee ", "Zo\u00eb Lee\u200b"]
    cut = Shuffled([("apple", name, 0) for name in names], Bounds(unit=Unit.AUTHOR), cuts=[1, 2, 3], buckets=3)
    (block,) = [row for task in cut.blocks(None, cut.words) for row in task]
    assert block["units"][0].as_py() == 1


def test_an_author_of_very_many_documents_does_not_travel():
    table = [(f"{WORDS[i % 6]} {WORDS[i // 6 % 6]}", "a", 0) for i in range(3000)] + [("apple", "b", 0)]
    cut = Shuffled(table, Bounds(unit=Unit.AUTHOR, max_docs=5), cuts=[1, 2, 3], buckets=3, vectors=False)
    assert cut.total("seen") == 3001
    assert cut.total("documents") <= 4 * 5 + 1
    assert cut.total("entries") > 5000  # words were counted before the cut
    assert cut.words == WORDS  # and a word that was cut away is a row all the same


def test_rows_with_something_missing_are_counted():
    table = [
        ("apple", "a", 0),
        (None, "a", 0),
        ("figs", None, 0),
        ("figs", " \t", 1),
        ("figs", "b", None),
        ("", "b", 1),
    ]
    cut = Shuffled(table, Bounds(unit=Unit.AUTHOR), cuts=[3], buckets=2)
    assert (cut.total("seen"), cut.total("missing"), cut.total("documents")) == (6, 4, 2)
    assert cut.words == ["apple"]
    nothing = Shuffled(table[1:4], Bounds(unit=Unit.AUTHOR), buckets=2)
    assert (nothing.total("seen"), nothing.total("missing"), nothing.total("documents")) == (3, 3, 0)


@pytest.mark.parametrize(
    ("vectors", "problem"),
    [
        ([[1.0], [1.0, 2.0]], "differ in length"),
        ([[1.0], [None]], "nulls"),
        ([[], []], "one row for each document"),
    ],
)
def test_bad_embeddings_are_told_not_thrown(vectors, problem):
    """An exception on an executor would run the task three more times."""
    batch = pa.RecordBatch.from_pydict({"t": ["apple", "figs"], "v": pa.array(vectors, pa.list_(pa.float64()))})
    plan = parts.Reading(
        text=EVERY_WORD,
        bounds=Bounds(unit=Unit.DOCUMENT),
        buckets=1,
        with_authors=False,
        with_vectors=True,
        vocabulary=None,
    )
    (row,) = parts.read(iter([batch]), plan)
    assert problem in row["problem"][0].as_py()
    (row,) = parts.read(iter([]), parts.replace(plan, version="0.0.1"))
    assert "the driver has 0.0.1. Install one version" in row["problem"][0].as_py()


def test_an_empty_task_gives_an_empty_part():
    plan = parts.Reading(
        text=EVERY_WORD,
        bounds=Bounds(unit=Unit.AUTHOR, max_docs=2),
        buckets=3,
        with_authors=True,
        with_vectors=False,
        vocabulary=None,
    )
    (row,) = parts.read(iter([]), plan)
    assert row["documents"][0].as_py() == 0
    assert list(parts.arranged(iter([row]), plan.bounds, pa.array(["apple"]))) == []
