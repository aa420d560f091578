"""Commands that look at releases and mechanisms, and the demo. None of them spends budget of real data."""

import csv
import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from dptopics.cli import options as o
from dptopics.cli.settings import show_settings
from dptopics.cli.source import Texts, allow_tokenizer
from dptopics.cli.streams import saved
from dptopics.cli.terminal import MOST_ROWS, err, out, print_json, progress_bar, show_card, show_value, warn, working
from dptopics.core.errors import InputError
from dptopics.core.files import check_new


def show(
    release_folder: o.ReleaseFolder,
    words: int = o.option("Words per topic, or n-grams.", default=10),
    tree: bool = o.flag("Show which topics are alike, as a tree."),
    min_z: float | None = o.option(
        "Show words of topics from so many standard deviations of the noise on; 0 shows all.", shown="3"
    ),
    as_json: o.Json = False,
) -> None:
    """Show a release and its guarantee."""
    from dptopics.release import bundle

    release = bundle.load(release_folder)
    if tree:
        found = release.tree()
        print_json({"tree": found.to_dict()}) if as_json else out.print(escape(str(found)), highlight=False)
        return
    if as_json:
        content = {"guarantee": release.guarantee.to_dict(), "settings": release.settings}
        asked = {} if min_z is None or release.value.kind != "topics" else {"min_z": min_z}
        print_json({**release.value.summary_json(words, **asked), **content, "record": release.record.to_dict()})
        return
    show_value(release.value, words, min_z)
    show_card(release.guarantee, release.record)


def transform(
    release_folder: o.TopicsFolder,
    table: Texts,
    out_file: Path = o.option("CSV file to write; it must not exist.", "--out", default=o.REQUIRED),
    tokenizer: o.TokenizerName = None,
) -> None:
    """Topic shares of new texts. They describe single texts: not for release."""
    import numpy as np

    from dptopics.data.readers.files import read_batches
    from dptopics.release.topic_model import TopicModel

    allow_tokenizer(tokenizer)
    model = TopicModel.load(release_folder)
    check_new(out_file)
    header = ["row", *(f"topic_{k}" for k in range(model.n_topics)), "known_words"]
    row = written = unknown = 0
    partial = out_file.with_name(f".{out_file.name}.partial")
    try:
        with open(partial, "w", encoding="utf-8") as file, working("Reading texts"):
            file.write(",".join(header) + "\n")
            for texts, _ in read_batches(table.data, text=table.text, author=None):
                numbers, kept = _with_text(texts, row, table.drop_missing)
                row += len(texts)
                known = model.known_words(kept)
                columns = np.column_stack([numbers, model.transform(kept), known])
                np.savetxt(file, columns, fmt="%d" + ",%.5f" * model.n_topics + ",%d")
                written += len(kept)
                unknown += int(np.count_nonzero(known == 0))
        partial.rename(out_file)
    finally:
        partial.unlink(missing_ok=True)
    if unknown:
        by_words = model.space is None or model.space.of_words
        alike = " and get equal shares, which say nothing" if by_words else ""
        told = f"{unknown:,} of {written:,} texts have no word that the topics know{alike}"
        warn(f"{told}: known_words is 0 in their rows.")
    where = o.escape_path(out_file)
    err.print(f"Shares of {written} texts written to [bold]{where}[/]. They describe single texts: NOT FOR RELEASE.")


def _with_text(texts: Sequence[object], before: int, drop_missing: bool) -> tuple[list[int], list[str]]:
    """Row numbers, from 1 on as in messages, and the texts themselves."""
    found = [(before + i, text) for i, text in enumerate(texts, 1) if not (drop_missing and text is None)]
    for row, text in found:
        if text is None:
            raise InputError(f"row {row} has no text. Fill it in, or leave such rows out with --drop-missing.")
        if not isinstance(text, str):
            raise InputError(f"row {row}: a text must be a string, got {type(text).__name__}. Convert the column.")
    return [row for row, _ in found], [str(text) for _, text in found]


