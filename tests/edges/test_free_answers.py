"""Content that ended a run before the charge: an answer without noise, free of charge. It is a release now."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from dptopics import Corpus, Ledger, PrivateTopics, TextSettings, Vocabulary, release_vocabulary
from dptopics.core.errors import PrivacyWarning
from dptopics.release import bundle

COMMON = {"epsilon": 1.0, "delta": 1e-6}
quiet = pytest.mark.filterwarnings("ignore::dptopics.core.errors.PrivacyWarning")


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(tmp_path / "l.ledger", epsilon=10, delta=1e-3)


@quiet
@pytest.mark.parametrize("somebody", [False, True])
def test_a_folder_with_and_without_texts(ledger, tmp_path, somebody):
    (tmp_path / "notes" / "ann").mkdir(parents=True)
    (tmp_path / "notes" / "README.md").write_text("what this is")
    if somebody:
        (tmp_path / "notes" / "ann" / "1.txt").write_text("huntington and tremor")
    release_vocabulary(tmp_path / "notes", text="text", authors="folder", ledger=ledger, **COMMON)
    assert len(ledger.receipts()) == 1


def test_the_owner_is_told_of_files_that_are_left_out(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.csv").write_text("x")
    with pytest.warns(PrivacyWarning) as told:
        Corpus.from_table(tmp_path / "notes", text="text")
    assert any("1 files that do not end in .txt" in str(one.message) for one in told)


@quiet
@pytest.mark.parametrize("language", ["chinese", "japanese", "thai", "english"])
def test_half_a_sign(ledger, tmp_path, language):
    """As broken JSON gives: packages that cut words cannot take it."""
    path = tmp_path / "notes.jsonl"
    rows = [{"note": note, "who": f"a{i}"} for i, note in enumerate(["knee", "\ud800膝の痛み"])]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    settings = TextSettings(language=language)
    release_vocabulary(path, text="note", authors="who", settings=settings, ledger=ledger, **COMMON)
    assert len(ledger.receipts()) == 1


@quiet
@pytest.mark.parametrize("missing", ["note", "who"])
def test_a_column_without_a_value(ledger, missing):
    """pandas makes numbers of it."""
    frame = pd.DataFrame({"note": ["knee", "pain"], "who": ["a", "b"]})
    frame[missing] = np.nan
    corpus = Corpus.from_table(frame, text="note", author="who", drop_missing=True)
    release_vocabulary(corpus, ledger=ledger, **COMMON)
    assert len(ledger.receipts()) == 1


def test_a_matrix_without_a_column_is_read():
    """Which words there are is private, where they are chosen privately."""
    assert Corpus.from_counts(sparse.csr_array((3, 0)), []).n_documents == 3


@quiet
@pytest.mark.parametrize("somebody", [[], ["huntington and tremor"]])
@pytest.mark.parametrize("form", [list, pd.Series, lambda texts: pd.DataFrame({"note": texts})])
def test_texts_that_are_all_missing(ledger, form, somebody):
    texts = [np.nan, np.nan, *somebody]
    words = Vocabulary.public(["knee", "pain", "tremor"])
    model = PrivateTopics(2, mechanism="mixture", vocabulary=words, ledger=ledger, **COMMON)
    model.fit(form(texts), authors=[f"a{i}" for i in range(len(texts))], drop_missing=True)
    assert len(ledger.receipts()) == 1


WORDS = ["", "\n", "\r", "\t", "\\", "\\n", "\\u000a", "a\u2028b", "\x1c", "\ud800", "knee", "\x85"]


def test_words_of_columns_may_be_anything(tmp_path):
    """Runs of signs, of which one author may have written the only one with a line break in it."""
    counts = sparse.csr_array(np.ones((200, len(WORDS)), int))
    corpus = Corpus.from_counts(counts, WORDS, public_vocabulary=True)
    model = PrivateTopics(2, mechanism="mixture", vocabulary="public", unit="document", epsilon=8.0, delta=1e-6)
    model.fit(corpus).save(tmp_path / "release")
    assert bundle.load(tmp_path / "release").value.vocabulary.words == tuple(sorted(WORDS))
