"""The ledger: never more than the budget, whatever happens to the process, the disk or the file."""

import json
import os
import random
import sqlite3
import tempfile
from fractions import Fraction
from math import inf, nan
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_tools import CORPUS, Fake, fake, promise

from charging import charged
from dptopics.core.errors import BudgetExceeded, InputError, LedgerError, PrivacyError
from dptopics.ledger import ledger_file as module
from dptopics.ledger.ledger import Budget, Composition, Ledger, Receipt, Unrecorded
from dptopics.mechanisms.vocabulary.threshold import WeightedVocabulary
from dptopics.privacy.events import Failure, Gaussian, Laplace, Relation, SampledGaussian
from dptopics.privacy.guarantee import Strength, Trust, Unit
from dptopics.privacy.pricing import epsilon_of, zcdp_delta, zcdp_of
from dptopics.privacy.rng import secure_rng


@pytest.fixture
def path(tmp_path):
    return tmp_path / "clinic.ledger"


@pytest.fixture
def ledger(path):
    return Ledger.create(path, epsilon=3, delta=1e-6)


# Making and opening


def test_create_then_open(path):
    made = Ledger.create(path, epsilon=2, delta=1e-5, unit="document", relation="replace", composition="zcdp")
    opened = Ledger.open(str(path))
    assert opened == made
    assert (opened.name, opened.unit, opened.relation) == ("clinic", Unit.DOCUMENT, Relation.REPLACE)
    assert opened.composition is Composition.ZCDP
    assert opened.budget == Budget(2.0, 1e-5)
    assert opened.spent == Budget(0.0, 0.0)
    assert opened.left == opened.budget
    assert opened.receipts() == []
    assert opened.strength is Strength.PROVED
    assert Ledger.create(path.with_name("b"), epsilon=2, delta=1e-5, name="ward 7").name == "ward 7"


@pytest.mark.parametrize(
    "terms",
    [
        {"epsilon": 0},
        {"epsilon": inf},
        {"epsilon": nan},
        {"delta": 0},
        {"delta": 1},
        {"unit": "patient"},
        {"relation": "swap"},
        {"composition": "hope"},
        {"composition": "zcdp", "epsilon": 1e-9},
    ],
)
def test_create_refuses_terms_that_mean_nothing(path, terms):
    with pytest.raises(InputError):
        Ledger.create(path, **{"epsilon": 1, "delta": 1e-6} | terms)
    assert not path.exists()


def test_create_refuses_an_existing_file(ledger, path):
    ledger.charge(promise(), "first")
    with pytest.raises(LedgerError, match="'clinic' already"):
        Ledger.create(path, epsilon=9, delta=1e-6)
    assert len(Ledger.open(path).receipts()) == 1


def test_create_refuses_a_missing_folder(tmp_path):
    with pytest.raises(LedgerError, match="Choose another folder"):
        Ledger.create(tmp_path / "no" / "x.ledger", epsilon=1, delta=1e-6)


def test_create_that_fails_leaves_nothing(path, monkeypatch):
    def broken(connection):
        raise sqlite3.OperationalError("disk")

    monkeypatch.setattr(module, "_commit", broken)
    with pytest.raises(LedgerError):
        Ledger.create(path, epsilon=1, delta=1e-6)
    assert list(path.parent.iterdir()) == []


def test_open_refuses_what_is_no_ledger(tmp_path):
    with pytest.raises(LedgerError, match="there is no ledger"):
        Ledger.open(tmp_path / "missing")
    assert not (tmp_path / "missing").exists()
    with pytest.raises(LedgerError, match="cannot be opened"):
        Ledger.open(tmp_path)
    (tmp_path / "text").write_text("Budget: as much as you like. " * 100)
    (tmp_path / "short").write_text("x")
    with sqlite3.connect(tmp_path / "other") as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    for name in ("text", "short", "other"):
        with pytest.raises(LedgerError, match="not a ledger"):
            Ledger.open(tmp_path / name)
        with pytest.raises(LedgerError, match="not a ledger"):
            Ledger.create(tmp_path / name, epsilon=1, delta=1e-6)


def test_remnant_of_an_interrupted_creation_is_explained(path):
    path.touch()
    for attempt in (lambda: Ledger.open(path), lambda: Ledger.create(path, epsilon=1, delta=1e-6)):
        with pytest.raises(LedgerError, match=r"interrupted.*delete the file"):
            attempt()
    path.unlink()
    Ledger.create(path, epsilon=1, delta=1e-6)


