"""Every way to compose mechanisms, with every mechanism there is: refused, or no more is promised than the parts do.

Mechanisms are found by walking the package, so that a new one is in these tests without anybody adding it.
"""

import importlib
import pkgutil
from dataclasses import dataclass, is_dataclass, replace
from itertools import product

import pytest

from dptopics import Corpus, Vocabulary
from dptopics.core.errors import PrivacyError
from dptopics.learners.lda import VariationalLda
from dptopics.mechanisms.mechanism import calibrate
from dptopics.mechanisms.ngrams.counts import VocabularyThenNgrams
from dptopics.mechanisms.topics.best_of import BestOf, VocabularyThenTopics
from dptopics.mechanisms.topics.output import OutputTopics
from dptopics.mechanisms.topics.output_matrix import OutputMatrix
from dptopics.mechanisms.vocabulary.two_stage import PublicVocabulary, ReplaceOneVocabulary
from dptopics.plan import Plan
from dptopics.privacy.events import Gaussian, Relation
from dptopics.privacy.guarantee import (
    PUBLIC_WORDS,
    WORDS_BEFORE,
    WORDS_OF_DATA,
    Guarantee,
    Strength,
    Trust,
    Unit,
    weakest,
)
from dptopics.privacy.pricing import epsilon_of
from dptopics.published.topicdp import MvgTopics
from dptopics.registry import mechanisms

DELTA = 1e-4
PUBLIC = Corpus.from_texts(["some public text"] * 20).bounded()
LEARNER = VariationalLda(n_topics=2)
SETTINGS = {"n_topics": 2, "delta": DELTA, "epsilon": 3.0, "learner": LEARNER}


@dataclass(frozen=True, kw_only=True)
class OfDocuments:
    """A part that hides documents, beside all those that hide authors."""

    part: object

    @property
    def unit(self):
        return Unit.DOCUMENT

    @property
    def guarantee(self):
        return replace(self.part.guarantee, unit=Unit.DOCUMENT)

    def rescaled(self, factor):
        return replace(self, part=self.part.rescaled(factor))


def vocabularies():
    found = {name: kind.template(delta=DELTA, tail=DELTA / 8) for name, kind in mechanisms("vocabulary").items()}
    found["public"] = PublicVocabulary(vocabulary=Vocabulary.of(["a", "b"]), delta=DELTA)
    found |= {
        f"{name}, replace": ReplaceOneVocabulary(vocabulary=found[name])
        for name in (*mechanisms("vocabulary"), "public")
    }
    return found | {"weighted, of documents": OfDocuments(part=found["weighted"])}


def topics():
    found = {
        name: kind.template(n_topics=2, delta=DELTA)
        for name, kind in mechanisms("topics").items()
        if not kind.needs_preparation
    }
    for kind, (label, public) in product((OutputTopics, MvgTopics), {"": PUBLIC, ", private P": None}.items()):
        found[kind.name + label] = kind.calibrated(gamma=0.1, public=public, **SETTINGS)
    found["output, of these words"] = OutputTopics.calibrated(gamma=0.1, public=PUBLIC, words_of_data=True, **SETTINGS)
    found["variational, sampled"] = replace(found["variational"], sampling_rate=0.5)
    return found | {"mixture, of documents": OfDocuments(part=found["mixture"])}


def ngrams():
    found = {name: kind.template(delta=DELTA) for name, kind in mechanisms("n-grams").items()}
    return found | {"laplace, of documents": OfDocuments(part=found["laplace"])}


WORDS, MODELS, TABLES = vocabularies(), topics(), ngrams()


def test_every_mechanism_is_here():
    made = {type(part) for part in (*WORDS.values(), *MODELS.values(), *TABLES.values())}
    composing = {VocabularyThenTopics, VocabularyThenNgrams, BestOf}
    found = {
        kind
        for room in ("mechanisms.vocabulary", "mechanisms.topics", "mechanisms.ngrams", "published")
        for kind in classes(room)
    }
    assert len(found) > 20
    assert found - made - composing == {OutputMatrix}  # any function's matrix: neither words nor topics


def classes(room):
    """The classes with a guarantee and a name of their own in all modules of a folder."""
    folder = importlib.import_module(f"dptopics.{room}")
    for module in pkgutil.walk_packages(folder.__path__, f"{folder.__name__}."):
        for kind in vars(importlib.import_module(module.name)).values():
            if isinstance(kind, type) and is_dataclass(kind) and hasattr(kind, "guarantee") and hasattr(kind, "name"):
                yield kind


def compatible(*guarantees):
    """What has no events promises everything under every relation."""
    relations = {g.relation for g in guarantees if g.events}
    return len(relations) <= 1 and len({(g.unit, g.trust) for g in guarantees}) == 1


