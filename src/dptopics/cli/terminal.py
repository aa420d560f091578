"""What people see in the terminal: tables, cards and bars. Results on stdout, everything else on stderr."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from dptopics.core import progress

if TYPE_CHECKING:
    from dptopics.core.vocabulary import Vocabulary
    from dptopics.privacy.guarantee import Guarantee
    from dptopics.release.counts import CountTable, Share
    from dptopics.release.ngrams import NgramTable
    from dptopics.release.release import Record
    from dptopics.release.themes import Themes
    from dptopics.release.topic_model import TopicModel

MOST_ROWS = 40  # of a table
out = Console()
err = Console(stderr=True)


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[float], None]]:
    """A progress bar in percent, on a terminal only: logs and pipes are for messages."""
    if not err.is_terminal:
        yield lambda share: None
        return
    with progress.bar(title, err) as sink:
        yield sink


@contextmanager
def working(title: str) -> Iterator[None]:
    """A progress bar for what is done inside, as far as it tells."""
    with progress_bar(title) as sink, progress.shown_by(sink):
        yield


def show_topics(model: "TopicModel", words: int, min_z: float | None = None) -> None:
    """Topics as a table: words above the noise. Others, if they are asked for, stand in brackets and dim."""
    from dptopics.release.labels import NAMED, theme_names
    from dptopics.release.topic_model import SURE

    asked = SURE if min_z is None else min_z
    sized = [model.sizes.title] if model.sizes is not None else [model.shares_of] if model.shares_of else []
    names = theme_names(model)
    named = ["Name"] if any(names) else []
    table = Table("Topic", *named, *sized, _heading(asked, SURE, known=model.noise_std is not None))
    sure = model.top_words(words, min_z=max(asked, SURE))
    phrases = model.top_phrases(5)
    if any(phrases):
        table.add_column("Phrases")
    for k, row in enumerate(model.top_words(words, min_z=asked)):
        more = [", ".join(phrases[k])] if any(phrases) else []
        size, name = [model.shown_size(k)] * len(sized), [escape(names[k])] * len(named)
        seeded = "" if model.seeds is None or model.seeds[k] < 0 else f" (seed {model.seeds[k] + 1})"
        table.add_row(f"{k}{seeded}", *name, *size, _marked(row, sure[k], names[k]), *more)
    if model.themes is not None:
        show_themes(model.themes)
    out.print(table)
    if model.sizes is not None:
        out.print(escape(model.sizes.note), highlight=False)
    if model.themes is None and named:
        out.print(NAMED, highlight=False)


def _marked(row: list[str], sure: list[str], name: str) -> Text:
    """Words of a topic; those that may be chance in brackets and dim."""
    if not row:
        return Text("none" if name else "none: this topic is mostly noise", "dim")
    return Text(", ").join([Text(word) if word in sure else Text(f"({word})", "dim") for word in row])


def show_themes(themes: "Themes") -> None:
    """Themes with their sizes, the largest first, and their examples."""
    from dptopics.release.themes import MARK, REST

    table = Table("Theme", "Domain", f"{themes.unit.capitalize()}s (95 % interval)")
    rows = sorted(themes.rows(), key=lambda row: (row.topic is None, -row.size.value))
    for row in rows:
        if row.name != REST:
            table.add_row(escape(row.name), escape(row.domain), row.shown)
    out.print(table)
    out.print(escape(themes.note), highlight=False)
    for row in rows:
        for one in row.examples:
            out.print(f"{escape(row.name)}: “{escape(one)}” [dim]({MARK})[/dim]", highlight=False)


def _heading(asked: float, sure: float, *, known: bool) -> str:
    if not known:
        return "Heaviest words; how far the noise reaches is not known"
    others = "; in brackets: may be chance" if asked < sure else ""
    return f"Words at least {max(asked, sure):g} standard deviations above the noise{others}"


def show_ngrams(table: "NgramTable", n: int) -> None:
    """The most probable n-grams as a table, with what noise leaves open."""
    shown = Table("N-gram", "Probability", "±")
    for ngram, probability in table.top(n):
        spread = "" if table.noise_std is None else f"{table.noise_std[table.vocabulary.index[ngram]]:.2g}"
        shown.add_row(escape(ngram), f"{probability:.3g}", spread)
    out.print(shown)


def show_words(vocabulary: "Vocabulary", n: int, many: str = "words") -> None:
    """How many words there are, and those of the highest noisy weight."""
    listed = f", {len(vocabulary.listed):,} of them from a public list" if vocabulary.listed else ""
    most = "" if vocabulary.weights is None else f" The most used: {', '.join(vocabulary.heaviest(n))}."
    out.print(escape(f"{len(vocabulary):,} {many} may be published{listed}.{most}"), highlight=False)


def show_counts(table: "CountTable") -> None:
    """Counts of the first axis with their intervals, then those of groups, and what the bound leaves out."""
    from dptopics.release.report.charts import time_axis

    asked = {name: f"{name}: {words}" for name, words in table.wording.items()}
    means = [f"Mean {escape(table.number)} (95 %)"] * bool(table.number)
    counted = table.title(margin=True), "95 % interval"
    shown = Table(table.axes[0].capitalize(), *counted, f"Share of all {table.counted}", *means)
    for value in table.values[0]:
        where = {table.axes[0]: value}
        mean = table.mean(**where) if table.number else None
        told = [] if mean is None else [f"{mean.value:.2f} ({mean.low:.2f} to {mean.high:.2f})"]
        shown.add_row(escape(asked.get(value, value)), *_numbers(table, where, table.share(where, of={})), *told)
    out.print(shown)
    for place, axis in enumerate(table.axes):
        if place not in (0, time_axis(table)):
            _show_groups(table, axis, Table(table.axes[0].capitalize(), escape(axis), *counted))
    out.print(escape(table.bounded), highlight=False)


def _show_groups(table: "CountTable", axis: str, shown: Table) -> None:
    """Shares by group with their ratio to the first one; by bins of numbers, shares of each row's own people."""
    from dptopics.core.axes import edges_of

    groups = table.values[table.axes.index(axis)]
    for head in ["Share of the row"] if edges_of(groups) else ["Share of all there", f"Beside {escape(groups[0])}"]:
        shown.add_column(head)
    pairs = list(product(table.values[0], groups))
    for value, group in pairs[:MOST_ROWS]:
        share, times = table.shares_by(axis, value, group)
        numbers = _numbers(table, {table.axes[0]: value, axis: group}, share)
        shown.add_row(escape(value), escape(group), *numbers, *([] if times is None else [str(times)]))
    out.print(shown)
    if len(pairs) > MOST_ROWS:
        out.print(f"The other {len(pairs) - MOST_ROWS:,} rows are in counts.csv.", highlight=False)