def test_a_stale_journal_does_no_harm(path):
    path.with_name(path.name + "-journal").write_bytes(os.urandom(4096))
    Ledger.create(path, epsilon=1, delta=1e-6).charge(promise(), "x")
    assert len(Ledger.open(path).receipts()) == 1


def test_a_charge_of_version_0_1_is_read(path):
    ledger = Ledger.create(path, epsilon=3, delta=1e-5, relation="replace")
    events = [{"kind": "Laplace", "scale": 1.0, "count": 1}, {"kind": "Failure", "probability": 1e-7}]
    old = {"schema": 1, "epsilon": 1.0, "delta": 1e-7, "unit": "author", "relation": "replace", "trust": "central",
           "strength": "proved", "assumptions": [], "events": events}  # fmt: skip
    row = (1, "2026-01-01T00:00:00+00:00", "weighted", 1.0, 1e-7, 1.0, 1e-7, "proved", json.dumps(old))
    with module.transaction(path, "IMMEDIATE") as connection:
        connection.execute("INSERT INTO charge VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        module._commit(connection)
    (receipt,) = ledger.receipts()
    assert receipt.guarantee.events == (Laplace(1.0, 1, Relation.REPLACE), Failure(1e-7, Relation.REPLACE))
    ledger.charge(receipt.guarantee, "weighted")
    assert [r.guarantee for r in ledger.receipts()] == [receipt.guarantee] * 2
    assert ledger.spent == Budget(2.0, 2e-7)


def test_newer_schema(ledger, path):
    execute(path, "PRAGMA user_version = 2")
    with pytest.raises(LedgerError, match=r"schema 2.*Update dptopics"):
        Ledger.open(path)
    with pytest.raises(LedgerError, match="Update"):
        ledger.charge(promise(), "x")


def execute(path, statement):
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE charge SET price = 0.1 WHERE number = 2",
        "DELETE FROM charge WHERE number = 3",
        "DELETE FROM charge",
        "UPDATE ledger SET epsilon = 100",
        "UPDATE ledger SET price = 100",
        "UPDATE charge SET price = x'00'",
        "DELETE FROM ledger",
        "INSERT INTO ledger SELECT * FROM ledger",
        "DROP TABLE charge",
        "DROP TABLE ledger",
    ],
)
def test_edits_are_noticed(ledger, path, statement):
    for _ in range(3):
        ledger.charge(promise(0.5), "x")
    execute(path, statement)
    with pytest.raises(LedgerError, match=r"is damaged.*treat the budget as spent"):
        Ledger.open(path)
    with pytest.raises(LedgerError, match="is damaged"):
        ledger.charge(promise(0.5), "x")


def test_no_damaged_byte_makes_the_bill_smaller(ledger, path):
    for _ in range(3):
        ledger.charge(promise(0.5), "x")
    whole, truth = path.read_bytes(), ledger.receipts()
    chance = random.Random(7)
    # Every header byte, and a sample of the rest; most of a page is unused.
    for place in [*range(100), *chance.sample(range(100, len(whole)), 300)]:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ chance.randrange(1, 256)]) + whole[place + 1 :])
        try:
            receipts = Ledger.open(path).receipts()
        except LedgerError:
            continue
        assert receipts == truth
    for length in range(1, len(whole), 997):
        path.write_bytes(whole[:length])
        with pytest.raises(LedgerError):
            Ledger.open(path)


def test_a_ledger_replaced_behind_our_back_is_refused(ledger, path):
    path.unlink()
    with pytest.raises(LedgerError):
        ledger.charge(promise(), "x")
    assert not path.exists()
    Ledger.create(path, epsilon=50, delta=1e-6)
    with pytest.raises(LedgerError, match="replaced"):
        ledger.charge(promise(), "x")


# Charging


def test_receipt(ledger, path):
    receipt = ledger.charge(promise(1.0, 1e-7), "weighted vocabulary")
    assert (receipt.number, receipt.what) == (1, "weighted vocabulary")
    assert (receipt.epsilon, receipt.delta, receipt.strength) == (1.0, 1e-7, Strength.PROVED)
    assert receipt.guarantee == promise(1.0, 1e-7)
    assert receipt.time.endswith("+00:00")
    assert Ledger.open(path).receipts() == [receipt]
    assert isinstance(receipt, Receipt)
    assert ledger.spent == Budget(1.0, 1e-7)
    assert ledger.left == Budget(2.0, 9e-7)


