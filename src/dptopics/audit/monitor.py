"""The privacy monitor for collapsed Gibbs sampling (Zhao et al. 2019, algorithms 1 and 2). NOT FOR RELEASE.

It sums over one run how much each draw would have changed had some tokens been missing. That is a diagnostic, not a
guarantee: see ``WHAT_IT_SAYS``.
"""

from dataclasses import dataclass
from math import log1p
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dptopics.core import progress
from dptopics.core.counts import Counts
from dptopics.core.errors import InputError
from dptopics.kernels.gibbs_monitor import monitored_sweep
from dptopics.learners.lda import GibbsLda

WHAT_IT_SAYS = (
    "It measures how much the draws of this one run would have changed if N tokens had been missing from the topics' "
    "totals: a number to compare corpora, priors and topic counts by.",
    "It does not bound the privacy loss. It sums as if a missing token affected only its own draws, but every draw of "
    "the run depends on the counts of all other tokens.",
    "It changes only the topics' totals. A missing token of the same word also changes that word's own count, by up to "
    "ln(1 + 1/β) in a single draw.",
    "It is computed from the data without noise: the numbers themselves are not for release.",
)


@dataclass(frozen=True, eq=False, kw_only=True)
class MonitorResult:
    """The monitored ε after each sweep: the largest sum over all tokens. NOT FOR RELEASE."""

    word: NDArray[np.float64]
    document: NDArray[np.float64]
    printed_word: NDArray[np.float64]  # algorithm 1 as printed: its step 4 adds nothing
    printed_document: NDArray[np.float64]
    missing_word: NDArray[np.float64]  # one token of the same word missing, which the monitor ignores
    longest_document: int
    capped: float
    same_word: float
    topics: NDArray[np.float64]

    def to_dict(self) -> dict[str, Any]:
        return {
            "not_for_release": True,
            "what_it_says": list(WHAT_IT_SAYS),
            "removed_tokens": {"word": 1, "document": self.longest_document},
            "epsilon_by_sweep": {"word": self.word.tolist(), "document": self.document.tolist()},
            "as_printed_by_sweep": {"word": self.printed_word.tolist(), "document": self.printed_document.tolist()},
            "same_word_missing_by_sweep": self.missing_word.tolist(),
            "capped_share_of_document_draws": self.capped,
            "left_out_per_draw_same_word": self.same_word,
        }


def monitor_gibbs(counts: Counts, learner: GibbsLda, *, longest_document: int | None = None) -> MonitorResult:
    """Run the learner's sampler and watch every draw, at word level (N = 1) and document level (N = longest document).

    The draws are those of the learner itself: monitoring does not change the topics. Where a topic has fewer than
    N tokens, all of them count as removed; ``capped`` is the share of such draws. Besides the corrected algorithm 1 the
    result has the algorithm as printed, and the effect of a missing token of the same word.

    Args:
        counts: documents; as sensitive as the texts.
        learner: the sampler, with its priors and number of sweeps.
        longest_document: N at document level (the paper's N_max); by default the longest document's tokens.

    >>> counts = Counts(
    ...     doc_start=np.array([0, 1, 2]), word=np.array([0, 1], np.int32), count=np.array([50, 40], np.int32),
    ...     n_words=2, doc_key=np.array([1, 2], np.uint64))
    >>> result = monitor_gibbs(counts, GibbsLda(n_topics=2, sweeps=5))
    >>> bool(np.all(np.diff(result.document) > 0)), result.longest_document
    (True, 50)
    """
    state, seeds = learner.begin(counts), learner.seeds(counts)
    if not state.word.size:
        raise InputError("no document has a word to sample a topic for. Give documents with words of the vocabulary.")
    lengths = np.diff(state.start)
    largest = int(lengths.max())
    if longest_document is None:
        longest_document = largest
    if longest_document < largest:
        raise InputError(
            f"longest_document is {longest_document}, but a document has {largest} tokens: it would not be hidden. "
            "Raise it, or cut documents first."
        )
    removed = np.array([1, longest_document], np.int64)
    loss, other = np.zeros((2, state.word.size)), np.zeros((3, state.word.size))
    priors = (learner.alpha, learner.beta, learner.n_topics)
    curve = np.empty((5, learner.sweeps))
    capped = 0
    for sweep in range(learner.sweeps):
        capped += int(monitored_sweep(*state, *priors, seeds, sweep, removed, loss, other)[1])
        curve[:, sweep] = np.concatenate([loss.max(axis=1), other.max(axis=1)])
        progress.report((sweep + 1) / learner.sweeps)
    return MonitorResult(
        word=curve[0],
        document=curve[1],
        printed_word=curve[2],
        printed_document=curve[3],
        missing_word=curve[4],
        longest_document=longest_document,
        capped=capped / (state.word.size * max(1, learner.sweeps)),
        same_word=log1p(1 / learner.beta),
        topics=learner.topics(state),
    )
