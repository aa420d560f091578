"""The entry of a release for the OpenDP Deployments Registry, filled in from the release as far as possible.

Field names and choices follow the registry's entries of September 2026 (its schema changes often: its own checks are
authoritative). What only the curator knows is a parameter; what is missing is marked.
"""

import re
from dataclasses import dataclass, fields
from typing import Any

from dptopics.core.errors import InputError
from dptopics.privacy import card, events
from dptopics.privacy.events import Relation
from dptopics.privacy.guarantee import Guarantee, Strength, Trust, Unit
from dptopics.release.release import Release

MISSING = "To be filled in by the curator."
TIERS = (1, 2, 3)
_DISCRETE = (
    "Sums are of whole numbers on a fixed grid; noise is drawn from the exactly rounded distribution on that grid with "
    "a cryptographic generator, so attacks on floating-point noise do not apply.\n"
)
_CHARGED = "; no decision depends on the data before the budget is charged"
_PRODUCT = {
    "topics": "Machine learning model",
    "ngrams": "Summary statistics",
    "vocabulary": "Summary statistics",
    "counts": "Summary statistics",
}


@dataclass(frozen=True, kw_only=True)
class Curator:
    """What the release does not contain: who publishes it, for what, where, and who writes this entry."""

    name: str = MISSING
    kind: str = MISSING  # such as Nonprofit, Company, Government
    region: str = MISSING
    sector: str = MISSING  # such as Healthcare, Education, Technology, Government
    intended_use: str = MISSING
    justification: str = MISSING  # why these values, and who decided
    sources: str = MISSING  # where the release and its description can be found
    author: str = MISSING  # of the entry

    def missing(self) -> list[str]:
        """Names of the fields still to be filled in."""
        return [one.name for one in fields(self) if getattr(self, one.name) == MISSING]


def entry(release: Release[Any], curator: Curator, *, tier: int = 3) -> dict[str, Any]:
    """The entry as plain data: tier 1 describes the product, 2 adds the guarantee, 3 how it was made."""
    if tier not in TIERS:
        raise InputError(f"the registry has tiers 1, 2 and 3, got {tier}.")
    promise = release.guarantee
    if promise.strength is Strength.NONE:
        raise InputError("this release guarantees nothing, so it is not a deployment of differential privacy.")
    deployment: dict[str, Any] = {"basic": _basic(release, curator)}
    if tier >= 2:
        deployment |= {
            "dp_variant": _variant(promise, tier),
            "privacy_loss": _loss(release, tier),
            "deployment_model": _model(release, tier),
        }
    if tier == 3:
        deployment |= {"accounting": _accounting(release), "implementation": _implementation(release, curator)}
    deployment["administrative"] = {"sources": curator.sources, "registry_authors": [curator.author]}
    slug = re.sub(r"[^a-z0-9]+", "-", f"{_title(release)} {curator.name if curator.name != MISSING else ''}".lower())
    return {"url_slug": slug.strip("-"), "status": "Draft", "tier": tier, "deployment": deployment}


def to_yaml(data: dict[str, Any]) -> str:
    """The entry as YAML, with texts of several lines as blocks."""
    try:
        import yaml
    except ImportError:
        raise InputError("registry entries need an extra package. Run: pip install 'dptopics[officers]'") from None

    class Dumper(yaml.SafeDumper):
        """Texts with line breaks in the style ``|``."""

    def text(dumper: Any, value: str) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    Dumper.add_representer(str, text)
    return str(yaml.dump(data, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=10**6))


def _title(release: Release[Any]) -> str:
    return release.record.title or f"Private {release.value.many}"


def _basic(release: Release[Any], curator: Curator) -> dict[str, Any]:
    about = release.record.description or MISSING
    return {
        "name": _title(release),
        "data_curators": [{"data_curator_name": curator.name, "data_curator_type": curator.kind}],
        "intended_use": curator.intended_use,
        "data_product_type": _PRODUCT[release.value.kind],
        "data_product_region": curator.region,
        "description": f"{about}\nReleased: {release.value.many}, made by dptopics {release.record.version}.\n",
        "publication_date": release.record.day or MISSING,
        "data_product_sector": curator.sector,
    }


def _variant(promise: Guarantee, tier: int) -> dict[str, Any]:
    found: dict[str, Any] = {"variant_name": "Pure DP" if promise.delta == 0 else "Approximate DP"}
    if tier == 3:
        found["data_domain"] = f"All collections of texts, each with one {promise.unit}, of any number and length."
        found["unprotected_quantities"] = _unprotected(promise)
    return found


def _unprotected(promise: Guarantee) -> str:
    """What the guarantee does not cover."""
    more = {
        Unit.DOCUMENT: "Authors of several documents: their documents together are protected less than each alone.",
        Unit.AUTHOR: "People who are written about but are not the author.",
    }[promise.unit]
    lines = [
        *(["No statistic of the data is released without noise."] if promise.strength is Strength.PROVED else []),
        more,
        "Settings, bounds and public word lists, which were fixed beforehand.",
        "What many people say, and groups of people: the loss grows with the size of the group.",
    ]
    return "\n".join(f"- {line}" for line in [*lines, *promise.limits]) + "\n"


