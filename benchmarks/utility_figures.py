"""Settings chosen with each corpus left out, the bars, and the tables of docs/utility.md, from results/utility/."""

from pathlib import Path
from typing import Any

import numpy as np

from results import save
from utility_corpora import CORPORA

DOCS = Path(__file__).parent.parent / "docs"
BEGIN, END = "<!-- table: written by benchmarks/utility.py -->", "<!-- end of the table -->"
Runs = dict[str, dict[str, Any]]  # corpus → key → what was measured


def runs_of(one: dict[str, Any], kind: str, setting: str, epsilon: float) -> list[dict[str, Any]]:
    """All seeds of a cell, each with LDA's run of the same seed beside it."""
    found = []
    for seed in range(10):
        run = one.get(f"{kind} | {setting} | {epsilon} | {seed}")
        plain = one.get(f"lda |  | 0.0 | {seed}", one.get("lda |  | 0.0 | 0"))
        if run is not None and plain is not None and "failed" not in run:
            more = {} if run.get("nmi") is None else {"lda_nmi": plain["nmi"], "lda_ami": plain["ami"]}
            found.append(run | more)
    return found


def mean(runs: list[dict[str, Any]], name: str) -> float | None:
    """Over seeds that have it."""
    values = [run[name] for run in runs if run.get(name) is not None]
    return float(np.mean(values)) if values else None


def error(runs: list[dict[str, Any]], name: str) -> float:
    """Standard error of the mean over seeds; zero for a single one."""
    values = [run[name] for run in runs if run.get(name) is not None]
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def ahead(runs: list[dict[str, Any]], name: str) -> float | None:
    """How far ahead of LDA, mean over seeds."""
    values = [run[name] - run[f"lda_{name}"] for run in runs if run.get(name) is not None and f"lda_{name}" in run]
    return float(np.mean(values)) if values else None


def worth(runs: list[dict[str, Any]]) -> float:
    """What is chosen by: the mean of both leads over LDA, as far as there are such."""
    leads = [lead for lead in (ahead(runs, "npmi"), ahead(runs, "nmi")) if lead is not None]
    return float(np.mean(leads)) if leads else 0.0


def chosen(done: Runs, candidates: list[str]) -> dict[str, str]:
    """The setting of each corpus, chosen on corpora of other files alone: the usual one unless another is ahead."""
    first = {n: {s: runs_of(one, "embedded", s, 1.0)[:1] for s in candidates} for n, one in done.items()}
    worths = {n: {s: worth(runs) for s, runs in each.items()} for n, each in first.items() if all(each.values())}
    found = {}
    for name in done:
        others = [n for n in worths if CORPORA[n].file != CORPORA[name].file]
        leads = {s: [worths[n][s] - worths[n][candidates[0]] for n in others] for s in candidates}
        # Nothing is taken for a lead that chance explains: two standard errors over corpora.
        sure = {s: np.mean(lead) - 2 * np.std(lead) / np.sqrt(len(lead)) for s, lead in leads.items()}
        found[name] = max(candidates, key=lambda s: sure[s])
    return found


def _number(value: float | None, form: str = ".3f") -> str:
    return "–" if value is None else f"{value:{form}}"


def _row(name: str, kind: str, runs: list[dict[str, Any]]) -> str:
    columns = [
        name,
        kind,
        f"{_number(mean(runs, 'found'), '.1f')} of {runs[0]['asked']}",
        _number(mean(runs, "npmi")),
        _number(ahead(runs, "npmi"), "+.3f"),
        _number(mean(runs, "outside")),
        _number(mean(runs, "nmi")),
        _number(ahead(runs, "nmi"), "+.3f"),
        _number(mean(runs, "ami")),
        _number(mean(runs, "diversity"), ".2f"),
        _number(None if (m := mean(runs, "unwritten")) is None else 100 * m, ".2f"),
    ]
    return "| " + " | ".join(columns) + " |"


_HEAD = [
    "| corpus | topics by | found | NPMI | less LDA's | outside | NMI | less LDA's | AMI | diversity | unwritten, % |",
    "|---|---|---|---|---|---|---|---|---|---|---|",
]
_OTHERS = (("mixture", ""), ("variational", ""), ("auto", ""), ("clusters", ""), ("minilm", ""))
_NAMES = {"auto": "`embedded`, automatic number", "clusters": "embedding clusters, not private"}
_NAMES |= {"mixture": "`mixture`", "variational": "`variational`", "minilm": "`embedded`, MiniLM"}


def tables(done: Runs, candidates: list[str]) -> str:
    """ε = 1, ε = 3, and what was chosen."""
    settings = chosen(done, candidates)
    lines = ["### ε = 1", "", *_HEAD]
    for name, one in done.items():
        lines.append(_row(name, "**`embedded`**", runs_of(one, "embedded", settings[name], 1.0)))
        for kind, setting in _OTHERS:
            epsilon = 0.0 if kind == "clusters" else 1.0
            if runs := runs_of(one, kind, setting, epsilon):
                lines.append(_row(name, _NAMES[kind], runs))
    lines += ["", "### ε = 3", "", *_HEAD]
    for name, one in done.items():
        if runs := runs_of(one, "embedded", candidates[0], 3.0):
            lines.append(_row(name, "`embedded`", runs))
        if runs := runs_of(one, "minilm", "", 3.0):
            lines.append(_row(name, _NAMES["minilm"], runs))
    lines += [
        "",
        "### Chosen with the corpus left out",
        "",
        "| corpus | setting | units | LDA's NMI |",
        "|---|---|---|---|",
    ]
    for name, one in done.items():
        runs = runs_of(one, "embedded", settings[name], 1.0)
        lines.append(f"| {name} | {settings[name]} | {runs[0]['units']:,} | {_number(mean(runs, 'lda_nmi'))} |")
    return "\n".join(lines)


