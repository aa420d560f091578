import itertools

import pytest
from collector_tools import NO_POSTGRES, fresh_schema, postgres_folder, postgres_server

names = itertools.count()


@pytest.fixture(scope="session")
def postgres(tmp_path_factory):
    if postgres_folder() is None:
        pytest.skip(NO_POSTGRES)
    with postgres_server(tmp_path_factory.mktemp("postgres")) as address:
        yield address


@pytest.fixture(params=["sqlite", "postgres"])
def where(request, tmp_path):
    """A store that is not there yet, of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "reports.db")
    return fresh_schema(request.getfixturevalue("postgres"), f"store{next(names)}")
