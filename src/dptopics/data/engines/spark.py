"""Bounded sums on an Apache Spark cluster, by the kernels of the engine in memory and to the same integers.

Executors only add integers. The mechanism draws noise once, on the driver, from a finished sum: a task that runs twice
changes nothing and draws nothing.
"""

import builtins
import os
import re
import shutil
import subprocess
import sys
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import ceil, sqrt
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dptopics.core import progress
from dptopics.core.errors import DptopicsError, EngineError, InputError
from dptopics.core.names import PLACEHOLDER_TOLD, real_names
from dptopics.core.text import TextSettings
from dptopics.core.vocabulary import Vocabulary, check_stated
from dptopics.data.bounded import Block, Bounds, Sample, Statistic
from dptopics.data.builder import tell_if_empty
from dptopics.data.corpus import warn_if_delta_large
from dptopics.data.engines import arrow_parts as parts
from dptopics.data.engines.memory import offsets, steps, too_many_units
from dptopics.data.readers.columns import check_columns, type_name
from dptopics.privacy.guarantee import Unit

S = TypeVar("S")
Shape = tuple[int, int]
_LARGEST_SUM = 2**31 - 64  # bytes in one cell of Arrow and of the JVM
_STRINGS, _VECTORS = ("string", "varchar", "char"), ("array<float>", "array<double>")
_WHOLE = ("tinyint", "smallint", "int", "bigint")
_TYPES = {pa.int32(): "int", pa.int64(): "long", pa.string(): "string", pa.binary(): "binary"}


