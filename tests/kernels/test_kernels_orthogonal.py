"""Kernels of orthogonal parts: closed forms by quadrature, terms by their subsets."""

from itertools import chain, combinations

import numpy as np
import pytest
from scipy.integrate import quad

from sumbo.errors import ArgumentError, TooLargeError
from sumbo.gp.anova import layouts
from sumbo.kernels import AnovaTerms, CentredAxis, as_kernel
from sumbo.kernels.integrals import primitives_of
from sumbo.space.measure import Measure

KERNELS = ("rbf", "matern12", "matern32", "matern52")
LOW, HIGH = -0.3, 1.9


class RationalQuadratic:
    """A kernel whose integrals nobody wrote down."""

    name = "rational"

    def correlation(self, s):
        return 1.0 / (1.0 + 0.5 * s)

    def correlation_and_weight(self, s):
        k = self.correlation(s)
        return k, k**2

    def spectral(self, rng, n, d):
        raise NotImplementedError


def interval_axis(kernel, lengthscale):
    kernel = as_kernel(kernel) if isinstance(kernel, str) else kernel
    return CentredAxis(
        kernel=kernel,
        lengthscales=np.array([lengthscale]),
        measure=Measure(coordinates=(0,), low=LOW, high=HIGH),
    )


def atoms_axis(kernel, rng):
    """Return an axis with uneven weights at places of two coordinates."""
    weights = rng.uniform(0.2, 1.7, 4)
    measure = Measure(
        coordinates=(0, 1), atoms=rng.random((4, 2)), weights=weights / weights.sum()
    )
    return CentredAxis(
        kernel=as_kernel(kernel), lengthscales=np.array([0.31, 0.83]), measure=measure
    )


