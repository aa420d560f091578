"""A collection: public parameters that clients and server share, the client that reports once, and what it sends."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from typing import Any, Self

from numpy.random import Generator

from dptopics.errors import BundleError, InputError, PrivacyError
from dptopics.local.hashing import HashedPair, ThreeWords
from dptopics.local.randomizer import BitFlips
from dptopics.privacy.guarantee import Guarantee
from dptopics.privacy.rng import is_secure
from dptopics.public.text import TextSettings
from dptopics.release.vocabulary import Vocabulary

SCHEMA = 1
RANDOMIZERS: dict[str, type[BitFlips | HashedPair | ThreeWords]] = {
    kind.name: kind for kind in (BitFlips, HashedPair, ThreeWords)
}


@dataclass(frozen=True, kw_only=True)
class Collection:
    """What is asked of everybody: a name, how documents are read, and how they are randomised. All of it is public.

    >>> flips = BitFlips(vocabulary=Vocabulary.of(["knee", "skin"]), f=0.5, max_words=1)
    >>> collection = Collection(name="survey", randomizer=flips)
    >>> Collection.from_dict(collection.to_dict()) == collection
    True
    """

    name: str
    randomizer: BitFlips | HashedPair | ThreeWords
    text: TextSettings = field(default_factory=TextSettings)

    def __post_init__(self) -> None:
        if not self.name.strip() or self.name != self.name.strip() or not self.name.isprintable():
            raise InputError(f"a collection needs a printable name without blanks around it, got {self.name!r}.")

    @property
    def guarantee(self) -> Guarantee:
        """What one report promises."""
        return self.randomizer.guarantee

    @cached_property
    def version(self) -> str:
        """A hash of the words and of every setting. Reports made for another version do not fit."""
        data = json.dumps(self._data(), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(data.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {**self._data(), "version": self.version}

    def _data(self) -> dict[str, Any]:
        randomizer = self.randomizer
        settings = {f.name: getattr(randomizer, f.name) for f in fields(randomizer) if f.name != "vocabulary"}
        if isinstance(randomizer, HashedPair):
            settings["topics"] = [list(topic) for topic in randomizer.topics]
        return {
            "schema": SCHEMA,
            "collection": self.name,
            "kind": randomizer.name,
            "settings": settings,
            "text": asdict(self.text),
            "words": list(randomizer.vocabulary.words),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_dict`; refuses data whose version does not fit its words and settings."""
        try:
            if data["schema"] > SCHEMA:
                raise BundleError(
                    f"this collection has schema {data['schema']}, this version of dptopics reads up to {SCHEMA}. "
                    "Update dptopics."
                )
            settings = dict(data["settings"])
            if "topics" in settings:
                settings["topics"] = tuple(tuple(map(str, topic)) for topic in settings["topics"])
            randomizer = RANDOMIZERS[data["kind"]](vocabulary=Vocabulary(tuple(data["words"])), **settings)
            found = cls(name=data["collection"], randomizer=randomizer, text=TextSettings(**data["text"]))
            wanted = data["version"]
        except (KeyError, TypeError, AttributeError) as error:
            raise BundleError(f"the collection is damaged ({type(error).__name__}). Get its file again.") from None
        if found.version != wanted:
            raise BundleError("the collection was changed: its version does not fit its words. Get its file again.")
        return found


@dataclass(frozen=True)
class Report:
    """What a client sends: the collection it is for, a random number of its own, and randomised bytes."""

    collection: str
    version: str
    number: bytes
    data: bytes


@dataclass(frozen=True)
class Client:
    """Reports once for each collection. ``claim`` notes a collection's name and says whether it was new.

    >>> seen: set[str] = set()
    >>> client = Client(lambda name: name not in seen and not seen.add(name))
    """

    claim: Callable[[str], bool]

    def report(self, collection: Collection, text: str, rng: Generator) -> Report:
        """One report about one text. The collection is noted first: a crash may lose a report, never repeat one."""
        if not is_secure(rng):
            raise PrivacyError("a report must be drawn from a cryptographic generator. Use dptopics.secure_rng().")
        words = collection.text.words(text)
        if not self.claim(collection.name):
            raise PrivacyError(
                f"a report for collection {collection.name!r} was sent already. A second one would double what "
                "the first reveals: send none."
            )
        number = bytes(rng.integers(0, 255, 16, dtype="u1", endpoint=True))
        return Report(collection.name, collection.version, number, collection.randomizer(words, rng))
