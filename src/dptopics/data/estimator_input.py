"""What scikit-learn users hand to ``fit`` and ``transform``: texts, or a matrix of counts, told apart and checked.

scikit-learn, NumPy and pandas quote cells and names of columns in their messages. Cells are data, and the columns of a
count matrix are words of the data, so that only the part of a message that holds neither is passed on.
"""

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from scipy import sparse
from sklearn.utils.validation import validate_data

from dptopics.core.errors import DptopicsError, InputError, shielded
from dptopics.data.readers.tables import read_batches

if TYPE_CHECKING:
    from dptopics.core.text import TextSettings
    from dptopics.core.vocabulary import Vocabulary
    from dptopics.data.corpus import Corpus
    from dptopics.data.engines.spark import SparkTable
    from dptopics.privacy.guarantee import Unit
    from dptopics.public.embeddings import Embedding

# Whole sentences of scikit-learn's that hold names of types and numbers of rows and columns only.
_HARMLESS = re.compile(
    r"Found array with \d+ (?:sample|feature)\(s\) \(shape=\([\d, ]*\)\) while a minimum of \d+ is required"
    r"|X has \d+ features, but \w+ is expecting \d+ features as input"
    r"|Input X contains (?:NaN|infinity or a value too large for dtype\('\w+'\))"
    r"|Negative values in data"
    r"|Complex data not supported"
    r"|Expected 2D array, got (?:scalar|1D) array instead"
    r"|Found array with dim \d+"
    r"|The feature names should match those that were passed during fit"
)


class EstimatorData(NamedTuple):
    """What fit was given: what decides the plan, and how to read it once the plan is checked."""

    text: "TextSettings | None"
    unit: "Unit"
    vocabulary: "Vocabulary | None"
    read: "Callable[[Embedding | None], Corpus | SparkTable]"
    with_vectors: bool = False
    on_spark: bool = False


_WANTED = (
    "Give texts (a list or one column of strings), a Corpus, or a matrix of counts, one row per document. Of a table "
    "name the columns: fit(frame, text='note', authors='patient')."
)
_RESHAPE = "Reshape your data: a matrix has one row per document and one column per word."


def is_texts(X: Any) -> bool:
    """Whether X is a list, series or stream of strings rather than a matrix."""
    if isinstance(X, str):
        raise InputError("texts must be a list of strings, one per document, got a single string.")
    if sparse.issparse(X) or hasattr(X, "columns") or getattr(X, "ndim", 1) != 1:
        return False
    if not hasattr(X, "__len__"):
        return hasattr(X, "__iter__")
    return shielded(
        lambda: any(isinstance(text, str) for text in X) or all(map(_missing, X)),
        "the texts cannot be read",
        _WANTED,
    )


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def one_column(X: Any) -> Any:
    """The column itself of a frame or array with exactly one, if it holds no numbers: texts, as a list of them is.

    What a ColumnTransformer hands on. By its type; but pandas makes numbers of texts that are all missing.
    """
    if sparse.issparse(X) or hasattr(X, "column_names") or getattr(X, "ndim", 2) != 2:
        return X
    if not isinstance(getattr(X, "shape", None), tuple) or X.shape[1:] != (1,):
        return X
    column = getattr(X, "iloc", X)[:, 0]  # of pandas; Polars and NumPy have none
    empty = hasattr(X, "iloc") and bool(column.isna().all())
    return column if empty or str(column.dtype).lower().startswith(("object", "str", "<u", "utf8")) else X


def numbered(matrix: Any, *, public: bool = True) -> list[str]:
    """Names for columns that have none, if the columns are public: each has its place by the others.

    A vectorizer that was fitted on the data has one column for each word of anybody: one word more moves all that
    follow, and "x7" would tell of it.
    """
    if public:
        return [f"x{i}" for i in range(matrix.shape[1])]
    raise InputError(
        "these counts have no names of columns, and which column a fitted vectorizer gives to a word depends on all "
        "documents. Give the texts themselves instead of counts; or the words of the columns, which are then chosen "
        "privately (feature_names=, or a DataFrame of counts); or say that the columns are public, as those of a "
        "HashingVectorizer or of CountVectorizer(vocabulary=a public list) are: vocabulary='public'."
    )


