"""Documents of one topic each: how likely each topic is, and a document's words in the columns of its topics."""

import numpy as np

from dptopics.kernels.arrays import F64, I32, I64
from dptopics.kernels.jit import jit


@jit
def assigned_words(doc_start: I64, word: I32, count: I32, weight: F64, log_topics: F64, sharpness: float) -> F64:
    """x_w · r_k for every entry of every document: x its weighted counts, r its topics, both scaled to L2 norm one.

    r_k ∝ exp(sharpness · Σ_w x_w · log_topics[w, k]). So a document's numbers have L2 norm one, however sure its topic
    is; they do not depend on other documents.
    """
    n_topics = log_topics.shape[1]
    values = np.empty((word.size, n_topics))
    share = np.empty(n_topics)
    for d in range(doc_start.size - 1):
        first, last = doc_start[d], doc_start[d + 1]
        size = 0.0
        for e in range(first, last):
            size += (count[e] * weight[word[e]]) ** 2
        size = np.sqrt(size)
        if not size > 0.0:
            values[first:last] = 0.0
            continue
        share[:] = 0.0
        for e in range(first, last):
            x = count[e] * weight[word[e]] / size
            for k in range(n_topics):
                share[k] += sharpness * x * log_topics[word[e], k]
        most = share.max()
        total = 0.0
        for k in range(n_topics):
            share[k] = np.exp(share[k] - most)
            total += share[k] ** 2
        total = np.sqrt(total)
        for e in range(first, last):
            x = count[e] * weight[word[e]] / (size * total)
            for k in range(n_topics):
                values[e, k] = x * share[k]
    return values
