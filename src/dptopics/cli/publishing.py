"""What the commands that release have in common: plans from options or a file, a preview, the door, what is shown."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.markup import escape

from dptopics.cli.streams import saved
from dptopics.cli.terminal import err, out, print_json, progress_bar, show_card, show_value
from dptopics.core.errors import InputError

if TYPE_CHECKING:
    from dptopics.data.public_inputs import PublicInput
    from dptopics.plan import Plan
    from dptopics.release.release import Release

# Options that say where the data are, where the release goes and what it is called: all others are the plan's.
NOT_THE_PLANS = frozenset(
    {
        "source",
        "text",
        "author",
        "out_folder",
        "plan_file",
        "ledger",
        "accept_unproven",
        "as_json",
        "title",
        "description",
    }
    | {"drop_missing", "encoding", "separator", "table_format", "sql", "database", "engine", "master", "sensitivity"}
    | {"author_is", "tokenizer", "embedding_column", "embedding_cache", "preview_only", "people", "yes"}
    | {"release_folder", "by", "date_format", "sheet", "header_row", "public", "public_text", "public_corpus"}
    | {"public_author"}
)


def plan_of(
    context: typer.Context, plan_file: Path | None, made: "Callable[[], Plan]", known: "tuple[PublicInput, ...]" = ()
) -> "Plan":
    """The plan in a file, or the one that the options make; not both."""
    from dptopics.plan import read_plan

    if plan_file is None:
        missing = [name for name in ("epsilon", "delta") if context.params.get(name) is None]
        if missing:
            raise InputError(f"say how much privacy may be lost: --{' and --'.join(missing)} (or give --plan FILE).")
        return made()
    given = {name: context.get_parameter_source(name) for name in context.params.keys() - NOT_THE_PLANS}
    if clash := sorted(name for name, where in given.items() if where is not None and where.name == "COMMANDLINE"):
        names = ", ".join(f"--{name.replace('_', '-')}" for name in clash)
        raise InputError(f"the plan says it already: leave {names} out, or change the plan.")
    return read_plan(plan_file, known)


def published(plan: "Plan", read: Any, *, out_folder: Path, as_json: bool, **how: Any) -> "Release[Any]":
    """Through the door, with a progress bar for each part of the work; then shown."""
    from dptopics.publishing import publish

    with stoppable() as phase:
        release = publish(plan, read, out=out_folder, phase=phase, **how)
    show_release(release, out_folder, as_json)
    return release


@contextmanager
def stoppable() -> "Iterator[Callable[[str], AbstractContextManager[None]]]":
    """Shows a progress bar for each part of the work. Whoever stops it is told what that costs."""
    try:
        yield _phase
    except KeyboardInterrupt as error:
        err.print(escape(str(error) or "Stopped."), highlight=False)
        sys.exit(130)


def show_release(release: "Release[Any]", out_folder: Path, as_json: bool, many: str = "words") -> None:
    """A saved release and its card, or both as JSON. ``many`` is what a vocabulary is of."""
    saved(out_folder)
    if as_json:
        content = {"out": str(out_folder), **release.value.summary_json(10)}
        print_json({**content, "guarantee": release.guarantee.to_dict(), "record": release.record.to_dict()})
        return
    show_value(release.value, 10, many=many)
    show_card(release.guarantee, release.record)


def preview(plan: "Plan", people: int | None, as_json: bool) -> None:
    """Say what to expect, without reading anything."""
    from dptopics.preview import expected

    if people is None:
        raise InputError("--preview needs a number of units that is public: --people N.")
    found = expected(plan, people)
    if as_json:
        print_json(found.to_dict())
        return
    out.print(found.card(), highlight=False)
    err.print("Nothing was read and nothing was spent.", highlight=False)


@contextmanager
def _phase(title: str) -> Iterator[None]:
    from dptopics.core import progress

    with progress_bar(title) as sink, progress.shown_by(sink):
        yield