# ---------------------------------------------------------------------- integrals
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("lengthscale", [0.07, 0.41, 3.7, 230.0])
def test_closed_forms_equal_quadrature(kernel, lengthscale):
    axis = interval_axis(kernel, lengthscale)
    for x in (LOW, 0.21, 1.13, HIGH, 2.4):

        def k(t, x=x):
            s = np.array([((t - x) / lengthscale) ** 2])
            return float(axis.kernel.correlation(s)[0])

        kink = [x] if LOW < x < HIGH else None
        found, _ = quad(k, LOW, HIGH, points=kink, epsabs=1e-13, limit=200)
        assert axis.u(np.array([[x]]))[0] == pytest.approx(
            found / (HIGH - LOW), abs=1e-12
        )
    c, _ = quad(lambda t: axis.u(np.array([[t]]))[0], LOW, HIGH, epsabs=1e-13)
    assert axis.c == pytest.approx(c / (HIGH - LOW), abs=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("where", ["interval", "atoms"])
def test_slopes_of_the_integrals_equal_finite_differences(kernel, where, rng):
    axis = atoms_axis(kernel, rng)
    if where == "interval":
        axis = interval_axis(kernel, 0.37)
    d, h = len(axis.lengthscales), 1e-5
    A = rng.uniform(-0.2, 1.4, (5, d))
    for j in range(d):
        step = np.exp(h * np.eye(d)[j])
        up, down = (
            CentredAxis(kernel=axis.kernel, lengthscales=l, measure=axis.measure)
            for l in (axis.lengthscales * step, axis.lengthscales / step)
        )
        np.testing.assert_allclose(
            axis.u_slopes(A)[j], (up.u(A) - down.u(A)) / (2 * h), atol=1e-9
        )
        assert axis.c_slopes[j] == pytest.approx((up.c - down.c) / (2 * h), abs=1e-9)
        np.testing.assert_allclose(
            axis.length_slopes(A)[1][j], (up(A, A) - down(A, A)) / (2 * h), atol=1e-8
        )
        moved = h * np.eye(d)[j]
        np.testing.assert_allclose(
            axis.u_gradient(A)[:, j],
            (axis.u(A + moved) - axis.u(A - moved)) / (2 * h),
            atol=1e-7,
        )


@pytest.mark.parametrize("kernel", KERNELS)
def test_near_zero_the_series_continues_the_closed_form(kernel):
    found = primitives_of(as_kernel(kernel))

    def k(t):
        return float(as_kernel(kernel).correlation(np.array([t * t]))[0])

    # The series ends at a distance of 0.5 over √(2ν).
    a = np.array([0.158, 0.21, 0.2236, 0.2237, 0.2886, 0.2887, 0.4999, 0.5001])
    by_quadrature = [quad(k, 0, b, epsabs=1e-14)[0] for b in a]
    np.testing.assert_allclose(found.F(a), by_quadrature, rtol=1e-13)
    # H(a) = a²/2 − … : a difference of numbers near a² would be rounding.
    np.testing.assert_allclose(found.H(np.array([1e-7])), 0.5e-14, rtol=1e-6)


def test_kernels_without_a_closed_form_are_integrated_numerically(rng):
    axis = interval_axis(RationalQuadratic(), 0.6)
    A = rng.uniform(LOW, HIGH, (3, 1))
    found = [
        quad(lambda t, x=x: 1 / (1 + 0.5 * ((t - x) / 0.6) ** 2), LOW, HIGH)[0]
        for x in A[:, 0]
    ]
    np.testing.assert_allclose(axis.u(A), np.array(found) / (HIGH - LOW), rtol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_atoms_are_summed(kernel, rng):
    axis = atoms_axis(kernel, rng)
    atoms, weights = axis.measure.atoms, axis.measure.weights
    A = rng.random((6, 2))
    np.testing.assert_allclose(axis(A, atoms) @ weights, 0.0, atol=1e-14)
    np.testing.assert_allclose(axis.diagonal(A), axis(A, A).diagonal(), atol=1e-14)
    assert np.linalg.eigvalsh(axis(A, A)).min() > -1e-12


# ---------------------------------------------------------------------- terms
def subsets_of(group):
    sizes = range(1, len(group) + 1)
    return list(chain.from_iterable(combinations(group, n) for n in sizes))


@pytest.mark.parametrize(
    "others",
    [[], [(2,)], [(2,), (5,), (7,)], [(2, 5), (5, 7)], [(2,), (5, 7, 9), (1, 2)]],
)
def test_terms_are_the_subsets_that_no_other_group_holds(others, rng):
    group = (2, 5, 7)
    owned = [u for u in subsets_of(group) if not any(set(u) <= set(o) for o in others)]
    terms = AnovaTerms.of(group, tuple(others))
    b = [rng.standard_normal((3, 2)) for _ in group]
    by_hand = sum(np.prod([b[group.index(p)] for p in u], axis=0) for u in owned)
    np.testing.assert_allclose(terms.combine(b), by_hand, atol=1e-13)
    assert terms.pure == (owned == [group])
    h = 1e-6
    for j in range(3):
        up, down = (
            terms.combine([x + s * h * (i == j) for i, x in enumerate(b)])
            for s in (1, -1)
        )
        np.testing.assert_allclose(terms.slopes(b)[j], (up - down) / (2 * h), atol=1e-7)


def test_every_subset_belongs_to_one_part():
    groups = ((3,), (0, 1), (1, 2), (0, 1, 2, 3), (1,))
    found = layouts(groups, ((0,), (1,), (2,), (3,)))
    count = np.zeros(4)
    for size in range(1, 5):
        # With b = t for all parameters the sum over all parts is (1 + t)^4 − 1.
        t = 0.1 * size
        total = sum(
            one.terms.combine([np.array([t])] * len(one.parameters))[0] for one in found
        )
        count[size - 1] = total - ((1 + t) ** 4 - 1)
    np.testing.assert_allclose(count, 0.0, atol=1e-14)
    assert found[0].terms.pure
    assert not found[3].terms.pure


def test_empty_and_split_parts_are_refused():
    with pytest.raises(ArgumentError, match=r"group \(0,\) has the same parameters"):
        layouts(((0,), (1,), (0,)), ((0,), (1,)))
    with pytest.raises(ArgumentError, match=r"group \(0, 1\) holds some coordinates"):
        layouts(((0, 1), (2,)), ((0,), (1, 2)))


def test_too_many_overlaps_are_refused(monkeypatch):
    monkeypatch.setattr("sumbo.kernels.orthogonal.MOST_PRODUCTS", 5)
    with pytest.raises(TooLargeError, match="more than 5 products"):
        AnovaTerms.of((0, 1, 2, 3), ((0, 1), (1, 2), (2, 3), (0, 3)))
