"""The audit commands: attack a topic model, or test what a private mechanism claims, before somebody else does."""

import sys
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from dptopics.cli import options as o
from dptopics.cli.publishing import stoppable
from dptopics.cli.settings import read_settings
from dptopics.cli.source import Language, MemoryTable, Texts
from dptopics.cli.streams import saved
from dptopics.cli.terminal import err, out, print_json, warn, working
from dptopics.cli.words import public_ngrams
from dptopics.core.errors import InputError
from dptopics.core.text import TextSettings
from dptopics.privacy.guarantee import Unit

if TYPE_CHECKING:
    from dptopics.data.corpus import Corpus
    from dptopics.data.public_inputs import PublicInput
    from dptopics.plan import Plan

VIOLATED, NOT_ENOUGH = 5, 6  # exit codes
_COLUMNS = ("word", "document", "missing_word")  # of the monitor
_COLOURS = {"red": "bold white on red", "amber": "bold black on yellow", "green": "bold white on green"}
_AUDITED = ("topics", "vocabulary", "n-grams", "counts")


@dataclass(frozen=True, kw_only=True)
class Audited(o.Group):
    """What is attacked: a release, a plan, or a mechanism by name."""

    release_folder: Path | None = o.option("Exactly what made this release: its own plan.", "--release")
    plan_file: Path | None = o.option("What this plan would release (TOML or JSON).", "--plan")
    mechanism: str | None = o.option("A private mechanism for topics or a vocabulary, by name.")
    settings: o.Set = None
    epsilon: float = o.option("Claimed ε of the mechanism.", default=1.0)
    delta: float = o.option("Claimed δ of the mechanism.", default=1e-06)
    vocabulary: str | None = o.option("Vocabulary of the mechanism, as for fit.", shown="as for fit")
    topics: int = o.option("Number of topics.", default=10)
    public: Path | None = o.option("Public n-grams of a --release of n-grams, as they were given to it.")
    public_text: str | None = o.option("Column of the public texts.", shown="the same as --text")
    out_folder: Path = o.option(
        "Folder for results and shadow models; an interrupted audit goes on there.",
        "--out",
        default=o.REQUIRED,
    )
    as_json: o.Json = False

    def plan(self, table: MemoryTable, words: Language) -> "Plan | None":
        """The plan of a release, one in a file, or the one that the options make; None: a plain model is attacked."""
        if any((self.out_folder / name).exists() for name in ("audit.json", "ngram_attack.json")):
            where = repr(str(self.out_folder))
            raise InputError(f"the folder {where} holds an audit already. Choose another name, or remove it.")
        table.check_public(self.vocabulary, self.public)
        given = {"--release": self.release_folder, "--plan": self.plan_file, "--mechanism": self.mechanism}
        asked = [name for name, value in given.items() if value is not None]
        if len(asked) > 1:
            raise InputError(f"{' and '.join(asked)} both say what to attack. Give one of them.")
        if self.settings and self.mechanism is None:
            raise InputError("--set is for a --mechanism: a release and a plan say their settings, a plain model none.")
        found = self._plan(table, words) if asked else None
        if found is not None and found.job not in _AUDITED:
            raise InputError(f"this command audits topics, vocabularies, n-grams and counts, not {found.job}.")
        return found

    def _plan(self, table: MemoryTable, words: Language) -> "Plan":
        from dptopics.plan import plan_of, read_plan
        from dptopics.release import bundle

        if self.plan_file is not None:
            return read_plan(self.plan_file)
        if self.release_folder is None:
            return self._named(table, words.settings(table))
        release = bundle.load(self.release_folder)
        known: tuple[PublicInput, ...] = ()
        if self.public is not None and release.record.plan is not None:
            n, size = int(release.record.plan["text"]["ngrams"]), len(release.value.vocabulary.words)
            column = self.public_text or table.text
            known = (public_ngrams(self.public, column, n, size, table.encoding, words.tokenizer),)
        plan = plan_of(release, self.release_folder, known)
        if plan is None:
            raise InputError(
                "this release was made before plans were kept: nobody can tell exactly what made it. Name its settings "
                "(--mechanism, --vocabulary, --topics, --epsilon, --delta), or release again."
            )
        return plan

    def about(self) -> tuple[str, tuple[str, ...]]:
        """The release, its day and version, and what was used to examine it; a note where the versions differ."""
        from dptopics.core import __version__
        from dptopics.release import bundle

        here = f"Examined with dptopics {__version__} on {date.today()}."
        if self.release_folder is None:
            return here, ()
        record, name = bundle.load(self.release_folder).record, self.release_folder.resolve().name
        made = f"dptopics {record.version or 'of an unknown version'}"
        other = f"The release was made by {made}. What that version did was not examined."
        day = f" on {record.day}" if record.day else ""
        return f"Release {name!r}, made by {made}{day}. {here}", () if record.version == __version__ else (other,)

    def _named(self, table: MemoryTable, text: TextSettings) -> "Plan":
        """The plan that the options make: topics, or a vocabulary alone."""
        from dptopics.plan import Plan
        from dptopics.registry import mechanisms

        assert self.mechanism is not None
        of_words = self.mechanism in mechanisms("vocabulary")
        if of_words and self.vocabulary is not None:
            raise InputError("--mechanism names a vocabulary already: leave --vocabulary out.")
        how: dict[str, Any] = read_settings(self.settings, "vocabulary" if of_words else "topics", self.mechanism)
        how |= {"mechanism": self.mechanism, "epsilon": self.epsilon, "delta": self.delta, "text": text}
        how["unit"] = Unit.DOCUMENT if table.author is None else Unit.AUTHOR
        return Plan.words(**how) if of_words else Plan.topics(vocabulary=self.vocabulary, n_topics=self.topics, **how)

    def keep(self, result: Any) -> bool:
        """Save a result and show it; whether there are plots."""
        plots = result.save(self.out_folder)
        saved(self.out_folder)
        if self.as_json:
            print_json(result.to_dict())
        else:
            _show(result.summary(), self.out_folder)
        return bool(plots)


