"""The page around the data: everything that needs no script, escaped."""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from typing import Any

from dptopics.core.errors import InputError
from dptopics.privacy.card import show
from dptopics.privacy.guarantee import Guarantee, Strength
from dptopics.release.counts import CountTable
from dptopics.release.release import Release
from dptopics.release.report import charts
from dptopics.release.report.charts import counts, counts_section, ledger_bar, number, roc_chart, table
from dptopics.release.report.promise import Promise
from dptopics.release.themes import Themes
from dptopics.release.topic_model import TopicModel, fingerprint

_FIRST_WORDS = 6


def check_labels(model: TopicModel, labels: Mapping[str, Any]) -> list[str]:
    """The names of a model's topics, if they are of this model (``dptopics label --out``)."""
    try:
        named = {int(one["topic"]): str(one["label"]) for one in labels["labels"]}
        made_of = labels["topics"]
    except (KeyError, TypeError, ValueError):
        raise InputError("these are not labels. Give the file that dptopics label --out wrote.") from None
    if made_of != fingerprint(model.topic_word, model.vocabulary.words):
        raise InputError("these labels are of other topics. Name the topics of this release: dptopics label RELEASE.")
    return [named.get(k, "") for k in range(model.n_topics)]


def check_counts(model: TopicModel, counts: CountTable) -> None:
    """Counts must be of this model's topics."""
    if counts.model != fingerprint(model.topic_word, model.vocabulary.words) or counts.axes[0] != "topic":
        raise InputError("these counts are not of this release's topics. Count with it: dptopics count RELEASE DATA.")


def sizes(model: TopicModel, counts: CountTable | None) -> list[str]:
    """The size of each topic with its interval, as text; empty where not counted."""
    if counts is None:
        return [model.shown_size(k) for k in range(model.n_topics)]
    shown = [number(counts, {0: counts.values[0].index(str(k))}) for k in range(model.n_topics)]
    return ["suppressed" if one is None else f"{one[0]:,} ({one[1]:,} to {one[2]:,})" for one in shown]


def sized(model: TopicModel, counts: CountTable | None) -> dict[str, str]:
    """What the sizes on a page are: the same kind throughout."""
    if counts is not None:
        of = counts.title(margin=True)
        return {"sized": f"{of} (95 % interval)", "size_note": counts.bounded, "unit": of.lower()}
    if model.sizes is not None:
        return {"sized": model.sizes.title, "size_note": model.sizes.note, "unit": f"{model.sizes.unit}s"}
    if model.shares_of:
        return {"sized": model.shares_of, "size_note": "", "unit": "of all reports"}
    return {"sized": "", "size_note": "The sizes of topics were not counted.", "unit": ""}


def overview_section(data: dict[str, Any]) -> str:
    """The overview as a table."""
    words, rows = data["words"], []
    named = any(topic["label"] for topic in data["topics"])
    for k, topic in enumerate(data["topics"]):
        listed = ", ".join(f"<bdi>{escape(words[w])}</bdi>" for w in topic["first"][:_FIRST_WORDS])
        name = f"<td><bdi>{escape(topic['label'])}</bdi></td>" if named else ""
        rows.append(
            f'<tr data-topic="{k}"><th scope="row">{k}</th>{name}'
            + (f'<td class="size">{escape(topic["size"])}</td>' if data["sized"] else "")
            + f"<td>{listed or 'none above the noise'}</td></tr>"
        )
    sizes = [data["sized"]] if data["sized"] else []
    heads = ["Topic", *(["Name"] if named else []), *sizes, "First words above the noise"]
    head = "".join(f'<th scope="col">{escape(one)}</th>' for one in heads)
    note = f"<p>Names by {escape(data['labelled'])}, from the release alone.</p>" if named else ""
    return (
        '<section id="overview" aria-labelledby="overview-title"><h2 id="overview-title">Overview</h2>'
        f'<div class="scroll" tabindex="0" role="region" aria-label="All topics"><table class="overview">'
        f"<caption>All topics</caption><thead><tr>{head}</tr></thead><tbody>"
        f"{''.join(rows)}</tbody></table></div><p>{escape(data['size_note'])}</p>{note}</section>"
    )


def themes_section(themes: Themes) -> str:
    """Themes, the rest of each domain, and domains, as tables."""
    of = f"{themes.unit.capitalize()}s (95 % interval)"
    rows = [(r.name, r.domain, "" if r.topic is None else str(r.topic), r.shown, ", ".join(r.words))
            for r in themes.rows()]  # fmt: skip
    heads = ("Theme", "Domain", "Topic", of, "Public words that describe the theme; nobody here need have written them")
    whole = [(row.name, row.shown) for row in themes.domains()]
    return (
        '<section id="themes" aria-labelledby="themes-title"><h2 id="themes-title">Themes</h2>'
        f"{table('Themes of a public list', heads, rows)}"
        f"<details><summary>By domain</summary>{table('Domains', ('Domain', of), whole)}</details>"
        f"<p>{escape(themes.note)}</p></section>"
    )


