"""A whole membership-inference audit: shadows, attacks, who is exposed and why. NOT FOR RELEASE."""

import csv
import json
from dataclasses import dataclass, field
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dptopics.audit.epsilon import EpsilonAudit
from dptopics.audit.lira import Attack, attack, threshold_attack
from dptopics.audit.shadows import Shadows, Trainer, train_shadows
from dptopics.audit.statistics import STATISTICS
from dptopics.data.corpus import Corpus
from dptopics.data.counts import Counts
from dptopics.privacy.guarantee import Guarantee
from dptopics.privacy.relation import Relation

_RARE = 5  # a word of at most so many documents is rare
_MOST = 20  # documents named in audit.json; documents.csv has all
_GRID = np.round(np.geomspace(1e-4, 1, 49), 8)  # false positive rates of the curves in audit.json


@dataclass(frozen=True, eq=False)
class MembershipAudit:
    """What the attacks found; for a mechanism also its ``claim``, and lower bounds on ε from canaries.

    ``exposure`` has every document, the most exposed first. The rates are over documents of few models, which are not
    independent trials: they describe the attack, and only a lower bound can call the claim violated.
    """

    attacks: tuple[Attack, ...]
    exposure: tuple[dict[str, Any], ...]
    claim: Guarantee | None
    n_shadows: int
    duplicates: int
    lower_bounds: tuple[EpsilonAudit, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)  # of what was attacked, as plain data

    @property
    def best(self) -> Attack:
        """The attack that finds most members at a false positive rate of 0.1 %."""
        return max(self.attacks, key=lambda a: a.true_positive_rate(0.001))

    def verdict(self) -> str:
        """Two or three sentences for the owner."""
        rate = self.best.true_positive_rate(0.001)
        lines = [
            f"Accusing 1 in 1,000 outsiders, the best attack ({self.best.name}) finds {rate:.1%} of the members; "
            "guessing would find 0.1 %."
        ]
        if self.claim is not None:
            lines.append(
                f"The claimed guarantee would allow {self.allowed(np.array([0.001]))[0]:.1%} for a single "
                f"{self.claim.unit}: halves of the data compare replace-one neighbours, which is 2ε."
            )
        for bound in self.lower_bounds:
            how = "canaries in one run" if bound.method == "one-run" else "runs with one canary"
            lines.append(
                f"Lower bound on ε from {bound.trials} {how}: {bound.lower_bound:.2f} at {bound.confidence:.1%} "
                f"confidence, claimed {bound.claimed_epsilon:.3g}: {bound.verdict}."
            )
        if self.duplicates:
            lines.append(
                f"{self.duplicates} documents are copies of others: a copy in the other half gives its twin away, so "
                "their rates are not about their own membership."
            )
        return " ".join(lines)

    def allowed(self, false_positive_rates: NDArray[np.float64]) -> NDArray[np.float64]:
        """Largest true positive rate under the claim: one unit exchanged for another is one removed and one added."""
        assert self.claim is not None
        epsilon, delta = self.claim.epsilon, self.claim.delta
        if self.claim.relation is Relation.ADD_OR_REMOVE:
            epsilon, delta = 2 * epsilon, (1 + exp(min(epsilon, 700))) * delta
        return np.minimum(1.0, exp(min(epsilon, 700)) * false_positive_rates + delta)

    def to_dict(self) -> dict[str, Any]:
        """Everything, for a file that stays with the owner."""
        return {
            "not_for_release": True,
            "verdict": self.verdict(),
            "shadows": self.n_shadows,
            "settings": self.settings,
            "attacks": [a.to_dict() | {"roc": np.round(a.roc(_GRID), 6).tolist()} for a in self.attacks],
            "roc_false_positive_rates": _GRID.tolist(),
            "roc_allowed": None if self.claim is None else np.round(self.allowed(_GRID), 6).tolist(),
            "most_exposed": list(self.exposure[:_MOST]),
            "claim": None if self.claim is None else self.claim.to_dict(),
            "lower_bounds": [bound.to_dict() for bound in self.lower_bounds],
        }

    def save(self, folder: Path) -> bool:
        """Write audit.json, every document in documents.csv, the ROC as PNG and SVG; False if matplotlib is missing."""
        (folder / "audit.json").write_text(json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n", "utf-8")
        with open(folder / "documents.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(self.exposure[0]))
            writer.writeheader()
            writer.writerows(self.exposure)
        return plot_roc(self, folder)


def audit_membership(
    train: Trainer,
    corpus: Corpus,
    *,
    n_shadows: int = 128,
    repeats: int = 1,
    by_author: bool = False,
    claim: Guarantee | None = None,
    folder: Path | None = None,
    settings: dict[str, Any] | None = None,
) -> MembershipAudit:
    """Attack ``repeats`` models with all statistics, online and offline, and the global baselines.

    The models attacked are shadows themselves, each with the others as its shadows: more of them cost no training and
    make the rates steadier. ``train`` must use the columns of ``corpus.counts()``.
    """
    counts = corpus.counts()
    author = corpus.author if by_author else None
    shadows = train_shadows(
        train, counts, n_shadows=n_shadows, author=author, folder=folder, settings=settings, words=corpus.words
    )
    options: dict[str, Any] = {"targets": min(repeats, n_shadows), "author": author}
    attacks = [attack(shadows, **options), attack(shadows, online=False, **options)]
    attacks += [attack(shadows, statistics=[name], **options) for name in STATISTICS[1:]]
    attacks += [attack(shadows, statistics=STATISTICS, **options)]
    if not by_author:
        attacks += [threshold_attack(shadows, name, targets=options["targets"]) for name in STATISTICS[1:]]
    duplicates = counts.n_documents - np.unique(counts.doc_key).size
    return MembershipAudit(
        tuple(attacks), tuple(exposed(shadows, counts)), claim, n_shadows, int(duplicates), settings=settings or {}
    )


def exposed(shadows: Shadows, counts: Counts) -> list[dict[str, Any]]:
    """All documents, first those whose presence moves ζ most (in standard deviations), with what makes them stand out.

    That is their length, and their words of few documents. Rows are named by their number, never by their words.
    """
    value, member = shadows.statistics[:, :, 0], shadows.member
    inside, outside = _mean(value, member), _mean(value, ~member)
    spread = np.sqrt(_mean((value - np.where(member, inside, outside)) ** 2, np.ones_like(member))) + 1e-9
    shift = (inside - outside) / spread
    documents = np.bincount(counts.word, minlength=counts.n_words)
    rare = np.concatenate([[0], np.cumsum(documents[counts.word] <= _RARE)])
    rare_words = rare[counts.doc_start[1:]] - rare[counts.doc_start[:-1]]
    total = np.concatenate([[0], np.cumsum(counts.count)])
    length = total[counts.doc_start[1:]] - total[counts.doc_start[:-1]]
    return [
        {"row": int(d), "shift": float(shift[d]), "words": int(length[d]), "rare_words": int(rare_words[d])}
        for d in np.argsort(-shift, kind="stable")
    ]


def _mean(values: NDArray[np.float64], chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
    return np.asarray(np.sum(values * chosen, axis=0) / np.maximum(1, chosen.sum(axis=0)))


def plot_roc(audit: MembershipAudit, folder: Path) -> bool:
    """ROC curves on log axes, with what the claimed ε allows; False if matplotlib is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    figure = Figure(figsize=(6, 5), layout="constrained")
    axes = figure.subplots()
    grid = np.geomspace(1e-4, 1, 200)
    for one in audit.attacks:
        axes.plot(grid, np.maximum(one.roc(grid), 1e-5), label=one.name, linewidth=1)
    axes.plot(grid, grid, "k:", linewidth=1, label="guessing")
    if audit.claim is not None:
        label = f"allowed by ε = {audit.claim.epsilon:.3g} (replace-one: 2ε)"
        axes.plot(grid, audit.allowed(grid), "k--", linewidth=1, label=label)
    axes.set(xscale="log", yscale="log", xlim=(1e-4, 1), ylim=(1e-4, 1.1))
    axes.set(xlabel="false positive rate", ylabel="true positive rate", title="Membership inference: not for release")
    axes.legend(fontsize=6)
    for kind in ("png", "svg"):
        figure.savefig(folder / f"roc.{kind}", dpi=150)
    return True
