"""What notebooks show, and the notebook of the documentation."""

from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

from dptopics import Ledger, NgramTable, PrivateTopics, Vocabulary
from dptopics.audit.claim.finding import ClaimAudit, Finding
from dptopics.privacy.guarantee import Strength

NOTEBOOK = Path(__file__).parents[1] / "docs" / "first-release.ipynb"
TEXTS = ["knee pain after a run", "new glasses <b>for</b> reading"] * 100


@pytest.fixture(scope="module")
def fitted():
    words = Vocabulary.public(["knee", "pain", "run", "glasses", "reading"])
    return PrivateTopics(2, epsilon=50.0, vocabulary=words, mechanism="variational", unit="document").fit(TEXTS)


def test_a_fitted_model_shows_topics_and_guarantee(fitted):
    html = fitted._repr_mimebundle_()["text/html"]
    assert "glasses" in html
    assert "PROVED" in html
    assert "<script" not in html
    assert "glasses" not in PrivateTopics(2)._repr_mimebundle_()["text/html"]


def test_what_promises_nothing_says_so_in_a_notebook(fitted):
    void = fitted.guarantee_.weakened(Strength.NONE, "Seeded <here>.")
    assert "NOT FOR RELEASE" in void._repr_html_()
    assert "Seeded &lt;here&gt;." in void._repr_html_()
    assert "NOT FOR RELEASE" not in fitted.guarantee_._repr_html_()


def test_a_ledger(tmp_path):
    html = Ledger.create(tmp_path / "clinic.ledger", epsilon=2, delta=1e-6)._repr_html_()
    assert "LEDGER" in html
    assert "ε = 2" in html


def test_an_audit_is_marked(fitted):
    audit = ClaimAudit(
        mechanism="weighted", claim=fitted.guarantee_, findings=(Finding("noise", "none was drawn", None),),
        checks=(), notes=(), canary="a", reach=1.0, distinguishing=None, error=1e-4, seconds=1.0,
    )  # fmt: skip
    html = audit._repr_html_()
    assert html.index("NOT FOR RELEASE") < html.index("RED")


def test_a_table_of_ngrams():
    table = NgramTable(vocabulary=Vocabulary.of(["a b", "b <c>"]), probability=np.array([0.25, 0.75]))
    assert "b &lt;c&gt;" in table._repr_html_()


@pytest.mark.filterwarnings("ignore")  # of the kernel's own libraries
def test_the_notebook_of_the_documentation_runs(tmp_path):
    book = nbformat.read(NOTEBOOK, as_version=4)
    assert all(not cell.get("outputs") for cell in book.cells), "commit it without outputs"
    NotebookClient(book, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [out.get("data", {}) for cell in book.cells for out in cell.get("outputs", [])]
    shown = [data["text/html"] for data in outputs if "text/html" in data]
    assert any("Words above the noise" in html for html in shown)
    assert any("PROVED" in html for html in shown)
