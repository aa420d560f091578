"""What the four published spectral configurations have in common: settings, budgets of edges, public words."""

from dataclasses import dataclass, field
from math import sqrt
from typing import Any, ClassVar, Self

from numpy.random import Generator

from dptopics import progress
from dptopics.data.bounded import BoundedCorpus
from dptopics.errors import InputError
from dptopics.privacy.events import Event, Failure, Gaussian, Laplace
from dptopics.privacy.fields import check_fields
from dptopics.privacy.guarantee import PUBLIC_WORDS, Guarantee, Strength, Unit
from dptopics.privacy.mechanism import Calibrated, Job
from dptopics.privacy.relation import Relation
from dptopics.published.spectral import edges as common
from dptopics.published.spectral.printed import FORMULAS, REFUTED, Corrected, Sensitivities
from dptopics.published.spectral.procedure import PrivateBounds, check_tail, private_bounds
from dptopics.release.vocabulary import Vocabulary


@dataclass(frozen=True, kw_only=True)
class SpectralConfiguration(Calibrated):
    """Fields of every configuration; ``shares`` divide the budget in 1/scale² among ``edges``.

    ``sensitivities``: ``corrected``, or as ``printed``, which arithmetic refutes.

    Page: docs/guarantees/spectral_published.md
    """

    n_topics: int
    scale: float
    delta: float
    unit: Unit = Unit.AUTHOR
    alpha0: float = 1.0
    shares: tuple[float, ...]
    sensitivities: Sensitivities = Sensitivities.CORRECTED
    vocabulary: Vocabulary | None = field(default=None, repr=False)
    job: ClassVar[Job] = Job.TOPICS
    amount: ClassVar[str] = "scale"
    edges: ClassVar[tuple[str, ...]]
    name: ClassVar[str]
    paper: ClassVar[str]
    public_words_only: ClassVar[str] = (
        "it is about units exchanged for others, a vocabulary chosen from the data about units added or removed"
    )

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "shares", tuple(self.shares))  # a plan that was saved has a list
        object.__setattr__(self, "sensitivities", Sensitivities(self.sensitivities))
        common.check_settings(self)

    @property
    def by(self) -> Corrected:
        """The formulas that scale the noise."""
        return FORMULAS[self.sensitivities]

    @property
    def refutation(self) -> tuple[str, ...]:
        """What refutes the printed sensitivities, where they are used."""
        return REFUTED if self.sensitivities is Sensitivities.PRINTED else ()

    @property
    def edge_scales(self) -> dict[str, float]:
        """Noise on each edge, relative to its sensitivity."""
        return {edge: self.scale / sqrt(share) for edge, share in zip(self.edges, self.shares, strict=True)}

    @property
    def most_words(self) -> int:
        """Largest vocabulary."""
        return common.LARGEST_VOCABULARY

    def check_size(self, public: int, private: int = 0) -> None:
        """A matrix of pairs must fit; the pure form draws a number for every triple of words."""
        if public + private > self.most_words:
            raise InputError(
                f"mechanism {self.name!r} takes at most {self.most_words:,} words with this noise, got "
                f"{public + private:,}. Give a shorter list, or use 'spectral'."
            )

    def check(self, corpus: BoundedCorpus) -> None:
        """Public words, no fewer than topics, and not too many."""
        common.check_corpus(self, corpus)


@dataclass(frozen=True, kw_only=True)
class BoundedConfiguration(SpectralConfiguration):
    """A configuration whose noise is scaled by private lower bounds, each of which fails with chance ``tail``.

    Page: docs/guarantees/spectral_published.md
    """

    tail: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_tail(self.tail)

    @classmethod
    def template(cls, **settings: Any) -> Self:
        """Noise of one over all edges together, to be rescaled; a tenth of δ for each bound."""
        return super().template(**({"tail": settings["delta"] / 10} | settings))

    def refuted(self, *why: str, n_bounds: int) -> Guarantee:
        """What is claimed, and the reasons why it does not hold, its own first."""
        return Guarantee(
            events=self.bounded_events(n_bounds=n_bounds),
            delta=self.delta,
            unit=self.unit,
            strength=Strength.NONE,
            assumptions=(*self.refutation, *why, *common.WHITENED_HOLES, *common.HOLES, PUBLIC_WORDS),
        )

    def start(
        self, corpus: BoundedCorpus, rng: Generator, *, gap: bool
    ) -> tuple[Vocabulary, common.ExactMoments, PrivateBounds]:
        """The public words, exact moments (private), and private bounds."""
        vocabulary = common.check_corpus(self, corpus)
        with progress.part(0.0, 0.5):
            data = common.exact_moments(corpus.limited(vocabulary=vocabulary))
        scale = self.edge_scales["bounds"]
        bounds = private_bounds(data, self.n_topics, self.alpha0, scale, self.tail, rng, gap=gap, by=self.by)
        return vocabulary, data, bounds

    def way_back(self, data: common.ExactMoments, rng: Generator) -> tuple[common.Floats, common.Floats]:
        """Noisy eigenpairs of M₂, edge e8."""
        far = self.by.pairs(self.alpha0, data.n_units)
        return common.noisy_pairs(data, self.n_topics, self.alpha0, self.edge_scales["e8"], rng, sensitivity=far)

    def bounded_events(self, *, n_bounds: int) -> tuple[Event, ...]:
        """Laplace noise on the bounds, the failure of each, and a Gaussian for every other edge."""
        first, *rest = self.edge_scales.values()
        failures = (Failure(self.tail, Relation.REPLACE),) * n_bounds
        edges = (Gaussian(scale, relation=Relation.REPLACE) for scale in rest)
        return (Laplace(first, relation=Relation.REPLACE), *failures, *edges)
