"""The summary of an audit: a light, one line, a table and the reasons, also as a page. NOT FOR RELEASE."""

import json
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from dptopics.core import notebook
from dptopics.core.settings import Choice

_SURE = 10  # times as many found as by guessing: beyond chance
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #1a1a1a; }
.mark { background: #1a1a1a; color: #fff; padding: .4rem .8rem; font-weight: 600; }
.light { border-left: 1rem solid; padding: .6rem 1rem; font-size: 1.25rem; background: #f5f5f5; }
.red { border-color: #b00020; } .amber { border-color: #c77700; } .green { border-color: #1b7f3b; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .3rem .6rem; }
tr { border-bottom: 1px solid #ddd; }
"""


class Light(Choice):
    """Red: people are exposed. Amber: some evidence, or an inconclusive audit. Green: nothing found, and a leak would
    have been detected."""

    RED = "red"
    AMBER = "amber"
    GREEN = "green"


@dataclass(frozen=True)
class Summary:
    """A light with one line that needs no explanation, then a table (heads and rows), then reasons in sentences."""

    light: Light
    headline: str
    heads: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    reasons: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The first line of everything, with the light as its first word."""
        return f"{str(self.light).upper()}: {self.headline}"

    def _repr_html_(self) -> str:
        rows = notebook.table(self.heads, self.rows, title=self.line)
        return notebook.marked("NOT FOR RELEASE", rows + "".join(f"<p>{escape(reason)}</p>" for reason in self.reasons))

    def to_dict(self) -> dict[str, Any]:
        return {
            "light": str(self.light),
            "headline": self.headline,
            "table": {"heads": list(self.heads), "rows": [list(row) for row in self.rows]},
            "reasons": list(self.reasons),
        }


class Audited:
    """An audit with a summary, which notebooks display and ``save`` writes as a page."""

    title: ClassVar[str]

    def summary(self) -> Summary:
        """The light, the table and the reasons."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """What was found, for audit.json."""
        raise NotImplementedError

    def save(self, folder: Path) -> bool:
        """Write audit.json and audit.html; False if a picture could not be drawn."""
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / "audit.json").write_text(json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n", "utf-8")
        (folder / "audit.html").write_text(page(self.summary(), title=self.title), "utf-8")
        return True

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


def light_of(low: float, high: float, guessing: float, whose: str) -> tuple[Light, str]:
    """The light and its line, from the limits of what the best attack finds at a false positive rate."""
    alarms = f"accusing 1 in {1 / guessing:,.0f} others wrongly"
    if low >= min(_SURE * guessing, 0.5):
        return Light.RED, f"an outsider can identify at least {low:.0%} of {whose} as used, {alarms}."
    if low > guessing:
        return Light.AMBER, f"an outsider can identify some of {whose} (at least {low:.1%}) as used, {alarms}."
    if high <= _SURE * guessing:
        return Light.GREEN, (
            f"no attack identified who was used better than guessing, {alarms}; more than {high:.1%} of {whose} would "
            "have been detected. This is not a proof: other attacks may find more."
        )
    return Light.AMBER, (
        f"no attack identified who was used, but this audit cannot rule out up to {high:.0%} of {whose}. Give it more "
        "documents or authors, or more shadows."
    )


def page(summary: Summary, *, title: str) -> str:
    """The summary as one HTML page that loads nothing; the curves are in roc.png."""
    table = notebook.table(summary.heads, summary.rows) if summary.rows else ""
    reasons = "".join(f"<p>{escape(reason)}</p>" for reason in summary.reasons)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>NOT FOR RELEASE: {escape(title)}</title><style>{_STYLE}</style></head><body>"
        '<p class="mark">NOT FOR RELEASE: computed from private data without noise</p>'
        f'<h1>{escape(title)}</h1><p class="light {summary.light}"><strong>{escape(summary.line)}</strong></p>'
        f"{table}{reasons}</body></html>\n"
    )
