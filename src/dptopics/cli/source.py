"""Where the texts come from: the options of every command that reads a table, as one thing."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import typer

from dptopics.cli import options as o
from dptopics.cli.terminal import err, progress_bar, warn
from dptopics.core.errors import InputError
from dptopics.privacy.guarantee import Unit

if TYPE_CHECKING:
    from dptopics.core.vocabulary import Vocabulary
    from dptopics.data.bounded import BoundedCorpus
    from dptopics.data.corpus import Corpus
    from dptopics.data.engines.spark import SparkTable
    from dptopics.data.readers.databases import SqlQuery
    from dptopics.data.readers.files import TableFile
    from dptopics.plan import Plan
    from dptopics.public.text_models import Embedding


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of texts, and on which engine it is read and added up."""

    source: str | Path | None = None
    text: str
    author: str | None = None
    drop_missing: bool = False
    author_is: list[str] | None = None
    encoding: str = "utf8"
    separator: str | None = None
    table_format: str | None = None
    sheet: str | None = None
    header_row: int | None = None
    sql: str | None = None
    database: str | None = field(default=None, repr=False)  # it may hold a password
    engine: o.EngineName = o.EngineName.MEMORY
    master: str | None = None
    embedding_column: str | None = None

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

    @classmethod
    def of(cls, context: typer.Context, **changed: Any) -> Self:
        """From the options of a command: all that are called as the fields here."""
        names = {one.name for one in fields(cls)}
        return cls(**{name: value for name, value in context.params.items() if name in names} | changed)

    @property
    def data(self) -> "TableFile | SqlQuery":
        """What is read, in memory."""
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

    def check(self, model: "Embedding | None", cache: Path | None) -> None:
        """Refuse embeddings that cannot be had on the engine."""
        of_texts = model is not None and not model.of_words
        if self.embedding_column and not of_texts:
            raise InputError("--embedding-column needs the model it comes from, one of whole texts: --embedding.")
        if self.engine is o.EngineName.SPARK and (cache or (of_texts and not self.embedding_column)):
            raise InputError(
                "on Spark, embeddings come from a column: embed the texts there, then name it (--embedding-column)."
            )

    def reader(
        self, *, embed: "Embedding | None" = None, vocabulary: "Vocabulary | None" = None
    ) -> "Callable[[Plan], BoundedCorpus]":
        """What a door needs: the table, bounded as a plan says."""

        def read(plan: "Plan") -> "BoundedCorpus":
            from dptopics.core import progress
            from dptopics.data.corpus import Corpus
            from dptopics.publishing import forecast, warn_owner

            with progress_bar("Reading texts") as sink, progress.shown_by(sink):
                table = self.read(plan.text, embed=embed, vocabulary=vocabulary)
                warn_owner(table, plan)
                if isinstance(table, Corpus):  # on Spark nobody has counted yet
                    say(forecast(table, plan))
                return table.bounded(unit=plan.unit, max_docs=plan.max_docs)

        return read

    def session(self) -> Any:
        """A session on Spark; None where the engine is memory."""
        from dptopics.data.engines.spark import spark_session

        return spark_session(self.master) if self.engine is o.EngineName.SPARK else None

    def read(
        self, settings: Any, *, embed: "Embedding | None" = None, vocabulary: "Vocabulary | None" = None
    ) -> "Corpus | SparkTable":
        """The table as it is."""
        from dptopics.data.engines.spark import SparkTable

        if self.engine is o.EngineName.SPARK:
            return SparkTable.from_table(
                self.source,
                embedding=self.embedding_column,
                session=self.session(),
                **self._common(settings, vocabulary),
            )
        return self.in_memory(settings, embed=embed, vocabulary=vocabulary)

    def in_memory(
        self, settings: Any, *, embed: "Embedding | None" = None, vocabulary: "Vocabulary | None" = None
    ) -> "Corpus":
        """The table, read here; its owner is told what was read."""
        from dptopics.data.corpus import Corpus

        corpus = Corpus.from_table(self.data, embed=embed, **self._common(settings, vocabulary))
        say(corpus.account())
        return corpus

    def _common(self, settings: Any, vocabulary: "Vocabulary | None") -> dict[str, Any]:
        found: dict[str, Any] = {"text": self.text, "author": self.author, "settings": settings}
        found |= {"drop_missing": self.drop_missing, "author_is": self.author_is or ()}
        return found | {"vocabulary": vocabulary}


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
