"""Words and n-grams: release which of them many use and how probable they are, and hand them on as a language model."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from dptopics.cli import options as o
from dptopics.cli.publishing import Releasing, stoppable
from dptopics.cli.settings import read_settings
from dptopics.cli.source import AnyTable, Vocabulary, Words, named_tokenizer, say
from dptopics.cli.terminal import err, working
from dptopics.core.errors import InputError
from dptopics.core.files import check_new
from dptopics.core.text import TextSettings
from dptopics.privacy.events import Noise

if TYPE_CHECKING:
    from dptopics.data.public_inputs import PublicInput
    from dptopics.plan import Plan


@dataclass(frozen=True, kw_only=True)
class Values(AnyTable):
    """A table of texts, or of which one column is released as it is."""

    text: str = o.option("Column with the texts.", default="", panel="")
    column: str | None = o.option(
        "Column whose whole values are released instead of words: groups to count by.", panel=""
    )

    def __post_init__(self) -> None:
        if bool(self.text) == (self.column is not None):
            raise InputError("name the column with the texts (--text), or one whose values are released (--column).")
        if self.column is not None and self.engine == o.EngineName.SPARK:
            raise InputError("the values of a column are read in memory. Leave --engine out.")
        super().__post_init__()


def vocabulary(
    table: Values,
    release: Releasing,
    words: Words,
    chosen: Vocabulary,
    mechanism: str = o.option("weighted, count, policy or greedy.", default="weighted"),
    settings: o.Set = None,
    max_groups: int = o.option("With --column: values that each author may propose.", default=10),
) -> None:
    """Release the words that many authors use, or the values of a column that many have."""
    from dptopics.plan import Plan

    if table.column is not None:
        _release_column(table, table.column, release, max_groups)
        return
    table.check_public(mechanism)
    text = words.settings(table)

    def made() -> "Plan":
        return Plan.words(
            mechanism=mechanism,
            unit=table.unit(release.unit),
            text=text,
            **asdict(chosen),
            **release.budget,
            **read_settings(settings, "vocabulary", mechanism),
        )

    plan = release.plan(made)
    if not release.previewed(plan):
        release.publish(plan, table.reader())


def _release_column(table: Values, column: str, release: Releasing, max_groups: int) -> None:
    """The values of a column, to count by where there is no public list."""
    from dptopics.counting import release_groups

    how: dict[str, Any] = {**release.budget, **release.named, "people": release.people, "out": release.folder}
    how |= {"drop_missing": table.drop_missing, "author_is": table.author_is or (), "unit": table.unit(release.unit)}
    with stoppable() as phase:
        how |= {"author": table.author, "max_words": max_groups, "tell": say, "phase": phase}
        listed = release_groups(table.data, column=column, **how)
    shown = escape(column).replace("{", "{{").replace("}", "}}")
    release.show(listed, f"Count by it: --groups {shown}={{where}}", many="groups")


@dataclass(frozen=True, kw_only=True)
class OrRelease(AnyTable):
    """A table of texts, or with --arpa a release."""

    text: str = o.option("Column with the texts.", default="", panel="")


def ngrams(
    table: OrRelease,
    release: Releasing,
    public: Path | None = o.option(
        "Public n-grams: a list (.txt: one on each line, then a tab and a count), or a table of public "
        "texts (.csv, .tsv, .jsonl, .parquet) whose most frequent n-grams are taken.",
        beside_plan=True,
    ),
    public_text: str | None = o.option("Column of the public texts.", shown="the same as --text", beside_plan=True),
    n: int = o.option("Words per n-gram, 1 to 5.", default=3),
    size: int = o.option("N-grams to take from public texts, or at most from the data.", default=50000),
    mechanism: str = o.option("See 'dptopics mechanisms'.", default="bayes"),
    settings: o.Set = None,
    vocabulary: str | None = o.option(
        "Without --public: choose the list privately (weighted, count, policy, greedy).", shown="weighted"
    ),
    vocabulary_epsilon: o.VocabularyEpsilon = None,
    noise: Noise | None = o.option("Noise of bayes and laplace.", shown="its own"),
    max_words: int | None = o.option("Distinct n-grams each unit may give.", shown="its own"),
    max_docs: o.MaxDocs = None,
    tokenizer: o.TokenizerName = None,
    arpa: Path | None = o.option(
        "Write a release as a language model in the ARPA format to this file, which must not exist: "
        "dptopics ngrams RELEASE --arpa FILE. Nothing is spent.",
        beside_plan=True,
    ),
) -> None:
    """Release how probable n-grams are: counts for language models, with a public prior."""
    from dptopics.plan import Plan
    from dptopics.release.ngrams import LanguageModel, NgramTable

    if arpa is not None:
        check_new(arpa)
        arpa.write_text(LanguageModel(NgramTable.load(table.source or "")).arpa(), "utf-8")
        err.print(f"Written to [bold]{o.escape_path(arpa)}[/].")
        return
    if not table.text:
        raise InputError("name the column with the texts: --text COLUMN.")
    if public is not None and vocabulary is not None:
        raise InputError("give --public (a public list) or --vocabulary (a private one), not both.")
    table.check_public(public)
    text = TextSettings.for_ngrams(n, named_tokenizer(tokenizer))
    column = public_text or table.text
    prior = None if public is None else public_ngrams(public, column, n, size, table.encoding, tokenizer)

    def made() -> "Plan":
        return Plan.ngrams(
            mechanism=mechanism,
            unit=table.unit(release.unit),
            text=text,
            prior=prior,
            vocabulary=None if prior is not None else vocabulary or "weighted",
            vocabulary_epsilon=vocabulary_epsilon,
            max_vocabulary=size if prior is None else None,
            max_docs=max_docs,
            noise=noise,
            max_words=max_words,
            **release.budget,
            **read_settings(settings, "n-grams", mechanism),
        )

    plan = release.plan(made, () if prior is None else (prior,))
    if release.previewed(plan):
        return
    read = table.reader(vocabulary=None if plan.prior is None else plan.prior.value.vocabulary)
    release.publish(plan, read, "A language model of it: dptopics ngrams {where} --arpa FILE")


def public_ngrams(path: Path, text: str, n: int, size: int, encoding: str, tokenizer: str | None) -> "PublicInput":
    """A public list, or the most frequent n-grams of public texts."""
    from dptopics.data.public_inputs import PublicInput, PublicNgrams

    if not path.is_file():
        raise InputError(
            f"there is no file {str(path)!r}. --public takes a public list (.txt, one n-gram on each line), or a table "
            "of public texts."
        )
    if path.suffix.lower() in (".txt", ".ngrams"):
        return PublicInput.ngrams(PublicNgrams.from_file(path, n=n), path.name)
    with working("Reading public texts"):
        found = PublicNgrams.from_table(path, text=text, n=n, size=size, encoding=encoding, tokenizer=tokenizer)
        return PublicInput.ngrams(found, path.name)
