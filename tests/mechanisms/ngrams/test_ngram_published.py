"""The published n-gram methods: they do what the paper says, say what they are worth, and their holes are real."""

import json
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest
from scipy.stats import beta

from charging import charged
from dptopics import Corpus, Vocabulary
from dptopics.audit.membership.ngrams import attack_most_contributing
from dptopics.core import progress
from dptopics.core.errors import InputError, PrivacyError
from dptopics.data.public_inputs import PublicNgrams
from dptopics.kernels.local_sensitivity import largest_weighted_log
from dptopics.ledger.ledger import Ledger, Unrecorded
from dptopics.mechanisms.mechanism import calibrate
from dptopics.plan import Plan
from dptopics.privacy import noise
from dptopics.privacy.guarantee import Strength, Unit
from dptopics.privacy.rng import secure_rng
from dptopics.published.ngrams import (
    SLOPES,
    WEIGHTS,
    BayesLocalNgrams,
    EndToEndNgrams,
    KAnonymousNgrams,
    LaplacePublicNgrams,
    Tally,
    Units,
    centred_log,
    claim_1,
    posterior_mean,
    softmax,
)
from dptopics.registry import catalogue, mechanisms

DELTA = 1e-3
WORDS = Vocabulary.of(["a b", "a c", "b c", "c a", "c b", "c c"])
PUBLIC = PublicNgrams.of({word: 3.0 + 2 * number for number, word in enumerate(WORDS.words)})
SHARED = {"delta": DELTA, "prior": PUBLIC}
MECHANISMS = {
    "bayes-published": lambda unit: BayesLocalNgrams(sigma=1.0, max_words=4, unit=unit, **SHARED),
    "bayes-published, claim 1": lambda unit: BayesLocalNgrams(sigma=1.0, sensitivity="claim-1", unit=unit, **SHARED),
    "bayes-published, algorithm 1": lambda unit: BayesLocalNgrams(
        sigma=1.0, max_words=4, sensitivity="algorithm-1", unit=unit, **SHARED
    ),
    "end-to-end": lambda unit: EndToEndNgrams(sigma=1.0, tuning_scale=2.0, max_words=4, unit=unit, **SHARED),
    "laplace-public": lambda unit: LaplacePublicNgrams(scale=1.0, max_words=4, unit=unit, **SHARED),
    "k-anonymity": lambda unit: KAnonymousNgrams(k=5, unit=unit, **SHARED),
}
every = pytest.mark.parametrize("name", MECHANISMS)
noisy = pytest.mark.parametrize("name", [name for name in MECHANISMS if name != "k-anonymity"])
units = pytest.mark.parametrize("unit", Unit)


def raw(rows=60, order=None):
    rng = np.random.default_rng(4)
    counts = rng.poisson([3, 2, 1, 0.5, 0.3, 0.2], (rows, 6))
    order = np.arange(rows) if order is None else order
    return Corpus.from_counts(
        counts[order], WORDS.words, authors=[f"author {r}" for r in order], public_vocabulary=True
    )


def test_all_names_are_registered():
    assert list(mechanisms("n-grams")) == [
        "bayes",
        "bayes-published",
        "end-to-end",
        "k-anonymity",
        "laplace",
        "laplace-public",
    ]
    rows = {row["name"]: row for row in catalogue() if row["job"] == "n-grams"}
    assert [rows[name]["strength"] for name in mechanisms("n-grams")] == [
        "proved",
        "none",
        "none",
        "none",
        "proved",
        "none",
    ]
    assert {rows[name]["unit"] for name in mechanisms("n-grams") if rows[name]["strength"] == "none"} == {"nobody"}
    assert (rows["k-anonymity"]["noise"], rows["bayes-published"]["noise"]) == ("-", "gaussian")


@every
@units
def test_fields_and_guarantee(name, unit):
    mechanism = MECHANISMS[name](unit)
    assert all(field.kw_only for field in fields(mechanism))
    with pytest.raises(FrozenInstanceError):
        mechanism.delta = 0.5
    guarantee = mechanism.guarantee
    assert (guarantee.unit, guarantee.delta, guarantee.strength) == (unit, DELTA, Strength.NONE)
    assert guarantee.assumptions
    assert mechanism.rescaled(1) == replace(mechanism) == mechanism


