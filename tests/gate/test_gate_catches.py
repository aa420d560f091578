"""The gate is shut: mechanisms that say `proved` and are not fail it, by the check that is meant for them.

Each is registered for a moment under a name of its own, and asked for by that name, as anybody's would be.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from gate_corpora import ATLAS
from gate_plans import Case
from gate_problems import FULL, problems

from dptopics.core.errors import InputError
from dptopics.data.bounded import UnitRows
from dptopics.mechanisms.counts.cells import CountsWithMargins
from dptopics.mechanisms.counts.people import Filled, People
from dptopics.mechanisms.mechanism import REGISTERED, Calibrated, Job, check_words
from dptopics.mechanisms.queries import grid_for, noisy, noisy_sum, private_query
from dptopics.mechanisms.topics import variational
from dptopics.mechanisms.topics.embedded import AtlasTopics
from dptopics.mechanisms.topics.variational import VariationalTopics
from dptopics.mechanisms.vocabulary.threshold import EqualWeights, WeightedVocabulary
from dptopics.privacy import noise
from dptopics.privacy.controls import given_noise
from dptopics.privacy.events import Gaussian, Noise
from dptopics.privacy.guarantee import PUBLIC_WORDS, Guarantee, Strength, Unit
from dptopics.registry import catalogue, mechanisms
from dptopics.release.release import Release
from dptopics.release.topic_model import TopicModel
from planted_holes import HOLES

FEW = replace(FULL, runs=8, trials=0)  # what these show is exact


@pytest.fixture(autouse=True)
def _only_for_a_moment():
    before = dict(REGISTERED)
    yield
    REGISTERED.clear()
    REGISTERED.update(before)


def found(name, job=Job.TOPICS):
    """The checks that a mechanism fails, asked for by its name, and what they say first."""
    case = Case(job, name, "list" if job is Job.TOPICS else None)
    mechanism = case.build()
    assert mechanism.guarantee.strength is Strength.PROVED
    return dict(reversed(problems(case, mechanism)))


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

    assert found("silent") == {"beside": "a sum over units is taken outside its queries."}


def test_a_copy_of_variational_that_draws_zeros(monkeypatch):
    # Everything is stated as it should be, and goes the usual way. Only the noise is not there.
    draw = noise.gaussian
    monkeypatch.setattr(noise, "gaussian", lambda rng, scale, size: 0 * draw(rng, scale, size))

    @dataclass(frozen=True, kw_only=True)
    class Zeros(VariationalTopics):
        name: ClassVar[str] = "zeros"

    assert found("zeros")["noise"].startswith("less noise was drawn than is stated")


@pytest.mark.parametrize("part", [1 / 8, 1 / 2])
def test_less_noise_than_is_stated(monkeypatch, part):
    draw = noise.gaussian
    monkeypatch.setattr(noise, "gaussian", lambda rng, scale, size: draw(rng, scale * part, size))
    toy_class()
    assert found("toy")["noise"].startswith("less noise was drawn than is stated")


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

    assert "moves a sum by 2 times its stated sensitivity" in found("half-bound")["sums"]


def test_votes_for_sentences_without_noise():
    class Unmasked:
        """Asks for sums of sentences past the queries, for others as it should be."""

        def __init__(self, asked):
            self.asked = asked

        def __getattr__(self, name):
            return getattr(self.asked, name)

        def sum(self, statistic, sigma):
            return self.asked.corpus.bounded_sum(statistic, bound=1.0, grid=2.0**-20) * 2.0**-20

    @dataclass(frozen=True, kw_only=True)
    class Unsaid(AtlasTopics):
        name: ClassVar[str] = "unsaid"

        def _examples(self, asked, atlas, placed, themes, sigma):
            return super()._examples(Unmasked(asked), atlas, placed, themes, sigma)

    case = Case(Job.TOPICS, "unsaid", "common", settings={"atlas": ATLAS, "examples_from": 0})
    assert dict(problems(case, case.build())) == {"beside": "a sum over units is taken outside its queries."}


OF_THEMES = [name for name, (_, needs) in HOLES.items() if needs in ("themes", "examples")]


@pytest.mark.parametrize("name", OF_THEMES)
def test_holes_that_only_themes_can_have(name):
    case = Case(Job.TOPICS, "atlas", "common", settings={"atlas": ATLAS, "examples_from": 0})
    with HOLES[name][0]():
        assert problems(case, case.build(), FEW)


def test_more_noise_is_stated_than_is_drawn():
    @dataclass(frozen=True, kw_only=True)
    class Boasting(toy_class()):
        name: ClassVar[str] = "boasting"

        @property
        def guarantee(self):
            return replace(super().guarantee, events=(Gaussian(2 * self.sigma),))

    assert "do not match" in found("boasting")["price"]


def test_a_look_that_is_not_priced():
    @dataclass(frozen=True, kw_only=True)
    class Twice(toy_class()):
        name: ClassVar[str] = "twice"

        def weights(self, corpus, rng):
            return (super().weights(corpus, rng) + super().weights(corpus, rng)) / 2

    assert found("twice")["price"].startswith("2 queries of the data do not match the 1 draws")


def exact_sum(corpus):
    return corpus.bounded_sum(EqualWeights(len(corpus.words), 2), bound=1.0, grid=2.0**-20)[:, 0] * 2.0**-20


def test_a_sum_that_is_released_past_the_looks():
    @dataclass(frozen=True, kw_only=True)
    class Past(toy_class()):
        name: ClassVar[str] = "past"

        def weights(self, corpus, rng):
            super().weights(corpus, rng)
            return exact_sum(corpus)

    assert "beside" in found("past")


def test_a_sum_that_decides_something_past_the_looks():
    @dataclass(frozen=True, kw_only=True)
    class Deciding(toy_class()):
        name: ClassVar[str] = "deciding"

        def model(self, corpus, weights):
            return super().model(corpus, weights, alpha=0.1 if exact_sum(corpus).max() > 10 else 0.2)

    assert "beside" in found("deciding")


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

    assert "answers" in found("one-draw")


def test_the_same_bits_for_all_cells(monkeypatch):
    draw = noise.gaussian
    monkeypatch.setattr(noise, "gaussian", lambda rng, scale, size: np.full(size, draw(rng, scale, 1)[0]))
    toy_class()
    assert "without the bits" in found("toy")["beside"]


def test_noise_from_a_seed():
    @dataclass(frozen=True, kw_only=True)
    class Seeded(toy_class()):
        name: ClassVar[str] = "seeded"

        def weights(self, corpus, rng):
            return super().weights(corpus, np.random.default_rng(5))

    assert "another generator" in found("seeded")["beside"]


def test_a_vocabulary_with_too_low_a_threshold():
    @dataclass(frozen=True, kw_only=True)
    class Low(WeightedVocabulary):
        name: ClassVar[str] = "low"

        @property
        def threshold(self):
            return 0.6 * super().threshold

    assert found("low", Job.VOCABULARY).keys() == {"lone words"}


@dataclass(frozen=True)
class One:
    """Each unit counts one."""

    height: ClassVar[int] = 1
    width: ClassVar[int] = 1

    def __call__(self, block):
        n = block.unit_start.size - 1
        return UnitRows(np.arange(n + 1), np.zeros(n, np.int32), np.ones((n, 1)))


def raw(corpus):
    """The corpus behind the examiner's guard: what nobody should do."""
    return getattr(corpus, "_corpus", corpus)


