"""The door: nothing is spent for nothing, and whatever fails after the charge says what it cost."""

import errno
from html import escape
from pathlib import Path

import numpy as np
import pytest

from dptopics import (
    Corpus,
    Ledger,
    Plan,
    PrivateTopics,
    TextSettings,
    Vocabulary,
    publish,
    release_ngrams,
    release_vocabulary,
)
from dptopics.core.errors import (
    BudgetExceeded,
    InputError,
    NothingReleased,
    PrivacyError,
    PrivacyWarning,
    ReleaseLost,
    Stopped,
)
from dptopics.data.public_inputs import PublicNgrams
from dptopics.mechanisms.topics.mixture import MixtureTopics
from dptopics.public.embeddings import available
from dptopics.publishing import _reserved
from dptopics.release import bundle, report

TEXTS = ["knee pain after a run", "new glasses for reading"] * 40
AUTHORS = [f"a{i}" for i in range(len(TEXTS))]
WORDS = Vocabulary.public(["knee", "pain", "glasses", "reading"])
COMMON = {"epsilon": 8.0, "delta": 1e-6, "unit": "author"}


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(tmp_path / "l.ledger", epsilon=100, delta=1e-3)


def plan(**more):
    return Plan.topics(**({"mechanism": "mixture", "n_topics": 2, "vocabulary": WORDS} | COMMON | more))


def read(plan):
    return Corpus.from_texts(TEXTS, AUTHORS).bounded(unit=plan.unit, max_docs=plan.max_docs)


def never(plan):
    raise AssertionError("the data was read")


@pytest.mark.parametrize(
    "settings",
    [
        {"n_topics": 2.5},
        {"n_topics": float("nan")},
        {"n_topics": np.float64(3.0)},
        {"n_topics": True},
        {"n_topics": 10**6},
        {"n_topics": 5, "vocabulary": WORDS},
        {"steps": 2.5},
        {"steps": 0},
        {"max_docs": 1.5},
        {"max_words": 1.5},
        {"max_words": 0},
        {"max_vocabulary": 1.5},
        {"max_vocabulary": 0},
        {"max_vocabulary": 2, "n_topics": 3, "vocabulary": "weighted"},
        {"vocabulary_share": float("nan")},
        {"vocabulary_share": 1.0},
        {"vocabulary": Vocabulary.public([])},
        {"epsilon": 1e-300},
        {"mechanism": "embedded", "n_topics": 5000, "vocabulary": "weighted"},
        {"mechanism": "embedded", "embedding": lambda texts: np.zeros((len(texts) - 1, 4))},
        {"mechanism": "embedded", "embedding": lambda texts: 1 / 0},
    ],
    ids=lambda settings: ",".join(f"{k}={v if not callable(v) else 'callable'}" for k, v in settings.items())[:60],
)
@pytest.mark.parametrize("how", ["plan", "estimator"])
def test_settings_are_checked_before_anything_is_read_or_charged(settings, how, ledger):
    given = {"mechanism": "mixture", "n_topics": 2, "vocabulary": WORDS, "epsilon": 8.0, "delta": 1e-6} | settings
    own = {"steps": given.pop("steps")} if "steps" in given else {}
    release = {
        "plan": lambda: publish(Plan.topics(unit="author", **given, **own), never, ledger=ledger),
        "estimator": lambda: PrivateTopics(ledger=ledger, **given, settings=own).fit(TEXTS, authors=AUTHORS),
    }[how]
    with pytest.raises((InputError, PrivacyError)):
        release()
    assert ledger.receipts() == []


def test_a_release_says_where_it_comes_from(ledger, tmp_path):
    made = plan(max_docs=3)
    publish(made, read, ledger=ledger, out=tmp_path / "r", title="Clinic", description="Notes of a clinic.")
    again = bundle.load(tmp_path / "r")
    record = dict(again.record.rows())
    assert record["Title"] == "Clinic"
    assert record["Description"] == "Notes of a clinic."
    assert record["Made by"].startswith("dptopics ")
    assert "a public list, 'given in Python'" in record["Words"]
    assert record["Bounds"] == "at most 3 documents and 200 distinct words of each author."
    assert record["Ledger"].startswith("'l': charge 1; all charges so far total ε = 8, δ = 1e-06 of ε = 100")
    assert Plan.from_dict(again.record.plan, known=(made.vocabulary,)) == made
    readme = (tmp_path / "r" / "README.txt").read_text()
    assert all(text in readme for text in record.values())
    assert (tmp_path / "r" / "vocabulary.txt").read_text().splitlines()[0] == "glasses\tpublic list"
    assert again.value.vocabulary.listed == frozenset(WORDS.words)
    page = report.render(again)
    assert "<h1>Clinic" in page
    assert all(escape(text) in page for text in record.values())


