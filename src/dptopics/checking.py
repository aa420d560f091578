"""Look at a table before anything is charged: what was understood of it, and what a release of this size would show.

For the owner's eyes: figures are exact. Nothing is spent, written or decided.
"""

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from math import prod
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dptopics.core.axes import TOPIC, Axis, plain_value, read_day
from dptopics.core.errors import InputError, PrivacyWarning
from dptopics.core.names import no_author, real_names
from dptopics.core.text import AUTO, TextSettings
from dptopics.counting import check_axes, counts_plan
from dptopics.data.builder import Builder
from dptopics.data.corpus import Corpus
from dptopics.data.readers.columns import Header, Rows, are_names
from dptopics.data.readers.databases import SqlQuery
from dptopics.data.readers.delimited import STANDARD_INPUT
from dptopics.data.readers.files import TableFile, read_columns
from dptopics.plan import Plan
from dptopics.preview import Preview, expected
from dptopics.privacy.guarantee import Unit
from dptopics.release.release import Release
from dptopics.release.topic_model import TopicModel
from dptopics.subjects import topics_of

EPSILON, DELTA = 1.0, 1e-6  # where none are given
HEADING = "NOT FOR RELEASE: exact figures, for the owner's eyes only. Nothing was spent, and they decide nothing."
CAUTION = (
    "Whoever chooses groups, bounds, topics or ε by these exact figures uses the data in a way that no guarantee "
    "counts. Choose by what is public, where you can."
)
_DAYS = ("%d.%m.%Y", "%d.%m.%y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%m/%d/%y", "%d/%m/%y", "%d-%m-%Y", "%Y%m%d",
         "%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y")  # fmt: skip
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
_FORMATS = (None, *(day + time for time in _TIMES for day in _DAYS))  # None: as 2026-01-31
_MOST_FORMATS = 3
_TRIED = 200  # values by which ways to write dates are ruled out
_MOSTLY = 0.8
_WORDS_OF_A_TEXT = 4.0  # on average
_MOST_GROUPS = 50
_LITTLE = 2  # topics or words: with fewer, a release shows next to nothing


@dataclass(frozen=True, kw_only=True)
class Dates:
    """How many rows have a day that was understood, how many of them lie in the range, and what would fit more."""

    column: str
    understood: int
    in_range: int
    formats: Mapping[str | None, int]  # that would understand more rows; None: no date format


@dataclass(frozen=True, kw_only=True)
class Groups:
    """How many rows match a public list, how many groups of it occur, and how many rows only capitals keep from it."""

    column: str
    matched: int
    occurring: int
    listed: int
    but_for_capitals: int


@dataclass(frozen=True, kw_only=True, repr=False)
class Check:
    """What there is in a table. Exact figures: not for release.

    ``str()`` of it is a text for its owner; without a column of texts only ``columns`` and ``kinds`` are known.
    """

    columns: Mapping[str | None, Sequence[str]]  # by sheet
    kinds: Mapping[str | None, Sequence[str]] = field(default_factory=dict)  # what each column looks like
    rows: int = 0
    texts: int = 0  # that count: rows with text and author
    people: int | None = None  # None: no column of authors
    without_text: int = 0
    without_author: int = 0
    empty_texts: int = 0
    dates: tuple[Dates, ...] = ()
    groups: tuple[Groups, ...] = ()
    cells: Mapping[str, int] = field(default_factory=dict)  # number of people, by how many cells they fill
    preview: Preview | None = None
    lines: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return "<Check: NOT FOR RELEASE>"

    def __str__(self) -> str:
        return "\n".join((HEADING, *self.lines))


