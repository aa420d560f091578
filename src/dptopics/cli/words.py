"""Words and n-grams: release which of them many use and how probable they are, and hand them on as a language model."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from dptopics.cli import options as o
from dptopics.cli.publishing import Releasing
from dptopics.cli.settings import read_settings
from dptopics.cli.source import AnyTable, Vocabulary, Words, named_tokenizer
from dptopics.cli.terminal import err, working
from dptopics.core.errors import InputError
from dptopics.core.text import TextSettings
from dptopics.privacy.events import Noise

if TYPE_CHECKING:
    from dptopics.data.public_inputs import PublicInput
    from dptopics.plan import Plan


def vocabulary(
    table: AnyTable,
    release: Releasing,
    words: Words,
    chosen: Vocabulary,
    mechanism: str = o.option("weighted, count, policy or greedy.", default="weighted"),
    settings: o.Set = None,
) -> None:
    """Release the words that many authors use."""
    from dptopics.plan import Plan

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


def ngrams(
    table: AnyTable,
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
) -> None:
    """Release how probable n-grams are: counts for language models, with a public prior."""
    from dptopics.plan import Plan

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
    release.publish(plan, read, "A language model of it: dptopics arpa {where} --out FILE")


def arpa(
    release_folder: o.ReleaseFolder,
    out_file: Path = o.option("File to write; it must not exist.", "--out", default=o.REQUIRED),
) -> None:
    """Write a release of n-grams as a language model in the ARPA format."""
    from dptopics.release.ngrams import LanguageModel, NgramTable

    o.check_new(out_file)
    out_file.write_text(LanguageModel(NgramTable.load(release_folder)).arpa(), "utf-8")
    err.print(f"Written to [bold]{o.escape_path(out_file)}[/].")


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
