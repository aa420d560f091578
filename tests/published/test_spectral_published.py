"""The four published spectral configurations: sensitivities, the noise of every edge, Procedure 1, refusals."""

from dataclasses import replace
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from charging import charged
from dptopics import Corpus
from dptopics.core.errors import InputError, NothingReleased, PrivacyError
from dptopics.core.vocabulary import Vocabulary
from dptopics.learners.spectral import SpectralLda, coefficients, orthogonal_components, third_moment
from dptopics.ledger.ledger import Ledger, Unrecorded
from dptopics.plan import Plan
from dptopics.privacy import noise
from dptopics.privacy.events import Failure, Gaussian, Laplace, Noise
from dptopics.privacy.guarantee import Unit
from dptopics.privacy.rng import secure_rng
from dptopics.published import spectral_edges
from dptopics.published.spectral import (
    SpectralComponentsTopics,
    SpectralMomentsTopics,
    SpectralOutputTopics,
    SpectralTensorTopics,
)

DELTA = 1e-3
CONFIGURATIONS = [SpectralMomentsTopics, SpectralTensorTopics, SpectralComponentsTopics, SpectralOutputTopics]
AFTER_WHITENING = CONFIGURATIONS[1:]
every = pytest.mark.parametrize("kind", CONFIGURATIONS)
with_bounds = pytest.mark.parametrize("kind", AFTER_WHITENING)


def mechanism_for(kind, scale=1e-6, k=3, **more):
    return replace(kind.template(n_topics=k, delta=DELTA, unit=Unit.DOCUMENT, **more), scale=scale)


def planted(n=2000, d=12, k=3, length=30, seed=0):
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(d, 0.3), k)
    alpha = np.linspace(0.6, 0.1, k)
    counts = rng.multinomial(length, rng.dirichlet(alpha / alpha.sum(), n) @ topics)
    return Corpus.from_counts(counts, [f"w{i:03}" for i in range(d)], public_vocabulary=True), topics


def corpus_of(rows):
    counts = np.array(rows)
    return Corpus.from_counts(counts, [f"w{i}" for i in range(counts.shape[1])], public_vocabulary=True).bounded()


def whole(data, alpha0):
    """M₂ and M₃ with all their numbers."""
    return data.lda_pairs(alpha0), third_moment(data, np.eye(data.mean.size), alpha0)


# --- sensitivities ---

DOCUMENT = st.lists(st.integers(0, 4), min_size=3, max_size=3).filter(any)


@settings(max_examples=60, deadline=None)
@given(st.lists(DOCUMENT, min_size=2, max_size=5), DOCUMENT, st.sampled_from([0.1, 1.0, 50.0]))
def test_one_unit_for_another_moves_the_moments_by_at_most_their_sensitivity(documents, other, alpha0):
    first, second = (spectral_edges.exact_moments(corpus_of(rows)) for rows in (documents, [other, *documents[1:]]))
    assert first.n_units == second.n_units == len(documents)
    moved = [one - two for one, two in zip(whole(first, alpha0), whole(second, alpha0), strict=True)]
    for change, sensitivity in zip(
        moved, (spectral_edges.pair_sensitivity, spectral_edges.triple_sensitivity), strict=True
    ):
        assert np.abs(change).sum() <= sensitivity(alpha0, len(documents), 1) * (1 + 1e-9)
        assert np.linalg.norm(change) <= sensitivity(alpha0, len(documents), 2) * (1 + 1e-9)
    # Weyl: what Procedure 1 relies on.
    values = [np.linalg.eigvalsh(data.lda_pairs(alpha0)) for data in (first, second)]
    assert np.abs(values[0] - values[1]).max() <= spectral_edges.pair_sensitivity(alpha0, len(documents)) * (1 + 1e-9)


def test_published_constants_are_too_small():
    # The body's 2/N, and H.2's (2 + 4b + 6c)/N, against documents of one word each.
    alpha0, n = 0.1, 1000
    rows = [[0, 0, 6, 0]] * (n - 1)
    first, second = (spectral_edges.exact_moments(corpus_of([row, *rows])) for row in ([6, 0, 0, 0], [0, 6, 0, 0]))
    pairs, triples = (
        np.abs(one - two).sum() * n for one, two in zip(whole(first, alpha0), whole(second, alpha0), strict=True)
    )
    a, b, c = coefficients(alpha0)
    assert 2 < 1.999 * (1 + 2 * a) < pairs <= spectral_edges.pair_sensitivity(alpha0, n, 1) * n  # tight
    assert 1.1 * (2 + 4 * b + 6 * c) < triples <= spectral_edges.triple_sensitivity(alpha0, n, 1) * n


