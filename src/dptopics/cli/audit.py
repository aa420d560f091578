"""The audit command: attack a topic model before somebody else does."""

import secrets
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dptopics.cli import audit_model
from dptopics.cli import options as o
from dptopics.cli.terminal import err, print_json, progress_bar
from dptopics.errors import InputError
from dptopics.privacy.guarantee import Unit
from dptopics.privacy.relation import Relation
from dptopics.public.text import TextSettings
from dptopics.public.word_lists import check_not_the_data

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dptopics.audit.epsilon import EpsilonAudit
    from dptopics.audit.membership import MembershipAudit
    from dptopics.data.corpus import Corpus
    from dptopics.plan import Plan


def audit(
    source: o.Source,
    text: o.TextColumnName,
    out_folder: Annotated[
        Path, typer.Option("--out", help="Folder for results and shadow models; an interrupted audit goes on there.")
    ],
    author: o.AuthorColumn = None,
    topics: Annotated[int, typer.Option(help="Number of topics.")] = 10,
    release_folder: Annotated[
        Path | None,
        typer.Option("--release", help="Attack exactly what made this release: its own plan.", show_default=False),
    ] = None,
    plan_file: Annotated[
        Path | None,
        typer.Option("--plan", help="Attack what this plan would release (TOML or JSON).", show_default=False),
    ] = None,
    mechanism: Annotated[
        str | None, typer.Option(help="Private mechanism to attack; without one, a plain topic model is attacked.")
    ] = None,
    epsilon: Annotated[float, typer.Option(help="Claimed ε of the mechanism.")] = 1.0,
    delta: Annotated[float, typer.Option(help="Claimed δ of the mechanism.")] = 1e-6,
    vocabulary: Annotated[
        str | None, typer.Option(help="Vocabulary of the mechanism, as for fit.", show_default="as for fit")
    ] = None,
    shadows: Annotated[int, typer.Option(help="Shadow models to train.")] = 128,
    repeats: Annotated[
        int | None, typer.Option(help="Models to attack: more give steadier rates.", show_default="all shadows")
    ] = None,
    canaries: Annotated[int, typer.Option(help="Units planted in one run for a lower bound on ε (0: none).")] = 400,
    trials: Annotated[
        int, typer.Option(help="Runs with one planted unit, in or out, for a sharper lower bound on ε (0: none).")
    ] = 0,
    target: Annotated[
        Path | None,
        typer.Option(help="Attack this model: a release, or what gensim, scikit-learn, tomotopy or BERTopic saved."),
    ] = None,
    models: Annotated[
        Path | None, typer.Option(help="With --target: folder (--out) of an earlier audit, whose shadows serve again.")
    ] = None,
    learner: Annotated[
        str, typer.Option(help="Of plain models and their shadows: gibbs, variational, sklearn, gensim, tomotopy, …")
    ] = "gibbs",
    attack: Annotated[
        str, typer.Option(help="membership: who was in? poison: do planted texts draw a secret out (in --trials runs)?")
    ] = "membership",
    trust_pickle: Annotated[
        bool, typer.Option("--trust-pickle", help="Read pickles (gensim, joblib) of --target: this runs their code.")
    ] = False,
    language: o.Language = "english",
    drop_missing: o.DropMissing = False,
    encoding: o.Encoding = "utf8",
    as_json: o.Json = False,
) -> None:
    """Attack a topic model of your texts by membership inference. Spends no budget; results are not for release."""
    from dptopics import progress
    from dptopics.data.corpus import Corpus

    if (out_folder / "audit.json").exists():
        raise InputError(f"the folder {str(out_folder)!r} holds an audit already. Choose another name, or remove it.")
    audit_model.check_options(attack, target, models)
    check_not_the_data(vocabulary, source)
    unit = Unit.DOCUMENT if author is None else Unit.AUTHOR
    settings: dict[str, Any] = {"mechanism": mechanism, "vocabulary": vocabulary, "n_topics": topics}
    settings |= {"epsilon": epsilon, "delta": delta, "unit": unit, "text": TextSettings(language=language)}
    plan = _plan(release_folder, plan_file, settings)
    if plan is None and trials and attack == "membership":
        raise InputError("--trials bounds the ε of a mechanism. Name one with --mechanism, or give --release.")
    if plan is not None and plan.unit is Unit.AUTHOR and author is None:
        raise InputError("the plan protects authors: name their column (--author).")
    reading = settings["text"] if plan is None else plan.text
    with progress_bar("Reading texts") as sink, progress.shown_by(sink):
        corpus = Corpus.from_table(
            source, text=text, author=author, settings=reading, drop_missing=drop_missing, encoding=encoding
        )
    if attack == "poison":
        audit_model.poison(corpus, plan, trials or 100, out_folder, as_json)
        return
    if target is not None:
        model = audit_model.Model(target, models, learner, shadows, trust_pickle)
        audit_model.attack_target(corpus, model, out_folder, as_json)
        return
    how = {"n_shadows": shadows, "repeats": repeats, "by_author": author is not None, "folder": out_folder}
    try:
        result = _attacked(corpus, plan, (learner, topics), how, canaries, trials)
    except KeyboardInterrupt:
        err.print(f"Stopped. Run the same command again: it goes on with the models in {out_folder}.", highlight=False)
        sys.exit(130)
    if not result.save(out_folder):
        err.print(
            "No plots: install matplotlib (pip install 'dptopics\\[plots]') for roc.png and roc.svg.", highlight=False
        )
    if as_json:
        print_json(result.to_dict())
        return
    audit_model.show(result.summary(), out_folder)


