"""Private topics by moments: planted topics come back, the noise is what is priced, bad settings are refused."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from dptopics import Corpus, PrivateTopics
from dptopics.core.errors import InputError, PrivacyError
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.engines import memory
from dptopics.kernels.moments import document_norms
from dptopics.learners import spectral as tensor
from dptopics.learners.spectral import CountMoments
from dptopics.mechanisms.queries import grid_for
from dptopics.mechanisms.topics import spectral
from dptopics.mechanisms.topics.spectral import BINS, NormHistogram, SpectralTopics, bounds_from
from dptopics.plan import Plan
from dptopics.privacy import noise
from dptopics.privacy.events import Gaussian
from dptopics.privacy.guarantee import Unit

draw_gaussian = noise.gaussian
DELTA = 1e-6


def planted(n=4000, d=40, k=3, length=40, seed=0, docs_each=1):
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(d, 0.3), k)
    counts = rng.multinomial(length, rng.dirichlet(np.full(k, 1 / k), n) @ topics)
    words = [f"w{number:05}" for number in range(d)]
    authors = None if docs_each == 1 else [f"a{row // docs_each}" for row in range(n)]
    return Corpus.from_counts(counts, words, authors=authors, public_vocabulary=True), topics


def distance(topics, found):
    apart = np.abs(topics[:, None] - found[None]).sum(axis=2)
    return apart[linear_sum_assignment(apart)].mean()


def mechanism_for(epsilon, unit=Unit.DOCUMENT, k=3, **settings):
    return SpectralTopics.calibrated(n_topics=k, epsilon=epsilon, delta=DELTA, unit=unit, **settings)


@pytest.mark.parametrize("docs_each", [1, 2])
def test_planted_topics_come_back(docs_each):
    corpus, topics = planted(docs_each=docs_each)
    unit = Unit.DOCUMENT if docs_each == 1 else Unit.AUTHOR
    wide = {"bounds": (0.4, 0.16, 0.064)}
    for epsilon, allowed in ((1000.0, 0.06), (8.0, 0.15)):
        mechanism = mechanism_for(epsilon, unit, **wide)
        model = mechanism(corpus.bounded(unit=unit), np.random.default_rng(1)).value
        assert distance(topics, model.topic_word) < allowed
        np.testing.assert_allclose(model.topic_share, 1 / 3, atol=0.1)


def test_without_noise_and_bounds_it_is_the_learner(monkeypatch):
    corpus, _ = planted(n=600)
    monkeypatch.setattr(noise, "gaussian", lambda rng, sigma, size: np.zeros(size, np.int64))
    seen = []
    learn = spectral.parameters
    monkeypatch.setattr(spectral, "parameters", lambda moments, *rest: seen.append(moments) or learn(moments, *rest))
    mechanism = SpectralTopics(n_topics=3, sigma=1e-6, delta=DELTA, unit=Unit.DOCUMENT, bounds=(1, 1, 1))
    mechanism(corpus.bounded(), np.random.default_rng(0))
    (noisy,), exact = seen, CountMoments(corpus.counts())
    np.testing.assert_allclose(noisy.mean, exact.mean, atol=1e-6)
    np.testing.assert_allclose(noisy.second, exact.pairs(np.eye(40)), atol=1e-6)
    view = np.random.default_rng(2).normal(size=(40, 2))
    np.testing.assert_allclose(noisy.third(view, 1e3), exact.triples(view), atol=1e-3)


def test_noise_is_drawn_on_every_number_at_the_scale_that_is_priced(monkeypatch):
    calls = []

    def spy(rng, sigma, size):
        calls.append((sigma, size))
        return draw_gaussian(rng, sigma, size)

    monkeypatch.setattr(noise, "gaussian", spy)
    mechanism = SpectralTopics(n_topics=3, sigma=2.0, delta=DELTA, unit=Unit.DOCUMENT)
    corpus, _ = planted(n=50, d=7)
    mechanism(corpus.bounded(), np.random.default_rng(0))
    events = mechanism.guarantee.events
    assert [size for _, size in calls] == [(3 * BINS, 1), (1 + 7 + 28, 1), (1, 10), (4, 1)]
    for (sigma, _), event in zip(calls, events, strict=True):
        assert sigma * grid_for(1.0, event.sigma) == pytest.approx(event.sigma)
    # Together one Gaussian of multiplier sigma; the blocks at their bounds make a vector of norm one.
    assert sum(event.sigma**-2 for event in events) == pytest.approx(2.0**-2)
    bounds = np.array([0.3, 0.1, 0.03])
    assert np.linalg.norm(mechanism.weights(bounds) * [1.0, 0.3, 0.1]) == pytest.approx(1)
    assert isinstance(events[0], Gaussian)


def test_given_bounds_cost_nothing(monkeypatch):
    calls = []
    monkeypatch.setattr(noise, "gaussian", lambda rng, s, size: calls.append(size) or draw_gaussian(rng, s, size))
    mechanism = SpectralTopics(n_topics=3, sigma=2.0, delta=DELTA, unit=Unit.DOCUMENT, bounds=(0.3, 0.1, 0.03))
    corpus, _ = planted(n=50, d=7)
    mechanism(corpus.bounded(), np.random.default_rng(0))
    assert calls == [(1 + 7 + 28, 1), (1, 10), (4, 1)]
    assert sum(event.sigma**-2 for event in mechanism.guarantee.events) == pytest.approx(2.0**-2)


def test_histogram_of_norms():
    corpus, _ = planted(n=300, docs_each=3)
    exact = corpus.bounded().bounded_sum(NormHistogram(), bound=1.0, grid=2.0**-24)[:, 0] * 2.0**-24 * 3**0.5
    counts = corpus.counts()
    norms = document_norms(counts.doc_start, counts.count).reshape(100, 3, 3).mean(axis=1)  # authors in order
    for j in range(3):
        place = np.clip(np.floor(-4 * np.log2(norms[:, j]) / (j + 1)), 0, BINS - 1).astype(int)
        np.testing.assert_allclose(exact[j * BINS :][:BINS], np.bincount(place, minlength=BINS), atol=1e-3)


def test_bounds_that_few_exceed():
    corpus, _ = planted(n=5000)
    exact = corpus.bounded().bounded_sum(NormHistogram(), bound=1.0, grid=2.0**-24)[:, 0] * 2.0**-24
    counts = corpus.counts()
    norms = document_norms(counts.doc_start, counts.count)
    for above in (0.05, 0.3):
        over = (norms > bounds_from(exact, 1e-9, above)).mean(axis=0)
        np.testing.assert_allclose(over, above, atol=0.04)  # by proportion inside a bin
    rng = np.random.default_rng(0)
    for few in (0.0, 0.01):  # nothing there, or far less than the noise: no wild bounds, and no error
        drawn = [bounds_from(few * exact + rng.normal(0, 100, exact.size), 100.0, 0.1) for _ in range(200)]
        assert np.isfinite(drawn).all()
        assert np.mean(np.array(drawn)[:, 0] > 0.9) < 0.1


def test_smaller_blocks_change_nothing(monkeypatch):
    corpus, _ = planted(n=60, d=7)
    releases = []
    for numbers in (1 << 23, 25, 1):  # in one row of a block: all units, two of them, one
        monkeypatch.setattr(memory, "BLOCK_NUMBERS", numbers)
        releases.append(mechanism_for(5.0)(corpus.bounded(), np.random.default_rng(0)).value)
    np.testing.assert_array_equal(releases[0].topic_word, releases[1].topic_word)
    np.testing.assert_array_equal(releases[0].topic_word, releases[2].topic_word)


def test_symmetric_noise_and_its_edge():
    rng = np.random.default_rng(3)
    d = 300
    square = spectral.unpacked_square(rng.normal(size=d * (d + 1) // 2), d)
    np.testing.assert_array_equal(square, square.T)
    assert np.diag(square).var() == pytest.approx(1, abs=0.3)
    assert square[np.triu_indices(d, 1)].var() == pytest.approx(0.5, abs=0.02)
    assert np.linalg.eigvalsh(square)[-1] == pytest.approx((2 * d) ** 0.5, rel=0.05)


def test_unpacked_cube_keeps_the_norm():
    vector = np.random.default_rng(4).normal(size=20)
    cube = spectral.unpacked_cube(vector, 4)
    for turned in (cube.transpose(0, 2, 1), cube.transpose(2, 1, 0)):
        np.testing.assert_array_equal(cube, turned)
    assert np.linalg.norm(cube) == pytest.approx(np.linalg.norm(vector))


def test_products_of_noisy_means_are_rid_of_the_noise(monkeypatch):
    # M₂ and T must not keep squares of the noise on M₁.
    rng = np.random.default_rng(5)
    d, noise_std, runs = 4, 0.3, 4000
    mean, view = rng.dirichlet(np.ones(d)), rng.normal(size=(d, 2))
    second, third = [], []

    def eigenpairs(apply, size, n, key):
        second.append(apply(np.eye(size)))
        return np.ones(2), view

    monkeypatch.setattr(tensor, "top_eigenpairs", eigenpairs)
    monkeypatch.setattr(
        tensor, "orthogonal_components", lambda cube, key: third.append(cube) or (np.ones(2), np.eye(2))
    )
    zero = np.zeros((2, 2, 2))
    for number in range(runs + 1):
        variance = 0.0 if number == 0 else noise_std**2  # the first is exact
        noisy = mean + (rng.normal(0, noise_std, d) if number else 0.0)
        moments = spectral._NoisyMoments(noisy, variance, 1e-9, np.eye(d), lambda view, most: zero, 1.0)
        tensor.parameters(moments, 2, 1.0)
    np.testing.assert_allclose(np.mean(second[1:], axis=0), second[0], atol=0.02)
    assert np.abs(np.mean(third[1:], axis=0) - third[0]).max() < 6 * np.std(third[1:], axis=0).max() / runs**0.5


def test_what_noise_leaves_open_is_filled_by_frequencies():
    rng = np.random.default_rng(8)
    common, topics = rng.dirichlet(np.ones(50)), rng.dirichlet(np.full(50, 0.1), 3)
    clear = spectral._filled(topics, topics, common, np.zeros(3))
    assert np.abs(clear - topics).sum(axis=1).max() < 0.005
    noisy = topics + rng.normal(0, 5.0, topics.shape)
    filled = spectral._filled(noisy, tensor.on_simplex(noisy), common, np.full(3, 5.0))
    assert np.abs(filled - common).sum(axis=1).max() < 0.1
    for rows in (clear, filled):
        np.testing.assert_allclose(rows.sum(axis=1), 1)
        assert (rows > 0).all()


@pytest.mark.parametrize("texts", [["knee skin"] * 5, ["knee skin rash"] * 30, ["knee knee knee"]])
def test_strange_data_gives_noise_but_no_error(texts):
    # Documents too short, all equal, a single one: what the data lack must not show as an error.
    words = Vocabulary.of(["cast", "knee", "rash", "skin"])
    corpus = Corpus.from_texts(texts).bounded().limited(vocabulary=words)
    model = mechanism_for(1.0, k=2)(corpus, np.random.default_rng(0)).value
    assert np.isfinite(model.topic_word).all()
    assert (model.topic_word > 0).all()
    np.testing.assert_allclose(model.topic_word.sum(axis=1), 1)
    assert np.isfinite(model.noise_std).all()
    np.testing.assert_allclose(model.transform(["knee skin"]).sum(), 1)


def test_deviation_is_that_of_the_weights():
    corpus, _ = planted(n=3000)
    mechanism = mechanism_for(20.0, bounds=(0.4, 0.16, 0.064))
    bounded, rng = corpus.bounded(), np.random.default_rng(6)
    runs = [mechanism(bounded, rng).value for _ in range(20)]
    first = runs[0].topic_word
    aligned = []
    for run in runs:
        apart = np.abs(first[:, None] - run.topic_word[None]).sum(axis=2)
        aligned.append(run.topic_word[linear_sum_assignment(apart)[1]])
    heavy = first > 0.02  # the others are cut off at zero
    spread = np.std(aligned, axis=0)[heavy].mean()
    assert 0.5 < spread / runs[0].noise_std.mean() < 2


@pytest.mark.parametrize("name", ["alpha0", "bound_share", "count_share", "mean_share", "pair_share"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_settings_must_be_positive(name, value):
    with pytest.raises(InputError, match=f"{name} must be a (positive )?number"):
        SpectralTopics(n_topics=2, sigma=1.0, delta=DELTA, **{name: value})


def test_other_refusals():
    mechanism = SpectralTopics(n_topics=2, sigma=1.0, delta=DELTA, unit=Unit.DOCUMENT)
    with pytest.raises(InputError, match="leave a share for triples"):
        replace(mechanism, pair_share=0.95)
    for bounds in ((0.2, 0.04), (0.2, 0.04, 0.0), (0.2, 0.04, float("nan"))):
        with pytest.raises(InputError, match="bounds must be three positive numbers"):
            replace(mechanism, bounds=bounds)
    with pytest.raises(InputError, match="clipped must lie strictly between 0 and 1"):
        replace(mechanism, clipped=1.0)
    with pytest.raises(InputError, match="n_topics must be at least 2"):
        replace(mechanism, n_topics=1)
    with pytest.raises(InputError, match="max_words must be at least 1"):
        replace(mechanism, max_words=0)
    with pytest.raises(PrivacyError, match="words of this corpus are private"):
        mechanism.check(Corpus.from_texts(["knee skin rash"]).bounded())
    with pytest.raises(InputError, match="at most 10,000 words, got 10,001"):
        mechanism.check_size(10_001)
    corpus, _ = planted(n=10, d=3)
    with pytest.raises(InputError, match="4 topics need at least as many words"):
        replace(mechanism, n_topics=4).check(corpus.bounded())


def test_by_name():
    settings = {"n_topics": 3, "epsilon": 2.0, "delta": DELTA, "unit": Unit.AUTHOR}
    pipeline = Plan.topics(mechanism="spectral", **settings).build()
    assert pipeline.guarantee.epsilon == pytest.approx(2.0, rel=1e-6)
    assert pipeline.vocabulary.max_size == 1000
    assert Plan.topics(mechanism="spectral", alpha0=0.5, max_vocabulary=50, **settings).build().topics.alpha0 == 0.5
    with pytest.raises(InputError, match="has no setting steps"):
        Plan.topics(mechanism="spectral", steps=3, **settings).build()
    with pytest.raises(InputError, match="at most 10,000 words"):
        Plan.topics(mechanism="spectral", max_vocabulary=20_000, **settings).build()
    with pytest.raises(InputError, match="at most 10,000 words"):
        Plan.topics(mechanism="spectral", vocabulary=Vocabulary.of(f"w{n}" for n in range(10_001)), **settings).build()


def test_estimator():
    texts = ["fracture knee cast bone", "rash skin cream itch"] * 200
    words = Vocabulary.public(["bone", "cast", "cream", "fracture", "itch", "knee", "rash", "skin"])
    model = PrivateTopics(2, epsilon=8.0, mechanism="spectral", vocabulary=words, unit="document").fit(texts)
    assert model.guarantee_.strength == "proved"
    assert {frozenset(top) for top in model.top_words(4)} == {frozenset(text.split()) for text in texts[:2]}


def test_room_does_not_grow_with_one_authors_documents():
    """Pairs of words, not pairs of each document: 800 documents of 60 words would take 18 MB, ten times as many 180."""
    counts = np.ones((800, 60), int)
    corpus = Corpus.from_counts(counts, [f"w{i:02d}" for i in range(60)], authors=["a"] * 800, public_vocabulary=True)
    found = corpus.bounded().fold(lambda seen, block: [*seen, spectral._Pairs(60, np.ones(3), np.ones(3))(block)], [])
    assert sum(rows.values.size for rows in found) == 1 + 60 + 60 * 61 // 2
