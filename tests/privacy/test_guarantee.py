"""The guarantee tells who is protected, from whom, how much and how surely, and never flatters."""

import json
from dataclasses import FrozenInstanceError, replace
from decimal import Decimal
from math import exp, inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dptopics.core.errors import BundleError, InputError, PrivacyError
from dptopics.core.vocabulary import Vocabulary
from dptopics.mechanisms.vocabulary.threshold import WeightedVocabulary
from dptopics.privacy.card import PUBLIC_LIST, SMALL_GROUPS, show
from dptopics.privacy.events import Failure, Gaussian, Laplace, Relation, SampledGaussian
from dptopics.privacy.guarantee import Guarantee, Strength, Trust, Unit, check_budget, composed, weakest
from dptopics.registry import mechanisms


def promise(**fields):
    fields = {
        "events": (Gaussian(3.185703),),
        "delta": 1e-4,
        "unit": Unit.AUTHOR,
        "strength": Strength.PROVED,
    } | fields
    if fields["strength"] is Strength.RANDOM:
        fields = {"gamma": 0.1} | fields
    return Guarantee(**fields)


def words(card):
    """The card without its layout."""
    return " ".join(card.split())


# --- the card ---


def test_card_says_who_from_whom_how_much_and_how_surely():
    card = words(promise(assumptions=("The clocks are right.",)).card())
    assert "Protected every author, with everything they wrote in this data under one name" in card
    assert "people with several names, or who share one, are protected less" in card
    assert "From anyone who sees the release" in card
    assert "not from the data's owner" in card
    assert "ε = 1, δ = 0.0001 (add-or-remove)" in card
    assert "whether one author is in the data or not" in card
    assert "2.72-fold" in card
    assert "Strength PROVED: a theorem" in card
    assert "Assumes - The clocks are right." in card


def test_card_of_a_document_warns_authors():
    card = words(promise(unit=Unit.DOCUMENT).card())
    assert "every single document; NOT authors" in card
    assert "one document" in card


def test_card_of_replace_and_local():
    card = words(promise(events=(Gaussian(3.185703, relation=Relation.REPLACE),), trust=Trust.LOCAL).card())
    assert "(replace)" in card
    assert "or another in its place" in card
    assert "is in the data or not" not in card
    assert "including the collector of the data" in card


def test_card_of_a_single_word_claims_no_more():
    events = (Gaussian(3.185703, relation=Relation.REPLACE_WORD),)
    card = words(promise(events=events, strength=Strength.CLAIMED, assumptions=("A hole.",)).card())
    assert "Protected single words; NOT documents, NOT authors" in card
    assert "If the claim is true: ε = 1," in card
    assert "has a given word or another" in card
    assert "Beware - A hole." in card
    assert "every author" not in card


def test_card_that_promises_nothing_protects_nobody():
    guarantee = promise(strength=Strength.NONE, assumptions=("A hole.",))
    card = words(guarantee.card())
    assert "Protected nobody From nobody" in card
    assert "Beware - A hole." in card
    assert guarantee.to_dict()["epsilon"] is None


@pytest.mark.parametrize("strength", Strength)
def test_card_of_each_strength(strength):
    card = words(promise(strength=strength).card())
    assert f"{strength.upper()}: {strength.meaning}." in card
    assert ("Nothing is guaranteed. Do not publish this." in card) == (strength is Strength.NONE)
    assert ("ε =" in card) == (strength is not Strength.NONE)


def test_card_without_a_price_does_not_pretend():
    card = words(promise(events=(Gaussian(1.0), Failure(1e-3))).card())
    assert "ε = ∞" in card
    assert "∞-fold" in card


def test_card_rounds_against_itself():
    card = words(promise(events=(Gaussian(3.18),), delta=1.0004e-4).card())
    assert "ε = 1.01, δ = 0.000101" in card


def test_card_fits_its_width():
    guarantee = promise(assumptions=("a long assumption " * 20,))
    for width in (60, 88, 120):
        assert max(map(len, guarantee.card(width).splitlines())) <= width
    assert str(guarantee) == guarantee.card()


# --- showing numbers ---


@pytest.mark.parametrize(
    "number, text",
    [(1.0, "1"), (1.0001, "1.01"), (0.12345, "0.124"), (1234.5, "1240"), (0, "0"), (inf, "∞"), (1e-6, "1e-06")],
)
def test_show(number, text):
    assert show(number) == text


