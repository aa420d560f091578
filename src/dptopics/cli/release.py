"""Commands that release: topics and vocabularies."""

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from dptopics.cli import options as o
from dptopics.cli.terminal import err, out, print_json, progress_bar, show_card, show_topics, topics_data, warn
from dptopics.errors import DptopicsError, InputError
from dptopics.privacy.guarantee import Unit
from dptopics.public.text import TextSettings
from dptopics.public.word_lists import check_not_the_data

if TYPE_CHECKING:
    from dptopics.data.bounded import BoundedCorpus
    from dptopics.privacy.mechanism import Mechanism
    from dptopics.public.embeddings import Embedding
    from dptopics.release.release import Release
    from dptopics.release.vocabulary import Vocabulary

T = TypeVar("T")


def fit(
    source: o.AnySource,
    text: o.TextColumnName,
    epsilon: o.Epsilon,
    delta: o.Delta,
    out_folder: o.Out,
    author: o.AuthorColumn = None,
    topics: Annotated[int, typer.Option(help="Number of topics.")] = 20,
    unit: o.UnitOption = None,
    mechanism: Annotated[
        str | None,
        typer.Option(
            help="How topics are learned: see 'dptopics mechanisms'.",
            show_default="embedded where it is installed and the texts are English, else mixture",
        ),
    ] = None,
    vocabulary: Annotated[
        str | None,
        typer.Option(
            help="weighted, count, policy or greedy: chosen privately; common: public words of the language; "
            "common+weighted: those, and others chosen privately; or a file of public words.",
            show_default="common+weighted for embedded, else weighted",
        ),
    ] = None,
    embedding: o.EmbeddingName = None,
    embedding_cache: o.EmbeddingCache = None,
    noise: o.VocabularyNoise = None,
    vocabulary_share: Annotated[
        float | None,
        typer.Option(
            help="Share of the budget (of μ², the squared signal-to-noise ratio) for the vocabulary.",
            show_default="0.4; beside common words 0.1",
        ),
    ] = None,
    max_vocabulary: o.MaxVocabulary = None,
    max_words: o.MaxWords = 200,
    max_docs: o.MaxDocs = None,
    steps: Annotated[int | None, typer.Option(help="Rounds of learning.", show_default="the mechanism's own")] = None,
    gamma: o.Gamma = None,
    learner: o.LearnerName = None,
    public_corpus: o.PublicCorpus = None,
    public_text: o.PublicText = None,
    public_author: o.PublicAuthor = None,
    generated: o.Generated = False,
    sensitivity: o.SensitivityFile = None,
    sample_size: o.SampleSizeName = None,
    calibration: o.CalibrationName = None,
    post: o.PostName = None,
    top: o.TopWords = None,
    yes: o.Yes = False,
    language: o.Language = "english",
    lemmas: o.Lemmas = False,
    min_length: o.MinLength = 3,
    max_length: o.MaxLength = 15,
    drop_missing: o.DropMissing = False,
    encoding: o.Encoding = "utf8",
    engine: o.EngineOption = o.EngineName.MEMORY,
    master: o.Master = None,
    embedding_column: o.EmbeddingColumn = None,
    ledger: o.LedgerOption = None,
    accept_unproven: o.AcceptUnproven = False,
    as_json: o.Json = False,
) -> None:
    """Release topics of a table of texts: the main job."""
    from dptopics.registry import OUTPUT, default_mechanism, topic_mechanism

    chosen = _unit(unit, author)
    for public in (vocabulary, public_corpus):
        check_not_the_data(public, source)
    settings = TextSettings(language=language, lemmas=lemmas, min_length=min_length, max_length=max_length)
    mechanism = mechanism or default_mechanism(settings)
    model = _embedding(mechanism, embedding, embedding_cache)
    where = Where(engine, master, embedding_column)
    where.check(model, embedding_cache)
    output: dict[str, Any] = {
        "gamma": gamma,
        "learner": learner,
        "generated": generated or None,
        "sample_size": sample_size,
        "calibration": calibration,
        "post": post,
        "top": top,
    }
    output = {name: value for name, value in output.items() if value is not None}
    if mechanism not in OUTPUT and (output or public_corpus or sensitivity):
        raise InputError(f"--mechanism {mechanism} has no options for noise on the output: see dptopics fit --help.")
    if public_corpus is not None:
        column = public_author or author if chosen is Unit.AUTHOR else None
        output["public"] = read(
            public_corpus, public_text or text, column, chosen, 0.0, max_docs, settings, drop_missing, encoding
        )
    if yes:
        output["max_pairs"] = None
    plan = topic_mechanism(
        mechanism,
        vocabulary=vocabulary,
        n_topics=topics,
        epsilon=epsilon,
        delta=delta,
        unit=chosen,
        vocabulary_share=vocabulary_share,
        max_words=max_words,
        max_vocabulary=max_vocabulary,
        noise=noise,
        text=settings,
        embedding=model,
        steps=steps,
        **output,
    )
    embed = None if model is None or model.of_words else model
    release = _publish(
        plan,
        lambda: read(source, text, author, chosen, delta, max_docs, settings, drop_missing, encoding, embed, where),
        ledger=ledger,
        accept_unproven=accept_unproven,
        out_folder=out_folder,
        title="Learning private topics",
        sensitivity=sensitivity,
    )
    found = release.value
    if as_json:
        print_json({"out": str(out_folder), "topics": topics_data(found, 10), "guarantee": release.guarantee.to_dict()})
        return
    show_topics(found, 10)
    show_card(release.guarantee)
    err.print(f"Written to [bold]{out_folder}[/]. Look again with: dptopics show {out_folder}")


