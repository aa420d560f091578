"""Plan: one value decides a release, survives a trip through a file, and refuses what it cannot mean."""

import inspect
import json
import sys

import numpy as np
import pytest

from dptopics import Plan, TextSettings, Vocabulary
from dptopics.core.errors import InputError, PrivacyError
from dptopics.core.settings import difference
from dptopics.data import public_inputs
from dptopics.data.public_inputs import PublicInput, PublicNgrams
from dptopics.learners.lda import VariationalLda
from dptopics.mechanisms.mechanism import Job
from dptopics.plan import read_plan
from dptopics.registry import mechanisms

COMMON = {"epsilon": 1.0, "delta": 1e-6, "unit": "author"}
WORDS = Vocabulary.public(["knee", "pain", "rash", "skin"])


PLANS = {
    "usual": lambda: Plan.topics(n_topics=20, text=TextSettings(), **COMMON),
    "public words": lambda: Plan.topics(mechanism="mixture", n_topics=2, vocabulary=WORDS, **COMMON),
    "everything": lambda: Plan.topics(
        mechanism="variational", n_topics=3, vocabulary="policy", noise="laplace", vocabulary_share=0.3, max_words=50,
        max_vocabulary=500, max_docs=7, steps=4, text=TextSettings(language="german", lemmas=False), **COMMON,
    ),
    "a learner": lambda: Plan.topics(
        mechanism="laplace", n_topics=2, vocabulary=WORDS, learner=VariationalLda(n_topics=2, passes=3), **COMMON
    ),
    "words of a model": lambda: Plan.topics(mechanism="embedded", n_topics=2, vocabulary=WORDS, **COMMON),
    "best of": lambda: Plan.topics(mechanism="mixture,variational", n_topics=2, vocabulary=WORDS, **COMMON),
    "words": lambda: Plan.words(mechanism="count", noise="laplace", max_words=30, **COMMON),
    "n-grams": lambda: Plan.ngrams(prior=PublicNgrams.of({"a b": 3, "b c": 1}), max_words=10, **COMMON),
    "chosen n-grams": lambda: Plan.ngrams(vocabulary="weighted", max_vocabulary=900, **COMMON),
}  # fmt: skip


def known(plan):
    return tuple(value for value in (plan.vocabulary, plan.prior) if isinstance(value, PublicInput))


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_comes_back_from_a_file(name, tmp_path):
    plan = PLANS[name]()
    (tmp_path / "plan.json").write_text(json.dumps(plan.to_dict()))
    again = read_plan(tmp_path / "plan.json", known(plan))
    assert again == plan
    assert again.build().guarantee == plan.build().guarantee
    assert again.build().guarantee.epsilon == pytest.approx(1.0, rel=1e-6)


def test_every_setting_of_a_mechanism_is_part_of_the_plan():
    """What changes the mechanism changes the plan: an audit of one is none of the other."""
    for name, kind in mechanisms(Job.TOPICS).items():
        if "steps" not in kind.accepts() or kind.public_words_only or kind.needs_preparation:
            continue
        plans = [Plan.topics(mechanism=name, vocabulary=WORDS, n_topics=2, steps=n, **COMMON) for n in (3, 15)]
        assert difference(plans[0].to_dict(), plans[1].to_dict()) == ["settings.steps is 3, not 15"], name


def test_code_is_named_and_hashed(monkeypatch):
    serialize = PLANS["a learner"]().to_dict()["settings"]["learner"]
    assert serialize["code"] == "dptopics.learners.lda:VariationalLda"
    assert serialize["settings"]["passes"] == 3
    assert len(serialize["source"]) == 64
    data = PLANS["a learner"]().to_dict()
    data["settings"]["learner"]["source"] = "0" * 64
    with pytest.raises(InputError, match="has changed since the plan was made"):
        Plan.from_dict(data, known=known(PLANS["a learner"]()))
    data["settings"]["learner"]["code"] = "no.such.module:thing"
    with pytest.raises(InputError, match="is not run unless you allow it"):
        Plan.from_dict(data, known=known(PLANS["a learner"]()))


class Called:
    """Stands for any program: notes that it was called."""

    times = 0

    def __init__(self, **settings):
        Called.times += 1


@pytest.mark.parametrize(
    "where",
    [
        f"{__name__}:Called",
        "subprocess:Popen",
        "dptopics.release.bundle:save",
        "dptopics.learners.adapters:learner_of",
        "dptopics.learners.lda:VariationalLda.__init__",
        "dptopics.learners.adapters:import_module",
        "dptopics.learners.no_such:thing",
        "",
    ],
)
def test_a_plan_does_not_choose_what_is_run(where):
    """A plan lies in every release folder, and whoever wrote it can compute any checksum."""
    Called.times = 0
    source = "0" * 64
    if ":" in where and where.split(":")[0] in sys.modules:
        thing = getattr(sys.modules[where.split(":")[0]], where.split(":")[1], None)
        source = public_inputs.checksum(inspect.getsource(thing)) if thing is not None else source
    named = {"code": where, "source": source, "settings": {"args": ["true"]}}
    for data in (named, {"model": named, "name": "mine"}, [named], {"inside": named}):
        with pytest.raises(InputError, match="not run unless you allow it"):
            public_inputs.restored(data, lambda found: found)
    assert Called.times == 0


