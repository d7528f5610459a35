"""Model units: the transforms of y, imputation, immutability."""

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from sumbo.data import Data, Measured, Transform, choose_transform, prepare
from sumbo.errors import ArgumentError
from sumbo.space import Integer, Space

SPACE = Space.of([(0.5, 2.5), Integer("n", 3, 9)])
KINDS = ("standardise", "log", "bilog")


def array(*values):
    y = np.array(values, dtype=float)
    y.setflags(write=False)
    return y


def log_likelihoods(rng, n):
    return 10 ** rng.uniform(np.log10(0.5), 8, n)


def ackley(z):
    return 20 + np.e - 20 * np.exp(-0.2 * np.abs(z)) - np.exp(np.cos(0.1 * np.pi * z))


def levy(z):
    w = 1 + (z - 1) / 4
    return np.sin(np.pi * w) ** 2 + (w - 1) ** 2 * (1 + np.sin(2 * np.pi * w) ** 2)


def rastrigin(z):
    return z**2 - 2 * np.cos(2 * np.pi * z)


COMPONENTS = {
    ackley: (-32.768, 32.768),
    levy: (-9.0, 11.0),
    rastrigin: (-1.5, 1.5),
}


def values_of(component, rng, X, optimum):
    lo, hi = COMPONENTS[component]
    return component(lo + (hi - lo) * (X - optimum + 0.5)).sum(axis=1)


# ---------------------------------------------------------------------- transforms


@pytest.mark.parametrize("kind", KINDS)
def test_model_units_have_mean_zero_and_deviation_one(kind):
    y = log_likelihoods(np.random.default_rng(31), 60)
    z = choose_transform(y, kind).forward(y)
    assert z.mean() == pytest.approx(0, abs=1e-14)
    assert z.std() == pytest.approx(1, rel=1e-13)


def test_standardising_is_the_textbook_formula():
    y = array(3.7, -11.2, 0.4, 25.9, 6.1)
    z = choose_transform(y, "standardise").forward(y)
    np.testing.assert_allclose(z, (y - np.mean(y)) / np.std(y), rtol=1e-13)


def test_none_leaves_the_values_alone():
    y = array(3.7, -11.2, 1e300, -2e-310)
    transform = choose_transform(y, "none")
    assert np.array_equal(transform.forward(y), y)
    assert np.array_equal(transform.inverse(y), y)


values = st.lists(
    st.floats(-1e6, 1e6).filter(lambda v: v == 0 or abs(v) > 1e-6), min_size=2
).map(np.array)


@given(values, st.sampled_from(KINDS))
def test_inverse_undoes_forward(y, kind):
    assume(np.ptp(y) > 1e-3 * np.abs(y).max())
    transform = choose_transform(y, kind)
    # Values better than all seen, and worse, belong to the line as well.
    more = np.r_[y, y.min() - 3.3 * np.ptp(y), y.max() + 2.1 * np.ptp(y)]
    back = transform.inverse(transform.forward(more))
    np.testing.assert_allclose(back, more, rtol=0, atol=1e-9 * np.ptp(more))


@given(values, st.sampled_from(KINDS))
def test_transforms_increase_strictly_on_the_whole_line(y, kind):
    assume(np.ptp(y) > 1e-3 * np.abs(y).max())
    transform = choose_transform(y, kind)
    line = np.linspace(y.min() - 5 * np.ptp(y), y.max() + 5 * np.ptp(y), 301)
    assert np.all(np.diff(transform.forward(line)) > 0)


@given(values, st.sampled_from(KINDS))
def test_ranks_are_kept(y, kind):
    z = choose_transform(y, kind).forward(y)
    order = np.argsort(y, kind="stable")
    assert np.all(np.diff(z[order]) >= 0)
    assert z[np.argmin(y)] == z.min()


def test_the_warp_has_one_slope_at_the_best_value():
    y = log_likelihoods(np.random.default_rng(32), 40)
    transform = choose_transform(y, "log")
    h = 1e-6 * transform.width * 2.0**transform.exponent
    at = y.min() + h * np.array([-1.0, 0.0, 1.0])
    z = transform.forward(at)
    assert (z[1] - z[0]) / (z[2] - z[1]) == pytest.approx(1, abs=1e-4)


