"""The additive lower confidence bound."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from sumbo.data import Data
from sumbo.errors import ArgumentError
from sumbo.gp import Posterior
from sumbo.maximize import Parts, components, draw_candidates, minimise_sum
from sumbo.methods.base import METHODS, CandidateSearch, Info, free_coordinates
from sumbo.typing import Float, State, ndarray


@METHODS.register("alcb2")
@dataclass(frozen=True, kw_only=True)
class AdditiveLCB(CandidateSearch):
    """Return the minimiser of Σ_m μ_m − β σ_m; [kandasamy2015] with constant β.

    Batches and pending points are hallucinated: the model believes its own mean
    there, so the mean stays and the variance shrinks; [desautels2014].
    """

    cite: ClassVar[str] = "kandasamy2015"
    label: ClassVar[str] = "aLCB (β = 2)"

    beta: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        number = isinstance(self.beta, int | float) and np.isfinite(self.beta)
        if not number or self.beta < 0:
            msg = f"beta={self.beta!r} is not a finite number, 0 or more."
            raise ArgumentError(msg)

    def propose(
        self, rng: np.random.Generator, state: State, data: Data, q: int
    ) -> tuple[Float[ndarray, "q P"], State, Info]:
        """Return q minimisers, each chosen with the earlier ones hallucinated."""
        post, state, info = self.model(rng, state, data, q)
        if len(data.pending):
            post = post.append(data.pending, post.predict(data.pending)[0])
        out = np.empty((q, data.domain.dim))
        for i in range(q):
            out[i] = self._minimise(rng, post, data)
            if i + 1 < q:
                post = post.append(out[i], post.predict(out[i : i + 1])[0])
        return out, state, info

    def _minimise(
        self, rng: np.random.Generator, post: Posterior, data: Data
    ) -> Float[ndarray, " P"]:
        parts = components(post.gp.groups)
        Z = draw_candidates(rng, data, parts, self.candidates, self.spread)
        values = [
            np.sum(
                [
                    self._bound(post, m, Zc[:, list(columns)])
                    for m, columns in zip(part.groups, part.columns, strict=True)
                ],
                axis=0,
            )
            for part, Zc in zip(parts, Z, strict=True)
        ]
        functions = None
        if self.refine:
            functions = Parts(partial(self._bound, post), partial(self._slope, post))
        free = free_coordinates(data)
        return minimise_sum(parts, Z, values, data.domain.dim, functions, free)

    def _slope(
        self, post: Posterior, m: int, z: Float[ndarray, "b d"]
    ) -> tuple[Float[ndarray, " b"], Float[ndarray, "b d"]]:
        mean, var, mean_slope, var_slope = post.part_moments_gradient(m, z)
        sd = np.sqrt(np.maximum(var, 1e-12))
        slope = mean_slope - self.beta * var_slope / (2 * sd[:, None])
        return mean - self.beta * sd, slope

    def _bound(
        self, post: Posterior, m: int, z: Float[ndarray, "b d"]
    ) -> Float[ndarray, " b"]:
        mean, var = post.part_moments(m, z)
        return mean - self.beta * np.sqrt(np.maximum(var, 1e-12))
