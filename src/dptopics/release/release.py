"""Release: a publishable value, with its guarantee and the public settings that made it."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

from numpy.random import Generator

from dptopics.core import notebook
from dptopics.core.errors import BundleError, InputError
from dptopics.privacy.card import card_html
from dptopics.privacy.controls import share_of_noise
from dptopics.privacy.guarantee import Guarantee, Strength
from dptopics.privacy.rng import is_secure

if TYPE_CHECKING:
    from dptopics.release.topic_model import TopicModel
    from dptopics.release.tree import TopicTree


def check_said(**texts: str) -> None:
    """Refuse texts of the owner that cannot be written into a release, before anything is charged."""
    for name, text in texts.items():
        if not isinstance(text, str) or text.encode("utf-8", "replace").decode() != text:
            raise InputError(f"the {name} must be a text that can be written as UTF-8.")


@dataclass(frozen=True, kw_only=True)
class Record:
    """Version and day, the owner's description, the plan, and the account that was charged."""

    version: str = ""
    day: str = ""
    title: str = ""
    description: str = ""
    plan: Mapping[str, Any] | None = None
    ledger: Mapping[str, Any] | None = None  # its name, the number of this charge, and the total

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any] | None) -> Self:
        """Inverse of :meth:`to_dict`; releases before 0.2.0 have no record."""
        return cls(**{"description" if name == "about" else name: value for name, value in (data or {}).items()})

    def rows(self) -> list[tuple[str, str]]:
        mechanism = "" if self.plan is None else f", mechanism {self.plan['mechanism']}"
        own = len(self._text().get("stop_words", ()))  # published with the settings
        rows = [
            ("Title", self.title),
            ("Description", self.description),
            ("Made by", f"dptopics {self.version} on {self.day}{mechanism}." if self.version else ""),
            ("Words", self._words()),
            ("Tokenizer", self._tokenizer()),
            ("Stop words", f"{own:,} of the owner's own, listed in bundle.json." if own else ""),
            ("Bounds", self._bounds()),
            ("Ledger", self._ledger()),
        ]
        return [(name, text) for name, text in rows if text]

    def _words(self) -> str:
        """The source of each part of the word list."""
        if self.plan is None or self.plan["job"] == "counts":
            return ""
        listed = self.plan["vocabulary"] or self.plan["prior"]
        if isinstance(listed, Mapping):
            return f"a public list, {listed['name']!r} (SHA-256 {str(listed['sha256'])[:12]}…)."
        language = self._text().get("language", "english")
        common = f"the common words of {language}, a public list"
        if listed == "common":
            return f"{common}."
        if listed == "common+weighted":
            return f"{common}; others chosen privately from the data (weighted)."
        return f"chosen privately from the data ({listed or self.plan['mechanism']})."

    def _tokenizer(self) -> str:
        """The tokenizer, if not the built-in one."""
        named = self._text().get("tokenizer")
        if named is None:
            return ""
        name, version = (named, "") if isinstance(named, str) else (named["name"], f" ({named['version']})")
        return f"{name}{version}{', a function of the owner' if ':' in name else ''}."

    def _text(self) -> Mapping[str, Any]:
        return {} if self.plan is None else self.plan.get("text") or {}

    def _bounds(self) -> str:
        if self.plan is None:
            return ""
        if self.plan["job"] == "counts" and self.plan["max_docs"] is None:
            most = self.plan["settings"].get("max_cells")
            told = {None: "in every row that is theirs, or in as many as the table says", 1: "in one cell"}
            return f"each {self.plan['unit']} counts {told.get(most, f'in at most {most} cells')}."
        names = {"max_docs": "documents", "max_words": "distinct words"}
        limits = [f"{self.plan[name]} {what}" for name, what in names.items() if self.plan[name] is not None]
        return f"at most {' and '.join(limits)} of each {self.plan['unit']}." if limits else ""

    def _ledger(self) -> str:
        if self.ledger is None:
            return "none: other releases of the same data are not counted." if self.version else ""
        return (
            f"{self.ledger['name']!r}: charge {self.ledger['charge']}; all charges so far total ε = "
            f"{self.ledger['epsilon']:.4g}, δ = {self.ledger['delta']:.3g} of ε = {self.ledger['of_epsilon']:.4g}, "
            f"δ = {self.ledger['of_delta']:.3g}."
        )


