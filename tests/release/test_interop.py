"""Releases in other people's tools, and their models in ours."""

import json
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from dptopics import Corpus, InputError, NgramTable, TopicModel, Vocabulary
from dptopics.audit.membership.target_attack import read_target
from dptopics.release import interop

TEXTS = ["zebra apple apple", "apple zebra zebra", "moon night night", "night moon star"] * 10


@pytest.fixture
def model():
    rng = np.random.default_rng(0)
    return TopicModel(
        topic_word=rng.dirichlet(np.ones(6), 3), vocabulary=Vocabulary.of("abcdef"),
        topic_share=np.array([0.5, 0.3, 0.2]), alpha=0.1, noise_std=np.array([0.1, 0.2, 0.3]) * 1e-6,
    )  # fmt: skip


def check_topics(model):
    """Two topics of disjoint words, over sorted words, in sizes that add up."""
    assert model.vocabulary.words == ("apple", "moon", "night", "star", "zebra")
    np.testing.assert_allclose(model.topic_word.sum(axis=1), 1)
    assert model.topic_share.sum() == pytest.approx(1)
    assert model.noise_std is None
    fruit = {k for k, words in enumerate(model.top_words(2, relevance=1.0)) if set(words) == {"apple", "zebra"}}
    assert len(fruit) == 1
    return fruit.pop()


def test_tables_have_the_words_above_the_noise(model):
    table = model.to_arrow()
    assert table.column_names == ["topic", "word", "weight", "noise_std"]
    assert table.num_rows == 18
    frame = model.to_pandas()
    np.testing.assert_array_equal(
        frame.pivot_table(index="topic", columns="word", values="weight", observed=False), model.topic_word
    )
    assert frame[frame.topic == 2].noise_std.unique().tolist() == [pytest.approx(3e-7)]
    bare = TopicModel(topic_word=model.topic_word, vocabulary=model.vocabulary, topic_share=model.topic_share, alpha=1)
    assert bare.to_arrow()["noise_std"].null_count == 18
    noisy = replace(model, noise_std=np.array([0.1, 0.2, 0.3]))
    above = {(k, word) for k, row in enumerate(noisy.top_words(6)) for word in row}
    assert set(zip(*(noisy.to_arrow().to_pydict()[name] for name in ("topic", "word")), strict=True)) == above
    assert len(above) == 1


@pytest.mark.filterwarnings("ignore")  # gensim's own
def test_other_tools_do_not_rank_noise(model):
    noisy = replace(model, noise_std=np.array([0.1, 0.2, 0.3]))
    for topics in (noisy.pyldavis_inputs()["topic_term_dists"], noisy.to_gensim().get_topics()):
        np.testing.assert_allclose(topics.sum(axis=1), 1)
        assert [np.unique(row.round(6)).size for row in topics] == [2, 1, 1]


def test_tables_of_words_and_ngrams():
    grams = NgramTable(vocabulary=Vocabulary.of(["a b", "b c"]), probability=np.array([0.25, 0.75]))
    assert grams.to_pandas()["probability"].tolist() == [0.25, 0.75]
    assert grams.to_arrow()["noise_std"].null_count == 2


def test_pyldavis_inputs_are_consistent_and_hold_no_documents(model):
    given = model.pyldavis_inputs()
    n_documents = given["doc_topic_dists"].shape[0]
    assert n_documents == model.n_topics == len(given["doc_lengths"])  # stand-ins, one for each topic
    np.testing.assert_allclose(given["topic_term_dists"], model.topic_word, atol=1e-9)
    size = given["doc_topic_dists"].T @ given["doc_lengths"]
    np.testing.assert_allclose(size / size.sum(), model.topic_share, atol=1e-5)
    mean = model.topic_share @ model.topic_word
    np.testing.assert_allclose(given["term_frequency"] / given["term_frequency"].sum(), mean, atol=1e-5)
    assert given["vocab"] == list("abcdef")


