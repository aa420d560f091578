"""Release the words that many units use."""

from typing import TYPE_CHECKING

from dptopics.cli import options as o
from dptopics.cli.publishing import Releasing
from dptopics.cli.settings import read_settings
from dptopics.cli.source import AnyTable, Words

if TYPE_CHECKING:
    from dptopics.plan import Plan


def vocabulary(
    table: AnyTable,
    release: Releasing,
    words: Words,
    mechanism: str = o.option("weighted, count, policy or greedy.", default="weighted"),
    settings: o.Set = None,
    noise: o.VocabularyNoise = None,
    max_words: o.MaxWords = 200,
    max_vocabulary: o.MaxVocabulary = None,
    max_docs: o.MaxDocs = None,
) -> None:
    """Release the words that many authors use."""
    from dptopics.mechanisms.mechanism import Job
    from dptopics.plan import Plan

    table.check_public(mechanism)
    text = words.settings(table)

    def made() -> "Plan":
        return Plan.words(
            mechanism=mechanism,
            unit=table.unit(release.unit),
            noise=noise,
            text=text,
            max_words=max_words,
            max_vocabulary=max_vocabulary,
            max_docs=max_docs,
            **release.budget,
            **read_settings(settings, Job.VOCABULARY, mechanism),
        )

    plan = release.plan(made)
    if not release.previewed(plan):
        release.publish(plan, table.reader())