def vocabulary(
    source: o.AnySource,
    text: o.TextColumnName,
    epsilon: o.Epsilon,
    delta: o.Delta,
    out_folder: o.Out,
    author: o.AuthorColumn = None,
    unit: o.UnitOption = None,
    mechanism: Annotated[str, typer.Option(help="weighted, count, policy or greedy.")] = "weighted",
    noise: o.VocabularyNoise = None,
    max_words: o.MaxWords = 200,
    max_vocabulary: o.MaxVocabulary = None,
    max_docs: o.MaxDocs = None,
    language: o.Language = "english",
    lemmas: o.Lemmas = False,
    min_length: o.MinLength = 3,
    max_length: o.MaxLength = 15,
    drop_missing: o.DropMissing = False,
    encoding: o.Encoding = "utf8",
    engine: o.EngineOption = o.EngineName.MEMORY,
    master: o.Master = None,
    ledger: o.LedgerOption = None,
    accept_unproven: o.AcceptUnproven = False,
    as_json: o.Json = False,
) -> None:
    """Release the words that many authors use."""
    from dptopics.registry import vocabulary_mechanism

    chosen = _unit(unit, author)
    check_not_the_data(mechanism, source)
    settings = TextSettings(language=language, lemmas=lemmas, min_length=min_length, max_length=max_length)
    plan = vocabulary_mechanism(
        mechanism,
        epsilon=epsilon,
        delta=delta,
        unit=chosen,
        noise=noise,
        text=settings,
        max_words=max_words,
        max_size=max_vocabulary,
    )
    release = _publish(
        plan,
        lambda: read(
            source, text, author, chosen, delta, max_docs, settings, drop_missing, encoding, where=Where(engine, master)
        ),
        ledger=ledger,
        accept_unproven=accept_unproven,
        out_folder=out_folder,
        title="Choosing words",
    )
    if as_json:
        print_json({"out": str(out_folder), "n_words": len(release.value), "guarantee": release.guarantee.to_dict()})
        return
    out.print(f"{len(release.value)} words may be published.")
    show_card(release.guarantee)
    err.print(f"Written to [bold]{out_folder}[/].")


def _embedding(mechanism: str, name: str | None, cache: Path | None) -> "Embedding | None":
    """The public model that is asked for; None where none is."""
    if mechanism != "embedded":
        if name is not None or cache is not None:
            raise InputError(f"--mechanism {mechanism} uses no embedding. Leave it out, or use --mechanism embedded.")
        return None
    from dptopics.public.embeddings import cached, embedding

    model = embedding(name)
    if cache is None:
        return model
    if model.of_words:
        raise InputError("--embedding-cache is for models of whole texts: word vectors need none.")
    return cached(model, cache)


def _unit(unit: Unit | None, author: str | None) -> Unit:
    if unit is None and author is None:
        warn(
            "no --author given, so each document is protected by itself: somebody with several documents is protected "
            "less. Name the author column, or say --unit document if that is what you want."
        )
    if unit is Unit.AUTHOR and author is None:
        raise InputError("--unit author needs --author COLUMN.")
    return unit or (Unit.DOCUMENT if author is None else Unit.AUTHOR)


