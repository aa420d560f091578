"""The result of auditing a claim: the verdict, its evidence, and what it would have detected. NOT FOR RELEASE."""

import json
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from dptopics.audit.claim.curves import claimed_curve
from dptopics.audit.claim.distinguishing import DistinguishingResult
from dptopics.audit.summary import Audited, Light, Summary, write_page
from dptopics.privacy.guarantee import Guarantee

CONTROLS = MappingProxyType({"no noise": 0.0, "an eighth of the noise": 1 / 8, "half of the noise": 1 / 2})
HALF_THRESHOLD = "half of the threshold"
INCONCLUSIVE = "INCONCLUSIVE"
_CLOSE = 0.9  # of what is priced: a canary that moves less may miss leaks


@dataclass(frozen=True)
class Finding:
    """One contradiction of the claim. ``p_value`` None: it is exact."""

    check: str
    what: str
    p_value: float | None

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"check": self.check, "what": self.what, "p_value": self.p_value}


@dataclass(frozen=True, kw_only=True)
class ClaimAudit(Audited):
    """A claim, the evidence against it, and which under-noised controls the same audit detected.

    ``controls`` maps each control to the check that detected it, or to "". ``reach`` is how far the canary moves the
    noisy sums, as a share of what is priced.
    """

    mechanism: str
    claim: Guarantee
    findings: tuple[Finding, ...]
    controls: dict[str, str]
    notes: tuple[str, ...]
    canary: str
    reach: float | None
    distinguishing: DistinguishingResult | None
    error: float
    seconds: float
    settings: dict[str, Any] = field(default_factory=dict)  # of what was audited, as plain data

    @property
    def violated(self) -> bool:
        """Whether the claim is refuted."""
        return bool(self.findings)

    @property
    def caught(self) -> tuple[str, ...]:
        """Controls that the audit detected."""
        return tuple(name for name, check in self.controls.items() if check)

    @property
    def verdict(self) -> str:
        """``violated``, the controls that would have been caught, or ``INCONCLUSIVE``."""
        if self.violated:
            return "violated"
        if not self.caught:
            return INCONCLUSIVE
        return f"nothing found, and it would have caught: {', '.join(self.caught)}"

    @property
    def light(self) -> Light:
        """Green only where all controls were detected and the canary reaches what is priced."""
        if self.violated:
            return Light.RED
        detected_all = self.caught == tuple(self.controls) and not self.notes
        return Light.GREEN if detected_all and self.reach is not None and self.reach > _CLOSE else Light.AMBER

    @property
    def headline(self) -> str:
        """One line for the owner of the data."""
        unit = self.claim.unit
        if self.violated:
            return f"this mechanism does not protect each {unit} as it claims. Do not publish its output."
        if self.verdict == INCONCLUSIVE:
            return f"this audit could not determine whether each {unit} is protected as claimed."
        n, caught = len(self.controls), len(self.caught)
        which = "every under-noised control was" if caught == n else f"{caught} of {n} under-noised controls were"
        return f"no violation found; {which} detected."

    @property
    def advice(self) -> tuple[str, ...]:
        """How to make the audit more conclusive."""
        found = []
        missed = [name for name, check in self.controls.items() if not check]
        if not self.violated and missed:
            found.append(f"It did not detect: {', '.join(missed)}. More trials may (--thorough).")
        if not self.violated and not self.controls:
            found.append(
                "Under-noised controls could not be made. Attack its models instead (--shadows 128), and read in its "
                "documentation why it is not proved."
            )
        if self.reach is not None and self.reach <= _CLOSE and not self.violated:
            found.append(
                f"The best canary ({self.canary}) moves the noisy sums by {self.reach:.0%} of what is priced: smaller "
                "leaks would not be detected. Another canary may reach further."
            )
        return tuple(found)

    def summary(self) -> Summary:
        """The light, the controls, and the reasons."""
        by = ", ".join(dict.fromkeys(one.check for one in self.findings))
        rows = [("what you would publish", "VIOLATED" if self.violated else "nothing found", by)]
        for name, check in self.controls.items():
            rows.append((f"control: {name}", "detected" if check else "NOT DETECTED", check))
        return Summary(self.light, self.headline, ("Noise", "Audit", "By"), tuple(rows), tuple(self._reasons()))

    def _reasons(self) -> list[str]:
        """The evidence, for the owner."""
        claim = self.claim
        found = [f"Verdict: {self.verdict}."]
        for one in self.findings:
            chance = "Exact." if one.p_value is None else f"By chance: at most {one.p_value:.1g}."
            found.append(f"Found by {one.check}: {one.what} ({chance})")
        found.append(
            f"Claim of {self.mechanism}: ε = {claim.epsilon:.4g}, δ = {claim.delta:.4g} ({claim.unit}, "
            f"{claim.relation})."
        )
        if test := self.distinguishing:
            found.append(
                f"Distinguishing test, {test.trials:,} trials: ε is at least {_down(test.curve_bound)} if the noise "
                f"has the claimed form, {_down(test.bound)} whatever its form."
            )
        if self.reach is not None:
            found.append(f"Canary: {self.canary}; it moves the noisy sums by {self.reach:.0%} of what is priced.")
        meaning = (
            f"A correct mechanism is called violated with probability at most {self.error:g}. Finding nothing is not a "
            "proof: it covers only these canaries and checks."
        )
        return [*found, *self.notes, *self.advice, meaning]

    def to_dict(self) -> dict[str, Any]:
        """Everything, for a file that stays with the owner."""
        return {
            "not_for_release": True,
            **self.summary().to_dict(),
            "verdict": self.verdict,
            "violated": self.violated,
            "mechanism": self.mechanism,
            "settings": self.settings,
            "claim": self.claim.to_dict(),
            "findings": [one.to_dict() for one in self.findings],
            "controls": {name: check or None for name, check in self.controls.items()},
            "canary": self.canary,
            "reach": self.reach,
            "distinguishing_test": None if self.distinguishing is None else self.distinguishing.to_dict(),
            "notes": list(self.notes),
            "advice": list(self.advice),
            "false_alarm": self.error,
            "seconds": round(self.seconds, 1),
        }

    def save(self, folder: Path) -> None:
        """Write audit.json, the page, and the claimed curve with what was measured (where matplotlib is installed)."""
        page = write_page(self.summary(), folder, title="Is the claim true?")
        page.with_suffix(".json").write_text(json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n", "utf-8")
        plot_curve(self, folder)


def plot_curve(audit: ClaimAudit, folder: Path) -> bool:
    """The claimed trade-off curve and the measured errors; False without a measurement or matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    if audit.distinguishing is None:
        return False
    curve = claimed_curve(audit.claim.events, failures=False)
    grid = np.linspace(0.001, 0.999, 200)
    figure = Figure(figsize=(5, 5), layout="constrained")
    axes = figure.subplots()
    axes.plot(grid, [curve(float(rate)) for rate in grid], "k-", label=f"claimed: ε = {audit.claim.epsilon:.3g}")
    axes.plot(
        audit.distinguishing.false_positives,
        audit.distinguishing.false_negatives,
        "o",
        label="measured: errors at most",
    )
    axes.plot(grid, 1 - grid, "k:", linewidth=1, label="guessing")
    axes.set(xlabel="false positive rate", ylabel="false negative rate", title="Distinguishing test: not for release")
    axes.set(xlim=(0, 1), ylim=(0, 1))
    axes.legend(fontsize=8)
    figure.savefig(folder / "curve.png", dpi=150)
    return True


def _down(bound: float) -> str:
    """Rounded down: a lower bound must not be raised by its display."""
    return "∞" if bound == inf else f"{int(bound * 100) / 100:.2f}"