def test_show_forgives_calibration():
    # Calibration ends a hair below or above a round number: that is the round number.
    assert show(2.0 * (1 + 1e-12)) == show(2.0 * (1 - 1e-12)) == "2"


@given(st.floats(1e-12, 1e12))
def test_show_rounds_up(number):
    shown = Decimal(show(number))
    assert shown >= Decimal(number) * (1 - Decimal("2e-9"))
    assert shown <= Decimal(number) * Decimal("1.0101")


# --- budgets ---


@pytest.mark.parametrize("epsilon", [0, -1, nan, inf, -inf])
def test_epsilon_must_mean_something(epsilon):
    with pytest.raises(InputError, match="epsilon must be a positive number, got"):
        check_budget(epsilon, 1e-6)


@pytest.mark.parametrize("delta", [0, 1, -1e-6, 1.5, nan, inf])
def test_delta_must_mean_something(delta):
    with pytest.raises(InputError, match="delta must lie strictly between 0 and 1, got"):
        check_budget(1.0, delta)


def test_sane_budget_is_fine():
    check_budget(1.0, 1e-6)
    check_budget(1e-3, 0.5)


# --- the price ---


def test_price_at_every_delta():
    guarantee = promise()
    assert guarantee.epsilon == pytest.approx(1.0, abs=1e-6)
    assert guarantee.epsilon_at(1e-6) > guarantee.epsilon > guarantee.epsilon_at(1e-2)


def test_price_is_read_from_the_events():
    assert replace(promise(), events=(Gaussian(6.0),)).epsilon < 1
    with pytest.raises(FrozenInstanceError):
        promise().events = ()


@pytest.mark.parametrize("delta", [nan, -1, 1, inf])
def test_no_price_at_an_impossible_delta(delta):
    with pytest.raises(InputError, match="delta"):
        _ = promise(delta=delta).epsilon


# --- strength ---


def test_weakest():
    assert weakest(Strength.PROVED) is Strength.PROVED
    assert weakest(Strength.PROVED, Strength.CLAIMED, Strength.RANDOM) is Strength.CLAIMED
    assert weakest(*Strength) is Strength.NONE


def test_weakened_never_strengthens():
    weak = promise().weakened(Strength.CLAIMED, "The proof has a hole.")
    assert (weak.strength, weak.assumptions) == (Strength.CLAIMED, ("The proof has a hole.",))
    again = weak.weakened(Strength.PROVED, "Somebody said it is fine.")
    assert again.strength is Strength.CLAIMED
    assert again.assumptions == ("The proof has a hole.", "Somebody said it is fine.")
    assert again.events == promise().events


def test_noting_keeps_the_rest():
    noted = promise().noting("First.").noting("Second.")
    assert noted.assumptions == ("First.", "Second.")
    assert replace(noted, assumptions=()) == promise()


# --- JSON ---


@pytest.mark.parametrize("unit", Unit)
@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("trust", Trust)
@pytest.mark.parametrize("strength", Strength)
def test_guarantee_survives_json(unit, relation, trust, strength):
    events = (Gaussian(2.5, 3, relation), Laplace(7.0, 2, relation), Failure(1e-9, relation))
    guarantee = promise(events=events, unit=unit, trust=trust, strength=strength, assumptions=("Ünïcode.",))
    again = Guarantee.from_dict(json.loads(guarantee.to_json()))
    assert again == guarantee
    assert again.relation is relation  # add-or-remove and replace-one are never relabelled


def test_sampled_guarantee_survives_json():
    guarantee = promise(events=(SampledGaussian(2.0, 0.25, 4),))
    assert Guarantee.from_dict(json.loads(guarantee.to_json())) == guarantee


def test_stored_price_is_for_readers_only():
    data = promise().to_dict()
    assert data["epsilon"] == promise().epsilon
    assert Guarantee.from_dict(data | {"epsilon": 0.001}).epsilon == promise().epsilon


def test_newer_schema_is_refused():
    with pytest.raises(BundleError, match=r"schema 3.*Update dptopics"):
        Guarantee.from_dict(promise().to_dict() | {"schema": 3})


