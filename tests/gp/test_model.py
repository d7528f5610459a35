"""``AdditiveGP``: parameters in every accepted form, and what is refused."""

import numpy as np
import pytest

import irregular
import reference
from sumbo import AdditiveGP, Posterior
from sumbo.errors import ArgumentError, UnknownNameError

GROUPS = ((0,), (2, 1))


def model(**settings):
    return AdditiveGP(**{"groups": GROUPS, "noise": 0.03, **settings})


# ---------------------------------------------------------------------- parameters
def test_lengthscales_of_coordinates_reach_the_groups_in_their_own_order():
    gp = model(lengthscales=[0.3, 0.2, 0.4])
    assert [k.lengthscales.tolist() for k in gp.kernels] == [[0.3], [0.4, 0.2]]


def test_lengthscales_may_be_given_group_by_group():
    gp = model(lengthscales=[[0.3], [0.2, 0.4]])
    assert [k.lengthscales.tolist() for k in gp.kernels] == [[0.3], [0.2, 0.4]]


@pytest.mark.parametrize("bad", [0.0, -0.3, np.nan, np.inf])
def test_arrays_of_lengthscales_are_checked_like_lists(bad):
    given = [np.array([0.3]), np.array([0.2, 0.4])]
    gp = model(lengthscales=given)
    given[0][0] = bad
    assert [k.lengthscales.tolist() for k in gp.kernels] == [[0.3], [0.2, 0.4]]
    assert not any(l.flags.writeable for l in gp.lengthscales)
    with pytest.raises(ArgumentError, match=r"lengthscales\[0\].*positive"):
        model(lengthscales=given)


def test_overlapping_groups_share_the_lengthscales_of_coordinates():
    gp = AdditiveGP(groups=[(0, 1), (1, 2)], lengthscales=[0.3, 0.2, 0.4])
    assert [k.lengthscales.tolist() for k in gp.kernels] == [[0.3, 0.2], [0.2, 0.4]]


def test_overlapping_groups_may_have_lengthscales_of_their_own():
    gp = AdditiveGP(groups=[(0, 1), (1,)], lengthscales=[(0.3, 0.2), (0.7,)])
    assert [k.lengthscales.tolist() for k in gp.kernels] == [[0.3, 0.2], [0.7]]


def test_one_number_serves_every_coordinate_or_group():
    gp = model(lengthscales=0.6, variances=1.7)
    np.testing.assert_array_equal(gp.lengthscales, [0.6, 0.6, 0.6])
    np.testing.assert_array_equal(gp.variances, [1.7, 1.7])


@pytest.mark.parametrize("groups", [GROUPS, [(0, 1), (1,)], [(0, 1), (1, 2), (3,)]])
def test_default_lengthscales_grow_with_the_root_of_the_group_size(groups):
    for kernel, group in zip(AdditiveGP(groups=groups).kernels, groups, strict=True):
        np.testing.assert_allclose(kernel.lengthscales, 0.3 * np.sqrt(len(group)))


def test_default_variances_add_up_to_one():
    gp = AdditiveGP(groups=[(0,), (1,), (2,)])
    np.testing.assert_allclose(gp.variances, 1 / 3)


@pytest.mark.parametrize("kernel", irregular.KERNELS)
def test_kernel_is_chosen_by_name(kernel, rng):
    gp = model(kernel=kernel, lengthscales=[0.3, 0.2, 0.4], variances=[1.3, 0.6])
    X = rng.random((5, 3))
    parts = reference.project(gp, X)
    expected = reference.part_grams(gp, parts, parts)
    for part, Xm, K in zip(gp.kernels, parts, expected, strict=True):
        np.testing.assert_allclose(part(Xm, Xm), K, rtol=1e-12)


def test_dimension_is_the_number_of_coordinates():
    assert AdditiveGP(groups=[(4, 1), (0, 2), (3,)]).dim == 5


