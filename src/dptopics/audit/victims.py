"""What planted documents are tried on: two plain pipelines of clusters and words, and any plan. NOT FOR RELEASE."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dptopics.data.corpus import Corpus
from dptopics.errors import InputError, NothingReleased
from dptopics.plan import Plan
from dptopics.privacy.guarantee import Guarantee
from dptopics.release.topic_model import TopicModel

Floats = NDArray[np.float64]

_TOP = 10  # words that a plain pipeline shows of each cluster
_CLUSTERS = 20
_SMALLEST_TOPIC = 10  # documents of a topic, as in BERTopic
_DIMENSIONS = 50


class Shown(NamedTuple):
    """What an attacker sees: topics × words (0 for words that are not shown), and released weights of the words."""

    words: Sequence[str]
    topics: Floats
    weights: Floats | None = None


class Plant(NamedTuple):
    """Documents that an attacker plants: ``copies`` with so many of the target's ``words``, and ``lift`` with every
    candidate for the secret, which brings all of them into a vocabulary that wants many users."""

    copies: int
    words: int
    lift: int = 0


class Victim(NamedTuple):
    """A way to make topics, what it claims, and what an attacker would plant."""

    name: str
    train: Callable[[Corpus, int], Shown]
    plants: tuple[Plant, ...]
    claim: Guarantee | None = None


def _clusters_and_words(corpus: Corpus, seed: int) -> Shown:
    """k-means on TF-IDF, and the most frequent words of each cluster."""
    from sklearn.cluster import KMeans
    from sklearn.feature_extraction.text import TfidfTransformer

    matrix = _matrix(corpus)
    clusters = min(_CLUSTERS, max(2, matrix.shape[0] // 5))
    label = KMeans(clusters, n_init=1, random_state=seed).fit_predict(TfidfTransformer().fit_transform(matrix))
    return Shown(corpus.words, _top(_by_cluster(matrix, label)))


def _like_bertopic(corpus: Corpus, seed: int) -> Shown:
    """Embeddings of few dimensions, HDBSCAN, class-based TF-IDF: BERTopic's parts, with what scikit-learn has."""
    from sklearn.cluster import HDBSCAN
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.preprocessing import normalize

    matrix = _matrix(corpus)
    size = min(_DIMENSIONS, min(matrix.shape) - 1)
    place = TruncatedSVD(size, random_state=seed).fit_transform(TfidfTransformer().fit_transform(matrix))
    label = HDBSCAN(min_cluster_size=_SMALLEST_TOPIC, copy=True).fit_predict(normalize(place))
    if label.max() < 0:
        return Shown(corpus.words, np.zeros((1, matrix.shape[1])))
    counts = _by_cluster(matrix[label >= 0], label[label >= 0])
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    average = counts.sum() / len(counts)
    return Shown(corpus.words, _top(share * np.log1p(average / np.maximum(counts.sum(axis=0), 1e-300))))


PLAIN = (
    Victim("clusters and words (k-means, frequent words)", _clusters_and_words,
           tuple(Plant(copies, words) for copies in (3, 10, 30) for words in (4, 8))),
    Victim("BERTopic-like (HDBSCAN, c-TF-IDF)", _like_bertopic,
           tuple(Plant(copies, words) for copies in (3, 10, 30) for words in (4, 8))),
)  # fmt: skip


def of_plan(plan: Plan) -> Victim:
    """What a plan would release, on planted data. The noise is seeded: nothing of it is published."""
    mechanism = plan.build()

    def train(corpus: Corpus, seed: int) -> Shown:
        bounded = corpus.bounded(unit=mechanism.unit, max_docs=plan.max_docs)
        try:
            value = mechanism(bounded, np.random.default_rng(seed)).value
        except NothingReleased:
            return Shown((), np.zeros((1, 0)), np.zeros(0))
        if not isinstance(value, TopicModel):
            raise InputError("planted documents are tried on topics. Give a plan of topics.")
        scale = value.topic_share if value.deviation is None else 1 / np.maximum(value.deviation, 1e-300)
        weights = value.vocabulary.weights
        counts = np.asarray(value.topic_word * scale[:, None])
        return Shown(value.vocabulary.words, counts, None if weights is None else np.asarray(weights, np.float64))

    plants = (Plant(0, 0), Plant(30, 8), Plant(0, 0, lift=150), Plant(0, 0, lift=400), Plant(30, 8, lift=400))
    guarantee = mechanism.guarantee
    name = f"{plan.mechanism} of dptopics, ε = {guarantee.epsilon:.3g} for each {guarantee.unit}"
    return Victim(name, train, plants, guarantee)


def _matrix(corpus: Corpus) -> Any:
    from scipy import sparse

    counts = corpus.counts()
    shape = (counts.n_documents, counts.n_words)
    # scikit-learn's k-means takes 32-bit indices only.
    return sparse.csr_array((counts.count.astype(np.float64), counts.word, counts.doc_start.astype(np.int32)), shape)


def _by_cluster(matrix: Any, label: NDArray[np.int64]) -> Floats:
    """Clusters × words: how often each word was written there."""
    from scipy import sparse

    rows = sparse.csr_array((np.ones(label.size), (label, np.arange(label.size))))
    return np.asarray((rows @ matrix).toarray(), np.float64)


def _top(weights: Floats) -> Floats:
    """Only the heaviest words of each row are shown."""
    if weights.shape[1] <= _TOP:
        return weights
    least = np.partition(weights, -_TOP, axis=1)[:, -_TOP][:, None]
    return np.where(weights >= np.maximum(least, 1e-300), weights, 0.0)