def bad(name, **methods):
    """A toy with other methods, registered under its name."""
    made = type(name, (toy_class(),), {"name": name, "__module__": __name__, **methods})
    return dataclass(frozen=True, kw_only=True)(made)


def priced(times):
    """A guarantee that pays for so many looks of the toy."""
    return property(lambda self: replace(super(type(self), self).guarantee, events=(Gaussian(self.sigma, times),)))


def _magnitude(self, corpus, weights, alpha=0.1):
    n = float(raw(corpus).bounded_sum(One(), bound=1.0, grid=1.0)[0, 0])
    return super(type(self), self).model(corpus, weights, alpha=10.0 ** -np.ceil(np.log10(max(n, 10.5))))


def _refusing(self, corpus):
    super(type(self), self).check(corpus)
    if not raw(corpus).bounded_sum(EqualWeights(len(corpus.words), 2), bound=1.0, grid=2.0**-20).any():
        raise InputError("none of the listed words occurs")


def _many_documents(self, corpus, rng):
    """Each document has norm 1 and is divided by the number of the author's documents, kept in 16 bits."""
    grid = grid_for(1.0, self.sigma)

    def step(total, block):
        n_docs = np.diff(block.unit_start).astype(np.uint16)
        of_doc = np.repeat(np.arange(n_docs.size), np.diff(block.unit_start))
        n_words = np.diff(block.doc_start)
        each = 1 / np.sqrt(np.maximum(n_words, 1)) / np.maximum(n_docs[of_doc], 1)
        np.add.at(total, block.word, np.repeat(each, n_words))
        return total

    def draw():
        exact = np.floor(corpus.fold(step, np.zeros(len(corpus.words))) / grid * (1 - 1e-6)).astype(np.int64)
        return noisy(exact, kind=Noise.GAUSSIAN, sensitivity=1 / grid, multiplier=self.sigma, rng=rng) * grid

    return private_query(draw)


