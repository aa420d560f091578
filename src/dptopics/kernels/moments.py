"""First three moments of documents, unit by unit: norms without tensors, packed symmetric entries.

For counts c of a document of l ≥ 3 words, with a mean over its tokens, pairs and triples of distinct tokens:
M̃₁ = c/l, M̃₂ = (c⊗c − diag c)/(l(l−1)), M̃₃ = (c⊗c⊗c − sym₃(diag c ⊗ c) + 2 Σ cᵢ eᵢ⊗eᵢ⊗eᵢ)/(l(l−1)(l−2)).
Everything is added in the order of the document's entries, one unit at a time: no result depends on other units.
"""

import numpy as np
from numpy.typing import NDArray

from dptopics.kernels.jit import jit


@jit
def document_norms(doc_start: NDArray[np.int64], count: NDArray[np.int32]) -> NDArray[np.float64]:
    """‖M̃₁‖, ‖M̃₂‖ and ‖M̃₃‖ of each document; zeros where it has fewer than three words.

    With p_q = Σ cᵢ^q and eᵢ = cᵢ(cᵢ−1): ‖M̃₂‖² = (p₂² − p₄ + Σeᵢ²)/(l(l−1))², ‖M̃₃‖² =
    (p₂³ − 3p₂p₄ + 2p₆ + 3(p₂Σeᵢ² − Σeᵢ²cᵢ²) + Σ(eᵢ(cᵢ−2))²)/(l(l−1)(l−2))².
    """
    norms = np.zeros((doc_start.size - 1, 3))
    for doc in range(doc_start.size - 1):
        length = p2 = p4 = p6 = e2 = e2c2 = e3 = 0.0
        for entry in range(doc_start[doc], doc_start[doc + 1]):
            c = float(count[entry])
            square, pair = c * c, c * (c - 1)
            length += c
            p2 += square
            p4 += square * square
            p6 += square * square * square
            e2 += pair * pair
            e2c2 += pair * pair * square
            e3 += (pair * (c - 2)) ** 2
        if length >= 3:
            norms[doc, 0] = np.sqrt(p2) / length
            norms[doc, 1] = np.sqrt(max(0.0, p2 * p2 - p4 + e2)) / (length * (length - 1))
            third = p2 * p2 * p2 - 3 * p2 * p4 + 2 * p6 + 3 * (p2 * e2 - e2c2) + e3
            norms[doc, 2] = np.sqrt(max(0.0, third)) / (length * (length - 1) * (length - 2))
    return norms
