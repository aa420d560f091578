"""A public word list: costs nothing, and keeps only words somebody published before."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Self
from unicodedata import normalize

from numpy.random import Generator

from dptopics.data.bounded import BoundedCorpus
from dptopics.errors import InputError
from dptopics.privacy.guarantee import PUBLIC_LIST, Guarantee, Strength, Unit
from dptopics.privacy.mechanism import check_unit
from dptopics.public.text import TextSettings
from dptopics.public.word_lists import check_entries, read_list
from dptopics.release.release import Release
from dptopics.release.vocabulary import Vocabulary


@dataclass(frozen=True, kw_only=True)
class PublicVocabulary:
    """Release a word list that was public before. It looks at no data, so ε = 0.

    Proof: docs/guarantees/public_vocabulary.md
    """

    vocabulary: Vocabulary = field(repr=False)
    delta: float
    unit: Unit = Unit.AUTHOR
    name: ClassVar[str] = "public"
    paper: ClassVar[str] = "-"

    @classmethod
    def from_file(cls, path: str | Path, *, delta: float, unit: Unit = Unit.AUTHOR) -> Self:
        """One word per line, UTF-8."""
        return cls(vocabulary=read_words(path), delta=delta, unit=unit)

    @property
    def guarantee(self) -> Guarantee:
        """Nothing is spent."""
        return Guarantee(
            events=(),
            delta=self.delta,
            unit=self.unit,
            strength=Strength.PROVED,
            assumptions=(PUBLIC_LIST,),
        )

    def rescaled(self, factor: float) -> Self:
        """Itself: there is no noise."""
        return self

    def check(self, corpus: BoundedCorpus) -> None:
        """Any corpus bounded for the same unit will do."""
        check_unit(self, corpus)

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[Vocabulary]:
        """The list as it is, also words that nobody in the corpus used."""
        self.check(corpus)
        return Release.of(self.vocabulary, self, rng)


def read_words(path: str | Path) -> Vocabulary:
    """A word list, one word per line."""
    # Written as texts are read (see TextSettings.words), or an accent in two pieces would match nothing.
    lines = read_list(path, "word list")
    words = [w for line in lines if (w := normalize("NFKC", line).strip().lower())]
    if not words:
        raise InputError(f"the word list {Path(path).name!r} is empty. Put one word on each line.")
    check_entries(words, TextSettings())
    return Vocabulary.of(words)
