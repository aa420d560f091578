"""Counts: documents as arrays of word counts, the input of learners. As sensitive as the texts."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, repr=False)
class Counts:
    """Documents × words, sparse: entries doc_start[d]:doc_start[d+1] are the (word, count) pairs of document d.

    ``doc_key`` is a hash of each document's content: what a learner draws for a document depends on it and on its own
    key, not on the other documents.
    """

    doc_start: NDArray[np.int64]
    word: NDArray[np.int32]
    count: NDArray[np.int32]
    n_words: int
    doc_key: NDArray[np.uint64]

    @property
    def n_documents(self) -> int:
        return int(self.doc_start.size - 1)

    def take(self, documents: NDArray[np.int64]) -> "Counts":
        """Some of the documents, in the order given."""
        sizes = np.diff(self.doc_start)[documents]
        start = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
        entries = np.arange(start[-1]) + np.repeat(self.doc_start[documents] - start[:-1], sizes)
        return Counts(start, self.word[entries], self.count[entries], self.n_words, self.doc_key[documents])

    def tokens(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """(start, word): one entry for each token; document d owns start[d]:start[d+1]."""
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.count, dtype=np.int64)])
        return before[self.doc_start], np.repeat(self.word, self.count)

    def matrix(self) -> Any:
        from scipy import sparse

        return sparse.csr_array((self.count, self.word, self.doc_start), shape=(self.n_documents, self.n_words))
