"""qff: minimisers of its own draws by a fine grid, and the contract of a method."""

import numpy as np
import pytest

from irregular import frozen
from searches import appended, saved
from sumbo.data import prepare
from sumbo.errors import ArgumentError
from sumbo.methods import make
from sumbo.methods.qff.method import QuadratureFeatures, TooFewNodesWarning
from sumbo.methods.qff.weights import sample_weights
from sumbo.sampling.features import quadrature_features
from sumbo.space import Categorical, Integer, Real, Space

SPACE = Space.of([(-1.3, 2.2), (0.4, 5.1), (10.0, 11.0)])
MIXED = Space.of(
    [Real("a", -1.3, 2.2), Integer("b", 2, 7), Categorical("c", ("x", "y", "z"))]
)


def observed(rng, space=SPACE, N=17, y=None, pending=0):
    U = space.snap(rng.beta(0.8, 1.3, (N, space.dim)))
    values = np.sin(5 * U).sum(axis=1) + 0.3 * U[:, 0] if y is None else y
    return prepare(
        U=frozen(U),
        y=frozen(values),
        failed=np.zeros(len(U), dtype=bool),
        pending=space.snap(rng.random((pending, space.dim))),
        domain=space,
        step=N + pending,
    )


def propose(data, q=1, seed=17, **settings):
    rule = make("qff", **settings)
    return rule.propose(np.random.default_rng(seed), None, data, q)


def drawn_parts(data, q, seed=17):
    """Return the draws that ``propose`` makes: one function per draw and coordinate."""
    P = data.domain.dim
    phi = quadrature_features(np.array([0.1]), [64], 1 / P)
    Phi = np.hstack([phi(data.U[:, [p]]) for p in range(P)])
    theta = sample_weights(np.random.default_rng(seed), Phi, data.y, 1e-2, q)
    split = theta.reshape(q, P, 64)
    return lambda i, p, x: phi(np.reshape(x, (-1, 1))) @ split[i, p]


def test_each_point_minimises_its_own_draw(rng):
    data = observed(rng)
    U, _, _ = propose(data, q=4)
    f = drawn_parts(data, 4)
    fine = np.linspace(0, 1, 20_001)
    for i in range(4):
        for p in range(3):
            # Curvature/8 · spacing² of the fine grid, about 1e-6, is its own error.
            assert f(i, p, U[i, p])[0] <= f(i, p, fine).min() + 1e-9


def test_points_of_a_batch_come_from_different_draws(rng):
    U, _, _ = propose(observed(rng), q=10)
    assert len(np.unique(U, axis=0)) == 10


def test_two_coordinates_per_group_are_minimised_together(rng):
    data = observed(rng, N=9)
    U, _, info = propose(data, groups=((0, 2), (1,)), lengthscale=0.3, nodes=22)
    assert info.groups == ((0, 2), (1,))
    pair = quadrature_features(np.full(2, 0.3), [22, 22], 1 / 2)
    single = quadrature_features(np.array([0.3]), [22], 1 / 2)
    Phi = np.hstack([pair(data.U[:, [0, 2]]), single(data.U[:, [1]])])
    theta = sample_weights(np.random.default_rng(17), Phi, data.y, 1e-2, 1)[0]
    w = theta[: 22**2]
    axis = np.linspace(0, 1, 101)
    mesh = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    found = (pair(U[:, [0, 2]]) @ w)[0]
    # The fine grid itself misses its minimum by up to 1e-3 of the draw's range.
    assert found <= (pair(mesh) @ w).min() + 1e-3


def test_a_one_hot_block_takes_its_best_corner(rng):
    data = observed(rng, MIXED, N=12)
    U, _, _ = propose(data, q=6)
    f = drawn_parts(data, 6)
    block = [2, 3, 4]
    for i in range(6):
        corners = [
            sum(f(i, p, corner[k])[0] for k, p in enumerate(block))
            for corner in np.eye(3)
        ]
        assert U[i, block].tolist() == np.eye(3)[int(np.argmin(corners))].tolist()