def _numbers(table: "CountTable", where: dict[str, str], share: "Share | None") -> tuple[str, str, str]:
    """A count, its interval and a share."""
    from dptopics.release.report.charts import Bar

    bar = Bar.counted("", table.count(**where))
    return bar.shown, bar.interval.strip("()"), "-" if share is None else f"{share.low:.1%} to {share.high:.1%}"


def show_value(value: Any, n: int, min_z: float | None = None, many: str = "words") -> None:
    """A released value, with its n most important things."""
    if value.kind == "topics":
        show_topics(value, n, min_z)
    elif value.kind == "vocabulary":
        show_words(value, n, many)
    elif value.kind == "ngrams":
        show_ngrams(value, n)
    else:
        show_counts(value)


def show_card(guarantee: "Guarantee", record: "Record | None" = None) -> None:
    """A guarantee as a framed card, and below it where the release comes from."""
    out.print(Panel(guarantee.card(width=min(96, out.width - 4)), expand=False), highlight=False)
    for name, text in [] if record is None else record.rows():
        out.print(escape(f"{name}: {text}"), highlight=False)


def print_json(data: dict[str, Any]) -> None:
    """Data on stdout, alone."""
    print(json.dumps(data, indent=2, ensure_ascii=sys.stdout.encoding.lower() not in ("utf-8", "utf8")))


def warn(message: str) -> None:
    """A warning on stderr."""
    err.print(f"[yellow]Warning:[/] {escape(message)}", highlight=False)
