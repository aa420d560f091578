"""Corpus: sensitive text as word counts."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dptopics.core.counts import Counts
from dptopics.core.errors import InputError, tell_owner
from dptopics.core.text import (
    AUTO,
    TextSettings,
    another_language,
    identifies,
    language_code,
    language_name,
    without_blanks,
)
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.bounded import BoundedCorpus, Bounds, string_keys
from dptopics.kernels.gather import content_keys, gather
from dptopics.privacy.guarantee import Unit

Embed = Callable[[Sequence[str]], NDArray[np.float32]]  # texts to vectors, one row each


@dataclass(frozen=True, eq=False, repr=False)
class Corpus:
    """Sensitive word counts of documents, with their authors. Make one with a ``from_`` method, then bound it.

    >>> corpus = Corpus.from_texts(["the knee hurts", "knee surgery in May", "new glasses"], authors=["a", "a", "b"])
    >>> corpus
    <Corpus: sensitive, unit 'author'>
    >>> corpus.bounded(max_docs=1).bounds
    Bounds(unit=<Unit.AUTHOR: 'author'>, max_docs=1, max_words=None, key=0)
    """

    doc_start: NDArray[np.int64]
    word: NDArray[np.int32]
    count: NDArray[np.int32]
    words: Sequence[str]
    author: NDArray[np.int32] | None  # author number of each document; of authors with one key, in the order of names
    author_key: NDArray[np.uint64] | None  # hash of each author's name
    vocabulary: Vocabulary | None  # set when the words are public
    text: TextSettings | None
    vectors: NDArray[np.float32] | None = None  # embedding of each document, by a public model
    left_out: int = 0  # rows without text or author that were dropped. Private: for the owner only
    blank: int = 0  # texts without any character. Private: for the owner only
    assumptions: tuple[str, ...] = ()  # what bounds assume of how documents became words. Public
    author_column: str | None = None  # the column that names the authors, in a table

    def __repr__(self) -> str:
        return f"<Corpus: sensitive, unit {str(self.default_unit)!r}>"

    @property
    def default_unit(self) -> Unit:
        """Author if authors are known, else document."""
        return Unit.DOCUMENT if self.author is None else Unit.AUTHOR

    @property
    def n_documents(self) -> int:
        """Private, for the owner only."""
        return self.doc_start.size - 1

    @property
    def n_authors(self) -> int | None:
        """Private, for the owner only."""
        return None if self.author_key is None else self.author_key.size

    def account(self) -> str:
        """What was read, in one sentence. Private: for the owner only."""
        rows = f"{_number(self.n_documents + self.left_out, 'row')}: " if self.left_out else ""
        found = f"Read {rows}{_number(self.n_documents, 'text')}"
        if self.n_authors is not None:
            found += f" of {_number(self.n_authors, 'author')}"
        parts = [found]
        if self.blank:
            parts.append(f"{_number(self.blank, 'text')} {'is' if self.blank == 1 else 'are'} empty")
        if wordless := int(np.count_nonzero(np.diff(self.doc_start) == 0)) - self.blank:
            more = "more " if self.blank else ""
            parts.append(f"{wordless:,} {more}{'holds' if wordless == 1 else 'hold'} no word that counts")
        if self.left_out:
            were = "was" if self.left_out == 1 else "were"
            parts.append(f"{_number(self.left_out, 'row')} without text or author {were} left out")
        return f"{'; '.join(parts)}."

    @cached_property
    def word_key(self) -> NDArray[np.uint64]:
        """Hash of each word, so that choices do not depend on the order in which words were read."""
        return string_keys(self.words)

    @cached_property
    def word_order(self) -> NDArray[np.int32]:
        """Word numbers in alphabetical order: in the order of first use, one unit could move another's rounding."""
        return np.array(sorted(range(len(self.words)), key=self.words.__getitem__), np.int32)

    @cached_property
    def word_rank(self) -> NDArray[np.int32]:
        """The alphabetical rank of each word."""
        rank = np.empty(len(self.words), np.int32)
        rank[self.word_order] = np.arange(rank.size, dtype=np.int32)
        return rank

    @cached_property
    def content_key(self) -> NDArray[np.uint64]:
        """Hash of each document's words and counts, which two contents may share."""
        return content_keys(self.doc_start, self.word, self.count, self.word_key)

    @cached_property
    def vector_key(self) -> NDArray[np.uint64]:
        """Hash of each document's embedding, which two may share: documents of equal words may differ in it."""
        keys = np.zeros(self.n_documents, np.uint64)
        if self.vectors is not None:
            for column in np.ascontiguousarray(self.vectors).view(np.uint32).T:
                keys = (keys ^ column) * np.uint64(0x9E3779B97F4A7C15)
        return keys

    @property
    def digest(self) -> str:
        """Identifies a public corpus, whatever the order of its rows."""
        return sha256(np.sort(self.content_key).tobytes()).hexdigest()

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        authors: Iterable[str | int] | None = None,
        *,
        settings: TextSettings | None = None,
        vocabulary: Vocabulary | None = None,
        drop_missing: bool = False,
        author_is: Iterable[str] = (),
        embed: Embed | None = None,
    ) -> Self:
        """From strings, and the author of each where known.

        ``drop_missing`` drops those without text or author. Placeholders such as "unknown" do not count as authors,
        except those that ``author_is`` lists. A ``vocabulary`` is public: other words are dropped. ``embed``, a public
        model, turns texts into vectors, one text at a time.
        """
        from dptopics.data.builder import Builder

        rows: dict[str, Any] = {"drop_missing": drop_missing, "author_is": author_is, "vocabulary": vocabulary}
        builder = Builder(settings or TextSettings(), with_authors=authors is not None, embed=embed, **rows)
        builder.add_all(texts, authors)
        named = getattr(authors, "name", None)  # of a pandas or Polars column
        return replace(builder.build(cls), author_column=named if isinstance(named, str) else None)

    @classmethod
    def from_table(
        cls,
        source: Any,
        *,
        text: str,
        author: str | None = None,
        settings: TextSettings | None = None,
        vocabulary: Vocabulary | None = None,
        drop_missing: bool = False,
        author_is: Iterable[str] = (),
        encoding: str = "utf8",
        separator: str | None = None,
        format: str | None = None,
        embed: Embed | None = None,
    ) -> Self:
        """From a file, a folder of text files, standard input ("-"), or a frame that speaks Arrow (pandas, Polars, …).

        Files are CSV, TSV, JSON (lines or an array), Parquet or workbooks, optionally compressed; ``separator`` and
        ``format`` say what a file's header and name do not. A folder has the columns text, folder and file. Rows are
        read in batches. The other arguments are those of :meth:`from_texts`.
        """
        from dptopics.data.builder import Builder
        from dptopics.data.readers.files import TableFile, read_batches

        if isinstance(source, str | Path):
            source = TableFile(source, encoding=encoding, separator=separator, format=format)
        elif separator is not None or format is not None:
            raise InputError("separator and format are for files: leave them out.")
        rows: dict[str, Any] = {"drop_missing": drop_missing, "author_is": author_is, "vocabulary": vocabulary}
        builder = Builder(settings or TextSettings(), with_authors=author is not None, embed=embed, **rows)
        for texts, authors in read_batches(source, text=text, author=author):
            builder.add(texts, authors)
        return replace(builder.build(cls), author_column=author)

    @classmethod
    def from_sql(cls, query: str, url: str, *, text: str, author: str | None = None, **how: Any) -> Self:
        """From the result of a read-only query to a database (extra ``sql``); ``how`` as in :meth:`from_table`.

        ``url`` is sqlite:///FILE, postgresql://USER:PASSWORD@HOST/NAME or another with a SQLAlchemy driver. It is used
        once and stored nowhere.
        """
        from dptopics.data.readers.databases import SqlQuery

        return cls.from_table(SqlQuery(query, url), text=text, author=author, **how)

    @classmethod
    def from_counts(
        cls,
        counts: Any,
        vocabulary: Sequence[str],
        *,
        authors: Iterable[str | int] | None = None,
        author_is: Iterable[str] = (),
        public_vocabulary: bool = False,
    ) -> Self:
        """From a documents × words matrix (SciPy sparse or dense).

        A vocabulary learned from the data (a CountVectorizer's) is private: leave ``public_vocabulary`` off.
        """
        from dptopics.data.matrices import corpus_from_counts

        how: dict[str, Any] = {"authors": authors, "author_is": author_is, "public_vocabulary": public_vocabulary}
        return corpus_from_counts(cls, counts, vocabulary, **how)

    def with_vectors(self, vectors: Any) -> Self:
        """The same documents with their embeddings, one row each, by a public model that never saw this data.

        Each must come from its own text alone, not from a padded batch: nothing here can check that.
        """
        from dptopics.public.embeddings import check_vectors

        return replace(self, vectors=check_vectors(vectors, self.n_documents))

    def take(self, documents: NDArray[np.int64]) -> Self:
        """Some of the documents, for audits: for the owner only."""
        part = self.counts().take(documents)
        return replace(
            self,
            doc_start=part.doc_start,
            word=part.word,
            count=part.count,
            author=None if self.author is None else self.author[documents],
            vectors=None if self.vectors is None else self.vectors[documents],
            left_out=0,
            blank=0,  # these two are about the whole
        )

    def counts(self, vocabulary: Vocabulary | None = None) -> Counts:
        """All documents as counts, for learners and audits: for the owner only. Rows follow a given vocabulary."""
        n_words = len(self.words) if vocabulary is None else len(vocabulary)
        rename = np.arange(n_words, dtype=np.int32)
        if vocabulary is not None:  # words outside it are dropped
            rename = np.array([vocabulary.index.get(w, -1) for w in self.words], dtype=np.int32)
        start, word, count = gather(np.arange(self.n_documents), self.doc_start, self.word, self.count, rename)
        return Counts(start, word, count, n_words, self.content_key)

    def bounded(
        self, *, unit: Unit | str | None = None, max_docs: int | None = None, max_words: int | None = None, key: int = 0
    ) -> BoundedCorpus:
        """Limit what each unit contributes: releases are made from bounded corpora only."""
        from dptopics.data.engines.memory import MemoryCorpus

        unit = self.default_unit if unit is None else Unit(unit)
        if unit is Unit.AUTHOR and self.author is None:
            raise InputError("unit 'author' needs authors. Name the author column, or use unit 'document'.")
        bounds = Bounds(unit=unit, max_docs=max_docs, max_words=max_words, key=key, column=self.author_column)
        return MemoryCorpus(self, bounds)

    def warn_owner(self, delta: float, unit: Unit) -> None:
        """Tell the owner, and nobody else, what looks wrong with the data or with δ. It decides nothing."""
        warn_if_delta_large(self.n_authors if unit is Unit.AUTHOR else self.n_documents, delta, unit)
        if self.text is not None:
            warn_if_other_language(self, self.text)


