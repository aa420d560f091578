"""ζ(Φ, d) = max over θ of Σ_w n_w log Σ_z θ_z Φ_zw: how well a topic model can explain a document."""

import math

import numpy as np

from dptopics.kernels.jit import F64, I32, I64, jit


@jit
def _step(first: int, last: int, word: I32, count: F64, topics: F64, total: float, theta: F64, slope: F64) -> float:
    """Objective at ``theta``, and slope_z = (1/N) Σ_w n_w Φ_zw / Σ_z θ_z Φ_zw."""
    n_topics = theta.size
    slope[:] = 0.0
    value = 0.0
    for e in range(first, last):
        row = topics[word[e]]
        p = 0.0
        for z in range(n_topics):
            p += theta[z] * row[z]
        value += count[e] * math.log(p)
        share = count[e] / (total * p)
        for z in range(n_topics):
            slope[z] += share * row[z]
    return value


@jit
def zeta(
    doc_start: I64, word: I32, count: F64, topics: F64, tolerance: float, steps: int, values: F64, shares: F64
) -> None:
    """Fill ``values`` (documents) and the maximisers ``shares`` (documents × topics); ``topics`` is words × topics.

    The problem is concave, so N·(max_z slope_z − 1) bounds the distance to the optimum: a document is done when that is
    below tolerance · |ζ|. EM steps θ ← θ·slope, extrapolated two at a time (SQUAREM, Varadhan & Roland 2008) where that
    does not lower the objective. Words that no topic can produce are unknown to the model and left out.
    """
    n_topics = topics.shape[1]
    theta, one, two = np.empty(n_topics), np.empty(n_topics), np.empty(n_topics)
    slope = np.empty(n_topics)
    known_word = np.empty(word.size, np.int32)
    known_count = np.empty(word.size, np.float64)
    for d in range(doc_start.size - 1):
        n = 0
        total = 0.0
        for e in range(doc_start[d], doc_start[d + 1]):
            most = 0.0
            for z in range(n_topics):
                most = max(most, topics[word[e], z])
            if most > 0:
                known_word[n] = word[e]
                known_count[n] = count[e]
                total += count[e]
                n += 1
        theta[:] = 1.0 / n_topics
        value = 0.0
        if n > 0:
            value = _step(0, n, known_word, known_count, topics, total, theta, slope)
            for _ in range(steps):
                if total * (slope.max() - 1.0) <= tolerance * abs(value):
                    break
                for z in range(n_topics):
                    one[z] = theta[z] * slope[z]
                _step(0, n, known_word, known_count, topics, total, one, slope)
                r2 = v2 = 0.0
                for z in range(n_topics):
                    two[z] = one[z] * slope[z]
                    r = one[z] - theta[z]
                    v = two[z] - one[z] - r
                    r2 += r * r
                    v2 += v * v
                # A leap along the path of the two steps, kept inside the simplex; two plain steps if it does not pay.
                length = max(1.0, math.sqrt(r2 / v2)) if v2 > 0 else 1.0
                inside = 0.0
                for z in range(n_topics):
                    r = one[z] - theta[z]
                    v = two[z] - one[z] - r
                    theta[z] = max(theta[z] + 2 * length * r + length * length * v, 1e-3 * two[z])
                    inside += theta[z]
                for z in range(n_topics):
                    theta[z] /= inside
                leap = _step(0, n, known_word, known_count, topics, total, theta, slope)
                if leap < value:
                    theta[:] = two
                    leap = _step(0, n, known_word, known_count, topics, total, theta, slope)
                value = leap
        values[d] = value
        shares[d] = theta
