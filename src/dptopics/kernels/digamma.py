"""exp(ψ(x)), the function that variational inference spends its time in."""

import math

from dptopics.kernels.jit import jit


@jit
def exp_digamma(x: float) -> float:
    """exp(ψ(x)) for x > 0: recurrence up to 6, then the asymptotic series (absolute error of ψ below 1e-10)."""
    shift = 0.0
    while x < 6.0:
        shift += 1.0 / x
        x += 1.0
    inverse = 1.0 / (x * x)
    series = inverse * (1 / 12 - inverse * (1 / 120 - inverse * (1 / 252 - inverse * (1 / 240 - inverse / 132))))
    return x * math.exp(-0.5 / x - series - shift)
