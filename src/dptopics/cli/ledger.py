"""Commands around the ledger."""

from pathlib import Path

from dptopics.cli import options as o
from dptopics.cli.terminal import out, print_json
from dptopics.privacy.events import Relation
from dptopics.privacy.guarantee import Strength, Unit


def create(
    path: Path = o.argument("File to create."),
    epsilon: float = o.option("Total privacy loss of all releases.", default=o.REQUIRED),
    delta: float = o.option("Total δ of all releases.", default=o.REQUIRED),
    unit: Unit = o.option("Whom the releases protect.", default=Unit.AUTHOR),
    relation: Relation = o.option(
        "Which data sets must look alike; 'replace' is for --mechanism output.", default=Relation.ADD_OR_REMOVE
    ),
    composition: str = o.option(
        "How releases add up: 'sum', or 'zcdp' (room for more Gaussian releases).", default="sum"
    ),
) -> None:
    """Make a ledger with a total budget."""
    from dptopics.ledger.ledger import Ledger

    ledger = Ledger.create(path, epsilon=epsilon, delta=delta, unit=unit, relation=relation, composition=composition)
    out.print(ledger.card())


def same_people(
    path: Path = o.argument("Ledger file."), column: str = o.argument("Another column of authors.")
) -> None:
    """Say that another column of authors names the same people, each by one name."""
    from dptopics.ledger.ledger import Ledger

    ledger = Ledger.open(path)
    ledger.same_people(column)
    out.print(ledger.card(), highlight=False)


def charge(
    path: Path = o.argument("Ledger file."),
    note: str = o.option("What it was for, and made by what. Kept in the ledger.", default=o.REQUIRED),
    gaussian: float | None = o.option("Gaussian noise: its standard deviation over the L2 sensitivity."),
    laplace: float | None = o.option("Laplace noise: its scale over the L1 sensitivity."),
    epsilon: float | None = o.option("Privacy loss, where the noise is not known."),
    delta: float = o.option("δ, with --epsilon; with --gaussian the δ at which its ε is stated.", default=0.0),
    strength: Strength = o.option("How far that is proved.", default=Strength.PROVED),
) -> None:
    """Enter what something else has spent on the same people: OpenDP, Tumult, a spreadsheet."""
    from dptopics.ledger.ledger import Ledger

    ledger = Ledger.open(path)
    how = {"gaussian": gaussian, "laplace": laplace, "epsilon": epsilon}
    receipt = ledger.charge_outside(note, **how, delta=delta, strength=strength)
    out.print(ledger.charge_message(receipt), highlight=False)


def show(path: Path = o.argument("Ledger file."), as_json: o.Json = False) -> None:
    """Show what was spent and what is left."""
    from dptopics.ledger.ledger import Ledger

    ledger = Ledger.open(path)
    if not as_json:
        out.print(ledger.card(), highlight=False)
        return
    print_json(ledger.to_dict())
