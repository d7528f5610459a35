"""A random walk over partitions, scored by the evidence.

The walk holds parameters that mean the same in every partition: a length-scale ℓ_j and
a variance v_j per coordinate. A group g has the variance Σ v_j and the length-scales
ℓ_j √|g|, as in the priors of ``gp.fit``. Given these, a sweep draws

* the group of each parameter in turn from its conditional law, all other groups and
  a new one being the choices (a move, by Gibbs), and
* a few exchanges of two parameters, and a few splits and merges
  (Metropolis–Hastings, ``metropolis``);

then the parameters are fitted to the partition by a few quasi-Newton steps. Were the
parameters fixed, the stationary law would be

    p(y | partition, θ) p(partition),   log p(partition) = −Σ_g penalty (|g| − 1).

Parameters fitted to a wrong group defend it. So in two sweeps of three, those of all
coordinates are drawn towards their geometric mean before the groups are drawn.

What a sweep computes says more than where it ends: the conditional laws of the groups
of all parameters. Their average is the co-membership that is remembered; how well it
tells pairs that belong together is measured by ``benchmarks/recovery.py``.
"""

import math
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from sumbo.data import Data
from sumbo.gp import AdditiveGP
from sumbo.kernels import Kernel, as_kernel
from sumbo.linalg import cholesky, one_blas_thread, solve_lower, unpack_lower
from sumbo.partitions import metropolis
from sumbo.partitions.density import distances
from sumbo.structure import expand
from sumbo.typing import Float, Group, Groups, Int, ndarray

# Evidence, in nats, that each further member of a group must bring.
PENALTY = 1.0
# Quasi-Newton steps of each fit; the walk comes back to the same groups often.
STEPS = 4
# How much of their own the parameters of the coordinates keep, sweep after sweep.
OWN = (0.0, 0.5, 1.0)
# Observations that structure learning looks at: every likelihood takes O(N³), and
# structure shows in fewer than a search needs.
OBSERVATIONS = 250
# Likelihoods computed for moves in one sweep at most: many parameters take turns.
MOST = 100
# Exchanges, and splits or merges, proposed in one sweep at most.
EXCHANGES, SPLITS = 12, 5


class Visit(NamedTuple):
    """Groups of parameters, the model fitted to them, and its log density."""

    groups: Groups
    gp: AdditiveGP
    score: float
    # Of a sweep: how probable it was that two parameters share a group.
    together: Float[ndarray, "K K"] | None = None


@dataclass(frozen=True, kw_only=True)
class Target:
    """The posterior over partitions of the parameters, given data."""

    data: Data
    max_size: int

    def fit(self, groups: Groups, gp: AdditiveGP, steps: int = STEPS) -> Visit:
        """Return the groups with parameters fitted from those of another structure.

        The last group may be a residual part over all, see ``with_residual``.
        """
        start = carried(gp, expand(groups, self.data.domain.blocks))
        fitted = start.fit(self.data.U, self.data.y, spans=1.0, starts=1, steps=steps)
        score = fitted.info.log_posterior if fitted.info else math.nan
        return Visit(groups, fitted, score + log_prior(groups))

    def singletons(self) -> Visit:
        """Return the all-singletons partition, fitted well."""
        groups = tuple((k,) for k in range(len(self.data.domain.blocks)))
        gp = AdditiveGP(groups=expand(groups, self.data.domain.blocks))
        return self.fit(groups, gp, steps=30)

    def given(self, visit: Visit, own: float = 1.0) -> "Conditional":
        """Return the law of the partition, parameters held as in ``visit``.

        Parameters keep the share ``own`` of what is their own in logarithms.
        """
        blocks = self.data.domain.blocks
        i, j = np.triu_indices(len(self.data.y))
        length, share = (together(x, own) for x in per_coordinate(visit.gp))
        return Conditional(
            y=self.data.y - visit.gp.mean,
            kernel=as_kernel(visit.gp.kernel),
            s=distances(self.data.U / length, blocks),
            v=np.array([share[list(block)].sum() for block in blocks]),
            sizes=np.array([len(block) for block in blocks]),
            base=visit.gp.noise * (i == j),
            max_size=self.max_size,
        )


