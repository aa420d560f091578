"""Bounded sums: equal to a slow twin, moved by one unit at most by the bound, and by nothing else at all."""

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations, pairwise
from math import sqrt

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dptopics.core.errors import InputError
from dptopics.core.text import TextSettings
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.bounded import Block, Sample, UnitRows
from dptopics.data.corpus import Corpus
from dptopics.data.engines import memory
from dptopics.kernels.bounded_add import bounded_add
from dptopics.mechanisms.topics.variational import _ExpectedCounts
from dptopics.mechanisms.vocabulary.threshold import EqualWeights

WORDS = ["apple", "bread", "cheese", "dates", "eggs", "figs", "grapes", "honey"]
PUBLIC = Vocabulary.of(["bread", "cheese", "eggs", "figs", "zucchini"])
EVERY_WORD = TextSettings(language="none")

documents = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
rows = st.lists(st.tuples(st.sampled_from("abcd"), documents), min_size=1, max_size=10)
units = st.sampled_from(["author", "document"])
limits = st.none() | st.integers(1, 4)
# Bounds and grids whose quotient is a whole number, is not, and is as large as allowed.
scales = st.sampled_from([(1.0, 2.0**-20), (0.7, 2.0**-10), (3.0, 1.0), (1.0, 0.3), (2.0, 2.0**-30), (1e-3, 1e-3)])
nasty = (
    st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True)
    | st.floats(-10, 10)
    | st.sampled_from([5e-324, 1e154, 1e308, -1e308, 2.0**31, 1 - 2.0**-53, 2.0**-20, 0.0, -0.0])
)
tables = st.fixed_dictionaries({w: st.lists(nasty, min_size=2, max_size=2) for w in WORDS})
dyadic = st.fixed_dictionaries(
    {w: st.lists(st.integers(-64, 64).map(lambda i: i / 8), min_size=2, max_size=2) for w in WORDS}
)


def corpus_of(pairs, **bounds):
    """Rows of (author, text), with a unit of no interest so that removing another never empties the data."""
    pairs = [("filler", "zucchini"), *pairs]
    return Corpus.from_texts([t for _, t in pairs], [a for a, _ in pairs], settings=EVERY_WORD).bounded(**bounds)


class FromTable:
    """Any vector at all, as a function of the unit's own words and counts."""

    height = None
    width = 2

    def __init__(self, corpus, table):
        self.table = np.array([table.get(w, [0.0, 0.0]) for w in corpus.words]).reshape(-1, 2)

    def __call__(self, block):
        with np.errstate(all="ignore"):
            values = self.table[block.word] * block.counts[:, None]
        return UnitRows(block.doc_start[block.unit_start], block.word, values)


class Recorder:
    """Looks at every unit, and adds nothing."""

    height = None
    width = 1

    def __init__(self, corpus):
        self.words = corpus.words
        self.seen = []

    def __call__(self, block):
        entries = [(self.words[w], c) for w, c in zip(block.word.tolist(), block.counts.tolist(), strict=True)]
        docs = [tuple(entries[a:b]) for a, b in pairwise(block.doc_start)]
        cuts = pairwise(block.unit_start)
        self.seen += [tuple(sorted(docs[a:b])) for a, b in cuts]
        return UnitRows(np.zeros(block.unit_start.size, np.int64), np.empty(0, np.int32), np.empty((0, 1)))


def units_of(corpus, sample=None):
    """How often each bounded unit (its documents, each a tuple of words with counts) occurs."""
    recorder = Recorder(corpus)
    corpus.bounded_sum(recorder, bound=1.0, grid=1.0, sample=sample)
    return Counter(recorder.seen)


def by_word(corpus, total):
    return {w: row for w, row in zip(corpus.words, total.tolist(), strict=True) if any(row)}


def table_sum(corpus, table, scale=(1.0, 2.0**-20), sample=None, norm=2):
    bound, grid = scale
    return by_word(
        corpus, corpus.bounded_sum(FromTable(corpus, table), bound=bound, grid=grid, sample=sample, norm=norm)
    )


