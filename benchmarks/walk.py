"""Print the modules of sumbo that one ask enters: ``python -m benchmarks.walk``.

The output is Markdown: the modules in the order of their first entry, for an ask with
a refit and for one without. The script also compares the direction of every call with
the layers contract in pyproject.toml, and fails if a module is entered from below.

A call to a higher layer is allowed if the function was handed to the caller, such as an
objective to a minimiser. These calls are listed as called back. Calls during an import
are not recorded, because all imports have happened in earlier asks.
"""

import gc
import inspect
import os
import sys
import tomllib
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any, Literal, NamedTuple

import sumbo
from sumbo.typing import Float, ndarray

PACKAGE = Path(sumbo.__file__).parent
PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"
BOUNDS = [(-2.0, 3.0), (0.5, 4.0), (-1.0, 6.0), (2.0, 2.5)]
# Number of asks among which one with and one without a refit is expected.
_MOST_ASKS = 20
# Number of objects that are searched for a function that was handed over.
_MOST_OBJECTS = 20_000

# By container ("sumbo"): the names of each layer, the highest layer first.
Layers = Mapping[str, list[tuple[str, ...]]]
# "across" is a call between two names of one layer.
Direction = Literal["up", "across", "down", "within"]


class Call(NamedTuple):
    """A call from a function of one module to a function of another or the same."""

    caller: str  # "" for the first call
    callee: str
    direction: Direction
    handed_over: bool  # only looked up for calls up and across


def modules_of_ask(refit: bool) -> list[str]:
    """Return the modules that one ask enters, in the order of their first entry."""
    return list(dict.fromkeys(call.callee for call in _calls_of_asks()[refit]))


def module_lines(*, refit: bool) -> list[str]:
    """Return these modules as a Markdown list, with the first lines of their docs."""
    out = []
    for number, module in enumerate(modules_of_ask(refit), 1):
        text = inspect.getdoc(sys.modules[module]) or "no docstring"
        out.append(f"{number}. `{module}`: {text.splitlines()[0]}")
    return out


def entered_from_below() -> list[tuple[str, str]]:
    """Return the calls (caller, callee) to a higher layer that are no callbacks."""
    return _pairs(lambda call: call.direction == "up" and not call.handed_over)


def called_back() -> list[tuple[str, str]]:
    """Return the calls (caller, callee) of functions that were handed to the caller.

    The callee is in a higher layer, or has another name in the layer of the caller.
    """
    return _pairs(lambda call: call.handed_over)


