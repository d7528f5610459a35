"""A storage of Optuna that many processes open at once.

Optuna creates its tables, and looks for stale trials, without protection against
another process that does the same. Here both happen under a lock of the whole storage:
a lock file beside SQLite databases and journals, an advisory lock on servers. The
operating system, or the server, frees it when its owner dies.
"""

import contextlib
import copy
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sumbo.errors import ArgumentError, CheckpointError, MissingExtraError, StorageError
from sumbo.lock import beside, waiting

try:
    import optuna
    import sqlalchemy
    from optuna.storages import BaseStorage, JournalStorage, RDBStorage
    from optuna.storages.journal import JournalFileBackend
    from optuna.study import Study
    from optuna.trial import FrozenTrial
    from sqlalchemy import exc
except ImportError as error:
    _MSG = 'Runs on a storage need Optuna 5. Run: pip install "sumbo[optuna]"'
    raise MissingExtraError(_MSG) from error

# Seconds between two signs of life of a worker, and how many may be missing.
HEARTBEAT = 30
SILENCE = 3
# A point that was left unfinished so often may be what kills its workers.
MOST_RETRIES = 3
# Nobody holds the lock for longer than a few requests to the storage.
_PATIENCE_S = 300.0
_JOURNAL = "journal:"
# The attributes of trials and studies that belong to sumbo start so.
PREFIX = "sumbo:"
WORKER = f"{PREFIX}worker"  # the process that a trial belongs to
# What a storage that cannot be reached, or refuses, raises through Optuna.
STORAGE_ERRORS = (
    optuna.exceptions.StorageInternalError,
    exc.DBAPIError,
    OSError,  # of journals
)


@dataclass(frozen=True, kw_only=True, eq=False)
class SharedStorage:
    """A storage, and a lock of all of it.

    Attributes:
        name: Its address without a password, for messages.
        storage: The storage itself; pass it to Optuna.
        alone: Returns a context manager, within which no other process starts or
            abandons a trial.
        heartbeat: Seconds between two signs of life; None if it keeps none.
    """

    name: str
    storage: BaseStorage
    alone: Callable[[], AbstractContextManager[None]]
    heartbeat: int | None


def open_storage(url: str, *, heartbeat: int = HEARTBEAT) -> SharedStorage:
    """Return the storage at an address, created if it does not exist.

    Args:
        url: ``sqlite:///run.db``, ``postgresql://…``, ``mysql://…``, or
            ``journal:run.log`` for a journal file of Optuna.
        heartbeat: Seconds between two signs of life of a worker. One that is silent
            for three times as long counts as dead. Journals keep no signs of life.

    Raises:
        ArgumentError: If the address cannot be read.
        StorageError: If the storage cannot be opened.
        MissingExtraError: If the driver of the database is not installed.
    """
    whole = isinstance(heartbeat, int) and not isinstance(heartbeat, bool)
    if not whole or heartbeat < 1:
        msg = f"heartbeat={heartbeat!r} is not a whole number of seconds, 1 or more."
        raise ArgumentError(msg)
    if url.startswith(_JOURNAL):
        return _journal(Path(url.removeprefix(_JOURNAL)))
    return _database(url, heartbeat)


def retry(study: Study, trial: FrozenTrial) -> None:
    """Queue the point of a trial whose worker died, as Optuna's callback does.

    A point that was left unfinished too often is not queued any more. If the worker
    died before all parameters were stored, nothing was evaluated, and the queued trial
    gets parameters of its own.
    """
    trial = copy.deepcopy(trial)  # Optuna's callback changes the attributes in place
    longest = max(len(t.params) for t in study.get_trials(deepcopy=False))
    if WORKER in trial.user_attrs and len(trial.params) < longest:
        trial.params, trial.distributions = {}, {}
        for key in [key for key in trial.system_attrs if key.startswith(PREFIX)]:
            del trial.system_attrs[key]
    with _without_experimental_warnings():
        again = optuna.storages.RetryHeartbeatStaleTrialCallback(MOST_RETRIES)
    again(study, trial)


def fail_stale_trials(study: Study) -> None:
    """Fail the trials without a sign of life, and queue their points again.

    Call it while nobody else does.
    """
    with _without_experimental_warnings():
        optuna.storages.fail_stale_trials(study)


# ---------------------------------------------------------------------- journals
def _journal(path: Path) -> SharedStorage:
    _require_folder(_JOURNAL + str(path), path)
    alone = partial(_file_lock, path)
    try:
        with alone():
            storage = JournalStorage(JournalFileBackend(str(path)))
    except (OSError, ValueError, LookupError, TypeError) as error:
        msg = f"storage={_JOURNAL + str(path)!r} cannot be opened: {error}. Pass the "
        raise StorageError(f"{msg}path of a journal of Optuna, or of none.") from error
    return SharedStorage(
        name=f"{_JOURNAL}{path}", storage=storage, alone=alone, heartbeat=None
    )


@contextlib.contextmanager
def _file_lock(path: Path) -> Iterator[None]:
    """Hold the lock of a storage that is a file.

    Raises:
        StorageError: If it cannot be locked.
    """
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(waiting(beside(path.resolve(), ".lock"), _PATIENCE_S))
        except (OSError, NotImplementedError, CheckpointError) as error:
            msg = f"storage {str(path)!r} cannot be locked: {error}. Use a folder that "
            raise StorageError(f"{msg}you can write to, and that has locks.") from error
        yield