def plus(one, other, sign=1):
    total = defaultdict(lambda: [0] * 8)
    for w, row in one.items():
        total[w] = [*row, *[0] * (8 - len(row))]
    for w, row in other.items():
        total[w] = [a + sign * b for a, b in zip(total[w], [*row, *[0] * (8 - len(row))], strict=True)]
    return {w: row for w, row in total.items() if any(row)}


def squared(difference):
    return sum(x * x for row in difference.values() for x in row)


def clipped(vector, bound, grid, norm=2):
    """The slow twin of one unit: scale, clip, shrink until the integers fit, truncate."""
    limit = Fraction(bound) / Fraction(grid) // 1
    steps = vector * (1.0 / grid)
    size = np.sqrt(np.sum(steps * steps)) if norm == 2 else np.sum(np.abs(steps))
    shrink = limit / size if size > limit else 1.0
    for _ in range(3):
        whole = np.trunc(steps * shrink).astype(np.int64)
        if sum(abs(int(x)) ** norm for x in whole.ravel()) <= limit**norm:
            return whole
        shrink *= 1 - 2.0**-40
    return np.zeros_like(whole)


def test_kernel_by_hand():
    """Rows (3, 4), twice (6, 8) in one row, a unit with nothing, one inside the bound: limit 5."""
    start = np.array([0, 1, 3, 3, 4])
    values = np.array([[3.0, 4.0], [6.0, 8.0], [6.0, 8.0], [1.9, -1.9]])
    total = np.zeros((2, 2), np.int64)
    mark = np.full(2, -1)
    bounded_add(start, np.array([0, 1, 1, 0], np.int32), values, 5.0, 1.0, 2, np.empty((2, 2)), mark, total)
    assert total.tolist() == [[3 + 1, 4 - 1], [3, 4]]  # truncated toward zero, also below it
    assert (mark == -1).all()


def test_kernel_by_hand_in_the_other_norm():
    """L1, limit 3: (3, 4) has length 7, is scaled by 3/7 and truncated; (−1.9, 1) fits as it is."""
    values = np.array([[3.0, 4.0], [-1.9, 1.0]])
    total, mark = np.zeros((2, 2), np.int64), np.full(2, -1)
    bounded_add(np.array([0, 1, 2]), np.array([0, 1], np.int32), values, 3.0, 1.0, 1, np.empty((2, 2)), mark, total)
    assert total.tolist() == [[1, 1], [-1, 1]]
    assert (mark == -1).all()


def test_the_other_bound_holds_where_floats_cannot_see_it():
    """Scaled by 2³¹/(2³¹ + 1), both numbers may round up: the integers tell."""
    total, mark = np.zeros((1, 2), np.int64), np.full(1, -1)
    values = np.array([[2.0**31, 1.0]])
    start = np.array([0, 1])
    bounded_add(start, np.zeros(1, np.int32), values, 2.0**31, 1.0, 1, np.empty((1, 2)), mark, total)
    assert 2**30 < np.abs(total).sum() <= 2**31


@pytest.mark.parametrize("small", [1.0, 7.0, 31.0])
def test_the_bound_holds_where_floats_cannot_see_it(small):
    """√(2⁶² + small²) is 2³¹ in floats: the clip sees nothing to do, only the integers tell."""
    total = np.zeros((1, 2), np.int64)
    values = np.array([[2.0**31, small]])
    assert np.sqrt(np.sum(values**2)) == 2.0**31
    start, mark = np.array([0, 1]), np.full(1, -1)
    bounded_add(start, np.zeros(1, np.int32), values, 2.0**31, 1.0, 2, np.empty((1, 2)), mark, total)
    assert 2**61 < sum(x * x for x in total[0].tolist()) <= 2**62


@given(st.lists(st.lists(st.lists(st.integers(0, 5), unique=True), max_size=3), max_size=4))
def test_equal_weights_list_each_word_of_a_unit_once(authors):
    docs = [d for a in authors for d in a]
    word = np.array([w for d in docs for w in d], np.int32)
    offsets = [np.cumsum([0, *map(len, parts)]) for parts in (authors, docs)]
    start, rows, values = EqualWeights(6, 2)(Block(*offsets, word, np.ones_like(word)))
    for unit, (a, b) in enumerate(pairwise(start)):
        own = {w for d in authors[unit] for w in d}
        assert sorted(rows[a:b].tolist()) == sorted(own)
        assert values[a:b].tolist() == [[1 / sqrt(len(own))] for _ in own]
    _, _, halves = EqualWeights(6, 1)(Block(*offsets, word, np.ones_like(word)))
    _, _, ones = EqualWeights(6, 0)(Block(*offsets, word, np.ones_like(word)))
    for a, b in pairwise(start):
        assert halves[a:b].tolist() == [[1 / (b - a)] for _ in range(b - a)]
        assert ones[a:b].tolist() == [[1.0]] * (b - a)


