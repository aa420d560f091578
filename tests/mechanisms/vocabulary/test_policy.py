"""Units that react to each other: kernels against slow twins, and one unit moves the weights by its budget at most."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dptopics.core.errors import EngineError
from dptopics.data.bounded import Block, string_keys
from dptopics.data.corpus import Corpus
from dptopics.data.engines import memory
from dptopics.kernels.policy import fill_evenly, fill_in_order, fill_toward
from dptopics.mechanisms.vocabulary import policy
from dptopics.mechanisms.vocabulary.policy import GreedyVocabulary, PolicyVocabulary

N_WORDS = 7
DOCUMENT = st.dictionaries(st.integers(0, N_WORDS - 1), st.integers(1, 4), max_size=N_WORDS)
UNITS = st.lists(st.lists(DOCUMENT, max_size=2), min_size=1, max_size=12)
BUDGET = st.integers(1, 40)
TOP = st.integers(1, 120)
RANK = st.permutations(range(N_WORDS))


def as_block(units):
    docs = [d for u in units for d in u]
    entries = [e for d in docs for e in sorted(d.items())]
    return Block(
        np.cumsum([0, *map(len, units)]),
        np.cumsum([0, *map(len, docs)]),
        np.array([w for w, _ in entries], np.int32),
        np.array([c for _, c in entries], np.int32),
    )


def own_words(unit):
    """Distinct words in the order in which the unit lists them."""
    return list(dict.fromkeys(w for document in unit for w in sorted(document)))


# --- the kernels, each from full gaps: gaps and owned words ---


def evenly(units, budget, top, rank):
    block, gap, owned = as_block(units), np.full(N_WORDS, top, np.int64), np.zeros(N_WORDS, bool)
    fill_evenly(block.unit_start, block.doc_start, block.word, budget, gap, owned)
    return gap, owned


def toward(units, budget, top, rank):
    block, gap, owned = as_block(units), np.full(N_WORDS, float(top)), np.zeros(N_WORDS, bool)
    fill_toward(block.unit_start, block.doc_start, block.word, float(budget), gap, owned)
    return gap, owned


def in_order(units, budget, top, rank):
    block, gap, owned = as_block(units), np.full(N_WORDS, top, np.int64), np.zeros(N_WORDS, bool)
    fill_in_order(*block[:4], np.array(rank, np.int32), budget, gap, owned)
    return gap, owned


# --- slow twins ---


def one_by_one(units, budget, top, rank, order):
    """Deal single steps along ``order(unit, gap)``, a list of words with repeats, until the budget is gone."""
    gap = [top] * N_WORDS
    for unit in units:
        for word in order(unit, list(gap))[:budget]:
            gap[word] -= 1
    return np.array(gap)


def rounds(unit, gap):
    """ℓ1-descent: one step to each word that is not full, round by round."""
    return [w for step in range(max(gap)) for w in own_words(unit) if gap[w] > step]


def by_own_count(rank):
    def order(unit, gap):
        total = {w: sum(d.get(w, 0) for d in unit) for w in own_words(unit)}
        return [w for w in sorted(total, key=lambda w: (-total[w], rank[w])) for _ in range(gap[w])]

    return order


def by_running_weight(unit, gap):
    """What greedy must not do: the heaviest word first."""
    return [w for w in sorted(own_words(unit), key=lambda w: (gap[w], w)) for _ in range(gap[w])]


def wrong(units, budget, top, rank):
    return one_by_one(units, budget, top, rank, by_running_weight), None


@given(UNITS, BUDGET, TOP, RANK)
def test_even_filling_equals_dealing_in_rounds(units, budget, top, rank):
    gap, owned = evenly(units, budget, top, rank)
    assert gap.tolist() == one_by_one(units, budget, top, rank, rounds).tolist()
    assert owned.tolist() == [any(w in document for unit in units for document in unit) for w in range(N_WORDS)]


@given(UNITS, BUDGET, TOP, RANK)
def test_filling_in_order_equals_dealing_in_order(units, budget, top, rank):
    gap, owned = in_order(units, budget, top, rank)
    assert gap.tolist() == one_by_one(units, budget, top, rank, by_own_count(rank)).tolist()
    assert owned.tolist() == [any(w in document for unit in units for document in unit) for w in range(N_WORDS)]


@given(UNITS, BUDGET, TOP, RANK)
def test_filling_toward_the_cutoff_equals_its_formula(units, budget, top, rank):
    gap = np.full(N_WORDS, float(top))
    for unit in units:
        own = np.array(own_words(unit), int)
        length = np.linalg.norm(gap[own])
        gap[own] -= gap[own] if length <= budget else gap[own] * (budget / length)
    assert toward(units, budget, top, rank)[0] == pytest.approx(gap, rel=1e-9, abs=1e-9 * top)


def test_even_filling_by_hand():
    # Gaps 1, 4, 4 and a budget of 6: the first is filled, the rest is shared again: 1 + 3 + 2.
    gap, owned = np.array([1, 4, 4, 9]), np.zeros(4, bool)
    block = as_block([[{0: 1, 1: 1, 2: 1}]])
    fill_evenly(block.unit_start, block.doc_start, block.word, 6, gap, owned)
    assert gap.tolist() == [0, 1, 2, 9]
    assert owned.tolist() == [True, True, True, False]


def test_very_frequent_words_keep_their_order():
    # Counts beyond the sort key's half are cut to the same value; the rank decides.
    most = 2**31 - 1
    gap, owned = np.array([3, 3, 3]), np.zeros(3, bool)
    block = as_block([[{0: most, 1: most}, {0: most, 1: 1, 2: most}]])
    fill_in_order(*block[:4], np.array([2, 1, 0], np.int32), 4, gap, owned)
    assert gap.tolist() == [3, 2, 0]


# --- sensitivity ---


def moves(fill, units, budget, top, rank, norm):
    """How far each unit moves the gaps, in budgets."""
    whole = fill(units, budget, top, rank)[0]
    return [
        np.linalg.norm(whole - fill(units[:i] + units[i + 1 :], budget, top, rank)[0], norm) / budget
        for i in range(len(units))
    ]


@settings(max_examples=300)
@given(UNITS, BUDGET, TOP, RANK)
def test_one_unit_moves_the_weights_by_its_budget_at_most(units, budget, top, rank):
    assert max(moves(evenly, units, budget, top, rank, 1)) <= 1  # whole numbers: no tolerance
    assert max(moves(in_order, units, budget, top, rank, 1)) <= 1
    assert max(moves(toward, units, budget, top, rank, 2)) <= 1 + 1e-12


def random_corpora(seed, n):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        sizes = rng.integers(1, N_WORDS + 1, rng.integers(2, 30))
        units = [[{int(w): int(rng.integers(1, 4)) for w in rng.permutation(N_WORDS)[:size]}] for size in sizes]
        yield units, int(rng.integers(1, 40)), int(rng.integers(1, 120)), rng.permutation(N_WORDS).tolist()


@pytest.mark.parametrize("fill, norm", [(evenly, 1), (in_order, 1), (toward, 2)])
def test_longer_corpora(fill, norm):
    largest = max(max(moves(fill, *case, norm)) for case in random_corpora(1, 300))
    assert 0.99 < largest <= 1 + 1e-12  # the bound is reached, so it is not true for want of movement


def test_ordering_by_the_running_weight_is_caught():
    assert max(max(moves(wrong, *case, 1)) for case in random_corpora(1, 300)) > 3


def test_ordering_by_the_running_weight_by_hand():
    # Word 0 is one step heavier, or word 1 is: the next units all follow, and take word 0 or word 1 to the top.
    units = [[{0: 1}], [{1: 1}], *[[{0: 1, 1: 1}]] * 3]
    assert moves(wrong, units, 1, 4, range(N_WORDS), 1)[0] > 1
    assert max(moves(in_order, units, 1, 4, range(N_WORDS), 1)) == 1


@given(UNITS, BUDGET, TOP, RANK)
def test_weights_never_pass_the_cutoff_and_full_words_cost_nothing(units, budget, top, rank):
    for fill in (evenly, in_order):
        gap, owned = fill(units, budget, top, rank)
        assert gap.min() >= 0
        assert (gap[~owned] == top).all()
        assert top * N_WORDS - gap.sum() <= budget * len(units)


@given(st.integers(1, 7), st.integers(8, 60))
def test_lone_words_share_evenly(t, budget):
    gap, _ = evenly([[{w: 1 for w in range(t)}]], budget, 60, range(N_WORDS))
    assert (60 - gap[:t]).max() <= budget / t + 1  # the step to spare in the threshold
    gap, _ = toward([[{w: 1 for w in range(t)}]], budget, 60, range(N_WORDS))
    assert (60 - gap[:t]).max() <= budget / t**0.5 * (1 + 1e-12)


# --- why greedy's candidates are all words that somebody holds ---


def in_turn(units):
    """A corpus whose authors come in the given order: names are dealt by their hashes."""
    names = [f"author {i}" for i in range(len(units))]
    names = [names[i] for i in np.argsort(string_keys(names))]
    return names, [" ".join(w for i, w in enumerate(unit) for _ in range(len(unit) - i)) for unit in units]


def greedy_neighbours(**settings_):
    """One author (the first list's) lets two others reach a word that they do not reach without that author.

    All cutoffs lie half a unit above a whole number n, so n single authors leave a gap of one half.
    """
    mechanism = GreedyVocabulary(scale=2.0, tail=1e-3, max_words=3, delta=1e-2, **settings_)
    n = int(mechanism.cutoff)
    filled = [[word] for word in ("afirst", "asecond", "yfirst", "ysecond") for _ in range(n)]
    units = [*filled, ["afirst", "asecond"], ["afirst", "yfirst", "zfirst"], ["asecond", "ysecond", "zsecond"]]
    names, texts = in_turn(units)
    rows = list(zip(names, texts, strict=True))
    without = [row for i, row in enumerate(rows) if i != len(filled)]
    return mechanism, *(
        Corpus.from_texts([t for _, t in some], [a for a, _ in some]).bounded() for some in (rows, without)
    )


def test_one_author_lets_words_of_others_appear():
    low = GreedyVocabulary(scale=2.0, tail=1e-3, max_words=3, delta=1e-2, alpha=0.0).cutoff
    mechanism, with_unit, without = greedy_neighbours(alpha=(np.ceil(low) + 0.5 - low) / 2.0)
    assert mechanism.cutoff % 1 == pytest.approx(0.5)
    (first, owned), (second, also_owned) = (mechanism.weights(corpus) for corpus in (with_unit, without))
    assert list(with_unit.words) == list(without.words)
    appeared = {with_unit.words[i]: first[i] * mechanism.grid for i in np.flatnonzero((first > 0) & (second == 0))}
    assert appeared == pytest.approx({"zfirst": 0.5, "zsecond": 0.5}, abs=1e-5)
    # Were only words with weight candidates, under the published threshold, one of the two would be shown with a
    # probability above tail with that author, and never without: no (ε, tail)-DP for any ε.
    published = 1 - mechanism.scale * np.log(2 * mechanism.tail)
    hidden = np.prod([1 - np.exp(-(published - w) / mechanism.scale) / 2 for w in appeared.values()])
    assert 1 - hidden > 1.5 * mechanism.tail
    # What this library does: the two are candidates with and without that author, and move by one together.
    assert owned.all()
    assert also_owned.all()
    assert np.abs(first - second).sum() <= 1 / mechanism.grid


def test_policies_reach_every_word_of_a_unit():
    # So for them a word has weight if and only if somebody holds it.
    rng = np.random.default_rng(3)
    texts = [" ".join(rng.choice([f"word{c}" for c in "abcdefghijklmnopq"], 9)) for _ in range(60)]
    corpus = Corpus.from_texts(texts, range(60)).bounded(max_words=6)
    for noise in ("gaussian", "laplace"):
        mechanism = PolicyVocabulary(scale=0.5, tail=1e-3, max_words=6, delta=1e-2, noise=noise)
        weight, owned = mechanism.weights(corpus)
        assert ((weight > 0) == owned).all()


# --- the fold ---


def test_folding_keeps_the_canonical_order(monkeypatch):
    rng = np.random.default_rng(2)
    counts = rng.poisson(0.3, (200, 30))
    corpora = [
        Corpus.from_counts(counts[order], [f"w{i}" for i in range(30)], authors=order // 3).bounded()
        for order in (np.arange(200), rng.permutation(200))
    ]
    seen = []
    for corpus in corpora:
        for entries in (1 << 18, 7):
            monkeypatch.setattr(memory, "_BLOCK_ENTRIES", entries)

            def step(state, block):
                for a, b in pairwise(block.unit_start):
                    entries = slice(block.doc_start[a], block.doc_start[b])
                    state = [*state, (tuple(block.word[entries]), tuple(block.counts[entries]))]
                return state

            seen.append(corpus.fold(step, []))
    assert len(seen[0]) == 67
    assert seen[0] == seen[1] == seen[2] == seen[3]


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_blocks_change_no_weight(monkeypatch, noise):
    counts = np.random.default_rng(2).poisson(0.3, (200, 30))
    corpus = Corpus.from_counts(counts, [f"w{i:02d}" for i in range(30)]).bounded()
    for mechanism in (
        PolicyVocabulary(scale=1.0, tail=1e-3, max_words=9, delta=1e-2, noise=noise, unit="document"),
        GreedyVocabulary(scale=1.0, tail=1e-3, max_words=9, delta=1e-2, unit="document"),
    ):
        whole = mechanism.weights(corpus)[0]
        monkeypatch.setattr(memory, "_BLOCK_ENTRIES", 11)
        assert np.array_equal(mechanism.weights(corpus)[0], whole)
        monkeypatch.undo()


def test_more_units_than_the_proof_covers_are_not_read(monkeypatch):
    corpus = Corpus.from_texts(["knee pain", "skin rash"], ["a", "b"]).bounded()
    mechanism = PolicyVocabulary(scale=1.0, tail=1e-3, max_words=9, delta=1e-2)
    monkeypatch.setattr(policy, "MAX_UNITS", 1)
    with pytest.raises(EngineError, match="at most 1 units"):
        mechanism(corpus, np.random.default_rng(0))
    PolicyVocabulary(scale=1.0, tail=1e-3, max_words=9, delta=1e-2, noise="laplace")(corpus, np.random.default_rng(0))


def test_the_rounding_is_priced_for_every_corpus_that_can_be_held():
    """Authors and words have 32-bit numbers: nothing is left for a check, which would depend on the data, to refuse."""
    corpus = Corpus.from_texts(["knee"], ["a"])
    assert np.iinfo(corpus.author.dtype).max < policy.MAX_UNITS
    assert np.iinfo(corpus.word.dtype).max < policy.MAX_CORPUS_WORDS
