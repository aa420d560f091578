"""Where the texts come from: the options of every command that reads a table, as one thing."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dptopics.cli import options as o
from dptopics.cli.terminal import err, progress_bar, warn
from dptopics.errors import InputError
from dptopics.privacy.guarantee import Unit

if TYPE_CHECKING:
    from dptopics.data.bounded import BoundedCorpus
    from dptopics.data.corpus import Corpus
    from dptopics.data.engines.spark import SparkTable
    from dptopics.plan import Plan
    from dptopics.public.text_models import Embedding
    from dptopics.release.vocabulary import Vocabulary


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of texts, and on which engine it is read and added up."""

    source: str | Path
    text: str
    author: str | None = None
    drop_missing: bool = False
    encoding: str = "utf8"
    engine: o.EngineName = o.EngineName.MEMORY
    master: str | None = None
    embedding_column: str | None = None

    def __post_init__(self) -> None:
        if self.text == self.author:
            raise InputError(f"--text and --author name the same column, {self.text!r}. Name the one with the texts.")
        if self.engine is o.EngineName.MEMORY and (self.master or self.embedding_column):
            raise InputError("--master and --embedding-column are for --engine spark.")

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
            from dptopics import progress
            from dptopics.door import warn_owner

            with progress_bar("Reading texts") as sink, progress.shown_by(sink):
                table = self.read(plan.text, embed=embed, vocabulary=vocabulary)
                warn_owner(table, plan)
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
        from dptopics.data.corpus import Corpus
        from dptopics.data.engines.spark import SparkTable

        common: dict[str, Any] = {"text": self.text, "author": self.author, "settings": settings}
        common |= {"vocabulary": vocabulary, "drop_missing": self.drop_missing}
        if self.engine is o.EngineName.SPARK:
            return SparkTable.from_table(self.source, embedding=self.embedding_column, session=self.session(), **common)
        corpus = Corpus.from_table(self.source, encoding=self.encoding, embed=embed, **common)
        err.print(corpus.account(), highlight=False)  # a quotation mark left open swallows rows in silence
        return corpus
