"""The decision record of a release: what is published, who is protected, and what is left to confirm by hand."""

from typing import Any

from dptopics.errors import InputError
from dptopics.privacy import card
from dptopics.privacy.guarantee import Strength, Unit
from dptopics.release.release import Release


def decision(release: Release[Any]) -> str:
    """The record of docs/howto/choose-epsilon.md, filled in; what only people know is left open in brackets."""
    promise, record = release.guarantee, release.record
    if promise.strength is Strength.NONE:
        raise InputError("this release promises nothing. There is nothing to approve: do not publish it.")
    data = record.about or "[which data: name and period]"
    protected = dict(card.rows(promise))["Protected"]
    lines = [
        f"# Decision: publish {record.title or release.value.many}",
        "",
        f"We publish {_amount(release)} of {data}, made with dptopics {record.version or '[version]'} on "
        f"{record.day or '[day]'}{_mechanism(release)}.",
        "",
        f"Protected: {protected}. Against: {dict(card.rows(promise))['From']}.",
        "",
        f"This release: ε = {card.show(promise.epsilon)}, δ = {card.show(promise.delta)} ({promise.relation}).",
        _total(release),
        "",
        f"The guarantee is `{promise.strength}`: {promise.strength.meaning}. Checked by hand, each:",
        *(f"- [ ] {line}" for line in [*promise.assumptions, "Nothing else was made of the same people's data."]),
        *(f"- [ ] WARNING: {line}" for line in card.warnings(promise)),
        "",
        "We chose these values before looking at any result, because: [reason]",
        "",
        "Not covered:",
        *(f"- {line}" for line in [*_NOT_COVERED[promise.unit], *promise.limits]),
        "",
        "Approved by: [name, role, day]",
        "",
    ]
    return "\n".join(lines)


def _amount(release: Release[Any]) -> str:
    value = release.value
    number = {"topics": getattr(value, "n_topics", None), "counts": None}.get(value.kind, len(value.vocabulary))
    return value.many if number is None else f"{number:,} {value.many}"


def _mechanism(release: Release[Any]) -> str:
    return "" if release.record.plan is None else f", mechanism `{release.record.plan['mechanism']}`"


def _total(release: Release[Any]) -> str:
    account = dict(release.record.rows()).get("Ledger", "")
    if release.record.ledger is None:
        return "Ledger: none. [State what else was or will be published about these people, and the total ε and δ.]"
    return f"Ledger: {account}"


_NOT_COVERED = {
    Unit.AUTHOR: (
        "people who are written about and are not the author",
        "what many people say, and facts that follow from everybody's data",
        "groups of authors: the loss grows with the group",
    ),
    Unit.DOCUMENT: (
        "authors of several documents, and people who are written about",
        "what many documents say, and facts that follow from all of them",
    ),
}