@dataclass(kw_only=True)
class Conditional:
    """log p(y, partition | parameters), remembering the groups that it has seen.

    ``s`` are scaled squared distances along each parameter between all pairs of
    observations, packed; ``sizes`` are the coordinates of each parameter; ``base`` is
    what no group changes, the noise.
    """

    y: Float[ndarray, " N"]
    kernel: Kernel
    s: Float[ndarray, "K T"]
    v: Float[ndarray, " K"]
    sizes: Int[ndarray, " K"]
    base: Float[ndarray, " T"]
    max_size: int
    evaluations: int = 0
    # With whom a parameter was how likely to share a group, when its own was drawn.
    _company: dict[int, Float[ndarray, " K"]] = field(default_factory=dict)
    _known: dict[Group, Float[ndarray, " T"]] = field(default_factory=dict)
    # The partition that was looked at last, and its covariance.
    _last: tuple[Groups, Float[ndarray, " T"]] | None = None

    def of_group(self, group: Group) -> Float[ndarray, " T"]:
        """Return the packed covariance of one group."""
        if group not in self._known:
            g = list(group)
            k = self.kernel.correlation(self.s[g].sum(axis=0) / self.sizes[g].sum())
            self._known[group] = self.v[g].sum() * k
        return self._known[group]

    def score(self, partition: Groups) -> float:
        """Return log p(y | partition) + log p(partition), up to a constant."""
        return self._log_density(self.covariance(partition)) + log_prior(partition)

    def covariance(self, partition: Groups) -> Float[ndarray, " T"]:
        """Return the packed covariance of the observations."""
        if self._last is None or self._last[0] != partition:
            total = self.base.copy()
            for group in partition:
                total += self.of_group(group)
            self._last = partition, total
        return self._last[1]

    def draw_group(self, rng: np.random.Generator, partition: Groups, j: int) -> Groups:
        """Return the partition with the group of j drawn given all others."""
        own = _group_of(partition, j)
        left = tuple(k for k in own if k != j)
        others = [group for group in (*partition, left) if group not in ((), own)]
        rest = self.covariance(partition) - self.of_group(own)
        if left:
            rest += self.of_group(left)
        choices: list[tuple[Groups, Float[ndarray, " T"]]] = []
        scores: list[float] = []
        for group in ((), *(g for g in others if len(g) < self.max_size)):
            joined = tuple(sorted((*group, j)))
            packed = rest + self.of_group(joined)
            if group:
                packed -= self.of_group(group)
            kept = [g for g in others if g != group]
            choices.append((metropolis.canonical((*kept, joined)), packed))
            scores.append(self._log_density(packed) - PENALTY * bool(group))
        self._company[j] = company = np.zeros(len(self.v))
        for (groups, _), weight in zip(choices, softmax(scores), strict=True):
            company[list(_group_of(groups, j))] += weight
        # Gumbel-max: an exact draw from unnormalised log weights.
        i = int(np.argmax(np.array(scores) + rng.gumbel(size=len(scores))))
        self._last = choices[i]
        return choices[i][0]

    def together(self, partition: Groups) -> Float[ndarray, "K K"]:
        """Return how probable it was that two parameters share a group.

        By the law that each one's group was drawn from, the mean of both ways; by the
        partition for those that have not been drawn.
        """
        out = np.zeros((len(self.v), len(self.v)))
        for j in range(len(out)):
            if j in self._company:
                out[j] = self._company[j]
            else:
                out[j, list(_group_of(partition, j))] = 1.0
        return 0.5 * (out + out.T)

    def _log_density(self, packed: Float[ndarray, " T"]) -> float:
        self.evaluations += 1
        L = cholesky(unpack_lower(packed, len(self.y))).L
        half = solve_lower(L, self.y)
        return float(-0.5 * half @ half - np.log(L.diagonal()).sum())


def log_prior(groups: Groups) -> float:
    """Return log p(partition), up to a constant; a residual part is not counted."""
    return -PENALTY * merged(groups)


def merged(groups: Groups) -> int:
    """Return how many parameters are not the first of their group."""
    K = len({k for group in groups for k in group})
    if len(groups) > 1:
        groups = tuple(group for group in groups if len(group) < K)
    return sum(len(group) - 1 for group in groups)


