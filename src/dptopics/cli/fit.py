"""The main command: release topics."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dptopics.cli import options as o
from dptopics.cli.publishing import plan_of, preview, published
from dptopics.cli.source import Table, named_tokenizer
from dptopics.cli.terminal import err
from dptopics.core.errors import InputError
from dptopics.core.text import MOST_PHRASE, TextSettings
from dptopics.privacy.guarantee import Unit
from dptopics.public.word_lists import check_not_the_data, read_seed_words, read_stop_words

if TYPE_CHECKING:
    from dptopics.data.public_inputs import PublicInput
    from dptopics.plan import Plan
    from dptopics.public.text_models import Embedding


def fit(
    context: typer.Context,
    text: o.TextColumnName,
    out_folder: o.OutUnlessPreview = None,
    source: o.AnySource = None,
    epsilon: o.Epsilon = None,
    delta: o.Delta = None,
    author: o.AuthorColumn = None,
    topics: Annotated[str, typer.Option(help="Number of topics at most, or auto: as many as the data support.")] = "20",
    unit: o.UnitOption = None,
    plan_file: o.PlanFile = None,
    title: o.Title = "",
    description: o.Description = "",
    preview_only: o.Preview = False,
    people: o.People = None,
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
    vocabulary_epsilon: o.VocabularyEpsilon = None,
    max_vocabulary: o.MaxVocabulary = None,
    max_words: o.MaxWords = 200,
    max_docs: o.MaxDocs = None,
    seed_words: Annotated[
        Path | None,
        typer.Option(
            help="Public words of topics that you want to see, the words of one topic on a line.", show_default=False
        ),
    ] = None,
    phrases: Annotated[
        bool, typer.Option("--phrases", help="Show phrases of two or three words too. In the same budget.")
    ] = False,
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
    alpha0: o.Alpha0 = None,
    shares: o.EdgeShares = None,
    sensitivities: o.SensitivitiesName = None,
    yes: o.Yes = False,
    language: o.Language = "english",
    lemmas: o.Lemmas = False,
    links: o.Links = False,
    stop_words: o.StopWords = None,
    min_length: o.MinLength = None,
    max_length: o.MaxLength = None,
    tokenizer: o.TokenizerName = None,
    drop_missing: o.DropMissing = False,
    author_is: o.AuthorIs = None,
    encoding: o.Encoding = "utf8",
    separator: o.Separator = None,
    table_format: o.FormatOption = None,
    sheet: o.Sheet = None,
    header_row: o.HeaderRow = None,
    sql: o.Sql = None,
    database: o.Database = None,
    engine: o.EngineOption = o.EngineName.MEMORY,
    master: o.Master = None,
    embedding_column: o.EmbeddingColumn = None,
    ledger: o.LedgerOption = None,
    accept_unproven: o.AcceptUnproven = False,
    as_json: o.Json = False,
) -> None:
    """Release topics of a table of texts: the main job."""
    from dptopics.plan import Plan, usual_mechanism

    table = Table.of(context)
    for public in (vocabulary, public_corpus, seed_words, stop_words):
        check_not_the_data(public, source)
    settings = TextSettings(
        language=language,
        lemmas=lemmas,
        links=links,
        min_length=min_length,
        max_length=max_length,
        phrases=MOST_PHRASE if phrases else 1,
        tokenizer=named_tokenizer(tokenizer),
    )
    if stop_words is not None:
        settings = replace(settings, stop_words=read_stop_words(stop_words, settings))
    model = _embedding(mechanism or usual_mechanism(settings), embedding, embedding_cache)

    def made() -> "Plan":
        chosen = table.unit(unit)
        own: dict[str, Any] = {"gamma": gamma, "learner": learner, "sample_size": sample_size, "top": top, "post": post}
        own |= {"calibration": calibration, "generated": generated or None, "max_pairs": 10**9 if yes else None}
        own |= {"steps": steps, "embedding": model, "public": None, "alpha0": alpha0, "sensitivities": sensitivities}
        own["shares"] = o.numbers("--shares", shares)
        own["seed_words"] = None if seed_words is None else read_seed_words(seed_words)
        if public_corpus is not None:
            column = public_author or author if chosen is Unit.AUTHOR else None
            others = Table(
                source=public_corpus,
                text=public_text or text,
                author=column,
                drop_missing=drop_missing,
                author_is=author_is,
                encoding=encoding,
            )
            own["public"] = _public_corpus(others, settings, chosen, max_docs)
        return Plan.topics(
            mechanism=mechanism,
            vocabulary=vocabulary,
            n_topics=o.how_many(topics),
            epsilon=epsilon or 0.0,
            delta=delta or 0.0,
            unit=chosen,
            vocabulary_share=vocabulary_share,
            vocabulary_epsilon=vocabulary_epsilon,
            max_words=max_words,
            max_vocabulary=max_vocabulary,
            max_docs=max_docs,
            noise=noise,
            text=settings,
            **own,
        )

    plan = plan_of(context, plan_file, made)
    if preview_only:
        preview(plan, people, as_json)
        return
    folder = o.folder(out_folder)
    used = plan.settings.get("embedding", model)
    table.check(used, embedding_cache)
    published(
        plan,
        table.reader(embed=None if used is None or used.of_words else used),
        out_folder=folder,
        as_json=as_json,
        ledger=ledger,
        accept_unproven=accept_unproven,
        title=title,
        description=description,
        people=people,
        sensitivity=sensitivity,
    )
    err.print(f"Written to [bold]{o.escape_path(folder)}[/]. Look again with: dptopics show {o.escape_path(folder)}")


def _public_corpus(table: Table, settings: TextSettings, unit: Unit, max_docs: int | None) -> "PublicInput":
    from dptopics.data.corpus import Corpus
    from dptopics.data.public_inputs import PublicInput

    corpus = table.read(settings)
    assert isinstance(corpus, Corpus)
    return PublicInput.corpus(
        corpus.bounded(unit=unit, max_docs=max_docs), corpus.digest, Path(table.source or "").name
    )


def _embedding(mechanism: str, name: str | None, cache: Path | None) -> "Embedding | None":
    """The public model that is asked for; None where none is."""
    from dptopics.mechanisms.mechanism import Job
    from dptopics.registry import mechanism_class

    kinds = [mechanism_class(Job.TOPICS, part.strip()) for part in mechanism.split(",")]
    if not any("embedding" in kind.accepts() for kind in kinds):
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
