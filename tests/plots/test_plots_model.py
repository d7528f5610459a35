"""Pictures of a fitted model: shares, leave one out, slices, co-membership."""

import numpy as np
import pytest
from matplotlib import pyplot as plt
from scipy.special import erf

from drawn import SIXTY, Z95, artist, grid, model
from sumbo import plots
from sumbo.errors import ArgumentError
from sumbo.plots.shares import part_shares, part_variances
from sumbo.structure import co_membership_matrix


@pytest.fixture(scope="module")
def post():
    return model()


@pytest.fixture(scope="module")
def post60():
    return model(SIXTY, N=43, noise=0.05)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


# ---------------------------------------------------------------- variance shares


@pytest.mark.parametrize("d", [1, 2, 3])
def test_variances_equal_the_closed_form_of_the_squared_exponential(d):
    post = model((tuple(range(d)), (d,)), kernel="rbf")
    kernel, X = next(iter(post.groups()))
    once = kernel.variance * np.ones(post.N)
    twice = kernel.variance**2 * np.ones((post.N, post.N))
    for j, l in enumerate(kernel.lengthscales):
        a = X[:, j]
        once *= l * np.sqrt(np.pi / 2) * _erf_between(a, l * np.sqrt(2))
        gap = (a[:, None] - a) ** 2 / (4 * l**2)
        middle = 0.5 * (a[:, None] + a)
        twice *= 0.5 * l * np.sqrt(np.pi) * np.exp(-gap) * _erf_between(middle, l)
    wanted = post.alpha @ twice @ post.alpha - (once @ post.alpha) ** 2
    # Gauss rule for one and two coordinates, Sobol points for three
    rel = 1e-5 if d < 3 else 5e-3
    assert part_variances(post)[0] == pytest.approx(wanted, rel=rel)


def _erf_between(center, width):
    return erf((1 - center) / width) + erf(center / width)


def test_variances_of_parts_add_up_to_that_of_the_sum(post):
    U = np.random.default_rng(21).random((60_000, 6))
    mean, _ = post.predict(U)
    # the relative error of a sample variance is about √(2/n): 0.6 %
    assert part_variances(post).sum() == pytest.approx(mean.var(), rel=0.03)


def test_bars_are_the_shares_in_order(post):
    (ax,) = grid(1, 1).ravel()
    plots.variance_shares(post, names=list("abcdef"), ax=ax)
    shares = part_shares(post)
    widths = [bar.get_width() for bar in ax.containers[0]]
    np.testing.assert_allclose(widths, 100 * np.sort(shares)[::-1])
    labels = ["a", "b", "c, d", "e", "f"]
    wanted = [labels[m] for m in np.argsort(-shares)]
    assert [t.get_text() for t in ax.get_yticklabels()] == wanted


def test_sixty_bars_become_twenty_and_a_rest(post60):
    ax = plots.variance_shares(post60)
    widths = [bar.get_width() for bar in ax.containers[0]]
    assert len(widths) == 21
    assert sum(widths) == pytest.approx(100.0)
    assert ax.get_yticklabels()[-1].get_text() == "40 more"


# ---------------------------------------------------------------- leave one out


def test_leave_one_out_shows_models_that_never_saw_the_point(post):
    left, right = plots.leave_one_out(post, axes=grid(1, 2))
    mean, sd = np.empty(post.N), np.empty(post.N)
    for i in range(post.N):
        rest = np.arange(post.N) != i
        other = post.gp.condition(post.X[rest], post.y[rest])
        m, v = other.predict(post.X[[i]])
        mean[i], sd[i] = m[0], np.sqrt(v[0] + post.gp.noise)
    z = (post.y - mean) / sd
    drawn = np.vstack([c.lines[0].get_xydata() for c in left.containers])
    wanted = np.stack([post.y, mean], axis=1)
    np.testing.assert_allclose(_sorted(drawn), _sorted(wanted), atol=1e-8)
    dots = [line for line in right.lines if line.get_marker() == "o"]
    drawn = np.vstack([line.get_xydata() for line in dots])
    wanted = np.stack([mean, z], axis=1)
    np.testing.assert_allclose(_sorted(drawn), _sorted(wanted), atol=1e-8)
    outside = int((np.abs(z) > Z95).sum())
    assert right.get_title(loc="right") == f"{outside} of {post.N} outside 95 %"


def _sorted(pairs):
    return pairs[np.argsort(pairs[:, 0])]


