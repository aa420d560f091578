"""What units fill of a table and its margins: each once in every entry that is theirs, or each of their documents."""

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dptopics.core.questions import holds
from dptopics.data.bounded import Block, UnitRows
from dptopics.kernels.counts import unit_words
from dptopics.kernels.hashing import siphash

Ints = NDArray[np.int64]
_KEY = np.uint64(0)  # public: which of its entries a unit keeps is a function of that unit alone


def margins(k: int) -> list[tuple[bool, ...]]:
    """A table for every set of k axes, from none (the total) to all (the cells)."""
    return list(product((False, True), repeat=k))


def shape_of(shape: tuple[int, ...], axes: tuple[bool, ...]) -> tuple[int, ...]:
    """The shape of a margin, with length one for the axes summed over."""
    return tuple(n if kept else 1 for n, kept in zip(shape, axes, strict=True))


class Filling(NamedTuple):
    """Which units fill which entries of a table, and the mean of each one's numbers there."""

    unit: Ints
    entry: Ints
    mean: NDArray[np.float64]


@dataclass(frozen=True)
class Entries:
    """The entries that each unit fills, table by table. A cell is a fact of a text in a group and period.

    ``facts`` are the topics themselves, or what ``rules`` ask about: one rule for each value of the first axis, which
    holds for a unit by all the facts of its texts in one group and period.
    """

    shape: tuple[int, ...]
    facts: int
    rules: tuple[str, ...] = ()
    valued: bool = False  # documents have a number, in the first column of their vectors
    documents: int | None = None  # of each unit that count, where documents are counted and not units

    @property
    def n_cells(self) -> int:
        """Cells of a corpus of this table."""
        return self.facts * prod(self.shape[1:])

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Entries of every table: those of all margins, the total first and the cells last."""
        return tuple(prod(shape_of(self.shape, axes)) for axes in margins(len(self.shape)))

    @property
    def of_document(self) -> int:
        """Entries that one document fills, in all tables, at most: of a table of questions, one for each."""
        return sum(self.shape[0] if self.rules and axes[0] else 1 for axes in margins(len(self.shape)))

    def of(self, block: Block) -> tuple[int, Ints, list[Filling]]:
        """How many units there are, a hash of each one's cells, and of every table what each unit fills."""
        n_units, n_documents = block.unit_start.size - 1, np.diff(block.unit_start)
        if self.documents is not None:  # each by itself, for its unit
            unit = np.repeat(np.arange(n_units), n_documents)
            found = self._tables(_Rows(np.repeat(np.arange(unit.size), np.diff(block.doc_start)), block.word))
            return n_units, np.zeros(n_units, np.int64), [one._replace(unit=unit[one.unit]) for one in found]
        start, cells, _ = unit_words(block.unit_start, block.doc_start, block.word, self.n_cells, 0)
        rows = _Rows(np.repeat(np.arange(n_units), np.diff(start)), cells)
        if self.valued and block.vectors is not None and block.vectors.size:
            words = np.diff(block.doc_start)
            unit = np.repeat(np.repeat(np.arange(n_units), n_documents), words)
            values = np.clip(np.nan_to_num(block.vectors[:, 0].astype(np.float64)), -1.0, 1.0)
            rows = _Rows(unit, block.word, np.repeat(np.arange(words.size), words), values)
        content = np.zeros(n_units, np.uint64)
        np.add.at(content, rows.unit, siphash(rows.cell.astype(np.uint64), _KEY, _KEY))
        return n_units, content.astype(np.int64), self._tables(rows)

    def _tables(self, rows: "_Rows") -> list[Filling]:
        fact, *others = np.unravel_index(rows.cell, (self.facts, *self.shape[1:]))
        found = []
        for axes in margins(len(self.shape)):
            group, n_groups = np.zeros(rows.cell.size, np.int64), 1
            for place, n, kept in zip(others, self.shape[1:], axes[1:], strict=True):
                if kept:
                    group, n_groups = group * n + place, n_groups * n
            found.append(self._filled(rows, fact if axes[0] else None, group, n_groups))
        return found

    def _filled(self, rows: "_Rows", fact: Ints | None, group: Ints, n_groups: int) -> Filling:
        """What units fill of one table; without ``fact``, of the groups in which a unit has anything."""
        pairs, where = np.unique(rows.unit * n_groups + group, return_inverse=True)
        if fact is None:
            return Filling(*np.divmod(pairs, n_groups), rows.means(where))
        if self.rules:
            facts = np.zeros((self.facts, pairs.size), np.bool_)
            facts[fact, where] = True
            true = np.stack([holds(rule, facts) for rule in self.rules])
            value, pair = np.nonzero(true)
            mean = self._means_of_rules(rows, fact, where)[true] if self.valued else np.zeros(pair.size)
        else:
            keys, where = np.unique(where * self.facts + fact, return_inverse=True)
            (pair, value), mean = np.divmod(keys, self.facts), rows.means(where)
        own, place = np.divmod(pairs[pair], n_groups)
        return Filling(own, value * n_groups + place, mean)

    def _means_of_rules(self, rows: "_Rows", fact: Ints, where: Ints) -> NDArray[np.float64]:
        """[rule, place]: of the documents that a rule holds for by themselves; if there are none, of all of them."""
        alone = np.zeros((self.facts, rows.values.size), np.bool_)
        alone[fact, rows.document] = True
        return np.stack([rows.means(where, holds(rule, alone)) for rule in self.rules])


