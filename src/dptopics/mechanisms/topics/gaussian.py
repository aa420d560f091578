"""What the proved topic mechanisms share: one multiplier for all their noise, and the form of their promise."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import log_ndtr

from dptopics.core import progress
from dptopics.core.errors import InputError
from dptopics.core.settings import check_fields, whole
from dptopics.core.text import TextSettings
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.bounded import Block, BoundedCorpus, Place, Placed, UnitRows
from dptopics.mechanisms.mechanism import Calibrated, Job, check_words
from dptopics.mechanisms.queries import noisy_sum
from dptopics.privacy.card import SMALL_GROUPS
from dptopics.privacy.events import Event, Gaussian
from dptopics.privacy.guarantee import PUBLIC_WORDS, Guarantee, Strength, Unit
from dptopics.release.topic_model import TopicModel
from dptopics.release.topic_sizes import TopicSizes


@dataclass(frozen=True)
class _Assigned:
    """The share of a unit's documents in each topic; the last row is for documents that have none."""

    model: TopicModel
    known: bool = False  # their places
    width: ClassVar[int] = 1

    @property
    def height(self) -> int:
        """A row for each topic, and one for none."""
        return self.model.n_topics + 1

    def __call__(self, block: Block) -> UnitRows:
        """Shares that add up to one: L1 norm one, so L2 norm at most one."""
        if self.known:
            assert self.model.space is not None
            assert block.vectors is not None
            topic = self.model.space.nearest(block.vectors)
        else:
            topic = self.model.placed(block.doc_start, block.word, block.counts, block.vectors)
        return UnitRows(block.unit_start, topic.astype(np.int32), even_shares(block)[:, None])


def even_shares(block: Block) -> NDArray[np.float64]:
    """For each document one over the number of its unit's: they add up to one."""
    documents = np.diff(block.unit_start)
    return np.repeat(1 / np.maximum(documents, 1), documents)


def sized(
    model: TopicModel, corpus: BoundedCorpus, *, sigma: float, rng: Generator, place: Place | None = None
) -> TopicModel:
    """The topics with their noisy sizes, the largest first by what was known before. ``place``: as the topics place.

    No topic is dropped after the count, and none is numbered by it: the one that is counted largest is so by its noise
    too, and its interval would not hold.
    """
    model = model.reordered(np.argsort(-model.topic_share, kind="stable"))
    with progress.part(0.97, 1.0):
        statistic = _Assigned(model) if place is None else Placed(_Assigned(model, known=True), place)
        noisy = noisy_sum(corpus, statistic, bound=1.0, sigma=sigma, rng=rng)[:, 0]
    sizes = TopicSizes(noisy=noisy, noise=np.full(noisy.size, sigma), unit=str(corpus.bounds.unit))
    return replace(model, sizes=sizes, topic_share=sizes.weights)


@dataclass(frozen=True, kw_only=True)
class GaussianTopics(Calibrated):
    """Topics from noisy sums over public words; ``sigma`` scales all noise. Proofs: docs/guarantees/README.md

    In the end the units of each topic are counted for ``size_share`` of the budget (in 1/σ²); zero: they are not.
    """

    n_topics: int
    sigma: float
    delta: float
    unit: Unit = Unit.AUTHOR
    size_share: float = 0.05
    job: ClassVar[Job] = Job.TOPICS
    name: ClassVar[str]
    paper: ClassVar[str]

    def __post_init__(self) -> None:
        check_fields(self)
        whole("n_topics", self.n_topics, least=2)
        if "steps" in self.__dataclass_fields__:
            whole("steps", getattr(self, "steps", None), least=1)
        if not 0 <= self.size_share < 1:
            raise InputError(f"size_share must be at least 0 and below 1, got {self.size_share}.")

    @property
    def word_noise(self) -> float | None:
        """All of the budget in one look, where a mechanism does not say more."""
        return self.sigma

    def in_share(self, share: float) -> float:
        """Noise multiplier of a look that has this share of what sizes leave of the budget."""
        return self.sigma / sqrt(share * (1 - self.size_share))

    @property
    def size_sigma(self) -> float:
        """Noise multiplier of the sizes of topics."""
        return self.sigma / sqrt(self.size_share)

    @property
    def size_noise(self) -> float | None:
        return self.size_sigma if self.size_share else None

    def sized(self, model: TopicModel, corpus: BoundedCorpus, rng: Generator) -> TopicModel:
        """The topics with their sizes, if these are counted."""
        if not self.size_share:
            progress.report(1.0)
            return model
        return sized(model, corpus, sigma=self.size_sigma, rng=rng)

    def with_topics(self, n_topics: int) -> Self:
        """The same with fewer topics: no noise depends on their number."""
        seeds = {"seed_words": mine[:n_topics]} if (mine := getattr(self, "seed_words", ())) else {}
        return replace(self, n_topics=n_topics, **seeds)

    def promised(self, *events: Event, assumptions: tuple[str, ...] = (), sizes: bool = True) -> Guarantee:
        """The guarantee of these events, and of the sizes if they are not among them."""
        counted = (Gaussian(self.size_sigma, nonnegative=True),) if self.size_share and sizes else ()
        return Guarantee(
            events=(*events, *counted),
            delta=self.delta,
            unit=self.unit,
            strength=Strength.PROVED,
            assumptions=(PUBLIC_WORDS, *assumptions),
            limits=(SMALL_GROUPS,),
        )

    def check(self, corpus: BoundedCorpus) -> None:
        """The words must be public, and enough for the topics."""
        mine: Any = self
        check_words(mine, corpus, corpus.vocabulary, self.n_topics)


Floats = NDArray[np.float64]
SeedWords = tuple[tuple[str, ...], ...]
LEAN = 0.3  # how far a seeded topic leans to its words in every round


