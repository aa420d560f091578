"""A whole audit: what it says, and what it never says."""

import csv
import json
import re
import sys
from dataclasses import replace

import numpy as np
import pytest

import planted_holes
from dptopics import cli
from dptopics.audit.membership.attack import audit_membership
from dptopics.audit.membership.models import of_learner
from dptopics.audit.summary import light_of, page
from dptopics.core.errors import InputError
from dptopics.data.corpus import Corpus
from dptopics.learners.adapters import SklearnLearner
from dptopics.learners.lda import GibbsLda
from dptopics.plan import Plan
from dptopics.privacy.guarantee import Guarantee, Unit

LEARNER = GibbsLda(n_topics=3, sweeps=10)


def leaky_texts(n=60):
    """Everybody has words of their own."""
    return [f"knee pain shared words number{chr(97 + i % 26)}{chr(97 + i // 26)} own{chr(97 + i)}" for i in range(n)]


def audited(corpus, **options):
    return audit_membership(of_learner(LEARNER, corpus.counts()), corpus, n_shadows=16, **options)


def claim(epsilon=0.1):
    return (
        Plan.topics(
            mechanism="variational", vocabulary="weighted", n_topics=2, epsilon=epsilon, delta=1e-6, unit=Unit.DOCUMENT
        )
        .build()
        .guarantee
    )


def test_rates_over_documents_never_call_a_claim_violated():
    """They are far above what ε = 0.1 allows, and yet no independent trials: only the audit of the claim may accuse."""
    found = audited(Corpus.from_texts(leaky_texts()), repeats=8, claim=claim())
    assert found.best.true_positive_rate(0.02) > 5 * found.allowed(np.array([0.02]))[0]
    assert "violated" not in found.verdict()
    data = found.to_dict()
    grid = np.array(data["roc_false_positive_rates"])  # what the report page draws: from the smallest rate on
    assert grid.min() >= found.rates[0] == 0.02
    np.testing.assert_allclose(data["roc_allowed"], found.allowed(grid), atol=1e-6)
    for one, listed in zip(found.ranked, data["attacks"], strict=True):
        assert listed["tpr_at_0.1%_fpr"] is None  # 60 outsiders cannot show it
        assert [rate["false_positive_rate"] for rate in listed["rates"]] == [0.02, 0.2]
        for rate in listed["rates"]:
            assert rate["interval"][0] <= rate["true_positive_rate"] <= rate["interval"][1]
        np.testing.assert_allclose(listed["roc"], one.roc(grid), atol=1e-6)


def test_every_document_is_listed_the_most_exposed_first(tmp_path):
    found = audited(Corpus.from_texts([*["knee pain shared words"] * 30, *leaky_texts(30)]))
    assert all(one["row"] > 30 and one["rare_words"] >= 1 for one in found.exposure[:10])
    common = replace(found, exposure=tuple({**one, "rare_words": 0} for one in found.exposure))
    assert "1.9 of these are in at most 5" in found.summary().reasons[-1]
    assert "0.0" not in common.summary().reasons[-1]
    assert found.save(tmp_path)
    with open(tmp_path / "documents.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert sorted(int(row["row"]) for row in rows) == list(range(1, 61))  # as in messages
    shifts = [float(row["shift"]) for row in rows]
    assert shifts == sorted(shifts, reverse=True)
    data = json.loads((tmp_path / "audit.json").read_text())
    assert len(data["most_exposed"]) == 20
    assert "knee" not in json.dumps(data)


def test_copies_are_named():
    texts = leaky_texts(40)
    assert "are copies" not in audited(Corpus.from_texts(texts)).verdict()
    found = audited(Corpus.from_texts([*texts, *texts[:7]]))
    assert found.duplicates == 7
    assert "7 documents are copies of others" in found.verdict()


def test_odd_numbers_and_documents_without_words():
    texts = [*leaky_texts(20), "", "the of and"]
    assert len(texts) % 2 == 0
    for corpus in (Corpus.from_texts(texts), Corpus.from_texts(texts[1:])):
        found = audited(corpus, repeats=4)
        for one in found.attacks:
            assert np.all(np.isfinite(one.score)), one.name
            assert 0 <= one.true_positive_rate(0.001) <= 1
        assert len(found.exposure) == corpus.n_documents


def test_scikit_learn_models_can_be_attacked():
    from sklearn.decomposition import NMF, LatentDirichletAllocation

    corpus = Corpus.from_texts(leaky_texts(30))
    for estimator in (LatentDirichletAllocation(2, max_iter=3), NMF(2, max_iter=500, init="random")):
        train = of_learner(SklearnLearner(estimator), corpus.counts())
        found = audit_membership(train, corpus, n_shadows=8, repeats=4)
        assert all(np.all(np.isfinite(one.score)) for one in found.attacks)


def test_a_matrix_of_the_wrong_width_is_refused():
    corpus = Corpus.from_texts(leaky_texts(20))
    with pytest.raises(InputError, match="topics × "):
        audit_membership(lambda documents, seed: np.ones((2, 3)) / 3, corpus, n_shadows=4)


def test_allowed_rates_by_hand():
    found = replace(audited(Corpus.from_texts(leaky_texts(20))), claim=claim(1.0))
    assert isinstance(found.claim, Guarantee)
    # One unit exchanged for another: (2ε, (1 + e^ε)δ).
    expected = np.exp(2 * found.claim.epsilon) * 0.01 + (1 + np.e) * 1e-6
    assert found.allowed(np.array([0.01]))[0] == pytest.approx(expected, rel=1e-3)
    assert found.allowed(np.array([1.0]))[0] == 1.0


# --- the command ---


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "notes.csv").write_text("note,patient\n" + "".join(f"{t},p{i}\n" for i, t in enumerate(leaky_texts())))

    def run_command(line):
        monkeypatch.setattr(sys, "argv", ["dptopics", *line.split()])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        return stop.value.code or 0, printed.out, " ".join(printed.err.split())

    return run_command


