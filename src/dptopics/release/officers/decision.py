"""The decision record of a release: what is published, who is protected, and what is left to confirm by hand."""

from collections.abc import Mapping
from typing import Any

from dptopics.core.errors import InputError
from dptopics.privacy import card
from dptopics.privacy.guarantee import Guarantee, Strength, Unit
from dptopics.release.officers.verification import Verified
from dptopics.release.release import Release


def decision(
    release: Release[Any],
    ledger: Mapping[str, Any] | None = None,
    *,
    checks: Verified | None = None,
    audit: str | None = None,
) -> str:
    """The record of docs/howto/choose-epsilon.md, filled in; what only people know is left open in brackets.

    ``ledger`` is the account as it stands now (:meth:`dptopics.Ledger.to_dict`): the release itself knows it only as it
    was on its own day. ``checks`` are what verify found of its folder, ``audit`` is the verdict of an audit.
    """
    if ledger is not None:
        _check_ledger(release, ledger)
    promise, record = release.guarantee, release.record
    if promise.strength is Strength.NONE:
        raise InputError("this release promises nothing. There is nothing to approve: do not publish it.")
    data = record.description or "[which data: name and period]"
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
        _replaced(promise),
        _total(release, ledger),
        "",
        f"The guarantee is `{promise.strength}`: {promise.strength.meaning}. Checked by hand, each:",
        *(f"- [ ] {line}" for line in [*promise.assumptions, *_others(release, ledger)]),
        *(f"- [ ] WARNING: {line}" for line in card.warnings(promise)),
        "",
        "## What readers will see",
        "",
        *(_plain(line) for line in release.value.summary() if line),
        "",
        "## Which release this is, and what was checked",
        "",
        *_checked(checks),
        "Audit: none is given. [dptopics audit claim DATA --release FOLDER looks at the noise; officer approve "
        "--audit states its verdict.]"
        if audit is None
        else f"Audit: {audit}",
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


def _replaced(promise: Guarantee) -> str:
    """The figure for one unit in place of another."""
    price = promise.replace_one
    if price is None:
        return f"For one {promise.unit} in place of another: no figure is known."
    return f"For one {promise.unit} in place of another: ε = {card.show(price.epsilon)}, δ = {card.show(price.delta)}."


def _checked(checks: Verified | None) -> list[str]:
    if checks is None:
        return ["Checksum: [dptopics officer verify FOLDER]"]
    return [f"SHA-256 of bundle.json: {checks.checksum}", *(f"- {line}" for line in checks.lines())]


def _plain(line: str) -> str:
    """A line of a release's README in a Markdown file: released words are words, not marks."""
    return "".join(f"\\{sign}" if sign in "\\`*_[]<>#|" else sign for sign in line)


def _amount(release: Release[Any]) -> str:
    value = release.value
    number = {"topics": getattr(value, "n_topics", None), "counts": None}.get(value.kind, len(value.vocabulary))
    return value.many if number is None else f"{number:,} {value.many}"


def _mechanism(release: Release[Any]) -> str:
    return "" if release.record.plan is None else f", mechanism `{release.record.plan['mechanism']}`"


def _total(release: Release[Any], ledger: Mapping[str, Any] | None) -> str:
    if ledger is not None:
        spent, budget, number = ledger["spent"], ledger["budget"], len(ledger["charges"])
        many = "one charge" if number == 1 else f"{number} charges"
        return (
            f"Ledger: {ledger['name']!r}, as it stands now: {many}, in all ε = {card.show(spent['epsilon'])}, "
            f"δ = {card.show(spent['delta'])} of ε = {budget['epsilon']:.4g}, δ = {budget['delta']:.3g}."
        )
    if release.record.ledger is None:
        return "Ledger: none. [State what else was or will be published about these people, and the total ε and δ.]"
    account = dict(release.record.rows())["Ledger"]
    return f"Ledger, on the day of this release: {account} [Since then: dptopics officer approve --ledger FILE says.]"


def _check_ledger(release: Release[Any], ledger: Mapping[str, Any]) -> None:
    """Refuse a ledger that does not hold this release."""
    account = release.record.ledger
    if account is None:
        raise InputError("this release was charged to no ledger. Leave --ledger out.")
    events = release.guarantee.to_dict()["events"]
    ours = [one for one in ledger["charges"] if one["number"] == account["charge"] and one["events"] == events]
    if ledger["name"] != account["name"] or not ours:
        raise InputError(
            f"this release is charge {account['charge']} of the ledger {account['name']!r}, which is not in the ledger "
            f"{ledger['name']!r}. Give the ledger that it was charged to."
        )


def _others(release: Release[Any], ledger: Mapping[str, Any] | None) -> list[str]:
    """What to confirm about everything else that was made of the same people's data."""
    account = release.record.ledger
    if ledger is not None and account is not None:
        others = [one for one in ledger["charges"] if one["number"] != account["charge"]]
        listed = [
            f"Also made of the same people's data, and known to us: charge {one['number']} ({one['what']}, "
            f"{one['time'][:10]}), ε = {card.show(one['epsilon'])}, δ = {card.show(one['delta'])}, {one['strength']}."
            for one in others
        ]
        beside = " beside these" if others else ""
        return [*listed, f"Nothing else was made of the same people's data{beside}."]
    before = 0 if account is None else int(account["charge"]) - 1
    if account is not None and before:
        many = "one release was" if before == 1 else f"{before} releases were"
        return [
            f"{many[0].upper()}{many[1:]} charged to the ledger {account['name']!r} before this one, for the same "
            "people's data: we know them. [Name them, and those since: dptopics officer approve --ledger FILE "
            "lists them.]",
            "Nothing else was made of the same people's data.",
        ]
    return ["Nothing else was made of the same people's data, before or since."]


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
