"""Theorems 10 to 13 of DeCarolis et al. 2020: the utility loss that each configuration is promised, with constant 1."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt


@dataclass(frozen=True, kw_only=True)
class Spectrum:
    """What the bounds depend on: sizes, and exact (private) eigenvalues. NOT FOR RELEASE."""

    n_units: int
    n_words: int
    n_topics: int
    largest: float  # σ₁(M₂)
    smallest: float  # σ_k(M₂)
    gap: float  # γ_s of the whitened tensor


def promised_loss(name: str, spectrum: Spectrum, scales: Mapping[str, float]) -> float:
    """The bound on ‖μᵢ − μᵢ^DP‖ as printed, O(·) read with the constant 1; ``scales`` are the τ of each edge.

    √ in front of σ₁ covers σ₁ alone, as the proofs (I.1 to I.4) have it; with the exact spectrum for the private one.

    >>> spectrum = Spectrum(n_units=10**5, n_words=100, n_topics=5, largest=0.0156, smallest=0.0025, gap=0.043)
    >>> round(promised_loss("spectral-4", spectrum, {"e9": 1.0}), 1)
    58.1
    """
    s, root = spectrum, sqrt(spectrum.largest)
    if name == "spectral-4":
        return float(root * sqrt(s.n_words) * s.n_topics**2 / (s.gap * s.n_units * s.smallest**1.5) * scales["e9"])
    wide = sqrt(s.n_words) / s.n_units
    back = root * wide / s.smallest * scales["e8"]
    grown = sqrt(s.largest + wide * scales["e8"])
    if name == "spectral-1":
        turned, triple = wide * scales["e4"], wide / s.smallest**1.5 * scales["e3"]
        steep = sqrt(s.n_topics) / s.gap
        first = root * steep * ((turned / s.smallest**1.5) ** 3 + triple)
        return float(first + back + grown * steep * ((turned / s.smallest) ** 3 + triple))
    edge, power = {"spectral-2": ("e6", 2.5), "spectral-3": ("e7", 2.0)}[name]
    each = scales[edge] / (s.gap * s.n_units * s.smallest**1.5)
    return float(root * s.n_topics**2.5 * each + back + grown * s.n_topics**power * each)