def test_the_warp_resolves_the_best_quarter():
    y = log_likelihoods(np.random.default_rng(33), 80)
    best_half = np.sort(y)[:40]
    plain = choose_transform(y, "standardise").forward(best_half)
    warped = choose_transform(y, "log").forward(best_half)
    assert np.ptp(plain) < 1e-2
    assert np.ptp(warped) > 0.2


@pytest.mark.parametrize("kind", [*KINDS, "auto"])
@pytest.mark.parametrize(
    "y",
    [
        array(),
        array(4.2),
        array(0.0),
        array(4.2, 4.2, 4.2),
        array(1e300, 1e300),
        array(1e300, -1.2e300, 3e299),
        array(1.7e308, -1.7e308, 0.3),
        array(5e-324, 1e-323, 2e-310),
        array(3.3, 3.3 * (1 + 1e-12), 3.3 * (1 - 2e-12)),
        array(1.0, np.nextafter(1.0, 2.0)),
        array(*[7.7] * 12, 8.1),
        array(*[7.7] * 12, 1e308),
        array(*10.0 ** np.arange(-300, 300, 20)),
        array(0.0, 1e-300, *10.0 ** np.arange(0, 9)),
    ],
    ids=str,
)
def test_odd_values_stay_finite_both_ways(y, kind):
    transform = choose_transform(y, kind)
    z = transform.forward(y)
    assert np.isfinite(z).all()
    assert np.isfinite(transform.inverse(z)).all()
    if len(np.unique(y)) > 1:
        assert z.std() == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("kind", [*KINDS, "auto"])
def test_equal_values_become_zero(kind):
    y = array(4.2, 4.2, 4.2)
    assert choose_transform(y, kind).forward(y).tolist() == [0, 0, 0]


def test_tiny_relative_spreads_are_standardised_like_their_differences():
    step = np.array([0.0, 3.0, 1.0, 7.0, 2.0])
    y = 5.0 + step * 2.0**-40  # exact: relative spread 1e-12
    z = choose_transform(y).forward(y)
    np.testing.assert_allclose(z, (step - step.mean()) / step.std(), rtol=1e-12)


def test_the_inverse_of_what_no_float_holds_is_infinite():
    y = log_likelihoods(np.random.default_rng(34), 30)
    assert choose_transform(y, "log").inverse(array(1e4)) == np.inf


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused(bad):
    with pytest.raises(ArgumentError, match="failed"):
        choose_transform(array(1.5, bad))


def test_an_unknown_kind_is_refused_with_the_known_ones():
    with pytest.raises(
        ArgumentError, match=r"sqrt.*auto, standardise, log, bilog, none"
    ):
        choose_transform(array(1.5, 2.5), "sqrt")


# --------------------------------------------------------------------------- auto


@pytest.mark.parametrize("n", [20, 120])
@pytest.mark.parametrize("dim", [2, 5, 10])
@pytest.mark.parametrize("component", COMPONENTS)
def test_ordinary_sums_are_standardised(component, dim, n):
    rng = np.random.default_rng([41, dim, n])
    for _ in range(25):
        X, optimum = rng.uniform(size=(n, dim)), rng.uniform(size=dim)
        y = values_of(component, rng, X, optimum)
        assert choose_transform(y).kind == "standardise"


@pytest.mark.parametrize("component", COMPONENTS)
def test_a_run_that_converges_does_not_seem_to_span_decades(component):
    rng = np.random.default_rng(42)
    for _ in range(25):
        optimum = rng.uniform(size=5)
        radius = 10.0 ** -np.linspace(0, 6, 150)[:, None]
        near = optimum + 0.3 * radius * rng.normal(size=(150, 5))
        X = np.r_[rng.uniform(size=(20, 5)), np.clip(near, 0, 1)]
        y = values_of(component, rng, X, optimum)
        assert choose_transform(y).kind == "standardise"


@pytest.mark.parametrize("n", [20, 50, 120])
def test_gaussian_and_exponential_values_are_standardised(n):
    rng = np.random.default_rng([43, n])
    for _ in range(60):
        assert choose_transform(rng.normal(3.0, 2.0, n)).kind == "standardise"
        assert choose_transform(rng.exponential(7.0, n)).kind == "standardise"