def checked_seeds(seed_words: Iterable[Sequence[str]], n_topics: int) -> SeedWords:
    """One row of words for each wanted topic, at most as many as there are topics.

    >>> checked_seeds([["rash", "skin"], ["knee"]], 5)
    (('rash', 'skin'), ('knee',))
    """
    if isinstance(seed_words, str):
        raise InputError("seed_words must be a list of lists of words, one for each topic, got a single string.")
    rows = []
    for row in seed_words:
        if isinstance(row, str) or not row or not all(isinstance(word, str) and word.strip() for word in row):
            raise InputError("every topic of seed_words must be a list of at least one word.")
        rows.append(tuple(row))
    if len(rows) > n_topics:
        raise InputError(f"there are seed words for {len(rows)} topics, but only {n_topics} topics. Ask for more.")
    return tuple(rows)


def seed_shares(seed_words: SeedWords, vocabulary: Vocabulary) -> Floats:
    """Words × seeds: each topic's seed words that are in the vocabulary, all the same; zeros where none is."""
    found = np.zeros((len(vocabulary), len(seed_words)))
    for k, row in enumerate(seed_words):
        known = [vocabulary.index[word] for word in dict.fromkeys(row) if word in vocabulary.index]
        if known:
            found[known, k] = 1 / len(known)
    return found


def leaning(topics: Floats, seeds: Floats) -> Floats:
    """Topics (columns), the first of which lean to their seeds."""
    if not seeds.shape[1]:
        return topics
    led = topics.copy()
    known = np.flatnonzero(seeds.any(axis=0))
    led[:, known] = (1 - LEAN) * led[:, known] + LEAN * seeds[:, known]
    return led


def expected_given_noisy(noisy: NDArray[np.float64], sigma: float) -> NDArray[np.float64]:
    """Posterior mean of each count of a words × topics table under Gaussian noise of standard deviation ``sigma``.

    Prior: count_wk exponential with mean m_wk = (word total) · (topic share), where both are read off the noisy table
    itself: margins are sums of many cells, so they are known far better than the cells. The posterior is a normal
    N(noisy − σ²/m, σ²) cut at zero, with mean z·σ + σ·φ(z)/Φ(z). The plain positive part would add 0.4 σ to every empty
    cell and drown small topics.

    >>> expected_given_noisy(np.array([[50.0, 0.0], [0.0, 50.0]]), 1.0).round(1)
    array([[50. ,  0.8], [ 0.8, 50. ]])
    """
    n_topics = noisy.shape[1]
    word_total = np.maximum(noisy.sum(axis=1, keepdims=True), 0.5 * sigma * np.sqrt(n_topics))
    topic_total = np.maximum(noisy.sum(axis=0, keepdims=True), 1e-9)
    # Shares kept within a factor of five of equal, so that no topic is starved by one unlucky step.
    topic_share = np.clip(topic_total / topic_total.sum(), 0.2 / n_topics, 5.0 / n_topics)
    return posterior_mean(noisy, sigma, np.maximum(word_total * topic_share, 1e-3 * sigma))


def posterior_mean(
    noisy: NDArray[np.float64], sigma: float | NDArray[np.float64], mean: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Of a value that is exponential with this ``mean``, under Gaussian noise: N(noisy − σ²/mean, σ²), cut at zero.

    >>> posterior_mean(np.array([5.0, 0.0]), np.array([1e-3, 10.0]), np.array([1.0, 1.0])).round(2)
    array([5.  , 0.98])
    """
    z = noisy / sigma - sigma / mean
    log_density = -0.5 * z * z - 0.5 * np.log(2 * np.pi)
    value: NDArray[np.float64] = sigma * (z + np.exp(log_density - log_ndtr(z)))
    return np.maximum(value, 0.0)


_EVERY_WORD = 0.01  # of a count: no topic gives a word no weight at all


def learned_in_rounds(
    vocabulary: Vocabulary,
    n_topics: int,
    noisy_table: Callable[[Floats, int], Floats],
    *,
    steps: int,
    last: float,
    noise_std: float,
    start: int,
    alpha: float,
    text: TextSettings | None,
    seed_words: SeedWords = (),
) -> TopicModel:
    """Topics after ``steps`` rounds; ``noisy_table`` is given topics and the round, its noise has ``noise_std``.

    Early rounds move fast; later ones average, which cuts the noise: the weight of a new table falls from one to
    ``last``. That, like the start, is public. The average is read as counts given the known noise.
    """
    seeds = seed_shares(seed_words, vocabulary)
    topics = _public_start((len(vocabulary), n_topics), start)
    average, variance = np.zeros(topics.shape), 0.0
    counts = average
    for step in range(steps):
        weight = 1.0 - (1.0 - last) * step / max(1, steps - 1)
        average = (1 - weight) * average + weight * noisy_table(leaning(topics, seeds), step)
        variance = (1 - weight) ** 2 * variance + (weight * noise_std) ** 2
        counts = expected_given_noisy(average, sqrt(variance)) + _EVERY_WORD
        topics = counts / counts.sum(axis=0)
    total = counts.sum(axis=0)
    return TopicModel(
        topic_word=np.ascontiguousarray(topics.T),
        vocabulary=vocabulary,
        topic_share=total / total.sum(),
        alpha=alpha,
        noise_std=sqrt(variance) / total,
        text=text,
        seeds=np.where(np.arange(n_topics) < len(seed_words), np.arange(n_topics), -1) if seed_words else None,
    )


def _public_start(shape: tuple[int, int], start: int) -> Floats:
    """Random topics to begin with, drawn without the data from a public number."""
    topics = np.random.Generator(np.random.PCG64(start)).gamma(1.0, 1.0, shape)
    return np.asarray(topics / topics.sum(axis=0))