def claim(
    table: MemoryTable,
    audited: Audited,
    words: Language,
    trials: int | None = o.option(
        "Trials of the distinguishing test; fewer are not enough.", shown="2000; thorough 16000", min=4
    ),
    thorough: bool = o.flag("Spend up to half an hour."),
) -> None:
    """Test what a private mechanism claims, and say what the tests could have seen. Not for release.

    Name a --release, a --plan or a --mechanism. Spends no budget. Exit code 5: the claim is violated; 6: nothing was
    found, but not enough was tried.
    """
    from dptopics.audit.claim.examiner import Effort, audit_claim
    from dptopics.data.cells import invented_cells

    plan = audited.plan(table, words)
    if plan is None:
        raise InputError("say whose claim to test: --release FOLDER, --plan FILE or --mechanism NAME.")
    effort = Effort.thorough() if thorough else Effort()
    if trials is not None:
        effort = replace(effort, trials=trials)
    if plan.job == "counts":  # on invented people: where these texts fall is not what their claim is about
        counts: Any = plan.build()
        by_author, numbered = plan.unit is Unit.AUTHOR, bool(counts.vector_width)
        corpus: Any = invented_cells(counts.entries.n_cells, with_authors=by_author, with_numbers=numbered)
    else:
        corpus = _read(table, plan, words)
    with stoppable("Nothing was written: run the same command again."), working("Looking for holes"):
        result = audit_claim(plan.build(), corpus, max_docs=plan.max_docs, effort=effort)
    about, notes = audited.about()
    result = replace(result, settings={"plan": plan.to_dict()}, about=about, notes=(*result.notes, *notes))
    audited.keep(result)
    if not result.enough or result.violated:
        sys.exit(VIOLATED if result.violated else NOT_ENOUGH)


def membership(
    table: MemoryTable,
    audited: Audited,
    words: Language,
    learner: str = o.option(
        "Of plain models and their shadows: gibbs, variational, sklearn, gensim, tomotopy, spectral, lsi, plsa or hdp.",
        default="gibbs",
    ),
    target: Path | None = o.option(
        "Attack this model: a release, or what gensim, scikit-learn, tomotopy or BERTopic saved."
    ),
    models: Path | None = o.option("With --target: folder (--out) of an earlier audit, whose shadows serve again."),
    trust_pickle: bool = o.flag("Read pickles (gensim, joblib) of --target: this runs their code."),
    shadows: int = o.option("Shadow models to train.", default=128),
    repeats: int | None = o.option("Models to attack: more give steadier rates.", shown="all shadows"),
    trials: int | None = o.option(
        "N-grams: pairs of releases, with the author of most of them and without.", shown="100", min=4
    ),
) -> None:
    """Ask who was in the data: of a plain topic model, a --target, a mechanism's topics or n-grams. Not for release.

    Without --release, --plan or --mechanism a plain model is attacked. Spends no budget.
    """
    plan = audited.plan(table, words)
    _check_membership(plan, target, models, trials)
    corpus = _read(table, plan, words)
    if plan is not None and plan.job == "n-grams":
        _attack_ngrams(corpus, plan, audited, trials or 100)
        return
    with stoppable(f"Run the same command again: it goes on with the models in {audited.out_folder}."):
        if target is not None:
            train = None if models else (learner, shadows)
            audited.keep(_attack_target(corpus, target, models or audited.out_folder, train, trust_pickle))
            return
        how = {"n_shadows": shadows, "repeats": repeats, "by_author": table.author is not None}
        result = _attack_shadows(corpus, plan, (learner, audited.topics), how | {"folder": audited.out_folder})
    if not audited.keep(result):
        err.print(
            "No plots: install matplotlib (pip install 'dptopics\\[plots]') for roc.png and roc.svg.", highlight=False
        )