def check_column_names(text: Any, authors: Any) -> None:
    """Columns of a table are both named."""
    if not isinstance(text, str) or not (authors is None or isinstance(authors, str)):
        raise InputError(
            "of a table, name the columns of texts and authors: fit(frame, text='note', authors='patient'); or give "
            "both as lists: fit(frame['note'], authors=frame['patient'])."
        )
    if text == authors:
        raise InputError(f"text and authors name the same column, {text!r}. Name the one with the texts.")


def check_no_labels(y: Any) -> None:
    """Where nobody said whom to protect, a second argument is more likely authors than labels."""
    if y is not None:
        raise InputError(
            "fit(X, y) ignores y, and each document would be protected by itself. If these are the authors: "
            "fit(X, authors=…). If they are labels, for a step behind this one, say whom to protect: authors=…, or "
            "unit='document'."
        )


def check_only_data(authors: Any, drop_missing: bool, author_is: Iterable[str]) -> None:
    """A Corpus was read before."""
    if authors is not None or drop_missing or tuple(author_is):
        raise InputError(
            "a Corpus already knows its authors and rows: leave authors=, author_is= and drop_missing= out."
        )


def data_of(
    X: Any,
    text: str | None,
    authors: Any,
    settings: "TextSettings",
    *,
    drop_missing: bool = False,
    author_is: Iterable[str] = (),
) -> EstimatorData:
    """What is known of texts, a table or a corpus before it is read."""
    from dptopics.data.corpus import Corpus
    from dptopics.privacy.guarantee import Unit

    how: dict[str, Any] = {"settings": settings, "drop_missing": drop_missing, "author_is": author_is}
    unit = Unit.DOCUMENT if authors is None else Unit.AUTHOR
    if text is not None or isinstance(authors, str):
        check_column_names(text, authors)
        return EstimatorData(
            settings,
            unit,
            None,
            lambda embed: Corpus.from_table(X, text=text or "", author=authors, embed=embed, **how),
        )
    if isinstance(X, Corpus):
        check_only_data(authors, drop_missing, author_is)
        return EstimatorData(X.text, X.default_unit, X.vocabulary, lambda embed: X)
    return EstimatorData(settings, unit, None, lambda embed: Corpus.from_texts(X, authors, embed=embed, **how))


def spark_data_of(
    X: Any, text: str | None, authors: Any, embeddings: Any, *, session: Any, settings: "TextSettings", **rows: Any
) -> EstimatorData:
    """The same on Spark."""
    from dptopics.data.engines.spark import SparkTable

    if isinstance(X, SparkTable):
        if any(rows.values()) or not (text is authors is embeddings is None):
            raise InputError(
                "a SparkTable already knows its columns and rows: leave text=, authors=, embeddings=, author_is= and "
                "drop_missing= out."
            )
        table = X
    elif text is None or not all(name is None or isinstance(name, str) for name in (authors, embeddings)):
        raise InputError("on Spark, name the columns: fit(frame, text='note', authors='patient').")
    else:
        columns = {"text": text, "author": authors, "embedding": embeddings}
        table = SparkTable.from_table(X, session=session, settings=settings, **columns, **rows)
    return EstimatorData(
        table.text, table.default_unit, table.vocabulary, lambda embed: table, table.with_vectors, True
    )


def texts_of(frame: Any, column: str) -> list[str | None]:
    """The texts of a frame."""
    return [text for texts, _ in read_batches(frame, text=column, author=None) for text in texts]


def counts_of(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X as a sparse matrix; the estimator remembers its columns (``reset``), or compares them."""
    try:
        settings = {"accept_sparse": "csr", "dtype": "numeric", "ensure_non_negative": True}
        settings["ensure_min_samples"] = 0  # no documents are data as well: whether there are any is private
        return sparse.csr_array(validate_data(estimator, X, reset=reset, **settings))
    except (DptopicsError, MemoryError):
        raise
    except Exception as error:
        kind, found = type(error).__name__, _HARMLESS.match(str(error))
    # Raised out here, so that no traceback shows the other exception as its cause.
    if found is None:
        raise InputError(f"{type(X).__name__} cannot be read as counts ({kind}). {_WANTED}")
    hint = _RESHAPE if found[0].startswith("Expected 2D") else _WANTED
    raise InputError(f"{found[0]}. {hint}")
