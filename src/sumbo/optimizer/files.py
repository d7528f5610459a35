"""Runs as files: all that an optimizer knows, and back, bit for bit."""

import dataclasses
from pathlib import Path
from typing import Any

from sumbo import checkpoint
from sumbo.decompositions import DECOMPOSITIONS, Decomposition
from sumbo.errors import CheckpointError, MissingFunctionError
from sumbo.methods import METHODS
from sumbo.optimizer.engine import (
    Engine,
    Failure,
    Snapshot,
    as_count,
    make_engine,
    settings_of,
)
from sumbo.optimizer.history import History
from sumbo.optimizer.outcomes import limits_from_json, limits_to_json
from sumbo.space import Feasible, Space, outcomes_in

KIND = "sumbo optimizer"
# The key under which a file names the class of a setting that is a decomposition.
DECOMPOSITION = "decomposition"


def write_run(
    path: str | Path, engine: Engine, now: Snapshot, *, maximize: bool
) -> None:
    """Write a run to one file, atomically; its values are in the user's sign."""
    packed = None if now.state is None else now.state.pack()
    state, state_arrays = checkpoint.split_state(packed)
    header = {
        "kind": KIND,
        "space": engine.space.to_json(),
        "maximize": maximize,
        "method": name_of(engine),
        "settings": {k: _to_json(v) for k, v in settings_of(engine.method).items()},
        "seed": engine.seed,
        "n_init": engine.n_init,
        "transform": engine.transform,
        "init": engine.init,
        "repeats": engine.repeats,
        "steps": now.steps,
        "asks": now.asks,
        "state": state,
        "outcomes": limits_to_json(engine.limits),
        "failures": [[list(f.x), f.reason] for f in now.failures],
    }
    history = now.history.arrays()
    if maximize:
        history["y"] = -history["y"]
    arrays = {f"history.{k}": v for k, v in history.items()}
    arrays |= {f"state.{k}": v for k, v in state_arrays.items()}
    checkpoint.save(path, header, arrays)


def read_run(
    path: str | Path, tests: tuple[Feasible, ...] = ()
) -> tuple[Engine, Snapshot, bool]:
    """Return the run of a file, and whether it maximises.

    ``tests`` are the functions of constraints, which no file holds.

    Raises:
        CheckpointError: If the file is missing, damaged, or something else.
        MissingFunctionError: If functions are missing in ``tests``.
    """
    header, arrays = checkpoint.load(path)
    if header.get("kind") != KIND:
        msg = (
            f"{path} holds {header.get('kind')!r}, not a saved optimizer. "
            "Pass the path of a run."
        )
        raise CheckpointError(msg)
    try:
        engine, now, maximize = _restored(header, arrays, tests)
        wrong = now.history.contradiction(engine.space)
    except MissingFunctionError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        what = f"{type(error).__name__}: {error}"
        raise CheckpointError(_inconsistent(path, what)) from error
    if wrong:
        raise CheckpointError(_inconsistent(path, wrong))
    return engine, now, maximize


def name_of(engine: Engine) -> str:
    """Return the name of the method."""
    cls = type(engine.method)
    return METHODS.name_of(cls) or cls.__name__


def _restored(
    header: Any, arrays: dict[str, Any], tests: tuple[Feasible, ...]
) -> tuple[Engine, Snapshot, bool]:
    settings = {k: _from_json(v) for k, v in header["settings"].items()}
    space = Space.from_json(header["space"], tests)
    limits = limits_from_json(header.get("outcomes", []))
    engine = make_engine(
        space,
        method=header["method"],
        seed=as_count("seed", header["seed"], 0),
        groups=settings.pop("groups", None),
        n_init=header["n_init"],
        transform=header["transform"],
        init=header["init"],
        repeats=header.get("repeats"),
        limits=outcomes_in(limits, space.parameters),
        settings=settings,
    )
    packed = checkpoint.join_state(header["state"], _under("state.", arrays))
    maximize = bool(header.get("maximize", False))
    history = _under("history.", arrays)
    if maximize:
        history["y"] = -history["y"]
    now = Snapshot(
        history=History.from_arrays(history),
        state=None if packed is None else engine.method.restore(packed),
        steps=as_count("steps", header["steps"], 0),
        asks=as_count("asks", header["asks"], 0),
        failures=tuple(
            Failure(x=tuple(float(v) for v in x), reason=str(reason))
            for x, reason in header.get("failures", [])
        ),
    )
    return engine, now, maximize


def _inconsistent(path: str | Path, what: str) -> str:
    msg = f"{path} is not a consistent saved optimizer: {what.rstrip('.')}. "
    return f"{msg}Restore it from a copy, or delete it to start again."


def _under(prefix: str, arrays: dict[str, Any]) -> dict[str, Any]:
    return {k[len(prefix) :]: v for k, v in arrays.items() if k.startswith(prefix)}


def _to_json(setting: Any) -> Any:
    """Return a setting as a file holds it: a decomposition by name and settings.

    Raises:
        CheckpointError: If the decomposition is not registered.
    """
    if not isinstance(setting, Decomposition):
        return setting
    name = DECOMPOSITIONS.name_of(type(setting))
    if name is None:
        msg = f"groups={setting!r} cannot be saved: its class is not registered."
        raise CheckpointError(f"{msg} Register it with DECOMPOSITIONS.")
    return {DECOMPOSITION: name, **dataclasses.asdict(setting)}  # pyright: ignore[reportArgumentType]


def _from_json(setting: Any) -> Any:
    if isinstance(setting, dict) and DECOMPOSITION in setting:
        fields = {k: v for k, v in setting.items() if k != DECOMPOSITION}
        return DECOMPOSITIONS.get(setting[DECOMPOSITION])(**fields)
    return setting
