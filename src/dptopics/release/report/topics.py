"""The part of the page about topics: how large each is, its words, and how topics lie to each other."""

from collections.abc import Sequence
from html import escape
from typing import Any

from dptopics.core.axes import FAR, NO_TOPIC
from dptopics.privacy.card import show
from dptopics.privacy.guarantee import Strength
from dptopics.release.counts import CountTable, Shown
from dptopics.release.release import Release
from dptopics.release.report.charts import Bar, asset, bars, breakdown, folded, multiples, section, span, table, tree
from dptopics.release.themes import MARK, REST, Themes
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
            return Bar.counted(name, table.count(topic=str(k)), note=f"topic {k}")
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
        n = sum(one.shown != "suppressed" if one.low is None else one.low > 0 for one in counted)
        many = _COUNTED[n] if n < len(_COUNTED) else f"{n:,}"
        total = self._total()
        about, texts = "" if total is None else f"about {total:,} ", self._unit in ("document", "texts")
        who = f"{about or 'the '}texts are about" if texts else f"{about}people wrote about"
        return f"What {who}: {many} subject{'' if n == 1 else 's'}"

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
        return None if self.model.sizes is None else Shown.of(self.model.sizes.whole).value

    def body(self) -> str:
        counted = ""
        if self.counts is not None:
            table = self.counts.value
            of_rows = [self.names[int(v)] if v.isdigit() else _ELSE.get(v, v) for v in table.values[0]]
            own = [table.values[0].index(str(k)) for k in self.order]
            rows = [*own, *sorted(set(range(len(of_rows))) - set(own))]  # topics, then whatever is no topic
            counted = breakdown(table, of_rows, rows)
        themes = "" if self._themes is None else _themes_section(self._themes)
        related = not themes and self.model.n_topics > 2  # topics of themes are there to count by
        alike = self._map() + (tree(self.release.tree(), self.names) if related else "")
        return themes + self._overview(main=not themes) + self._words() + counted + alike

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
            said = f'<p dir="auto">{escape(topics[k]["sentence"])}</p>' if topics[k]["sentence"] else ""
            charts.append((self.names[k], f"topic {k}", said + bars(rows)))
        silent = [self.names[k] for k in self.order if not topics[k]["first"]]
        if not charts:
            return section("words", "Words", f"<p>{_NO_WORDS}</p>") if silent else ""
        named = f": {'; '.join(silent)}" if self.data["labelled"] else ""
        rest = f"<p>{len(silent)} of {len(topics)} topics have no word above the noise{escape(named)}.</p>"
        known = self.model.noise_std is not None
        lead = _ABOVE if known else "How large the noise is, is not known: there are no error bars."
        body = f"<p>{lead}</p>{asset('controls.html')}", multiples(charts), rest if silent else ""
        return section("words", "The words of each topic", *body)

    def _map(self) -> str:
        """Only where two dimensions show most of what tells topics apart."""
        if self.data["plane"] < _MAP_SHOWS or not 3 <= self.model.n_topics <= _MOST_ON_MAP:
            for topic in self.data["topics"]:
                del topic["at"]
            return ""
        return section("map", "Topics as a map", asset("map.html").replace("SHOWS", f"{self.data['plane']:.0%}"))


_NO_WORDS = "No word of any topic is above the noise: with this many people, words cannot be told from chance."
_OF_THEMES = (
    "Topics are groups of these themes, to count by and to assign new texts to. Each text belongs to its nearest "
    "topic, also if it is about none of the themes: a topic may be larger than the themes in it."
)
_ABOVE = (
    "Only words above the noise: each bar is the word's share of all words in the topic, with an error bar of two "
    "standard deviations of the noise either way."
)


def _word(word: str, weight: float, noise_std: float | None) -> Bar:
    shown, doubt = f"{100 * weight:.2g} %", 2 * (noise_std or 0.0)
    return Bar(
        word,
        weight,
        *((weight - doubt, weight + doubt, shown, f"± {100 * doubt:.2g}") if doubt else (None, None, shown)),
    )


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
        _examples(themes),
        folded("What each theme means", table("Themes of a public list", heads, means)),
        folded(f"By domain, with {REST} in it", sized_bars(domains, of)),
    )


def _examples(themes: Themes) -> str:
    """Invented sentences of the themes that have some, the largest theme first."""
    rows = sorted(themes.rows(), key=lambda row: -row.size.value)
    lines = "".join(
        f"<dt><bdi>{escape(row.name)}</bdi></dt><dd>"
        + "<br>".join(f"<q>{escape(one)}</q> <small>{MARK}</small>" for one in row.examples)
        + "</dd>"
        for row in rows
        if row.examples
    )
    return f"<h3>What a text about them may say</h3><dl>{lines}</dl>" if lines else ""