def test_the_line_of_the_manual(run, tmp_path):
    code, out, _ = run(
        "audit membership notes.csv --text note --author patient --topics 2 --shadows 8 --repeats 1 --out plain"
    )
    assert code == 0
    assert out.startswith(("RED: an outsider can identify at least", "AMBER:"))
    words = " ".join(out.split())
    assert "guessing finds 10 %" in words
    assert "30 outsiders cannot show a false positive rate below 1 in 30" in words
    for name in ("audit.json", "audit.html", "documents.csv", "roc.png", "roc.svg", "corpus.npz", "shadow-0007.npz"):
        assert (tmp_path / "plain" / name).exists()


def test_a_mechanism_has_its_claim_tested_or_its_models_attacked(run, tmp_path):
    line = "notes.csv --text note --topics 2 --mechanism variational --vocabulary common --epsilon 4 --json"
    code, out, _ = run(f"audit claim {line} --trials 64 --out a")
    assert code == 6
    found = json.loads(out)
    assert found["verdict"] == "not enough was tried"
    assert "Examined with dptopics" in found["about"]
    assert found["claim"]["epsilon"] == pytest.approx(4)
    assert found["not_for_release"] is True
    assert (tmp_path / "a" / "audit.html").exists()
    code, out, _ = run(f"audit membership {line} --shadows 4 --out b")
    assert code == 0
    assert json.loads(out)["shadows"] == 4
    assert "--mechanism NAME" in run("audit claim notes.csv --text note --trials 6 --out c")[2]
    assert run(f"audit claim {line} --trials 1 --out c")[0] == 2


def test_a_violated_claim_has_an_exit_code_of_its_own(run):
    with planted_holes.less_noise(1 / 8):
        code, out, _ = run("audit claim notes.csv --text note --mechanism weighted --trials 64 --out a")
    assert code == 5
    assert out.startswith("RED: this mechanism does not protect each document as it claims.")
    assert "Verdict: violated." in out


def test_a_release_of_another_version_is_named_and_not_green(run, monkeypatch):
    assert run("vocabulary notes.csv --text note --epsilon 50 --delta 1e-3 --out words")[0] == 0
    monkeypatch.setattr("dptopics.core.__version__", "99.0")
    code, out, _ = run("audit claim notes.csv --text note --release words --out a")
    assert code == 6
    words = " ".join(out.split())
    assert "Release 'words', made by dptopics" in words
    assert "Examined with dptopics 99.0 on" in words
    assert "What that version did was not examined." in words


def test_shadows_serve_again(run, tmp_path):
    assert run("audit membership notes.csv --text note --topics 2 --shadows 8 --out first")[0] == 0
    with np.load(tmp_path / "first" / "shadow-0000.npz") as saved, np.load(tmp_path / "first" / "corpus.npz") as corpus:
        np.savez(tmp_path / "model.npz", topic_word=saved["topics"], words=corpus["words"])
    code, out, _ = run("audit membership notes.csv --text note --target model.npz --models first --out second")
    assert code == 0
    assert re.search(r"of 60 documents appear to have been", " ".join(out.split()))
    data = json.loads((tmp_path / "second" / "audit.json").read_text())
    assert data["shadows"] == 8
    assert run("audit membership notes.csv --text note --models first --out third")[0] == 2
    assert run("audit membership notes.csv --text note --target model.npz --models nowhere --out third")[0] == 2
    code, out, _ = run(
        "audit membership notes.csv --text note --target model.npz --shadows 8 --learner sklearn --out fourth"
    )
    assert code == 0  # without shadows of an earlier audit they are trained at once
    assert re.search(r"^(RED|AMBER|GREEN): \d+ of 60 documents", out)
    assert "LatentDirichletAllocation" in (tmp_path / "fourth" / "settings.json").read_text()
    assert "NOT FOR RELEASE" in (tmp_path / "fourth" / "audit.html").read_text()


def test_a_folder_of_other_settings_is_refused(run, tmp_path):
    assert run("audit membership notes.csv --text note --topics 2 --shadows 4 --out a")[0] == 0
    (tmp_path / "a" / "audit.json").unlink()
    code, _, err = run("audit membership notes.csv --text note --topics 3 --shadows 4 --out a")
    assert (code, "other data or settings" in err) == (2, True)
    assert run("audit membership notes.csv --text note --topics 1 --shadows 4 --out b")[0] == 2


