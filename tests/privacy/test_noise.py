"""The noise has exactly the law it claims.

Seeds are fixed, so a result here never changes by chance. With fresh seeds each of the sixteen statistical
checks would raise a false alarm with probability 5e-8, all together less than 1e-6.
"""

import copy
import ctypes
import inspect
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import mpmath
import numpy as np
import pytest
from randomgen import ChaCha
from scipy import stats
from scipy.special import ndtri

from charging import charged
from dptopics import Corpus, Ledger
from dptopics.core.errors import InputError, PrivacyError
from dptopics.kernels import rounded
from dptopics.mechanisms.vocabulary.threshold import WeightedVocabulary
from dptopics.privacy import noise
from dptopics.privacy import rng as rng_room
from dptopics.privacy.noise import gaussian, laplace
from dptopics.privacy.rng import SecureGenerator, is_secure, secure_rng

FALSE_ALARM = 5e-8
TOP = 2**63  # one more than the largest tail count; also the sign bit
LAWS = {"gaussian": (gaussian, stats.norm), "laplace": (laplace, stats.laplace)}

mp = mpmath.MPContext()  # the global context belongs to everybody
mp.prec = 160


class Script:
    """A generator that gives the words it was handed, and fails when they run out."""

    def __init__(self, *words):
        self.words = list(words)

    def integers(self, low, high, size, dtype, endpoint):
        assert (low, high, dtype, endpoint) == (0, 2**64 - 1, np.uint64, True)
        head, self.words = self.words[:size], self.words[size:]
        assert len(head) == size, "asked for more words than the script has"
        return np.array(head, np.uint64)


def survival(name, x):
    """P(|Z| > x)."""
    return mp.erfc(x / mp.sqrt(2)) if name == "gaussian" else mp.exp(-x)


def magnitude(name, tail):
    """The x with P(|Z| > x) = tail to 48 digits, by Newton's method on the logarithm of the tail."""
    if name == "laplace":
        return -mp.log(tail)
    if tail == 1:
        return mp.mpf(0)
    x = mp.mpf(-ndtri(float(tail / 2))) if tail < 0.9 else (1 - tail) * mp.sqrt(mp.pi / 2)
    for _ in range(12):
        value = survival(name, x)
        step = value * mp.log(value / tail) / (2 * mp.npdf(x))
        x += step
        if abs(step) < x * 2.0**-80:  # each step doubles the digits: the next would be far below 2^-150
            return x
    raise AssertionError("no convergence")


