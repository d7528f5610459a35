"""Many observations: conjugate gradients, inducing points, subsets, memory limits."""

import numpy as np
import pytest

import irregular
import reference
from draws import law_p_value
from sumbo import AdditiveGP
from sumbo.errors import ArgumentError, SumboError, TooLargeError, UnknownNameError
from sumbo.gp import Posterior, model
from sumbo.gp.solvers import Dense, Iterative, conjugate, dense, iterative
from sumbo.gp.solvers.conjugate import Woodbury, solve_by_cg
from sumbo.gp.solvers.inducing import Inducing
from sumbo.kernels import GroupKernel, as_kernel
from sumbo.sampling import joint

LINES = ((0,), (1,), (2,), (0,))
MIXED = ((0,), (1, 2), (3,))


def data(rng, groups, kernel, noise, N):
    gp = irregular.random_gp(rng, groups, kernel, noise)
    X = rng.beta(0.8, 1.3, (N, gp.dim))
    return gp, irregular.frozen(X), irregular.frozen(irregular.draw_outputs(rng, gp, X))


def flat(value):
    """Return a number, an array, or several, as one vector."""
    arrays = value if isinstance(value, (list, tuple)) else [value]
    return np.concatenate([np.ravel(array) for array in arrays])


# ---------------------------------------------------------------------- moments
@pytest.mark.parametrize(
    ("kernel", "noise"), [("matern12", 0.3), ("matern32", 1e-2), ("matern52", 1e-4)]
)
def test_mean_and_variance_are_those_of_the_exact_posterior(kernel, noise, rng):
    gp, X, y = data(rng, LINES, kernel, noise, 150)
    X_new = rng.uniform(-0.1, 1.1, (5, gp.dim))
    mean, var = gp.condition(X, y, how="iterative", tolerance=1e-9).predict(X_new)
    expected, cov = reference.posterior_of_sum(gp, X, y, X_new)
    np.testing.assert_allclose(mean, expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(var, cov.diagonal(), rtol=1e-4, atol=1e-9)


def test_part_means_are_those_of_the_exact_posterior(rng):
    gp, X, y = data(rng, LINES, "matern52", 0.01, 120)
    Z = [rng.random((5 + m, 1)) for m in range(4)]
    found = gp.condition(X, y, how="iterative", tolerance=1e-9).part_means(Z)
    expected, _ = reference.posterior_of_parts(gp, X, y, Z)
    np.testing.assert_allclose(np.concatenate(found), expected, rtol=0, atol=1e-6)


def test_the_operator_is_the_covariance_of_the_observations(rng):
    gp, X, y = data(rng, LINES, "matern32", 0.02, 90)
    v = rng.standard_normal((90, 3))
    found = gp.condition(X, y, how="iterative").solver.apply(v)
    expected = reference.observed_covariance(gp, X) @ v
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
def test_a_few_inducing_points_are_the_posterior_of_the_projected_parts(kernel, rng):
    gp, X, y = data(rng, MIXED, kernel, 0.05, 60)
    post = gp.condition(X, y, how="iterative", inducing=9, tolerance=1e-9, seed=4)
    X_new = rng.random((7, gp.dim))
    points = {m: part.G for m, part in post.solver.inducing.items()}
    assert all(len(G) == 9 for G in points.values())
    assert set(points) == ({0, 1, 2} if kernel == "rbf" else {1})
    mean, var = reference.posterior_of_projections(gp, X, y, X_new, points)
    found_mean, found_var = post.predict(X_new)
    # The oracle solves with the Gram matrix of the points, nearly singular for rbf.
    np.testing.assert_allclose(found_mean, mean, rtol=0, atol=1e-4)
    np.testing.assert_allclose(found_var, var, rtol=0, atol=1e-4)


def test_all_points_as_inducing_points_lose_nothing(rng):
    kernel = GroupKernel(
        kernel=as_kernel("matern32"), lengthscales=np.array([0.4, 0.7]), variance=1.9
    )
    X = rng.random((40, 2))
    phi = Inducing.of(rng, kernel, np.vstack([X, X[:9]]), 200)(X)
    np.testing.assert_allclose(phi @ phi.T, kernel(X, X), rtol=0, atol=1e-9)


# ---------------------------------------------------------------------- draws
@pytest.mark.parametrize("linear", [False, True])
def test_iterative_draws_have_the_exact_joint_law(linear, rng, monkeypatch):
    # False alarm: 1e-6 each. All points as inducing points: the part of two
    # coordinates is exact as well at the data, and here also at the candidates.
    # Linear draws, those of many points, go in three turns.
    monkeypatch.setattr(joint, "is_linear_cheaper", lambda points, n: linear)
    monkeypatch.setattr(joint, "MOST_VALUES", 40 * 3 * 1500)
    gp, X, y = data(rng, MIXED, "matern52", 0.03, 40)
    Z = [X[:3, list(group)] for group in gp.groups]
    Z[0] = np.vstack([Z[0], rng.random((3, 1))])
    post = gp.condition(X, y, how="iterative", inducing=40)
    draws = np.hstack(post.sample(Z, n=4000, seed=31))
    mean, cov = reference.posterior_of_parts(gp, X, y, Z)
    assert law_p_value(draws, mean, cov, floor=1e-6 * gp.variances.sum()) > 1e-6


def test_draws_depend_on_the_seed_and_may_be_made_in_turns(rng, monkeypatch):
    gp, X, y = data(rng, LINES, "matern32", 0.03, 260)
    Z = [rng.random((4 + m, 1)) for m in range(4)]
    post = gp.condition(X, y, how="iterative")
    first, again, other = (np.hstack(post.sample(Z, n=3, seed=s)) for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).all()
    monkeypatch.setattr(joint, "MOST_VALUES", 1)
    in_turns = post.sample(Z, n=3, seed=1)
    assert [part.shape for part in in_turns] == [(3, 4), (3, 5), (3, 6), (3, 7)]
    assert len(np.unique(in_turns[0], axis=0)) == 3


def test_only_joint_draws_can_be_made_iteratively(rng):
    gp, X, y = data(rng, LINES, "matern32", 0.1, 9)
    post = gp.condition(X, y, how="iterative")
    with pytest.raises(ArgumentError, match=r"how='naive' needs the exact posterior"):
        post.sample([rng.random((2, 1))] * 4, how="naive")


# ---------------------------------------------------------------------- one surface
EXACT_ONLY = {
    "L": lambda post, U: post.L,
    "cross": lambda post, U: post.cross,
    "covariance": lambda post, U: post.covariance,
    "predict_covariance": lambda post, U: post.predict_covariance(U),
    "sum_moments_pullback": lambda post, U: post.sum_moments_pullback(U),
    "parts": lambda post, U: post.parts(reference.project(post.gp, U)),
    "joint_covariance": lambda post, U: post.joint_covariance(
        reference.project(post.gp, U)
    ),
    "part_moments": lambda post, U: post.part_moments(0, U[:, :1]),
    "part_moments_gradient": lambda post, U: post.part_moments_gradient(0, U[:, :1]),
    "line_moments": lambda post, U: post.line_moments(U),
    "line_moments_gradient": lambda post, U: post.line_moments_gradient(U),
    "leave_one_out": lambda post, U: post.leave_one_out(),
    "log_marginal_likelihood": lambda post, U: post.log_marginal_likelihood(),
    "append": lambda post, U: post.append(U[0], 0.3),
    "sample_path": lambda post, U: post.sample_path(seed=1),
    "minimum": lambda post, U: post.minimum(n=2, seed=1),
    "inflation": lambda post, U: post.inflation(U),
}
BOTH = {
    "N": lambda post, U: post.N,
    "alpha": lambda post, U: post.alpha,
    "jitter": lambda post, U: post.jitter,
    "fitted": lambda post, U: post.fitted(),
    "negated": lambda post, U: post.negated().predict(U),
    "solve": lambda post, U: post.solve(np.linspace(-0.7, 1.9, post.N)),
    "groups": lambda post, U: [X for _, X in post.groups()],
    "lines": lambda post, U: post.lines,
    "predict": lambda post, U: post.predict(U),
    "predict_mean": lambda post, U: post.predict_mean(U),
    "sum_moments": lambda post, U: post.sum_moments(U),
    "part_mean": lambda post, U: post.part_mean(1, U[:, list(post.gp.groups[1])]),
    "part_means": lambda post, U: post.part_means(reference.project(post.gp, U)),
    "constant": lambda post, U: post.constant(),
}
# Both have these; tests in tests/sampling say what they draw.
DRAWS = {"sample", "sample_sum", "sample_with_constant"}


@pytest.mark.parametrize("name", EXACT_ONLY)
def test_what_needs_the_exact_posterior_says_so_and_names_the_remedy(name, rng):
    gp, X, y = data(rng, MIXED, "matern32", 0.1, 9)
    U = rng.random((3, gp.dim))
    EXACT_ONLY[name](gp.condition(X, y), U)
    message = rf"^{name} needs the exact posterior.*fewer points with how='exact'"
    with pytest.raises(ArgumentError, match=message):
        EXACT_ONLY[name](gp.condition(X, y, how="iterative"), U)


@pytest.mark.parametrize("name", BOTH)
def test_what_both_posteriors_have_is_equal(name, rng):
    # All points as inducing points, and new points among them: nothing is lost.
    gp, X, y = data(rng, MIXED, "matern52", 0.03, 40)
    near = gp.condition(X, y, how="iterative", inducing=40, tolerance=1e-10)
    found = flat(BOTH[name](near, X[:5]))
    wanted = flat(BOTH[name](gp.condition(X, y), X[:5]))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_the_two_lists_name_the_whole_surface_of_a_posterior():
    fields = {"gp", "X", "y", "solver", "maximised"}
    public = {name for name in dir(Posterior) if not name.startswith("_")}
    assert public - fields - DRAWS == EXACT_ONLY.keys() | BOTH.keys()


# ---------------------------------------------------------------------- solves
def test_conjugate_gradients_solve_every_column(rng):
    A = rng.standard_normal((30, 30))
    A = A @ A.T + 0.1 * np.eye(30)
    b = rng.standard_normal((30, 4)) * [1e-6, 1.0, 1e6, 0.0]
    x, steps = solve_by_cg(lambda v: A @ v, lambda v: v, b, 1e-9, 500)
    residual = np.linalg.norm(A @ x - b, axis=0)
    assert (residual <= 1e-8 * np.linalg.norm(b, axis=0)).all()
    assert steps > 1


def test_too_few_steps_are_an_error_that_names_the_remedy(rng):
    A = np.diag(np.geomspace(1.0, 1e6, 40))
    b = rng.standard_normal((40, 1))
    with pytest.raises(SumboError, match=r"after 5 steps.*Raise the noise"):
        solve_by_cg(lambda v: A @ v, lambda v: v, b, 1e-9, 5)


def test_the_preconditioner_inverts_its_own_matrix(rng):
    kernels = [
        GroupKernel(
            kernel=as_kernel("matern52"), lengthscales=np.array([l]), variance=0.7
        )
        for l in (0.3, 2.0)
    ]
    X = [rng.random((50, 1)) for _ in kernels]
    Phi, D = rng.standard_normal((50, 4)), rng.uniform(0.1, 0.4, 50)
    P = Woodbury.of(kernels, X, Phi, D)
    B = np.hstack([(P.W @ P.C).toarray(), Phi])
    r = rng.standard_normal((50, 3))
    np.testing.assert_allclose(P(B @ (B.T @ r) + D[:, None] * r), r, rtol=0, atol=1e-8)


@pytest.mark.parametrize(("kernel", "most"), [("matern32", 12), ("matern52", 6)])
def test_the_preconditioner_leaves_few_steps(kernel, most, rng):
    gp, X, y = data(rng, LINES, kernel, 1e-2, 150)
    solver = gp.condition(X, y, how="iterative").solver
    b = (y - y.mean())[:, None]
    steps = solve_by_cg(solver.apply, solver.preconditioner, b, 1e-6, 100).steps
    alone = solve_by_cg(solver.apply, lambda v: v, b, 1e-3, 1000).steps
    assert steps <= most < alone / 2


def test_a_coordinate_that_never_changes_is_no_obstacle(rng):
    gp, X, y = data(rng, LINES, "matern52", 0.1, 50)
    X = X.copy()
    X[:, 1] = 0.37
    mean, _ = gp.condition(X, y, how="iterative", tolerance=1e-9).predict(X[:4])
    expected, _ = reference.posterior_of_sum(gp, X, y, X[:4])
    np.testing.assert_allclose(mean, expected, rtol=0, atol=1e-6)


def test_more_parts_than_grid_points_still_converge(rng, monkeypatch):
    monkeypatch.setattr(conjugate, "MOST_NODES", 10)
    gp, X, y = data(rng, LINES, "matern32", 0.05, 80)
    mean, _ = gp.condition(X, y, how="iterative", tolerance=1e-9).predict(X[:4])
    expected, _ = reference.posterior_of_sum(gp, X, y, X[:4])
    np.testing.assert_allclose(mean, expected, rtol=0, atol=1e-6)


# ---------------------------------------------------------------------- arguments
def test_exact_is_the_default_and_other_names_are_refused(rng):
    gp, X, y = data(rng, LINES, "matern32", 0.1, 9)
    assert isinstance(gp.condition(X, y).solver, Dense)
    assert isinstance(gp.condition(X, y, how="exact").solver, Dense)
    near = gp.condition(X, y, how="iterative")
    assert isinstance(near, Posterior)
    assert isinstance(near.solver, Iterative)
    with pytest.raises(UnknownNameError, match="iterative"):
        gp.condition(X, y, how="iteratve")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tolerance": 0.0}, r"tolerance=0.0 is not positive"),
        ({"inducing": 0}, r"inducing=0 is not positive"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(settings, message, rng):
    gp, X, y = data(rng, LINES, "matern32", 0.1, 9)
    with pytest.raises(ArgumentError, match=message):
        gp.condition(X, y, how="iterative", **settings)


def test_an_iterative_posterior_needs_noise(rng):
    gp = AdditiveGP(groups=LINES, noise=0.0)
    with pytest.raises(ArgumentError, match=r"noise=0 has no iterative posterior"):
        gp.condition(rng.random((5, 3)), rng.standard_normal(5), how="iterative")


def test_too_many_points_are_refused_before_memory_is_taken(rng, monkeypatch):
    gp, X, y = data(rng, MIXED, "matern32", 0.1, 200)
    monkeypatch.setattr(dense, "LIMIT", 3 * 8 * 199**2)
    with pytest.raises(TooLargeError, match=r"N=200 points.*how='iterative'"):
        gp.condition(X, y)
    monkeypatch.setattr(iterative, "LIMIT", 8 * 200 * 10)
    with pytest.raises(TooLargeError, match=r"N=200 points with 2.*fewer inducing"):
        gp.condition(X, y, how="iterative")


def test_exact_predictions_may_be_made_in_turns(rng, monkeypatch):
    gp, X, y = data(rng, MIXED, "rbf", 0.1, 20)
    X_new = rng.random((11, gp.dim))
    expected, cov = reference.posterior_of_sum(gp, X, y, X_new)
    monkeypatch.setattr(dense, "MOST_CROSS", 20 * 3)
    mean, var = gp.condition(X, y).predict(X_new)
    np.testing.assert_allclose(mean, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(var, cov.diagonal(), rtol=0, atol=1e-9)


# ---------------------------------------------------------------------- fits
def test_a_fit_to_many_points_uses_a_subset_and_says_so(rng, monkeypatch):
    gp, X, y = data(rng, ((0,), (1,)), "matern52", 0.1, 45)
    whole = gp.fit(X, y, starts=1, steps=5)
    monkeypatch.setattr(model, "MOST_FITTED", 30)
    first, again, other = (
        gp.fit(X, y, starts=1, steps=5, seed=seed) for seed in (3, 3, 4)
    )
    assert first.info.events[0] == "fitted to 30 of 45 points, drawn at random"
    assert not any("drawn at random" in event for event in whole.info.events)
    np.testing.assert_array_equal(first.lengthscales, again.lengthscales)
    assert (first.lengthscales != other.lengthscales).all()
    assert (first.lengthscales != whole.lengthscales).all()
