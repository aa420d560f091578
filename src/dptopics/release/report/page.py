"""The page around the data: everything that needs no script is written here, escaped, once and for all."""

import json
from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from typing import Any

from dptopics.privacy.card import remarks, rows, secret, show
from dptopics.privacy.guarantee import Guarantee, Strength
from dptopics.release.counts import CountTable
from dptopics.release.release import Release
from dptopics.release.report import overview, tree_chart, trends
from dptopics.release.report.charts import ledger_bar, roc_chart, table
from dptopics.release.report.count_maps import counts, section
from dptopics.release.topic_model import SURE, TopicModel

_BELIEFS = ((0.001, "1 in 1,000"), (0.01, "1 in 100"), (0.1, "1 in 10"), (0.5, "1 in 2"))
_TITLES = {"topics": "Topics", "vocabulary": "Vocabulary", "ngrams": "N-grams", "counts": "Counts"}


@dataclass(frozen=True)
class More:
    """What a page may hold beside the release."""

    ledger: dict[str, Any] | None = None
    audit: dict[str, Any] | None = None
    counts: Release[CountTable] | None = None


def assemble(release: Release[Any], data: dict[str, Any], more: More, style: str, script: str) -> str:
    """One file. Its policy forbids every connection, and every script and style but these two."""
    title, ledger, audit = _TITLES[data["kind"]], more.ledger, more.audit
    void = [one.guarantee for one in (release, more.counts) if one and one.guarantee.strength is Strength.NONE]
    private = audit is not None or bool(void)
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = [
        _banner(void[0] if void else release.guarantee, audit is not None) if private else "",
        f"<main>{_main(title, data)}{_about_topics(release, data, more)}{_card(release)}",
        "" if ledger is None else _ledger(release.guarantee, ledger),
        "" if audit is None else _audit(audit),
        "</main>",
    ]
    sources = " and ".join(["the release", *(["its ledger"] if ledger else []), *(["its audit"] if audit else [])])
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{'NOT FOR RELEASE: ' if private else ''}{title}</title>\n<style>{style}</style>\n</head>\n"
        f'<body>\n<a class="skip" href="#guarantee">Skip to the guarantee</a>\n{_header(title, data, release)}\n'
        f"{''.join(parts)}\n<footer>Made by dptopics, from {sources} alone. "
        "This file loads nothing from anywhere.</footer>\n"
        f'<script type="application/json" id="data">{embedded(data)}</script>\n<script>{script}</script>\n'
        "</body>\n</html>\n"
    )