def test_parameters_are_copies_that_cannot_be_written_to():
    lengthscales = np.array([0.3, 0.2, 0.4])
    gp = model(lengthscales=lengthscales)
    lengthscales[0] = 99.0
    assert gp.lengthscales[0] == 0.3
    with pytest.raises(ValueError, match="read-only"):
        gp.variances[0] = 2.0


@pytest.mark.parametrize("shared", [True, False])
def test_hyperparameters_survive_the_way_to_logarithms_and_back(shared, rng):
    gp = irregular.random_gp(rng, ((0, 2), (1,), (2, 1, 3)), shared=shared)
    theta = gp.hyperparameters()
    again = gp.with_hyperparameters(theta.from_log(theta.log()))
    assert type(again.lengthscales) is type(gp.lengthscales)
    for a, b in zip(
        reference.lengthscales_of(gp), reference.lengthscales_of(again), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-14)
    np.testing.assert_allclose(again.variances, gp.variances, rtol=1e-14)
    assert again.noise == pytest.approx(gp.noise, rel=1e-14)
    assert again.mean == gp.mean


@pytest.mark.parametrize("groups", [((0, 2), (1,)), ((0, 2), (1,), (0, 1, 2))])
def test_a_model_is_restored_from_its_logarithms(groups, rng):
    blank = AdditiveGP(groups=groups, kernel="matern32")
    theta = 0.3 * rng.standard_normal(len(blank.hyperparameters().log()))
    wanted = blank.hyperparameters().from_log(theta, mean=0.7)
    gp = AdditiveGP.from_log(groups, theta, 0.7, "matern32")
    assert (gp.groups, gp.kernel, gp.mean) == (groups, "matern32", 0.7)
    assert type(gp.lengthscales) is type(blank.lengthscales)
    np.testing.assert_array_equal(gp.hyperparameters().log(), wanted.log())
    for a, b in zip(
        gp.kernels, blank.with_hyperparameters(wanted).kernels, strict=True
    ):
        np.testing.assert_array_equal(a.lengthscales, b.lengthscales)
        assert a.variance == b.variance


def test_condition_returns_a_posterior_of_this_model(rng):
    gp = model()
    post = gp.condition(rng.random((4, 3)), rng.standard_normal(4))
    assert isinstance(post, Posterior)
    assert post.gp is gp
    assert post.N == 4


# ---------------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"groups": [(0, 1), (3,)]}, "do not cover 4 coordinates: missing 2"),
        ({"lengthscales": [0.3, 0.2, 0.4, 0.1]}, "do not cover 4 coordinates"),
        ({"lengthscales": [0.3, 0.2]}, "name coordinate 2, but there are only 2"),
        ({"lengthscales": [0.3, -0.2, 0.4]}, "must be positive and finite"),
        ({"lengthscales": [0.3, 0.0, 0.4]}, "lengthscales=[0.3, 0.0, 0.4] must be"),
        ({"lengthscales": [0.3, np.nan, 0.4]}, "must be positive and finite"),
        ({"lengthscales": [0.3, np.inf, 0.4]}, "must be positive and finite"),
        ({"lengthscales": -0.7}, "must be positive and finite"),
        ({"lengthscales": [[0.3], [0.2, -0.4]]}, "lengthscales[1]=[0.2, -0.4] must"),
        ({"lengthscales": [[0.3], [0.2]]}, "sizes (1, 1), groups have sizes (1, 2)"),
        ({"lengthscales": [[0.3, 0.2, 0.4]]}, "sizes (3,), groups have sizes (1, 2)"),
        ({"lengthscales": []}, "lengthscales has 0 values for 3 coordinates"),
        ({"lengthscales": "long"}, "is not an array of numbers"),
        ({"variances": [1.0, 2.0, 3.0]}, "variances has 3 values for 2 groups"),
        ({"variances": [1.0, 0.0]}, "variances=[1.0, 0.0] must be positive"),
        ({"variances": [1.0, -2.0]}, "variances=[1.0, -2.0] must be positive"),
        ({"variances": [1.0, np.nan]}, "must be positive and finite"),
        ({"variances": 0}, "must be positive and finite"),
        ({"noise": -1e-3}, "noise=-0.001 is not a variance, 0 or more"),
        ({"noise": np.nan}, "noise=nan is not a variance, 0 or more"),
        ({"noise": np.inf}, "noise=inf is not a variance, 0 or more"),
        ({"noise": None}, "noise=None is not a variance, 0 or more"),
        ({"noise": "low"}, "noise='low' is not a variance, 0 or more"),
        ({"mean": np.inf}, "mean=inf is not a finite number"),
        ({"mean": "zero"}, "mean='zero' is not a finite number"),
    ],
)
def test_bad_parameters_name_the_argument_and_its_value(settings, message):
    with pytest.raises(ArgumentError) as caught:
        model(**settings)
    assert message in str(caught.value)


