"""Plan: everything public that decides a release. It builds the mechanism, and is saved with the release.

The command line, the estimator, Spark and audits make a plan in one of four ways (:meth:`Plan.topics`,
:meth:`Plan.words`, :meth:`Plan.ngrams`, :meth:`Plan.counts`) and hand it to :func:`dptopics.publishing.publish`.
"""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

from dptopics.core.errors import InputError, PrivacyError
from dptopics.core.settings import check_fields, whole
from dptopics.core.text import AUTO as ANY_LANGUAGE
from dptopics.core.text import TextSettings, language_name
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.public_inputs import (
    PublicInput,
    PublicNgrams,
    file_finder,
    restored,
    serialize,
    words_or_name,
)
from dptopics.mechanisms.mechanism import Job, Mechanism, calibrate
from dptopics.mechanisms.ngrams.counts import VocabularyThenNgrams
from dptopics.mechanisms.topics.best_of import BestOf, VocabularyThenTopics
from dptopics.mechanisms.vocabulary.two_stage import PublicVocabulary, ReplaceOneVocabulary, check_own_epsilon
from dptopics.privacy.events import Noise, Relation
from dptopics.privacy.guarantee import Unit, check_budget
from dptopics.public.atlas import has_atlas, read_atlas, shipped
from dptopics.public.embeddings import AtlasWords, available, check_language, common_words, embedding
from dptopics.registry import mechanism_class, mechanisms
from dptopics.release.release import Release

