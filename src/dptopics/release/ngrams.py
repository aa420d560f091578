"""NgramTable: released n-grams with their estimated probabilities. Public: it sees no corpus."""

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import exp, inf, log, log10
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics.core import notebook
from dptopics.core.errors import InputError, renamed_attribute
from dptopics.core.files import Arrays, known
from dptopics.core.text import END, START, TextSettings
from dptopics.core.vocabulary import Vocabulary
from dptopics.release.release import Tabular


@dataclass(frozen=True, eq=False, kw_only=True)
class NgramTable(Tabular):
    """The joint probability of each n-gram of a public list.

    ``total`` is the estimated number of contributed n-grams, if there is an estimate; ``noise_std`` the standard
    deviation of each probability by the noise or the posterior, if known.

    >>> table = NgramTable(vocabulary=Vocabulary.of(["a b", "b c"]), probability=np.array([0.25, 0.75]), total=40.0)
    >>> table.top(1), table.counts.tolist(), table.n
    ([('b c', 0.75)], [10.0, 30.0], 2)
    """

    vocabulary: Vocabulary
    probability: NDArray[np.float64]
    total: float | None = None
    noise_std: NDArray[np.float64] | None = None
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
        """The whole table for spreadsheets, the most probable n-gram first."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["ngram", "probability", "estimated_count", "noise_std"])
        counts, noise_std = self.counts, self.noise_std
        for i in np.argsort(-self.probability, kind="stable").tolist():
            count = "" if counts is None else f"{counts[i]:.4g}"
            spread = "" if noise_std is None else f"{noise_std[i]:.3g}"
            writer.writerow([self.vocabulary.words[i], f"{self.probability[i]:.6g}", count, spread])
        return out.getvalue()

    deviation = renamed_attribute("deviation", "noise_std")

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Probabilities, and the noise in them."""
        return known(probability=self.probability, noise_std=self.noise_std)

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
            noise_std=arrays.get("noise_std"),
            text=None if fields["text"] is None else TextSettings.from_dict(fields["text"]),
        )

    def tables(self) -> dict[str, str]:
        """All n-grams."""
        return {"ngrams.csv": self.csv()}

    def summary(self) -> list[str]:
        """The most probable n-grams."""
        top = self.top()
        lines = [f"The {len(top)} most probable n-grams:", *(f"{share:.3g}  {ngram}" for ngram, share in top)]
        more = "ngrams.csv: all n-grams, the most probable first. ngrams.npz: the same in full precision (NumPy)."
        return [*lines, "", more]

    def columns(self) -> dict[str, Any]:
        """N-gram, probability, standard deviation of the noise."""
        noise_std = [None] * len(self.vocabulary) if self.noise_std is None else self.noise_std
        return {"ngram": list(self.vocabulary.words), "probability": self.probability, "noise_std": noise_std}

    def summary_json(self, n: int) -> dict[str, Any]:
        """The n most probable n-grams."""
        return {"ngrams": [{"ngram": ngram, "probability": share} for ngram, share in self.top(n)]}


_NEVER = -99.0  # what ARPA files write for log10(0)


@dataclass(frozen=True)
class Perplexity:
    """exp of minus the mean log probability of a word, over sentences that the list covers."""

    value: float
    sentences: int
    left_out: int  # sentences with an n-gram that is not on the list

    def __str__(self) -> str:
        return f"{self.value:.4g} over {self.sentences} sentences ({self.left_out} left out: not covered by the list)"


