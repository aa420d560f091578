"""Mechanism: a frozen dataclass of public settings whose guarantee and noise read the same fields."""

from dataclasses import fields, replace
from math import inf, sqrt
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.random import Generator

from dptopics.core.errors import InputError, NothingReleased, PrivacyError
from dptopics.core.settings import Choice
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.bounded import BoundedCorpus
from dptopics.data.corpus import Corpus
from dptopics.privacy.events import Event
from dptopics.privacy.guarantee import Guarantee, Strength, Unit, check_budget
from dptopics.privacy.pricing import smallest
from dptopics.release.release import Release

T = TypeVar("T")


class Job(Choice):
    """What a mechanism is for."""

    VOCABULARY = "vocabulary"
    TOPICS = "topics"
    NGRAMS = "n-grams"
    COUNTS = "counts"
    LOCAL = "local"


class Mechanism(Protocol[T]):
    """Anything that turns a bounded corpus into a release. Its fields are public; its arguments are private."""

    name: ClassVar[str]
    paper: ClassVar[str]

    @property
    def unit(self) -> Unit:
        """Whose presence it hides."""
        ...

    @property
    def guarantee(self) -> Guarantee:
        """What it promises, from the fields that scale its noise."""
        ...

    def rescaled(self, factor: float) -> Self:
        """The same mechanism with all its noise multiplied by ``factor``."""
        ...

    def check(self, corpus: BoundedCorpus) -> None:
        """Refuse a corpus that it cannot run on, before anything is charged: by its form, never by its data."""
        ...

    def check_documents(self, corpus: BoundedCorpus) -> None:
        """The part of :meth:`check` that holds whatever the words."""
        ...

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[T]:
        """Run once. The caller has already charged for it (:meth:`dptopics.Ledger.run`)."""
        ...


M = TypeVar("M", bound=Mechanism[Any])
REGISTERED: dict[tuple[Job, str], type[Any]] = {}
_UNITS = 12  # of a rehearsal


class ThemesExpected(NamedTuple):
    """About how many themes so many units would show."""

    themes: int
    size_noise_std: float
    votes_of_an_example: float | None  # that an invented sentence needs; None: there are none


class Registered:
    """A class that has a ``job`` and a ``name`` of its own can be asked for by that name, wherever it is defined.

    What the front doors need to know of a class stands on the class. Here are the answers of most.
    """

    job: ClassVar[Job]
    noises: ClassVar[tuple[str, ...]] = ()  # to choose from
    usual_vocabulary: ClassVar[str] = "weighted"  # of topics, where nothing else is asked for
    usual_max_vocabulary: ClassVar[int | None] = None
    public_words_only: ClassVar[str] = ""  # why it cannot follow words that are chosen from the data
    needs_preparation: ClassVar[bool] = False  # it samples its sensitivity, before anything is charged

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "name" in cls.__dict__ and hasattr(cls, "job"):
            key = cls.job, cls.__dict__["name"]
            known = REGISTERED.setdefault(key, cls)
            if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
                raise InputError(f"there are two {key[0]} mechanisms {key[1]!r}: {known.__module__}, {cls.__module__}.")
            REGISTERED[key] = cls

    @classmethod
    def accepts(cls) -> frozenset[str]:
        """Settings of its own that a plan may give it: fields, but for the noise and what every plan says."""
        mine: Any = cls
        common = {"n_topics", "delta", "unit", "vocabulary", "prior", "tail", "max_size"}
        noise = getattr(cls, "noise_parameter", "")
        return frozenset(field.name for field in fields(mine) if field.init) - common - {noise}

    @classmethod
    def example(cls) -> Self:
        """One of them, for tables: nothing that is shown depends on its numbers."""
        mine: Any = cls
        topics = {"n_topics": 2} if cls.job is Job.TOPICS else {}
        return mine.template(delta=1e-6, **topics)

    def promise(self, *events: Event, strength: Strength = Strength.PROVED, **more: Any) -> Guarantee:
        """Its guarantee for these events; ``more`` as for :class:`dptopics.Guarantee`."""
        mine: Any = self
        return Guarantee(events=events, delta=mine.delta, unit=mine.unit, strength=strength, **more)

    def check_size(self, public: int, private: int = 0) -> None:
        """Refuse words that it cannot work with, by their number: public ones, and at most so many chosen privately."""

    def check_documents(self, corpus: BoundedCorpus) -> None:
        """Refuse documents whose form does not fit, whatever the words."""

    def units_needed(self, n_words: int) -> float | None:
        """How many units must use a word for it to come out with even odds, if each uses so many words.

        None: it chooses no words.
        """
        return None

    @property
    def word_noise(self) -> float | None:
        """Standard deviation of the noise on what a unit gives to a word of a topic, where there is such a number."""
        return None

    @property
    def size_noise(self) -> float | None:
        """Standard deviation of the noise on the size of a topic, where sizes are counted."""
        return None

    def themes_expected(self, units: int) -> ThemesExpected | None:
        """What so many units would show of an atlas; None: it shows topics."""
        return None

    @property
    def public_words(self) -> tuple[str, ...]:
        """Words that it releases, or works over, whatever the data."""
        return ()

    def rehearsed(self, words: tuple[str, ...] = ()) -> list[tuple[Any, tuple[str, ...]]]:
        """What to run on invented documents before anything is charged, and over which words if these are public.

        Itself, with few rounds and topics, or its parts.
        """
        mine: Any = self
        least = {"steps": 2, "n_topics": 20}
        smaller = {name: min(n, getattr(mine, name)) for name, n in least.items() if name in mine.__dataclass_fields__}
        return [(replace(mine, **smaller), self.public_words or words)]

    @property
    def rehearsal_size(self) -> int:
        """Words that it needs for that."""
        return max(24, int(getattr(self, "n_topics", 0)) + 8)

    @property
    def vector_width(self) -> int | None:
        """Numbers of the vectors that it needs of every document; None if it needs none."""
        return None

    def over(self, vocabulary: Vocabulary) -> Any:
        """The same with public words of its own."""
        mine: Any = self
        return replace(mine, vocabulary=vocabulary)