SCHEMA = 1
COMMON = "common"  # the public list of a language's common words
EXTENDED = "common+weighted"  # that list, and other words chosen privately
USUAL_SHARE = 0.4  # of the budget (in μ²) for the vocabulary; chosen on the demo corpus and 20 Newsgroups
_RARER = 100_000  # words of a language that are looked through
EXTENDED_SHARE = 0.1  # for words beside common ones; chosen on Wikipedia for Schools and Reddit posts
MAX_WORDS = 200
MOST_TOPICS = 10_000
AUTO = "auto"
MOST_AUTO = 50  # topics, where the data decides


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One release, as far as it is public: what it is made by, from whose contributions, and how much it may cost.

    Make one with :meth:`topics`, :meth:`words`, :meth:`ngrams` or :meth:`counts`, which fill in what is usual.

    >>> plan = Plan.topics(mechanism="mixture", n_topics=20, epsilon=1.0, delta=1e-6, unit="author")
    >>> plan.vocabulary, plan.vocabulary_share, round(plan.build().guarantee.epsilon, 6)
    ('weighted', 0.4, 1.0)
    >>> Plan.from_dict(plan.to_dict()) == plan
    True
    """

    job: Job
    mechanism: str
    epsilon: float
    delta: float
    unit: Unit
    text: TextSettings | None = None  # how texts become words; None: the data are counts
    n_topics: int | None = None
    vocabulary: str | PublicInput | None = (
        None  # the name of a mechanism, "common", "common+weighted", or a public list
    )
    vocabulary_share: float | None = None
    vocabulary_epsilon: float | None = None  # ε₁, instead of a share: what follows has ε − ε₁, and each half of δ
    prior: PublicInput | None = None  # public n-grams
    max_docs: int | None = None
    max_words: int | None = None  # distinct words that each unit may propose
    max_vocabulary: int | None = None
    noise: Noise | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the mechanism

    def __post_init__(self) -> None:
        object.__setattr__(self, "job", Job(self.job))
        object.__setattr__(self, "unit", Unit(self.unit))
        object.__setattr__(self, "noise", None if self.noise is None else Noise(self.noise))
        check_fields(self)
        check_budget(self.epsilon, self.delta)
        for name in ("max_docs", "max_words", "max_vocabulary"):
            if getattr(self, name) is not None:
                whole(name, getattr(self, name), least=1)
        self._check_vocabulary()
        if self.job is Job.TOPICS and self.n_topics is None:
            raise InputError("a plan for topics must say how many: n_topics.")
        if self.n_topics is not None and not 2 <= self.n_topics <= MOST_TOPICS:
            raise InputError(f"n_topics must lie between 2 and {MOST_TOPICS:,}, got {self.n_topics}.")

    def _check_vocabulary(self) -> None:
        if self.vocabulary_share is not None and not 0 < self.vocabulary_share < 1:
            raise InputError(f"vocabulary_share must lie strictly between 0 and 1, got {self.vocabulary_share}.")
        if self.vocabulary_epsilon is not None:
            chosen = isinstance(self.vocabulary, str) and self.vocabulary != COMMON
            check_own_epsilon(self.vocabulary_epsilon, self.epsilon, self.vocabulary_share, chosen=chosen)
        private = self.vocabulary in mechanisms(Job.VOCABULARY) if isinstance(self.vocabulary, str) else False
        if private and self.max_vocabulary is not None and self.max_vocabulary < (self.n_topics or 0):
            raise InputError(
                f"{self.n_topics} topics need at least as many words, but the vocabulary may have only "
                f"{self.max_vocabulary} (max_vocabulary)."
            )

    @classmethod
    def topics(
        cls,
        *,
        mechanism: str | None = None,
        n_topics: int | str,
        epsilon: float,
        delta: float,
        unit: Unit | str,
        text: TextSettings | None = None,
        vocabulary: str | Path | Vocabulary | PublicInput | None = None,
        max_words: int | None = MAX_WORDS,
        max_vocabulary: int | None = None,
        noise: Noise | str | None = None,
        vocabulary_share: float | None = None,
        vocabulary_epsilon: float | None = None,
        max_docs: int | None = None,
        **settings: Any,
    ) -> Self:
        """Topics. Several mechanisms, with commas between: all are charged, the best by a noisy likelihood is released.

        Without a ``mechanism`` the best that is installed for the texts (:func:`usual_mechanism`), without a
        ``vocabulary`` the mechanism's usual one. ``n_topics`` is a number, or "auto": as many as the data support, at
        most 50, where the mechanism can tell. ``vocabulary_epsilon``: ε₁ of a private vocabulary, instead of its share
        of the budget. ``settings`` are the mechanism's own; those that are None are left.
        """
        name = mechanism or usual_mechanism(text)
        kinds = [mechanism_class(Job.TOPICS, part) for part in _names(name)]
        if settings.get("embedding") is not None or all("embedding" in kind.accepts() for kind in kinds):
            settings["embedding"] = embedding(settings.get("embedding"), getattr(text, "language", "english"))
            check_language(settings["embedding"], text)
        if isinstance(n_topics, str):
            n_topics, settings["auto"] = _most_topics(n_topics, name, kinds), True
        names = (*mechanisms(Job.VOCABULARY), COMMON, EXTENDED)
        usual = _usual_words(kinds[0], text, settings.get("embedding"))
        words = words_or_name(usual if vocabulary is None else vocabulary, text, names=names)
        settings["atlas"] = _atlas(settings, kinds, words, text)
        if max_vocabulary is None:
            max_vocabulary = kinds[0].usual_max_vocabulary
        if vocabulary_share is None and vocabulary_epsilon is None:
            vocabulary_share = EXTENDED_SHARE if words == EXTENDED else USUAL_SHARE
        return cls(
            job=Job.TOPICS,
            mechanism=name,
            n_topics=n_topics,
            epsilon=epsilon,
            delta=delta,
            unit=Unit(unit),
            text=text,
            vocabulary=words,
            vocabulary_share=vocabulary_share,
            vocabulary_epsilon=vocabulary_epsilon,
            max_words=max_words,
            max_vocabulary=max_vocabulary,
            max_docs=max_docs,
            noise=None if noise is None else Noise(noise),
            settings=_set(settings),
        )

    @classmethod
    def words(
        cls,
        *,
        mechanism: str = "weighted",
        epsilon: float,
        delta: float,
        unit: Unit | str,
        max_words: int | None = MAX_WORDS,
        **more: Any,
    ) -> Self:
        """A vocabulary; ``more`` are other fields of a plan, and settings of the mechanism."""
        kind = mechanism_class(Job.VOCABULARY, mechanism)
        settings = {name: more.pop(name) for name in kind.accepts() & more.keys() if name not in _FIELDS}
        return cls(
            job=Job.VOCABULARY,
            mechanism=mechanism,
            epsilon=epsilon,
            delta=delta,
            unit=Unit(unit),
            max_words=max_words,
            settings=_set(settings),
            **more,
        )

    @classmethod
    def ngrams(
        cls,
        *,
        mechanism: str = "bayes",
        epsilon: float,
        delta: float,
        unit: Unit | str,
        text: TextSettings | None = None,
        prior: PublicNgrams | PublicInput | None = None,
        vocabulary: str | None = None,
        vocabulary_share: float | None = None,
        vocabulary_epsilon: float | None = None,
        max_vocabulary: int | None = None,
        max_docs: int | None = None,
        **settings: Any,
    ) -> Self:
        """N-grams of a public list (``prior``), or of one that a ``vocabulary`` mechanism chooses."""
        if prior is not None and vocabulary is not None:
            raise InputError("give public n-grams or a vocabulary mechanism that chooses them privately, not both.")
        if vocabulary is not None and vocabulary not in mechanisms(Job.VOCABULARY):
            raise InputError(
                f"a vocabulary of n-grams is chosen privately, by one of {', '.join(mechanisms(Job.VOCABULARY))}; a "
                "public list goes to prior= (--public)."
            )
        if vocabulary is not None and vocabulary_share is None and vocabulary_epsilon is None:
            vocabulary_share = USUAL_SHARE
        given = PublicInput.ngrams(prior) if isinstance(prior, PublicNgrams) else prior
        return cls(
            job=Job.NGRAMS,
            mechanism=mechanism,
            epsilon=epsilon,
            delta=delta,
            unit=Unit(unit),
            text=text,
            prior=given,
            vocabulary=vocabulary,
            vocabulary_share=None if vocabulary is None else vocabulary_share,
            vocabulary_epsilon=vocabulary_epsilon,
            max_vocabulary=max_vocabulary,
            max_docs=max_docs,
            settings=_set(settings),
        )

    @classmethod
    def counts(
        cls, *, mechanism: str = "margins", epsilon: float, delta: float, unit: Unit | str, **settings: Any
    ) -> Self:
        """Counts in the cells of a public table, and in its margins; ``settings`` are the mechanism's: axes, values"""
        own, most = _set(settings), settings.get("documents")
        given: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "unit": Unit(unit), "max_docs": most}
        return cls(job=Job.COUNTS, mechanism=mechanism, settings=own, **given)

    def build(self) -> Mechanism[Any]:
        """The mechanism with the least noise that costs at most (ε, δ). Whatever settings make impossible ends here."""
        if self.job is Job.VOCABULARY:
            return self._private_words(self.mechanism, own=self.settings)
        build = {Job.TOPICS: self._topics, Job.NGRAMS: self._ngrams}.get(self.job)
        return self._alone(mechanism_class(self.job, self.mechanism)) if build is None else build()

    def _topics(self) -> Any:
        names = _names(self.mechanism)
        if len(names) > 1:
            if not isinstance(self.vocabulary, PublicInput):
                raise InputError("a choice among mechanisms needs one list of public words (--vocabulary FILE).")
            parts = [replace(self, mechanism=name).build() for name in names]
            return BestOf.calibrated(parts, epsilon=self.epsilon, delta=self.delta)
        kind = mechanism_class(Job.TOPICS, self.mechanism)
        first, second = self._parts()
        alone = second._alone(kind, n_topics=self.n_topics)
        public = self._public_words(getattr(alone, "most_words", None))
        if public is not None and self.vocabulary != EXTENDED:
            return self._over(alone, public)
        if kind.public_words_only:
            raise PrivacyError(
                f"{self.mechanism}: {kind.public_words_only}. The two do not add up: give a list of public words."
            )
        assert isinstance(self.vocabulary, str)
        alone.check_size(0 if public is None else len(public), self.max_vocabulary or 0)
        # An exchange of units can fail twice. Topics need a part of δ, whatever the noise of the vocabulary.
        exchanged = alone.guarantee.relation is Relation.REPLACE
        public_words = {} if public is None else {"public_vocabulary": public}
        name = "weighted" if public is not None else self.vocabulary
        words: Any = first._private_words(name, tail=first.delta / (4 if exchanged else 2), own=public_words)
        return self._after(VocabularyThenTopics, ReplaceOneVocabulary(vocabulary=words) if exchanged else words, alone)

    def _ngrams(self) -> Any:
        prior = None if self.prior is None else self.prior.value
        first, second = self._parts()
        alone = second._alone(mechanism_class(Job.NGRAMS, self.mechanism), prior=prior)
        if self.vocabulary is None:
            return alone
        assert isinstance(self.vocabulary, str)
        words = first._private_words(self.vocabulary, tail=first.delta / 2)
        return self._after(VocabularyThenNgrams, words, alone)

    def _parts(self) -> "tuple[Plan, Plan]":
        """The plans of a vocabulary and of what follows: for an ε of their own, or for all of it, to be shared."""
        if self.vocabulary_epsilon is None:
            return self, self
        half = replace(self, delta=self.delta / 2, vocabulary_epsilon=None)
        return replace(half, epsilon=self.vocabulary_epsilon), replace(
            half, epsilon=self.epsilon - self.vocabulary_epsilon
        )

    def _after(self, pipeline: Any, words: Any, then: Any) -> Any:
        """Both together, in shares of the budget or with an ε each."""
        if self.vocabulary_epsilon is not None:
            return pipeline.added_up(words, then, first=self.vocabulary_epsilon, epsilon=self.epsilon, delta=self.delta)
        share = self.vocabulary_share or 0.0
        return pipeline.shared(words, then, share=share, epsilon=self.epsilon, delta=self.delta)

    def _alone(self, kind: Any, **more: Any) -> Any:
        """The mechanism as if it had the whole budget."""
        settings = dict(self.settings)
        if self.noise is not None and "noise" in kind.accepts():
            settings["noise"] = self.noise
        if unknown := sorted(settings.keys() - kind.accepts()):
            raise InputError(
                f"mechanism {self.mechanism!r} has no setting {', '.join(unknown)}. It has: "
                f"{', '.join(sorted(kind.accepts())) or 'none'}."
            )
        values = {name: value.value if isinstance(value, PublicInput) else value for name, value in settings.items()}
        return kind.calibrated(epsilon=self.epsilon, delta=self.delta, unit=self.unit, **more, **values)

    def _public_words(self, most: int | None = None) -> Vocabulary | None:
        """Words that are public before anything is released, if there are any; common ones alone: as many as fit."""
        if isinstance(self.vocabulary, PublicInput):
            words: Vocabulary = self.vocabulary.value
            return words
        if self.vocabulary not in (COMMON, EXTENDED):
            return None
        text, atlas = self.text or TextSettings(), self.settings.get("atlas")
        limits = [limit for limit in (self.max_vocabulary, most) if limit is not None and self.vocabulary == COMMON]
        model = self.settings.get("embedding")  # of an atlas: it tells which rarer words, such as cases, have a place
        if text.language == ANY_LANGUAGE and isinstance(model, AtlasWords):  # no list of common words is of all
            own = () if atlas is None else atlas.value.listed_words(text)
            return Vocabulary.of([*shipped(ANY_LANGUAGE).listed_words(text), *own])
        common = common_words(text, most=min(limits)) if limits else common_words(text)
        rarer = model.placed(common_words(text, _RARER).words) if isinstance(model, AtlasWords) else ()
        return common if atlas is None else Vocabulary.of([*common.words, *atlas.value.listed_words(text), *rarer])

    def _over(self, alone: Any, words: Vocabulary) -> Any:
        """Topics over words that were public before."""
        if (self.n_topics or 0) > len(words):
            raise InputError(f"{self.n_topics} topics need at least as many words, but the list has {len(words)}.")
        alone.check_size(len(words))
        if "vocabulary" in {f.name for f in fields(alone)}:
            return alone.over(words)
        public = PublicVocabulary(vocabulary=words, delta=self.delta, unit=self.unit)
        return VocabularyThenTopics(vocabulary=public, topics=alone, delta=self.delta)

    def _private_words(self, name: str, *, tail: float | None = None, own: Mapping[str, Any] | None = None) -> Any:
        """A vocabulary mechanism that has the whole budget."""
        kind = mechanism_class(Job.VOCABULARY, name)
        given = {"tail": tail, "max_words": self.max_words, "noise": self.noise, "max_size": self.max_vocabulary}
        settings = {**{key: value for key, value in given.items() if value is not None}, **(own or {})}
        return calibrate(kind.template(delta=self.delta, unit=self.unit, **settings), epsilon=self.epsilon)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON. Public things are named, with a checksum; see :mod:`dptopics.data.public_inputs`."""
        data = {f.name: serialize(getattr(self, f.name)) for f in fields(self) if f.name != "text"}
        return {"schema": SCHEMA, **data, "text": None if self.text is None else self.text.to_dict()}

    @classmethod
    def from_dict(
        cls, data: Mapping[str, Any], *, folder: str | Path = ".", known: tuple[PublicInput, ...] = ()
    ) -> Self:
        """Inverse of :meth:`to_dict`. Public lists are taken from ``known``, or read from ``folder``, and compared."""
        plain = dict(data)
        if plain.pop("schema", SCHEMA) != SCHEMA:
            raise InputError(f"this plan is of a newer version (schema {data['schema']}). Update dptopics.")
        if unknown := sorted(plain.keys() - _FIELDS):
            raise InputError(f"a plan has no field {', '.join(unknown)}. Its fields are: {', '.join(sorted(_FIELDS))}.")
        try:
            text = plain.pop("text", None)
            settings = None if text is None else TextSettings.from_dict({"links": False, **text})
            find = file_finder(Path(folder), {one.sha256: one.value for one in known}, getattr(settings, "ngrams", 1))
            return cls(text=settings, **{name: restored(value, find) for name, value in plain.items()})
        except TypeError as error:
            raise InputError(f"this plan is incomplete or damaged: {error}.") from None


_FIELDS = frozenset(f.name for f in fields(Plan))


def usual_mechanism(text: TextSettings | None) -> str:
    """``embedded`` for texts in a language that has an atlas, where the extra is installed, else ``mixture``."""
    return "embedded" if text is not None and has_atlas(text.language) and available() else "mixture"


def read_plan(path: str | Path, known: tuple[PublicInput, ...] = ()) -> Plan:
    """A plan from a TOML or JSON file; public lists that it names are looked for beside it."""
    path = Path(path)
    try:
        raw = path.read_text("utf-8")
        data = tomllib.loads(raw) if path.suffix == ".toml" else json.loads(raw)
    except OSError as error:
        raise InputError(f"cannot read the plan {str(path)!r}: {error.strerror}.") from None
    except ValueError as error:
        raise InputError(
            f"{path.name!r} is not valid {'TOML' if path.suffix == '.toml' else 'JSON'}: {error}"
        ) from None
    if not isinstance(data, dict):
        raise InputError(f"{path.name!r} is not a plan: it must be a table of fields.")
    return Plan.from_dict(data, folder=path.parent, known=known)


def plan_of(release: Release[Any], folder: str | Path, known: tuple[PublicInput, ...] = ()) -> Plan | None:
    """The plan that lies in a release; its own public words are known, other public things are looked for beside it."""
    if release.record.plan is None:
        return None
    words = PublicInput.words(Vocabulary(release.value.vocabulary.words))
    return Plan.from_dict(release.record.plan, folder=folder, known=(words, *known))


def _most_topics(asked: str, name: str, kinds: list[Any]) -> int:
    """How many topics there may be where the data decide."""
    if asked != AUTO:
        raise InputError(f"n_topics must be a whole number or {AUTO!r}, got a string.")
    if not all("auto" in kind.accepts() for kind in kinds):
        raise InputError(f"mechanism {name!r} cannot tell how many topics the data support. Give a number.")
    return MOST_AUTO


def _atlas(
    settings: Mapping[str, Any], kinds: list[Any], words: str | PublicInput, text: TextSettings | None
) -> PublicInput | None:
    """The public themes that topics may use: the owner's, else those of the language.

    None, where nothing could be placed among them: counts instead of texts, or word vectors for a list of words that
    need not hold those of the themes; and where the owner says by seed words what to look for.
    """
    given, model = settings.get("atlas"), settings.get("embedding")
    language = "english" if text is None else text.language
    only = any(kind.name == "atlas" for kind in kinds)
    fits = text is not None and (words in (COMMON, EXTENDED) or not getattr(model, "of_words", True))
    if all("atlas" in kind.accepts() for kind in kinds) and (only or fits) and not settings.get("seed_words"):
        wanted = given is not None or only or has_atlas(language)
        return _named_atlas(given, language) if wanted else None
    if given is not None or only:
        raise InputError(
            "an atlas needs mechanism embedded or atlas, alone, with texts, public common words (--vocabulary common) "
            "and no seed words."
        )
    return None


def _named_atlas(given: Any, language: str) -> PublicInput:
    """An owner's atlas by its file or as it is; None: that of the language."""
    if isinstance(given, PublicInput):
        return given
    if given is None:
        return PublicInput.atlas(shipped(language), language_name(language))
    if isinstance(given, str | Path):
        return PublicInput.atlas(read_atlas(given, language), Path(given).name)
    return PublicInput.atlas(given)


def _usual_words(kind: Any, text: TextSettings | None, model: Any) -> str:
    """Where nothing else is asked for: the mechanism's own way, unless only public words will do or have a place."""
    only = kind.public_words_only or isinstance(model, AtlasWords)
    return COMMON if only and text is not None else str(kind.usual_vocabulary)


def _names(mechanism: str) -> list[str]:
    return [part.strip() for part in mechanism.split(",")]


def _set(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that say something."""
    return {name: value for name, value in sorted(settings.items()) if value is not None}
