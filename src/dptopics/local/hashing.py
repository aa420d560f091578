"""All of ε on one or three words: optimised local hashing (Wang et al. 2017), client and server side."""

import os
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from math import exp, inf, sqrt
from typing import ClassVar, Self, TypeVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics.core.errors import InputError
from dptopics.core.vocabulary import Vocabulary
from dptopics.kernels.local_hash import buckets, support
from dptopics.local.randomizer import ASSUMPTIONS, NOISES, check_common
from dptopics.mechanisms.mechanism import Job, Registered
from dptopics.privacy.events import RandomizedResponse, Relation
from dptopics.privacy.guarantee import Guarantee, Strength, Trust, Unit

_MOST_BUCKETS = 2**31
_PARTS = 64  # of the answers, for threads
T = TypeVar("T")
ANSWER = np.dtype([("seed", "<u8"), ("bucket", "<u4")])  # one hashed answer as it is sent


def in_threads(count: Callable[[NDArray[np.void]], T], answers: NDArray[np.void]) -> list[T]:
    """``count`` of each part of the answers, in order. The parts do not depend on the machine."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # kernels let go of the interpreter's lock
        return list(pool.map(count, np.array_split(answers, max(1, min(_PARTS, answers.size // 1000)))))


@dataclass(frozen=True)
class LocalHash:
    """Hash a value into g ≈ e^ε + 1 buckets by a public seed of the report's own, and send a randomised bucket.

    The true bucket is kept with probability e^ε/(e^ε + g − 1); g = e^ε + 1 has the least variance (Wang et al. 2017).
    """

    epsilon: float

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < inf:
            raise InputError(f"epsilon must be a positive number, got {self.epsilon}.")
        if self.epsilon > 20:
            raise InputError(f"epsilon of one hashed word must be at most 20, got {self.epsilon}: that hides nothing.")

    @property
    def n_buckets(self) -> int:
        return min(_MOST_BUCKETS, max(2, round(exp(self.epsilon)) + 1))

    @property
    def keep(self) -> float:
        """Probability that the true bucket is sent."""
        return exp(self.epsilon) / (exp(self.epsilon) + self.n_buckets - 1)

    @property
    def keep_below(self) -> int:
        """The true bucket is sent if 64 random bits are a number below this (rounded down, towards more noise)."""
        return int(self.keep * 2.0**64)

    @property
    def event(self) -> RandomizedResponse:
        """What one answer costs, whatever the value."""
        lie = 1 / (exp(self.epsilon) + self.n_buckets - 1)
        return RandomizedResponse(lie, self.n_buckets, relation=Relation.REPLACE)

    @property
    def unit_noise_std(self) -> float:
        """Deviation that one report adds to the estimated count of a rare value."""
        g = self.n_buckets
        return sqrt(1 / g * (1 - 1 / g)) / (self.keep - 1 / g)

    def send(self, values: NDArray[np.int64], rng: Generator) -> NDArray[np.void]:
        """A randomised answer for each value, with a fresh seed each."""
        answer = np.empty(values.size, ANSWER)
        answer["seed"] = rng.integers(0, 2**64 - 1, values.size, dtype=np.uint64, endpoint=True)
        true = buckets(answer["seed"], values, self.n_buckets)
        lots = rng.integers(0, 2**64 - 1, values.size, dtype=np.uint64, endpoint=True)
        other = rng.integers(0, self.n_buckets - 1, values.size)
        other += other >= true  # one of the g − 1 others, all alike
        answer["bucket"] = np.where(lots < np.uint64(self.keep_below), true, other)
        return answer

    def supported(self, answers: NDArray[np.void], n_values: int) -> NDArray[np.int64]:
        """How many of the answers fall into the bucket of each value: of a value nobody holds, one in g on average."""

        def count(some: NDArray[np.void]) -> NDArray[np.int64]:
            return support(some["seed"], some["bucket"], self.n_buckets, n_values)

        # Whole numbers: any order gives the same.
        return np.asarray(np.sum(in_threads(count, answers), axis=0))

    def estimate(self, answers: NDArray[np.void], n_values: int) -> NDArray[np.float64]:
        """Unbiased estimate of how many of the answers' senders hold each value."""
        return self.unbiased(self.supported(answers, n_values), answers.size)

    def unbiased(self, total: NDArray[np.int64], n_answers: int) -> NDArray[np.float64]:
        """The same from how many of the answers fall into the bucket of each value."""
        return np.asarray((total - n_answers / self.n_buckets) / (self.keep - 1 / self.n_buckets))


@dataclass(frozen=True, kw_only=True)
class _Hashed(Registered):
    """What those share that send hashed words: ε is a field, and says how much noise there is."""

    vocabulary: Vocabulary = field(repr=False)
    epsilon: float
    delta: float = 0.0
    job: ClassVar[Job] = Job.LOCAL
    noises: ClassVar[tuple[str, ...]] = NOISES

    def __post_init__(self) -> None:
        check_common(self.vocabulary, self.delta)
        _ = self.hash  # refuses an impossible ε

    @property
    @abstractmethod
    def hash(self) -> LocalHash:
        """How one word is hashed and randomised."""

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What one report promises."""

    @property
    def whole_epsilon(self) -> float:
        """ε at δ = 0 of any two documents."""
        return self.guarantee.epsilon_at(0.0)

    def valid(self, data: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Which rows of reports × bytes could be reports: their buckets exist."""
        return np.asarray(np.all(np.ascontiguousarray(data).view(ANSWER)["bucket"] < self.hash.n_buckets, axis=1))

    def rescaled(self, factor: float) -> Self:
        """The same with ε divided by ``factor``."""
        return replace(self, epsilon=self.epsilon / factor)