def _check_membership(plan: "Plan | None", target: Path | None, models: Path | None, trials: int | None) -> None:
    """Refuse what does not go together, before anything is read."""
    if target is None and models is not None:
        raise InputError("--models are the shadows for a --target: name the model to attack.")
    if plan is not None and target is not None:
        raise InputError("a --target is attacked as it is: leave --release, --plan and --mechanism out.")
    if trials is not None and (plan is None or plan.job != "n-grams"):
        raise InputError("--trials is for n-grams. What a mechanism claims is tested by: dptopics audit claim")
    if plan is not None and plan.job in ("counts", "vocabulary"):
        raise InputError(f"{plan.job} have no model to attack: test their claim (dptopics audit claim).")


def poison(
    table: MemoryTable,
    audited: Audited,
    words: Language,
    trials: int = o.option("Runs: models trained with planted texts.", default=100, min=4),
) -> None:
    """Ask whether planted texts draw a secret out of a model: of plain ones, and a mechanism beside. Not for release.

    Spends no budget.
    """
    from dptopics.audit.poison import PLAIN, audit_by_poison, of_plan

    plan = audited.plan(table, words)
    if plan is not None and plan.job == "counts":
        raise InputError("counts have no model to attack: test their claim (dptopics audit claim).")
    corpus = _read(table, plan, words)
    victims = PLAIN if plan is None else (*PLAIN, of_plan(plan))
    with working("Planting documents and training models"):
        result = audit_by_poison(victims, corpus, runs=trials, rehearsals=max(2, trials // 10))
    audited.keep(result)


def monitor(
    texts: Texts,
    reading: Language,
    topics: int = o.option("Number of topics.", default=50),
    sweeps: int = o.option("Sweeps of the sampler.", default=300),
    alpha: float = o.option("Prior of a document's topics.", default=0.1),
    beta: float = o.option("Prior of a topic's words.", default=0.01),
    vocabulary: int = o.option("Keep the so many most frequent words.", default=1000),
    longest_document: int | None = o.option("Tokens of a document at most (N_max).", shown="the longest there is"),
    runs: int = o.option("Runs from other starts: the spread is shown.", default=1),
    as_json: o.Json = False,
) -> None:
    """Watch how much a Gibbs sampler's draws hang on single words and documents. No guarantee; not for release."""
    import numpy as np

    from dptopics.audit.monitor import monitor_gibbs
    from dptopics.core import progress
    from dptopics.core.vocabulary import Vocabulary
    from dptopics.learners.lda import GibbsLda

    if min(sweeps, vocabulary, runs) < 1:
        raise InputError(f"sweeps, vocabulary and runs must be at least 1, got {sweeps}, {vocabulary} and {runs}.")
    learner = GibbsLda(n_topics=topics, alpha=alpha, beta=beta, sweeps=sweeps)
    with working("Reading texts"):
        corpus = texts.read(reading.settings(texts))
    total = np.bincount(corpus.word, corpus.count, len(corpus.words))
    words = Vocabulary.of(corpus.words[i] for i in np.argsort(-total, kind="stable")[:vocabulary])
    with working("Sampling"):
        counts, results = corpus.counts(words), []
        for number in range(runs):
            with progress.part(number / runs, (number + 1) / runs):
                started = replace(learner, key=learner.key + number)
                results.append(monitor_gibbs(counts, started, longest_document=longest_document))
    if not as_json:
        _show_levels(results, sweeps)
        return
    content = results[0].to_dict()
    if runs > 1:
        content["last_sweep_of_each_run"] = [
            {"word": one.word[-1], "document": one.document[-1], "same_word_missing": one.missing_word[-1]}
            for one in results
        ]
    print_json(content)


def _show_levels(results: list[Any], sweeps: int) -> None:
    """The levels at ten times of the run, and what they leave out."""
    import numpy as np

    from dptopics.audit.monitor import WHAT_IT_SAYS

    result = results[0]
    heads = "Sweeps", "Word level (N = 1)", f"Document level (N = {result.longest_document})", "Same word missing"
    table = Table(*heads, title="NOT FOR RELEASE", title_justify="left")
    for sweep in sorted({max(1, round(sweeps * part / 10)) for part in range(1, 11)}):
        curves = (np.array([getattr(one, name)[sweep - 1] for one in results]) for name in _COLUMNS)
        table.add_row(str(sweep), *(_mean_and_range(values) for values in curves))
    out.print(table)
    last = (result.printed_word[-1], result.printed_document[-1])
    out.print(f"Algorithm 1 as printed says {last[0]:.4g} and {last[1]:.4g}: its step 4 adds nothing.", highlight=False)
    times = max(float(one.missing_word[-1] / one.word[-1]) for one in results)
    out.print(
        f"A missing token of the same word moves this run's draws {times:,.0f} times as far as the word level says "
        f"(by up to {result.same_word:.3g} in a single draw): the monitored levels leave it out.",
        highlight=False,
    )
    for sentence in WHAT_IT_SAYS:
        out.print(f"- {sentence}", highlight=False)
    if result.capped:
        err.print(
            f"In {result.capped:.1%} of the draws some topic held fewer tokens than a document may have: there the "
            "monitor looks at the removal of that whole topic.",
            highlight=False,
        )


def _mean_and_range(values: Any) -> str:
    spread = f" ({values.min():.4g} to {values.max():.4g})" if values.size > 1 else ""
    return f"{values.mean():.4g}{spread}"


def _read(table: MemoryTable, plan: "Plan | None", words: Language) -> "Corpus":
    """The texts as a plan reads them; its owner is told what was left out."""
    if plan is not None and plan.unit is Unit.AUTHOR and table.author is None:
        raise InputError("the plan protects authors: name their column (--author).")
    reading = words.settings(table) if plan is None else plan.text
    public = None if plan is None or plan.prior is None else plan.prior.value.vocabulary
    embedding = None if plan is None else plan.settings.get("embedding")
    with working("Reading texts"):
        embed = None if embedding is None or embedding.of_words else embedding
        corpus: Corpus = table.read(reading, vocabulary=public, embed=embed)
    if corpus.left_out:
        warn(f"{corpus.left_out} rows were left out. Row numbers of this audit count the others, from 1 on.")
    return corpus


def _attack_shadows(corpus: "Corpus", plan: "Plan | None", plain: tuple[str, int], how: dict[str, Any]) -> Any:
    """Shadow models of a plain learner, or of a plan's mechanism."""
    from dptopics.audit.membership.attack import audit_membership
    from dptopics.audit.membership.models import audited_learner, of_learner, of_mechanism
    from dptopics.release.release import mechanism_settings

    mechanism = None if plan is None else plan.build()
    with working("Training shadow models"):
        if plan is None or mechanism is None:
            learner = audited_learner(*plain)
            train = of_learner(learner, corpus.counts())
            return audit_membership(train, corpus, claim=None, settings={"learner": repr(learner)}, **how)
        settings = {"mechanism": mechanism_settings(mechanism), "plan": plan.to_dict()}
        train = of_mechanism(mechanism, corpus, max_docs=plan.max_docs)
        return audit_membership(train, corpus, claim=mechanism.guarantee.unrefuted, settings=settings, **how)


def _attack_target(
    corpus: "Corpus", target: Path, folder: Path, train: tuple[str, int] | None, trust_pickle: bool
) -> Any:
    """Score the documents against a model trained elsewhere, with shadows of an earlier audit or trained now."""
    from dptopics.audit.membership import target_attack
    from dptopics.audit.membership.models import audited_learner, of_learner, read_target
    from dptopics.audit.membership.rates import check_enough, train_shadows

    topics, words = read_target(target, trust_pickle=trust_pickle)
    check_enough(corpus.n_documents, "document")
    if train is not None:
        counts, learner = corpus.counts(), audited_learner(train[0], len(topics))
        how: dict[str, Any] = {"n_shadows": train[1], "folder": folder, "settings": {"learner": repr(learner)}}
        with working("Training shadow models"):
            train_shadows(of_learner(learner, counts), counts, words=corpus.words, **how)
    with working("Asking the shadow models"):
        return target_attack.attack_target(target_attack.read_shadows(folder), topics, words, corpus)


def _attack_ngrams(corpus: "Corpus", plan: "Plan", audited: Audited, pairs: int) -> None:
    """The attack of Ramadan, Withers & Orr 2021 (section 5): does a release show the author of most n-grams?"""
    from dptopics.audit.membership.ngrams import attack_most_contributing
    from dptopics.privacy.rng import secure_rng

    with working("Releasing with the author and without"):
        found = attack_most_contributing(plan.build(), corpus, repeats=pairs, rng=secure_rng(), max_docs=plan.max_docs)
    where = found.save(audited.out_folder, settings={"plan": plan.to_dict()})
    saved(where)
    if audited.as_json:
        print_json(found.to_dict())
        return
    out.print(str(found), highlight=False)
    err.print(f"Written to [bold]{o.escape_path(where)}[/]: a result of private data. NOT FOR RELEASE.")


def _show(summary: Any, out_folder: Path) -> None:
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