def test_a_point_far_off_is_marked():
    post = model(noise=1e-3)
    y = post.y.copy()
    y[7] += 3.0
    left, _ = plots.leave_one_out(post.gp.condition(post.X, y), axes=grid(1, 2))
    outside = next(c for c in left.containers if c.get_label() == "outside 95 %")
    assert y[7] in outside.lines[0].get_xdata()


# ---------------------------------------------------------------- slices


def test_slices_are_predictions_of_the_sum(post):
    x = np.array([0.21, 0.72, 0.43, 0.64, 0.35, 0.86])
    axes = plots.slices(post, x, axes=grid(2, 3))
    for p, ax in enumerate(axes):
        X = np.tile(x, (121, 1))
        X[:, p] = np.linspace(0, 1, 121)
        mean, var = post.predict(X)
        np.testing.assert_allclose(artist(ax, "mean").get_ydata(), mean)
        band = artist(ax, "95 % band").get_paths()[0].vertices[:, 1]
        assert band.max() == pytest.approx((mean + Z95 * np.sqrt(var)).max())
        at, height = artist(ax, "point").get_data()
        assert at == x[p]
        assert height == pytest.approx(post.predict(x[None])[0][0])


def test_slices_at_sixty_coordinates_show_those_that_vary_most(post60):
    axes = plots.slices(post60, top=5)
    u = np.linspace(0, 1, 121)[:, None]
    # every coordinate has a part of its own, which alone varies along a slice
    spread = [part.mean.std() for part in post60.parts([u] * 60)]
    wanted = np.argsort(spread)[::-1][:5]
    assert [ax.get_xlabel() for ax in axes[:5]] == [f"x{p}" for p in wanted]
    assert "55 more" in axes[5].texts[0].get_text()


# ---------------------------------------------------------------- co-membership

STRUCTURES = (
    ((0, 3), (1,), (2,)),
    ((0, 3, 1), (2,)),
    ((0,), (3, 1), (2,)),
    ((0, 3), (0, 1), (2,)),
)


def test_co_membership_counts_structures_in_which_two_share_a_group():
    wanted = np.eye(4)
    for (i, j), count in {(0, 3): 3, (0, 1): 2, (1, 3): 2}.items():
        wanted[i, j] = wanted[j, i] = count / 4
    np.testing.assert_allclose(co_membership_matrix(STRUCTURES), wanted)
    (ax,) = grid(1, 1).ravel()
    plots.co_membership(STRUCTURES, list("abcd"), ax=ax)
    np.fill_diagonal(wanted, np.nan)
    np.testing.assert_allclose(mapped_image(ax), wanted)
    assert [t.get_text() for t in ax.get_xticklabels()] == list("abcd")


def test_co_membership_shows_probabilities_that_were_computed_elsewhere():
    together = np.array([[1.0, 0.34, 0.0], [0.34, 1.0, 0.71], [0.0, 0.71, 1.0]])
    given = together.copy()
    ax = plots.co_membership(given, list("abc"))
    np.testing.assert_array_equal(given, together)
    np.fill_diagonal(together, np.nan)
    np.testing.assert_allclose(mapped_image(ax), together)


def test_co_membership_refuses_what_is_no_matrix_of_pairs():
    with pytest.raises(ArgumentError, match=r"\(2, 3\)"):
        plots.co_membership(np.ones((2, 3)))


def mapped_image(ax):
    return np.ma.filled(ax.images[0].get_array(), np.nan)


def test_clustering_moves_names_and_cells_together():
    rng = np.random.default_rng(2)
    order = rng.permutation(60)
    blocks = [tuple(order[i : i + 3].tolist()) for i in range(0, 60, 3)]
    ax = plots.co_membership([blocks], cluster=True)
    shown = mapped_image(ax)
    names = [int(t.get_text()[1:]) for t in ax.get_yticklabels()]
    together = co_membership_matrix([blocks])[np.ix_(names, names)]
    np.fill_diagonal(together, np.nan)
    np.testing.assert_allclose(shown, together)
    # three in a row belong together
    assert all(shown[i, i + 1] == 1 for i in range(60) if i % 3 < 2)


def test_co_membership_refuses_structures_of_different_coordinates():
    with pytest.raises(ArgumentError, match="missing 2"):
        plots.co_membership([((0,), (1, 2)), ((0, 1),)])
    with pytest.raises(ArgumentError, match="empty"):
        plots.co_membership([])
