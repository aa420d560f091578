"""Name the topics of a release."""

import json
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from dptopics.cli import options as o
from dptopics.cli.streams import saved
from dptopics.cli.terminal import err, out, print_json


def label(
    release_folder: o.TopicsFolder,
    by: str | None = o.option(
        "Who names them: ollama:MODEL, openai:URL (any server of that protocol), or module:function with "
        "--allow module. It sees the released words and nothing else.",
        "--with",
        shown="three of its own words, offline",
    ),
    model: str | None = o.option("Model at an openai: server."),
    allow: list[str] | None = o.option("Module whose function may be run for --with."),
    out_file: Path | None = o.option("JSON file to write; it must not exist.", "--out"),
    as_json: o.Json = False,
) -> None:
    """Name topics from their released words. Nothing is spent, and no data are read."""
    from dptopics.release import bundle
    from dptopics.release.labels import label as labelled

    if out_file is not None:
        o.check_new(out_file)
    found = labelled(bundle.load(release_folder), by=by, model=model, allow=tuple(allow or ()))
    if out_file is not None:
        out_file.write_text(json.dumps(found.to_dict(), indent=2, ensure_ascii=False) + "\n", "utf-8")
        saved(out_file)
        err.print(f"Written to [bold]{o.escape_path(out_file)}[/].")
    if as_json:
        print_json(found.to_dict())
        return
    table = Table("Topic", f"Label, by {escape(found.model)}", "Words")
    for one in found.labels:
        name = escape(one.label) if one.words else "[dim]none: this topic is mostly noise[/]"
        table.add_row(str(one.topic), name, escape(", ".join(one.words)))
    out.print(table)
