"""DocumentSpace: where released topics lie in the space of a public model, and which topic a document there has."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dptopics.kernels.embedded import cosines, softmax

_SHARPNESS = 0.05  # of shares that come from cosines


@dataclass(frozen=True, eq=False, kw_only=True)
class DocumentSpace:
    """Where the topics of an embedded model lie: cosines with these centres say which topic a document has.

    A text's vector is the model's own, or (``of_words``) the mean of its words'; less ``mean``, times ``projection``,
    and seen from the ``middle`` of the documents.
    """

    embedding: str
    of_words: bool
    mean: NDArray[np.float64]
    projection: NDArray[np.float64]
    middle: NDArray[np.float64]
    centres: NDArray[np.float64]
    sharpness: float | None = _SHARPNESS  # None: cosines as they are

    def shares(self, documents: NDArray[np.float64]) -> NDArray[np.float64]:
        """Topic shares of documents given as unit vectors: softmax of cosines. The zero vector gets equal shares.

        Each row depends on its document alone, to the last bit: counts rest on it.
        """
        found = cosines(documents, self.centres)
        return found if self.sharpness is None else softmax(found / self.sharpness)
