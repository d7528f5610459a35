"""Overlapping pairs of parameters, the edges of a forest, learned from the data.

A parameter may interact with several others that do not interact with each other:
f(x) = Σ_{ij ∈ forest} f_ij(x_i, x_j) + Σ_{i on no edge} f_i(x_i). No partition says so
without putting all of them into one group. A parameter on an edge keeps no part of its
own: functions of x_i alone are among those of (x_i, x_j), so the data could not tell
the two apart, and fits would share out the variance at will.

As in ``chain``, the walk holds a length-scale ℓ_j and a variance v_j per parameter.
With n_j the edges of j, an edge ij has the variance v_i/n_i + v_j/n_j and the
length-scales ℓ√2. Given these, Metropolis–Hastings has the stationary law

    p(y | forest, θ) p(forest),   log p(forest) = −(1 + log((K − 1)/2)) · edges,

where the logarithm keeps the number of edges that are expected without data below K/e,
though the K parameters have K(K − 1)/2 pairs.

A fair coin decides between removing an edge, all equally likely, and taking up a pair e
with probability w_e; where e closes a cycle, a uniform choice among the other edges of
the cycle is removed (a swap). Every second step moves one end of an edge to another
parameter, all choices uniform.

The weights w are from the *affinity* of the pairs: the slope of the evidence in the
variance of a pair part, where the singletons are fitted,

    ½ Σ_ij (ααᵀ − K⁻¹)_ij k_p(i, j) k_q(i, j),

one product of matrices for all pairs.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

import numpy as np

from sumbo.data import Data
from sumbo.decompositions.base import DECOMPOSITIONS
from sumbo.gp import AdditiveGP
from sumbo.kernels import Kernel, as_kernel
from sumbo.linalg import (
    cho_solve,
    cholesky,
    inverse_lower,
    one_blas_thread,
    pack_lower,
    solve_lower,
    unpack_lower,
)
from sumbo.partitions.chain import OBSERVATIONS, together
from sumbo.partitions.density import distances
from sumbo.structure import expand, is_partition
from sumbo.typing import Float, Group, Groups, Int, State, ndarray

Edge = tuple[int, int]
Forest = tuple[Edge, ...]  # sorted, each edge with the lower end first

# Evidence, in nats, that each edge must bring beyond its share of all pairs.
PENALTY = 1.0
# Quasi-Newton steps of a fit, and of the one of the singletons.
STEPS, FIRST_STEPS = 6, 30
# How much of their own the parameters keep, sweep after sweep; see ``chain``.
OWN = (0.0, 0.5, 1.0)
# Metropolis steps of one sweep: per parameter, and at most.
PER_PARAMETER, MOST = 6, 160
# Share of the weights w that is the same for all pairs.
EVEN = 0.5
# Forests that are remembered.
REMEMBERED = 60


class Visit(NamedTuple):
    """A forest and the model fitted to it."""

    forest: Forest
    gp: AdditiveGP


@DECOMPOSITIONS.register("tree")
@dataclass(frozen=True, kw_only=True)
class Tree:
    """A draw from the posterior over forests of pairs that may overlap.

    Attributes:
        first_sweeps: Sweeps of the walk when it begins.
        sweeps: Sweeps at every later refit, which go on from the last state.
    """

    changes: ClassVar[bool] = True

    first_sweeps: int = 12
    sweeps: int = 4

    def propose(
        self, rng: np.random.Generator, state: State, data: Data
    ) -> tuple[Groups, State]:
        """Return singletons and pairs, and what is needed to go on.

        The state holds the edges where the walk is ("edges") and the groups that it
        visited last ("visited"), and parameters fitted to the groups ("log_theta",
        "mean").
        """
        K = len(data.domain.blocks)
        data = data.at_most(OBSERVATIONS)
        with one_blas_thread():
            alone = fit(data, (), _blank(data), steps=FIRST_STEPS)
            weights = edge_weights(affinity(data, alone.gp))
            now = alone
            if state:
                forest = tuple((int(i), int(j)) for i, j in state["edges"])
                now = fit(data, forest, alone.gp)
            visits = []
            sweeps = self.sweeps if state else self.first_sweeps
            for t in range(sweeps):
                # The last sweep is one of those that leave the parameters alone.
                law = conditional(data, now, OWN[(t - sweeps) % len(OWN)])
                steps = min(MOST, PER_PARAMETER * K)
                forest = walk(rng, now.forest, law.score, weights, steps)
                now = fit(data, forest, now.gp)
                visits.append([list(group) for group in groups_of(forest, K)])
        return groups_of(now.forest, K), {
            "edges": [list(edge) for edge in now.forest],
            "visited": [*state.get("visited", ()), *visits][-REMEMBERED:],
            "log_theta": now.gp.hyperparameters().log(),
            "mean": now.gp.mean,
        }


# ---------------------------------------------------------------------- the model
def groups_of(forest: Forest, K: int) -> Groups:
    """Return the edges, and every parameter on none of them by itself."""
    covered = {k for edge in forest for k in edge}
    return (*((k,) for k in range(K) if k not in covered), *forest)


def fit(data: Data, forest: Forest, gp: AdditiveGP, steps: int = STEPS) -> Visit:
    """Return the forest with parameters fitted from those of another one."""
    blocks = data.domain.blocks
    length, share = per_coordinate(gp)
    groups = expand(groups_of(forest, len(blocks)), blocks)
    often = np.zeros(gp.dim)
    for group in groups:
        often[list(group)] += 1.0
    lengthscales = [length[list(g)] * math.sqrt(len(g)) for g in groups]
    variances = [(share / often)[list(g)].sum() for g in groups]
    if is_partition(groups):
        flat = np.empty(gp.dim)
        for group, values in zip(groups, lengthscales, strict=True):
            flat[list(group)] = values
        lengthscales = flat
    start = replace(
        gp, groups=groups, lengthscales=lengthscales, variances=variances, info=None
    )
    return Visit(forest, start.fit(data.U, data.y, spans=1.0, starts=1, steps=steps))


def per_coordinate(gp: AdditiveGP) -> tuple[Float[ndarray, " P"], Float[ndarray, " P"]]:
    """Return ℓ (the geometric mean over groups) and v of each coordinate."""
    log, share, often = np.zeros(gp.dim), np.zeros(gp.dim), np.zeros(gp.dim)
    for group, kernel in zip(gp.groups, gp.kernels, strict=True):
        g = list(group)
        log[g] += np.log(kernel.lengthscales / math.sqrt(len(g)))
        share[g] += kernel.variance / len(g)
        often[g] += 1.0
    return np.exp(log / often), share


def _blank(data: Data) -> AdditiveGP:
    blocks = data.domain.blocks
    return AdditiveGP(groups=expand(groups_of((), len(blocks)), blocks))


# ---------------------------------------------------------------------- affinity
def affinity(data: Data, gp: AdditiveGP) -> Float[ndarray, "K K"]:
    """Return the slope of the evidence in the variance of each pair part.

    ``gp`` has singletons in the order of the parameters.
    """
    i, j = np.triu_indices(len(data.y))
    kernel = as_kernel(gp.kernel)
    k = []
    for group, part in zip(gp.groups, gp.kernels, strict=True):
        gaps = (data.U[i][:, group] - data.U[j][:, group]) / part.lengthscales
        k.append(kernel.correlation(np.einsum("td,td->t", gaps, gaps)))
    k = np.stack(k)
    L = cholesky(unpack_lower(gp.variances @ k + gp.noise * (i == j), len(data.y))).L
    alpha = cho_solve(L, data.y - gp.mean)
    G = pack_lower(np.outer(alpha, alpha) - inverse_lower(L))
    G[i == j] *= 0.5  # a pair of observations counts twice, the diagonal once
    return (k * G) @ k.T


def edge_weights(slopes: Float[ndarray, "K K"]) -> Float[ndarray, "K K"]:
    """Return how often each pair is tried: symmetric, sum 1 over the pairs."""
    K = len(slopes)
    i, j = np.triu_indices(K, 1)
    out = np.zeros((K, K))
    if K > 1:
        s = slopes[i, j]
        z = (s - s.mean()) / max(float(s.std()), 1e-300)
        by_slope = np.exp(z - z.max())
        w = EVEN / len(s) + (1.0 - EVEN) * by_slope / by_slope.sum()
        out[i, j] = out[j, i] = w
    return out


# ---------------------------------------------------------------------- the walk
@dataclass(kw_only=True)
class Conditional:
    """log p(y, forest | parameters), up to a constant.

    ``s`` are scaled squared distances along each parameter between all pairs of
    observations, packed; ``v`` the variances; ``sizes`` the coordinates of each
    parameter; ``noise`` is packed, too.
    """

    y: Float[ndarray, " N"]
    kernel: Kernel
    s: Float[ndarray, "K T"]
    v: Float[ndarray, " K"]
    sizes: Int[ndarray, " K"]
    noise: Float[ndarray, " T"]
    _known: dict[Group, Float[ndarray, " T"]] = field(default_factory=dict)

    def score(self, forest: Forest) -> float:
        """Return log p(y | forest) + log p(forest)."""
        often = np.zeros(len(self.v))
        groups = groups_of(forest, len(self.v))
        for group in groups:
            often[list(group)] += 1.0
        packed = self.noise.copy()
        for group in groups:
            g = list(group)
            packed += (self.v[g] / often[g]).sum() * self._correlation(group)
        L = cholesky(unpack_lower(packed, len(self.y))).L
        half = solve_lower(L, self.y)
        log_density = -0.5 * half @ half - np.log(L.diagonal()).sum()
        return float(log_density) + log_prior(forest, len(self.v))

    def _correlation(self, group: Group) -> Float[ndarray, " T"]:
        if group not in self._known:
            g = list(group)
            s = self.s[g].sum(axis=0) / self.sizes[g].sum()
            self._known[group] = self.kernel.correlation(s)
        return self._known[group]


def log_prior(forest: Forest, K: int) -> float:
    """Return log p(forest), up to a constant."""
    return -(PENALTY + math.log(max(1.0, (K - 1) / 2))) * len(forest)


def conditional(data: Data, visit: Visit, own: float = 1.0) -> Conditional:
    """Return the law of the forest, parameters held as in ``visit``.

    Parameters keep the share ``own`` of what is their own in logarithms: those
    fitted to a wrong edge defend it.
    """
    blocks = data.domain.blocks
    i, j = np.triu_indices(len(data.y))
    length, share = (together(x, own) for x in per_coordinate(visit.gp))
    return Conditional(
        y=data.y - visit.gp.mean,
        kernel=as_kernel(visit.gp.kernel),
        s=distances(data.U / length, blocks),
        v=np.array([share[list(block)].sum() for block in blocks]),
        sizes=np.array([len(block) for block in blocks]),
        noise=visit.gp.noise * (i == j),
    )


def walk(
    rng: np.random.Generator,
    forest: Forest,
    log_density: Callable[[Forest], float],
    weights: Float[ndarray, "K K"],
    steps: int,
) -> Forest:
    """Return the forest after that many Metropolis–Hastings steps."""
    K = len(weights)
    if K < 2:
        return forest
    score = log_density(forest)
    for step in range(steps):
        if step % 2:
            new, log_q = moved_end(rng, forest, K), 0.0
        else:
            new, log_q = changed(rng, forest, weights)
        if new == forest:
            continue
        value = log_density(new)
        # A NaN compares false, so such a proposal is never taken.
        if math.log1p(-rng.random()) < value - score + log_q:
            forest, score = new, value
    return forest


def changed(
    rng: np.random.Generator, forest: Forest, weights: Float[ndarray, "K K"]
) -> tuple[Forest, float]:
    """Return the forest with an edge more, less, or another, and log q(back)/q(there).

    Of n edges, removing f has q = 1/(2n), adding e has q = w_e/2. A swap of f for e in
    a cycle of c + 1 edges has q = w_e/(2c), and so has the reverse with w_f: both close
    the same cycle.
    """
    if rng.random() < 0.5:
        if not forest:
            return forest, 0.0
        gone = forest[int(rng.integers(len(forest)))]
        log_q = math.log(weights[gone] * len(forest))
        return tuple(e for e in forest if e != gone), log_q
    i, j = np.triu_indices(len(weights), 1)
    ends = np.cumsum(weights[i, j])
    at = min(int(np.searchsorted(ends, rng.random() * ends[-1])), len(ends) - 1)
    edge = int(i[at]), int(j[at])
    if edge in forest:
        return forest, 0.0
    between = path(forest, *edge)
    if not between:
        log_q = -math.log(weights[edge] * (len(forest) + 1))
        return tuple(sorted((*forest, edge))), log_q
    gone = between[int(rng.integers(len(between)))]
    kept = (e for e in forest if e != gone)
    return tuple(sorted((*kept, edge))), math.log(weights[gone] / weights[edge])


def moved_end(rng: np.random.Generator, forest: Forest, K: int) -> Forest:
    """Return the forest with one end of an edge moved; as it is if that has a cycle."""
    if not forest or K < 3:
        return forest
    edge = forest[int(rng.integers(len(forest)))]
    stays = edge[int(rng.integers(2))]
    others = [k for k in range(K) if k not in edge]
    goes = others[int(rng.integers(len(others)))]
    kept = tuple(e for e in forest if e != edge)
    if path(kept, stays, goes):
        return forest
    return tuple(sorted((*kept, (min(stays, goes), max(stays, goes)))))


def path(forest: Forest, start: int, end: int) -> Forest:
    """Return the edges between two different nodes, empty if nothing joins them."""
    came: dict[int, Forest] = {start: ()}
    todo = [start]
    while todo:
        k = todo.pop()
        for edge in forest:
            if k in edge:
                other = edge[0] + edge[1] - k
                if other not in came:
                    came[other] = (*came[k], edge)
                    todo.append(other)
    return came.get(end, ())
