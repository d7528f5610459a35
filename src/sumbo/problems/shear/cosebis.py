"""Complete orthogonal sets of E- and B-mode integrals (COSEBIs), logarithmic version.

The n-th filter T_n is a polynomial of degree n + 1 in ln(θ/θ_min) [schneider2010]. The
observable E_n = ∫ dℓ ℓ/(2π) C(ℓ) W_n(ℓ) is linear in the angular power spectrum, so
that for fixed nodes of ℓ it is a constant matrix times the values at the nodes.
"""

from decimal import Decimal, localcontext

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import j0

from sumbo.typing import Float, ndarray

DIGITS = 80  # the moment equations are ill-conditioned: 60 is the least that suffices
ORDER = 8  # nodes of a Gauss–Legendre panel
ARCMIN = np.pi / 180 / 60


def filters(ratio: float, modes: int) -> Float[ndarray, "modes c"]:
    """Return the coefficients of T_1, T_2, … in powers of z = ln(θ/θ_min), ascending.

    ``ratio`` is θ_max/θ_min. T_n is orthogonal to e^z and e^{3z} with the weight e^z,
    as the separation of E- and B-modes demands, and to T_m for m < n. It has the norm
    ∫ e^z T_n² dz = ratio − 1 and a positive leading coefficient.
    """
    with localcontext() as context:
        context.prec = DIGITS
        end = Decimal(repr(float(ratio))).ln()
        # ∫ z^p e^{cz} dz on [0, end], by integration by parts.
        top = 2 * (modes + 1)
        moments = {c: _moments(c, end, top) for c in (1, 2, 4)}
        rows: list[list[Decimal]] = []
        for n in range(1, modes + 1):
            degree = n + 1
            conditions = [moments[c][: degree + 1] for c in (2, 4)]
            conditions += [
                [
                    sum((a * moments[1][i + p] for i, a in enumerate(row)), Decimal(0))
                    for p in range(degree + 1)
                ]
                for row in rows
            ]
            row = [*_solved(conditions), Decimal(1)]
            norm = sum(
                (
                    a * b * moments[1][i + j]
                    for i, a in enumerate(row)
                    for j, b in enumerate(row)
                ),
                Decimal(0),
            )
            scale = ((end.exp() - 1) / norm).sqrt()
            rows.append([a * scale for a in row])
    table = np.zeros((modes, modes + 2))
    for row, values in zip(table, rows, strict=True):
        row[: len(values)] = [float(a) for a in values]
    return table


def weights(
    ell: Float[ndarray, " L"], theta_min: float, theta_max: float, modes: int
) -> Float[ndarray, "modes L"]:
    """Return W_n(ℓ) = ∫ dθ θ T_n(θ) J₀(ℓθ); angles are in radians."""
    coefficients = filters(theta_max / theta_min, modes)
    result = np.empty((modes, len(ell)))
    # The number of panels follows the largest ℓ of a block: half a period each.
    for block in np.array_split(np.arange(len(ell)), max(1, len(ell) // 200)):
        panels = 60 + int(ell[block].max() * (theta_max - theta_min) / np.pi)
        edges = np.union1d(
            np.linspace(theta_min, theta_max, panels),
            np.geomspace(theta_min, theta_max, 40),
        )
        theta, w = _panels(edges)
        z = np.log(theta / theta_min)
        T = np.polynomial.polynomial.polyval(z, coefficients.T) * (w * theta)
        result[:, block] = T @ j0(np.outer(theta, ell[block]))
    return result


def matrix(
    ell: Float[ndarray, " L"],
    theta_min: float,
    theta_max: float,
    modes: int,
    *,
    ell_min: float,
    ell_max: float,
) -> Float[ndarray, "modes L"]:
    """Return M with E = M C for a spectrum with values C at the nodes ``ell``.

    Between the nodes C is the natural cubic spline in ln ℓ. The integral covers
    ``ell_min`` to ``ell_max``, in panels of half a period of the filters.
    """
    half_period = np.pi / theta_max
    edges = np.concatenate(
        [
            [ell_min, ell_max],
            np.arange(ell_min, ell_max, half_period),
            ell[(ell > ell_min) & (ell < ell_max)],  # where the spline has its knots
        ]
    )
    nodes, w = _panels(np.unique(edges))
    W = weights(nodes, theta_min, theta_max, modes) * (w * nodes / (2 * np.pi))
    cardinal = CubicSpline(np.log(ell), np.eye(len(ell)), bc_type="natural")
    return W @ cardinal(np.log(nodes))


def _panels(
    edges: Float[ndarray, " e"],
) -> tuple[Float[ndarray, " n"], Float[ndarray, " n"]]:
    """Return the nodes and weights of a Gauss–Legendre rule in every panel."""
    x, w = np.polynomial.legendre.leggauss(ORDER)
    half = 0.5 * np.diff(edges)[:, None]
    middle = 0.5 * (edges[1:] + edges[:-1])[:, None]
    return (middle + half * x).ravel(), (half * w).ravel()


def _moments(c: int, end: Decimal, top: int) -> list[Decimal]:
    e = (c * end).exp()
    result = [(e - 1) / c]
    for p in range(1, top + 1):
        result.append((end**p * e - p * result[-1]) / c)
    return result


def _solved(conditions: list[list[Decimal]]) -> list[Decimal]:
    """Return a with Σ_p a_p m_p + m_last = 0 for every condition m, by elimination."""
    rows = [[*m[:-1], -m[-1]] for m in conditions]
    size = len(rows)
    for i in range(size):
        pivot = max(range(i, size), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(size):
            if r != i:
                factor = rows[r][i] / rows[i][i]
                rows[r] = [
                    a - factor * b for a, b in zip(rows[r], rows[i], strict=True)
                ]
    return [row[-1] / row[i] for i, row in enumerate(rows)]
