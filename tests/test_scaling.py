"""Which scaling the values ask for."""

import numpy as np
import pytest

from sumbo import Optimizer
from sumbo.data import choose_transform
from sumbo.surrogate import transform as scaling
from sumbo.surrogate.transform import log_evidence, settle


def product(U):
    """A function whose logarithm is a sum, with its minimum inside the cube."""
    return np.prod(1.0 + 9.0 * np.abs(U - 0.37), axis=1)


def total(U):
    """A sum of functions of one parameter."""
    return ((U - 0.37) ** 2 + 0.3 * np.sin(7 * U)).sum(axis=1)


def nothing_failed(y):
    return np.zeros(len(y), dtype=bool)


@pytest.mark.parametrize("kind", ["standardise", "log", "none"])
@pytest.mark.parametrize("unit", [1e-200, 0.02, 1.0, 3e7])
def test_log_slopes_are_those_of_the_transform(kind, unit, rng):
    y = unit * rng.gamma(0.7, size=40)
    transform = choose_transform(y, kind)
    step = 1e-6 * (
        y - y.min() + unit
    )  # to the right: the warp has a corner at the best
    rise = (transform.forward(y + step) - transform.forward(y)) / step
    np.testing.assert_allclose(transform.log_slopes(y), np.log(rise), rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", ["standardise", "log"])
def test_evidence_is_a_density_of_the_values_in_their_own_units(kind, rng):
    U = rng.random((25, 3))
    y = product(U)
    there = log_evidence(kind, U, 1000.0 * y - 4e4)
    assert there == pytest.approx(log_evidence(kind, U, y) - 25 * np.log(1000.0))


@pytest.mark.parametrize("N", [45, 70, 110])
def test_products_are_warped_and_sums_are_not(N, rng):
    U = rng.random((N, 4))
    for y, kind in ((product(U), "log"), (total(U), "auto")):
        assert settle("auto", U, y, nothing_failed(y)) == kind


@pytest.mark.parametrize("kind", ["standardise", "log", "none"])
def test_a_given_kind_stands(kind, rng):
    U = rng.random((30, 2))
    for y in (product(U), total(U)):
        assert settle(kind, U, y, nothing_failed(y)) == kind


def test_few_or_equal_values_decide_nothing(rng):
    U = rng.random((40, 2))
    y = product(U)
    failed = nothing_failed(y)
    assert settle("auto", U[:19], y[:19], failed[:19]) == "auto"
    assert settle("auto", U, np.full(40, 0.3), failed) == "auto"


def test_only_the_first_successful_values_count(rng, monkeypatch):
    seen = []

    def spy(points, values, n):
        seen.append((points, values, n))
        return False

    monkeypatch.setattr(scaling, "_is_log_ahead", spy)
    U = rng.random((47, 3))
    y = product(U)
    failed = nothing_failed(y)
    failed[[2, 11]], y[[2, 11]] = True, np.nan
    settle("auto", U, y, failed)  # 45 of them
    settle("auto", U[:40], y[:40], failed[:40])  # 38, of which 30 are looked at
    settle("auto", U[:32], y[:32], failed[:32])  # 30
    assert [n for *_, n in seen] == [45, 30, 30]
    assert seen[1] == seen[2]
    assert np.isfinite(np.frombuffer(seen[0][1])).all()


def test_an_optimizer_warps_when_the_data_ask_for_it(rng):
    for f, words in ((product, "log(1 +"), (total, "y is standardised")):
        opt = Optimizer([(0.0, 1.0)] * 4, seed=4)
        X = rng.random((70, 4))
        opt.tell(X, f(X))
        assert words in opt.data().transform.describe()
