"""The part of the page about topics: how large each is, its words, and how topics lie to each other."""

from collections.abc import Sequence
from html import escape
from typing import Any

from dptopics.core.axes import FAR, NO_TOPIC
from dptopics.privacy.card import show
from dptopics.privacy.guarantee import Strength
from dptopics.release.counts import CountTable, Estimate, Shown
from dptopics.release.release import Release
from dptopics.release.report.charts import (
    Bar,
    bars,
    folded,
    groups,
    multiples,
    number,
    section,
    span,
    table,
    tree,
    trends,
)
from dptopics.release.themes import REST, Themes
from dptopics.release.topic_model import TopicModel

_MAP_SHOWS = 0.5  # of the squared distances between topics: a map that shows less misleads
_MOST_ON_MAP = 200
_ELSE = {NO_TOPIC: "no topic: no known word", FAR: "far from every topic"}
_COUNTED = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


class TopicsPage:
    """Topics with their names and sizes, the largest first."""

    def __init__(self, release: Release[TopicModel], data: dict[str, Any], counts: Release[CountTable] | None) -> None:
        self.release, self.model, self.data, self.counts = release, release.value, data, counts
        words = [", ".join(data["words"][w] for w in topic["first"][:3]) for topic in data["topics"]]
        labels = [topic["label"] for topic in data["topics"]]
        self.names = [label or word or "no word above the noise" for label, word in zip(labels, words, strict=True)]
        self.sizes = [self._size(k) for k in range(self.model.n_topics)]
        self.order = sorted(range(self.model.n_topics), key=lambda k: -self.sizes[k].value)

    @property
    def _themes(self) -> Themes | None:
        return self.model.themes if self.model.themes is not None and self.model.themes.noisy is not None else None

    def _size(self, k: int) -> Bar:
        name, table = self.names[k], None if self.counts is None else self.counts.value
        if table is not None:
            return Bar.counted(name, number(table, {0: table.values[0].index(str(k))}), note=f"topic {k}")
        if self.model.sizes is not None:
            return Bar.counted(name, self.model.sizes.estimate(k), note=f"topic {k}")
        return Bar(name, float(self.model.topic_share[k]), shown=self.model.shown_size(k), note=f"topic {k}")

    @property
    def _sized(self) -> tuple[str, str]:
        """What the sizes are, as a heading, and a note; nothing where topics have no sizes."""
        if self.counts is not None:
            table, promise = self.counts.value, self.counts.guarantee
            price = f"cost ε = {show(promise.epsilon)}, δ = {show(promise.delta)} ({promise.strength})"
            price = "guarantee nothing" if promise.strength is Strength.NONE else f"{price} in addition to the topics"
            note = f"These counts are a separate release, and {price}. {table.bounded}"
            return f"{table.title(margin=True)} (95 % interval)", note
        if self.model.sizes is not None:
            return self.model.sizes.title, self.model.sizes.note
        return self.model.shares_of, "" if self.model.shares_of else "The sizes of topics were not counted."

    def headline(self) -> str:
        """The page in one sentence: how many people, and how many subjects the noise leaves no doubt about."""
        counted = self.sizes if self._themes is None else _theme_bars(self._themes)
        n = sum(1 for one in counted if one.low is None or one.low > 0)
        many = _COUNTED[n] if n < len(_COUNTED) else f"{n:,}"
        total = self._total()
        about = "" if total is None else f"about {total:,} "
        if self._unit in ("document", "texts"):
            who = f"What {about or 'the '}texts are about"
        else:
            who = f"What {about}people wrote about"
        return f"{who}: {many} subject{'' if n == 1 else 's'}"

    @property
    def _unit(self) -> str:
        if self.counts is not None:
            return self.counts.value.counted
        return str(self.release.guarantee.unit) if self.model.sizes is None else self.model.sizes.unit

    def _total(self) -> int | None:
        """Everybody, by the same release as the sizes; None: not counted, or some count more than once."""
        if self.counts is not None:
            table = self.counts.value
            several = table.documents or table.min_units or (table.since and table.max_periods > 1)
            return None if several else Shown.of(table.count()).value
        if self.model.sizes is None:
            return None
        noisy, noise = self.model.sizes.noisy, self.model.sizes.noise
        return Shown.of(Estimate.of(float(noisy.sum()), float((noise**2).sum()))).value

    def body(self) -> str:
        """All sections."""
        counted = ""
        if self.counts is not None:
            table = self.counts.value
            of_rows = [self.names[int(v)] if v.isdigit() else _ELSE.get(v, v) for v in table.values[0]]
            counted = trends(table, of_rows, self._rows) + groups(table, of_rows, self._rows)
        themes = "" if self._themes is None else _themes_section(self._themes)
        return themes + self._overview(main=not themes) + self._words() + counted + self._map() + self._tree()

    @property
    def _rows(self) -> list[int]:
        """Rows of the counts: topics, the largest first, then whatever is no topic."""
        assert self.counts is not None
        values = self.counts.value.values[0]
        own = [values.index(str(k)) for k in self.order]
        return [*own, *sorted(set(range(len(values))) - set(own))]

    def _overview(self, *, main: bool) -> str:
        head, note = self._sized
        notes = [note] if note else []
        if self.data["labelled"]:
            what = "Names and sentences" if any(topic["sentence"] for topic in self.data["topics"]) else "Names"
            notes.append(f"{what} by {self.data['labelled']}, from the release alone.")
        said = "".join(f"<p>{escape(one)}</p>" for one in notes)
        chart = sized_bars([self.sizes[k] for k in self.order], head) if head else ""
        if main:
            return section("overview", "Topics by size" if head else "Topics", chart, said)
        shown = folded("Topics by size", chart + said) if head else said
        return section("topics", "Topics", f"<p>{_OF_THEMES}</p>", shown)

    def _words(self) -> str:
        """The words of each topic above the noise, side by side."""
        topics, words = self.data["topics"], self.data["words"]
        self.data["listed"] = [k for k in self.order if topics[k]["first"]]
        charts = []
        for k in self.data["listed"]:
            weight = dict(zip(topics[k]["words"], topics[k]["weight"], strict=True))
            rows = [_word(words[w], weight[w], topics[k]["noise_std"]) for w in topics[k]["first"]]
            said = f"<p>{escape(topics[k]['sentence'])}</p>" if topics[k]["sentence"] else ""
            charts.append((self.names[k], f"topic {k}", said + bars(rows)))
        silent = [self.names[k] for k in self.order if not topics[k]["first"]]
        if not charts:
            return section("words", "Words", f"<p>{_NO_WORDS}</p>") if silent else ""
        named = f": {'; '.join(silent)}" if self.data["labelled"] else ""
        rest = f"<p>{len(silent)} of {len(topics)} topics have no word above the noise{escape(named)}.</p>"
        known = self.model.noise_std is not None
        lead = _ABOVE if known else "How large the noise is, is not known: there are no error bars."
        body = f"<p>{lead}</p>{_CONTROLS}", multiples(charts), rest if silent else ""
        return section("words", "The words of each topic", *body)

    def _map(self) -> str:
        """Only where two dimensions show most of what tells topics apart."""
        if self.data["plane"] < _MAP_SHOWS or not 3 <= self.model.n_topics <= _MOST_ON_MAP:
            for topic in self.data["topics"]:
                del topic["at"]
            return ""
        shows = f"{self.data['plane']:.0%}"
        return section(
            "map",
            "Topics as a map",
            f"<p>Near topics use the same words: the map shows {shows} of what tells them apart. Circles that would "
            "cover each other are moved apart.</p><noscript><p>The map needs JavaScript; the tree below does not.</p>"
            '</noscript><svg class="map" viewBox="0 0 900 560" role="img" aria-label="Map of topics; the tree below '
            'shows which are alike"></svg>',
        )

    def _tree(self) -> str:
        if self.model.n_topics < 3:
            return ""
        return tree(self.release.tree(), self.names)