def spark_session(master: str | None = None) -> Any:
    """A session on ``master`` (local[2], spark://host:7077, yarn, k8s://…); by default what Spark is configured for."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise EngineError("Spark needs an extra package. Run: pip install 'dptopics[spark]'") from None
    check_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # executors run the driver's Python
    builder = SparkSession.builder.appName("dptopics").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.log.level", "ERROR")  # we report errors ourselves
    with _errors(None):
        return (builder if master is None else builder.master(master)).getOrCreate()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SparkTable:
    """Sensitive texts in a Spark DataFrame, as :class:`dptopics.Corpus` is in memory; made by :meth:`from_table`.

    The rows must be the same each time the DataFrame is computed: write random draws to a table first.
    """

    frame: Any  # columns: text, and author and vector where there are any
    author_column: str | None
    author_is: frozenset[str]
    with_vectors: bool
    text: TextSettings | None  # None: numbers of cells
    vocabulary: Vocabulary | None
    drop_missing: bool
    partitions: int
    assumptions: tuple[str, ...] = ()  # on how texts became cells

    @classmethod
    def from_table(
        cls,
        source: Any,
        *,
        text: str,
        author: str | None = None,
        embedding: str | None = None,
        session: Any = None,
        settings: TextSettings | None = None,
        vocabulary: Vocabulary | None = None,
        drop_missing: bool = False,
        author_is: Iterable[str] = (),
        partitions: int | None = None,
    ) -> Self:
        """From a DataFrame; or, with a ``session``, from the path of Parquet files or the name of a table.

        Columns: ``text`` holds strings, ``author`` strings or whole numbers, ``embedding`` arrays of numbers that a
        public model made from each text alone, not in a padded batch. ``drop_missing`` drops rows without text, author
        or embedding; ``author_is`` and ``vocabulary`` as for a Corpus. ``partitions``: how many pieces to cut the data
        into; by default as it comes, but at least one per core.
        """
        check_stated(vocabulary)
        frame = _frame(source, session)
        check_columns(frame.columns, text, author, embedding)
        kinds = dict(frame.dtypes)
        _check_kind(text, kinds, _STRINGS, "text")
        _check_kind(author, kinds, _STRINGS + _WHOLE, "strings or whole numbers")
        _check_kind(embedding, kinds, _VECTORS, "arrays of numbers")
        if partitions is not None and partitions < 1:
            raise InputError(f"partitions must be at least 1, got {partitions}.")
        _use_drivers_python(frame.sparkSession)
        with _errors(frame):
            cut = partitions or max(frame.rdd.getNumPartitions(), frame.sparkSession.sparkContext.defaultParallelism)
            chosen = {"text": text, "author": author, "vector": embedding}
            kept = [(f"`{name.replace('`', '``')}`", role) for role, name in chosen.items() if name is not None]
            frame = frame.select(*(frame[name].alias(role) for name, role in kept))
        return cls(
            frame=frame,
            author_column=author,
            author_is=real_names(author_is),
            with_vectors=embedding is not None,
            text=settings or TextSettings(),
            vocabulary=vocabulary,
            drop_missing=drop_missing,
            partitions=cut,
        )

    @classmethod
    def of_cells(
        cls,
        source: Any,
        columns: Sequence[str],
        cells: Callable[..., Any],
        *,
        vocabulary: Vocabulary,
        author: str | None,
        drop_missing: bool,
        author_is: Iterable[str] = (),
        session: Any,
        with_numbers: bool = False,
        assumptions: tuple[str, ...] = (),
    ) -> Self:
        """A table of cells instead of texts: ``cells`` maps the columns, text and author first, a number last."""
        frame = _frame(source, session)
        check_columns(frame.columns, *columns)
        checked = cls.from_table(source, text=columns[0], author=author, session=session)
        with _errors(frame):
            chosen = [frame[f"`{name.replace('`', '``')}`"].alias(f"column{i}") for i, name in enumerate(columns)]
            made = frame.select(*chosen).mapInArrow(cells, "text array<int>, author string, vector array<float>")
        rows: dict[str, Any] = {"vocabulary": vocabulary, "drop_missing": drop_missing, "author_is": author_is}
        read = ["text", *(["author"] if author else []), *(["vector"] if with_numbers else [])]
        rows |= {"frame": made.select(*read), "author_is": real_names(author_is), "with_vectors": with_numbers}
        return replace(checked, text=None, assumptions=assumptions, **rows)

    def __repr__(self) -> str:
        return f"<SparkTable: sensitive, unit {str(self.default_unit)!r}>"

    @property
    def default_unit(self) -> Unit:
        """Author if there are authors."""
        return Unit.DOCUMENT if self.author_column is None else Unit.AUTHOR

    def warn_owner(self, delta: float, unit: Unit) -> None:
        """Tell the owner if δ would allow a mechanism that publishes somebody outright. Authors: within 5 %."""
        from pyspark.sql import functions as f

        with _errors(self.frame):
            many = f.approx_count_distinct("author") if unit is Unit.AUTHOR else f.count(f.lit(1))
            (n,) = self.frame.agg(many).first()
        warn_if_delta_large(n, delta, unit)

    def bounded(
        self, *, unit: Unit | str | None = None, max_docs: int | None = None, max_words: int | None = None, key: int = 0
    ) -> "SparkCorpus":
        """Read the texts and limit what each unit contributes: the only pass over raw text."""
        unit, column = self.default_unit if unit is None else Unit(unit), self.author_column
        if unit is Unit.AUTHOR and column is None:
            raise InputError("unit 'author' needs authors. Name the author column, or use unit 'document'.")
        bounds = Bounds(unit=unit, max_docs=max_docs, max_words=max_words, key=key, column=column)
        plan = parts.Reading(
            text=self.text,
            bounds=bounds,
            buckets=self.partitions,
            with_authors=self.author_column is not None,
            with_vectors=self.with_vectors,
            vocabulary=self.vocabulary,
            author_is=self.author_is,
        )
        return SparkCorpus(_Parts(self, plan), bounds)


class _Parts:
    """The documents as numbers, each unit's together, kept on the executors as long as this object lives."""

    def __init__(self, table: SparkTable, plan: parts.Reading) -> None:
        from pyspark.sql import functions as f

        self.table, self.plan = table, plan
        self.vector_width: int | None
        with _errors(table.frame):
            read = table.frame.mapInArrow(partial(parts.read, plan=plan), _columns(parts.PART))
            self.frame = _cached(self, read.repartitionById(plan.buckets, "bucket"))
            sums = [f.sum(name) for name in ("seen", "missing", "entries", "documents")]
            found = self.frame.agg(*sums, f.max("problem"), f.min("width"), f.max("width")).first()
            tasks = self.frame.select("bucket", f.spark_partition_id().alias("task")).distinct().groupBy("bucket")
            split = tasks.count().where("count > 1").count()
        if split:  # an author in two tasks would be two units, and the order of units would depend on the cut
            raise EngineError(
                f"Spark split {split} of {plan.buckets} ranges of authors or documents between tasks, so that no bound "
                "would hold. Nothing was charged. Please report this with the version of Spark."
            )
        seen, missing, entries, self.n_documents = (number or 0 for number in found[:4])
        problem, narrow, self.vector_width = found[4:]
        if problem is None and narrow != self.vector_width:
            problem = "the embeddings differ in length. Embed all documents with one model."
        if problem is None and missing and not table.drop_missing:
            needed = "text" + ", embedding" * table.with_vectors + f", author{PLACEHOLDER_TOLD}" * plan.with_authors
            problem = (
                f"{missing:,} of {seen:,} rows lack one of: {needed}. Fill them in, or drop such rows with "
                "drop_missing=True (--drop-missing)."
            )
        if problem is not None:
            raise InputError(problem)
        if table.with_vectors and self.vector_width is None:
            self.vector_width = 0  # there is no document
        tell_if_empty(seen, seen - missing, entries, table.text, table.vocabulary)

    @cached_property
    def words(self) -> list[str]:
        """All words, sorted: on the driver, since a vocabulary mechanism weighs each."""
        with _errors(self.frame):
            found = self.frame.select("words").mapInArrow(parts.words, "word string").distinct().toArrow()
        return sorted(found.column("word").to_pylist())