OLD = """{"schema": 1, "epsilon": 1.0, "delta": 1e-06, "unit": "author", "relation": "replace", "trust": "central",
 "strength": "proved", "assumptions": ["A."], "events": [{"kind": "Gaussian", "sigma": 2.0, "count": 3},
 {"kind": "SampledGaussian", "sigma": 2.0, "rate": 0.5, "count": 1}, {"kind": "Laplace", "scale": 4.0, "count": 1},
 {"kind": "RandomizedResponse", "lie": 0.25, "values": 2, "count": 1}, {"kind": "Failure", "probability": 1e-09}]}"""


def test_what_version_0_1_wrote_is_read_with_the_relation_of_the_whole():
    guarantee = Guarantee.from_dict(json.loads(OLD))
    assert guarantee.relation is Relation.REPLACE
    assert {event.relation for event in guarantee.events} == {Relation.REPLACE}
    assert guarantee.events[0] == Gaussian(2.0, 3, Relation.REPLACE)
    again = guarantee.to_dict()
    assert again["schema"] == 2
    assert {event["relation"] for event in again["events"]} == {"replace"}
    assert Guarantee.from_dict(again) == guarantee


def test_what_is_written():
    events = (Gaussian(2.0, 3, Relation.REPLACE), Failure(1e-9, Relation.REPLACE))
    data = json.loads(promise(events=events).to_json())
    assert (data["schema"], data["relation"]) == (2, "replace")
    assert data["events"] == [
        {"kind": "Gaussian", "sigma": 2.0, "count": 3, "relation": "replace"},
        {"kind": "Failure", "probability": 1e-9, "relation": "replace"},
    ]


@pytest.mark.parametrize("relation", [r for r in Relation if r is not Relation.ADD_OR_REMOVE])
def test_a_relation_typed_over_another_is_damage(relation):
    with pytest.raises(BundleError, match="damaged"):
        Guarantee.from_dict(promise().to_dict() | {"relation": str(relation)})


# --- parts of a whole ---


def test_events_of_unequal_relations_are_no_guarantee():
    mixed = (Gaussian(2.0), Failure(1e-9, Relation.REPLACE))
    with pytest.raises(PrivacyError, match=r"same unit under the same relation, got add-or-remove and replace"):
        promise(events=mixed)
    with pytest.raises(PrivacyError, match="same relation"):
        replace(promise(), events=mixed)
    with pytest.raises(PrivacyError, match="same relation"):
        composed(promise(), promise(events=mixed[1:]), delta=1e-4)


def test_nothing_adds_up_with_anything():
    nothing, replaced = promise(events=()), promise(events=(Gaussian(2.0, relation=Relation.REPLACE),))
    assert composed(nothing, replaced, delta=1e-4).relation is Relation.REPLACE
    assert composed(nothing, nothing, delta=1e-4).epsilon == 0


def test_a_whole_is_made_of_all_its_parts():
    one = promise(assumptions=("A.", "B."), strength=Strength.RANDOM, gamma=0.1)
    other = promise(events=(Laplace(3.0),), assumptions=("B.", "C."), strength=Strength.CLAIMED, gamma=0.2)
    whole = composed(one, other, one, delta=1e-5)
    assert whole.events == one.events + other.events + one.events
    assert (whole.delta, whole.strength, whole.assumptions) == (1e-5, Strength.CLAIMED, ("A.", "B.", "C."))
    assert whole.gamma == pytest.approx(0.4)
    for change in ({"unit": Unit.DOCUMENT}, {"trust": Trust.LOCAL}):
        with pytest.raises(PrivacyError, match="same unit"):
            composed(one, replace(one, **change), delta=1e-5)


@pytest.mark.parametrize("field", ["schema", "delta", "unit", "relation", "trust", "strength", "assumptions", "events"])
def test_missing_field_is_damage(field):
    data = promise().to_dict()
    del data[field]
    with pytest.raises(BundleError, match="damaged"):
        Guarantee.from_dict(data)


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "one"},
        {"schema": None},
        {"delta": "small"},
        {"delta": None},
        {"delta": nan},
        {"delta": 1.0},
        {"delta": -1e-6},
        {"unit": "family"},
        {"relation": "swap"},
        {"trust": "some"},
        {"strength": "strong"},
        {"assumptions": 3},
        {"events": 3},
        {"events": ["Gaussian"]},
        {"events": [{"kind": "Gaussian"}]},
        {"events": [{"kind": "Gaussian", "sigma": "large"}]},
        {"events": [{"kind": "Gaussian", "sigma": 1.0, "colour": "red"}]},
        {"events": [{"kind": ["Gaussian"], "sigma": 1.0}]},
    ],
)
def test_damaged_json_is_refused(change):
    with pytest.raises(BundleError, match="damaged"):
        Guarantee.from_dict(promise().to_dict() | change)