def test_three_times_one_fits_in_three(ledger):
    guarantee = WeightedVocabulary.calibrated(epsilon=1.0, delta=1e-7).guarantee
    assert 1 - 1e-9 < guarantee.epsilon <= 1
    for _ in range(3):
        ledger.check(guarantee)
        ledger.charge(guarantee, "x")
    with pytest.raises(BudgetExceeded):
        ledger.check(guarantee)


@pytest.mark.parametrize("n, each, total", [(3, 0.1, 0.3), (10, 0.1, 1.0), (7, 0.7, 4.9), (3, 1.1, 3.3)])
def test_amounts_are_the_decimals_people_write(path, n, each, total):
    """In binary, three times 0.1 is more than 0.3."""
    ledger = Ledger.create(path, epsilon=total, delta=total * 1e-2)
    guarantee = promise(each, delta=each * 1e-4)
    assert guarantee.epsilon == each
    for _ in range(n):
        ledger.charge(guarantee, "x")
    assert ledger.spent.epsilon == total
    assert ledger.left.epsilon == 0
    with pytest.raises(BudgetExceeded):
        ledger.charge(promise(1e-6, delta=0), "x")


def test_refusal_says_what_is_left(path):
    ledger = Ledger.create(path, epsilon=2, delta=1e-6)
    ledger.charge(promise(1.5), "x")
    text = (
        "this release needs ε = 1.2 but 0.5 of 2 is left in ledger 'clinic'. "
        "Lower epsilon (--epsilon), or start a new ledger for new data."
    )
    for attempt in (ledger.check, lambda g: ledger.charge(g, "x")):
        with pytest.raises(BudgetExceeded) as caught:
            attempt(promise(1.2))
        assert str(caught.value) == text
    assert len(ledger.receipts()) == 1


def test_what_the_form_of_the_data_assumes_is_charged_and_released(ledger):
    corpus = SimpleNamespace(bounds=CORPUS.bounds, assumptions=("Each row is of one document.",))
    for account in (ledger, Unrecorded()):
        release = charged(account, fake(), corpus, secure_rng())
        assert release.guarantee.assumptions[0] == "Each row is of one document."
    assert ledger.receipts()[0].guarantee.assumptions[0] == "Each row is of one document."


def test_refusal_over_delta(ledger):
    ledger.charge(promise(0.1, 8e-7), "x")
    with pytest.raises(BudgetExceeded, match=r"needs δ = 3e-07 but 2e-07 of 1e-06 is left.*Lower delta \(--delta\)"):
        ledger.charge(promise(0.1, 3e-7), "x")


def test_refusal_never_shows_two_equal_numbers(path):
    ledger = Ledger.create(path, epsilon=1, delta=1e-6)
    with pytest.raises(BudgetExceeded, match=r"needs ε = 1\.0000000001 but 1\.0 of 1 is left"):
        ledger.charge(promise(1.0000000001), "x")


@settings(max_examples=60, deadline=None)
@given(
    total=st.floats(0.01, 10),
    share=st.floats(1e-9, 1e-2),
    asked=st.lists(st.tuples(st.floats(1e-6, 5), st.floats(0, 5e-3)), max_size=8),
)
def test_sum_filter_never_passes_the_budget(total, share, asked):
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.create(f"{folder}/l", epsilon=total, delta=share)
        epsilon = delta = Fraction()
        for e, d in asked:
            guarantee = promise(e, d)
            new = epsilon + Fraction(repr(guarantee.epsilon)), delta + Fraction(repr(d))
            try:
                ledger.charge(guarantee, "x")
            except BudgetExceeded:
                assert new[0] > Fraction(repr(total)) or new[1] > Fraction(repr(share))
                continue
            epsilon, delta = new
            assert epsilon <= Fraction(repr(total))
            assert delta <= Fraction(repr(share))
        spent = ledger.spent
        assert spent == Budget(float(epsilon), float(delta))
        assert ledger.left.epsilon >= 0
        assert ledger.left.delta >= 0


# zCDP