def _require_folder(url: str, path: Path) -> None:
    if not path.name:
        msg = f"storage={url!r} names no file. Write journal:run.log or sqlite:///x.db."
        raise ArgumentError(msg)
    if not path.parent.is_dir():
        msg = f"storage={url!r}: the folder {str(path.parent)!r} does not exist."
        raise StorageError(f"{msg} Create it first.")


# ---------------------------------------------------------------------- databases
def _database(url: str, heartbeat: int) -> SharedStorage:
    try:
        address = sqlalchemy.make_url(url)
        kind = address.get_backend_name()
    except (exc.ArgumentError, ValueError) as error:
        raise ArgumentError(_unreadable(url)) from error
    if kind not in _LOCKS:
        raise ArgumentError(_unreadable(url))
    name = address.render_as_string(hide_password=True)
    if kind == "sqlite":
        if address.database in (None, "", ":memory:"):
            msg = f"storage={name!r} is seen by one process alone. Name a file, such "
            raise ArgumentError(f"{msg}as sqlite:///run.db.")
        _require_folder(name, Path(address.database))
    address = _with_driver(address)
    try:
        alone = _LOCKS[kind](address)
        with alone(), _without_experimental_warnings():
            storage = RDBStorage(
                address.render_as_string(hide_password=False),
                engine_kwargs=_engine_options(kind),
                heartbeat_interval=heartbeat,
                grace_period=SILENCE * heartbeat,
                heartbeat_stale_trial_callback=retry,
            )
    except ImportError as error:
        msg = f"storage={name!r} needs a driver that is not installed ({error}). "
        raise MissingExtraError(f"{msg}Install it with pip.") from error
    except (exc.SQLAlchemyError, RuntimeError, *STORAGE_ERRORS) as error:
        reason = str(getattr(error, "orig", None) or error).strip()
        raise StorageError(f"storage={name!r} cannot be opened: {reason}") from error
    cached = optuna.storages.get_storage(storage)
    return SharedStorage(name=name, storage=cached, alone=alone, heartbeat=heartbeat)


def _with_driver(address: Any) -> Any:
    """Return the address with a driver that is installed, unless it names one.

    Raises:
        MissingExtraError: If none is installed.
    """
    kind = address.drivername
    if kind not in _DRIVERS:
        return address
    for module, driver in _DRIVERS[kind].items():
        if find_spec(module):
            return address.set(drivername=f"{kind}+{driver}")
    msg = f"storage {kind} needs a driver that is not installed. Run: pip install "
    raise MissingExtraError(msg + _PACKAGES[kind])


def _unreadable(url: str) -> str:
    return (
        f"storage={url!r} is no address of a storage. Write sqlite:///run.db, "
        "postgresql://user@host/database, mysql://user@host/database, or "
        "journal:run.log."
    )


def _engine_options(kind: str) -> dict[str, Any]:
    if kind == "sqlite":
        return {"connect_args": {"timeout": 60}}  # seconds to wait for other writers
    return {"pool_pre_ping": True}  # connections break while evaluations take hours


def _sqlite_lock(address: Any) -> Callable[[], AbstractContextManager[None]]:
    return partial(_file_lock, Path(address.database))


def _postgresql_lock(address: Any) -> Callable[[], AbstractContextManager[None]]:
    engine = sqlalchemy.create_engine(address, pool_size=1, pool_pre_ping=True)

    @contextlib.contextmanager
    def alone() -> Iterator[None]:
        # Of a transaction: it ends with it, also behind a pool of connections.
        with engine.begin() as connection:
            limit = f"SET LOCAL lock_timeout = '{_PATIENCE_S:.0f}s'"
            connection.execute(sqlalchemy.text(limit))
            lock = sqlalchemy.text("SELECT pg_advisory_xact_lock(:key)")
            connection.execute(lock, {"key": _LOCK_NUMBER})
            yield

    return alone


def _mysql_lock(address: Any) -> Callable[[], AbstractContextManager[None]]:
    engine = sqlalchemy.create_engine(address, pool_size=1, pool_pre_ping=True)
    names = {"name": f"sumbo {address.database}"[:64], "seconds": _PATIENCE_S}

    @contextlib.contextmanager
    def alone() -> Iterator[None]:
        with engine.connect() as connection:
            lock = sqlalchemy.text("SELECT GET_LOCK(:name, :seconds)")
            if connection.execute(lock, names).scalar() != 1:
                msg = f"the lock {names['name']!r} of the server was not free in time."
                raise StorageError(f"{msg} Is another process stuck?")
            try:
                yield
            finally:
                unlock = sqlalchemy.text("SELECT RELEASE_LOCK(:name)")
                connection.execute(unlock, names)

    return alone


@contextlib.contextmanager
def _without_experimental_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        yield


_LOCK_NUMBER = 0x73756D626F  # "sumbo"; locks of a server have numbers
_LOCKS = {
    "sqlite": _sqlite_lock,
    "postgresql": _postgresql_lock,
    "mysql": _mysql_lock,
    "mariadb": _mysql_lock,
}
# Modules of drivers, and what SQLAlchemy calls them; the first one installed is used.
_DRIVERS = {
    "postgresql": {"psycopg2": "psycopg2", "psycopg": "psycopg"},
    "mysql": {"MySQLdb": "mysqldb", "pymysql": "pymysql"},
    "mariadb": {"MySQLdb": "mysqldb", "pymysql": "pymysql"},
}
_PACKAGES = {
    "postgresql": "psycopg2-binary",
    "mysql": "pymysql",
    "mariadb": "pymysql",
}
