"""What the papers set can be set by a user: ρ and claim 1, α₀ and shares of edges, ε₁ and ε₂, the attack on n-grams."""

import json

import pytest
from typer.testing import CliRunner

from dptopics import PrivateTopics, Vocabulary
from dptopics.core.errors import InputError
from dptopics.plan import Plan
from dptopics.release import bundle

TEXTS = ["knee pain after running", "knee hurts when running", "glasses for reading", "eyes need reading glasses"] * 60
PUBLIC = ["knee pain", "knee hurts", "when running", "for reading", "reading glasses", "eyes need"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{text},p{i}\n" for i, text in enumerate(TEXTS)]
    (tmp_path / "notes.csv").write_text("note,who\n" + "".join(rows), "utf-8")
    (tmp_path / "public.txt").write_text("".join(f"{w}\t{9 - i}\n" for i, w in enumerate(PUBLIC)), "utf-8")
    words = ["knee", "pain", "running", "hurts", "glasses", "reading", "eyes", "need"]
    (tmp_path / "words.txt").write_text("\n".join(words), "utf-8")
    return tmp_path


def run(*command):
    from dptopics.cli import app

    return CliRunner().invoke(app, [str(part) for part in command])


COLUMNS = ("notes.csv", "--text", "note", "--author", "who")
BUDGET = ("--epsilon", 5, "--delta", 1e-4)
NGRAMS = ("ngrams", *COLUMNS, *BUDGET, "--n", 2, "--public", "public.txt")
TOPICS = ("fit", *COLUMNS, *BUDGET, "--topics", 2, "--vocabulary", "words.txt")


def plan_of(out):
    return bundle.load(out).record.plan


def test_weight_and_claim_1_of_the_published_ngrams(folder):
    done = run(*NGRAMS, "--mechanism", "bayes-published", "--set", "weight=0.9", "--set", "sensitivity=claim-1",
               "--set", "slope=0.2", "--accept-unproven", "--out", "r")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert plan_of("r")["settings"] == {"sensitivity": "claim-1", "slope": 0.2, "weight": 0.9}
    refused = run(*NGRAMS, "--set", "weight=0.9", "--out", "r2")
    assert "'bayes' has no setting weight" in str(refused.exception)


def test_tuning_as_appendix_d_prints_it(folder):
    done = run(*NGRAMS, "--mechanism", "end-to-end", "--set", "tuning=appendix-d", "--accept-unproven", "--out", "r")
    assert done.exit_code == 0, done.output
    assert plan_of("r")["settings"]["tuning"] == "appendix-d"


def test_alpha0_shares_and_printed_sensitivities(folder):
    done = run(*TOPICS, "--mechanism", "spectral-1", "--set", "alpha0=0.5", "--set", "shares=0.5,0.25,0.25",
               "--set", "sensitivities=printed", "--accept-unproven", "--out", "r", "--json")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["guarantee"]["strength"] == "none"
    built = Plan.from_dict(plan_of("r"), folder=folder).build()
    assert (built.alpha0, built.shares, str(built.sensitivities)) == (0.5, (0.5, 0.25, 0.25), "printed")
    assert run(*TOPICS, "--mechanism", "spectral", "--set", "alpha0=0.5", "--out", "r2").exit_code == 0
    wrong = run(*TOPICS, "--mechanism", "spectral-1", "--set", "shares=half", "--accept-unproven", "--out", "r3")
    assert isinstance(wrong.exception, InputError)
    assert "--set shares must be numbers" in str(wrong.exception)


def test_epsilon_of_the_vocabulary_and_of_the_topics(folder):
    done = run("fit", *COLUMNS, "--epsilon", 20, "--delta", 1e-4, "--topics", 2, "--mechanism", "variational",
               "--vocabulary", "weighted", "--vocabulary-epsilon", 12, "--out", "r")  # fmt: skip
    assert done.exit_code == 0, done.output
    built = Plan.from_dict(plan_of("r")).build()
    assert built.vocabulary.guarantee.epsilon_at(0.5e-4) == pytest.approx(12, rel=1e-4)
    assert built.topics.guarantee.epsilon_at(0.5e-4) == pytest.approx(8, rel=1e-4)
    assert built.guarantee.epsilon <= 20
    both = run("fit", *COLUMNS, *BUDGET, "--topics", 2, "--mechanism", "variational", "--vocabulary", "weighted",
               "--vocabulary-epsilon", 3, "--vocabulary-share", 0.5, "--out", "r2")  # fmt: skip
    assert "not both" in str(both.exception)
    ngrams = run(
        "ngrams", *COLUMNS, "--epsilon", 60, "--delta", 1e-4, "--n", 2, "--vocabulary-epsilon", 50, "--out", "r3"
    )
    assert ngrams.exit_code == 0, ngrams.output


@pytest.mark.parametrize(
    "change, message",
    [
        ({"vocabulary_epsilon": 5.0}, "strictly between 0 and 5"),
        ({"vocabulary_epsilon": 1.0, "vocabulary": "common"}, "public words cost nothing"),
        ({"vocabulary_epsilon": 1.0, "vocabulary_share": 0.2}, "not both"),
    ],
)
def test_an_epsilon_of_the_vocabulary_that_makes_no_sense(change, message):
    made = {"mechanism": "mixture", "n_topics": 2, "epsilon": 5.0, "delta": 1e-6, "unit": "author"}
    with pytest.raises(InputError, match=message):
        Plan.topics(**made | {"vocabulary": "weighted"} | change)


@pytest.mark.parametrize("mechanism", ["mixture", "variational", "output"])
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_two_epsilons_never_cost_more_than_their_sum(mechanism, noise):
    plan = Plan.topics(mechanism=mechanism, vocabulary="weighted", n_topics=2, epsilon=2.0, delta=1e-6, unit="author",
                       noise=noise, vocabulary_epsilon=0.5)  # fmt: skip
    assert plan.build().guarantee.epsilon <= 2.0
    assert Plan.from_dict(plan.to_dict()) == plan


def test_the_learner_inside_of_a_mechanism_is_audited(folder):
    done = run("audit", "claim", *COLUMNS, "--mechanism", "laplace", "--set", "learner=lsi", "--vocabulary",
               "words.txt", "--topics", 2, *BUDGET, "--trials", 40, "--out", "a", "--json")  # fmt: skip
    assert done.exit_code in (0, 6), done.output  # 6: so few trials say little
    assert json.loads(done.stdout)["settings"]["plan"]["settings"]["learner"] == "lsi"
    for other in ("mixture", "weighted"):
        refused = run("audit", "claim", *COLUMNS, "--mechanism", other, "--set", "learner=lsi", "--out", "b")
        assert f"{other!r} has no setting learner" in str(refused.exception)


def test_the_attack_on_ngrams_is_a_command(folder):
    made = run(*NGRAMS, "--mechanism", "k-anonymity", "--set", "k=2", "--accept-unproven", "--out", "r")
    assert made.exit_code == 0, made.output
    command = ("audit", "membership", *COLUMNS, "--release", "r", "--trials", 5)
    done = run(*command, "--out", "a", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["not_for_release"] is True
    assert (found["mechanism"], found["repeats"]) == ("k-anonymity", 5)
    stored = json.loads((folder / "a" / "ngram_attack.json").read_text("utf-8"))
    assert stored["settings"]["plan"]["mechanism"] == "k-anonymity"
    assert not any(word in json.dumps(stored) for word in ("knee", "p17"))
    again = run(*command, "--out", "a")
    assert "holds an audit already" in str(again.exception)
    shown = run(*command, "--out", "b")
    assert "NOT FOR RELEASE" in shown.output
    for other in (("--mechanism", "mixture"), ()):
        refused = run("audit", "membership", *COLUMNS, *other, "--trials", 5, "--out", "c")
        assert "is for n-grams" in str(refused.exception)


def test_an_attack_on_ngrams_of_a_public_table_asks_for_it_again(folder):
    (folder / "public.csv").write_text("note\n" + "\n".join(TEXTS[:8]) + "\n", "utf-8")
    made = run("ngrams", *COLUMNS, *BUDGET, "--n", 2, "--public", "public.csv", "--out", "r")
    assert made.exit_code == 0, made.output
    command = ("audit", "membership", *COLUMNS, "--release", "r", "--trials", 5)
    assert isinstance(run(*command, "--out", "a").exception, InputError)  # the release names the table, and has it not
    done = run(*command, "--public", "public.csv", "--out", "a", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["mechanism"] == "bayes"
    own = run(*command, "--public", "notes.csv", "--out", "b")
    assert isinstance(own.exception, InputError)  # private texts are no public ones


def test_calibration_top_and_post_of_an_estimator():
    words = Vocabulary.public(["knee", "pain", "running", "glasses", "reading", "eyes"])
    settings = {"calibration": "renyi", "top": 3, "post": "none", "gamma": 0.5, "learner": "lsi"}
    model = PrivateTopics(
        n_topics=2,
        epsilon=3,
        delta=1e-3,
        mechanism="output",
        vocabulary=words,
        accept_unproven=True,
        settings=settings,
    )
    model.fit(TEXTS[:40], authors=range(40))
    built = model.plan_.build()
    assert (built.top, str(built.post)) == (3, "none")
    usual = PrivateTopics(n_topics=2, epsilon=3, delta=1e-3, mechanism="output", vocabulary=words, accept_unproven=True)
    usual.set_params(settings={"gamma": 0.5, "learner": "lsi"}).fit(TEXTS[:40], authors=range(40))
    assert built.output.sigma > 1.5 * usual.plan_.build().output.sigma  # as published: Rényi at order 2
    assert model.plan_.settings["post"] == "none" != usual.plan_.build().post
