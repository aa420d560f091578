"""What the proved topic mechanisms share: one multiplier for all their noise, and the form of their promise."""

from dataclasses import dataclass
from typing import Any, ClassVar

from dptopics.data.bounded import BoundedCorpus
from dptopics.privacy.card import SMALL_GROUPS
from dptopics.privacy.events import Event
from dptopics.privacy.fields import check_fields, whole
from dptopics.privacy.guarantee import PUBLIC_WORDS, Guarantee, Strength, Unit
from dptopics.privacy.mechanism import Calibrated, Job, check_words


@dataclass(frozen=True, kw_only=True)
class GaussianTopics(Calibrated):
    """Topics from noisy sums over public words; ``sigma`` scales all noise. Proofs: docs/guarantees/README.md"""

    n_topics: int
    sigma: float
    delta: float
    unit: Unit = Unit.AUTHOR
    job: ClassVar[Job] = Job.TOPICS
    name: ClassVar[str]
    paper: ClassVar[str]

    def __post_init__(self) -> None:
        check_fields(self)
        whole("n_topics", self.n_topics, least=2)
        if "steps" in self.__dataclass_fields__:
            whole("steps", getattr(self, "steps", None), least=1)

    @property
    def word_noise(self) -> float | None:
        """All of the budget in one look, where a mechanism does not say more."""
        return self.sigma

    def promised(self, *events: Event, assumptions: tuple[str, ...] = ()) -> Guarantee:
        """The guarantee of these events."""
        return Guarantee(
            events=events,
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
