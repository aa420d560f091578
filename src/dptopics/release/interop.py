"""Topics as models of other libraries, and their topic models as ours, to view and to audit.

What is made from a release is as public as the release; a model of another library stays as private as it was.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dptopics.core.errors import InputError, shielded
from dptopics.core.files import check_new
from dptopics.core.vocabulary import Vocabulary

_TOKENS = 1_000_000  # of the stand-in corpus; a round number independent of the data
_ETA = 0.01  # gensim's prior weight of a word: a hundred-millionth of the stand-in tokens


class OtherTools:
    """How topics go to other libraries, and come from them."""

    def pyldavis_inputs(self: Any) -> dict[str, Any]:
        """Arguments of ``pyLDAvis.prepare``, from the release alone.

        A release contains no documents. Instead there is one document per topic, purely of that topic, as long as its
        share of a million words; word frequencies are those of this corpus. Words below the noise weigh equally.
        """
        share = np.maximum(self.topic_share, 0) / max(float(np.maximum(self.topic_share, 0).sum()), 1e-300)
        topics = np.maximum(self.shown_weights, 1e-12)  # pyLDAvis takes logarithms
        topics = topics / topics.sum(axis=1, keepdims=True)
        lengths = np.maximum(1, np.rint(share * _TOKENS)).astype(np.int64)
        return {
            "topic_term_dists": topics,
            "doc_topic_dists": np.eye(self.n_topics),
            "doc_lengths": lengths,
            "vocab": list(self.vocabulary.words),
            "term_frequency": lengths @ topics,
        }

    def to_gensim(self: Any) -> Any:
        """The topics as a ``gensim.models.LdaModel``, with a ``Dictionary`` as ``id2word``, to infer and to compare.

        They are as if learned from a million words each; do not train further. Words below the noise weigh equally.
        """
        try:
            from gensim.corpora import Dictionary
            from gensim.models import LdaModel
        except ImportError:
            raise InputError("gensim models need an extra package. Run: pip install 'dptopics[gensim]'") from None
        dictionary = Dictionary()
        dictionary.token2id = dict(self.vocabulary.index)
        dictionary[0]  # fills id2token
        alpha = [float(self.alpha)] * self.n_topics
        lda = LdaModel(id2word=dictionary, num_topics=self.n_topics, alpha=alpha, eta=_ETA, dtype=np.float64)
        lda.state.sstats[...] = np.maximum(0.0, self.shown_weights * _TOKENS - _ETA)
        lda.sync_state()
        return lda

    @classmethod
    def from_sklearn(cls, estimator: Any, words: Any) -> Self:
        """Topics of a fitted scikit-learn model with ``components_``: LatentDirichletAllocation, NMF, TruncatedSVD, …

        ``words`` names its columns: a list, or the fitted vectorizer. Signed components count by their absolute value.
        Shares are sums of components: for LDA the words of each topic, for others only an order of size.
        """
        components = getattr(estimator, "components_", None)
        if components is None:
            raise InputError(f"{type(estimator).__name__} has no components_: fit it first.")
        names = words.get_feature_names_out() if hasattr(words, "get_feature_names_out") else words
        components = np.abs(_numbers(components))
        alpha = float(getattr(estimator, "doc_topic_prior_", 1 / components.shape[0]))
        return cls._of(components, names, components.sum(axis=1), alpha)

    @classmethod
    def from_gensim(cls, model: Any) -> Self:
        """Topics of a gensim model with ``get_topics`` and ``id2word``: LdaModel, LsiModel, Nmf, HdpModel, …

        Shares come from an LdaModel's statistics or an HdpModel's weights; otherwise they are equal.
        """
        for name in ("get_topics", "id2word"):
            if not hasattr(model, name):
                raise InputError(f"{type(model).__name__} has no {name}: a gensim topic model is needed.")
        topics = np.abs(_numbers(model.get_topics()))
        n = topics.shape[0]
        share: Any = np.ones(n)
        if hasattr(getattr(model, "state", None), "sstats"):
            share = np.asarray(model.state.sstats, np.float64).sum(axis=1)
        elif hasattr(model, "hdp_to_lda"):
            share = np.asarray(model.hdp_to_lda()[0], np.float64)[:n]
        alpha = np.mean(np.asarray(getattr(model, "alpha", 1 / n), np.float64))
        names = model.id2word
        return cls._of(topics, [names[i] for i in range(topics.shape[1])], share, float(alpha))

    @classmethod
    def from_tomotopy(cls, model: Any) -> Self:
        """Topics of a trained tomotopy model: LDAModel, HDPModel (its live topics), CTModel, …"""
        if not hasattr(model, "get_topic_word_dist"):
            raise InputError(f"{type(model).__name__} has no get_topic_word_dist: a tomotopy topic model is needed.")
        counts = np.asarray(model.get_count_by_topics(), np.float64)
        kept = [k for k in range(model.k) if not hasattr(model, "is_live_topic") or model.is_live_topic(k)]
        if not kept or not len(model.used_vocabs):
            raise InputError("this tomotopy model has no topics yet: train it first.")
        topics = np.array([model.get_topic_word_dist(k) for k in kept], np.float64)
        alpha = float(np.mean(np.asarray(getattr(model, "alpha", 0.1), np.float64)))
        return cls._of(topics, list(model.used_vocabs), counts[kept], alpha)

    @classmethod
    def from_bertopic(cls, model: Any) -> Self:
        """Topics of a fitted BERTopic model; the outliers (topic −1) are left out.

        Its weights are class-based TF-IDF: normalized they serve to view and to compare, but are not probabilities.
        """
        weights = getattr(model, "c_tf_idf_", None)
        if weights is None or not hasattr(model, "get_topics"):
            raise InputError("a fitted BERTopic model is needed, with c_tf_idf_ and get_topics().")
        numbers = sorted(int(k) for k in model.get_topics())  # the rows of c_tf_idf_, in order
        matrix = weights.toarray() if hasattr(weights, "toarray") else weights
        matrix = _numbers(matrix)
        if matrix.shape[0] != len(numbers):
            raise InputError(f"c_tf_idf_ has {matrix.shape[0]} rows for {len(numbers)} topics: fit the model again.")
        rows = [row for row, number in enumerate(numbers) if number >= 0]
        if not rows:
            raise InputError("this BERTopic model has outliers only, no topics.")
        sizes = getattr(model, "topic_sizes_", None) or dict.fromkeys(numbers, 1)
        share = np.array([float(sizes[numbers[row]]) for row in rows])
        return cls._of(matrix[rows], model.vectorizer_model.get_feature_names_out(), share, 1 / len(rows))

    @classmethod
    def _of(cls, weights: ArrayLike, names: Sequence[Any], share: ArrayLike, alpha: float) -> Self:
        """Rows as distributions over sorted words, shares that sum to one."""
        from dptopics.kernels.counts import distributions

        words = [str(name) for name in names]
        matrix = _numbers(weights)
        if matrix.ndim != 2 or 0 in matrix.shape or matrix.shape[1] != len(words):
            raise InputError(f"topics × {len(words)} words are needed, one for each column, got shape {matrix.shape}.")
        if len(set(words)) != len(words):
            raise InputError("the words of a model must be distinct.")
        if not np.all(np.isfinite(matrix)):
            raise InputError("the weights of a model must be finite.")
        order, sizes = sorted(range(len(words)), key=words.__getitem__), np.asarray(share, np.float64)
        made: Any = cls
        return made(
            topic_word=distributions(matrix[:, order]),
            vocabulary=Vocabulary(tuple(words[i] for i in order)),
            topic_share=np.asarray(sizes / sizes.sum() if sizes.sum() > 0 else np.full(sizes.size, 1 / sizes.size)),
            alpha=alpha,
        )


def save_npz(model: Any, path: str | Path) -> Path:
    """Write topics and words as a file for ``dptopics audit membership --target``. No release: it has no guarantee."""
    path = Path(path)
    if path.suffix != ".npz":
        raise InputError(f"the file must end in .npz, got {path.name!r}.")
    check_new(path)
    np.savez_compressed(path, topic_word=model.topic_word, words=np.array(model.vocabulary.words, dtype=np.str_))
    return path


def _numbers(weights: Any) -> NDArray[np.float64]:
    """Weights of another library's model as numbers."""
    rule = "the weights of a model must be numbers"
    return shielded(lambda: np.asarray(weights, np.float64), rule, "Fit the model again.")
