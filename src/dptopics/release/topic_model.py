"""TopicModel: released topics, and their application to new texts. Public: it sees no corpus."""

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

from dptopics.core import notebook
from dptopics.core.errors import BundleError, InputError, renamed_arguments, renamed_attribute, shielded
from dptopics.core.files import Arrays, known
from dptopics.core.text import TextSettings
from dptopics.core.vocabulary import Vocabulary
from dptopics.kernels.counts import count_tokens
from dptopics.kernels.doc_topics import doc_shares
from dptopics.kernels.embedded import FULL, mean_of_words, projected
from dptopics.release.interop import OtherTools
from dptopics.release.release import Tabular, as_csv
from dptopics.release.themes import Themes
from dptopics.release.topic_sizes import DocumentSpace, TopicSizes

SURE = 3.0  # standard deviations of the noise: words below may be due to chance
_CHUNK_DOCUMENTS = 2048
_NOTHING = (np.zeros(1, np.int64),) * 3  # of texts that a model of whole texts places
_CSV_WORDS = 30
_SPACE = ("mean", "projection", "middle", "centres")


@dataclass(frozen=True, eq=False, kw_only=True)
class TopicModel(OtherTools, Tabular):
    """Topics as distributions over public words.

    ``sizes``: how many units have each topic, where counted; ``topic_share``: the weight of each topic in means over
    topics, which is not a counted size. ``noise_std``: the standard deviation of the noise in a topic's word weights.
    Topics found as clusters of embeddings have a ``space``, which assigns new documents.

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
    noise_std: NDArray[np.float64] | None = None
    sizes: TopicSizes | None = None
    shares_of: str = ""  # what topic_share is an estimate of, where it may be shown without an interval
    text: TextSettings | None = None
    space: DocumentSpace | None = None
    seeds: NDArray[np.int64] | None = None  # which row of the seed words each topic began from; −1: none
    themes: Themes | None = None  # of a public atlas, where topics are groups of them
    kind: ClassVar[str] = "topics"
    many: ClassVar[str] = "topics"

    def __repr__(self) -> str:  # not the arrays: notebooks show what they are given
        return f"<TopicModel: {self.n_topics} topics, {len(self.vocabulary)} words>"

    def _repr_html_(self) -> str:
        words = [", ".join(row) or "none above the noise" for row in self.top_words()]
        title = self.shares_of if self.sizes is None else self.sizes.title
        rows = [(str(k), *([self.shown_size(k)] if title else []), row) for k, row in enumerate(words)]
        return notebook.table(("Topic", *([title] if title else []), "Words above the noise"), rows)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a guarantee assumes if private texts are assigned with this model."""
        return () if self.text is None else self.text.assumptions

    @property
    def n_topics(self) -> int:
        """Number of topics."""
        return int(self.topic_word.shape[0])

    deviation = renamed_attribute("deviation", "noise_std")

    @renamed_arguments(min_deviations="min_z")
    def top_phrases(self, n: int = 10, *, min_z: float = SURE) -> list[list[str]]:
        """The n most relevant phrases of each topic above the noise, where texts were read with phrases."""
        return self._top(n, 0.6, min_z, phrases=True)

    @renamed_arguments(min_deviations="min_z")
    def top_words(self, n: int = 10, *, relevance: float = 0.6, min_z: float = SURE) -> list[list[str]]:
        """The n most relevant words of each topic above the noise: often fewer, for a small topic none.

        ``min_z``: words whose weight is below this many standard deviations of the noise are omitted; zero shows all.
        Relevance is ``relevance`` · log weight + (1 − ``relevance``) · log lift, the weight over the mean of all topics
        (Sievert & Shirley 2014): one ranks by weight, zero by distinctiveness.
        """
        return self._top(n, relevance, min_z, phrases=False)

    @cached_property
    def _phrases(self) -> NDArray[np.bool_]:
        """Which entries of the vocabulary are phrases. Words of a count matrix may contain blanks."""
        if self.text is None or self.text.phrases == 1:
            return np.zeros(len(self.vocabulary), bool)
        return np.array([" " in word for word in self.vocabulary.words], bool)

    @renamed_arguments(min_deviations="min_z")
    def above_noise(self, min_z: float = SURE) -> NDArray[np.bool_]:
        """Which words of each topic are above the noise, topics × words; all with any weight if it is not known."""
        floor = np.zeros(self.n_topics) if self.noise_std is None else min_z * self.noise_std
        return np.asarray((self.topic_word >= floor[:, None]) & (self.topic_word > 0))

    @property
    def shown_weights(self) -> NDArray[np.float64]:
        """The topic-word matrix for other tools, where a topic's words below the noise weigh equally."""
        above = self.above_noise()
        rest = np.where(above, 0.0, self.topic_word).sum(axis=1) / np.maximum(1, (~above).sum(axis=1))
        return np.where(above, self.topic_word, rest[:, None])

    def _top(self, n: int, relevance: float, min_z: float, *, phrases: bool) -> list[list[str]]:
        if not 0 <= relevance <= 1:
            raise InputError(f"relevance must lie between 0 and 1, got {relevance}.")
        with np.errstate(divide="ignore", invalid="ignore"):
            weight, mean = np.log(self.topic_word), np.log(self.topic_share @ self.topic_word)
            rank = np.where(self.topic_word > 0, weight - (1 - relevance) * mean, -np.inf)
        shown = self.above_noise(min_z) & (self._phrases if phrases else ~self._phrases)
        order = np.argsort(np.where(shown, -rank, np.inf), axis=1, kind="stable")[:, :n]
        return [[self.vocabulary.words[w] for w in row if shown[k, w]] for k, row in enumerate(order)]

    def transform(self, texts: Iterable[str], *, embedding: Any = None) -> NDArray[np.float64]:
        """Topic shares of new texts, one row each; equal shares for a text without known words.

        A model made with embeddings other than the built-in ones needs the same ``embedding`` again.
        """
        texts = _checked(texts)
        if self.space is not None:
            return self.space.shares(self._steps(texts, embedding))
        rows = [self._shares(*counts) for counts in self._counted(texts)]
        return np.concatenate(rows) if rows else np.empty((0, self.n_topics))

    def _counted(self, texts: Iterable[str]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]]:
        """Batches of texts as counts of known words: starts, words, counts."""
        settings, index = self.text or TextSettings(), self.vocabulary.index
        for batch in _batches(texts):
            found = [[index[w] for w in settings.words(text) if w in index] for text in batch]
            tokens = np.array([w for words in found for w in words], np.int32)
            sizes, word, count = count_tokens(tokens, np.array([len(words) for words in found], np.int64))
            yield np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]), word, count

    def assign(self, texts: Iterable[str], *, embedding: Any = None) -> NDArray[np.int64]:
        """The topic with the largest share in each text, −1 without known words: the rule of sizes and counts."""
        if self.space is not None:
            topic = self.space.nearest(self._steps(texts, embedding))
        else:
            found = [self.placed(*counts, None) for counts in self._counted(_checked(texts))]
            topic = np.concatenate([np.empty(0, np.int64), *found])
        return np.where(topic < self.n_topics, topic, -1)

    def assign_themes(self, texts: Iterable[str], *, embedding: Any = None) -> list[str]:
        """The shown theme of each text, or "everything else" of a domain: the rule of the sizes of themes."""
        if self.themes is None:
            raise InputError("these topics are not made of themes. Use assign.")
        rows = self.themes.cell_titles
        return [rows[cell] for cell in self.themes.cells(self._steps(texts, embedding)).tolist()]

    def places(self, texts: Iterable[str], *, embedding: Any = None) -> NDArray[np.float64]:
        """Unit vectors of new texts in the space of the topics; zeros without known words."""
        return self._steps(texts, embedding) / FULL

    def _steps(self, texts: Iterable[str], embedding: Any) -> NDArray[np.int16]:
        space = self.space
        if space is None:
            raise InputError("these topics are distributions over words and have no centres. Use transform.")
        if space.of_words:
            found = [self.places_of(*counts, None) for counts in self._counted(_checked(texts))]
        else:
            found = [self.places_of(*_NOTHING, raw) for raw in self._vectors(texts, embedding)]
        return np.concatenate([np.empty((0, space.middle.size), np.int16), *found])

    def places_of(
        self, doc_start: NDArray[Any], word: NDArray[Any], count: NDArray[Any], vectors: NDArray[Any] | None
    ) -> NDArray[np.int16]:
        """Unit vectors, in steps, of documents already read: each depends on its document alone."""
        space = self.space
        assert space is not None
        if space.of_words:
            assert self._word_means is not None
            return mean_of_words(doc_start, word.astype(np.int32), count, self._word_means, space.middle)
        assert vectors is not None
        return projected(vectors, space.mean, space.projection, space.middle)

    def placed(
        self, doc_start: NDArray[Any], word: NDArray[Any], count: NDArray[Any], vectors: NDArray[Any] | None
    ) -> NDArray[np.int64]:
        """As :meth:`assign`, for documents already read: one past the last topic for none.

        Each result depends on its document alone, bit for bit.
        """
        if self.space is not None:
            return self.space.nearest(self.places_of(doc_start, word, count, vectors))
        shares = self._shares(doc_start, word, count)
        return np.asarray(np.where(np.diff(doc_start) > 0, shares.argmax(axis=1), self.n_topics), np.int64)

    def reordered(self, order: NDArray[np.int64]) -> Self:
        """The same topics in another order, without their sizes."""
        return replace(
            self,
            topic_word=np.ascontiguousarray(self.topic_word[order]),
            topic_share=self.topic_share[order],
            noise_std=None if self.noise_std is None else self.noise_std[order],
            seeds=None if self.seeds is None else self.seeds[order],
            space=None if self.space is None else replace(self.space, centres=self.space.centres[order]),
            themes=None if self.themes is None else self.themes.regrouped(np.argsort(order)),
            sizes=None,
        )

    def known_words(self, texts: Iterable[str]) -> NDArray[np.int64]:
        """How many words of each text are in the vocabulary; with none, its equal shares are meaningless."""
        settings, index = self.text or TextSettings(), self.vocabulary.index
        return np.array([sum(word in index for word in settings.words(_string(text))) for text in texts], np.int64)

    def cosines(self, texts: Iterable[str], *, embedding: Any = None) -> NDArray[np.float64]:
        """Cosines of new texts with the centre of each topic, for topics that have a ``space``; zeros for no words."""
        if self._by_cosine is None:
            raise InputError("these topics are distributions over words and have no centres. Use transform.")
        return self._by_cosine.transform(texts, embedding=embedding)

    @cached_property
    def _by_cosine(self) -> "TopicModel | None":
        """The same topics, with cosines instead of shares."""
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

        def shares(first: int) -> NDArray[np.float64]:
            start = doc_start[first : first + _CHUNK_DOCUMENTS + 1]
            if self.space is not None:
                return self.space.shares(self.places_of(start, word, count, None))
            return doc_shares(start, word, count, topics, self.alpha, 50, 1e-3)

        with ThreadPoolExecutor() as pool:
            parts = list(pool.map(shares, range(0, doc_start.size - 1, _CHUNK_DOCUMENTS)))
        return np.concatenate(parts) if parts else np.empty((0, self.n_topics))

    @cached_property
    def _word_means(self) -> NDArray[np.float32] | None:
        """Each word's vector, where documents are means of words."""
        from dptopics.public.embeddings import place_words

        if self.space is None or not self.space.of_words:
            return None
        language = "english" if self.text is None else self.text.language
        return place_words(self.vocabulary, self.space.embedding, language, self.space.mean, self.space.projection)

    def _vectors(self, texts: Iterable[str], embedding: Any) -> Iterator[NDArray[np.float32]]:
        """Batches of texts as the public model's own vectors."""
        from dptopics.public.embeddings import embedding as public_model

        assert self.space is not None
        space = self.space
        if embedding is None and self.space.embedding.startswith("a "):
            raise InputError(f"these topics were made with {self.space.embedding}: pass the same model as embedding=.")
        model = public_model(self.space.embedding if embedding is None else embedding)
        for batch in _batches(_checked(texts)):
            raw = model(batch)
            if raw.shape[1] != space.mean.size:
                raise InputError(
                    f"this embedding has {raw.shape[1]} dimensions, the topics need {space.mean.size}: it is another "
                    "model."
                )
            yield raw

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Topics, their shares and noise, and their centres in the space of a public model."""
        space = {} if self.space is None else {f"space_{name}": getattr(self.space, name) for name in _SPACE}
        own = known(topic_word=self.topic_word, topic_share=self.topic_share, noise_std=self.noise_std,
                    seeds=self.seeds)  # fmt: skip
        themes = {} if self.themes is None else self.themes.arrays()
        return own | space | themes | ({} if self.sizes is None else self.sizes.arrays())

    def fields(self) -> dict[str, Any]:
        """The prior, how texts were read, and the public model."""
        space: dict[str, Any] = {}
        if self.space is not None:
            space = {"embedding": self.space.embedding, "of_words": self.space.of_words}
        if self.sizes is not None:
            space["sizes_of"] = self.sizes.unit
        if self.shares_of:
            space["shares_of"] = self.shares_of
        if self.themes is not None:
            space["themes"] = self.themes.fields()
        return {"alpha": self.alpha, **space, "text": None if self.text is None else self.text.to_dict()}

    @classmethod
    def restored(cls, vocabulary: Vocabulary, arrays: Arrays, fields: Mapping[str, Any]) -> Self:
        """From a bundle."""
        if arrays["topic_word"].shape != (arrays["topic_share"].size, len(vocabulary)):
            raise BundleError("topics and vocabulary do not match.")
        space = None
        if "embedding" in fields:
            placed: dict[str, Any] = {name: arrays[f"space_{name}"] for name in _SPACE}
            space = DocumentSpace(embedding=str(fields["embedding"]), of_words=bool(fields["of_words"]), **placed)
        sizes = None
        if "size" in arrays:
            sizes = TopicSizes(noisy=arrays["size"], noise=arrays["size_noise"], unit=str(fields["sizes_of"]))
        return cls(
            topic_word=arrays["topic_word"],
            vocabulary=vocabulary,
            topic_share=arrays["topic_share"],
            alpha=float(fields["alpha"]),
            noise_std=arrays.get("noise_std"),
            sizes=sizes,
            shares_of=str(fields.get("shares_of", "")),
            seeds=arrays.get("seeds"),
            text=None if fields["text"] is None else TextSettings.from_dict(fields["text"]),
            space=space,
            themes=Themes.restored(arrays, fields["themes"]) if "themes" in fields else None,
        )

    def shown_size(self, topic: int) -> str:
        """The size of a topic as text: with an interval where it was counted, "" where it is not known."""
        if self.sizes is not None:
            return self.sizes.of(topic)
        return f"{self.topic_share[topic]:.1%}" if self.shares_of else ""

    def tables(self) -> dict[str, str]:
        """The words of each topic above the noise, its phrases and its size, where there are any."""
        lines: list[tuple[object, ...]] = []
        for topic, words in enumerate(self.top_words(_CSV_WORDS)):
            noise_std = "" if self.noise_std is None else f"{self.noise_std[topic]:.3g}"
            for rank, word in enumerate(words, start=1):
                weight = self.topic_word[topic, self.vocabulary.index[word]]
                lines.append((topic, rank, word, f"{weight:.6f}", noise_std))
        found = {"topics.csv": as_csv(("topic", "rank", "word", "weight", "noise_std"), lines)}
        phrases = self.top_phrases(_CSV_WORDS)
        if any(phrases):
            listed = [(topic, rank, phrase) for topic, row in enumerate(phrases) for rank, phrase in enumerate(row, 1)]
            found["phrases.csv"] = as_csv(("topic", "rank", "phrase"), listed)
        if self.sizes is not None:
            found["sizes.csv"] = as_csv(("topic", f"{self.sizes.unit}s", "low", "high"), self.sizes.rows())
        if self.themes is not None:
            rows = [(r.name, r.domain, "" if r.topic is None else r.topic, *r.size.rounded) for r in self.themes.rows()]
            heads = ("theme", "domain", "topic", f"{self.themes.unit}s", "low", "high")
            found["themes.csv"] = as_csv(heads, rows)
        return found

    def summary(self) -> list[str]:
        """Words above the noise."""
        first = "Words at least three standard deviations above the noise:"
        if self.noise_std is None:
            first = "The heaviest words. The noise level is not known, so any of them may be due to chance:"
        rows = [", ".join(row) or "(none: this topic is mostly noise)" for row in self.top_words(10)]
        return [
            first,
            *(f"Topic {k}: {row}" for k, row in enumerate(rows)),
            "",
            *([] if self.sizes is None else [f"sizes.csv: {self.sizes.unit}s of each topic. {self.sizes.note}"]),
            *([] if self.themes is None else [f"themes.csv: {self.themes.unit}s of each theme. {self.themes.note}"]),
            "topics.csv: more of these words, with weights. topics.npz: the whole topic-word matrix (NumPy), most of "
            "which is below the noise.",
        ]

    def columns(self) -> dict[str, Any]:
        """Topic, word, weight, standard deviation of the noise: for the words above the noise."""
        topic, word = np.nonzero(self.above_noise())
        return {
            "topic": topic.astype(np.int32),
            "word": [self.vocabulary.words[w] for w in word.tolist()],
            "weight": self.topic_word[topic, word],
            "noise_std": [None] * topic.size if self.noise_std is None else self.noise_std[topic],
        }

    def summary_json(self, n: int, *, min_z: float = SURE) -> dict[str, Any]:
        """Topics with their sizes and n most relevant words; how many are three standard deviations above the noise."""
        sure, phrases = self.top_words(n), self.top_phrases(n)
        rows = enumerate(self.top_words(n, min_z=min_z))
        return {
            "topics": [
                {
                    **({} if self.sizes is None else {"size": self.sizes.estimate(k)._asdict()}),
                    **({"share": float(self.topic_share[k])} if self.shares_of else {}),
                    "words": row,
                    "above_noise": sum(word in sure[k] for word in row),
                    **({"phrases": phrases[k]} if any(phrases) else {}),
                }
                for k, row in rows
            ],
            **({} if self.sizes is None else {"sizes": self.sizes.to_dict()}),
            **({} if self.themes is None else {"themes": self.themes.to_dict()}),
        }

    def report(self, path: str | Path, *, audit: str | Path | None = None) -> Path:
        """Write the topics as one HTML page, without a guarantee: that comes with the release."""
        from dptopics.release import report

        return report.write(self, path, audit=None if audit is None else report.read_audit(audit))


def _checked(texts: Any) -> Any:
    if isinstance(texts, str):
        raise InputError("texts must be a list of strings, one per document, got a single string.")
    if hasattr(texts, "columns"):
        raise InputError(f"texts must be a list or one column of strings, got {type(texts).__name__}.")
    return texts


def fingerprint(topic_word: NDArray[np.float64], words: Sequence[str]) -> str:
    """Identifies a model: a hash of its words and weights."""
    weights = np.ascontiguousarray(topic_word, np.float64).tobytes()
    return sha256(json.dumps(list(words)).encode() + weights).hexdigest()


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """Of a stream whose exceptions may quote data."""
    told = "the texts cannot be read", "Give a list or one column of strings."
    stream = shielded(lambda: iter(texts), *told)
    while batch := shielded(lambda: list(islice(stream, _CHUNK_DOCUMENTS)), *told):
        yield [_string(text) for text in batch]


def _string(text: object) -> str:
    if not isinstance(text, str):
        raise InputError(f"a text must be a string, got {type(text).__name__}. Fill in or drop missing texts first.")
    return text