norms = st.sampled_from([1, 2])


@given(rows, units, limits, dyadic, scales, norms)
def test_sum_equals_a_slow_twin(pairs, unit, max_docs, table, scale, norm):
    corpus = corpus_of(pairs, unit=unit, max_docs=max_docs)
    expected = np.zeros((len(corpus.words), 2), np.int64)
    row = {w: i for i, w in enumerate(corpus.words)}
    for contents, repeats in units_of(corpus).items():
        vector = np.zeros(expected.shape)  # values are multiples of 1/8, so that sums are exact in any order
        for word, count in (entry for document in contents for entry in document):
            vector[row[word]] += np.array(table.get(word, [0.0, 0.0])) * count
        expected += clipped(vector, *scale, norm) * repeats
    bound, grid = scale
    assert np.array_equal(corpus.bounded_sum(FromTable(corpus, table), bound=bound, grid=grid, norm=norm), expected)


@settings(max_examples=200)
@given(rows, units, limits, limits, tables, scales)
@example([("a", "apple bread"), ("b", "apple")], "author", None, None, {"apple": [np.nan, 1.0]}, (1.0, 2.0**-20))
@example([("a", "apple apple"), ("b", "apple")], "document", None, None, {"apple": [1e308, 1.0]}, (1.0, 2.0**-20))
@example([("a", "apple"), ("b", "bread")], "author", None, None, {"apple": [1e300, 1e300]}, (2.0, 2.0**-30))
@example([("a", "apple"), ("b", "bread")], "author", None, None, {"apple": [2.0, 2.0**-30]}, (2.0, 2.0**-30))
def test_one_unit_moves_any_sum_by_the_bound_at_most(pairs, unit, max_docs, max_words, table, scale):
    bounds = {"unit": unit, "max_docs": max_docs, "max_words": max_words}
    total = table_sum(corpus_of(pairs, **bounds), table, scale)
    for smaller in without_one(pairs, unit):
        change = plus(total, table_sum(corpus_of(smaller, **bounds), table, scale), -1)
        assert squared(change) <= (Fraction(scale[0]) / Fraction(scale[1])) ** 2


@settings(max_examples=200)
@given(rows, units, limits, limits, tables, scales)
@example([("a", "apple bread"), ("b", "apple")], "author", None, None, {"apple": [np.nan, 1.0]}, (1.0, 2.0**-20))
@example([("a", "apple apple"), ("b", "apple")], "document", None, None, {"apple": [1e308, 1.0]}, (1.0, 2.0**-20))
@example([("a", "apple"), ("b", "bread")], "author", None, None, {"apple": [2.0, 2.0**-30]}, (2.0, 2.0**-30))
def test_one_unit_moves_any_sum_by_the_bound_at_most_in_the_other_norm(pairs, unit, max_docs, max_words, table, scale):
    bounds = {"unit": unit, "max_docs": max_docs, "max_words": max_words}
    total = table_sum(corpus_of(pairs, **bounds), table, scale, norm=1)
    for smaller in without_one(pairs, unit):
        change = plus(total, table_sum(corpus_of(smaller, **bounds), table, scale, norm=1), -1)
        assert sum(abs(x) for row in change.values() for x in row) <= Fraction(scale[0]) / Fraction(scale[1])


def without_one(pairs, unit):
    if unit == "author":
        return [[p for p in pairs if p[0] != author] for author in sorted({a for a, _ in pairs})]
    return [pairs[:i] + pairs[i + 1 :] for i in range(len(pairs))]


