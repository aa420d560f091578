"""Any object, full of private words, into every entry point of the library: an error of ours or none, and no quote."""

import random

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from canary import CANARY, NOTE, heard, leaks
from scipy import sparse

from dptopics import (
    BitFlips,
    Client,
    Collection,
    Corpus,
    PrivateTopics,
    PublicNgrams,
    TopicModel,
    Vocabulary,
    fit_reports,
    secure_rng,
)
from dptopics.audit.membership.target_attack import read_shadows, read_target
from dptopics.core.errors import DptopicsError
from dptopics.evaluate import npmi, umass
from dptopics.local.client import InMemory
from dptopics.public.embeddings import embedding

WORDS = Vocabulary.public(["hiv", "test", "positive", "ward"])
SURVEY = Collection(name="survey", randomizer=BitFlips(vocabulary=WORDS, f=0.5, max_words=2))
ATOMS = [NOTE, CANARY, NOTE.encode(), "", "\ud800" + CANARY, "\0" + CANARY, None, 3, 2**70, -1, 0.5, float("nan"), True]


class Strange:
    """Quotes data wherever Python asks it anything."""

    def __repr__(self):
        return NOTE

    def __len__(self):
        return 2

    def __getitem__(self, place):
        raise LookupError(NOTE)

    def __array__(self, *_args, **_named):
        raise RuntimeError(NOTE)


def anything(rng, depth=0):
    """An object that somebody might pass by mistake."""
    many = [anything(rng, depth + 1) for _ in range(rng.randrange(1, 4))] if depth < 2 else [rng.choice(ATOMS)]
    texts = [rng.choice(ATOMS[:2]) for _ in range(3)]
    match rng.randrange(13):
        case 0:
            return many
        case 1:
            return tuple(many)
        case 2:
            return {CANARY: many}
        case 3:
            return np.array(texts)
        case 4:
            return np.array([texts], object)
        case 5:
            return pd.DataFrame({NOTE: texts, CANARY: [1, 2, 3]})
        case 6:
            return pl.DataFrame({NOTE: texts})
        case 7:
            return pa.table({NOTE: texts, CANARY: [{CANARY: 1}] * 3})
        case 8:
            return pd.Series([*texts, rng.choice(ATOMS)], dtype=object)
        case 9:
            return sparse.csr_array(np.array([[1.0, -2.0], [0.5, np.nan]]))
        case 10:
            return Strange()
        case 11:
            return (word for word in [*texts, rng.choice(ATOMS)])
        case _:
            return rng.choice(ATOMS[:5])


@pytest.fixture(scope="module")
def fitted():
    model = PrivateTopics(2, mechanism="mixture", epsilon=50.0, vocabulary=WORDS, settings={"steps": 1})
    return model.fit(["hiv test positive", "ward test"] * 20, authors=range(40))


def topics(**settings):
    return PrivateTopics(
        **({"n_topics": 2, "mechanism": "mixture", "epsilon": 50.0, "settings": {"steps": 1}} | settings)
    )


GOOD = ["hiv test", "positive ward"] * 5
CALLS = {
    "fit": lambda x, _: topics(vocabulary=WORDS).fit(x),
    "fit, authors": lambda x, _: topics(vocabulary=WORDS).fit(GOOD, authors=x),
    "fit, embeddings": lambda x, _: topics(mechanism="embedded", embedding=len).fit(GOOD, embeddings=x),
    "fit, vocabulary": lambda x, _: topics(vocabulary=x).fit(GOOD),
    "fit, public": lambda x, _: topics(vocabulary="public").fit(x),
    "fit, embedding": lambda x, _: topics(mechanism="embedded", embedding=lambda texts: x).fit(GOOD),
    "transform": lambda x, model: model.transform(x),
    "model.transform": lambda x, model: model.model_.transform(x),
    "transform_counts": lambda x, model: model.model_.transform_counts(x),
    "report": lambda x, model: model.report("/nowhere/page.html", audit="/nowhere"),
    "from_texts": lambda x, _: Corpus.from_texts(x),
    "from_texts, authors": lambda x, _: Corpus.from_texts(GOOD, x),
    "from_texts, vocabulary": lambda x, _: Corpus.from_texts(GOOD, vocabulary=x),
    "from_texts, embed": lambda x, _: Corpus.from_texts(GOOD, embed=lambda texts: x),
    "from_counts": lambda x, _: Corpus.from_counts(x, [CANARY, "b"]),
    "from_counts, authors": lambda x, _: Corpus.from_counts(np.eye(2, dtype=int), [CANARY, "b"], authors=x),
    "with_vectors": lambda x, _: Corpus.from_texts(GOOD).with_vectors(x),
    "Vocabulary.public": lambda x, _: topics(vocabulary=Vocabulary.public(x)).fit(GOOD),
    "PublicNgrams.from_texts": lambda x, _: PublicNgrams.from_texts(x, n=2),
    "npmi": lambda x, _: npmi(Corpus.from_texts([NOTE, *GOOD]), [[CANARY, "hiv"]]),
    "umass": lambda x, _: umass(Corpus.from_texts([NOTE, *GOOD]), [[CANARY]]),
    "embedding": lambda x, _: embedding(lambda texts: x)(["a"]),
    "client": lambda x, _: Client(InMemory(), max_epsilon=99.0).report(SURVEY, NOTE, np.random.default_rng(0)),
    "reports": lambda x, _: fit_reports(SURVEY, np.empty((0, 1), np.uint8), n_topics=2),
    "audit": lambda x, _: read_target("/nowhere"),
    "shadows": lambda x, _: read_shadows("/nowhere"),
    "from_sklearn": lambda x, _: TopicModel.from_sklearn(type("M", (), {"components_": x})(), ["a"]),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_quoted(name, fitted):
    rng = random.Random(name)
    for _ in range(25):
        given = anything(rng)
        said, error = heard(lambda given=given: CALLS[name](given, fitted))
        assert not leaks(said), (type(given), said)
        assert error is None or isinstance(error, DptopicsError), (type(given), said)


def test_a_report_of_a_private_text_is_noise():
    client = Client(InMemory(), max_epsilon=99.0)
    assert not leaks(repr(client.report(SURVEY, NOTE, secure_rng())))


@pytest.mark.parametrize(
    "named", [Corpus.from_texts([NOTE]), Corpus.from_texts([NOTE]).bounded()], ids=["corpus", "bounded"]
)
def test_what_is_shown_of_data(named):
    assert not leaks(repr(named) + str(named))
