"""A PostgreSQL server of its own for tests, in a temporary folder on a socket."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

OPTIONS = "-c listen_addresses= -c max_connections=50 -c fsync=off"


def binaries() -> Path | None:
    """Return the folder of pg_ctl and initdb, None if there is none."""
    found = shutil.which("pg_ctl")
    if found:
        return Path(found).parent
    there = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    return there[-1].parent if there else None


def missing() -> str:
    """Return why no server can be started, "" if one can."""
    if binaries() is None:
        return "no PostgreSQL server is installed: apt-get install postgresql"
    try:
        import psycopg2  # noqa: F401
    except ImportError:
        return "psycopg2 is not installed: pip install psycopg2-binary"
    return ""


@contextmanager
def server() -> Iterator[str]:
    """Yield the address of a database; the server ends with the block."""
    folder = binaries()
    assert folder is not None
    # PostgreSQL refuses root; the package made a user of its own.
    user = "postgres" if os.geteuid() == 0 else None
    place = Path(tempfile.mkdtemp(prefix="sumbo-pg-"))  # a socket's path must be short
    data = place / "data"
    control = [folder / "pg_ctl", "-D", data, "-w", "-l", place / "log"]
    try:
        if user is not None:
            shutil.chown(place, user)
        init = [folder / "initdb", "-D", data, "-U", "sumbo", "-A", "trust"]
        call(init, user, place)
        call([*control, "-o", f"{OPTIONS} -k {place}", "start"], user, place)
        try:
            yield f"postgresql://sumbo@/postgres?host={place}"
        finally:
            call([*control, "-m", "immediate", "stop"], user, place)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def call(command: list, user: str | None, folder: Path) -> None:
    # Not through pipes: the server would keep them open.
    with (folder / "out").open("ab") as out:
        words = [str(word) for word in command]
        subprocess.run(words, check=True, cwd=folder, user=user, stdout=out, stderr=out)
