"""Every mechanism there is, in one table: what it protects and how strongly, read from the mechanism itself."""

from typing import Any

from dptopics.data.corpus import Corpus
from dptopics.local.hashing import HashedPair, ThreeWords
from dptopics.local.randomizer import BitFlips, Randomizer
from dptopics.privacy.guarantee import Strength, Trust, Unit
from dptopics.privacy.mechanism import Mechanism
from dptopics.privacy.relation import Relation
from dptopics.registry import DEFAULT_SHARE, NGRAMS, OUTPUT, PUBLISHED, TOPICS, VOCABULARIES, output_mechanism
from dptopics.release.vocabulary import Vocabulary
from dptopics.vocabulary.public import PublicVocabulary

_EXAMPLE: dict[str, Any] = {"n_topics": 2, "epsilon": 1.0, "delta": 1e-6, "unit": Unit.AUTHOR, "share": DEFAULT_SHARE}


def catalogue() -> list[dict[str, str]]:
    """Every mechanism with its unit, relation, strength and paper, read from the mechanism itself."""
    no_words = PublicVocabulary(vocabulary=Vocabulary(()), delta=1e-6)
    word = Vocabulary(("word",))
    parts: list[tuple[str, Mechanism[Any] | Randomizer]] = [("vocabulary", no_words)]
    parts += [("vocabulary", kind.template(delta=1e-6)) for kind in VOCABULARIES.values()]
    parts += [("topics", kind.template(n_topics=2, delta=1e-6)) for kind in TOPICS.values()]
    public = Corpus.from_texts(["some public text"]).bounded()  # what makes output perturbation more than a claim
    parts += [("topics", output_mechanism(name, no_words, public=public, **_EXAMPLE)) for name in OUTPUT]
    parts += [("topics", kind.template(n_topics=2, delta=1e-6)) for kind in PUBLISHED.values()]
    parts += [
        ("local", BitFlips(vocabulary=word, f=0.5, max_words=1)),
        ("local", HashedPair(vocabulary=word, topics=(("word",),), epsilon=1.0)),
        ("local", ThreeWords(vocabulary=word, epsilon=1.0)),
    ]
    parts += [("n-grams", kind.template(delta=1e-6)) for kind in NGRAMS.values()]
    return [
        {
            "job": job,
            "name": mechanism.name,
            "noise": _noise(mechanism),
            "unit": _protected(mechanism),
            "relation": str(mechanism.guarantee.relation),
            "strength": str(mechanism.guarantee.strength),
            "paper": mechanism.paper,
        }
        for job, mechanism in parts
    ]


def _protected(mechanism: Mechanism[Any] | Randomizer) -> str:
    """Whom it protects, of those that can be asked for."""
    if mechanism.guarantee.strength is Strength.NONE:
        return "nobody"
    if mechanism.guarantee.trust is Trust.LOCAL:
        return "document"
    words = (Relation.REPLACE_WORD, Relation.ADD_OR_REMOVE_WORD)
    return "single words" if mechanism.guarantee.relation in words else "author or document"


def _noise(mechanism: Mechanism[Any] | Randomizer) -> str:
    """Kinds of noise to choose from, or the one there is."""
    choices = getattr(mechanism, "noises", None)
    kinds = [type(event).__name__.lower() for event in mechanism.guarantee.events] if choices is None else choices
    return ", ".join(dict.fromkeys(kind for kind in kinds if kind != "failure")) or "-"