class SparkCorpus:
    """A :class:`~dptopics.data.bounded.BoundedCorpus` on the executors of a Spark session."""

    def __init__(self, held: _Parts, bounds: Bounds, vocabulary: Vocabulary | None = None) -> None:
        self._parts, self.bounds, self.text, self.vector_width = held, bounds, held.table.text, held.vector_width
        self.vocabulary = held.table.vocabulary if vocabulary is None else vocabulary  # an empty one is still public
        self.assumptions = (() if self.text is None else self.text.assumptions) + held.table.assumptions

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: sensitive, {self.bounds}>"

    @property
    def words(self) -> Sequence[str]:
        """What each row of a bounded sum stands for, sorted."""
        return self._parts.words if self.vocabulary is None else self.vocabulary.words

    def limited(self, *, vocabulary: Vocabulary | None = None, max_words: int | None = None) -> "SparkCorpus":
        """The same raw data, bounded again under a public vocabulary or a tighter limit."""
        limits = [m for m in (max_words, self.bounds.max_words) if m is not None]
        bounds = replace(self.bounds, max_words=min(limits, default=None))
        if bounds == self.bounds and vocabulary is None:
            return self
        return SparkCorpus(self._parts, bounds, self.vocabulary if vocabulary is None else vocabulary)

    def bounded_sum(
        self, statistic: Statistic, *, bound: float, grid: float, sample: Sample | None = None, norm: int = 2
    ) -> NDArray[np.int64]:
        """See the protocol. Nothing random happens on executors."""
        limit = steps(bound, grid, norm)
        shape = (len(self.words) if statistic.height is None else statistic.height, statistic.width)
        if 8 * shape[0] * shape[1] > _LARGEST_SUM:
            raise EngineError(f"a sum of more than {_LARGEST_SUM // 8:,} numbers does not fit into a Spark message.")
        add = partial(
            parts.added,
            statistic=statistic,
            shape=shape,
            limit=limit,
            grid=grid,
            norm=norm,
            sample=sample,
            places=None if sample is None else self._places,
        )
        with _errors(self._blocks):
            total = _tree(self._blocks.mapInArrow(add, _columns(parts.SUM)), shape, self._parts.plan.buckets)
        progress.report(1.0)
        return total

    def fold(self, step: Callable[[S, Block], S], state: S, *, max_units: int | None = None) -> S:
        """See the protocol. Units pass through the driver, one bucket at a time."""
        if max_units is not None and int(self._places[-1]) > max_units:
            raise too_many_units(max_units)
        for bucket in range(self._parts.plan.buckets):
            with _errors(self._blocks):
                rows = self._blocks.where(f"bucket = {bucket}").orderBy("first").toArrow()
            for row in range(rows.num_rows):
                state = step(state, parts.block_of(rows, row))
            progress.report((bucket + 1) / self._parts.plan.buckets)
        return state

    @cached_property
    def _blocks(self) -> Any:
        """Bounded units, computed once and kept on the executors as long as this object lives."""
        arrange = partial(parts.arranged, bounds=self.bounds, listed=pa.array(self.words, pa.string()))
        with _errors(self._parts.frame):
            return _cached(self, self._parts.frame.mapInArrow(arrange, _columns(parts.BLOCK)))

    @cached_property
    def _places(self) -> NDArray[np.int64]:
        """The place of each bucket's first unit in the canonical order, and the number of units."""
        with _errors(self._blocks):
            rows = self._blocks.groupBy("bucket").sum("units").collect()
        sizes = np.zeros(self._parts.plan.buckets, np.int64)
        for bucket, n_units in rows:
            sizes[bucket] = n_units
        return offsets(sizes)


