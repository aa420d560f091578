"""Groups of options, each declared once and handed to a command as one object; and options that several commands share.

A group is a dataclass whose fields are options. A command names it among its parameters, and :func:`expanded` makes of
that what Typer reads.
"""

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import MISSING, Field, field, fields
from enum import StrEnum
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, ClassVar, get_origin

import typer
from rich.markup import escape
from typer.core import TyperCommand

from dptopics.core.errors import InputError

REQUIRED = MISSING
WORDS, VOCABULARY, OWN = "How texts become words", "The vocabulary", "The mechanism's own settings"  # panels
_ALL = "dptopics: all options"
BESIDE_PLAN = "an option that may be given together with --plan"


class Group:
    """Options that belong together. A subclass may leave out some of them: they keep their defaults."""

    left_out: ClassVar[frozenset[str]] = frozenset()
    of_plan: ClassVar[frozenset[str] | None] = None  # options that a plan says already; None: all
    panel: ClassVar[str | None] = None  # of the help, for options that name none

    @classmethod
    def options(cls) -> Iterator[Parameter]:
        """Its fields, as Typer wants them."""
        mine: Any = cls
        for one in fields(mine):
            found = _parameter(one.name, one.type, one if "option" in one.metadata else one.default, cls.panel)
            if get_origin(found.annotation) is Annotated and one.name not in cls.left_out:
                yield found


def in_plan(option: Parameter, group: type[Group] | None) -> bool:
    """Whether a plan says it already: as its group says, or if it is not marked."""
    if group is not None and group.of_plan is not None:
        return option.name in group.of_plan
    return BESIDE_PLAN not in getattr(option.annotation, "__metadata__", ())


class Ranked(TyperCommand):
    """Its help shows the options of no panel; --help-all shows the others too, by subject."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """As Typer does, with the options of panels hidden or not."""
        for one in self.params:
            if panel := getattr(one, "rich_help_panel", None):
                vars(one)["hidden"] = bool(panel) and _ALL not in ctx.meta
        super().format_help(ctx, formatter)


def _help_all(context: typer.Context, asked: bool) -> None:
    if asked:
        context.meta[_ALL] = True
        context.get_help()
        raise typer.Exit


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """The command as Typer reads it: groups among its parameters become options, and reach it as one object each.

    A group with a field ``said`` gets the names of the plan's options that were given.
    """
    groups: dict[str, Any] = {}
    options: list[Parameter] = [Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    of_plan: set[str] = set()
    for one in signature(command).parameters.values():
        group = one.annotation if isinstance(one.annotation, type) and issubclass(one.annotation, Group) else None
        given = REQUIRED if one.default is Parameter.empty else one.default
        found = [_parameter(one.name, one.annotation, given)] if group is None else list(group.options())
        options += found
        of_plan |= {option.name for option in found if in_plan(option, group)}
        if group is not None:
            groups[one.name] = group

    if any(one.annotation.__metadata__[0].rich_help_panel for one in options[1:]):
        options.append(
            _parameter("help_all", bool, flag("Show all options, by subject.", callback=_help_all, is_eager=True))
        )

    @wraps(command)
    def run(context: typer.Context, **given: Any) -> None:
        given.pop("help_all", None)
        names = {one.name: one.opts[0] for one in context.command.params if one.name in of_plan and one.opts}
        sources = {name: context.get_parameter_source(name) for name in names}
        said = sorted(names[name] for name, where in sources.items() if where and where.name == "COMMANDLINE")
        made = {}
        for name, group in groups.items():
            own = {option.name: given.pop(option.name) for option in group.options()}
            made[name] = group(**own, **({"said": tuple(said)} if "said" in group.__dataclass_fields__ else {}))
        command(**made, **given)

    run.__dict__["__signature__"] = Signature(options)
    run.__annotations__ = {option.name: option.annotation for option in options}
    return run


def info(help: str, *names: str, shown: bool | str = True, panel: str | None = None, **more: Any) -> Any:
    """An option as Typer wants it; ``shown`` is its default in words."""
    return typer.Option(*names, help=help, show_default=shown, rich_help_panel=panel, **more)


def option(help: str, *names: str, default: Any = None, beside_plan: bool = False, **more: Any) -> Any:
    """An option of a group or of a command. It is not printed with a group: it may hold a password."""
    return _declared(default, info(help, *names, **more), beside_plan)


def flag(help: str, *names: str, **more: Any) -> Any:
    """An option that is said or not."""
    return option(help, *names, default=False, **more)


def argument(help: str, *, default: Any = REQUIRED, panel: str | None = None, **more: Any) -> Any:
    """An argument of a group or of a command."""
    return _declared(default, typer.Argument(help=help, show_default=False, rich_help_panel=panel, **more))


def _declared(default: Any, about: Any, beside_plan: bool = False) -> Any:
    return field(default=default, repr=False, metadata={"option": (about, *[BESIDE_PLAN] * beside_plan)})


def _parameter(name: str, kind: Any, default: Any, panel: str | None = None) -> Parameter:
    """What Typer reads of something declared."""
    if isinstance(default, Field):
        about, *more = default.metadata["option"]
        about, default = copy(about), default.default
        about.rich_help_panel = panel if about.rich_help_panel is None else about.rich_help_panel
        if kind is bool and about.default is ...:
            about.default = f"--{name.replace('_', '-')}"  # without a --no-…
        kind = Annotated[(kind, about, *more)]
    empty = Parameter.empty if default is REQUIRED else default
    return Parameter(name, Parameter.KEYWORD_ONLY, default=empty, annotation=kind)


def escape_path(path: Path) -> str:
    """A path for the terminal: what looks like markup in it is not."""
    return escape(str(path))


def how_many(topics: str) -> int | str:
    """A number of topics, or auto."""
    try:
        return topics if topics == "auto" else int(topics)
    except ValueError:
        raise InputError(f"--topics must be a whole number of at least 2, or auto, got {topics!r}.") from None


class EngineName(StrEnum):
    """Where bounded sums are computed."""

    MEMORY = "memory"
    SPARK = "spark"


ReleaseFolder = Annotated[Path, typer.Argument(metavar="RELEASE", help="Folder of a release.", show_default=False)]
TopicsFolder = Annotated[
    Path, typer.Argument(metavar="RELEASE", help="Folder of a release of topics.", show_default=False), BESIDE_PLAN
]
MaxDocs = Annotated[int | None, info("Documents kept per author, chosen by a hash.", shown="all", panel=VOCABULARY)]
VocabularyEpsilon = Annotated[
    float | None,
    info(
        "ε₁ of a private vocabulary: it gets this part of --epsilon, and what follows the rest (ε₂), "
        "half of δ each. Instead of a share of the budget.",
        panel=VOCABULARY,
    ),
]
Set = Annotated[
    list[str] | None,
    info(
        "A setting of the mechanism's own, as steps=20: 'dptopics mechanisms NAME' lists them. Can be repeated.",
        "--set",
        metavar="NAME=VALUE",
        panel=OWN,
    ),
]
TokenizerName = Annotated[
    str | None,
    info(
        "How texts are cut into words: chinese, japanese, thai (extra 'languages'), or your own "
        "function, module:function, from one text to a list of words.",
        "--tokenizer",
        shown="by the language",
        panel=WORDS,
    ),
    BESIDE_PLAN,
]
Language = Annotated[str, info("Language of the texts, 'none', or 'auto': of each text.", panel="")]
Json = Annotated[bool, info("Machine-readable output on stdout.", "--json")]
