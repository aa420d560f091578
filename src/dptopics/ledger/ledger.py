"""Ledger: the door between the data and the world. It charges the budget first, then runs the mechanism.

A ledger belongs to one set of people. It is a small SQLite file that holds what was charged and nothing about
the data. Keep it on a local disk. A copy that is spent from is a second budget: copy it for backup only.
"""

import os
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass
from fractions import Fraction
from math import exp, inf
from pathlib import Path
from textwrap import fill
from typing import Any

from numpy.random import Generator

from dptopics.core import notebook
from dptopics.core.errors import BudgetExceeded, DptopicsError, InputError, LedgerError, PrivacyError, warn_user
from dptopics.core.settings import Choice
from dptopics.ledger.ledger_file import Receipt, read, rename_charge, transaction, write_charge, write_terms
from dptopics.privacy.card import show, show_left
from dptopics.privacy.events import Event, Failure, Gaussian, Laplace, RandomizedResponse, Relation
from dptopics.privacy.guarantee import Guarantee, Strength, Trust, Unit, check_budget, weakest
from dptopics.privacy.pricing import largest_rho, smallest, zcdp_delta, zcdp_of
from dptopics.privacy.rng import is_secure

OUTSIDE = "outside: "  # before what charges are for that were entered by hand
MOST_LETTERS = 200
BY_HAND = "Entered by hand, as stated by whoever entered it: nothing of it was checked here."


class Unrecorded:
    """The door without a ledger: charges nothing, and the release says so."""

    def check(self, guarantee: Guarantee, *, accept_unproven: bool = False) -> None:
        """Refuse what is not proved, unless that was accepted."""
        check_strength(guarantee, accept_unproven)

    def check_generator(self, rng: Generator) -> None:
        """Any will do: a seeded one marks the release as not private."""

    def charge(self, guarantee: Guarantee, what: str, *, by: str | None = None, accept_unproven: bool = False) -> None:
        self.check(guarantee, accept_unproven=accept_unproven)

    def finalize(self, guarantee: Guarantee, value: object) -> Guarantee:
        """What the release promises, with a note on what nobody counts."""
        return guarantee.noting("Other releases of the same data are not counted: this one was priced alone.")

    @property
    def unsure(self) -> str:
        """What to say where it is not known whether a charge was made."""
        return self.charge_message(None)

    def charge_message(self, receipt: None) -> str:
        return "There is no ledger: nothing was recorded."


def check_strength(guarantee: Guarantee, accept_unproven: bool) -> None:
    """Refuse what is not proved, unless that was accepted."""
    strength = guarantee.strength
    if strength is not Strength.PROVED and not accept_unproven:
        raise PrivacyError(
            f"the guarantee of this release is '{strength}', not 'proved': {strength.meaning}. "
            "If that is good enough, say so with --accept-unproven (accept_unproven=True)."
        )


class Composition(Choice):
    """How a ledger adds up its releases, fixed when it is made: each may be chosen after seeing those before.

    ``sum``: Σε ≤ ε and Σδ ≤ δ, each release at its own δ. ``zcdp``: Σρ ≤ ρ and Στ ≤ τ, where half of δ is
    kept for failures (τ) and ρ is the largest that implies (ε, δ/2); it fits more Gaussian releases. Both are
    privacy filters, valid for adaptive choices: Rogers et al. 2016, "Privacy odometers and filters", and
    Whitehouse et al. 2023, "Fully-adaptive composition in differential privacy", theorem 1.
    """

    SUM = "sum"
    ZCDP = "zcdp"


@dataclass(frozen=True)
class Budget:
    """An amount of privacy loss."""

    epsilon: float
    delta: float


Decide = Callable[[list[Receipt]], tuple[Guarantee, str] | Receipt]


