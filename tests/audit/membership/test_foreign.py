"""Models of other libraries, from their own files and as they are."""

import json
import pickle

import numpy as np
import pytest

from dptopics.audit.membership.models import of_model, read_target
from dptopics.core.errors import DptopicsError, InputError

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")  # on import of tomotopy

TEXTS = ["zebra apple apple", "apple zebra zebra", "moon night night", "night moon star"] * 10
WORDS = ["apple", "moon", "night", "star", "zebra"]


def check(found):
    topics, words = found
    assert sorted(words) == WORDS
    np.testing.assert_allclose(topics.sum(axis=1), 1)
    heaviest = {frozenset(words[i] for i in np.argsort(-row)[:2]) for row in topics}
    assert frozenset(["apple", "zebra"]) in heaviest


@pytest.fixture(scope="module")
def pipeline():
    from sklearn.decomposition import LatentDirichletAllocation
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.pipeline import make_pipeline

    return make_pipeline(CountVectorizer(), LatentDirichletAllocation(2, random_state=0)).fit(TEXTS)


def test_scikit_learn(pipeline, tmp_path):
    import joblib
    from skops import io

    check(of_model(pipeline))
    vectorizer, lda = (step for _, step in pipeline.steps)
    check(of_model(lda, vectorizer))
    check(of_model((vectorizer, lda)))
    with pytest.raises(InputError, match="does not store its words"):
        of_model(lda)
    joblib.dump(pipeline, tmp_path / "model.joblib")
    with pytest.raises(InputError, match="reading it runs any code in it"):
        read_target(tmp_path / "model.joblib")
    check(read_target(tmp_path / "model.joblib", trust_pickle=True))
    io.dump(pipeline, tmp_path / "model.skops")
    check(read_target(tmp_path / "model.skops"))


def test_gensim(tmp_path):
    from gensim.corpora import Dictionary
    from gensim.models import LdaModel

    texts = [text.split() for text in TEXTS]
    words = Dictionary(texts)
    model = LdaModel([words.doc2bow(text) for text in texts], 2, words, passes=20, random_state=1)
    check(of_model(model))
    model.save(str(tmp_path / "lda.model"))
    check(read_target(tmp_path / "lda.model", trust_pickle=True))


def test_tomotopy(tmp_path):
    import tomotopy

    model = tomotopy.LDAModel(k=2, seed=1)
    for text in TEXTS:
        model.add_doc(text.split())
    model.train(100, workers=1)
    check(of_model(model))
    model.save(str(tmp_path / "lda.bin"))
    check(read_target(tmp_path / "lda.bin"))


def bertopic_folder(folder, ctfidf):
    """What BERTopic's save(serialization="safetensors", save_ctfidf=True) writes, as far as it concerns topics."""
    from safetensors.numpy import save_file
    from scipy import sparse

    shown = {-1: [["star", 0.1]], 0: [["apple", 0.6], ["zebra", 0.5]], 1: [["night", 0.7], ["moon", 0.4]]}
    folder.mkdir()
    (folder / "topics.json").write_text(json.dumps({"topic_representations": shown, "topics": [0, 1]}))
    if ctfidf:
        rows = np.array([[0, 0, 0, 1, 0], [0.6, 0, 0, 0, 0.5], [0, 0.4, 0.7, 0.1, 0]], np.float32)
        matrix = sparse.csr_array(rows)
        arrays = {"indptr": matrix.indptr, "indices": matrix.indices, "data": matrix.data}
        save_file(arrays | {"shape": np.array(rows.shape), "diag": np.ones(5)}, folder / "ctfidf.safetensors")
        vocabulary = {"zebra": 4, "apple": 0, "moon": 1, "night": 2, "star": 3}
        (folder / "ctfidf_config.json").write_text(
            json.dumps({"vectorizer_model": {"params": {}, "vocab": vocabulary}})
        )
    return folder


def test_bertopic_without_bertopic(tmp_path):
    topics, words = read_target(bertopic_folder(tmp_path / "whole", True))
    assert words == WORDS
    np.testing.assert_allclose(topics, [[0.6, 0, 0, 0, 0.5], [0, 0.4, 0.7, 0.1, 0]], rtol=1e-6)
    topics, words = read_target(bertopic_folder(tmp_path / "light", False))
    assert (words, topics.shape) == (["apple", "moon", "night", "zebra"], (2, 4))


@pytest.mark.parametrize("name", ["x.npz", "x.bin", "x.skops", "x.txt", "x.joblib"])
@pytest.mark.parametrize(
    "content", [b"", b"private words", b"PK\3\4 no archive", pickle.dumps(print), b"LDA TPTK"], ids=range(5)
)
def test_what_is_no_model(tmp_path, monkeypatch, name, content):
    monkeypatch.setattr("dptopics.audit.membership.models._TOMOTOPY", ("LDAModel",))  # each takes a process
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as refused:
        read_target(path, trust_pickle=name.endswith("joblib") and b"print" not in content)
    assert "private" not in str(refused.value)


def test_folders_that_are_none(tmp_path):
    with pytest.raises(DptopicsError):
        read_target(tmp_path)
    for content in (
        "{",
        "[]",
        json.dumps({"topic_representations": {"x": 1}}),
        json.dumps({"topic_representations": {}}),
    ):
        (tmp_path / "topics.json").write_text(content)
        with pytest.raises(InputError, match="is not a topic model"):
            read_target(tmp_path)
    folder = bertopic_folder(tmp_path / "broken", True)
    (folder / "ctfidf.safetensors").write_bytes(b"x")
    with pytest.raises(InputError, match="is not a topic model"):
        read_target(folder)
    with pytest.raises(InputError, match="not a topic model that can be attacked"):
        of_model(3)
