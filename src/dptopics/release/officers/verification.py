"""Verify a received release: is it complete, who signed it, and does its ε follow from its plan?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from math import inf, sqrt
from pathlib import Path
from types import ModuleType
from typing import Any

from dptopics.core.errors import BundleError, DptopicsError, InputError
from dptopics.privacy import events as ev
from dptopics.privacy.card import show
from dptopics.privacy.guarantee import Guarantee, Strength
from dptopics.release import bundle
from dptopics.release.release import Release, mechanism_settings

_STEP = 1e-4  # of the grid of rounded losses
_NOTHING = 1e-15  # of δ: rounding
_SLACK = 1e-3  # of ε, for rounding; a test checks that no registered mechanism needs more


@dataclass(frozen=True)
class SecondPrice:
    """The stated ε, and its bounds by privacy loss distributions and by Rényi orders."""

    stated: float
    at_least: float
    at_most: float
    delta: float

    @property
    def agrees(self) -> bool:
        """A stated ε that is too low is a violation; one that is too high is only conservative."""
        return self.stated >= self.at_least * (1 - _SLACK)

    def __str__(self) -> str:
        return (
            f"stated ε = {show(self.stated)} at δ = {show(self.delta)}; recomputed: at least "
            f"{self.at_least:.4g} (privacy loss distributions), at most {self.at_most:.4g} (Rényi)"
        )


def second_price(guarantee: Guarantee, stated: float | None) -> SecondPrice | None:
    """The stated ε with two independent bounds; None where nothing is guaranteed."""
    if guarantee.strength is Strength.NONE:
        return None
    if stated is None:
        raise BundleError("the guarantee states no ε, which its strength does not explain. Get the release again.")
    left = guarantee.delta - sum(e.probability for e in guarantee.events if isinstance(e, ev.Failure))
    noise = [e for e in guarantee.events if not isinstance(e, ev.Failure)]
    if not noise:
        return SecondPrice(stated, 0.0, 0.0, guarantee.delta)
    if left < _NOTHING:  # failures use all of δ, so the noise must be pure: basic composition
        pure = inf if left < -_NOTHING else _plain_sum(noise)
        return SecondPrice(stated, pure, pure, guarantee.delta)
    return SecondPrice(stated, _by_losses(noise, left), _by_renyi(noise, left), guarantee.delta)


def _by_losses(noise: Sequence[ev.Event], delta: float) -> float:
    """A lower bound on ε: dp_accounting's losses rounded down."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    total: Any = None
    rounded = {"value_discretization_interval": _STEP, "pessimistic_estimate": False}
    options = rounded | {"use_connect_dots": False}  # connecting dots bounds from above
    for event in noise:
        match event:
            case ev.Gaussian(sigma, count):
                part = pld.from_gaussian_mechanism(sigma / sqrt(count), **options)
            case ev.SampledGaussian(sigma, rate, count):
                part = pld.from_gaussian_mechanism(sigma, sampling_prob=rate, **options).self_compose(count)
            case ev.Laplace(scale, count):
                part = pld.from_laplace_mechanism(scale, **options).self_compose(count)
            case ev.RandomizedResponse(lie, values, count):
                part = pld.from_randomized_response(values * lie, values, **rounded).self_compose(count)
            case ev.Failure():
                continue
        total = part if total is None else total.compose(part)
    return float(total.get_epsilon_for_delta(delta))


def _by_renyi(noise: Sequence[ev.Event], delta: float) -> float:
    """An upper bound on ε by Rényi divergences; randomised responses are added by basic composition."""
    from dp_accounting import dp_event as d
    from dp_accounting.rdp import RdpAccountant

    accountant, added = RdpAccountant(), 0.0
    for event in noise:
        match event:
            case ev.Gaussian(sigma, count):
                accountant.compose(d.GaussianDpEvent(sigma), count)
            case ev.SampledGaussian(sigma, rate, count):
                accountant.compose(d.PoissonSampledDpEvent(rate, d.GaussianDpEvent(sigma)), count)
            case ev.Laplace(scale, count):
                accountant.compose(d.LaplaceDpEvent(scale), count)
            case ev.RandomizedResponse(count=count):
                added += count * event.epsilon
            case ev.Failure():
                continue
    return added + float(accountant.get_epsilon(delta))


def _plain_sum(noise: Sequence[ev.Event]) -> float:
    """ε at δ = 0 by basic composition."""
    total = 0.0
    for event in noise:
        match event:
            case ev.Laplace(scale, count):
                total += count / scale
            case ev.RandomizedResponse(count=count):
                total += count * event.epsilon
            case _:
                return inf
    return total


_SIGNATURE = "signature.json"
_STATED = 1e-2  # relative: the ε of a plan, and that of its calibrated noise
_CLOSE = 1e-6  # relative: two searches for the same noise
Rebuild = Callable[[Release[Any], Path], Any]  # a release and its folder to the mechanism of its plan


