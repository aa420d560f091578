"""The best of several private topic models by a noisy likelihood, all of them charged."""

from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics.core import progress
from dptopics.core.errors import InputError, NothingReleased, PrivacyError
from dptopics.core.settings import check_fields
from dptopics.data.bounded import Block, BoundedCorpus, UnitRows
from dptopics.kernels.doc_topics import log_likelihoods
from dptopics.mechanisms.mechanism import Mechanism, Registered, calibrate
from dptopics.mechanisms.queries import noisy_sum
from dptopics.mechanisms.vocabulary.two_stage import VocabularyThen
from dptopics.privacy.events import Gaussian, Relation
from dptopics.privacy.guarantee import Guarantee, Strength, Unit, check_budget, composed
from dptopics.privacy.pricing import epsilon_of, smallest
from dptopics.release.release import Release
from dptopics.release.topic_model import TopicModel

_FLOOR = 1e-3  # of a topic goes to all words alike while it is scored: no word is impossible
_MOVED = {Relation.ADD_OR_REMOVE: 1, Relation.REPLACE: 2}  # clips by which neighbours move the sum of scores


@dataclass(frozen=True)
class _Scores:
    """A unit's log likelihood per token under each model, mean over its documents, less the mean over models."""

    topics: tuple[NDArray[np.float64], ...]  # words × topics
    alphas: tuple[float, ...]
    height: ClassVar[int] = 1

    @property
    def width(self) -> int:
        return len(self.topics)

    def __call__(self, block: Block) -> UnitRows:
        documents = block.unit_start, block.doc_start, block.word, block.counts.astype(np.float64)
        scores = [log_likelihoods(*documents, t, a, 20, 1e-3) for t, a in zip(self.topics, self.alphas, strict=True)]
        values = np.column_stack(scores)
        values -= values.mean(axis=1, keepdims=True)
        return UnitRows(np.arange(len(values) + 1), np.zeros(len(values), np.int32), values)


