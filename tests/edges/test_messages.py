"""No exception, warning or log of the library quotes a cell, an author or a column that nobody asked for."""

import json

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from canary import CANARY, NOTE, chain, heard, leaks

from dptopics import Corpus, PrivateTopics, PublicNgrams, TopicModel, Vocabulary
from dptopics.core.errors import DptopicsError, InputError, shielded
from dptopics.evaluate import npmi, perplexity
from dptopics.public.embeddings import check_vectors

FRAME = pd.DataFrame({"note": [NOTE] * 30, "patient": [f"{CANARY} {i}" for i in range(30)], "age": range(30)})
COUNTS = pd.DataFrame({"knee": [1, 2] * 9, CANARY: [1, 0] * 9})
NUMBER = 7531.0
WORDS = Vocabulary.public(["hiv", "test", "positive"])


def topics(**settings):
    return PrivateTopics(**({"n_topics": 2, "mechanism": "mixture", "epsilon": 50.0} | settings))


def fitted():
    return topics(vocabulary=WORDS).fit(["hiv test positive"] * 30, authors=range(30))


def counted():
    return topics(vocabulary="public", unit="document").fit(COUNTS)


def failing(texts):
    raise ValueError(f"bad text: {texts[0]}")


def stream():
    yield NOTE
    raise KeyError(NOTE)


class Model:
    components_ = np.array([[NOTE]])

    def get_topics(self):
        return self.components_

    id2word = (NOTE,)


CALLS = {
    "fit frame": lambda: topics().fit(FRAME),
    "fit one column of lists": lambda: topics().fit(pd.DataFrame({"note": [[NOTE], [NOTE]]})),
    "fit one column with None": lambda: topics().fit(pd.DataFrame({"note": [NOTE, None]})),
    "fit polars frame": lambda: topics().fit(pl.from_pandas(FRAME)),
    "fit arrow table": lambda: topics().fit(pa.Table.from_pandas(FRAME)),
    "fit objects": lambda: topics().fit(FRAME[["note", "age"]].to_numpy()),
    "fit strings": lambda: topics().fit(np.array([[NOTE], ["b"]])),
    "fit lists": lambda: topics().fit([[NOTE], [NOTE]]),
    "fit ragged lists": lambda: topics().fit([NOTE.split(), ["b"]]),
    "fit dictionaries": lambda: topics().fit([{NOTE: 1}, {"b": 2}]),
    "fit bytes": lambda: topics().fit([NOTE.encode()]),
    "fit complex": lambda: topics().fit(np.array([[1j]])),
    "fit negative": lambda: topics().fit(np.array([[-NUMBER]])),
    "fit weights": lambda: topics().fit(np.array([[NUMBER + 0.5]])),
    "fit with None": lambda: topics().fit([NOTE, None]),
    "fit a stream": lambda: topics().fit(stream()),
    "fit one string": lambda: topics().fit(NOTE),
    "fit one text as a matrix": lambda: topics().fit(np.array(NOTE)),
    "authors a frame": lambda: topics().fit(FRAME.note, authors=FRAME),
    "authors dictionaries": lambda: topics().fit([NOTE, "b"], authors=[{NOTE: 1}, 2]),
    "authors tuples": lambda: topics().fit([NOTE, "b"], authors=[(NOTE,), 2]),
    "authors a stream": lambda: topics().fit([NOTE, "b"], authors=stream()),
    "authors a string": lambda: topics().fit([NOTE, "b"], authors=NOTE),
    "unequal columns": lambda: counted().transform(pd.DataFrame({"knee": [1], f"{CANARY}2": [1]})),
    "other columns": lambda: counted().transform(FRAME),
    "transform frame": lambda: fitted().transform(FRAME),
    "transform lists": lambda: fitted().transform([[NOTE]]),
    "transform one string": lambda: fitted().transform(NOTE),
    "transform None": lambda: fitted().transform([NOTE, None]),
    "model transform frame": lambda: fitted().model_.transform(FRAME),
    "model transform counts": lambda: fitted().model_.transform_counts([[NOTE, NOTE, NOTE]]),
    "model transform objects": lambda: fitted().model_.transform_counts(np.array([[NOTE, 1, 2]], object)),
    "texts frame": lambda: Corpus.from_texts(FRAME),
    "texts dictionary": lambda: Corpus.from_texts({NOTE: NOTE}),
    "texts tuples": lambda: Corpus.from_texts(list(zip(FRAME.note, FRAME.patient, strict=True))),
    "texts embedded": lambda: Corpus.from_texts([NOTE], embed=failing),
    "fit embedded": lambda: topics(mechanism="embedded", embedding=failing).fit([NOTE] * 4, authors=range(4)),
    "vectors of strings": lambda: check_vectors([[NOTE]], 1),
    "vectors given": lambda: Corpus.from_texts(["knee"]).with_vectors(np.array([[NOTE]], object)),
    "counts of strings": lambda: Corpus.from_counts(FRAME, ["a"]),
    "counts with a word twice": lambda: Corpus.from_counts([[1, 1]], [CANARY, CANARY]),
    "counts and too many words": lambda: Corpus.from_counts([[1]], [CANARY, "b"]),
    "table without the column": lambda: Corpus.from_table(FRAME.rename(columns={"note": NOTE}), text="note"),
    "table with a close column": lambda: Corpus.from_table(pd.DataFrame({"notes": [CANARY]}), text="note"),
    "table pivoted": lambda: Corpus.from_table(FRAME.set_index("note").T.reset_index(), text="x"),
    "table of mixed types": lambda: Corpus.from_table(pd.DataFrame({"note": [NOTE, 1]}), text="note"),
    "table of lists": lambda: Corpus.from_table(pd.DataFrame({"note": [[NOTE]]}), text="note"),
    "table of structs": lambda: Corpus.from_table(pa.table({"note": [{CANARY: 1}]}), text="note"),
    "table of authors that are no names": lambda: Corpus.from_table(FRAME.assign(a=0.5), text="note", author="a"),
    "table in duckdb": lambda: Corpus.from_table(duckdb.sql("SELECT CAST(note AS INT) AS n FROM FRAME"), text="n"),
    "words of a frame": lambda: topics(vocabulary=FRAME).fit(FRAME.note),
    "words of a column": lambda: topics(vocabulary=FRAME.note).fit(FRAME.note),
    "words stated but no words": lambda: topics(vocabulary=Vocabulary.public(FRAME.note)).fit(FRAME.note),
    "words that are no strings": lambda: Vocabulary.public([(NOTE,)]),
    "n-grams of a frame": lambda: PublicNgrams.from_texts(FRAME, n=2),
    "coherence of one word": lambda: npmi(Corpus.from_texts([NOTE]), [[CANARY]]),
    "perplexity of nothing": lambda: perplexity(Corpus.from_texts([NOTE[-7:]]), fitted().model_),
    "from scikit-learn": lambda: TopicModel.from_sklearn(Model(), [NOTE]),
    "from gensim": lambda: TopicModel.from_gensim(Model()),
}


