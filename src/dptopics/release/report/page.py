"""The page around the data: everything that needs no script, escaped."""

import json
from base64 import b64encode
from datetime import date
from hashlib import sha256
from html import escape
from math import ceil, floor
from string import Template
from typing import Any

from dptopics.privacy.guarantee import Strength, Unit
from dptopics.release.compare import compare
from dptopics.release.counts import CountTable
from dptopics.release.release import Release
from dptopics.release.report.charts import Bar, asset, bars, breakdown, folded, number, section, span
from dptopics.release.report.owner import audit_section, ledger_section
from dptopics.release.report.promise import Promise
from dptopics.release.report.topics import TopicsPage, sized_bars
from dptopics.release.topic_model import TopicModel


def assemble(release: Release[Any], data: dict[str, Any], *, ledger: Any, audit: Any, counts: Any, before: Any) -> str:
    """One file. Its policy forbids connections, and scripts and styles other than these."""
    style, script = asset("page.css"), asset("page.js")
    promise = Promise.of(release, counts, before)
    private = audit is not None or any(part.guarantee.strength is Strength.NONE for _, part in promise.parts)
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    headline, body = _content(release, data, counts)
    body += "" if before is None else _changes(before, counts or release)
    parts = [
        _banner(audit is not None) if private else "",
        f"<main>{body}{promise.section()}",
        "" if ledger is None else ledger_section(promise.parts, ledger),
        "" if audit is None else audit_section(audit),
        "</main>",
    ]
    return Template(asset("page.html")).substitute(
        policy=escape(policy),
        title=f"{'NOT FOR RELEASE: ' if private else ''}{escape(release.record.title or headline)}",
        header=_header(headline, release, promise),
        body="".join(parts),
        sources=_sources(data, counts, before, ledger, audit),
        data=embedded(data),
        style=style,
        script=script,
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
        return f"How probable {data['total']:,} n-grams are", asset("list.html").replace("TITLE", "N-grams")
    many = "One word" if data["total"] == 1 else f"{data['total']:,} words"
    return f"{many} that many {who} use", asset("list.html").replace("TITLE", "Words")


def _counts(table: CountTable) -> tuple[str, str]:
    """A release of counts: its first axis by size, means of numbers if there are any, then time and groups."""
    names, asked = table.values[0], table.wording
    rows = [Bar.counted(name, number(table, {0: k}), asked.get(name, "")) for k, name in enumerate(names)]
    order = sorted(range(len(rows)), key=lambda k: -rows[k].value)
    sized = sized_bars([rows[k] for k in order], f"{table.title(margin=True)} (95 % interval)")
    first = section("overview", f"By {escape(table.axes[0])}", sized, f"<p>{escape(table.bounded)}</p>")
    if table.number:
        found = [(name, table.mean(**{table.axes[0]: name})) for name in names]
        means = [Bar(name, *one, f"{one.value:.3g}", f"({one.low:.3g} to {one.high:.3g})")
                 if one else Bar(name, shown="too few to say") for name, one in found]  # fmt: skip
        ends = (min(0.0, table.number_range[0]), table.number_range[1])
        first += section("means", f"Mean of {escape(table.number)}, with 95 % intervals", bars(means, ends))
    by = table.axes[0] if len(table.axes) == 1 else f"{', '.join(table.axes[:-1])} and {table.axes[-1]}"
    return f"How many {table.counted}, by {by}", first + breakdown(table, names, order)


def _changes(before: Release[Any], after: Release[Any]) -> str:
    """What rose and what fell since an earlier release."""
    rows = sorted(compare(before.value, after.value), key=lambda row: -row.change)
    drawn = [Bar(row.row, row.change, row.low, row.high, f"{round(row.change):+,}",
                 f"({floor(row.low):+,} to {ceil(row.high):+,})", row.verdict) for row in rows]  # fmt: skip
    ends, rest = span(drawn), [bar for bar in drawn if bar.note == "open"]
    sure = [bar for bar in drawn if bar.note != "open"]
    said = _SINCE.format(f" of {escape(before.record.day)}" if before.record.day else "")
    many = f"{len(rest):,} more, where noise may be all there is"
    more = f"<p>{many}: dptopics compare lists them.</p>" if len(rest) > _MOST_OPEN else folded(many, bars(rest, ends))
    shown = bars(sure, ends) if sure else "", more if rest else ""
    return section("changes", "What rose and what fell", f"<p>{said}</p>", *shown)


_MOST_OPEN = 60
_SINCE = (
    "Since the earlier release{}. With probability 95 % all of these intervals hold together. They cover the noise of "
    "both releases; people differ by chance as well."
)


def _sources(data: dict[str, Any], *given: Any) -> str:
    """What the page was made from."""
    counts, before, ledger, audit = (one is not None for one in given)
    sources = [
        ("counts of its topics", counts),
        ("names given to its topics", any(topic["label"] for topic in data.get("topics", ()))),
        ("an earlier release", before),
        ("its ledger", ledger),
        ("its audit", audit),
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
    try:
        day = date.fromisoformat(record.day)
        when = f"Released on {day.day} {day:%B %Y}"
    except ValueError:  # older releases have no day
        when = ""
    said = [when, record.description.rstrip(".")]
    about = "".join(f"<p>{escape(one)}.</p>" for one in [". ".join(filter(None, said))] if one)
    return f"<header><h1>{escape(title)}</h1>{lead}{about}<p>{promise.sentence()}{promise.badge()}</p></header>"


def _banner(audited: bool) -> str:
    no_promise = "The release guarantees nothing; the reason is given below, under the guarantee."
    reason = "It contains an audit: numbers computed from the private data without noise." if audited else no_promise
    return f'<p class="banner" role="alert"><strong>NOT FOR RELEASE.</strong> {escape(reason)}</p>'