def tail_counts(rng, n):
    """Counts m: uniform, far out, near the median, beside the borders of the approximation, the extremes."""
    uniform = rng.integers(0, TOP, n, dtype=np.uint64).tolist()
    far = [int(2.0**x) for x in rng.uniform(0, 63, n)]
    median = [TOP - 1 - int(2.0**x) for x in rng.uniform(0, 62, n // 4)]
    borders = [int(b) + d for b in (0.15 * TOP, 2 * TOP * mp.exp(-25)) for d in (-(2**12), -1, 0, 1, 2**12)]
    return [*uniform, *far, *median, *borders, 0, 1, 2, 3, TOP - 2, TOP - 1]


# --- the law, seen from outside ---


def p_value(draws, law, scale):
    """Chi-squared against the mass F((k + 1/2) / scale) − F((k − 1/2) / scale), sparse tails pooled."""
    reach = max(1, int(scale * law.isf(20 / draws.size)))
    edges = np.arange(-reach, reach) + 0.5
    mass = np.diff(law.cdf(edges / scale), prepend=0.0, append=1.0)
    counts = np.bincount(np.searchsorted(edges, draws), minlength=mass.size)
    return stats.chisquare(counts, mass * draws.size).pvalue


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("scale", [0.3, 1.0, 3.2, 50.0])
def test_mass(name, scale):
    draw, law = LAWS[name]
    rng = np.random.default_rng(1)
    assert p_value(draw(rng, scale, 300_000), law, scale) > FALSE_ALARM
    for wrong in (2 / 3, 3 / 2):
        assert p_value(draw(rng, wrong * scale, 300_000), law, scale) < FALSE_ALARM


@pytest.mark.parametrize("name", LAWS)
def test_largest_scale(name):
    draw, law = LAWS[name]
    draws = draw(np.random.default_rng(2), 2.0**30, 300_000)
    assert stats.kstest(draws / 2.0**30, law.cdf).pvalue > FALSE_ALARM
    for wrong in (2 / 3, 3 / 2):
        assert stats.kstest(draws / 2.0**30 * wrong, law.cdf).pvalue < FALSE_ALARM
    # Every integer can come out: the low bits are as good as uniform.
    assert stats.chisquare(np.bincount(draws & 255, minlength=256)).pvalue > FALSE_ALARM


@pytest.mark.parametrize("name", LAWS)
def test_words_have_64_bits_from_any_bit_generator(name):
    """MT19937 has 32 bits in a raw word: noise made from those would be far out and of one sign."""
    draw, law = LAWS[name]
    draws = draw(np.random.Generator(np.random.MT19937(3)), 5.0, 100_000)
    assert p_value(draws, law, 5.0) > FALSE_ALARM
    # Successive draws are uncorrelated.
    assert stats.pearsonr(draws[1:], draws[:-1]).pvalue > FALSE_ALARM


@pytest.mark.parametrize("draw", [gaussian, laplace])
def test_small_scales(draw):
    rng = np.random.default_rng(4)
    assert not draw(rng, 0.01, 10_000).any()
    assert not draw(rng, 5e-324, 10_000).any()


# --- the error bound on which exactness rests ---


@pytest.mark.parametrize(
    "name, approximate",
    [("gaussian", rounded.normal_magnitude), ("laplace", rounded.exponential_magnitude)],
)
def test_error_bound(name, approximate):
    """The true error of the double-precision magnitude is at most a tenth of what the kernel allows for."""
    worst = 0.0
    for m in tail_counts(np.random.default_rng(5), 3000):
        z, width = approximate(m)
        low = magnitude(name, mp.mpf(m + 1) / TOP)
        absolute = 2.0**-52 if name == "laplace" else 0.0  # its share of the width
        worst = max(worst, (abs(z - low) - absolute) / (rounded.ERROR * low) if low else abs(z))
        if m == 0:
            assert width == np.inf
        elif name == "laplace" or m % 4 == 0 or m < 4:  # the high end costs as much again: a sample of it
            assert magnitude(name, mp.mpf(m) / TOP) - low <= width - absolute
    assert worst < 0.1


@pytest.mark.parametrize("name", LAWS)
def test_decided_draws_are_the_exact_integers(name):
    """Both ends of the interval that a word leaves open round to the integer of the fast path."""
    kernel = getattr(rounded, name)
    counts = tail_counts(np.random.default_rng(6), 500)
    bits = np.array(counts, np.uint64)
    ends = [[magnitude(name, mp.mpf(max(m + d, 0.5)) / TOP) for d in (0, 1)] for m in counts]
    out, negative = np.empty(bits.size, np.int64), np.empty(bits.size, np.int64)
    for scale in (0.3, 3.2, 1000.0, 2.0**20 + 0.7, 2.0**30):
        undecided = set(kernel(bits, scale, rounded.ERROR, out).tolist())
        assert counts.index(0) in undecided
        for position, (high, low) in enumerate(ends):
            if position not in undecided:
                assert mp.nint(scale * high) == mp.nint(scale * low) == out[position]
        kernel(bits | np.uint64(TOP), scale, rounded.ERROR, negative)
        np.testing.assert_array_equal(negative, -out)


# --- the slow path ---


@pytest.mark.parametrize("draw", [gaussian, laplace])
@pytest.mark.parametrize("scale", [0.01, 0.3, 1.0, 3.2, 2.0**20 + 0.7, 2.0**30])
def test_slow_path_agrees_with_the_fast_path(draw, scale, monkeypatch):
    fast = draw(np.random.default_rng(7), scale, 300)
    monkeypatch.setattr(rounded, "ERROR", np.inf)
    np.testing.assert_array_equal(draw(np.random.default_rng(7), scale, 300), fast)


def test_slow_path_is_taken_when_it_should_be(monkeypatch):
    """At scale 2^30 about 2 · 2^30 · E|Z| · ERROR = 2.4e-5 of the draws, none to speak of at small scales."""
    settled = []
    settle = noise._settle
    monkeypatch.setattr(noise, "_settle", lambda *args: settled.append(args) or settle(*args))
    gaussian(np.random.default_rng(8), 2.0**30, 2_000_000)
    assert 20 < len(settled) < 80
    settled.clear()
    gaussian(np.random.default_rng(8), 100.0, 2_000_000)
    assert not settled


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("scale, k", [(1.0, 0), (3.2, 7), (0.3, 1), (2.0**30, 123_456_789), (2.0**30, 6 * 2**30)])
def test_bits_on_a_boundary(name, scale, k):
    """A draw whose first 191 bits are those of P(|Z| > k + 1/2) is settled by the bits that follow."""
    draw, _ = LAWS[name]
    with mp.workprec(400):
        level = int(mp.floor(mp.ldexp(survival(name, (k + mp.mpf(0.5)) / scale), 63 + 128)))
    first, second, third = level >> 128, level >> 64 & (2**64 - 1), level & (2**64 - 1)
    assert 0 < third < 2**64 - 1
    zero, ones = 0, 2**64 - 1
    # A smaller tail is a larger magnitude.
    for words, result in [
        ((first, zero), k + 1),
        ((first, ones), k),
        ((first, second, third - 1), k + 1),
        ((first, second, third + 1), k),
        ((first, second, third, zero), k + 1),
        ((first, second, third, ones), k),
    ]:
        for sign in (1, -1):
            rng = Script(words[0] | (TOP if sign < 0 else 0), *words[1:])
            assert draw(rng, scale, 1).tolist() == [sign * result]
            assert not rng.words


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("scale", [0.3, 1.0, 50.0, 2.0**30])
@pytest.mark.parametrize("words", [(0, 2**63, 5), (0, 1, 2**63, 5), (0, 0, 12345, 2**63, 5), (1, 2**62, 5, 5)])
def test_far_tail(name, scale, words):
    """Where the first word says only "very far out", the words that follow say how far."""
    draw, _ = LAWS[name]
    tail = mp.mpf(0)
    for place, word in enumerate(words):
        tail += mp.ldexp(word, -63 - 64 * place)
    expected = int(mp.nint(scale * magnitude(name, tail)))
    assert draw(Script(*words), scale, 1).tolist() == [expected]
    assert draw(Script(words[0] | TOP, *words[1:]), scale, 1).tolist() == [-expected]


@pytest.mark.parametrize("guess", [0, 1, 999, 1000, 1001, 10**6, 2**40])
def test_slow_path_needs_no_good_guess(guess):
    word = int(TOP * survival("gaussian", mp.mpf(1000) / 1024))
    assert noise._settle(Script(), word, guess, 1024.0, noise._gaussian_survival) == 1000


def test_slow_path_takes_tiny_scales():
    assert gaussian(Script(0, 5), 5e-324, 1).tolist() == [0]
    assert laplace(Script(0, 5), 5e-324, 1).tolist() == [0]


# --- shapes and errors ---


@pytest.mark.parametrize("draw", [gaussian, laplace])
def test_shapes(draw):
    for size, shape in [
        (0, (0,)),
        (3, (3,)),
        ((), ()),
        ((2, 0), (2, 0)),
        ((2, 3), (2, 3)),
        (np.int64(4), (4,)),
    ]:
        drawn = draw(np.random.default_rng(9), 10.0, size)
        assert drawn.shape == shape
        assert drawn.dtype == np.int64


def test_chunks_follow_one_another():
    n = noise._CHUNK
    rng = np.random.default_rng(10)
    pieces = [gaussian(rng, 10.0, n), gaussian(rng, 10.0, n), gaussian(rng, 10.0, 5)]
    whole = gaussian(np.random.default_rng(10), 10.0, 2 * n + 5)
    np.testing.assert_array_equal(whole, np.concatenate(pieces))


@pytest.mark.parametrize("draw, name", [(gaussian, "sigma"), (laplace, "scale")])
@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, np.inf, 2.0**30 + 1])
def test_bad_scales(draw, name, scale):
    with pytest.raises(InputError, match=f"^{name} must be above 0 and at most"):
        draw(np.random.default_rng(11), scale, 3)


