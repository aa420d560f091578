"""Where the texts come from and how they become words: the options of every command that reads a table."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from dptopics.cli import options as o
from dptopics.cli.terminal import err, warn, working
from dptopics.core.errors import InputError
from dptopics.core.text import TextSettings
from dptopics.privacy.events import Noise
from dptopics.privacy.guarantee import Unit
from dptopics.public.word_lists import check_not_the_data, read_stop_words

if TYPE_CHECKING:
    from dptopics.data.bounded import BoundedCorpus
    from dptopics.data.readers.databases import SqlQuery
    from dptopics.data.readers.files import TableFile
    from dptopics.plan import Plan
    from dptopics.public.text_models import Embedding

_SPARK = "More than one machine"


@dataclass(frozen=True, kw_only=True)
class Table(o.Group):
    """A table of texts, and on which engine it is read and added up."""

    panel = "How the table is read"
    source: str | None = o.argument(
        "Table of texts: .csv, .tsv, .json, .jsonl, .parquet or .xlsx, optionally compressed; a folder "
        "of .txt files (columns text, folder, file); or - for standard input. With --sql: none.",
        metavar="TABLE",
        default=None,
        panel="",
    )
    text: str = o.option("Column with the texts.", default=o.REQUIRED, panel="")
    author: str | None = o.option("Column that says whose text it is.", panel="")
    drop_missing: bool = o.flag("Leave out rows without text or author.")
    author_is: list[str] | None = o.option(
        "An author's real name, although it looks like a placeholder (unknown, null, -). Can be repeated."
    )
    encoding: str = o.option("Encoding of CSV, JSON and text files.", default="utf8")
    separator: str | None = o.option(
        "Column delimiter of CSV: ; or tab or | …", shown="found by the names of the columns"
    )
    table_format: str | None = o.option(
        "csv, tsv, json, parquet or excel.", "--format", shown="as the name of the file says"
    )
    sheet: str | None = o.option("Sheet of a workbook.", shown="the one that has the columns")
    header_row: int | None = o.option(
        "Row of CSV or of a workbook that holds the names of the columns, from 1 on. Rows above it are left out.",
        shown="the first",
    )
    sql: str | None = o.option("Query whose answer is the table, instead of a file. Must be read-only. Extra 'sql'.")
    database: str | None = o.option(
        "Address of its database: sqlite:///FILE, postgresql://USER:PASSWORD@HOST/NAME. In the variable "
        "it stays out of the list of processes.",
        envvar="DPTOPICS_DATABASE",
    )
    engine: o.EngineName = o.option(
        "Where sums are computed: memory, or spark, which reads Parquet files or a table of its own by name.",
        default=o.EngineName.MEMORY,
        panel=_SPARK,
    )
    master: str | None = o.option(
        "Spark's master: local[2], spark://HOST:7077, yarn, k8s://HOST.", shown="as Spark is configured", panel=_SPARK
    )
    embedding_column: str | None = o.option("Column with the texts' vectors by --embedding.", panel=_SPARK)
    of_plan: ClassVar[frozenset[str] | None] = frozenset()

    def __post_init__(self) -> None:
        if self.text == self.author:
            raise InputError(f"--text and --author name the same column, {self.text!r}. Name the one with the texts.")
        object.__setattr__(self, "engine", o.EngineName(self.engine))
        if (self.source is None) == (self.sql is None):
            raise InputError(
                "give a table of texts (a file, a folder, or - for standard input), or a query (--sql) and the address "
                "of its database (--database): one of the two."
            )
        if self.sql is not None and not self.database:
            raise InputError("--sql needs the address of the database: --database, or the variable DPTOPICS_DATABASE.")
        if self.sql is not None and self._of_files:
            raise InputError("--separator, --format, --sheet and --header-row are for files: a query has none of them.")
        if self.engine is o.EngineName.SPARK:
            if self.sql is not None or self._of_files or self.source == "-":
                raise InputError(
                    "Spark reads Parquet files or a table of its own: leave --sql, --separator, --format, --sheet, "
                    "--header-row and - out."
                )
        else:
            _ = self.data  # what it is given is checked now
        if self.engine is o.EngineName.MEMORY and (self.master or self.embedding_column):
            raise InputError("--master and --embedding-column are for --engine spark.")

    @property
    def data(self) -> "TableFile | SqlQuery":
        from dptopics.data.readers.databases import SqlQuery
        from dptopics.data.readers.files import TableFile

        if self.sql is not None:
            return SqlQuery(self.sql, self.database or "")
        how = (self.encoding, self.separator, self.table_format, self.sheet, self.header_row)
        return TableFile(self.source or "", *how)

    @property
    def _of_files(self) -> bool:
        """Whether something is said that only files have."""
        return any(one is not None for one in (self.separator, self.table_format, self.sheet, self.header_row))

    def unit(self, asked: Unit | None) -> Unit:
        """Whom to protect: authors if there are any."""
        if asked is None and self.author is None:
            warn(
                "no --author given, so each document is protected by itself: somebody with several documents is "
                "protected less. Name the author column, or say --unit document if that is what you want."
            )
        if asked is Unit.AUTHOR and self.author is None:
            raise InputError("--unit author needs --author COLUMN.")
        return asked or (Unit.DOCUMENT if self.author is None else Unit.AUTHOR)

    def check_public(self, *paths: str | Path | None) -> None:
        """Refuse this very table as something public."""
        for path in paths:
            check_not_the_data(path, self.source)

    def embedding(self, model: "Embedding | None", cache: Path | None) -> "Embedding | None":
        """The model by which texts are embedded when they are read; None where none is, or a column has them."""
        from dptopics.public.embeddings import cached

        of_texts = model is not None and not model.of_words
        if cache is not None and not of_texts:
            raise InputError("--embedding-cache is for models of whole texts: word vectors need none.")
        if self.embedding_column and not of_texts:
            raise InputError("--embedding-column needs the model it comes from, one of whole texts: --embedding.")
        if self.engine is o.EngineName.SPARK and (cache or (of_texts and not self.embedding_column)):
            raise InputError(
                "on Spark, embeddings come from a column: embed the texts there, then name it (--embedding-column)."
            )
        return None if model is None or model.of_words else model if cache is None else cached(model, cache)

    def reader(self, *, embed: "Embedding | None" = None, vocabulary: Any = None) -> "Callable[[Plan], BoundedCorpus]":
        """What a door needs: the table, bounded as a plan says."""

        def read(plan: "Plan") -> "BoundedCorpus":
            from dptopics.data.corpus import Corpus
            from dptopics.publishing import as_planned, forecast

            with working("Reading texts"):
                table = self.read(plan.text, embed=embed, vocabulary=vocabulary)
                if isinstance(table, Corpus):  # on Spark nobody has counted yet
                    say(forecast(table, plan))
                return as_planned(table, plan)

        return read

    def session(self) -> Any:
        """A session on Spark; None where the engine is memory."""
        from dptopics.data.engines.spark import spark_session

        return spark_session(self.master) if self.engine is o.EngineName.SPARK else None

    def read(self, settings: Any, *, embed: Any = None, vocabulary: Any = None) -> Any:
        """The table as it is, on Spark or as a corpus; its owner is told what was read."""
        from dptopics.data.corpus import Corpus

        how: dict[str, Any] = {"text": self.text, "author": self.author, "settings": settings, "vocabulary": vocabulary}
        how |= {"drop_missing": self.drop_missing, "author_is": self.author_is or ()}
        if self.engine is o.EngineName.SPARK:
            from dptopics.data.engines.spark import SparkTable

            return SparkTable.from_table(self.source, embedding=self.embedding_column, session=self.session(), **how)
        corpus = Corpus.from_table(self.data, embed=embed, **how)
        say(corpus.account())
        return corpus


class AnyTable(Table):
    """A table in memory or on Spark, without vectors of its texts."""

    left_out = frozenset({"embedding_column"})


class MemoryTable(Table):
    """A table that is read here."""

    left_out = AnyTable.left_out | {"engine", "master"}


class Texts(Table):
    """Texts, whoever wrote them."""

    left_out = MemoryTable.left_out | {"author", "author_is"}


_USUAL = "what is usual in the language; English"


@dataclass(frozen=True, kw_only=True)
class Words(o.Group):
    """How texts become words."""

    panel = o.WORDS
    language: o.Language = "english"
    lemmas: bool = o.flag("Reduce words to their base form (extra 'lemmas').")
    links: bool = o.flag("Count the words of web and e-mail addresses too.")
    stop_words: Path | None = o.option(
        "File of words to leave out beside the language's, one on each line. They are published with the release."
    )
    min_length: int | None = o.option("Letters of the shortest word kept.", shown=f"{_USUAL} 3")
    max_length: int | None = o.option("Letters of the longest word kept.", shown=f"{_USUAL} 15, German 30")
    tokenizer: o.TokenizerName = None

    def settings(self, table: Table, phrases: int = 1) -> TextSettings:
        """All of it. A list of stop words must not be the data."""
        given: dict[str, Any] = {"language": self.language, "lemmas": self.lemmas, "links": self.links}
        given |= {"min_length": self.min_length, "max_length": self.max_length, "phrases": phrases}
        made = TextSettings(tokenizer=named_tokenizer(self.tokenizer), **given)
        if self.stop_words is None:
            return made
        table.check_public(self.stop_words)
        return replace(made, stop_words=read_stop_words(self.stop_words, made))


@dataclass(frozen=True, kw_only=True)
class Vocabulary(o.Group):
    """What a private vocabulary is chosen from and how."""

    panel = o.VOCABULARY
    noise: Noise | None = o.option("Noise of the vocabulary: gaussian or laplace.", shown="gaussian; greedy: laplace")
    max_vocabulary: int | None = o.option("Keep at most so many words: those of the highest noisy weight.", shown="all")
    max_words: int = o.option("Distinct words each unit may propose for the vocabulary.", default=200)
    max_docs: o.MaxDocs = None


class Language(Words):
    """The language, and who cuts texts into words."""

    left_out = frozenset({"lemmas", "links", "stop_words", "min_length", "max_length"})


def named_tokenizer(name: str | None) -> str | None:
    """A tokenizer that an option names; its module may lie in the folder where the command runs."""
    if name is not None and ":" in name and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # at the end: it cannot stand in for what is installed
    return name


def allow_tokenizer(name: str | None) -> None:
    """Let releases that are loaded from now on use a tokenizer that they name."""
    if name is not None:
        from dptopics.core.tokenizers import Tokenizer

        Tokenizer.of(named_tokenizer(name))


def say(account: str) -> None:
    """What was read and what to expect of it, on standard error: a stray quotation mark swallows rows in silence."""
    if account:
        err.print(account, highlight=False)
