"""Worst-case canaries: invented people who fill every bound of a plan, and the crowds around them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dptopics.core.errors import InputError
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.bounded import string_keys
from dptopics.data.corpus import Corpus
from dptopics.mechanisms.mechanism import Mechanism
from dptopics.privacy.events import Relation
from dptopics.privacy.guarantee import Unit

_OFTEN = 5000  # repetitions of a word by a canary: beyond every bound on counts
_DOCUMENTS = 30  # of an author: beyond what one document could do
_SPARE = 3  # words more than topics: fewer make no vocabulary
_LISTED = 1000  # public words used in most of an audit
_FAR = 1e3  # length of a canary's vector: beyond every norm that vectors are clipped to

Document = Mapping[str, int]


@dataclass(frozen=True)
class Person:
    """An invented unit: what each of its documents says, as counts of words."""

    documents: tuple[Document, ...]


@dataclass(frozen=True)
class Design:
    """One canary: who is planted, who takes its place otherwise (None: nobody), and who is always there."""

    name: str
    canary: Person
    instead: Person | None = None
    crowd: tuple[Person, ...] = ()

    def pair(self, corpus: Corpus) -> tuple[Corpus, Corpus]:
        """The corpus without the canary, and with it: neighbours."""
        others = [] if self.instead is None else [self.instead]
        return planted(corpus, [*self.crowd, *others]), planted(corpus, [*self.crowd, self.canary])


def planted(corpus: Corpus, people: Sequence[Person]) -> Corpus:
    """The corpus with more people in it, each a new author where authors are known."""
    documents = [document for person in people for document in person.documents]
    if not documents:
        return corpus
    index = {word: number for number, word in enumerate(corpus.words)}
    rows = [sorted((index.setdefault(word, len(index)), n) for word, n in document.items()) for document in documents]
    sizes = np.array([len(row) for row in rows], np.int64)
    entries = np.array([entry for row in rows for entry in row], np.int64).reshape(-1, 2)
    more: dict[str, Any] = {}
    if corpus.author is not None and corpus.author_key is not None:
        each = [len(person.documents) for person in people]
        numbers = np.repeat(np.arange(len(people), dtype=np.int32) + corpus.author_key.size, each)
        more["author"] = np.concatenate([corpus.author, numbers.astype(np.int32)])
        more["author_key"] = np.concatenate([corpus.author_key, _new_keys(corpus.author_key, len(people))])
    if corpus.vectors is not None:
        vectors = np.zeros((len(documents), corpus.vectors.shape[1]), np.float32)
        vectors[:, 0] = _FAR
        more["vectors"] = np.concatenate([corpus.vectors, vectors])
    return replace(
        corpus,
        doc_start=np.concatenate([corpus.doc_start, corpus.doc_start[-1] + np.cumsum(sizes)]),
        word=np.concatenate([corpus.word, entries[:, 0].astype(np.int32)]),
        count=np.concatenate([corpus.count, entries[:, 1].astype(np.int32)]),
        words=list(index),
        **more,
    )


def _new_keys(known: NDArray[np.uint64], n: int) -> NDArray[np.uint64]:
    """Hashes of new authors."""
    taken = set(known.tolist())
    names = (f"canary {number}" for number in count(known.size))
    keys = (int(string_keys([name])[0]) for name in names)
    return np.array(list(islice((key for key in keys if key not in taken), n)), np.uint64)


def background(corpus: Corpus, units: int, seed: int = 0) -> Corpus:
    """Some of the units with all their documents: the guarantee holds for any data, and few units are fast."""
    order = np.random.default_rng(seed)
    if corpus.author is None or corpus.author_key is None:
        return corpus.take(np.sort(order.permutation(corpus.n_documents)[:units]))
    authors = order.permutation(corpus.author_key.size)[:units]
    return corpus.take(np.flatnonzero(np.isin(corpus.author, authors)))


def invented(corpus: Corpus, n: int) -> list[str]:
    """Words that nobody wrote, as long in n-grams as those of the corpus; without digits, which texts lose."""
    known = set(corpus.words)
    length = 1 if corpus.text is None else corpus.text.ngrams
    letters = ("".join(chr(97 + int(digit)) for digit in str(number)) for number in count())
    words = (" ".join([f"canary{name}"] * length) for name in letters)
    return list(islice((word for word in words if word not in known), n))


def public_words(mechanism: Any, corpus: Corpus) -> tuple[str, ...]:
    """The public words: of the corpus if it was read with a list, else of the mechanism."""
    if corpus.vocabulary is not None:
        return corpus.vocabulary.words
    for part in (mechanism, getattr(mechanism, "vocabulary", None)):
        words: tuple[str, ...] = getattr(part, "public_words", ())
        if words:
            return words
    return ()


def over_fewer_words(mechanism: Any, corpus: Corpus) -> Any:
    """The same mechanism over some of its public words: any public list will do, and a short one is fast."""
    part: Any = getattr(mechanism, "vocabulary", None)
    known = getattr(part, "public_words", ())
    if corpus.vocabulary is not None or len(known) <= _LISTED:
        return mechanism
    own, other = _spread(corpus, known)
    rest = known[:: max(1, len(known) // (_LISTED // 2))]
    words = Vocabulary.public(sorted({*own[: _LISTED // 4], *other[: _LISTED // 4], *rest}))
    changed = {"public_vocabulary": words} if hasattr(part, "public_vocabulary") else {"vocabulary": words}
    return replace(mechanism, vocabulary=replace(part, **changed))


def designs(mechanism: Mechanism[Any], corpus: Corpus, public: Sequence[str]) -> Iterator[Design]:
    """Canaries that may move this mechanism's sums to their bounds; the audit takes the one that moves them most."""
    relation = mechanism.guarantee.relation
    chosen: Any = mechanism
    if public:
        own, other = _spread(corpus, public)
        yield from _shapes(mechanism, own, other, relation, crowd=0)
    if not public or chosen.units_needed(1) is not None:
        # As many words as must be released for the rest to run at all.
        least = int(getattr(getattr(mechanism, "topics", mechanism), "n_topics", 1)) + _SPARE
        words, needed = invented(corpus, 2 * least), chosen.units_needed(1)
        own, other = words[::2], words[1::2]
        yield from _shapes(mechanism, own, other, relation, crowd=0 if needed is None else ceil(2 * needed))