def drift(
    folders: list[Path] = o.argument("Folders of counts, one for each period of a series."),
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
        if share is None:
            table.add_row(period, "-", "no statement")
        else:
            table.add_row(period, f"{share.value:.1%}", f"{share.low:.1%} to {share.high:.1%}")
    out.print(table)
    for signal in found.signals:
        out.print(str(signal), highlight=False)
    verdict = "No signal: nothing rose by more than noise and chance explain."
    if found.signals:
        verdict = "Topics still cover what people write about."
    if found.refit is not None:
        verdict = "Topics no longer cover what people write about: release new ones (dptopics fit)."
    err.print(verdict, highlight=False)


def compare(
    before: Path = o.argument("Folder of the earlier release: counts, answers, or themes."),
    after: Path = o.argument("Folder of the later one."),
    error: float = o.option("Chance that any row shows a change where there is none.", default=0.05),
    out_file: Path | None = o.option("CSV file with all rows; it must not exist.", "--out"),
    as_json: o.Json = False,
) -> None:
    """Say what rose and what fell between two releases. Reads releases only, and spends nothing."""
    from dptopics.release.bundle import load
    from dptopics.release.compare import compare as compared
    from dptopics.release.compare import to_dict

    if out_file is not None:
        check_new(out_file)
    rows = compared(load(before).value, load(after).value, error=error)
    found = to_dict(rows, error)
    if out_file is not None:
        with open(out_file, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(found["rows"][0]))
            writer.writeheader()
            writer.writerows(found["rows"])
    if as_json:
        print_json(found)
        return
    table = Table("Row", "Before", "After", "Change", f"{1 - error:.0%} for all rows together", "")
    for row in rows[:MOST_ROWS]:
        numbers = f"{row.before:,.0f}", f"{row.after:,.0f}", f"{row.change:+,.0f}"
        table.add_row(escape(row.row), *numbers, f"{row.low:+,.0f} to {row.high:+,.0f}", row.verdict)
    out.print(table)
    changed = sum(row.verdict != "open" for row in rows)
    err.print(f"{changed:,} of {len(rows):,} rows rose or fell by more than the noise.", highlight=False)


@dataclass(frozen=True, kw_only=True)
class Namer(o.Group):
    """Who names topics, and where that goes."""

    by: str | None = o.option(
        "Who writes: ollama:MODEL, openai:URL (any server of that protocol), gguf:FILE (a model in a file; extra "
        "'gguf'), or module:function with --allow module. It sees the released words and nothing else.",
        "--with",
        shown="themes of the public atlas, offline",
    )
    model: str | None = o.option("Model at an openai: server.")
    allow: list[str] | None = o.option("Module whose function may be run for --with.")
    out_file: Path | None = o.option("JSON file to write; it must not exist.", "--out")
    as_json: o.Json = False

    def name(self, release_folder: Path, *, sentences: bool = False) -> None:
        """Names, and sentences if they are asked for: written and shown."""
        from dptopics.release import bundle
        from dptopics.release.labels import label as labelled

        if self.out_file is not None:
            check_new(self.out_file)
        how: dict[str, Any] = {"by": self.by, "model": self.model, "allow": tuple(self.allow or ())}
        with working("Naming topics"):
            found = labelled(bundle.load(release_folder), **how, sentences=sentences).to_dict()
        if self.out_file is not None:
            _write_labels(found, self.out_file)
        self.show(found)

    def show(self, data: dict[str, Any]) -> None:
        """Names of topics, and sentences if there are any."""
        if self.as_json:
            print_json(data)
            return
        heads = ["Sentence"] if any(one.get("sentence") for one in data["labels"]) else []
        table = Table("Topic", f"Label, by {escape(data['model'])}", *heads, "Words")
        for one in data["labels"]:
            name = escape(one["label"]) or "[dim]none: this topic is mostly noise[/]"
            said = [escape(one.get("sentence", ""))] * len(heads)
            table.add_row(str(one["topic"]), name, *said, escape(", ".join(one["words"])))
        out.print(table)


def _write_labels(data: dict[str, Any], file: Path) -> None:
    file.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", "utf-8")
    saved(file)
    err.print(f"Written to [bold]{o.escape_path(file)}[/].")


def label(release_folder: o.TopicsFolder, namer: Namer) -> None:
    """Name topics from their released words. Nothing is spent, and no data are read."""
    namer.name(release_folder)


def describe(
    release_folder: o.TopicsFolder,
    namer: Namer,
    accept: Path | None = o.option("A draft that you have read, and perhaps edited: 'report --labels' takes it then."),
) -> None:
    """A title and a sentence for each topic by a language model: drafts, from released words, until you accept them."""
    from dptopics.release import report
    from dptopics.release.topic_model import TopicModel

    if (namer.by is None) == (accept is None):
        raise InputError("say which language model writes (--with), or which draft you accept (--accept).")
    if accept is None:
        namer.name(release_folder, sentences=True)
        err.print("A draft: read every line. Then: dptopics describe RELEASE --accept FILE, and report --labels FILE.")
        return
    data = report.read_labels(accept) | {"accepted": True}
    report.check_labels(TopicModel.load(release_folder), data)
    _write_labels(data, accept)
    namer.show(data)


def atlas(
    find: str | None = o.option("Only themes that have this word in their name, words or sentences."),
    file: Path | None = o.option("An atlas of your own: it is checked, and listed.", "--atlas"),
    language: str = o.option("Language of the atlas.", default="english"),
    as_json: o.Json = False,
) -> None:
    """List the public themes that topics of few people are made of. No data are read."""
    from dptopics.public.atlas import read_atlas, shipped

    chosen = shipped(language) if file is None else read_atlas(file, language)
    themes = list(chosen.themes) if find is None else chosen.find(find)
    if as_json:
        print_json({"sha256": chosen.sha256, "themes": [asdict(theme) for theme in themes]})
        return
    table = Table("Theme", "Domain", "Words")
    for theme in themes:
        table.add_row(escape(theme.name), escape(theme.domain), escape(", ".join(theme.words)))
    out.print(table)
    out.print(f"{len(themes):,} of {len(chosen.themes):,} themes in {len(chosen.domains)} domains.", highlight=False)


def report(
    release_folder: o.ReleaseFolder,
    out_file: Path = o.option("HTML file to write; it must not exist.", "--out", default=o.REQUIRED),
    audit: Path | None = o.option("Folder of an audit of this release's mechanism. The page is then not for release."),
    labels: Path | None = o.option("Names of the topics: what label --out wrote."),
    counts: Path | None = o.option("Folder of counts of these topics: sizes, trends and groups are shown."),
    ledger: Path | None = o.option("Ledger it was charged to: its charges are shown."),
    before: Path | None = o.option("Folder of an earlier release of the same kind: what rose and what fell is shown."),
) -> None:
    """Write a release as one HTML page to look at: topics, words, error bars, guarantee. Spends no budget."""
    from dptopics.ledger.ledger import Ledger
    from dptopics.privacy.guarantee import Strength
    from dptopics.release import bundle, report

    release = bundle.load(release_folder)
    counted = None if counts is None else bundle.load(counts)
    path = report.write(
        release,
        out_file,
        ledger=None if ledger is None else Ledger.open(ledger).to_dict(),
        audit=None if audit is None else report.read_audit(audit),
        labels=None if labels is None else report.read_labels(labels),
        counts=counted,
        before=None if before is None else bundle.load(before),
    )
    err.print(f"Written to [bold]{path}[/].", highlight=False)
    if audit is not None:
        warn("the page holds an audit: numbers of the private data without noise. NOT FOR RELEASE.")
    elif any(one is not None and one.guarantee.strength is Strength.NONE for one in (release, counted)):
        warn("what the page shows promises nothing, so neither does the page. NOT FOR RELEASE.")
    elif counted is not None:
        err.print("Its readers see topics and counts: the page states the price of both together.", highlight=False)


def mechanisms(
    name: str | None = o.argument("One of them: its own settings are listed.", default=None), as_json: o.Json = False
) -> None:
    """List the mechanisms, whom they protect and how far that is proved; or the settings of one, for --set."""
    from dptopics.registry import catalogue

    if name is not None:
        show_settings(name, as_json)
        return
    rows = catalogue()
    if as_json:
        print_json({"mechanisms": rows})
        return
    table = Table(padding=0)
    for name in ("Job", "Name", "Noise", "Unit", "Relation", "Strength", "Paper"):
        table.add_column(name, no_wrap=name in ("Job", "Name"), overflow="fold")  # names must be typed: show them whole
    for row in rows:
        table.add_row(*row.values())
    out.print(table)


def demo(
    epsilon: float = o.option("Privacy loss of the demo release.", default=2.0),
    out_folder: Path | None = o.option("Also save the release here.", "--out"),
    report_file: Path | None = o.option(
        "Where to write the page of the release.", "--report", shown="a temporary folder"
    ),
    messages: Path | None = o.option(
        "Only write the messages, as a CSV table with columns note, patient, ward and date, to try things on."
    ),
    files: Path | None = o.option("Only write every file that the pages of the documentation use, into this folder."),
) -> None:
    """Show the difference privacy makes, on 20,000 invented patient messages."""
    from dptopics.cli.demo import run, write_files, write_messages
    from dptopics.release import bundle, report

    if messages is not None:
        number = write_messages(messages)
        err.print(f"{number:,} invented messages written to [bold]{messages}[/].", highlight=False)
        return
    if files is not None:
        err.print(f"Invented, to try things on: {', '.join(write_files(files))}.", highlight=False)
        return
    if out_folder is not None:
        bundle.check_target(out_folder)
    if report_file is not None:
        report.check_target(report_file)
    with progress_bar("Learning topics, private and plain") as sink:
        result = run(epsilon=epsilon, sink=sink, say=err.print)
    result.show(out)
    if out_folder is not None:
        err.print(f"Written to [bold]{bundle.save(result.release, out_folder)}[/].")
    page = report_file or Path(tempfile.mkdtemp(prefix="dptopics-demo-")) / "report.html"
    page = report.write(result.release, page).absolute()
    out.print(f"The release as a page, to open in a browser: {page.as_uri()}", highlight=False, soft_wrap=True)