def _loss(release: Release[Any], tier: int) -> dict[str, Any]:
    promise = release.guarantee
    found: dict[str, Any] = {"privacy_unit": f"{str(promise.unit).capitalize()}-level"}
    if tier == 3:
        compared = {
            Relation.ADD_OR_REMOVE: f"adding or removing one {promise.unit} (add-or-remove, unbounded)",
            Relation.REPLACE: f"replacing one {promise.unit} by another (replace-one, bounded)",
            Relation.REPLACE_WORD: "replacing one word of one document; neither documents nor authors are protected",
            Relation.ADD_OR_REMOVE_WORD: "adding or removing one word of one document; documents are not protected",
        }[promise.relation]
        whole = " with all their texts" if promise.unit is Unit.AUTHOR else ""
        bounds = "".join(f"Bounds: {text}" for name, text in release.record.rows() if name == "Bounds")
        found["privacy_unit_details"] = (
            f"Two data sets are neighbours if they differ by {compared}{whole}.\n{bounds}".strip() + "\n"
        )
    found["privacy_parameters"] = {"epsilon": float(card.show(promise.epsilon)), "delta": float(promise.delta)}
    if tier == 3:
        found["privacy_parameters_details"] = "\n".join(
            [f"Strength: {promise.strength}, {promise.strength.meaning}."]
            + [f"{name}: {line}" for name, lines in card.remarks(promise) for line in lines]
        ) + "\n"  # fmt: skip
    return found


def _model(release: Release[Any], tier: int) -> dict[str, Any]:
    local = release.guarantee.trust is Trust.LOCAL
    found: dict[str, Any] = {"model_name": "Local" if local else "Central"}
    if tier == 3:
        found["model_name_details"] = (
            "Every text is randomised on the device of its author; the collector never sees it."
            if local
            else "The curator holds the texts and runs the mechanism; only the release leaves the curator's control."
        )
        found["actors"] = (
            "- Authors of the texts.\n"
            + ("- The collector, who is not trusted.\n" if local else "- The curator, who is trusted with the texts.\n")
            + "- Anyone who sees the release: adversaries with arbitrary other knowledge.\n"
        )
    series = release.record.plan is not None and "periods" in release.record.plan["settings"]
    many = release.record.ledger is not None and int(release.record.ledger["charge"]) > 1
    found["release_type"] = "Many releases" if many or series else "One release"
    if tier == 3:
        found["release_type_details"] = _ledger(release)
    found |= {"data_source_type": "Dynamic" if series else "Static", "access_type": "Non-interactive"}
    return found


def _ledger(release: Release[Any]) -> str:
    known = dict(release.record.rows()).get("Ledger")
    return f"Ledger: {known}" if known else "No ledger: other releases of the same data are not counted."


def _accounting(release: Release[Any]) -> dict[str, str]:
    return {
        "post_processing": "Everything after the noise: bundle, report, labels and trees use the release alone.",
        "composition": (
            "All draws of noise of this release are composed exactly where a formula is known (Gaussians, one Laplace "
            f"draw with Gaussians), else by privacy loss distributions (dp_accounting).\n{_ledger(release)}\n"
        ),
    }


def _implementation(release: Release[Any], curator: Curator) -> dict[str, str]:
    record = release.record
    mechanism = "" if record.plan is None else f"Mechanism `{record.plan['mechanism']}`.\n"
    draws = [_draw(event) for event in release.guarantee.events] or ["none: no private data was used"]
    return {
        "preprocessing_and_hyperparameter_tuning": (
            "Texts are split into words, and each unit's contribution is bounded by settings fixed "
            f"beforehand{_CHARGED if _on_a_grid(release.guarantee) else ''}. "
            "The curator must state whether settings were tried on these data outside this tool.\n"
        ),
        "mechanisms": (
            f"{mechanism}Noise, in multiples of the sensitivity:\n"
            + "".join(f"- {draw}\n" for draw in draws)
            + (_DISCRETE if _on_a_grid(release.guarantee) else "")
            + f"Made by dptopics {record.version}.\n"
        ),
        "justification": curator.justification,
    }


def _on_a_grid(promise: Guarantee) -> bool:
    """Whether the mechanism adds this library's noise to bounded sums: proved, and run by the owner of the texts."""
    return promise.strength is Strength.PROVED and promise.trust is Trust.CENTRAL


def _draw(event: events.Event) -> str:
    match event:
        case events.Gaussian(sigma, count):
            return f"Gaussian, standard deviation {sigma:.4g}, {count} times"
        case events.SampledGaussian(sigma, rate, count):
            return f"Gaussian on a Poisson sample of rate {rate:.4g}, standard deviation {sigma:.4g}, {count} times"
        case events.Laplace(scale, count):
            return f"Laplace, scale {scale:.4g}, {count} times"
        case events.RandomizedResponse(lie, values, count):
            return f"randomised response, {values} answers, each wrong one with probability {lie:.4g}, {count} times"
        case events.Failure(probability):
            return f"a failure of probability at most {probability:.3g} (a lone word that passes its threshold)"
