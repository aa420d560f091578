"""HDP-LDA (Zhao et al. 2021): Gibbs sampling from noisy, clipped counts; a claim about single words."""

from dataclasses import dataclass, field, replace
from math import expm1, inf, sqrt
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics.core import progress
from dptopics.core.errors import InputError, PrivacyError
from dptopics.core.settings import check_fields
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.bounded import BoundedCorpus, raw_counts
from dptopics.kernels.noisy_gibbs import sweep_fixed, sweep_perturbed
from dptopics.learners import check_topics
from dptopics.learners.lda import GibbsLda
from dptopics.mechanisms.mechanism import Calibrated, Job, check_words
from dptopics.mechanisms.queries import grid_for
from dptopics.privacy import noise
from dptopics.privacy.card import SMALL_GROUPS
from dptopics.privacy.events import Laplace, Relation
from dptopics.privacy.guarantee import PUBLIC_WORDS, Guarantee, Strength, Unit
from dptopics.release.release import Release
from dptopics.release.topic_model import TopicModel


def random_bits(rng: Generator, n: int) -> NDArray[np.uint64]:
    """n words of 64 uniform bits."""
    return rng.integers(0, 2**64 - 1, n, dtype=np.uint64, endpoint=True)


@dataclass(frozen=True, kw_only=True)
class SampledTopics(Calibrated):
    """What reproductions by Gibbs sampling have in common. Words must be public, and at least as many as topics."""

    n_topics: int
    delta: float
    unit: Unit = Unit.AUTHOR
    steps: int = 15
    alpha: float = 0.1
    beta: float = 0.01
    job: ClassVar[Job] = Job.TOPICS

    def __post_init__(self) -> None:
        check_fields(self)
        check_topics(self.n_topics, self.alpha, self.beta)
        if self.steps < 0:
            raise InputError(f"steps must not be negative, got {self.steps}.")

    def words(self, corpus: BoundedCorpus) -> Vocabulary:
        mine: Any = self
        own = getattr(mine, "vocabulary", None)
        return check_words(mine, corpus, corpus.vocabulary if own is None else own, self.n_topics)

    def check(self, corpus: BoundedCorpus) -> None:
        self.words(corpus)

    def made(
        self, topic_word: NDArray[np.float64], size: NDArray[Any], corpus: BoundedCorpus, rng: Generator,
        noise_std: NDArray[np.float64] | None = None,
    ) -> Release[TopicModel]:  # fmt: skip
        """The release of topics of this ``size``."""
        mine: Any = self
        model = TopicModel(
            topic_word=topic_word,
            vocabulary=self.words(corpus),
            topic_share=size / size.sum(),
            alpha=self.alpha,
            noise_std=noise_std,
            text=corpus.text,
        )
        return Release.of(model, mine, rng)


_SENSITIVITY = 2.0  # of the topic-word counts in L1, when one word is exchanged for another: one count less, one more
_HOLES = (
    "The claim is about one word at one place of one document: far weaker than hiding a document or an author. Whoever "
    "knows the topic of a document, or several of its words, is not covered.",
    "The published loss of a draw looks at the exchanged word alone; draws of other words depend on it through the "
    "counts that the sampler updates. Here those counts stay fixed during a sweep, which the paper does not say.",
    "A word exchanged for one outside the vocabulary shortens its document. The formula does not cover that.",
    "The words were public beforehand. How many documents there are, and how long each is, counts as public.",
)