@settings(max_examples=40, deadline=None)
@given(
    epsilon=st.floats(0.1, 8),
    delta=st.floats(1e-10, 1e-3),
    asked=st.lists(st.tuples(st.floats(0.5, 50), st.floats(0, 2e-4), st.integers(1, 3)), max_size=8),
)
def test_zcdp_filter_keeps_the_whole_within_the_budget(epsilon, delta, asked):
    """The exact price of all accepted Gaussians and failures together stays within (ε, δ)."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.create(f"{folder}/l", epsilon=epsilon, delta=delta, composition="zcdp")
        accepted = []
        for sigma, tail, count in asked:
            events = (Gaussian(sigma, count), Failure(tail))
            try:
                ledger.charge(promise(delta=0.1, events=events), "x")
            except BudgetExceeded:
                continue
            accepted += events
        spent = ledger.spent
        assert spent.epsilon <= epsilon
        assert spent.delta <= delta
        if accepted:
            assert epsilon_of(tuple(accepted), delta) <= epsilon
            assert epsilon_of(tuple(accepted), spent.delta) <= spent.epsilon * (1 + 1e-9)


def test_zcdp_limits_are_tight(path):
    ledger = Ledger.create(path, epsilon=1, delta=1e-6, composition="zcdp")
    rho, tau = ledger.limits
    assert tau == 5e-7
    assert zcdp_delta(rho, 1.0) <= 5e-7 < zcdp_delta(rho * 1.0001, 1.0)


def test_zcdp_fits_more_gaussians_than_the_sum(path):
    sigma, fits = 50.0, {}
    for kind in Composition:
        ledger = Ledger.create(path.with_name(str(kind)), epsilon=1, delta=1e-6, composition=kind)
        guarantee = promise(delta=1e-8, events=(Gaussian(sigma),))
        for _ in range(200):
            try:
                ledger.charge(guarantee, "x")
            except BudgetExceeded:
                break
        fits[kind] = len(ledger.receipts())
    assert fits[Composition.ZCDP] > 3 * fits[Composition.SUM]


def test_zcdp_refusals_and_account(path):
    ledger = Ledger.create(path, epsilon=1, delta=1e-6, composition="zcdp")
    noise = Gaussian(10.0)
    ledger.charge(promise(events=(noise, Failure(1e-7)), delta=1e-6), "x")
    receipt = ledger.receipts()[0]
    assert (receipt.price, receipt.risk) == zcdp_of((noise, Failure(1e-7)))
    assert ledger.spent.delta == pytest.approx(6e-7)
    assert ledger.left.epsilon == pytest.approx(1 - ledger.spent.epsilon)
    assert ledger.left.delta == pytest.approx(4e-7)
    with pytest.raises(BudgetExceeded, match=r"zCDP ρ \(its part of ε\) = 0\.5 but .* of .* is left"):
        ledger.charge(promise(events=(Gaussian(1.0),)), "x")
    with pytest.raises(BudgetExceeded, match=r"τ \(its part of δ\) = 5e-07 but 4e-07 of 5e-07 is left"):
        ledger.charge(promise(events=(Gaussian(100.0), Failure(5e-7)), delta=1e-6), "x")
    with pytest.raises(PrivacyError, match="no zCDP price"):
        ledger.check(promise(events=(SampledGaussian(5.0, 0.1),)))
    assert len(ledger.receipts()) == 1


def test_zcdp_failures_alone_cost_no_epsilon(path):
    ledger = Ledger.create(path, epsilon=1, delta=1e-6, composition="zcdp")
    ledger.charge(promise(events=(Failure(1e-7),), delta=1e-7), "x")
    assert ledger.spent == Budget(0.0, 1e-7)


# What may be charged


REPLACED = (Laplace(1.0, relation=Relation.REPLACE),)


@pytest.mark.parametrize("fields", [{"unit": Unit.DOCUMENT}, {"events": REPLACED}, {"trust": Trust.LOCAL}])
def test_one_unit_one_relation(ledger, fields):
    for attempt in (ledger.check, lambda g: ledger.charge(g, "x")):
        with pytest.raises(PrivacyError, match="one ledger, one unit, one relation"):
            attempt(promise(**fields))
    assert ledger.receipts() == []


@pytest.mark.parametrize("events", [(Failure(0.5),), (Gaussian(1e-30),)])
@pytest.mark.parametrize("composition", Composition)
def test_no_price_no_release(path, events, composition):
    ledger = Ledger.create(path, epsilon=3, delta=1e-6, composition=composition)
    with pytest.raises((PrivacyError, BudgetExceeded)):
        ledger.charge(promise(events=events), "x")
    assert ledger.receipts() == []


def test_unproven_only_when_accepted(ledger):
    claimed, random_ = promise(0.1, strength=Strength.CLAIMED), promise(0.1, strength=Strength.RANDOM)
    for attempt in (ledger.check, lambda g: ledger.charge(g, "x")):
        with pytest.raises(PrivacyError, match=r"'claimed'.*--accept-unproven"):
            attempt(claimed)
    assert ledger.strength is Strength.PROVED
    ledger.charge(promise(0.1), "x")
    ledger.charge(random_, "x", accept_unproven=True)
    assert ledger.strength is Strength.RANDOM
    ledger.check(claimed, accept_unproven=True)
    ledger.charge(claimed, "x", accept_unproven=True)
    ledger.charge(random_, "x", accept_unproven=True)
    assert ledger.strength is Strength.CLAIMED
    assert "CLAIMED" in ledger.card()


def test_strength_none_is_never_recorded(ledger):
    with pytest.raises(PrivacyError, match="private releases only"):
        ledger.charge(promise(strength=Strength.NONE), "x", accept_unproven=True)


# Running


def test_run_charges_then_runs(ledger):
    mechanism = fake()
    release = charged(ledger, mechanism, CORPUS, secure_rng())
    assert release.value == "topics"
    assert release.guarantee == mechanism.guarantee
    assert mechanism.ran == [CORPUS]
    assert [r.what for r in ledger.receipts()] == ["fake"]


def test_the_charge_is_on_disk_before_the_data_is_seen(ledger, path):
    class Looks(Fake):
        def __call__(self, corpus, rng):
            assert len(Ledger.open(path).receipts()) == 1
            return super().__call__(corpus, rng)

    charged(ledger, Looks(promise(), []), CORPUS, secure_rng())


def test_run_refuses_before_charging(ledger):
    refused = [
        (fake(), CORPUS, np.random.default_rng(1), PrivacyError),
        (fake(strength=Strength.CLAIMED), CORPUS, secure_rng(), PrivacyError),
        (fake(epsilon=4.0), CORPUS, secure_rng(), BudgetExceeded),
        (
            fake(),
            SimpleNamespace(bounds=SimpleNamespace(unit=Unit.DOCUMENT, column=None), assumptions=()),
            secure_rng(),
            PrivacyError,
        ),
    ]
    for mechanism, corpus, rng, error in refused:
        with pytest.raises(error):
            charged(ledger, mechanism, corpus, rng)
        assert mechanism.ran == []
    assert ledger.receipts() == []
    charged(ledger, fake(strength=Strength.CLAIMED), CORPUS, secure_rng(), accept_unproven=True)


def test_a_failing_mechanism_keeps_its_charge(ledger):
    with pytest.raises(ZeroDivisionError):
        charged(ledger, Fake(promise(), [], ZeroDivisionError()), CORPUS, secure_rng())
    assert ledger.spent.epsilon == 1.0


def test_unrecorded():
    door = Unrecorded()
    release = charged(door, fake(), CORPUS, secure_rng())
    assert release.guarantee.strength is Strength.PROVED
    assert release.guarantee.assumptions[-1].startswith("Other releases of the same data are not counted")
    seeded = charged(door, fake(), CORPUS, np.random.default_rng(1))
    assert seeded.guarantee.strength is Strength.NONE
    claimed = fake(strength=Strength.CLAIMED)
    for attempt in (lambda: charged(door, claimed, CORPUS, secure_rng()), lambda: door.check(claimed.guarantee)):
        with pytest.raises(PrivacyError, match="--accept-unproven"):
            attempt()
    assert claimed.ran == []
    door.check(claimed.guarantee, accept_unproven=True)
    charged(door, claimed, CORPUS, secure_rng(), accept_unproven=True)


# For people


def test_card_and_repr(ledger):
    ledger.charge(promise(1.0, 1e-7), "weighted")
    card = ledger.card()
    assert "LEDGER 'clinic'" in card
    assert "ε = 3, δ = 1e-06 (sum)" in card
    assert "Left        ε = 2, δ = 9e-07" in card
    assert "weighted: ε = 1, δ = 1e-07, proved" in card
    assert "epsilon=3.0" in repr(ledger)


def test_what_is_left_is_rounded_down(path):
    ledger = Ledger.create(path, epsilon=1.2399, delta=1e-6)
    ledger.charge(promise(0.2), "x")
    assert "Left        ε = 1.03," in ledger.card()