@pytest.mark.parametrize("name", CALLS)
def test_no_message_quotes_data(name):
    said, error = heard(CALLS[name])
    assert isinstance(error, DptopicsError), said
    assert not leaks(said), said
    assert "7531" not in said


FILES = {
    "no header.csv": f"{CANARY},{NOTE.replace(',', '')}\nx,y\n",
    "ragged.csv": f"note,author\n{NOTE},a,b,c\n",
    "open quote.csv": f'note,author\n"{NOTE},a\n',
    "latin.csv": b"note,author\n" + NOTE.encode() + b"\xff,a\n",
    "twice.csv": f"note,note\n{NOTE},{NOTE}\n",
    "broken.jsonl": '{"note":"' + NOTE + '", "author": }\n',
    "keys.jsonl": json.dumps({NOTE: 1}) + "\n",
    "nested.jsonl": json.dumps({"note": {CANARY: [NOTE]}}) + "\n",
    "scalar.jsonl": json.dumps(NOTE) + "\n",
    "deep.jsonl": '{"note":' + "[" * 100_000 + f'"{CANARY}"' + "\n",
    "digits.jsonl": '{"note": ' + "7531" * 2000 + "}\n",
    "not.parquet": NOTE,
    "packed.csv.gz": NOTE,
}


@pytest.mark.parametrize("name", FILES)
def test_no_message_about_a_file_quotes_data(tmp_path, name):
    path = tmp_path / name
    content = FILES[name]
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    said, error = heard(lambda: Corpus.from_table(path, text="note", author=None))
    assert isinstance(error, InputError), said
    assert not leaks(said), said
    assert "7531" not in said


def test_only_the_name_of_a_foreign_exception_is_kept():
    with pytest.raises(InputError, match=r"^it broke \(KeyError\)\. Mend it\.$") as no:
        shielded(lambda: {}[NOTE], "it broke", "Mend it.")
    assert no.value.__cause__ is no.value.__context__ is None
    assert not leaks(chain(no.value))
    with pytest.raises(InputError, match="ours"):
        shielded(lambda: (_ for _ in ()).throw(InputError("ours")), "it broke", "Mend it.")
    assert shielded(lambda: 3, "", "") == 3


def test_the_canary_is_caught():
    """The control: what the library says without its shield would be seen."""
    said, _ = heard(lambda: np.asarray([[NOTE]], float))
    assert leaks(said)