def _polishing(self, corpus, rng):
    """One look more in every fifth round."""
    rounds = [super(type(self), self).weights(corpus, rng) for step in range(15) for _ in range(1 + (step % 5 == 4))]
    return np.mean(rounds, axis=0)


def _shifted(self, corpus, rng):
    """The noise of the second look is that of the first, four cells further on."""
    z = noise.gaussian(rng, self.sigma / grid_for(1.0, self.sigma), (len(corpus.words), 1))
    with given_noise([z.copy()]):
        one = super(type(self), self).weights(corpus, rng)
    with given_noise([np.roll(z, 4, axis=0)]):
        return (one + super(type(self), self).weights(corpus, rng)) / 2


def _same_stream(self, corpus, rng):
    seed = int(rng.integers(2**62))
    one, two = np.random.default_rng(seed), np.random.default_rng(seed)
    two.integers(0, 2**64 - 1, 4, dtype=np.uint64, endpoint=True)
    return (super(type(self), self).weights(corpus, one) + super(type(self), self).weights(corpus, two)) / 2


def _short_seed(self, corpus, rng):
    return super(type(self), self).weights(corpus, np.random.default_rng(int(rng.integers(2**32))))


class Scratch(EqualWeights):
    """A statistic with scratch space of its own, shared by threads."""

    space = np.empty((1 << 20, 1))

    def __call__(self, block):
        start, rows, values = super().__call__(block)
        mine = self.space[: len(values)]
        mine[:] = values
        return UnitRows(start, rows, mine)


def of_statistic(make):
    def weights(self, corpus, rng):
        return noisy_sum(corpus, make(len(corpus.words)), bound=1.0, sigma=self.sigma, rng=rng)[:, 0]

    return weights


class AgainstTheMean(EqualWeights):
    """What a unit adds depends on the others of its block."""

    def __call__(self, block):
        start, rows, values = super().__call__(block)
        return UnitRows(start, rows, values * 0.5 + 0.4 * (values.mean() if values.size else 0.0))


def of_draws(change):
    """Noise as ``change`` leaves it, given instead of drawn."""

    def weights(self, corpus, rng):
        z = noise.gaussian(rng, self.sigma / grid_for(1.0, self.sigma), (len(corpus.words), 1))
        with given_noise([np.asarray(change(z), np.int64)]):
            return super(type(self), self).weights(corpus, rng)

    return weights


def _words_outside(self, corpus, weights, alpha=0.1):
    n = raw(corpus).fold(lambda seen, block: seen + block.word.size, 0)
    return super(type(self), self).model(corpus, weights * (1 + (n % 2) * 1e-12), alpha)