@pytest.mark.parametrize("data", [[], "text", None, 7, {}])
def test_other_json_is_refused(data):
    with pytest.raises(BundleError, match="damaged"):
        Guarantee.from_dict(data)


@pytest.mark.parametrize(
    "event",
    [{"kind": "Gaussian", "sigma": -1.0}, {"kind": "Gaussian", "sigma": nan}, {"kind": "Mystery", "sigma": 1.0}],
)
def test_impossible_or_unknown_events_are_refused(event):
    with pytest.raises(PrivacyError, match="privacy event"):
        Guarantee.from_dict(promise().to_dict() | {"events": [event]})


# --- figures that mean little, and what else the card must say ---


def test_card_says_what_counts_for_those_known_to_be_in_the_data():
    card = words(promise(events=(Gaussian(4.224679),), delta=1e-6).card())
    assert "If membership is known For one author known to be in the data, only what they wrote remains secret." in card
    assert "the bound is ε = 2.13, δ = 1e-06 (replace-one): odds at most 8.36-fold" in card
    assert "what it says" in words(promise(unit=Unit.DOCUMENT).card())
    sampled = words(promise(events=(SampledGaussian(2.0, 0.5),)).card())
    assert "For that secret (replace-one) no bound is known." in sampled
    claimed = words(promise(strength=Strength.CLAIMED).card())
    assert "If membership is known If the claim is true: For one author" in claimed


@pytest.mark.parametrize("change", [
    {"events": (Gaussian(3.0, relation=Relation.REPLACE),)},  # the figure is there already
    {"events": (Gaussian(3.0, relation=Relation.REPLACE_WORD),), "strength": Strength.CLAIMED},
    {"strength": Strength.NONE},
])  # fmt: skip
def test_where_there_is_nothing_to_add_the_card_adds_nothing(change):
    assert "Content" not in promise(**change).card()


@pytest.mark.parametrize("epsilon, sound", [(1.0, True), (8.0, True), (8.01, False), (50.0, False)])
def test_a_large_epsilon_is_warned_of(epsilon, sound):
    guarantee = promise(events=(Laplace(1 / epsilon),))
    assert guarantee.sound is sound
    assert guarantee.to_dict()["sound"] is sound
    assert ("Warning" in guarantee.card()) is not sound
    assert ("is above 8: " in words(guarantee.card())) is not sound


def test_calibration_to_eight_is_not_above_eight():
    assert promise(events=(Laplace(1 / (8 * (1 + 1e-12))),)).sound


@pytest.mark.parametrize("units, sound", [(None, True), (1, True), (10_000, True), (10_001, False), (10**9, False)])
def test_a_delta_above_one_over_the_declared_number_is_warned_of(units, sound):
    guarantee = promise(delta=1e-4).about(units)
    assert guarantee.sound is sound
    assert ("would satisfy it" in words(guarantee.card())) is not sound
    again = Guarantee.from_dict(json.loads(guarantee.to_json()))
    assert again == guarantee
    assert again.people == units


@pytest.mark.parametrize(
    "delta, units, sound", [(1e-3, None, True), (1.1e-3, None, False), (0.5, 2, False), (0.5, 1, False)]
)
def test_a_delta_above_a_thousandth_is_warned_of_whatever_the_number(delta, units, sound):
    guarantee = promise(delta=delta).about(units)
    assert guarantee.sound is guarantee.to_dict()["sound"] is sound
    assert ("is above 0.001: publishing every author with that probability" in words(guarantee.card())) is not sound
    assert "Warning" not in promise(delta=delta, strength=Strength.NONE).card()


def test_proved_promises_no_more_than_there_is():
    card = words(promise().card())
    assert "PROVED: a theorem written down for this code; tests look for departures from it, and cannot exclude" in card


