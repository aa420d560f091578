"""Learners: planted topics are found, the result is a function of counts and key alone, bad settings are refused."""

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from dptopics.core.counts import Counts
from dptopics.core.errors import InputError
from dptopics.kernels.gibbs import gibbs_sweep
from dptopics.kernels.hashing import draw
from dptopics.learners import learn
from dptopics.learners.adapters import GensimLearner, SklearnLearner, TomotopyLearner, lsi, plsa
from dptopics.learners.lda import GibbsLda, VariationalLda


def planted(n_topics=4, words_each=6, n_documents=300, length=40, seed=0):
    """Documents of mostly one topic each, over disjoint groups of words; and the true topics."""
    rng = np.random.default_rng(seed)
    truth = np.kron(np.eye(n_topics), np.ones(words_each) / words_each)
    rows = []
    for _ in range(n_documents):
        shares = rng.dirichlet(np.full(n_topics, 0.1))
        rows.append(rng.multinomial(length, 0.98 * shares @ truth + 0.02 / truth.shape[1]))
    return from_matrix(np.array(rows)), truth


def from_matrix(matrix):
    document, word = np.nonzero(matrix)
    start = np.searchsorted(document, np.arange(matrix.shape[0] + 1)).astype(np.int64)
    keys = np.random.default_rng(1).integers(0, 2**63, matrix.shape[0]).astype(np.uint64)
    count = matrix[document, word].astype(np.int32)
    return Counts(start, word.astype(np.int32), count, matrix.shape[1], keys)


def distance(topics, truth):
    """Mean L1 distance after the best matching."""
    cost = np.abs(topics[:, None, :] - truth[None]).sum(axis=2)
    return cost[linear_sum_assignment(cost)].mean()


OURS = {
    "gibbs": GibbsLda(n_topics=4, sweeps=60),
    "variational": VariationalLda(n_topics=4, passes=30, key=2),
    "online": VariationalLda(n_topics=4, passes=10, batch_size=32, key=2),
}


@pytest.mark.parametrize("name", OURS)
def test_planted_topics_are_found(name):
    counts, truth = planted()
    assert distance(learn(OURS[name], counts), truth) < 0.2


@pytest.mark.parametrize("name", OURS)
def test_the_key_decides_and_nothing_else(name):
    counts, _ = planted(n_documents=60)
    first = OURS[name](counts)
    np.testing.assert_array_equal(first, OURS[name](counts))
    other = type(OURS[name])(**(vars(OURS[name]) | {"key": 99}))(counts)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("name", OURS)
def test_threads_do_not_matter(name):
    """One thread of ours and several of the matrix library in a process of its own, the other way round in this one."""
    code = (
        "import numpy as np\n"  # sees all cores
        "import os; os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})\n"
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import test_learners as t\n"
        "np.save(sys.argv[2], t.OURS[sys.argv[3]](t.planted(n_documents=60)[0]))\n"
    )
    if not hasattr(os, "sched_setaffinity"):
        code = code.replace(code.split("\n")[1], "")
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/topics.npy"
        several = {f"{library}_NUM_THREADS": "2" for library in ("OPENBLAS", "OMP", "MKL")}
        command = [sys.executable, "-c", code, os.path.dirname(__file__), path, name]
        subprocess.run(command, check=True, env=os.environ | several)
        np.testing.assert_array_equal(np.load(path), OURS[name](planted(n_documents=60)[0]))


def test_without_a_document_the_others_start_alike():
    counts, _ = planted(n_documents=30)
    learner = GibbsLda(n_topics=4)
    whole, part = learner.begin(counts), learner.begin(counts.take(np.arange(1, 30)))
    np.testing.assert_array_equal(whole.topic[whole.start[1] :], part.topic)


