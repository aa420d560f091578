"""Release: a value that may be published, with its guarantee and the public settings that made it."""

from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from numpy.random import Generator

from dptopics.errors import InputError
from dptopics.guarantee import Guarantee, Strength
from dptopics.noise import is_secure

if TYPE_CHECKING:
    from dptopics.mechanism import Mechanism

T = TypeVar("T")


@dataclass(frozen=True)
class Vocabulary:
    """Public words in sorted order: their order says nothing. ``weights`` are noisy author weights, if released.

    >>> Vocabulary.of(["pain", "knee"]).index
    {'knee': 0, 'pain': 1}
    """

    words: tuple[str, ...]
    weights: tuple[float, ...] | None = None

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

        They are published as they are, without noise. The words of a ``CountVectorizer`` that was fitted on the data,
        or a column of it, are private: use a vocabulary that is chosen privately instead, such as "weighted".

        >>> Vocabulary.public(["knee", "glasses"]).words
        ('glasses', 'knee')
        """
        if isinstance(words, str):
            raise InputError("public words must be a list of strings, got a single string.")
        listed = list(words)
        if wrong := [type(word).__name__ for word in listed if not isinstance(word, str)]:
            raise InputError(f"public words must be strings, got {wrong[0]}.")
        return cls.of(listed)

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


def check_stated(words: object) -> None:
    """Refuse words that nobody said are public: a list, an array or a column may come from the private texts."""
    if words is not None and not isinstance(words, Vocabulary):
        raise InputError(
            f"public words must be stated as such, got {type(words).__name__}. If these words were public before, "
            "write Vocabulary.public(words). Words that were taken from the texts are private: let them be chosen "
            "privately, for example by vocabulary='weighted'."
        )


@dataclass(frozen=True, kw_only=True)
class Release(Generic[T]):
    """What leaves the house. Holds nothing private but what the mechanism's noise has covered."""

    value: T
    guarantee: Guarantee
    settings: dict[str, Any]

    @classmethod
    def of(cls, value: T, mechanism: "Mechanism[T]", rng: Generator) -> Self:
        """The release of a mechanism that drew its noise from ``rng``: a seeded generator voids the guarantee."""
        guarantee = mechanism.guarantee
        if not is_secure(rng):
            guarantee = guarantee.weakened(
                Strength.NONE,
                "Seeded: whoever knows or guesses the seed can subtract the noise. Not private.",
            )
        return cls(value=value, guarantee=guarantee, settings=describe(mechanism))


def describe(mechanism: object) -> dict[str, Any]:
    """Name and public fields of a mechanism, as plain data."""
    if not is_dataclass(mechanism):
        return {"mechanism": type(mechanism).__name__}
    described: dict[str, Any] = {"mechanism": getattr(mechanism, "name", type(mechanism).__name__)}
    for field in fields(mechanism):
        if not field.repr:
            continue  # long public values, such as a word list
        value = getattr(mechanism, field.name)
        described[field.name] = describe(value) if is_dataclass(value) else _plain(value)
    return described


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float) else str(value)
