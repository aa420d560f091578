"""What the page shows its owner: the account that a release was charged to, and its audit."""

from collections.abc import Mapping, Sequence
from html import escape
from math import log10
from typing import Any

from dptopics.privacy.card import show
from dptopics.release.release import Release
from dptopics.release.report.charts import folded, section, table

_LEFT, _TOP, _SIZE = 60.0, 12.0, 340.0
_LOWEST = 1e-4
_COLOURS = 8  # classes c0 … c7 of the style sheet


def ledger_section(shown: Sequence[tuple[str, Release[Any]]], ledger: dict[str, Any]) -> str:
    """Every charge, and which of them this page shows."""
    called = {"counts": "the release of counts", "earlier release": "the earlier release"}
    prices = {called.get(name, "this release"): part.guarantee.to_dict()["events"] for name, part in shown}
    ours = [charge["number"] for charge in ledger["charges"] if charge["events"] in prices.values()]
    rows = [
        (str(c["number"]), c["time"][:10], c["what"], show(c["epsilon"]), show(c["delta"]), c["strength"],
         "yes" if c["number"] in ours else "")
        for c in ledger["charges"]
    ]  # fmt: skip
    note = _charged(prices, ledger["charges"])
    budget, spent = ledger["budget"], ledger["spent"]
    total = (
        f"Budget ε = {budget['epsilon']:.4g}, δ = {budget['delta']:.4g} for each {ledger['unit']} "
        f"({ledger['composition']}); spent ε = {show(spent['epsilon'])}, δ = {show(spent['delta'])}."
    )
    heads = ("Charge", "Day", "What", "ε", "δ", "Strength", "On this page?" if len(shown) > 1 else "This release?")
    body = f"<p>{escape(total)} {escape(note)}</p>{_ledger_bar(ledger, ours)}"
    title = f"The ledger <q>{escape(ledger['name'])}</q>"
    return section("ledger", title, body, table("Charges, oldest first", heads, rows))


def _charged(prices: Mapping[str, Any], charges: Sequence[dict[str, Any]]) -> str:
    """Which charges the parts of this page are, matched by their prices."""
    notes = []
    for name, price in prices.items():
        numbers = [str(charge["number"]) for charge in charges if charge["events"] == price]
        which = (
            f"charge {numbers[0]}" if len(numbers) == 1 else f"one of the charges {', '.join(numbers)} of this price"
        )
        elsewhere = f"No charge in this ledger has the price of {name}: it may be charged elsewhere, or not at all."
        notes.append(f"{name[0].upper()}{name[1:]} is {which}." if numbers else elsewhere)
    return " ".join(notes)


def audit_section(audit: dict[str, Any]) -> str:
    """The verdict with its curves and tables."""
    attacks = audit.get("attacks", [])
    rows = [(a["attack"], _share(a["tpr_at_0.1%_fpr"]), _share(a["tpr_at_1%_fpr"]), f"{a['auc']:.3f}") for a in attacks]
    checked = audit.get("table", {}) if "checks" in audit else {}
    exposed = [
        tuple(f"{v:.4g}" if isinstance(v, float) else "" if v is None else str(v) for v in row.values())
        for row in audit.get("most_exposed", [])
    ]
    names = tuple(audit["most_exposed"][0]) if exposed else ()
    heads = ("Attack", "Members found at 0.1 % false alarms", "at 1 %", "Area under the curve")
    return section(
        "audit",
        "The audit: not for release",
        f"<p>{escape(str(audit['verdict']))}</p>{_roc_chart(audit)}",
        table("What was checked", tuple(checked["heads"]), checked["rows"]) if checked else "",
        table("How well each attack does", heads, rows) if rows else "",
        folded("The most exposed documents, by row of the data", table("Most exposed documents", names, exposed))
        if exposed
        else "",
    )


def _share(rate: float | None) -> str:
    return "too few outsiders" if rate is None else f"{rate:.1%}"


