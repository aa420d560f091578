"""Audits of models: plain ones, those trained elsewhere, and by planted documents. What the audit command shows."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.markup import escape
from rich.table import Table

from dptopics.cli import options as o
from dptopics.cli.streams import saved
from dptopics.cli.terminal import err, out, print_json, progress_bar
from dptopics.core.errors import InputError

if TYPE_CHECKING:
    from dptopics.audit.membership.attack import MembershipAudit
    from dptopics.audit.summary import Summary
    from dptopics.data.corpus import Corpus
    from dptopics.plan import Plan

_COLOURS = {"red": "bold white on red", "amber": "bold black on yellow", "green": "bold white on green"}


class Model(NamedTuple):
    """A model trained elsewhere, and the shadows that it is held against."""

    target: Path
    models: Path | None  # a folder of shadows; None: they are trained now, by this learner
    learner: str
    n_shadows: int
    trust_pickle: bool


def check_options(attack: str, target: Path | None, models: Path | None) -> None:
    """Refuse what does not go together, before anything is read."""
    if attack not in ("membership", "poison", "most-contributing"):
        raise InputError(f"--attack must be membership, poison or most-contributing, got {attack!r}.")
    if target is None and models is not None:
        raise InputError("--models are the shadows for a --target: name the model to attack.")
    if target is not None and attack == "poison":
        raise InputError("--attack poison trains models with planted documents: it cannot attack a finished --target.")
    if target is not None and attack == "most-contributing":
        raise InputError(
            "--attack most-contributing runs a mechanism many times: give --release or --plan, no --target."
        )


def show(summary: "Summary", out_folder: Path) -> None:
    """The light and its line, the table, the reasons, and where everything is."""
    light = str(summary.light)
    out.print(f"[{_COLOURS[light]}]{light.upper()}:[/] {escape(summary.headline)}", highlight=False)
    if summary.rows:
        table = Table(*summary.heads, title="NOT FOR RELEASE", title_justify="left")
        for row in summary.rows:
            table.add_row(*(escape(cell) for cell in row))
        out.print(table)
    for reason in summary.reasons:
        out.print(escape(reason), highlight=False)
    err.print(f"Written to [bold]{o.escape_path(out_folder)}[/]: results and models of private data. NOT FOR RELEASE.")


def attack_plain(corpus: "Corpus", learner: str, n_topics: int, how: dict[str, Any]) -> "MembershipAudit":
    """Membership inference against a learner without privacy."""
    from dptopics.audit.membership.attack import audit_membership
    from dptopics.audit.membership.models import audited_learner, of_learner
    from dptopics.core import progress

    made = audited_learner(learner, n_topics)
    with progress_bar("Training shadow models") as sink, progress.shown_by(sink):
        train = of_learner(made, corpus.counts())
        return audit_membership(train, corpus, claim=None, settings={"learner": repr(made)}, **how)


def attack_target(corpus: "Corpus", model: Model, out_folder: Path, as_json: bool) -> None:
    """Score the documents against a model trained elsewhere, with shadows of an earlier audit or trained now."""
    from dptopics.audit.membership import target_attack
    from dptopics.audit.membership.models import audited_learner, of_learner, read_target
    from dptopics.audit.membership.rates import check_enough, train_shadows
    from dptopics.core import progress

    topics, words = read_target(model.target, trust_pickle=model.trust_pickle)
    check_enough(corpus.n_documents, "document")
    folder = model.models
    if folder is None:
        folder, counts = out_folder, corpus.counts()
        learner = audited_learner(model.learner, len(topics))
        try:
            with progress_bar("Training shadow models") as sink, progress.shown_by(sink):
                train = of_learner(learner, counts)
                train_shadows(
                    train, counts, n_shadows=model.n_shadows, folder=folder, settings={"learner": repr(learner)},
                    words=corpus.words,
                )  # fmt: skip
        except KeyboardInterrupt:
            err.print(f"Stopped. Run the same command again: it goes on with the models in {folder}.", highlight=False)
            sys.exit(130)
    with progress_bar("Asking the shadow models") as sink, progress.shown_by(sink):
        result = target_attack.attack_target(target_attack.read_shadows(folder), topics, words, corpus)
    result.save(out_folder)
    saved(out_folder)
    if as_json:
        print_json(result.to_dict())
        return
    show(result.summary(), out_folder)


def poison(corpus: "Corpus", plan: "Plan | None", runs: int, out_folder: Path, as_json: bool) -> None:
    """Plant documents near a target, and see in so many runs whether its secret shows."""
    from dptopics.audit.poison import PLAIN, audit_by_poison, of_plan
    from dptopics.core import progress

    victims = PLAIN if plan is None else (*PLAIN, of_plan(plan))
    with progress_bar("Planting documents and training models") as sink, progress.shown_by(sink):
        result = audit_by_poison(victims, corpus, runs=runs, rehearsals=max(2, runs // 10))
    result.save(out_folder)
    saved(out_folder)
    if as_json:
        print_json(result.to_dict())
        return
    show(result.summary(), out_folder)
