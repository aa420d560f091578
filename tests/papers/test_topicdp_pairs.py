"""Fits that share work are those of the learner itself."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from dptopics import Corpus
from dptopics.learners.lda import VariationalLda
from dptopics.mechanisms.topics.output_matrix import units_of
from dptopics.mechanisms.topics.output_sensitivity import DrawnUnits, draw_pair

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


@pytest.mark.parametrize("n, apart", [(12, 1e-3), (400, 1e-5)])  # of 12 units, each drawn many times
def test_shared_fits_are_those_of_the_learner(units, n, apart):
    from topicdp_pairs import SharedFits

    learner = VariationalLda(n_topics=3, passes=4)
    shared = SharedFits(units, learner)
    for seed in range(3):
        found = shared.pair(n, np.random.default_rng(seed))
        wanted = [learner(part) for part in draw_pair(DrawnUnits(units), n, np.random.default_rng(seed))]
        np.testing.assert_allclose(found, wanted, atol=1e-5)
        assert np.abs(found[0] - found[1]).max() > apart  # the two data sets are not the same


def test_readings_of_the_noise():
    """ε split over the entries, γ_f as the norm of the matrix, and the scale in the authors' public code."""
    pytest.importorskip("pyarrow")
    from topicdp import deviations

    found = deviations(10, 5.0, 0.0421, 0.2)
    assert found["laplace, split"] == pytest.approx(100 * found["laplace"]) == pytest.approx(100 * 20 / 5)
    assert found["mvg, norm of f(D)"] < found["mvg"]
    assert deviations(10, 5.0, 0.0421, 10**0.5)["mvg, norm of f(D)"] == found["mvg"]
    # noise_generation_disctance.py: epsilon = 5, alpha = 11, sm_sensitivity = 0.0421
    assert found["renyi (public code)"] == pytest.approx(0.22622, rel=1e-4)
