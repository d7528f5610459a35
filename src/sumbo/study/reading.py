"""Designs of studies as they are written: TOML files and stored tables, checked."""

import math
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from sumbo.errors import ArgumentError, StudyError
from sumbo.registry import import_named, nearest
from sumbo.study.design import Design, digest

_MOST_CELLS = 10_000_000  # more are a slip, and would fill the memory


def load_design(path: str | Path) -> Design:
    """Return the design described by a TOML file, with every name in it checked.

    Raises:
        StudyError: If the file is missing, is not TOML, or names something unknown.
    """
    path = Path(path)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        msg = f"{path} does not exist. Name a design, such as studies/smoke.toml."
        raise StudyError(msg) from error
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror}. Name a TOML file."
        raise StudyError(msg) from error
    except (ValueError, RecursionError) as error:  # also of bytes and of digits
        msg = f"{path} is not a TOML file: {error}."
        raise StudyError(msg) from error
    table.setdefault("name", path.stem)
    table.setdefault("common_random_numbers", True)
    design = design_from(table, source=str(path))
    if not design.problems or not design.method_names:
        msg = f"{path}: problems and methods name nothing to run. Name one of each."
        raise StudyError(msg)
    _check_names(design, source=str(path))
    return design


def design_from(table: Mapping[str, Any], source: str) -> Design:
    """Return the design that a table of plain values describes.

    Raises:
        StudyError: If a key is missing or unknown, or a value cannot be used.
    """
    known = [f.name for f in fields(Design) if f.name != "selection"]
    for key in table:
        if key not in known:
            msg = f"{source}: key {key!r} is unknown. {nearest(key, known)}"
            raise StudyError(msg)
    missing = {"name", "seed", "problems", "methods", "replicates"} - set(table)
    if missing:
        msg = f"{source}: key {min(missing)!r} is missing. Add it."
        raise StudyError(msg)
    design = Design(**_values(table, source))
    methods = sum(len(names) for names in design.methods.values())
    cells = design.replicates * len(design.problems) * methods
    if cells > _MOST_CELLS:
        msg = f"{source}: replicates={design.replicates} make {cells} cells, more than"
        raise StudyError(f"{msg} {_MOST_CELLS}. Ask for fewer.")
    for name in (name for pair in design.pairs for name in pair):
        if name not in design.method_names:
            hint = nearest(name, sorted(design.method_names))
            msg = f"{source}: compare names {name!r}, no method of this design. {hint}"
            raise StudyError(msg)
    stray = set(design.settings) - design.method_names
    if stray:
        msg = f"{source}: settings.{min(stray)} belongs to no method of this design."
        raise StudyError(msg)
    return design


def _check_names(design: Design, source: str) -> None:
    # Here, because workers handle cells without loading all methods and problems.
    from sumbo.methods import METHODS
    from sumbo.problems import PROBLEMS

    if design.modules:  # beside the design; at the end, to hide no installed module
        sys.path.append(str(Path(source).resolve().parent))
    for module in design.modules:
        try:
            import_named(module)
        except ArgumentError as error:
            raise StudyError(f"{source}: modules: {error}") from error
    registered = {
        "problem": (design.problems, PROBLEMS.names()),
        "method": (sorted(design.method_names), METHODS.names()),
    }
    for kind, (used, known) in registered.items():
        for name in used:
            if name not in known:
                msg = f"{source}: {kind} {name!r} is unknown. {nearest(name, known)}"
                raise StudyError(msg)
    _check_method_settings(design, source)


def _check_method_settings(design: Design, source: str) -> None:
    from sumbo.methods import make

    for method in sorted(design.method_names):
        settings = dict(design.settings.get(method, {}))
        for name in ("groups", "transform", "init"):  # of the optimizer
            settings.pop(name, None)
        try:
            make(method, design.preset, **settings)
        except ImportError:
            pass  # a missing library is no fault of the design: its cells will say so
        except (TypeError, ValueError) as error:
            msg = f"{source}: method {method!r} does not take its settings: {error}"
            raise StudyError(msg) from error


def _check_name(name: Any, source: str) -> None:
    # It becomes part of a file name, also when somebody else wrote the design.
    text = isinstance(name, str) and name.isprintable() and name.strip(". ")
    if not text or any(mark in name for mark in "/\\:"):
        msg = (
            f"{source}: name={name!r} cannot be part of a file name. Use letters, "
            "digits, '-' and '_'."
        )
        raise StudyError(msg)


