"""The command line: thin commands over the library.

Commands import what they need when they run, so that --help and a mistyped option answer at once.
"""

import atexit
import gc
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from traceback import extract_tb
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperCommand, TyperGroup

from dptopics.cli.options import Ranked, expanded, info
from dptopics.cli.streams import guarded, where_saved
from dptopics.cli.terminal import err, out, warn
from dptopics.core.errors import BudgetExceeded, DptopicsError, PrivacyWarning, SpentError

# What --help says of each command; its module is imported when it is run.
_COMMANDS = {
    "demo": ("look", "Show the difference privacy makes, on 20,000 invented patient messages."),
    "check": (
        "check",
        "Tell the owner, before anything is charged, what was understood of a table and what to expect. Not for "
        "release.",
    ),
    "fit": ("fit", "Release topics of a table of texts: the main job."),
    "count": ("count", "Count who wrote about each topic, by group and time, with 95 % intervals."),
    "ask": ("count", "Of how many people is it true? Yes-or-no questions about what people wrote, all at one price."),
    "drift": (
        "look",
        "Say from weekly counts whether it is time for new topics. Reads releases only, and spends nothing.",
    ),
    "compare": ("look", "Say what rose and what fell between two releases. Reads releases only, and spends nothing."),
    "label": ("look", "Name topics from their released words. Nothing is spent, and no data are read."),
    "describe": (
        "look",
        "A title and a sentence for each topic by a language model: drafts, from released words, until you accept "
        "them.",
    ),
    "show": ("look", "Show a release and its guarantee."),
    "transform": ("look", "Topic shares of new texts. They describe single texts: not for release."),
    "report": (
        "look",
        "Write a release as one HTML page to look at: topics, words, error bars, guarantee. Spends no budget.",
    ),
    "atlas": ("look", "List the public themes that topics of few people are made of. No data are read."),
    "vocabulary": ("words", "Release the words that many authors use, or the values of a column that many have."),
    "ngrams": ("words", "Release how probable n-grams are: counts for language models, with a public prior."),
    "mechanisms": (
        "look",
        "List the mechanisms, whom they protect and how far that is proved; or the settings of one, for --set.",
    ),
}
_GROUPS = {
    "ledger": ("ledger", "Keep count of what all releases of the same data have spent."),
    "audit": (
        "audit",
        "Attack a model, or test what a mechanism claims, before somebody else does. Not for release.",
    ),
    "officer": ("officers", "For those who answer for a release: none of it reads data or spends."),
    "local": ("local", "Collect without a trusted owner: clients randomise, the server learns."),
}
_OF_GROUP = {
    "ledger": ("create", "show", "charge", "same_people"),
    "audit": ("claim", "membership", "poison", "monitor"),
    "officer": ("approve", "sign", "verify", "registry"),
    "local": ("create", "randomize", "fit", "serve", "seal", "send"),
}
_ALL = _COMMANDS | _GROUPS


@cache
def _loaded(name: str) -> Any:
    """A command or a group with all its options."""
    module, about = _ALL[name]
    functions = import_module(f"{__name__}.{module}")
    of_group: dict[str, Any] = {"help": about, "no_args_is_help": True} if name in _GROUPS else {}
    made = typer.Typer(add_completion=False, **of_group)
    for one in _OF_GROUP.get(name, (name,)):
        made.command(cls=Ranked)(expanded(getattr(functions, one)))
    found = typer.main.get_command(made)
    found.name = name
    return found


class Loaded(Mapping[str, Any]):
    """Commands with all their options, each made when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        return _loaded(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_ALL)

    def __len__(self) -> int:
        return len(_ALL)


class Commands(TyperGroup):
    """Commands by name, of which only the one that runs is imported."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self.commands: Any = Loaded()

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names: no command is loaded for a list of them."""
        return list(_ALL)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        found = _ALL.get(cmd_name)
        return None if found is None else TyperCommand(cmd_name, help=found[1])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, _, left = super().resolve_command(ctx, args)
        return name, None if name is None else _loaded(name), left


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # its tracebacks show local variables, that is, data
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        from dptopics.core import __version__

        out.print(f"dptopics {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def common_options(
    version: Annotated[bool, info("Show it.", "--version", callback=_version, is_eager=True)] = False,
) -> None:
    """Publish what sensitive text is about, with a differential-privacy guarantee that you can check."""


def main() -> None:
    """Run the command line: a user's mistake is one message and a non-zero exit, never a traceback."""
    gc.set_threshold(200_000)  # a run keeps nearly all that it makes: looking through it often takes half a second
    atexit.register(gc.freeze)
    with guarded() as results:
        code = _run()
        results.flush()
        if results.problem and not code:
            what = where_saved()
            warn(f"standard output cannot be written ({results.problem}). {what or 'Nothing was spent.'}")
            code = _SPENT if what else _WRONG
    sys.exit(code)


def _run() -> int | str | None:
    """The exit code of the command."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", PrivacyWarning)
            warnings.showwarning = _show_warning
            app()
    except SystemExit as stop:
        return stop.code
    except BudgetExceeded as error:
        return _failed(error, str(error), 3)
    except SpentError as error:
        return _failed(error, str(error), _SPENT)
    except DptopicsError as error:
        return _failed(error, str(error), _WRONG)
    except OSError as error:
        where = "" if error.filename is None else f": {error.filename}"
        message = f"{error.strerror or 'a file cannot be read or written'}{where}."
        return _failed(error, f"{message} {where_saved() or 'Nothing was written.'}", _WRONG)
    except Exception as error:
        if DEBUG in os.environ:
            raise
        return _failed(error, f"{_FAULT.format(place=_place(error))} {where_saved()}", 1)
    return 0


_WRONG, _SPENT = 2, 4

# Other libraries' messages and warnings may quote data, and terminals end in logs: they are shown on demand only.
DEBUG = "DPTOPICS_DEBUG"
_FAULT = (
    "this is a fault of dptopics{place}, please report it. Messages of other libraries may quote data, so it is not "
    f"shown: set {DEBUG}=1 to see it. If a release was running, its budget may be spent: see dptopics ledger show."
)


def _show_warning(message: Warning | str, category: type[Warning], *_more: object, **_named: object) -> None:
    if issubclass(category, PrivacyWarning):
        warn(str(message))


def _place(error: Exception) -> str:
    """Where in our code it happened."""
    ours = [frame for frame in extract_tb(error.__traceback__) if "dptopics" in Path(frame.filename).parts]
    return f" ({Path(ours[-1].filename).name}, line {ours[-1].lineno})" if ours else ""


def _failed(error: Exception, message: str, code: int) -> int:
    """Tell it. Once a release is written, no code says that nothing was spent: scripts try again on that."""
    err.print(f"[red]{type(error).__name__}:[/] {escape(message.strip())}", highlight=False)
    return _SPENT if code == _WRONG and where_saved() else code
