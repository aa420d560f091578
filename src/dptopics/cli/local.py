"""Commands of local collection: make the public parameters, randomise one document, collect reports, learn from all."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dptopics.cli import options as o
from dptopics.cli.streams import saved
from dptopics.cli.terminal import err, out, print_json, show_card, show_topics, warn, working
from dptopics.core.errors import InputError

if TYPE_CHECKING:
    from dptopics.local.client import Client
    from dptopics.local.collection import Collection

Parameters = Annotated[Path, typer.Argument(help="File with the collection's public parameters.", show_default=False)]
Document = Annotated[Path, typer.Argument(help="File with one document, or '-' for standard input.")]
Address = Annotated[str, typer.Argument(help="Address of a collector: https://…", show_default=False)]
StoreName = Annotated[str, o.info("Where reports are kept: a .db file, or a postgresql:// address.")]
State = Annotated[Path, o.info("Folder that remembers what was sent, kept on the client.")]
MaxEpsilon = Annotated[float, o.info("Most that all reports of this client together may cost: ε of a whole document.")]


def create(
    path: Path = o.argument("File to write the public parameters to."),
    name: str = o.option("Name of the collection. A client reports once for each name.", default=o.REQUIRED),
    vocabulary: Path = o.option("File with one public word on each line.", default=o.REQUIRED),
    kind: str = o.option("What is sent: bits, pair or three-words.", default="bits"),
    epsilon: float | None = o.option("Privacy loss of one report."),
    f: float | None = o.option("bits: chance that a bit is replaced by a coin."),
    max_words: int = o.option("bits: words of a document that count; per word, all do.", default=50),
    per: str = o.option("bits: what ε is stated for, 'document' or 'word'.", default="document"),
    topics: Path | None = o.option("pair: file with the public words of one topic on each line."),
    delta: float = o.option("State ε at this δ; 0 for pure ε.", default=0.0),
    period: str = o.option("Finest time that a collector keeps: none, day or week.", default="none"),
    question: str = o.option("What people are asked, in one line: the survey's page shows it.", default=""),
    language: o.Language = "english",
) -> None:
    """Write the public parameters of a collection, for clients and server."""
    from dptopics.core.text import TextSettings
    from dptopics.local.collection import Collection
    from dptopics.local.report_files import write_collection
    from dptopics.public.word_lists import read_words

    words = read_words(vocabulary)
    if kind == "bits":
        randomizer = _bits(f, epsilon, vocabulary=words, max_words=max_words, per=per, delta=delta)
    elif kind in ("pair", "three-words"):
        if epsilon is None or f is not None:
            raise InputError(f"a collection of kind {kind!r} needs --epsilon, and no --f.")
        randomizer = _hashed(kind, topics, vocabulary=words, epsilon=epsilon, delta=delta)
    else:
        raise InputError(f"there is no kind {kind!r}. The kinds are: bits, pair, three-words.")
    text = TextSettings(language=language)
    collection = Collection(name=name, randomizer=randomizer, text=text, period=period, question=question)
    write_collection(collection, path)
    show_card(collection.guarantee)
    err.print(f"Written to [bold]{path}[/], version {collection.version}. It is public: give it to every client.")


def _bits(f: float | None, epsilon: float | None, **settings: Any) -> Any:
    from dptopics.local.randomizer import BitFlips

    if (f is None) == (epsilon is None):
        raise InputError("a collection of bits needs either --f or --epsilon.")
    return BitFlips(f=f, **settings) if f is not None else BitFlips.calibrated(epsilon=epsilon or 0.0, **settings)


def _hashed(kind: str, topics: Path | None, **settings: Any) -> Any:
    from dptopics.core.files import read_list
    from dptopics.local.hashing import HashedPair, ThreeWords

    if kind == "three-words":
        return ThreeWords(**settings)
    if topics is None:
        raise InputError("a collection of pairs needs --topics: the public words of one topic on each line.")
    lines = read_list(topics, "list of topics")
    lists = tuple(tuple(line.lower().replace(",", " ").split()) for line in lines if line.strip())
    return HashedPair(topics=lists, **settings)


def client_and_text(document: Path, state: Path, max_epsilon: float) -> "tuple[Client, str]":
    """The client of a folder, and one document, of a file or of standard input."""
    from dptopics.local.client import Client, SentFolder

    client = Client(SentFolder(state), max_epsilon=max_epsilon)
    try:
        return client, sys.stdin.read() if str(document) == "-" else document.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{document.name!r} is not valid UTF-8.") from None


def show_question(client: "Client", collection: "Collection") -> None:
    """What a collection asks, and what the client's owner must know of it."""
    err.print(client.card(collection, err.width), highlight=False, markup=False)
    if uncounted := getattr(client.memory, "uncounted", 0):
        warn(f"{uncounted} reports of version 0.1 are not in this total: what they cost was not kept.")
    if client.answered(collection):
        warn("this collection was answered before: it gets the same report again, whatever the document says now.")


