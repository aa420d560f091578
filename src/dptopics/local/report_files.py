"""Files of local collection: the public parameters, and reports as they are received."""

import base64
import binascii
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dptopics.core.errors import BundleError, DptopicsError, InputError
from dptopics.core.files import suffix_of
from dptopics.core.periods import check_period
from dptopics.data.builder import GrowingArray
from dptopics.data.readers.files import check_file, explain
from dptopics.data.readers.formats import read_lines
from dptopics.local.collection import Collection, Report
from dptopics.local.server.store import hold_the_same, is_store, open_store

_BATCH = 8192
_NUMBER_BYTES = 16
COLUMNS = ("collection", "version", "report", "data")
SCHEMA = pa.schema([("collection", pa.string()), ("version", pa.string()), ("report", pa.binary(_NUMBER_BYTES)),
                    ("data", pa.binary())])  # fmt: skip


def write_collection(collection: Collection, path: str | Path) -> None:
    """Write the public parameters to a new file."""
    try:
        with open(path, "x", encoding="utf-8") as file:
            json.dump(collection.to_dict(), file, ensure_ascii=False, indent=1)
    except FileExistsError:
        raise InputError(
            f"the file {str(path)!r} exists already. A collection is never changed: use another."
        ) from None


def read_collection(path: str | Path) -> Collection:
    """Read public parameters, and check that they are whole."""
    check_file(Path(path))
    try:
        data = json.loads(Path(path).read_text("utf-8"))
    except (ValueError, OSError, RecursionError) as error:
        raise BundleError(f"{str(path)!r} is not a collection ({type(error).__name__}). Get its file again.") from None
    if not isinstance(data, dict):
        raise BundleError(f"{str(path)!r} is not a collection. Get its file again.")
    return Collection.from_dict(data)


def to_line(report: Report) -> str:
    """A report as one line of JSON."""
    data = base64.b64encode(report.data).decode()
    values = (report.collection, report.version, report.number.hex(), data)
    return json.dumps(dict(zip(COLUMNS, values, strict=True)), ensure_ascii=False)


def to_table(reports: Iterable[Report]) -> pa.Table:
    """Reports as an Arrow table, to be written as Parquet."""
    rows = [(r.collection, r.version, r.number, r.data) for r in reports]
    columns = zip(*rows, strict=True) if rows else ((), (), (), ())
    return pa.table([list(column) for column in columns], schema=SCHEMA)


