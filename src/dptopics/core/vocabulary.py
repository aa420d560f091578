"""Vocabulary: public words in sorted order."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Self

from numpy.typing import NDArray

from dptopics.core.errors import InputError
from dptopics.core.files import Arrays


@dataclass(frozen=True)
class Vocabulary:
    """Public words in sorted order, which reveals nothing. ``weights`` are noisy author weights, if released.

    >>> Vocabulary.of(["pain", "knee"]).index
    {'knee': 0, 'pain': 1}
    """

    words: tuple[str, ...]
    weights: tuple[float, ...] | None = None
    listed: frozenset[str] = frozenset()  # those of a public list, not chosen from data
    kind: ClassVar[str] = "vocabulary"
    many: ClassVar[str] = "words"

    def __post_init__(self) -> None:
        if any(a >= b for a, b in pairwise(self.words)):
            raise InputError("the words of a vocabulary must be sorted and distinct. Use Vocabulary.of(words).")

    @classmethod
    def of(cls, words: Iterable[str]) -> Self:
        """From words in any order; repeats are dropped."""
        return cls(tuple(sorted(set(words))))

    @classmethod
    def public(cls, words: Iterable[str]) -> Self:
        """Your statement that these words were public before, and were not taken from the private texts.

        They are published without noise. The words of a ``CountVectorizer`` fitted on the data are private: let
        the vocabulary be chosen privately instead, for example by "weighted".
        """
        if isinstance(words, str):
            raise InputError("public words must be a list of strings, got a single string.")
        listed = list(words)
        if wrong := [type(word).__name__ for word in listed if not isinstance(word, str)]:
            raise InputError(f"public words must be strings, got {wrong[0]}.")
        return cls(tuple(sorted(set(listed))), listed=frozenset(listed))

    @cached_property
    def index(self) -> dict[str, int]:
        """Row of each word."""
        return {word: row for row, word in enumerate(self.words)}

    def heaviest(self, n: int) -> list[str]:
        """The n words of the highest noisy weight; without weights, the first n."""
        weights = self.weights or (0.0,) * len(self.words)
        return [word for _, word in sorted(zip(weights, self.words, strict=True), key=lambda p: (-p[0], p[1]))[:n]]

    def __len__(self) -> int:
        return len(self.words)

    @property
    def vocabulary(self) -> Self:
        """Itself; every released value has its words here."""
        return self

    def arrays(self) -> dict[str, NDArray[Any]]:
        """None: every bundle stores the weights with the words."""
        return {}

    def fields(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    @classmethod
    def restored(cls, vocabulary: "Vocabulary", arrays: Arrays, fields: Mapping[str, Any]) -> Self:
        """The words themselves."""
        return cls(vocabulary.words, vocabulary.weights, vocabulary.listed)

    def tables(self) -> dict[str, str]:
        """None: the words have their own file."""
        return {}

    def summary(self) -> list[str]:
        """Nothing to add."""
        return []

    def summary_json(self, n: int) -> dict[str, Any]:
        """All words."""
        return {"words": list(self.words)}


def check_stated(words: object) -> None:
    """Refuse words that nobody declared public: a list or a column may come from the private texts."""
    if words is not None and not isinstance(words, Vocabulary):
        raise InputError(
            f"public words must be declared, got {type(words).__name__}. If these words were public before, write "
            "Vocabulary.public(words). Words taken from the texts are private: let them be chosen privately, for "
            "example by vocabulary='weighted'."
        )