_TITLES = {"topics": "Topics", "vocabulary": "Vocabulary", "ngrams": "N-grams", "counts": "Counts"}


@dataclass(frozen=True)
class More:
    """What a page may show besides the release."""

    ledger: dict[str, Any] | None = None
    audit: dict[str, Any] | None = None
    counts: Release[CountTable] | None = None


def assemble(release: Release[Any], data: dict[str, Any], more: More, style: str, script: str) -> str:
    """One file. Its policy forbids connections, and scripts and styles other than these."""
    title, ledger, audit = _TITLES[data["kind"]], more.ledger, more.audit
    promise = Promise.of(release, more.counts)
    private = audit is not None or any(part.guarantee.strength is Strength.NONE for _, part in promise.parts)
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = [
        _banner(audit is not None) if private else "",
        f"<main>{_main(title, data)}{_about_topics(release, data, more)}{promise.section()}",
        "" if ledger is None else _ledger([part.guarantee for _, part in promise.parts], ledger),
        "" if audit is None else _audit(audit),
        "</main>",
    ]
    header, listed = _header(title, data, release, promise), _sources(data, more)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{'NOT FOR RELEASE: ' if private else ''}{title}</title>\n<style>{style}</style>\n</head>\n"
        f'<body>\n<a class="skip" href="#guarantee">Skip to the guarantee</a>\n{header}\n'
        f"{''.join(parts)}\n<footer>Made by dptopics, from {listed} alone. "
        "This file loads nothing from anywhere.</footer>\n"
        f'<script type="application/json" id="data">{embedded(data)}</script>\n<script>{script}</script>\n'
        "</body>\n</html>\n"
    )


def _sources(data: dict[str, Any], more: More) -> str:
    """What the page was made from."""
    sources = [
        ("counts of its topics", more.counts is not None),
        ("names given to its topics", any(topic["label"] for topic in data.get("topics", ()))),
        ("its ledger", more.ledger is not None),
        ("its audit", more.audit is not None),
    ]
    *first, last = ["the release", *(name for name, given in sources if given)]
    return f"{', '.join(first)} and {last}" if first else last


