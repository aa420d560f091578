"""Reordering, renaming, choosing words and naming contents, each against a slow twin."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dptopics.data.bounded import string_keys
from dptopics.kernels.gather import content_keys, gather, keep_words, unlike_before

TOP = 2**64 - 1
N_WORDS = 7
DOCUMENTS = st.lists(
    st.dictionaries(st.integers(0, N_WORDS - 1), st.integers(1, 3) | st.integers(1, 2**31 - 1), max_size=N_WORDS),
    min_size=1,
    max_size=6,
)


def arrays(documents):
    start = np.concatenate([[0], np.cumsum([len(d) for d in documents])]).astype(np.int64)
    word = np.array([w for d in documents for w in d], np.int32)
    count = np.array([c for d in documents for c in d.values()], np.int32)
    return start, word, count


def as_documents(start, word, count):
    pairs = list(zip(word.tolist(), count.tolist(), strict=True))
    return [pairs[a:b] for a, b in pairwise(start)]


def mix(x):
    """The finaliser of splitmix64."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & TOP
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & TOP
    return x ^ (x >> 31)


@given(DOCUMENTS, st.lists(st.integers(-1, 2**31 - 1), min_size=N_WORDS, max_size=N_WORDS, unique=True), st.data())
def test_gather_reorders_renames_and_sorts(documents, rename, data):
    order = data.draw(st.lists(st.integers(0, len(documents) - 1), max_size=8))
    got = gather(np.array(order, np.int64), *arrays(documents), np.array(rename, np.int32))
    expected = [sorted((rename[w], c) for w, c in documents[d].items() if rename[w] >= 0) for d in order]
    assert as_documents(*got) == expected


def test_gather_keeps_the_largest_count():
    start, word, count = gather(
        np.array([0]), np.array([0, 1]), np.array([0], np.int32), np.array([2**31 - 1], np.int32), np.zeros(1, np.int32)
    )
    assert (start.tolist(), word.tolist(), count.tolist()) == ([0, 1], [0], [2**31 - 1])


@given(DOCUMENTS, st.integers(1, N_WORDS), st.lists(st.integers(0, TOP), min_size=6, max_size=6), st.data())
def test_keep_words_takes_the_lowest_tickets_of_each_unit(documents, max_words, keys, data):
    cuts = sorted(data.draw(st.sets(st.integers(0, len(documents)))) | {0, len(documents)})
    word_key = string_keys([f"word{i}" for i in range(N_WORDS)])
    start, word, _ = arrays(documents)
    unit_key = np.array(keys[: len(cuts) - 1], np.uint64)
    keep = keep_words(np.array(cuts, np.int64), start, word, unit_key, word_key, max_words)
    assert keep.size == word.size
    for unit, (low, high) in enumerate(pairwise(cuts)):
        own = word[start[low] : start[high]].tolist()
        tickets = {w: mix(int(unit_key[unit]) ^ int(word_key[w])) for w in own}
        allowed = set(sorted(tickets, key=tickets.get)[:max_words])
        assert keep[start[low] : start[high]].tolist() == [w in allowed for w in own]


def test_equal_tickets_keep_too_few_rather_than_too_many():
    word_key = np.zeros(3, np.uint64)  # three words with one key
    keep = keep_words(
        np.array([0, 1]), np.array([0, 3]), np.arange(3, dtype=np.int32), np.zeros(1, np.uint64), word_key, 2
    )
    assert not keep.any()


@given(DOCUMENTS, st.data())
def test_unlike_before_compares_entries_and_embeddings(documents, data):
    documents = [*documents, *documents[:2]]
    n = len(documents)
    order = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=8))
    asked = data.draw(st.lists(st.booleans(), min_size=len(order), max_size=len(order)))
    bits = np.array(data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)), np.uint32)[:, None]
    found = unlike_before(np.array(order, np.int64), np.array(asked), *arrays(documents), bits)
    seen = [(list(documents[d].items()), bits[d, 0]) for d in order]
    unlike = [False, *(one != two for one, two in pairwise(seen))]
    assert found.tolist() == [a and u for a, u in zip(asked, unlike, strict=True)]


@given(DOCUMENTS)
def test_content_keys_add_up_mixed_words(documents):
    word_key = string_keys([f"word{i}" for i in range(N_WORDS)])
    expected = [
        sum(mix((int(word_key[w]) + c * 0x9E3779B97F4A7C15) & TOP) for w, c in d.items()) & TOP for d in documents
    ]
    assert content_keys(*arrays(documents), word_key).tolist() == expected


@given(st.dictionaries(st.integers(0, N_WORDS - 1), st.integers(1, 4), min_size=1), st.permutations(range(N_WORDS)))
def test_content_keys_know_words_not_numbers(document, renumbered):
    names = [f"word{i}" for i in range(N_WORDS)]
    new_names = [names[renumbered.index(i)] for i in range(N_WORDS)]
    renamed = {renumbered[w]: c for w, c in reversed(document.items())}
    one = content_keys(*arrays([document]), string_keys(names))
    two = content_keys(*arrays([renamed]), string_keys(new_names))
    assert one == two


@given(DOCUMENTS)
def test_different_contents_have_different_keys(documents):
    keys = content_keys(*arrays(documents), string_keys([f"word{i}" for i in range(N_WORDS)])).tolist()
    assert len(set(keys)) == len({frozenset(d.items()) for d in documents})