def bars(done: Runs, candidates: list[str]) -> dict[str, Any]:
    """The bars, each with what was measured."""
    settings = chosen(done, candidates)
    usual = {n: runs_of(one, "embedded", settings[n], 1.0) for n, one in done.items()}
    more = {n: r for n, one in done.items() if (r := runs_of(one, "embedded", candidates[0], 3.0))}
    texts = {n: r for n, one in done.items() if (r := runs_of(one, "minilm", "", 1.0))}

    def leads(runs: dict[str, list[dict[str, Any]]], name: str) -> dict[str, float]:
        return {n: lead for n, r in runs.items() if (lead := ahead(r, name)) is not None}

    def average(values: Any) -> float | None:
        numbers = [v for v in values if v is not None]
        return float(np.mean(numbers)) if numbers else None

    coherence, agreement = leads(usual, "npmi"), leads(usual, "nmi")
    share = {n: (mean(r, "found") or 0.0) / r[0]["asked"] for n, r in usual.items()}
    behind, surely = {}, []
    for name, one in done.items():
        for measure in ("npmi", "nmi"):
            rivals = [runs_of(one, kind, "", 1.0) for kind in ("mixture", "variational")]
            rivals = [runs for runs in rivals if mean(runs, measure) is not None]
            ours = mean(usual[name], measure)
            if ours is None or not rivals:
                continue
            best = max(rivals, key=lambda runs: mean(runs, measure) or 0.0)
            behind[f"{name}, {measure}"] = lead = ours - (mean(best, measure) or 0.0)
            if lead < -0.01 - 2 * np.hypot(error(usual[name], measure), error(best, measure)):
                surely.append(f"{name}, {measure}")
    lowest, most_behind = min(coherence, key=lambda n: coherence[n]), min(behind, key=lambda n: behind[n])
    large = [share[n] for n, r in usual.items() if r[0]["units"] >= 15_000]
    middle = [share[n] for n, r in usual.items() if 7_000 <= r[0]["units"] < 15_000]
    return {
        "setting of each corpus": settings,
        "NPMI less LDA's, mean (at least -0.02)": average(coherence.values()),
        "NPMI less LDA's, lowest (at least -0.08)": {lowest: coherence[lowest]},
        "corpora below -0.08": sorted(n for n, lead in coherence.items() if lead < -0.08),
        "NMI less LDA's, mean (at least 0)": average(agreement.values()),
        "AMI less LDA's, mean": average(leads(usual, "ami").values()),
        "outside coherence less LDA's, mean": average(leads(usual, "outside").values()),
        "share of topics found from 15,000 units on (at least 0.75)": average(large),
        "share of topics found from 7,000 to 15,000 units (at least 0.4)": average(middle),
        "least share of topics found": {n: share[n] for n in [min(share, key=lambda n: share[n])]},
        "farthest behind another mechanism (at least -0.01)": {most_behind: behind[most_behind]},
        "behind another mechanism by more than 0.01 and two standard errors": surely,
        "diversity, mean (at least 0.85)": average(mean(r, "diversity") for r in usual.values()),
        "words shown that occur in no document, mean (at most 0.005)": average(
            mean(r, "unwritten") for r in usual.values()
        ),
        "weight of words that occur in no document, most (at most 0.05)": max(
            run["unwritten_mass"] for r in usual.values() for run in r
        ),
        "seconds, most": max(run["seconds"] for r in usual.values() for run in r),
        "ε = 3: NPMI less LDA's, mean (above 0)": average(leads(more, "npmi").values()),
        "ε = 3: NMI less LDA's, mean (above 0)": average(leads(more, "nmi").values()),
        "MiniLM: NMI less LDA's, mean (at least 0.05)": average(leads(texts, "nmi").values()),
        "MiniLM: corpora": sorted(texts),
    }


def write(found: list[dict[str, Any]], candidates: list[str]) -> None:
    """Choose, put the tables into docs/utility.md, and the bars into results/utility.json."""
    by_name = {one["corpus"]: one for one in found}
    done = {
        n: by_name[n]
        for n in CORPORA
        if n in by_name and all(runs_of(by_name[n], "embedded", setting, 1.0) for setting in candidates)
    }
    page = DOCS / "utility.md"
    before, _, rest = page.read_text("utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    page.write_text(f"{before}{BEGIN}\n{tables(done, candidates)}\n{END}{after}", "utf-8")
    found_bars = bars(done, candidates)
    save("utility", found_bars)
    for name, value in found_bars.items():
        print(name, value)
