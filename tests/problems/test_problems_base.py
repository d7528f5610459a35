"""What every problem promises, and how problems are found by name."""

import pickle  # noqa: TID251 - problems are sent to worker processes this way
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from sumbo import problems
from sumbo.errors import (
    ArgumentError,
    MissingExtraError,
    ProblemError,
    UnknownNameError,
)
from sumbo.problems import Problem, base
from sumbo.testing.problems import check_groups
from sumbo.typing import Groups

# In the order of their files.
OTHERS = ("balanced", "balanced-box", "chain", "pairs", "designs")
PAPER = (
    *("ackley2", "ackley5", "ackley10", "levy2", "levy5", "levy10"),
    *("rastrigin2", "rastrigin5", "rastrigin10", "push", "lunar", "rover"),
    *("desi", "kids-1000", "hsc-y3-shear"),
)

# Settings that make a problem cheap without changing its kind.
QUICK = {"lunar": {"seeds": (3, 17), "steps": 40}}


def get(name, **settings) -> Any:
    return problems.get(name, **settings)


def marked(name):
    needs = bool(problems.info(name).needs)
    return pytest.param(name, marks=pytest.mark.external if needs else ())


each_name = pytest.mark.parametrize("name", [marked(n) for n in problems.names()])


def build(name):
    ready, reason = problems.available(name)
    if not ready:
        pytest.skip(reason)
    return get(name, **QUICK.get(name, {}))


def points(p, n=3):
    rng = np.random.default_rng(83)
    return rng.uniform(*p.bounds.T, size=(n, p.dim))


@dataclass(frozen=True, kw_only=True, eq=False)
class Plane(Problem):
    """A cheap problem of known values for the tests of the border."""

    def evaluate(self, X):
        return X @ np.arange(3.0, 3.0 + X.shape[1])


@dataclass(frozen=True, kw_only=True, eq=False)
class Coupled(Problem):
    """Products of neighbours, and of the first and the last but one coordinate."""

    stated: Groups

    @property
    def groups(self):
        """What the problem says of its terms, true or not."""
        return self.stated

    def evaluate(self, X):
        return (X[:, :-1] * X[:, 1:]).sum(axis=1) + X[:, 0] * X[:, -2] + 1.7


def plane(**changes):
    facts = {
        "name": "plane",
        "bounds": np.array([[-3.0, 5.0], [0.5, 0.7]]),
        "parameters": ("slow", "fast"),
        "description": "",
        "cite": "",
    }
    return Plane(**(facts | changes))


# ---------------------------------------------------------------- contract


@each_name
def test_one_point_gives_a_float_and_a_batch_an_array(name):
    p = build(name)
    X = points(p)
    one, many = p(X[1]), p(X)
    assert isinstance(one, float)
    assert many.shape == (3,)
    assert many.dtype == float
    assert many[1] == pytest.approx(one, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    ("groups", "true"),
    [
        (((0, 1, 2, 3),), True),
        (((0, 1, 2), (2, 3)), True),
        (((0, 1), (1, 2), (2, 3), (0, 2)), True),
        (((0, 1), (1, 2), (2, 3)), False),
        (((0, 1), (2, 3)), False),
    ],
)
def test_stated_groups_are_those_of_the_terms(groups, true):
    p = Coupled(
        name="coupled",
        bounds=np.array([[-3.0, 5.0], [0.5, 0.7], [1.1, 2.9], [-0.3, 0.4]]),
        parameters=("a", "b", "c", "d"),
        description="",
        cite="",
        stated=groups,
    )
    if true:
        check_groups(p)
        return
    with pytest.raises(AssertionError, match="is no sum over its groups"):
        check_groups(p)


@each_name
def test_the_same_point_gives_the_same_value(name):
    p = build(name)
    X = points(p)
    assert np.array_equal(p(X), p(X))


@each_name
def test_inputs_stay_unchanged_and_may_be_read_only(name):
    p = build(name)
    X = points(p)
    X.setflags(write=False)
    before = X.copy()
    p(X)
    assert np.array_equal(X, before)


@each_name
def test_a_pickled_copy_is_the_same_problem(name):
    p = build(name)
    copy = pickle.loads(pickle.dumps(p))
    x = points(p)[2]
    assert copy(x) == p(x)
    assert not copy.bounds.flags.writeable


@each_name
def test_facts_agree_with_the_built_problem(name):
    p, facts = build(name), problems.info(name)
    assert p.name == facts.name == name
    assert p.dim == facts.dim == len(p.parameters) == len(set(p.parameters))
    assert p.cite == facts.cite != ""
    assert p.description != ""
    assert facts.cost != ""
    assert np.all(p.bounds[:, 0] < p.bounds[:, 1])
    np.testing.assert_array_equal(p.space.bounds, p.bounds)
    assert p.noise == 0


@each_name
def test_the_best_known_point_has_the_best_known_value(name):
    p = build(name)
    if p.best_known_x is None or name in QUICK:
        pytest.skip("no such point, or too slow with all episodes")
    # 1e-3 for contact-rich physics on other machines
    assert p(p.best_known_x) == pytest.approx(p.best_known, rel=1e-3, abs=1e-3)


@each_name
def test_an_empty_batch_gives_no_values(name):
    p = build(name)
    assert p(np.empty((0, p.dim))).shape == (0,)


# ---------------------------------------------------------------- names


def test_the_paper_problems_come_first_and_in_its_order():
    assert problems.names()[:15] == PAPER


