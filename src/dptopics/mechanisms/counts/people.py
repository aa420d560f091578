"""Each unit once in every entry of a table, and of its margins, that is theirs: what a count of people is made of."""

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dptopics.core.rules import holds
from dptopics.data.bounded import Block, UnitRows
from dptopics.kernels.counts import unit_words
from dptopics.kernels.hashing import siphash
from dptopics.release import margins

Ints = NDArray[np.int64]
_KEY = np.uint64(0)  # public: which of its entries a unit keeps is a function of that unit alone


@dataclass(frozen=True)
class Entries:
    """The entries that each unit fills, table by table. A cell is a fact of a text in a group and period.

    ``facts`` are the topics themselves, or what ``rules`` ask about: one rule for each value of the first axis, which
    holds for a unit by all the facts of its texts in one group and period.
    """

    shape: tuple[int, ...]
    facts: int
    rules: tuple[str, ...] = ()

    @property
    def n_cells(self) -> int:
        """Cells of a corpus of this table."""
        return self.facts * prod(self.shape[1:])

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Entries of every table: those of all margins, the total first and the cells last."""
        return tuple(prod(margins.shape_of(self.shape, axes)) for axes in margins.margins(len(self.shape)))

    def of(self, block: Block) -> tuple[int, Ints, list[tuple[Ints, Ints]]]:
        """How many units there are, a hash of each one's cells, and of every table the pairs (unit, entry)."""
        start, cells, _ = unit_words(block.unit_start, block.doc_start, block.word, self.n_cells, 0)
        unit, n_units = np.repeat(np.arange(start.size - 1), np.diff(start)), start.size - 1
        content = np.zeros(n_units, np.uint64)
        np.add.at(content, unit, siphash(cells.astype(np.uint64), _KEY, _KEY))
        fact, *others = np.unravel_index(cells, (self.facts, *self.shape[1:]))
        found = []
        for axes in margins.margins(len(self.shape)):
            group, n_groups = np.zeros(cells.size, np.int64), 1
            for place, n, kept in zip(others, self.shape[1:], axes[1:], strict=True):
                if kept:
                    group, n_groups = group * n + place, n_groups * n
            found.append(self._filled(unit, fact if axes[0] else None, group, n_groups))
        return n_units, content.astype(np.int64), found

    def _filled(self, unit: Ints, fact: Ints | None, group: Ints, n_groups: int) -> tuple[Ints, Ints]:
        """The pairs (unit, entry) of one table; without ``fact``, of the groups in which a unit has anything."""
        pairs, where = np.unique(unit * n_groups + group, return_inverse=True)
        if fact is None:
            return np.divmod(pairs, n_groups)
        if self.rules:
            facts = np.zeros((self.facts, pairs.size), np.bool_)
            facts[fact, where] = True
            value, pair = np.nonzero(np.stack([holds(rule, facts) for rule in self.rules]))
        else:
            pair, value = np.divmod(np.unique(where * self.facts + fact), self.facts)
        own, place = np.divmod(pairs[pair], n_groups)
        return own, value * n_groups + place


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
    width: ClassVar[int] = 1

    @property
    def cut(self) -> bool:
        """Whether a table has more entries than a unit counts in."""
        return self.most < max(self.entries.sizes)

    @property
    def height(self) -> int:
        """Entries of all tables, and one more where somebody may have been cut."""
        return sum(self.entries.sizes) + self.cut

    @property
    def square(self) -> int:
        """The squared norm of a unit's ones, at most."""
        return sum(min(self.most, size) for size in self.entries.sizes) + self.cut

    def __call__(self, block: Block) -> UnitRows:
        """The rows of each unit, table after table."""
        n_units, content, tables = self.entries.of(block)
        units, rows, low = [], [], 0
        for size, (unit, entry) in zip(self.entries.sizes, tables, strict=True):
            if self.most < size:
                lottery = siphash(content[unit].astype(np.uint64) ^ entry.astype(np.uint64), _KEY, _KEY)
                order = np.lexsort((entry, lottery, unit))
                unit, entry = unit[order], entry[order]
                first = np.searchsorted(unit, unit)
                kept = np.arange(unit.size) - first < self.most
                unit, entry = unit[kept], entry[kept]
            units.append(unit)
            rows.append(low + entry)
            low += size
        if self.cut:
            more = np.flatnonzero(_most(n_units, tables) > self.most)
            units.append(more)
            rows.append(np.full(more.size, low))
        unit, row = np.concatenate(units), np.concatenate(rows)
        order = np.argsort(unit, kind="stable")
        start = np.concatenate([[0], np.cumsum(np.bincount(unit, minlength=n_units))])
        return UnitRows(start, row[order].astype(np.int32), np.ones((row.size, 1)))


def _most(n_units: int, tables: list[tuple[Ints, Ints]]) -> Ints:
    """Entries that each unit fills in its fullest table."""
    found = [np.bincount(unit, minlength=n_units) for unit, _ in tables]
    return np.asarray(np.max(found, axis=0))
