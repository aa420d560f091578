"""Audits of a private mechanism: is what it claims true? Part of the audit command."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dptopics.cli import options as o
from dptopics.cli.audit_model import show
from dptopics.cli.streams import saved
from dptopics.cli.terminal import err, out, print_json, progress_bar
from dptopics.core.errors import InputError

if TYPE_CHECKING:
    from dptopics.data.corpus import Corpus
    from dptopics.plan import Plan

VIOLATED = 5  # exit code


def attack_claim(
    corpus: "Corpus", plan: "Plan", out_folder: Path, *, trials: int | None, thorough: bool, as_json: bool
) -> None:
    """Try to refute what a plan's mechanism claims, with controls that show what the audit can see."""
    from dataclasses import replace

    from dptopics.audit.claim.examiner import Effort, audit_claim
    from dptopics.core import progress

    effort = Effort.thorough() if thorough else Effort()
    if trials is not None:
        effort = replace(effort, trials=trials)
    try:
        with progress_bar("Looking for holes, then for planted ones") as sink, progress.shown_by(sink):
            result = audit_claim(plan.build(), corpus, max_docs=plan.max_docs, effort=effort)
    except KeyboardInterrupt:
        err.print("Stopped. Nothing was written: run the same command again.", highlight=False)
        sys.exit(130)
    result = replace(result, settings={"plan": plan.to_dict()})
    result.save(out_folder)
    saved(out_folder)
    if as_json:
        print_json(result.to_dict())
    else:
        show(result.summary(), out_folder)
    if result.violated:
        sys.exit(VIOLATED)


def attack_most_contributing(
    corpus: "Corpus", plan: "Plan | None", pairs: int, out_folder: Path, as_json: bool
) -> None:
    """The attack of Ramadan, Withers & Orr 2021 (section 5) on a plan for n-grams."""
    from dptopics.audit.membership import ngrams
    from dptopics.core import progress
    from dptopics.mechanisms.mechanism import Job
    from dptopics.privacy.rng import secure_rng

    if plan is None or plan.job is not Job.NGRAMS:
        raise InputError("--attack most-contributing is for n-grams: give a --release of them, or a --plan.")
    with progress_bar("Releasing with the author and without") as sink, progress.shown_by(sink):
        found = ngrams.attack_most_contributing(
            plan.build(), corpus, repeats=pairs, rng=secure_rng(), max_docs=plan.max_docs
        )
    where = found.save(out_folder, settings={"plan": plan.to_dict()})
    saved(where)
    if as_json:
        print_json(found.to_dict())
        return
    out.print(str(found), highlight=False)
    err.print(f"Written to [bold]{o.escape_path(where)}[/]: a result of private data. NOT FOR RELEASE.")
