"""What the commands that release have in common: plans from options or a file, a preview, the door, what is shown."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rich.markup import escape

from dptopics.cli import options as o
from dptopics.cli.streams import saved
from dptopics.cli.terminal import err, out, print_json, show_card, show_value, working
from dptopics.core.errors import InputError
from dptopics.privacy.guarantee import Unit

if TYPE_CHECKING:
    from dptopics.data.public_inputs import PublicInput
    from dptopics.plan import Plan
    from dptopics.release.release import Release

_RELEASE = "The release"


@dataclass(frozen=True, kw_only=True)
class Releasing(o.Group):
    """Where a release goes, what it may cost and what it is called."""

    out_folder: Path | None = o.option("Folder to write the release to; it must not exist.", "--out")
    epsilon: float | None = o.option("Privacy loss of this release.")
    delta: float | None = o.option("Failure probability δ: well below 1 / authors.")
    unit: Unit | None = o.option("Whom to protect; default: author if --author is given.")
    ledger: Path | None = o.option("Ledger to charge.")
    plan_file: Path | None = o.option(
        "Plan to run (TOML or JSON), instead of the options that it says already.", "--plan", panel=_RELEASE
    )
    preview_only: bool = o.flag("Only say what to expect. Reads no data, spends nothing, needs no --out.", "--preview")
    people: int | None = o.option("How many authors (or documents) there are, roughly: a number that may be public.")
    title: str = o.option("Title of the release. Published.", default="")
    description: str = o.option("What the data are, in one sentence. Published.", default="", panel=_RELEASE)
    accept_unproven: bool = o.flag("Allow guarantees that are not proved.", panel=_RELEASE)
    as_json: o.Json = False
    said: tuple[str, ...] = ()  # options that a plan says already
    of_plan: ClassVar[frozenset[str] | None] = frozenset({"epsilon", "delta", "unit"})

    @property
    def folder(self) -> Path:
        """Where the release goes. Only a preview needs none."""
        if self.out_folder is None:
            raise InputError("say where the release goes: --out FOLDER (or ask for a --preview, which writes nothing).")
        return self.out_folder

    @property
    def budget(self) -> dict[str, Any]:
        """ε and δ, which must be given."""
        given = {"epsilon": self.epsilon, "delta": self.delta}
        if missing := [name for name, value in given.items() if value is None]:
            raise InputError(f"say how much privacy may be lost: --{' and --'.join(missing)} (or give --plan FILE).")
        return {name: value for name, value in given.items() if value is not None}

    @property
    def named(self) -> dict[str, Any]:
        """What the door writes into the record, and where it charges."""
        return {"ledger": self.ledger, "title": self.title, "description": self.description}

    def plan(self, made: "Callable[[], Plan]", known: "tuple[PublicInput, ...]" = ()) -> "Plan":
        """The plan in a file, or the one that the options make; not both."""
        from dptopics.plan import read_plan

        if self.plan_file is None:
            _ = self.budget
            return made()
        if self.said:
            raise InputError(f"the plan says it already: leave {', '.join(self.said)} out, or change the plan.")
        return read_plan(self.plan_file, known)

    def previewed(self, plan: "Plan") -> bool:
        """Say what to expect, if that is all that is asked for, without reading anything."""
        from dptopics.preview import expected

        if not self.preview_only:
            return False
        if self.people is None:
            raise InputError("--preview needs a number of units that is public: --people N.")
        found = expected(plan, self.people)
        if self.as_json:
            print_json(found.to_dict())
        else:
            out.print(found.card(), highlight=False)
            err.print("Nothing was read and nothing was spent.", highlight=False)
        return True

    def publish(self, plan: "Plan", read: Any, then: str = "", **how: Any) -> None:
        """Through the door, with a progress bar for each part of the work; then shown. ``then`` is said of {where}."""
        from dptopics.publishing import publish

        how |= {**self.named, "people": self.people, "accept_unproven": self.accept_unproven}
        with stoppable() as phase:
            release = publish(plan, read, out=self.folder, phase=phase, **how)
        self.show(release, then)

    def show(self, release: "Release[Any]", then: str = "", many: str = "words") -> None:
        """A saved release and its card, or both as JSON. ``many`` is what a vocabulary is of."""
        saved(self.folder)
        if self.as_json:
            content = {"out": str(self.folder), **release.value.summary_json(10)}
            print_json({**content, "guarantee": release.guarantee.to_dict(), "record": release.record.to_dict()})
        else:
            show_value(release.value, 10, many=many)
            show_card(release.guarantee, release.record)
        where = o.escape_path(self.folder)
        err.print(f"Written to [bold]{where}[/]. {then.format(where=where)}".strip())


@contextmanager
def stoppable(left: str = "") -> "Iterator[Callable[[str], AbstractContextManager[None]]]":
    """Shows a progress bar for each part of the work. Whoever stops it is told what that costs, or what is ``left``."""
    try:
        yield working
    except KeyboardInterrupt as error:
        err.print(escape(str(error) or f"Stopped. {left}".strip()), highlight=False)
        sys.exit(130)
