"""Remarks 14 to 16, theorems 10 to 13 of DeCarolis et al. 2020: public numbers or exact spectra. NOT FOR RELEASE."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

from dptopics.core.errors import InputError

MANY_TOPICS = 50  # "when k is large"; the paper gives no number


@dataclass(frozen=True)
class Recommendation:
    """A mechanism's name, and where the paper says so."""

    name: str
    reason: str


def recommended(*, n_units: int, n_words: int, n_topics: int, alpha0: float) -> Recommendation:
    """Remarks 14 to 16 and section 8 as a rule. ``n_units`` counts as public under the relation of these mechanisms.

    Our measurements favour ``spectral-1`` wherever any of them beats chance, and ``spectral`` throughout: see
    docs/papers/spectral.md. To choose by the data, and pay for it, use
    :class:`dptopics.mechanisms.topics.best_of.BestOf`.

    >>> recommended(n_units=100_000, n_words=100, n_topics=5, alpha0=1.0).name
    'spectral-1'
    """
    if min(n_units, n_words, n_topics) < 1 or not alpha0 > 0:
        raise InputError("n_units, n_words, n_topics and alpha0 must be positive.")
    if n_units <= sqrt(n_words):
        return Recommendation("spectral-4", "remark 16: from N > √d on configuration 3 loses less than 4")
    if n_topics >= MANY_TOPICS:
        return Recommendation("spectral-3", "remark 15 and section 8: configuration 3 gains where k is large")
    if n_units > n_words**2:
        return Recommendation("spectral-1", "sections 7 and 8: configuration 1 is best where N exceeds d²")
    if alpha0 < 1:
        return Recommendation("spectral-1", "section 8: configuration 1 where documents keep to few topics")
    return Recommendation("spectral-2", "remark 14 and section 8: configuration 2 where N is small and topics mix")


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