def test_an_unknown_kernel_suggests_a_known_one():
    with pytest.raises(UnknownNameError, match=r"kernel='rfb' is unknown.*'rbf'"):
        model(kernel="rfb")


BAD_DATA = [
    (np.full((3, 3), np.nan), np.ones(3), "X holds nan at [0, 0] (9 such values)"),
    ([[0.1, 0.2, 0.3], [0.4, np.inf, 0.6]], [1.0, 2.0], "X holds inf at [1, 1]"),
    (np.eye(3), [1.0, np.nan, 2.0], "y holds nan at [1] (1 such values)"),
    (np.eye(3), [1.0, 3.0, -np.inf], "y holds -inf at [2]"),
    (np.eye(3), [1.0, 3e160, 2.0], "y holds 3e+160 at [1] (1 such values). Rescale"),
    (np.eye(3) - 2e155, np.ones(3), "X holds -2e+155 at [0, 0] (9 such values). Res"),
    (np.eye(3)[:, :2], np.ones(3), "X has shape (3, 2); the model has 3 coordinates"),
    (np.ones(3), np.ones(3), "X has shape (3,); the model has 3 coordinates"),
    (np.ones((2, 2, 3)), np.ones(2), "Pass an array of shape (n, 3)"),
    (np.eye(3), np.ones(2), "y has shape (2,); X has 3 rows. Pass y of shape (3,)"),
    (np.eye(3), np.ones((3, 1)), "y has shape (3, 1); X has 3 rows"),
    (np.empty((0, 3)), np.empty(0), "X has no rows. Pass at least one observation."),
    ([["a", "b", "c"]], [1.0], "X is not an array of numbers"),
    ([[0.1, 0.2, 0.3], [0.4]], [1.0, 2.0], "X is not an array of numbers"),
    ([[0.1, 0.2, 0.3]], [None], "y holds nan at [0]"),
    (None, None, "X has shape ()"),
]


@pytest.mark.parametrize(("X", "y", "message"), BAD_DATA)
@pytest.mark.parametrize("use", ["condition", "fit", "log_marginal_likelihood"])
def test_bad_data_name_the_argument_and_its_value(use, X, y, message):
    with pytest.raises(ArgumentError) as caught:
        getattr(model(), use)(X, y)
    assert message in str(caught.value)


@pytest.mark.parametrize("use", ["condition", "fit", "log_marginal_likelihood"])
def test_data_given_as_lists_integers_or_read_only_arrays_are_accepted(use, rng):
    X, y = [[1, 2, 5], [3, 1, 2], [2, 7, 1]], [2, -1, 4]
    run = getattr(model(), use)
    first = run(X, y)
    again = run(irregular.frozen(X), irregular.frozen(y))
    if use == "condition":
        first, again = first.alpha, again.alpha
    elif use == "fit":
        first, again = first.lengthscales, again.lengthscales
    np.testing.assert_array_equal(first, again)


def test_the_posterior_keeps_its_own_copy_of_the_data(rng):
    gp = model()
    X, y = rng.random((5, 3)), rng.standard_normal(5)
    post = gp.condition(X, y)
    before = post.predict(X[:2])
    X0 = X[:2].copy()
    X[:], y[:] = 77.0, 88.0
    np.testing.assert_array_equal(post.predict(X0), before)
