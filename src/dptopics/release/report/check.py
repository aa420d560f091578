"""Does this audit belong to this release? Refuse one that can be told not to."""

from math import isclose
from typing import Any

from dptopics.errors import InputError
from dptopics.privacy.fields import difference
from dptopics.privacy.guarantee import Guarantee
from dptopics.release.release import Release
from dptopics.release.topic_model import TopicModel, fingerprint

_ANOTHER = "this audit is of another model"


def check_audit(release: Release[Any], audit: dict[str, Any]) -> None:
    """Compare what the audit says it attacked with what was released: mechanism, topics, claim, and words."""
    value = release.value
    if "controls" in audit:  # of a claim, whatever is released
        _check_plan(release, audit)
        return
    if not isinstance(value, TopicModel):
        raise InputError("this audit is of topics, but the release holds none. Leave the audit out.")
    if "attacks" not in audit:  # scores against one given model
        if audit.get("target", "") not in ("", fingerprint(value.topic_word, value.vocabulary.words)):
            raise InputError(f"{_ANOTHER}: its --target had other words or weights than this release.")
        return
    made = str(release.settings.get("mechanism"))
    if audit.get("claim") is None:
        if made != "unknown":
            raise InputError(
                f"{_ANOTHER}: it attacked a plain topic model, and this release was made by {made!r}. "
                "Audit with --mechanism."
            )
        return
    if not _check_plan(release, audit):
        _check_settings(release, audit)


def _check_plan(release: Release[Any], audit: dict[str, Any]) -> bool:
    """Whether both know their plan; another plan is refused."""
    attacked, made = audit.get("settings", {}).get("plan"), release.record.plan
    if made is None or attacked is None:
        return False
    if found := difference(attacked, made):
        raise InputError(f"{_ANOTHER}. Of its plan, {'; '.join(found)} as in this release's.")
    return True


def _check_settings(release: Release[Any], audit: dict[str, Any]) -> None:
    """Where one of the two knows no plan: what can be compared without."""
    value, made = release.value, str(release.settings.get("mechanism"))
    claim = Guarantee.from_dict(audit["claim"])
    attacked = audit.get("settings", {}).get("mechanism", {})
    pairs: list[tuple[str, Any, Any]] = [
        ("mechanism", attacked.get("mechanism"), made),
        *(
            (f"{part} mechanism", _part(attacked, part), _part(release.settings, part))
            for part in ("topics", "vocabulary")
        ),
        # What was asked for: topics that say nothing are dropped or merged, by noise.
        ("topics", _n_topics(attacked), _n_topics(release.settings) or value.n_topics),
        ("unit", claim.unit, release.guarantee.unit),
        ("relation", claim.relation, release.guarantee.relation),
        ("delta", claim.delta, release.guarantee.delta),
        ("epsilon", claim.epsilon, release.guarantee.epsilon),
    ]
    for name, there, here in pairs:
        same = isclose(there, here, rel_tol=1e-6) if isinstance(there, float) else there == here
        if there is not None and not same:
            raise InputError(f"{_ANOTHER}: its {name} is {_show(there)}, that of this release {_show(here)}.")


def _part(settings: dict[str, Any], part: str) -> str | None:
    """Which mechanism chose the words, or the topics, of a pipeline."""
    inner = settings.get(part)
    return inner.get("mechanism") if isinstance(inner, dict) else None


def _n_topics(settings: dict[str, Any]) -> int | None:
    topics = settings.get("topics")
    found = settings.get("n_topics", topics.get("n_topics") if isinstance(topics, dict) else None)
    return None if found is None else int(found)


def _show(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