@pytest.mark.parametrize(
    ("alpha0", "pairs", "triples"),
    [(1.0, (4.0, 2.828427), (8.0, 5.656854)), (2.0, (14 / 3, 3.299832), (12.0, 8.485281))],
)
def test_golden_sensitivities(alpha0, pairs, triples):
    # DeCarolis et al. 2020: (2 + 4a)/N (H.1), (2 + 12b + 6c)/N (H.2, three B terms); L2: √2(1 + 2a), √2(1 + 6b + 3c)
    for norm, pair, triple in zip((1, 2), pairs, triples, strict=True):
        assert spectral_edges.pair_sensitivity(alpha0, 10, norm) * 10 == pytest.approx(pair, rel=1e-6)
        assert spectral_edges.triple_sensitivity(alpha0, 10, norm) * 10 == pytest.approx(triple, rel=1e-6)


def test_golden_whitened_sensitivity():
    # Equation 64 of DeCarolis et al. 2020 at α₀ = 1, N = 1000, k = 2, σ_k = 0.1, σ_k+1 = 0.
    by_hand = 7 / 3 * 8 * (0.002828427 / (0.1 * sqrt(0.05))) ** 3 + 0.005656854 * 2**1.5 / 0.05**1.5
    assert spectral_edges.whitened_sensitivity(1.0, 1000, 2, 0.1) == pytest.approx(by_hand, rel=1e-6)
    assert spectral_edges.component_sensitivity(0.5, 2, 0.1) == pytest.approx(2 * 2 * sqrt(2) * 0.5 / 0.1)


def test_authors_count_once_and_short_documents_as_nothing():
    counts = np.array([[3, 0, 0], [0, 3, 0], [0, 0, 3], [1, 1, 0]])
    corpus = Corpus.from_counts(counts, ["a", "b", "c"], authors=["x", "x", "y", "z"], public_vocabulary=True)
    data = spectral_edges.exact_moments(corpus.bounded())
    assert data.n_units == 3
    np.testing.assert_allclose(data.mean, [1 / 6, 1 / 6, 1 / 3])
    np.testing.assert_allclose(data.second, np.diag([1 / 6, 1 / 6, 1 / 3]))
    np.testing.assert_allclose(data.triples(np.eye(3))[[0, 1, 2], [0, 1, 2], [0, 1, 2]], [1 / 6, 1 / 6, 1 / 3])


# --- noise ---


class Watched:
    """Records every draw: its kind, its scale in the units of the data, and how many numbers."""

    def __init__(self, monkeypatch):
        self.draws, self.grids = [], []
        fine_grid, draw = spectral_edges.fine_grid, {Noise.GAUSSIAN: noise.gaussian, Noise.LAPLACE: noise.laplace}

        def grid(bound, sigma):
            self.grids.append(fine_grid(bound, sigma))
            return self.grids[-1]

        def spy(kind):
            def drawn(rng, scale, size):
                self.draws.append((kind, scale * self.grids[-1], int(np.prod(size))))
                return draw[kind](rng, scale, size)

            return drawn

        monkeypatch.setattr(spectral_edges, "fine_grid", grid)
        monkeypatch.setattr(noise, "gaussian", spy(Noise.GAUSSIAN))
        monkeypatch.setattr(noise, "laplace", spy(Noise.LAPLACE))