def check(
    data: Any,
    *,
    text: str | None = None,
    author: str | None = None,
    by: Sequence[Axis] = (),
    release: Release[TopicModel] | TopicModel | str | Path | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    n_topics: int | str = 20,
    unit: Unit | str | None = None,
    settings: TextSettings | None = None,
    drop_missing: bool = False,
    author_is: Iterable[str] = (),
    encoding: str = "utf8",
) -> Check:
    """What a table holds and what a release of it would show: ``dptopics check`` in Python. For the owner's eyes.

    ``data`` is a table as for ``Corpus.from_table``; without ``text`` only its columns are told, and what they look
    like. ``by`` are axes to count by. With a ``release`` of topics the preview is of counts of these, else of up to
    ``n_topics`` topics, at ``epsilon`` and ``delta`` (1 and 1e-6 if none are given).

    >>> import pyarrow as pa
    >>> data = pa.table({"note": ["asthma attack", "skin rash"] * 50, "patient": range(100), "ward": ["north"] * 100})
    >>> found = check(data, text="note", author="patient", by=[Axis.groups("ward", ["north", "south"])])
    >>> found.people, found.groups[0].matched, found.cells
    (100, 100, {'1': 100})
    """
    source = TableFile(data, encoding=encoding) if isinstance(data, str | Path) else data
    if text is None:
        return _columns_alone(source)
    check_axes(by, text, author)
    model = None if release is None else topics_of(release)
    chosen = Unit(unit) if unit is not None else Unit.DOCUMENT if author is None else Unit.AUTHOR
    own = settings or TextSettings()
    how: dict[str, Any] = {"epsilon": EPSILON if epsilon is None else epsilon, "unit": chosen}
    how["delta"] = DELTA if delta is None else delta
    plan = Plan.topics(n_topics=n_topics, text=own, **how) if model is None else counts_plan(model, by, **how)
    columns = [text, author] if author else [text]
    table = _Table.read(source, columns, by, model, own, real_names(author_is))
    headers = {} if isinstance(source, SqlQuery) else _headers(source)
    found = _found(table, headers, by, plan)
    lines = [*_column_lines(headers), *_read_lines(found, table.corpus, drop_missing=drop_missing)]
    lines += [*_language_lines(table.corpus, plan, own), *_date_lines(found, by), *_group_lines(found)]
    lines += _cell_lines(found, table, ((TOPIC,) if model is not None else ()) + tuple(axis.name for axis in by))
    lines += [*_preview_lines(plan, found.preview, said=epsilon is not None and delta is not None), CAUTION]
    return replace(found, lines=tuple(lines))


@dataclass(frozen=True)
class _Table:
    """A table, read once: the rows that count, and what became of the others."""

    corpus: Corpus
    cell: NDArray[np.int64]  # of each document
    n_cells: int
    values: Sequence[Counter[str]]  # of each axis
    rows: int
    without_text: int
    without_author: int

    @classmethod
    def read(
        cls, source: Any, of: list[str], by: Sequence[Axis], model: TopicModel | None, own: TextSettings, real: Any
    ) -> "_Table":
        """All rows go to the builder, which leaves out those without text or author."""
        builder = Builder(own, with_authors=len(of) > 1, drop_missing=True, author_is=real)
        asked = of + [axis.column for axis in by if axis.of_text is None]
        shape = (*([] if model is None else [model.n_topics + 1]), *(len(axis.values) for axis in by))
        values: list[Counter[str]] = [Counter() for _ in by]
        cells: list[NDArray[np.int64]] = []
        missing = np.zeros(3, np.int64)  # rows, those without text, those without author
        for texts, *columns in read_columns(source, asked, values=len(of)):
            authors = columns.pop(0) if len(of) > 1 else None
            builder.add(texts, authors)
            no_text, nobody = _lacking(texts, authors, real)
            missing += (len(texts), no_text.sum(), nobody.sum())
            kept = np.flatnonzero(~(no_text | nobody)).tolist()
            if shape and kept:
                places = _places(model, by, values, *([column[i] for i in kept] for column in (texts, *columns)))
                cells.append(np.ravel_multi_index(tuple(places), shape))
        cell = np.concatenate([np.zeros(0, np.int64), *cells])
        return cls(builder.build(Corpus), cell, prod(shape), values, *missing.tolist())


def _lacking(texts: Sequence[Any], authors: Sequence[Any] | None, real: Any) -> tuple[NDArray[np.bool_], ...]:
    """Which rows have no text, and which no author."""
    no_text = np.array([value is None or value != value for value in texts], np.bool_)
    nobody = np.zeros(len(texts), np.bool_) if authors is None else [no_author(value, real) for value in authors]
    return no_text, np.asarray(nobody, np.bool_)


def _places(
    model: TopicModel | None, by: Sequence[Axis], values: Sequence[Counter[str]], texts: list[Any], *columns: list[Any]
) -> Iterator[NDArray[np.int64]]:
    """Where rows lie on each axis; values of columns are counted."""
    left = iter(columns)
    if model is not None:
        yield model.assign(texts) % (model.n_topics + 1)
    for axis, counted in zip(by, values, strict=True):
        if axis.of_text is not None:
            yield axis.places(texts)
            continue
        here = next(left)
        counted.update("" if value is None else str(value) for value in here)
        yield axis.places(here)


def _found(table: _Table, headers: Mapping[str | None, Header], by: Sequence[Axis], plan: Plan) -> Check:
    """All figures, without a word."""
    corpus = table.corpus
    counted = [pair for pair in zip(by, table.values, strict=True) if pair[0].of_text is None]
    units = corpus.n_authors if plan.unit is Unit.AUTHOR else corpus.n_documents
    return Check(
        columns={sheet: header.names for sheet, header in headers.items()},
        rows=table.rows,
        texts=corpus.n_documents,
        people=corpus.n_authors,
        without_text=table.without_text,
        without_author=table.without_author,
        empty_texts=corpus.blank,
        dates=tuple(_dates(*pair) for pair in counted if pair[0].period is not None),
        groups=tuple(_groups(*pair) for pair in counted if pair[0].period is None),
        cells=_filled(corpus, table.cell),
        preview=expected(plan, units) if units else None,
    )