@pytest.mark.parametrize("size", [-1, (2, -1)])
def test_bad_sizes(size):
    with pytest.raises(InputError, match="size must not be negative"):
        gaussian(np.random.default_rng(12), 1.0, size)


# --- the source of bits ---


def words(rng, n):
    return noise._words(rng, n).tolist()


def test_cipher_is_chacha20():
    """RFC 8439, appendix A.1: test vectors 1 and 2 (two blocks of the zero key), and 3 (another key)."""
    blocks = bytes.fromhex(
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
        "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
        "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f"
    )
    rng = np.random.Generator(ChaCha(key=0, rounds=20))
    assert noise._words(rng, 16).astype("<u8").tobytes() == blocks
    rng = np.random.Generator(ChaCha(key=1 << 248, rounds=20))
    assert noise._words(rng, 10)[8:].astype("<u8").tobytes().hex() == "3aeb5224ecf849929b9d828db1ced4dd"
    assert rng_room._STATE.__get__(secure_rng().bit_generator)["state"]["rounds"] == 20


def test_secure_generators_are_independent():
    a, b = secure_rng(), secure_rng()
    assert isinstance(a, SecureGenerator)
    assert is_secure(a)
    assert not is_secure(np.random.default_rng(13))
    assert not is_secure(np.random.Generator(ChaCha(key=1, rounds=20)))
    assert not set(words(a, 1000)) & set(words(b, 1000))
    assert gaussian(a, 1e6, 10).tolist() != gaussian(b, 1e6, 10).tolist()


