"""The Spark engine on a real session: the release of the engine in memory, whatever fails; errors that say what to do.

One session for all of it, in one process: starting Java takes longer than most of the tests. The last test stops it.
"""

import json
import os
import shutil
import sys
import threading
import time
import warnings
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from collisions import crowded, weights

from charging import charged
from dptopics import Axis, Corpus, Ledger, PrivateTopics, SparkTable, TopicModel, Unit, Vocabulary, cli, secure_rng
from dptopics.audit.claim.case import case_of
from dptopics.audit.claim.designs import designs
from dptopics.core.errors import EngineError, InputError, PrivacyWarning
from dptopics.core.text import TextSettings
from dptopics.data.bounded import Sample, UnitRows
from dptopics.data.engines import spark as spark_errors
from dptopics.data.engines.spark import spark_session
from dptopics.mechanisms.topics import variational
from dptopics.mechanisms.topics.embedded import AtlasTopics, EmbeddedTopics
from dptopics.mechanisms.topics.mixture import MixtureTopics
from dptopics.mechanisms.topics.spectral import SpectralTopics
from dptopics.mechanisms.topics.variational import VariationalTopics, _ExpectedCounts
from dptopics.mechanisms.vocabulary.policy import GreedyVocabulary
from dptopics.mechanisms.vocabulary.threshold import EqualWeights
from dptopics.plan import Plan
from dptopics.privacy import noise
from dptopics.privacy.controls import under_noised
from dptopics.public.atlas import Atlas, Theme
from dptopics.public.embeddings import TextModel

JAVA = shutil.which("java", path=f"{os.environ.get('JAVA_HOME', '/none')}/bin{os.pathsep}{os.environ.get('PATH', '')}")
# The text is looked for by conftest.py, which says loudly that these tests were skipped.
needs_java = pytest.mark.skipif(
    JAVA is None or (spark_errors.java_version(JAVA) or 0) < 17,
    reason="no Java: install Java 17 or newer (Debian: default-jre-headless)",
)

THEMES = [
    ["hockey", "baseball", "playoffs", "teams", "players", "goalie"],
    ["doctor", "disease", "patients", "medicine", "symptoms", "therapy"],
    ["church", "bible", "faith", "prayer", "gospel", "christian"],
]
WORDS = Vocabulary.of(word for theme in THEMES for word in theme)
MODEL = TextModel("a toy", lambda texts: [[t.count("e") + 1.0, t.count("a"), t.count("o"), len(t)] for t in texts])
ATLAS = Atlas(
    tuple(
        Theme(f"{word} {i}", f"Domain {i}", (word, "and"), (f"{word} again",)) for i in range(3) for word in THEMES[i]
    ),
    sha256="0" * 64,
)
DELTA = 1e-3


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    from pyspark.cloudpickle import register_pickle_by_value
    from pyspark.sql import SparkSession

    register_pickle_by_value(sys.modules[__name__])  # executors cannot import the tests
    folder = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "600m",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.local.dir": str(folder),
        "spark.log.level": "OFF",
        "spark.executorEnv.PYTHONPATH": str(Path(__file__).parent),
        "spark.python.daemon.module": "preloaded",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if (left := SparkSession.getActiveSession()) is not None:  # by another test of this process, with its own settings
        left.stop()
    builder = SparkSession.builder.master("local[1,4]")  # one thread; a task may fail three times
    session = builder.config(map=settings).getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="module")
def rows():
    """Texts, authors and vectors: few authors have many documents, some documents are alike, some are empty."""
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(THEMES[rng.integers(3)], rng.integers(0, 8))) for _ in range(400)]
    authors = [f"author {int(a)}" for a in rng.geometric(0.02, 400)]
    return texts, authors, MODEL(texts)


@pytest.fixture(scope="module")
def frame(session, rows):
    texts, authors, vectors = rows
    table = list(zip(texts, authors, vectors.tolist(), strict=True))
    return session.createDataFrame(table, "note string, patient string, vector array<float>").repartition(3)


def in_memory(rows, **bounds):
    texts, authors, vectors = rows
    settings = bounds.pop("settings", None)
    return Corpus.from_texts(texts, authors, settings=settings).with_vectors(vectors).bounded(**bounds)


def on_spark(frame, partitions=2, settings=None, **bounds):
    columns = {"text": "note", "author": "patient", "embedding": "vector"}
    return SparkTable.from_table(frame, **columns, partitions=partitions, settings=settings).bounded(**bounds)


