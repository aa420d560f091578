"""What an attacker computes from a topic model and a document. For the owner's eyes: NOT FOR RELEASE."""

import numpy as np
from numpy.typing import NDArray

from dptopics.data.counts import Counts
from dptopics.errors import InputError
from dptopics.kernels.zeta import zeta

STATISTICS = ("zeta", "negative entropy", "logit of maximum", "standard deviation")


def document_statistics(
    counts: Counts, topics: NDArray[np.float64], *, tolerance: float = 1e-7, steps: int = 2000
) -> NDArray[np.float64]:
    """Four statistics of each document under a topics × words matrix, in the order of ``STATISTICS``.

    ζ is the log-likelihood of the document under its best topic shares θ̂ (Manzonelli et al. 2024, equation 3); the
    others describe θ̂ (Huang et al. 2022): Σ θ log θ, log(max θ/(1 − max θ)), and the deviation of its entries. A
    document without a word that the model knows has ζ = 0 and equal shares: every number is defined. Zeros are words
    that a topic cannot produce; rows need not sum to 1, and a row of twice the weight counts twice. With one topic θ̂
    never varies, and ζ alone tells members from others.
    """
    topics = np.asarray(topics, np.float64)
    if topics.ndim != 2 or topics.shape[0] < 1 or topics.shape[1] != counts.n_words:
        raise InputError(f"the matrix must be topics × {counts.n_words} words, got shape {topics.shape}.")
    if not np.all(np.isfinite(topics)) or np.any(topics < 0):
        raise InputError("the entries of a topic matrix must be finite and not negative.")
    value = np.empty(counts.n_documents)
    shares = np.empty((counts.n_documents, topics.shape[0]))
    words_first = np.ascontiguousarray(topics.T)
    zeta(counts.doc_start, counts.word, counts.count.astype(np.float64), words_first, tolerance, steps, value, shares)
    safe = np.clip(shares, 1e-12, 1.0)
    largest = np.clip(shares.max(axis=1), None, 1 - 1e-12)
    entropy = np.sum(safe * np.log(safe), axis=1)
    return np.stack([value, entropy, np.log(largest / (1 - largest)), shares.std(axis=1)], axis=1)
