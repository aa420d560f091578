"""Themes of a public atlas in a release: which are shown, and how many units write about each. Public."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dptopics.core.files import Arrays
from dptopics.kernels.embedded import in_steps, near_themes
from dptopics.release.counts import Estimate, Shown

Floats = NDArray[np.float64]
REST = "everything else"
MARK = "invented; chosen by private votes"  # what stands beside each example
_AMONG = 3  # a text belongs to a theme that is among its so many nearest


class ThemeRow(NamedTuple):
    """One line of the table of themes."""

    name: str
    domain: str
    topic: int | None
    size: Estimate
    words: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()  # invented sentences, chosen by private votes

    @property
    def shown(self) -> str:
        return str(Shown.of(self.size))


@dataclass(frozen=True, eq=False, kw_only=True)
class Themes:
    """Shown themes with their noisy sizes.

    A text belongs to the nearest shown theme that is among its three nearest of *all* themes of the atlas, else to
    "everything else" of the domain of its nearest theme. A unit counts once, split evenly over its texts: sizes add up
    to the number of units. Names and words of themes are public; nobody here need have written them.
    """

    atlas: str  # checksum
    names: tuple[str, ...]  # of all themes
    domain_names: tuple[str, ...]
    domain_of: NDArray[np.int64]  # the number of each theme's domain
    centres: Floats  # all themes × dimensions of the space
    shown: NDArray[np.int64]  # numbers of the themes that are shown
    topic: NDArray[np.int64]  # of each shown theme
    words: tuple[tuple[str, ...], ...]  # public ones that describe each shown theme
    unit: str
    noisy: Floats | None = None  # shown themes, the rest of each domain, and texts without a known word
    noise_std: float = 0.0
    examples: tuple[tuple[str, ...], ...] = ()  # of each shown theme; nobody here need have written them

    @property
    def sizes(self) -> Floats:
        """Of the shown themes, noisy."""
        return np.zeros(len(self.shown)) if self.noisy is None else self.noisy[: len(self.shown)]

    @property
    def n_cells(self) -> int:
        return len(self.shown) + len(self.domain_names) + 1

    @cached_property
    def _cell_of(self) -> NDArray[np.int64]:
        """The cell of each theme that is shown, else −1."""
        found = np.full(len(self.names), -1, np.int64)
        found[self.shown] = np.arange(len(self.shown))
        return found

    def cells(self, documents: NDArray[np.int16]) -> NDArray[np.int32]:
        """Where each document belongs, given as unit vectors in steps; each by itself, bit for bit."""
        found, _ = near_themes(documents, in_steps(self.centres), min(_AMONG, len(self.centres)))
        cell = self._cell_of[found]
        own = cell[np.arange(len(cell)), (cell >= 0).argmax(axis=1)]  # the first that is shown
        rest = len(self.shown) + self.domain_of[found[:, 0]]
        return np.where(found[:, 0] < 0, self.n_cells - 1, np.where(own >= 0, own, rest)).astype(np.int32)

    @property
    def cell_titles(self) -> list[str]:
        """The name of each cell."""
        own = [self.names[j] for j in self.shown.tolist()]
        return [*own, *(f"{REST}: {name}" for name in self.domain_names), "no known word"]

    def rows(self) -> list[ThemeRow]:
        """Shown themes, then what is left of each domain, then texts without a known word."""
        if self.noisy is None:
            return []
        n = len(self.shown)
        own = [
            ThemeRow(self.names[j], self.domain_names[self.domain_of[j]], int(k), self._estimate(i), words, examples)
            for i, (j, k, words, examples) in enumerate(
                zip(self.shown.tolist(), self.topic.tolist(), self.words, self.examples or ((),) * n, strict=True)
            )
        ]
        rest = [ThemeRow(REST, name, None, self._estimate(n + d)) for d, name in enumerate(self.domain_names)]
        return [*own, *rest, ThemeRow("no known word", "", None, self._estimate(self.n_cells - 1))]

    def domains(self) -> list[ThemeRow]:
        """Sums over the themes of each domain and the rest of it."""
        if self.noisy is None:
            return []
        n, of = len(self.shown), self.domain_of[self.shown]
        found = []
        for d, name in enumerate(self.domain_names):
            parts = [*np.flatnonzero(of == d).tolist(), n + d]
            variance = len(parts) * self.noise_std**2
            found.append(ThemeRow(name, name, None, Estimate.of(float(self.noisy[parts].sum()), variance)))
        return found

    def _estimate(self, cell: int) -> Estimate:
        assert self.noisy is not None
        return Estimate.of(float(self.noisy[cell]), self.noise_std**2)

    def regrouped(self, new: NDArray[np.int64]) -> Self:
        """The same themes, where topic k is now topic new[k]."""
        return replace(self, topic=new[self.topic])

    @property
    def note(self) -> str:
        """What is counted, and what is not."""
        rest = np.zeros(0) if self.noisy is None else self.noisy[len(self.shown) : -1]
        size = ThemeRow("", "", None, Estimate.of(float(rest.sum()), rest.size * self.noise_std**2)).shown
        return (
            f"Themes are public: nobody here need have written their names or words. A text belongs to the nearest of "
            f"these themes if that is among its three nearest of all {len(self.names):,}. {size} {self.unit}s write "
            "about other themes."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data: themes, what is left of each domain, and sums over domains."""
        return {
            "themes": [{**row._asdict(), "size": row.size._asdict()} for row in self.rows()],
            "domains": [{"name": row.name, "size": row.size._asdict()} for row in self.domains()],
            "note": self.note,
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        centres: NDArray[Any] = self.centres.astype(np.float32)
        own = {"theme_domain": self.domain_of, "theme_shown": self.shown, "theme_topic": self.topic}
        return {"theme_centres": centres, **own} | ({} if self.noisy is None else {"theme_size": self.noisy})

    def fields(self) -> dict[str, Any]:
        return {"atlas": self.atlas, "names": list(self.names), "domains": list(self.domain_names),
                "words": [list(row) for row in self.words], "unit": self.unit, "noise_std": self.noise_std,
                "examples": [list(row) for row in self.examples]}  # fmt: skip

    @classmethod
    def restored(cls, arrays: Arrays, fields: Mapping[str, Any]) -> Self:
        return cls(
            atlas=str(fields["atlas"]),
            names=tuple(fields["names"]),
            domain_names=tuple(fields["domains"]),
            domain_of=arrays["theme_domain"],
            centres=arrays["theme_centres"].astype(np.float64),
            shown=arrays["theme_shown"],
            topic=arrays["theme_topic"],
            words=tuple(tuple(row) for row in fields["words"]),
            unit=str(fields["unit"]),
            noisy=arrays.get("theme_size"),
            noise_std=float(fields["noise_std"]),
            examples=tuple(tuple(row) for row in fields.get("examples", ())),
        )
