"""What the tests of partitions share: data, parameters, and exact distributions."""

import math

import numpy as np
from scipy import stats

import reference
from sumbo import AdditiveGP, Categorical, Integer, Real, Space
from sumbo.data import prepare
from sumbo.partitions.partition import canonical, singletons
from sumbo.partitions.sweep import PartitionPosterior, PartitionSweep
from sumbo.structure import expand

MIXED = (Real("a", 0.2, 3.0), Categorical("b", ("u", "v", "w")), Integer("c", 1, 4))


def box(K):
    """Return the bounds of K parameters, each with a range of its own."""
    return [(-1.2, 2.7 + k) for k in range(K)]


def all_partitions(K, max_size):
    """Return every partition of K parameters into groups of at most ``max_size``."""
    found: list[tuple] = [()]
    for k in range(K):
        found = [
            grown
            for p in found
            for grown in [
                (*p, (k,)),
                *((*p[:i], (*p[i], k), *p[i + 1 :]) for i in range(len(p))),
            ]
        ]
    return sorted(canonical(p) for p in found if max(map(len, p)) <= max_size)


def observed(bounds, U, y):
    """Return data of a space; the points are rounded to representable ones."""
    space = Space.of(bounds)
    return prepare(
        U=space.snap(U),
        y=y,
        failed=np.zeros(len(y), dtype=bool),
        pending=np.empty((0, space.dim)),
        domain=space,
        step=len(y),
    )


class Case:
    """Data of a space, and parameters that mean the same in every partition."""

    def __init__(self, rng, bounds, N, *, kernel="matern52", noise=0.031, max_size=9):
        dim = Space.of(bounds).dim
        self.data = observed(
            bounds, rng.beta(0.8, 1.3, (N, dim)), rng.normal(1.3, 2.2, N)
        )
        self.posterior = PartitionPosterior(data=self.data, max_size=max_size)
        self.length = rng.uniform(0.17, 0.83, dim)
        self.share = rng.uniform(0.11, 0.62, dim)
        self.kernel, self.noise, self.mean = kernel, noise, float(rng.normal(0, 0.4))

    def gp(self, partition, length=None, share=None):
        """Return the model of a partition: Σ v_j and ℓ_j √d for d coordinates."""
        length = self.length if length is None else length
        share = self.share if share is None else share
        groups = expand(partition, self.data.domain.blocks)
        return AdditiveGP(
            groups=groups,
            kernel=self.kernel,
            lengthscales=[length[list(g)] * math.sqrt(len(g)) for g in groups],
            variances=[share[list(g)].sum() for g in groups],
            noise=self.noise,
            mean=self.mean,
        )

    def conditional(self, own=1.0):
        """Return the distribution of the partition, given the parameters."""
        groups = singletons(len(self.data.domain.blocks))
        return self.posterior.given(self.gp(groups), own)

    def log_density(self, partition, **parameters):
        """Return log p(y, partition) by the dense formula, up to a constant."""
        gp = self.gp(partition, **parameters)
        merged = sum(len(group) - 1 for group in partition)
        penalty = PartitionSweep().penalty
        return reference.log_likelihood(gp, self.data.U, self.data.y) - penalty * merged


def chi_square(counts, expected):
    """Return the p-value, the rarest cells pooled until ten are expected of them."""
    order = np.argsort(expected)
    rare = 1 + int(np.searchsorted(np.cumsum(np.asarray(expected)[order]), 10.0))
    pooled = [
        np.append(np.asarray(x)[order[rare:]], np.asarray(x)[order[:rare]].sum())
        for x in (counts, expected)
    ]
    return stats.chisquare(*pooled).pvalue
