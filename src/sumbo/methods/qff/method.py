"""Thompson sampling with quadrature Fourier features."""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sumbo.data import Data, Transform
from sumbo.decompositions import resolve
from sumbo.errors import ArgumentError
from sumbo.gp import AdditiveGP
from sumbo.linalg import one_blas_thread
from sumbo.methods.base import METHODS, Info, Method
from sumbo.methods.qff.weights import sample_weights
from sumbo.rng import rng_at
from sumbo.sampling.features import Features, quadrature_features
from sumbo.search import (
    Component,
    Parts,
    draw_candidates,
    feasible_components,
    free_coordinates,
    minimise_sum,
)
from sumbo.state import State
from sumbo.structure import expand
from sumbo.surrogate import Scale, Surrogate, rescale, single
from sumbo.surrogate.base import Fit
from sumbo.typing import Float, Groups, ndarray


class TooFewNodesWarning(UserWarning):
    """The quadrature has too few nodes: its features mean another kernel."""


@dataclass(frozen=True, kw_only=True, eq=False)
class QuadratureState(State):
    """What is remembered between asks, though nothing is fitted.

    Attributes:
        scale: The transform of the values.
        groups: Groups of coordinates, the last ones.
        memory: What the decomposition remembers.
        last: The model that the decomposition fitted, if it did.
    """

    scale: Scale
    groups: Groups
    memory: State | None = None
    last: Fit | None = None


