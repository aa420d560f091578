"""The monitor in the Gibbs kernel: the plain sampler's draws, and the largest change over all topic partitions."""

from itertools import product
from math import log

import numpy as np
import pytest

from dptopics.audit.monitor import WHAT_IT_SAYS, monitor_gibbs
from dptopics.core.counts import Counts
from dptopics.core.errors import InputError
from dptopics.kernels.gibbs_monitor import log1plus, monitored_sweep
from dptopics.learners.lda import GibbsLda


def tiny(seed=0, documents=5, words=4, longest=5):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(0, 3, (documents, words))
    matrix[:, 0] += 1
    while (long := matrix.sum(axis=1) > longest).any():
        matrix[long, matrix[long].argmax(axis=1)] -= 1
    document, word = np.nonzero(matrix)
    start = np.searchsorted(document, np.arange(documents + 1)).astype(np.int64)
    count = matrix[document, word].astype(np.int32)
    keys = rng.integers(0, 2**63, documents).astype(np.uint64)
    return Counts(start, word.astype(np.int32), count, words, keys)


def partitions(total, n_topics):
    return [p for p in product(range(total + 1), repeat=n_topics) if sum(p) == total]


def brute_force(weights, totals, removed):
    """2 · max over all partitions and topics of |ln p'_k/p_k|: equation (2) of the paper, nothing left out."""
    r = weights / totals
    worst = 0.0
    for partition in partitions(removed, weights.size):
        if np.all(np.array(partition) <= totals[1]):
            changed = weights / (totals[0] - np.array(partition))
            ratio = (changed / changed.sum()) / (r[0] / r[0].sum())
            worst = max(worst, float(np.abs(np.log(ratio)).max()))
    return 2 * worst


def printed(weights, totals, removed):
    """Algorithm 1 as printed: step 4 has r_k/q_k where the paper's own equation (5) needs its inverse's sign."""
    r, q = weights / totals, weights / (totals - removed)
    steps = [log((r.sum() - r[k] + q[k]) / r.sum() * r[k] / q[k]) for k in range(r.size)]
    k = int(np.argmax(np.abs(r - q)))
    return 2 * max(*steps, log((r.sum() - r[k] + q[k]) / r.sum())), max(steps)


def same_word(weights, totals, own, beta):
    """2 · max |ln p'_k/p_k| over all topics that hold the word, when one of them loses a token of it."""
    r, worst = weights / totals, 0.0
    for k in np.flatnonzero(own):
        changed = r.copy()
        changed[k] *= (own[k] - 1 + beta) / (own[k] + beta) * totals[k] / (totals[k] - 1)
        worst = max(worst, float(np.abs(np.log(changed / changed.sum() * r.sum() / r)).max()))
    return 2 * worst


def states(counts, n_topics, alpha, beta, sweeps, removed):
    """Draw by draw, as slowly as can be: the weights and totals that each draw of the monitored sampler saw."""
    learner = GibbsLda(n_topics=n_topics, alpha=alpha, beta=beta, sweeps=sweeps)
    state, seeds = learner.begin(counts), learner.seeds(counts)
    seen = []
    for sweep in range(sweeps):
        before = state.topic.copy()
        learner.sweep(state, seeds, sweep)
        after = state.topic.copy()
        topic = before.copy()
        document = np.repeat(np.arange(counts.n_documents), np.diff(state.start))
        for i in range(state.word.size):
            others = np.arange(topic.size) != i
            nw = np.bincount(topic[others & (state.word == state.word[i])], minlength=n_topics)
            nd = np.bincount(topic[others & (document == document[i])], minlength=n_topics)
            nk = np.bincount(topic[others], minlength=n_topics)
            seen.append(((nw + beta) * (nd + alpha), nk + counts.n_words * beta, nk, nw))
            topic[i] = after[i]
    return seen


