"""scikit-learn's own checks of an estimator. What does not hold is listed, each with its reason."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from dptopics import PrivateTopics
from dptopics.core.errors import InputError, PrivacyWarning

# The checks feed fractions, and ours are counts: here they are cut to whole numbers on the way in.
NOT_OURS = {
    "check_fit2d_1feature": "refused with a message about topics and words, not one about features",
}


def whole(X):
    if sparse.issparse(X):
        return sparse.csr_array(X).astype(np.int64)
    try:
        numbers = np.asarray(X)
        numbers = X if numbers.dtype.kind == "c" else numbers.astype(float)
    except (TypeError, ValueError):
        return X
    return np.floor(numbers) if numbers is not X and numbers.ndim == 2 and np.isfinite(numbers).all() else X


class OfWholeNumbers(PrivateTopics):
    def fit(self, X, y=None, **settings):
        return super().fit(whole(X), y, **settings)

    def transform(self, X):
        return super().transform(whole(X))


def model(kind=OfWholeNumbers, **settings):
    return kind(n_topics=2, epsilon=50.0, unit="document", mechanism="variational", vocabulary="public", **settings)


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([model()], expected_failed_checks=lambda _: NOT_OURS)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_fractions_are_refused():
    with pytest.raises(InputError, match="whole numbers"):
        model(PrivateTopics).fit(np.full((4, 3), 0.5))


class Scored(PrivateTopics):
    def score(self, X, y=None):
        return 0.0


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_search_warns_wherever_its_fits_run(jobs):
    counts = np.random.default_rng(0).integers(0, 3, (20, 5))
    with pytest.warns(PrivacyWarning, match="Every fit spends"):
        GridSearchCV(model(Scored), {"n_topics": [2, 3]}, cv=2, n_jobs=jobs).fit(counts)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_topics_of_a_count_matrix_carry_names(form):
    counts = form(np.random.default_rng(0).integers(0, 3, (50, 4)))
    names = ["fever", "cough", "ward", "tea"]
    fitted = model(PrivateTopics).fit(counts, feature_names=names)
    assert sorted(fitted.vocabulary_) == sorted(names)
    assert fitted.transform(counts).shape == (50, 2)
    with pytest.raises(InputError, match="3 feature_names for 4 columns"):
        model(PrivateTopics).fit(counts, feature_names=names[:3])


def test_progress_is_shown_in_percent(capsys):
    counts = np.random.default_rng(0).integers(0, 3, (50, 4))
    model(PrivateTopics, progress=True).fit(counts)
    shown = capsys.readouterr().err
    assert "10 % 20 %" in shown
    assert shown.rstrip().endswith("100 %")
    model(PrivateTopics).fit(counts)
    assert capsys.readouterr().err == ""
