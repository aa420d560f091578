"""Commands of a collector: take reports in over HTTP, seal what came, and send one from the command line."""

from pathlib import Path
from typing import Annotated

import typer

from dptopics.cli import options as o
from dptopics.cli.local import Document, MaxEpsilon, Parameters, State, client_and_text, show_question
from dptopics.cli.terminal import err, out
from dptopics.core.errors import InputError

Address = Annotated[str, typer.Argument(help="Address of a collector: https://…", show_default=False)]
StoreName = Annotated[str, o.info("Where reports are kept: a .db file, or a postgresql:// address.")]


def serve(
    collection: Parameters,
    store: StoreName,
    port: int = o.option("Port to listen on; 0 for any free one.", default=8000, min=0, max=65535),
    host: str = o.option("Address to listen on. Leave it, and put a proxy with TLS before.", default="127.0.0.1"),
    per_minute: int = o.option("Reports that one token or address may send a minute.", default=1000, min=1),
    tokens: Path | None = o.option("File with one token on each line: only those may send."),
    origin: list[str] | None = o.option("Address of a web page that may send reports."),
    proxies: str = o.option("Addresses of proxies whose X-Forwarded-For is believed.", default=""),
    page: bool = o.flag("Serve the demo page, too."),
) -> None:
    """Collect reports over HTTP. A report is accepted once it is on disk; nothing about its sender is kept."""
    from dptopics.core.files import read_list
    from dptopics.local.report_files import read_collection
    from dptopics.local.server.store import open_store

    try:
        from dptopics.local.server.app import Settings, make_app
        from dptopics.local.server.run import serve as run
    except ImportError:
        raise InputError("a collector needs extra packages. Run: pip install 'dptopics[server]'") from None
    parameters = read_collection(collection)
    allowed = None
    if tokens is not None:
        allowed = frozenset(line.strip() for line in read_list(tokens, "list of tokens") if line.strip())
    settings = Settings(per_minute=per_minute, tokens=allowed, origins=tuple(origin or ()), page=page)
    with open_store(store, parameters) as opened:

        def started(at: int) -> None:
            err.print(f"Collecting {parameters.name!r} at http://{host}:{at}", highlight=False, markup=False)

        run(make_app(parameters, opened, settings), host=host, port=port, proxies=proxies, started=started)


def seal(
    collection: Parameters,
    store: StoreName,
    out_file: Path | None = o.option("New .db file for the sealed copy.", "--out"),
    schema: str | None = o.option("PostgreSQL: new schema of the same database for the sealed copy."),
) -> None:
    """Copy a store under fresh random numbers, in their order: the copy tells nothing of who sent what, or when."""
    from dptopics.local.report_files import read_collection
    from dptopics.local.server.store import POSTGRES, SQLITE, open_store
    from dptopics.local.server.store import seal as write

    if (out_file is None) == (schema is None):
        raise InputError("a sealed copy needs one place: --out FILE.db, or --schema NAME for a store in PostgreSQL.")
    parameters = read_collection(collection)
    if schema is not None:
        if not store.startswith(POSTGRES):
            raise InputError("--schema is for stores in PostgreSQL. Use --out FILE.db for this one.")
        open_store(store, parameters, create=False).close()  # refuses what is no store of this collection
        from dptopics.local.server.store_postgres import in_schema, seal_in_postgres

        n_reports = seal_in_postgres(store, parameters, schema)
        out.print(f"{n_reports} reports sealed in schema {schema}.", highlight=False, markup=False)
        # Not the whole address: it may hold a password.
        err.print(f"Its address ends in {in_schema('', schema)}", highlight=False, markup=False)
        return
    assert out_file is not None
    if out_file.suffix.lower() not in SQLITE:
        raise InputError(f"the sealed copy is a store: its name must end in {', '.join(SQLITE)}.")
    with open_store(store, parameters, create=False) as opened:
        n_reports = write(opened, parameters, out_file)
    out.print(f"{n_reports} reports sealed in {out_file}.", highlight=False, markup=False)


def send(
    address: Address,
    document: Document,
    state: State,
    max_epsilon: MaxEpsilon,
    token: str | None = o.option("Token, if the collector wants one.", envvar="DPTOPICS_TOKEN"),
    yes: bool = o.flag("Send without asking."),
) -> None:
    """Get a collection from its collector, show its card, ask, randomise one document here, and send the report.

    The report is on disk and counted before it is sent. If sending fails, the same command sends the same bytes.
    """
    from dptopics.local.client import Collector
    from dptopics.privacy.rng import secure_rng

    collector = Collector(address, token=token)
    client, text = client_and_text(document, state, max_epsilon)
    collection = collector.collection()
    show_question(client, collection)
    if not yes and not _agreed():
        err.print("Nothing was sent.")
        return
    collector.send([client.report(collection, text, secure_rng())])
    err.print("Accepted.")


def _agreed() -> bool:
    """Whether somebody says yes."""
    try:
        return typer.confirm("Send one report?", err=True)
    except typer.Abort as stop:
        if isinstance(stop.__context__, KeyboardInterrupt):
            err.print("Stopped. Nothing was sent.")
            raise typer.Exit(130) from None
    raise InputError(
        "nobody is there to ask: standard input ended. Nothing was sent. Run it where you can answer, or add --yes."
    )
