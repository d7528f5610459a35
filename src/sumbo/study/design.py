"""What a study consists of: a TOML design, and the cells it expands to."""

import hashlib
import importlib
import json
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sumbo.errors import StudyError
from sumbo.registry import nearest

_USUAL = ("ts", "ats")  # the pair of the paper's question
Names = str | Sequence[str]
Replicates = str | int | range | Sequence[int]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One run of one method on one problem; everything its result depends on."""

    problem: str
    method: str
    batch: int
    replicate: int
    seed: int  # of the study
    n_init: int
    acquisitions: int  # evaluations chosen by the method
    preset: str
    settings: Mapping[str, Any]  # keyword arguments of the method
    # Whether the methods of a replicate share the seed of their optimizers.
    common_random_numbers: bool = False

    @cached_property
    def id(self) -> str:
        """The identity: a hash of the canonical JSON of all fields."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        if not self.common_random_numbers:  # cells had this id before the field
            del values["common_random_numbers"]
        return digest(values)

    @property
    def name(self) -> str:
        """A readable label, unique within one study."""
        return f"{self.problem}-{self.method}-b{self.batch}-r{self.replicate:03d}"


@dataclass(frozen=True, kw_only=True)
class Part:
    """The part of a design that is to be run; ``None`` stands for everything."""

    problems: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    batch: tuple[int, ...] | None = None
    replicates: tuple[int, ...] | None = None

    def holds(self, cell: Cell) -> bool:
        """Return whether ``cell`` belongs to this part."""
        pairs = (
            (self.problems, cell.problem),
            (self.methods, cell.method),
            (self.batch, cell.batch),
            (self.replicates, cell.replicate),
        )
        return all(chosen is None or value in chosen for chosen, value in pairs)


@dataclass(frozen=True, kw_only=True)
class Design:
    """A whole study, and the part of it that is to be run now."""

    name: str
    seed: int
    problems: tuple[str, ...]
    methods: Mapping[int, tuple[str, ...]]  # by batch size
    replicates: int
    n_init: int = 20
    acquisitions: int = 100
    preset: str = "paper"
    # Methods of a replicate draw partitions, candidates and normal variates alike.
    common_random_numbers: bool = True
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    optional: tuple[str, ...] = ()  # skipped where their set-up is missing
    modules: tuple[str, ...] = ()  # imported first: they register more names
    # Pairs (first, second); None stands for ts against ats, where a design has both.
    compare: tuple[tuple[str, str], ...] | None = None
    # Margins of equivalence: the share of pairs that the first wins, and the
    # geometric mean of its gap divided by that of the second.
    win_share: tuple[float, float] = (0.45, 0.55)
    gap_ratio: tuple[float, float] = (0.9, 1.11)
    part: Part = Part()

    def all_cells(self) -> Iterator[Cell]:
        """Return the cells of the whole study, one replicate after the other.

        Replicates vary slowest, so that a study stopped early is balanced.
        """
        for replicate in range(self.replicates):
            for problem in self.problems:
                for batch, methods in self.methods.items():
                    for method in methods:
                        yield Cell(
                            problem=problem,
                            method=method,
                            batch=batch,
                            replicate=replicate,
                            seed=self.seed,
                            n_init=self.n_init,
                            acquisitions=self.acquisitions,
                            preset=self.preset,
                            settings=self.settings.get(method, {}),
                            common_random_numbers=self.common_random_numbers,
                        )

    def cells(self) -> Iterator[Cell]:
        """Return the cells of the selected part."""
        return (cell for cell in self.all_cells() if self.part.holds(cell))

    def contradiction(self, other: "Design") -> str:
        """Return in what ``other`` is another study, "" if both are parts of one.

        The grid may grow; what a cell means may not change, nor may the margins that
        were fixed before the runs.
        """
        shared = ("name", "seed", "n_init", "acquisitions", "preset")
        fixed = ("common_random_numbers", "win_share", "gap_ratio")
        for name in (*shared, *fixed):
            ours, theirs = getattr(self, name), getattr(other, name)
            if ours != theirs:
                return f"its {name} is {theirs!r} instead of {ours!r}"
        for method in self.method_names & other.method_names:
            ours, theirs = self.settings.get(method), other.settings.get(method)
            if digest(ours or {}) != digest(theirs or {}):
                return f"its settings of {method} are {theirs!r} instead of {ours!r}"
        return ""

    @property
    def method_names(self) -> set[str]:
        """All methods, whatever their batch size."""
        return {method for methods in self.methods.values() for method in methods}

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The pairs of methods that the report compares."""
        if self.compare is not None:
            return self.compare
        return (_USUAL,) if set(_USUAL) <= self.method_names else ()


def digest(value: Any) -> str:
    """Return a short hash of the canonical JSON of ``value``."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


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
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"{path} is not a TOML file: {error}."
        raise StudyError(msg) from error
    table.setdefault("name", path.stem)
    table.setdefault("common_random_numbers", True)
    design = design_from(table, source=str(path))
    _check_names(design, source=str(path))
    return design


