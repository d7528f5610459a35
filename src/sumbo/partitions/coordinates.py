"""Length-scales and variances that mean the same in every structure.

Structures are compared with fixed parameters: a length-scale ℓ_j and a variance v_j
per coordinate. A group g has the variance Σ_j v_j/n_j, where n_j counts the groups
that hold coordinate j, and the length-scales ℓ_j √|g|, as in the priors of ``gp.fit``.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sumbo.data import Data
from sumbo.errors import ArgumentError, require_number
from sumbo.gp import AdditiveGP
from sumbo.gp.fit import Priors
from sumbo.kernels import Kernel, as_kernel
from sumbo.partitions.density import diagonal, distances
from sumbo.partitions.partition import has_residual
from sumbo.typing import Float, Group, Groups, Int, ndarray


def per_coordinate(gp: AdditiveGP) -> tuple[Float[ndarray, " P"], Float[ndarray, " P"]]:
    """Return ℓ and v of each coordinate for a partition; a residual part is ignored."""
    length, share = np.empty(gp.dim), np.empty(gp.dim)
    parts = len(gp.groups) - has_residual(gp.groups)
    for group, kernel in zip(gp.groups[:parts], gp.kernels[:parts], strict=True):
        length[list(group)] = kernel.lengthscales / math.sqrt(len(group))
        share[list(group)] = kernel.variance / len(group)
    return length, share


def per_coordinate_of_overlapping(
    gp: AdditiveGP,
) -> tuple[Float[ndarray, " P"], Float[ndarray, " P"]]:
    """Return ℓ, the geometric mean over groups, and v, the sum over groups."""
    log, share, often = np.zeros(gp.dim), np.zeros(gp.dim), np.zeros(gp.dim)
    for group, kernel in zip(gp.groups, gp.kernels, strict=True):
        g = list(group)
        log[g] += np.log(kernel.lengthscales / math.sqrt(len(g)))
        share[g] += kernel.variance / len(g)
        often[g] += 1.0
    return np.exp(log / often), share


def shrunk_towards_mean(x: Float[ndarray, " P"], own: float) -> Float[ndarray, " P"]:
    """Return positive values whose logarithms keep the share ``own`` of their spread.

    With ``own=0`` all become their geometric mean, with ``own=1`` nothing changes.
    """
    log = np.log(x)
    return np.exp(own * log + (1.0 - own) * log.mean())


def check_spread(own_spread: Any) -> None:
    """Check shares of the spread that are used one after the other.

    Raises:
        ArgumentError: If they are not a tuple of numbers from 0 to 1.
    """
    if not isinstance(own_spread, tuple) or not own_spread:
        msg = f"own_spread={own_spread!r} is not a tuple of numbers, such as (0.5, 1)."
        raise ArgumentError(msg)
    for value in own_spread:
        require_number("own_spread", value, high=1.0)


def with_groups(
    gp: AdditiveGP,
    groups: Groups,
    length: Float[ndarray, " P"],
    share: Float[ndarray, " P"],
) -> AdditiveGP:
    """Return the model with other groups, which have the given ℓ and v."""
    often = np.zeros(gp.dim)
    for group in groups:
        often[list(group)] += 1.0
    lengthscales = [length[list(g)] * math.sqrt(len(g)) for g in groups]
    variances = [(share / often)[list(g)].sum() for g in groups]
    return _assembled(gp, groups, lengthscales, variances)


def carried(gp: AdditiveGP, groups: Groups, residual_share: float) -> AdditiveGP:
    """Return a model of other groups that starts from the parameters of ``gp``.

    The groups are a partition, and a residual part may follow. If ``gp`` has no
    residual part, a new one has the prior mode of the length-scales and the share
    ``residual_share`` of the variance of all other parts.
    """
    length, share = per_coordinate(gp)
    if not has_residual(groups):
        return with_groups(gp, groups, length, share)
    parts = with_groups(gp, groups[:-1], length, share)
    if has_residual(gp.groups):
        last = gp.kernels[-1].lengthscales, gp.kernels[-1].variance
    else:
        mode = Priors().lengthscale * math.sqrt(gp.dim)
        last = np.full(gp.dim, mode), residual_share * share.sum()
    lengthscales = [kernel.lengthscales for kernel in parts.kernels]
    return _assembled(gp, groups, [*lengthscales, last[0]], [*parts.variances, last[1]])


def _assembled(
    gp: AdditiveGP,
    groups: Groups,
    lengthscales: list[Float[ndarray, " _"]],
    variances: list[float],
) -> AdditiveGP:
    """Return the model, with one flat array of length-scales for a partition."""
    flat: list[Float[ndarray, " _"]] | Float[ndarray, " P"] = lengthscales
    if sum(len(group) for group in groups) == gp.dim:
        flat = np.empty(gp.dim)
        for group, values in zip(groups, lengthscales, strict=True):
            flat[list(group)] = values
    return replace(gp, groups=groups, lengthscales=flat, variances=variances, info=None)


@dataclass(frozen=True, kw_only=True, eq=False)
class CoordinateModel:
    """The observations, and parameters from which any structure gets its covariance.

    Attributes:
        y: Observed values less the mean of the model.
        kernel: The kernel of every part.
        s: Scaled squared distances along each parameter between all pairs, packed.
        v: The variance of each parameter.
        sizes: The number of coordinates of each parameter.
        noise: The packed covariance of the noise.
    """

    y: Float[ndarray, " N"]
    kernel: Kernel
    s: Float[ndarray, "K T"]
    v: Float[ndarray, " K"]
    sizes: Int[ndarray, " K"]
    noise: Float[ndarray, " T"]

    @classmethod
    def of(
        cls,
        data: Data,
        gp: AdditiveGP,
        length: Float[ndarray, " P"],
        share: Float[ndarray, " P"],
    ) -> "CoordinateModel":
        """Return the model of the kernel, mean and noise of ``gp``, with ℓ and v."""
        blocks, N = data.domain.blocks, len(data.y)
        noise = np.zeros(N * (N + 1) // 2)
        noise[diagonal(N)] = gp.noise if data.noise is None else gp.noise + data.noise
        return cls(
            y=data.y - gp.mean,
            kernel=as_kernel(gp.kernel),
            s=distances(data.U / length, blocks),
            v=np.array([share[list(block)].sum() for block in blocks]),
            sizes=np.array([len(block) for block in blocks]),
            noise=noise,
        )

    def correlation(self, group: Group) -> Float[ndarray, " T"]:
        """Return the packed correlation matrix of the part of one group."""
        g = list(group)
        return self.kernel.correlation(self.s[g].sum(axis=0) / self.sizes[g].sum())
