"""The gate is shut: mechanisms that say `proved` and are not fail it, by the check that is meant for them.

Each is registered for a moment under a name of its own, and asked for by that name, as anybody's would be.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from gate_plans import Case
from gate_problems import problems

from dptopics.mechanisms.mechanism import REGISTERED, Calibrated, Job, check_words
from dptopics.mechanisms.queries import grid_for, noisy, noisy_sum, private_query
from dptopics.mechanisms.topics import variational
from dptopics.mechanisms.topics.variational import VariationalTopics
from dptopics.mechanisms.vocabulary.threshold import EqualWeights, WeightedVocabulary
from dptopics.privacy import noise
from dptopics.privacy.events import Gaussian, Noise
from dptopics.privacy.guarantee import PUBLIC_WORDS, Guarantee, Strength, Unit
from dptopics.registry import catalogue, mechanisms
from dptopics.release.release import Release
from dptopics.release.topic_model import TopicModel


@pytest.fixture(autouse=True)
def _only_for_a_moment():
    before = dict(REGISTERED)
    yield
    REGISTERED.clear()
    REGISTERED.update(before)


def found(name, job=Job.TOPICS):
    """The checks that a mechanism fails, asked for by its name, and what they say."""
    case = Case(job, name, "list" if job is Job.TOPICS else None)
    mechanism = case.build()
    assert mechanism.guarantee.strength is Strength.PROVED
    return dict(problems(case, mechanism))


def toy_class():
    """A good mechanism in one class: a noisy share of each word, and as many topics of it as are asked for."""

    @dataclass(frozen=True, kw_only=True)
    class Toy(Calibrated):
        n_topics: int
        sigma: float
        delta: float
        unit: Unit = Unit.AUTHOR
        job: ClassVar[Job] = Job.TOPICS
        name: ClassVar[str] = "toy"
        paper: ClassVar[str] = "-"

        @property
        def guarantee(self):
            return Guarantee(
                events=(Gaussian(self.sigma),),
                delta=self.delta,
                unit=self.unit,
                strength=Strength.PROVED,
                assumptions=(PUBLIC_WORDS,),
            )

        def check(self, corpus):
            check_words(self, corpus, corpus.vocabulary, self.n_topics)

        def weights(self, corpus, rng):
            """The only look at the corpus."""
            return noisy_sum(corpus, EqualWeights(len(corpus.words), 2), bound=1.0, sigma=self.sigma, rng=rng)[:, 0]

        def __call__(self, corpus, rng):
            self.check(corpus)
            return Release.of(self.model(corpus, np.maximum(self.weights(corpus, rng), 0.1)), self, rng)

        def model(self, corpus, weights, alpha=0.1):
            return TopicModel(
                topic_word=np.tile(weights / weights.sum(), (self.n_topics, 1)),
                vocabulary=corpus.vocabulary,
                topic_share=np.full(self.n_topics, 1 / self.n_topics),
                alpha=alpha,
                noise_std=None,
                text=corpus.text,
            )

    return Toy


def test_a_good_mechanism_passes_and_is_found_by_its_name():
    # Its class is all there is to write: registry, plan and gate find it.
    toy_class()
    assert "toy" in mechanisms("topics")
    assert [row["strength"] for row in catalogue() if row["name"] == "toy"] == ["proved"]
    assert found("toy") == {}


def test_a_copy_of_variational_without_noise():
    @dataclass(frozen=True, kw_only=True)
    class Silent(VariationalTopics):
        size_share: float = 0.0
        name: ClassVar[str] = "silent"

        def _noisy_counts(self, corpus, rng, topics, step):
            statistic = variational._ExpectedCounts(topics, self.alpha)
            return corpus.bounded_sum(statistic, bound=self.clip, grid=self.grid) * self.grid

    failed = found("silent")
    assert {"drawn_and_priced", "neighbour_property", "law_of_noise", "statistical_bound"} <= failed.keys()
    assert failed["drawn_and_priced"] == "the release follows other data"


def test_a_copy_of_variational_that_draws_zeros(monkeypatch):
    # Everything is stated as it should be, and goes the usual way. Only the noise is not there.
    draw = noise.gaussian
    monkeypatch.setattr(noise, "gaussian", lambda rng, scale, size: 0 * draw(rng, scale, size))

    @dataclass(frozen=True, kw_only=True)
    class Zeros(VariationalTopics):
        name: ClassVar[str] = "zeros"

    failed = found("zeros")
    assert failed["law_of_noise"] == "less noise was drawn than is stated"
    assert "told apart" in failed["statistical_bound"]


@pytest.mark.parametrize("part", [1 / 8, 1 / 2])
def test_less_noise_than_is_stated(monkeypatch, part):
    draw = noise.gaussian
    monkeypatch.setattr(noise, "gaussian", lambda rng, scale, size: draw(rng, scale * part, size))
    toy_class()
    failed = found("toy")
    assert failed["law_of_noise"] == "less noise was drawn than is stated"
    assert "told apart" in failed["statistical_bound"]


def test_noise_for_half_the_bound():
    @dataclass(frozen=True, kw_only=True)
    class HalfBound(toy_class()):
        name: ClassVar[str] = "half-bound"

        def weights(self, corpus, rng):
            grid = grid_for(1.0, self.sigma)

            def draw():
                exact = corpus.bounded_sum(EqualWeights(len(corpus.words), 2), bound=1.0, grid=grid)
                return noisy(exact, kind=Noise.GAUSSIAN, sensitivity=0.5 / grid, multiplier=self.sigma, rng=rng) * grid

            return private_query(draw)[:, 0]

    failed = found("half-bound")
    assert "moved by more than is priced (2.000 of it)" in failed["neighbour_property"]
    assert "told apart" in failed["statistical_bound"]


def test_more_noise_is_stated_than_is_drawn():
    @dataclass(frozen=True, kw_only=True)
    class Boasting(toy_class()):
        name: ClassVar[str] = "boasting"

        @property
        def guarantee(self):
            return replace(super().guarantee, events=(Gaussian(2 * self.sigma),))

    assert found("boasting")["drawn_and_priced"] == "what was drawn is not what is priced"


def test_a_look_that_is_not_priced():
    @dataclass(frozen=True, kw_only=True)
    class Twice(toy_class()):
        name: ClassVar[str] = "twice"

        def weights(self, corpus, rng):
            return (super().weights(corpus, rng) + super().weights(corpus, rng)) / 2

    assert found("twice")["drawn_and_priced"] == "2 queries were made, 1 are priced"


def exact_sum(corpus):
    return corpus.bounded_sum(EqualWeights(len(corpus.words), 2), bound=1.0, grid=2.0**-20)[:, 0] * 2.0**-20


def test_a_sum_that_is_released_past_the_looks():
    @dataclass(frozen=True, kw_only=True)
    class Past(toy_class()):
        name: ClassVar[str] = "past"

        def weights(self, corpus, rng):
            super().weights(corpus, rng)
            return exact_sum(corpus)

    assert found("past")["drawn_and_priced"] == "the release follows other data"


def test_a_sum_that_decides_something_past_the_looks():
    @dataclass(frozen=True, kw_only=True)
    class Deciding(toy_class()):
        name: ClassVar[str] = "deciding"

        def model(self, corpus, weights):
            return super().model(corpus, weights, alpha=0.1 if exact_sum(corpus).max() > 10 else 0.2)

    assert found("deciding")["drawn_and_priced"] == "the release follows other data"


def test_one_draw_for_all_cells():
    @dataclass(frozen=True, kw_only=True)
    class OneDraw(toy_class()):
        name: ClassVar[str] = "one-draw"

        def weights(self, corpus, rng):
            grid = grid_for(1.0, self.sigma)

            def draw():
                nothing = np.zeros(1, np.int64)
                drawn = noisy(nothing, kind=Noise.GAUSSIAN, sensitivity=1 / grid, multiplier=self.sigma, rng=rng)
                return exact_sum(corpus) + drawn * grid

            return private_query(draw)

    assert found("one-draw")["drawn_and_priced"] == "a look tells more than its noise"


def test_the_same_bits_for_all_cells(monkeypatch):
    draw = noise.gaussian
    monkeypatch.setattr(noise, "gaussian", lambda rng, scale, size: np.full(size, draw(rng, scale, 1)[0]))
    toy_class()
    assert "law_of_noise" in found("toy")


def test_noise_from_a_seed():
    @dataclass(frozen=True, kw_only=True)
    class Seeded(toy_class()):
        name: ClassVar[str] = "seeded"

        def weights(self, corpus, rng):
            return super().weights(corpus, np.random.default_rng(5))

    assert "law_of_noise" in found("seeded")


def test_a_vocabulary_with_too_low_a_threshold():
    @dataclass(frozen=True, kw_only=True)
    class Low(WeightedVocabulary):
        name: ClassVar[str] = "low"

        @property
        def threshold(self):
            return 0.7 * super().threshold

    failed = found("low", Job.VOCABULARY)
    assert failed.keys() == {"lone_words_of_vocabularies"}
    assert "lone words show" in failed["lone_words_of_vocabularies"]


def test_two_mechanisms_of_one_name_are_refused():
    from dptopics.core.errors import InputError

    with pytest.raises(InputError, match="two topics mechanisms 'variational'"):
        type("Another", (VariationalTopics,), {"name": "variational"})
