"""The result of auditing a claim: the verdict, what was checked, and what could have been seen. NOT FOR RELEASE."""

from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from dptopics.audit.claim.distinguishing import DistinguishingResult
from dptopics.audit.summary import Audited, Light, Summary
from dptopics.privacy.guarantee import Guarantee

NOT_ENOUGH = "not enough was tried"
NOTHING_FOUND = "nothing found"
NOT_SEEN = (
    "a leak in fewer runs than said above, a generator whose bits can be foretold, how long a run takes, code that "
    "behaves while it is watched, and whatever happens to the data before or beside this mechanism"
)


@dataclass(frozen=True)
class Finding:
    """One contradiction of the claim. ``p_value`` None: it is exact."""

    check: str
    what: str
    p_value: float | None


@dataclass(frozen=True)
class Check:
    """One kind of evidence: what was tried, what that could have shown, and whether it is what the page states."""

    name: str
    tried: str
    could_see: str
    enough: bool


@dataclass(frozen=True, kw_only=True)
class ClaimAudit(Audited):
    """A claim, the evidence against it, what was checked, and with what power.

    ``reach`` is how far the canary moves the noisy sums, as a share of what is priced.
    """

    title: ClassVar = "Is the claim true?"
    mechanism: str
    claim: Guarantee
    findings: tuple[Finding, ...]
    checks: tuple[Check, ...]
    notes: tuple[str, ...]
    canary: str
    reach: float | None
    distinguishing: DistinguishingResult | None
    error: float
    seconds: float
    units: int = 0  # of the data
    runs: int = 0
    settings: dict[str, Any] = field(default_factory=dict)  # of what was audited, as plain data
    about: str = ""  # the release, its date and its version

    @property
    def violated(self) -> bool:
        """Whether the claim is refuted."""
        return bool(self.findings)

    @property
    def enough(self) -> bool:
        """Whether every check ran with the power that docs/audit.md states, and nothing was left out."""
        return bool(self.checks) and all(one.enough for one in self.checks) and not self.notes

    @property
    def verdict(self) -> str:
        """``violated``, ``nothing found`` or ``not enough was tried``."""
        return "violated" if self.violated else NOTHING_FOUND if self.enough else NOT_ENOUGH

    @property
    def light(self) -> Light:
        """Green only where everything was tried as stated."""
        return Light.RED if self.violated else Light.GREEN if self.enough else Light.AMBER

    @property
    def headline(self) -> str:
        """One line for the owner of the data."""
        unit = self.claim.unit
        if self.violated:
            return f"this mechanism does not protect each {unit} as it claims. Do not publish its output."
        if not self.enough:
            return f"{NOT_ENOUGH} to say whether each {unit} is protected as claimed. Nothing was found so far."
        return f"nothing found against the claim that each {unit} is protected, and all checks had their full power."

    def summary(self) -> Summary:
        """The light, the checks with what they could have seen, and the reasons."""
        broken = {one.check for one in self.findings}
        rows = []
        for one in self.checks:
            said = "VIOLATED" if one.name in broken else "nothing found" if one.enough else "NOT ENOUGH"
            rows.append((one.name, said, one.tried, one.could_see))
        heads = ("Check", "Result", "Tried", "Could have seen")
        return Summary(self.light, self.headline, heads, tuple(rows), tuple(self._reasons()))

    def _reasons(self) -> list[str]:
        """The evidence, for the owner."""
        claim = self.claim
        found = [f"Verdict: {self.verdict}."]
        for one in self.findings:
            chance = "Exact." if one.p_value is None else f"By chance: at most {one.p_value:.1g}."
            found.append(f"Found by {one.check}: {one.what} ({chance})")
        found.append(
            f"Claim of {self.mechanism}: ε = {claim.epsilon:.4g}, δ = {claim.delta:.4g} ({claim.unit}, "
            f"{claim.relation}). {self.about}".rstrip()
        )
        found.append(f"Examined on {self.units:,} {claim.unit}s of the data and invented ones, in {self.runs:,} runs.")
        if self.reach is not None:
            found.append(f"Canary: {self.canary}; it moves the noisy sums by {self.reach:.0%} of what is priced.")
        short = [one.name for one in self.checks if not one.enough]
        if short and not self.violated:
            found.append(f"Not enough was tried by: {', '.join(short)}. --thorough tries more.")
        meaning = (
            f"A correct mechanism is called violated with probability at most {self.error:g}. Finding nothing is not a "
            f"proof. Not examined: {NOT_SEEN}."
        )
        return [*found, *self.notes, meaning]

    def to_dict(self) -> dict[str, Any]:
        return {
            "not_for_release": True,
            **self.summary().to_dict(),
            "verdict": self.verdict,
            "violated": self.violated,
            "mechanism": self.mechanism,
            "about": self.about,
            "settings": self.settings,
            "claim": self.claim.to_dict(),
            "findings": [asdict(one) for one in self.findings],
            "checks": [asdict(one) for one in self.checks],
            "canary": self.canary,
            "reach": self.reach,
            "distinguishing_test": None if self.distinguishing is None else self.distinguishing.to_dict(),
            "notes": list(self.notes),
            "units": self.units,
            "runs": self.runs,
            "false_alarm": self.error,
            "seconds": round(self.seconds, 1),
        }
