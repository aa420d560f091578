"""Small corpora for the gate, and neighbours that try to move sums as far as they can."""

import numpy as np

from dptopics.core.vocabulary import Vocabulary
from dptopics.data.corpus import Corpus
from dptopics.data.public_inputs import PublicNgrams
from dptopics.privacy.events import Relation
from dptopics.public.text_models import TextModel

# English words, so that a public model knows them. The first four are what everybody writes about.
CORE = ["doctor", "engine", "hockey", "prayer"]
WORDS = sorted(
    [*CORE, *["bible", "brake", "car", "church", "faith", "game", "knee", "pain", "player", "surgery", "team", "wheel"]]
)
OTHER_WORDS = sorted(
    [*CORE, *["apple", "bread", "butter", "cheese", "onion", "salt", "soup", "spoon", "sugar", "table"]]
)
LISTED = Vocabulary.public(WORDS)
COUNTED = PublicNgrams.of({word: 3.0 + number for number, word in enumerate(WORDS)})
COMMON = Vocabulary.public(sorted({*CORE, "and", "game", "of", "the", "water", "wheel"}))
# A table of counts whose sixteen cells these words stand for.
TABLE = {"axes": ("topic", "ward", "month"), "values": (("0", "1"), ("a", "b"), ("1", "2", "3", "4"))}
# And a period of a series, after others that were left out.
SERIES = {"periods": ("W1", "W2", "W3", "W4", "W5"), "at": "W3"}
DIMENSIONS = 6


def _vectors(texts):
    """A public model of whole texts: what it says of one depends on its letters alone."""
    return np.array([[len(text), *(text.count(letter) for letter in "aeiou")] for text in texts], np.float32)


MODEL = TextModel("letters", _vectors)


def corpus_of(units, unit, *, words=WORDS, public=None):
    """A bounded corpus of (author, documents); a document is counts and a vector. ``public`` words restrict it."""
    rows = [(author, *document) for author, documents in units for document in documents]
    counts = np.array([row[1] for row in rows], np.int64).reshape(len(rows), len(words))
    authors = [row[0] for row in rows] if unit == "author" else None
    vectors = np.array([row[2] for row in rows], np.float32).reshape(len(rows), DIMENSIONS)
    corpus = Corpus.from_counts(counts, words, authors=authors).with_vectors(vectors).bounded(unit=unit)
    return corpus if public is None else corpus.limited(vocabulary=public)


def crowd(n=30, seed=0, words=WORDS):
    """People who write about the same four words, each a little of one other: some words clear any threshold."""
    rng = np.random.default_rng(seed)
    places = [words.index(word) for word in CORE]
    made = []
    for number in range(n):
        counts = np.zeros(len(words), np.int64)
        counts[places] = rng.integers(1, 5, 4)
        counts[number % len(words)] += 1
        made.append((f"person {number}", [(counts, rng.standard_normal(DIMENSIONS))]))
    return made


def strangers():
    """Other people, other words, other lengths, more documents each."""
    people = crowd(11, seed=5, words=OTHER_WORDS)
    return [(f"other {name}", documents * (1 + number % 3)) for number, (name, documents) in enumerate(people)]


_MOST = 2**31 - 1


def _document(rng, kind):
    counts = np.zeros(len(WORDS), np.int64)
    match kind:
        case "random":
            np.add.at(counts, rng.integers(0, counts.size, rng.integers(1, 60)), 1)
        case "one word":
            counts[rng.integers(counts.size)] = rng.choice([1, 3, 5000, _MOST])
        case "all words":
            counts[:] = rng.choice([1, 1000, _MOST])
        case "nearly one word":
            one, other = rng.permutation(counts.size)[:2]
            counts[one], counts[other] = 2**30, 1
        case "powers":
            counts[rng.permutation(counts.size)] = 2 ** np.arange(counts.size)
        case "three words":
            np.add.at(counts, rng.integers(0, counts.size, 3), 1)
    return counts  # else: empty


def _vector(rng, kind):
    normal = rng.standard_normal(DIMENSIONS)
    return {
        "normal": normal,
        "zero": normal * 0,
        "huge": np.sign(normal) * 3.4e38,
        "tiny": normal * 0 + 1e-45,
        "axis": np.eye(DIMENSIONS)[rng.integers(DIMENSIONS)],
        "mixed": np.where(np.arange(DIMENSIONS) < 2, 3e38, 1e-45),
    }[kind]


DOCUMENTS = ("random", "one word", "all words", "nearly one word", "powers", "three words", "empty")
VECTORS = ("normal", "zero", "huge", "tiny", "axis", "mixed")


def somebody(rng, unit):
    """A unit made to move sums: long, short or empty documents, one, some or hundreds of them, equal or not."""
    n = 1 if unit == "document" else int(rng.choice([1, 1, 2, 5, 40, 300], p=[0.3, 0.2, 0.2, 0.15, 0.1, 0.05]))

    def document():
        return _document(rng, rng.choice(DOCUMENTS)), _vector(rng, rng.choice(VECTORS))

    return [document()] * n if rng.random() < 0.4 else [document() for _ in range(n)]


def neighbours(rng, unit, relation, *, public=None):
    """Two corpora that differ by one unit, somewhere among the others: people, and others as odd as that one."""
    others = crowd(int(rng.integers(1, 31)), int(rng.integers(99)))
    others += [(f"odd {number}", somebody(rng, unit)) for number in range(rng.integers(0, 5))]
    place = int(rng.integers(0, len(others) + 1))

    def corpus(*between):
        units = [*others[:place], *(("new", documents) for documents in between), *others[place:]]
        return corpus_of(units, unit, public=public)

    one = somebody(rng, unit)
    pair = [corpus(one), corpus(somebody(rng, unit)) if relation is Relation.REPLACE else corpus()]
    return pair if rng.random() < 0.5 else pair[::-1]