def _only_if_somebody(self, corpus, rng):
    """The noise of cells that nobody fills is taken away again."""
    found = super(type(self), self).weights(corpus, rng)
    exact = raw(corpus).bounded_sum(EqualWeights(len(corpus.words), 2), bound=1.0, grid=2.0**-20)[:, 0]
    return np.where(exact == 0, 0.0, found)


BAD = {
    # What passed an earlier gate.
    "magnitude": {"model": _magnitude},
    "refuses": {"check": _refusing},
    "many-documents": {"weights": _many_documents},
    "polishing": {"weights": _polishing, "guarantee": priced(15)},
    "reuses-noise": {"weights": _shifted, "guarantee": priced(2)},
    "same-stream": {"weights": _same_stream, "guarantee": priced(2)},
    "thirty-two-bits": {"weights": _short_seed},
    "shared-scratch": {"weights": of_statistic(lambda n: Scratch(n, 2))},
    # And others.
    "against-the-mean": {"weights": of_statistic(lambda n: AgainstTheMean(n, 2))},
    "opposite-cells": {"weights": of_draws(lambda z: np.concatenate([z[:8], -z[:8]]))},
    "no-last-cell": {"weights": of_draws(lambda z: np.concatenate([z[:-1], 0 * z[-1:]]))},
    "no-sum": {"weights": of_draws(lambda z: z - np.rint(z.mean()))},
    "no-tails": {
        "weights": of_draws(lambda z: np.clip(z, -np.sort(np.abs(z).ravel())[-4], np.sort(np.abs(z).ravel())[-4]))
    },
    "positive": {"weights": of_draws(np.abs)},
    "parity": {"model": _words_outside},
    "only-if-somebody": {"weights": _only_if_somebody},
}


@pytest.mark.parametrize("name", BAD)
def test_bad_mechanisms_never_pass(name):
    bad(name, **BAD[name])
    assert found(name)


def test_two_mechanisms_of_one_name_are_refused():
    with pytest.raises(InputError, match="two topics mechanisms 'variational'"):
        type("Another", (VariationalTopics,), {"name": "variational"})


def counts_class(title, **changed):
    """Counts of people with some methods of another kind."""
    made = type(title, (CountsWithMargins,), {"name": title, "job": Job.COUNTS, **changed})
    return dataclass(frozen=True, kw_only=True)(made)


def test_a_look_that_nobody_pays_for():
    def guarantee(self):
        return self.promise(Gaussian(self.cell_sigma, nonnegative=True))

    counts_class("free-look", guarantee=property(guarantee))
    assert found("free-look", Job.COUNTS)


def test_a_bound_that_is_chosen_from_exact_numbers():
    def chosen(self, corpus, rng):
        filled = corpus.bounded_sum(Filled(self.entries), bound=1.0, grid=1.0)[:, 0]
        noisy_sum(corpus, Filled(self.entries), bound=1.0, sigma=self.look_sigma, rng=rng)
        return 1 if filled[0] > filled[1:].sum() else 4

    counts_class("peeks", _chosen=chosen)
    assert found("peeks", Job.COUNTS)


def test_noise_for_a_smaller_bound_than_people_fill():
    def bound(self, most):
        return CountsWithMargins.bound(self, most) / 2

    def call(self, corpus, rng):
        self.check(corpus)
        exact = People(self.entries, self.usual)
        grid = grid_for(self.bound(4), self.cell_sigma)

        def draw():
            sums = corpus.bounded_sum(exact, bound=2 * self.bound(4), grid=grid)
            return noisy(sums, kind=Noise.GAUSSIAN, sensitivity=self.bound(4) / grid, multiplier=self.sigma, rng=rng)

        sums = private_query(draw)[:, 0] * grid
        return Release.of(self._table(sums, self.usual, self.noise(self.usual)), self, rng)

    counts_class("half-bound", bound=bound, looks=property(lambda self: False), __call__=call)
    assert found("half-bound", Job.COUNTS)
