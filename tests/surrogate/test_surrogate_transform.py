"""Which transform the values ask for, and when that is decided."""

from dataclasses import replace

import numpy as np
import pytest

from sumbo import Optimizer, Space
from sumbo.data import choose_transform, prepare
from sumbo.surrogate.transform import RULE, quick_log_posterior, rescale


def product(U):
    """A function whose logarithm is a sum, with its minimum inside the cube."""
    return np.prod(1.0 + 9.0 * np.abs(U - 0.37), axis=1)


def total(U):
    """A sum of functions of one parameter."""
    return ((U - 0.37) ** 2 + 0.3 * np.sin(7 * U)).sum(axis=1)


def observed(U, y, kind="auto", failed=None):
    failed = np.zeros(len(y), dtype=bool) if failed is None else failed
    return prepare(
        U=U,
        y=y,
        failed=failed,
        pending=np.empty((0, U.shape[1])),
        domain=Space.of([(0, 1)] * U.shape[1]),
        step=len(y),
        kind=kind,
    )


@pytest.mark.parametrize("kind", ["standardise", "log", "none"])
@pytest.mark.parametrize("unit", [1e-200, 0.02, 1.0, 3e7])
def test_log_slopes_are_those_of_the_transform(kind, unit, rng):
    y = unit * rng.gamma(0.7, size=40)
    transform = choose_transform(y, kind)
    # To the right: the transform has a corner at the best value.
    step = 1e-6 * (y - y.min() + unit)
    rise = (transform.forward(y + step) - transform.forward(y)) / step
    np.testing.assert_allclose(transform.log_slopes(y), np.log(rise), rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", ["standardise", "log"])
def test_the_log_density_is_one_of_the_values_in_their_own_units(kind, rng):
    U = rng.random((25, 3))
    y = product(U)
    there = quick_log_posterior(kind, U, 1000.0 * y - 4e4)
    assert there == pytest.approx(quick_log_posterior(kind, U, y) - 25 * np.log(1000.0))


@pytest.mark.parametrize("N", [45, 70, 110])
def test_logarithms_are_chosen_for_products_and_not_for_sums(N, rng):
    U = rng.random((N, 4))
    for y, kind in ((product(U), "log"), (total(U), "standardise")):
        data, scale, fits = rescale(observed(U, y), None)
        assert scale.transform.kind == data.transform.kind == kind
        assert fits == 2
        np.testing.assert_array_equal(data.y, scale.transform.forward(y))


@pytest.mark.parametrize("kind", ["standardise", "log", "none"])
def test_a_given_kind_is_not_questioned(kind, rng):
    U = rng.random((30, 2))
    for y in (product(U), total(U)):
        data, _, fits = rescale(observed(U, y, kind), None)
        assert (data.transform.kind, fits) == (kind, 0)


def test_few_or_equal_values_decide_nothing(rng):
    U = rng.random((40, 2))
    y = product(U)
    few = rescale(observed(U[:29], y[:29]), None)
    assert (few.fits, few.scale.compared) == (0, 0)
    equal = rescale(observed(U, np.full(40, 0.3)), None)
    assert (equal.fits, equal.scale.logarithms) == (0, False)


def test_kinds_are_compared_once_for_each_number_of_the_rule(rng):
    U = rng.random((110, 3))
    y = product(U)
    scale, compared = None, {}
    for N in range(20, 111):
        _, scale, fits = rescale(observed(U[:N], y[:N]), scale)
        if fits:
            compared[N] = scale.compared
    assert compared == {n: n for n in RULE.after if n <= 110}
    # A refit that comes late compares on the same number of observations.
    late = rescale(observed(U[:60], y[:60]), None).scale
    assert late.compared == 45


def test_only_the_first_successful_values_are_compared(rng):
    U = rng.random((52, 3))
    y = product(U)
    failed = np.zeros(52, dtype=bool)
    failed[[2, 11]] = True
    first = np.flatnonzero(~failed)[:45]
    strange = np.setdiff1d(np.arange(52), first)
    y[strange] = np.where(failed[strange], np.nan, 1e3 * total(U[strange]))
    scale = rescale(observed(U, y, failed=failed), None).scale
    clean = rescale(observed(U[first], y[first]), None).scale
    assert (scale.compared, scale.logarithms) == (45, clean.logarithms)
    assert clean.logarithms


# ---------------------------------------------------------------------- in a run
def run(method="logei", N=48, **settings):
    """Yield the optimizer after every ask of a run on a product of functions."""
    opt = Optimizer([(0.0, 1.0)] * 3, method=method, seed=4, n_init=12, **settings)
    for _ in range(N):
        x = opt.ask()
        yield opt
        opt.tell(x, float(product(x[None])[0]))


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("logei", {"descents": 1, "starts": 1, "groups": "singletons"}),
        ("ts", {"candidates": 20, "starts": 1, "groups": "singletons"}),
        ("max", {"candidates": 20, "rounds": 1, "sweeps": 1, "random_starts": 3}),
    ],
)
def test_the_transform_stands_until_the_next_refit(method, settings):
    before, changes, kinds = None, 0, set()
    for opt in run(method, **settings):
        now = opt.data().transform
        if len(opt.y) > 12 and not opt.info.refitted:
            assert now == before
        changes += now != before
        before = now
        kinds.add(now.kind)
    assert changes > 3
    assert kinds == {"standardise", "log"}  # the run changes its mind


