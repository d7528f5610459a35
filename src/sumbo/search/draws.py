"""Minimise draws from the posterior: candidates per component, then refinement."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sumbo.data import Data
from sumbo.errors import require_positive_integer
from sumbo.gp import Posterior
from sumbo.gp.solvers import Projected
from sumbo.registry import require_one_of
from sumbo.rng import Streams
from sumbo.sampling.expansion import Draw, Drawing, Expansion, expand_projected
from sumbo.sampling.growth import FactorMemory, fresh_factors, grown_factors
from sumbo.search.candidates import draw_candidates, free_coordinates
from sumbo.search.components import by_group, feasible_components
from sumbo.search.levels import GridCost
from sumbo.search.separable import Parts, search_sum
from sumbo.state import UNSAVED, State
from sumbo.typing import Float, ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidates(State):
    """Candidates that stand until the next refit.

    Attributes:
        Z: The candidates of each component.
        factors: The factors of the last ask at these candidates. They only save time,
            so no file holds them.
    """

    Z: tuple[Float[ndarray, "..."], ...]
    factors: FactorMemory = field(default_factory=FactorMemory, metadata=UNSAVED)


@dataclass(frozen=True, kw_only=True)
class CandidateSettings:
    """How parts are searched among candidates.

    Attributes:
        candidates: Candidate points per component.
        spread: ``"uniform"`` as in the paper, or ``"spread"``: Sobol points, and some
            around the best observations.
        refine: Whether the best candidate of each part is refined by its gradient.
        fresh_candidates: Whether every ask draws new candidates, as in the paper.
            Otherwise they stand until the next refit, which is many times cheaper.
        threads: Threads over groups. Results do not depend on it.
    """

    candidates: int = 200
    spread: str = "spread"
    refine: bool = True
    fresh_candidates: bool = False
    threads: int = 1

    def __post_init__(self) -> None:
        require_one_of("spread", self.spread, ("uniform", "spread"))
        for name in ("candidates", "threads"):
            require_positive_integer(name, getattr(self, name))


class DrawMinima(NamedTuple):
    """The minimisers of draws, the candidates to go on with, and what it took.

    There is no cost where no parts overlap.
    """

    points: Float[ndarray, "q P"]
    candidates: Candidates | None
    cost: GridCost | None


def minimise_draws(
    streams: Streams,
    draw: Drawing,
    post: Posterior,
    data: Data,
    q: int,
    settings: CandidateSettings,
    candidates: Candidates | None = None,
    fitted_at: int = 0,
) -> DrawMinima:
    """Return the minimisers of q draws, the candidates to go on with, and the cost.

    All draws are made at the same candidates. They stand until the next refit, unless
    fresh ones are wanted: their factors are extended by the new observations only.

    Args:
        streams: The source of randomness.
        draw: How draws are made, such as ``JOINT``.
        post: The posterior, in the units of ``data``.
        data: The observations.
        q: The number of draws.
        settings: How the draws are searched.
        candidates: Those of an earlier call since the last refit, if there was one.
        fitted_at: The number of observations at the last refit.
    """
    parts = feasible_components(post.gp.groups, data.domain)
    if settings.fresh_candidates or candidates is None:
        Z = draw_candidates(
            streams.candidates, data, parts, settings.candidates, settings.spread
        )
        candidates = None if settings.fresh_candidates else Candidates(Z=tuple(Z))
    else:
        Z = list(candidates.Z)
    each, rng = by_group(parts, Z), streams.normals
    draws: list[Expansion] = []
    if isinstance(post.solver, Projected):
        draws = expand_projected(rng, post, post.solver, each, q)
        found = [expansion.values for expansion in draws]
    elif candidates is None and not settings.refine:
        found = draw.sample(rng, post, each, q, settings.threads)
    else:
        if candidates is None:
            factors = fresh_factors(post, each, settings.threads)
        else:
            factors = grown_factors(
                post, each, fitted_at, settings.threads, candidates.factors
            )
        draws = draw.expand(rng, post, factors, q)
        found = [expansion.values for expansion in draws]
    free = free_coordinates(data)
    out = np.empty((q, data.domain.dim))
    costs: list[GridCost | None] = []
    for i in range(q):
        values = [np.sum([found[m][i] for m in part.groups], axis=0) for part in parts]
        functions = None
        if settings.refine:
            one = Draw(draws, i)
            functions = Parts(one.value, one.gradient, one.lines, one.line_gradients)
        dim = data.domain.dim
        out[i], cost = search_sum(parts, Z, values, dim, functions, free)
        costs.append(cost)
    return DrawMinima(out, candidates, GridCost.of(costs))
