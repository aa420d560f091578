"""How TopicDP turns (ε, δ) into a noise deviation: by one Rényi order, as published, by the best one, or exactly."""

from math import exp, inf, log, log1p, sqrt

from dptopics.privacy.events import Gaussian
from dptopics.privacy.fields import Choice
from dptopics.privacy.guarantee import check_budget
from dptopics.privacy.pricing import epsilon_of, smallest


class Calibration(Choice):
    """Which theorem the noise is taken from. All are valid; ``analytic`` is exact, so nothing needs less noise."""

    ANALYTIC = "analytic"
    RENYI_BEST = "renyi-best"
    RENYI = "renyi"


def renyi_epsilon(epsilon: float, delta: float, alpha: float) -> float:
    """Largest ε_R such that (α, ε_R)-Rényi DP implies (ε, δ)-DP, by proposition 2 (Asoodeh et al. 2021).

    max{ε − ln(ζ_α/δ)/(α − 1), ε + ln((e^ε − αδ)((1 − δ)/(e^ε − δ))^α + αδ)/(α − 1)}, ζ_α = (1/α)(1 − 1/α)^(α − 1). The
    paper prints ≥ where ≤ is meant.

    >>> round(renyi_epsilon(3.0, 1e-4, 2.0), 8)
    0.00380985
    """
    first = epsilon + (log(delta) + log(alpha) - (alpha - 1) * log1p(-1 / alpha)) / (alpha - 1)
    if alpha * delta >= 1:
        return first
    ratio = alpha * (log1p(-delta) - log(exp(epsilon) - delta))
    inside = (exp(epsilon) - alpha * delta) * exp(ratio) + alpha * delta
    return max(first, epsilon + log(inside) / (alpha - 1)) if inside > 0 else first


def multiplier(epsilon: float, delta: float, calibration: Calibration | str = Calibration.ANALYTIC) -> float:
    """Deviation of the noise over the sensitivity, σ/Δ, for (ε, δ).

    >>> [round(multiplier(3.0, 1e-4, kind), 4) for kind in Calibration]
    [1.2232, 1.3287, 16.2012]
    """
    check_budget(epsilon, delta)

    def at(alpha: float) -> float:
        budget = renyi_epsilon(epsilon, delta, alpha)
        return sqrt(alpha / (2 * budget)) if budget > 0 else inf

    match Calibration(calibration):
        case Calibration.ANALYTIC:
            return smallest(lambda sigma: epsilon_of((Gaussian(sigma),), delta) <= epsilon)
        case Calibration.RENYI:
            return at(2.0)  # the published order
        case Calibration.RENYI_BEST:
            import numpy as np
            from scipy.optimize import minimize_scalar

            grid = np.geomspace(1e-3, 1e4, 400)  # α − 1: coarse first, the objective is infinite in places
            best = grid[int(np.argmin([at(1 + excess) for excess in grid]))]
            found = minimize_scalar(
                lambda x: at(1 + exp(x)), bounds=(log(best) - 0.1, log(best) + 0.1), method="bounded"
            )
            return min(at(1 + float(best)), float(found.fun))