def test_values_over_eight_decades_are_warped():
    y = np.geomspace(0.5, 1e8, 23)
    for seed in range(30):
        mixed = np.random.default_rng([44, seed]).permutation(y)
        assert choose_transform(mixed).kind == "log"


def test_random_values_over_eight_decades_are_warped_almost_always():
    # Each of the 200 designs of 20 is missed with probability 0.014: more than 13
    # misses have probability 1e-6.
    rng = np.random.default_rng(45)
    kinds = [choose_transform(log_likelihoods(rng, 20)).kind for _ in range(200)]
    assert kinds.count("log") >= 187


def test_a_late_catastrophe_is_warped():
    y = np.r_[np.random.default_rng(46).normal(3.0, 2.0, 60), 1e8]
    assert choose_transform(y).kind == "log"


def test_a_plateau_at_the_best_value_is_not_decades():
    y = array(*[2.5] * 15, 3.1, 4.7, 3.9, 5.2, *[2.5] * 15, 4.4, 3.3, 3.6, 4.1, 4.8)
    assert choose_transform(y).kind == "standardise"


def test_a_handful_of_values_is_not_judged():
    assert choose_transform(array(1.5, 1.6, 9e5, 1.7)).kind == "standardise"


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("standardise", "(y - 5.25) / 1.299"),
        ("log", "log(1 + (y - 3) / 3)"),
        ("none", "as it is"),
    ],
)
def test_the_description_holds_the_numbers(kind, words):
    y = array(3.0, 6.0, 6.0, 6.0)  # deviation 3 sqrt(3) / 4 = 1.299
    assert words in choose_transform(y, kind).describe()


# --------------------------------------------------------------------------- Data


def prepared(y, failed, kind="auto"):
    n = len(y)
    U = np.random.default_rng(51).uniform(size=(n, 2))
    return prepare(
        U=U,
        y=array(*y),
        failed=np.array(failed, dtype=bool),
        pending=np.array([[0.3, 0.7]]),
        domain=SPACE,
        step=n + 1,
        kind=kind,
    )


def test_failed_rows_get_the_worst_value_and_do_not_move_the_others():
    data = prepared([3.7, np.nan, -2.4, 9.1, np.inf], [0, 1, 0, 0, 1])
    good = choose_transform(array(3.7, -2.4, 9.1)).forward(array(3.7, -2.4, 9.1))
    assert data.y.tolist() == [good[0], good[2], good[1], good[2], good[2]]
    assert data.failed.tolist() == [False, True, False, False, True]


def test_without_a_success_all_values_are_zero():
    data = prepared([np.nan, np.nan], [1, 1])
    assert data.y.tolist() == [0, 0]
    assert data.best is None


def test_without_data_there_is_no_best():
    data = prepared([], [])
    assert (data.y.shape, data.best) == ((0,), None)


def test_a_value_that_is_not_finite_must_be_marked_as_failed():
    with pytest.raises(ArgumentError, match="failed"):
        prepared([3.7, np.nan], [0, 0])


def test_best_is_the_first_of_equal_successes():
    data = prepared([3.7, -9.9, -2.4, 9.1, -2.4], [0, 1, 0, 0, 0])
    assert data.best == 2


def test_a_failed_row_is_not_the_best_when_all_values_are_equal():
    assert prepared([np.nan, 4.2, 4.2], [1, 0, 0]).best == 1


@given(
    st.lists(st.tuples(st.floats(-50, 50), st.booleans()), min_size=1),
    st.sampled_from([*KINDS, "auto"]),
)
@settings(max_examples=50)
def test_rows_stay_in_the_order_told(rows, kind):
    y, failed = [v for v, _ in rows], [f for _, f in rows]
    data = prepared(y, failed, kind)
    good = ~data.failed
    back = data.transform.inverse(data.y[good])
    np.testing.assert_allclose(back, np.array(y)[good], rtol=0, atol=1e-7)


def test_arrays_are_read_only_copies():
    U = np.full((2, 2), 0.25)
    data = prepare(
        U=U,
        y=array(1.5, 2.5),
        failed=np.zeros(2, dtype=bool),
        pending=np.empty((0, 2)),
        domain=SPACE,
        step=2,
    )
    U[0, 0] = 0.75
    assert data.U[0, 0] == 0.25
    assert U.flags.writeable
    for name in ("U", "y", "failed", "pending"):
        assert not getattr(data, name).flags.writeable


