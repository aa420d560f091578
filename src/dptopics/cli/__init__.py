"""The command line: thin commands over the library.

Commands import what they need when they run, so that --help and a mistyped option answer at once.
"""

import os
import sys
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from traceback import extract_tb
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperGroup

from dptopics.cli import audit, check, count, fit, ledger, local, look, officers, words
from dptopics.cli.options import Ranked, expanded, info
from dptopics.cli.streams import guarded, where_saved
from dptopics.cli.terminal import err, out, warn
from dptopics.core.errors import BudgetExceeded, DptopicsError, PrivacyWarning, SpentError

_RENAMED = {"groups": "vocabulary --column", "arpa": "ngrams --arpa"}  # one release long


class Commands(TyperGroup):
    """Former names of commands still work, and say the new one."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that a line names."""
        if args and (new := _RENAMED.get(args[0])):
            warn(f"'dptopics {args[0]}' is now 'dptopics {new}'. The former name goes with the next release.")
            command, option = new.split()
            args = [command, *(option if one == "--out" and args[0] == "arpa" else one for one in args[1:])]
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # its tracebacks show local variables, that is, data
    context_settings={"help_option_names": ["-h", "--help"]},
)
_COMMANDS = (
    look.demo, check.check, fit.fit, count.count, count.ask, look.drift, look.compare, look.label, look.describe,
    look.show, look.transform, look.report, look.atlas, words.vocabulary, words.ngrams, look.mechanisms,
)  # fmt: skip
_GROUPS: dict[str, tuple[str, tuple[Callable[..., None], ...]]] = {
    "ledger": (
        "Keep count of what all releases of the same data have spent.",
        (ledger.create, ledger.show, ledger.charge, ledger.same_people),
    ),
    "audit": (
        "Attack a model, or test what a mechanism claims, before somebody else does. Not for release.",
        (audit.claim, audit.membership, audit.poison, audit.monitor),
    ),
    "officer": (
        "For those who answer for a release: none of it reads data or spends.",
        (officers.approve, officers.sign, officers.verify, officers.registry),
    ),
    "local": (
        "Collect without a trusted owner: clients randomise, the server learns.",
        (local.create, local.randomize, local.fit, local.serve, local.seal, local.send),
    ),
}


def _add(commands: Iterable[Callable[..., None]], to: typer.Typer) -> typer.Typer:
    for command in commands:
        to.command(cls=Ranked)(expanded(command))
    return to


_add(_COMMANDS, app)
for name, (about, commands) in _GROUPS.items():
    app.add_typer(_add(commands, typer.Typer(help=about, no_args_is_help=True)), name=name)


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