def test_code_that_the_user_allows_is_run(monkeypatch):
    monkeypatch.setattr(public_inputs, "_allowed", {})
    serialize = public_inputs.serialize(by_counting)
    public_inputs._allowed.clear()
    with pytest.raises(InputError, match="not run unless you allow it"):
        public_inputs.restored(serialize, lambda found: found)
    public_inputs.allow(by_counting)
    assert public_inputs.restored(serialize, lambda found: found) is by_counting


def by_counting(counts):
    return counts


def test_a_lambda_cannot_be_run_again():
    plan = Plan.topics(
        mechanism="laplace", n_topics=2, vocabulary=WORDS, learner=lambda counts: np.full((2, 4), 0.25), **COMMON
    )
    plan.build()
    with pytest.raises(InputError, match="without a name of its own"):
        Plan.from_dict(plan.to_dict(), known=known(plan))


def test_toml_by_hand(tmp_path):
    (tmp_path / "words.txt").write_text("knee\npain\n")
    digest = PublicInput.words(Vocabulary.of(["knee", "pain"])).sha256
    (tmp_path / "plan.toml").write_text(
        'job = "topics"\nmechanism = "mixture"\nepsilon = 1.0\ndelta = 1e-6\nunit = "author"\nn_topics = 2\n'
        f'[vocabulary]\nkind = "words"\nname = "words.txt"\nsha256 = "{digest}"\n[settings]\nsteps = 3\n'
    )
    plan = read_plan(tmp_path / "plan.toml")
    assert plan.build().topics.steps == 3
    assert plan.vocabulary.value.words == ("knee", "pain")
    (tmp_path / "words.txt").write_text("knee\npain\nzanzibar\n")
    with pytest.raises(InputError, match="have changed since the plan was made"):
        read_plan(tmp_path / "plan.toml")
    (tmp_path / "words.txt").unlink()
    with pytest.raises(InputError, match="Put it next to the plan"):
        read_plan(tmp_path / "plan.toml")


@pytest.mark.parametrize(
    "change, message",
    [
        ({"colour": "red"}, "a plan has no field colour"),
        ({"schema": 99}, "of a newer version"),
        ({"job": "poetry"}, "job must be"),
        ({"unit": "person"}, "unit must be"),
        ({"n_topics": 2.5}, "n_topics must be a whole number, got 2.5"),
        ({"n_topics": None}, "must say how many"),
        ({"epsilon": float("nan")}, "epsilon must be a number"),
        ({"epsilon": -1.0}, "epsilon must be a positive number"),
        ({"max_docs": 0}, "max_docs must be at least 1"),
        ({"max_words": 1.5}, "max_words must be a whole number"),
        ({"vocabulary_share": 1.0}, "vocabulary_share must lie strictly between 0 and 1"),
        ({"max_vocabulary": 2, "n_topics": 3}, "may have only 2"),
        ({"noise": "uniform"}, "noise must be"),
    ],
)
def test_plans_that_mean_nothing(change, message):
    data = Plan.topics(mechanism="mixture", n_topics=2, **COMMON).to_dict()
    with pytest.raises(InputError, match=message):
        Plan.from_dict(data | change)


def test_files_that_are_no_plans(tmp_path):
    for name, content, message in (
        ("a.json", "{", "not valid JSON"),
        ("a.toml", "= 3", "not valid TOML"),
        ("b.json", "[1, 2]", "must be a table of fields"),
        ("c.json", "{}", "incomplete or damaged"),
    ):
        (tmp_path / name).write_text(content)
        with pytest.raises(InputError, match=message):
            read_plan(tmp_path / name)
    with pytest.raises(InputError, match="cannot read the plan"):
        read_plan(tmp_path / "nowhere.json")


def test_settings_that_a_mechanism_does_not_have():
    with pytest.raises(InputError, match=r"mechanism 'mixture' has no setting gamma\. It has: .*steps"):
        Plan.topics(mechanism="mixture", n_topics=2, gamma=0.1, **COMMON).build()
    with pytest.raises(InputError, match="has no setting steps"):
        Plan.topics(mechanism="spectral", n_topics=2, steps=3, **COMMON).build()
    with pytest.raises(InputError, match="no mechanism 'magic' for topics"):
        Plan.topics(mechanism="magic", n_topics=2, **COMMON)
    with pytest.raises(PrivacyError, match="give a list of public words"):
        Plan.topics(mechanism="zhao", n_topics=2, **COMMON).build()
    with pytest.raises(InputError, match="needs one list of public words"):
        Plan.topics(mechanism="mixture,variational", n_topics=2, **COMMON).build()