@given(rows, units, limits, limits, norms)
def test_one_unit_moves_vocabulary_weights_by_one_at_most(pairs, unit, max_docs, max_words, norm):
    def weights(some):
        corpus = corpus_of(some, unit=unit, max_docs=max_docs, max_words=max_words)
        statistic = EqualWeights(len(corpus.words), norm)
        return by_word(corpus, corpus.bounded_sum(statistic, bound=1.0, grid=2.0**-20, norm=norm))

    total = weights(pairs)
    for smaller in without_one(pairs, unit):
        change = plus(total, weights(smaller), -1)
        assert sum(abs(x) ** norm for row in change.values() for x in row) <= 2 ** (20 * norm)


@given(rows, units, limits, limits, st.floats(0.05, 20.0), st.integers(0, 99))
def test_one_unit_moves_expected_counts_by_the_clip_at_most(pairs, unit, max_docs, max_words, clip, seed):
    topics = np.random.default_rng(seed).dirichlet(np.full(len(PUBLIC), 0.2), 3).T.copy()

    def counts(some):
        corpus = corpus_of(some, unit=unit, max_docs=max_docs, max_words=max_words).limited(vocabulary=PUBLIC)
        return by_word(corpus, corpus.bounded_sum(_ExpectedCounts(topics, 0.1), bound=clip, grid=2.0**-16))

    total = counts(pairs)
    for smaller in without_one(pairs, unit):
        assert squared(plus(total, counts(smaller), -1)) <= (Fraction(clip) * 2**16) ** 2


def test_a_unit_uses_the_whole_bound():
    """The guard against bounds that hold because nothing is added: a long unit reaches the bound, less rounding."""
    for unit in ("author", "document"):
        corpus = corpus_of([("a", " ".join(WORDS * 9))], unit=unit)
        total = table_sum(corpus, {w: [1.0, 2.0] for w in WORDS})
        assert 0.9999 * 2**40 < squared(total) <= 2**40
        total = table_sum(corpus, {w: [1.0, -2.0] for w in WORDS}, norm=1)
        assert 0.9999 * 2**20 < sum(abs(x) for row in total.values() for x in row) <= 2**20


def test_there_are_two_norms():
    corpus = corpus_of([("a", "apple")])
    for norm in (0, 3, -1):
        with pytest.raises(InputError, match=f"norm must be 1 or 2, got {norm}"):
            corpus.bounded_sum(EqualWeights(2, 2), bound=1.0, grid=1.0, norm=norm)


@given(rows, units, limits, limits, tables, st.randoms(use_true_random=False))
def test_row_order_changes_no_integer(pairs, unit, max_docs, max_words, table, random):
    bounds = {"unit": unit, "max_docs": max_docs, "max_words": max_words}
    shuffled = random.sample(pairs, len(pairs))
    texts = [(a, " ".join(random.sample(t.split(), len(t.split())))) for a, t in shuffled]
    one, two = corpus_of(pairs, **bounds), corpus_of(texts, **bounds)
    assert table_sum(one, table) == table_sum(two, table)
    assert list(one.words) == list(two.words)
    one, two = one.limited(vocabulary=PUBLIC), two.limited(vocabulary=PUBLIC)
    assert table_sum(one, table) == table_sum(two, table)
    topics = np.random.default_rng(0).dirichlet(np.ones(len(PUBLIC)), 3).T.copy()
    first, second = (c.bounded_sum(_ExpectedCounts(topics, 0.1), bound=0.5, grid=2.0**-30) for c in (one, two))
    assert np.array_equal(first, second)


class SquareRoots:
    """√count: its squares do not add up exactly, so that the order of addition shows."""

    height = None
    width = 1

    def __call__(self, block):
        values = np.sqrt(block.counts.astype(float))[:, None]
        return UnitRows(block.doc_start[block.unit_start], block.word, values * 1000)


def test_who_used_a_word_first_does_not_move_the_rounding_of_others():
    """Were rows numbered by first use, removing the first document would change the sums of the second."""
    rng = np.random.default_rng(0)
    names = [f"word{letter}" for letter in "abcdefghijklm"]
    counts = [3, 5, 7, 8, 6, 7, 3, 4, 4, 5, 3, 6, 3]
    long_one = " ".join(w for w, c in zip(names, counts, strict=True) for _ in range(c))

    def total(texts):
        corpus = Corpus.from_texts(texts, settings=EVERY_WORD).bounded()
        return by_word(corpus, corpus.bounded_sum(SquareRoots(), bound=1024.0, grid=1.0))

    alone = total([long_one])
    for _ in range(100):
        first = " ".join(rng.permutation(names))
        assert plus(total([first, long_one]), total([first]), -1) == plus(alone, {})