def _headers(source: Any) -> dict[str | None, Header]:
    """Names of columns; nothing where they cannot be had without reading the table."""
    if isinstance(source, TableFile):
        return {} if str(source.path) == STANDARD_INPUT else source.header()
    if isinstance(source, SqlQuery):
        return source.header()
    names = getattr(source, "column_names", None) or getattr(source, "columns", None)
    return {} if names is None else {None: Header([str(name) for name in names])}


def _columns_alone(source: Any) -> Check:
    headers = _headers(source)
    if not headers:
        raise InputError("say which column holds the texts (--text): of this table the columns cannot be listed first.")
    kinds: dict[str | None, list[str]] = {}
    lines = _column_lines(headers)
    for sheet, header in headers.items():
        names, shown = header.names, are_names(header.names, header.below)
        if not names or len(set(names)) < len(names):
            continue
        rows = _first_rows(source if sheet is None else replace(source, sheet=sheet), names)
        kinds[sheet] = [_kind(column) for column in rows]
        for number, (name, kind) in enumerate(zip(names, kinds[sheet], strict=True), start=1):
            where = "" if sheet is None else f", sheet {sheet!r}"
            told, name = (repr(name), name) if shown else (f"column {number}", "COLUMN")
            could_be = _COULD_BE[kind].format(name=quote(name), month=quote(f"month:{name}"))
            lines.append(f"- {told}{where}: {could_be}")
    lines.append("Say which column holds the texts (--text) and which the authors (--author), to be told more.")
    return Check(columns={sheet: header.names for sheet, header in headers.items()}, kinds=kinds, lines=tuple(lines))


_COULD_BE = {
    "texts": "could be the texts (--text {name})",
    "authors": "could be the authors (--author {name})",
    "dates": "could be dates (--by {month}, with --from and --to)",
    "groups": "could be groups (--by {name}, with a public list of them: --groups FILE)",
    "numbers": "numbers",
    "nothing": "no values in the first rows, or no single ones",
}


def _first_rows(source: Any, names: Sequence[str]) -> Rows:
    """Columns one by one, if together they cannot be read: lists in one cell keep nobody from the others."""
    try:
        return next(iter(read_columns(source, names, values=0)), [[] for _ in names])
    except InputError:
        return [[]] if len(names) == 1 else [_first_rows(source, [name])[0] for name in names]


def _kind(column: Sequence[Any]) -> str:
    """What a column looks like: texts, authors, dates, groups, numbers or nothing."""
    words = [str(value) for value in column if value is not None and str(value).strip()]
    if not words:
        return "nothing"
    if any(_days(words[:_TRIED], one) > _MOSTLY * len(words[:_TRIED]) for one in _FORMATS):
        return "dates"
    if sum(len(word.split()) for word in words) >= _WORDS_OF_A_TEXT * len(words):
        return "texts"
    if len(set(words)) <= min(_MOST_GROUPS, len(words) / 4):
        return "groups"
    if all(word.isdigit() for word in words):
        return "authors"
    return "numbers" if all(set(word) <= set("0123456789.,-+") for word in words) else "authors"


def _days(values: Iterable[str], date_format: str | None) -> int:
    return sum(read_day(value, date_format) is not None for value in values)


def _dates(axis: Axis, values: Counter[str]) -> Dates:
    found = _days(values.elements(), axis.date_format)
    more: dict[str | None, int] = {}
    if found < values.total():
        likely = [one for one in _FORMATS if _days(islice(values, _TRIED), one)]
        counted = sorted(((one, _days(values.elements(), one)) for one in likely), key=lambda pair: -pair[1])
        more = {one: many for one, many in counted[:_MOST_FORMATS] if many > found}
    other = len(axis.values) - 1
    places = axis.places(list(values))
    inside = sum(many for many, place in zip(values.values(), places.tolist(), strict=True) if place != other)
    return Dates(column=axis.column, understood=found, in_range=inside, formats=more)


def _groups(axis: Axis, values: Counter[str]) -> Groups:
    listed = axis.values[:-1]
    folded = {value.casefold() for value in listed}
    matched: Counter[str] = Counter()
    almost = 0
    for (value, many), place in zip(values.items(), axis.places(list(values)).tolist(), strict=True):
        if place < len(listed):
            matched[listed[place]] += many
        elif plain_value(value).casefold() in folded:
            almost += many
    found = {"matched": matched.total(), "occurring": len(matched), "but_for_capitals": almost}
    return Groups(column=axis.column, listed=len(listed), **found)


