"""A whole membership-inference audit: shadow models, attacks, who is exposed and why. NOT FOR RELEASE."""

import csv
from dataclasses import dataclass, field
from functools import cached_property
from math import exp
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dptopics.audit.membership.rates import (
    ACCUSED,
    STATISTICS,
    Attack,
    Shadows,
    Trainer,
    check_enough,
    corrected,
    shown_rates,
    train_shadows,
)
from dptopics.audit.membership.scores import attack, counts_attack, presence_attack, threshold_attack
from dptopics.audit.summary import Audited, Light, Summary, light_of
from dptopics.core.counts import Counts
from dptopics.data.corpus import Corpus
from dptopics.privacy.events import Relation
from dptopics.privacy.guarantee import Guarantee

_RARE = 5  # a word in at most this many documents is rare
_SHOWN = 0.05  # a smaller mean would read 0.0
_MOST = 20  # documents named in audit.json; documents.csv has all
_GRID = np.round(np.geomspace(1e-4, 1, 49), 8)  # false positive rates of the curves in audit.json


@dataclass(frozen=True, eq=False)
class MembershipAudit(Audited):
    """What the attacks found; for a mechanism also its ``claim``. ``exposure``: every document, most exposed first.

    Rates are over documents of few models, which are not independent trials: they describe the attack, and only
    :mod:`dptopics.audit.claim` can call the claim violated.
    """

    title: ClassVar = "Audit of a topic model"
    attacks: tuple[Attack, ...]
    exposure: tuple[dict[str, Any], ...]
    claim: Guarantee | None
    n_shadows: int
    duplicates: int
    settings: dict[str, Any] = field(default_factory=dict)  # of what was attacked, as plain data
    unit: str = "document"  # whose membership was guessed

    @property
    def rates(self) -> tuple[float, ...]:
        """False positive rates that the number of outsiders supports, the smallest first."""
        return shown_rates(min(one.n_outsiders for one in self.attacks))

    @property
    def rate(self) -> float:
        """The smallest of them at which an estimate has a lower limit."""
        n = min(one.n_outsiders for one in self.attacks)
        return next((rate for rate in self.rates if rate * n >= ACCUSED), self.rates[-1])

    @property
    def level(self) -> float:
        """Of each interval, so that all hold simultaneously with 95 % although the best attack is selected."""
        return corrected(len(self.attacks) * len(self.rates))

    @cached_property
    def ranked(self) -> tuple[Attack, ...]:
        """The attacks, best first, by what they find at the rate that the outsiders support."""

        def order(one: Attack) -> tuple[float, ...]:
            return (*(-one.true_positive_rate(rate) for rate in (self.rate, *self.rates)), -one.area())

        return tuple(sorted(self.attacks, key=order))

    @property
    def best(self) -> Attack:
        """The attack that finds most."""
        return self.ranked[0]

    def verdict(self) -> str:
        first, rate = self.rates[0], self.rate
        found, (low, high) = self.best.true_positive_rate(rate), self.best.interval(rate, level=self.level)
        lines = [
            f"Accusing 1 in {1 / rate:,.0f} outsiders, the best of {len(self.attacks)} attacks ({self.best.name}) "
            f"finds {found:.1%} of the members (between {low:.1%} and {high:.1%}); guessing finds {_percent(rate)}."
        ]
        if first > 0.001:
            lines.append(too_few(self.best.n_outsiders, first))
        if self.claim is not None:
            lines.append(
                f"The claimed guarantee would allow {self.allowed(np.array([first]))[0]:.1%} for a single "
                f"{self.claim.unit}: halves of the data compare replace-one neighbours, which is 2ε."
            )
        if self.duplicates:
            lines.append(
                f"{self.duplicates} documents are copies of others: a copy in the other half reveals its twin, so "
                "their rates do not measure their own membership."
            )
        return " ".join(lines)

    def summary(self) -> Summary:
        """A light with one line, the table with the best attacks first, and who is exposed."""
        lights = []
        for rate in self.rates:
            limits = [one.interval(rate, level=self.level) for one in self.attacks]
            lights.append(light_of(*max(limits), rate, f"these {self.unit}s"))
        light, headline = min(lights, key=lambda one: list(Light).index(one[0]))  # the most serious, by the first rate
        heads = ("Attack", *(f"Found at {_percent(rate)} false alarms" for rate in self.rates), "AUC")
        rows = tuple(
            (one.name, *(_found(one, rate, self.level) for rate in self.rates), f"{one.area():.3f}")
            for one in self.ranked
        )
        return Summary(light, headline, heads, rows, (self.verdict(), *self._reasons()))

    def _reasons(self) -> tuple[str, ...]:
        """Who is exposed, and why."""
        shift = np.array([one["shift"] for one in self.exposure])
        rare = np.array([one["rare_words"] for one in self.exposure])
        length = np.array([one["words"] for one in self.exposure])
        many = shift > 2
        moved = (
            f"{int(many.sum())} of {shift.size} documents move a model by more than two standard deviations when they "
            "are in it (documents.csv lists all)"
        )
        if not many.any() or many.all():
            return (f"{moved}.",)
        of_few, others = (float(np.mean(rare[part])) for part in (many, ~many))
        words = f"{np.mean(length[many]):.0f} words on average, the others {np.mean(length[~many]):.0f}"
        if max(of_few, others) < _SHOWN:
            return (f"{moved}: they have {words}, hardly any of which are in at most {_RARE} documents.",)
        few = f"{of_few:.1f} of these are in at most {_RARE} documents, for the others {others:.1f}"
        return (f"{moved}: they have {words}; {few}.",)

    def allowed(self, false_positive_rates: NDArray[np.float64]) -> NDArray[np.float64]:
        """Largest true positive rate under the claim: replacing a unit removes one and adds one."""
        assert self.claim is not None
        epsilon, delta = self.claim.epsilon, self.claim.delta
        if self.claim.relation is Relation.ADD_OR_REMOVE:
            epsilon, delta = 2 * epsilon, (1 + exp(min(epsilon, 700))) * delta
        return np.minimum(1.0, exp(min(epsilon, 700)) * false_positive_rates + delta)

    def to_dict(self) -> dict[str, Any]:
        grid = _GRID[self.rates[0] <= _GRID]  # below, there are too few outsiders for a curve
        return {
            "not_for_release": True,
            "summary": self.summary().to_dict(),
            "verdict": self.verdict(),
            "shadows": self.n_shadows,
            "settings": self.settings,
            "attacks": [
                a.to_dict(self.rates, self.level) | {"roc": np.round(a.roc(grid), 6).tolist()} for a in self.ranked
            ],
            "roc_false_positive_rates": grid.tolist(),
            "roc_allowed": None if self.claim is None else np.round(self.allowed(grid), 6).tolist(),
            "most_exposed": list(self.exposure[:_MOST]),
            "claim": None if self.claim is None else self.claim.to_dict(),
        }

    def save(self, folder: Path) -> bool:
        """Write audit.json, every document in documents.csv, the ROC as PNG and SVG; False if matplotlib is missing."""
        super().save(folder)
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
    repeats: int | None = None,
    by_author: bool = False,
    claim: Guarantee | None = None,
    folder: Path | None = None,
    settings: dict[str, Any] | None = None,
) -> MembershipAudit:
    """Attack ``repeats`` models (None: all) by their words, with all statistics, online and offline, and by baselines.

    The attacked models are shadows themselves, each with the others as its shadows: more of them need no training and
    stabilize the rates. ``train`` must use the columns of ``corpus.counts()``.
    """
    counts = corpus.counts()
    author = corpus.author if by_author else None
    n_units = counts.n_documents if author is None else np.unique(author).size
    unit = "document" if author is None else "author"
    check_enough(int(n_units), unit)
    shadows = train_shadows(
        train, counts, n_shadows=n_shadows, author=author, folder=folder, settings=settings, words=corpus.words
    )
    targets = n_shadows if repeats is None else min(repeats, n_shadows)
    options: dict[str, Any] = {"targets": targets, "author": author}
    decoded = counts_attack(shadows, counts, **options)
    attacks = [presence_attack(shadows, counts, **options), *([] if decoded is None else [decoded])]
    attacks += [attack(shadows, **options), attack(shadows, online=False, **options)]
    attacks += [attack(shadows, statistics=[name], **options) for name in STATISTICS[1:]]
    attacks += [attack(shadows, statistics=STATISTICS, **options)]
    if not by_author:
        attacks += [threshold_attack(shadows, name, targets=targets) for name in STATISTICS[1:]]
    duplicates = counts.n_documents - np.unique(counts.doc_key).size
    return MembershipAudit(
        attacks=tuple(attacks),
        exposure=tuple(exposed(shadows, counts)),
        claim=claim,
        n_shadows=n_shadows,
        duplicates=int(duplicates),
        settings=settings or {},
        unit=unit,
    )


def _percent(rate: float) -> str:
    return f"{100 * rate:g} %"


def _found(one: Attack, rate: float, level: float) -> str:
    low, high = one.interval(rate, level=level)
    found = one.true_positive_rate(rate)
    if low == 0 < found:  # so few outsiders that their threshold has no upper limit
        return f"{found:.1%} (at most {high:.1%})"
    return f"{found:.1%} ({low:.1%} to {high:.1%})"


def too_few(n_outsiders: int, rate: float) -> str:
    """Why no smaller false positive rate is shown."""
    return (
        f"{n_outsiders} outsiders cannot show a false positive rate below 1 in {n_outsiders}: {_percent(rate)} is the "
        "smallest here, and 0.1 % needs 1,000."
    )


def exposed(shadows: Shadows, counts: Counts) -> list[dict[str, Any]]:
    """All documents, first those that move ζ most (in standard deviations), with their length and rare words.

    Rows are named by their number, starting at 1, never by their words.
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
        {"row": int(d) + 1, "shift": float(shift[d]), "words": int(length[d]), "rare_words": int(rare_words[d])}
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
