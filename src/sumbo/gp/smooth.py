"""Mean and variance of a part at many points of a line, by splines.

With the squared-exponential kernel both are smooth on the scale of the length-scale,
so their values on a fine grid determine them. A spline of degree 7 through N_g grid
points costs O(N² N_g + B) for B points instead of O(N² B). Its error falls with the
eighth power of the spacing: at `SPACING` it is rounding, see the tests.
"""

import numpy as np
from scipy.interpolate import make_interp_spline

from sumbo.gp.posterior import Posterior
from sumbo.kernels import GroupKernel
from sumbo.typing import Float, ndarray

DEGREE = 7
# Of the grid, in length-scales.
SPACING = 1 / 16
# Grid points beyond the last point on either side: splines are worst at their ends.
MARGIN = 8
# From so many points and observations on, the spline is cheaper.
POINTS, OBSERVATIONS = 4000, 40


def part_moments(
    post: Posterior, m: int, Z: Float[ndarray, "B d"]
) -> tuple[Float[ndarray, " B"], Float[ndarray, " B"]]:
    """Return `Posterior.part_moments`, by a spline where this is cheaper.

    That is so for many points of one coordinate and the squared-exponential kernel.
    """
    kernel = post.gp.kernels[m]
    smooth = isinstance(kernel, GroupKernel) and kernel.kernel.name == "rbf"
    many = len(Z) >= POINTS and post.N >= OBSERVATIONS
    if not (smooth and many and Z.shape[1] == 1):
        return post.part_moments(m, Z)
    low, high = float(Z.min()), float(Z.max())
    step = SPACING * float(kernel.lengthscales[0])
    intervals = max(2 * DEGREE, int(np.ceil((high - low) / step)))
    if intervals > len(Z) / 4 or high == low:
        return post.part_moments(m, Z)
    step = (high - low) / intervals
    grid = low + step * np.arange(-MARGIN, intervals + MARGIN + 1)
    values = np.column_stack(post.part_moments(m, grid[:, None]))
    mean, var = make_interp_spline(grid, values, DEGREE)(Z[:, 0]).T
    return mean, np.maximum(var, 0.0)