def test_keys_come_from_the_system():
    # In a process of its own: here, keys come from the name of the test (conftest.py).
    code = "from dptopics.privacy.rng import secure_rng; print(secure_rng().integers(0, 2**63))"
    drawn = {subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout for _ in range(2)}
    assert len(drawn) == 2
    assert "secrets.randbits(256)" in inspect.getsource(rng_room._fresh_cipher)


@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.copy, copy.deepcopy])
def test_secure_generators_cannot_be_copied(duplicate):
    with pytest.raises(PrivacyError, match="must not be pickled or copied"):
        duplicate(secure_rng())
    with pytest.raises(PrivacyError, match="must not be pickled or copied"):
        duplicate(secure_rng().bit_generator)


def test_the_state_of_a_secure_generator_is_neither_shown_nor_set():
    """Whoever wants to "reproduce" a release would make its noise known."""
    known = ChaCha(key=1, rounds=20)
    for ask in (
        lambda cipher: cipher.state,
        lambda cipher: setattr(cipher, "state", known.state),
        lambda cipher: cipher.seed(1),
        lambda cipher: cipher.spawn(2),
        lambda cipher: cipher.__setstate__(known.state),
    ):
        rng = secure_rng()
        with pytest.raises(PrivacyError, match="secure generator"):
            ask(rng.bit_generator)
        assert is_secure(rng)
        assert words(rng, 3) != words(np.random.Generator(ChaCha(key=1, rounds=20)), 3)


def force(rng, state):
    """Set the state by the way that the properties of the cipher hide."""
    ChaCha.state.__set__(rng.bit_generator, ChaCha.state.__get__(rng.bit_generator) | {"state": state["state"]})


