"""Check a release that somebody handed over: is it whole, who signed it, and is its ε right?"""

from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from dptopics.errors import BundleError, InputError
from dptopics.privacy.guarantee import Guarantee
from dptopics.release import bundle
from dptopics.release.officers.second_price import SecondPrice, second_price

_SIGNATURE = "signature.json"


@dataclass(frozen=True)
class Verified:
    """What was found in order; whatever is not in order is an error instead."""

    files: int
    signed_by: str | None
    price: SecondPrice | None
    guarantee: Guarantee

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "files": self.files,
            "signed_by": self.signed_by,
            "price": None if self.price is None else asdict(self.price),
            "strength": str(self.guarantee.strength),
        }

    def lines(self) -> list[str]:
        """One sentence for each check."""
        signed = "not signed by anybody" if self.signed_by is None else f"signed by the key {self.signed_by}"
        price = "nothing is promised, so there is no price to check" if self.price is None else str(self.price)
        return [f"Files: {self.files}, all as written.", f"Signature: {signed}.", f"Price: {price}."]


def verify(folder: Path, key_file: Path | None = None) -> Verified:
    """Check the files, the signature if there is one, and ε. A BundleError says what is wrong.

    With ``key_file``, a public key, the release must be signed by that key.
    """
    release = bundle.load(folder)
    signed_by = None
    if key_file is not None and not (folder / _SIGNATURE).exists():
        raise BundleError(f"{str(folder)!r} is not signed, and a key was given to check its signature.")
    if (folder / _SIGNATURE).exists():
        try:
            signed_by = signatures().check(folder, key_file)
        except BundleError as error:
            raise BundleError(f"{str(folder)!r} cannot be trusted: {error}") from None
    price = second_price(release.guarantee, bundle.stated_epsilon(folder))
    if price is not None and not price.agrees:
        raise BundleError(f"{str(folder)!r} cannot be trusted: its ε is too low. {price}.")
    return Verified(bundle.count_files(folder), signed_by, price, release.guarantee)


def signatures() -> ModuleType:
    """The module that signs, where ``cryptography`` is installed."""
    try:
        from dptopics.release.officers import signature
    except ImportError:
        raise InputError("signatures need an extra package. Run: pip install 'dptopics[officers]'") from None
    return signature
