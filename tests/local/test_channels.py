"""Exact channels: every document against every report, run through the shipped code with every outcome of its draws.

A generator that plays all outcomes in turn, each with its probability, stands in for the random one. What a small
channel says is exact, documents longer than every limit included. Where the code is too slow for larger ones, a channel
written out by hand is first shown to be the code's own.
"""

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations, permutations, product
from math import exp, factorial, log

import numpy as np
import pytest

from dptopics import Vocabulary
from dptopics.local.hashing import ANSWER, HashedPair, ThreeWords
from dptopics.local.randomizer import BitFlips

WORDS = tuple("abcdefg")
MOST = 2**64 - 1


class Outcomes:
    """Stands in for a generator: plays one path through all outcomes of all draws.

    ``draw(size)`` lists what 64-bit words can be, as (probability, array); whole numbers of a small range are alike.
    """

    def __init__(self, draws, path):
        self._draws, self._path, self._words, self._at = draws, path, 0, 0
        self.open = None  # the outcomes of the first draw that the path does not decide
        self.chance = Fraction(1)

    def integers(self, low, high, size=None, dtype=np.int64, endpoint=False):
        if high == MOST:
            found = self._draws[self._words % len(self._draws)](size if isinstance(size, int) else size[0])
            self._words += 1
        else:
            n = high - low + endpoint
            found = [(Fraction(1, n ** (size or 1)), np.array(v) + low) for v in product(range(n), repeat=size or 1)]
            found = found if size is not None else [(p, int(v[0])) for p, v in found]
        if self._at == len(self._path):
            self.open = len(found)
            raise StopIteration
        chance, value = found[self._path[self._at]]
        self._at += 1
        self.chance *= chance
        return value


def channel(randomizer, document, *draws):
    """Every report that the code can make of a document, with its exact probability."""
    law = defaultdict(Fraction)
    paths = [()]
    while paths:
        path = paths.pop()
        outcomes = Outcomes(draws, path)
        try:
            report = randomizer(document, outcomes)
        except StopIteration:
            paths += [(*path, i) for i in range(outcomes.open)]
            continue
        law[report] += outcomes.chance
    assert sum(law.values()) == 1
    return law


def lots_below(threshold):
    """Words as far as their order and their side of a threshold go: all cases, each with its probability."""
    below = Fraction(threshold, 2**64)

    def draw(size):
        found = []
        for side in product((True, False), repeat=size):
            k = sum(side)
            chance = below**k * (1 - below) ** (size - k) / (factorial(k) * factorial(size - k))
            for low, high in product(permutations(range(k)), permutations(range(size - k))):
                low, high = list(low), list(high)
                values = [low.pop() if is_below else MOST - high.pop() for is_below in side]
                found.append((chance, np.array(values, np.uint64)))
        return found

    return draw


def sides(threshold):
    """Words as far as their side of a threshold goes."""
    below = Fraction(threshold, 2**64)

    def draw(size):
        return [(below ** sum(side) * (1 - below) ** (size - sum(side)),
                 np.array([0 if is_below else MOST for is_below in side], np.uint64))
                for side in product((True, False), repeat=size)]  # fmt: skip

    return draw


def order(size):
    """Words as far as their order goes."""
    return [(Fraction(1, factorial(size)), np.array(p, np.uint64)) for p in permutations(range(size))]


def fixed(values):
    """Words that are given: a hash's seeds, drawn without looking at the document."""
    return lambda size: [(Fraction(1), np.array(values[:size], np.uint64))]


def worst(laws, pairs):
    """The largest log ratio of two laws, over all reports and the given pairs in both orders."""
    both = [pair for one, other in pairs for pair in ((one, other), (other, one))]
    return max(log(laws[one][y] / laws[other][y]) for one, other in both for y in laws[one])


# --- flipped bits ---


def every_set(n):
    return [frozenset(WORDS[i] for i in range(n) if number >> i & 1) for number in range(2**n)]


def one_word_apart(n):
    return [(d, d | {w}) for d in every_set(n) for w in WORDS[:n] if w not in d]


def flips(n, f, max_words, per):
    return BitFlips(vocabulary=Vocabulary.of(WORDS[:n]), f=f, max_words=max_words, per=per)


def codes_own(randomizer):
    """The channel of the code, for all documents over its words."""
    draw = lots_below(randomizer.flip_below)
    return {d: channel(randomizer, sorted(d), draw) for d in every_set(len(randomizer.vocabulary))}


def written_out(randomizer):
    """The same by formula: a uniform choice of max_words words per document, then independent flips."""
    flip, words = Fraction(randomizer.flip_below, 2**64), randomizer.vocabulary.words
    laws = {}
    for document in every_set(len(words)):
        keeps = randomizer.per == "document" and len(document) > randomizer.max_words
        choices = list(combinations(sorted(document), randomizer.max_words)) if keeps else [tuple(document)]
        laws[document] = law = defaultdict(Fraction)
        for kept, bits in product(choices, product((False, True), repeat=len(words))):
            wrong = sum(bit != (word in kept) for bit, word in zip(bits, words, strict=True))
            law[np.packbits(bits).tobytes()] += flip**wrong * (1 - flip) ** (len(words) - wrong) / len(choices)
    return laws