_NO_WORDS = "No word of any topic is above the noise: with this many people, words cannot be told from chance."
_OF_THEMES = (
    "Topics are groups of these themes, to count by and to assign new texts to. Each text belongs to its nearest "
    "topic, also if it is about none of the themes: a topic may be larger than the themes in it."
)
_ABOVE = (
    "Only words above the noise: each bar is the word's share of all words in the topic, with an error bar of two "
    "standard deviations of the noise either way."
)
_CONTROLS = """<div class="controls" hidden>
<p><label for="search">Find a word</label> <input type="search" id="search" autocomplete="off" spellcheck="false"></p>
<p><label for="relevance">Relevance λ</label>
<input type="range" id="relevance" aria-describedby="relevance-help">
<output id="relevance-value" for="relevance"></output>
<span class="help" id="relevance-help">1: heaviest words first. 0: words that set the topic apart.</span></p>
<p><label for="many">Words</label> <select id="many"><option>10</option><option>30</option></select></p>
</div><p id="found" role="status" aria-live="polite"></p>"""


def _word(word: str, weight: float, noise_std: float | None) -> Bar:
    if noise_std is None:
        return Bar(word, weight, shown=f"{100 * weight:.2g} %")
    ends = weight - 2 * noise_std, weight + 2 * noise_std
    return Bar(word, weight, *ends, f"{100 * weight:.2g} %", f"± {200 * noise_std:.2g}")


def sized_bars(rows: Sequence[Bar], head: str) -> str:
    """Bars of sizes; those whose interval reaches 0 are folded."""
    ends = span(rows)
    doubtful = [row for row in rows if row.low is not None and row.low <= 0]
    sure = [row for row in rows if row not in doubtful]
    many = f"{len(doubtful)} more" if sure else f"All {len(doubtful)}"
    rest = folded(f"{many} whose interval reaches 0: perhaps nobody's", bars(doubtful, ends)) if doubtful else ""
    return f'<p class="axis">{escape(head)}</p>{bars(sure, ends) if sure else ""}{rest}'


def _theme_bars(themes: Themes) -> list[Bar]:
    found = [Bar.counted(row.name, row.size, note=row.domain) for row in themes.rows() if row.topic is not None]
    return sorted(found, key=lambda bar: -bar.value)


def _themes_section(themes: Themes) -> str:
    """Themes as bars, then what they mean, and domains."""
    of = f"{themes.unit.capitalize()}s (95 % interval)"
    means = [
        (row.name, row.domain, str(row.topic), ", ".join(row.words)) for row in themes.rows() if row.topic is not None
    ]
    heads = ("Theme", "Domain", "Topic", "Public words that describe it; nobody here need have written them")
    domains = sorted((Bar.counted(row.name, row.size) for row in themes.domains()), key=lambda bar: -bar.value)
    return section(
        "overview",
        "Themes by size",
        sized_bars(_theme_bars(themes), of),
        f"<p>{escape(themes.note)}</p>",
        folded("What each theme means", table("Themes of a public list", heads, means)),
        folded(f"By domain, with {REST} in it", sized_bars(domains, of)),
    )
