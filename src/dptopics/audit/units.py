"""What canaries are made of: invented units, the corpus with them in it, and the scores that look for them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice
from math import inf
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics.audit.people import Person, planted
from dptopics.data.bounded import BoundedCorpus
from dptopics.data.corpus import Corpus
from dptopics.errors import InputError, NothingReleased
from dptopics.privacy.fields import Choice
from dptopics.privacy.mechanism import Mechanism
from dptopics.release.ngram_table import NgramTable
from dptopics.release.topic_model import TopicModel
from dptopics.release.vocabulary import Vocabulary

# From a released value (None: nothing was released) and the words of a canary: a number that tells in from out.
Score = Callable[[Any, Sequence[str]], float]

_LENGTH = 50  # words in a canary, repeats counted: enough to fill every limit on what a unit may give
_NOTHING = -1.0  # the score of no release; all others are at least 0


class Words(Choice):
    """Where a canary's words come from: its own, or those that most others use as well.

    Its own are invented; where the corpus has public words, they are the rarest of those.
    """

    OWN = "own"
    WIDESPREAD = "widespread"


@dataclass(frozen=True, kw_only=True)
class Canary:
    """What a canary writes, and how many others write the same.

    Alone (``crowd`` 0) it shows whether rare words get out. In a crowd of units that are always there its words are
    released whether it is in or not, and the noise must hide the difference. Any data may be the background of an
    audit: the promise is about all of them.
    """

    words: Words = Words.OWN
    n_words: int = 1
    crowd: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", Words(self.words))
        if self.n_words < 1 or self.crowd < 0:
            raise InputError(
                f"a canary needs n_words of at least 1 and a crowd of at least 0, got {self.n_words} and {self.crowd}."
            )

    def choose(self, corpus: Corpus, n: int) -> list[list[str]]:
        """Words for each of n canaries, none shared; fewer than asked if the corpus has too few public ones."""
        if self.words is Words.OWN and corpus.vocabulary is None:
            known = set(corpus.words)
            invented = (f"canary{number}" for number in count())
            words = list(islice((w for w in invented if w not in known), n * self.n_words))
        else:
            words = _by_rarity(corpus)
            if self.words is Words.WIDESPREAD:
                words.reverse()
        size = min(self.n_words, len(words) // n)
        if size == 0:
            raise InputError(f"{n} canaries need a word each, and there are too few words. Use fewer canaries.")
        return [words[i * size : (i + 1) * size] for i in range(n)]

    def crowded(self, corpus: Corpus, canaries: Iterable[Sequence[str]]) -> Corpus:
        """The corpus with the crowd around each canary, without the canaries."""
        return with_units(corpus, [words for words in canaries for _ in range(self.crowd)])


def _by_rarity(corpus: Corpus) -> list[str]:
    """Words by the number of documents they are in, the rarest first; public words only, if there are any."""
    documents = np.bincount(corpus.word, minlength=len(corpus.words)).tolist()
    seen = dict(zip(corpus.words, documents, strict=True))
    words = corpus.words if corpus.vocabulary is None else corpus.vocabulary.words
    return sorted(words, key=lambda w: (seen.get(w, 0), w))


def with_units(corpus: Corpus, units: Iterable[Sequence[str]]) -> Corpus:
    """The corpus with more units: each a new author with one document that holds its words many times."""
    people = [Person((dict.fromkeys(unit, max(1, _LENGTH // len(set(unit)))),)) for unit in units]
    return planted(corpus, people)


# --- scores ---


def released_weight(value: Any, words: Sequence[str]) -> float:
    """Noisy weight of the canary's words in a vocabulary, or in that of topics; where it has none, how many are in."""
    if value is None:
        return _NOTHING
    vocabulary = value.vocabulary if isinstance(value, TopicModel) else value
    if not isinstance(vocabulary, Vocabulary):
        return 0.0
    rows = [vocabulary.index[w] for w in words if w in vocabulary.index]
    # A word that is there counts for something whatever its weight; a weight may be below zero.
    return float(sum(1.0 if vocabulary.weights is None else max(vocabulary.weights[i], 1e-9) for i in rows))


def heaviest_topic(value: Any, words: Sequence[str]) -> float:
    """Expected count of the canary's words in the topic that has most of them."""
    return _NOTHING if value is None else float(_counts(value, words).max(initial=0.0))


def all_topics(value: Any, words: Sequence[str]) -> float:
    """Expected count of the canary's words over all topics."""
    return _NOTHING if value is None else float(_counts(value, words).sum())


def likelihood(value: Any, words: Sequence[str]) -> float:
    """The canary's likelihood under the topic that explains it best: the geometric mean over its words."""
    if value is None:
        return _NOTHING
    if not isinstance(value, TopicModel) or any(w not in value.vocabulary.index for w in words):
        return 0.0
    weights = value.topic_word[:, [value.vocabulary.index[w] for w in words]]
    return float(np.exp(np.log(np.maximum(weights, 1e-300)).mean(axis=1)).max())


def ngram_share(value: Any, words: Sequence[str]) -> float:
    """Released probability of the canary's n-grams, all together."""
    if value is None:
        return _NOTHING
    if not isinstance(value, NgramTable):
        return 0.0
    return float(sum(value.probability[value.vocabulary.index[w]] for w in words if w in value.vocabulary.index))


def _counts(value: Any, words: Sequence[str]) -> NDArray[np.float64]:
    """What a topic's weights say about counts: noise of known size gives the scale, else the share of the topic."""
    if not isinstance(value, TopicModel):
        return np.zeros(1)
    rows = [value.vocabulary.index[w] for w in words if w in value.vocabulary.index]
    scale = value.topic_share if value.deviation is None else 1 / np.maximum(value.deviation, 1e-300)
    return np.asarray(value.topic_word[:, rows].sum(axis=1) * scale)


SCORES: Mapping[str, Score] = MappingProxyType(
    {
        "weight": released_weight,
        "heaviest topic": heaviest_topic,
        "all topics": all_topics,
        "likelihood": likelihood,
        "n-grams": ngram_share,
    }
)


def separation(inside: NDArray[np.float64], outside: NDArray[np.float64]) -> float:
    """Distance of the means of two sets of scores, in standard deviations."""
    apart = abs(float(inside.mean() - outside.mean()))
    spread = float(np.sqrt((inside.var() + outside.var()) / 2))
    if apart <= 1e-12 * abs(float(outside.mean())):
        return 0.0  # equal but for rounding
    return apart / spread if spread > 0 else inf


def released_value(mechanism: Mechanism[Any], corpus: BoundedCorpus, rng: Generator) -> Any:
    """What a mechanism publishes, or None. That nothing is published is something that an attacker sees, too."""
    try:
        return mechanism(corpus, rng).value
    except NothingReleased:
        return None
