"""The attack on n-grams at the paper's size keeps exact sums: releases are those of the mechanism itself."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from dptopics import Corpus, Unit
from dptopics.data.public_inputs import PublicNgrams
from dptopics.plan import Plan

pytest.importorskip("pyarrow")
sys.path.insert(0, str(Path(__file__).parents[2] / "experiments"))

WORDS = [f"a b c{i}" for i in range(12)]


@pytest.fixture
def corpus():
    counts = np.random.default_rng(3).poisson(0.8, (40, 12))
    counts[7] += 5  # the author who has the most
    authors = [f"u{i}" for i in range(40)]
    return Corpus.from_counts(sparse.csr_array(counts), WORDS, authors=authors, public_vocabulary=True)


@pytest.mark.parametrize("name, limits", [("laplace", {"max_total": 9}), ("bayes", {"max_words": 5})])
def test_kept_sums_change_no_release(corpus, name, limits):
    from ngrams_more import Summed

    prior = PublicNgrams.of(dict.fromkeys(WORDS, 10.0))
    settings = {"epsilon": 1.0, "delta": 1e-7, "unit": Unit.AUTHOR, "prior": prior}
    mechanism = Plan.ngrams(mechanism=name, **settings, **limits).build()
    bounded = corpus.bounded()
    kept = Summed(bounded)
    for seed in range(2):
        found = mechanism(kept, np.random.default_rng(seed)).value.probability
        np.testing.assert_array_equal(found, mechanism(bounded, np.random.default_rng(seed)).value.probability)


def test_the_pair_lacks_the_author_who_has_the_most(corpus):
    from ngrams_more import Pair

    pair = Pair(corpus, 12, 10)
    with_all, without = pair.tally(0), pair.tally(1)
    assert with_all.n_units == without.n_units + 1
    gone = with_all.count - without.count
    np.testing.assert_allclose(gone / gone.sum(), pair.own)
    assert pair.right(lambda side, rng: pair.own + 0.1 * side, 4, np.random.default_rng(0)) in (0.0, 1.0)
    assert pair.right(lambda side, rng: pair.own, 4, np.random.default_rng(0)) == 0.5
