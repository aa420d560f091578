"""Documents of different words with one 64-bit content key, found in a minute by a four-list birthday search.

Keys add up over words, so two such documents still share a key when both get the same further words.
"""

COLLISIONS = [
    ("qabebeqida qbwuhehoca", "qczokoxafa qdcuqejeda"),
    ("qacozeqeca qbpelocafa", "qchilaqoda qdmufagada"),
    ("qanejijoca qbrugihaca", "qckewicuba qdkegibeda"),
]


_COMMON = ["cheese", "kiwi", "quince"]  # "cheese cheese" comes before the first pair in the canonical order, and so on


def crowded(mechanism):
    """Pairs of documents that share a key and compete for one word each, which others have all but filled.

    Whoever of a pair comes first gives to the common word; the other gives to words of its own.
    """
    fillers = [f"{word} {word}" for word in _COMMON for _ in range(int(mechanism.cutoff))]
    return fillers + [f"{own} {word} {word}" for word, pair in zip(_COMMON, COLLISIONS, strict=True) for own in pair]


def weights(mechanism, corpus):
    """The exact weight of each word, before noise, in units."""
    corpus = corpus.limited(max_words=mechanism.max_words)
    steps, _ = mechanism.weights(corpus)
    return dict(zip(corpus.words, (steps * mechanism.grid).tolist(), strict=True))
