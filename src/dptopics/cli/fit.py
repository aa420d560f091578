"""The main command: release topics."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dptopics.cli import options as o
from dptopics.cli.publishing import Releasing
from dptopics.cli.settings import read_settings
from dptopics.cli.source import Table, Vocabulary, Words
from dptopics.core.text import MOST_PHRASE, TextSettings
from dptopics.privacy.guarantee import Unit
from dptopics.public.word_lists import read_seed_words

if TYPE_CHECKING:
    from dptopics.data.public_inputs import PublicInput
    from dptopics.plan import Plan


@dataclass(frozen=True, kw_only=True)
class Neighbours(o.Group):
    """Where the neighbours come from by which mechanisms sample their sensitivity, and how long that may take."""

    panel = "Noise on the output (--mechanism output or mvg)"
    public_corpus: Path | None = o.option(
        "Table of public texts that neighbours are drawn from. Without one: from the private data, as "
        "published, and the guarantee is only claimed."
    )
    public_text: str | None = o.option("Its column with the texts.", shown="as --text")
    public_author: str | None = o.option("Its column with the authors.", shown="as --author")
    sensitivity: Path | None = o.option(
        "File of the sampled sensitivity: used if it exists, else written (an interrupted run goes on).",
        beside_plan=True,
    )
    no_sampling_limit: bool = o.flag("Sample however long it takes.")

    def settings(self, table: Table, text: TextSettings, unit: Unit, max_docs: int | None) -> dict[str, Any]:
        """Settings of the mechanism; the public corpus is read, and bounded as the private one will be."""
        found: dict[str, Any] = {"max_pairs": 10**9} if self.no_sampling_limit else {}
        if self.public_corpus is not None:
            found["public"] = self._read(table, text, unit, max_docs)
        return found

    def _read(self, table: Table, text: TextSettings, unit: Unit, max_docs: int | None) -> "PublicInput":
        from dptopics.data.public_inputs import PublicInput

        assert self.public_corpus is not None
        corpus = Table(
            source=str(self.public_corpus),
            text=self.public_text or table.text,
            author=self.public_author or table.author if unit is Unit.AUTHOR else None,
            drop_missing=table.drop_missing,
            author_is=table.author_is,
            encoding=table.encoding,
        ).read(text)
        return PublicInput.corpus(corpus.bounded(unit=unit, max_docs=max_docs), corpus.digest, self.public_corpus.name)


@dataclass(frozen=True, kw_only=True)
class Public(o.Group):
    """What is known beforehand, and helps 'embedded' and 'atlas'."""

    panel = "Public help (--mechanism embedded or atlas)"
    embedding: str | None = o.option(
        "Public model for 'embedded'. All of English: minilm-words (word vectors), minilm or minilm-int8 "
        "(whole texts; extra 'minilm', or minilm:FOLDER), all Apache-2.0. Your own: "
        "sentence-transformers:NAME, model2vec:NAME.",
        shown="minilm-words",
    )
    embedding_cache: Path | None = o.option(
        "File to keep vectors of texts in. Private data: keep it.", beside_plan=True
    )
    atlas: Path | None = o.option(
        "File of public themes of your own instead of those of the package (see 'dptopics atlas').",
    )
    seed_words: Path | None = o.option("Public words of topics that you want to see, the words of one topic on a line.")


def fit(
    table: Table,
    release: Releasing,
    words: Words,
    chosen: Vocabulary,
    neighbours: Neighbours,
    public: Public,
    topics: str = o.option("Number of topics at most, or auto: as many as the data support.", default="20"),
    mechanism: str | None = o.option(
        "How topics are learned: see 'dptopics mechanisms'.",
        shown="embedded where it is installed and the texts are English, else mixture",
    ),
    settings: o.Set = None,
    vocabulary: str | None = o.option(
        "weighted, count, policy or greedy: chosen privately; common: public words of the language; "
        "common+weighted: those, and others chosen privately; or a file of public words.",
        shown="common+weighted for embedded, else weighted",
        panel=o.VOCABULARY,
    ),
    vocabulary_share: float | None = o.option(
        "Share of the budget (of μ², the squared signal-to-noise ratio) for the vocabulary.",
        shown="0.4; beside common words 0.1",
        panel=o.VOCABULARY,
    ),
    vocabulary_epsilon: o.VocabularyEpsilon = None,
    phrases: bool = o.flag("Show phrases of two or three words too. In the same budget.", panel=o.WORDS),
) -> None:
    """Release topics of a table of texts: the main job."""
    from dptopics.plan import Plan, usual_mechanism

    table.check_public(vocabulary, neighbours.public_corpus, public.seed_words, public.atlas)
    text = words.settings(table, MOST_PHRASE if phrases else 1)
    name = mechanism or usual_mechanism(text)

    def made() -> "Plan":
        unit = table.unit(release.unit)
        own = read_settings(settings, "topics", name)
        own |= neighbours.settings(table, text, unit, chosen.max_docs)
        return Plan.topics(
            mechanism=mechanism,
            vocabulary=vocabulary,
            n_topics=o.how_many(topics),
            unit=unit,
            vocabulary_share=vocabulary_share,
            vocabulary_epsilon=vocabulary_epsilon,
            text=text,
            embedding=public.embedding,
            atlas=public.atlas,
            seed_words=None if public.seed_words is None else read_seed_words(public.seed_words),
            **asdict(chosen),
            **release.budget,
            **own,
        )

    plan = release.plan(made)
    if release.previewed(plan):
        return
    read = table.reader(embed=table.embedding(plan.settings.get("embedding"), public.embedding_cache))
    release.publish(plan, read, "Look again with: dptopics show {where}", sensitivity=neighbours.sensitivity)
