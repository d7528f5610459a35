"""What a study consists of: a design, and the cells it expands to."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
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
class Selection:
    """The cells of a design that are to be run; ``None`` stands for everything."""

    problems: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    batch: tuple[int, ...] | None = None
    replicates: tuple[int, ...] | None = None

    def holds(self, cell: Cell) -> bool:
        """Return whether ``cell`` is selected."""
        pairs = (
            (self.problems, cell.problem),
            (self.methods, cell.method),
            (self.batch, cell.batch),
            (self.replicates, cell.replicate),
        )
        return all(chosen is None or value in chosen for chosen, value in pairs)


@dataclass(frozen=True, kw_only=True)
class Design:
    """A whole study, and the cells of it that are to be run now."""

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
    selection: Selection = Selection()

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
        """Return the cells that are selected."""
        return (cell for cell in self.all_cells() if self.selection.holds(cell))

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


def select(
    design: Design,
    *,
    problems: Names | None = None,
    methods: Names | None = None,
    batch: int | Sequence[int] | None = None,
    replicates: Replicates | None = None,
) -> Design:
    """Return the design restricted to some cells; the study it belongs to is the same.

    ``replicates`` may be ``"0:10"`` (half-open), ``"3,5"``, a number or several. A
    problem that is named here is run even if the design calls it optional.

    Raises:
        StudyError: If something selected is not in the design.
    """
    chosen = Selection(
        problems=_chosen(problems, design.problems, "problems"),
        methods=_chosen(methods, design.method_names, "methods"),
        batch=_chosen(batch, tuple(design.methods), "batch"),
        replicates=_replicates(replicates, design.replicates),
    )
    changes = {k: v for k, v in vars(chosen).items() if v is not None}
    return replace(design, selection=replace(design.selection, **changes))


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
    if not word.strip():
        raise ValueError("nothing is named")
    first = int(start or 0)
    last = int(stop or count) if colon else first + 1
    # One outside says as much as a billion, and takes no memory.
    return range(max(first, -1), min(last, max(first, count) + 1))


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
