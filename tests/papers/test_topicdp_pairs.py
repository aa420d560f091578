"""Fits that share work are those of the learner itself."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from dptopics import Corpus
from dptopics.learners.lda_variational import VariationalLda
from dptopics.topics.output.matrix import units_of
from dptopics.topics.output.neighbours import DrawnUnits, draw_pair

sys.path.insert(0, str(Path(__file__).parents[2] / "experiments"))


@pytest.fixture
def units():
    rng = np.random.default_rng(1)
    counts = rng.poisson(0.7, (60, 40))
    counts[:, 0] += 1
    authors = [f"u{i // 5}" for i in range(60)]
    words = [f"w{i:02}" for i in range(40)]
    corpus = Corpus.from_counts(sparse.csr_array(counts), words, authors=authors, public_vocabulary=True)
    return units_of(corpus.bounded())


def test_shared_fits_are_those_of_the_learner(units):
    from topicdp_pairs import SharedFits

    learner = VariationalLda(n_topics=3, passes=4)
    shared = SharedFits(units, learner)
    for seed in range(3):
        found = shared.pair(12, np.random.default_rng(seed))
        wanted = [learner(part) for part in draw_pair(DrawnUnits(units), 12, np.random.default_rng(seed))]
        np.testing.assert_allclose(found, wanted, atol=1e-5)
        assert np.abs(found[0] - found[1]).max() > 1e-3  # the two data sets are not the same