@settings(max_examples=40)
@given(rows, units, tables, st.integers(1, 5), st.integers(1, 6), st.booleans())
def test_threads_and_blocks_change_no_integer(pairs, unit, table, cores, entries, sampled):
    corpus = corpus_of(pairs, unit=unit)
    sample = Sample(0.5, (3, 4)) if sampled else None
    expected = table_sum(corpus, table, sample=sample)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "_cores", lambda: cores)
        patch.setattr(memory, "_BLOCK_ENTRIES", entries)
        assert table_sum(corpus, table, sample=sample) == expected


def test_many_blocks_on_many_threads(monkeypatch):
    rng = np.random.default_rng(1)
    counts = rng.poisson(0.2, (2000, 40))
    corpus = Corpus.from_counts(counts, [f"w{i}" for i in range(40)], authors=rng.integers(0, 300, 2000)).bounded()
    topics = rng.dirichlet(np.ones(40), 5).T.copy()
    results = []
    for cores, entries in ((1, 1 << 18), (8, 64), (3, 1)):
        monkeypatch.setattr(memory, "_cores", lambda cores=cores: cores)
        monkeypatch.setattr(memory, "_BLOCK_ENTRIES", entries)
        results.append(corpus.bounded_sum(_ExpectedCounts(topics, 0.1), bound=2.0, grid=2.0**-29))
    assert results[0].any()
    assert all(np.array_equal(r, results[0]) for r in results)


@given(rows, limits, limits, st.booleans())
def test_bounds_hold(pairs, max_docs, max_words, restrict):
    for unit in ("author", "document"):
        corpus = corpus_of(pairs, unit=unit, max_docs=max_docs, max_words=max_words)
        corpus = corpus.limited(vocabulary=PUBLIC) if restrict else corpus
        raw = corpus_of(pairs, unit=unit)
        seen = units_of(corpus)
        assert seen.total() == units_of(raw).total()
        for contents in seen:
            distinct = {word for document in contents for word, _ in document}
            assert len(contents) <= (1 if unit == "document" else max_docs or len(pairs))
            assert len(distinct) <= (max_words or len(WORDS))
            assert not restrict or distinct <= set(PUBLIC.words)


@given(rows, limits, limits)
def test_bounds_take_as_much_as_they_allow(pairs, max_docs, max_words):
    corpus = corpus_of(pairs, max_docs=max_docs)
    n_docs = Counter(a for a, _ in [("filler", ""), *pairs])
    wanted = sorted(min(n, max_docs or n) for n in n_docs.values())
    assert sorted(len(contents) for contents in units_of(corpus).elements()) == wanted
    before = units_of(corpus_of(pairs)).elements()
    after = units_of(corpus_of(pairs, max_words=max_words)).elements()

    def sizes(many):
        return sorted(len({word for document in contents for word, _ in document}) for contents in many)

    assert sizes(after) == sorted(min(n, max_words or n) for n in sizes(before))


@given(rows, limits, limits, st.integers(0, 2**64 - 1), st.booleans())
def test_what_an_author_keeps_does_not_depend_on_others(pairs, max_docs, max_words, key, restrict):
    def kept(some):
        corpus = Corpus.from_texts([t for _, t in some], [a for a, _ in some], settings=EVERY_WORD)
        bounded = corpus.bounded(max_docs=max_docs, max_words=max_words, key=key)
        return units_of(bounded.limited(vocabulary=PUBLIC) if restrict else bounded)

    pairs = [(a, f"{t} {a}{a}{a}") for a, t in pairs]  # nobody is without words
    alone = [kept([p for p in pairs if p[0] == author]) for author in sorted({a for a, _ in pairs})]
    assert kept(pairs) == sum(alone, Counter())


def test_another_key_makes_another_choice():
    pairs = [("a", f"{w} {v}") for w in WORDS for v in WORDS]
    choices = {frozenset(units_of(corpus_of(pairs, max_docs=4, max_words=3, key=key))) for key in range(8)}
    assert len(choices) == 8


