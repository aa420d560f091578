"""Releases without a ledger: priced alone, and they say so."""

from numpy.random import Generator

from dptopics.errors import PrivacyError
from dptopics.privacy.guarantee import Guarantee, Strength


class Unrecorded:
    """The door without a ledger: charges nothing, and the release says so."""

    def check(self, guarantee: Guarantee, *, accept_unproven: bool = False) -> None:
        """Refuse what is not proved, unless that was accepted."""
        check_strength(guarantee, accept_unproven)

    def check_generator(self, rng: Generator) -> None:
        """Any will do: a seeded one marks the release as not private."""

    def charge(self, guarantee: Guarantee, what: str, *, by: str | None = None, accept_unproven: bool = False) -> None:
        """Nothing is recorded."""
        self.check(guarantee, accept_unproven=accept_unproven)

    def finalize(self, guarantee: Guarantee, value: object) -> Guarantee:
        """What the release promises, with a note on what nobody counts."""
        return guarantee.noting("Other releases of the same data are not counted: this one was priced alone.")

    @property
    def unsure(self) -> str:
        """What to say where it is not known whether a charge was made."""
        return self.charge_message(None)

    def charge_message(self, receipt: None) -> str:
        """What a charge was, for messages."""
        return "There is no ledger: nothing was recorded."


def check_strength(guarantee: Guarantee, accept_unproven: bool) -> None:
    """Refuse what is not proved, unless that was accepted."""
    strength = guarantee.strength
    if strength is not Strength.PROVED and not accept_unproven:
        raise PrivacyError(
            f"the guarantee of this release is '{strength}', not 'proved': {strength.meaning}. "
            "If that is good enough, say so with --accept-unproven (accept_unproven=True)."
        )
