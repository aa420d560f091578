"""Audits of a private mechanism: is what it claims true? Part of the audit command."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dptopics.cli.audit_model import show
from dptopics.cli.terminal import err, print_json, progress_bar

if TYPE_CHECKING:
    from dptopics.data.corpus import Corpus
    from dptopics.plan import Plan

VIOLATED = 5  # exit code


def attack_claim(
    corpus: "Corpus", plan: "Plan", out_folder: Path, *, trials: int | None, thorough: bool, as_json: bool
) -> None:
    """Try to refute what a plan's mechanism claims, with controls that show what the audit can see."""
    from dataclasses import replace

    from dptopics import progress
    from dptopics.audit.claim import Effort, audit_claim

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
    if as_json:
        print_json(result.to_dict())
    else:
        show(result.summary(), out_folder)
    if result.violated:
        sys.exit(VIOLATED)
