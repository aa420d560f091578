"""Worst-case canaries: invented people who fill every bound of a plan, and the crowds around them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, islice
from math import ceil
from secrets import token_hex
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics.core.errors import InputError
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.bounded import string_keys
from dptopics.data.corpus import Corpus
from dptopics.mechanisms.mechanism import Mechanism
from dptopics.privacy.events import Relation
from dptopics.privacy.guarantee import Unit

_OFTEN = 5000  # repetitions of a word by a canary: beyond every bound on counts
_DOCUMENTS = (30, 300, 70_000)  # of an author: beyond what one document could do, and beyond 8 and 16 bits
_CROWD, _COPIES = 10_000, 50  # people who write other words, so many the same
_MOST = 2**31 - 1  # repetitions of a word that can be counted
_SPARE = 3  # words more than topics: fewer make no vocabulary
_LISTED = 1000  # public words used in most of an audit
# Vectors of a canary's documents, their first number and the others: beyond every norm, or next to nothing.
_VECTORS = {
    "far": (1e3, 0.0),
    "huge": (3.4e38, -3.4e38),
    "tiny": (1e-45, 1e-45),
    "zero": (0.0, 0.0),
    "mixed": (3e38, 1e-45),
}

Document = Mapping[str, int]


@dataclass(frozen=True)
class Person:
    """An invented unit: what each of its documents says, as counts of words, and the kind of their vectors."""

    documents: tuple[Document, ...]
    vectors: str = "far"
    name: str = field(default_factory=lambda: token_hex(16))  # that nobody could foresee


@dataclass(frozen=True)
class Design:
    """One canary: who is planted, who takes its place otherwise (None: nobody), and who is always there."""

    name: str
    canary: Person
    instead: Person | None = None
    crowd: tuple[Person, ...] = ()
    stranger: bool = False  # at random

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
    sizes, entries = _numbered(documents, index)
    more: dict[str, Any] = {}
    if corpus.author is not None and corpus.author_key is not None:
        each = [len(person.documents) for person in people]
        numbers = np.repeat(np.arange(len(people), dtype=np.int32) + corpus.author_key.size, each)
        more["author"] = np.concatenate([corpus.author, numbers.astype(np.int32)])
        more["author_key"] = np.concatenate([corpus.author_key, string_keys(person.name for person in people)])
    if corpus.vectors is not None:
        more["vectors"] = np.concatenate([corpus.vectors, _vectors(people, corpus.vectors.shape[1])])
    return replace(
        corpus,
        doc_start=np.concatenate([corpus.doc_start, corpus.doc_start[-1] + np.cumsum(sizes)]),
        word=np.concatenate([corpus.word, entries[:, 0].astype(np.int32)]),
        count=np.concatenate([corpus.count, entries[:, 1].astype(np.int32)]),
        words=list(index),
        **more,
    )


def _numbered(documents: Sequence[Document], index: dict[str, int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many words each has, and their numbers and counts; new words are added to the index."""
    said = {id(one): one for one in documents}  # most are the same as others
    known = {key: sorted((index.setdefault(w, len(index)), n) for w, n in one.items()) for key, one in said.items()}
    rows = [known[id(one)] for one in documents]
    entries = np.array([entry for row in rows for entry in row], np.int64).reshape(-1, 2)
    return np.array([len(row) for row in rows], np.int64), entries


def _vectors(people: Sequence[Person], width: int) -> NDArray[np.float32]:
    first, others = np.array([_VECTORS[person.vectors] for person in people for _ in person.documents]).T
    vectors = np.repeat(others[:, None], width, axis=1)
    vectors[:, 0] = first
    return vectors.astype(np.float32)


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