def _attacked(
    corpus: "Corpus", plan: "Plan | None", plain: tuple[str, int], how: dict[str, Any], canaries: int, trials: int
) -> "MembershipAudit":
    """Shadow models of a plain learner or of a plan's mechanism, and canaries against what the plan claims."""
    from dptopics import progress
    from dptopics.audit.membership import audit_membership
    from dptopics.audit.targets import of_mechanism
    from dptopics.release.release import describe

    if plan is None:
        return audit_model.attack_plain(corpus, *plain, how)
    mechanism = plan.build()
    settings = {"mechanism": describe(mechanism), "plan": plan.to_dict()}
    with progress_bar("Training shadow models") as sink, progress.shown_by(sink):
        train = of_mechanism(mechanism, corpus, max_docs=plan.max_docs)
        result = audit_membership(train, corpus, claim=mechanism.guarantee, settings=settings, **how)
    if mechanism.guarantee.relation is not Relation.ADD_OR_REMOVE:
        return result
    return replace(result, lower_bounds=tuple(_bounds(mechanism, corpus, plan, canaries, trials)))


def _bounds(mechanism: Any, corpus: "Corpus", plan: "Plan", canaries: int, trials: int) -> "Iterator[EpsilonAudit]":
    """Lower bounds on ε, by as many canaries and trials as were asked for."""
    import numpy as np

    from dptopics import progress
    from dptopics.audit.canaries import audit_by_trials, audit_one_run

    how: dict[str, Any] = {"rng": np.random.default_rng(secrets.randbits(128)), "max_docs": plan.max_docs}
    if canaries:
        with err.status("Running the mechanism once with canaries"):
            yield audit_one_run(mechanism, corpus, canaries=canaries, guesses=(canaries + 3) // 4, **how)
    if trials:
        with progress_bar("Running the mechanism with a canary in or out") as sink, progress.shown_by(sink):
            yield audit_by_trials(mechanism, corpus, trials=trials, **how)


def _plan(release_folder: Path | None, plan_file: Path | None, settings: dict[str, Any]) -> "Plan | None":
    """What is attacked: the plan of a release, one in a file, or the one that the options make."""
    from dptopics.plan import Plan, read_plan
    from dptopics.public.given import Given
    from dptopics.release import bundle
    from dptopics.release.vocabulary import Vocabulary

    asked = [name for name, value in (("--release", release_folder), ("--plan", plan_file)) if value is not None]
    asked += ["--mechanism"] if settings["mechanism"] is not None else []
    if len(asked) > 1:
        raise InputError(f"{' and '.join(asked)} both say what to attack. Give one of them.")
    if plan_file is not None:
        return read_plan(plan_file)
    if release_folder is None:
        return None if settings["mechanism"] is None else Plan.topics(**settings)
    release = bundle.load(release_folder)
    if release.record.plan is None:
        raise InputError(
            "this release was made before plans were kept: nobody can tell exactly what made it. Name its settings "
            "(--mechanism, --vocabulary, --topics, --epsilon, --delta), or release again."
        )
    words = Given.words(Vocabulary(release.value.vocabulary.words))
    return Plan.from_dict(release.record.plan, folder=release_folder, known=(words,))
