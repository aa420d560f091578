"""The page around the data: everything that needs no script, escaped."""

import json
from base64 import b64encode
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from html import escape
from typing import Any

from dptopics.privacy.guarantee import Strength, Unit
from dptopics.release.counts import CountTable
from dptopics.release.release import Release
from dptopics.release.report.charts import Bar, bars, groups, number, section, trends
from dptopics.release.report.owner import audit_section, ledger_section
from dptopics.release.report.promise import Promise
from dptopics.release.report.topics import TopicsPage, sized_bars
from dptopics.release.topic_model import TopicModel


@dataclass(frozen=True)
class More:
    """What a page may show besides the release."""

    ledger: dict[str, Any] | None = None
    audit: dict[str, Any] | None = None
    counts: Release[CountTable] | None = None


def assemble(release: Release[Any], data: dict[str, Any], more: More, style: str, script: str) -> str:
    """One file. Its policy forbids connections, and scripts and styles other than these."""
    ledger, audit = more.ledger, more.audit
    promise = Promise.of(release, more.counts)
    private = audit is not None or any(part.guarantee.strength is Strength.NONE for _, part in promise.parts)
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    headline, body = _content(release, data, more.counts)
    parts = [
        _banner(audit is not None) if private else "",
        f"<main>{body}{promise.section()}",
        "" if ledger is None else ledger_section([part.guarantee for _, part in promise.parts], ledger),
        "" if audit is None else audit_section(audit),
        "</main>",
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{'NOT FOR RELEASE: ' if private else ''}{escape(release.record.title or headline)}</title>\n"
        f"<style>{style}</style>\n</head>\n"
        '<body>\n<a class="skip" href="#guarantee">Skip to the guarantee</a>\n'
        f"{_header(headline, release, promise)}\n"
        f"{''.join(parts)}\n<footer>Made by dptopics, from {_sources(data, more)} alone. "
        "This file loads nothing from anywhere.</footer>\n"
        f'<script type="application/json" id="data">{embedded(data)}</script>\n<script>{script}</script>\n'
        "</body>\n</html>\n"
    )


def _content(release: Release[Any], data: dict[str, Any], counts: Release[CountTable] | None) -> tuple[str, str]:
    """The page in one sentence, and its sections."""
    value = release.value
    if isinstance(value, TopicModel):
        shown = TopicsPage(release, data, counts)
        return shown.headline(), shown.body()
    if isinstance(value, CountTable):
        return _counts(value)
    who = "people" if release.guarantee.unit is Unit.AUTHOR else "texts"
    if data["kind"] == "ngrams":
        return f"How probable {data['total']:,} n-grams are", _TABLE.replace("TITLE", "N-grams")
    many = "One word" if data["total"] == 1 else f"{data['total']:,} words"
    return f"{many} that many {who} use", _TABLE.replace("TITLE", "Words")


def _counts(table: CountTable) -> tuple[str, str]:
    """A release of counts: its first axis by size, means of numbers if there are any, then time and groups."""
    names, said = table.values[0], dict(zip(table.values[0], table.asked, strict=False))
    asked = {name: one for name, one in said.items() if one != f'{{"mention": "{name}"}}'}
    rows = [Bar.counted(name, number(table, {0: k}), asked.get(name, "")) for k, name in enumerate(names)]
    order = sorted(range(len(rows)), key=lambda k: -rows[k].value)
    sized = sized_bars([rows[k] for k in order], f"{table.title(margin=True)} (95 % interval)")
    first = section("overview", f"By {escape(table.axes[0])}", sized, f"<p>{escape(table.bounded)}</p>")
    if table.number:
        found = [(name, table.mean(**{table.axes[0]: name})) for name in names]
        means = [Bar(name, shown="too few to say") if one is None else Bar.mean(name, *one) for name, one in found]
        ends = (min(0.0, table.number_range[0]), table.number_range[1])
        first += section("means", f"Mean of {escape(table.number)}, with 95 % intervals", bars(means, ends))
    by = table.axes[0] if len(table.axes) == 1 else f"{', '.join(table.axes[:-1])} and {table.axes[-1]}"
    return f"How many {table.counted}, by {by}", first + trends(table, names, order) + groups(table, names, order)


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


def _header(headline: str, release: Release[Any], promise: Promise) -> str:
    """Title, sentence, day, source and price."""
    record = release.record
    title = record.title or headline
    lead = f'<p class="lead">{escape(headline)}.</p>' if record.title else ""
    day = f"{date.fromisoformat(record.day):%-d %B %Y}" if record.day else ""
    said = [f"Released on {day}" if day else "", record.description.rstrip(".")]
    about = "".join(f"<p>{escape(one)}.</p>" for one in [". ".join(filter(None, said))] if one)
    return f"<header><h1>{escape(title)}</h1>{lead}{about}<p>{promise.sentence()}{promise.badge()}</p></header>"


def _banner(audited: bool) -> str:
    reason = "The release guarantees nothing; the reason is given below, under the guarantee."
    if audited:
        reason = "It contains an audit: numbers computed from the private data without noise."
    return f'<p class="banner" role="alert"><strong>NOT FOR RELEASE.</strong> {escape(reason)}</p>'


_TABLE = """<section id="words" aria-labelledby="words-title"><h2 id="words-title">TITLE</h2>
<noscript><p>The list needs JavaScript. The release folder has the same words as text.</p></noscript>
<div class="controls" hidden>
<p><label for="search">Find</label> <input type="search" id="search" autocomplete="off" spellcheck="false"></p></div>
<p id="found" role="status" aria-live="polite"></p><div id="list"></div></section>
"""