def over_fewer_words(mechanism: Any, corpus: Corpus, most: int = _LISTED) -> Any:
    """The same mechanism over some of its public words: any public list will do, and a short one is fast."""
    part: Any = getattr(mechanism, "vocabulary", None)
    known = getattr(part, "public_words", ())
    if corpus.vocabulary is not None or len(known) <= most:
        return mechanism
    own, other = _spread(corpus, known)
    rest = known[:: max(1, len(known) // (most // 2))]
    words = Vocabulary.public(sorted({*own[: most // 4], *other[: most // 4], *rest}))
    changed = {"public_vocabulary": words} if hasattr(part, "public_vocabulary") else {"vocabulary": words}
    return replace(mechanism, vocabulary=replace(part, **changed))


def designs(
    mechanism: Mechanism[Any], corpus: Corpus, public: Sequence[str], most: tuple[int, int] = (0, 30)
) -> Iterator[Design]:
    """Canaries that may move this mechanism's sums to their bounds; ``most``: at random, and documents of one."""
    relation = mechanism.guarantee.relation
    chosen: Any = mechanism
    needed: float | None = chosen.units_needed(1)
    # Where words are private, one person who is always there writes all of the canary's: none is new.
    if public:
        own, other = _spread(corpus, public)
        around: tuple[Person, ...] = () if needed is None else (Person((dict.fromkeys(public, 1),)),)
        yield from _shapes(mechanism, own, other, relation, around, most)
    if not public or needed is not None:
        # As many words as must be released for the rest to run at all, and a crowd that lets them pass a threshold.
        least = int(getattr(getattr(mechanism, "topics", mechanism), "n_topics", 1)) + _SPARE
        words = invented(corpus, 2 * least)
        crowd = [{word: 1} for word in words for _ in range(0 if needed is None else ceil(2 * needed))]
        around = tuple(Person((one,)) for one in [dict.fromkeys(words, 1), *crowd])
        yield from _shapes(mechanism, words[::2], words[1::2], relation, around, most)


def elsewhere(corpus: Corpus, public: Sequence[str]) -> dict[str, Corpus]:
    """Other words than anybody's in the corpus, rare public and invented: of a crowd, and one or three of a unit."""
    nobody = corpus.take(np.zeros(0, np.int64))
    listed = corpus.vocabulary is not None
    words = [*_spread(corpus, public)[1][:8]] if public else []
    words += [] if listed else invented(corpus, 8)
    found = {f"{n} words": planted(nobody, [Person((dict.fromkeys(words[:n], 1),))]) for n in (1, 3)}
    said = [{words[j % len(words)]: 1 + i % 5 for j in range(i, i + 1 + i % 7)} for i in range(_CROWD // _COPIES)]
    few = planted(nobody, [Person((document,) * (1 + i % 3)) for i, document in enumerate(said)])
    copy, document = np.divmod(np.arange(_COPIES * few.n_documents), few.n_documents)
    crowd = few.take(document)
    if few.author is None or few.author_key is None:
        return found | {"other words": crowd}
    first = few.author_key.size
    keys = string_keys(f"{i}" for i in range(_COPIES * first))
    crowd = replace(crowd, author=(crowd.author + copy * first).astype(np.int32), author_key=keys)
    return found | {"other words": crowd}


def lone(mechanism: Mechanism[Any], corpus: Corpus) -> Design:
    """A unit with many words that nobody else wrote: more than any limit allows."""
    most = _most_words(mechanism)
    words = invented(corpus, 3 * most)
    documents = [dict.fromkeys(words, 1)]
    if mechanism.unit is Unit.AUTHOR:
        documents = [dict.fromkeys(words[i::3], 1) for i in range(3)]
    return Design("words that nobody else wrote", Person(tuple(documents)))


def _shapes(
    mechanism: Mechanism[Any],
    own: list[str],
    other: list[str],
    relation: Relation,
    around: tuple[Person, ...],
    limits: tuple[int, int],
) -> Iterator[Design]:
    """Short and long, of one word and of many, in one document and in many; then strangers."""
    # More words than the limit: it must hold, and what remains fills it.
    most = min(2 * _most_words(mechanism), len(own), len(other))
    if relation in (Relation.REPLACE_WORD, Relation.ADD_OR_REMOVE_WORD):
        same = {word: _OFTEN // 100 for word in own[1:2]}
        canary, instead = (Person(({**same, word: 1},)) for word in (own[0], other[0]))
        yield Design("one place of one document", canary, instead, around)
        return
    shapes = [("one word, very often", 1, 1, _OFTEN), ("more words than the limit", most, 1, _OFTEN)]
    if mechanism.unit is Unit.AUTHOR:
        few, *many = _DOCUMENTS
        shapes = [
            (f"{few} documents of one word", 1, few, _OFTEN),
            (f"{few} documents of more words than the limit", most, few, 1),
            *shapes,
            *((f"{n:,} documents of one word", 1, n, 1) for n in many if n <= limits[1]),
        ]
    for name, n_words, n_documents, often in shapes:
        canary, instead = (Person((dict.fromkeys(words[:n_words], often),) * n_documents) for words in (own, other))
        yield Design(name, canary, instead if relation is Relation.REPLACE else None, around)
    rng = np.random.default_rng()
    for number in range(limits[0]):
        canary, instead, *odd = (_stranger(rng, [*own[:most], *other[:most]], mechanism.unit) for _ in range(5))
        others = (*around, *odd[: int(rng.integers(4))])
        other_one = instead if relation is Relation.REPLACE else None
        yield Design(f"a stranger ({number + 1})", canary, other_one, others, stranger=True)


def _stranger(rng: Generator, words: list[str], unit: Unit) -> Person:
    """Somebody made to move sums: long, short or empty documents, one or hundreds of them, equal or not."""
    n = 1 if unit is Unit.DOCUMENT else int(rng.choice([1, 2, 5, 40, 300], p=[0.4, 0.2, 0.2, 0.1, 0.1]))

    def document() -> Document:
        some = rng.permutation(words)[: int(rng.choice([0, 1, 1, 2, 3, 16, len(words)]))].tolist()
        kind = rng.integers(4)
        if kind == 0:
            return {word: int(rng.choice([1, 3, _OFTEN, _MOST])) for word in some}
        if kind == 1:  # nearly one word
            return {word: 2**30 if place == 0 else 1 for place, word in enumerate(some)}
        if kind == 2:
            return {word: 2 ** min(place, 30) for place, word in enumerate(some)}
        return dict.fromkeys(some, int(rng.choice([1, 1000, _MOST])))

    documents = (document(),) * n if rng.random() < 0.4 else tuple(document() for _ in range(n))
    return Person(documents, str(rng.choice(list(_VECTORS))))


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