@dataclass(frozen=True)
class Verified:
    """The checks that passed; a failed one is an error instead."""

    files: int
    signed_by: str | None
    planned: str  # empty if the card follows from plan and settings, else why that was not checked
    price: SecondPrice | None
    guarantee: Guarantee
    checksum: str  # SHA-256 of bundle.json, which holds those of all other files

    def to_dict(self) -> dict[str, Any]:
        return {
            "files": self.files,
            "sha256": self.checksum,
            "signed_by": self.signed_by,
            "plan": self.planned or "agrees",
            "price": None if self.price is None else asdict(self.price),
            "strength": str(self.guarantee.strength),
        }

    def lines(self) -> list[str]:
        signed = "not signed" if self.signed_by is None else f"signed by the key {self.signed_by}"
        price = "nothing is guaranteed, so there is no price to check" if self.price is None else str(self.price)
        plan = self.planned or "the card states the noise of plan and settings"
        return [
            f"Files: {self.files}, all unchanged, no extra files.",
            f"Signature: {signed}.",
            f"Plan: {plan}.",
            f"Price: {price}.",
        ]


def verify(folder: Path, key_file: Path | None = None, *, rebuild: Rebuild | None = None) -> Verified:
    """Check files, signature (if there is one), the card against the plan, and ε; a BundleError names what is wrong.

    With ``key_file``, a public key, the release must be signed by it. ``rebuild`` makes the mechanism from the plan.
    """
    release = bundle.load(folder)
    _check_only_listed(folder)
    signed = (folder / _SIGNATURE).exists()
    if key_file is not None and not signed:
        raise BundleError(f"{str(folder)!r} is not signed, and a key was given to check its signature.")
    try:
        signed_by = signatures().check(folder, key_file) if signed else None
        planned = _check_plan(release, folder, rebuild)
    except BundleError as error:
        raise BundleError(f"{str(folder)!r} cannot be trusted: {error}") from None
    price = second_price(release.guarantee, bundle.stated_epsilon(folder))
    if price is not None and not price.agrees:
        raise BundleError(f"{str(folder)!r} cannot be trusted: its ε is too low. {price}.")
    files, checksum = len(bundle.listed_files(folder)), bundle.checksum(folder)
    return Verified(files, signed_by, planned, price, release.guarantee, checksum)


def _check_only_listed(folder: Path) -> None:
    """Refuse unlisted files, which no mechanism made, and links, which can point anywhere."""
    listed = bundle.listed_files(folder) | {_SIGNATURE}
    for path in sorted(folder.iterdir()):
        if path.is_symlink() or not path.is_file():
            raise BundleError(f"{str(folder)!r} cannot be trusted: {path.name!r} is a link or a folder, not a file.")
        if path.name not in listed:
            raise BundleError(
                f"{str(folder)!r} cannot be trusted: {path.name!r} is not part of the release. Its content is not "
                "covered by any guarantee: remove it."
            )


def _check_plan(release: Release[Any], folder: Path, rebuild: Rebuild | None) -> str:
    """Card, settings and stated noise must be those of the plan's mechanism. Returns why it was not rebuilt."""
    if release.guarantee.strength is Strength.NONE:
        return "nothing is guaranteed, so it was not compared with the card"
    if rebuild is None or release.record.plan is None:
        return "the release has none, so only the card was checked"
    _check_stated(release)
    try:
        mechanism = rebuild(release, folder)
    except DptopicsError as error:
        return f"only the card was checked; the mechanism could not be rebuilt ({str(error).rstrip('.')})"
    made = mechanism.guarantee
    differ = _differences(release.guarantee.to_dict(), made.to_dict(), ("events", "delta", "unit", "relation", "trust"))
    own = mechanism_settings(mechanism)
    if not getattr(mechanism, "needs_preparation", False):  # a sampled sensitivity is not in the plan
        differ += _differences(release.settings, own, tuple(own))
    stated, drawn = release.value.fields().get("noise"), getattr(mechanism, "noise", None)
    if isinstance(stated, float) and isinstance(drawn, float) and not _same(stated, drawn):
        differ.append("noise")
    if not differ:
        return ""
    ours = metadata.version("dptopics")
    if release.record.version != ours:
        made_by = f"dptopics {release.record.version} made this release"
        return f"{made_by}, and {ours} makes another mechanism from its plan, so only the card was checked"
    raise BundleError(
        f"its card or settings do not follow from its plan: {', '.join(differ)} differ. The noise drawn is unknown."
    )


def _check_stated(release: Release[Any]) -> None:
    """What both plan and card state must agree, whatever version made them."""
    plan, card = release.record.plan or {}, release.guarantee
    pairs = [("delta", plan.get("delta"), card.delta), ("unit", plan.get("unit"), str(card.unit))]
    if plan.get("vocabulary_epsilon") is None:  # where each part has its ε, their composition costs less than the sum
        pairs.append(("epsilon", plan.get("epsilon"), card.epsilon))
    differ = [name for name, planned, stated in pairs if planned is not None and not _same(planned, stated, _STATED)]
    if differ:
        raise BundleError(f"its card does not follow from its plan: {', '.join(differ)} differ.")


def _differences(found: Mapping[str, Any], wanted: Mapping[str, Any], names: tuple[str, ...]) -> list[str]:
    return [name for name in names if not _same(found.get(name), wanted.get(name))]


def _same(one: Any, other: Any, close: float = _CLOSE) -> bool:
    """Equal, numbers up to the tolerance of calibration."""
    if isinstance(one, float) and isinstance(other, float | int):
        return abs(one - other) <= close * max(abs(one), abs(other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def signatures() -> ModuleType:
    """The module that signs, where ``cryptography`` is installed."""
    try:
        from dptopics.release.officers import signature
    except ImportError:
        raise InputError("signatures need an extra package. Run: pip install 'dptopics[officers]'") from None
    return signature