MECHANISMS = {
    "count": lambda: Plan.words(mechanism="count", epsilon=9, delta=DELTA, unit=Unit.AUTHOR, max_words=9).build(),
    "policy": lambda: Plan.words(mechanism="policy", epsilon=9, delta=DELTA, unit=Unit.AUTHOR, max_words=9).build(),
    "variational": lambda: Plan.topics(
        mechanism="variational", vocabulary="weighted", n_topics=3, epsilon=20, delta=DELTA, unit=Unit.AUTHOR, steps=2
    ).build(),
}
ON_PUBLIC_WORDS = {
    "mixture": lambda: MixtureTopics(n_topics=3, sigma=0.5, delta=DELTA, steps=2),
    "sampled": lambda: VariationalTopics(n_topics=3, sigma=1.0, delta=DELTA, steps=2, sampling_rate=0.5),
    "spectral": lambda: SpectralTopics.calibrated(n_topics=3, epsilon=20, delta=DELTA),
    "embedded": lambda: EmbeddedTopics.calibrated(
        n_topics=3, epsilon=20, delta=DELTA, embedding=MODEL, steps=1, dimensions=3, candidates=9
    ),
    "atlas": lambda: AtlasTopics.calibrated(
        n_topics=3, epsilon=20, delta=DELTA, embedding=MODEL, dimensions=3, atlas=ATLAS
    ),
}


def numbers(release):
    value = release.value
    return list(value.words) if isinstance(value, Vocabulary) else (value.vocabulary.words, value.topic_word.tolist())


@needs_java
def test_the_same_integers_whatever_the_partitioning(frame, rows):
    topics = np.random.default_rng(0).dirichlet(np.ones(len(WORDS)), 3).T.copy()
    for unit, partitions in (("author", 9), ("document", 2)):
        one = in_memory(rows, unit=unit, max_docs=2, max_words=5)
        two = on_spark(frame, partitions, unit=unit, max_docs=2, max_words=5)
        assert two.bounds == one.bounds
        assert list(two.words) == list(one.words)
        weights = EqualWeights(len(one.words), 0)
        first, second = (c.bounded_sum(weights, bound=3.0, grid=2.0**-20, norm=1) for c in (one, two))
        assert first.any()
        assert np.array_equal(first, second)
        statistic, sample = _ExpectedCounts(topics, 0.1), Sample(0.5, (3, 4))
        first, second = (
            c.limited(vocabulary=WORDS).bounded_sum(statistic, bound=3.0, grid=2.0**-28, sample=sample)
            for c in (one, two)
        )
        assert first.any()
        assert np.array_equal(first, second)


@needs_java
def test_the_same_releases_from_the_same_seed(frame, rows):
    one, two = in_memory(rows, max_docs=3), on_spark(frame, 3, max_docs=3)
    assert (two.text, two.vector_width, two.vocabulary) == (one.text, one.vector_width, None)
    for name, make in MECHANISMS.items():
        mechanism = make()
        first, second = (mechanism(corpus, np.random.default_rng(7)) for corpus in (one, two))
        assert numbers(first) == numbers(second), name
        assert len(numbers(first)[0]) > 0, name
    one, two = one.limited(vocabulary=WORDS), two.limited(vocabulary=WORDS)
    for name, make in ON_PUBLIC_WORDS.items():
        mechanism = make()
        first, second = (mechanism(corpus, np.random.default_rng(7)) for corpus in (one, two))
        assert numbers(first) == numbers(second), name


@needs_java
def test_documents_of_one_key_come_in_one_order_whatever_the_tasks(session):
    """As in memory, with one row more or less, and in any order: nobody else's documents change places."""
    mechanism = GreedyVocabulary.calibrated(epsilon=1.0, delta=1e-4, max_words=9, unit=Unit.DOCUMENT)
    rows = crowded(mechanism)
    expected = weights(mechanism, Corpus.from_texts(rows).bounded(unit="document"))
    for n, texts in ((2, rows), (3, rows[::-1])):
        frame = session.createDataFrame([(text,) for text in texts], "text string").coalesce(1).repartition(n)
        corpus = SparkTable.from_table(frame, text="text", partitions=2).bounded(unit="document")
        assert weights(mechanism, corpus) == expected