def walk(
    rng: np.random.Generator, target: Target, start: Visit, sweeps: int
) -> list[Visit]:
    """Return the state after each of ``sweeps`` sweeps from the start."""
    visits = [start]
    with one_blas_thread():
        for t in range(sweeps):
            # The last sweep is one of those that leave the parameters alone.
            own = OWN[(t - sweeps) % len(OWN)]
            visits.append(_sweep(rng, target, visits[-1], own))
    return visits[1:]


def _sweep(rng: np.random.Generator, target: Target, now: Visit, own: float) -> Visit:
    law = target.given(now, own)
    partition = now.groups
    K = len(law.v)
    for j in rng.permutation(K):
        partition = law.draw_group(rng, partition, int(j))
        if law.evaluations > MOST:
            break
    partition = _exchange(rng, law, partition, steps=min(K, EXCHANGES))
    partition = metropolis.walk(
        rng,
        partition,
        law.score,
        steps=min(max(2, K // 4), SPLITS),
        max_size=target.max_size,
    )[-1].partition
    return target.fit(partition, now.gp)._replace(together=law.together(partition))


def _group_of(partition: Groups, j: int) -> Group:
    return next(group for group in partition if j in group)


def _exchange(
    rng: np.random.Generator, law: Conditional, partition: Groups, steps: int
) -> Groups:
    """Return the partition after some proposals to exchange two parameters.

    Groups that are right but for two of their members are far from the right ones for
    single moves, which would have to pass through worse groups. A uniform choice of
    two parameters is its own reverse, so only the scores decide.
    """
    score = law.score(partition)
    for _ in range(steps if 1 < len(partition) < len(law.v) else 0):
        a, b = (int(k) for k in rng.choice(len(law.v), size=2, replace=False))
        swapped = {a: b, b: a}
        new = metropolis.canonical(
            tuple(tuple(swapped.get(k, k) for k in group) for group in partition)
        )
        if new == partition:
            continue
        value = law.score(new)
        # A NaN score compares false, so such groups are never taken.
        if math.log1p(-rng.random()) < value - score:
            partition, score = new, value
    return partition


def with_residual(partition: Groups) -> Groups:
    """Return the groups with one more part over all parameters on top.

    A partition into one group has such a part already.
    """
    everything = tuple(sorted(k for group in partition for k in group))
    return partition if len(partition) == 1 else (*partition, everything)


def per_coordinate(gp: AdditiveGP) -> tuple[Float[ndarray, " P"], Float[ndarray, " P"]]:
    """Return ℓ and v of each coordinate, a residual part aside."""
    length, share = np.empty(gp.dim), np.empty(gp.dim)
    for group, kernel in zip(gp.groups, gp.kernels, strict=True):
        if len(group) == gp.dim and len(gp.groups) > 1:
            continue
        length[list(group)] = kernel.lengthscales / math.sqrt(len(group))
        share[list(group)] = kernel.variance / len(group)
    return length, share


def carried(gp: AdditiveGP, groups: Groups) -> AdditiveGP:
    """Return a model of other groups that starts from the parameters of ``gp``."""
    P = gp.dim
    length, share = per_coordinate(gp)
    last = gp.kernels[-1]
    had_residual = len(gp.groups) > 1 and len(gp.groups[-1]) == P
    lengthscales, variances = [], []
    for group in groups:
        g = list(group)
        if len(g) == P and len(groups) > 1:
            fresh = np.full(P, 0.4 * math.sqrt(P))
            lengthscales.append(last.lengthscales if had_residual else fresh)
            variances.append(last.variance if had_residual else 0.1 * share.sum())
        else:
            lengthscales.append(length[g] * math.sqrt(len(g)))
            variances.append(share[g].sum())
    if sum(len(group) for group in groups) == P:
        flat = np.empty(P)
        for group, values in zip(groups, lengthscales, strict=True):
            flat[list(group)] = values
        lengthscales = flat
    return replace(
        gp, groups=groups, lengthscales=lengthscales, variances=variances, info=None
    )


def together(x: Float[ndarray, " P"], own: float) -> Float[ndarray, " P"]:
    """Return positive values drawn to their geometric mean, by all but ``own``."""
    log = np.log(x)
    return np.exp(own * log + (1.0 - own) * log.mean())
