"""Words chosen privately, then a look at the data through them: what pipelines share."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Self, TypeVar

from numpy.random import Generator

from dptopics.core import progress
from dptopics.core.errors import InputError, NothingReleased, PrivacyError
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.bounded import BoundedCorpus
from dptopics.mechanisms.mechanism import Registered, ThemesExpected, calibrate, check_unit, in_shares
from dptopics.privacy.card import PUBLIC_LIST
from dptopics.privacy.events import to_replace_one
from dptopics.privacy.guarantee import Guarantee, Unit, composed_over_words
from dptopics.release.release import Release

T = TypeVar("T")


def check_own_epsilon(first: float, epsilon: float, share: float | None, *, chosen: bool) -> None:
    """Refuse an ε₁ of a vocabulary that leaves nothing, that a share contradicts, or for words that are not chosen."""
    if not 0 < first < epsilon:
        raise InputError(f"vocabulary_epsilon must lie strictly between 0 and {epsilon}, got {first}.")
    if share is not None:
        raise InputError("give vocabulary_epsilon or vocabulary_share, not both: each divides the budget.")
    if not chosen:
        raise InputError("vocabulary_epsilon is for words that are chosen privately: public words cost nothing.")


@dataclass(frozen=True, kw_only=True)
class VocabularyThen(Registered, Generic[T]):
    """Choose words privately, restrict the raw data to them, and run a mechanism on that.

    The two compose: the events of both are priced together at one δ. Proof: docs/guarantees/pipeline.md
    """

    vocabulary: Any  # the mechanism that chooses them
    delta: float
    part: ClassVar[str]  # the field that holds the mechanism that follows
    nothing: ClassVar[str]  # what to say, and to advise, where no word was released
    halfway: ClassVar[float] = 0.1  # of the time
    name: ClassVar[str]
    paper: ClassVar[str]

    def __post_init__(self) -> None:
        _ = self.guarantee  # refuses parts that do not add up

    @classmethod
    def shared(cls, vocabulary: Any, then: Any, *, share: float, epsilon: float, delta: float) -> Self:
        """For (ε, δ) together, ``share`` of the budget for the vocabulary."""
        first, second = in_shares((share, vocabulary), (1 - share, then), epsilon=epsilon)
        made: Any = cls(**{"vocabulary": first, cls.part: second, "delta": delta})
        return calibrate(made, epsilon=epsilon)

    @classmethod
    def added_up(cls, vocabulary: Any, then: Any, *, first: float, epsilon: float, delta: float) -> Self:
        """Each with the noise for an ε of its own, ``first`` and the rest, at its own δ; these add up to ``delta``.

        So the whole costs at most ``epsilon``. Nothing is calibrated again: what exact composition saves stays unspent.
        """
        words, rest = calibrate(vocabulary, epsilon=first), calibrate(then, epsilon=epsilon - first)
        made: Any = cls(**{"vocabulary": words, cls.part: rest, "delta": delta})
        if made.guarantee.epsilon > epsilon * (1 + 1e-6):  # plain addition would have to cover it
            raise InputError(f"the parts cost ε = {made.guarantee.epsilon:g} together, more than {epsilon:g}.")
        return made

    @property
    def then(self) -> Any:
        """What runs on the words that were released."""
        return getattr(self, self.part)

    @property
    def unit(self) -> Unit:
        return self.then.unit

    @property
    def guarantee(self) -> Guarantee:
        """The events of both parts, composed."""
        return composed_over_words(self.vocabulary.guarantee, self.then.guarantee, delta=self.delta)

    def rescaled(self, factor: float) -> Self:
        """Both parts with other noise."""
        changed: Any = {"vocabulary": self.vocabulary.rescaled(factor), self.part: self.then.rescaled(factor)}
        return replace(self, **changed)

    def units_needed(self, n_words: int) -> float | None:
        return self.vocabulary.units_needed(n_words)

    @property
    def word_noise(self) -> float | None:
        return self.then.word_noise

    @property
    def size_noise(self) -> float | None:
        return self.then.size_noise

    def themes_expected(self, units: int) -> ThemesExpected | None:
        return self.then.themes_expected(units)

    def rehearsed(self, words: tuple[str, ...] = ()) -> list[tuple[Any, tuple[str, ...]]]:
        """Both parts: no invented word would clear the threshold."""
        return [*self.vocabulary.rehearsed(), *self.then.rehearsed(self.vocabulary.public_words)]

    def check(self, corpus: BoundedCorpus) -> None:
        """What the vocabulary can run on, and what of the rest does not depend on the words."""
        self.vocabulary.check(corpus)
        self.then.check_documents(corpus)

    def _over(self, n_words: int) -> Any:
        """What follows, with no more topics than words came out: better few topics than a charge for none."""
        fewer = hasattr(self.then, "with_topics") and 2 <= n_words < self.then.n_topics
        return self.then.with_topics(n_words) if fewer else self.then

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[T]:
        self.check(corpus)
        with progress.part(0.0, self.halfway):
            words = self.vocabulary(corpus, rng).value
        if len(words) == 0:
            raise NothingReleased(self.nothing)
        restricted, then = corpus.limited(vocabulary=words), self._over(len(words))
        try:
            then.check(restricted)
        except InputError as error:  # it depends on the words just released: charged already
            raise NothingReleased(f"{error} (The budget was charged.)") from None
        with progress.part(self.halfway, 1.0):
            value = then(restricted, rng).value
        return Release.of(value, self, rng)


@dataclass(frozen=True, kw_only=True)
class PublicVocabulary(Registered):
    """Release a word list that was public before. It looks at no data, so ε = 0.

    Proof: docs/guarantees/public_vocabulary.md
    """

    vocabulary: Vocabulary = field(repr=False)
    delta: float
    unit: Unit = Unit.AUTHOR
    name: ClassVar[str] = "public"
    paper: ClassVar[str] = "-"

    @classmethod
    def example(cls) -> Self:
        """One without words, for tables."""
        return cls(vocabulary=Vocabulary(()), delta=1e-6)

    @property
    def guarantee(self) -> Guarantee:
        """Nothing is spent."""
        return self.promise(assumptions=(PUBLIC_LIST,))

    @property
    def public_words(self) -> tuple[str, ...]:
        return self.vocabulary.words

    def rehearsed(self, words: tuple[str, ...] = ()) -> list[tuple[Any, tuple[str, ...]]]:
        return []

    def rescaled(self, factor: float) -> Self:
        return self

    def check(self, corpus: BoundedCorpus) -> None:
        """Any corpus bounded for the same unit will do."""
        check_unit(self, corpus)

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[Vocabulary]:
        """The list as it is, also words that nobody in the corpus used."""
        self.check(corpus)
        listed = replace(self.vocabulary, listed=frozenset(self.vocabulary.words))
        return Release.of(listed, self, rng)


@dataclass(frozen=True, kw_only=True)
class ReplaceOneVocabulary(Registered):
    """The same words with the same noise, priced for replace-one.

    Weights move by at most twice as much, or √2 times where they are sums, and words of either unit alone may fail to
    stay hidden. Proof: docs/guarantees/output.md
    """

    vocabulary: Any  # its mechanism
    name: ClassVar[str] = "replace-one-vocabulary"
    paper: ClassVar[str] = "-"

    def __post_init__(self) -> None:
        _ = self.guarantee  # refuses a vocabulary that cannot be priced so

    @property
    def unit(self) -> Unit:
        return self.vocabulary.unit

    @property
    def guarantee(self) -> Guarantee:
        """Every event of the vocabulary at its replace-one sensitivity, every failure twice."""
        base = self.vocabulary.guarantee
        events = to_replace_one(base.events)
        if events is None:
            raise PrivacyError(
                "only a vocabulary of add-or-remove, without sampling, can be priced for replace-one: "
                f"this one is of {base.relation}."
            )
        return replace(base, events=events)

    def units_needed(self, n_words: int) -> float | None:
        """As of the vocabulary: the noise is the same."""
        return self.vocabulary.units_needed(n_words)

    @property
    def public_words(self) -> tuple[str, ...]:
        return self.vocabulary.public_words

    def rehearsed(self, words: tuple[str, ...] = ()) -> list[tuple[Any, tuple[str, ...]]]:
        return self.vocabulary.rehearsed(words)

    def rescaled(self, factor: float) -> Self:
        return replace(self, vocabulary=self.vocabulary.rescaled(factor))

    def check(self, corpus: BoundedCorpus) -> None:
        """What the vocabulary can run on."""
        self.vocabulary.check(corpus)

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[Vocabulary]:
        return Release.of(self.vocabulary(corpus, rng).value, self, rng)
