"""What a mechanism did, as far as privacy is concerned, and the price of it.

An event describes one draw of noise, a pricing function turns events into ε. Scales are relative to the sensitivity, so
they are the very numbers that the mechanism hands to the noise. An unknown event is refused.
"""

from dataclasses import asdict, dataclass
from enum import StrEnum
from math import log
from typing import Any

from dptopics.errors import InputError, PrivacyError


@dataclass(frozen=True)
class Gaussian:
    """Gaussian noise of deviation ``sigma`` times the L2 sensitivity, drawn ``count`` times."""

    sigma: float
    count: int = 1

    def __post_init__(self) -> None:
        _check(self.sigma > 0 and self.count >= 1, self)


@dataclass(frozen=True)
class SampledGaussian:
    """The same on a Poisson sample: each unit is included independently with probability ``rate``."""

    sigma: float
    rate: float
    count: int = 1

    def __post_init__(self) -> None:
        _check(self.sigma > 0 and self.count >= 1 and 0 < self.rate <= 1, self)


@dataclass(frozen=True)
class Laplace:
    """Laplace noise of ``scale`` times the L1 sensitivity, drawn ``count`` times."""

    scale: float
    count: int = 1

    def __post_init__(self) -> None:
        _check(self.scale > 0 and self.count >= 1, self)


@dataclass(frozen=True)
class RandomizedResponse:
    """One of ``values`` answers is given: each of the wrong ones with probability ``lie``, else the true one.

    ``count`` answers are given independently: as many as two inputs can differ in.
    """

    lie: float
    values: int = 2
    count: int = 1

    def __post_init__(self) -> None:
        _check(self.values >= 2 and self.count >= 1 and 0 < self.lie <= 1 / self.values, self)

    @property
    def keep(self) -> float:
        """Probability of the true answer."""
        return 1 - (self.values - 1) * self.lie

    @property
    def epsilon(self) -> float:
        """ε of one answer, at δ = 0: ln(keep/lie)."""
        return max(0.0, log(self.keep / self.lie))


@dataclass(frozen=True)
class Failure:
    """With this probability anything may be revealed (a lone word that clears its threshold): it is paid from δ."""

    probability: float

    def __post_init__(self) -> None:
        _check(0 <= self.probability < 1, self)


def _check(possible: bool, event: object) -> None:
    """A NaN or negative scale must never come out as a low price."""
    if not possible:
        raise PrivacyError(f"impossible privacy event {event}: scales are positive, counts at least 1, rates up to 1.")


Event = Gaussian | SampledGaussian | Laplace | RandomizedResponse | Failure
_KINDS: dict[str, type[Event]] = {
    kind.__name__: kind for kind in (Gaussian, SampledGaussian, Laplace, RandomizedResponse, Failure)
}


class Noise(StrEnum):
    """Kinds of noise to choose from. Gaussian noise goes with the L2 norm, Laplace noise with the L1 norm."""

    GAUSSIAN = "gaussian"
    LAPLACE = "laplace"

    @classmethod
    def _missing_(cls, value: object) -> "Noise":
        raise InputError(f"noise must be 'gaussian' or 'laplace', got {value!r}.")

    @property
    def norm(self) -> int:
        """The norm in which a contribution is bounded."""
        return 2 if self is Noise.GAUSSIAN else 1

    def event(self, scale: float) -> Event:
        """One draw of ``scale`` times the sensitivity."""
        return Gaussian(scale) if self is Noise.GAUSSIAN else Laplace(scale)


def to_dict(event: Event) -> dict[str, Any]:
    """Plain data for JSON."""
    return {"kind": type(event).__name__, **asdict(event)}


def from_dict(data: dict[str, Any]) -> Event:
    """Inverse of :func:`to_dict`."""
    fields = dict(data)
    kind = _KINDS.get(fields.pop("kind", ""))
    if kind is None:
        raise PrivacyError(f"unknown privacy event {data.get('kind')!r}: update dptopics to read this guarantee.")
    return kind(**fields)