class _Rows(NamedTuple):
    """Cells of units; where documents have numbers, those of documents."""

    unit: Ints
    cell: NDArray[Any]
    document: Ints = np.zeros(0, np.int64)
    values: NDArray[np.float64] = np.zeros(0)

    def means(self, where: Ints, of: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
        """The mean number in each place, of documents that lie in one; of some of them, where a place has any."""
        n = int(where.max(initial=-1)) + 1
        place = np.full(self.values.size, n)
        place[self.document] = where if self.values.size else n
        some = np.zeros(place.size, np.bool_) if of is None else of
        weight = some | (np.bincount(place, some, n + 1) == 0)[place]
        total = np.maximum(np.bincount(place, weight, n + 1), 1)
        return (np.bincount(place, weight * self.values, n + 1) / total)[:n]


@dataclass(frozen=True)
class Filled:
    """A one for each unit, by the entries of its fullest table: 1, 2, 3 to 4, 5 to 8 …"""

    entries: Entries
    width: ClassVar[int] = 1

    @property
    def height(self) -> int:
        """How many sizes are told apart."""
        return int(max(self.entries.sizes) - 1).bit_length() + 1

    def __call__(self, block: Block) -> UnitRows:
        """One row for each unit that fills any."""
        n_units, _, tables = self.entries.of(block)
        most = _most(n_units, tables)
        rows = np.ceil(np.log2(np.maximum(most, 1))).astype(np.int32)[most > 0]
        return UnitRows(np.concatenate([[0], np.cumsum(most > 0)]), rows, np.ones((rows.size, 1)))


@dataclass(frozen=True)
class People:
    """A one for each unit in every entry that it fills, at most ``most`` of a table; the last row: who had more."""

    entries: Entries
    most: int

    @property
    def width(self) -> int:
        """The ones; and of documents with a number, the mean of a unit's own, from −1 to 1."""
        return 2 if self.entries.valued else 1

    @property
    def cut(self) -> bool:
        """Whether a table has more entries than a unit counts in."""
        return self.entries.documents is None and self.most < max(self.entries.sizes)

    @property
    def height(self) -> int:
        """Entries of all tables, and one more where somebody may have been cut."""
        return sum(self.entries.sizes) + self.cut

    @property
    def square(self) -> int:
        """The squared norm of what a unit adds, at most: of documents, if all of them fill the same entries."""
        if self.entries.documents is not None:
            return self.entries.documents**2 * self.entries.of_document
        return sum(min(self.most, size) for size in self.entries.sizes) * self.width + self.cut

    def __call__(self, block: Block) -> UnitRows:
        """The rows of each unit, table after table."""
        n_units, content, tables = self.entries.of(block)
        units, rows, means, low = [], [], [], 0
        for size, (unit, entry, mean) in zip(self.entries.sizes, tables, strict=True):
            if self.cut and self.most < size:
                lottery = siphash(content[unit].astype(np.uint64) ^ entry.astype(np.uint64), _KEY, _KEY)
                order = np.lexsort((entry, lottery, unit))
                unit, entry, mean = unit[order], entry[order], mean[order]
                first = np.searchsorted(unit, unit)
                kept = np.arange(unit.size) - first < self.most
                unit, entry, mean = unit[kept], entry[kept], mean[kept]
            units.append(unit)
            rows.append(low + entry)
            means.append(mean)
            low += size
        if self.cut:
            more = np.flatnonzero(_most(n_units, tables) > self.most)
            units.append(more)
            rows.append(np.full(more.size, low))
            means.append(np.zeros(more.size))
        unit, row = np.concatenate(units), np.concatenate(rows)
        order = np.argsort(unit, kind="stable")
        start = np.concatenate([[0], np.cumsum(np.bincount(unit, minlength=n_units))])
        values = np.stack([np.ones(row.size), np.concatenate(means)], axis=1)[order, : self.width]
        return UnitRows(start, row[order].astype(np.int32), np.ascontiguousarray(values))


def _most(n_units: int, tables: list[Filling]) -> Ints:
    """Entries that each unit fills in its fullest table."""
    found = [np.bincount(unit, minlength=n_units) for unit, _, _ in tables]
    return np.asarray(np.max(found, axis=0))
