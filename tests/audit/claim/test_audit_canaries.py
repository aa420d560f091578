"""Audits with canaries: what must be caught is caught, what keeps its promise is not accused."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from dptopics.audit.canaries import Canary, audit_by_trials, audit_one_run
from dptopics.audit.claim.distinguishing import SCORES
from dptopics.core import progress
from dptopics.core.errors import InputError, PrivacyError
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.corpus import Corpus
from dptopics.mechanisms.topics.best_of import VocabularyThenTopics
from dptopics.mechanisms.topics.variational import VariationalTopics
from dptopics.mechanisms.vocabulary.threshold import CountVocabulary, WeightedVocabulary
from dptopics.privacy import noise
from dptopics.privacy.events import Laplace, Relation
from dptopics.privacy.guarantee import Guarantee, Strength, Unit
from dptopics.published.fdptm import ZhuTopics
from dptopics.release.release import Release

DELTA = 1e-5
TEXTS = ["skin knee pain"] * 40 + ["asthma night cough"] * 40
PRIVATE = Corpus.from_texts(TEXTS, authors=range(80))
NAMES = [f"word{number}" for number in range(400)]  # public words that nobody uses
PUBLIC = replace(PRIVATE, vocabulary=Vocabulary.of([*" ".join(TEXTS).split(), *NAMES]))

weighted = WeightedVocabulary.calibrated(epsilon=1.0, delta=DELTA, max_words=20)
laplace = WeightedVocabulary.calibrated(epsilon=1.0, delta=DELTA, max_words=20, noise="laplace")
counting = CountVocabulary.calibrated(epsilon=1.0, delta=DELTA, max_words=20)
variational = VariationalTopics.calibrated(n_topics=2, epsilon=1.0, delta=DELTA, steps=2)
pipeline = VocabularyThenTopics(
    vocabulary=WeightedVocabulary.calibrated(epsilon=0.7, delta=DELTA, max_words=20),
    topics=VariationalTopics.calibrated(n_topics=2, epsilon=0.7, delta=DELTA, steps=2),
    delta=2 * DELTA,
)
draw_gaussian, draw_laplace = noise.gaussian, noise.laplace


@dataclass(frozen=True, kw_only=True)
class Unhidden:
    """All words of the data, and a claim of ε = 1."""

    unit: Unit = Unit.AUTHOR
    relation: Relation = Relation.ADD_OR_REMOVE
    name: ClassVar[str] = "unhidden"
    paper: ClassVar[str] = "none"

    @property
    def guarantee(self):
        events = (Laplace(1.0, relation=self.relation),)
        return Guarantee(events=events, delta=DELTA, unit=self.unit, strength=Strength.CLAIMED)

    def rescaled(self, factor):
        return self

    def check(self, corpus):
        pass

    def __call__(self, corpus, rng):
        return Release.of(Vocabulary.of(corpus.words), self, rng)


class Numbers(Unhidden):
    """Neither words nor topics: how many words there are."""

    def __call__(self, corpus, rng):
        return Release.of(len(corpus.words), self, rng)


@pytest.fixture
def muted(monkeypatch):
    monkeypatch.setattr(noise, "gaussian", lambda rng, sigma, size: draw_gaussian(rng, sigma / 8, size))
    monkeypatch.setattr(noise, "laplace", lambda rng, scale, size: draw_laplace(rng, scale / 8, size))


BY_TRIALS = {
    "weighted": (weighted, PRIVATE, (Canary(), Canary(crowd=60))),
    "laplace": (laplace, PRIVATE, (Canary(), Canary(crowd=60))),
    "count": (counting, PRIVATE, (Canary(crowd=60), Canary(n_words=20, crowd=300))),
    "variational": (variational, PUBLIC, (Canary(), Canary(crowd=60))),
}
IN_ONE_RUN = {
    "weighted": (weighted, PRIVATE, Canary(crowd=60), None),
    "laplace": (laplace, PRIVATE, Canary(crowd=60), None),
    "count": (counting, PRIVATE, Canary(crowd=100, n_words=20), None),
    "variational": (variational, PUBLIC, Canary(crowd=30), None),
    "pipeline": (pipeline, PRIVATE, Canary(crowd=60), SCORES["weight"]),
}


def by_trials(name, seed, trials=1000):
    mechanism, corpus, designs = BY_TRIALS[name]
    return audit_by_trials(mechanism, corpus, trials=trials, designs=designs, rng=np.random.default_rng(seed))


def in_one_run(name, seed):
    mechanism, corpus, design, score = IN_ONE_RUN[name]
    rng = np.random.default_rng(seed)
    return audit_one_run(mechanism, corpus, canaries=390, guesses=100, design=design, score=score, rng=rng)


@pytest.mark.parametrize("name", BY_TRIALS)
def test_honest_mechanism_is_not_refuted_by_trials(name):
    result = by_trials(name, seed=1)
    assert result.verdict == "INCONCLUSIVE"
    assert result.lower_bound <= result.claimed_epsilon == pytest.approx(1.0)
    assert (result.trials, result.method, result.unit) == (1000, "trials", "author")


@pytest.mark.parametrize("name", BY_TRIALS)
def test_an_eighth_of_the_noise_is_caught_by_trials(name, muted):
    assert by_trials(name, seed=2, trials=2000).verdict == "violated"


@pytest.mark.parametrize("name", IN_ONE_RUN)
def test_honest_mechanism_is_not_refuted_in_one_run(name):
    for seed in range(3):
        assert in_one_run(name, seed).verdict == "INCONCLUSIVE"


@pytest.mark.parametrize("name", IN_ONE_RUN)
def test_an_eighth_of_the_noise_is_caught_in_one_run(name, muted):
    result = in_one_run(name, seed=3)
    assert result.verdict == "violated"
    assert (result.trials, result.guesses, result.method) == (390, 100, "one-run")


def test_words_without_noise_are_caught():
    rng = np.random.default_rng(4)
    result = audit_by_trials(Unhidden(), PRIVATE, trials=200, rng=rng)
    assert result.verdict == "violated"
    assert result.lower_bound > 1.5
    result = audit_one_run(Unhidden(), PRIVATE, canaries=100, guesses=80, design=Canary(), rng=rng)
    assert result.verdict == "violated"
    assert result.right == 80


def test_exact_counts_behind_a_published_claim_are_caught():
    # Zhu et al. 2016: the noise is in the sampling; what is released are exact counts.
    mechanism = ZhuTopics.calibrated(n_topics=2, epsilon=1.0, delta=DELTA, steps=3)
    rng = np.random.default_rng(5)
    result = audit_by_trials(mechanism, PUBLIC, trials=300, designs=[Canary(), Canary(crowd=30)], rng=rng)
    assert result.verdict == "violated"
    # Two exact numbers differ whenever the canary is there: the bound is what so many trials can give at most.
    assert result.lower_bound > 2.0
    one = audit_one_run(mechanism, PUBLIC, canaries=200, guesses=100, design=Canary(), rng=rng)
    assert one.verdict == "violated"
    assert one.right == 100


def test_documents_without_authors():
    corpus = Corpus.from_texts(TEXTS)
    result = audit_by_trials(Unhidden(unit=Unit.DOCUMENT), corpus, trials=100, rng=np.random.default_rng(6))
    assert (result.verdict, result.unit) == ("violated", "document")
    honest = replace(weighted, unit=Unit.DOCUMENT)
    one = audit_one_run(honest, corpus, canaries=100, guesses=50, rng=np.random.default_rng(6))
    assert one.verdict == "INCONCLUSIVE"


def test_another_relation_is_refused_before_anything_runs():
    rng = np.random.default_rng(7)
    before = rng.bit_generator.state
    for relation in (Relation.REPLACE, Relation.REPLACE_WORD):
        with pytest.raises(PrivacyError):
            audit_by_trials(Unhidden(relation=relation), PRIVATE, trials=10, rng=rng)
        with pytest.raises(PrivacyError):
            audit_one_run(Unhidden(relation=relation), PRIVATE, canaries=10, guesses=5, rng=rng)
    assert rng.bit_generator.state == before


def test_same_seed_same_audit():
    results = [in_one_run("weighted", seed=8) for _ in range(2)]
    assert results[0] == results[1]
    results = [by_trials("weighted", seed=8, trials=40) for _ in range(2)]
    assert results[0] == results[1]


def test_nothing_released_is_an_outcome():
    # Two units: no word ever clears the threshold, whether the canary is there or not.
    corpus = Corpus.from_texts(["skin", "knee"], authors=range(2))
    result = audit_by_trials(pipeline, corpus, trials=20, designs=[Canary()], rng=np.random.default_rng(9))
    assert (result.lower_bound, result.verdict) == (0.0, "INCONCLUSIVE")
    result = audit_one_run(
        pipeline, corpus, canaries=10, guesses=10, design=Canary(), rng=np.random.default_rng(9), confidence=0.95
    )
    assert result.verdict == "INCONCLUSIVE"


def test_a_release_that_the_scores_cannot_read_is_refused():
    rng = np.random.default_rng(10)
    with pytest.raises(InputError, match="no score"):
        audit_by_trials(Numbers(), PRIVATE, trials=10, rng=rng)
    with pytest.raises(InputError, match="no score"):
        audit_one_run(Numbers(), PRIVATE, canaries=10, guesses=5, rng=rng)
    result = audit_by_trials(Numbers(), PRIVATE, trials=200, scores={"size": lambda n, words: float(n)}, rng=rng)
    assert result.verdict == "violated"


@pytest.mark.parametrize("wrong", [{"trials": 3}, {"rehearsals": 1}, {"designs": ()}, {"confidence": 1.0}])
def test_trials_refuse_nonsense(wrong):
    with pytest.raises(InputError):
        audit_by_trials(weighted, PRIVATE, **{"trials": 10, "rng": np.random.default_rng(0), **wrong})


def test_one_run_refuses_nonsense():
    for wrong in ({"guesses": 11}, {"guesses": 0}, {"confidence": 0.1}):
        with pytest.raises(InputError):
            audit_one_run(weighted, PRIVATE, **{"canaries": 10, "guesses": 5, "rng": np.random.default_rng(0), **wrong})
    with pytest.raises(InputError):
        Canary(words="rare")
    with pytest.raises(InputError):
        Canary(n_words=0)


def test_progress_rises_to_one():
    seen = []
    with progress.shown_by(seen.append):
        by_trials("weighted", seed=11, trials=20)
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(1.0)


def test_results_hold_no_words():
    result = audit_by_trials(Unhidden(), PRIVATE, trials=20, rng=np.random.default_rng(12))
    text = result.card() + repr(result) + str(result.to_dict())
    assert not any(word in text for word in PRIVATE.words)
