"""LDA learners beside their peers on 20 Newsgroups, one core, in one run (--data: folder with newsgroups20.parquet).

Gibbs against tomotopy (one worker, no hyperparameter optimisation): tokens a second and log-likelihood per token after
the same sweeps. Variational Bayes against scikit-learn: seconds to the same held-out bound per token (medians over
three random starts), where both are scored by one function: the evidence lower bound of held-out documents given the
mean topics.
"""

import argparse
import os
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.special import gammaln, psi

from dptopics import Corpus, Vocabulary
from dptopics.core.counts import Counts
from dptopics.kernels.doc_topics import doc_shares
from dptopics.learners.lda import GibbsLda, GibbsState, VariationalLda
from results import bar, save

ALPHA, BETA = 0.1, 0.01
STARTS = (0, 1, 2)  # variational Bayes ends in local optima: medians over random starts, for both


def log_likelihood(state: GibbsState, n_topics: int, alpha: float, beta: float) -> float:
    """log p(words, topics) per token of the current state (Griffiths & Steyvers 2004, equations 2 and 3)."""
    n_docs, n_words = state.start.size - 1, state.word_topic.shape[0]
    doc = np.repeat(np.arange(n_docs), np.diff(state.start))
    doc_topic = np.bincount(doc * n_topics + state.topic, minlength=n_docs * n_topics)
    word_topic = state.word_topic[:, :n_topics]
    total = np.sum(gammaln(word_topic + beta)) - word_topic.size * gammaln(beta)
    total -= np.sum(gammaln(state.topic_total[:n_topics] + n_words * beta) - gammaln(n_words * beta))
    total += np.sum(gammaln(doc_topic + alpha)) - doc_topic.size * gammaln(alpha)
    total -= np.sum(gammaln(np.diff(state.start) + n_topics * alpha) - gammaln(n_topics * alpha))
    return float(total / max(1, state.word.size))


def newsgroups(folder: Path) -> Counts:
    corpus = Corpus.from_table(folder / "newsgroups20.parquet", text="text")
    documents = np.bincount(corpus.word, minlength=len(corpus.words))
    return corpus.counts(Vocabulary.of(w for w, n in zip(corpus.words, documents, strict=True) if n >= 10))


def gibbs(counts: Counts, n_topics: int, sweeps: int, needed: float) -> dict[str, object]:
    import tomotopy

    peer = tomotopy.LDAModel(k=n_topics, alpha=ALPHA, eta=BETA, seed=1)
    peer.optim_interval = 0
    start, word = counts.tokens()
    for first, last in pairwise(start):
        if last > first:
            peer.add_doc([str(w) for w in word[first:last]])
    learner = GibbsLda(n_topics=n_topics, alpha=ALPHA, beta=BETA, sweeps=sweeps)
    warm = learner.begin(counts.take(np.arange(20)))
    learner.sweep(warm, learner.seeds(counts.take(np.arange(20))), 0)
    state, seeds = learner.begin(counts), learner.seeds(counts)
    peer.train(0, workers=1)
    ours = theirs = 0.0
    for sweep in range(sweeps):  # in turns, so that both see the same machine
        begin = time.perf_counter()
        learner.sweep(state, seeds, sweep)
        ours += time.perf_counter() - begin
        begin = time.perf_counter()
        peer.train(1, workers=1)
        theirs += time.perf_counter() - begin
    rate, peer_rate = word.size * sweeps / ours, word.size * sweeps / theirs
    likelihood, peer_likelihood = log_likelihood(state, n_topics, ALPHA, BETA), float(peer.ll_per_word)
    print(f"Gibbs K = {n_topics}: {rate / 1e6:.1f} M tokens/s, tomotopy {peer_rate / 1e6:.1f} ({tomotopy.isa})")
    print(f"  log-likelihood per token {likelihood:.4f}, tomotopy {peer_likelihood:.4f}")
    worse = 100 * (peer_likelihood - likelihood) / abs(peer_likelihood)
    return {
        "n_topics": n_topics,
        "sweeps": sweeps,
        "tokens_per_second": rate,
        "tomotopy_tokens_per_second": peer_rate,
        "log_likelihood": likelihood,
        "tomotopy_log_likelihood": peer_likelihood,
        "bars": [
            bar(f"Gibbs K = {n_topics}, speed over tomotopy", rate / peer_rate, needed, unit="times", at_least=True),
            bar("  log-likelihood short of tomotopy's", max(worse, 1e-9), 0.5, unit="%", at_least=False),
        ],
    }