def _ledger_bar(ledger: dict[str, Any], ours: Sequence[int]) -> str:
    """The charges in order, and what is left."""
    limit, parts, at = float(ledger["limits"]["price"]) or 1.0, [], 0.0
    for charge in ledger["charges"]:
        width = 600 * float(charge["price"]) / limit
        kind = "ours" if charge["number"] in ours else f"part{charge['number'] % 2}"
        name = f"Charge {charge['number']}: {charge['what']}, {charge['price'] / limit:.1%} of the budget"
        parts.append(
            f'<rect class="{kind}" x="{at:.2f}" y="0" width="{width:.2f}" height="36">'
            f"<title>{escape(name)}</title></rect>"
        )
        if width > 24:
            parts.append(f'<text x="{at + width / 2:.2f}" y="23">{charge["number"]}</text>')
        at += width
    left = max(0.0, 1 - at / 600)
    parts.append(f'<rect class="left" x="{at:.2f}" y="0" width="{600 * left:.2f}" height="36"/>')
    if left > 0.12:
        parts.append(f'<text class="quiet" x="{at + 300 * left:.2f}" y="23">left: {left:.0%}</text>')
    label = f"{len(ledger['charges'])} charges; {left:.0%} of the budget is left. The table below has the numbers."
    return f'<svg class="ledger" viewBox="0 0 600 36" role="img" aria-label="{escape(label)}">{"".join(parts)}</svg>'


def _roc_chart(audit: dict[str, Any]) -> str:
    """Members found by false alarms, on log axes, with what the claim allows."""
    attacks = audit.get("attacks", [])
    if not attacks:
        return ""
    rates, guessing = audit["roc_false_positive_rates"], (_LOWEST, 1)
    curves = [(f"c{i % _COLOURS}{' dashed' if i >= _COLOURS else ''}", rates, one["roc"], one["attack"])
              for i, one in enumerate(attacks)]  # fmt: skip
    curves.append(("guess", guessing, guessing, "guessing"))
    if audit.get("roc_allowed"):
        curves.append(("bound", rates, audit["roc_allowed"], "the maximum that the claimed ε allows"))
    parts = [_axes(), *(f'<polyline class="line {kind}" points="{_path(x, y)}"/>' for kind, x, y, _ in curves)]
    keys = "".join(
        f'<li><svg viewBox="0 0 24 8" aria-hidden="true"><line class="line {kind}" x1="0" y1="4" x2="24" y2="4"/></svg>'
        f"{escape(name)}</li>"
        for kind, *_, name in curves
    )
    wide = _LEFT + _SIZE + 24
    return (
        f'<figure class="roc"><svg viewBox="0 0 {wide:.0f} {_TOP + _SIZE + 48:.0f}" role="img" '
        'aria-label="Members found by false alarms on log axes; the tables below have the numbers">'
        f"{''.join(parts)}</svg><figcaption>Share of members found, by share of others accused."
        f'<ul class="legend">{keys}'
        f"</ul></figcaption></figure>{_roc_table(audit, rates)}"
    )


def _roc_table(audit: dict[str, Any], rates: Sequence[float]) -> str:
    columns, allowed = audit["attacks"], audit.get("roc_allowed")
    rows = [
        (f"{rates[i]:.2g}", *(f"{a['roc'][i]:.3g}" for a in columns), *([f"{allowed[i]:.3g}"] if allowed else []))
        for i in range(0, len(rates), 6)
    ]
    heads = ("False alarms", *(a["attack"] for a in columns), *(["allowed by the claim"] if allowed else []))
    return folded("The curves as a table", table("Share of members found", heads, rows))


def _axes() -> str:
    parts = [f'<rect class="frame" x="{_LEFT}" y="{_TOP}" width="{_SIZE}" height="{_SIZE}"/>']
    for power in range(-4, 1):
        name, x, y = f"{100 * 10.0**power:g} %", _x(10.0**power), _y(10.0**power)
        parts += [
            f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{_TOP + _SIZE}"/>',
            f'<line class="grid" y1="{y:.1f}" y2="{y:.1f}" x1="{_LEFT}" x2="{_LEFT + _SIZE}"/>',
            f'<text class="tick" x="{x:.1f}" y="{_TOP + _SIZE + 16}" text-anchor="middle">{name}</text>',
            f'<text class="tick" x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{name}</text>',
        ]
    middle = _LEFT + _SIZE / 2
    parts.append(f'<text class="tick" x="{middle}" y="{_TOP + _SIZE + 38}" text-anchor="middle">false alarms</text>')
    parts.append(
        f'<text class="tick" transform="translate(12 {_TOP + _SIZE / 2}) rotate(-90)" text-anchor="middle">'
        "members found</text>"
    )
    return "".join(parts)


def _path(rates: Sequence[float], found: Sequence[float]) -> str:
    return " ".join(f"{_x(x):.1f},{_y(y):.1f}" for x, y in zip(rates, found, strict=True))


def _x(rate: float) -> float:
    return _LEFT + _SIZE * (1 - log10(max(rate, _LOWEST)) / log10(_LOWEST))


def _y(rate: float) -> float:
    return _TOP + _SIZE * log10(min(1.0, max(rate, _LOWEST))) / log10(_LOWEST)
