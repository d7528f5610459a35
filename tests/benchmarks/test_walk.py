"""The modules that one ask enters, and the check that no call goes upwards."""

import importlib
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HIGH = """
from dataclasses import dataclass
from functools import partial
from tower import low

@dataclass(frozen=True)
class Shift:
    by: float
    def apply(self, x):
        return x + self.by

def double(x):
    return 2.0 * x

def steps():
    yield 3.0

def hands_over_a_function(): return low.call(double)
def hands_over_a_closure(): return low.call(lambda x: double(x))
def hands_over_a_partial(): return low.call(partial(double, x=5.0))
def hands_over_a_method(): return low.call(Shift(1.5).apply)
def hands_over_an_object(): return low.apply(Shift(1.5))
def hands_over_parts(): return low.call_all([{"f": double}])
def hands_over_a_generator(): return low.total(steps())
def hands_over_through_scipy(): return low.minimise(double)
def imports_from_above(): return low.ask_above()
"""
LOW = """
def call(f): return f() if getattr(f, "keywords", None) else f(4.5)
def apply(thing): return thing.apply(4.5)
def call_all(parts): return [part["f"](4.5) for part in parts]
def total(values): return sum(value for value in values)
def minimise(f):
    from scipy.optimize import minimize_scalar
    return minimize_scalar(f, bounds=(0.5, 2.5), method="bounded")
def ask_above():
    from tower.high import double
    return double(4.5)
"""
CALLBACKS = re.findall(r"def (hands_over_\w+)", HIGH)
LAYERS = {"tower": [("high", "beside"), ("low",)]}


@pytest.fixture(scope="module")
def walk():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        yield importlib.import_module("benchmarks.walk")


@pytest.fixture
def tower(tmp_path, monkeypatch):
    folder = tmp_path / "tower"
    folder.mkdir()
    for name, text in (("__init__", ""), ("high", HIGH), ("low", LOW)):
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("tower.high")
    for name in [n for n in sys.modules if n.split(".")[0] == "tower"]:
        del sys.modules[name]


def upwards(walk, tower, name):
    run = getattr(tower, name)
    calls = walk.record(run, Path(tower.__file__).parent, LAYERS)
    assert [call.callee for call in calls][:2] == ["tower.high", "tower.low"]
    return {call.handed_over for call in calls if call.direction == "up"}


@pytest.mark.parametrize("name", CALLBACKS)
def test_function_that_was_handed_over_is_a_callback(walk, tower, name):
    assert upwards(walk, tower, name) == {True}


def test_function_that_was_imported_from_above_is_no_callback(walk, tower):
    assert upwards(walk, tower, "imports_from_above") == {False}


def test_recording_leaves_the_profiler_of_the_caller_alone(walk, tower):
    def fails():
        raise ZeroDivisionError

    before = sys.getprofile()
    with pytest.raises(ZeroDivisionError):
        walk.record(fails, Path(tower.__file__).parent, LAYERS)
    assert sys.getprofile() is before


@pytest.mark.parametrize(
    ("caller", "callee", "expected"),
    [
        ("tower.low", "tower.high.top", "up"),
        ("tower.high.top", "tower.low", "down"),
        ("tower.high", "tower.high.top", "within"),
        ("tower.beside", "tower.high", "across"),
        ("tower.low", "tower", "up"),
        ("tower.low", "elsewhere.high", "within"),
    ],
)
def test_direction_of_a_call(walk, caller, callee, expected):
    assert walk.direction(caller, callee, LAYERS) == expected


def test_module_without_a_layer_is_named(walk):
    with pytest.raises(LookupError, match=r"tower\.higher is in no layer"):
        walk.direction("tower.higher", "tower.low", LAYERS)


def test_layers_are_read_from_the_contract(walk, tmp_path):
    path = tmp_path / "pyproject.toml"
    path.write_text(
        "[[tool.importlinter.contracts]]\ntype = 'independence'\nmodules = ['a']\n"
        "[[tool.importlinter.contracts]]\ntype = 'layers'\ncontainers = ['tower']\n"
        "layers = ['attic', '(roof) | high : beside', 'low']\n"
    )
    layers = [("attic",), ("roof", "high", "beside"), ("low",)]
    assert walk.layers_of(path) == {"tower": layers}
    path.write_text("[[tool.importlinter.contracts]]\ntype = 'independence'\n")
    with pytest.raises(LookupError, match="no layers contract"):
        walk.layers_of(path)


def test_ask_without_a_refit_enters_fewer_modules(walk):
    refit, later = (walk.modules_of_ask(refit) for refit in (True, False))
    assert refit[0].startswith("sumbo.optimizer")
    assert len(set(refit)) == len(refit)
    assert later[0] == refit[0]
    assert 5 < len(later) < len(refit)


def test_no_module_is_entered_from_below(walk):
    assert walk.entered_from_below() == []
    # The search evaluates a function that it does not import.
    assert walk.called_back() != []