def randomize(collection: Parameters, document: Document, state: State, max_epsilon: MaxEpsilon) -> None:
    """Turn one document into one report, on the client, and print it as a line of JSON.

    What the collection asks is shown first (on stderr). A collection that asks more than is left of the limit is
    refused. One that was answered before gets the same line again, whatever the document says now.
    """
    from dptopics.local.report_files import read_collection, to_line
    from dptopics.privacy.rng import secure_rng

    parameters = read_collection(collection)
    client, text = client_and_text(document, state, max_epsilon)
    show_question(client, parameters)
    line = to_line(client.report(parameters, text, secure_rng()))
    saved(state)  # the same command prints the same report again
    print(line)


def fit(
    collection: Parameters,
    reports: list[str] = o.argument("Reports: .jsonl or .parquet files, or a collector's store."),
    out_folder: Path = o.option("Folder to write the release to; it must not exist.", "--out", default=o.REQUIRED),
    topics: int | None = o.option("Topics to look for.", shown="20; pair: its own"),
    method: str = o.option("bits: 'likelihood', or 'published' (rebuild, then Gibbs).", default="likelihood"),
    sweeps: int = o.option("Sweeps of the published method.", default=300),
    clip: float | None = o.option(
        "Limit what a liar can do. pair: in standard deviations; bits: in mean documents.",
        shown="pair: 1; bits: 2; else none",
    ),
    no_clip: bool = o.flag("Do not limit what a liar can do."),
    period: str | None = o.option("Only reports of this day or week, if the collection keeps it: 2026-W47."),
    as_json: o.Json = False,
) -> None:
    """Learn topics from reports. They are private already: it spends nothing and may be repeated."""
    from dptopics.local.report_files import Inbox, read_collection
    from dptopics.local.topics import fit_reports
    from dptopics.release import bundle

    if no_clip and clip is not None:
        raise InputError("--clip and --no-clip contradict each other: leave one of them out.")
    bundle.check_target(out_folder)
    parameters = read_collection(collection)
    inbox = Inbox(parameters, period=period)
    with err.status("Reading reports"):
        for path in reports:
            inbox.read(path)
        data = inbox.finish()
    for reason, number in sorted(inbox.rejected.items()):
        warn(f"{number} reports left out: {reason}.")
    with working("Learning topics"):
        release = fit_reports(
            parameters, data, n_topics=topics, method=method, sweeps=sweeps, period=period,
            clip=None if no_clip else "usual" if clip is None else clip,
        )  # fmt: skip
    bundle.save(release, out_folder)
    saved(out_folder)
    if as_json:
        content: dict[str, Any] = {"reports": len(data), "rejected": dict(inbox.rejected)}
        print_json(content | {**release.value.summary_json(10), "guarantee": release.guarantee.to_dict()})
        return
    show_topics(release.value, 10)
    show_card(release.guarantee)
    out.print(f"{len(data)} reports used, {sum(inbox.rejected.values())} left out.", highlight=False)
    err.print(f"Written to [bold]{out_folder}[/].")


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
