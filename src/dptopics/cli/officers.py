"""Commands for those who answer for a release: registry, approve, sign and verify. None reads data or spends."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.markup import escape

from dptopics.cli import options as o
from dptopics.cli.terminal import err, out, print_json, warn
from dptopics.core.errors import InputError
from dptopics.core.files import check_new

if TYPE_CHECKING:
    from dptopics.release.officers.verification import Verified
    from dptopics.release.release import Release

Written = Annotated[Path | None, o.info("File to write; it must not exist.", "--out", shown="standard output")]


def registry(
    release_folder: o.ReleaseFolder,
    curator: str | None = o.option("Who publishes the release."),
    curator_type: str | None = o.option("Such as Company, Government or Nonprofit."),
    region: str | None = o.option("Where the data come from."),
    sector: str | None = o.option("Such as Healthcare, Education or Technology."),
    use: str | None = o.option("What the release is for."),
    why: str | None = o.option("Why these values were chosen."),
    sources: str | None = o.option("Where it is published."),
    author: str | None = o.option("Who writes this entry."),
    tier: int = o.option("1: the product; 2: its guarantee too; 3: how it was made too.", default=3),
    out_file: Written = None,
) -> None:
    """Write the entry for the OpenDP Deployments Registry, as YAML."""
    from dptopics.release import bundle
    from dptopics.release.officers.registry_entry import Curator, entry, to_yaml

    asked = {
        "name": curator, "kind": curator_type, "region": region, "sector": sector, "intended_use": use,
        "justification": why, "sources": sources, "author": author,
    }  # fmt: skip
    who = Curator(**{name: text for name, text in asked.items() if text is not None})
    _verified(release_folder)
    _give(to_yaml(entry(bundle.load(release_folder), who, tier=tier)), out_file)
    if who.missing():
        warn(f"{len(who.missing())} fields are left to fill in: {', '.join(who.missing())}.")


def approve(
    release_folder: o.ReleaseFolder,
    ledger: Path | None = o.option("Ledger it was charged to: all other charges are listed."),
    audit: Path | None = o.option("Folder of an audit of it: its verdict is stated."),
    out_file: Written = None,
) -> None:
    """Print the decision record of a release, filled in, for whoever has to approve it."""
    from dptopics.ledger.ledger import Ledger
    from dptopics.release import bundle
    from dptopics.release.officers.decision import decision
    from dptopics.release.report import read_audit
    from dptopics.release.report.promise import check_audit

    account = None if ledger is None else Ledger.open(ledger).to_dict()
    release, checks = bundle.load(release_folder), _verified(release_folder)
    told = None if audit is None else read_audit(audit)
    if told is not None:
        check_audit(release, told)
    _give(decision(release, account, checks=checks, audit=None if told is None else str(told["verdict"])), out_file)


def sign(
    release_folder: Path | None = o.argument("Folder of a release.", metavar="RELEASE", default=None),
    key: Path | None = o.option("The owner's private key (PEM)."),
    new_key: Path | None = o.option("Write a new private key here, and the public one beside it (.pub)."),
) -> None:
    """Sign a release with the owner's key, or make a key."""
    from dptopics.release.officers.verification import signatures

    if new_key is not None:
        if release_folder is not None or key is not None:
            raise InputError(
                "--new-key only makes a key. Sign with it afterwards: dptopics officer sign RELEASE --key FILE"
            )
        public = signatures().new_key(new_key)
        where = f"[bold]{o.escape_path(new_key)}[/]; keep it to yourself. Public: [bold]{o.escape_path(public)}[/]."
        err.print(f"Private key: {where}")
        return
    if release_folder is None or key is None:
        raise InputError(
            "say what to sign and with which key: dptopics officer sign RELEASE --key FILE (or --new-key FILE)."
        )
    _verified(release_folder)
    fingerprint = signatures().sign(release_folder, key)
    err.print(f"Signed with the key [bold]{fingerprint}[/].", highlight=False)


def verify(
    release_folder: o.ReleaseFolder,
    key: Path | None = o.option("Public key that must have signed it (PEM)."),
    as_json: o.Json = False,
) -> None:
    """Check a release: its files, its signature if there is one, its card against its plan, and its ε."""
    found = _verified(release_folder, key)
    if as_json:
        print_json(found.to_dict())
        return
    for line in found.lines():
        out.print(escape(line), highlight=False)
    if found.signed_by is not None and key is None:
        warn("whose key that is was not checked: give --key FILE.")


def _verified(release_folder: Path, key: Path | None = None) -> "Verified":
    """All checks, with the mechanism made once more from the plan."""
    from dptopics.plan import plan_of
    from dptopics.release.officers import verification

    def rebuild(release: "Release[Any]", folder: Path) -> Any:
        plan = plan_of(release, folder)
        return None if plan is None else plan.build()

    return verification.verify(release_folder, key, rebuild=rebuild)


def _give(text: str, out_file: Path | None) -> None:
    """To a new file, or to standard output."""
    if out_file is None:
        print(text, end="")
        return
    check_new(out_file)
    out_file.write_text(text, "utf-8")
    err.print(f"Written to [bold]{o.escape_path(out_file)}[/].")
