"""The guarantee in plain words, for cards and pages, and the display of its numbers."""

import textwrap
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from math import exp, inf

from dptopics.core import notebook
from dptopics.privacy.events import Relation
from dptopics.privacy.guarantee import LARGEST_DELTA, LARGEST_EPSILON, Guarantee, Strength, Trust, Unit

PUBLIC_LIST = "The word list was public beforehand: it was not made from this data."
PUBLIC_BESIDES = (
    "The listed words were public beforehand: the list was not made from this data. The other words were selected "
    "privately from this data, and charged."
)
SMALL_GROUPS = (
    "Topics of small groups vanish first: what few people write about is lost in the noise. These topics reflect "
    "common themes only."
)


def card(guarantee: Guarantee, width: int = 88) -> str:
    """A short card without mathematics."""
    lines = ["PRIVACY GUARANTEE", "=" * 17]
    lists = [(heading, f"- {line}") for heading, notes in remarks(guarantee) for line in notes]
    label, before = 11, ""
    for name, text in [*rows(guarantee), *lists]:
        wrapped = textwrap.wrap(text, width - label - 1) or [""]
        shown = "" if name == before else name
        if len(shown) > label:
            lines, shown = [*lines, shown], ""
        lines += [f"{shown if i == 0 else '':<{label}} {line}" for i, line in enumerate(wrapped)]
        before = name
    return "\n".join(lines)


def card_html(guarantee: Guarantee) -> str:
    """The card for notebooks."""
    lists = [(heading, line) for heading, notes in remarks(guarantee) for line in notes]
    shown = notebook.table(("Privacy guarantee", ""), [*rows(guarantee), *lists])
    return shown if guarantee.strength is not Strength.NONE else notebook.marked("NOT FOR RELEASE", shown)


def rows(guarantee: Guarantee) -> list[tuple[str, str]]:
    """Who is protected, from whom, how much and how strongly: names and sentences, for cards and pages."""
    strength = guarantee.strength
    found = [
        ("Protected", _protected(guarantee)),
        ("From", _FROM[guarantee.trust] if strength is not Strength.NONE else "nobody"),
        ("How much", _how_much(guarantee)),
    ]
    if strength is not Strength.NONE and guarantee.relation is Relation.ADD_OR_REMOVE:
        found.append(("If membership is known", _content(guarantee)))
    found += [("Warning", line) for line in warnings(guarantee)]
    return [*found, ("Strength", f"{strength.upper()}: {strength.meaning}.")]


def remarks(guarantee: Guarantee) -> list[tuple[str, tuple[str, ...]]]:
    """Assumptions of the guarantee, or where it fails, and limits of the release."""
    proved = guarantee.strength in (Strength.PROVED, Strength.RANDOM)
    found = [("Assumes" if proved else "Beware", guarantee.assumptions), ("Limits", guarantee.limits)]
    return [(heading, lines) for heading, lines in found if lines]


def warnings(guarantee: Guarantee) -> list[str]:
    """Values too large to be meaningful."""
    found = []
    if guarantee.large_epsilon:
        found.append(
            f"ε = {show(guarantee.epsilon)} is above {show(LARGEST_EPSILON)}: with so little noise the bound is not "
            "meaningful. Do not rely on it."
        )
    if guarantee.large_delta:
        units, unit = guarantee.people, guarantee.unit
        if units is not None and guarantee.delta > 1 / units:
            limit, allowed = f"1 / {units:,}, one over the number of {unit}s", f"publishing one {unit} picked at random"
        else:
            limit, allowed = show(LARGEST_DELTA), f"publishing every {unit} with that probability"
        found.append(f"δ = {show(guarantee.delta)} is above {limit}: {allowed} would satisfy it. Do not rely on it.")
    return found