def test_gibbs_keeps_its_books():
    from learners import log_likelihood  # of the benchmark

    counts, _ = planted(n_documents=50)
    learner = GibbsLda(n_topics=11, sweeps=3)  # padded to 16
    state = learner.begin(counts)
    before = log_likelihood(state, 11, learner.alpha, learner.beta)
    for sweep in range(5):
        learner.sweep(state, learner.seeds(counts), sweep)
    exact = np.zeros((counts.n_words, 11))
    np.add.at(exact, (state.word, state.topic), 1)
    np.testing.assert_array_equal(state.word_topic[:, :11], exact)
    np.testing.assert_array_equal(state.word_topic[:, 11:], 0)
    np.testing.assert_array_equal(state.topic_total[:11], exact.sum(axis=0))
    assert log_likelihood(state, 11, learner.alpha, learner.beta) > before


def by_hand(start, word, topic, nw, nk, alpha, beta, n_topics, seeds, sweep):
    """One sweep as it was first written: stored results depend on every bit of it."""
    for d in range(start.size - 1):
        stream, own = np.uint64(draw(seeds[d], -1 - sweep)), topic[start[d] : start[d + 1]]
        for i in range(start[d], start[d + 1]):
            row, rest = nw[word[i]], np.delete(own, i - start[d])
            row[topic[i]] -= 1
            nk[topic[i]] -= 1
            pull = (np.bincount(rest, minlength=nk.size) + alpha) / (nk + nw.shape[0] * beta)
            p = pull.astype(np.float32) * (row + np.float32(beta))
            p[n_topics:] = 0
            sums = np.zeros(32, np.float32)
            for part in p.reshape(-1, 32):
                sums += part
            ones = (sums[:8] + sums[8:16]) + (sums[16:24] + sums[24:])
            twos = ones[::2] + ones[1::2]
            fours = twos[::2] + twos[1::2]
            left = np.float32(np.float64(draw(stream, i - start[d]) >> 40) * 2.0**-24) * (fours[0] + fours[1])
            k = 0
            for masses, width in ((fours, 4), (twos, 2), (ones, 1)):
                if left >= masses[k // width]:
                    left, k = left - masses[k // width], k + width
            for masses, width, last in ((sums, 8, 24), (p, 32, p.size - 32)):
                while k < last and left >= masses[k]:
                    left, k = left - masses[k], k + width
            topic[i] = min(k, n_topics - 1)
            row[topic[i]] += 1
            nk[topic[i]] += 1


@pytest.mark.parametrize("n_topics", (2, 9, 30, 40, 70))
def test_gibbs_draws_are_what_they_were(n_topics):
    counts, _ = planted(n_documents=12)
    learner = GibbsLda(n_topics=n_topics, alpha=0.3)
    ours, slow = learner.begin(counts), learner.begin(counts)
    for sweep in range(3):
        learner.sweep(ours, learner.seeds(counts), sweep)
        by_hand(*slow, learner.alpha, learner.beta, n_topics, learner.seeds(counts), sweep)
        for one, other in zip(ours, slow, strict=True):
            np.testing.assert_array_equal(one, other)


def test_gibbs_draws_from_the_conditional():
    """One token among fixed others: over many keys its topics are as frequent as the formula says."""
    counts = from_matrix(np.array([[3, 0, 2], [0, 4, 1], [2, 2, 2]]))
    learner = GibbsLda(n_topics=3, alpha=0.3, beta=0.2)
    found = np.zeros(3)
    n = 20_000
    begin = learner.begin(counts)
    last = begin.word.size - 1
    for key in range(n):
        state = type(begin)(*(array.copy() for array in begin))
        seeds = np.full(3, key, np.uint64)
        only = np.array([state.start[2], last + 1])
        gibbs_sweep(only, state.word, state.topic, state.word_topic, state.topic_total, 0.3, 0.2, 3, seeds, 0)
        found[state.topic[state.start[2]]] += 1
    first = begin.start[2]
    w, old = begin.word[first], begin.topic[first]
    in_document = np.bincount(begin.topic[first : last + 1], minlength=3).astype(float)
    of_word, total = begin.word_topic[w, :3].astype(float), begin.topic_total[:3].astype(float)
    for array in (in_document, of_word, total):
        array[old] -= 1
    p = (in_document + 0.3) * (of_word + 0.2) / (total + 3 * 0.2)
    expected = n * p / p.sum()
    assert np.sum((found - expected) ** 2 / expected) < 27.6  # chi-squared, 2 degrees: false alarm 1e-6


def test_empty_documents_are_fine():
    counts = from_matrix(np.array([[3, 0, 2], [0, 0, 0], [0, 4, 1]]))
    for learner in (GibbsLda(n_topics=2, sweeps=3), VariationalLda(n_topics=2, passes=3)):
        assert learn(learner, counts).shape == (2, 3)


@pytest.mark.parametrize(
    "kind, settings",
    [
        (GibbsLda, {"n_topics": 1}),
        (GibbsLda, {"n_topics": 2, "alpha": -1.0}),
        (GibbsLda, {"n_topics": 2, "beta": 0.0}),
        (VariationalLda, {"n_topics": 1}),
        (VariationalLda, {"n_topics": 2, "alpha": float("nan")}),
        (VariationalLda, {"n_topics": 2, "batch_size": 0}),
        (VariationalLda, {"n_topics": 2, "decay": 0.1}),
    ],
)
def test_bad_settings(kind, settings):
    with pytest.raises(InputError):
        kind(**settings)


@pytest.mark.parametrize(
    "matrix, message",
    [
        (np.ones((2, 5)) / 5, "topics × 24 words"),
        (np.ones(24) / 24, "topics × 24 words"),
        (np.ones((2, 24)), "each row sums to 1"),
        (np.full((2, 24), np.nan), "each row sums to 1"),
        (np.concatenate([np.full((2, 12), -1 / 12), np.full((2, 12), 2 / 12)], axis=1), "no negative"),
    ],
)
def test_a_learner_that_returns_something_else(matrix, message):
    counts, _ = planted(n_documents=10)
    with pytest.raises(InputError, match=message):
        learn(lambda _: matrix, counts)


def sklearn_lda():
    from sklearn.decomposition import LatentDirichletAllocation

    return SklearnLearner(LatentDirichletAllocation(4, doc_topic_prior=0.1, max_iter=30))


ADAPTED = {
    "scikit-learn LDA": (sklearn_lda, 0.4),
    "LSI": (lambda: lsi(4), None),
    "PLSA": (lambda: plsa(4), 0.3),
    "gensim LDA": (lambda: GensimLearner("LdaModel", 4, {"passes": 20, "alpha": 0.1}), 0.6),
    "gensim LSI": (lambda: GensimLearner("LsiModel", 4), None),
    "gensim HDP": (lambda: GensimLearner("HdpModel", 4), None),
    "tomotopy LDA": (lambda: TomotopyLearner("LDAModel", 4), 0.3),
    "tomotopy HDP": (lambda: TomotopyLearner("HDPModel", 4), None),
}


@pytest.mark.filterwarnings("ignore")  # their own
@pytest.mark.parametrize("name", ADAPTED)
def test_adapters(name):
    make, near = ADAPTED[name]
    counts, truth = planted()
    topics = learn(make(), counts)
    assert topics.shape == truth.shape
    np.testing.assert_array_equal(topics, make()(counts))
    if near is not None:
        assert distance(topics, truth) < near


@pytest.mark.parametrize("adapter, package", [(GensimLearner, "gensim"), (TomotopyLearner, "tomotopy")])
def test_a_missing_extra_is_named(adapter, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    counts, _ = planted(n_documents=5)
    with pytest.raises(InputError, match=f"dptopics\\[{package}\\]"):
        adapter("LdaModel", 4)(counts)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("adapter", [GensimLearner, TomotopyLearner])
def test_an_unknown_model_is_named(adapter):
    counts, _ = planted(n_documents=5)
    with pytest.raises(InputError, match="no model 'Poem'"):
        adapter("Poem", 4)(counts)
