"""The command line: thin commands over the library.

Commands import what they need when they run, so that --help and a mistyped option answer at once.
"""

import sys
import warnings
from typing import Annotated

import typer
from rich.markup import escape

from dptopics.cli import audit, ledger, local, look, monitor, ngrams, release, report
from dptopics.cli.terminal import err, out, warn
from dptopics.errors import BudgetExceeded, DptopicsError, PrivacyWarning

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # its tracebacks show local variables, that is, data
    context_settings={"help_option_names": ["-h", "--help"]},
)
ledger_app = typer.Typer(help="Keep count of what all releases of the same data have spent.", no_args_is_help=True)
local_app = typer.Typer(
    help="Collect without a trusted owner: clients randomise, the server learns.", no_args_is_help=True
)
for command in (release.fit, release.vocabulary, look.show, look.transform, look.mechanisms, look.demo, audit.audit):
    app.command()(command)
app.command()(monitor.monitor)
app.command()(report.report)
local_app.command()(local.create)
local_app.command()(local.randomize)
local_app.command()(local.fit)
app.command()(ngrams.ngrams)
app.command()(ngrams.arpa)
ledger_app.command()(ledger.create)
ledger_app.command()(ledger.show)
app.add_typer(ledger_app, name="ledger")
app.add_typer(local_app, name="local")


def _version(asked: bool) -> None:
    if asked:
        from dptopics import __version__

        out.print(f"dptopics {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it.")] = False,
) -> None:
    """Publish what sensitive text is about, with a differential-privacy guarantee that you can check."""


def main() -> None:
    """Run the command line: a user's mistake is one message and a non-zero exit, never a traceback."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", PrivacyWarning)
            warnings.showwarning = lambda message, *_args, **_kwargs: warn(str(message))
            app()
    except BudgetExceeded as error:
        _fail(error, 3)
    except (DptopicsError, OSError) as error:
        _fail(error, 2)


def _fail(error: Exception, code: int) -> None:
    message = str(error) if isinstance(error, DptopicsError) else f"{error}. Nothing was written."
    err.print(f"[red]{type(error).__name__}:[/] {escape(message)}", highlight=False)
    sys.exit(code)