@noisy
def test_more_noise_costs_less(name):
    mechanism = MECHANISMS[name](Unit.AUTHOR)
    cost = mechanism.guarantee.epsilon
    assert mechanism.rescaled(2).guarantee.epsilon < cost < mechanism.rescaled(0.5).guarantee.epsilon
    for epsilon in (0.1, 1.0, 8.0):
        assert calibrate(mechanism, epsilon=epsilon).guarantee.epsilon == pytest.approx(epsilon, rel=1e-6)


@every
@units
def test_release(name, unit):
    mechanism = MECHANISMS[name](unit)
    shares = []
    with progress.shown_by(shares.append):
        release = mechanism(raw().bounded(unit=unit), secure_rng())
    assert release.guarantee == mechanism.guarantee
    assert release.value.probability.sum() == pytest.approx(1)
    assert release.value.vocabulary == WORDS
    text = json.dumps(release.settings, allow_nan=False)
    assert not [word for word in (*WORDS.words, "author 1") if word in text]
    assert shares[-1] == pytest.approx(1)


@every
def test_same_seed_same_release_in_any_order_of_rows(name):
    mechanism = MECHANISMS[name](Unit.AUTHOR)
    shuffled = np.random.default_rng(3).permutation(60)
    first, second = (mechanism(raw(order=o).bounded(), np.random.default_rng(11)) for o in (None, shuffled))
    np.testing.assert_array_equal(first.value.probability, second.value.probability)
    other = mechanism(raw().bounded(), np.random.default_rng(12))
    assert (first.value.probability != other.value.probability).any() == (name != "k-anonymity")


@every
def test_what_it_cannot_run_on(name):
    mechanism = MECHANISMS[name](Unit.AUTHOR)
    with pytest.raises(PrivacyError, match="bounded per document"):
        mechanism.check(raw().bounded(unit="document"))
    with pytest.raises(PrivacyError, match="n-grams of this corpus are private"):
        mechanism.check(Corpus.from_counts(np.ones((2, 2)), ["a b", "c d"], authors=["x", "y"]).bounded())
    strange = Corpus.from_counts(np.ones((2, 2)), ["x y", "y x"], authors=["x", "y"], public_vocabulary=True)
    with pytest.raises(InputError, match="nothing in common"):
        mechanism.check(strange.bounded())


@every
def test_without_consent_nothing_runs(name, tmp_path):
    mechanism = MECHANISMS[name](Unit.AUTHOR)
    with pytest.raises(PrivacyError, match=r"'none', not 'proved'.*--accept-unproven"):
        charged(Unrecorded(), mechanism, raw().bounded(), secure_rng())
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=100, delta=1e-2)
    with pytest.raises(PrivacyError, match="guarantees nothing"):
        charged(ledger, mechanism, raw().bounded(), secure_rng(), accept_unproven=True)
    assert ledger.receipts() == []
    assert "Nothing is guaranteed" in mechanism.guarantee.card()
    assert (mechanism.guarantee.epsilon == float("inf")) == (name == "k-anonymity")


@pytest.mark.parametrize(
    "change, message",
    [
        ({"slope": 0.0}, "slope must be positive"),
        ({"weight": 1.5}, "weight in"),
        ({"sensitivity": "guess"}, "sensitivity must be one of"),
        ({"max_words": 0}, "max_words must be at least 1"),
        ({"max_count": 0}, "max_count must lie"),
    ],
)
def test_settings_that_make_no_sense(change, message):
    with pytest.raises(InputError, match=message):
        replace(MECHANISMS["bayes-published"](Unit.AUTHOR), **change)
    with pytest.raises(InputError, match="k must be at least 1"):
        KAnonymousNgrams(k=0, delta=DELTA)


@pytest.mark.parametrize("shares", [(0.5, 0.6), (1.0, 0.0), (0.9, 0.2), (-0.5, 1.5)])
def test_shares_that_do_not_add_up(shares):
    with pytest.raises(InputError, match="positive and add up to 1"):
        Plan.ngrams(mechanism="end-to-end", epsilon=1.0, delta=DELTA, unit=Unit.AUTHOR, shares=shares).build()


def test_shares_of_the_paper():
    mechanism = Plan.ngrams(mechanism="end-to-end", epsilon=0.9, delta=1e-6, unit=Unit.AUTHOR).build()
    assert 1 / mechanism.tuning_scale == pytest.approx(0.3)
    assert replace(mechanism, tuning_scale=1e9).guarantee.epsilon == pytest.approx(0.6, rel=1e-6)
    assert mechanism.guarantee.epsilon <= 0.9


