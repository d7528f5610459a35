"""Additive search by the entropy of the minimum, with learned groups."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sumbo.acquisition.entropy import FLOOR, minimum_entropy, minimum_entropy_gradient
from sumbo.data import Data
from sumbo.errors import require_positive_integer
from sumbo.gp.smooth import part_moments
from sumbo.methods.base import METHODS, Info, Method
from sumbo.methods.max.extremes import EXTREMES
from sumbo.registry import require_one_of
from sumbo.search import (
    Parts,
    by_group,
    feasible_components,
    free_coordinates,
    minimise_sum,
)
from sumbo.search.covering import covering_candidates
from sumbo.surrogate import Surrogate
from sumbo.surrogate.labelled import LabelledModel, LabelledState
from sumbo.typing import Float, ndarray


@METHODS.register("max")
@dataclass(frozen=True, kw_only=True)
class EntropySearch(LabelledModel, Method):
    """Return, part by part, the point most informative about the part's minimum.

    Additive max-value entropy search [wang2017mes], for minima: draws of the minimum
    of each part, then the greatest mean entropy reduction over the part's box. Parts
    are treated by their marginal posteriors. Further points of a batch see the
    earlier ones fantasised. Deviations are listed in docs/methods/max.md.

    Attributes:
        samples: Draws of each part's minimum.
        extremes: ``"cdf"``, exact draws of the mean-field minimum, or ``"gumbel"``.
        candidates: Even points per part, for the draws and for the search.
        refine: Whether the best candidate of each part is refined by its gradient.
    """

    cite: ClassVar[str] = "wang2017mes"
    label: ClassVar[str] = "Add-MES"
    look: ClassVar = ("#56B4E9", "P")
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"candidates": 10_000},
        "paper-author": {"candidates": 10_000},
    }

    samples: int = 5
    extremes: str = "cdf"
    candidates: int = 1000
    refine: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_one_of("extremes", self.extremes, EXTREMES)
        for name in ("samples", "candidates"):
            require_positive_integer(name, getattr(self, name))

    def propose(
        self, rng: np.random.Generator, state: LabelledState | None, data: Data, q: int
    ) -> tuple[Float[ndarray, "q P"], LabelledState, Info]:
        """Return q points, each chosen with the earlier ones fantasised."""
        surrogate, state = self.update(rng, state, data, q)
        info = Info.of(surrogate)
        surrogate = surrogate.fantasised(data.pending)
        out = np.empty((q, data.domain.dim))
        for i in range(q):
            out[i] = self._most_informative(rng, surrogate)
            if i + 1 < q:
                surrogate = surrogate.fantasised(out[i : i + 1])
        return out, state, info

    def _most_informative(
        self, rng: np.random.Generator, surrogate: Surrogate
    ) -> Float[ndarray, " P"]:
        post, data = surrogate.posterior, surrogate.data
        parts = feasible_components(post.gp.groups, data.domain)
        Z = covering_candidates(rng, data, parts, self.candidates)
        minima = []
        entropies = []
        for m, Zm in enumerate(by_group(parts, Z)):
            mean, var = part_moments(post, m, Zm)
            sd = np.sqrt(np.maximum(var, FLOOR))
            draws = EXTREMES[self.extremes](rng, mean, sd, self.samples)
            # The minimum is not expected above the lowest posterior mean.
            minima.append(np.minimum(draws, mean.min()))
            entropies.append(-minimum_entropy(mean, var, minima[m]))
        values = [np.sum([entropies[m] for m in part.groups], axis=0) for part in parts]

        def value(m: int, z: Float[ndarray, "b d"]) -> Float[ndarray, " b"]:
            return -minimum_entropy(*post.part_moments(m, z), minima[m])

        def gradient(
            m: int, z: Float[ndarray, "b d"]
        ) -> tuple[Float[ndarray, " b"], Float[ndarray, "b d"]]:
            moments = post.part_moments_gradient(m, z)
            entropy, slope = minimum_entropy_gradient(*moments, minima[m])
            return -entropy, -slope

        functions = Parts(value, gradient) if self.refine else None
        free = free_coordinates(data)
        return minimise_sum(parts, Z, values, data.domain.dim, functions, free)
