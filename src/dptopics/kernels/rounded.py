"""Rounded Gaussian and Laplace integers from uniform bits, by inversion with an error bound.

A 64-bit word is a sign and a 63-bit count m. The tail of the magnitude, P(|Z'| > |Z|), is the real number
(m + f) / 2^63 with f in [0, 1) not yet drawn: it is uniform on [0, 1), so Z = sign · (inverse tail) has
exactly the wanted law. The word fixes Z only up to an interval, and floating point widens that a little.
Where the whole interval times the scale rounds to one integer, that integer is the draw, whatever f is.
Every other position goes on the list of undecided draws, for the caller to settle with more bits and more
precision.

What makes this exact is that `ERROR` really bounds the relative error of the two magnitudes below, rounding
of the product with the scale included. In units of u = 2^-53 the normal magnitude loses at most

- 28 in the two polynomials: coefficients and argument are not negative, so nothing cancels and each of
  seven Horner steps costs 2 in each polynomial;
- 14 from the argument. Tails: the tail is off by 2 (int64 to double, and + 1), its logarithm by 8 (4 ulp,
  the worst of the libraries that Numba may call), the square root halves that and adds 1, and |Z| reacts at
  most twice as strongly to a relative change of r = √(−log tail). Centre: r = 0.180625 − q² is off by less
  than 1 in absolute terms, and |R'/R| < 4;
- 4 in the quotient, q, the product with q and the product with the scale;
- 1 in the approximation itself (1e-16, Wichura 1988).

That is under 50, and the exponential magnitude is one logarithm; ERROR is 128. tests/privacy/test_noise.py measures
the error against 48 digits and finds it below a tenth of ERROR.

Reference: M. J. Wichura, Algorithm AS 241: the percentage points of the normal distribution, Applied
Statistics 37 (1988), 477-484, routine PPND16.
"""

import math

import numpy as np

from dptopics.kernels.jit import I64, U64, jit

ERROR = 2.0**-46

_MAX = 2**63 - 1  # the 63 low bits; also 2^63 - 1 - m is the distance of the tail m + 1 from the median
# In the centre the density of Z is at least φ(1.4396) > 0.141: a probability of 2^-64 spans less than 2^-61.
_CENTRE_WIDTH = 2.0**-61

_CENTRE = (
    (3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427, 13731.693765509461125,
     45921.953931549871457, 67265.770927008700853, 33430.575583588128105, 2509.0809287301226727),
    (1.0, 42.313330701600911252, 687.18700749205790830, 5394.1960214247511077,
     21213.794301586595867, 39307.895800092710610, 28729.085735721942674, 5226.4952788528545610),
)  # fmt: skip
_TAIL = (
    (1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550, 3.64784832476320460504,
     1.27045825245236838258, 0.241780725177450611770, 0.0227238449892691845833, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187, 1.67638483018380384940, 0.689767334985100004550,
     0.148103976427480074590, 0.0151986665636164571966, 5.47593808499534494600e-4, 1.05075007164441684324e-9),
)  # fmt: skip
_FAR_TAIL = (
    (6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580, 0.296560571828504891230,
     0.0265321895265761230930, 1.24266094738807843860e-3, 2.71155556874348757815e-5,
     2.01033439929228813265e-7),
    (1.0, 0.599832206555887937690, 0.136929880922735805310, 0.0148753612908506148525,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
     2.04426310338993978564e-15),
)  # fmt: skip

_Coefficients = tuple[float, float, float, float, float, float, float, float]


@jit
def _ratio(r: float, coefficients: tuple[_Coefficients, _Coefficients]) -> float:
    """Two polynomials of degree 7, one over the other, by Horner's rule."""
    above, below = coefficients
    a, b = above[7], below[7]
    for power in range(6, -1, -1):
        a = a * r + above[power]
        b = b * r + below[power]
    return a / b


@jit
def normal_magnitude(m: np.int64) -> tuple[float, float]:
    """(z, width): |Z| lies in [z, z + width] when its tail lies in [m, m + 1] / 2^63, up to ERROR · z."""
    q = float(_MAX - m) * 2.0**-64  # 1/2 − upper tail, exact before the conversion
    if q <= 0.425:
        return q * _ratio(0.180625 - q * q, _CENTRE), _CENTRE_WIDTH
    r = math.sqrt(-math.log((float(m) + 1.0) * 2.0**-64))
    z = _ratio(r - 1.6, _TAIL) if r <= 5.0 else _ratio(r - 5.0, _FAR_TAIL)
    # By φ(x) > x·tail(x) the width is under log((m + 1) / m) / z < 1 / (z·m); without end for m = 0.
    return z, 1.0 / (z * float(m))


@jit
def exponential_magnitude(m: np.int64) -> tuple[float, float]:
    """(z, width): |Z| lies in [z, z + width] when its tail lies in [m, m + 1] / 2^63, up to ERROR · z."""
    # The conversion to double moves the logarithm by up to 2^-52 however small z is: that is in the width.
    return -math.log((float(m) + 1.0) * 2.0**-63), 1.0 / float(m) + 2.0**-51


@jit
def gaussian(bits: U64, sigma: float, error: float, out: I64) -> I64:
    """Write round(sigma·Z), Z standard normal, to `out`; return the positions where that is only a guess."""
    undecided = np.empty(bits.size, np.int64)
    n_undecided = 0
    for position in range(bits.size):
        word = np.int64(bits[position])  # the same 64 bits; the top one is now the sign
        z, width = normal_magnitude(word & _MAX)
        x = sigma * z
        k = np.int64(x + 0.5)
        out[position] = -k if word < 0 else k
        # Negated, so that a width that is infinite or not a number counts as undecided.
        if not (0.5 - abs(x - k) > sigma * (error * z + width)):
            undecided[n_undecided] = position
            n_undecided += 1
    return undecided[:n_undecided]


@jit
def laplace(bits: U64, scale: float, error: float, out: I64) -> I64:
    """Write round(scale·Z), Z standard Laplace; otherwise as `gaussian`."""
    undecided = np.empty(bits.size, np.int64)
    n_undecided = 0
    for position in range(bits.size):
        word = np.int64(bits[position])
        z, width = exponential_magnitude(word & _MAX)
        x = scale * z
        k = np.int64(x + 0.5)
        out[position] = -k if word < 0 else k
        if not (0.5 - abs(x - k) > scale * (error * z + width)):
            undecided[n_undecided] = position
            n_undecided += 1
    return undecided[:n_undecided]