def test_pyldavis_takes_them(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own, of old libraries
        pyldavis = pytest.importorskip("pyLDAvis")
        prepared = pyldavis.prepare(**model.pyldavis_inputs(), n_jobs=1, R=4, sort_topics=False)
    data = json.loads(prepared.to_json())
    np.testing.assert_allclose(data["mdsDat"]["Freq"], 100 * model.topic_share, atol=1e-3)


@pytest.mark.filterwarnings("ignore")  # their own
def test_gensim_gets_the_topics_and_infers_with_them(model):
    lda = model.to_gensim()
    np.testing.assert_allclose(lda.get_topics(), model.topic_word, atol=1e-6)
    assert lda.show_topic(0, 1)[0][0] == model.top_words(1, relevance=1.0)[0][0]
    document = ["a"] * 8 + ["c"] * 3 + ["e"]
    theirs = np.zeros(3)
    for topic, share in lda.get_document_topics(lda.id2word.doc2bow(document), minimum_probability=0):
        theirs[topic] = share
    ours = model.transform_counts([[8, 0, 3, 0, 1, 0]])[0]
    np.testing.assert_allclose(theirs, ours, atol=0.05)
    back = TopicModel.from_gensim(lda)
    np.testing.assert_allclose(back.topic_word, model.topic_word, atol=1e-6)
    assert back.alpha == pytest.approx(0.1)


def test_from_sklearn():
    from sklearn.decomposition import NMF, LatentDirichletAllocation
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer()
    counts = vectorizer.fit_transform(TEXTS)
    lda = LatentDirichletAllocation(2, random_state=0).fit(counts)
    found = TopicModel.from_sklearn(lda, vectorizer)
    assert found.topic_share[check_topics(found)] == pytest.approx(0.5, abs=0.05)
    assert found.alpha == 0.5
    backwards = vectorizer.get_feature_names_out()[::-1]
    nmf = NMF(2, random_state=0, init="nndsvda").fit(counts[:, ::-1])
    check_topics(TopicModel.from_sklearn(nmf, backwards))
    with pytest.raises(InputError, match="fit it first"):
        TopicModel.from_sklearn(NMF(2), vectorizer)
    with pytest.raises(InputError, match="topics × 1 words"):
        TopicModel.from_sklearn(nmf, ["one"])
    with pytest.raises(InputError, match="distinct"):
        TopicModel.from_sklearn(nmf, ["same"] * 5)


@pytest.mark.filterwarnings("ignore")  # their own
def test_from_gensim():
    from gensim.corpora import Dictionary
    from gensim.models import HdpModel, LdaModel, LsiModel

    documents = [text.split() for text in TEXTS]
    dictionary = Dictionary(documents)
    bags = [dictionary.doc2bow(d) for d in documents]
    lda = LdaModel(bags, num_topics=2, id2word=dictionary, passes=20, random_state=0)
    found = TopicModel.from_gensim(lda)
    assert found.topic_share[check_topics(found)] == pytest.approx(0.5, abs=0.1)
    check_topics(TopicModel.from_gensim(LsiModel(bags, num_topics=2, id2word=dictionary)))
    hdp = TopicModel.from_gensim(HdpModel(bags, dictionary, random_state=0))
    assert hdp.n_topics > 2
    assert hdp.topic_share.sum() == pytest.approx(1)
    with pytest.raises(InputError, match="get_topics"):
        TopicModel.from_gensim(object())


@pytest.mark.filterwarnings("ignore")  # their own
def test_from_tomotopy():
    import tomotopy

    lda = tomotopy.LDAModel(k=2, seed=1)
    with pytest.raises(InputError, match="train it first"):
        TopicModel.from_tomotopy(lda)
    for text in TEXTS:
        lda.add_doc(text.split())
    lda.train(200, workers=1)
    found = TopicModel.from_tomotopy(lda)
    assert found.topic_share[check_topics(found)] == pytest.approx(0.5, abs=0.1)
    hdp = tomotopy.HDPModel(initial_k=4, seed=1)
    for text in TEXTS:
        hdp.add_doc(text.split())
    hdp.train(100, workers=1)
    assert TopicModel.from_tomotopy(hdp).n_topics == sum(hdp.is_live_topic(k) for k in range(hdp.k))
    with pytest.raises(InputError, match="get_topic_word_dist"):
        TopicModel.from_tomotopy(object())


class BertopicStub:
    """What BERTopic shows of a fitted model: rows by topic number, the outliers (−1) first."""

    c_tf_idf_ = sparse.csr_array(np.array([[1, 1, 1, 1, 1], [0, 3, 2, 1, 0], [4, 0, 0, 0, 2.0]]))
    vectorizer_model = SimpleNamespace(
        get_feature_names_out=lambda: np.array(["zebra", "moon", "night", "star", "apple"])
    )
    topic_sizes_ = {-1: 5, 0: 30, 1: 10}  # noqa: RUF012

    def get_topics(self):
        return {-1: [("zebra", 1.0)], 0: [("moon", 3.0)], 1: [("zebra", 4.0)]}


def test_from_bertopic():
    found = TopicModel.from_bertopic(BertopicStub())
    assert check_topics(found) == 1
    assert found.topic_share.tolist() == [0.75, 0.25]
    np.testing.assert_allclose(found.topic_word[1], [1 / 3, 0, 0, 0, 2 / 3])
    with pytest.raises(InputError, match="fitted BERTopic"):
        TopicModel.from_bertopic(SimpleNamespace(c_tf_idf_=None))
    odd = BertopicStub()
    odd.c_tf_idf_ = odd.c_tf_idf_[:2]
    with pytest.raises(InputError, match="2 rows for 3 topics"):
        TopicModel.from_bertopic(odd)


@pytest.mark.filterwarnings("ignore")  # their own
def test_from_the_real_bertopic():
    # Not in the tools for tests: it asks for torch. To try it: pip install --no-deps bertopic, and what it then misses.
    bertopic = pytest.importorskip("bertopic")
    from bertopic.backend import BaseEmbedder
    from bertopic.dimensionality import BaseDimensionalityReduction
    from sklearn.cluster import HDBSCAN

    texts = [*TEXTS, "zebra moon star apple night", "star apple night moon zebra"]
    places = np.concatenate([np.tile([[1.0, 0], [1, 0], [0, 1], [0, 1]], (10, 1)), [[50.0, 50], [-50, 50]]])
    places += np.random.default_rng(0).normal(scale=0.01, size=places.shape)
    model = bertopic.BERTopic(
        umap_model=BaseDimensionalityReduction(), hdbscan_model=HDBSCAN(min_cluster_size=5, copy=True),
        embedding_model=BaseEmbedder(),
    ).fit(texts, embeddings=places)  # fmt: skip
    assert model.topic_sizes_[-1] == 2  # outliers: left out
    found = TopicModel.from_bertopic(model)
    assert found.topic_share.tolist() == [0.5, 0.5]
    fruit = check_topics(found)
    weights = {word: weight for word, weight in model.get_topic(fruit) if word}
    index = found.vocabulary.index
    np.testing.assert_allclose(
        [found.topic_word[fruit, index[word]] for word in weights],
        np.array(list(weights.values())) / sum(weights.values()), rtol=1e-4,
    )  # fmt: skip


def test_what_people_have_can_be_viewed_and_audited(tmp_path):
    found = TopicModel.from_bertopic(BertopicStub())
    text = found.report(tmp_path / "mine.html").read_text("utf-8")
    assert "NOT FOR RELEASE" in text
    topics, words = read_target(interop.save_npz(found, tmp_path / "mine.npz"))
    np.testing.assert_array_equal(topics, found.topic_word)
    assert tuple(words) == found.vocabulary.words
    for name, reason in [("mine.npz", "exists already"), ("mine.zip", "end in .npz")]:
        with pytest.raises(InputError, match=reason):
            interop.save_npz(found, tmp_path / name)


def test_the_estimator_writes_its_page(tmp_path):
    from dptopics import Ledger, PrivateTopics

    Ledger.create(tmp_path / "a.ledger", epsilon=50, delta=1e-5)
    corpus = Corpus.from_texts(TEXTS, authors=list(range(40)))
    fitted = PrivateTopics(
        2, epsilon=40, mechanism="variational", vocabulary=Vocabulary.public(["apple", "zebra", "moon", "night"]),
        ledger=tmp_path / "a.ledger", delta=1e-6,
    ).fit(corpus)  # fmt: skip
    text = fitted.report(tmp_path / "page.html").read_text("utf-8")
    assert "This release is charge 1." in text
    assert "NOT FOR RELEASE" not in text