@METHODS.register("qff")
@dataclass(frozen=True, kw_only=True)
class QuadratureFeatures(Method):
    """Return, per batch point, the minimiser of one draw in weight space; [mutny2018].

    The squared-exponential kernel is fixed, nothing is estimated. Points of a batch
    come from independent draws. Deviation from [mutny2018]: see docs/methods/qff.md.

    Attributes:
        groups: Groups of parameters, or the name of a decomposition; at most two
            coordinates each, since the features of d coordinates number nodes^d. The
            default is one group per coordinate, those of a one-hot block included.
        lengthscale: Of every coordinate, in units of the box.
        nodes: Gauss–Hermite nodes per coordinate, an even number. Fewer than
            ½/lengthscale² + 14 raise a ``TooFewNodesWarning``: below about 40 at
            length-scale 0.1, far points seem correlated.
        noise: Variance τ² of the observations, in units of standardised y.
        grid: Points per part among which the minimum is sought before refinement.
    """

    cite: ClassVar[str] = "mutny2018"
    label: ClassVar[str] = "QFF"
    look: ClassVar = ("#E69F00", "v")
    takes_context: ClassVar[bool] = True
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {},
        # The "hyperparameter 0.1" of [wycoff2025] read as ℓ in exp(−d²/ℓ).
        "paper-author": {"lengthscale": math.sqrt(0.05)},
    }
    remembers: ClassVar[type[State] | None] = QuadratureState

    groups: Any = "singletons"
    lengthscale: float = 0.1
    nodes: int = 64
    noise: float = 1e-2
    grid: int = 1000

    def __post_init__(self) -> None:
        resolve(self.groups)
        for name, low in (("nodes", 2), ("grid", 2)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < low:
                raise ArgumentError(f"{name}={value!r} is not an integer ≥ {low}.")
        if self.nodes % 2:
            msg = f"nodes={self.nodes} is odd, and one node would lie at frequency 0."
            raise ArgumentError(f"{msg} Pass {self.nodes + 1}.")
        for name in ("lengthscale", "noise"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0):
                raise ArgumentError(f"{name}={value!r} is not a positive number.")
        needed = round(0.5 / self.lengthscale**2 + 14, 6)  # 64, not 64 and a rounding
        if self.nodes < needed:
            enough = 2 * int(np.ceil(needed / 2))
            msg = (
                f"nodes={self.nodes} are too few for lengthscale={self.lengthscale}: "
                f"the features mean another kernel. Pass nodes={enough} or more."
            )
            warnings.warn(msg, TooFewNodesWarning, stacklevel=3)

    def propose(
        self,
        rng: np.random.Generator,
        state: QuadratureState | None,
        data: Data,
        q: int,
    ) -> tuple[Float[ndarray, "q P"], QuadratureState, Info]:
        """Return the minimisers of q joint draws."""
        data, state, fits = self._update(rng, state, data)
        groups = state.groups
        sizes = {len(group) for group in groups}
        by_size = {d: self._features(d, len(groups)) for d in sizes}
        maps = [by_size[len(group)] for group in groups]
        Phi = np.hstack(
            [phi(data.U[:, group]) for phi, group in zip(maps, groups, strict=True)]
        )
        with one_blas_thread():
            theta = sample_weights(rng, Phi, data.y, self.noise, q)
        cuts = np.cumsum([2 * len(phi.weights) for phi in maps])[:-1]
        weights = np.split(theta, cuts, axis=1)
        U = self._minimise(rng, data, groups, maps, weights)
        return U, state, Info(groups=groups, fits=fits)

    def surrogate(self, state: QuadratureState | None, data: Data) -> Surrogate | None:
        """Return the Gaussian process whose kernel the features approximate."""
        if data.failed.all():
            return None
        if state is None:
            data, state, _ = self._update(rng_at(0, "surrogate"), None, data)
        data = data.under(state.scale.transform)
        gp = AdditiveGP(
            groups=state.groups,
            kernel="rbf",
            lengthscales=[[self.lengthscale] * len(group) for group in state.groups],
            variances=1.0 / len(state.groups),
            noise=self.noise,
        )
        return single(gp.condition(data.U, data.y), data, self.structures(state))

    def structures(self, state: QuadratureState | None) -> tuple[Groups, ...]:
        """Return groups of parameters that were learned lately, the last ones last."""
        return resolve(self.groups).structures(state.memory) if state else ()

    def transform(self, state: QuadratureState | None) -> Transform | None:
        """Return the transform of the last ask."""
        return state.scale.transform if state else None

    def restore(self, packed: Any) -> QuadratureState:
        """Return the state that a checkpoint holds."""
        memory = packed.get("memory") if isinstance(packed, Mapping) else None
        restored = resolve(self.groups).restore(memory)
        return QuadratureState.unpack(packed, memory=restored)

    def _update(
        self, rng: np.random.Generator, state: QuadratureState | None, data: Data
    ) -> tuple[Data, QuadratureState, int]:
        """Return the data in model units, the new state, and the fits it took.

        Hyperparameters are fixed, so the transform may change with every observation.
        """
        data, scale, fits = rescale(data, state.scale if state else None)
        if isinstance(self.groups, str) and self.groups == "singletons":
            groups = tuple((p,) for p in range(data.domain.dim))
            return data, QuadratureState(scale=scale, groups=groups), fits
        memory = state.memory if state else None
        last = state.last.gp if state and state.last else None
        proposal = resolve(self.groups).propose(rng, memory, data, last)
        state = QuadratureState(
            scale=scale,
            groups=self._checked(expand(proposal.groups, data.domain.blocks)),
            memory=proposal.memory,
            last=Fit.of(proposal.start) if proposal.start else None,
        )
        return data, state, fits + proposal.fits

    def _checked(self, groups: Groups) -> Groups:
        """Return the groups.

        Raises:
            ArgumentError: If a group has more than two coordinates.
        """
        large = [group for group in groups if len(group) > 2]
        if large:
            msg = (
                f"groups={self.groups!r} give a group of {len(large[0])} coordinates, "
                f"{large[0]}; its features would number {self.nodes}^{len(large[0])}. "
                "Pass groups of one or two, such as 'singletons'."
            )
            raise ArgumentError(msg)
        return groups

    def _features(self, d: int, M: int) -> Features:
        return quadrature_features(
            np.full(d, self.lengthscale), [self.nodes] * d, 1.0 / M
        )

    def _minimise(
        self,
        rng: np.random.Generator,
        data: Data,
        groups: Groups,
        maps: list[Features],
        weights: list[Float[ndarray, "..."]],
    ) -> Float[ndarray, "q P"]:
        # A one-hot block is searched as a whole, whatever groups its coordinates have.
        parts = feasible_components(groups, data.domain, whole_blocks=True)
        Z = [self._candidates(rng, data, part) for part in parts]
        # Draws of every part at its candidates, (q, B); features once for all draws.
        values = [
            sum(
                weights[m] @ maps[m](Zc[:, list(columns)]).T
                for m, columns in zip(part.groups, part.columns, strict=True)
            )
            for part, Zc in zip(parts, Z, strict=True)
        ]
        free = free_coordinates(data)
        q, dim = len(weights[0]), data.domain.dim
        out = np.empty((q, dim))
        for i in range(q):
            draw = Parts(
                lambda m, z, i=i: maps[m](z) @ weights[m][i],
                lambda m, z, i=i: (
                    maps[m](z) @ weights[m][i],
                    maps[m].gradient(z, weights[m][i]),
                ),
            )
            at_candidates = [np.asarray(v)[i] for v in values]
            out[i] = minimise_sum(parts, Z, at_candidates, dim, draw, free)
        return out

    def _candidates(
        self, rng: np.random.Generator, data: Data, part: Component
    ) -> Float[ndarray, "B d"]:
        """Return an equispaced grid, or spread points where it would be too coarse.

        Constrained components have feasible points instead.
        """
        d = len(part.coordinates)
        if d > 2 or part.region is not None:
            return draw_candidates(rng, data, [part], self.grid)[0]
        axis = np.linspace(0.0, 1.0, int(np.ceil(self.grid ** (1.0 / d))))
        mesh = np.stack(np.meshgrid(*[axis] * d, indexing="ij"), axis=-1)
        full = np.full((mesh[..., 0].size, data.domain.dim), 0.5)
        full[:, part.coordinates] = mesh.reshape(-1, d)
        return np.ascontiguousarray(data.domain.snap(full)[:, part.coordinates])
