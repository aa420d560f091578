"""Spectral configurations with the sensitivities that the paper prints: less noise, and refuted by arithmetic."""

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from spectral_theorems import Spectrum, promised_loss
from test_spectral_published import CONFIGURATIONS, corpus_of, planted, whole

from dptopics.core.errors import InputError
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.public_inputs import PublicInput
from dptopics.plan import Plan
from dptopics.privacy import noise
from dptopics.privacy.guarantee import Strength, Unit
from dptopics.published import spectral_edges
from dptopics.published.spectral import SpectralMomentsTopics
from dptopics.published.spectral_edges import FORMULAS, Sensitivities

PRINTED, CORRECTED = FORMULAS[Sensitivities.PRINTED], FORMULAS[Sensitivities.CORRECTED]
WORDS = Vocabulary.public(["a", "b", "c", "d"])
every = pytest.mark.parametrize("kind", CONFIGURATIONS)


def made(kind, **more):
    return replace(kind.template(n_topics=3, delta=1e-3, unit=Unit.DOCUMENT, **more), scale=1e-3)


@pytest.mark.parametrize("alpha0", [0.1, 1.0, 10.0])
def test_one_document_for_another_moves_the_moments_by_more_than_is_printed(alpha0):
    rest = [[0, 0, 6]] * 20
    first, second = (spectral_edges.exact_moments(corpus_of([row, *rest])) for row in ([6, 0, 0], [0, 6, 0]))
    for one, other in zip(whole(first, alpha0), whole(second, alpha0), strict=True):
        moved = np.linalg.norm(one - other)
        assert moved > 1.3 * PRINTED.pairs(alpha0, 21) == 1.3 * PRINTED.triples(alpha0, 21)
    pairs = whole(first, alpha0)[0] - whole(second, alpha0)[0]
    assert np.linalg.norm(pairs) <= CORRECTED.pairs(alpha0, 21)
    assert np.abs(pairs).sum() > 1.9 * PRINTED.pairs(alpha0, 21, 1)


def test_the_noise_as_printed_does_not_hide_that_document():
    """Configuration 1 at a printed ε of 0.5: with a document of one word or of another, M₂ is told apart by more."""
    mechanism = SpectralMomentsTopics.calibrated(
        n_topics=2, epsilon=0.5, delta=1e-6, unit=Unit.DOCUMENT, sensitivities="printed", shares=(0.01, 0.98, 0.01)
    )
    n = 50
    data = [spectral_edges.exact_moments(corpus_of([row, *[[0, 0, 6]] * (n - 1)])) for row in ([6, 0, 0], [0, 6, 0])]
    far = np.linalg.norm(data[0].lda_pairs(1.0) - data[1].lda_pairs(1.0))
    seen = far / (mechanism.edge_scales["e4"] * PRINTED.pairs(1.0, n))  # μ: how many standard deviations apart
    priced = 1 / mechanism.edge_scales["e4"]
    assert seen > 1.3 * priced


@every
def test_printed_promises_nothing_and_says_why(kind):
    printed = made(kind, sensitivities="printed")
    assert printed.guarantee.strength is Strength.NONE
    assert "refuted by arithmetic" in printed.guarantee.assumptions[0]
    assert "refuted by arithmetic" not in " ".join(made(kind).guarantee.assumptions)
    assert printed.guarantee.events == made(kind).guarantee.events  # the claim is the same
    with pytest.raises(InputError, match="sensitivities must be 'corrected' or 'printed', got 'guessed'"):
        made(kind, sensitivities="guessed")


@every
def test_printed_draws_less_noise(kind, monkeypatch):
    corpus, _ = planted(n=400)
    drawn, draw, grid = {}, noise.gaussian, spectral_edges.fine_grid
    for name in ("printed", "corrected"):
        scales, grids = drawn.setdefault(name, []), []

        def fine(*what, grids=grids):
            grids.append(grid(*what))
            return grids[-1]

        def spy(rng, scale, size, scales=scales, grids=grids):
            scales.append(scale * grids[-1])
            return draw(rng, scale, size)

        monkeypatch.setattr(spectral_edges, "fine_grid", fine)
        monkeypatch.setattr(noise, "gaussian", spy)
        made(kind, sensitivities=name)(corpus.bounded(), np.random.default_rng(0))
    assert len(drawn["printed"]) == len(drawn["corrected"]) > 0
    assert (np.array(drawn["printed"]) < 0.75 * np.array(drawn["corrected"])).all()


def test_golden_as_printed():
    assert PRINTED.pairs(3.0, 100) == PRINTED.triples(3.0, 100, 1) == PRINTED.gap(100) == 0.01
    whitened = PRINTED.whitened(1.0, 1000, 4, 0.25)
    assert whitened == pytest.approx(8 / (1000 * 0.125))
    assert PRINTED.components(whitened, 4, 0.1) == pytest.approx(16 / (0.1 * 1000 * 0.125))
    assert PRINTED.topics(1.0, 1000, 4, 2.0, largest=0.25, smallest=0.1, weight=3.0) == pytest.approx(2.0 * sqrt(0.25))


def test_a_plan_can_ask_for_it_and_keeps_it():
    plan = Plan.topics(
        mechanism="spectral-2", n_topics=3, epsilon=1.0, delta=1e-6, unit="document", vocabulary=WORDS,
        sensitivities="printed", alpha0=0.5, shares=(0.2, 0.4, 0.4),
    )  # fmt: skip
    again = Plan.from_dict(plan.to_dict(), known=(PublicInput.words(WORDS),))
    for one in (plan, again):
        built = one.build()
        assert (built.sensitivities, built.alpha0, built.shares) == (Sensitivities.PRINTED, 0.5, (0.2, 0.4, 0.4))


def test_utility_bounds_by_hand():
    spectrum = Spectrum(n_units=1000, n_words=100, n_topics=4, largest=0.25, smallest=0.25, gap=0.5)
    scales = {"e3": 1.0, "e4": 1.0, "e6": 1.0, "e7": 1.0, "e8": 1.0, "e9": 1.0}
    wide, steep, grown = 0.01, 4.0, sqrt(0.26)
    one = 0.5 * steep * ((wide / 0.125) ** 3 + wide / 0.125) + 0.5 * wide / 0.25
    one += grown * steep * ((wide / 0.25) ** 3 + wide / 0.125)
    each = 1 / (0.5 * 1000 * 0.125)
    wanted = [one, 0.5 * 32 * each + 0.02 + grown * 32 * each, 0.5 * 32 * each + 0.02 + grown * 16 * each]
    wanted += [0.5 * 10 * 16 * each]
    found = [promised_loss(f"spectral-{i}", spectrum, scales) for i in (1, 2, 3, 4)]
    assert found == pytest.approx(wanted)