def test_only_a_report_of_a_whole_document_says_so():
    line = "This holds for the whole document, however long."
    local = {"trust": Trust.LOCAL, "unit": Unit.DOCUMENT}
    assert line in words(promise(events=(Gaussian(3.0, relation=Relation.REPLACE),), **local).card())
    assert line not in words(promise(events=(Gaussian(3.0, relation=Relation.REPLACE_WORD),), **local).card())
    assert line not in words(promise(events=(Gaussian(3.0, relation=Relation.REPLACE),)).card())


def test_assumptions_on_the_form_of_data_come_first_and_once():
    made = promise(assumptions=("a", "b")).assuming(("c", "b"))
    assert made.assumptions == ("c", "b", "a")
    assert promise(assumptions=("a",)).assuming(()) == promise(assumptions=("a",))


@pytest.mark.parametrize("units", [0, -3, 2.5, True, "many"])
def test_a_number_of_units_must_be_one(units):
    with pytest.raises(InputError, match="people"):
        promise().about(units)
    with pytest.raises(BundleError, match="damaged"):
        Guarantee.from_dict(promise().to_dict() | {"people": units})


@pytest.mark.parametrize("strength", [s for s in Strength if s is not Strength.PROVED])
def test_only_what_is_proved_is_sound(strength):
    guarantee = promise(strength=strength)
    assert not guarantee.sound
    assert "Warning" not in guarantee.card()  # the line of strength says it


def test_the_largest_declared_number_counts():
    parts = [promise().about(n) for n in (None, 10, 500)]
    assert composed(*parts, delta=1e-4).people == 500
    assert composed(parts[0], delta=1e-4).people is None


def test_limits_are_no_assumptions():
    one, other = promise(limits=("A.", "B.")), promise(limits=("B.", "C."), assumptions=("Z.",))
    whole = composed(one, other, delta=1e-4)
    assert whole.limits == ("A.", "B.", "C.")
    card = words(whole.card())
    assert "Assumes - Z. Limits - A. - B. - C." in card
    assert Guarantee.from_dict(json.loads(whole.to_json())) == whole
    assert "limits" not in promise().to_dict()


def test_machines_read_the_figure_too():
    data = promise(events=(Gaussian(4.224679), Failure(1e-7)), delta=1e-6).to_dict()
    assert data["replace_one"]["epsilon"] == pytest.approx(2.1, abs=0.1)
    assert data["replace_one"]["delta"] == pytest.approx(1.1e-6)
    assert promise(events=(SampledGaussian(2.0, 0.5),)).to_dict()["replace_one"] is None
    assert Guarantee.from_dict(data | {"replace_one": "nonsense", "sound": 7}).events[1] == Failure(1e-7)
    del data["replace_one"], data["sound"]  # written before they were
    assert Guarantee.from_dict(data).delta == 1e-6


def test_that_contributions_are_not_negative_survives_json():
    guarantee = promise(events=(Gaussian(2.0, nonnegative=True), Gaussian(2.0)))
    data = json.loads(guarantee.to_json())
    assert [event.get("nonnegative") for event in data["events"]] == [True, None]
    assert Guarantee.from_dict(data) == guarantee


def test_every_mechanism_of_topics_says_who_is_lost_first():
    for name, kind in mechanisms("topics").items():
        if not kind.needs_preparation:
            made = kind.template(n_topics=2, delta=1e-4).guarantee
            assert (SMALL_GROUPS in made.limits) or made.strength is Strength.NONE, name


def test_words_of_two_kinds_are_told_apart():
    listed = Vocabulary.of(["ache", "knee"])
    settings = {"scale": 2.0, "tail": 1e-9, "max_words": 5, "delta": 1e-6}
    both = words(WeightedVocabulary(public_vocabulary=listed, **settings).guarantee.card())
    assert PUBLIC_LIST not in both
    assert "The listed words were public beforehand" in both
    assert "The other words were selected privately from this data, and charged." in both
    assert WeightedVocabulary(**settings).guarantee.assumptions == ()


def test_odds_on_the_card_follow_from_epsilon():
    guarantee = promise(events=(Gaussian(1.0),))
    assert f"{show(exp(guarantee.epsilon))}-fold" in words(guarantee.card())
