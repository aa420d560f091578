"""How good topics are, measured on data. For the owner's eyes: every number here is NOT FOR RELEASE."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dptopics.corpus import Corpus


def npmi(corpus: Corpus, topics: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """Normalised pointwise mutual information of each topic's words, mean over pairs, by document co-occurrence.

    Words that never meet count −1, also words that do not occur at all.

    >>> corpus = Corpus.from_texts(["knee pain", "knee pain", "eyes glasses", "eyes"])
    >>> npmi(corpus, [["knee", "pain"], ["knee", "eyes"]]).round(2)
    array([ 1., -1.])
    """
    column = {word: i for i, word in enumerate(corpus.words)}
    shape = (corpus.n_documents, len(corpus.words))
    present = sparse.csc_array((np.ones(corpus.word.size), corpus.word, corpus.doc_start), shape=shape[::-1]).T.tocsc()
    scores = []
    for words in topics:
        known = [column[w] for w in words if w in column]
        together = np.zeros((len(words), len(words)))
        chosen = present[:, known]
        together[: len(known), : len(known)] = (chosen.T @ chosen).toarray() / corpus.n_documents
        i, j = np.triu_indices(len(words), 1)
        joint, alone = together[i, j], np.diag(together)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.log(joint / (alone[i] * alone[j])) / -np.log(joint)
        scores.append(np.mean(np.where(joint == 0, -1.0, np.where(joint == 1, 1.0, value))))
    return np.array(scores)