@dataclass(frozen=True, kw_only=True)
class HashedPair(_Hashed):
    """Send one (topic, word) pair: the document's public topic and one of its words, by optimised local hashing.

    Topics are public lists of words; a document belongs to the list that most of its words are on. One word is drawn
    at random from those that the document repeats, if there are any, else from all: repeated words tell what it is
    about. All of ε goes into the one pair, so it holds for the whole document, however long.
    Proof: docs/guarantees/local.md

    >>> words = Vocabulary.of(["knee", "rash", "skin"])
    >>> pair = HashedPair(vocabulary=words, topics=(("knee",), ("skin",)), epsilon=4.0)
    >>> round(pair.guarantee.epsilon, 9), pair.topic_of(["rash", "skin"])
    (4.0, 1)
    """

    topics: tuple[tuple[str, ...], ...] = field(repr=False)
    name: ClassVar[str] = "pair"
    paper: ClassVar[str] = "ours; hashing by Wang et al. 2017"

    @classmethod
    def example(cls) -> Self:
        """One of them, for tables."""
        return cls(vocabulary=Vocabulary(("word",)), topics=(("word",),), epsilon=1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.topics or not all(self.topics):
            raise InputError("every public topic needs at least one word. Give one line of words for each topic.")

    @property
    def hash(self) -> LocalHash:
        """All of ε in one answer."""
        return LocalHash(self.epsilon)

    @property
    def n_values(self) -> int:
        """Every pair, and one value for a document without words."""
        return len(self.topics) * len(self.vocabulary) + 1

    @property
    def n_bytes(self) -> int:
        """One answer."""
        return ANSWER.itemsize

    @property
    def guarantee(self) -> Guarantee:
        """One randomised answer, whatever the document."""
        return _promise(self.hash.event, self.delta)

    def topic_of(self, document: Iterable[str]) -> int:
        """The list with most of the document's words; the first of equals. Uses the document and public lists only."""
        words = list(document)
        lists = [frozenset(topic) for topic in self.topics]
        return int(np.argmax([sum(word in listed for word in words) for listed in lists]))

    def __call__(self, document: Iterable[str], rng: Generator) -> bytes:
        """One report."""
        words = list(document)
        known = [self.vocabulary.index[w] for w in words if w in self.vocabulary.index]
        value = self.n_values - 1
        if known:
            times = Counter(known)
            known = [w for w in known if times[w] > 1] or known
            word = known[int(rng.integers(0, len(known)))]
            value = self.topic_of(words) * len(self.vocabulary) + word
        return self.hash.send(np.array([value], np.int64), rng).tobytes()

    def supported(self, answers: NDArray[np.void]) -> NDArray[np.int64]:
        """How many answers speak for each pair, topics × words."""
        counts = self.hash.supported(answers, self.n_values)[:-1]
        return counts.reshape(len(self.topics), len(self.vocabulary))

    def table(self, answers: NDArray[np.void]) -> NDArray[np.float64]:
        """Unbiased estimate of the topics × words table of drawn words."""
        return self.hash.unbiased(self.supported(answers), answers.size)


@dataclass(frozen=True, kw_only=True)
class ThreeWords(_Hashed):
    """Send three words of the document, each hashed at ε/3: enough, with many reports, to find topics nobody listed.

    Three places of the document are drawn without replacement; a shorter document sends "no word" for the rest.
    Proof: docs/guarantees/local.md

    >>> three = ThreeWords(vocabulary=Vocabulary.of(["knee", "skin"]), epsilon=6.0)
    >>> round(three.guarantee.epsilon, 9), len(three(["knee"], np.random.default_rng(0)))
    (6.0, 36)
    """

    name: ClassVar[str] = "three-words"
    paper: ClassVar[str] = "ours; hashing by Wang et al. 2017"

    @classmethod
    def example(cls) -> Self:
        """One of them, for tables."""
        return cls(vocabulary=Vocabulary(("word",)), epsilon=1.0)

    @property
    def hash(self) -> LocalHash:
        """A third of ε in each answer."""
        return LocalHash(self.epsilon / 3)

    @property
    def n_values(self) -> int:
        """Every word, and one value for "no word"."""
        return len(self.vocabulary) + 1

    @property
    def n_bytes(self) -> int:
        """Three answers."""
        return 3 * ANSWER.itemsize

    @property
    def guarantee(self) -> Guarantee:
        """Three randomised answers, all of which may differ between two documents."""
        return _promise(replace(self.hash.event, count=3), self.delta)

    def __call__(self, document: Iterable[str], rng: Generator) -> bytes:
        """One report."""
        known = np.array([self.vocabulary.index[w] for w in document if w in self.vocabulary.index], np.int64)
        lots = rng.integers(0, 2**64 - 1, known.size, dtype=np.uint64, endpoint=True)
        drawn = known[np.argsort(lots, kind="stable")[:3]]
        values = np.full(3, self.n_values - 1, np.int64)
        values[: drawn.size] = drawn
        return self.hash.send(values, rng).tobytes()


def _promise(event: RandomizedResponse, delta: float) -> Guarantee:
    return Guarantee(
        events=(event,),
        delta=delta,
        unit=Unit.DOCUMENT,
        strength=Strength.PROVED,
        trust=Trust.LOCAL,
        assumptions=ASSUMPTIONS,
    )