def test_other_authors_are_other_data(run, tmp_path):
    """Halves are of authors: shadows of another author column would be held against the wrong halves."""
    line = "audit membership notes.csv --text note --author patient --topics 2 --shadows 4 --out a"
    assert run(line)[0] == 0
    (tmp_path / "a" / "audit.json").unlink()
    texts = "".join(f"{t},p{i // 2}\n" for i, t in enumerate(leaky_texts()))
    (tmp_path / "notes.csv").write_text("note,patient\n" + texts)
    code, _, err = run(line)
    assert (code, "other data or settings" in err) == (2, True)


def test_a_damaged_shadow_is_trained_again(run, tmp_path):
    line = "audit membership notes.csv --text note --topics 2 --shadows 4 --out a"
    assert run(line)[0] == 0
    before = json.loads((tmp_path / "a" / "audit.json").read_text())
    (tmp_path / "a" / "audit.json").unlink()
    (tmp_path / "a" / "shadow-0002.npz").write_bytes(b"PK\3\4 half a file")
    assert run(line)[0] == 0
    assert json.loads((tmp_path / "a" / "audit.json").read_text())["attacks"] == before["attacks"]


def test_too_few_units_give_no_table(run, tmp_path):
    (tmp_path / "few.csv").write_text("note\n" + "".join(f"{t}\n" for t in leaky_texts(12)))
    code, out, err = run("audit membership few.csv --text note --topics 2 --shadows 4 --out a")
    assert (code, out) == (2, "")
    assert "12 documents are too few for any statement" in err
    assert not (tmp_path / "a").exists()
    lines = "".join(f"{t},p{i % 10}\n" for i, t in enumerate(leaky_texts()))
    (tmp_path / "few.csv").write_text("note,patient\n" + lines)
    assert (
        "10 authors are too few" in run("audit membership few.csv --text note --author patient --shadows 4 --out a")[2]
    )


def test_wrong_options(run):
    assert (
        "there is no learner 'magic'"
        in run("audit membership notes.csv --text note --learner magic --shadows 4 --out a")[2]
    )
    both = run("audit membership notes.csv --text note --mechanism mixture --target x --out a")
    assert (both[0], "leave --release, --plan and --mechanism out" in both[2]) == (2, True)
    of_words = run("audit membership notes.csv --text note --mechanism weighted --out a")
    assert (of_words[0], "dptopics audit claim" in of_words[2]) == (2, True)
    assert "--trials is for n-grams" in run("audit membership notes.csv --text note --trials 8 --out a")[2]
    assert run("audit poison notes.csv --text note --target x --out a")[0] == 2
    assert "--set is for a --mechanism" in run("audit claim notes.csv --text note --set steps=1 --out a")[2]


def test_lights():
    red, amber, dark, green = (
        light_of(*limits, 0.001, "these documents") for limits in ((0.5, 0.6), (0.002, 0.02), (0.0, 0.4), (0.0, 0.004))
    )
    assert [str(one[0]) for one in (red, amber, dark, green)] == ["red", "amber", "amber", "green"]
    assert red[1].startswith("an outsider can identify at least 50% of these documents as used")
    assert "cannot rule out" in dark[1]
    assert "not a proof" in green[1]


def test_a_leaky_corpus_is_red_and_a_blind_model_is_not():
    corpus = Corpus.from_texts(leaky_texts())
    summary = audited(corpus).summary()
    assert str(summary.light) == "red"
    assert "at least 8" in summary.headline
    assert {"presence of words", "exact counts, decoded"} <= {row[0] for row in summary.rows[:4]}

    def blind(documents, seed):
        return np.random.default_rng(seed).dirichlet(np.ones(len(corpus.words)), 3)

    found = audit_membership(blind, corpus, n_shadows=16).summary()
    assert str(found.light) != "red"
    text = page(replace(summary, reasons=("<b>",)), title="x")
    assert "&lt;b&gt;" in text
    assert "http" not in text.replace("http-equiv", "")


def test_an_interrupted_attack_on_a_target_goes_on(run, tmp_path, monkeypatch):
    assert run("audit membership notes.csv --text note --topics 2 --shadows 4 --out first")[0] == 0
    with np.load(tmp_path / "first" / "shadow-0000.npz") as saved, np.load(tmp_path / "first" / "corpus.npz") as corpus:
        np.savez(tmp_path / "model.npz", topic_word=saved["topics"], words=corpus["words"])

    def stops(*_, **__):
        raise KeyboardInterrupt

    line = "audit membership notes.csv --text note --target model.npz --shadows 4 --out second"
    with monkeypatch.context() as patched:
        patched.setattr("dptopics.audit.membership.rates.document_statistics", stops)
        code, _, err = run(line)
    assert code == 130
    assert "goes on with the models in second" in err
    assert run(line)[0] == 0
    assert (tmp_path / "second" / "audit.json").exists()
