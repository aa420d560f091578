"""An empty ledger."""

import pytest

from dptopics.ledger.ledger import Ledger


@pytest.fixture
def path(tmp_path):
    return tmp_path / "clinic.ledger"


@pytest.fixture
def ledger(path):
    return Ledger.create(path, epsilon=3, delta=1e-6)
