"""The report: a release, the account it was charged to, and its audit, as a single HTML file that needs no network."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dptopics.core.errors import InputError
from dptopics.core.files import check_new
from dptopics.privacy.guarantee import Guarantee, Strength, Unit
from dptopics.release.counts import CountTable
from dptopics.release.release import Release
from dptopics.release.report.content import check_counts, contents
from dptopics.release.report.content import check_labels as check_labels
from dptopics.release.report.page import assemble
from dptopics.release.report.promise import check_audit
from dptopics.release.topic_model import TopicModel

LARGEST_PAGE = 3_000_000  # bytes
_WORDS_SHOWN = 30
_FEWEST_WORDS = 3


def render(
    release: Release[Any] | TopicModel,
    *,
    ledger: dict[str, Any] | None = None,
    audit: dict[str, Any] | None = None,
    labels: Mapping[str, Any] | None = None,
    counts: Release[CountTable] | None = None,
    before: Release[Any] | None = None,
) -> str:
    """The page as text.

    Args:
        release: what is shown; topics from elsewhere are marked as not private.
        ledger: the account (:meth:`dptopics.Ledger.to_dict`).
        audit: the content of ``audit.json``. The page is then marked as not for release.
        labels: names of the topics (``dptopics label --out``).
        counts: a release of counts of these topics, for sizes, trends and groups. Its own price is shown with it.
        before: an earlier release of the same kind (with counts: of counts), to show what rose and what fell.
    """
    if isinstance(release, TopicModel):
        release = unprotected(release)
    if audit is not None:
        check_audit(release, audit)
    if not isinstance(release.value, TopicModel) and (labels is not None or counts is not None):
        raise InputError("labels and counts belong to topics, and this release has none. Leave them out.")
    if counts is not None:
        check_counts(release.value, counts.value_of(CountTable))
    more: dict[str, Any] = {"ledger": ledger, "audit": audit, "counts": counts, "before": before}
    shown = _WORDS_SHOWN
    while True:
        data = contents(release.value, shown, labels)
        page = assemble(release, data, **more)
        if len(page.encode()) <= LARGEST_PAGE:
            return page
        if shown <= _FEWEST_WORDS:
            raise InputError(
                f"the page would be larger than {LARGEST_PAGE // 10**6} MB even with {shown} words for each topic. "
                "Show fewer topics."
            )
        shown //= 2


def write(release: Release[Any] | TopicModel, path: str | Path, **shown: Any) -> Path:
    """Write the page of :func:`render` to a new file."""
    path = check_target(path)
    page = render(release, **shown)
    with open(path, "x", encoding="utf-8", newline="\n") as file:
        file.write(page)
    return path


def check_target(path: str | Path) -> Path:
    """Refuse a file that exists, or whose folder does not."""
    path = Path(path)
    check_new(path)
    if not path.absolute().parent.is_dir():
        raise InputError(f"the folder {str(path.absolute().parent)!r} does not exist. Create it first.")
    return path


def read_audit(folder: str | Path) -> dict[str, Any]:
    """What ``dptopics audit`` wrote into its folder."""
    path = Path(folder)
    data = _read(path / "audit.json" if path.is_dir() else path, "audit", "the folder that dptopics audit wrote")
    if "verdict" not in data:
        raise InputError(f"{str(path)!r} is not an audit. Give the folder that dptopics audit wrote.")
    return data


def read_labels(path: str | Path) -> dict[str, Any]:
    """What ``dptopics label --out`` wrote."""
    return _read(Path(path), "file of labels", "the file that dptopics label --out wrote")


def _read(path: Path, what: str, wrote: str) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text("utf-8"))
        if not isinstance(data, dict):
            raise TypeError
    except (OSError, TypeError, ValueError, RecursionError) as error:
        told = f"there is no {what} at {str(path)!r}, or it cannot be read ({type(error).__name__}). Give {wrote}."
        raise InputError(told) from None
    return data


def unprotected(model: TopicModel) -> Release[TopicModel]:
    """Topics of another tool, as a release that guarantees nothing."""
    said = ("These topics were learned elsewhere, in an unknown way: nothing is guaranteed.",)
    guarantee = Guarantee(events=(), delta=0.0, unit=Unit.DOCUMENT, strength=Strength.NONE, assumptions=said)
    return Release(value=model, guarantee=guarantee, settings={"mechanism": "unknown"})