def lone(mechanism: Mechanism[Any], corpus: Corpus) -> Design:
    """A unit with many words that nobody else wrote: more than any limit allows."""
    most = _most_words(mechanism)
    words = invented(corpus, 3 * most)
    documents = [dict.fromkeys(words, 1)]
    if mechanism.unit is Unit.AUTHOR:
        documents = [dict.fromkeys(words[i::3], 1) for i in range(3)]
    return Design("words that nobody else wrote", Person(tuple(documents)))


def _shapes(
    mechanism: Mechanism[Any], own: list[str], other: list[str], relation: Relation, crowd: int
) -> Iterator[Design]:
    """Short and long, of one word and of many, in one document and in many.

    One person who is always there writes all of these words, so none is new. Words that must pass a threshold also get
    a ``crowd`` each.
    """
    # More words than the limit: it must hold, and what remains fills it.
    most = min(2 * _most_words(mechanism), len(own), len(other))
    witness = Person((dict.fromkeys([*own[:most], *other[:most]], 1),))
    around = (witness, *(Person(({word: 1},)) for word in (*own, *other) for _ in range(crowd)))
    if relation in (Relation.REPLACE_WORD, Relation.ADD_OR_REMOVE_WORD):
        same = {word: _OFTEN // 100 for word in own[1:2]}
        canary, instead = (Person(({**same, word: 1},)) for word in (own[0], other[0]))
        yield Design("one place of one document", canary, instead, around)
        return
    shapes = [("one word, very often", 1, 1, _OFTEN), ("more words than the limit", most, 1, _OFTEN)]
    if mechanism.unit is Unit.AUTHOR:
        shapes = [
            ("many documents of one word", 1, _DOCUMENTS, _OFTEN),
            ("many documents of more words than the limit", most, _DOCUMENTS, 1),
            *shapes,
        ]
    for name, n_words, n_documents, often in shapes:
        canary, instead = (Person((dict.fromkeys(words[:n_words], often),) * n_documents) for words in (own, other))
        yield Design(name, canary, instead if relation is Relation.REPLACE else None, around)


def _most_words(mechanism: Any) -> int:
    """Distinct words that a unit may contribute, over all parts."""
    parts = [mechanism, *(getattr(mechanism, name, None) for name in ("vocabulary", "topics", "ngrams"))]
    limits = [getattr(part, "max_words", None) for part in parts]
    return max([limit for limit in limits if isinstance(limit, int)], default=50)


def _spread(corpus: Corpus, public: Sequence[str]) -> tuple[list[str], list[str]]:
    """Public words, the rarest in the corpus first, in two halves."""
    documents = np.bincount(corpus.word, minlength=len(corpus.words)).tolist()
    seen = dict(zip(corpus.words, documents, strict=True))
    # Long words are also rare in the language, and models that vote for distinctive words vote for them.
    words = sorted(public, key=lambda word: (seen.get(word, 0), -len(word), word))
    if len(words) < 2:
        raise InputError("an audit needs at least two public words to make canaries of.")
    return words[::2], words[1::2]
