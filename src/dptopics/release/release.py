"""Release: a value that may be published, with its guarantee and the public settings that made it."""

from dataclasses import dataclass, field, fields, is_dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

from numpy.random import Generator

from dptopics import notebook
from dptopics.errors import BundleError
from dptopics.privacy.card import card_html
from dptopics.privacy.controls import share_of_noise
from dptopics.privacy.guarantee import Guarantee, Strength
from dptopics.privacy.rng import is_secure
from dptopics.release.record import Record

if TYPE_CHECKING:
    from dptopics.insight.hierarchy import TopicTree
    from dptopics.release.topic_model import TopicModel

T = TypeVar("T")
V = TypeVar("V")


class Guaranteed(Protocol):
    """Whatever states its guarantee: a mechanism."""

    @property
    def guarantee(self) -> Guarantee:
        """What one run promises."""
        ...


@dataclass(frozen=True, kw_only=True)
class Release(Generic[T]):
    """What leaves the house. Holds nothing private but what the mechanism's noise has covered."""

    value: T
    guarantee: Guarantee
    settings: dict[str, Any]
    record: Record = field(default_factory=Record)

    def value_of(self, kind: type[V]) -> V:
        """The value, if it is of this kind."""
        if not isinstance(self.value, kind):
            found, wanted = getattr(self.value, "many", "something else"), getattr(kind, "many", kind.__name__)
            raise BundleError(f"this release holds {found}, not {wanted}.")
        return self.value

    def assuming(self, lines: tuple[str, ...]) -> Self:
        """The same release; its guarantee says what must be true of the data's form."""
        return replace(self, guarantee=self.guarantee.assuming(lines))

    def _repr_html_(self) -> str:
        value = self.value._repr_html_() if hasattr(self.value, "_repr_html_") else escape(repr(self.value))
        record = self.record.rows()
        return value + card_html(self.guarantee) + (notebook.table(("Record", ""), record) if record else "")

    def tree(self) -> "TopicTree":
        """Which of the released topics are alike, as a tree: post-processing, nothing is spent."""
        from dptopics.insight.hierarchy import tree_of
        from dptopics.release.topic_model import TopicModel

        return tree_of(self.value_of(TopicModel))

    def merged(self, n_topics: int) -> "Release[TopicModel]":
        """The release with its topics joined to fewer, along the tree. The guarantee is the same."""
        from dptopics.insight.hierarchy import merged
        from dptopics.release.topic_model import TopicModel

        model = merged(self.value_of(TopicModel), n_topics)
        return Release(
            value=model,
            guarantee=self.guarantee,
            settings={**self.settings, "merged_to": n_topics},
            record=self.record,
        )

    @classmethod
    def of(cls, value: T, mechanism: Guaranteed, rng: Generator) -> Self:
        """The release of a mechanism that drew its noise from ``rng``: a seeded generator voids the guarantee."""
        guarantee = mechanism.guarantee
        if not is_secure(rng):
            guarantee = guarantee.weakened(
                Strength.NONE,
                "Seeded: whoever knows or guesses the seed can subtract the noise. Not private.",
            )
        if share_of_noise() != 1.0:
            guarantee = guarantee.weakened(Strength.NONE, "A control of an audit, with too little noise. Not private.")
        return cls(value=value, guarantee=guarantee, settings=describe(mechanism))


def describe(mechanism: object) -> dict[str, Any]:
    """Name and public fields of a mechanism, as plain data."""
    if not is_dataclass(mechanism):
        return {"mechanism": type(mechanism).__name__}
    described: dict[str, Any] = {"mechanism": getattr(mechanism, "name", type(mechanism).__name__)}
    for one in fields(mechanism):
        if not one.repr:
            continue  # long public values, such as a word list
        value = getattr(mechanism, one.name)
        described[one.name] = describe(value) if is_dataclass(value) else _plain(value)
    return described


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float) else str(value)
