"""Draws from a posterior, whose code lies in layers above and registers itself."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sumbo.errors import ArgumentError
from sumbo.gp.arrays import as_candidates, as_matrix, require_count, require_rows
from sumbo.gp.results import Minimum
from sumbo.gp.solvers import Dense, Pointwise, Solver
from sumbo.linalg import one_blas_thread
from sumbo.registry import Registry
from sumbo.rng import Seed, as_seed, rng_at
from sumbo.typing import Domain, Float, ndarray

if TYPE_CHECKING:
    from sumbo.gp.model import AdditiveGP

# Draws of the parts at their candidates, by ``how``: one file of ``sampling`` each.
SAMPLERS: Registry[Callable[..., list[Any]]] = Registry("how", "sumbo.sampling")
# Draws of something else: of the sum, of a path, of the minimum of the sum.
DRAWS: Registry[Callable[..., Any]] = Registry("draw", "sumbo.sampling", "sumbo.search")


class Draws:
    """The methods of a posterior that draw from it."""

    gp: "AdditiveGP"
    X: Float[ndarray, "N P"]
    solver: Solver

    def sample(
        self,
        Z: Any,
        n: int = 1,
        how: str = "joint",
        seed: Seed = None,
        workers: int = 1,
    ) -> list[Float[ndarray, "..."]]:
        """Return n draws of every part at its candidates: M arrays (n, B_m).

        Args:
            Z: One array (B_m, d_m) per group.
            n: The number of draws.
            how: ``"joint"`` (exact, by Matheron's rule; linear in the points for long
                lists of a Matérn part of one coordinate), ``"sequential"`` (exact, the
                corrected recursion of the paper), ``"naive"`` (exact, one Cholesky of
                everything) or ``"marginal"`` (parts independent: the additive
                approximation). An iterative posterior has ``"joint"`` only.
            seed: A number, or None for fresh randomness.
            workers: Threads over groups; the draws do not depend on it.

        Examples:
            >>> import numpy as np
            >>> import sumbo
            >>> X = np.array([[0.2, 0.7], [0.6, 0.1], [0.9, 0.4]])
            >>> gp = sumbo.AdditiveGP(groups=[(0,), (1,)], noise=1e-4)
            >>> post = gp.condition(X, [1.3, 0.2, 0.8])
            >>> Z = [np.array([[0.1], [0.5], [0.8]]), np.array([[0.3], [0.4]])]
            >>> f0, f1 = post.sample(Z, n=7, how="joint", seed=3)
            >>> f0.shape, f1.shape
            ((7, 3), (7, 2))

        Raises:
            ArgumentError: If an argument has a value that cannot be used.
        """
        sampler = SAMPLERS.get(how)
        if how != "joint":
            self._exact(f"how={how!r}")
        Z = as_candidates(Z, self.gp.groups)
        for name, value in (("n", n), ("workers", workers)):
            require_count(name, value)
        rng = rng_at(as_seed(seed), f"sample {how}")
        with one_blas_thread():
            return sampler(rng, self, Z, int(n), workers=int(workers))

    def sample_with_constant(
        self, Z: Any, n: int = 1, seed: Seed = None
    ) -> tuple[Float[ndarray, " n"], list[Float[ndarray, "..."]]]:
        """Return n joint draws of the constant (n,) and of every part (n, B_m).

        The parts are those of ``sample(Z, n, how="joint", seed=seed)``. The constant
        varies with ``orthogonal=True``; it is the average of the drawn f.

        Args:
            Z: One array (B_m, d_m) per group.
            n: The number of draws.
            seed: A number, or None for fresh randomness.
        """
        Z = as_candidates(Z, self.gp.groups)
        require_count("n", n)
        rng = rng_at(as_seed(seed), "sample joint")
        with one_blas_thread():
            return DRAWS.get("with constant")(rng, self, Z, int(n))

    def sample_sum(
        self, X: Any, n: int = 1, seed: Seed = None
    ) -> Float[ndarray, "n b"]:
        """Return n draws (n, rows) of the sum f at whole points.

        The draws are joint over parts and points, and memory is linear in the rows:
        50 000 are possible. Draws are exact, except for parts of several coordinates at
        more than 1 500 distinct places: their mean and covariance are exact, and the
        shape of the joint distribution is normal to O(F^-½) for F ≥ 64 random
        frequencies; see ``sumbo.sampling.sums``.

        Args:
            X: Points (rows, P) of the cube.
            n: The number of draws.
            seed: A number, or None for fresh randomness.

        Examples:
            >>> import numpy as np
            >>> import sumbo
            >>> X = np.array([[0.2, 0.7], [0.6, 0.1], [0.9, 0.4]])
            >>> gp = sumbo.AdditiveGP(groups=[(0,), (1,)], noise=1e-4)
            >>> post = gp.condition(X, [1.3, 0.2, 0.8])
            >>> draws = post.sample_sum(X, n=5, seed=3)
            >>> draws.shape, bool(np.abs(draws - [1.3, 0.2, 0.8]).max() < 0.1)
            ((5, 3), True)
        """
        X = require_rows(as_matrix(X, self.gp.dim, "X"), "X")
        require_count("n", n)
        rng = rng_at(as_seed(seed), "sample sum")
        with one_blas_thread():
            return DRAWS.get("sum")(rng, self, X, int(n))

    def minimum(
        self, n: int = 200, seed: Seed = None, domain: Domain | None = None
    ) -> Minimum:
        """Return n joint draws of min f and of its place: ``Minimum(values, points)``.

        ``minimum().interval()`` is a credible interval of the optimum. The draws
        respect the covariance between parts: an interval from independent draws of the
        parts would not get narrower with more data.

        Args:
            n: The number of draws.
            seed: A number, or None for fresh randomness.
            domain: A ``Space`` whose representable points are minimised over; default
                the whole unit cube.

        Examples:
            >>> import numpy as np
            >>> import sumbo
            >>> X = np.array([[0.2, 0.7], [0.6, 0.1], [0.9, 0.4]])
            >>> gp = sumbo.AdditiveGP(groups=[(0,), (1,)], noise=1e-4)
            >>> post = gp.condition(X, [1.3, 0.2, 0.8])
            >>> low = post.minimum(n=50, seed=3)
            >>> low.values.shape, low.points.shape
            ((50,), (50, 2))
            >>> bool(low.values.mean() < 0.2)
            True
        """
        self._exact("minimum")
        require_count("n", n)
        rng = rng_at(as_seed(seed), "minimum")
        return DRAWS.get("minimum")(rng, self, int(n), domain)

    def sample_path(self, seed: Seed = None, **settings: Any) -> Any:
        """Return one joint draw as a function on the whole cube, with gradients.

        See ``sumbo.sampling.paths.Path``: call it, or its ``parts``.

        Examples:
            >>> import numpy as np
            >>> import sumbo
            >>> X = np.array([[0.2, 0.7], [0.6, 0.1], [0.9, 0.4]])
            >>> gp = sumbo.AdditiveGP(groups=[(0,), (1,)], noise=1e-4)
            >>> post = gp.condition(X, [1.3, 0.2, 0.8])
            >>> path = post.sample_path(seed=3)
            >>> path(X).shape, path.gradient(X).shape
            ((3,), (3, 2))
        """
        self._exact("sample_path")
        rng = rng_at(as_seed(seed), "sample path")
        return DRAWS.get("path")(rng, self, **settings)

    def _exact(self, what: str) -> Dense:
        """Return the exact solver.

        Raises:
            ArgumentError: If the posterior has another one.
        """
        if isinstance(self.solver, Dense):
            return self.solver
        msg = (
            f"{what} needs the exact posterior, this one has {len(self.X)} points and "
            f"a solver of type {type(self.solver).__name__}. Condition on fewer points "
            "with how='exact'."
        )
        raise ArgumentError(msg)

    def _pointwise(self, what: str) -> Pointwise:
        """Return the solver, whose moments are cheap at many points.

        Raises:
            ArgumentError: If the posterior has another one.
        """
        return self.solver if isinstance(self.solver, Pointwise) else self._exact(what)
