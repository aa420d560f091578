"""Released topics: what they say about new texts, on any machine, without the data."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse

from dptopics.core.errors import BundleError, InputError
from dptopics.core.text import TextSettings
from dptopics.core.vocabulary import Vocabulary
from dptopics.release import topic_model as module
from dptopics.release.topic_model import TopicModel

WORDS = Vocabulary.of(["asthma", "cough", "cream", "rash", "skin", "wheeze"])


def model(**fields):
    lungs, skin = np.array([0.4, 0.3, 0.01, 0.01, 0.01, 0.27]), np.array([0.01, 0.01, 0.3, 0.37, 0.3, 0.01])
    fields = {
        "topic_word": np.array([lungs, skin]),
        "topic_share": np.array([0.6, 0.4]),
        "vocabulary": WORDS,
        "alpha": 0.1,
        "text": TextSettings(),
    } | fields
    return TopicModel(**fields)


def random_counts(documents=500):
    return np.random.default_rng(0).poisson(0.8, (documents, len(WORDS)))


def as_texts(counts):
    return [" ".join(np.repeat(WORDS.words, row)) for row in counts]


def test_right_topic_wins():
    shares = model().transform(["My asthma: cough and wheeze.", "A rash. Cream for the skin!", "Cough, rash"])
    assert shares[0].argmax() == 0
    assert shares[1].argmax() == 1
    assert shares[0, 0] > 0.9
    assert shares[1, 1] > 0.9
    assert 0.2 < shares[2, 0] < 0.8


def test_shares_sum_to_one():
    shares = model().transform(as_texts(random_counts()))
    assert shares.shape == (500, 2)
    assert np.allclose(shares.sum(axis=1), 1, atol=1e-12)
    assert (shares > 0).all()


def test_text_without_known_words_gets_equal_shares():
    assert model().transform(["", "   ", "nothing known here", "123 !?"]).tolist() == [[0.5, 0.5]] * 4


def test_unknown_words_change_nothing():
    known, more = model().transform(["cough skin", "cough zebra skin helicopter"])
    assert known.tolist() == more.tolist()


def test_no_texts():
    assert model().transform([]).shape == (0, 2)
    assert model().transform_counts(sparse.csr_array((0, 6))).shape == (0, 2)


@pytest.mark.parametrize("bad", [None, 3, float("nan"), b"cough"])
def test_missing_text_is_an_error(bad):
    with pytest.raises(InputError, match=f"a text must be a string, got {type(bad).__name__}"):
        model().transform(["cough", bad])


def test_single_string_is_an_error():
    with pytest.raises(InputError, match="got a single string"):
        model().transform("cough")


def test_any_iterable_will_do():
    texts = as_texts(random_counts(20))
    assert np.array_equal(model().transform(iter(texts)), model().transform(texts))


def test_same_result_from_counts():
    counts = random_counts()
    expected = model().transform(as_texts(counts))
    for kind in (np.asarray, sparse.csr_array, sparse.csc_matrix, sparse.coo_array, lambda c: c.astype(float)):
        assert np.array_equal(model().transform_counts(kind(counts)), expected)


@pytest.mark.parametrize("shape", [(3, 5), (3, 7), (6,)])
def test_counts_of_another_shape(shape):
    with pytest.raises(InputError, match="counts must be a matrix with 6 columns"):
        model().transform_counts(np.ones(shape))


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_impossible_counts(bad):
    counts = np.ones((2, 6))
    counts[1, 2] = bad
    with pytest.raises(InputError, match="must not be negative, infinite or NaN"):
        model().transform_counts(counts)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("chunk", [1, 7, 2048])
def test_threads_and_chunks_do_not_matter(monkeypatch, threads, chunk):
    texts = as_texts(random_counts(60))
    expected = model().transform(texts)
    monkeypatch.setattr(module, "ThreadPoolExecutor", lambda: ThreadPoolExecutor(threads))
    monkeypatch.setattr(module, "_CHUNK_DOCUMENTS", chunk)
    assert np.array_equal(model().transform(texts), expected)


def test_a_document_does_not_depend_on_its_neighbours():
    texts = as_texts(random_counts(30))
    together = model().transform(texts)
    assert np.array_equal(np.concatenate([model().transform([text]) for text in texts]), together)


def test_texts_are_read_as_the_corpus_was():
    short = model(
        vocabulary=Vocabulary.of(["a", "b", "c", "d", "e", "f"]), text=TextSettings(language="none", min_length=1)
    )
    assert short.transform(["a b"])[0].argmax() == 0
    assert model(text=None).transform(["asthma"])[0].argmax() == 0


def test_top_words():
    assert model().top_words(2) == [["asthma", "cough"], ["rash", "cream"]]  # ties by the alphabet
    assert [len(words) for words in model().top_words(100)] == [6, 6]
    assert model().n_topics == 2


def test_load_wants_topics(tmp_path):
    with pytest.raises(BundleError, match="there is no release folder"):
        TopicModel.load(tmp_path / "nothing")


def test_model_needs_no_corpus():
    code = (
        "import sys; from dptopics.release.topic_model import TopicModel; import dptopics.release.bundle;"
        "assert not {'dptopics.data.corpus', 'dptopics.ledger.ledger', 'dptopics.engines'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_relevance_ranks_between_weight_and_lift():
    words = Vocabulary.of(["common", "left", "right"])
    topic_word = np.array([[0.6, 0.4, 0.0], [0.6, 0.0, 0.4]])
    model = TopicModel(topic_word=topic_word, topic_share=np.ones(2) / 2, vocabulary=words, alpha=0.1)
    assert model.top_words(1, relevance=1.0) == [["common"], ["common"]]
    assert model.top_words(2) == [["left", "common"], ["right", "common"]]
    assert model.top_words(3, relevance=0.0)[0] == ["left", "common"]  # not a word that a topic does not have
    with pytest.raises(InputError, match="between 0 and 1"):
        model.top_words(relevance=2.0)
