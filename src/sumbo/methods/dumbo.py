"""DuMBO: decompositions by Metropolis, one bound for all of them by message passing."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sumbo.data import Data
from sumbo.decompositions.base import expand
from sumbo.decompositions.metropolis import canonical, walk
from sumbo.decompositions.random import random_partition
from sumbo.errors import ArgumentError
from sumbo.gp import Posterior
from sumbo.gp.isotropic import (
    IsotropicEvidence,
    IsotropicFit,
    fit_isotropic,
    isotropic_gp,
)
from sumbo.linalg import one_blas_thread
from sumbo.maximize.admm import Pull, minimise_consensus
from sumbo.maximize.candidates import draw_candidates
from sumbo.maximize.components import Component
from sumbo.maximize.local import minimise_multistart
from sumbo.methods.base import METHODS, Info
from sumbo.typing import Float, Group, Groups, State, ndarray

# Variances below this are rounding; the bound has no slope there.
SMALLEST_VARIANCE = 1e-5
# Of the gradients of bounds of order 1; the consensus is much coarser.
TOLERANCE = 1e-4


@METHODS.register("dumbo")
@dataclass(frozen=True, kw_only=True)
class Dumbo:
    """Return the consensus of the factors of several decompositions; [bardou2023].

    Deviation from [bardou2023] and its code, see docs/methods/dumbo.md: noise and mean
    are in the posterior, decompositions are scored by the marginal likelihood, the
    split probability is exact, equal points are kept, and batches and pending points
    are believed at their mean.

    Attributes:
        states: Decompositions per acquisition: the current one and Metropolis steps.
        max_size: The most parameters of a factor.
        adam_steps: Steps of Adam in every fit, if it does not arrive earlier.
        adam_step_size: Its step size.
        admm_iterations: Rounds of message passing, at most.
        precision: Copies that differ by less from their average agree.
        penalty: The first penalty on disagreement.
        candidates: Points from which the starts of each factor are chosen.
        starts: Starts per factor in the first round; later ones have two.
    """

    cite: ClassVar[str] = "bardou2023"
    label: ClassVar[str] = "DuMBO"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": {}}

    states: int = 5
    max_size: int = 5
    adam_steps: int = 200
    adam_step_size: float = 0.1
    admm_iterations: int = 10
    precision: float = 0.05
    penalty: float = 1.0
    candidates: int = 512
    starts: int = 20

    def __post_init__(self) -> None:
        for name in ("states", "max_size", "adam_steps", "admm_iterations"):
            _require_positive_integer(name, getattr(self, name))
        for name in ("candidates", "starts"):
            _require_positive_integer(name, getattr(self, name))
        for name in ("adam_step_size", "precision", "penalty"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0):
                raise ArgumentError(f"{name}={value!r} is not a positive number.")

    def propose(
        self, rng: np.random.Generator, state: State, data: Data, q: int
    ) -> tuple[Float[ndarray, "q P"], State, Info]:
        """Return q points, each chosen with the earlier ones believed."""
        if len(data.y) == 0:
            return rng.random((q, data.domain.dim)), state, Info()
        with one_blas_thread():
            begin = time.process_time()
            posts, counts, state, info = self._structures(rng, state, data)
            info = replace(info, fit_cpu_s=time.process_time() - begin)
            if len(data.pending):
                posts = _believe(posts, counts, data.pending)
            out = np.empty((q, data.domain.dim))
            for i in range(q):
                z = self._consensus(rng, posts, counts, data)
                out[i] = data.domain.snap(z[None])[0]
                if i + 1 < q:
                    posts = _believe(posts, counts, out[i : i + 1])
        return out, state, info

    # ------------------------------------------------------------------ structures
    def _structures(
        self, rng: np.random.Generator, state: State, data: Data
    ) -> tuple[list[Posterior], list[int], State, Info]:
        """Return the distinct models of the chain with their counts, and its end."""
        current = self._current(rng, state, data)
        fits: dict[Groups, IsotropicFit] = {}

        def score(partition: Groups) -> float:
            # Each decomposition is fitted once per acquisition, so that its score is
            # one number and the chain has a well-defined target.
            if partition not in fits:
                fits[partition] = self._fit(partition, data, None, self.adam_steps)
            return fits[partition].log_likelihood

        fits[current] = self._refit(current, state, data)
        visits = walk(rng, current, score, self.states - 1, self.max_size)
        seen = [visit.partition for visit in visits]
        distinct = list(dict.fromkeys(seen))
        posts = [_condition(partition, fits[partition], data) for partition in distinct]
        last = seen[-1]
        new = {
            "fitted_at": len(data.y),
            "groups": [list(group) for group in last],
            "raw": fits[last].raw,
            "mean": fits[last].mean,
        }
        accepted = sum(visit.accepted for visit in visits[1:])
        info = Info(
            refitted=True,
            groups=expand(last, data.domain.blocks),
            events=(f"accepted {accepted} of {len(visits) - 1} decompositions",),
        )
        return posts, [seen.count(partition) for partition in distinct], new, info

    def _current(self, rng: np.random.Generator, state: State, data: Data) -> Groups:
        if state:
            return tuple(tuple(group) for group in state["groups"])
        K = len(data.domain.blocks)
        if self.max_size >= K:
            return (tuple(range(K)),)
        return canonical(random_partition(rng, K, self.max_size))

    def _refit(self, current: Groups, state: State, data: Data) -> IsotropicFit:
        """Return the current model, refitted from where it was if data came in."""
        if not state:
            return self._fit(current, data, None, self.adam_steps)
        steps = self.adam_steps if len(data.y) != state["fitted_at"] else 0
        return self._fit(current, data, state["raw"], steps)

    def _fit(
        self,
        partition: Groups,
        data: Data,
        raw: Float[ndarray, " p"] | None,
        steps: int,
    ) -> IsotropicFit:
        groups = expand(partition, data.domain.blocks)
        evidence = IsotropicEvidence.of(data.U, data.y, groups)
        return fit_isotropic(evidence, raw, steps, self.adam_step_size)

    # ------------------------------------------------------------------ acquisition
    def _consensus(
        self,
        rng: np.random.Generator,
        posts: list[Posterior],
        counts: list[int],
        data: Data,
    ) -> Float[ndarray, " P"]:
        """Return the point on which the bounds of all factors agree."""
        # [bardou2023] practical schedule, for the whole dimension
        beta = np.sqrt(0.2 * len(data.domain.blocks) * np.log(2 * len(data.y)))
        factors = _pool(posts, counts)
        parts = [_component(factor.group) for factor in factors]
        Z = draw_candidates(rng, data, parts, self.candidates)
        seekers = [
            _Seeker(factor, float(beta), Zi, self.starts)
            for factor, Zi in zip(factors, Z, strict=True)
        ]
        overlaps = _overlaps(factors)

        def sweep(copies: list | None, pulls: list[Pull] | None) -> list:
            if copies is None or pulls is None:
                return [seeker.first(rng) for seeker in seekers]
            shares = np.array(
                [f.share(x) for f, x in zip(factors, copies, strict=True)]
            )
            messages = overlaps @ shares
            rows = zip(seekers, copies, pulls, messages, strict=True)
            return [s.again(x, pull, float(S)) for s, x, pull, S in rows]

        result = minimise_consensus(
            sweep,
            tuple(factor.group for factor in factors),
            data.domain.dim,
            [factor.count for factor in factors],
            rounds=self.admm_iterations,
            precision=self.precision,
            penalty=self.penalty,
        )
        return result.z


@dataclass(frozen=True, kw_only=True, eq=False)
class _Factor:
    """One part of one model; ``neighbours`` counts the parts that share a coordinate.

    Copies of the same part, from repeated states of the chain, behave alike: one
    stands for ``count`` of them.
    """

    post: Posterior
    m: int
    group: Group
    count: int
    neighbours: int

    def share(self, x: Float[ndarray, " d"]) -> float:
        """Return σ²(x)/|N|², the message of this factor."""
        _, var = self.post.part_moments(self.m, x[None])
        return max(float(var[0]), SMALLEST_VARIANCE) / self.neighbours**2


class _Seeker:
    """The minimiser of one factor's bound; it knows the bound at its candidates."""

    def __init__(
        self, factor: _Factor, beta: float, Z: Float[ndarray, "B d"], starts: int
    ) -> None:
        self.factor, self.beta, self.Z, self.starts = factor, beta, Z, starts
        self.mean, var = factor.post.part_moments(factor.m, Z)
        self.var = np.maximum(var, SMALLEST_VARIANCE)

    def first(self, rng: np.random.Generator) -> Float[ndarray, " d"]:
        """Return the minimiser without messages and pulls, from many starts."""
        values = self._at_candidates(None, 0.0)
        starts = self.Z[_choose(rng, values, self.starts)]
        return self._minimise(starts, None, 0.0)

    def again(
        self, x: Float[ndarray, " d"], pull: Pull, message: float
    ) -> Float[ndarray, " d"]:
        """Return the minimiser from its last value and from the best candidate."""
        best = self.Z[int(np.argmin(self._at_candidates(pull, message)))]
        return self._minimise(np.stack([x, best]), pull, message)

    def _minimise(
        self, starts: Float[ndarray, "b d"], pull: Pull | None, message: float
    ) -> Float[ndarray, " d"]:
        return minimise_multistart(
            lambda X: self._bound(X, pull, message), starts, tolerance=TOLERANCE
        )[0]

    def _at_candidates(self, pull: Pull | None, message: float) -> Any:
        spread = np.sqrt(self.var / self.factor.neighbours**2 + message)
        values = self.mean - self.beta * spread
        return values if pull is None else values + pull(self.Z)[0]

    def _bound(
        self, X: Float[ndarray, "b d"], pull: Pull | None, message: float
    ) -> tuple[Float[ndarray, " b"], Float[ndarray, "b d"]]:
        """Return μ − β√(σ²/|N|² + S) with the pull, and its gradient."""
        factor = self.factor
        mean, var, slope, var_slope = factor.post.part_moments_gradient(factor.m, X)
        var_slope = var_slope * (var > SMALLEST_VARIANCE)[:, None]
        scale = factor.neighbours**2
        spread = np.sqrt(np.maximum(var, SMALLEST_VARIANCE) / scale + message)
        value = mean - self.beta * spread
        gradient = slope - self.beta * var_slope / (2 * scale * spread[:, None])
        if pull is None:
            return value, gradient
        more, more_slope = pull(X)
        return value + more, gradient + more_slope