@needs_java
def test_a_bucket_lies_in_one_task(frame, monkeypatch):
    from pyspark.sql import functions as f

    for partitions in (2, 9):
        held = on_spark(frame, partitions)._parts.frame
        found = held.select("bucket", f.spark_partition_id().alias("task")).distinct().collect()
        assert len(found) == len({row.bucket for row in found})
        assert len(found) > 1
    monkeypatch.setattr(type(frame), "repartitionById", lambda frame, n, column: frame.repartition(n))
    with pytest.raises(EngineError, match="between tasks, so that no bound would hold"):
        on_spark(frame, 5)


@needs_java
def test_the_same_ngrams_from_the_same_seed(frame, rows):
    settings = TextSettings.for_ngrams(2)
    mechanism = Plan.ngrams(
        mechanism="bayes", epsilon=30, delta=DELTA, unit=Unit.AUTHOR, vocabulary="weighted", max_words=20
    ).build()
    corpora = in_memory(rows, settings=settings), on_spark(frame, settings=settings)
    first, second = (mechanism(corpus, np.random.default_rng(7)).value for corpus in corpora)
    assert len(first.vocabulary) > 0
    assert first.vocabulary == second.vocabulary
    assert first.top(99) == second.top(99)


def first_letters(text):
    """A tokenizer of the owner's: executors get it by value, as of a notebook."""
    return [word[:4] for word in text.split()]


@needs_java
@pytest.mark.parametrize("tokenizer", ["chinese", first_letters], ids=["built in", "of the owner"])
def test_the_same_words_by_a_tokenizer(frame, rows, tokenizer):
    settings = TextSettings(language="none", min_length=1, tokenizer=tokenizer)
    memory, spark = in_memory(rows, settings=settings), on_spark(frame, settings=settings)
    assert set(spark.words) == set(memory.words)
    assert spark.assumptions == memory.assumptions
    assert bool(spark.assumptions) is (tokenizer is first_letters)
    if tokenizer is first_letters:
        assert max(map(len, memory.words)) == 4


@needs_java
def test_the_same_words_without_stop_words_of_ones_own(frame, rows):
    left_out = list(in_memory(rows).words)[::2]
    settings = TextSettings(stop_words=tuple(left_out))
    memory, spark = in_memory(rows, settings=settings), on_spark(frame, settings=settings)
    assert list(spark.words) == list(memory.words)
    assert memory.words
    assert not set(memory.words) & set(left_out)