def test_a_state_that_was_forced_in_is_noticed():
    rng = secure_rng()
    force(rng, ChaCha(key=1, rounds=20).state)
    assert words(rng, 3) == words(np.random.Generator(ChaCha(key=1, rounds=20)), 3)
    assert not is_secure(rng)
    rng = secure_rng()
    words(rng, 100)
    before = ChaCha.state.__get__(rng.bit_generator)
    words(rng, 100)
    assert is_secure(rng)
    force(rng, before)  # the next draws would be the last ones again
    assert not is_secure(rng)
    rng = secure_rng()
    np.random.Generator.__init__(rng, ChaCha(key=1, rounds=20))
    assert not is_secure(rng)


def test_a_ledger_refuses_a_generator_whose_state_was_set(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger", epsilon=5.0, delta=1e-5)
    corpus = Corpus.from_texts(["knee pain"] * 60, range(60)).bounded()
    mechanism = WeightedVocabulary.calibrated(epsilon=1.0, delta=1e-6)
    rng = secure_rng()
    force(rng, ChaCha(key=1, rounds=20).state)
    with pytest.raises(PrivacyError, match="secure_rng"):
        charged(ledger, mechanism, corpus, rng)
    assert ledger.receipts() == []


def test_threads_share_a_secure_generator():
    rng = secure_rng()
    drawn = [[] for _ in range(4)]
    threads = [
        threading.Thread(target=lambda mine=mine: [mine.extend(words(rng, 997)) for _ in range(50)]) for mine in drawn
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set().union(*drawn)) == 4 * 50 * 997  # 64-bit words: a chance repeat has probability 1e-9


def forked(task, fork=None):
    """Run task() in a forked child and return the list of integers that it returns."""
    reading, writing = os.pipe()
    child = (fork or os.fork)()
    if child == 0:  # pragma: no cover
        try:
            signal.alarm(20)  # a child that hangs on a lock dies, and the pipe stays empty
            os.write(writing, pickle.dumps(task()))
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    assert answer, "the child gave no answer"
    return pickle.loads(answer)


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
quiet_fork = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


@needs_fork
@quiet_fork
def test_forked_children_do_not_repeat_the_noise():
    rng = secure_rng()
    words(rng, 3)  # leaves part of a block in the buffer, which a child must not use either
    streams = [forked(lambda: words(rng, 100)), forked(lambda: words(rng, 100)), words(rng, 100)]
    assert len(set().union(*streams)) == 300
    assert forked(lambda: [is_secure(rng)]) == [True]


@needs_fork
def test_a_fork_that_python_does_not_see_does_not_repeat_the_noise():
    """The C library's fork calls none of Python's hooks; the next draw sees another process."""
    fork = ctypes.PyDLL(None).fork
    rng = secure_rng()
    words(rng, 3)
    streams = [forked(lambda: words(rng, 100), fork), forked(lambda: words(rng, 100), fork), words(rng, 100)]
    assert len(set().union(*streams)) == 300
    one, two = (forked(lambda: gaussian(rng, 1e6, 20).tolist(), fork) for _ in range(2))
    assert one != two
    assert forked(lambda: [is_secure(rng)], fork) == [True]


@needs_fork
@quiet_fork
@pytest.mark.parametrize("which", ["bit generator", "slow path"])
def test_fork_while_another_thread_holds_a_lock(which, monkeypatch):
    """The fork waits for the thread: a lock taken at that moment would never be released in the child."""
    rng = secure_rng()
    lock = rng.bit_generator.lock if which == "bit generator" else rng_room.LOCK
    monkeypatch.setattr(rounded, "ERROR", np.inf)  # all draws by the slow path
    gaussian(rng, 10.0, 3)
    taken = threading.Event()

    def hold():
        with lock:
            taken.set()
            time.sleep(0.2)

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait()
    assert len(forked(lambda: gaussian(rng, 10.0, 3).tolist())) == 3
    thread.join()
    assert gaussian(rng, 10.0, 3).size == 3
