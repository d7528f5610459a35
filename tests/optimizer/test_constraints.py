"""No method asks an infeasible point, and constraints survive files."""

import numpy as np
import pytest

import sumbo
from sumbo import Feasible, Integer, Optimizer, Real, Simplex, minimize
from sumbo.errors import ArgumentError, SumboError

SETTINGS = {
    "qff": {"nodes": 16, "lengthscale": 0.5, "grid": 50},
    "max": {"candidates": 60},
    "struct": {"candidates": 60},
    "dumbo": {"adam_steps": 5, "states": 2, "candidates": 32, "starts": 3},
}


def near_corner(x):
    """Is true in part of a disc."""
    return bool((x[0] - 0.2) ** 2 + (x[1] - 0.3) ** 2 < 0.09)


SCENES = {
    "budget": ([(0, 1)] * 4, ["x0 + x1 + x2 + x3 <= 1.1", "x1 >= x0"]),
    "mixture": ([Simplex("m", 3), (-1.0, 2.0)], ["m0 <= 0.6", "m1 + x1 <= 1.2"]),
    "levels": ([Integer("i", 0, 9), Integer("j", 0, 9), (0, 2)], ["i + j == 7"]),
    "disc": ([(0, 1)] * 3, [Feasible(near_corner)]),
}


def value(x):
    x = np.asarray(x, dtype=float)
    return float(((x - 0.7) ** 2).sum() + 0.2 * np.sin(7 * x).sum())


# Every scene with the default, every method in one scene; the rest is slow.
QUICK = {(method, "budget") for method in sumbo.methods.names()}
QUICK |= {("logei", scene) for scene in SCENES}


@pytest.mark.parametrize(
    ("method", "scene"),
    [
        pytest.param(
            method, scene, marks=() if (method, scene) in QUICK else pytest.mark.slow
        )
        for method in sumbo.methods.names()
        for scene in SCENES
    ],
)
def test_no_method_asks_an_infeasible_or_known_point(method, scene):
    bounds, constraints = SCENES[scene]
    opt = Optimizer(
        bounds,
        method=method,
        constraints=constraints,
        seed=2,
        n_init=6,
        **SETTINGS.get(method, {}),
    )
    for n in (6, 1, 3):
        X = opt.ask(n)
        for x in X:
            opt.tell(x, value(x))
    assert opt.space.region.feasible(opt.space.encode(opt.X)).all()
    assert len(np.unique(opt.X, axis=0)) == 10


def test_the_optimum_on_the_boundary_is_found():
    r = minimize(
        lambda x: float(((x - 0.9) ** 2).sum()),
        [(0, 1)] * 3,
        constraints=["x0 + x1 + x2 <= 1.2"],
        budget=28,
        n_init=12,
        seed=1,
    )
    assert r.x.sum() <= 1.2
    assert r.fun < 3 * 0.5**2 + 2e-3  # at 0.4 each
    np.testing.assert_allclose(r.x, 0.4, atol=0.05)


def test_sobol_designs_are_feasible():
    opt = Optimizer([(0, 1)] * 2, constraints=["x0 + x1 <= 0.4"], init="sobol", seed=4)
    X = opt.ask(20)
    assert (X.sum(axis=1) <= 0.4).all()
    assert len(np.unique(X, axis=0)) == 20


def test_a_feasible_set_of_few_points_is_used_up_before_one_repeats():
    bounds = [Integer("i", 0, 30), Integer("j", 0, 30)]
    opt = Optimizer(bounds, constraints=["i + j == 5"], seed=1, n_init=2)
    for _ in range(6):
        x = opt.ask()
        opt.tell(x, float(x[0]))
    assert sorted(opt.X[:, 0].tolist()) == [0, 1, 2, 3, 4, 5]
    assert opt.ask().sum() == 5


def test_the_best_point_is_feasible():
    opt = Optimizer([(0, 1)] * 2, constraints=["x0 + x1 <= 1"], seed=1)
    opt.tell([0.9, 0.8], -5.0)
    with pytest.raises(SumboError, match="no observed point meets"):
        _ = opt.best
    opt.tell([0.2, 0.3], 1.5)
    assert opt.best[1] == 1.5


def test_shares_with_few_digits_count_as_feasible():
    opt = Optimizer([Simplex("m", 3)], seed=1)
    opt.tell([0.3333333, 0.3333333, 0.3333333], 2.0)
    assert opt.best[1] == 2.0


def test_a_saved_run_goes_on_bit_for_bit(tmp_path):
    bounds, constraints = SCENES["disc"]
    constraints = [*constraints, "x2 <= 0.6 + x0"]
    path = tmp_path / "run.npz"
    opt = Optimizer(bounds, constraints=constraints, seed=5, n_init=5)
    for x in opt.ask(7):
        opt.tell(x, value(x))
    opt.save(path)
    with pytest.raises(ArgumentError, match="pass constraints"):
        Optimizer.load(path)
    again = Optimizer.load(path, constraints)
    for _ in range(2):
        x, z = opt.ask(), again.ask()
        assert x.tobytes() == z.tobytes()
        opt.tell(x, value(x))
        again.tell(z, value(z))


def test_another_constraint_is_another_run(tmp_path):
    path = tmp_path / "run.npz"
    arguments = {"budget": 4, "n_init": 2, "seed": 1, "checkpoint": path}
    bounds = [(0, 1)] * 2
    minimize(value, bounds, constraints=["x0 <= 0.5"], **arguments)
    with pytest.raises(SumboError, match="another run: the constraints"):
        minimize(value, bounds, constraints=["x0 <= 0.4"], **arguments)


def test_constraints_on_a_logarithmic_parameter_hold():
    bounds = [Real("a", 1e-5, 1.0, log=True), Real("b", 1e-3, 1.0, log=True)]
    opt = Optimizer(bounds, constraints=["a + b == 0.5"], seed=3, n_init=5)
    for x in opt.ask(7):
        opt.tell(x, value(x))
    X = np.vstack([opt.X, opt.ask(2)])
    np.testing.assert_allclose(X.sum(axis=1), 0.5, rtol=1e-9)


def test_points_that_differ_by_rounding_count_as_one():
    # The equation fixes x0 by i; the search likes the upper end of x2 best.
    bounds = [(2.444, 5.101), Integer("i", 1, 20), (-3.7, 0.8194)]
    opt = Optimizer(bounds, constraints=["3*i + 2*x0 == 29.697965"], seed=1, n_init=3)
    for n in (3, 1, 4, 1, 1):
        for x in opt.ask(n):
            opt.tell(x, float((x[1] - 7) ** 2 - x[2]))
    U = opt.space.encode(opt.X)
    assert len(np.unique(U.round(8), axis=0)) == 10
