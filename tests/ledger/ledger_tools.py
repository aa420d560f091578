"""A mechanism that does nothing, and what it promises."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

from dptopics.core.errors import PrivacyError
from dptopics.privacy.events import Failure, Laplace
from dptopics.privacy.guarantee import Guarantee, Strength, Unit
from dptopics.release.release import Release

CORPUS = SimpleNamespace(bounds=SimpleNamespace(unit=Unit.AUTHOR, column=None), assumptions=())


def promise(epsilon=1.0, delta=1e-7, **fields):
    """A guarantee that costs exactly this much."""
    events = (Laplace(1 / epsilon), Failure(delta))
    fields = {"unit": Unit.AUTHOR, "strength": Strength.PROVED, "events": events} | fields
    if fields["strength"] is Strength.RANDOM:
        fields = {"gamma": 0.1} | fields
    return Guarantee(delta=delta, **fields)


@dataclass(frozen=True)
class Fake:
    """A mechanism that reports that it ran."""

    name: ClassVar[str] = "fake"
    guarantee: Guarantee
    ran: list
    error: Exception | None = None
    unit: Unit = Unit.AUTHOR

    def check(self, corpus):
        if corpus.bounds.unit != self.unit:
            raise PrivacyError("this mechanism protects each document")

    def __call__(self, corpus, rng):
        self.ran.append(corpus)
        if self.error:
            raise self.error
        return Release.of("topics", self, rng)


def fake(**fields):
    return Fake(promise(**fields), [])
