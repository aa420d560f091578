"""PublicNgrams: a list of n-grams with counts that were public before. What private counts are compared with."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from dptopics.errors import InputError
from dptopics.public.packed import read_list
from dptopics.public.text import TextSettings
from dptopics.public.word_lists import check_entries
from dptopics.release.vocabulary import Vocabulary

if TYPE_CHECKING:
    from dptopics.data.corpus import Corpus


@dataclass(frozen=True, eq=False)
class PublicNgrams:
    """N-grams in sorted order and how often each occurs in public text. It must not come from the private data.

    >>> public = PublicNgrams.from_texts(["How are you? How are they?"], n=2, size=3)
    >>> list(zip(public.vocabulary.words, public.counts.tolist()))
    [('<s> how', 2.0), ('are they', 1.0), ('how are', 2.0)]
    """

    vocabulary: Vocabulary
    counts: NDArray[np.float64]

    def __post_init__(self) -> None:
        if len(self.vocabulary) == 0:
            raise InputError("the public list holds no n-grams. Give a list, or public texts to take one from.")
        if self.counts.shape != (len(self.vocabulary),) or not np.all((self.counts >= 0) & (self.counts < np.inf)):
            raise InputError("public counts must be numbers of at least 0, one for each n-gram.")

    @classmethod
    def of(cls, counts: dict[str, float]) -> Self:
        """From n-grams with their counts, in any order."""
        words = Vocabulary.of(counts)
        return cls(words, np.array([counts[w] for w in words.words], np.float64))

    @classmethod
    def from_texts(cls, texts: Iterable[str], *, n: int, size: int | None = None, tokenizer: Any = None) -> Self:
        """The ``size`` most frequent n-grams of public texts."""
        from dptopics.data.corpus import Corpus

        return cls._most_frequent(Corpus.from_texts(texts, settings=TextSettings.for_ngrams(n, tokenizer)), size)

    @classmethod
    def from_table(
        cls,
        source: Any,
        *,
        text: str,
        n: int,
        size: int | None = None,
        encoding: str = "utf8",
        tokenizer: Any = None,
    ) -> Self:
        """The ``size`` most frequent n-grams of a table of public texts."""
        from dptopics.data.corpus import Corpus

        settings = TextSettings.for_ngrams(n, tokenizer)
        corpus = Corpus.from_table(source, text=text, settings=settings, drop_missing=True, encoding=encoding)
        return cls._most_frequent(corpus, size)

    @classmethod
    def from_file(cls, path: str | Path, *, n: int) -> Self:
        """From a list: one n-gram on each line, its words joined by blanks, then if known a tab and its count.

        Without a count an n-gram counts one. Repeated n-grams add up.
        """
        name = Path(path).name
        counts: dict[str, float] = {}
        for number, line in enumerate(read_list(path, "n-gram list"), start=1):
            ngram, _, count = normalize("NFKC", line).lower().replace("’", "'").partition("\t")
            if not ngram.strip():
                continue
            words = ngram.split()
            if len(words) != n:
                raise InputError(f"line {number} of {name!r} has {len(words)} words, but n is {n}. Mend one of them.")
            try:
                value = float(count) if count.strip() else 1.0
            except ValueError:
                raise InputError(f"line {number} of {name!r}: what follows the tab must be a number.") from None
            counts[" ".join(words)] = counts.get(" ".join(words), 0.0) + value
        if not counts:
            raise InputError(f"the n-gram list {name!r} is empty. Put one n-gram on each line.")
        check_entries(list(counts), TextSettings.for_ngrams(n))
        return cls.of(counts)

    @classmethod
    def _most_frequent(cls, corpus: "Corpus", size: int | None) -> Self:
        if size is not None and size < 1:
            raise InputError(f"the list must hold at least one n-gram, got size {size}.")
        total = np.bincount(corpus.word, weights=corpus.count, minlength=len(corpus.words))
        pairs = sorted(zip(corpus.words, total.tolist(), strict=True), key=lambda p: (-p[1], p[0]))
        return cls.of(dict(pairs[:size]))

    def counts_of(self, vocabulary: Vocabulary) -> NDArray[np.float64]:
        """Public counts of the n-grams of a list; 0 where there is none."""
        if vocabulary is self.vocabulary:
            return self.counts
        index = self.vocabulary.index
        rows = np.array([index.get(w, -1) for w in vocabulary.words], np.int64)
        if not (rows >= 0).any():
            raise InputError(
                "the public counts and the list of n-grams have nothing in common. Check the number of words per "
                "n-gram and how both were written."
            )
        return np.where(rows >= 0, self.counts[rows], 0.0)