def secret(guarantee: Guarantee) -> str:
    """What stays hidden, as a clause."""
    one = _ONE[guarantee.unit]
    return {
        Relation.ADD_OR_REMOVE: f"whether {one} is in the data or not",
        Relation.REPLACE: f"whether the data contains {one} or another in its place",
        Relation.REPLACE_WORD: "whether one position of one document has a given word or another",
        Relation.ADD_OR_REMOVE_WORD: "whether one document contains a given word or not",
    }[guarantee.relation]


def show(number: float) -> str:
    """A price with three digits, rounded up: the display must not understate it."""
    if number == inf:
        return "∞"
    # Within a billionth of a short number counts as that number: calibration stops just below its target.
    value = Context(prec=3, rounding=ROUND_CEILING).create_decimal(f"{number * (1 - 1e-9):.12g}")
    return f"{float(value):.10g}"


def show_left(number: float) -> str:
    """What is left of a budget, with three digits, rounded down."""
    value = Context(prec=3, rounding=ROUND_FLOOR).create_decimal(f"{number * (1 + 1e-9):.12g}")
    return f"{float(value):.10g}"


def _protected(guarantee: Guarantee) -> str:
    if guarantee.strength is Strength.NONE:
        return "nobody"
    if guarantee.relation in (Relation.REPLACE_WORD, Relation.ADD_OR_REMOVE_WORD):
        return "single words; NOT documents, NOT authors: what many words reveal together is not hidden"
    if guarantee.gamma:
        one = _ONE[guarantee.unit]
        return f"{one} like those that the sampled neighbours were drawn from; NOT every {guarantee.unit}"
    return _PROTECTED[guarantee.unit]


def _how_much(guarantee: Guarantee) -> str:
    if guarantee.strength is Strength.NONE:
        return "Nothing is guaranteed. Do not publish this."
    seen = "the release" if guarantee.trust is Trust.CENTRAL else "the report and everything derived from it"
    slip = f", except with probability about {guarantee.delta:.1g}" if guarantee.delta else ""
    whole = guarantee.trust is Trust.LOCAL and guarantee.relation is Relation.REPLACE
    length = " This holds for the whole document, however long." if whole else ""
    lead = _if_right(guarantee)
    if guarantee.gamma:
        lead += f"Except with probability γ = {show(guarantee.gamma)} over data and neighbours drawn as stated below: "
    return (
        f"{lead}ε = {show(guarantee.epsilon)}, δ = {show(guarantee.delta)} ({guarantee.relation}). "
        f"An attacker who wants to know {secret(guarantee)} can improve the odds of a correct guess at most "
        f"{folds(guarantee.epsilon)}-fold by seeing {seen}{slip}.{length}"
    )


def _content(guarantee: Guarantee) -> str:
    """The bound for units whose membership is not secret."""
    who = f"For {_ONE[guarantee.unit]} known to be in the data, only what {_SAYS[guarantee.unit]} remains secret. "
    price = guarantee.replace_one
    if price is None:
        return f"{who}For that secret (replace-one) no bound is known."
    return (
        f"{_if_right(guarantee)}{who}For that secret the bound is ε = {show(price.epsilon)}, δ = {show(price.delta)} "
        f"(replace-one): odds at most {folds(price.epsilon)}-fold."
    )


def _if_right(guarantee: Guarantee) -> str:
    return "If the claim is true: " if guarantee.strength is Strength.CLAIMED else ""


def folds(epsilon: float) -> str:
    """e^ε: by how much odds can improve."""
    return show(exp(epsilon)) if epsilon < 700 else "∞"


_ONE = {Unit.AUTHOR: "one author", Unit.DOCUMENT: "one document"}
_SAYS = {Unit.AUTHOR: "they wrote", Unit.DOCUMENT: "it says"}
_PROTECTED = {
    Unit.AUTHOR: "every author, with everything they wrote in this data under one name; people with several names, or "
    "who share one, are protected less",
    Unit.DOCUMENT: "every single document; NOT authors: an author of several documents is protected less",
}
_FROM = {
    Trust.CENTRAL: "anyone who sees the release, whatever else they know; not from the data's owner",
    Trust.LOCAL: "everyone, including the collector of the data",
}