@dataclass(frozen=True, eq=False)
class LanguageModel:
    """Conditional probabilities from joint ones: P(w | h) = p(h w …)/p(h …), sums over n-grams with that prefix.

    >>> from dptopics.core.vocabulary import Vocabulary
    >>> table = NgramTable(vocabulary=Vocabulary.of(["<s> a", "a </s>", "a b", "b </s>"]),
    ...     probability=np.array([0.4, 0.1, 0.3, 0.2]))
    >>> model = LanguageModel(table)
    >>> model.joint("a b"), round(model.conditional("b", "a"), 3)
    (0.3, 0.75)
    >>> round(model.perplexity(["A b."]).value, 3)
    1.101
    """

    table: NgramTable

    @cached_property
    def prefixes(self) -> list[dict[tuple[str, ...], float]]:
        """Probability that an n-gram begins with given words, by their number; [0] has the empty prefix."""
        found: list[dict[tuple[str, ...], float]] = [{} for _ in range(self.table.n + 1)]
        for ngram, chance in zip(self.table.vocabulary.words, self.table.probability.tolist(), strict=True):
            words = tuple(ngram.split(" "))
            for size, seen in enumerate(found):
                seen[words[:size]] = seen.get(words[:size], 0.0) + chance
        return found

    @cached_property
    def followers(self) -> dict[tuple[str, ...], tuple[list[str], list[float]]]:
        """Words that may follow each context of up to n − 1 words, with cumulative probabilities."""
        found: dict[tuple[str, ...], tuple[list[str], list[float]]] = {}
        for longer in self.prefixes[1:]:
            for words, chance in longer.items():
                after, running = found.setdefault(words[:-1], ([], []))
                after.append(words[-1])
                running.append((running[-1] if running else 0.0) + chance)
        return found

    def joint(self, ngram: str) -> float:
        """Probability of an n-gram; 0 if it is not on the list."""
        row = self.table.vocabulary.index.get(ngram)
        return 0.0 if row is None else float(self.table.probability[row])

    def conditional(self, word: str, context: str = "") -> float:
        """P(word | context), by the last n − 1 words of the context; 0 where the list has no such n-gram."""
        words = tuple(context.split()[-(self.table.n - 1) :]) if self.table.n > 1 else ()
        before = self.prefixes[len(words)].get(words, 0.0)
        return self.prefixes[len(words) + 1].get((*words, word), 0.0) / before if before > 0 else 0.0

    def log_probability(self, sentence: list[str]) -> float:
        """Log probability of a sentence's tokens, given that it begins with ``<s>`` (n > 1)."""
        total = 0.0
        for i in range(1 if self.table.n > 1 else 0, len(sentence)):
            chance = self.conditional(sentence[i], " ".join(sentence[max(0, i - self.table.n + 1) : i]))
            total += log(chance) if chance > 0 else -inf
        return total

    def perplexity(self, texts: Iterable[str]) -> Perplexity:
        """Perplexity per word on texts, ends of sentences included, over sentences whose n-grams are all on the list.

        Others are omitted and counted: there is no back-off (as in Ramadan et al., section 4.6). NOT FOR RELEASE if the
        texts are private.
        """
        n, index = self.table.n, self.table.vocabulary.index
        settings = self.table.text or TextSettings.for_ngrams(n)
        total, words, scored, left_out = 0.0, 0, 0, 0
        for text in texts:
            for sentence in settings.sentences(text):
                tokens = sentence if n > 1 else sentence[1:-1]
                ngrams = [" ".join(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]
                if not ngrams or any(ngram not in index for ngram in ngrams):
                    left_out += 1
                    continue
                total += self.log_probability(tokens)
                words += len(tokens) - (1 if n > 1 else 0)
                scored += 1
        if scored == 0:
            raise InputError(
                f"none of the {left_out} sentences is covered by the list of n-grams, so there is nothing to score. "
                "Give more text, or a longer list."
            )
        return Perplexity(exp(-total / words) if total > -inf else inf, scored, left_out)

    def sample(self, rng: Generator, *, max_words: int = 40) -> str:
        """A sentence drawn word by word; it ends early where no n-gram of the list continues it."""
        words: list[str] = [START] if self.table.n > 1 else []
        if words and (START,) not in self.prefixes[1]:
            raise InputError("the list has no n-gram that begins a sentence.")
        while len(words) < max_words + (1 if self.table.n > 1 else 0):
            context = tuple(words[-(self.table.n - 1) :]) if self.table.n > 1 else ()
            after, running = self.followers.get(context, ([], []))
            if not after or running[-1] <= 0:
                break
            chance = int(rng.integers(2**53)) * 2.0**-53
            word = after[min(int(np.searchsorted(running, chance * running[-1], side="right")), len(after) - 1)]
            if word == END:
                break
            words.append(word)
        return " ".join(words[1:] if self.table.n > 1 else words)

    def arpa(self) -> str:
        """The model in the ARPA format (Doug Paul's; see SRILM's ngram-format(5)), which speech tools read.

        Lower orders are the prefixes of the n-grams. Every back-off weight is log10(0), written -99: after a context of
        the list, only n-grams of the list are possible; after an unknown one readers of the format use a shorter one.
        ``<s>`` is never predicted.
        """
        n = self.table.n
        orders = [sorted(seen) for seen in self.prefixes[1:]]
        orders[0] = sorted({(w,) for words in orders[-1] for w in words})  # a last word begins no n-gram
        lines = ["\\data\\", *(f"ngram {size}={len(words)}" for size, words in enumerate(orders, start=1)), ""]
        for size, ngrams in enumerate(orders, start=1):
            lines.append(f"\\{size}-grams:")
            for words in ngrams:
                before = self.prefixes[size - 1].get(words[:-1], 0.0)
                before -= self.prefixes[1].get((START,), 0.0) if size == 1 else 0.0  # it is never predicted
                chance = 0.0 if words == (START,) or before <= 0 else self.prefixes[size].get(words, 0.0) / before
                line = f"{log10(chance) if chance > 0 else _NEVER:.6f}\t{' '.join(words)}"
                lines.append(line + (f"\t{_NEVER:g}" if size < n and words[-1] != END else ""))
            lines.append("")
        return "\n".join([*lines, "\\end\\", ""])
