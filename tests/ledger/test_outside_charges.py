"""Charges that were spent elsewhere: at their own price and strength, and told apart."""

from math import inf, nan

import pytest

from dptopics import BudgetExceeded, InputError, Ledger
from dptopics.core.errors import PrivacyError
from dptopics.privacy.guarantee import Strength


@pytest.mark.parametrize("composition", ["sum", "zcdp"])
def test_what_others_spent_counts(tmp_path, composition):
    ledger = Ledger.create(tmp_path / "l", epsilon=8, delta=1e-5, composition=composition)
    one = ledger.charge_outside("OpenDP, mean age", gaussian=4.2247, delta=1e-6, strength="claimed")
    assert one.epsilon == pytest.approx(1.0, abs=1e-4)
    assert one.price == pytest.approx(1.0 if composition == "sum" else 1 / 2 / 4.2247**2, abs=1e-4)
    two = ledger.charge_outside("Tumult", laplace=2.0)
    assert (two.epsilon, two.delta) == (0.5, 0.0)
    three = ledger.charge_outside("a spreadsheet", epsilon=0.7, delta=1e-6, strength="claimed")
    assert three.epsilon == pytest.approx(0.7)
    assert three.delta == 1e-6
    if composition == "zcdp":
        assert (three.price, three.risk) == (pytest.approx(0.7**2 / 2), 1e-6)
    else:
        assert (three.price, three.risk) == (pytest.approx(0.7), 1e-6)
    assert [charge["outside"] for charge in ledger.to_dict()["charges"]] == [True] * 3
    assert "outside: OpenDP, mean age: ε = 1" in ledger.card()
    assert ledger.strength is Strength.CLAIMED
    again = Ledger.open(tmp_path / "l")
    assert [r.strength for r in again.receipts()] == [Strength.CLAIMED, Strength.PROVED, Strength.CLAIMED]
    with pytest.raises(BudgetExceeded):
        ledger.charge_outside("too much", epsilon=19.0)


@pytest.mark.parametrize(
    "more",
    [
        {"gaussian": -1.0, "delta": 1e-6}, {"gaussian": 0.0, "delta": 1e-6}, {"gaussian": nan, "delta": 1e-6},
        {"gaussian": inf, "delta": 1e-6}, {"laplace": -2.0}, {"epsilon": -1.0}, {"epsilon": nan}, {},
        {"epsilon": 1.0, "laplace": 1.0}, {"epsilon": 1.0, "delta": 1.0}, {"epsilon": 1.0, "delta": -1e-9},
        {"gaussian": 4.0},
    ],
)  # fmt: skip
def test_what_is_no_charge(tmp_path, more):
    ledger = Ledger.create(tmp_path / "l", epsilon=4, delta=1e-5)
    with pytest.raises((InputError, PrivacyError)):
        ledger.charge_outside("x", **more)
    for note in ("", "a\nb", "x" * 201):
        with pytest.raises(InputError):
            ledger.charge_outside(note, epsilon=1.0)
    assert ledger.spent.epsilon == 0
    assert ledger.receipts() == []
