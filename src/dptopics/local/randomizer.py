"""The client side of LP-LDA (Zhao et al. 2019): one document becomes one vector of randomly flipped bits."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, exp, inf, log
from typing import ClassVar, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics.core.errors import InputError
from dptopics.core.vocabulary import Vocabulary
from dptopics.mechanisms.mechanism import Job, Registered
from dptopics.privacy.card import show
from dptopics.privacy.events import RandomizedResponse, Relation
from dptopics.privacy.guarantee import Guarantee, Strength, Trust, Unit

NOISES = ("randomised response",)
ASSUMPTIONS = (
    "The guarantee covers one report for each collection. A second report of the same person adds its ε.",
    "That somebody sent a report is not hidden, only what their document says.",
    "The word list and the settings were public beforehand; the client drew its bits from a cryptographic generator.",
)


@dataclass(frozen=True, kw_only=True)
class BitFlips(Registered):
    """Send one bit for each public word, whether it is in the document; each is replaced by a coin with probability f.

    ε of one bit is ln((1 − f/2)/(f/2)). ``per`` says what the headline is about. Per document, a random choice of
    ``max_words`` words is kept of a longer one: two documents differ in at most min(2·max_words, V) bits, and ε is that
    many times as much. Per word nothing is left out, so that one word more changes one bit only. Proof:
    docs/guarantees/local.md

    >>> flips = BitFlips(vocabulary=Vocabulary.of(["knee", "pain", "skin"]), f=0.5, max_words=1)
    >>> round(flips.guarantee.epsilon, 4)  # two bits of ln 3
    2.1972
    """

    vocabulary: Vocabulary = field(repr=False)
    f: float
    max_words: int
    per: str = "document"
    delta: float = 0.0
    job: ClassVar[Job] = Job.LOCAL
    name: ClassVar[str] = "bits"
    paper: ClassVar[str] = "Zhao et al. 2019 (LP-LDA)"
    noises: ClassVar[tuple[str, ...]] = NOISES

    @classmethod
    def example(cls) -> Self:
        """One of them, for tables."""
        return cls(vocabulary=Vocabulary(("word",)), f=0.5, max_words=1)

    def __post_init__(self) -> None:
        if not 0 < self.f <= 1:
            raise InputError(f"f, the chance that a bit is replaced by a coin, must lie in (0, 1], got {self.f}.")
        if self.max_words < 1:
            raise InputError(f"max_words must be at least 1, got {self.max_words}.")
        if self.per not in ("document", "word"):
            raise InputError(f"per must be 'document' or 'word', got {self.per!r}.")
        check_common(self.vocabulary, self.delta)

    @classmethod
    def calibrated(
        cls, *, vocabulary: Vocabulary, epsilon: float, max_words: int, per: str = "document", delta: float = 0.0
    ) -> Self:
        """The least f whose ε, at the unit ``per``, is at most ``epsilon``."""
        if not 0 < epsilon < inf:
            raise InputError(f"epsilon must be a positive number, got {epsilon}.")
        flips = cls(vocabulary=vocabulary, f=1.0, max_words=max_words, per=per, delta=delta)
        bits = 1 if per == "word" else flips.most_different_bits
        low, high = 0.0, min(1.0, 2 / (1 + exp(epsilon / bits)) * (1 + 1e-12))  # enough at δ = 0, rounded up
        while high - low > 1e-12 * high:
            middle = (low + high) / 2
            fits = replace(flips, f=middle).guarantee.epsilon <= epsilon
            low, high = (low, middle) if fits else (middle, high)
        return replace(flips, f=high)

    def rescaled(self, factor: float) -> Self:
        """The same with f times ``factor``."""
        return replace(self, f=min(1.0, self.f * factor))

    @property
    def flip(self) -> float:
        """Probability that a bit is sent wrong."""
        return self.f / 2

    @property
    def most_different_bits(self) -> int:
        """In how many bits two documents of at most ``max_words`` words can differ (per document, any two)."""
        return min(2 * self.max_words, len(self.vocabulary))

    @property
    def flip_below(self) -> int:
        """A bit is flipped if 64 random bits are a number below this (f/2, rounded up to a multiple of 2⁻⁶⁴)."""
        return ceil(Fraction(self.f) / 2 * 2**64)

    @property
    def whole_epsilon(self) -> float:
        """ε at δ = 0 of any two documents; per word, all bits may differ."""
        bits = len(self.vocabulary) if self.per == "word" else self.most_different_bits
        return bits * RandomizedResponse(self.flip).epsilon

    @property
    def word_epsilon(self) -> float:
        """ε at δ = 0 of one certain word, there or not.

        Per document, a word more in a document of B = ``max_words`` pushes out one of the others, so that two bits
        change with probability B/(B + 1): ln((1 + B·r²)/(B + 1)), r = (1 − f/2)/(f/2). No documents come closer to
        telling.
        """
        one = RandomizedResponse(self.flip).epsilon
        if self.per == "word" or self.max_words >= len(self.vocabulary):
            return one
        return 2 * one + log((exp(-2 * one) + self.max_words) / (self.max_words + 1))

    @property
    def n_bytes(self) -> int:
        """One bit for each word, padded to whole bytes."""
        return -(-len(self.vocabulary) // 8)

    def valid(self, data: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Which rows of reports × bytes could be reports: bits after the last word are zero."""
        unused = np.uint8((1 << (8 * self.n_bytes - len(self.vocabulary))) - 1)
        return np.asarray(data[:, -1] & unused == 0)

    @property
    def guarantee(self) -> Guarantee:
        """Priced from the f that flips the bits, at the unit chosen; the other unit is named beside it."""
        if self.per == "word":
            return self._promise(1, Relation.ADD_OR_REMOVE_WORD, self._beside_a_word())
        return self._promise(self.most_different_bits, Relation.REPLACE, self._beside_a_document())

    def _promise(self, bits: int, relation: Relation, *more: str) -> Guarantee:
        return Guarantee(
            events=(RandomizedResponse(self.flip, count=bits, relation=relation),),
            delta=self.delta,
            unit=Unit.DOCUMENT,
            strength=Strength.PROVED,
            trust=Trust.LOCAL,
            assumptions=(*more, *ASSUMPTIONS),
        )

    def _beside_a_word(self) -> str:
        def whole(bits: int) -> str:
            return show(self._promise(bits, Relation.REPLACE).epsilon)

        return (
            f"For a whole document of at most {self.max_words} distinct words: ε = {whole(self.most_different_bits)}; "
            f"of any length: ε = {whole(len(self.vocabulary))}."
        )

    def _beside_a_document(self) -> str:
        return (
            f"Documents count with at most {self.max_words} distinct words, so two differ in at most "
            f"{self.most_different_bits} bits. For one certain word, there or not: "
            f"ε = {show(self.word_epsilon)}, δ = 0."
        )

    def __call__(self, document: Iterable[str], rng: Generator) -> bytes:
        """One report. An empty document is as good as any: its report is a draw like the others."""
        present = np.zeros(len(self.vocabulary), bool)
        index = self.vocabulary.index
        words = np.array(sorted({index[w] for w in document if w in index}), np.int64)
        if self.per == "document" and words.size > self.max_words:
            lots = rng.integers(0, 2**64 - 1, words.size, dtype=np.uint64, endpoint=True)
            words = words[np.argsort(lots, kind="stable")[: self.max_words]]
        present[words] = True
        return np.packbits(self.randomize(present, rng)).tobytes()

    def randomize(self, bits: NDArray[np.bool_], rng: Generator) -> NDArray[np.bool_]:
        """Flip each bit with probability f/2, rounded up: never less noise than is charged."""
        lots = rng.integers(0, 2**64 - 1, bits.shape, dtype=np.uint64, endpoint=True)
        return bits ^ (lots < np.uint64(self.flip_below))


def check_common(vocabulary: Vocabulary, delta: float) -> None:
    """Settings that every randomizer has."""
    if not len(vocabulary):
        raise InputError("the vocabulary is empty. Give at least one public word.")
    if not 0 <= delta < 1:
        raise InputError(f"delta must lie in [0, 1), got {delta}. Reports need none: leave it at 0.")