@dataclass(frozen=True, kw_only=True)
class BestOf(Registered):
    """Run all candidates, score each on the data by a noisy likelihood, release the one with the highest score.

    All candidates are charged, those too that are not released: the choice depends on them. A unit's scores are its log
    likelihoods per token, one for each model, less their mean, as one vector of norm at most ``clip``; the sum gets
    noise of multiplier ``sigma``. A candidate that releases nothing is left out. Candidates must protect the same unit
    under the same relation. Proof: docs/guarantees/best_of.md

    >>> from dptopics.mechanisms.topics.variational import VariationalTopics
    >>> templates = [VariationalTopics.template(n_topics=k, delta=1e-6) for k in (5, 10)]
    >>> round(BestOf.calibrated(templates, epsilon=2.0, delta=1e-6).guarantee.epsilon, 6)
    2.0
    """

    candidates: tuple[Mechanism[TopicModel], ...]
    sigma: float
    delta: float
    clip: float = 1.0
    name: ClassVar[str] = "best-of"
    paper: ClassVar[str] = "after DeCarolis et al. 2020, appendix J"

    def __post_init__(self) -> None:
        check_fields(self)
        if len(self.candidates) < 2:
            raise InputError(f"a choice needs at least two candidates, got {len(self.candidates)}.")
        if not (0 < self.clip < inf and 0 < self.sigma < inf):
            raise InputError(f"clip and sigma must be positive numbers, got {self.clip} and {self.sigma}.")
        whole = self.guarantee  # refuses candidates that do not add up
        if whole.relation not in _MOVED:
            raise PrivacyError(f"scores hide whole units, candidates only single words ({whole.relation}).")

    @classmethod
    def calibrated(
        cls, candidates: Any, *, epsilon: float, delta: float, score_share: float = 0.05, **settings: Any
    ) -> Self:
        """Candidates in equal parts, each by what it costs alone, and ``score_share`` of the budget for the scores."""
        check_budget(epsilon, delta)
        if not 0 < score_share < 1:
            raise InputError(f"score_share must lie strictly between 0 and 1, got {score_share}.")
        alone = [calibrate(candidate, epsilon=epsilon) for candidate in candidates]
        part = (1 - score_share) / max(1, len(alone))
        parts = tuple(candidate.rescaled(1 / sqrt(part)) for candidate in alone)
        sigma = smallest(lambda sigma: epsilon_of((Gaussian(sigma),), delta) <= epsilon)
        return calibrate(
            cls(candidates=parts, sigma=sigma / sqrt(score_share), delta=delta, **settings), epsilon=epsilon
        )

    @property
    def unit(self) -> Unit:
        return self.candidates[0].unit

    @property
    def guarantee(self) -> Guarantee:
        """The events of all candidates, and one Gaussian for the scores."""
        candidates = composed(*(mechanism.guarantee for mechanism in self.candidates), delta=self.delta)
        scores = replace(
            candidates,
            events=(Gaussian(self.sigma, relation=candidates.relation),),
            strength=Strength.PROVED,
            assumptions=(),
            gamma=0.0,
        )
        return composed(candidates, scores, delta=self.delta)

    def rehearsed(self, words: tuple[str, ...] = ()) -> list[tuple[Any, tuple[str, ...]]]:
        candidates: tuple[Any, ...] = self.candidates
        return [one for candidate in candidates for one in candidate.rehearsed(words)]

    def rescaled(self, factor: float) -> Self:
        """All candidates and the scores with other noise."""
        candidates = tuple(mechanism.rescaled(factor) for mechanism in self.candidates)
        return replace(self, candidates=candidates, sigma=self.sigma * factor)

    def check(self, corpus: BoundedCorpus) -> None:
        """What every candidate can run on."""
        for mechanism in self.candidates:
            mechanism.check(corpus)

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[TopicModel]:
        self.check(corpus)
        models, n = [], len(self.candidates)
        for number, mechanism in enumerate(self.candidates):
            with progress.part(0.9 * number / n, 0.9 * (number + 1) / n):
                try:
                    models.append(mechanism(corpus, rng).value)
                except NothingReleased:
                    continue
        if not models:
            raise NothingReleased(
                f"none of the {n} candidates released anything (the budget was charged). Give more data, a higher "
                "epsilon, or other candidates."
            )
        with progress.part(0.9, 1.0):
            best = int(np.argmax(self._scores(corpus, models, rng)))
        progress.report(1.0)
        return Release.of(models[best], self, rng)

    def _scores(self, corpus: BoundedCorpus, models: list[TopicModel], rng: Generator) -> NDArray[np.float64]:
        """Noisy sums of the units' scores: the only look at the corpus but the candidates' own."""
        if any(model.vocabulary.words != models[0].vocabulary.words for model in models):
            raise InputError("only models over the same words can be compared. Give all candidates one public list.")
        topics = tuple(
            np.ascontiguousarray(((1 - _FLOOR) * m.topic_word + _FLOOR / len(m.vocabulary)).T) for m in models
        )
        # One unit more moves the sum by the clip; one in place of another by up to twice that.
        sigma = self.sigma * _MOVED[self.guarantee.relation]
        known = corpus.limited(vocabulary=models[0].vocabulary)
        scores = _Scores(topics, tuple(m.alpha for m in models))
        return np.asarray(noisy_sum(known, scores, bound=self.clip, sigma=sigma, rng=rng)[0])


@dataclass(frozen=True, kw_only=True)
class VocabularyThenTopics(VocabularyThen[TopicModel]):
    """Choose words privately, restrict the raw data to them, learn topics privately.

    Proof: docs/guarantees/pipeline.md
    """

    topics: Mechanism[TopicModel]
    part: ClassVar[str] = "topics"
    nothing: ClassVar[str] = (
        "no word cleared the privacy threshold, so there is no vocabulary to build topics on (the budget was charged). "
        "Give more data, a higher epsilon, a larger share for the vocabulary, or a public word list (--vocabulary "
        "FILE), which costs nothing."
    )
    name: ClassVar[str] = "vocabulary-then-topics"
    paper: ClassVar[str] = "Manzonelli et al. 2024 (FDPTM)"
