"""Names of mechanisms, found by class: every mechanism in the rooms below registers itself when it is defined."""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

from dptopics.core.errors import InputError
from dptopics.mechanisms.mechanism import REGISTERED, Job
from dptopics.privacy.events import Relation
from dptopics.privacy.guarantee import Strength, Trust

_ROOMS = ("mechanisms", "local", "published")
_SERVER = "dptopics.local.server"  # no mechanisms, and packages that not everybody has


def mechanisms(job: Job | str) -> dict[str, Any]:
    """Name and class of every mechanism for a job, sorted by name.

    >>> sorted(mechanisms("vocabulary"))
    ['count', 'greedy', 'greedy-published', 'policy', 'weighted']
    """
    for module in _modules():
        import_module(module)
    wanted = Job(job)
    return {name: kind for (of, name), kind in sorted(REGISTERED.items()) if of is wanted}


def mechanism_class(job: Job | str, name: str) -> Any:
    """The class behind a name. Modules are imported until it is there."""
    for module in _modules():
        if (Job(job), name) not in REGISTERED:
            import_module(module)
    if (Job(job), name) in REGISTERED:
        return REGISTERED[Job(job), name]
    raise InputError(
        f"there is no mechanism {name!r} for {Job(job)}. The mechanisms are: {', '.join(mechanisms(job))}."
    )


def catalogue() -> list[dict[str, str]]:
    """Every mechanism with its unit, relation, strength and paper, read from an example of itself."""
    from dptopics.mechanisms.vocabulary.two_stage import PublicVocabulary

    rows = [_row("vocabulary", PublicVocabulary.example())]
    return rows + [_row(str(job), kind.example()) for job in Job for kind in mechanisms(job).values()]


def _modules() -> Iterator[str]:
    """Those that may define classes. To import them again costs nothing."""
    for room in _ROOMS:
        package = import_module(f"dptopics.{room}")
        for module in walk_packages(package.__path__, f"dptopics.{room}."):
            if not module.name.startswith(_SERVER):
                yield module.name


def _row(job: str, example: Any) -> dict[str, str]:
    promise = example.guarantee
    return {
        "job": job,
        "name": example.name,
        "noise": _noise(example),
        "unit": _protected(promise),
        "relation": str(promise.relation),
        "strength": str(promise.strength),
        "paper": example.paper,
    }


def _protected(promise: Any) -> str:
    """Whom it protects, of those that can be asked for."""
    if promise.strength is Strength.NONE:
        return "nobody"
    if promise.trust is Trust.LOCAL:
        return "document"
    words = (Relation.REPLACE_WORD, Relation.ADD_OR_REMOVE_WORD)
    return "single words" if promise.relation in words else "author or document"


def _noise(example: Any) -> str:
    """Kinds of noise to choose from, or the one there is."""
    kinds = example.noises or [type(event).__name__.lower() for event in example.guarantee.events]
    return ", ".join(dict.fromkeys(str(kind) for kind in kinds if kind != "failure")) or "-"
