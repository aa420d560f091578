"""TopicModel: released topics, what they say and what they say about new texts. Public: never sees a corpus."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dptopics import notebook
from dptopics.errors import BundleError, InputError, shielded
from dptopics.kernels.counts import count_tokens
from dptopics.kernels.doc_topics import doc_shares
from dptopics.kernels.embedded import mean_of_words, projected
from dptopics.public.text import TextSettings
from dptopics.release.document_space import DocumentSpace
from dptopics.release.saved import Arrays, known
from dptopics.release.vocabulary import Vocabulary

SURE = 3.0  # standard deviations of the noise: words below may be there by chance
_CHUNK_DOCUMENTS = 2048
_CSV_WORDS = 30
_SPACE = ("mean", "projection", "middle", "centres")


@dataclass(frozen=True, eq=False, kw_only=True)
class TopicModel:
    """Topics as distributions over public words.

    ``topic_share`` is the noisy relative size of each topic; ``deviation`` the standard deviation of a topic's word
    weights that comes from the noise, known because the noise is ours. Topics that were found as clusters of embeddings
    come with their ``space``, and new documents are then told by it.

    >>> model = TopicModel(
    ...     topic_word=np.array([[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]]), topic_share=np.array([0.5, 0.5]),
    ...     vocabulary=Vocabulary.of(["asthma", "clinic", "skin"]), alpha=0.1, text=TextSettings())
    >>> model.top_words(1)
    [['asthma'], ['skin']]
    >>> model.transform(["My asthma is worse. Asthma at night!"]).round(1)
    array([[1., 0.]])
    """

    topic_word: NDArray[np.float64]
    vocabulary: Vocabulary
    topic_share: NDArray[np.float64]
    alpha: float
    deviation: NDArray[np.float64] | None = None
    share_deviation: NDArray[np.float64] | None = None  # what the noise does to topic_share, where that is known
    text: TextSettings | None = None
    space: DocumentSpace | None = None
    seeds: NDArray[np.int64] | None = None  # which row of the seed words each topic began from; −1: none
    kind: ClassVar[str] = "topics"
    many: ClassVar[str] = "topics"

    def __repr__(self) -> str:  # not the arrays: notebooks show what they are given
        return f"<TopicModel: {self.n_topics} topics, {len(self.vocabulary)} words>"

    def _repr_html_(self) -> str:
        words = [", ".join(row) or "none above the noise" for row in self.top_words()]
        rows = [(str(k), f"{self.topic_share[k]:.0%}", row) for k, row in enumerate(words)]
        return notebook.table(("Topic", "Share", "Words above the noise"), rows)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a guarantee assumes if private texts are told by this model."""
        return () if self.text is None else self.text.assumptions

    @property
    def n_topics(self) -> int:
        """Number of topics."""
        return int(self.topic_word.shape[0])

    def top_phrases(self, n: int = 10, *, min_deviations: float = SURE) -> list[list[str]]:
        """The n most relevant phrases of each topic that stand above the noise, where texts were read with phrases."""
        return self._top(n, 0.6, min_deviations, phrases=True)

    def top_words(self, n: int = 10, *, relevance: float = 0.6, min_deviations: float = SURE) -> list[list[str]]:
        """The n most relevant words of each topic that stand above the noise: often fewer, for a small topic none.

        ``min_deviations``: words are left out whose weight is below so many standard deviations of the noise; zero
        shows all. Relevance is ``relevance`` · log weight + (1 − ``relevance``) · log lift, the weight over the mean of
        all topics (Sievert & Shirley 2014): one ranks by weight, zero by what sets the topic apart.
        """
        return self._top(n, relevance, min_deviations, phrases=False)

    @cached_property
    def _phrases(self) -> NDArray[np.bool_]:
        """Which entries of the vocabulary are phrases. Words of a count matrix may hold blanks, and are words."""
        if self.text is None or self.text.phrases == 1:
            return np.zeros(len(self.vocabulary), bool)
        return np.array([" " in word for word in self.vocabulary.words], bool)

    def _top(self, n: int, relevance: float, min_deviations: float, *, phrases: bool) -> list[list[str]]:
        if not 0 <= relevance <= 1:
            raise InputError(f"relevance must lie between 0 and 1, got {relevance}.")
        with np.errstate(divide="ignore", invalid="ignore"):
            weight, mean = np.log(self.topic_word), np.log(self.topic_share @ self.topic_word)
            rank = np.where(self.topic_word > 0, weight - (1 - relevance) * mean, -np.inf)
        floor = np.zeros(self.n_topics) if self.deviation is None else min_deviations * self.deviation
        shown = (self.topic_word >= floor[:, None]) & (self._phrases if phrases else ~self._phrases)
        order = np.argsort(np.where(shown, -rank, np.inf), axis=1, kind="stable")[:, :n]
        return [[self.vocabulary.words[w] for w in row if shown[k, w]] for k, row in enumerate(order)]

    def transform(self, texts: Iterable[str], *, embedding: Any = None) -> NDArray[np.float64]:
        """Topic shares of new texts, one row each. A text without known words gets equal shares.

        A model that was made with embeddings other than the built-in ones needs the same ``embedding`` again.
        """
        if isinstance(texts, str):
            raise InputError("texts must be a list of strings, one per document, got a single string.")
        if hasattr(texts, "columns"):
            raise InputError(f"texts must be a list or one column of strings, got {type(texts).__name__}.")
        if self.space is not None and not self.space.of_words:
            return self._embedded_shares(texts, embedding)
        settings = self.text or TextSettings()
        index = self.vocabulary.index
        rows = []
        texts = _stream(texts)
        while batch := _next(texts):
            found = [[index[w] for w in settings.words(_string(text)) if w in index] for text in batch]
            tokens = np.array([w for words in found for w in words], np.int32)
            sizes, word, count = count_tokens(tokens, np.array([len(words) for words in found], np.int64))
            rows.append(self._shares(np.concatenate([[0], np.cumsum(sizes)]), word, count))
        return np.concatenate(rows) if rows else np.empty((0, self.n_topics))

    def known_words(self, texts: Iterable[str]) -> NDArray[np.int64]:
        """How many words of each text are in the vocabulary. Of a text with none, equal shares say nothing."""
        settings, index = self.text or TextSettings(), self.vocabulary.index
        return np.array([sum(word in index for word in settings.words(_string(text))) for text in texts], np.int64)

    def cosines(self, texts: Iterable[str], *, embedding: Any = None) -> NDArray[np.float64]:
        """Cosines of new texts with the centre of each topic, for topics that have a ``space``; zeros for no words."""
        if self._by_cosine is None:
            raise InputError("these topics are distributions over words, without centres. Use transform.")
        return self._by_cosine.transform(texts, embedding=embedding)

    @cached_property
    def _by_cosine(self) -> "TopicModel | None":
        """The same topics, to be asked for cosines instead of shares."""
        return None if self.space is None else replace(self, space=replace(self.space, sharpness=None))

    def transform_counts(self, counts: Any) -> NDArray[np.float64]:
        """Topic shares from a documents × words count matrix whose columns are this model's vocabulary."""
        from scipy import sparse

        rule = "counts must be a matrix of numbers, one row per document and one column per word"
        matrix = shielded(lambda: sparse.csr_array(counts), rule, "Convert them first.")
        if matrix.dtype.kind not in "biuf":
            raise InputError(f"{rule}.")
        if matrix.ndim != 2 or matrix.shape[1] != len(self.vocabulary):
            raise InputError(
                f"counts must be a matrix with {len(self.vocabulary)} columns, one for each word of the vocabulary, "
                f"got shape {matrix.shape}."
            )
        if not np.all((matrix.data >= 0) & (matrix.data < np.inf)):
            raise InputError("counts must not be negative, infinite or NaN.")
        return self._shares(matrix.indptr, matrix.indices, matrix.data)

    def _shares(self, doc_start: NDArray[Any], word: NDArray[Any], count: NDArray[Any]) -> NDArray[np.float64]:
        doc_start, word = doc_start.astype(np.int64), word.astype(np.int32)
        count, topics = count.astype(np.float64), np.ascontiguousarray(self.topic_word.T)
        space, means = self.space, self._word_means

        def shares(first: int) -> NDArray[np.float64]:
            start = doc_start[first : first + _CHUNK_DOCUMENTS + 1]
            if space is None or means is None:
                return doc_shares(start, word, count, topics, self.alpha, 50, 1e-3)
            return space.shares(mean_of_words(start, word, count, means, space.middle))

        with ThreadPoolExecutor() as pool:
            parts = list(pool.map(shares, range(0, doc_start.size - 1, _CHUNK_DOCUMENTS)))
        return np.concatenate(parts) if parts else np.empty((0, self.n_topics))

    @cached_property
    def _word_means(self) -> NDArray[np.float32] | None:
        """Each word's part in the mean of a document, where documents are means of words."""
        from dptopics.public.embeddings import place_words

        if self.space is None or not self.space.of_words:
            return None
        language = "english" if self.text is None else self.text.language
        return place_words(self.vocabulary, self.space.embedding, language, self.space.mean, self.space.projection)

    def _embedded_shares(self, texts: Iterable[str], embedding: Any) -> NDArray[np.float64]:
        from dptopics.public.embeddings import embedding as public_model

        assert self.space is not None
        space = self.space
        if embedding is None and self.space.embedding.startswith("a "):
            raise InputError(f"these topics were made with {self.space.embedding}: pass the same model as embedding=.")
        model = public_model(self.space.embedding if embedding is None else embedding)
        rows = []
        texts = _stream(texts)
        while batch := [_string(text) for text in _next(texts)]:
            raw = model(batch)
            if raw.shape[1] != space.mean.size:
                raise InputError(
                    f"this embedding has {raw.shape[1]} numbers for each text, the topics need {space.mean.size}: "
                    "it is another model."
                )
            rows.append(space.shares(projected(raw, space.mean, space.projection, space.middle)))
        return np.concatenate(rows) if rows else np.empty((0, self.n_topics))

    def to_arrow(self) -> Any:
        """All weights as an Arrow table: topic, word, weight, standard deviation of the noise, share of the topic."""
        from dptopics.release import interop

        return interop.to_arrow(self)

    def to_pandas(self) -> Any:
        """All weights as a pandas frame, see :meth:`to_arrow`."""
        from dptopics.release import interop

        return interop.to_pandas(self)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Topics, their shares and noise, and their place in the space of a public model."""
        space = {} if self.space is None else {f"space_{name}": getattr(self.space, name) for name in _SPACE}
        own = known(topic_word=self.topic_word, topic_share=self.topic_share, deviation=self.deviation,
                    share_deviation=self.share_deviation, seeds=self.seeds)  # fmt: skip
        return own | space

    def fields(self) -> dict[str, Any]:
        """The prior, how texts were read, and the public model."""
        space = {} if self.space is None else {"embedding": self.space.embedding, "of_words": self.space.of_words}
        return {"alpha": self.alpha, **space, "text": None if self.text is None else self.text.to_dict()}

    @classmethod
    def restored(cls, vocabulary: Vocabulary, arrays: Arrays, fields: Mapping[str, Any]) -> Self:
        """From a bundle."""
        if arrays["topic_word"].shape != (arrays["topic_share"].size, len(vocabulary)):
            raise BundleError("topics and vocabulary do not fit together.")
        space = None
        if "embedding" in fields:
            placed: dict[str, Any] = {name: arrays[f"space_{name}"] for name in _SPACE}
            space = DocumentSpace(embedding=str(fields["embedding"]), of_words=bool(fields["of_words"]), **placed)
        return cls(
            topic_word=arrays["topic_word"],
            vocabulary=vocabulary,
            topic_share=arrays["topic_share"],
            alpha=float(fields["alpha"]),
            deviation=arrays.get("deviation"),
            share_deviation=arrays.get("share_deviation"),
            seeds=arrays.get("seeds"),
            text=None if fields["text"] is None else TextSettings.from_dict(fields["text"]),
            space=space,
        )

    def tables(self) -> dict[str, str]:
        """The words of each topic that stand above the noise."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["topic", "share", "rank", "word", "weight", "noise_deviation"])
        for topic, words in enumerate(self.top_words(_CSV_WORDS)):
            deviation = "" if self.deviation is None else f"{self.deviation[topic]:.3g}"
            for rank, word in enumerate(words, start=1):
                weight = self.topic_word[topic, self.vocabulary.index[word]]
                writer.writerow([topic, f"{self.topic_share[topic]:.4f}", rank, word, f"{weight:.6f}", deviation])
        phrases = self.top_phrases(_CSV_WORDS)
        if not any(phrases):
            return {"topics.csv": out.getvalue()}
        more = io.StringIO()
        lines = [(topic, rank, phrase) for topic, row in enumerate(phrases) for rank, phrase in enumerate(row, 1)]
        csv.writer(more, lineterminator="\n").writerows([("topic", "rank", "phrase"), *lines])
        return {"topics.csv": out.getvalue(), "phrases.csv": more.getvalue()}

    def summary(self) -> list[str]:
        """Words that stand out of the noise."""
        known = self.deviation is not None
        return [
            "Words that stand out of the noise by three standard deviations or more:"
            if known
            else "The heaviest words. How far the noise reaches is not known, so any of them may be there by chance:",
            *(
                f"Topic {k}: {', '.join(row) or '(none: this topic is mostly noise)'}"
                for k, row in enumerate(self.top_words(10))
            ),
            "",
            "topics.csv: more of these words, with weights. topics.npz: the whole topic-word matrix (NumPy).",
        ]

    def columns(self) -> dict[str, Any]:
        """Topic, word, weight, standard deviation, share of the topic."""
        n, size = self.n_topics, len(self.vocabulary)
        return {
            "topic": np.repeat(np.arange(n, dtype=np.int32), size),
            "word": list(self.vocabulary.words) * n,
            "weight": self.topic_word.ravel(),
            "deviation": [None] * (n * size) if self.deviation is None else np.repeat(self.deviation, size),
            "topic_share": np.repeat(self.topic_share, size),
        }

    def shown(self, n: int, *, min_deviations: float = SURE) -> dict[str, Any]:
        """Topics with their n most relevant words above the noise, and how many of these are so by three deviations."""
        sure, phrases = self.top_words(n), self.top_phrases(n)
        rows = enumerate(self.top_words(n, min_deviations=min_deviations))
        return {
            "topics": [
                {
                    "share": float(self.topic_share[k]),
                    "words": row,
                    "above_noise": sum(word in sure[k] for word in row),
                    **({"phrases": phrases[k]} if any(phrases) else {}),
                }
                for k, row in rows
            ]
        }

    def to_gensim(self) -> Any:
        """The topics as a gensim LdaModel, see :func:`dptopics.release.interop.to_gensim`."""
        from dptopics.release import interop

        return interop.to_gensim(self)

    def pyldavis_inputs(self) -> dict[str, Any]:
        """Arguments of ``pyLDAvis.prepare``, see :func:`dptopics.release.interop.pyldavis_inputs`."""
        from dptopics.release import interop

        return interop.pyldavis_inputs(self)

    @staticmethod
    def from_sklearn(estimator: Any, words: Any) -> "TopicModel":
        """Topics of a fitted scikit-learn model, see :func:`dptopics.release.interop.from_sklearn`."""
        from dptopics.release import interop

        return interop.from_sklearn(estimator, words)

    @staticmethod
    def from_gensim(model: Any) -> "TopicModel":
        """Topics of a gensim model, see :func:`dptopics.release.interop.from_gensim`."""
        from dptopics.release import interop

        return interop.from_gensim(model)

    @staticmethod
    def from_tomotopy(model: Any) -> "TopicModel":
        """Topics of a tomotopy model, see :func:`dptopics.release.interop.from_tomotopy`."""
        from dptopics.release import interop

        return interop.from_tomotopy(model)

    @staticmethod
    def from_bertopic(model: Any) -> "TopicModel":
        """Topics of a BERTopic model, see :func:`dptopics.release.interop.from_bertopic`."""
        from dptopics.release import interop

        return interop.from_bertopic(model)

    def report(self, path: str | Path, *, audit: str | Path | None = None) -> Path:
        """Write the topics as one HTML page. It promises nothing: give the release for its guarantee."""
        from dptopics.release import report

        return report.write(self, path, audit=None if audit is None else report.read_audit(audit))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The model of a saved release."""
        from dptopics.release.bundle import load

        return load(path).value_of(cls)


def fingerprint(topic_word: NDArray[np.float64], words: Sequence[str]) -> str:
    """Tells one model from another: a hash of its words and weights."""
    weights = np.ascontiguousarray(topic_word, np.float64).tobytes()
    return sha256(json.dumps(list(words)).encode() + weights).hexdigest()


_UNREAD = "the texts cannot be read", "Give a list or one column of strings."


def _stream(texts: Iterable[str]) -> Iterator[str]:
    return shielded(lambda: iter(texts), *_UNREAD)


def _next(texts: Iterator[str]) -> list[str]:
    """The next texts of what may be the owner's own stream, whose exceptions may quote data."""
    return shielded(lambda: list(islice(texts, _CHUNK_DOCUMENTS)), *_UNREAD)


def _string(text: object) -> str:
    if not isinstance(text, str):
        raise InputError(f"a text must be a string, got {type(text).__name__}. Fill in or drop missing texts first.")
    return text