def test_setting_of_another_mechanism_is_refused():
    with pytest.raises(InputError, match="'laplace' has no setting k, slope"):
        Plan.ngrams(mechanism="laplace", epsilon=1.0, delta=DELTA, unit=Unit.AUTHOR, k=5, slope=1.0).build()
    with pytest.raises(InputError, match="there is no mechanism 'magic' for n-grams"):
        Plan.ngrams(mechanism="magic", epsilon=1.0, delta=DELTA, unit=Unit.AUTHOR).build()


# --- what they compute ---


def silence(monkeypatch):
    for kind in ("gaussian", "laplace"):
        monkeypatch.setattr(noise, kind, lambda rng, scale, size: np.zeros(size, np.int64))


def test_posterior_mean_of_corollary_1(monkeypatch):
    silence(monkeypatch)
    corpus = raw().bounded(max_words=4)
    mechanism = MECHANISMS["bayes-published"](Unit.AUTHOR)
    tally = Units(corpus, 1).tally()
    x, mu = centred_log(tally.count), centred_log(PUBLIC.counts)
    expected = softmax(0.5 * np.minimum(1, 0.01 * tally.users) * x + 0.5 * mu)
    released = mechanism(corpus, np.random.default_rng(0)).value
    np.testing.assert_allclose(released.probability, expected, rtol=1e-5)


def test_public_data_cancel_in_the_published_laplace(monkeypatch):
    silence(monkeypatch)
    corpus = raw().bounded(max_words=4)
    tally = Units(corpus, 1).tally()
    released = [
        replace(MECHANISMS["laplace-public"](Unit.AUTHOR), prior=prior)(corpus, np.random.default_rng(0)).value
        for prior in (PUBLIC, PublicNgrams(WORDS, PUBLIC.counts[::-1].copy()))
    ]
    np.testing.assert_allclose(released[0].probability, tally.count / tally.count.sum(), rtol=1e-5)
    np.testing.assert_allclose(released[0].probability, released[1].probability, rtol=1e-9)


def test_k_anonymity_is_exact():
    corpus = raw()
    table = KAnonymousNgrams(k=20, delta=DELTA)(corpus.bounded(), np.random.default_rng(0)).value
    counts = corpus.counts().matrix().toarray()
    kept = np.where((counts > 0).sum(axis=0) >= 20, counts.sum(axis=0), 0)
    assert (kept == 0).any()
    np.testing.assert_allclose(table.probability, (kept + 1) / (kept + 1).sum())


def test_limit_follows_the_number_of_authors():
    corpus = raw(rows=2500)
    mechanism = replace(MECHANISMS["bayes-published"](Unit.AUTHOR), max_words=None)
    wide = replace(mechanism, max_words=2)
    first, second = (m(corpus.bounded(), np.random.default_rng(0)).value for m in (mechanism, wide))
    np.testing.assert_array_equal(first.probability, second.probability)


# --- the holes ---


def neighbours():
    """Everybody has one of 60 frequent n-grams. A newcomer has twenty others, which nobody else has."""
    others = np.zeros((600, 80), np.int64)
    others[np.arange(600), np.arange(600) % 60] = 1
    newcomer = (np.arange(80) >= 60).astype(np.int64)[None]
    words = [f"n{i:02}" for i in range(80)]
    for counts in (np.vstack([others, newcomer]), others):
        authors = [str(i) for i in range(len(counts))]
        yield Corpus.from_counts(counts, words, authors=authors, public_vocabulary=True).bounded()


