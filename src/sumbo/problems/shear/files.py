"""Where the data files of the surveys are: given, in a folder, cached, or fetched.

A file is looked for at ``path=``, then in the folder that the environment variable
``SUMBO_DATA`` names, then in the user's cache, to which it is downloaded once. Only a
file with the right digest enters the cache.
"""

import hashlib
import logging
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sumbo.errors import MissingExtraError, ProblemError

FOLDER = "SUMBO_DATA"


@dataclass(frozen=True, kw_only=True)
class DataFile:
    """A public file: its name, its folder on the network and how to recognise it."""

    name: str
    url: str  # of the folder, with a slash at the end
    digest: str  # "sha256:…", or "git:…" for the blob id of git
    size: int | None = None  # bytes, where it is known


def locate(file: DataFile, path: str | Path | None = None, *, problem: str) -> Path:
    """Return the path of a data file, downloaded if it is nowhere on this machine.

    A file at ``path`` is taken as it is; any other must have the right digest.

    Raises:
        ProblemError: If there is no such file, it has another content, or it cannot
            be downloaded.
    """
    if path is not None:
        given = Path(path).expanduser()
        if not given.is_file():
            msg = f"path={str(path)!r} is no file. Pass the path of {file.name}."
            raise ProblemError(msg)
        return given
    found = present(file)
    if found is None:
        return fetch(file, problem=problem)
    if not matches(file, found):
        msg = (
            f"{found} is not the file that problem {problem!r} needs: its digest is "
            f"not {file.digest}. It is truncated or another file: remove it and run "
            f"`sumbo problems fetch {problem}`."
        )
        raise ProblemError(msg)
    return found


def present(file: DataFile) -> Path | None:
    """Return where a data file is on this machine, None if it is not."""
    folder = os.environ.get(FOLDER)
    places = [Path(folder).expanduser() / file.name] if folder else []
    places.append(cache() / file.name)
    return next((place for place in places if place.is_file()), None)


def status(files: tuple[DataFile, ...], problem: str) -> str:
    """Return which data file is missing and what to do about it, or ""."""
    for file in files:
        if present(file) is None:
            return (
                f"the data file {file.name} is not here. Run: sumbo problems fetch "
                f"{problem}"
            )
    return ""


def fetch(file: DataFile, *, problem: str) -> Path:
    """Return the path of a data file that is downloaded to the user's cache.

    Raises:
        MissingExtraError: If pooch is not installed.
        ProblemError: If it cannot be downloaded, or what came is another file.
    """
    try:
        import pooch
    except ImportError as error:
        msg = (
            f"problem {problem!r} needs pooch to download its data, which is not "
            'installed. Run: pip install "sumbo[cosmology]"'
        )
        raise MissingExtraError(msg) from error
    # Only a file that passed `matches` gets its final name: an interrupted or wrong
    # download never counts.
    partial = f"{file.name}.{secrets.token_hex(8)}.part"
    try:
        with _quiet(pooch.get_logger()):
            raw = pooch.retrieve(
                file.url + file.name,
                known_hash=None,
                fname=partial,
                path=cache(),
                progressbar=True,
            )
    except (OSError, ValueError) as error:  # of requests, too: no network, no such page
        msg = (
            f"{file.url}{file.name} could not be downloaded "
            f"({type(error).__name__}). Without a network, copy the file into a folder "
            f"and set {FOLDER} to it."
        )
        raise ProblemError(msg) from error
    got = Path(raw)
    if not matches(file, got):
        got.unlink()
        msg = (
            f"{file.url}{file.name} is another file than problem {problem!r} needs: "
            f"its digest is not {file.digest}. Get the file elsewhere and set {FOLDER} "
            "to its folder."
        )
        raise ProblemError(msg)
    return got.replace(cache() / file.name)


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    """Within it, pooch does not advise to pass digests, which are checked here."""
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)


def matches(file: DataFile, path: Path) -> bool:
    """Return whether a file has the digest that it should have."""
    kind, _, wanted = file.digest.partition(":")
    raw = path.read_bytes()
    if kind == "git":  # the id under which git stores the content
        found = hashlib.sha1(b"blob %d\0" % len(raw) + raw, usedforsecurity=False)
    else:
        found = hashlib.sha256(raw)
    return found.hexdigest() == wanted


def cache() -> Path:
    """Return the folder of downloaded data, below the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "sumbo" / "data"
