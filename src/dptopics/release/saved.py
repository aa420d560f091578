"""What a released value knows about its own files: bundles, tables and pages ask it, and know no kinds."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from dptopics.release.vocabulary import Vocabulary

Arrays = Mapping[str, NDArray[Any]]


class Saved(Protocol):
    """A value that a bundle can hold."""

    kind: ClassVar[str]  # the name of its file of numbers, and what it is called in messages
    many: ClassVar[str]  # of what

    @property
    def vocabulary(self) -> "Vocabulary":
        """Its words, or n-grams."""
        ...

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Its numbers."""
        ...

    def fields(self) -> dict[str, Any]:
        """All else, as plain data."""
        ...

    @classmethod
    def restored(cls, vocabulary: "Vocabulary", arrays: Arrays, fields: Mapping[str, Any]) -> Self:
        """Inverse of the three above."""
        ...

    def tables(self) -> dict[str, str]:
        """Files for people and spreadsheets, by name."""
        ...

    def summary(self) -> list[str]:
        """Lines for the bundle's README."""
        ...

    def columns(self) -> dict[str, Any]:
        """One row for each weight, as columns."""
        ...

    def shown(self, n: int) -> dict[str, Any]:
        """The n most important things for machines to show."""
        ...


def known(**arrays: NDArray[Any] | None) -> dict[str, NDArray[Any]]:
    """Those arrays that there are."""
    return {name: np.asarray(array) for name, array in arrays.items() if array is not None}