def test_chosen_words_are_not_called_public(tmp_path):
    release = publish(plan(vocabulary="weighted"), read, out=tmp_path / "r")
    assert "public list" not in (tmp_path / "r" / "vocabulary.txt").read_text()
    assert dict(release.record.rows())["Words"] == "chosen privately from the data (weighted)."


def test_two_runs_into_one_folder(ledger, tmp_path):
    """The second is refused before it is charged, whether the first is still running or has just finished."""
    with _reserved(tmp_path / "r"), pytest.raises(InputError, match="another run is writing"):
        publish(plan(), never, ledger=ledger, out=tmp_path / "r")
    assert ledger.receipts() == []
    publish(plan(), read, ledger=ledger, out=tmp_path / "r")
    with pytest.raises(InputError, match="exists already"):
        publish(plan(), never, ledger=ledger, out=tmp_path / "r")
    assert len(ledger.receipts()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["l.ledger", "r"]


def test_a_lock_that_was_left_behind_does_no_harm(tmp_path):
    (tmp_path / ".r.lock").write_bytes(b"")
    publish(plan(), read, out=tmp_path / "r")
    assert not (tmp_path / ".r.lock").exists()


def test_no_room_is_told_before_the_charge(ledger, tmp_path, monkeypatch):
    def full(handle, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("dptopics.publishing.os.write", full)
    with pytest.raises(InputError, match="no room for a release"):
        publish(plan(), never, ledger=ledger, out=tmp_path / "r")
    assert ledger.receipts() == []


def test_a_disk_that_fills_up_after_the_charge(ledger, tmp_path, monkeypatch):
    save = bundle.save

    def full(release, path):
        if Path(path).parent == tmp_path:
            raise OSError(errno.ENOSPC, "No space left on device")
        return save(release, path)

    monkeypatch.setattr(bundle, "save", full)
    with pytest.raises(ReleaseLost, match=r"No space left.*budget is spent.*was saved to (\S+)\.") as lost:
        publish(plan(), read, ledger=ledger, out=tmp_path / "r")
    rescued = Path(str(lost.value).rsplit(" ", 1)[1].rstrip("."))
    assert bundle.load(rescued).value.n_topics == lost.value.release.value.n_topics == 2
    assert len(ledger.receipts()) == 1


def test_both_disks_full(ledger, tmp_path, monkeypatch):
    def full(release, path):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(bundle, "save", full)
    with pytest.raises(ReleaseLost, match=r"budget is spent.*temporary folder either") as lost:
        publish(plan(), read, ledger=ledger, out=tmp_path / "r")
    assert lost.value.release.value.n_topics == 2  # in Python it can still be saved


def test_what_fails_after_the_charge_says_so_and_quotes_nothing(ledger, tmp_path, monkeypatch):
    work = MixtureTopics.__call__

    def broken(self, corpus, rng):
        if len(corpus.words) == len(WORDS) and corpus.bounds.max_docs == 9:  # not in the rehearsal
            raise ValueError("could not convert 'My HIV test'")
        return work(self, corpus, rng)

    monkeypatch.setattr(MixtureTopics, "__call__", broken)
    with pytest.raises(
        ReleaseLost, match=r"ValueError.*budget is spent: ε = 8, δ = 1e-06, charge 1 of ledger 'l'"
    ) as e:
        publish(plan(max_docs=9), read, ledger=ledger, out=tmp_path / "r")
    assert "HIV" not in str(e.value)
    assert e.value.__suppress_context__
    assert not (tmp_path / "r").exists()


def test_stopped_before_and_after_the_charge(ledger, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(Stopped, match="Nothing was spent"):
        publish(plan(), stop, ledger=ledger)
    assert ledger.receipts() == []
    work = MixtureTopics.__call__
    monkeypatch.setattr(
        MixtureTopics, "__call__", lambda self, c, rng: stop() if c.bounds.max_docs == 9 else work(self, c, rng)
    )
    with pytest.raises(Stopped, match=r"Nothing was written. The budget is spent: ε = 8.*charge 1"):
        publish(plan(max_docs=9), read, ledger=ledger)
    assert len(ledger.receipts()) == 1


@pytest.mark.parametrize("where", ["save", "_contents_of_the_record"])
def test_stopped_while_it_is_saved(where, ledger, tmp_path, monkeypatch):
    """The budget is spent, and the message says so, however late it comes."""

    def stop(*_args, **_named):
        raise KeyboardInterrupt

    monkeypatch.setattr(*((bundle, "save") if where == "save" else ("dptopics.publishing._record",)), stop)
    with pytest.raises(Stopped, match=r"The budget is spent: ε = 8.*charge 1"):
        publish(plan(), read, ledger=ledger, out=tmp_path / "r")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["l.ledger"]


def test_stopped_during_the_charge_itself(ledger, monkeypatch):
    def stop(*_args, **_named):
        raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "charge", stop)
    with pytest.raises(Stopped, match=r"The charge may have been made: see dptopics ledger show"):
        publish(plan(), read, ledger=ledger)


def test_nothing_released_is_charged(ledger):
    with pytest.raises(NothingReleased, match="no word cleared"):
        publish(plan(vocabulary="weighted", epsilon=0.1), read, ledger=ledger)
    assert len(ledger.receipts()) == 1


def test_the_budget_is_asked_before_anything_is_read(tmp_path):
    small = Ledger.create(tmp_path / "s.ledger", epsilon=1, delta=1e-3)
    with pytest.raises(BudgetExceeded):
        publish(plan(), never, ledger=tmp_path / "s.ledger")
    with pytest.raises(PrivacyError, match="seeded generator"):
        publish(plan(epsilon=0.5), never, ledger=small, rng=np.random.default_rng(0))


def test_vocabularies_and_ngrams_in_python(ledger, tmp_path):
    words = release_vocabulary(TEXTS, authors=AUTHORS, epsilon=8.0, delta=1e-6, ledger=ledger, max_words=10)
    assert {"knee", "glasses"} <= set(words.value.words)
    assert words.record.plan["max_words"] == 10
    prior = PublicNgrams.of({"knee pain": 2, "new glasses": 1})
    table = release_ngrams(
        TEXTS, n=2, authors=AUTHORS, epsilon=8.0, delta=1e-6, prior=prior, ledger=ledger, out=tmp_path / "n"
    )
    assert table.value.vocabulary.words == ("knee pain", "new glasses")
    chosen = release_ngrams(TEXTS, n=2, authors=AUTHORS, epsilon=20.0, delta=1e-6, ledger=ledger, max_words=10)
    assert "knee pain" in chosen.value.vocabulary.words
    assert len(ledger.receipts()) == 3
    with pytest.raises(InputError, match="has its authors"):
        release_vocabulary(Corpus.from_texts(TEXTS), authors=AUTHORS, epsilon=1.0, delta=1e-6)


@pytest.mark.skipif(not available(), reason="the extra 'embeddings' is not installed")
def test_another_language_is_told_to_the_owner():
    german = ["die Behandlung der Krankheit dauert mehrere Wochen", "Schmerzen im Kniegelenk nach dem Laufen"] * 30
    english = ["the treatment of the disease takes several weeks", "pain in the knee after running"] * 30
    settings = {"epsilon": 1.0, "delta": 1e-9, "unit": "document"}
    with pytest.warns(PrivacyWarning, match="another"):
        release_vocabulary(german, **settings)
    release_vocabulary(english, **settings)  # warnings are errors here


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"title": "x\udcff"}, "title must be a text"),
        ({"description": "\ud800"}, "description must be a text"),
        ({"title": 3}, "title must be a text"),
        ({"people": 0}, "people must be at least 1"),
        ({"people": -5}, "people must be at least 1"),
    ],
)
def test_what_the_owner_says_is_checked_before_the_charge(ledger, tmp_path, said, message):
    with pytest.raises(InputError, match=message):
        publish(plan(), never, out=tmp_path / "release", ledger=ledger, **said)
    assert not ledger.receipts()