def test_words_are_chosen_after_restricting_to_the_vocabulary():
    """An author with hundreds of words outside the vocabulary still gives max_words words inside it."""
    letters = "abcdefghijklmnopqrst"
    outside = [f"out{a}{b}" for a in letters for b in letters]
    inside = [f"in{a}{a}" for a in letters]
    corpus = corpus_of([("a", " ".join(outside)), ("a", " ".join(inside))], max_words=5)
    (before,) = (c for c in units_of(corpus) if len(c) == 2)
    assert sum(len(document) for document in before) == 5
    restricted = corpus.limited(vocabulary=Vocabulary.of(inside))
    assert restricted.bounds == corpus.bounds
    assert list(restricted.words) == inside
    (after,) = (c for c in units_of(restricted) if len(c) == 2)
    assert sorted(map(len, after)) == [0, 5]


def test_limits_only_get_tighter():
    corpus = corpus_of([("a", " ".join(WORDS))], max_words=3)
    assert corpus.limited(max_words=5).bounds.max_words == 3
    assert corpus.limited(max_words=2).bounds.max_words == 2
    assert corpus.limited() is corpus
    assert corpus_of([("a", " ".join(WORDS))]).limited(max_words=2).bounds.max_words == 2
    assert corpus.limited(vocabulary=PUBLIC).limited(max_words=1).vocabulary == PUBLIC


def test_an_empty_vocabulary_is_still_a_public_one():
    empty = corpus_of([("a", "apple")], max_words=1).limited(vocabulary=Vocabulary.of([]))
    assert empty.vocabulary == Vocabulary.of([])
    assert len(empty.words) == 0
    assert empty.bounded_sum(EqualWeights(0, 2), bound=1.0, grid=1.0).shape == (0, 1)
    assert empty.limited(max_words=1).vocabulary == Vocabulary.of([])


def test_a_second_vocabulary_starts_from_the_raw_data():
    first = corpus_of([("a", "apple bread")]).limited(vocabulary=PUBLIC)
    assert first.limited(vocabulary=PUBLIC).vocabulary == PUBLIC
    second = first.limited(vocabulary=Vocabulary.of(["apple"]))
    assert list(second.words) == ["apple"]
    assert second.bounded_sum(EqualWeights(1, 2), bound=1.0, grid=1.0).tolist() == [[1]]


def test_words_unknown_to_the_corpus_get_empty_rows():
    corpus = corpus_of([("a", "bread")]).limited(vocabulary=PUBLIC)
    total = corpus.bounded_sum(EqualWeights(len(PUBLIC), 2), bound=1.0, grid=1.0)
    assert dict(zip(PUBLIC.words, total[:, 0].tolist(), strict=True)) == {
        "bread": 1,
        "cheese": 0,
        "eggs": 0,
        "figs": 0,
        "zucchini": 1,
    }


# Poisson samples. Keys are fixed; with fresh ones each check would fail with probability below 1e-8.

N = 4000


def within(observed, n, rate):
    return abs(observed - n * rate) <= 6 * sqrt(n * rate * (1 - rate))


def indicator(corpus, rate, key):
    """Which units are in, for documents of one word each that nobody shares."""
    total = corpus.bounded_sum(EqualWeights(N, 2), bound=1.0, grid=1.0, sample=Sample(rate, key))[:, 0]
    assert set(total.tolist()) <= {0, 1}
    return total.astype(bool)


@pytest.fixture(scope="module", params=["author", "document"])
def one_word_each(request):
    from scipy import sparse

    words = [f"w{i:05d}" for i in range(N)]
    return Corpus.from_counts(sparse.eye_array(N, dtype=np.int32), words, authors=words).bounded(unit=request.param)


@pytest.mark.parametrize("rate", [0.01, 0.3, 0.9])
def test_sampling_rate(one_word_each, rate):
    assert within(indicator(one_word_each, rate, (1, 2)).sum(), N, rate)


def test_the_ends_of_the_rate(one_word_each):
    assert indicator(one_word_each, 1.0, (1, 2)).all()
    assert not indicator(one_word_each, 0.0, (1, 2)).any()