def _number(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def warn_if_delta_large(n: int | None, delta: float, unit: Unit) -> None:
    """Warn if δ is above 1 / n, for n units."""
    if n is not None and delta > 1 / max(n, 1):
        tell_owner(
            f"delta = {delta:g} is larger than 1 / number of {unit}s: a mechanism that publishes one random {unit} "
            "would satisfy it. Choose a much smaller delta."
        )


# Share of words that a language's common ones make up: in English corpora 0.79 to 0.96, in texts of another language at
# most 0.56 (French words are in the English list as well).
_SURELY, _OF_THE_LANGUAGE = 0.7, 0.5
_ENTRIES = 1 << 20  # that are looked at for that, about


def warn_if_other_language(corpus: Corpus, text: TextSettings) -> None:
    """Tell the owner if words are whole sentences, or of another language."""
    some = slice(None, None, 1 + corpus.word.size // _ENTRIES)
    counts = np.bincount(corpus.word[some], corpus.count[some], len(corpus.words)).astype(np.int64)
    if not counts.any():
        return
    if text.cutter is None and text.language != AUTO and without_blanks(corpus.words, counts):
        tell_owner(
            "these texts are in a script without blanks between words, so that whole sentences count as words. Say "
            "their language (--language chinese, japanese or thai), or how to cut them (--tokenizer)."
        )
    elif text.language not in ("none", AUTO) and text.ngrams == 1:
        share, code = _common_share(corpus, counts, text), language_code(text.language)
        if share is not None and share >= _SURELY:
            return  # spares the time to load the models of languages
        name = another_language(corpus.words, counts, code)
        if name is not None or (not identifies(code) and share is not None and share < _OF_THE_LANGUAGE):
            like = "" if name is None else f": they look like {language_name(name)!r}"
            tell_owner(
                f"most words of these texts are no common words of the language that was said ({text.language}){like}. "
                "If they are in another one, give it (--language), or topics will be poor."
            )


def _common_share(corpus: Corpus, counts: NDArray[np.int64], text: TextSettings) -> float | None:
    """Share of words that are common ones of the language; None where there is no list of these."""
    if text.cutter is not None:
        return None  # the list is of words that are cut in another way
    from dptopics.public.embeddings import common_words

    try:
        common = common_words(text).index
    except InputError:  # no list for this language, or the extra is missing
        return None
    known = np.fromiter((word in common for word in corpus.words), bool, len(corpus.words))
    return float(counts[known].sum() / counts.sum())