def _tree(sums: Any, shape: Shape, n: int) -> NDArray[np.int64]:
    """Add up on the executors, √n sums at a time, so that the driver receives one, however many there are."""
    from pyspark.sql import functions as f

    for groups in (ceil(sqrt(n)), 1) if n > 8 else (1,):
        grouped = sums.repartitionById(groups, f.col("part") % groups)
        sums = grouped.mapInArrow(partial(parts.merged_sums, shape=shape), _columns(parts.SUM))
    total = np.zeros(shape, np.int64)
    for row in sums.collect():
        total += np.frombuffer(row.total, np.int64).reshape(shape)
    return total


def _columns(schema: Any) -> str:
    """A schema in Spark's syntax."""
    return ", ".join(f"{field.name} {_TYPES.get(field.type, 'array<string>')}" for field in schema)


def _cached(owner: object, frame: Any) -> Any:
    """Keep a frame on the executors, in memory or on disk, until its owner is gone."""
    from pyspark import StorageLevel

    held = frame.persist(StorageLevel.MEMORY_AND_DISK)
    weakref.finalize(owner, _forget, held).atexit = False
    return held


def _forget(frame: Any) -> None:
    with suppress(Exception):  # the session may have stopped
        frame.unpersist()


def _frame(source: Any, session: Any) -> Any:
    """A DataFrame from what a user has."""
    if hasattr(source, "mapInArrow"):
        return source
    if not isinstance(source, str | Path):
        raise InputError(
            f"Spark cannot read a {type(source).__name__}. Give a Spark DataFrame, a path of Parquet files or the "
            "name of a table."
        )
    if session is None:
        raise InputError("a path or the name of a table needs a Spark session as well.")
    name = str(source)
    is_path = isinstance(source, Path) or "/" in name or name.endswith((".parquet", ".pq")) or os.path.exists(name)
    what = "path of Parquet files" if is_path else "table"
    with _errors(None, missing=f"Spark finds no {what} {name!r}."):
        return session.read.parquet(name) if is_path else session.table(name)