def design_from(table: Mapping[str, Any], source: str) -> Design:
    """Return the design that a table of plain values describes.

    Raises:
        StudyError: If a key is missing or unknown, or a value cannot be used.
    """
    known = [f.name for f in fields(Design) if f.name != "part"]
    for key in table:
        if key not in known:
            msg = f"{source}: key {key!r} is unknown. {nearest(key, known)}"
            raise StudyError(msg)
    missing = {"name", "seed", "problems", "methods", "replicates"} - set(table)
    if missing:
        msg = f"{source}: key {min(missing)!r} is missing. Add it."
        raise StudyError(msg)
    design = Design(**_values(table, source))
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


def select(
    design: Design,
    *,
    problems: Names | None = None,
    methods: Names | None = None,
    batch: int | Sequence[int] | None = None,
    replicates: Replicates | None = None,
) -> Design:
    """Return the design restricted to a part; the study it belongs to is the same.

    ``replicates`` may be ``"0:10"`` (half-open), ``"3,5"``, a number or several. A
    problem that is named here is run even if the design calls it optional.

    Raises:
        StudyError: If something selected is not in the design.
    """
    chosen = Part(
        problems=_chosen(problems, design.problems, "problems"),
        methods=_chosen(methods, design.method_names, "methods"),
        batch=_chosen(batch, tuple(design.methods), "batch"),
        replicates=_replicates(replicates, design.replicates),
    )
    changes = {k: v for k, v in vars(chosen).items() if v is not None}
    return replace(design, part=replace(design.part, **changes))


def _check_names(design: Design, source: str) -> None:
    # Here, because workers handle cells without loading all methods and problems.
    from sumbo.methods import METHODS
    from sumbo.problems import PROBLEMS

    for module in design.modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            msg = f"{source}: modules holds {module!r}, which cannot be imported."
            raise StudyError(msg) from error
    registered = {
        "problem": (design.problems, PROBLEMS.names()),
        "method": (sorted(design.method_names), METHODS.names()),
    }
    for kind, (used, known) in registered.items():
        for name in used:
            if name not in known:
                msg = f"{source}: {kind} {name!r} is unknown. {nearest(name, known)}"
                raise StudyError(msg)


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
    if values.get("compare") is not None:
        values["compare"] = _pairs(values["compare"], source)
    values["methods"] = _methods(values["methods"], source)
    return values


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


def _chosen(value: Any, known: Any, what: str) -> tuple[Any, ...] | None:
    if value is None:
        return None
    chosen = (value,) if isinstance(value, (str, int)) else tuple(value)
    for name in chosen:
        if name not in known:
            hint = nearest(str(name), map(str, known))
            msg = f"{what}={name!r} is not in this study. {hint}"
            raise StudyError(msg)
    return chosen


def _span(word: str, count: int) -> range:
    start, colon, stop = word.partition(":")
    first = int(start or 0)
    return range(first, int(stop or count) if colon else first + 1)


def _replicates(value: Replicates | None, count: int) -> tuple[int, ...] | None:
    if value is None:
        return None
    if isinstance(value, str):
        try:
            chosen = tuple(r for word in value.split(",") for r in _span(word, count))
        except ValueError as error:
            msg = f"replicates={value!r} is not a number or a range such as 0:10."
            raise StudyError(msg) from error
    else:
        chosen = (value,) if isinstance(value, int) else tuple(value)
    if not chosen or min(chosen) < 0 or max(chosen) >= count:
        msg = (
            f"replicates={value!r} are not within 0:{count}, the replicates of this "
            "study. Choose some of those."
        )
        raise StudyError(msg)
    return chosen