def embedded(data: dict[str, Any]) -> str:
    """JSON that cannot end its element nor be read as markup."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _header(title: str, data: dict[str, Any], release: Release[Any], promise: Promise) -> str:
    kinds = {"ngrams": "n-grams", "counts": "cells and margins"}
    what = f"{data['total']:,} {kinds.get(data['kind'], 'words')}"
    many = f"{len(data['topics'])} topics, {what}" if data["kind"] == "topics" else what
    mechanism = escape(str((release.record.plan or release.settings).get("mechanism", "unknown")))
    name = f"{escape(release.record.title)}: {title.lower()}" if release.record.title else title
    return f"<header><h1>{name}</h1><p>{many} · mechanism <q>{mechanism}</q> · {promise.badge()}</p></header>"


def _banner(audited: bool) -> str:
    reason = "The release guarantees nothing; the reason is given below, under the guarantee."
    if audited:
        reason = "It contains an audit: numbers computed from the private data without noise."
    return f'<p class="banner" role="alert"><strong>NOT FOR RELEASE.</strong> {escape(reason)}</p>'


def _main(title: str, data: dict[str, Any]) -> str:
    if data["kind"] == "topics":
        return overview_section(data) + _TOPICS + _topic_table(data)
    if data["kind"] == "counts":
        return counts_section(data)
    return _TABLE.replace("TITLE", title)


def _about_topics(release: Release[Any], data: dict[str, Any], more: More) -> str:
    """Trends and maps of counts, with their own price, and the tree."""
    value = release.value
    if isinstance(value, CountTable):
        return charts.charts(value, value.values[0])
    if not isinstance(value, TopicModel):
        return ""
    first = [", ".join(data["words"][w] for w in topic["first"][:3]) for topic in data["topics"]]
    labels = [topic["label"] for topic in data["topics"]]
    names = [f"{k}: {labels[k] or first[k] or 'no word above the noise'}" for k in range(len(labels))]
    tree = charts.tree_section(release.tree(), names)
    if value.themes is not None:
        tree = themes_section(value.themes) + tree
    if more.counts is None:
        return tree
    table, promise = more.counts.value, more.counts.guarantee
    price = (
        f"cost ε = {show(promise.epsilon)}, δ = {show(promise.delta)} ({promise.strength}) in addition to the topics"
    )
    price = "guarantee nothing" if promise.strength is Strength.NONE else price
    shown = counts(table) | {"title": "How much, and where", "place": "counts"}
    shown["note"] = f"These counts are a separate release, and {price}. {shown['note']}"
    shown["rows"] = [names[int(row)] if row.isdigit() else row for row in shown["rows"]]
    return charts.charts(table, names) + counts_section(shown) + tree


def _topic_table(data: dict[str, Any]) -> str:
    """All topics as a table, for readers without the map or without scripts."""
    words, rows = data["words"], []
    for place, topic in enumerate(data["topics"]):
        listed = ", ".join(f"<bdi>{escape(words[w])}</bdi>" for w in topic["first"])
        noise = "" if topic["noise_std"] is None else f"{topic['noise_std']:.2g}"
        rows.append((str(place), *([topic["size"]] if data["sized"] else []), noise, listed or "none"))
    sizes = [data["sized"]] if data["sized"] else []
    heads = ("Topic", *sizes, "Standard deviation of the noise", "Most relevant words above the noise")
    body = table("All topics by number", heads, rows, raw=(len(heads) - 1,))
    return f'<details id="all-topics"><summary>All topics as a table</summary>{body}</details></section>'


def _ledger(shown: Sequence[Guarantee], ledger: dict[str, Any]) -> str:
    prices = [guarantee.to_dict()["events"] for guarantee in shown]
    ours = [charge["number"] for charge in ledger["charges"] if charge["events"] in prices]
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
    return (
        '<section id="ledger" aria-labelledby="ledger-title">'
        f'<h2 id="ledger-title">The ledger <q>{escape(ledger["name"])}</q></h2><p>{escape(total)} {escape(note)}</p>'
        f"{ledger_bar(ledger, ours)}{table('Charges, oldest first', heads, rows)}</section>"
    )


def _charged(prices: Sequence[Any], charges: Sequence[dict[str, Any]]) -> str:
    """Which charges the parts of this page are, matched by their prices."""
    notes = []
    for name, price in zip(("this release", "the release of counts"), prices, strict=False):
        numbers = [str(charge["number"]) for charge in charges if charge["events"] == price]
        which = (
            f"charge {numbers[0]}" if len(numbers) == 1 else f"one of the charges {', '.join(numbers)} of this price"
        )
        elsewhere = f"No charge in this ledger has the price of {name}: it may be charged elsewhere, or not at all."
        notes.append(f"{name[0].upper()}{name[1:]} is {which}." if numbers else elsewhere)
    return " ".join(notes)


def _audit(audit: dict[str, Any]) -> str:
    attacks = audit.get("attacks", [])
    rows = [(a["attack"], _share(a["tpr_at_0.1%_fpr"]), _share(a["tpr_at_1%_fpr"]), f"{a['auc']:.3f}") for a in attacks]
    checked = audit.get("table", {}) if audit.keys() & {"checks", "controls"} else {}  # controls: of earlier audits
    exposed = [
        tuple(f"{v:.4g}" if isinstance(v, float) else "" if v is None else str(v) for v in row.values())
        for row in audit.get("most_exposed", [])
    ]
    names = tuple(audit["most_exposed"][0]) if exposed else ()
    heads = ("Attack", "Members found at 0.1 % false alarms", "at 1 %", "Area under the curve")
    return (
        '<section id="audit" aria-labelledby="audit-title"><h2 id="audit-title">The audit: not for release</h2>'
        f"<p>{escape(str(audit['verdict']))}</p>{roc_chart(audit)}"
        + (table("What was checked", tuple(checked["heads"]), checked["rows"]) if checked else "")
        + (table("How well each attack does", heads, rows) if rows else "")
        + (f"<details><summary>The most exposed documents, by row of the data</summary>"
           f"{table('Most exposed documents', names, exposed)}</details>" if exposed else "")
        + "</section>"
    )  # fmt: skip


def _share(rate: float | None) -> str:
    return "too few outsiders" if rate is None else f"{rate:.1%}"


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
<figcaption id="map-title">Topics by the distance between their words: near topics use the same words.
Arrow keys move from topic to topic.</figcaption><div id="tip" hidden></div></figure>
<div id="words"></div>
</div>
"""
_TABLE = """<section id="topics" aria-labelledby="topics-title"><h2 id="topics-title">TITLE</h2>
<noscript><p>The table needs JavaScript. The release folder has the same words as text.</p></noscript>
<div class="controls" hidden>
<p><label for="search">Find</label> <input type="search" id="search" autocomplete="off" spellcheck="false"></p></div>
<div id="found" role="status" aria-live="polite"></div><div id="words"></div></section>
"""
