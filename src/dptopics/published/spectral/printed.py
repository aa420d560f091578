"""Sensitivities of DeCarolis et al. 2020: as the paper prints them, and as the arithmetic of its appendix has them."""

from math import sqrt

from dptopics.privacy.fields import Choice
from dptopics.published.spectral import edges


class Sensitivities(Choice):
    """Which of them scale the noise."""

    CORRECTED = "corrected"
    PRINTED = "printed"


REFUTED = (
    "The claim is refuted by arithmetic: as printed, one unit moves the moments by at most 1/N. A document of one "
    "word, exchanged for a document of another, moves the pairs of words by √2/N or more "
    "(docs/guarantees/spectral_published.md).",
)


class Corrected:
    """Those of appendix H, with what it miscounts put right; see :mod:`dptopics.published.spectral.edges`."""

    margin = 1.0  # of a private lower bound, in scales · ln(1/(2 · tail))

    def pairs(self, alpha0: float, n_units: int, norm: int = 2) -> float:
        """Of M₂."""
        return edges.pair_sensitivity(alpha0, n_units, norm)

    def triples(self, alpha0: float, n_units: int, norm: int = 2) -> float:
        """Of M₃."""
        return edges.triple_sensitivity(alpha0, n_units, norm)

    def whitened(self, alpha0: float, n_units: int, n_topics: int, smallest: float) -> float:
        """Of M₃(W, W, W), by a lower bound on σ_k(M₂)."""
        return edges.whitened_sensitivity(alpha0, n_units, n_topics, smallest)

    def components(self, whitened: float, n_topics: int, gap: float) -> float:
        """Of the tensor's vectors and values, by a lower bound on their gap."""
        return edges.component_sensitivity(whitened, n_topics, gap)

    def gap(self, n_units: int) -> float:
        """Of that gap: lemma 9, which is not proved."""
        return 2.0 / n_units

    def topics(self, alpha0: float, n_units: int, n_topics: int, component: float, **values: float) -> float:
        """Of all topics and parameters together: √(2k) times the bound of H.5 for each.

        C·(λ₁·√σ₁·Δ̄ + λ₁·√σ₁/σ_k·Δ₂ + √(σ₁ + Δ₂)·Δ̄), Δ̄ = 2√k·Δ_T/γ, with C = (α₀+2)/2 as M₂ is not scaled.
        """
        pairs, first, last = self.pairs(alpha0, n_units), values["largest"], values["smallest"]
        each = component / sqrt(2 * n_topics)
        far = values["weight"] * sqrt(first) * (each + pairs / last) + sqrt(first + pairs) * each
        return sqrt(2 * n_topics) * (alpha0 + 2) / 2 * far


class Printed(Corrected):
    """Those of section 6 and Procedure 1, with the constant 1 where the paper writes O(·)."""

    margin = 2.0

    def pairs(self, alpha0: float, n_units: int, norm: int = 2) -> float:
        """1/N, in either norm (theorem 4 has 2/N, section 6 draws for 1/N)."""
        return 1 / n_units

    def triples(self, alpha0: float, n_units: int, norm: int = 2) -> float:
        """1/N."""
        return 1 / n_units

    def whitened(self, alpha0: float, n_units: int, n_topics: int, smallest: float) -> float:
        """k^1.5/(N·σ_k^1.5), theorem 5."""
        return float(n_topics**1.5 / (n_units * smallest**1.5))

    def components(self, whitened: float, n_topics: int, gap: float) -> float:
        """k²/(γ·N·σ_k^1.5), theorem 6: for one vector or value of the 2k."""
        return sqrt(n_topics) * whitened / gap

    def gap(self, n_units: int) -> float:
        """1/N, as Procedure 1 draws for it."""
        return 1 / n_units

    def topics(self, alpha0: float, n_units: int, n_topics: int, component: float, **values: float) -> float:
        """√σ₁ times that, theorem 7."""
        return component * sqrt(values["largest"])


FORMULAS: dict[Sensitivities, Corrected] = {
    Sensitivities.CORRECTED: Corrected(),
    Sensitivities.PRINTED: Printed(),
}
