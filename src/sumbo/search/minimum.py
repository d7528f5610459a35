"""Joint draws of the minimum of f and of its place."""

from dataclasses import dataclass

import numpy as np

from sumbo.data import prepare
from sumbo.gp import DRAWS, Minimum, Posterior
from sumbo.linalg import one_blas_thread
from sumbo.rng import split
from sumbo.sampling.expansion import Draw, expand_joint
from sumbo.sampling.growth import fresh_factors
from sumbo.search.candidates import draw_candidates, free_coordinates
from sumbo.search.components import by_group, feasible_components
from sumbo.search.separable import Parts, minimise_sum
from sumbo.typing import Domain, Float, Groups, Region, ndarray


@dataclass(frozen=True)
class Cube:
    """The unit cube as a domain: every point of it is representable."""

    dim: int

    @property
    def blocks(self) -> Groups:
        """One coordinate per parameter."""
        return tuple((p,) for p in range(self.dim))

    @property
    def region(self) -> Region | None:
        """None: all points are feasible."""
        return None

    def snap(self, U: Float[ndarray, "n P"]) -> Float[ndarray, "n P"]:
        """Return the nearest points of the cube."""
        return np.clip(U, 0.0, 1.0)


@DRAWS.register("minimum")
def sample_minimum(
    rng: np.random.Generator,
    post: Posterior,
    n: int,
    domain: Domain | None = None,
    count: int = 200,
) -> Minimum:
    """Return n joint draws of min f and arg min f over the domain.

    Each draw is made at ``count`` candidates of each component. The best of them is
    refined on the conditional mean of the draw between its candidates, as in the
    Thompson sampling of [wycoff2025] Alg. 2.
    """
    streams = split(rng)
    data = prepare(
        U=post.X,
        y=post.y,
        failed=np.zeros(post.N, dtype=bool),
        pending=np.empty((0, post.gp.dim)),
        domain=domain or Cube(post.gp.dim),
        step=0,
        kind="none",
    )
    parts = feasible_components(post.gp.groups, data.domain)
    Z = draw_candidates(streams.candidates, data, parts, count)
    with one_blas_thread():
        each = by_group(parts, Z)
        draws = expand_joint(streams.normals, post, fresh_factors(post, each), n)
        free = free_coordinates(data)
        points, values = np.empty((n, post.gp.dim)), np.full(n, post.gp.mean)
        if draws[0].constant is not None:
            values += draws[0].constant
        for i in range(n):
            one = Draw(draws, i)
            at_candidates = [
                np.sum([draws[m].values[i] for m in part.groups], axis=0)
                for part in parts
            ]
            functions = Parts(one.value, one.gradient, one.lines, one.line_gradients)
            u = minimise_sum(parts, Z, at_candidates, len(points[i]), functions, free)
            points[i] = u
            for m, group in enumerate(post.gp.groups):
                values[i] += one.value(m, u[None, list(group)])[0]
    return Minimum(values, points)