@pytest.mark.parametrize("n_topics", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_equal_to_brute_force_over_all_partitions(n_topics, seed):
    # Topics must hold more tokens than are removed, or the cap binds (below): so N is 1 and 2 here.
    counts = tiny(seed, documents=14, words=3)
    removed = np.array([1, 2], np.int64)
    learner = GibbsLda(n_topics=n_topics, alpha=0.5, beta=0.5, sweeps=3)
    state, seeds = learner.begin(counts), learner.seeds(counts)
    loss, beside = np.zeros((2, state.word.size)), np.zeros((3, state.word.size))
    capped = np.zeros(2, np.int64)
    for sweep in range(learner.sweeps):
        capped += monitored_sweep(
            state.start, state.word, state.topic, state.word_topic, state.topic_total, 0.5, 0.5, n_topics, seeds, sweep,
            removed, loss, beside,
        )  # fmt: skip
    assert (capped == 0).all()
    slow, as_printed = np.zeros_like(loss), np.zeros_like(beside)
    for i, (weights, totals, nk, nw) in enumerate(states(counts, n_topics, 0.5, 0.5, 3, removed)):
        for j, n in enumerate(removed):
            slow[j, i % state.word.size] += brute_force(weights, np.array([totals, nk]), int(n))
            as_printed[j, i % state.word.size] += printed(weights, totals, int(n))[0]
        as_printed[2, i % state.word.size] += same_word(weights, totals, nw, 0.5)
    np.testing.assert_allclose(loss, slow, rtol=2e-6)
    np.testing.assert_allclose(beside, as_printed, rtol=2e-6)


def test_the_printed_step_4_is_not_the_brute_force():
    counts = tiny(1, documents=14, words=3)
    short = []
    for weights, totals, nk, _ in states(counts, 3, 0.5, 0.5, 2, None):
        claimed, step_4 = printed(weights, totals, 2)
        assert step_4 <= 1e-12  # never adds anything: ln of a number at most one
        short.append(brute_force(weights, np.array([totals, nk]), 2) / claimed)
    assert min(short) >= 1 - 1e-9
    assert max(short) > 2  # understated more than twofold in this very corpus


def test_where_topics_are_smaller_than_a_document_it_is_only_about_one_topic():
    # Two topics of one token each, N = 2: taking one token from either moves more than any removal from one topic.
    weights, nk = np.array([3.0, 3.0, 3.0]), np.array([1, 1, 50])
    totals = nk + 0.3
    lost = np.minimum(nk, 2)
    grow = lost / (totals - lost)
    r = weights / totals
    one_topic = 2 * np.log1p(max((r * grow / r.sum()).max(), (grow * (r.sum() - r) / (r.sum() + r * grow)).max()))
    assert brute_force(weights, np.array([totals, nk]), 2) > 1.1 * one_topic


def test_monitored_or_not_the_same_topics():
    counts = tiny(3, documents=60, words=20, longest=40)
    learner = GibbsLda(n_topics=7, sweeps=10)
    np.testing.assert_array_equal(learner(counts), monitor_gibbs(counts, learner).topics)


def test_curve_and_marks():
    counts = tiny(3, documents=60, words=20, longest=40)
    result = monitor_gibbs(counts, GibbsLda(n_topics=3, sweeps=12))
    assert result.word.shape == result.document.shape == (12,)
    assert (np.diff(result.word) > 0).all()
    assert (result.document > result.word).all()
    assert (result.printed_word <= result.word).all()
    assert (result.printed_document < result.document).all()
    assert (result.missing_word > 3 * result.word).all()  # what the monitor leaves out is the larger part
    assert result.longest_document == np.diff(counts.tokens()[0]).max()
    data = result.to_dict()
    assert data["not_for_release"] is True
    assert data["what_it_says"] == list(WHAT_IT_SAYS)
    assert data["left_out_per_draw_same_word"] == pytest.approx(4.615, abs=1e-3)  # ln(1 + 1/β), β = 0.01


def test_capped_topics_are_counted_and_finite():
    result = monitor_gibbs(tiny(0), GibbsLda(n_topics=4, sweeps=5), longest_document=1000)
    assert result.capped == 1
    assert np.isfinite(result.document).all()


def test_refusals():
    counts = tiny(0)
    with pytest.raises(InputError, match=r"longest_document is 1, but a document has \d tokens"):
        monitor_gibbs(counts, GibbsLda(n_topics=2, sweeps=1), longest_document=1)
    nothing = Counts(np.zeros(2, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32), 3, np.ones(1, np.uint64))
    with pytest.raises(InputError, match="no document has a word"):
        monitor_gibbs(nothing, GibbsLda(n_topics=2, sweeps=1))


def test_logarithm():
    for x in (0.0, 1e-9, 0.003, 0.0078, 0.0079, 0.5, 30.0):
        assert log1plus(x) == pytest.approx(np.log1p(x), rel=3e-15)
