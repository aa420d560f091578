"""Rounded Gaussian and Laplace noise in grid steps: a scale goes in, integers come out.

A value v on the grid plus round(Z) equals round(v + Z), so adding a *rounded* draw is post-processing of
the continuous mechanism, in any dimension: its guarantee holds unchanged. That needs draws with exactly the
law of round(Z), P(k) = F(k + 1/2) − F(k − 1/2), free of the gaps that floating-point samplers leave
(Mironov 2012). Nearly all draws are settled in double precision by a kernel that knows its own error. The
rest (one in 40,000 at a scale of 2^30, fewer below) are settled by comparing the same bits, and as many
more as it takes, with the tail probability to as many digits as it takes. The law is exact if the bits are
ideal; see `kernels.rounded`.

The slow path makes the time of a call depend a little on the draws: let no adversary time single calls.
"""

import os
import secrets
import threading
from collections.abc import Callable
from hashlib import sha256
from typing import Any, NoReturn, TypeAlias
from weakref import WeakSet

import mpmath
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from randomgen import ChaCha

from dptopics.errors import InputError, PrivacyError
from dptopics.kernels import rounded

MAX_SCALE = 2.0**30

_CHUNK = 2**16  # words held at once: 512 kB, so they stay in the processor's cache
_MARGIN = 2.0**-32  # far above the error that 64 guard bits leave in `_settle`

_Kernel: TypeAlias = Callable[[NDArray[np.uint64], float, float, NDArray[np.int64]], NDArray[np.int64]]
_Survival: TypeAlias = Callable[[Any, float], Any]


def gaussian(rng: Generator, sigma: float, size: int | tuple[int, ...]) -> NDArray[np.int64]:
    """Draw independent integers round(sigma · Z), Z standard normal, with exactly that law.

    Args:
        rng: the source of bits. The noise hides data only if it is a `secure_rng()`.
        sigma: standard deviation before rounding, in grid steps, at most 2^30. Small values are fine.
        size: number or shape of the draws.

    >>> gaussian(np.random.default_rng(1), 100.0, 5)
    array([-226,  -12,  106,  -13,   49])
    """
    return _draw(rng, _checked("sigma", sigma), size, rounded.gaussian, _gaussian_survival)


def laplace(rng: Generator, scale: float, size: int | tuple[int, ...]) -> NDArray[np.int64]:
    """Draw independent integers round(scale · Z), Z standard Laplace, with exactly that law.

    Args:
        rng: the source of bits. The noise hides data only if it is a `secure_rng()`.
        scale: mean magnitude before rounding, in grid steps, at most 2^30. Small values are fine.
        size: number or shape of the draws.

    >>> laplace(np.random.default_rng(1), 100.0, 5)
    array([-374,  -10,  124,  -11,   47])
    """
    return _draw(rng, _checked("scale", scale), size, rounded.laplace, _laplace_survival)


def _checked(name: str, scale: float) -> float:
    if not 0 < scale <= MAX_SCALE:
        raise InputError(
            f"{name} must be above 0 and at most 2**30 grid steps, but is {scale}. "
            "Choose a coarser grid if it is too large, a finer one if it vanishes."
        )
    return float(scale)


def _draw(
    rng: Generator, scale: float, size: int | tuple[int, ...], kernel: _Kernel, survival: _Survival
) -> NDArray[np.int64]:
    shape = (size,) if isinstance(size, int | np.integer) else tuple(size)
    if any(n < 0 for n in shape):
        raise InputError(f"size must not be negative, but is {size}. Give a number or a shape of the draws.")
    noise = np.empty(shape, np.int64)
    flat = noise.reshape(-1)
    for start in range(0, flat.size, _CHUNK):
        part = flat[start : start + _CHUNK]
        words = _words(rng, part.size)
        for position in kernel(words, scale, rounded.ERROR, part):
            part[position] = _settle(rng, int(words[position]), abs(int(part[position])), scale, survival)
    return noise


def _words(rng: Generator, n: int) -> NDArray[np.uint64]:
    """Draw n words of 64 uniform bits.

    The full range comes straight from the bit generator, under its lock. `random_raw` would give the same
    words for ChaCha, but only 32 random bits a word for some others (MT19937).
    """
    return rng.integers(0, 2**64 - 1, n, dtype=np.uint64, endpoint=True)


# --- the slow path ---

# mpmath keeps the precision in a context and constants in a shared memo: one context, one thread at a time.
_lock = threading.RLock()
_mp = mpmath.MPContext()


def _gaussian_survival(edge: Any, sigma: float) -> Any:
    x = edge / (sigma * _mp.sqrt(2))
    return _mp.erfc(x) if x * x < _mp.prec else 0  # else below e^−prec; mpmath overflows far out


def _laplace_survival(edge: Any, scale: float) -> Any:
    return _mp.exp(-edge / scale)


