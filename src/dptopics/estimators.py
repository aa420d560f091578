"""PrivateTopics: the scikit-learn face."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from dptopics.core.errors import InputError, PrivacyWarning, renamed_arguments
from dptopics.core.progress import shown
from dptopics.core.text import TextSettings
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.bounded import BoundedCorpus
from dptopics.data.builder import as_list
from dptopics.data.corpus import Corpus
from dptopics.data.engines.spark import SparkTable
from dptopics.data.estimator_input import (
    EstimatorData,
    check_no_labels,
    counts_of,
    data_of,
    is_texts,
    numbered,
    one_column,
    spark_data_of,
    texts_of,
)
from dptopics.data.public_inputs import PublicInput
from dptopics.ledger.ledger import Ledger
from dptopics.mechanisms.mechanism import Job
from dptopics.plan import Plan, usual_mechanism
from dptopics.preview import Preview, expected
from dptopics.privacy.guarantee import Unit
from dptopics.public.embeddings import Embedding
from dptopics.public.embeddings import embedding as public_model
from dptopics.publishing import as_planned, publish
from dptopics.registry import mechanism_class
from dptopics.release import bundle
from dptopics.release.labels import Labels, Name, label
from dptopics.release.topic_model import SURE, TopicModel

_MANY_CLONES = 3
_OF_PLAN = ("n_topics", "epsilon", "delta", "vocabulary_share", "vocabulary_epsilon", "max_words", "max_vocabulary",
            "max_docs", "noise")  # fmt: skip
_AGAIN = (
    "This model, or a clone of it, is being {what}. Every fit spends the budget again, also in a search over settings; "
    "the guarantee of one fit does not cover the others. Use ledger= to keep count."
)


_NO_AUTHORS = (
    "No authors were given, so each document is protected separately: somebody with several documents is protected "
    "less. Pass authors=, or unit='document' if that is what you want."
)


class PrivateTopics(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Topics that may be published: a differentially private topic model of texts or word counts.

    Every ``fit`` is a release and spends (ε, δ) again, also that of a clone: a search over settings on private data
    spends budget at every fit. Give a ``ledger`` to keep count.

    Parameters
    ----------
    n_topics : number of topics at most, or "auto": as many as the data support (mechanism "embedded").
    epsilon, delta : the guarantee of this release, vocabulary included.
    unit : "author" or "document"; by default author if authors are given.
    mechanism : how topics are learned, see ``dptopics mechanisms``. By default "embedded" for English texts if
        ``dptopics[embeddings]`` is installed, else "mixture".
    vocabulary : "weighted", "count", "policy" or "greedy" (chosen privately), "common" (public words of the language),
        "common+weighted" (those, and others chosen privately), ``Vocabulary.public(words)`` for words of which you say
        that they were public before, the path of a file of such words, or "public" for a count matrix whose columns are
        public. By default "common+weighted" for mechanism "embedded", else "weighted".
    embedding : public model for mechanism "embedded": None for built-in word vectors, a callable from texts to vectors,
        a sentence-transformers or model2vec model, or the name of one (:func:`dptopics.public.embeddings.embedding`).
    noise : noise of the private vocabulary, "gaussian" or "laplace"; by default Gaussian ("greedy": Laplace).
    vocabulary_share : share of the budget for the vocabulary; by default 0.4, beside common words 0.1.
    vocabulary_epsilon : ε₁ of a private vocabulary, instead of a share; topics have ε₂ = epsilon − ε₁.
    max_vocabulary : keep at most so many words, those of the highest noisy weight.
    max_docs : documents kept per author.
    max_words : distinct words that each unit may propose for the vocabulary.
    settings : other settings of the mechanism, by name: steps (rounds of learning); for "output" and "mvg" gamma (the
        chance that ε does not hold), learner (a name or a learner), public (the public Corpus that neighbours are drawn
        from), sample_size, calibration, post ("simplex", "clip" or "none"), sensitivity (a file that keeps a sampled
        one) and, for "output", top; for "spectral" alpha0, and for "spectral-1" to "spectral-4" shares and
        sensitivities too.
    text : the language of the texts, or how they become words (TextSettings). A Corpus has its own settings.
    engine : a Spark session, to fit a DataFrame, Parquet files or a table on its cluster: docs/howto/spark.md.
    ledger : a Ledger or its path; without one the release is priced alone.
    accept_unproven : allow mechanisms whose guarantee is not proved.
    progress : show how far the work is, in percent, on standard error.
    random_state : None for cryptographic randomness. A seed makes the release reproducible and *not private*.

    >>> texts = ["knee pain after a run", "my knee hurts when I run", "new glasses for reading", "my eyes need glasses"]
    >>> words = Vocabulary.public(["knee", "run", "eyes", "glasses"])
    >>> model = PrivateTopics(n_topics=2, epsilon=50, vocabulary=words)
    >>> model.fit(texts * 50, authors=range(200)).transform(["glasses"]).shape
    (1, 2)
    >>> model.guarantee_.unit, str(model.guarantee_.strength)
    (<Unit.AUTHOR: 'author'>, 'proved')
    """

    def __init__(
        self,
        n_topics: int | str = 10,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        unit: str | None = None,
        mechanism: str | None = None,
        vocabulary: str | Path | Vocabulary | None = None,
        embedding: Any = None,
        noise: str | None = None,
        vocabulary_share: float | None = None,
        vocabulary_epsilon: float | None = None,
        max_vocabulary: int | None = None,
        max_docs: int | None = None,
        max_words: int = 200,
        settings: Mapping[str, Any] | None = None,
        text: str | TextSettings = "english",
        engine: Any = None,
        ledger: Ledger | str | Path | None = None,
        accept_unproven: bool = False,
        progress: bool = False,
        random_state: int | Generator | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.epsilon = epsilon
        self.delta = delta
        self.unit = unit
        self.mechanism = mechanism
        self.vocabulary = vocabulary
        self.embedding = embedding
        self.noise = noise
        self.vocabulary_share = vocabulary_share
        self.vocabulary_epsilon = vocabulary_epsilon
        self.max_vocabulary = max_vocabulary
        self.max_docs = max_docs
        self.max_words = max_words
        self.settings = settings
        self.text = text
        self.engine = engine
        self.ledger = ledger
        self.accept_unproven = accept_unproven
        self.progress = progress
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        authors: str | Iterable[str | int] | None = None,
        embeddings: Any = None,
        text: str | None = None,
        feature_names: Sequence[str] | None = None,
        drop_missing: bool = False,
        author_is: Iterable[str] = (),
    ) -> Self:
        """Release topics of X: texts, a table, a documents × words count matrix, or a Corpus. Spends budget.

        Of a table (pandas, Polars, Arrow, or a file) name the columns: ``fit(frame, text="note", authors="patient")``.
        ``drop_missing`` leaves out rows without text or author; placeholders such as "unknown" are no authors, but for
        those that ``author_is`` lists. ``y`` is there for pipelines, and ignored.

        ``embeddings``: the documents' vectors by ``embedding``, if they were computed already, one row each and each
        from its own text alone. ``feature_names``: the words of a count matrix that has no names of columns. Without
        names its columns must be public (vocabulary="public"): which ones a fitted vectorizer has is private. Each row
        must be counted from its own document alone: no min_df, max_df or max_features.
        On Spark X is a DataFrame, the path of Parquet files, the name of a table or a SparkTable; ``text``, ``authors``
        and ``embeddings`` are the names of its columns.
        """
        self._feature_names = feature_names
        rows: dict[str, Any] = {"drop_missing": drop_missing, "author_is": tuple(author_is)}
        X, authors = one_column(as_list(X)), as_list(authors)
        if self._on_spark(X):
            data = spark_data_of(X, text, authors, embeddings, session=self.engine, settings=self._text(), **rows)
        elif drop_missing and embeddings is not None:
            raise InputError("rows that are dropped have embeddings too. Leave out drop_missing, and such rows.")
        else:
            data = self._data(X, text, authors, **rows)
        name = self.mechanism or usual_mechanism(data.text)
        model = self._embedding(name, data.with_vectors or embeddings is not None, data.text)
        if data.on_spark and model is not None and not model.of_words and not data.with_vectors:
            raise InputError("on Spark, embeddings come from a column: embed the texts there, name it (embeddings=).")
        unit = data.unit if self.unit is None else Unit(self.unit)
        plan = self._plan(name, data.text, unit, data.vocabulary, model, X)
        if unit is Unit.DOCUMENT and self.unit is None:
            check_no_labels(y)
            warnings.warn(_NO_AUTHORS, PrivacyWarning, stacklevel=2)
        rng = self._rng()
        self._count_fit()

        def read(plan: Plan) -> BoundedCorpus:
            computed = embeddings is not None and not data.on_spark
            embed = None if model is None or model.of_words or computed or data.on_spark else model
            table = data.read(embed)
            table = table.with_vectors(embeddings) if computed and isinstance(table, Corpus) else table
            return as_planned(table, plan)

        self.release_ = publish(
            plan,
            read,
            ledger=self.ledger,
            accept_unproven=self.accept_unproven,
            rng=rng,
            sensitivity=(self.settings or {}).get("sensitivity"),
            phase=shown if self.progress else lambda title: nullcontext(),
        )
        self.plan_ = plan
        self.text_column_ = text
        self.model_: TopicModel = self.release_.value
        self.guarantee_ = self.release_.guarantee
        self.components_ = self.model_.topic_word
        self.vocabulary_ = self.model_.vocabulary.words
        self.topic_share_ = self.model_.topic_share
        self.topic_sizes_ = self.model_.sizes
        self.n_topics_ = self.model_.n_topics
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Topic shares of each document of X (texts, a frame, or counts; the last two with the columns seen in fit)."""
        check_is_fitted(self)
        if getattr(self, "text_column_", None) is not None and hasattr(X, "columns"):
            X = texts_of(X, str(self.text_column_))
        if isinstance(X, Corpus):
            raise InputError("transform needs texts, a table or counts, got a Corpus. Give the texts themselves.")
        X = one_column(as_list(X))
        if is_texts(X):
            return self.model_.transform(X, embedding=self.embedding)
        matrix = counts_of(self, X, reset=False)
        columns = {name: i for i, name in enumerate(self._names(matrix) or numbered(matrix))}
        known = [columns.get(word, -1) for word in self.vocabulary_]
        if -1 in known:
            raise InputError(
                "this model was fitted on texts: give texts to transform, or a matrix to model_.transform_counts."
            )
        return self.model_.transform_counts(matrix[:, known])

    @renamed_arguments(min_deviations="min_z")
    def top_words(self, n: int = 10, *, min_z: float = SURE) -> list[list[str]]:
        """The n most relevant words of each topic that stand above the noise; ``min_z=0`` for all."""
        check_is_fitted(self)
        return self.model_.top_words(n, min_z=min_z)

    def preview(self, people: int) -> Preview:
        """What to expect of so many units, from the settings alone: nothing is read, and nothing is spent."""
        name, unit = self.mechanism or usual_mechanism(self._text()), Unit(self.unit or Unit.AUTHOR)
        plan = self._plan(name, self._text(), unit, None, self._embedding(name, False, self._text()), None)
        return expected(plan, people)

    def label(self, by: str | Name | None = None, **how: Any) -> Labels:
        """Names of the topics, from the release alone: see :func:`dptopics.release.labels.label`."""
        check_is_fitted(self)
        return label(self.release_, by=by, **how)

    def to_pandas(self) -> Any:
        """Topic, word, weight and noise of the words above the noise, as a frame."""
        check_is_fitted(self)
        return self.model_.to_pandas()

    def save(self, path: str | Path) -> Path:
        """Write the release as a bundle that may be published."""
        check_is_fitted(self)
        return bundle.save(self.release_, path)

    def report(self, path: str | Path, *, audit: str | Path | None = None) -> Path:
        """Write the release as one HTML page: topics, words with error bars, guarantee, the ledger if there is one.

        With the folder of an ``audit`` the page shows it as well, and is marked as not for release.
        """
        from dptopics.release import report

        check_is_fitted(self)
        ledger = Ledger.open(self.ledger) if isinstance(self.ledger, str | Path) else self.ledger
        account = None if ledger is None else ledger.to_dict()
        found = None if audit is None else report.read_audit(audit)
        return report.write(self.release_, path, ledger=account, audit=found)

    def _html_repr(self) -> str:
        """In a notebook: settings before fit (as scikit-learn shows them), topics and guarantee after it."""
        return self.release_._repr_html_() if hasattr(self, "release_") else str(super()._html_repr())

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def _plan(
        self,
        name: str,
        text: TextSettings | None,
        unit: Unit,
        known: Vocabulary | None,
        model: Embedding | None,
        X: Any,
    ) -> Plan:
        own: dict[str, Any] = {name: getattr(self, name) for name in _OF_PLAN}
        own |= {"mechanism": name, "text": text, "unit": unit, "vocabulary": self._vocabulary(known)}
        return Plan.topics(**own, embedding=model, **self._settings(X, unit))

    def _embedding(self, mechanism: str, computed: bool, text: TextSettings | None) -> Embedding | None:
        kinds = [mechanism_class(Job.TOPICS, part.strip()) for part in mechanism.split(",")]
        if not any("embedding" in kind.accepts() for kind in kinds):
            if self.embedding is not None or computed:
                raise InputError(f"mechanism {mechanism!r} uses no embeddings. Leave them out, or use 'embedded'.")
            return None
        model = public_model(self.embedding, getattr(text, "language", "english"))
        if computed and model.of_words:
            raise InputError(
                "embeddings of documents need their model too, for the words: pass embedding=the model they come from."
            )
        return model

    def _text(self) -> TextSettings:
        return self.text if isinstance(self.text, TextSettings) else TextSettings(language=self.text)

    def _on_spark(self, X: Any) -> bool:
        if self.engine is None and type(X).__module__.startswith("pyspark."):
            raise InputError("this is a Spark DataFrame: pass engine=the session, or collect it first.")
        if self.engine is not None and not hasattr(self.engine, "sparkContext"):
            raise InputError(f"engine must be a Spark session or None, got {type(self.engine).__name__}.")
        return self.engine is not None or isinstance(X, SparkTable)

    def _data(self, X: Any, text: str | None, authors: Any, **rows: Any) -> "EstimatorData":
        """What is known of X before it is read."""
        if text is None and not isinstance(authors, str) and not isinstance(X, Corpus) and not is_texts(X):
            if rows["drop_missing"]:
                raise InputError("drop_missing is for texts and tables. Of counts, leave such rows out yourself.")
            return data_of(self._counted(X, authors, rows["author_is"]), None, None, self._text())
        return data_of(X, text, authors, self._text(), **rows)

    def _counted(self, X: Any, authors: Any, author_is: tuple[str, ...]) -> Corpus:
        matrix = counts_of(self, X, reset=True)
        public = isinstance(self.vocabulary, str) and self.vocabulary == "public"
        names = self._names(matrix) or numbered(matrix, public=public)
        return Corpus.from_counts(matrix, names, authors=authors, author_is=author_is, public_vocabulary=public)

    def _names(self, matrix: Any) -> list[str] | None:
        """The words of the columns, if they have any."""
        given, named = self._feature_names, getattr(self, "feature_names_in_", None)
        names = named if given is None else list(given)
        if names is not None and len(names) != matrix.shape[1]:
            raise InputError(f"there are {len(names)} feature_names for {matrix.shape[1]} columns of counts.")
        return None if names is None else [str(name) for name in names]

    def _settings(self, X: Any, unit: Unit) -> dict[str, Any]:
        """The mechanism's own settings; a public corpus is bounded as the private one will be."""
        found = {name: value for name, value in (self.settings or {}).items() if name != "sensitivity"}
        public = found.get("public")
        if public is not None and public is X:
            raise InputError("public is the private corpus itself. Give texts that were public before, or none.")
        if isinstance(public, Corpus):
            found["public"] = PublicInput.corpus(public.bounded(unit=unit, max_docs=self.max_docs), public.digest)
        return found

    def _vocabulary(self, known: Vocabulary | None) -> str | Path | Vocabulary | None:
        asked = isinstance(self.vocabulary, str) and self.vocabulary == "public"
        if known is None and asked:
            raise InputError("vocabulary='public' is for count matrices with public columns. Give the public words.")
        if known is None:
            return self.vocabulary
        if self.vocabulary is not None and not asked:
            raise InputError("the corpus has a public vocabulary already: leave vocabulary= out.")
        return known

    def _rng(self) -> Generator | None:
        if self.random_state is None:
            return None
        warnings.warn(
            "A seeded release is reproducible and therefore not private: for tests only. Leave random_state out.",
            PrivacyWarning,
            stacklevel=3,
        )
        return np.random.default_rng(self.random_state)

    def _count_fit(self) -> None:
        """Warn when one family of clones is fitted again without a ledger: a search over settings is not free."""
        fits = self.__dict__.setdefault("_fits", [])
        fits.append(1)
        if len(fits) == 2 and self.ledger is None:
            warnings.warn(_AGAIN.format(what="fitted again"), PrivacyWarning, stacklevel=3)

    def __sklearn_clone__(self) -> Self:
        parameters = self.get_params(deep=False)  # none is an estimator, and a ledger must be shared, not copied
        copy = type(self)(**parameters)
        for name in ("_fits", "_clones"):  # shared: a clone's fit spends as well
            copy.__dict__[name] = self.__dict__.setdefault(name, [])
        copy._clones.append(1)
        if len(copy._clones) == _MANY_CLONES and self.ledger is None:  # a search may fit them in other processes
            warnings.warn(_AGAIN.format(what="cloned many times, as a search over settings does"), PrivacyWarning, 3)
        return copy

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        return tags
