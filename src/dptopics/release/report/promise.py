"""The guarantee of a whole page: its reader sees the topics and the counts, so both prices count."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from dptopics.core.errors import InputError
from dptopics.core.settings import difference
from dptopics.privacy.card import folds, remarks, rows, secret, show
from dptopics.privacy.guarantee import Guarantee, Strength, composed
from dptopics.release.counts import CountTable
from dptopics.release.release import Release
from dptopics.release.report.charts import table
from dptopics.release.topic_model import TopicModel, fingerprint

_BELIEFS = ((0.001, "1 in 1,000"), (0.01, "1 in 100"), (0.1, "1 in 10"), (0.5, "1 in 2"))
_COLOURS = ("proved", "doubtful", "random", "claimed", "none")  # best first; only the first is green


@dataclass(frozen=True)
class Promise:
    """The releases on a page, by name."""

    parts: tuple[tuple[str, Release[Any]], ...]

    @classmethod
    def of(cls, release: Release[Any], counts: Release[CountTable] | None, before: Release[Any] | None) -> "Promise":
        """Of the release itself, its counts, and an earlier one."""
        parts = ((str(release.value.many), release), ("counts", counts), ("earlier release", before))
        return cls(tuple((name, part) for name, part in parts if part is not None))

    @property
    def said(self) -> tuple[tuple[str, Guarantee], ...]:
        """One guarantee of all parts together; or one for each, by its name, where they cannot be composed."""
        each = tuple((name, part.guarantee) for name, part in self.parts)
        promises = [promise for _, promise in each]
        if len(promises) == 1:
            return (("", promises[0]),)
        alike = len({(one.unit, one.trust, one.relation) for one in promises}) == 1
        if not alike or any(one.strength is Strength.NONE for one in promises):
            return each
        return (("", together(promises)),)

    @property
    def colour(self) -> str:
        """Of the worst part: green is for what is proved and meaningful."""
        promises = [promise for _, promise in self.said] + [part.guarantee for _, part in self.parts]
        return max(map(_colour, promises), key=_COLOURS.index)

    def badge(self) -> str:
        """The prices in short."""
        price = "; ".join(f"{name}: {_price(one)}" if name else _price(one) for name, one in self.said)
        return f'<a class="badge {self.colour}" href="#guarantee">The guarantee: {escape(price)}</a>'

    def sentence(self) -> str:
        """What the page can tell an attacker at most, where its parts have one price."""
        (_, promise), *others = self.said
        if others or promise.strength is Strength.NONE:
            return ""
        if_true = "If the claim is true, seeing" if promise.strength is Strength.CLAIMED else "Seeing"
        fold = f"{folds(promise.epsilon)}-fold"
        return f"{if_true} this page improves the odds of guessing {escape(secret(promise))} at most {fold}. "

    def section(self) -> str:
        """The card with its table of beliefs, then the origin of the parts."""
        cards = "".join(self._card(name, promise) for name, promise in self.said)
        return (
            '<section id="guarantee" aria-labelledby="guarantee-title"><h2 id="guarantee-title">The guarantee</h2>'
            f"{self._together()}{cards}</section>{self._origin()}"
        )

    def _together(self) -> str:
        """How the parts compose."""
        if len(self.parts) == 1:
            return ""
        each = " and ".join(f"the {name} alone {_cost(part.guarantee)}" for name, part in self.parts)
        if len(self.said) == 1:
            lead = f"This page shows {len(self.parts)} releases, and this guarantee covers all of them together."
        else:
            lead = "This page shows releases whose guarantees cannot be composed: each is stated, and each counts."
        return f"<p>{escape(lead)} Separately, {escape(each)}.</p>"

    def _card(self, name: str, guarantee: Guarantee) -> str:
        said = "".join(f"<dt>{escape(head)}</dt><dd>{escape(text)}</dd>" for head, text in rows(guarantee))
        listed = "".join(
            f"<h3>{heading}</h3><ul>{''.join(f'<li>{escape(note)}</li>' for note in notes)}</ul>"
            for heading, notes in remarks(guarantee)
        )
        seen = "this page" if len(self.parts) > 1 and not name else f"the {name}" if name else "this release"
        head = f"<h3>For the {escape(name)}</h3>" if name else ""
        return (
            f'{head}<div class="two"><div class="card {_colour(guarantee)}"><dl>{said}</dl></div>'
            f"<div>{_odds(guarantee, seen)}</div></div>{listed}"
        )

    def _origin(self) -> str:
        """Version, day, plan and ledger, where recorded; else the mechanism."""
        found = []
        for name, part in self.parts:
            rows = part.record.rows() or [("Mechanism", str(part.settings.get("mechanism", "unknown")))]
            said = "".join(f"<dt>{escape(head)}</dt><dd>{escape(text)}</dd>" for head, text in rows)
            head = f"<h3>The {escape(name)}</h3>" if len(self.parts) > 1 else ""
            found.append(f"{head}<dl>{said}</dl>")
        head = '<section id="origin" aria-labelledby="origin-title"><h2 id="origin-title">Where it comes from</h2>'
        return f"{head}{''.join(found)}</section>"


def together(promises: Sequence[Guarantee]) -> Guarantee:
    """All events priced at the smallest δ of the parts, so that the whole costs no less than any of them.

    If failures use up that δ, at the largest, or at the sum, where ε is at most the sum of the prices.
    """
    deltas = [one.delta for one in promises]
    most = sum(one.epsilon for one in promises) * (1 + 1e-9)
    whole = [composed(*promises, delta=delta) for delta in (min(deltas), max(deltas), sum(deltas))]
    return next((one for one in whole if one.epsilon <= most), whole[-1])


def _colour(guarantee: Guarantee) -> str:
    return "doubtful" if guarantee.strength is Strength.PROVED and not guarantee.sound else str(guarantee.strength)


def _price(guarantee: Guarantee) -> str:
    if guarantee.strength is Strength.NONE:
        return "no guarantee"
    warned = ", read the warning" if _colour(guarantee) == "doubtful" else ""
    return f"ε = {show(guarantee.epsilon)}, {guarantee.strength}{warned}"


def _cost(guarantee: Guarantee) -> str:
    if guarantee.strength is Strength.NONE:
        return "guarantee nothing"
    return f"cost ε = {show(guarantee.epsilon)}, δ = {show(guarantee.delta)} ({guarantee.strength})"


def _odds(guarantee: Guarantee, seen: str) -> str:
    if guarantee.strength is Strength.NONE:
        return "<p>Nothing is guaranteed, so an attacker may become certain.</p>"
    after = [float(show(100 * guarantee.belief(before))) for before, _ in _BELIEFS]  # rounded up
    rows = [
        (words, f"{before:.4g}", "more than 99.9 %" if percent > 99.9 else f"{percent:.3g} %")
        for (before, words), percent in zip(_BELIEFS, after, strict=True)
    ]
    slip = f", except with probability about {show(guarantee.delta)}" if guarantee.delta else ""
    return (
        "<h3>What an attacker can learn</h3>"
        f"<p>An attacker wants to know {escape(secret(guarantee))}, and has a prior belief. Seeing {seen} can change "
        f"that belief at most as shown, whatever else they know{slip}.</p>"
        + table("Belief before and after", ("Before", "as a probability", "After, at most"), rows)
    )


_ANOTHER = "this audit is of another model"


def check_audit(release: Release[Any], audit: dict[str, Any]) -> None:
    """Refuse an audit of another plan or model than the release's."""
    value = release.value
    if "checks" in audit:  # of a claim, whatever is released
        _check_plan(release, audit)
        return
    if not isinstance(value, TopicModel):
        raise InputError("this audit is of topics, but the release has none. Leave out the audit.")
    if "attacks" not in audit:  # scores against one given model
        if audit.get("target", "") not in ("", fingerprint(value.topic_word, value.vocabulary.words)):
            raise InputError(f"{_ANOTHER}: its --target had other words or weights.")
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
        raise InputError("nobody can tell whether this audit is of this release: one of them was made without a plan.")


def _check_plan(release: Release[Any], audit: dict[str, Any]) -> bool:
    """Whether both have a plan; another plan is refused."""
    attacked, made = audit.get("settings", {}).get("plan"), release.record.plan
    if made is None or attacked is None:
        return False
    if found := difference(attacked, made):
        raise InputError(f"{_ANOTHER}. Of its plan, {'; '.join(found)} as in this release's.")
    return True
