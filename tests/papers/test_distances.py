"""Distances of two matrices of topics, against other code."""

import distances
import numpy as np
import pytest

from dptopics.core.errors import InputError


def test_distances_against_other_code():
    from scipy.stats import kendalltau

    rng = np.random.default_rng(0)
    first, second = rng.dirichlet(np.ones(12), (2, 5))
    difference = first - second
    assert distances.l1_distance(first, second) == pytest.approx(np.linalg.norm(difference, 1, axis=1).mean())
    assert distances.row_distance(first, second) == pytest.approx(np.linalg.norm(difference, 2, axis=1).mean())
    assert distances.rmse(first, second) == pytest.approx(np.linalg.norm(difference) / np.sqrt(difference.size))
    taus = [kendalltau(a, b).statistic for a, b in zip(first, second, strict=True)]
    assert distances.kendall_distance(first, second) == pytest.approx((1 - np.mean(taus)) / 2)


def test_the_papers_l1_is_rmse_times_a_root():
    # Wang et al. 2022: their "L1 distance" over their RMSE is √n when all rows are equally wrong.
    first = np.random.default_rng(1).dirichlet(np.ones(9), 4)
    second = first + 0.01
    assert distances.row_distance(first, second) / distances.rmse(first, second) == pytest.approx(3)


def test_matrices_must_fit():
    for measure in (distances.l1_distance, distances.row_distance, distances.rmse, distances.kendall_distance):
        with pytest.raises(InputError, match="one shape"):
            measure(np.ones((2, 3)), np.ones((3, 2)))
    with pytest.raises(InputError, match="at least two words"):
        distances.kendall_distance(np.ones((2, 1)), np.ones((2, 1)))
    assert distances.kendall_distance(np.array([[1.0, 2.0]]), np.array([[1.0, 1.0]])) == 0.5