def check_whole(whole, *parts, others=()):
    """Unit, relation, events, strength and γ of a composition, from those of its parts."""
    assert whole.events == (*(event for part in parts for event in part.events), *others)
    assert {event.relation for event in whole.events} <= {whole.relation}
    assert all(part.relation is whole.relation for part in parts if part.events)
    assert (whole.unit, whole.trust) == (parts[0].unit, Trust.CENTRAL)
    order = list(Strength).index
    assert order(whole.strength) >= order(weakest(*(part.strength for part in parts)))
    assert whole.gamma == pytest.approx(min(1.0, sum(part.gamma for part in parts)))


def check_over_words(make, words, part):
    first, second = words.guarantee, part.guarantee
    if not compatible(first, second):
        with pytest.raises(PrivacyError, match="same unit under the same relation"):
            make()
        return
    whole = make().guarantee
    check_whole(whole, first, second)
    looked = bool(first.events)
    assert PUBLIC_WORDS not in whole.assumptions
    if WORDS_BEFORE in second.assumptions and looked:
        assert weakest(whole.strength, Strength.CLAIMED) is whole.strength
        assert WORDS_BEFORE not in whole.assumptions
        assert WORDS_OF_DATA in whole.assumptions
    else:
        assert whole.strength is weakest(first.strength, second.strength)
    kept = {line for line in (*first.assumptions, *second.assumptions) if line not in (PUBLIC_WORDS, WORDS_BEFORE)}
    assert kept <= set(whole.assumptions)


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("model", MODELS)
def test_vocabulary_then_topics(words, model):
    first, second = WORDS[words], MODELS[model]
    check_over_words(lambda: VocabularyThenTopics(vocabulary=first, topics=second, delta=DELTA), first, second)


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("table", TABLES)
def test_vocabulary_then_ngrams(words, table):
    first, second = WORDS[words], TABLES[table]
    check_over_words(lambda: VocabularyThenNgrams(vocabulary=first, ngrams=second, delta=DELTA), first, second)


@pytest.mark.parametrize("one", MODELS)
def test_the_best_of_every_pair(one):
    for other in MODELS:
        first, second = MODELS[one], MODELS[other]
        about = first.guarantee.relation
        if not compatible(first.guarantee, second.guarantee) or about not in (Relation.ADD_OR_REMOVE, Relation.REPLACE):
            with pytest.raises(PrivacyError, match=r"same unit under the same relation|scores hide whole units"):
                BestOf(candidates=(first, second), sigma=2.0, delta=DELTA)
            continue
        whole = BestOf(candidates=(first, second), sigma=2.0, delta=DELTA).guarantee
        check_whole(whole, first.guarantee, second.guarantee, others=(Gaussian(2.0, relation=about),))
        assert whole.strength is weakest(first.guarantee.strength, second.guarantee.strength)


@pytest.mark.parametrize("model", MODELS)
def test_compositions_of_compositions(model):
    part = MODELS[model]
    if part.guarantee.relation is Relation.REPLACE and part.unit is Unit.AUTHOR:
        words = WORDS["weighted, replace"]
        whole = VocabularyThenTopics(
            vocabulary=words, topics=BestOf(candidates=(part, part), sigma=2.0, delta=DELTA), delta=DELTA
        ).guarantee
        if WORDS_BEFORE in part.guarantee.assumptions:  # it is seen through the choice
            assert weakest(whole.strength, Strength.CLAIMED) is whole.strength
            assert WORDS_OF_DATA in whole.assumptions
        assert whole.relation is Relation.REPLACE


def test_labels_of_output_perturbation_over_words_of_the_data():
    # What the command line builds, and what anybody can build by hand: the same label.
    by_hand = VocabularyThenTopics(vocabulary=WORDS["weighted, replace"], topics=MODELS["output"], delta=DELTA)
    settings = {"n_topics": 2, "epsilon": 3.0, "delta": DELTA, "unit": Unit.AUTHOR, "public": PUBLIC}
    by_name = Plan.topics(mechanism="output", vocabulary="weighted", **settings).build()
    assert by_hand.guarantee.strength is by_name.guarantee.strength is Strength.CLAIMED
    assert by_hand.guarantee.assumptions == by_name.guarantee.assumptions
    over_public = VocabularyThenTopics(vocabulary=WORDS["public"], topics=MODELS["output"], delta=DELTA)
    assert over_public.guarantee.strength is Strength.RANDOM


def test_calibrating_a_composition_keeps_its_relation():
    pipeline = VocabularyThenTopics(vocabulary=WORDS["weighted, replace"], topics=MODELS["laplace"], delta=DELTA)
    made = calibrate(pipeline, epsilon=1.0)
    assert made.guarantee.relation is Relation.REPLACE
    assert made.guarantee.epsilon == pytest.approx(1.0, rel=1e-6)


def test_a_price_of_unequal_relations_is_refused():
    with pytest.raises(PrivacyError, match="same relation"):
        epsilon_of((Gaussian(1.0), Gaussian(1.0, relation=Relation.REPLACE)), DELTA)
    with pytest.raises(PrivacyError, match="same relation"):
        Guarantee(events=(Gaussian(1.0), Gaussian(1.0, relation=Relation.REPLACE)), delta=DELTA, unit=Unit.AUTHOR,
                  strength=Strength.PROVED)  # fmt: skip
