"""A collection: public parameters that clients and server share, and what a client sends."""

import hashlib
import json
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Self

from dptopics.core.errors import BundleError, InputError
from dptopics.core.periods import check_kind
from dptopics.core.text import AUTO, TextSettings
from dptopics.core.vocabulary import Vocabulary
from dptopics.local.hashing import HashedPair, ThreeWords
from dptopics.local.randomizer import BitFlips
from dptopics.privacy.guarantee import Guarantee

SCHEMA = 1
_LONGEST_QUESTION = 1000
RANDOMIZERS: dict[str, type[BitFlips | HashedPair | ThreeWords]] = {
    kind.name: kind for kind in (BitFlips, HashedPair, ThreeWords)
}


@dataclass(frozen=True, kw_only=True)
class Collection:
    """What is asked of everybody: a name, how documents are read, and how they are randomised. All of it is public.

    ``question`` is what people are asked, in one line: pages and cards show it beside the name.
    ``period`` is the finest time that a collector's store keeps of a report: "none", the "day" or the "week".

    >>> flips = BitFlips(vocabulary=Vocabulary.of(["knee", "skin"]), f=0.5, max_words=1)
    >>> collection = Collection(name="survey", randomizer=flips)
    >>> Collection.from_dict(collection.to_dict()) == collection
    True
    """

    name: str
    randomizer: BitFlips | HashedPair | ThreeWords
    text: TextSettings = field(default_factory=TextSettings)
    period: str = "none"
    question: str = ""

    def __post_init__(self) -> None:
        check_kind(self.period)
        if not self.name.strip() or self.name != self.name.strip() or not self.name.isprintable():
            raise InputError(f"a collection needs a printable name without blanks around it, got {self.name!r}.")
        if not self.question.isprintable() or len(self.question) > _LONGEST_QUESTION:
            raise InputError(
                f"a question is one printable line of at most {_LONGEST_QUESTION} characters, this one has "
                f"{len(self.question)}. Shorten it, or put the rest on the survey's own page."
            )
        if self.text.language == AUTO:
            raise InputError("clients read texts in one language: say which, or 'none'. 'auto' is for tables.")
        if self.text.cutter is not None:
            raise InputError(
                f"clients cut texts where there is no letter, so that words by the tokenizer {self.text.cutter.name!r} "
                "cannot be collected. Take another language, or 'none'."
            )

    @property
    def guarantee(self) -> Guarantee:
        """What one report promises."""
        return self.randomizer.guarantee

    @property
    def asks(self) -> float:
        """ε of one report for a whole document at δ = 0, which is what a client counts, whatever the headline."""
        return self.randomizer.whole_epsilon

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
        more = {} if self.period == "none" else {"period": self.period}  # as before there were any
        more |= {"question": self.question} if self.question else {}
        return {
            "schema": SCHEMA,
            "collection": self.name,
            "kind": randomizer.name,
            "settings": settings,
            "text": self.text.to_dict(),
            "words": list(randomizer.vocabulary.words),
            **more,
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
            found = cls(
                name=data["collection"], randomizer=randomizer, text=TextSettings.from_dict(data["text"]),
                period=data.get("period", "none"), question=data.get("question", ""),
            )  # fmt: skip
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