def test_an_integer_takes_its_best_level(rng):
    data = observed(rng, MIXED, N=12)
    U, _, _ = propose(data, q=6)
    f = drawn_parts(data, 6)
    levels = np.unique(MIXED.snap(rng.random((400, MIXED.dim)))[:, 1])
    assert len(levels) == 6
    for i in range(6):
        values = f(i, 1, levels)
        assert U[i, 1] == levels[int(np.argmin(values))]


@pytest.mark.parametrize("q", [1, 10])
@pytest.mark.parametrize("pending", [0, 3])
def test_points_lie_in_the_cube_whatever_is_pending(rng, q, pending):
    U, _, _ = propose(observed(rng, pending=pending), q=q)
    assert U.shape == (q, 3)
    assert ((U >= 0) & (U <= 1)).all()


@pytest.mark.parametrize("kind", ["constant", "duplicated", "two", "none"])
def test_poor_data_are_survived(rng, kind):
    if kind == "duplicated":
        data = observed(rng, N=4)
        data = appended(data, np.tile(data.U, (6, 1)), np.tile(data.y, 6) + 0.01)
    else:
        N = {"constant": 11, "two": 2, "none": 0}[kind]
        data = observed(rng, N=N, y=np.full(N, 3.7) if kind == "constant" else None)
    U, _, _ = propose(data, q=3)
    assert np.isfinite(U).all()


def test_the_same_generator_gives_the_same_points_and_data_stay(rng):
    data = observed(rng)
    before = data.U.tobytes(), data.y.tobytes()
    first, _, _ = propose(data, q=3)
    second, _, _ = propose(data, q=3)
    np.testing.assert_array_equal(first, second)
    assert (data.U.tobytes(), data.y.tobytes()) == before


def test_state_survives_a_file(rng):
    data = observed(rng)
    rule = make("qff", groups=((0, 1), (2,)), lengthscale=0.3, nodes=20)
    _, state, _ = rule.propose(np.random.default_rng(3), None, data, 1)
    known = saved(state, rule)
    one = rule.propose(np.random.default_rng(4), state, data, 2)[0]
    other = rule.propose(np.random.default_rng(4), known, data, 2)[0]
    np.testing.assert_array_equal(one, other)


@pytest.mark.filterwarnings("error")  # of too few nodes
def test_the_authors_preset_has_his_kernel(rng):
    rule = make("qff", preset="paper-author")
    phi = rule._features(1, 1)
    A, B = rng.random((9, 1)), rng.random((8, 1))
    assert np.allclose(phi(A) @ phi(B).T, np.exp(-((A - B.T) ** 2) / 0.1), atol=1e-12)


def test_too_few_nodes_warn_and_name_enough():
    with pytest.warns(TooFewNodesWarning, match="Pass nodes=64 or more"):
        QuadratureFeatures(nodes=62)
    with pytest.warns(TooFewNodesWarning, match="nodes=214 or"):
        QuadratureFeatures(lengthscale=0.05, nodes=212)
    QuadratureFeatures(nodes=64)
    QuadratureFeatures(lengthscale=0.05, nodes=214)


def test_groups_of_three_coordinates_are_refused(rng):
    with pytest.raises(ArgumentError, match=r"group of 3 coordinates, \(0, 1, 2\)"):
        propose(observed(rng), groups="one")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"nodes": 65}, "odd"),
        ({"nodes": 0}, "nodes=0"),
        ({"grid": 1}, "grid=1"),
        ({"noise": 0.0}, "noise=0"),
        ({"lengthscale": -0.2}, "lengthscale=-0.2"),
        ({"groups": "singeltons"}, "singletons"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message):
    with pytest.raises(ArgumentError, match=message):
        make("qff", **settings)