def _pool(posts: list[Posterior], counts: list[int]) -> list[_Factor]:
    """Return the parts of all models, each knowing how many it overlaps."""
    rows = [
        (post, m, group, count)
        for post, count in zip(posts, counts, strict=True)
        for m, group in enumerate(post.gp.groups)
    ]
    return [
        _Factor(
            post=post,
            m=m,
            group=group,
            count=count,
            neighbours=sum(c for _, _, g, c in rows if set(g) & set(group)),
        )
        for post, m, group, count in rows
    ]


def _overlaps(factors: list[_Factor]) -> Float[ndarray, "F F"]:
    """Return how many copies of factor j send a message to a copy of factor i."""
    F = len(factors)
    out = np.zeros((F, F))
    for i, one in enumerate(factors):
        for j, other in enumerate(factors):
            if set(one.group) & set(other.group):
                out[i, j] = other.count
        out[i, i] -= 1  # its other copies write to it, it does not itself
    return out


def _choose(rng: np.random.Generator, values: ndarray, count: int) -> ndarray:
    """Return the best candidate and others, drawn by exp(−z-score)."""
    spread = float(values.std())
    score = -(values - values.mean()) / (spread if spread > 0 else 1.0)
    # The largest of score plus Gumbel noise: a weighted draw without replacement.
    order = np.argsort(-(score + rng.gumbel(size=len(values))))[: count - 1]
    return np.unique(np.append(order, int(np.argmin(values))))


def _believe(
    posts: list[Posterior], counts: list[int], U: Float[ndarray, "n P"]
) -> list[Posterior]:
    """Return the models with the mean over all states believed at ``U``."""
    weights = np.array(counts) / sum(counts)
    values = sum(w * p.predict(U)[0] for w, p in zip(weights, posts, strict=True))
    return [post.append(U, values) for post in posts]


def _condition(partition: Groups, fit: IsotropicFit, data: Data) -> Posterior:
    groups = expand(partition, data.domain.blocks)
    return isotropic_gp(groups, fit.raw, fit.mean).condition(data.U, data.y)


def _component(group: Group) -> Component:
    columns = (tuple(range(len(group))),)
    return Component(coordinates=group, groups=(0,), columns=columns)


def _require_positive_integer(name: str, value: Any) -> None:
    """Check a setting that counts something.

    Raises:
        ArgumentError: If it is not a positive integer.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ArgumentError(f"{name}={value!r} is not a positive integer.")