@dataclass(frozen=True, repr=False)
class Ledger:
    """A durable budget: make one with :meth:`create`, come back with :meth:`open`, release with :meth:`run`.

    A charge is on disk before the mechanism sees any data: a crash can leave a charge without a release, but
    never a release without a charge.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger.create(f"{folder.name}/clinic.ledger", epsilon=3, delta=1e-5)
    >>> ledger
    Ledger('clinic', epsilon=3.0, delta=1e-05, unit='author', relation='add-or-remove', composition='sum')
    >>> ledger.left
    Budget(epsilon=3.0, delta=1e-05)
    >>> folder.cleanup()
    """

    path: Path
    name: str
    unit: Unit
    relation: Relation
    composition: Composition
    budget: Budget
    limits: tuple[float, float]  # of Σ price and Σ risk

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        epsilon: float,
        delta: float,
        unit: str = Unit.AUTHOR,
        relation: str = Relation.ADD_OR_REMOVE,
        composition: str = Composition.SUM,
        name: str | None = None,
    ) -> "Ledger":
        """Make a new ledger file with a total of (ε, δ) for all releases together. Its terms never change.

        Args:
            path: where the file shall be; it must not exist.
            epsilon: the total ε.
            delta: the total δ; every release takes a part of it.
            unit: whom it protects: ``author`` or ``document``.
            relation: ``add-or-remove`` or ``replace``, see :class:`Relation`.
            composition: ``sum`` or ``zcdp``, see :class:`Composition`.
            name: what people call it; the file's name if left out.
        """
        check_budget(epsilon, delta)
        kinds = Unit(unit), Relation(relation), Composition(composition)
        file = Path(path).absolute()
        budget = float(epsilon), float(delta)
        limits = budget if kinds[2] is Composition.SUM else (largest_rho(epsilon, delta / 2), delta / 2)
        try:
            os.close(os.open(file, os.O_CREAT | os.O_EXCL, 0o666))  # of two creators, one fails here
        except FileExistsError:
            name = cls.open(file).name  # explains a remnant or a file of another kind
            raise LedgerError(f"{file} is ledger {name!r} already. Open it, or take another path.") from None
        except OSError as error:
            raise LedgerError(f"cannot create {file}: {error.strerror}. Choose another folder.") from error
        try:
            # One transaction: a crash before its end leaves an empty file, which open() refuses.
            with transaction(file, "IMMEDIATE") as connection:
                write_terms(connection, (name or file.stem, *kinds, *budget, *limits))
        except LedgerError:
            file.unlink(missing_ok=True)
            raise
        return cls.open(file)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "Ledger":
        """Open an existing ledger; refuse anything that is not a whole one."""
        file = Path(path).absolute()
        if not file.exists():
            raise LedgerError(
                f"there is no ledger at {file}. Check the path, or make one: dptopics ledger create (Ledger.create)."
            )
        with transaction(file) as connection:
            return _read(file, connection)[0]

    def check_generator(self, rng: Generator) -> None:
        """Refuse a generator whose draws somebody else can repeat."""
        if not is_secure(rng):
            raise PrivacyError(
                "a seeded generator hides nobody: whoever knows the seed can subtract the noise. "
                "Use secure_rng(), or run without a ledger if nothing will be published."
            )

    def finalize(self, guarantee: Guarantee, value: object) -> Guarantee:
        """What the release promises: as it is, since the ledger counts it."""
        return guarantee

    @property
    def unsure(self) -> str:
        """What to say where it is not known whether a charge was made."""
        return f"The charge may have been made: see dptopics ledger show {self.path}."

    def charge_message(self, receipt: Receipt) -> str:
        """What a charge was, for messages."""
        price = f"ε = {show(receipt.epsilon)}, δ = {show(receipt.delta)}"
        return f"The budget is spent: {price}, charge {receipt.number} of ledger {self.name!r}."

    def charge(
        self, guarantee: Guarantee, what: str, *, by: str | None = None, accept_unproven: bool = False
    ) -> Receipt:
        """Spend what ``guarantee`` costs, durably, or raise. ``what`` is public: no word of the data.

        ``by`` is the column that names the authors, if there is one: all charges of a ledger go by the same people.
        """
        self._price(guarantee, accept_unproven)  # may take seconds: not while others wait for the file
        return self.charge_after(lambda receipts: (guarantee, what), by=by, accept_unproven=accept_unproven)

    def charge_after(
        self,
        decide: Decide,
        *,
        by: str | None = None,
        first: Callable[[], None] = lambda: None,
        accept_unproven: bool = False,
    ) -> Receipt:
        """Charge what ``decide`` makes of all charges so far. Where it returns one of them, only its words change.

        Nobody gets between. ``first`` is called when nothing can be refused any more, before anything is written: for
        releases of which several are charged as one, see :mod:`dptopics.ledger.series`.
        """
        with transaction(self.path, "IMMEDIATE") as connection:
            receipts, by = self._receipts(connection), by if self.unit is Unit.AUTHOR else None
            decided = decide(receipts)
            if isinstance(decided, Receipt):
                first()
                rename_charge(connection, decided)
                return decided
            guarantee, what = decided
            price, risk = self._price(guarantee, accept_unproven)
            self._check_column(receipts, by)
            self._check_room(receipts, price, risk)
            first()
            stated = float(guarantee.epsilon), float(guarantee.delta)
            return write_charge(connection, len(receipts) + 1, what, (*stated, price, risk), guarantee, by)

    def charge_outside(
        self,
        note: str,
        *,
        gaussian: float | None = None,
        laplace: float | None = None,
        epsilon: float | None = None,
        delta: float = 0.0,
        strength: Strength | str = Strength.PROVED,
    ) -> Receipt:
        """Enter what something else has spent on the same people: OpenDP, Tumult, a spreadsheet. Nobody checks it here.

        One of ``gaussian`` and ``laplace``, the scale of the noise over the L2 or L1 sensitivity, or ``epsilon``. The
        first is stated at ``delta``. A mechanism known by its (ε, δ) alone tells no more than a randomised response of
        that ε that fails with probability δ (Kairouz, Oh and Viswanath 2015): it is entered as that.
        """
        given = {"gaussian": gaussian, "laplace": laplace, "epsilon": epsilon}
        said = {name: value for name, value in given.items() if value is not None}
        if len(said) != 1 or not all(0 < value < inf for value in said.values()) or not 0 <= delta < 1:
            raise InputError("say one of gaussian, laplace and epsilon, a positive number, and a delta from 0 to 1.")
        if not note.strip() or not note.isprintable() or len(note) > MOST_LETTERS:
            raise InputError(f"say what it was for in a line of up to {MOST_LETTERS} letters: note (--note).")
        if gaussian is not None and not delta and self.composition is Composition.SUM:
            raise InputError("Gaussian noise has a price at a δ only: give the one that it was stated at (--delta).")
        events = _outside_events(*said.items(), delta=delta, relation=self.relation)
        stated = Guarantee(events=events, delta=delta, unit=self.unit, strength=Strength(strength)).noting(BY_HAND)
        known = _columns(self.receipts())
        return self.charge(stated, f"{OUTSIDE}{note}", by=known[0] if known else None, accept_unproven=True)

    def same_people(self, column: str) -> Receipt:
        """Say that another column of authors names the same people, each by one name: charges may go by either."""
        if self.unit is not Unit.AUTHOR:
            raise InputError(f"ledger {self.name!r} protects documents: no column of authors matters.")
        nothing = Guarantee(events=(), delta=0.0, unit=self.unit, strength=Strength.PROVED)
        with transaction(self.path, "IMMEDIATE") as connection:
            what = f"column {column!r} names the same people"
            number = len(self._receipts(connection)) + 1
            return write_charge(connection, number, what, (0.0, 0.0, 0.0, 0.0), nothing, column)

    def check(self, guarantee: Guarantee, *, accept_unproven: bool = False) -> None:
        """Raise what :meth:`charge` would raise now, without charging: to refuse before any work is done."""
        price, risk = self._price(guarantee, accept_unproven)
        self._check_room(self.receipts(), price, risk)

    def receipts(self) -> list[Receipt]:
        """All charges, oldest first."""
        with transaction(self.path) as connection:
            return self._receipts(connection)

    @property
    def spent(self) -> Budget:
        """What the releases so far cost together.

        Under ``zcdp`` that is the ε of all ρ spent so far at half of the ledger's δ, and the failures on top.
        """
        receipts = self.receipts()
        price, risk = float(_total(r.price for r in receipts)), float(_total(r.risk for r in receipts))
        if self.composition is Composition.SUM or price == 0:
            return Budget(price, risk)
        half = self.limits[1]
        epsilon = smallest(lambda epsilon: zcdp_delta(price, epsilon) <= half)
        return Budget(min(epsilon, self.budget.epsilon), half + risk)

    @property
    def left(self) -> Budget:
        """What the total may grow by. With ``zcdp`` a release adds less than its ε."""
        pairs = zip(astuple(self.budget), astuple(self.spent), strict=True)
        return Budget(*(float(_exact(total) - _exact(part)) for total, part in pairs))

    @property
    def strength(self) -> Strength:
        """The weakest strength among the charges."""
        return weakest(Strength.PROVED, *(r.strength for r in self.receipts()))

    @property
    def gamma(self) -> float:
        """The sum of the γ of all releases, where these are about data of a stated distribution."""
        return float(min(Fraction(1), _total(r.guarantee.gamma for r in self.receipts())))

    def card(self) -> str:
        """A short account for people."""
        budget, spent, left, receipts = self.budget, self.spent, self.left, self.receipts()
        title = f"LEDGER {self.name!r}"
        lines = [
            f"{title}\n{'=' * len(title)}",
            f"Protects    each {self.unit} ({self.relation}){_by(receipts)}",
            f"Budget      ε = {show_left(budget.epsilon)}, δ = {show_left(budget.delta)} ({self.composition})",
            f"Spent       ε = {show(spent.epsilon)}, δ = {show(spent.delta)} ({len(receipts)} charged)",
            f"Left        ε = {show_left(left.epsilon)}, δ = {show_left(left.delta)}",
            fill(f"Strength    {self.strength.upper()}: {self.strength.meaning}.", 88, subsequent_indent=" " * 12),
        ]
        if self.gamma:
            lines.append(f"Chance      γ = {show(self.gamma)} that not all of this holds (see the releases' cards).")
        for r in receipts:
            price = f"ε = {show(r.epsilon)}, δ = {show(r.delta)}"
            lines.append(f"{r.number:>3}. {r.time}  {r.what}: {price}, {r.strength}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The whole account as plain data: terms, totals and charges."""
        charges = [
            {name: getattr(r, name) for name in ("number", "time", "what", "epsilon", "delta", "price", "risk")}
            | {"strength": str(r.strength), "events": r.guarantee.to_dict()["events"]}
            | ({} if r.by is None else {"author_column": r.by})
            | ({"outside": True} if r.what.startswith(OUTSIDE) else {})
            for r in self.receipts()
        ]
        return {
            "name": self.name,
            "unit": str(self.unit),
            "relation": str(self.relation),
            "strength": str(self.strength),
            "gamma": self.gamma,
            "composition": str(self.composition),
            "budget": vars(self.budget),
            "spent": vars(self.spent),
            "left": vars(self.left),
            "limits": {"price": self.limits[0], "risk": self.limits[1]},
            "charges": charges,
        }

    def _repr_html_(self) -> str:
        head, _, *lines = self.card().split("\n")
        return notebook.table((head, ""), [(line[:11].strip(), line[11:].strip()) for line in lines])

    def __repr__(self) -> str:
        epsilon, delta = astuple(self.budget)
        terms = f"unit='{self.unit}', relation='{self.relation}', composition='{self.composition}'"
        return f"Ledger({self.name!r}, epsilon={epsilon}, delta={delta}, {terms})"

    def _receipts(self, connection: sqlite3.Connection) -> list[Receipt]:
        ledger, receipts = _read(self.path, connection)
        if ledger != self:
            raise LedgerError(f"ledger {self.path} was replaced by another one. Open it again.")
        return receipts

    def _price(self, guarantee: Guarantee, accept_unproven: bool) -> tuple[float, float]:
        """Price and risk of a guarantee, if this ledger can count it."""
        if guarantee.strength is Strength.NONE:
            raise PrivacyError("this release guarantees nothing: a ledger records private releases only.")
        check_strength(guarantee, accept_unproven)
        counted = self.unit, self.relation, Trust.CENTRAL
        asked = guarantee.unit, guarantee.relation, guarantee.trust
        if asked != counted:
            raise PrivacyError(
                f"one ledger, one unit, one relation: {self.name!r} counts {', '.join(counted)}, "
                f"but this release is {', '.join(asked)}. Use a ledger made for that."
            )
        epsilon, delta = float(guarantee.epsilon), float(guarantee.delta)
        if not guarantee.events:
            return 0.0, 0.0  # it looked at no data, so it uses no δ either
        price, risk = (epsilon, delta) if self.composition is Composition.SUM else zcdp_of(guarantee.events)
        if not all(0 <= number < inf for number in (epsilon, delta, price, risk)):  # catches nan as well
            raise PrivacyError(f"this release has no finite price at δ = {delta}. Add noise, or raise δ.")
        return float(price), float(risk)

    def _check_column(self, receipts: list[Receipt], by: str | None) -> None:
        """Refuse authors of another column than those charged before: a sum over two kinds of people protects none."""
        known = _columns(receipts)
        if known and by is None:
            warn_user(
                f"ledger {self.name!r} protects the authors of column {known[0]!r}, and this release does not say "
                "which column its authors are of. If they are other people, or the same under other names, use another "
                "ledger."
            )
        if known and by is not None and by not in known:
            raise PrivacyError(
                f"ledger {self.name!r} protects the authors of column {known[0]!r}, but this release goes by column "
                f"{by!r}. Use another ledger for that. If both columns name the same people, each by one name, say so "
                f"first: dptopics ledger same-people {self.path} {by} (Ledger.same_people)."
            )

    def _check_room(self, receipts: list[Receipt], price: float, risk: float) -> None:
        """Refuse a charge that does not fit: exact arithmetic, no tolerance."""
        names = {
            Composition.SUM: (("ε", "epsilon"), ("δ", "delta")),
            Composition.ZCDP: (("zCDP ρ (its part of ε)", "epsilon"), ("τ (its part of δ)", "delta")),
        }[self.composition]
        used = _total(r.price for r in receipts), _total(r.risk for r in receipts)
        for (symbol, name), gone, need, limit in zip(names, used, (price, risk), self.limits, strict=True):
            left = _exact(limit) - gone
            if _exact(need) > left:
                needs, rest = show(need), show_left(float(left))
                if needs == rest:  # they differ in later digits
                    needs, rest = repr(need), repr(float(left))
                raise BudgetExceeded(
                    f"this release needs {symbol} = {needs} but {rest} of {show_left(limit)} is left in ledger "
                    f"{self.name!r}. Lower {name} (--{name}), or start a new ledger for new data."
                )


def _outside_events(stated: tuple[str, float], *, delta: float, relation: Relation) -> tuple[Event, ...]:
    """What was drawn elsewhere; of an (ε, δ) alone, a randomised response that may fail."""
    kind, value = stated
    if kind == "gaussian":
        return (Gaussian(value, relation=relation),)
    if kind == "laplace":
        return (Laplace(value, relation=relation),)
    response = RandomizedResponse(1 / (1 + exp(value)), relation=relation)
    return (response, *([Failure(delta, relation)] if delta else []))


def _columns(receipts: list[Receipt]) -> list[str]:
    """The columns that named the authors of charges, as far as they are known."""
    return list(dict.fromkeys(r.by for r in receipts if r.by is not None))


def _by(receipts: list[Receipt]) -> str:
    columns = ", ".join(map(repr, _columns(receipts)))
    return f", by column {columns}" if columns else ""


def _exact(number: float) -> Fraction:
    """The decimal that people write and read, exactly: three times 0.1 is 0.3, and no rounding adds up."""
    return Fraction(repr(float(number)))


def _total(numbers: Iterable[float]) -> Fraction:
    return sum(map(_exact, numbers), Fraction())


def _read(path: Path, connection: sqlite3.Connection) -> tuple[Ledger, list[Receipt]]:
    """The terms and all charges. Anything that is not whole is refused."""
    terms, charges = read(path, connection)
    name, unit, relation, composition, epsilon, delta, *limits = terms
    try:
        kinds = Unit(unit), Relation(relation), Composition(composition)
        ledger = Ledger(path, name, *kinds, Budget(epsilon, delta), tuple(limits))
        return ledger, [Receipt.of_row(*row) for row in charges]
    except (DptopicsError, ValueError) as error:  # the seal is whole, so a newer version wrote this
        raise LedgerError(f"ledger {path} holds what this version cannot read. Update dptopics.") from error
