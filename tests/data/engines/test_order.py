"""The canonical order of units: whatever keys collide, rows and tasks have no say in it."""

from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest
from collisions import COLLISIONS, crowded, weights
from hypothesis import given, settings
from hypothesis import strategies as st

from dptopics.core.text import TextSettings
from dptopics.data import builder as building
from dptopics.data import corpus
from dptopics.data.bounded import Bounds
from dptopics.data.corpus import Corpus
from dptopics.data.engines import arrow_parts as parts
from dptopics.data.engines.memory import kept
from dptopics.mechanisms.vocabulary.policy import GreedyVocabulary, PolicyVocabulary
from dptopics.privacy.guarantee import Unit

EVERY_WORD = TextSettings(language="none")
FOLDS = [
    GreedyVocabulary.calibrated(epsilon=1.0, delta=1e-4, max_words=9, unit=Unit.DOCUMENT),
    PolicyVocabulary.calibrated(epsilon=1.0, delta=1e-4, max_words=9, unit=Unit.DOCUMENT),
]
documents = st.lists(st.sampled_from(["apple", "bread", "cheese"]), max_size=4).map(" ".join)
rows = st.lists(st.tuples(documents, st.sampled_from("abcde"), st.integers(0, 2)), min_size=1, max_size=12)


def by_document(texts):
    return Corpus.from_texts(texts).bounded(unit="document")


def swapped(texts):
    """The same rows, those of each colliding pair the other way round."""
    texts = list(texts)
    for i in range(len(texts) - 2 * len(COLLISIONS), len(texts), 2):
        texts[i : i + 2] = texts[i + 1], texts[i]
    return texts


def test_the_pairs_do_collide():
    for pair in COLLISIONS:
        one, two = Corpus.from_texts(pair).content_key.tolist()
        assert one == two
    texts = crowded(FOLDS[0])
    keys = Corpus.from_texts(texts).content_key[-2 * len(COLLISIONS) :]
    assert keys[::2].tolist() == keys[1::2].tolist()


@pytest.mark.parametrize("mechanism", FOLDS)
def test_rows_of_equal_keys_may_come_in_any_order(mechanism):
    texts = crowded(mechanism)
    expected = weights(mechanism, by_document(texts))
    shuffled = np.random.default_rng(0).permutation(texts).tolist()
    for rows in (swapped(texts), texts[::-1], shuffled):
        assert weights(mechanism, by_document(rows)) == expected


def test_one_more_row_moves_the_weights_by_one_however_others_are_shuffled():
    mechanism, texts = FOLDS[0], crowded(FOLDS[0])
    less = weights(mechanism, by_document(texts))
    for others in (texts, swapped(texts)):
        more = weights(mechanism, by_document(["zebra cheese", *others]))
        assert sum(abs(more[word] - less.get(word, 0.0)) for word in more) <= 1


@pytest.mark.parametrize("mechanism", FOLDS)
@pytest.mark.parametrize("backwards", [False, True])
def test_tasks_and_their_order_have_no_say(mechanism, backwards):
    """Each row in a task of its own, and the parts arriving in any order: the weights of the engine in memory."""
    texts = crowded(mechanism)
    bounds = Bounds(unit=Unit.DOCUMENT, max_words=mechanism.max_words)
    plan = parts.Reading(
        text=TextSettings(), bounds=bounds, buckets=2, with_authors=False, with_vectors=False, vocabulary=None
    )
    tasks = [parts.read(iter([pa.RecordBatch.from_pydict({"t": [text]})]), plan) for text in texts]
    rows = [row for task in (tasks[::-1] if backwards else tasks) for row in task]
    assert weights(mechanism, _Cluster(rows, plan)) == weights(mechanism, by_document(texts))


class _Cluster:
    """Just enough of a corpus to fold over parts."""

    def __init__(self, rows, plan):
        self.words = sorted({w for batch in parts.words(iter(rows)) for w in batch["word"].to_pylist()})
        buckets = [[r for r in rows if r["bucket"][0].as_py() == k] for k in range(plan.buckets)]
        listed = pa.array(self.words, pa.string())
        self.blocks = [
            parts.block_of(b, 0) for held in buckets for b in parts.arranged(iter(held), plan.bounds, listed)
        ]

    def limited(self, *, max_words):
        return self

    def fold(self, step, state, *, max_units=None):
        for block in self.blocks:
            state = step(state, block)
        return state


@contextmanager
def coarse_keys():
    """Keys of documents and authors that take two values each: nearly everything collides."""
    with pytest.MonkeyPatch.context() as patch:
        contents, names = corpus.content_keys, building.string_keys
        patch.setattr(corpus, "content_keys", lambda *arrays: contents(*arrays) & np.uint64(1))
        patch.setattr(building, "string_keys", lambda strings: names(strings) & np.uint64(1))
        patch.setattr(Corpus, "vector_key", property(lambda raw: np.zeros(raw.n_documents, np.uint64)))
        yield


def arranged(table, unit, max_docs):
    """Words, counts and vectors of each unit's documents, in the order of a fold; and authors, who are not equal."""
    texts, authors, vectors = zip(*table, strict=True)
    raw = Corpus.from_texts(texts, authors, settings=EVERY_WORD)
    raw = raw.with_vectors(np.array([[1.0, v] for v in vectors], np.float32))
    order = kept(raw, Bounds(unit=unit, max_docs=max_docs)).order.tolist()
    return [(sorted(texts[d].split()), vectors[d], authors[d] if unit is Unit.AUTHOR else None) for d in order]


@settings(max_examples=150)
@given(rows, st.sampled_from(Unit), st.none() | st.integers(1, 3), st.randoms(use_true_random=False))
def test_any_shuffle_gives_one_order_though_all_keys_collide(table, unit, max_docs, random):
    table = [("apple", "f", 0), *table]
    shuffled = random.sample(table, len(table))
    with coarse_keys():
        assert arranged(table, unit, max_docs) == arranged(shuffled, unit, max_docs)


@settings(max_examples=150)
@given(rows, st.sampled_from(Unit), st.integers(0, 12), st.randoms(use_true_random=False))
def test_leaving_a_unit_out_keeps_the_order_of_the_others(table, unit, gone, random):
    table = [("apple", "f", 0), *table]
    gone = 1 + gone % (len(table) - 1)
    left = [r for i, r in enumerate(table) if (i != gone if unit is Unit.DOCUMENT else r[1] != table[gone][1])]
    without = (sorted(table[gone][0].split()), table[gone][2], None)
    with coarse_keys():
        expected = arranged(table, unit, None)
        if unit is Unit.DOCUMENT:
            expected.remove(without)
        else:
            expected = [document for document in expected if document[2] != table[gone][1]]
        assert arranged(random.sample(left, len(left)), unit, None) == expected


@pytest.mark.parametrize("build", ["texts", "counts"])
def test_authors_of_one_key_come_in_the_order_of_their_names(build):
    names = ["dora", "carl", "berta", "anton"]
    with coarse_keys():
        for order in (names, names[::-1]):
            raw = (
                Corpus.from_texts([f"by {name}" for name in order], order, settings=EVERY_WORD)
                if build == "texts"
                else Corpus.from_counts(np.eye(4, dtype=int), [f"by {name}" for name in order], authors=order)
            )
            found = [order[d] for d in kept(raw, Bounds(unit=Unit.AUTHOR)).order.tolist()]
            keys = dict(zip(names, building.string_keys(names).tolist(), strict=True))
            assert found == sorted(names, key=lambda name: (keys[name], name))
            assert len(set(keys.values())) < len(names)