@dataclass(frozen=True, kw_only=True)
class ZhaoTopics(SampledTopics):
    """A reproduction with a claim per word: for experiments, hardly ever to publish with.

    In each of ``steps`` rounds every token draws its topic from the last noisy topic-word counts, cut off at ``clip``,
    and the counts are then noised afresh with scale 2/epsilon_noise. A round is claimed to cost ``epsilon_noise`` for
    the noise and ``epsilon_draws`` = 2 ln(clip/β + 1) for the draws. Topics come from the last noisy counts; no exact
    count is used or released. Words are given, as in the paper: by the corpus or as ``vocabulary``. What is ours in
    this reading, and why it is not proved: docs/guarantees/zhao.md

    >>> mechanism = ZhaoTopics.calibrated(n_topics=5, epsilon=30.0, delta=1e-6, steps=10)
    >>> round(mechanism.guarantee.epsilon, 6), str(mechanism.guarantee.relation), round(mechanism.clip, 4)
    (30.0, 'replace-word', 0.0112)
    """

    epsilon_noise: float
    epsilon_draws: float
    vocabulary: Vocabulary | None = field(default=None, repr=False)
    name: ClassVar[str] = "zhao"
    public_words_only: ClassVar[str] = "it is about single words, a vocabulary chosen from the data about whole units"
    paper: ClassVar[str] = "Zhao et al. 2021 (HDP-LDA)"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (0 < self.epsilon_noise < inf and 0 < self.epsilon_draws < inf):
            raise InputError(
                "epsilon_noise and epsilon_draws must be positive numbers, "
                f"got {self.epsilon_noise} and {self.epsilon_draws}."
            )
        if self.steps < 1:
            raise InputError(f"steps must be at least 1, got {self.steps}.")

    @classmethod
    def template(cls, **settings: Any) -> Self:
        """A claim of one, half of it for the noise, to be rescaled."""
        half = 0.5 / max(1, settings.get("steps", cls.steps))
        return cls(**({"epsilon_noise": half, "epsilon_draws": half} | settings))

    def rescaled(self, factor: float) -> Self:
        """The same with other noise, and draws that depend less on the words."""
        return replace(self, epsilon_noise=self.epsilon_noise / factor, epsilon_draws=self.epsilon_draws / factor)

    @property
    def clip(self) -> float:
        """The largest count that a draw may see: 2 ln(clip/β + 1) = epsilon_draws."""
        return self.beta * expm1(min(self.epsilon_draws / 2, 700.0))

    @property
    def guarantee(self) -> Guarantee:
        """The published sum, as one event of pure ε: T · (epsilon_noise + epsilon_draws)."""
        claimed = self.steps * (self.epsilon_noise + self.epsilon_draws)
        event = Laplace(1 / claimed, relation=Relation.REPLACE_WORD)
        return self.promise(event, strength=Strength.CLAIMED, assumptions=_HOLES, limits=(SMALL_GROUPS,))

    def check(self, corpus: BoundedCorpus) -> None:
        """Words must be public, and documents whole."""
        self.words(corpus)
        bounds = corpus.bounds
        if bounds.max_docs is not None or bounds.max_words is not None:
            raise PrivacyError(
                "max_docs and max_words choose by content, so one other word can change the choice: the claim per word "
                "does not cover that. Leave the limits out."
            )

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[TopicModel]:
        self.check(corpus)
        vocabulary = self.words(corpus)
        with progress.part(0.0, 0.1):
            start, word = raw_counts(corpus.limited(vocabulary=vocabulary)).tokens()
        shape = (len(vocabulary), self.n_topics)
        topic = (random_bits(rng, word.size) % np.uint64(self.n_topics)).astype(np.int32)
        # The order in a document must not depend on its words: by the alphabet, one other word would move its place.
        document = np.repeat(np.arange(start.size - 1), np.diff(start))
        order = np.lexsort((random_bits(rng, word.size), document))
        noisy = np.zeros(shape)  # nothing is known before the first round
        with progress.part(0.1, 1.0):
            for sweep in range(self.steps):
                seen = np.clip(noisy, 0.0, self.clip) + self.beta
                sweep_fixed(start, order, word, topic, seen / seen.sum(axis=0), self.alpha, random_bits(rng, word.size))
                noisy = self._noisy_counts(word, topic, shape, rng)
                progress.report((sweep + 1) / self.steps)
        counts = np.maximum(noisy, 0.0) + self.beta
        total = counts.sum(axis=0)
        noise_std = sqrt(2) * _SENSITIVITY / self.epsilon_noise / total
        return self.made(np.ascontiguousarray((counts / total).T), total, corpus, rng, noise_std)

    def _noisy_counts(
        self, word: NDArray[np.int32], topic: NDArray[np.int32], shape: tuple[int, int], rng: Generator
    ) -> NDArray[np.float64]:
        """Words × topics counts of the current topics, every cell with Laplace noise."""
        exact = np.bincount(word.astype(np.int64) * shape[1] + topic, minlength=shape[0] * shape[1]).reshape(shape)
        scale = _SENSITIVITY / self.epsilon_noise
        grid = grid_for(_SENSITIVITY, 1 / self.epsilon_noise)  # a power of two below one: counts lie on the grid
        return np.asarray(exact + noise.laplace(rng, scale / grid, shape) * grid)


_WHY_NONE = (
    "The topics are made from exact counts: anyone can read off how often each word occurs in the data, to the last "
    "one. The published ε is a setting of the noise, not a protection (docs/guarantees/zhu.md)."
)


@dataclass(frozen=True, kw_only=True)
class ZhuTopics(SampledTopics):
    """A reproduction that hides nobody: for experiments and attacks, never to publish with.

    Plain collapsed Gibbs sampling; then one sweep whose sampling probabilities are computed from counts plus noise of
    scale 2/epsilon. The counts that this sweep leaves behind are exact, and so are the topics: Σ_k n_kw is the number
    of times that w occurs. ``epsilon`` is what the paper claims. Why it is wrong: docs/guarantees/zhu.md

    >>> str(ZhuTopics.calibrated(n_topics=5, epsilon=3.0, delta=1e-5).guarantee.strength)
    'none'
    """

    epsilon: float
    name: ClassVar[str] = "zhu"
    paper: ClassVar[str] = "Zhu et al. 2016"
    noise_parameter: ClassVar[str] = "epsilon"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.epsilon < inf:
            raise InputError(f"epsilon must be a positive number, got {self.epsilon}.")

    def rescaled(self, factor: float) -> Self:
        return replace(self, epsilon=self.epsilon / factor)

    @property
    def guarantee(self) -> Guarantee:
        why = (_WHY_NONE, PUBLIC_WORDS)
        return self.promise(Laplace(1 / self.epsilon), strength=Strength.NONE, assumptions=why)

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[TopicModel]:
        self.check(corpus)
        with progress.part(0.0, 0.1):
            counts = raw_counts(corpus)
        # Fresh keys instead of those of the content: equal documents draw different topics.
        counts = replace(counts, doc_key=random_bits(rng, counts.n_documents))
        learner = GibbsLda(n_topics=self.n_topics, alpha=self.alpha, beta=self.beta, sweeps=self.steps)
        state, seeds = learner.begin(counts), learner.seeds(counts)
        with progress.part(0.1, 1.0):
            for sweep in range(self.steps):
                learner.sweep(state, seeds, sweep)
                progress.report((sweep + 1) / (self.steps + 1))
            scale = 2 / self.epsilon
            grid = grid_for(1.0, scale)
            drawn = noise.laplace(rng, scale / grid, (2, state.word.size)) * grid
            bits = random_bits(rng, state.word.size)
            sweep_perturbed(*state, self.alpha, self.beta, self.n_topics, drawn[0], drawn[1], bits)
            progress.report(1.0)
        return self.made(learner.topics(state), state.topic_total[: self.n_topics] + self.alpha, corpus, rng)
