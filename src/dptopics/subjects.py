"""What is counted: the topics of a release, or questions; what is true of a text, and what that rests on."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dptopics.core.axes import FAR, NO_TOPIC, TOPIC, Axis, plain_value
from dptopics.core.errors import InputError, shielded, tell_owner
from dptopics.core.questions import Fact, Questions
from dptopics.core.text import TextSettings
from dptopics.core.tokenizers import check_pure, version_of
from dptopics.data.builder import NumberedWords
from dptopics.data.mentions import Mentions, check_pattern, matches
from dptopics.public.atlas import shipped
from dptopics.public.embeddings import embedding as text_model
from dptopics.public.embeddings import unit
from dptopics.public.text_models import Embedding, check_repeatable
from dptopics.release import bundle
from dptopics.release.release import Release
from dptopics.release.topic_model import SURE, TopicModel, fingerprint

OWN_MODEL = (
    "The model that places texts among the topics, {}, gives each text a vector by that text alone: it remembers no "
    "other, and learned from none of this data."
)
OWN_FUNCTION = (
    "The owner's function {} answers for each text by that text alone: it remembers no other text and learned from "
    "none of this data."
)
Bools = NDArray[np.bool_]
_numbered = lru_cache(maxsize=1)(NumberedWords)


def topics_of(topics: Release[TopicModel] | TopicModel | str | Path) -> TopicModel:
    """The topics of a release, or of its folder."""
    if isinstance(topics, TopicModel):
        return topics
    return (topics if isinstance(topics, Release) else bundle.load(topics)).value_of(TopicModel)


@dataclass(frozen=True, eq=False)
class TopicsOf:
    """The topics of a release; in a series with texts that are far from all of them, elsewhere with those of none."""

    model: TopicModel
    embedding: Any = None
    series: bool = False
    axis: ClassVar[str] = TOPIC
    columns: ClassVar[tuple[str, ...]] = ()

    @cached_property
    def far(self) -> float | None:
        """The cosine below which a text is far."""
        return far_below(self.model) if self.series else None

    @property
    def values(self) -> tuple[str, ...]:
        return (*map(str, range(self.model.n_topics)), FAR if self.series else NO_TOPIC)

    @property
    def settings(self) -> dict[str, Any]:
        return {"model": fingerprint(self.model.topic_word, self.model.vocabulary.words), "far": self.far}

    @property
    def cells(self) -> int:
        """How many things a text may be about."""
        return self.model.n_topics + 1

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Code that is not ours, by its name. A model that is not installed is missed now; who remembers, refused."""
        self(["word"])
        own: tuple[str, ...] = ()
        if self.model.space is not None and not self.model.space.of_words:
            used = text_model(self.model.space.embedding if self.embedding is None else self.embedding)
            check_repeatable(used)
            own = (OWN_MODEL.format(used.name),)
        return (*self.model.assumptions, *own)

    def __call__(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """The topic of each text."""
        if self.far is None and (self.model.space is None or self.model.space.of_words):
            words = _numbered(self.model.text or TextSettings(), self.model.vocabulary)
            found = words.of_each(texts, partial(self.model.placed, vectors=None))
            return np.concatenate([np.empty(0, np.int64), *found])
        return topic_or_far(self.model, texts, self.far, embedding=self.embedding)


@dataclass(frozen=True, eq=False)
class Asked:
    """Questions with all that answers them: the topics that they name, a model of texts, the owner's functions.

    ``allow`` lists the functions, as module:function, that may be imported.
    """

    questions: Questions
    topics: TopicModel | None = None
    embedding: Any = None
    allow: Collection[str] = ()
    failed: list[int] = field(default_factory=lambda: [0])
    axis: ClassVar[str] = "question"

    def __post_init__(self) -> None:
        for fact in self.questions.facts:
            if fact.kind == "regex":
                check_pattern(fact.what)
        for fact in self._of("topic"):
            if self.topics is None:
                raise InputError(
                    "a question about a topic needs the release of its topics: --topics RELEASE (topics=)."
                )
            if not fact.what.isdecimal() or int(fact.what) >= self.topics.n_topics:
                raise InputError(f"there is no topic {fact.what} in this release.")
        names = shipped("english").names if self._of("theme") else ()
        for fact in self._of("theme"):
            if fact.what not in names:
                raise InputError(f"the atlas has no theme {fact.what!r}. Look for one: dptopics atlas WORD.")
        for name, function in self.functions.items():
            check_pure(f"the function {name}", partial(_true, function, failed=[0]))

    def _of(self, kind: str) -> list[Fact]:
        return [fact for fact in self.questions.facts if fact.kind == kind]

    @cached_property
    def functions(self) -> dict[str, Callable[[str], Any]]:
        """The owner's, by name. One that a file names must be allowed by the person who runs this."""
        found: dict[str, Callable[[str], Any]] = {}
        for fact in self._of("function"):
            if fact.detail is None and fact.what not in self.allow:
                raise InputError(f"the questions name the function {fact.what}. Allow it: --allow {fact.what}.")
            module, _, place = fact.what.partition(":")
            advice = "Give module:function, of a module that is installed."
            load = partial(lambda where, what: attrgetter(what)(import_module(where)), module, place)
            found[fact.what] = fact.detail or shielded(load, f"there is no function {fact.what!r}", advice)
        return found

    @property
    def values(self) -> tuple[str, ...]:
        return self.questions.names

    @property
    def settings(self) -> dict[str, Any]:
        """For the plan: what is asked, in rules and in words, with the versions of what answers."""
        told = self.questions.said
        for name, function in self.functions.items():
            told = tuple(one.replace(f'"{name}"', f'"{name} ({version_of(function)})"') for one in told)
        model = None if not self._of("topic") or self.topics is None else TopicsOf(self.topics).settings["model"]
        return {"rules": self.questions.rules, "facts": self.cells, "asked": told, "model": model}

    @property
    def cells(self) -> int:
        """The facts, and one that is true of every text."""
        return len(self.questions.facts) + 1

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that questions are about."""
        return tuple(dict.fromkeys(fact.what for fact in self._of("column")))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The owner's functions and models, each by its name."""
        lines = tuple(OWN_FUNCTION.format(name) for name in self.functions)
        if self._of("topic") and self.topics is not None:
            lines += TopicsOf(self.topics, self.embedding).assumptions
        if self._of("near") or self._of("theme"):
            check_repeatable(self._model)
            lines += (OWN_MODEL.format(self._model.name).replace("among the topics", "near a sentence or theme"),)
        return lines

    @cached_property
    def _model(self) -> Embedding:
        return text_model(self.embedding)

    @cached_property
    def _middle(self) -> NDArray[np.float64]:
        """Of the atlas's own texts: without it, all texts are near one another."""
        texts = [text for theme in shipped("english").themes for text in theme.texts]
        return np.asarray(unit(np.asarray(self._model(texts), np.float64)).mean(axis=0))

    @cached_property
    def _mentions(self) -> Mentions:
        return Mentions([fact.what for fact in self._of("mention")])

    @cached_property
    def _sentences(self) -> NDArray[np.float64]:
        return self._vectors([fact.what for fact in self._of("near")])

    @cached_property
    def _themes(self) -> NDArray[np.float64]:
        """The centre of each theme of the atlas: the mean of its own texts."""
        themes = shipped("english").themes
        vectors = self._vectors([text for theme in themes for text in theme.texts])
        ends = np.cumsum([0, *(len(theme.texts) for theme in themes)])
        return unit(np.add.reduceat(vectors, ends[:-1]))

    def __call__(self, texts: Sequence[str], *columns: Sequence[Any]) -> Bools:
        """[text, fact]: what is true of each text, by that text and its row alone."""
        found = np.ones((len(texts), self.cells), np.bool_)
        place = {fact: i for i, fact in enumerate(self.questions.facts)}
        for kind in {fact.kind for fact in self.questions.facts}:
            answer: Callable[..., Any] = getattr(self, f"_{kind}")
            for fact, true in zip(self._of(kind), answer(texts, columns), strict=True):
                found[:, place[fact]] = true
        return found

    def _mention(self, texts: Sequence[str], columns: Any) -> Any:
        return self._mentions(texts).T

    def _regex(self, texts: Sequence[str], columns: Any) -> Any:
        return [matches(fact.what, texts) for fact in self._of("regex")]

    def _column(self, texts: Sequence[str], columns: Any) -> Any:
        listed = [(columns[self.columns.index(fact.what)], fact.detail) for fact in self._of("column")]
        return [[plain_value(value) == wanted for value in column] for column, wanted in listed]

    def _function(self, texts: Sequence[str], columns: Any) -> Any:
        own = [self.functions[fact.what] for fact in self._of("function")]
        return [[_true(function, text, failed=self.failed) for text in texts] for function in own]

    def _topic(self, texts: Sequence[str], columns: Any) -> Any:
        topic = subject_of(self.topics, self.embedding)(texts)
        return [topic == int(fact.what) for fact in self._of("topic")]

    def _near(self, texts: Sequence[str], columns: Any) -> Any:
        vectors = self._vectors(texts)
        return [vectors @ place > fact.detail for fact, place in zip(self._of("near"), self._sentences, strict=True)]

    def _theme(self, texts: Sequence[str], columns: Any) -> Any:
        near = self._vectors(texts) @ self._themes.T
        nearest = np.where(near.any(axis=1), near.argmax(axis=1), -1)
        return [nearest == shipped("english").names.index(fact.what) for fact in self._of("theme")]

    def _vectors(self, texts: Sequence[str]) -> NDArray[np.float64]:
        raw = unit(np.asarray(self._model(list(texts)), np.float64))
        return unit(np.where(raw.any(axis=1, keepdims=True), raw - self._middle, 0.0))

    def tell(self) -> None:
        """On how many texts an owner's function failed: the owner's eyes only."""
        if self.failed[0]:
            tell_owner(f"a function of the questions raised an error on {self.failed[0]:,} texts: counted as no.")
            self.failed[0] = 0


def _true(function: Callable[[str], Any], text: str, *, failed: list[int]) -> bool:
    """What an owner's function says; no where it fails, since a refusal would depend on the data."""
    try:
        return bool(function(text))
    except Exception:
        failed[0] += 1
        return False


def subject_of(what: Any, embedding: Any = None, *, series: bool = False) -> TopicsOf | Asked:
    """What is counted: questions, or the topics of a release, of its folder or as they are."""
    return what if isinstance(what, Asked | TopicsOf) else TopicsOf(topics_of(what), embedding, series)


def assumed(subject: TopicsOf | Asked, by: Sequence[Axis]) -> tuple[str, ...]:
    """What a count by these topics and axes rests on."""
    return (*subject.assumptions, *(line for axis in by for line in axis.assumptions))


def far_below(model: TopicModel) -> float | None:
    """The cosine below which a text is far from every topic; None for topics without centres.

    A random direction is nearer than this to one of the K centres as seldom as noise lifts a word: with the probability
    of SURE standard deviations, 0.1 %. A new subject is one direction, so that its texts are near all at once.
    """
    if model.space is None:
        return None
    from scipy.stats import beta, norm

    half = (model.space.centres.shape[1] - 1) / 2
    return float(2 * beta.isf(1 - norm.cdf(SURE) ** (1 / model.n_topics), half, half) - 1)


def topic_or_far(
    model: TopicModel, texts: Sequence[str], far: float | None, *, embedding: Any = None
) -> NDArray[np.int64]:
    """The main topic of each text; one past the last for a text that is far from all of them."""
    if far is None:
        topic = model.assign(texts, embedding=embedding)
        return np.where(topic < 0, model.n_topics, topic)
    scores = model.cosines(texts, embedding=embedding)
    near = scores.max(axis=1) >= far
    doubtful = np.flatnonzero(~near)
    near[doubtful] = _some_word_stands_out(model, [texts[i] for i in doubtful.tolist()])
    return np.asarray(np.where(near, scores.argmax(axis=1), model.n_topics), np.int64)


def _some_word_stands_out(model: TopicModel, texts: Sequence[str]) -> list[bool]:
    """Whether a word of each text is above the noise in any topic; where the noise is not known, no word is."""
    if model.noise_std is None:
        return [False] * len(texts)
    above = (model.topic_word >= SURE * model.noise_std[:, None]).any(axis=0)
    stand_out = {model.vocabulary.words[i] for i in np.flatnonzero(above).tolist()}
    settings = model.text or TextSettings()
    return [not stand_out.isdisjoint(settings.words(text)) for text in texts]