def _values(table: Mapping[str, Any], source: str) -> dict[str, Any]:
    # A study that was stored without this field was run with a seed for each method.
    values = {"common_random_numbers": False, **table}
    if not isinstance(values["common_random_numbers"], bool):
        shown = values["common_random_numbers"]
        msg = f"{source}: common_random_numbers={shown!r} is not true or false."
        raise StudyError(msg)
    _check_name(values["name"], source)
    for key in ("problems", "optional", "modules"):
        if key in values:
            values[key] = _strings(values[key], key, source)
    for key in ("seed", "replicates", "n_init", "acquisitions"):
        if key in values:
            least = 1 if key in {"replicates", "n_init"} else 0
            values[key] = _integer(values[key], key, source, least)
    for key, end in (("win_share", 1.0), ("gap_ratio", math.inf)):
        if key in values:
            values[key] = _margins(values[key], key, source, end)
    _check_settings(values.get("preset", ""), values.get("settings", {}), source)
    if values.get("compare") is not None:
        values["compare"] = _pairs(values["compare"], source)
    values["methods"] = _methods(values["methods"], source)
    return values


def _check_settings(preset: Any, value: Any, source: str) -> None:
    if not isinstance(preset, str):
        msg = f"{source}: preset={preset!r} is not a name, as in 'paper'."
        raise StudyError(msg)
    tables = isinstance(value, Mapping) and all(
        isinstance(table, Mapping) for table in value.values()
    )
    if not tables:
        msg = f"{source}: settings={value!r} is not a table of tables. Write "
        raise StudyError(f"{msg}[settings.ts], then candidates = 300.")
    try:
        digest(value)
    except (TypeError, ValueError) as error:
        msg = f"{source}: settings={value!r} hold what JSON cannot: {error}. Use finite"
        raise StudyError(f"{msg} numbers, strings, booleans and lists.") from error


def _strings(value: Any, key: str, source: str) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(
        isinstance(v, str) for v in value
    ):
        msg = f'{source}: {key}={value!r} is not a list of names, such as ["levy5"].'
        raise StudyError(msg)
    if len(set(value)) != len(value):
        msg = f"{source}: {key}={value!r} names something twice. Name it once."
        raise StudyError(msg)
    return tuple(value)


def _pairs(value: Any, source: str) -> tuple[tuple[str, str], ...]:
    hint = 'Write pairs of two methods, such as compare = [["ts", "ats"]].'
    if not isinstance(value, (list, tuple)):
        msg = f"{source}: compare={value!r} is not a list. {hint}"
        raise StudyError(msg)
    pairs = []
    for pair in value:
        names = _strings(pair, "compare", source)
        if len(names) != 2:
            msg = f"{source}: compare holds {pair!r}, which is no pair. {hint}"
            raise StudyError(msg)
        pairs.append((names[0], names[1]))
    return tuple(pairs)


def _margins(value: Any, key: str, source: str, end: float) -> tuple[float, float]:
    same = end / 2 if math.isfinite(end) else 1.0  # what no difference gives
    numbers = isinstance(value, (list, tuple)) and all(
        isinstance(v, (int, float)) and not isinstance(v, bool) for v in value
    )
    if numbers and len(value) == 2 and 0 < value[0] < same < value[1] < end:
        return float(value[0]), float(value[1])
    msg = (
        f"{source}: {key}={value!r} are no margins around {same:g}. Write two "
        f"numbers, such as {key} = {list(getattr(Design, key))}."
    )
    raise StudyError(msg)


def _integer(value: Any, key: str, source: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        msg = f"{source}: {key}={value!r} is not an integer of at least {least}."
        raise StudyError(msg)
    return value


def _methods(value: Any, source: str) -> dict[int, tuple[str, ...]]:
    if not isinstance(value, Mapping) or not value:
        msg = (
            f"{source}: methods={value!r} is not a table of methods by batch size. "
            'Write [methods], then 1 = ["ts", "ats"].'
        )
        raise StudyError(msg)
    out = {}
    for batch, names in value.items():
        if not str(batch).isdecimal() or int(batch) < 1:
            msg = f"{source}: methods has the batch size {batch!r}. Use 1, 2, …."
            raise StudyError(msg)
        if int(batch) in out:
            msg = f"{source}: methods has the batch size {int(batch)} twice. Join them."
            raise StudyError(msg)
        out[int(batch)] = _strings(names, f"methods.{batch}", source)
    return out
