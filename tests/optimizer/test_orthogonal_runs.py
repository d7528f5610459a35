"""Runs with orthogonal parts: what is asked, and files that continue."""

import numpy as np
import pytest

import sumbo
from sumbo.surrogate.additive import without_twins

SPACE = [
    sumbo.Real("rate", 1e-3, 1.0, log=True),
    sumbo.Integer("layers", 1, 4),
    sumbo.Categorical("kind", ["a", "b", "c"]),
]


def cost(x):
    rate, layers, kind = x
    return (np.log10(rate) + 1.3) ** 2 + 0.2 * abs(layers - 3) + 0.5 * (kind == "b")


@pytest.mark.parametrize(
    ("method", "groups"),
    [
        ("logei", "auto"),
        ("ts", [("rate",), ("layers", "kind")]),
        ("ats", "singletons"),
        ("alcb2", [("rate",), ("layers",), ("kind", "rate")]),
    ],
)
def test_a_resumed_run_asks_the_same_points(method, groups, tmp_path):
    settings = {"method": method, "groups": groups, "orthogonal": True}
    opt = sumbo.Optimizer(SPACE, seed=4, n_init=8, **settings)
    for _ in range(10):
        x = opt.ask()
        opt.tell(x, cost(x))
    opt.save(tmp_path / "run.npz")
    other = sumbo.Optimizer.load(tmp_path / "run.npz")
    assert other.settings["orthogonal"] is True
    for _ in range(2):
        x, twin = opt.ask(), other.ask()
        assert list(x) == list(twin)
        opt.tell(x, cost(x))
        other.tell(twin, cost(twin))
    post = opt.model()
    assert post.gp.orthogonal
    assert post.constant()[1] > 0
    levels = post.gp.measure[1]
    mean = post.part_mean(0, np.linspace(0, 1, 801)[:, None])
    assert levels.atoms.shape == (4, 1)
    if post.gp.groups[0] == (0,):
        assert abs(mean.mean()) < 0.01 * np.ptp(mean) + 1e-6


def test_outcomes_with_limits_and_orthogonal_parts():
    opt = sumbo.Optimizer(
        [(0, 1), (0, 1)],
        method="ts",
        groups="singletons",
        orthogonal=True,
        seed=2,
        n_init=6,
        constraints=[sumbo.Outcome("load", upper=1.0)],
    )
    for _ in range(8):
        x = opt.ask()
        opt.tell(x, x[0] + x[1] ** 2, outcomes={"load": 1.5 - x[0]})
    assert opt.best[0][0] >= 0.5


def test_parts_on_the_same_coordinates_are_left_out():
    gp = sumbo.AdditiveGP(
        groups=[(0, 1), (2,), (1, 0)], lengthscales=[[0.2, 0.3], [0.4], [0.5, 0.6]],
        variances=[1.0, 2.0, 3.0],
    )  # fmt: skip
    assert without_twins(gp).groups == ((0, 1), (2,))
    np.testing.assert_array_equal(without_twins(gp).variances, [1.0, 2.0])
