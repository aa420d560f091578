"""Options that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from dptopics.core.errors import InputError
from dptopics.privacy.events import Noise
from dptopics.privacy.guarantee import Unit


def escape_path(path: Path) -> str:
    """A path for the terminal: what looks like markup in it is not."""
    return escape(str(path))


def numbers(name: str, value: str | None) -> tuple[float, ...] | None:
    """Numbers with commas between."""
    try:
        return None if value is None else tuple(float(part) for part in value.split(","))
    except ValueError:
        raise InputError(f"{name} must be numbers with commas between, as 0.4,0.3,0.3; got {value!r}.") from None


def how_many(topics: str) -> int | str:
    """A number of topics, or auto."""
    try:
        return topics if topics == "auto" else int(topics)
    except ValueError:
        raise InputError(f"--topics must be a whole number of at least 2, or auto, got {topics!r}.") from None


def folder(out_folder: Path | None) -> Path:
    """Where the release goes. Only a preview needs none."""
    if out_folder is None:
        raise InputError("say where the release goes: --out FOLDER (or ask for a --preview, which writes nothing).")
    return out_folder


class EngineName(StrEnum):
    """Where bounded sums are computed."""

    MEMORY = "memory"
    SPARK = "spark"


_TABLE = (
    "Table of texts: .csv, .tsv, .json, .jsonl, .parquet or .xlsx, optionally compressed; a folder of .txt files "
    "(columns text, folder, file); or - for standard input. With --sql: none."
)
Source = Annotated[str | None, typer.Argument(help=_TABLE, show_default=False)]
AnySource = Annotated[
    str | None,
    typer.Argument(help=f"{_TABLE} On Spark: Parquet files, or the name of a table.", show_default=False),
]
_READING = "How the table is read"
Separator = Annotated[
    str | None,
    typer.Option(
        help="Column delimiter of CSV: ; or tab or | …",
        show_default="found by the names of the columns",
        rich_help_panel=_READING,
    ),
]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="csv, tsv, json, parquet or excel.",
        show_default="as the name of the file says",
        rich_help_panel=_READING,
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option(help="Sheet of a workbook.", show_default="the one that has the columns", rich_help_panel=_READING),
]
HeaderRow = Annotated[
    int | None,
    typer.Option(
        help="Row of CSV or of a workbook that holds the names of the columns, from 1 on. Rows above it are left out.",
        show_default="the first",
        rich_help_panel=_READING,
    ),
]
Sql = Annotated[
    str | None,
    typer.Option(
        "--sql",
        help="Query whose answer is the table, instead of a file. Must be read-only. Extra 'sql'.",
        show_default=False,
        rich_help_panel=_READING,
    ),
]
Database = Annotated[
    str | None,
    typer.Option(
        help="Address of its database: sqlite:///FILE, postgresql://USER:PASSWORD@HOST/NAME. In the variable it stays "
        "out of the list of processes.",
        envvar="DPTOPICS_DATABASE",
        show_default=False,
        rich_help_panel=_READING,
    ),
]
TextColumnName = Annotated[str, typer.Option("--text", help="Column with the texts.", show_default=False)]
AuthorColumn = Annotated[
    str | None, typer.Option("--author", help="Column that says whose text it is.", show_default=False)
]
Epsilon = Annotated[float | None, typer.Option(help="Privacy loss of this release.", show_default=False)]
Delta = Annotated[float | None, typer.Option(help="Failure probability δ: well below 1 / authors.", show_default=False)]
PlanFile = Annotated[
    Path | None,
    typer.Option("--plan", help="Plan to run (TOML or JSON), instead of the options below.", show_default=False),
]
Title = Annotated[str, typer.Option(help="Title of the release. Published.", show_default=False)]
Description = Annotated[str, typer.Option(help="What the data are, in one sentence. Published.", show_default=False)]
Preview = Annotated[bool, typer.Option("--preview", help="Only say what to expect. Reads no data and spends nothing.")]
People = Annotated[
    int | None,
    typer.Option(help="How many authors (or documents) there are, roughly: a number that may be public."),
]
Out = Annotated[
    Path, typer.Option("--out", help="Folder to write the release to; it must not exist.", show_default=False)
]
OutUnlessPreview = Annotated[
    Path | None,
    typer.Option(
        "--out", help="Folder to write the release to; it must not exist. --preview needs none.", show_default=False
    ),
]
UnitOption = Annotated[Unit | None, typer.Option(help="Whom to protect; default: author if --author is given.")]
LedgerOption = Annotated[Path | None, typer.Option("--ledger", help="Ledger to charge.", show_default=False)]
By = Annotated[
    list[str] | None,
    typer.Option(
        help="Column to count by, with a public list (--groups); or month:COLUMN, week:COLUMN, day:COLUMN for dates "
        "such as 2026-01-31, with a public range (--from, --to). Up to three.",
        show_default=False,
    ),
]
Groups = Annotated[
    list[str] | None,
    typer.Option(
        help="Public list of a column's values, one on each line: FILE, or COLUMN=FILE; or the folder of a release by "
        "'dptopics groups'. All others count as 'other'.",
        show_default=False,
    ),
]
FirstDay = Annotated[str | None, typer.Option("--from", help="First day of the range.", show_default=False)]
LastDay = Annotated[str | None, typer.Option("--to", help="Last day of the range.", show_default=False)]
DateFormat = Annotated[
    str | None,
    typer.Option(help="How dates are written, as in strptime: %d.%m.%Y. Default: as 2026-01-31.", show_default=False),
]
MaxDocs = Annotated[int | None, typer.Option(help="Documents kept per author, chosen by a hash.", show_default="all")]
MaxVocabulary = Annotated[
    int | None, typer.Option(help="Keep at most so many words: those of the highest noisy weight.", show_default="all")
]
VocabularyNoise = Annotated[
    Noise | None,
    typer.Option(
        "--noise", help="Noise of the vocabulary: gaussian or laplace.", show_default="gaussian; greedy: laplace"
    ),
]
_SPARK = "More than one machine"
EngineOption = Annotated[
    EngineName, typer.Option("--engine", help="Where sums are computed: memory or spark.", rich_help_panel=_SPARK)
]
Master = Annotated[
    str | None,
    typer.Option(
        help="Spark's master: local[2], spark://HOST:7077, yarn, k8s://HOST.",
        show_default="as Spark is configured",
        rich_help_panel=_SPARK,
    ),
]
EmbeddingColumn = Annotated[
    str | None,
    typer.Option(help="Column with the texts' vectors by --embedding.", show_default=False, rich_help_panel=_SPARK),
]
_OUTPUT = "Noise on the output (--mechanism output, mvg or laplace)"
Gamma = Annotated[
    float | None,
    typer.Option(
        help="Chance that ε does not hold, over data drawn like the public corpus.",
        show_default="0.1",
        rich_help_panel=_OUTPUT,
    ),
]
LearnerName = Annotated[
    str | None,
    typer.Option(
        "--learner",
        help="variational, gibbs, spectral, lsi, plsa or hdp.",
        show_default="variational",
        rich_help_panel=_OUTPUT,
    ),
]
PublicCorpus = Annotated[
    Path | None,
    typer.Option(
        help="Table of public texts that neighbours are drawn from. Without one: from the private data, as published, "
        "and the guarantee is only claimed.",
        show_default=False,
        rich_help_panel=_OUTPUT,
    ),
]
PublicText = Annotated[
    str | None, typer.Option(help="Its column with the texts.", show_default="as --text", rich_help_panel=_OUTPUT)
]
PublicAuthor = Annotated[
    str | None, typer.Option(help="Its column with the authors.", show_default="as --author", rich_help_panel=_OUTPUT)
]
Generated = Annotated[
    bool,
    typer.Option(
        "--generated", help="Draw neighbours from a model fitted to the public corpus.", rich_help_panel=_OUTPUT
    ),
]
SensitivityFile = Annotated[
    Path | None,
    typer.Option(
        "--sensitivity",
        help="File of the sampled sensitivity: used if it exists, else written (an interrupted run goes on).",
        show_default=False,
        rich_help_panel=_OUTPUT,
    ),
]
SampleSizeName = Annotated[
    str | None,
    typer.Option(
        "--sample-size",
        help="dkw (published), binomial or exchangeable.",
        show_default="exchangeable",
        rich_help_panel=_OUTPUT,
    ),
]
CalibrationName = Annotated[
    str | None,
    typer.Option(
        "--calibration",
        help="analytic, renyi-best or renyi (published).",
        show_default="analytic",
        rich_help_panel=_OUTPUT,
    ),
]
PostName = Annotated[
    str | None,
    typer.Option("--post", help="Noisy rows: simplex, clip or none.", show_default="simplex", rich_help_panel=_OUTPUT),
]
TopWords = Annotated[
    int | None,
    typer.Option(
        "--top",
        help="Release only so many words of each topic, as published; claimed: which words is not hidden.",
        show_default="all words",
        rich_help_panel=_OUTPUT,
    ),
]
_SPECTRAL = "Moments (--mechanism spectral, spectral-1 … spectral-4)"
Alpha0 = Annotated[
    float | None,
    typer.Option(
        "--alpha0",
        help="α₀, the sum of the Dirichlet parameters of documents: small where a document has one topic.",
        show_default="1",
        rich_help_panel=_SPECTRAL,
    ),
]
EdgeShares = Annotated[
    str | None,
    typer.Option(
        "--shares",
        help="Shares of the budget for the edges of spectral-1 … spectral-4, as 0.4,0.3,0.3.",
        show_default="its own",
        rich_help_panel=_SPECTRAL,
    ),
]
SensitivitiesName = Annotated[
    str | None,
    typer.Option(
        "--sensitivities",
        help="Of spectral-1 … spectral-4: corrected, or as printed in the paper, which is refuted.",
        show_default="corrected",
        rich_help_panel=_SPECTRAL,
    ),
]
VocabularyEpsilon = Annotated[
    float | None,
    typer.Option(
        help="ε₁ of a private vocabulary: it gets this part of --epsilon, and what follows the rest (ε₂), half of δ "
        "each. Instead of --vocabulary-share.",
        show_default=False,
    ),
]
Yes = Annotated[bool, typer.Option("--yes", help="Sample however long it takes.", rich_help_panel=_OUTPUT)]
_USUAL = "what is usual in the language; English"
MinLength = Annotated[int | None, typer.Option(help="Letters of the shortest word kept.", show_default=f"{_USUAL} 3")]
MaxLength = Annotated[
    int | None, typer.Option(help="Letters of the longest word kept.", show_default=f"{_USUAL} 15, German 30")
]
TokenizerName = Annotated[
    str | None,
    typer.Option(
        "--tokenizer",
        help="How texts are cut into words: chinese, japanese, thai (extra 'languages'), or your own function, "
        "module:function, from one text to a list of words.",
        show_default="by the language",
    ),
]
MaxWords = Annotated[int, typer.Option(help="Distinct words each unit may propose for the vocabulary.")]
Language = Annotated[str, typer.Option(help="Language of the texts, 'none', or 'auto': of each text.")]
Lemmas = Annotated[bool, typer.Option("--lemmas", help="Reduce words to their base form (extra 'lemmas').")]
Links = Annotated[bool, typer.Option("--links", help="Count the words of web and e-mail addresses too.")]
StopWords = Annotated[
    Path | None,
    typer.Option(
        "--stop-words",
        help="File of words to leave out beside the language's, one on each line. They are published with the release.",
        show_default=False,
    ),
]
DropMissing = Annotated[
    bool, typer.Option("--drop-missing", help="Leave out rows without text or author.", rich_help_panel=_READING)
]
AuthorIs = Annotated[
    list[str] | None,
    typer.Option(
        "--author-is",
        help="An author's real name, although it looks like a placeholder (unknown, null, -). Can be repeated.",
        show_default=False,
        rich_help_panel=_READING,
    ),
]
Encoding = Annotated[str, typer.Option(help="Encoding of CSV, JSON and text files.", rich_help_panel=_READING)]
AcceptUnproven = Annotated[bool, typer.Option("--accept-unproven", help="Allow guarantees that are not proved.")]
EmbeddingName = Annotated[
    str | None,
    typer.Option(
        "--embedding",
        help="Public model for 'embedded'. All of English: minilm-words (word vectors), minilm or minilm-int8 (whole "
        "texts; extra 'minilm', or minilm:FOLDER), all Apache-2.0, but for the list of words of minilm-words, CC BY-SA "
        "4.0. Your own: sentence-transformers:NAME, model2vec:NAME.",
        show_default="minilm-words",
    ),
]
EmbeddingCache = Annotated[
    Path | None,
    typer.Option(
        "--embedding-cache", help="File to keep vectors of texts in. Private data: keep it.", show_default=False
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Machine-readable output on stdout.")]