@needs_java
def test_the_same_counts_from_the_same_seed(frame, rows):
    values = (("0", "1"), tuple(map(str, range(len(WORDS) // 2))))
    mechanism = Plan.counts(
        epsilon=8.0, delta=DELTA, unit=Unit.AUTHOR, axes=("topic", "ward"), values=values, max_cells=3
    ).build()
    listed = Vocabulary.of(WORDS.words[: 2 * len(values[1])])
    corpora = (corpus.limited(vocabulary=listed) for corpus in (in_memory(rows), on_spark(frame)))
    first, second = (mechanism(corpus, np.random.default_rng(7)).value for corpus in corpora)
    assert first.cube[-1, -1] > 50
    assert np.array_equal(first.cube, second.cube)
    assert first.over == second.over


class Counts:
    """One for each word of each document."""

    height, width = None, 1

    def __call__(self, block):
        return UnitRows(block.doc_start[block.unit_start], block.word, np.ones((block.word.size, self.width)))


class Flaky(_ExpectedCounts):
    """The statistic of variational topics, but every task fails at first."""

    def __call__(self, block):
        from pyspark import TaskContext

        if TaskContext.get().attemptNumber() == 0:
            raise RuntimeError("not yet")
        return super().__call__(block)


class Sleeper(Counts):
    """It does not come to an end."""

    def __call__(self, block):
        time.sleep(600)


class Wide(Counts):
    height = width = 2**15


@needs_java
def test_neighbours_move_no_sum_further_than_is_priced(session):
    """The examiner's own canaries, as rows of a table."""
    settings = {"epsilon": 1.0, "delta": DELTA, "unit": Unit.AUTHOR, "steps": 1}
    mechanism = Plan.topics(mechanism="variational", vocabulary=WORDS, n_topics=2, **settings).build()
    some = Corpus.from_texts(["doctor church", "hockey teams"], ["a", "b"])

    def rows_of(*people):
        documents = [(document, person.name) for person in people for document in person.documents]
        said = [(" ".join(w for w, n in words.items() for _ in range(min(n, 20))), name) for words, name in documents]
        return [("doctor church", "a"), ("hockey teams", "b"), *said]

    def moved(design, *canaries):
        frames = [session.createDataFrame(rows_of(*people), "note string, patient string") for people in ((), canaries)]
        tables = [SparkTable.from_table(frame, text="note", author="patient", partitions=2) for frame in frames]
        case = case_of(mechanism, design, tuple(table.bounded(unit=Unit.AUTHOR) for table in tables))
        assert case.accounting.in_sight
        assert case.beside == ()
        return max(case.moved)

    found = list(designs(mechanism, some, WORDS.words, (1, 300)))
    assert max(moved(design, design.canary) for design in (found[0], found[-1])) <= 1
    twice = found[0].canary, replace(found[0].canary, name="somebody else")
    assert moved(found[0], *twice) > 1


def test_failed_and_repeated_tasks_change_nothing_and_draw_nothing(frame, rows, monkeypatch, tmp_path):
    """The mechanism's own rounds, on tasks that fail: as many draws as in memory, and the same release."""
    drawn, real = [], noise.gaussian

    def watched(rng, scale, shape):
        drawn.append(shape)
        return real(rng, scale, shape)

    monkeypatch.setattr(noise, "gaussian", watched)
    mechanism = VariationalTopics(n_topics=2, sigma=0.5, delta=DELTA, steps=1)
    whole, corpus = (c.limited(vocabulary=WORDS) for c in (in_memory(rows), on_spark(frame)))
    calm = mechanism(whole, np.random.default_rng(7))
    each = [(len(WORDS), 2), (3, 1)]  # a round, and the sizes
    assert drawn == each
    monkeypatch.setattr(variational, "_ExpectedCounts", Flaky)
    assert numbers(mechanism(corpus, np.random.default_rng(7))) == numbers(calm)
    assert drawn == [*each, *each]  # no more for the tasks that ran twice
    ledger = Ledger.create(tmp_path / "l", name="x", unit="author", epsilon=99, delta=0.1)
    charged(ledger, mechanism, corpus, secure_rng())
    assert drawn == [*each, *each, *each]
    assert len(ledger.receipts()) == 1
    # All that the executors keep is lost: computed again, the release is the same.
    monkeypatch.setattr(variational, "_ExpectedCounts", _ExpectedCounts)
    corpus._blocks.unpersist()
    corpus._parts.frame.unpersist()
    assert numbers(mechanism(corpus, np.random.default_rng(7))) == numbers(calm)


@needs_java
def test_one_author_of_very_many_documents(session, rows):
    from pyspark.sql import functions as f

    texts = f.concat_ws(" ", f.element_at(f.array(*map(f.lit, WORDS.words)), (f.col("id") % 18 + 1).cast("int")), "id")
    frame = session.range(0, 20_000, 1, 4).select(texts.alias("t"), f.lit(7).alias("a"))
    corpus = SparkTable.from_table(frame, text="t", author="a", partitions=2).bounded(max_docs=3)
    assert corpus._parts.n_documents <= 4 * 3
    total = corpus.limited(vocabulary=WORDS).bounded_sum(Counts(), bound=9.0, grid=1.0)
    assert total.sum() == 3
    with pytest.warns(PrivacyWarning, match="larger than 1 / number of authors"):
        SparkTable.from_table(frame.limit(9), text="t", author="a").warn_owner(2.0, Unit.AUTHOR)


@needs_java
def test_what_is_wrong_with_the_data_is_told(session, frame):
    def read(table, **more):
        return SparkTable.from_table(table, text="note", author="patient", **more).bounded()

    with pytest.raises(InputError, match="no column 'notes' among the"):
        SparkTable.from_table(frame, text="notes")
    with pytest.raises(InputError, match="'vector' holds array, not text"):
        SparkTable.from_table(frame, text="vector")
    with pytest.raises(InputError, match="'vector' holds array, not strings or whole numbers"):
        SparkTable.from_table(frame, text="note", author="vector")
    with pytest.raises(InputError, match="'note' holds string, not arrays of numbers"):
        SparkTable.from_table(frame, text="note", embedding="note")
    with pytest.raises(InputError, match="at least 1, got 0"):
        SparkTable.from_table(frame, text="note", partitions=0)
    with pytest.raises(InputError, match="needs authors"):
        SparkTable.from_table(frame, text="note").bounded(unit="author")
    with pytest.raises(InputError, match="cannot read a list"):
        SparkTable.from_table(["text"], text="note")
    with pytest.raises(InputError, match="needs a Spark session"):
        SparkTable.from_table("notes", text="note")
    with pytest.raises(InputError, match="finds no table 'nowhere'"):
        SparkTable.from_table("nowhere", text="note", session=session)
    with pytest.raises(InputError, match=r"finds no path of Parquet files 'no/where\.parquet'"):
        SparkTable.from_table("no/where.parquet", text="note", session=session)
    holes = session.createDataFrame(
        [("knee pain", "a"), (None, "a"), ("knee", " "), ("knee", None)], "note string, patient string"
    )
    with pytest.raises(InputError, match=r"3 of 4 rows lack one of: text, author \(a placeholder.*--drop-missing"):
        read(holes)
    assert list(read(holes, drop_missing=True).words) == ["knee", "pain"]
    for frame, listed, note in (
        (holes.where("patient is null"), None, "no rows are left"),
        (holes.where("false"), None, "no documents"),
        (session.createDataFrame([("--", "a")], "note string, patient string"), None, "no words are left"),
        (holes, Vocabulary.of(["elbow"]), "none of the listed words"),
    ):  # told to the owner, not refused: a refusal would tell everybody
        with pytest.warns(PrivacyWarning, match=note):
            empty = read(frame, drop_missing=True, vocabulary=listed)
        words = EqualWeights(len(empty.words), 2)
        assert empty.bounded_sum(words, bound=1.0, grid=2.0**-10).shape == (len(empty.words), 1)
        assert not empty.bounded_sum(words, bound=1.0, grid=2.0**-10).any()
    uneven = session.createDataFrame([("knee", [1.0]), ("knee pain", [1.0, 2.0])], "note string, v array<double>")
    with pytest.raises(InputError, match="differ in length"):
        SparkTable.from_table(uneven, text="note", embedding="v").bounded()
    with pytest.raises(EngineError, match="does not fit into a Spark message"):
        read(holes, drop_missing=True).bounded_sum(Wide(), bound=1.0, grid=1.0)


@needs_java
def test_executors_without_the_package_are_told_how_to_get_it(session, frame, monkeypatch, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nclass No:\n    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'dptopics':\n            raise ModuleNotFoundError(\"No module named 'dptopics'\")\n"
        "sys.meta_path.insert(0, No())\n"
    )
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path}:$PYTHONPATH exec {sys.executable} "$@"\n')
    python.chmod(0o700)
    monkeypatch.setenv("PYSPARK_PYTHON", str(python))
    monkeypatch.setattr(session.sparkContext, "pythonExec", str(python))
    with pytest.raises(EngineError, match=r"cannot import 'dptopics'\. Install dptopics\[spark\].*spark\.archives"):
        on_spark(frame)
    monkeypatch.setattr(session.sparkContext, "pythonExec", str(tmp_path / "nobody"))
    with pytest.raises(EngineError, match="PYSPARK_PYTHON"):
        on_spark(frame)


@needs_java
def test_counts_are_the_same_integers(session):
    """Topics, groups and dates are told on executors as in memory, and so are the bounds of authors."""
    from dptopics.core.questions import Questions
    from dptopics.counting import Columns, counts_plan, publish_counts
    from dptopics.subjects import Asked

    rng, n = np.random.default_rng(4), 300
    model = TopicModel(
        topic_word=np.array([[0.9, 0.1], [0.1, 0.9]]),
        topic_share=np.array([0.5, 0.5]),
        vocabulary=Vocabulary.of(["asthma", "skin"]),
        alpha=0.1,
        text=TextSettings(),
    )
    table = {
        "note": [["asthma", "my skin", "parking", None][i] for i in rng.choice(4, n, p=[0.4, 0.4, 0.15, 0.05])],
        "patient": rng.integers(0, 90, n).tolist(),
        "ward": [["north", " south ", "elsewhere", None][i] for i in rng.integers(0, 4, n)],
        "date": [[date(2026, 1, 30), date(2026, 2, 3), None][i] for i in rng.integers(0, 3, n)],
        "stars": [[1, 3, 9, None][i] for i in rng.integers(0, 4, n)],
    }
    by = [
        Axis.groups("ward", ["north", "south"]),
        Axis.periods("month:date", first="2026-01-01", last="2026-02-28"),
    ]
    frame = session.createDataFrame(
        list(zip(*table.values(), strict=True)), "note string, patient int, ward string, date date, stars int"
    ).repartition(3)
    found = []
    for unit, more in (("author", {"max_cells": 2}), ("author", {"documents": 3}), ("document", {})):
        plan = counts_plan(model, by, epsilon=1.0, delta=1e-6, unit=unit, **more)
        for data, on in ((pa.table(table), None), (frame, session)):
            columns = Columns(text="note", author="patient", drop_missing=True, session=on)
            with under_noised(0.0), warnings.catch_warnings(record=True):
                found.append(publish_counts(plan, model, data, by=by, columns=columns).value.cube)
        assert np.array_equal(found[-1], found[-2])
        assert found[-1][-1, -1, -1] > 80
    asked = Asked(Questions.of({"a": {"mention": "asthma"}, "n": {"column": "ward", "is": "north"},
                                "b": {"formula": "n and not a"}}))  # fmt: skip
    theme = Asked(Questions.of({"t": {"theme": "Travel plans and itineraries"}}), None, MODEL)
    mean = {"number": "stars", "number_range": (1.0, 5.0)}
    for subject, unit, more in (
        (asked, "author", {"documents": 2}),
        (theme, "document", {}),
        (asked, "author", {"max_cells": 2, **mean}),
    ):
        plan = counts_plan(subject, by[1:], epsilon=1.0, delta=1e-6, unit=unit, **more)
        for data, on in ((pa.table(table | {"date": list(map(str, table["date"]))}), None), (frame, session)):
            columns = Columns(text="note", author="patient", drop_missing=True, session=on)
            with under_noised(0.0), warnings.catch_warnings(record=True):
                found.append(publish_counts(plan, subject, data, by=by[1:], columns=columns).value)
        assert np.array_equal(found[-1].cube, found[-2].cube)
        assert found[-1].cube[-1, -1] > 40
    assert np.array_equal(found[-1].numbers, found[-2].numbers)
    assert found[-1].numbers.any()


@needs_java
def test_who_is_who_is_the_same(session):
    """Spellings of one name, numbers as strings, placeholders, and those that are real names."""
    names = ["Ann", "ANN ", "an\u00adn", "7", "7.0", "\uff17", "Null", "[deleted]", None, "-", "bob\ufff0", "Bob"]
    texts = ["doctor"] * len(names)
    frame = session.createDataFrame(list(zip(texts, names, strict=True)), "note string, patient string").repartition(3)
    for real, n_units in (((), 3), (("null",), 4)):
        how = {"drop_missing": True, "author_is": real}
        corpora = [
            Corpus.from_texts(texts, names, **how).bounded(),
            SparkTable.from_table(frame, text="note", author="patient", partitions=2, **how).bounded(),
        ]
        sizes = [c.fold(lambda seen, block: [*seen, *np.diff(block.unit_start)], []) for c in corpora]
        assert sizes[0] == sizes[1]
        assert len(sizes[0]) == n_units
    assert corpora[1].bounds.column == "patient"
    with pytest.raises(InputError, match=r"3 of 12 rows lack one of: text, author \(a placeholder"):
        SparkTable.from_table(frame, text="note", author="patient", author_is=["NULL"]).bounded()


@needs_java
def test_the_estimator_fits_on_spark(session, frame, rows):
    settings = {
        "n_topics": 3,
        "epsilon": 20,
        "delta": DELTA,
        "mechanism": "variational",
        "settings": {"steps": 1},
        "max_docs": 2,
    }
    with pytest.warns(PrivacyWarning, match="reproducible"):
        first = PrivateTopics(**settings, random_state=1).fit(rows[0], authors=rows[1])
    spark = PrivateTopics(**settings, random_state=1, engine=session)
    with pytest.warns(PrivacyWarning, match="reproducible"):
        second = spark.fit(frame, text="note", authors="patient")
    assert np.array_equal(first.components_, second.components_)
    assert second.transform(["doctor"]).shape == (1, 3)
    with pytest.raises(InputError, match="pass engine=the session"):
        PrivateTopics().fit(frame)
    with pytest.raises(InputError, match=r"name the columns: fit\(frame, text="):
        PrivateTopics(engine=session).fit(frame)
    with pytest.raises(InputError, match="must be a Spark session or None, got str"):
        PrivateTopics(engine="spark").fit(frame)
    with pytest.raises(InputError, match="already has its columns"):
        PrivateTopics().fit(SparkTable.from_table(frame, text="note"), text="note")
    with pytest.raises(InputError, match="embeddings come from a column"):
        PrivateTopics(engine=session, mechanism="embedded", embedding=MODEL).fit(frame, text="note", authors="patient")


@needs_java
def test_the_command_line_fits_on_spark(session, frame, monkeypatch, capsys, tmp_path):
    frame.drop("vector").write.parquet(str(tmp_path / "notes.parquet"))
    frame.drop("vector").createOrReplaceTempView("notes")

    def run(source, out, *more):
        words = ["fit", source, "--text", "note", "--author", "patient", "--epsilon", "20", "--delta", "1e-4"]
        words += [
            "--topics",
            "3",
            "--mechanism",
            "variational",
            "--set",
            "steps=1",
            "--out",
            str(tmp_path / out),
            "--json",
        ]
        monkeypatch.setattr(sys, "argv", ["dptopics", *words, *more])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        return stop.value.code or 0, capsys.readouterr()

    monkeypatch.setattr("dptopics.privacy.rng.secrets.randbits", lambda bits: 5)
    for number, (source, *more) in enumerate(
        [
            (str(tmp_path / "notes.parquet"), "--engine", "spark", "--master", "local[2]"),
            ("notes", "--engine", "spark"),
        ]
    ):
        code, printed = run(source, str(number), *more)
        assert code == 0, printed.err
        assert len(json.loads(printed.out)["topics"]) == 3
    code, printed = run("notes", "none", "--master", "local[2]")
    assert code != 0
    assert "are for --engine spark" in " ".join(printed.err.split())


@needs_java
def test_a_session_that_stops_half_way(session, frame, tmp_path):
    """The last test with a session: it ends it. What was charged stays charged, once."""
    corpus = on_spark(frame).limited(vocabulary=WORDS)
    corpus.bounded_sum(Counts(), bound=9.0, grid=1.0)
    ledger = Ledger.create(tmp_path / "l", name="x", unit="author", epsilon=99, delta=0.1)
    mechanism = _slow(VariationalTopics)(n_topics=2, sigma=0.5, delta=DELTA, steps=1)
    stopper = threading.Timer(2.0, session.stop)
    stopper.start()
    with pytest.raises(EngineError, match=r"stopped during the job\. If a release was running, its budget is spent"):
        charged(ledger, mechanism, corpus, secure_rng())
    stopper.join()
    assert len(ledger.receipts()) == 1
    with pytest.raises(EngineError, match="stopped during the job"):
        corpus.bounded_sum(Counts(), bound=9.0, grid=1.0)


def _slow(kind):
    class Slow(kind):
        def _noisy_counts(self, corpus, rng, topics, step):
            return corpus.bounded_sum(Sleeper(), bound=self.clip, grid=self.grid)

    return Slow


def fake_java(folder, version):
    (folder / "bin").mkdir(parents=True)
    java = folder / "bin" / "java"
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o700)
    return str(folder)


def test_java_must_be_there_and_new_enough(monkeypatch, tmp_path):
    for version, major in (("11.0.2", 11), ("1.8.0_402", 8)):
        monkeypatch.setenv("JAVA_HOME", fake_java(tmp_path / version, version))
        with pytest.raises(EngineError, match=f"needs Java 17 or newer, found {major}"):
            spark_session()
    for version in ("17", "21.0.1", "25-ea"):
        monkeypatch.setenv("JAVA_HOME", fake_java(tmp_path / version, version))
        spark_errors.check_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EngineError, match=r"none was found\. Install it \(Debian: default-jre-headless\)"):
        spark_session()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineError, match="none was found"):
        spark_session()


def test_without_pyspark_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(EngineError, match=r"pip install 'dptopics\[spark\]'"):
        spark_session()


def test_errors_of_spark_are_told_without_the_data():
    error = RuntimeError("a row: zanzibarian\nValueError: bad zanzibarian\n")
    told = spark_errors.explained(error, None)
    assert "zanzibarian" not in str(told)
    assert "(ValueError in RuntimeError)" in str(told)
    assert isinstance(spark_errors.explained(RuntimeError("UnicodeDecodeError: 'utf-8'"), None), InputError)
    assert "master" in str(spark_errors.explained(RuntimeError("Could not parse Master URL: 'x'"), None))
    assert "different Pythons" in str(spark_errors.explained(RuntimeError("[PYTHON_VERSION_MISMATCH]"), None))