def test_keys_give_independent_samples(one_word_each):
    samples = [indicator(one_word_each, 0.3, key) for key in ((1, 2), (1, 3), (2, 2), (2**64 - 1, 0))]
    for one, other in combinations(samples, 2):
        assert within((one & other).sum(), N, 0.09)
    assert np.array_equal(samples[0], indicator(one_word_each, 0.3, (1, 2)))


def test_lower_rates_take_part_of_higher_ones(one_word_each):
    few, many = indicator(one_word_each, 0.1, (1, 2)), indicator(one_word_each, 0.5, (1, 2))
    assert not (few & ~many).any()


def test_identical_documents_are_sampled_independently():
    corpus = Corpus.from_counts(np.ones((N, 1), int), ["same"]).bounded()
    total = [
        corpus.bounded_sum(EqualWeights(1, 2), bound=1.0, grid=1.0, sample=Sample(0.3, (k, 9)))[0, 0] for k in "1234"
    ]
    assert all(within(t, N, 0.3) for t in total)
    assert len(set(total)) > 1


@given(rows, units, limits, tables, st.floats(0.1, 0.9), st.tuples(*[st.integers(0, 2**64 - 1)] * 2))
def test_sum_over_a_sample_is_the_sum_over_its_units(pairs, unit, max_words, table, rate, key):
    pairs = [(a, f"{t} own{'abcdefghijkl'[i]}") for i, (a, t) in enumerate(pairs)]  # tells the rows apart
    sample = Sample(rate, key)
    corpus = corpus_of(pairs, unit=unit)
    marks = {w for contents in units_of(corpus, sample) for document in contents for w, _ in document}
    chosen = [(a, t) for a, t in pairs if t.split()[-1] in marks]
    sampled = table_sum(corpus_of(pairs, unit=unit, max_words=max_words), table, sample=sample)
    assert sampled == table_sum(corpus_of(chosen, unit=unit, max_words=max_words), table)


def test_repr_shows_bounds_only():
    corpus = corpus_of([("secretname", "secretword secretword")], max_docs=3, max_words=7)
    for shown in (repr(corpus), repr(corpus.limited(vocabulary=Vocabulary.of(["secretword"])))):
        assert "max_docs=3, max_words=7" in shown
        assert "secret" not in shown
        assert shown == repr(corpus_of([], max_docs=3, max_words=7))  # nothing about the size either


@pytest.mark.parametrize(
    ("bound", "grid"),
    [(1.0, 2.0), (1.0, 2.0**-32), (1.0, 0.0), (0.0, 1.0), (-1.0, -1.0), (np.nan, 1.0), (np.inf, 1.0), (1.0, np.nan)],
)
def test_impossible_grids_are_refused(bound, grid):
    with pytest.raises(InputError, match="bound"):
        corpus_of([("a", "apple")]).bounded_sum(EqualWeights(2, 2), bound=bound, grid=grid)


def test_sums_wrap_and_nothing_is_refused_for_their_size():
    """Modulo 2⁶⁴ a unit moves a sum by what it gives, wherever the sum stands: noise covers that as anywhere else."""
    total = memory.BoundedTotal((1, 1), 2**31, 1.0, 2)
    total.total[:] = 2**63 - 1
    block = Block(np.array([0, 1]), np.array([0, 1]), np.zeros(1, np.int32), np.ones(1, np.int32))

    class One:
        height, width = 1, 1

        def __call__(self, block):
            return UnitRows(np.array([0, 1]), np.zeros(1, np.int32), np.array([[5.0]]))

    total.add(One(), block)
    assert total.total[0, 0] == -(2**63) + 4


def test_the_largest_bound_does_not_overflow():
    corpus = corpus_of([("a", "apple"), ("b", "apple")])
    total = table_sum(corpus, {"apple": [1e30, 1e30]}, (2.0**31, 1.0))
    (row,) = total.values()
    assert row[0] == row[1] == 2 * int(2**31 / sqrt(2))


def test_an_error_in_a_statistic_comes_out():
    def broken(block):
        raise ZeroDivisionError

    broken.height = None
    broken.width = 1
    with pytest.raises(ZeroDivisionError):
        corpus_of([("a", "apple")]).bounded_sum(broken, bound=1.0, grid=1.0)