class Inbox:
    """Takes in reports in batches, rejects and counts those that do not fit, and keeps the bytes of the others."""

    def __init__(self, collection: Collection, *, period: str | None = None) -> None:
        if period is not None:
            check_period(period, collection.period)
        self._collection, self._period = collection, period
        self._numbers = GrowingArray(np.uint8)
        self._data = GrowingArray(np.uint8)
        self.rejected: Counter[str] = Counter()
        self._stores: list[Mapping[str, str]] = []

    def read(self, path: str | Path) -> None:
        """Add all reports of a Parquet or JSON Lines file or of a collector's store, batch by batch."""
        if is_store(path):
            with open_store(path, self._collection, create=False) as store:
                if any(hold_the_same(store.about, other) for other in self._stores):
                    raise InputError(
                        "two of the stores hold the same reports under different numbers: a sealed copy, and its store "
                        "or another copy of it. Each report would count twice: name one of them."
                    )
                self._stores.append(store.about)
                for numbers, data in store.batches(self._period):
                    named = [[value] * len(numbers) for value in (self._collection.name, self._collection.version)]
                    self._add_table(pa.table([*named, numbers, data], schema=_LOOSE))
            return
        if self._period is not None:
            raise InputError("files of reports hold no times: --period (period) chooses from a collector's store only.")
        path = Path(path)
        check_file(path)
        suffix = suffix_of(path)
        try:
            if suffix in (".parquet", ".pq"):
                for batch in _parquet(path):
                    self._add_table(batch)
            elif suffix in (".jsonl", ".ndjson", ".json"):
                with pa.input_stream(path) as stream:
                    self.add_lines(read_lines(stream, "utf8"))
            else:
                raise InputError(f"cannot tell the format of {path.name!r}. Use .parquet, .jsonl, or a store (.db).")
        except DptopicsError:
            raise
        except (pa.ArrowException, OSError, ValueError) as error:
            raise InputError(explain(error, path, "utf8")) from None

    def add_lines(self, lines: Iterable[str]) -> None:
        """Add reports that are lines of JSON."""
        lines = (line for line in lines if line.strip())
        while batch := list(islice(lines, _BATCH)):
            self._add_table(pa.table([list(c) for c in zip(*map(_values, batch), strict=True)], schema=_LOOSE))

    def _add_table(self, table: Any) -> None:
        import pyarrow.compute as pc

        columns = dict(zip(table.column_names, table.columns, strict=True))
        names, versions, numbers, data = (columns[name] for name in COLUMNS)
        names, versions = pc.cast(names, pa.string()), pc.cast(versions, pa.string())  # other tools write large strings
        numbers, data = pc.cast(numbers, pa.binary()), pc.cast(data, pa.binary())

        def keep(chosen: Any, reason: str) -> None:
            nonlocal names, versions, numbers, data
            chosen = pc.fill_null(chosen, False)
            self.rejected[reason] += len(chosen) - int(pc.sum(chosen).as_py() or 0)
            names, versions, numbers, data = (part.filter(chosen) for part in (names, versions, numbers, data))

        there = pc.and_(pc.and_(pc.is_valid(names), pc.is_valid(versions)), pc.is_valid(data))
        keep(pc.and_(there, pc.equal(pc.binary_length(numbers), _NUMBER_BYTES)), "malformed")
        keep(pc.equal(names, self._collection.name), "of another collection")
        keep(pc.equal(versions, self._collection.version), "of another version of the words or settings")
        randomizer = self._collection.randomizer
        keep(pc.equal(pc.binary_length(data), randomizer.n_bytes), "of the wrong length")
        rows, keys = _bytes(data, randomizer.n_bytes), _bytes(numbers, _NUMBER_BYTES)
        valid = randomizer.valid(rows)
        self.rejected["malformed"] += int(np.count_nonzero(~valid))
        self._data.extend(rows[valid].reshape(-1))
        self._numbers.extend(keys[valid].reshape(-1))

    def finish(self) -> NDArray[np.uint8]:
        """Reports × bytes, the first of each number; this object must not be used afterwards."""
        numbers = self._numbers.finish().view(np.uint64).reshape(-1, 2)
        data = self._data.finish().reshape(-1, self._collection.randomizer.n_bytes)
        order = np.lexsort(numbers.T)  # stable: of equal numbers the first report stays first
        repeated = order[1:][np.all(numbers[order[1:]] == numbers[order[:-1]], axis=1)]
        self.rejected["sent before (same number)"] += repeated.size
        self.rejected = +self.rejected
        return np.delete(data, repeated, axis=0) if repeated.size else data


_LOOSE = pa.schema([("collection", pa.string()), ("version", pa.string()), ("report", pa.binary()),
                    ("data", pa.binary())])  # fmt: skip
_NOTHING: tuple[None, None, None, None] = (None, None, None, None)


def _values(line: str) -> tuple[str | None, str | None, bytes | None, bytes | None]:
    """The four values of a line of JSON, or nothing where it is malformed."""
    try:
        report = from_json(json.loads(line))
    except (ValueError, RecursionError):
        return _NOTHING
    return _NOTHING if report is None else (report.collection, report.version, report.number, report.data)


def from_json(found: object) -> Report | None:
    """The report that parsed JSON describes, or None where it is malformed. Whom it is for is not looked at."""
    if not isinstance(found, dict):
        return None
    try:
        collection, version, number, data = (found[name] for name in COLUMNS)
        if not all(isinstance(value, str) for value in (collection, version, number, data)):
            return None
        collection.encode(), version.encode()  # half a surrogate pair is no text
        return Report(collection, version, bytes.fromhex(number), base64.b64decode(data, validate=True))
    except (ValueError, KeyError, binascii.Error):
        return None


def _parquet(path: Path) -> Iterator[Any]:
    from pyarrow import parquet

    file = parquet.ParquetFile(path)
    missing = [name for name in COLUMNS if name not in file.schema_arrow.names]
    if missing:
        raise InputError(f"{path.name!r} has no column {missing[0]!r}. Reports have: {', '.join(COLUMNS)}.")
    for batch in file.iter_batches(batch_size=1 << 16, columns=list(COLUMNS)):
        yield pa.Table.from_batches([batch])


def _bytes(column: Any, width: int) -> NDArray[np.uint8]:
    """A column of binary values, all of this width, as rows × bytes."""
    parts = [chunk for chunk in getattr(column, "chunks", [column]) if len(chunk)]
    found = []
    for part in parts:
        _, offsets, values = part.buffers()
        first, last = np.frombuffer(offsets, np.int32)[[part.offset, part.offset + len(part)]]
        found.append(np.frombuffer(values, np.uint8)[first:last])
    return np.concatenate(found or [np.empty(0, np.uint8)]).reshape(-1, width)