@every
def test_every_edge_is_noised_at_the_scale_that_is_priced(kind, monkeypatch):
    corpus, _ = planted(n=400)
    d, k, mechanism = 12, 3, mechanism_for(kind, scale=1e-3)
    data = spectral_edges.exact_moments(corpus.bounded())
    watched = Watched(monkeypatch)
    seen = []
    for name in ("whitened_sensitivity", "component_sensitivity"):
        made = getattr(spectral_edges, name)
        monkeypatch.setattr(spectral_edges, name, lambda *rest, made=made: seen.append(made(*rest)) or seen[-1])
    mechanism(corpus.bounded(), np.random.default_rng(0))
    scales, pairs = mechanism.edge_scales, spectral_edges.pair_sensitivity(1.0, 400)
    square = (Noise.GAUSSIAN, scales.get("e8", 0) * pairs, d * (d + 1) // 2)
    if kind is SpectralMomentsTopics:
        triples = spectral_edges.triple_sensitivity(1.0, 400)
        wanted = [(Noise.GAUSSIAN, scales["e4"] * pairs, d * (d + 1) // 2), square]
        wanted += [(Noise.GAUSSIAN, scales["e3"] * triples, k**3)]
    else:
        half = 1 if kind is SpectralTensorTopics else 2  # two bounds share one draw: each gets twice the noise
        wanted = [(Noise.LAPLACE, half * scales["bounds"] * pairs, 1)]
        wanted += [(Noise.LAPLACE, half * scales["bounds"] * 2 / 400, 1)] if half == 2 else []
        wanted += [square] if kind is not SpectralOutputTopics else []
        if kind is SpectralTensorTopics:
            wanted += [(Noise.GAUSSIAN, scales["e6"] * seen[0], k * (k + 1) * (k + 2) // 6)]
        elif kind is SpectralComponentsTopics:
            wanted += [(Noise.GAUSSIAN, scales["e7"] * seen[1], k * (k + 1))]
        else:
            wanted += [(Noise.GAUSSIAN, watched.draws[-1][1], k * (d + 1))]
            values, vectors = data.eigenpairs(k, 1.0)
            weights, _ = orthogonal_components(third_moment(data, vectors / np.sqrt(values), 1.0))
            each = seen[1] / sqrt(2 * k)  # at the private bounds; σ_k itself is far above its noise here
            far = weights[0] * sqrt(values[0]) * (each + pairs / values[-1]) + sqrt(values[0] + pairs) * each
            assert watched.draws[-1][1] == pytest.approx(scales["e9"] * sqrt(2 * k) * 1.5 * far, rel=0.1)
    for drawn, planned in zip(watched.draws, wanted, strict=True):
        assert (drawn[0], drawn[2]) == (planned[0], planned[2])
        assert drawn[1] == pytest.approx(planned[1], rel=1e-3)
        assert drawn[1] >= planned[1]  # rounding to the grid is paid for
    # The guarantee is made of the same numbers.
    priced = mechanism.guarantee.events
    assert [e.sigma for e in priced if isinstance(e, Gaussian)] == [scales[e] for e in mechanism.edges if e != "bounds"]
    assert [e.scale for e in priced if isinstance(e, Laplace)] == [scales[e] for e in mechanism.edges if e == "bounds"]
    n_bounds = {SpectralMomentsTopics: 0, SpectralTensorTopics: 1}.get(kind, 2)
    assert [e.probability for e in priced if isinstance(e, Failure)] == [DELTA / 10] * n_bounds


def test_pure_form_noises_every_triple(monkeypatch):
    corpus, _ = planted(n=400, d=6)
    mechanism = SpectralMomentsTopics.calibrated(
        n_topics=3, epsilon=2.0, delta=DELTA, unit=Unit.DOCUMENT, noise="laplace"
    )
    watched = Watched(monkeypatch)
    mechanism(corpus.bounded(), np.random.default_rng(0))
    pairs, triples = spectral_edges.pair_sensitivity(1.0, 400, 1), spectral_edges.triple_sensitivity(1.0, 400, 1)
    each = [pairs / (2.0 * 0.3)] * 2 + [triples / (2.0 * 0.4)] * 6  # Δ/ε of the edge; d² numbers at a time
    assert [draw[0] for draw in watched.draws] == [Noise.LAPLACE] * 8
    assert [draw[2] for draw in watched.draws] == [21, 21] + [36] * 6
    np.testing.assert_allclose([draw[1] for draw in watched.draws], each, rtol=1e-3)
    assert mechanism.guarantee.epsilon_at(0.0) == pytest.approx(2.0)


@pytest.mark.parametrize("kind", Noise)
def test_noise_on_pairs_is_symmetric_and_less_off_the_diagonal(kind, monkeypatch):
    seen = []
    monkeypatch.setattr(
        spectral_edges,
        "top_eigenpairs",
        lambda apply, d, n, key: seen.append(apply(np.eye(d))) or (np.ones(n), np.eye(d)[:, :n]),
    )
    data = spectral_edges.exact_moments(corpus_of([[3, 0, 0, 0]] * 5))
    rng = np.random.default_rng(1)
    for _ in range(3000):
        spectral_edges.noisy_pairs(data, 2, 1.0, 1.0, rng, kind)
    noisy = np.array(seen) - data.lda_pairs(1.0)
    np.testing.assert_array_equal(noisy, noisy.transpose(0, 2, 1))
    unit = spectral_edges.pair_sensitivity(1.0, 5, kind.norm) * (1 if kind is Noise.GAUSSIAN else sqrt(2))
    off = np.triu_indices(4, 1)
    assert noisy[:, range(4), range(4)].std() == pytest.approx(unit, rel=0.05)
    assert noisy[:, *off].std() == pytest.approx(unit / (sqrt(2) if kind is Noise.GAUSSIAN else 2), rel=0.05)


@pytest.mark.parametrize("kind", Noise)
def test_noise_on_triples_is_that_of_all_numbers_seen_through_the_axes(kind):
    rng = np.random.default_rng(2)
    view = rng.normal(size=(4, 2))
    mechanism = mechanism_for(SpectralMomentsTopics, scale=1.0, k=2, noise=kind)
    drawn = np.array([mechanism._triple_noise(100, view, rng).reshape(-1) for _ in range(4000)])
    noise_std = mechanism.edge_scales["e3"] * spectral_edges.triple_sensitivity(1.0, 100, kind.norm)
    noise_std *= 1 if kind is Noise.GAUSSIAN else sqrt(2)
    # The slow twin: covariance of E(W, W, W), made symmetric, for independent numbers in E.
    turns = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    each = np.einsum("ai,bj,cl->abcijl", view, view, view)
    each = sum(each.transpose(0, 1, 2, *(3 + t for t in turn)) for turn in turns) / 6
    each = each.reshape(64, 8)
    covariance = noise_std**2 * each.T @ each
    np.testing.assert_allclose(np.cov(drawn.T), covariance, atol=0.12 * covariance.max())
    np.testing.assert_allclose(drawn.mean(axis=0), 0, atol=6 * sqrt(covariance.max() / 4000))


@every
def test_with_little_noise_it_is_the_learner(kind):
    corpus, topics = planted()
    found = mechanism_for(kind, scale=1e-9)(corpus.bounded(), np.random.default_rng(0)).value.topic_word
    exact = SpectralLda(n_topics=3)(corpus.counts())
    apart = np.abs(exact[:, None] - found[None]).sum(axis=2)
    np.testing.assert_allclose(apart[linear_sum_assignment(apart)], 0, atol=1e-3)
    apart = np.abs(topics[:, None] - found[None]).sum(axis=2)
    assert apart[linear_sum_assignment(apart)].mean() < 0.2


def test_axes_that_are_led_back_through_others_agree():
    # The same matrix, eigenvectors of the other sign and order: what comes back must not notice.
    vectors = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 3)))[0]
    values = np.array([2.0, 2.0, 1.0])
    other = vectors[:, [1, 0, 2]] * [1, -1, -1]
    np.testing.assert_allclose(
        spectral_edges.whitening_like(values, vectors, other), other / np.sqrt(values), atol=1e-12
    )


# --- Procedure 1 ---


def test_lower_bound_holds_but_for_its_tail():
    rng = np.random.default_rng(3)
    lows = [spectral_edges.lower_bound("it", 1.0, 0.01, 1.0, 0.05, rng) for _ in range(4000)]
    assert np.mean(np.array(lows) > 1.0) == pytest.approx(0.05, abs=0.02)
    assert np.mean(lows) == pytest.approx(1 - 0.01 * log(10), abs=1e-3)


@with_bounds
def test_refusal_explains_itself(kind):
    corpus, _ = planted(n=60)
    mechanism = kind.calibrated(n_topics=3, epsilon=1.0, delta=DELTA, unit=Unit.DOCUMENT)
    with pytest.raises(NothingReleased, match=r"lower bound on .* is 0.*the budget was charged.*Give more data"):
        charged(Unrecorded(), mechanism, corpus.bounded(), secure_rng(), accept_unproven=True)


def test_configuration_1_is_charged_to_a_ledger_of_its_relation(tmp_path):
    corpus, _ = planted(n=60)
    terms = {"epsilon": 2.0, "delta": 1e-2, "unit": "document"}
    mechanism = SpectralMomentsTopics.calibrated(n_topics=3, epsilon=1.0, delta=DELTA, unit=Unit.DOCUMENT)
    ledger = Ledger.create(tmp_path / "a.ledger", relation="replace", **terms)
    charged(ledger, mechanism, corpus.bounded(), secure_rng(), accept_unproven=True)
    assert len(ledger.receipts()) == 1
    other = Ledger.create(tmp_path / "b.ledger", **terms)
    with pytest.raises(PrivacyError, match="one ledger, one unit, one relation"):
        charged(other, mechanism, corpus.bounded(), secure_rng(), accept_unproven=True)


# --- bad input ---

SHORT = [[1, 1, 0, 0]] * 40
EQUAL = [[3, 2, 1, 1]] * 40
RANK_2 = [[6, 0, 0, 0], [0, 6, 0, 0]] * 20
SAME_SIZE = [[6, 0, 0, 0], [0, 6, 0, 0], [0, 0, 6, 0]] * 20


@with_bounds
@pytest.mark.parametrize("rows", [SHORT, EQUAL, RANK_2], ids=["short", "all equal", "rank 2"])
def test_data_without_three_topics_are_refused(kind, rows):
    # However little noise there is: there is no inverse, and the message says no more than that.
    for scale in (1e-9, 1.0):
        with pytest.raises(NothingReleased, match="smallest eigenvalue that is needed") as refused:
            mechanism_for(kind, scale=scale)(corpus_of(rows), np.random.default_rng(0))
        assert "w0" not in str(refused.value)


@pytest.mark.parametrize("rows", [SHORT, EQUAL, RANK_2, SAME_SIZE, [[6, 0, 0, 0]]])
@pytest.mark.parametrize("kind", Noise)
def test_moments_of_any_data_can_be_released(rows, kind):
    model = mechanism_for(SpectralMomentsTopics, scale=1.0, noise=kind)(corpus_of(rows), np.random.default_rng(0)).value
    assert np.isfinite(model.topic_word).all()
    np.testing.assert_allclose(model.topic_word.sum(axis=1), 1)


@pytest.mark.parametrize("kind", [SpectralComponentsTopics, SpectralOutputTopics])
def test_topics_of_the_same_size_have_no_gap(kind):
    with pytest.raises(NothingReleased, match="gap between topics"):
        mechanism_for(kind, scale=1e-3)(corpus_of(SAME_SIZE), np.random.default_rng(0))
    topics = mechanism_for(SpectralTensorTopics, scale=1e-9)(corpus_of(SAME_SIZE), np.random.default_rng(0)).value
    np.testing.assert_allclose(np.sort(topics.topic_word.max(axis=1)), 1, atol=1e-3)


@every
def test_settings(kind):
    mechanism = mechanism_for(kind)
    for name in ("scale", "alpha0"):
        for value in (0.0, -1.0, float("nan"), float("inf")):
            with pytest.raises(InputError, match=f"{name} must be a (positive )?number"):
                replace(mechanism, **{name: value})
    with pytest.raises(InputError, match="n_topics must be at least 2"):
        replace(mechanism, n_topics=1)
    with pytest.raises(InputError, match="shares must add up to 1"):
        replace(mechanism, shares=tuple(share / 2 for share in mechanism.shares))
    for shares in ((1.0,), (1.5, *mechanism.shares[2:], -0.5)):
        with pytest.raises(InputError, match="positive numbers, one for each"):
            replace(mechanism, shares=shares)
    if kind is not SpectralMomentsTopics:
        with pytest.raises(InputError, match="tail must lie between 0 and"):
            replace(mechanism, tail=0.5)
    with pytest.raises(InputError, match="13 topics need at least as many words"):
        replace(mechanism, n_topics=13).check(planted(n=10)[0].bounded())


def test_by_name():
    words = Vocabulary.of(f"w{i:03}" for i in range(12))
    settings = {"n_topics": 3, "epsilon": 2.0, "delta": DELTA, "unit": Unit.DOCUMENT}
    for number in range(1, 5):
        mechanism = Plan.topics(mechanism=f"spectral-{number}", vocabulary=words, alpha0=0.5, **settings).build()
        assert (mechanism.name, mechanism.alpha0, mechanism.vocabulary) == (f"spectral-{number}", 0.5, words)
        assert mechanism.guarantee.epsilon == pytest.approx(2.0, rel=1e-6)
        with pytest.raises(PrivacyError, match="list of public words"):
            Plan.topics(mechanism=f"spectral-{number}", vocabulary="weighted", **settings).build()
        with pytest.raises(InputError, match="has no setting steps"):
            Plan.topics(mechanism=f"spectral-{number}", vocabulary=words, steps=3, **settings).build()
        with pytest.raises(InputError, match="at most 2,000 words"):
            Plan.topics(
                mechanism=f"spectral-{number}", vocabulary=Vocabulary.of(f"w{i}" for i in range(2001)), **settings
            ).build()
    pure = Plan.topics(mechanism="spectral-1", vocabulary=words, noise="laplace", **settings).build()
    assert pure.noise is Noise.LAPLACE
    with pytest.raises(InputError, match="at most 500 words"):
        Plan.topics(
            mechanism="spectral-1", vocabulary=Vocabulary.of(f"w{i}" for i in range(501)), noise="laplace", **settings
        ).build()