def _filled(corpus: Corpus, cell: NDArray[np.int64]) -> dict[str, int]:
    """How many people fill 1, 2, 3–4, 5–8 … cells."""
    if corpus.author is None or not cell.size:
        return {}
    pairs = np.unique(np.stack([corpus.author.astype(np.int64), cell]), axis=1)
    each = np.bincount(pairs[0])
    sizes = Counter(int(many - 1).bit_length() for many in each[each > 0].tolist())
    return {_bin(power): sizes[power] for power in range(max(sizes) + 1)}


def _bin(power: int) -> str:
    low, high = (1 << power) // 2 + 1, 1 << power
    return str(high) if low >= high else f"{low}–{high}"


def _column_lines(headers: Mapping[str | None, Header]) -> list[str]:
    lines = []
    for sheet, header in headers.items():
        many = f"{len(header.names):,} column{'' if len(header.names) == 1 else 's'}"
        what = many if sheet is None else f"Sheet {sheet!r}, {many}"
        sign = ":" if are_names(header.names, header.below) else "."
        lines.append(f"{what}{sign} {header.shown}" if header.names else f"{what}.")
    return lines


def _read_lines(found: Check, corpus: Corpus, *, drop_missing: bool) -> Iterator[str]:
    yield corpus.account()
    if found.rows > found.texts:
        how = "They are left out." if drop_missing else "fit and count refuse them, or leave them out (--drop-missing)."
        yield f"Rows without text: {found.without_text:,}; without author: {found.without_author:,}. {how}"
    if found.people == 1:
        yield "All texts are of one person. Is the column of authors the right one?"


def _language_lines(corpus: Corpus, plan: Plan, own: TextSettings) -> Iterator[str]:
    """What a release would warn its owner of."""
    with warnings.catch_warnings(record=True) as told:
        corpus.warn_owner(plan.delta, plan.unit)
    said = [str(one.message) for one in told if issubclass(one.category, PrivacyWarning)]
    yield from (f"Warning: {one}" for one in said)
    if corpus.word.size and own.language not in ("none", AUTO) and not any("language" in one for one in said):
        yield f"Nothing speaks against the language {own.language!r} (--language)."


def _date_lines(found: Check, by: Sequence[Axis]) -> Iterator[str]:
    ranges = [axis for axis in by if axis.period is not None]
    for dates, axis in zip(found.dates, ranges, strict=True):
        how = "as 2026-01-31" if axis.date_format is None else f"as {axis.date_format}"
        yield (
            f"Dates in {dates.column!r}: {dates.understood:,} of {found.texts:,} understood ({how}), of these "
            f"{dates.in_range:,} from {axis.first} to {axis.last}. All others count as 'other'."
        )
        if dates.formats:
            told = [
                f"{'no --date-format' if one is None else f'--date-format {one}'} ({many:,} of {found.texts:,})"
                for one, many in dates.formats.items()
            ]
            yield f"More would be understood with {', or '.join(told)}. Look which one is meant."


def _group_lines(found: Check) -> Iterator[str]:
    for one in found.groups:
        share = 1 - one.matched / max(found.texts, 1)
        yield (
            f"Groups in {one.column!r}: {one.matched:,} of {found.texts:,} rows match, {share:.0%} count as 'other'; "
            f"{one.occurring:,} of the {one.listed:,} groups on the list occur."
        )
        if one.but_for_capitals:
            yield f"{one.but_for_capitals:,} of the other rows differ from a listed group in capital letters only."


def _cell_lines(found: Check, table: _Table, names: Sequence[str]) -> Iterator[str]:
    if found.cells:
        told = "; ".join(f"{many:,} in {how_many}" for how_many, many in found.cells.items())
        yield f"How many of the {table.n_cells:,} cells ({' × '.join(names)}) people fill: {told}."
        yield "Each person counts in all of theirs, or in as many of each table as a private look finds best."


def _preview_lines(plan: Plan, preview: Preview | None, *, said: bool) -> Iterator[str]:
    usual = "" if said else " (usual values, since you gave none with --epsilon and --delta)"
    job = "counts of these topics (count)"
    if plan.text is not None:
        job = f"up to {plan.n_topics} topics of texts in {plan.text.language!r} (fit)"
    yield f"What to expect of {job} at ε = {plan.epsilon:g}, δ = {plan.delta:g}{usual}:"
    if preview is None:
        yield "Nobody is there: noise alone. It would be charged all the same."
        return
    yield from preview.card().split("\n")
    if min(_LITTLE if one is None else one for one in (preview.topics, preview.words)) < _LITTLE:
        yield "Such a release would show next to nothing. It would be charged all the same."
