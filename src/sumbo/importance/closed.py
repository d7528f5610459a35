"""Expected variances of the terms of an orthogonal model, without draws.

Terms f_u of the functional ANOVA integrate to zero in each parameter, so that variances
add up over u. With the kernel a ∏_{j ∈ u} s k̃_j of a term, X the observations and A the
covariance of their values, the posterior expectation of ∫ f_u² is

    a ∏ s e_j + αᵀ M α − tr(A⁻¹ M),     M = a² ∏ s² E_j,
    e_j = ∫ k̃_j(x, x) dμ,               E_j = ∫ k̃_j(X, x) k̃_j(x, X) dμ.

The middle summand is that of the posterior mean, [lu2022] Sec. 4.3. Sums over the terms
of a part are those of ``kernels.orthogonal.AnovaTerms``; terms without parameter k have
E_k = 0. The integrals are over one parameter: sums for atoms, a composite Gauss
rule for intervals.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from sumbo.gp import Posterior
from sumbo.gp.solvers import Dense
from sumbo.kernels import OrthogonalKernel
from sumbo.linalg import inverse_lower
from sumbo.space.measure import Measure
from sumbo.typing import Float, ndarray


class Expected(NamedTuple):
    """Expected variances: due to each parameter alone, with others, and in all."""

    first: Float[ndarray, " K"]
    total: Float[ndarray, " K"]
    whole: float


def expected_variances(post: Posterior, measures: Sequence[Measure]) -> Expected | None:
    """Return expected variances; None if the model has no closed form for them.

    It has one if its parts are orthogonal with respect to these distributions.
    """
    gp = post.gp
    if not (gp.orthogonal and isinstance(post.solver, Dense)):
        return None
    if not _are_equal(gp.measure, measures):
        return None
    precision = inverse_lower(post.L)
    precision = np.tril(precision) + np.tril(precision, -1).T
    W = np.outer(post.alpha, post.alpha) - precision
    owner = {p: k for k, one in enumerate(measures) for p in one.coordinates}
    first, total, whole = np.zeros(len(measures)), np.zeros(len(measures)), 0.0
    for kernel, group in zip(gp.kernels, gp.groups, strict=True):
        if not isinstance(kernel, OrthogonalKernel):
            return None
        part = _Part.of(kernel, post.X[:, group], W)
        d = len(kernel.axes)
        everything = part.variance(range(d))
        whole += everything
        for j, columns in enumerate(kernel.columns):
            k = owner[group[columns[0]]]
            first[k] += part.variance([j])
            total[k] += everything - part.variance(i for i in range(d) if i != j)
    return Expected(first, total, whole)


class _Part(NamedTuple):
    """One part: s e_j and s² E_j of its parameters, and W = ααᵀ − A⁻¹."""

    kernel: OrthogonalKernel
    e: list[Float[ndarray, " 1"]]
    E: list[Float[ndarray, "N N"]]
    W: Float[ndarray, "N N"]

    @classmethod
    def of(
        cls,
        kernel: OrthogonalKernel,
        X: Float[ndarray, "N d"],
        W: Float[ndarray, "N N"],
    ) -> "_Part":
        """Return the integrals of a part, from its observations."""
        e, E, s = [], [], kernel.terms.scale
        for axis, columns in zip(kernel.axes, kernel.columns, strict=True):
            nodes, weights = axis.measure.rule()
            k = axis(X[:, columns], nodes)
            e.append(np.array([s * (weights @ axis.diagonal(nodes))]))
            E.append(s**2 * ((k * weights) @ k.T))
        return cls(kernel, e, E, W)

    def variance(self, kept: Iterable[int]) -> float:
        """Return the expected variance of the terms of some parameters."""
        kept = set(kept)
        if not kept:
            return 0.0
        terms, a = self.kernel.terms, self.kernel.variance / self.kernel.terms.total
        e = [one if j in kept else np.zeros(1) for j, one in enumerate(self.e)]
        E = [one if j in kept else np.zeros_like(one) for j, one in enumerate(self.E)]
        prior = a * float(terms.combine(e)[0])
        return max(prior + a**2 * float(np.vdot(self.W, terms.combine(E))), 0.0)


def _are_equal(mine: Sequence[Measure], others: Sequence[Measure]) -> bool:
    if len(mine) != len(others):
        return False
    return all(
        a.coordinates == b.coordinates
        and (a.low, a.high) == (b.low, b.high)
        and np.array_equal(a.weights, b.weights)
        and np.array_equal(a.rule()[0], b.rule()[0])
        for a, b in zip(mine, others, strict=True)
    )