def test_a_registered_problem_is_listed_after_the_paper_and_can_be_built(monkeypatch):
    monkeypatch.setattr(base.PROBLEMS, "_items", dict(base.PROBLEMS._items))
    problems.names()

    @problems.problem("plane", dim=2, cost="0", description="a plane", cite="x")
    def make(*, name="plane"):
        return plane(name=name)

    assert problems.names() == (*PAPER, *OTHERS, "plane")
    assert get("plane")([2.0, 0.6]) == pytest.approx(3 * 2 + 4 * 0.6)


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(UnknownNameError, match="'rover'"):
        get("rovers")


def test_an_unknown_setting_suggests_the_nearest():
    with pytest.raises(ArgumentError, match=r"sed=3 .*'rover'.*'seed'"):
        get("rover", sed=3)


def test_the_dimension_in_a_name_is_fixed():
    with pytest.raises(ArgumentError, match=r"dim=7 .*fixed: 10"):
        get("levy10", dim=7)


def test_settings_tell_their_defaults():
    assert problems.info("levy5").settings == {
        "seed": 0,
        "shift": None,
        "center": "half",
    }
    assert problems.info("levy").settings["dim"] == 2
    assert problems.info("levy5").seeded
    assert not problems.info("lunar").seeded


# ---------------------------------------------------------------- extras


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "Box2D", None)
    with pytest.raises(MissingExtraError, match=r'pip install "sumbo\[games\]"'):
        get("push")


def test_a_missing_extra_shows_as_not_available(monkeypatch):
    monkeypatch.setattr(base, "find_spec", lambda _: None)
    ready, reason = problems.available("lunar")
    assert not ready
    assert 'pip install "sumbo[games]"' in reason
    assert problems.available("rover") == (True, "")


def test_a_failed_check_is_the_reason(monkeypatch):
    monkeypatch.setattr(base.PROBLEMS, "_items", dict(base.PROBLEMS._items))
    facts = {"dim": 2, "cost": "0", "description": "", "cite": "x"}
    problems.problem("odd", check=lambda: "no library", **facts)(plane)
    assert problems.available("odd") == (False, "no library")


def test_listing_the_problems_imports_no_optional_library():
    code = (
        "import sys, sumbo.problems as p; [p.info(n) for n in p.names()]; "
        "print(sorted({'Box2D', 'gymnasium', 'camb', 'matplotlib'} & set(sys.modules)))"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == "[]"


# ---------------------------------------------------------------- the border


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([1.0], r"shape \(1,\).*Pass shape \(2,\)"),
        ([[1.0, 0.6, 0.6]], r"shape \(1, 3\)"),
        (np.full((1, 1, 2), 0.6), r"shape \(1, 1, 2\)"),
        (0.6, r"shape \(\)"),
        ([1.0, 0.75], r"x\[1\]=0\.75 \(fast of plane\).*\[0\.5, 0\.7\]"),
        ([[1.0, 0.6], [-3.1, 0.6]], r"x\[1, 0\]=-3\.1 \(slow of plane\)"),
        ([1.0, float("nan")], r"x\[1\]=nan \(fast of plane\)"),
        ([float("inf"), 0.6], r"x\[0\]=inf"),
        (["left", 0.6], "not an array of numbers"),
        ([[1.0, 0.6], [1.0]], "not an array of numbers"),
    ],
)
def test_bad_input_is_refused_by_name_and_value(x, message):
    with pytest.raises(ArgumentError, match=message):
        plane()(x)


def test_rounding_beyond_the_box_is_moved_onto_it():
    seen = []

    @dataclass(frozen=True, kw_only=True, eq=False)
    class Spy(Plane):
        def evaluate(self, X):
            seen.append(X)
            return super().evaluate(X)

    p = Spy(**plane().__dict__)
    p([5.0 + 7e-9, 0.5 - 1e-10])
    assert seen[0].tolist() == [[5.0, 0.5]]
    with pytest.raises(ArgumentError):
        p([5.0 + 9e-9, 0.6])


def test_a_value_that_is_not_finite_is_an_error_of_the_problem():
    @dataclass(frozen=True, kw_only=True, eq=False)
    class Broken(Plane):
        def evaluate(self, X):
            return np.log(X[:, 1] - 0.6)

    p = Broken(**plane().__dict__)
    with np.errstate(all="ignore"), pytest.raises(ProblemError, match="plane"):
        p([1.0, 0.55])


def test_a_method_for_one_point_refuses_a_batch():
    with pytest.raises(ArgumentError, match="single point"):
        plane().point([[1.0, 0.6]])


def test_parameters_must_name_every_row_of_the_bounds():
    with pytest.raises(ArgumentError, match="3 names for 2 rows"):
        plane(parameters=("a", "b", "c"))


def test_the_arrays_given_stay_writable_and_those_kept_do_not():
    bounds = np.array([[-3.0, 5.0], [0.5, 0.7]])
    p = plane(bounds=bounds)
    bounds[0, 0] = 99.0
    assert p.bounds[0, 0] == -3.0
    with pytest.raises(ValueError, match="read-only"):
        p.bounds[0, 0] = 1.0


def test_the_exact_minimum_is_the_best_known():
    p = plane(minimum=-7.0, minimizer=np.array([-3.0, 0.5]))
    assert p.exact
    assert p.best_known == -7.0
    assert p.best_known_x is p.minimizer
    assert not plane(best_known=-6.0).exact