def record(run: Callable[[], object], folder: Path, layers: Layers) -> list[Call]:
    """Return the distinct calls of functions in ``folder`` during a run, in order.

    The caller is the innermost frame of ``folder``. So a function that SciPy calls is
    called by the module that called SciPy.
    """
    inside = f"{folder}{os.sep}"
    seen: set[tuple[CodeType | None, CodeType]] = set()
    calls: dict[Call, None] = {}

    def profile(frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or not _is_function(frame.f_code, inside):
            return
        caller = frame.f_back
        while caller is not None and not _is_function(caller.f_code, inside):
            caller = caller.f_back
        pair = (caller.f_code if caller else None, frame.f_code)
        if pair not in seen:
            seen.add(pair)
            calls[_call(caller, frame, layers)] = None

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(before)
    return list(calls)


def layers_of(path: Path) -> Layers:
    """Return the layers contracts of a pyproject.toml.

    Raises:
        LookupError: If there is none.
    """
    tables = tomllib.loads(path.read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    # "a | b" and "a : b" are one layer, and "(a)" is a layer that may be missing.
    marks = str.maketrans("|:()", "    ")
    layers = {
        container: [tuple(line.translate(marks).split()) for line in table["layers"]]
        for table in tables
        if table["type"] == "layers"
        for container in table.get("containers", [""])
    }
    if not layers:
        msg = f"{path} has no layers contract. Add one to tool.importlinter.contracts."
        raise LookupError(msg)
    return layers


def direction(caller: str, callee: str, layers: Layers) -> Direction:
    """Return where a call goes; a call is up if it is up in any of the contracts."""
    found: set[Direction] = set()
    for container, names in layers.items():
        a, b = (_place(module, container, names) for module in (caller, callee))
        if a and b and a != b:
            rise = a[0] - b[0]
            found.add("up" if rise > 0 else "down" if rise < 0 else "across")
    ways: tuple[Direction, ...] = ("up", "across", "down")
    return next((way for way in ways if way in found), "within")


def _place(
    module: str, container: str, layers: list[tuple[str, ...]]
) -> tuple[int, str] | None:
    """Return the layer of a module, 0 for the highest, and its name in that layer.

    The result is None for a module outside the container.

    Raises:
        LookupError: If the module is in the container, but in no layer.
    """
    if module == container:
        return -1, ""  # the container itself is above its layers
    start = f"{container}." if container else ""
    if not module.startswith(start):
        return None
    for rank, names in enumerate(layers):
        for name in names:
            if f"{module}.".startswith(f"{start}{name}."):
                return rank, name
    msg = f"{module} is in no layer of the contract for {container!r}. Add it there."
    raise LookupError(msg)


def _call(caller: FrameType | None, frame: FrameType, layers: Layers) -> Call:
    callee = frame.f_globals["__name__"]
    if caller is None:
        return Call("", callee, "within", handed_over=False)
    name = caller.f_globals["__name__"]
    way = direction(name, callee, layers)
    handed_over = way in {"up", "across"} and _was_handed_over(frame.f_code, caller)
    return Call(name, callee, way, handed_over)


def _was_handed_over(code: CodeType, caller: FrameType) -> bool:
    """Return whether the code can be reached from the arguments of the caller.

    Variables of enclosing functions count as arguments. Global variables do not, and
    other local variables do not either, because a function may import them.
    """
    own = caller.f_code
    count = own.co_argcount + own.co_kwonlyargcount
    count += bool(own.co_flags & inspect.CO_VARARGS)
    count += bool(own.co_flags & inspect.CO_VARKEYWORDS)
    names = {*own.co_varnames[:count], *own.co_freevars}
    values = [value for name, value in caller.f_locals.items() if name in names]
    queue, seen = deque(values), {id(value) for value in values}
    while queue and len(seen) < _MOST_OBJECTS:
        value = queue.popleft()
        if value is code:
            return True
        if not isinstance(value, (ModuleType, FrameType)) and not _is_globals(value):
            new = [v for v in gc.get_referents(value) if id(v) not in seen]
            seen.update(map(id, new))
            queue.extend(new)
    return False


def _is_globals(value: object) -> bool:
    return isinstance(value, dict) and "__spec__" in value


def _is_function(code: CodeType, inside: str) -> bool:
    return code.co_filename.startswith(inside) and code.co_name != "<module>"


@cache
def _calls_of_asks() -> dict[bool, list[Call]]:
    """Return the calls of one ask with a refit and of one without, by ``refitted``.

    Raises:
        RuntimeError: If the asks were all of one kind.
    """
    layers = layers_of(PYPROJECT)
    opt = sumbo.Optimizer(BOUNDS, seed=7)
    # Another run, so that all modules are imported before calls are recorded.
    sumbo.minimize(_objective, BOUNDS, seed=8, budget=opt.n_init + _MOST_ASKS)
    X = opt.ask(opt.n_init)
    opt.tell(X, [_objective(x) for x in X])
    found: dict[bool, list[Call]] = {}
    for _ in range(_MOST_ASKS):
        calls = record(opt.ask, PACKAGE, layers)
        found.setdefault(opt.info.refitted, calls)
        if len(found) == 2:
            return found
        x = opt.pending[0]
        opt.tell(x, _objective(x))
    msg = f"All of {_MOST_ASKS} asks had refitted={opt.info.refitted}. Use more asks."
    raise RuntimeError(msg)


def _objective(x: Float[ndarray, " 4"]) -> float:
    return float((x[0] - 1.3) ** 2 + x[0] * x[1] / 5.0 + (x[2] - 2.3) ** 2 + x[3])


def _pairs(chosen: Callable[[Call], bool]) -> list[tuple[str, str]]:
    found = (c for refit in (True, False) for c in _calls_of_asks()[refit] if chosen(c))
    return list(dict.fromkeys((call.caller, call.callee) for call in found))


def _lines() -> Iterator[str]:
    for refit, what in ((True, "with a refit"), (False, "without a refit")):
        yield f"An ask {what} enters these modules, in the order of their first entry:"
        yield ""
        yield from module_lines(refit=refit)
        yield ""
    lists = {"Called back:": called_back(), "Entered from below:": entered_from_below()}
    for title, pairs in lists.items():
        yield title
        yield ""
        yield from [f"- `{a}` calls `{b}`" for a, b in pairs] or ["- none"]
        yield ""


def main() -> None:
    """Print the lists.

    Raises:
        SystemExit: If a module is entered from below.
    """
    print("\n".join(_lines()).rstrip())
    if entered_from_below():
        raise SystemExit("A module is entered from below; see the last list.")


if __name__ == "__main__":
    main()
