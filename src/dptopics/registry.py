"""Names on the outside, and the mechanisms behind them. To add a mechanism, add it here and nowhere else."""

from math import sqrt
from pathlib import Path
from typing import Any

from dptopics.errors import InputError
from dptopics.guarantee import Unit, check_budget
from dptopics.mechanism import Mechanism, calibrate
from dptopics.release import Vocabulary
from dptopics.topic_model import TopicModel
from dptopics.topics.pipeline import VocabularyThenTopics
from dptopics.topics.variational import VariationalTopics
from dptopics.vocabulary.public import PublicVocabulary, read_words
from dptopics.vocabulary.weighted import WeightedVocabulary

TOPICS = {"variational": VariationalTopics}
VOCABULARIES = {"weighted": WeightedVocabulary}
DEFAULT_SHARE = 0.4  # of the privacy budget (in μ²) for the vocabulary; tuned on public corpora


def vocabulary_mechanism(
    name: str | Path | Vocabulary, *, epsilon: float, delta: float, unit: Unit, **settings: Any
) -> Mechanism[Vocabulary]:
    """A vocabulary mechanism by name, or the public word list in a file."""
    check_budget(epsilon, delta)
    template = _vocabulary(name, delta=delta, unit=unit, **settings)
    return template if isinstance(template, PublicVocabulary) else calibrate(template, epsilon=epsilon)


def topic_mechanism(
    name: str,
    *,
    vocabulary: str | Path | Vocabulary,
    n_topics: int,
    epsilon: float,
    delta: float,
    unit: Unit,
    vocabulary_share: float = DEFAULT_SHARE,
    max_words: int = 200,
    max_vocabulary: int | None = None,
    **settings: Any,
) -> Mechanism[TopicModel]:
    """The whole pipeline for one (ε, δ): vocabulary, then topics.

    >>> pipeline = topic_mechanism(
    ...     "variational", vocabulary="weighted", n_topics=20, epsilon=1.0, delta=1e-6, unit=Unit.AUTHOR)
    >>> round(pipeline.guarantee.epsilon, 6)
    1.0
    """
    check_budget(epsilon, delta)
    if name not in TOPICS:
        raise InputError(f"there is no mechanism {name!r}. The mechanisms are: {', '.join(TOPICS)}.")
    if not 0 < vocabulary_share < 1:
        raise InputError(f"vocabulary_share must lie strictly between 0 and 1, got {vocabulary_share}.")
    words = _vocabulary(vocabulary, delta=delta, unit=unit, max_words=max_words, max_size=max_vocabulary)
    share = 0.0 if isinstance(words, PublicVocabulary) else vocabulary_share
    if isinstance(words, PublicVocabulary) and n_topics > len(words.vocabulary):
        raise InputError(f"{n_topics} topics need at least as many words, but the list has {len(words.vocabulary)}.")
    topics = TOPICS[name].template(n_topics=n_topics, delta=delta, unit=unit, **settings)
    template = VocabularyThenTopics(
        vocabulary=words.rescaled(1 / sqrt(share)) if share else words,
        topics=topics.rescaled(1 / sqrt(1 - share)),
        delta=delta,
    )
    return calibrate(template, epsilon=epsilon)


def _vocabulary(name: str | Path | Vocabulary, *, delta: float, unit: Unit, **settings: Any) -> Mechanism[Vocabulary]:
    if isinstance(name, Vocabulary):
        return PublicVocabulary(vocabulary=name, delta=delta, unit=unit)
    if isinstance(name, str) and name in VOCABULARIES:
        return VOCABULARIES[name].template(delta=delta, unit=unit, **settings)
    if not Path(name).is_file():
        raise InputError(
            f"there is no vocabulary mechanism and no word list {str(name)!r}. Use {', '.join(VOCABULARIES)}, or "
            "the path of a file with one public word on each line."
        )
    return PublicVocabulary(vocabulary=read_words(name), delta=delta, unit=unit)


def catalogue() -> list[dict[str, str]]:
    """Every mechanism with its unit, relation, strength and paper, read from the mechanism itself."""
    parts: list[tuple[str, Mechanism[Any]]] = [("vocabulary", PublicVocabulary(vocabulary=Vocabulary(()), delta=1e-6))]
    parts += [("vocabulary", kind.template(delta=1e-6)) for kind in VOCABULARIES.values()]
    parts += [("topics", kind.template(n_topics=2, delta=1e-6)) for kind in TOPICS.values()]
    return [
        {
            "job": job,
            "name": mechanism.name,
            "unit": "author or document",
            "relation": str(mechanism.guarantee.relation),
            "strength": str(mechanism.guarantee.strength),
            "paper": mechanism.paper,
        }
        for job, mechanism in parts
    ]