T = TypeVar("T")
V = TypeVar("V")


class Guaranteed(Protocol):
    """Anything with a guarantee: a mechanism."""

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of one run."""
        ...


@dataclass(frozen=True, kw_only=True)
class Release(Generic[T]):
    """What is published: everything in it depends on private data through the mechanism alone."""

    value: T
    guarantee: Guarantee
    settings: dict[str, Any]
    record: Record = field(default_factory=Record)

    def value_of(self, kind: type[V]) -> V:
        """The value, if it is of this kind."""
        if not isinstance(self.value, kind):
            found, wanted = getattr(self.value, "many", "something else"), getattr(kind, "many", kind.__name__)
            raise BundleError(f"this release contains {found}, not {wanted}.")
        return self.value

    def assuming(self, lines: tuple[str, ...]) -> Self:
        """The same release, with further assumptions of its guarantee."""
        return replace(self, guarantee=self.guarantee.assuming(lines))

    def _repr_html_(self) -> str:
        value = self.value._repr_html_() if hasattr(self.value, "_repr_html_") else escape(repr(self.value))
        record = self.record.rows()
        return value + card_html(self.guarantee) + (notebook.table(("Record", ""), record) if record else "")

    def tree(self) -> "TopicTree":
        """The released topics as a tree by similarity: post-processing, nothing is spent."""
        from dptopics.release.topic_model import TopicModel
        from dptopics.release.tree import tree_of

        return tree_of(self.value_of(TopicModel))

    def merged(self, n_topics: int) -> "Release[TopicModel]":
        """The release with its topics merged to fewer, along the tree. The guarantee is the same."""
        from dptopics.release.topic_model import TopicModel
        from dptopics.release.tree import merged

        model = merged(self.value_of(TopicModel), n_topics)
        return Release(
            value=model, guarantee=self.guarantee, settings={**self.settings, "merged_to": n_topics}, record=self.record
        )

    @classmethod
    def of(cls, value: T, mechanism: Guaranteed, rng: Generator) -> Self:
        """The release of a mechanism that drew its noise from ``rng``: a seeded generator voids the guarantee."""
        guarantee = mechanism.guarantee
        if not is_secure(rng):
            guarantee = guarantee.weakened(
                Strength.NONE, "Seeded: whoever knows or guesses the seed can subtract the noise. Not private."
            )
        if share_of_noise() != 1.0:
            guarantee = guarantee.weakened(Strength.NONE, "An under-noised control of an audit. Not private.")
        return cls(value=value, guarantee=guarantee, settings=mechanism_settings(mechanism))


def mechanism_settings(mechanism: object) -> dict[str, Any]:
    """Name and public fields of a mechanism, as plain data."""
    if not is_dataclass(mechanism):
        return {"mechanism": type(mechanism).__name__}
    described: dict[str, Any] = {"mechanism": getattr(mechanism, "name", type(mechanism).__name__)}
    for one in fields(mechanism):
        if not one.repr:
            continue  # long public values, such as a word list
        value = getattr(mechanism, one.name)
        plain = value if value is None or isinstance(value, bool | int | float) else str(value)
        described[one.name] = mechanism_settings(value) if is_dataclass(value) else plain
    return described


def as_csv(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table for spreadsheets."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([heads, *rows])
    return out.getvalue()


class Tabular:
    """A released value with ``columns()``."""

    def to_arrow(self: Any) -> Any:
        """A table of ``columns()``, one row for each weight; ``noise_std`` is null if not known."""
        import pyarrow as pa

        def column(name: str, values: Any) -> Any:
            if name == "word":  # words recur in every topic
                return pa.array(values, pa.string()).dictionary_encode()
            named = name in ("topic", "ngram") or (isinstance(values, list) and isinstance(values[0], str))
            return pa.array(values, None if named else pa.float64())

        return pa.table({name: column(name, values) for name, values in self.columns().items()})

    def to_pandas(self: Any) -> Any:
        """A pandas frame of ``columns()``."""
        try:
            import pandas  # noqa: F401
        except ImportError:
            raise InputError("frames need pandas. Run: pip install pandas. Or use to_arrow.") from None
        return self.to_arrow().to_pandas()

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The value of a saved release."""
        from dptopics.release.bundle import load

        return load(path).value_of(cls)
