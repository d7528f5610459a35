"""A fixed list of designs, whose parts are Gaussian processes."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from sumbo.decisions.base import DECISIONS, Decision, best_row
from sumbo.decisions.belief import times_root
from sumbo.kernels import GroupKernel, as_kernel
from sumbo.rng import rng_at
from sumbo.typing import Float, Int, ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class ListBelief:
    """What is known of f at a list of points, and of its parts there.

    Attributes:
        mean: The means of f.
        own: The covariances of each part with itself.
        total: The covariances of each part with f.
    """

    mean: Float[ndarray, "R K"]
    own: Float[ndarray, "R M K K"]
    total: Float[ndarray, "R M K K"]

    def given(
        self, phi: Float[ndarray, "R K"], y: Float[ndarray, " R"], variance: float
    ) -> "ListBelief":
        """Return the belief after f was observed at one point."""
        g = np.einsum("rmij,rj->rmi", self.total, phi)
        whole = g.sum(axis=1)
        s = np.einsum("rk,rk->r", phi, whole) + variance
        misfit = y - np.einsum("rk,rk->r", phi, self.mean)
        scaled = g / s[:, None, None]
        return replace(
            self,
            mean=self.mean + whole * (misfit / s)[:, None],
            own=self.own - scaled[..., :, None] * g[..., None, :],
            total=self.total - scaled[..., :, None] * whole[:, None, None, :],
        )

    def joint(self, rng: np.random.Generator) -> Float[ndarray, "R K"]:
        """Return one joint draw of f per replicate."""
        return self.mean + times_root(self.total.sum(axis=1), rng)

    def marginal(self, rng: np.random.Generator) -> Float[ndarray, "R K"]:
        """Return one sum of independent draws of the parts per replicate."""
        return self.mean + times_root(self.own.sum(axis=1), rng)

    def centred(self, rng: np.random.Generator) -> Float[ndarray, "R K"]:
        """Return one sum of independent draws of the parts less their averages.

        The average of f over the designs is drawn apart from them.
        """
        K = self.mean.shape[1]
        average = np.full((K, K), 1.0 / K)
        rest = np.eye(K) - average
        whole = average @ self.total.sum(axis=1) @ average
        cov = whole + rest @ self.own.sum(axis=1) @ rest
        return self.mean + times_root(cov, rng)

    def deviations(self) -> Float[ndarray, "R K"]:
        """Return the sums of the parts' standard deviations."""
        var = np.einsum("rmkk->rmk", self.own)
        return np.sqrt(np.maximum(var, 0.0)).sum(axis=1)

    def total_deviations(
        self, offers: Float[ndarray, "R K K"]
    ) -> Float[ndarray, "R K"]:
        """Return the standard deviations of f."""
        del offers
        var = np.einsum("rmkk->rk", self.total)
        return np.sqrt(np.maximum(var, 0.0))


@DECISIONS.register("designs")
@dataclass(frozen=True, kw_only=True)
class Designs(Decision):
    """Designs in [0, 1]^M, drawn once; f is drawn from an additive Gaussian process.

    A choice is a design, and its coefficient the value of f there.

    Attributes:
        parts_count: The number of parts M.
        count: The number of designs K.
        lengthscale: The length-scale of every part (Matérn-5/2).
    """

    floor: ClassVar[str] = "positive"

    parts_count: int = 20
    count: int = 20
    lengthscale: float = 0.3
    noise: float = 0.3

    @property
    def parts(self) -> Int[ndarray, " d"]:
        """Every design has its own coefficient."""
        return np.arange(self.count)

    @property
    def variance(self) -> float:
        """The prior variance of f."""
        return 1.0

    @cached_property
    def points(self) -> Float[ndarray, "R K M"]:
        """The designs of every replicate."""
        shape = self.replicates, self.count, self.parts_count
        return rng_at(self.seed, "designs").random(shape)

    @cached_property
    def blocks(self) -> Float[ndarray, "R M K K"]:
        """The prior covariance of every part at the designs."""
        kernel = GroupKernel(
            kernel=as_kernel("matern52"),
            lengthscales=np.array([self.lengthscale]),
            variance=1.0 / self.parts_count,
        )
        each = [
            [kernel(X[:, [m]], X[:, [m]]) for m in range(self.parts_count)]
            for X in self.points
        ]
        return np.array(each)

    @cached_property
    def theta(self) -> Float[ndarray, "R K"]:
        """The truth: a draw of f at the designs."""
        return times_root(self.blocks.sum(axis=1), rng_at(self.seed, "truth"))

    def belief(self) -> ListBelief:
        """Return the prior: parts are independent of each other."""
        mean = np.zeros((self.replicates, self.count))
        return ListBelief(mean=mean, own=self.blocks, total=self.blocks)

    def offers(self, t: int) -> Float[ndarray, "R K K"]:
        """Return all designs."""
        del t
        return np.tile(np.eye(self.count), (self.replicates, 1, 1))

    def best(
        self, offers: Float[ndarray, "R K K"], weights: Float[ndarray, "R K"]
    ) -> Float[ndarray, "R K"]:
        """Return the designs of the least values."""
        return best_row(offers, weights)