@dataclass(frozen=True)
class Where:
    """On which engine the texts are read and added up."""

    engine: o.EngineName = o.EngineName.MEMORY
    master: str | None = None
    embedding_column: str | None = None

    def __post_init__(self) -> None:
        if self.engine is o.EngineName.MEMORY and (self.master or self.embedding_column):
            raise InputError("--master and --embedding-column are for --engine spark.")

    def check(self, model: "Embedding | None", cache: Path | None) -> None:
        """Refuse embeddings that cannot be had there."""
        of_texts = model is not None and not model.of_words
        if self.embedding_column and not of_texts:
            raise InputError("--embedding-column needs the model it comes from, one of whole texts: --embedding.")
        if self.engine is o.EngineName.SPARK and (cache or (of_texts and not self.embedding_column)):
            raise InputError(
                "on Spark, embeddings come from a column: embed the texts there, then name it (--embedding-column)."
            )


def read(
    source: str | Path,
    text: str,
    author: str | None,
    unit: Unit,
    delta: float,
    max_docs: int | None,
    settings: TextSettings,
    drop_missing: bool,
    encoding: str,
    embed: "Embedding | None" = None,
    where: Where | None = None,
    vocabulary: "Vocabulary | None" = None,
) -> "BoundedCorpus":
    """The table as a bounded corpus."""
    from dptopics import progress
    from dptopics.data.corpus import Corpus
    from dptopics.data.engines.spark import SparkTable, spark_session

    table: Corpus | SparkTable
    with progress_bar("Reading texts") as sink, progress.shown_by(sink):
        if where is not None and where.engine is o.EngineName.SPARK:
            table = SparkTable.from_table(
                source,
                text=text,
                author=author,
                embedding=where.embedding_column,
                session=spark_session(where.master),
                settings=settings,
                vocabulary=vocabulary,
                drop_missing=drop_missing,
            )
        else:
            table = Corpus.from_table(
                source,
                text=text,
                author=author,
                settings=settings,
                vocabulary=vocabulary,
                drop_missing=drop_missing,
                encoding=encoding,
                embed=embed,
            )
        table.warn_if_delta_large(delta, unit)
        return table.bounded(unit=unit, max_docs=max_docs)


def _publish(
    plan: "Mechanism[T]",
    read: "Callable[[], BoundedCorpus]",
    *,
    ledger: Path | None,
    accept_unproven: bool,
    out_folder: Path,
    title: str,
    sensitivity: Path | None = None,
) -> "Release[T]":
    """Refuse early what can be refused; then read, sample sensitivity if need be, charge, run, save."""
    from dptopics import progress
    from dptopics.privacy.ledger import Ledger, Unrecorded
    from dptopics.privacy.rng import secure_rng
    from dptopics.release import bundle
    from dptopics.topics.output import sensitivity_file

    door = Unrecorded() if ledger is None else Ledger.open(ledger)
    door.check(plan.guarantee, accept_unproven=accept_unproven)
    bundle.check_target(out_folder)
    try:
        corpus = read()
        if hasattr(plan, "prepared"):  # the offline stage: before anything is charged
            with progress_bar("Sampling the sensitivity") as sink, progress.shown_by(sink):
                plan = sensitivity_file.prepare(plan, corpus, sensitivity)
        elif sensitivity is not None:
            raise InputError(
                "a sensitivity can be kept only for a list of public words: those of a private vocabulary are known "
                "after it is charged for. Leave --sensitivity out, or give --vocabulary FILE."
            )
        with progress_bar(title) as sink, progress.shown_by(sink):
            release = door.run(plan, corpus, secure_rng(), accept_unproven=accept_unproven)
    except KeyboardInterrupt:
        spent = "" if ledger is None else f" What the release costs may be charged: see dptopics ledger show {ledger}."
        err.print(f"Stopped. Nothing was written.{spent}", highlight=False)
        sys.exit(130)
    try:
        bundle.save(release, out_folder)
    except OSError as error:  # the budget is spent: do not lose what it bought
        rescue = Path(tempfile.mkdtemp(prefix="dptopics-")) / out_folder.name
        bundle.save(release, rescue)
        raise DptopicsError(
            f"cannot write {out_folder} ({error.strerror}). The release was saved to {rescue}."
        ) from None
    return release