def test_pending_points_are_added_at_the_end_and_leave_the_original():
    data = prepared([3.7, -2.4, 9.1], [0, 0, 1])
    asked = data.with_pending(np.array([[0.4, 0.2], [0.6, 0.8]]))
    assert asked.pending.tolist() == [[0.3, 0.7], [0.4, 0.2], [0.6, 0.8]]
    assert (len(data.pending), asked.step) == (1, data.step)
    assert isinstance(asked, Data)


def test_the_transform_in_use_is_reported():
    y = np.geomspace(0.5, 1e8, 23)
    data = prepared(y, np.zeros(23))
    assert data.transform == choose_transform(y)
    assert isinstance(data.transform, Transform)
    assert "log(1 +" in data.transform.describe()


@pytest.mark.parametrize("kind", KINDS)
def test_data_under_a_transform_have_its_units_and_the_same_values(kind, rng):
    y = rng.gamma(0.8, size=17)
    failed = rng.random(17) < 0.3
    data = prepared(y, failed)
    transform = choose_transform(7.3 * y[~failed] - 2.1, kind)
    other = data.under(transform)
    z = transform.forward(y[~failed])
    np.testing.assert_array_equal(other.y[~failed], z)
    np.testing.assert_array_equal(other.y[failed], z.max())
    np.testing.assert_array_equal(other.values, data.values)
    assert other.transform == transform
    assert other.under(transform) is other
    np.testing.assert_array_equal(other.under(data.transform).y, data.y)


def test_some_rows_of_many_are_evenly_spaced_and_belong_together(rng):
    data = prepared(rng.uniform(-2.3, 7.1, 40), rng.random(40) < 0.2)
    few = data.at_most(7)
    rows = [0, 6, 13, 20, 26, 32, 39]
    np.testing.assert_array_equal(few.y, data.y[rows])
    np.testing.assert_array_equal(few.U, data.U[rows])
    np.testing.assert_array_equal(few.failed, data.failed[rows])
    np.testing.assert_array_equal(few.values, data.values[rows])
    assert data.at_most(40) is data


# --------------------------------------------------------------------------- outcomes
def test_far_values_on_both_sides_of_a_limit_are_drawn_together():
    y = array(-4e5, -31.0, -2.7, 0.4, 2.9, 5.1, 40.0, 7e6)
    transform = choose_transform(y, "bilog", limit=3.3)
    v = (y - 3.3) / np.median(np.abs(y - 3.3))
    w = np.sign(v) * np.log1p(np.abs(v))
    np.testing.assert_allclose(transform.forward(y), (w - w.mean()) / w.std())
    np.testing.assert_allclose(transform.inverse(transform.forward(y)), y, rtol=1e-9)
    step = 1e-6 * np.maximum(np.abs(y), 1)
    slope = (transform.forward(y + step) - transform.forward(y - step)) / (2 * step)
    np.testing.assert_allclose(transform.log_slopes(y), np.log(slope), atol=1e-4)
    assert "3.3" in transform.describe()


@pytest.mark.parametrize("limit", [9e6, -4e9, 1e300])
def test_a_limit_that_is_far_from_all_values_does_not_matter(limit):
    y = array(0.7, 3.1, 2.2, 5.9)
    assert choose_transform(y, "bilog", limit) == choose_transform(y, "standardise")


@pytest.mark.parametrize(
    ("kind", "modelled"), [("auto", "bilog"), ("standardise", "standardise")]
)
def test_an_outcome_is_modelled_around_its_limit(rng, kind, modelled):
    U, y = rng.random((9, 2)), rng.normal(size=9)
    values = np.append(rng.normal(size=8), np.nan)
    outcome = Measured(name="load", values=values, lower=-0.3, upper=1.1)
    data = prepare(
        U=U,
        y=y,
        failed=np.zeros(9, dtype=bool),
        pending=np.empty((0, 2)),
        domain=Space.of([(0, 1)] * 2),
        step=9,
        kind=kind,
        outcomes=(outcome,),
    )
    own = data.of_outcome(outcome)
    assert len(own.y) == 8
    assert own.transform == choose_transform(values[:8], modelled, 0.4)
    assert own.transform.kind == modelled
