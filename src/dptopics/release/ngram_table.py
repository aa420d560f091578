"""NgramTable: released n-grams with their estimated probabilities. Public: never sees a corpus."""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dptopics import notebook
from dptopics.errors import InputError
from dptopics.public.text import TextSettings
from dptopics.release.saved import Arrays, known
from dptopics.release.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False, kw_only=True)
class NgramTable:
    """The joint probability of each n-gram of a public list.

    ``total`` is the estimated number of contributed n-grams, if there is an estimate; ``deviation`` how far noise, or
    what the posterior leaves open, moves each probability, if known.

    >>> table = NgramTable(vocabulary=Vocabulary.of(["a b", "b c"]), probability=np.array([0.25, 0.75]), total=40.0)
    >>> table.top(1), table.counts.tolist(), table.n
    ([('b c', 0.75)], [10.0, 30.0], 2)
    """

    vocabulary: Vocabulary
    probability: NDArray[np.float64]
    total: float | None = None
    deviation: NDArray[np.float64] | None = None
    text: TextSettings | None = None
    kind: ClassVar[str] = "ngrams"
    many: ClassVar[str] = "n-grams"

    def __post_init__(self) -> None:
        if len(self.vocabulary) == 0:
            raise InputError("a table of n-grams needs at least one n-gram.")
        if self.probability.shape != (len(self.vocabulary),) or not np.isclose(self.probability.sum(), 1.0):
            raise InputError("there must be one probability for each n-gram, and their sum must be one.")

    def _repr_html_(self) -> str:
        return notebook.table(("N-gram", "Probability"), [(ngram, f"{share:.3g}") for ngram, share in self.top()])

    @property
    def n(self) -> int:
        """Words per n-gram."""
        return len(self.vocabulary.words[0].split(" "))

    @property
    def counts(self) -> NDArray[np.float64] | None:
        """Estimated counts, if the total is known."""
        return None if self.total is None else self.probability * self.total

    def top(self, n: int = 10) -> list[tuple[str, float]]:
        """The n most probable n-grams."""
        order = np.argsort(-self.probability, kind="stable")[:n]
        return [(self.vocabulary.words[i], float(self.probability[i])) for i in order]

    def csv(self) -> str:
        """The whole table for people and spreadsheets, the most probable n-gram first."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["ngram", "probability", "estimated_count", "deviation"])
        counts, deviation = self.counts, self.deviation
        for i in np.argsort(-self.probability, kind="stable").tolist():
            count = "" if counts is None else f"{counts[i]:.4g}"
            spread = "" if deviation is None else f"{deviation[i]:.3g}"
            writer.writerow([self.vocabulary.words[i], f"{self.probability[i]:.6g}", count, spread])
        return out.getvalue()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Probabilities, and how far noise moves them."""
        return known(probability=self.probability, deviation=self.deviation)

    def fields(self) -> dict[str, Any]:
        """The total, and how texts were read."""
        return {"total": self.total, "text": None if self.text is None else self.text.to_dict()}

    @classmethod
    def restored(cls, vocabulary: Vocabulary, arrays: Arrays, fields: Mapping[str, Any]) -> Self:
        """From a bundle."""
        return cls(
            vocabulary=vocabulary,
            probability=arrays["probability"],
            total=None if fields["total"] is None else float(fields["total"]),
            deviation=arrays.get("deviation"),
            text=None if fields["text"] is None else TextSettings.from_dict(fields["text"]),
        )

    def tables(self) -> dict[str, str]:
        """All n-grams."""
        return {"ngrams.csv": self.csv()}

    def summary(self) -> list[str]:
        """The most probable n-grams."""
        top = self.top()
        lines = [f"The {len(top)} most probable n-grams:", *(f"{share:.3g}  {ngram}" for ngram, share in top)]
        more = "ngrams.csv: all n-grams, the most probable first. ngrams.npz: the same in full digits (NumPy)."
        return [*lines, "", more]

    def columns(self) -> dict[str, Any]:
        """N-gram, probability, standard deviation of the noise."""
        deviation = [None] * len(self.vocabulary) if self.deviation is None else self.deviation
        return {"ngram": list(self.vocabulary.words), "probability": self.probability, "deviation": deviation}

    def shown(self, n: int) -> dict[str, Any]:
        """The n most probable n-grams."""
        return {"ngrams": [{"ngram": ngram, "probability": share} for ngram, share in self.top(n)]}

    def to_arrow(self) -> Any:
        """The table as an Arrow table: ngram, probability, deviation."""
        from dptopics.release import interop

        return interop.to_arrow(self)

    def to_pandas(self) -> Any:
        """The table as a pandas frame."""
        from dptopics.release import interop

        return interop.to_pandas(self)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The table of a saved release."""
        from dptopics.release.bundle import load

        return load(path).value_of(cls)
