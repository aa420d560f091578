"""The report command: a release as one page."""

from pathlib import Path

from dptopics.cli import options as o
from dptopics.cli.terminal import err, warn


def report(
    release_folder: o.ReleaseFolder,
    out_file: Path = o.option("HTML file to write; it must not exist.", "--out", default=o.REQUIRED),
    audit: Path | None = o.option("Folder of an audit of this release's mechanism. The page is then not for release."),
    labels: Path | None = o.option("Names of the topics: what label --out wrote."),
    counts: Path | None = o.option("Folder of counts of these topics: sizes, trends and maps are shown."),
    ledger: Path | None = o.option("Ledger it was charged to: its charges are shown."),
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
    )
    err.print(f"Written to [bold]{path}[/].", highlight=False)
    if audit is not None:
        warn("the page holds an audit: numbers of the private data without noise. NOT FOR RELEASE.")
    elif any(one is not None and one.guarantee.strength is Strength.NONE for one in (release, counted)):
        warn("what the page shows promises nothing, so neither does the page. NOT FOR RELEASE.")
    elif counted is not None:
        err.print("Its readers see topics and counts: the page states the price of both together.", highlight=False)
