"""Tell from counts of a series whether topics still cover what people write about."""

from pathlib import Path

from rich.table import Table

from dptopics.cli import options as o
from dptopics.cli.terminal import err, out, print_json


def drift(
    folders: list[Path] = o.argument("Folders of counts, one for each period of a series.", default=o.REQUIRED),
    error: float = o.option("Chance of a false alarm over the whole series.", default=0.02),
    as_json: o.Json = False,
) -> None:
    """Say from weekly counts whether it is time for new topics. Reads releases only, and spends nothing."""
    from dptopics.release.counts import CountTable
    from dptopics.release.drift import drift as told_by

    found = told_by((CountTable.load(folder) for folder in folders), error=error)
    if as_json:
        print_json(found.to_dict())
        return
    table = Table("period", "far from every topic", "95 %")
    for period, share in found.far.items():
        told = (
            ("-", "no statement") if share is None else (f"{share.value:.1%}", f"{share.low:.1%} to {share.high:.1%}")
        )
        table.add_row(period, *told)
    out.print(table)
    for signal in found.signals:
        out.print(str(signal), highlight=False)
    if found.refit is not None:
        err.print("Topics no longer cover what people write about: release new ones (dptopics fit).", highlight=False)
    elif found.signals:
        err.print("Topics still cover what people write about.", highlight=False)
    else:
        err.print("No signal: nothing rose by more than noise and chance explain.", highlight=False)
