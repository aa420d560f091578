"""Commands around the ledger."""

from pathlib import Path
from typing import Annotated

import typer

from dptopics.cli import options as o
from dptopics.cli.terminal import out, print_json
from dptopics.privacy.events import Relation
from dptopics.privacy.guarantee import Unit


def create(
    path: Annotated[Path, typer.Argument(help="File to create.", show_default=False)],
    epsilon: Annotated[float, o.option("Total privacy loss of all releases.")],
    delta: Annotated[float, o.option("Total δ of all releases.")],
    unit: Annotated[Unit, o.option("Whom the releases protect.")] = Unit.AUTHOR,
    relation: Annotated[
        Relation, o.option("Which data sets must look alike; 'replace' is for --mechanism output.")
    ] = Relation.ADD_OR_REMOVE,
    composition: Annotated[
        str, o.option("How releases add up: 'sum', or 'zcdp' (room for more Gaussian releases).")
    ] = "sum",
) -> None:
    """Make a ledger with a total budget."""
    from dptopics.ledger.ledger import Ledger

    ledger = Ledger.create(path, epsilon=epsilon, delta=delta, unit=unit, relation=relation, composition=composition)
    out.print(ledger.card())


def same_people(
    path: Annotated[Path, typer.Argument(help="Ledger file.", show_default=False)],
    column: Annotated[str, typer.Argument(help="Another column of authors.", show_default=False)],
) -> None:
    """Say that another column of authors names the same people, each by one name."""
    from dptopics.ledger.ledger import Ledger

    ledger = Ledger.open(path)
    ledger.same_people(column)
    out.print(ledger.card(), highlight=False)


def show(
    path: Annotated[Path, typer.Argument(help="Ledger file.", show_default=False)], as_json: o.Json = False
) -> None:
    """Show what was spent and what is left."""
    from dptopics.ledger.ledger import Ledger

    ledger = Ledger.open(path)
    if not as_json:
        out.print(ledger.card(), highlight=False)
        return
    print_json(ledger.to_dict())
