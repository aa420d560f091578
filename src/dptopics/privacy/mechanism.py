"""Mechanism: a frozen dataclass of public settings whose guarantee and noise read the same fields."""

from dataclasses import replace
from math import inf
from typing import Any, ClassVar, Protocol, Self, TypeVar

from numpy.random import Generator

from dptopics.data.bounded import BoundedCorpus
from dptopics.errors import InputError, PrivacyError
from dptopics.privacy.guarantee import Guarantee, Unit, check_budget
from dptopics.privacy.pricing import smallest
from dptopics.release.release import Release
from dptopics.release.vocabulary import Vocabulary

T = TypeVar("T")


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
        """Refuse a corpus that this mechanism cannot run on, before anything is charged."""
        ...

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[T]:
        """Run once. The caller has already charged for it (:meth:`dptopics.Ledger.run`)."""
        ...


M = TypeVar("M", bound=Mechanism[Any])


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


class Calibrated:
    """Gives a mechanism its ways to be made for an (ε, δ): the field ``amount`` scales all its noise."""

    amount: ClassVar[str] = "sigma"

    @classmethod
    def template(cls, **settings: Any) -> Self:
        """Noise of one, to be rescaled; ``settings`` are other fields."""
        return cls(**({cls.amount: 1.0} | settings))

    def rescaled(self, factor: float) -> Self:
        """The same with other noise."""
        mine: Any = self
        changed: Self = replace(mine, **{self.amount: getattr(self, self.amount) * factor})
        return changed

    @classmethod
    def calibrated(cls, *, epsilon: float, delta: float, **settings: Any) -> Self:
        """The least noise for (ε, δ); ``settings`` as for ``template``: other fields."""
        check_budget(epsilon, delta)
        made: Any = cls
        found: Self = calibrate(made.template(delta=delta, **settings), epsilon=epsilon)
        return found


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
