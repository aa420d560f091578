"""From count matrices to a Corpus: SciPy or dense arrays."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dptopics.core.errors import InputError, shielded
from dptopics.core.names import author_name, real_names
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.builder import check_authors, numbered_authors, tell_if_empty
from dptopics.data.corpus import Corpus

C = TypeVar("C", bound=Corpus)
# On the card of every release from counts: nobody can see how they were made.
COUNTED_ALONE = (
    "Each row of counts, and which words it counts, was made from its own document and public rules alone. What a "
    "fitted vectorizer decides from all documents (min_df, max_df, max_features) is not such a rule."
)


def corpus_from_counts(
    kind: type[C],
    counts: Any,
    vocabulary: Sequence[str],
    *,
    authors: Iterable[str | int] | None,
    author_is: Iterable[str] = (),
    public_vocabulary: bool,
) -> C:
    """A corpus from a documents × words matrix."""
    from scipy import sparse

    rule = "counts must be a matrix of numbers, one row per document and one column per word"
    matrix = shielded(lambda: sparse.csr_array(counts), rule, "Convert them first.")
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise InputError(f"{rule}.")
    if not matrix.has_canonical_format or not matrix.data.all():
        matrix = matrix.copy()  # it shares memory with the caller's
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    words = _words_of_columns(vocabulary, matrix.shape[1])
    data = matrix.data
    if not np.all(np.isfinite(data)) or np.any(data < 0) or np.any(data != np.floor(data)) or np.any(data >= 2**31):
        raise InputError(
            "counts must be whole numbers from 0 to 2^31 - 1. Give raw word counts, not weights such as tf-idf."
        )
    real = real_names(author_is)
    numbers, keys = (None, None) if authors is None else _authors_of_rows(authors, matrix.shape[0], real)
    public = Vocabulary.of(words) if public_vocabulary else None
    tell_if_empty(matrix.shape[0], matrix.shape[0], data.size, None, public)
    return kind(
        doc_start=matrix.indptr.astype(np.int64),
        word=matrix.indices.astype(np.int32),
        count=data.astype(np.int32),
        words=words,
        author=numbers,
        author_key=keys,
        vocabulary=public,
        text=None,
        assumptions=(COUNTED_ALONE,),
    )


def _words_of_columns(vocabulary: Sequence[str], n_columns: int) -> list[str]:
    """One word for each column, all different."""
    if isinstance(vocabulary, str):
        raise InputError("the vocabulary must be a list of words, one per column, got a single string.")
    words = [str(w) for w in vocabulary]
    if len(words) != n_columns:
        raise InputError(
            f"the matrix has {n_columns} columns but the vocabulary has {len(words)} words. Give one per column."
        )
    if len(set(words)) != len(words):
        raise InputError("the vocabulary holds a word twice. Merge these columns first.")
    return words


def _authors_of_rows(
    authors: Iterable[str | int], n_rows: int, real: frozenset[str]
) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
    """The number of each row's author, and the key of each author."""
    check_authors(authors)
    names = shielded(lambda: list(authors), "the authors cannot be read", "Give a list of strings.")
    index: defaultdict[str, int] = defaultdict()
    index.default_factory = index.__len__
    numbers = np.array([index[author_name(a, i + 1, real)] for i, a in enumerate(names)], np.int32)
    if numbers.size != n_rows:
        raise InputError(f"there are {numbers.size} authors for {n_rows} documents. Give one author for each document.")
    _, numbers, keys = numbered_authors(list(index), numbers)
    return numbers, keys