@pytest.mark.parametrize("kind, settings, threshold", [
    (BayesLocalNgrams, {"slope": 1.0}, 15.0),
    (EndToEndNgrams, {}, 20.0),
    (LaplacePublicNgrams, {}, 3.2),
])  # fmt: skip
def test_scale_of_the_noise_tells_neighbours_apart(kind, settings, threshold):
    claimed, runs, rare = 0.1, 200, 1e-6
    mechanism = kind.calibrated(epsilon=claimed, delta=1e-6, max_words=20, **settings)
    seen = []
    for corpus in neighbours():
        tables = [mechanism(corpus, secure_rng()).value.probability[:60] for _ in range(runs)]
        seen.append(sum(np.log(np.maximum(p, 1e-300)).std() > threshold for p in tables))
    # Clopper–Pearson: the spread of the frequent n-grams tells more than the claimed ε allows.
    low, high = beta.ppf(rare / 2, seen[0], runs - seen[0] + 1), beta.ppf(1 - rare / 2, seen[1] + 1, runs - seen[1])
    assert claimed < np.log((low - 1e-6) / high)
    assert mechanism.guarantee.epsilon <= claimed * (1 + 1e-9)
    assert mechanism.guarantee.strength is Strength.NONE


def test_claim_1_misses_the_last_step_of_the_weight():
    # C/S = 1000.5: the 1001st author still raises the weight, but the indicator 1(N ≤ C/S) says no.
    users = np.array([1001.0] + [1e6] * 9)
    tally = Tally(users.copy(), users, 10**6)
    slope = 1 / 1000.5
    row = (np.array([0, 1]), np.zeros(1, np.int32), np.ones(1))
    moved = largest_weighted_log(*row, tally.count, tally.users, slope, False)
    assert moved > 1.5 * claim_1(tally, slope=slope, max_count=1)


def test_algorithm_1_as_printed_leaves_w_out():
    """With hardly any noise: the mean is ρx̂ + (1 − ρ)μ_p, where corollary 1 has ρw⊙x̂."""
    corpus, near = raw().bounded(), {"sigma": 1e-9, "slope": 0.01, "max_words": 6, "max_count": 9, **SHARED}
    tally = Units(corpus.limited(max_words=6), 9).tally()
    public = PUBLIC.counts_of(WORDS)
    for sensitivity, slope in (("algorithm-1", None), ("brute-force", 0.01)):
        mechanism = BayesLocalNgrams(sensitivity=sensitivity, **near)
        expected = softmax(posterior_mean(tally, public, slope=slope, weight=0.5, max_count=9))
        assert mechanism(corpus, np.random.default_rng(0)).value.probability == pytest.approx(expected, rel=1e-5)
    centred = [np.log1p(one) - np.log1p(one).mean() for one in (tally.count, public)]
    assert posterior_mean(tally, public, slope=None, weight=0.5, max_count=9) == pytest.approx(sum(centred) / 2)


def test_claim_1_holds_otherwise():
    corpus = raw()
    for slope in (0.01, 0.1, 0.5):
        every_unit = Units(corpus.bounded(), 1)
        tally = every_unit.tally()
        assert every_unit.log_sensitivity(tally, slope) <= claim_1(tally, slope=slope, max_count=1)


def test_claim_2_is_no_bound():
    size, weight = 50, 0.5
    held_out = np.full(size, 10.0)
    tally = Tally(np.array([1e6] + [1.0] * (size - 1)), np.full(size, 1e3), 10**6)

    def score(tally):
        mean = posterior_mean(tally, np.zeros(size), slope=1.0, weight=weight, max_count=1)
        return -float(held_out @ np.log(softmax(mean)))

    moved = Tally(tally.count - np.eye(size)[0] * 1e4, tally.users, tally.n_units)
    change = np.linalg.norm(centred_log(tally.count) - centred_log(moved.count))
    assert abs(score(tally) - score(moved)) > 1.2 * weight * np.linalg.norm(held_out) * change


def test_the_gradient_of_appendix_d_is_wrong():
    """By differences of equation 6: ρ(‖c‖₁θ − c), not ρ·c·(1 − θ). Where c is zero the printed one is zero."""
    rng = np.random.default_rng(2)
    count, r, public, weight = rng.integers(0, 20, 30).astype(float), rng.normal(size=30), rng.normal(size=30), 0.7
    count[0] = 0.0

    def score(r):
        return -float(count @ np.log(softmax(weight * r + (1 - weight) * public)))

    step = 1e-5
    seen = np.array([(score(r + step * e) - score(r - step * e)) / (2 * step) for e in np.eye(30)])
    theta = softmax(weight * r + (1 - weight) * public)
    np.testing.assert_allclose(seen, weight * (count.sum() * theta - count), rtol=1e-5, atol=1e-6)
    printed = weight * count * (1 - theta)
    assert printed[0] == 0 < 0.1 < abs(seen[0])
    assert (np.abs(seen) > 1.5 * printed).any()