def _settle(rng: Generator, word: int, guess: int, scale: float, survival: _Survival) -> int:
    """Return the integer for one word, drawing more bits while they matter. Right whatever the guess."""
    width = 63
    count = word & (2**width - 1)  # survival(|Z|) lies in [count, count + 1] / 2^width

    def beyond(k: int) -> bool:
        """Whether |Z| > k + 1/2, that is, survival(|Z|) < survival(k + 1/2)."""
        nonlocal width, count
        while True:
            # A relative error d of the argument x moves a survival S by x·|S'(x)|·d ≤ d/2 at any x, so 64
            # guard bits leave an error near 2^-60 in `level`, far within the margin.
            _mp.prec = width + 64
            level = _mp.ldexp(survival(_mp.mpf(2 * k + 1) / 2, scale), width)
            if count + 1 <= level - _MARGIN:
                return True
            if count >= level + _MARGIN:
                return False
            count = count << 64 | int(_words(rng, 1)[0])
            width += 64

    with _lock:
        # Widen until |Z| is beyond low + 1/2 (always so at −1) but not beyond high + 1/2; then halve.
        low, high, step = guess - 1, guess, 1
        while beyond(high):
            low, high, step = high, high + step, 2 * step
        while low >= 0 and not beyond(low):
            low, high, step = low - step, low, 2 * step
        low = max(low, -1)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if beyond(middle) else (low, middle)
    return -high if word >> 63 else high


# --- the source of bits ---


_TWICE = (
    "noise that is drawn twice hides nothing. Call secure_rng() where the noise is drawn; to repeat a run that nobody "
    "will publish, take numpy.random.default_rng(seed)."
)


class _Cipher(ChaCha):
    """ChaCha20 under a key that came from the operating system. Nobody reads, sets, copies or rewinds its state."""

    def __init__(self) -> None:
        super().__init__(key=0, rounds=20)
        self.rekey()
        with _lock:
            _live.add(self)

    def rekey(self) -> None:
        """Take a new key, and no word left over in the buffer."""
        fresh = _fresh_cipher().state["state"]
        _STATE.__set__(self, _STATE.__get__(self) | {"state": fresh})
        self.process, self._mark, self._blocks = os.getpid(), _mark(fresh), 0

    def untouched(self) -> bool:
        """Whether the key is the one that was drawn, and the counter has not gone back since the last question."""
        with self.lock:
            state = _STATE.__get__(self)["state"]
        before, self._blocks = self._blocks, int(state["ctr"][0])
        return _mark(state) == self._mark and self._blocks >= before

    @property
    def state(self) -> NoReturn:
        """Not to be had."""
        raise PrivacyError(f"the state of a secure generator is neither shown nor set: {_TWICE}")

    @state.setter
    def state(self, state: object) -> NoReturn:
        raise PrivacyError(f"the state of a secure generator is neither shown nor set: {_TWICE}")

    def seed(self, *seed: object, **more: object) -> None:
        """Refused: a known seed is known noise. ChaCha's own constructor asks once, before there is a key."""
        if hasattr(self, "process"):
            raise PrivacyError(f"a secure generator has no seed: {_TWICE}")
        super().seed(*seed, **more)

    spawn = __setstate__ = seed

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise PrivacyError(f"a secure generator must not be pickled or copied: {_TWICE}")


_STATE: Any = ChaCha.state  # the one way past the two properties above


def _mark(state: Any) -> bytes:
    """A digest of the key, so that it need not be kept a second time."""
    return sha256(state["keysetup"].tobytes()).digest()


class SecureGenerator(Generator):
    """A `numpy.random.Generator` on ChaCha20 with a fresh 256-bit key from the operating system.

    Noise that can be predicted, or is used twice, hides nothing: so there is no seed, its state can be neither read nor
    set, it cannot be pickled or copied, and a forked child gets a key of its own, whoever forked it: every draw looks
    at the number of the process. Threads may share one: every draw takes the bit generator's lock. What no program can
    see is a copy of the whole machine: never go on from one snapshot twice.
    """

    def __init__(self) -> None:
        super().__init__(_Cipher())

    def __getattribute__(self, name: str) -> Any:
        """Each draw begins here."""
        cipher = super().__getattribute__("_bit_generator")
        if isinstance(cipher, _Cipher) and cipher.process != os.getpid():
            with _rekeying:
                if cipher.process != os.getpid():
                    cipher.rekey()
        return super().__getattribute__(name)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise PrivacyError(f"a secure generator must not be pickled or copied: {_TWICE}")


def secure_rng() -> SecureGenerator:
    """Return a new cryptographic generator: what a release that is to be private must be drawn from.

    >>> is_secure(secure_rng())
    True
    """
    return SecureGenerator()


def is_secure(rng: Generator) -> bool:
    """Return whether `rng` comes from `secure_rng`: unpredictable, with no seed that could be known or set since.

    >>> is_secure(np.random.default_rng(1))
    False
    """
    if type(rng) is not SecureGenerator:
        return False
    cipher = rng.bit_generator
    return type(cipher) is _Cipher and cipher.untouched()


def _fresh_cipher() -> Any:
    return ChaCha(key=secrets.randbits(256), rounds=20)


_rekeying = threading.Lock()
_live: WeakSet[_Cipher] = WeakSet()
_held: list[_Cipher] = []


def _before_fork() -> None:
    """Take every lock, so that the child inherits none that a vanished thread would have had to release."""
    _lock.acquire()  # first, as in the slow path, which draws while it holds this one
    _held.extend(_live)
    for cipher in _held:
        cipher.lock.acquire()


def _after_fork_in_parent() -> None:
    for cipher in _held:
        cipher.lock.release()
    _held.clear()
    _lock.release()


def _after_fork_in_child() -> None:
    for cipher in _held:
        cipher.rekey()
    _after_fork_in_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