@pytest.mark.parametrize("fault", [UnicodeEncodeError("utf-8", "x", 0, 1, "y"), ValueError("x"), TypeError("x")])
def test_a_release_is_rescued_whatever_the_fault(ledger, tmp_path, monkeypatch, fault):
    save, failed = bundle.save, []

    def first_fails(release, out):
        if not failed:
            failed.append(out)
            raise fault
        return save(release, out)

    monkeypatch.setattr(bundle, "save", first_fails)
    with pytest.raises(ReleaseLost, match=rf"{type(fault).__name__}.*budget is spent.*was saved to (\S+)\.") as lost:
        publish(plan(), read, out=tmp_path / "release", ledger=ledger)
    assert bundle.load(str(lost.value).rsplit(" ", 1)[1].rstrip(".")).value.n_topics == 2


@pytest.mark.skipif(not available(), reason="the extra embeddings is not installed")
@pytest.mark.parametrize("language", ["korean", "thai", "gujarati"])
def test_a_language_without_frequencies_is_refused_before_the_charge(ledger, language):
    settings = TextSettings(language=language)
    with pytest.raises(InputError, match=r"English|no public frequencies"):
        PrivateTopics(
            2, mechanism="embedded", vocabulary="weighted", text=settings, ledger=ledger, epsilon=8.0, delta=1e-6
        ).fit(TEXTS, authors=AUTHORS)
    assert not ledger.receipts()