def held_out_bound(test: Counts, topics: np.ndarray) -> float:
    """Evidence lower bound per token of held-out documents, given topics × words."""
    word_topic = np.ascontiguousarray(topics.T)
    shares = doc_shares(test.doc_start, test.word, test.count.astype(float), word_topic, ALPHA, 200, 1e-6)
    document = np.repeat(np.arange(test.n_documents), np.diff(test.doc_start))
    length = np.bincount(document, test.count, test.n_documents)[:, None]
    n_topics = topics.shape[0]
    gamma = shares * (length + n_topics * ALPHA)
    log_share = psi(gamma) - psi(gamma.sum(axis=1, keepdims=True))
    words = test.count @ np.log(np.einsum("ik,ik->i", np.exp(log_share)[document], word_topic[test.word]) + 1e-300)
    rest = np.sum((ALPHA - gamma) * log_share + gammaln(gamma) - gammaln(ALPHA))
    rest += test.n_documents * gammaln(n_topics * ALPHA) - np.sum(gammaln(gamma.sum(axis=1)))
    return float((words + rest) / test.count.sum())


def variational(counts: Counts, n_topics: int, mode: str) -> dict[str, object]:
    from sklearn.decomposition import LatentDirichletAllocation

    order = np.random.default_rng(0).permutation(counts.n_documents)
    train, test = counts.take(order[: -counts.n_documents // 10]), counts.take(order[-counts.n_documents // 10 :])
    passes = {"batch": 10, "online": 3}[mode]
    peers = []
    for seed in STARTS:
        peer = LatentDirichletAllocation(
            n_topics,
            doc_topic_prior=ALPHA,
            topic_word_prior=BETA,
            learning_method=mode,
            max_iter=passes,
            random_state=seed,
        )
        begin = time.perf_counter()
        peer.fit(train.matrix())
        seconds = time.perf_counter() - begin
        peers.append((held_out_bound(test, peer.components_ / peer.components_.sum(axis=1, keepdims=True)), seconds))
    goal, theirs = np.median(peers, axis=0)
    print(f"VB {mode}: scikit-learn {theirs:.1f} s for {passes} passes, held-out bound {goal:.4f} per token (medians)")
    batch = None if mode == "batch" else 256
    VariationalLda(n_topics=n_topics, passes=1, batch_size=batch)(train.take(np.arange(600)))  # compile
    for ours_passes in (1, 2, 3, 5, 8, 10, 12, 15, 20, 30):
        runs = []
        for key in STARTS:
            learner = VariationalLda(
                n_topics=n_topics, alpha=ALPHA, beta=BETA, passes=ours_passes, batch_size=batch, key=key
            )
            begin = time.perf_counter()
            topics = learner(train)
            seconds = time.perf_counter() - begin
            runs.append((held_out_bound(test, topics), seconds))
        reached, ours = np.median(runs, axis=0)
        print(f"  ours {ours:.2f} s for {ours_passes} passes: {reached:.4f}")
        if reached >= goal:
            break
    result = bar(f"VB {mode}, speed over scikit-learn", theirs / ours, 5, unit="times", at_least=True)
    result["met"] = bool(result["met"] and reached >= goal)
    return {
        "mode": mode,
        "starts": len(STARTS),
        "seconds": ours,
        "sklearn_seconds": theirs,
        "bound": reached,
        "sklearn_bound": goal,
        "bars": [result],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sweeps", type=int, default=50)
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    counts = newsgroups(arguments.data)
    print(f"{counts.n_documents} documents, {counts.n_words} words, {counts.count.sum():,} tokens; one core")
    rows = [gibbs(counts, k, arguments.sweeps, needed) for k, needed in ((20, 1.2), (50, 1.5), (200, 3.0))]
    rows += [variational(counts, 20, mode) for mode in ("batch", "online")]
    save("learners", rows)


if __name__ == "__main__":
    main()