def test_a_new_transform_comes_with_a_new_fit():
    kind = None
    for opt in run(descents=1, starts=1, groups="singletons"):
        now = opt.data().transform.kind
        if len(opt.y) > 12 and now != kind:
            assert opt.info.refitted
            # The hyperparameters are those of the values as they are now.
            post, data = opt.model(), opt.data()
            refitted = post.gp.fit(data.U, data.y, spans=1.0, starts=1)
            lost = refitted.info.log_likelihood - post.gp.log_marginal_likelihood(
                data.U, data.y
            )
            assert lost < 1.0  # nats; 4 to 16 were lost when only the values changed
        kind = now


def test_every_fit_is_counted_and_the_data_cost_none():
    settings = {"descents": 1, "starts": 1, "groups": "singletons"}
    settings["neighbourhood"] = False  # it is fitted at other asks, too
    fits = {}  # at each refit, by the number of observations
    for opt in run(N=58, kernel="matern52", **settings):
        if opt.info.refitted:
            fits[len(opt.y)] = opt.info.fits
            assert opt.info.fit_cpu_s > 0
        else:
            assert (opt.info.fits, opt.info.fit_cpu_s) == (0, 0.0)
    # The first refit at or after 30, and after 45 observations, compares two kinds of
    # transform.
    compares = {next(N for N in fits if n <= N) for n in (30, 45)}
    assert len(compares) == 2
    assert all(fits[N] == 3 for N in compares)
    assert all(fits[N] == 1 for N in fits if N not in compares)
    assert min(fits) == 12


def test_a_run_decides_when_its_model_is_fitted(rng):
    for f, words in ((product, "log(1 +"), (total, "y is standardised")):
        opt = Optimizer([(0.0, 1.0)] * 4, seed=4, descents=1)
        X = rng.random((70, 4))
        opt.tell(X, f(X))
        opt.ask()
        assert words in opt.data().transform.describe()
        assert words in opt.surrogate().transform.describe()


def test_values_told_after_a_fit_are_in_the_units_of_the_fit(rng):
    U = rng.random((30, 2))
    data = observed(U, product(U))
    _, scale, _ = rescale(data, None)
    more = observed(np.vstack([U, U + 0.01]), np.r_[data.values, 50 * data.values])
    later = replace(more).under(scale.transform)
    np.testing.assert_array_equal(later.y[:30], scale.transform.forward(data.values))