def test_appendix_d_as_printed_takes_one_over_rho_times_the_noise(monkeypatch):
    ours, printed = (replace(MECHANISMS["end-to-end"](Unit.AUTHOR), tuning=t) for t in ("claim-2", "appendix-d"))
    count = np.array([3.0, 4.0])
    assert ours.steepest(count, 0.3) == pytest.approx(0.3**2 * 5)
    assert printed.steepest(count, 0.3) == pytest.approx(0.3 * 5)
    monkeypatch.setattr(Units, "dot_sensitivity", lambda units, value: 0.0)  # the other term of the maximum
    drawn = []
    monkeypatch.setattr(EndToEndNgrams, "_laplace", staticmethod(lambda scale, rng: drawn.append(scale) or 0.0))
    for mechanism in (ours, printed):
        mechanism(raw().bounded(), np.random.default_rng(0))
    ratio = np.array(drawn[len(drawn) // 2 :]) / np.array(drawn[: len(drawn) // 2])
    np.testing.assert_allclose(ratio, np.tile(1 / np.array(WEIGHTS), len(SLOPES)))
    with pytest.raises(InputError, match="tuning must be one of claim-2, appendix-d"):
        replace(ours, tuning="guess")


# --- the attack of section 5, and the general audit ---


def heavy():
    """Authors of a few n-grams each, and one of all."""
    rng = np.random.default_rng(1)
    counts = (rng.random((400, 6)) < [0.5, 0.4, 0.3, 0.02, 0.0, 0.0]).astype(np.int64)
    counts[7] = 50
    return Corpus.from_counts(counts, WORDS.words, authors=range(400), public_vocabulary=True)


@pytest.mark.parametrize("name", mechanisms("n-grams"))
def test_attack_on_the_most_contributing_author(name):
    settings = {"epsilon": 1000.0, "delta": DELTA, "unit": Unit.AUTHOR, "prior": PUBLIC}
    if name == "laplace-public":
        settings["max_words"] = 6  # a thousandth of the authors would be one n-gram each
    found = attack_most_contributing(
        Plan.ngrams(mechanism=name, **settings).build(), heavy(), repeats=4, rng=np.random.default_rng(0)
    )
    refuted = name not in ("bayes", "laplace")
    assert (found.mechanism, found.repeats, found.limit) == (name, 4, None if refuted else 1.0)
    assert ("nothing is guaranteed" in str(found)) is refuted
    assert 0 <= found.probability <= 1
    if name not in ("end-to-end", "bayes-published", "k-anonymity"):
        assert found.probability == 1  # there is hardly any noise
    assert str(found).startswith("NOT FOR RELEASE")


def test_attack_learns_little_from_much_noise():
    mechanism = Plan.ngrams(mechanism="bayes", epsilon=0.05, delta=1e-6, unit=Unit.AUTHOR, prior=PUBLIC).build()
    found = attack_most_contributing(mechanism, heavy(), repeats=40, rng=np.random.default_rng(0))
    assert 0.2 < found.probability < 0.8
    assert 0.5 < found.limit < 0.53


def test_attack_by_document():
    mechanism = Plan.ngrams(mechanism="laplace", epsilon=100.0, delta=DELTA, unit=Unit.DOCUMENT).build()
    found = attack_most_contributing(mechanism, heavy(), repeats=2, rng=np.random.default_rng(0))
    assert found.probability == 1


def test_attack_needs_a_public_list_and_company():
    mechanism = Plan.ngrams(mechanism="laplace", epsilon=1.0, delta=DELTA, unit=Unit.AUTHOR).build()
    private = Corpus.from_counts(np.ones((2, 2)), ["a b", "c d"], authors=["x", "y"])
    with pytest.raises(InputError, match="public list"):
        attack_most_contributing(mechanism, private, repeats=1, rng=np.random.default_rng(0))
    alone = Corpus.from_counts(np.ones((1, 2)), ["a b", "c d"], authors=["x"], public_vocabulary=True)
    with pytest.raises(InputError, match="single unit"):
        attack_most_contributing(mechanism, alone, repeats=1, rng=np.random.default_rng(0))
    with pytest.raises(InputError, match="repeats must be at least 1"):
        attack_most_contributing(mechanism, heavy(), repeats=0, rng=np.random.default_rng(0))