class Calibrated(Registered):
    """Calibration to an (ε, δ): the field named by ``noise_parameter`` scales all noise of a mechanism."""

    noise_parameter: ClassVar[str] = "sigma"

    @classmethod
    def template(cls, **settings: Any) -> Self:
        """Noise of one, to be rescaled; ``settings`` are other fields."""
        return cls(**({cls.noise_parameter: 1.0} | settings))

    @classmethod
    def calibrated(cls, *, epsilon: float, delta: float, **settings: Any) -> Self:
        """The least noise for (ε, δ); ``settings`` as for ``template``: other fields."""
        check_budget(epsilon, delta)
        made: Any = cls.template(delta=delta, **settings)
        return calibrate(made, epsilon=epsilon)

    def rescaled(self, factor: float) -> Self:
        """The same with other noise."""
        mine: Any = self
        return replace(mine, **{self.noise_parameter: getattr(self, self.noise_parameter) * factor})


def calibrate(template: M, *, epsilon: float) -> M:
    """The mechanism with the least noise, in the template's proportions, that costs at most ``epsilon``.

    The price is read from the mechanism that will run, so that it cannot drift from the noise.
    """
    check_budget(epsilon, template.guarantee.delta)
    factor = smallest(lambda f: template.rescaled(f).guarantee.epsilon <= epsilon, limit=1e9, tolerance=1e-10)
    if factor == inf:
        raise InputError(
            f"no amount of noise gives ε = {epsilon} at this δ. Raise epsilon or delta, or lower the failure tail."
        )
    return template.rescaled(factor)


def in_shares(*parts: tuple[float, Any], epsilon: float) -> list[Any]:
    """Parts of a whole, each with the noise for its share of the budget (of μ², the squared signal-to-noise ratio).

    Each alone at ε, then with 1/√share times the noise: kinds of noise differ in price, and the whole is calibrated
    once more anyway.
    """
    return [calibrate(part, epsilon=epsilon).rescaled(1 / sqrt(share)) for share, part in parts]


def check_unit(mechanism: Mechanism[Any], corpus: BoundedCorpus) -> None:
    """Refuse a corpus whose contributions were bounded for another unit."""
    if corpus.bounds.unit != mechanism.unit:
        raise PrivacyError(
            f"this mechanism protects each {mechanism.unit}, but the corpus was bounded per {corpus.bounds.unit}. "
            f"Call bounded(unit={str(mechanism.unit)!r})."
        )


def check_words(
    mechanism: Mechanism[Any], corpus: BoundedCorpus, vocabulary: Vocabulary | None, n_topics: int
) -> Vocabulary:
    """The public words; refuse private ones, fewer words than topics, and a corpus bounded for another unit."""
    check_unit(mechanism, corpus)
    if vocabulary is None:
        raise PrivacyError(
            "the words of this corpus are private. Put a vocabulary in front (VocabularyThenTopics), or use public "
            "ones."
        )
    if n_topics > len(vocabulary):
        raise InputError(
            f"{n_topics} topics need at least as many words, but the vocabulary has {len(vocabulary)}. "
            "Ask for fewer topics, or get more words: a higher epsilon, more data or a public word list."
        )
    return vocabulary


def rehearse(mechanism: Any, unit: Unit) -> None:
    """Run the mechanism, or the parts that it is made of, on invented documents. What they raise comes out."""
    for part, public in mechanism.rehearsed():
        try:
            corpus = _invented(part, public, unit)
            part.check(corpus)
            part(corpus, np.random.Generator(np.random.PCG64(0)))
        except NothingReleased:
            continue
        except MemoryError:
            raise InputError(f"{part.name} needs more memory for these settings than this machine has.") from None


def _invented(mechanism: Any, public: tuple[str, ...], unit: Unit) -> BoundedCorpus:
    """Two documents for each of a few units, over as many words as the mechanism needs; with vectors if it uses any."""
    size = mechanism.rehearsal_size
    some = public[:: max(1, len(public) // size)] or tuple(f"word{i:07d}" for i in range(size))
    words = Vocabulary.of(some).words
    public_lots = np.random.Generator(np.random.PCG64(0))
    counts = public_lots.poisson(0.5, (2 * _UNITS, len(words)))
    counts[:, 0] += 3  # no document is too short
    authors = [f"author {i // 2}" for i in range(len(counts))]
    corpus = Corpus.from_counts(counts, words, authors=authors, public_vocabulary=True)
    if mechanism.vector_width is not None:
        corpus = corpus.with_vectors(public_lots.standard_normal((len(counts), mechanism.vector_width)))
    return corpus.bounded(unit=unit)