@pytest.mark.parametrize("per", ["word", "document"])
@pytest.mark.parametrize("max_words", [1, 2, 3])
def test_written_out_channel_is_the_codes_own(max_words, per):
    randomizer = flips(3, 0.1, max_words, per)
    assert codes_own(randomizer) == written_out(randomizer)


@pytest.mark.parametrize("max_words", [1, 2, 3])
@pytest.mark.parametrize("f", [0.01, 0.5, 1.0])
def test_per_word_holds_for_documents_of_any_length(f, max_words):
    randomizer = flips(3, f, max_words, "word")
    assert worst(codes_own(randomizer), one_word_apart(3)) == pytest.approx(randomizer.guarantee.epsilon, abs=1e-12)


@pytest.mark.parametrize(("n", "max_words"), [(5, 1), (5, 2), (6, 3), (6, 5), (6, 6)])
@pytest.mark.parametrize("f", [0.1, 0.5])
def test_what_bits_promise_is_attained_over_documents_of_any_length(f, n, max_words):
    word, document = (flips(n, f, max_words, per) for per in ("word", "document"))
    laws = written_out(word)
    r = (1 - f / 2) / (f / 2)
    assert worst(laws, one_word_apart(n)) == pytest.approx(word.guarantee.epsilon, abs=1e-12) == log(r)
    laws = written_out(document)
    assert worst(laws, combinations(every_set(n), 2)) == pytest.approx(document.guarantee.epsilon, abs=1e-12)
    single = worst(laws, one_word_apart(n))
    assert single == pytest.approx(document.word_epsilon, abs=1e-12)
    formula = (1 + max_words * r**2) / (max_words + 1) if max_words < n else r
    assert single == pytest.approx(log(formula), abs=1e-12)


def test_the_whole_document_of_a_collection_per_word():
    made = flips(5, 0.5, 2, "word")
    laws = written_out(made)
    short = [d for d in every_set(5) if len(d) <= 2]
    card = " ".join(made.guarantee.card().split())
    assert "at most 2 distinct words: ε = 4.4; of any length: ε = 5.5." in card
    assert worst(laws, combinations(short, 2)) == pytest.approx(4 * log(3), abs=1e-12)
    assert worst(laws, combinations(every_set(5), 2)) == pytest.approx(5 * log(3), abs=1e-12)


def test_golden_values_of_one_word():
    # Truncation makes one word worth two bits: B = 5, f = 0.1 was sold as 2.944.
    words = Vocabulary.of(map(str, range(1000)))
    for f, b, truth in ((0.5, 1, 1.609), (0.1, 5, 5.707)):
        assert BitFlips(vocabulary=words, f=f, max_words=b).word_epsilon == pytest.approx(truth, abs=5e-4)
    assert BitFlips(vocabulary=words, f=0.1, max_words=5, per="word").guarantee.epsilon == pytest.approx(
        2.944, abs=5e-4
    )
    assert BitFlips(vocabulary=words, f=1e-300, max_words=50).word_epsilon < 2 * 691.7


# --- hashed words ---


def every_document(words, longest):
    """One text for each multiset of words, up to a length."""
    found = {tuple(sorted(d)) for n in range(longest + 1) for d in product(words, repeat=n)}
    return sorted(found)


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_a_hashed_pair_hides_documents_of_any_length(seed):
    words = Vocabulary.of(WORDS[:3])
    pair = HashedPair(vocabulary=words, topics=(("a", "b"), ("c",)), epsilon=1.0)
    draws = fixed([seed]), sides(pair.hash.keep_below)
    documents = every_document((*WORDS[:3], "unlisted"), 4)
    laws = {d: channel(pair, d, *draws) for d in documents}
    assert all(set(np.frombuffer(y, ANSWER)["seed"]) == {seed} for law in laws.values() for y in law)
    everything = [(one, other) for one, other in combinations(documents, 2)]
    assert worst(laws, everything) == pytest.approx(pair.guarantee.epsilon, abs=1e-9)


def test_three_words_hide_documents_longer_than_three():
    three = ThreeWords(vocabulary=Vocabulary.of(WORDS[:2]), epsilon=0.9)
    assert three.hash.n_buckets == 2
    worsts = []
    for seeds in ([0, 1, 2], [3, 4, 5], [6, 7, 8]):
        draws = order, fixed(seeds), sides(three.hash.keep_below)
        documents = every_document((*WORDS[:2], "unlisted"), 4)
        laws = {d: channel(three, d, *draws) for d in documents}
        worsts.append(worst(laws, combinations(documents, 2)))
    assert max(worsts) == pytest.approx(three.guarantee.epsilon, abs=1e-9)  # all three buckets differ
    assert all(found <= three.guarantee.epsilon + 1e-12 for found in worsts)


def test_a_generator_that_plays_all_outcomes_finds_too_little_noise():
    half = flips(3, 0.5, 1, "word").rescaled(1 / 2)
    assert worst(codes_own(half), one_word_apart(3)) > flips(3, 0.5, 1, "word").guarantee.epsilon + 0.5
    assert exp(worst(codes_own(half), one_word_apart(3))) == pytest.approx(7)
    assert Counter(len(law) for law in codes_own(half).values()) == {8: 8}
