"""The greedy vocabulary as published: its threshold, its candidates, and that one author shows more than it allows."""

import numpy as np
import pytest
from scipy.stats import binom

from charging import charged
from dptopics import Corpus
from dptopics.core.errors import PrivacyError
from dptopics.data.bounded import string_keys
from dptopics.ledger.ledger import Unrecorded
from dptopics.mechanisms.vocabulary.policy import GreedyVocabulary
from dptopics.plan import Plan
from dptopics.privacy.guarantee import Strength, Unit
from dptopics.privacy.rng import secure_rng
from dptopics.published.vocabulary import GreedyAsPublished

TAIL = 0.1
MADE = {"scale": 2.0, "tail": TAIL, "max_words": 3, "delta": TAIL}


def neighbours(mechanism):
    """The example of docs/guarantees/greedy_vocabulary.md: the corpus with an author, and without."""
    n = int(mechanism.cutoff)
    assert mechanism.cutoff % 1 == pytest.approx(0.5)
    filled = [[word] for word in ("afirst", "asecond", "yfirst", "ysecond") for _ in range(n)]
    units = [*filled, ["afirst", "asecond"], ["afirst", "yfirst", "zfirst"], ["asecond", "ysecond", "zsecond"]]
    names = [f"author {i}" for i in range(len(units))]
    names = [names[i] for i in np.argsort(string_keys(names))]  # authors come in the order of hashes
    texts = [" ".join(w for i, w in enumerate(unit) for _ in range(len(unit) - i)) for unit in units]
    rows = [(a, t) for a, t in zip(names, texts, strict=True)]
    for some in (rows, [row for i, row in enumerate(rows) if i != len(filled)]):
        yield Corpus.from_texts([t for _, t in some], [a for a, _ in some]).bounded()


def half_a_unit_above(kind):
    low = kind(**MADE, alpha=0.0).cutoff
    return kind(**MADE, alpha=(np.ceil(low) + 0.5 - low) / 2.0)


def shown(mechanism, corpus, runs):
    return sum(any(w[0] == "z" for w in mechanism(corpus, secure_rng()).value.words) for _ in range(runs))


def test_threshold_and_candidates_as_published():
    mechanism = GreedyAsPublished.calibrated(epsilon=0.5, delta=1e-5, max_words=100)
    assert mechanism.threshold == pytest.approx(1 - np.log(2e-5) / 0.5)
    assert mechanism.threshold < GreedyVocabulary.calibrated(epsilon=0.5, delta=1e-5, max_words=100).threshold
    with_unit, without = neighbours(half_a_unit_above(GreedyAsPublished))
    for corpus, seen in ((with_unit, True), (without, False)):
        weight, candidate = half_a_unit_above(GreedyAsPublished).weights(corpus)
        assert ((weight > 0) == candidate).all()
        assert candidate[[i for i, w in enumerate(corpus.words) if w[0] == "z"]].all() == seen


def test_one_author_shows_words_of_others_more_often_than_allowed():
    """Words of weight zero without that author are never shown without; with, more often than δ = tail allows."""
    mechanism, runs, rare = half_a_unit_above(GreedyAsPublished), 3000, 1e-6
    with_unit, without = neighbours(mechanism)
    assert shown(mechanism, without, 200) == 0
    seen = shown(mechanism, with_unit, runs)
    assert binom.sf(seen - 1, runs, TAIL) < rare  # (ε, tail)-DP would allow at most tail, whatever ε
    sound = half_a_unit_above(GreedyVocabulary)
    assert all(sound.weights(corpus).candidate.all() for corpus in neighbours(sound))


def test_it_promises_nothing_and_asks_for_consent():
    plan = Plan.words(mechanism="greedy-published", epsilon=1.0, delta=1e-5, unit=Unit.AUTHOR)
    mechanism = plan.build()
    assert mechanism.guarantee.strength is Strength.NONE
    assert "one unit can let words of others appear" in " ".join(mechanism.guarantee.assumptions)
    corpus = Corpus.from_texts(["some words"], ["a"]).bounded()
    with pytest.raises(PrivacyError, match="--accept-unproven"):
        charged(Unrecorded(), mechanism, corpus, secure_rng())
    whole = Plan.topics(
        mechanism="variational", vocabulary="greedy-published", n_topics=2, epsilon=1.0, delta=1e-5, unit=Unit.AUTHOR
    ).build()
    assert whole.guarantee.strength is Strength.NONE
