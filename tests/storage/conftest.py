"""Storages that several processes share."""

import uuid

import pytest

import postgres


@pytest.fixture(scope="session")
def postgresql():
    """Return the address of a database on a PostgreSQL server of the tests."""
    reason = postgres.missing()
    if reason:
        pytest.skip(reason)
    with postgres.server() as address:
        yield address


@pytest.fixture(params=["sqlite", "journal", "postgresql"])
def address(request, tmp_path):
    """Return the address of a storage in which nothing was created so far."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'run.db'}"
    if request.param == "journal":
        return f"journal:{tmp_path / 'run.log'}"
    base = request.getfixturevalue("postgresql")
    name = f"run_{uuid.uuid4().hex}"
    create_database(base, name)
    return base.replace("/postgres?", f"/{name}?")


def create_database(base, name):
    import sqlalchemy

    address = base.replace("postgresql:", "postgresql+psycopg2:")
    engine = sqlalchemy.create_engine(address, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sqlalchemy.text(f'CREATE DATABASE "{name}"'))
    engine.dispose()
