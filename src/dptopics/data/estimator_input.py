"""The inputs of ``fit`` and ``transform``: texts, or a matrix of counts, told apart and checked.

scikit-learn, NumPy and pandas quote cells and column names in their messages. Both may be data, so only those parts of
a message that hold neither are passed on.
"""

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from scipy import sparse

from dptopics.core.errors import DptopicsError, InputError, shielded
from dptopics.core.names import missing
from dptopics.data.readers.files import read_batches

if TYPE_CHECKING:
    from dptopics.core.text import TextSettings
    from dptopics.core.vocabulary import Vocabulary
    from dptopics.data.corpus import Corpus
    from dptopics.data.engines.spark import SparkTable
    from dptopics.privacy.guarantee import Unit
    from dptopics.public.embeddings import Embedding

# Sentences of scikit-learn that hold only names of types and numbers of rows and columns.
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
    """The input of fit: what decides the plan, and how to read it once the plan is checked."""

    text: "TextSettings | None"
    unit: "Unit"
    vocabulary: "Vocabulary | None"
    read: "Callable[[Embedding | None], Corpus | SparkTable]"
    with_vectors: bool = False
    on_spark: bool = False


_WANTED = (
    "Give texts (a list or one column of strings), a Corpus, or a matrix of counts, one row per document. For a table, "
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
        lambda: any(isinstance(text, str) for text in X) or all(map(missing, X)), "the texts cannot be read", _WANTED
    )


def one_column(X: Any) -> Any:
    """The only column of a frame or array, as texts, unless it holds numbers: what a ColumnTransformer passes on."""
    if sparse.issparse(X) or hasattr(X, "column_names") or getattr(X, "ndim", 2) != 2:
        return X
    if not isinstance(getattr(X, "shape", None), tuple) or X.shape[1:] != (1,):
        return X
    column = getattr(X, "iloc", X)[:, 0]  # of pandas; Polars and NumPy have none
    empty = hasattr(X, "iloc") and bool(column.isna().all())  # pandas makes numbers of texts that are all missing
    return column if empty or str(column.dtype).lower().startswith(("object", "str", "<u", "utf8")) else X


def numbered(matrix: Any, *, public: bool = True) -> list[str]:
    """Names for public columns without names. If they are not public, "x7" itself would reveal something: a vectorizer
    fitted on the data has one column for each word of anybody, and one word more moves all that follow."""
    if public:
        return [f"x{i}" for i in range(matrix.shape[1])]
    raise InputError(
        "these counts have no column names, and which column a fitted vectorizer gives to a word depends on all "
        "documents. Give the texts themselves; or the words of the columns, which are then chosen privately "
        "(feature_names=, or a DataFrame of counts); or declare the columns public, as those of a HashingVectorizer or "
        "of CountVectorizer(vocabulary=a public list) are: vocabulary='public'."
    )


def check_column_names(text: Any, authors: Any) -> None:
    """Refuse columns of a table that are not both named."""
    if not isinstance(text, str) or not (authors is None or isinstance(authors, str)):
        raise InputError(
            "for a table, name the columns of texts and authors: fit(frame, text='note', authors='patient'); or give "
            "both as lists: fit(frame['note'], authors=frame['patient'])."
        )
    if text == authors:
        raise InputError(f"text and authors name the same column, {text!r}. Name the column of the texts.")


def check_no_labels(y: Any) -> None:
    """Refuse a second argument if no unit was chosen: it is more likely authors than labels."""
    if y is not None:
        raise InputError(
            "fit(X, y) ignores y, and each document would be protected separately. If these are the authors: "
            "fit(X, authors=…). If they are labels for a later step, say whom to protect: authors= or unit='document'."
        )


def check_only_data(authors: Any, drop_missing: bool, author_is: Iterable[str]) -> None:
    """Refuse settings of rows for a Corpus, whose rows were read before."""
    if authors is not None or drop_missing or tuple(author_is):
        raise InputError("a Corpus already has its authors and rows: leave out authors=, author_is= and drop_missing=.")


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
        table = {"text": text or "", "author": authors, **how}
        return EstimatorData(settings, unit, None, lambda embed: Corpus.from_table(X, embed=embed, **table))
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
                "a SparkTable already has its columns and rows: leave out text=, authors=, embeddings=, author_is= and "
                "drop_missing=."
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
    from sklearn.utils.validation import validate_data

    try:
        settings = {"accept_sparse": "csr", "dtype": "numeric", "ensure_non_negative": True}
        settings["ensure_min_samples"] = 0  # whether there are any documents is private
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