def _check_kind(column: str | None, kinds: dict[str, str], allowed: tuple[str, ...], name: str) -> None:
    if column is not None and kinds[column].partition("(")[0] not in allowed:
        raise InputError(f"column {column!r} holds {type_name(kinds[column])}, not {name}. Convert it first.")


def _use_drivers_python(session: Any) -> None:
    """On this machine, executors run the driver's Python unless configured otherwise."""
    context = session.sparkContext
    if "PYSPARK_PYTHON" not in os.environ and str(context.master).startswith("local"):
        context.pythonExec = sys.executable


@contextmanager
def _errors(frame: Any, *, missing: str | None = None) -> Iterator[None]:
    """Turn Spark's exceptions into errors that say what to do, without the data that Spark quotes."""
    try:
        with warnings.catch_warnings():
            # PySpark warns about pandas at every job, and does not use it for Arrow.
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
            yield
    except Exception as error:
        session = None if frame is None else frame.sparkSession
        raise explained(error, session, missing) from None


_OLDEST_JAVA = 17
_SPENT = "If a release was running, its budget is spent."


def check_java() -> None:
    """Refuse to start where Spark could not."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    version = None if java is None else java_version(java)
    if version is None or version < _OLDEST_JAVA:
        found = "none was found" if version is None else f"found {version}"
        raise EngineError(
            f"Spark needs Java {_OLDEST_JAVA} or newer, {found}. Install it (Debian: default-jre-headless), or set "
            "JAVA_HOME."
        )


def java_version(java: str) -> int | None:
    """17 for Java 17.0.15, 8 for Java 1.8; None if it does not run."""
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=True).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    version = re.search(r'version "(?:1\.)?(\d+)', said)
    return None if version is None else int(version[1])


def explained(error: Exception, session: Any, missing: str | None = None) -> DptopicsError:
    """The error to raise instead. ``missing``: the message if Spark could not find or read the source."""
    if isinstance(error, DptopicsError):
        return error
    kind, message = type(error).__name__, str(error)
    if missing is not None and kind in ("AnalysisException", "ParseException"):
        return InputError(missing)
    if session is not None and _stopped(session):
        return EngineError(f"the Spark session stopped during the job. {_SPENT} Start a session and run it again.")
    if module := re.search(r"ModuleNotFoundError: No module named '(\w+)", message):
        return EngineError(
            f"the executors cannot import {module[1]!r}. Install dptopics[spark] in the Python of every worker, or "
            "pack the driver's environment (venv-pack, conda-pack) and ship it: spark.archives=env.tar.gz#env and "
            f"PYSPARK_PYTHON=env/bin/python. {_SPENT}"
        )
    if "PYTHON_VERSION_MISMATCH" in message:
        return EngineError("executors and driver run different Pythons. Set PYSPARK_PYTHON to the driver's version.")
    if "Cannot run program" in message:
        return EngineError("the executors cannot find the driver's Python. Set PYSPARK_PYTHON to one that they have.")
    if "UnicodeDecodeError" in message:
        return InputError("a text or author is not valid UTF-8. Write the table again.")
    if "Could not parse Master URL" in message:
        return EngineError("this is not a Spark master. Use local[2], spark://HOST:7077, yarn or k8s://HOST.")
    inner = re.findall(r"^(?:\w+\.)*(\w*(?:Error|Exception|Exit|Interrupt))\b", message, re.MULTILINE)
    inner = [name for name in inner if hasattr(builtins, name)]  # a line of the message may be data
    names = " in ".join(dict.fromkeys([*inner[-1:], kind]))
    return EngineError(f"a Spark job failed ({names}); the logs of driver and executors say more. {_SPENT}")


def _stopped(session: Any) -> bool:
    try:
        context = session.sparkContext._jsc
        return context is None or bool(context.sc().isStopped())
    except Exception:  # there is no JVM left to ask
        return True
