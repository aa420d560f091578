"""Reading noisy counts: what a non-negative count probably was, given that we know the noise. Post-processing."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr


def expected_given_noisy(noisy: NDArray[np.float64], sigma: float) -> NDArray[np.float64]:
    """Posterior mean of each count of a words × topics table under Gaussian noise of standard deviation ``sigma``.

    Prior: count_wk exponential with mean m_wk = (word total) · (topic share), where both are read off the noisy table
    itself: margins are sums of many cells, so they are known far better than the cells. The posterior is a normal
    N(noisy − σ²/m, σ²) cut at zero, with mean z·σ + σ·φ(z)/Φ(z). The plain positive part would add 0.4 σ to every empty
    cell and drown small topics.

    >>> expected_given_noisy(np.array([[50.0, 0.0], [0.0, 50.0]]), 1.0).round(1)
    array([[50. ,  0.8], [ 0.8, 50. ]])
    """
    n_topics = noisy.shape[1]
    word_total = np.maximum(noisy.sum(axis=1, keepdims=True), 0.5 * sigma * np.sqrt(n_topics))
    topic_total = np.maximum(noisy.sum(axis=0, keepdims=True), 1e-9)
    # Shares kept within a factor of five of equal, so that no topic is starved by one unlucky step.
    topic_share = np.clip(topic_total / topic_total.sum(), 0.2 / n_topics, 5.0 / n_topics)
    return posterior_mean(noisy, sigma, np.maximum(word_total * topic_share, 1e-3 * sigma))


def posterior_mean(
    noisy: NDArray[np.float64], sigma: float | NDArray[np.float64], mean: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Of a value that is exponential with this ``mean``, under Gaussian noise: N(noisy − σ²/mean, σ²), cut at zero.

    >>> posterior_mean(np.array([5.0, 0.0]), np.array([1e-3, 10.0]), np.array([1.0, 1.0])).round(2)
    array([5.  , 0.98])
    """
    z = noisy / sigma - sigma / mean
    log_density = -0.5 * z * z - 0.5 * np.log(2 * np.pi)
    value: NDArray[np.float64] = sigma * (z + np.exp(log_density - log_ndtr(z)))
    return np.maximum(value, 0.0)
