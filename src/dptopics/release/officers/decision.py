"""The decision record of a release: what is published, who is protected, and what remains to be confirmed."""

import re
from collections.abc import Mapping
from typing import Any

from dptopics.core.errors import InputError
from dptopics.privacy import card
from dptopics.privacy.guarantee import Strength, Unit
from dptopics.release.officers.verification import Verified
from dptopics.release.release import Release

_NO_AUDIT = (
    "none given. [dptopics audit claim DATA --release FOLDER tests the noise; "
    "dptopics officer approve --audit adds its verdict.]"
)


def decision(
    release: Release[Any],
    ledger: Mapping[str, Any] | None = None,
    *,
    checks: Verified | None = None,
    audit: str | None = None,
) -> str:
    """The record of docs/howto/choose-epsilon.md, filled in; what only people know is left open in brackets.

    ``ledger``: the current account (:meth:`dptopics.Ledger.to_dict`), of which the release has only the state of its
    own day. ``checks``: the result of verifying its folder. ``audit``: the verdict of an audit.
    """
    if ledger is not None:
        _check_ledger(release, ledger)
    promise, record = release.guarantee, release.record
    if promise.strength is Strength.NONE:
        raise InputError("this release guarantees nothing. There is nothing to approve: do not publish it.")
    data = record.description or "[which data: name and period]"
    mechanism = "" if record.plan is None else f", mechanism `{record.plan['mechanism']}`"
    price = promise.replace_one
    known = "no bound is known" if price is None else f"ε = {card.show(price.epsilon)}, δ = {card.show(price.delta)}"
    said = dict(card.rows(promise))
    lines = [
        f"# Decision: publish {record.title or release.value.many}",
        "",
        f"We publish {_amount(release)} of {data}, made with dptopics {record.version or '[version]'} on "
        f"{record.day or '[day]'}{mechanism}.",
        "",
        f"Protected: {said['Protected']}. Against: {said['From']}.",
        "",
        f"This release: ε = {card.show(promise.epsilon)}, δ = {card.show(promise.delta)} ({promise.relation}).",
        f"If one {promise.unit} is replaced by another: {known}.",
        _total(release, ledger),
        "",
        f"The guarantee is `{promise.strength}`: {promise.strength.meaning}. Checked by hand, each:",
        *(f"- [ ] {line}" for line in [*promise.assumptions, *_others(release, ledger)]),
        *(f"- [ ] WARNING: {line}" for line in card.warnings(promise)),
        "",
        "## What readers will see",
        "",
        *(
            re.sub(r"([\\`*_\[\]<>#|])", r"\\\1", line) for line in release.value.summary() if line
        ),  # words, not Markdown
        "",
        "## Which release this is, and what was checked",
        "",
        *_checked(checks),
        f"Audit: {audit or _NO_AUDIT}",
        "",
        "We chose these values before seeing any result, because: [reason]",
        "",
        "Not covered:",
        *(f"- {line}" for line in [*_NOT_COVERED[promise.unit], *promise.limits]),
        "",
        "Approved by: [name, role, day]",
        "",
    ]
    return "\n".join(lines)


def _checked(checks: Verified | None) -> list[str]:
    if checks is None:
        return ["Checksum: [dptopics officer verify FOLDER]"]
    return [f"SHA-256 of bundle.json: {checks.checksum}", *(f"- {line}" for line in checks.lines())]


def _amount(release: Release[Any]) -> str:
    value = release.value
    number = {"topics": getattr(value, "n_topics", None), "counts": None}.get(value.kind, len(value.vocabulary))
    return value.many if number is None else f"{number:,} {value.many}"


def _total(release: Release[Any], ledger: Mapping[str, Any] | None) -> str:
    if ledger is not None:
        spent, budget, number = ledger["spent"], ledger["budget"], len(ledger["charges"])
        many = "one charge" if number == 1 else f"{number} charges"
        return (
            f"Ledger: {ledger['name']!r}, current state: {many}, in total ε = {card.show(spent['epsilon'])}, "
            f"δ = {card.show(spent['delta'])} of ε = {budget['epsilon']:.4g}, δ = {budget['delta']:.3g}."
        )
    if release.record.ledger is None:
        return "Ledger: none. [State what else was or will be published about these people, and the total ε and δ.]"
    account = dict(release.record.rows())["Ledger"]
    later = "[Later charges: dptopics officer approve --ledger FILE lists them.]"
    return f"Ledger, on the day of this release: {account} {later}"


def _check_ledger(release: Release[Any], ledger: Mapping[str, Any]) -> None:
    """Refuse a ledger that does not include this release."""
    account = release.record.ledger
    if account is None:
        raise InputError("this release was not charged to a ledger. Leave out --ledger.")
    events = release.guarantee.to_dict()["events"]
    ours = [one for one in ledger["charges"] if one["number"] == account["charge"] and one["events"] == events]
    if ledger["name"] != account["name"] or not ours:
        raise InputError(
            f"this release is charge {account['charge']} of the ledger {account['name']!r}, not of the ledger "
            f"{ledger['name']!r}. Give the ledger that it was charged to."
        )


def _others(release: Release[Any], ledger: Mapping[str, Any] | None) -> list[str]:
    """What to confirm about everything else made from the same people's data."""
    account = release.record.ledger
    if ledger is not None and account is not None:
        others = [one for one in ledger["charges"] if one["number"] != account["charge"]]
        listed = [
            f"Also made from the same people's data, and known to us: charge {one['number']} ({one['what']}, "
            f"{one['time'][:10]}), ε = {card.show(one['epsilon'])}, δ = {card.show(one['delta'])}, {one['strength']}."
            for one in others
        ]
        return [*listed, f"Nothing else was made from the same people's data{' besides these' if others else ''}."]
    before = 0 if account is None else int(account["charge"]) - 1
    if account is not None and before:
        many = "one release was" if before == 1 else f"{before} releases were"
        return [
            f"{many[0].upper()}{many[1:]} charged to the ledger {account['name']!r} before this one, for the same "
            "people's data: we know them. [Name them, and those since: dptopics officer approve --ledger FILE lists "
            "them.]",
            "Nothing else was made from the same people's data.",
        ]
    return ["Nothing else was made from the same people's data, before or since."]


_NOT_COVERED = {
    Unit.AUTHOR: (
        "people who are written about but are not the author",
        "what many people say, and facts that follow from everybody's data",
        "groups of authors: the loss grows with the group",
    ),
    Unit.DOCUMENT: (
        "authors of several documents, and people who are written about",
        "what many documents say, and facts that follow from all of them",
    ),
}
