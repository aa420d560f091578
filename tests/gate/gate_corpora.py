"""A small corpus for the gate, and what is public about it."""

from dataclasses import replace

import numpy as np

from dptopics.core.text import TextSettings
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.corpus import Corpus
from dptopics.data.public_inputs import PublicNgrams
from dptopics.public.atlas import Atlas, Theme
from dptopics.public.text_models import TextModel

# English words, so that a public model knows them. The first four are what everybody writes about.
CORE = ["doctor", "engine", "hockey", "prayer"]
WORDS = sorted(
    [*CORE, *["bible", "brake", "car", "church", "faith", "game", "knee", "pain", "player", "surgery", "team", "wheel"]]
)
LISTED = Vocabulary.public(WORDS)
TEXT = TextSettings()
COUNTED = PublicNgrams.of({word: 3.0 + number for number, word in enumerate(WORDS)})
COMMON = Vocabulary.public(sorted({*CORE, "and", "game", "of", "the", "water", "wheel"}))
# A table of counts whose sixteen cells these words stand for.
TABLE = {"axes": ("topic", "ward", "month"), "values": (("0", "1"), ("a", "b"), ("1", "2", "3", "4"))}
# And a period of a series, after others that were left out.
SERIES = {"periods": ("W1", "W2", "W3", "W4", "W5"), "at": "W3"}
DIMENSIONS = 6
# Twenty themes of the words above, two each.
ATLAS = Atlas(
    tuple(
        Theme(f"Theme {i}", f"Domain {i % 3}", (WORDS[i % 16], WORDS[(3 * i + 1) % 16]), (f"{WORDS[i % 16]} again",))
        for i in range(20)
    ),
    sha256="0" * 64,
)


def _vectors(texts):
    """A public model of whole texts: what it says of one depends on its letters alone."""
    return np.array([[len(text), *(text.count(letter) for letter in "aeiou")] for text in texts], np.float32)


MODEL = TextModel("letters", _vectors)


def corpus_of(people, unit, *, public=False):
    """A corpus of (author, counts, vector); ``public``: over a public list, the same words."""
    counts = np.array([counts for _, counts, _ in people], np.int64)
    authors = [author for author, _, _ in people] if unit == "author" else None
    corpus = replace(Corpus.from_counts(counts, WORDS, authors=authors, public_vocabulary=public), text=TEXT)
    return corpus.with_vectors(np.array([vector for _, _, vector in people], np.float32))


def crowd(n=30, seed=0):
    """People who write about the same four words, each a little of one other: some words clear any threshold."""
    rng = np.random.default_rng(seed)
    places = [WORDS.index(word) for word in CORE]
    made = []
    for number in range(n):
        counts = np.zeros(len(WORDS), np.int64)
        counts[places] = rng.integers(1, 5, 4)
        counts[number % len(WORDS)] += 1
        made.append((f"person {number}", counts, rng.standard_normal(DIMENSIONS)))
    return made
