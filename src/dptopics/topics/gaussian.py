"""What the proved topic mechanisms share: one multiplier for all their noise, and the form of their promise."""

from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, ClassVar, Self

from numpy.random import Generator

from dptopics import progress
from dptopics.data.bounded import BoundedCorpus
from dptopics.errors import InputError
from dptopics.privacy.card import SMALL_GROUPS
from dptopics.privacy.events import Event, Gaussian
from dptopics.privacy.fields import check_fields, whole
from dptopics.privacy.guarantee import PUBLIC_WORDS, Guarantee, Strength, Unit
from dptopics.privacy.mechanism import Calibrated, Job, check_words
from dptopics.release.topic_model import TopicModel
from dptopics.topics.sizes import sized


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
        """A unit counts once: as the multiplier."""
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

    def promised(self, *events: Event, assumptions: tuple[str, ...] = ()) -> Guarantee:
        """The guarantee of these events, and of the sizes."""
        sizes = (Gaussian(self.size_sigma, nonnegative=True),) if self.size_share else ()
        return Guarantee(
            events=(*events, *sizes),
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
