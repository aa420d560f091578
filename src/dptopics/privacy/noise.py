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

from collections.abc import Callable
from typing import Any, TypeAlias

import mpmath
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics.core.errors import InputError
from dptopics.kernels import rounded
from dptopics.privacy.rng import LOCK

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

    with LOCK:
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