def embedded(data: dict[str, Any]) -> str:
    """JSON that cannot end the element it stands in, nor be read as markup."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _header(title: str, data: dict[str, Any], release: Release[Any]) -> str:
    strength, guarantee = release.guarantee.strength, release.guarantee
    price = "no guarantee" if strength is Strength.NONE else f"ε = {show(guarantee.epsilon)}, {strength}"
    if strength is Strength.PROVED and not guarantee.sound:
        price += ", read the warning"
    kinds = {"ngrams": "n-grams", "counts": "cells and margins"}
    what = f"{data['total']:,} {kinds.get(data['kind'], 'words')}"
    many = f"{len(data['topics'])} topics, {what}" if data["kind"] == "topics" else what
    badge = f'<a class="badge {_colour(guarantee)}" href="#guarantee">{escape(price)}</a>'
    mechanism = escape(str(release.settings.get("mechanism", "unknown")))
    name = f"{escape(release.record.title)}: {title.lower()}" if release.record.title else title
    return f"<header><h1>{name}</h1><p>{many} · mechanism <q>{mechanism}</q> · {badge}</p></header>"


def _colour(guarantee: Guarantee) -> str:
    """Green is for what is proved and means something."""
    return "doubtful" if guarantee.strength is Strength.PROVED and not guarantee.sound else str(guarantee.strength)


def _banner(guarantee: Guarantee, audited: bool) -> str:
    reason = (
        "It holds an audit: numbers computed from the private data without noise."
        if audited
        else f"The release promises nothing: {guarantee.assumptions[-1] if guarantee.assumptions else ''}"
    )
    return f'<p class="banner" role="alert"><strong>NOT FOR RELEASE.</strong> {escape(reason)}</p>'


def _main(title: str, data: dict[str, Any]) -> str:
    if data["kind"] == "topics":
        return overview.section(data) + _TOPICS + _topic_table(data)
    if data["kind"] == "counts":
        return section(data)
    return _TABLE.replace("TITLE", title)


def _about_topics(release: Release[Any], data: dict[str, Any], more: More) -> str:
    """Trends and maps of counts, with their own price, and the tree."""
    value = release.value
    if isinstance(value, CountTable):
        return trends.charts(value, value.values[0])
    if not isinstance(value, TopicModel):
        return ""
    names = [f"{k}: {topic['label'] or _first(data, k)}" for k, topic in enumerate(data["topics"])]
    tree = tree_chart.section(release.tree(), names)
    if more.counts is None:
        return tree
    table, promise = more.counts.value, more.counts.guarantee
    price = f"cost ε = {show(promise.epsilon)}, δ = {show(promise.delta)} ({promise.strength}) by themselves"
    price = "promise nothing" if promise.strength is Strength.NONE else price
    shown = counts(table) | {"title": "How much, and where", "place": "counts"}
    shown["note"] = f"These counts are a release of their own, and {price}. {shown['note']}"
    shown["rows"] = [names[int(row)] if row.isdigit() else row for row in shown["rows"]]
    return trends.charts(table, names) + section(shown) + tree


def _first(data: dict[str, Any], k: int) -> str:
    """The heaviest words of a topic, for want of a name."""
    topic = data["topics"][k]
    heaviest = sorted(zip(topic["weight"], topic["words"], strict=True), reverse=True)[:3]
    return ", ".join(data["words"][w] for weight, w in heaviest if weight >= SURE * (topic["deviation"] or 0.0))


def _topic_table(data: dict[str, Any]) -> str:
    """All topics as a table: for those who cannot see the map, for paper, and for pages without a script."""
    words, rows = data["words"], []
    for number, topic in enumerate(data["topics"]):
        above = SURE * (topic["deviation"] or 0.0)
        weights = [(weight, w) for weight, w in zip(topic["weight"], topic["words"], strict=True) if weight >= above]
        heaviest = sorted(weights, key=lambda p: (-p[0], p[1]))[:10]
        listed = ", ".join(f"<bdi>{escape(words[w])}</bdi>" for _, w in heaviest)
        noise = "" if topic["deviation"] is None else f"{topic['deviation']:.2g}"
        rows.append((str(number), f"{topic['share']:.1%}", noise, listed))
    heads = ("Topic", "Share", "Standard deviation of the noise", "Heaviest words above the noise")
    body = table("All topics by number", heads, rows, raw=(3,))
    return f'<details id="all-topics"><summary>All topics as a table</summary>{body}</details></section>'


def _card(release: Release[Any]) -> str:
    guarantee = release.guarantee
    said = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in rows(guarantee))
    listed = "".join(
        f"<h3>{heading}</h3><ul>{''.join(f'<li>{escape(note)}</li>' for note in notes)}</ul>"
        for heading, notes in remarks(guarantee)
    )
    return (
        '<section id="guarantee" aria-labelledby="guarantee-title"><h2 id="guarantee-title">What is promised</h2>'
        f'<div class="two"><div class="card {_colour(guarantee)}"><dl>{said}</dl></div>'
        f"<div>{_odds(guarantee)}</div></div>{listed}</section>{_origin(release)}"
    )


def _origin(release: Release[Any]) -> str:
    """Version, day, plan and ledger, where the release knows them."""
    said = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in release.record.rows())
    if not said:
        return ""
    head = '<section id="origin" aria-labelledby="origin-title"><h2 id="origin-title">Where it comes from</h2>'
    return f"{head}<dl>{said}</dl></section>"


def _odds(guarantee: Guarantee) -> str:
    if guarantee.strength is Strength.NONE:
        return "<p>Nothing is promised, so an attacker may become certain.</p>"
    rows = [(words, f"{before:.4g}", _at_most(guarantee.belief(before))) for before, words in _BELIEFS]
    slip = f" But for a chance of about {show(guarantee.delta)} that more is revealed." if guarantee.delta else ""
    return (
        "<h3>What an attacker can come to believe</h3>"
        f"<p>Somebody wants to know {escape(secret(guarantee))}, and has a first guess how likely it is. Seeing this "
        f"release can move that guess so far and no further, whatever else they know.{slip}</p>"
        + table("Belief before and after", ("Before", "as a chance", "After, at most"), rows)
    )


def _at_most(chance: float) -> str:
    """A percentage, rounded up."""
    percent = float(show(100 * chance))
    return "more than 99.9 %" if percent > 99.9 else f"{percent:.3g} %"


def _ledger(guarantee: Guarantee, ledger: dict[str, Any]) -> str:
    events = guarantee.to_dict()["events"]
    ours = [charge["number"] for charge in ledger["charges"] if charge["events"] == events]
    rows = [
        (str(c["number"]), c["time"], c["what"], show(c["epsilon"]), show(c["delta"]), c["strength"],
         "yes" if c["number"] in ours else "")
        for c in ledger["charges"]
    ]  # fmt: skip
    note = {
        0: "No charge in this ledger has this release's price: it may have been charged elsewhere, or not at all.",
        1: f"This release is charge {ours[0] if ours else ''}.",
    }.get(len(ours), f"This release is one of the charges {', '.join(map(str, ours))}, which have the same price.")
    budget, spent = ledger["budget"], ledger["spent"]
    total = (
        f"Budget ε = {budget['epsilon']:.4g}, δ = {budget['delta']:.4g} for each {ledger['unit']} "
        f"({ledger['composition']}); spent ε = {show(spent['epsilon'])}, δ = {show(spent['delta'])}."
    )
    heads = ("Charge", "Time", "What", "ε", "δ", "Strength", "This release?")
    return (
        '<section id="ledger" aria-labelledby="ledger-title">'
        f'<h2 id="ledger-title">The ledger <q>{escape(ledger["name"])}</q></h2><p>{escape(total)} {escape(note)}</p>'
        f"{ledger_bar(ledger, ours)}{table('Charges, oldest first', heads, rows)}</section>"
    )


def _audit(audit: dict[str, Any]) -> str:
    attacks = audit.get("attacks", [])
    rows = [(a["attack"], _share(a["tpr_at_0.1%_fpr"]), _share(a["tpr_at_1%_fpr"]), f"{a['auc']:.3f}") for a in attacks]
    controls = audit.get("table", {}) if "controls" in audit else {}
    exposed = [tuple(_plain(v) for v in row.values()) for row in audit.get("most_exposed", [])]
    names = tuple(audit["most_exposed"][0]) if exposed else ()
    heads = ("Attack", "Members found at 0.1 % false alarms", "at 1 %", "Area under the curve")
    return (
        '<section id="audit" aria-labelledby="audit-title"><h2 id="audit-title">The audit: not for release</h2>'
        f"<p>{escape(str(audit['verdict']))}</p>{roc_chart(audit)}"
        + (table("What the audit saw", tuple(controls["heads"]), controls["rows"]) if controls else "")
        + (table("How well each attack does", heads, rows) if rows else "")
        + (f"<details><summary>The most exposed documents, by row of the data</summary>"
           f"{table('Most exposed documents', names, exposed)}</details>" if exposed else "")
        + "</section>"
    )  # fmt: skip


def _share(rate: float | None) -> str:
    return "too few outsiders" if rate is None else f"{rate:.1%}"


def _plain(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)


_TOPICS = """<section id="topics" aria-labelledby="topics-title"><h2 id="topics-title">Topics and their words</h2>
<noscript><p>The map needs JavaScript. The table below does not.</p></noscript>
<div class="controls" hidden>
<p><label for="topic">Topic</label> <select id="topic"></select>
<button type="button" id="previous">Previous</button> <button type="button" id="next">Next</button></p>
<p><label for="relevance">Relevance λ</label>
<input type="range" id="relevance" aria-describedby="relevance-help">
<output id="relevance-value" for="relevance"></output>
<span class="help" id="relevance-help">1: heaviest words first. 0: words that set the topic apart.</span></p>
<p><label for="search">Find a word</label> <input type="search" id="search" autocomplete="off" spellcheck="false"></p>
</div>
<div id="found" role="status" aria-live="polite"></div>
<div class="two" id="charts" hidden>
<figure><svg id="map" viewBox="0 0 600 600" role="group" aria-labelledby="map-title"></svg>
<figcaption id="map-title">Topics by the distance between their words: near topics use the same words. The larger, the
more text. Arrow keys move from topic to topic.</figcaption><div id="tip" hidden></div></figure>
<div id="words"></div>
</div>
"""
_TABLE = """<section id="topics" aria-labelledby="topics-title"><h2 id="topics-title">TITLE</h2>
<noscript><p>The table needs JavaScript. The release folder holds the same words as text.</p></noscript>
<div class="controls" hidden>
<p><label for="search">Find</label> <input type="search" id="search" autocomplete="off" spellcheck="false"></p></div>
<div id="found" role="status" aria-live="polite"></div><div id="words"></div></section>
"""
