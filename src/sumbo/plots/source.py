"""What a picture shows: the model of a run, its parameters and its values."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumbo.errors import ArgumentError
from sumbo.gp import Posterior
from sumbo.optimizer import Optimizer
from sumbo.plots.coordinates import (
    Coordinate,
    coordinates_of,
    point_of,
    require_posterior,
)
from sumbo.plots.values import ValueAxis
from sumbo.typing import Bool, Float, Group, ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class Source:
    """A model with what its coordinates and values are to the user.

    Attributes:
        post: The posterior.
        coordinates: The parameters.
        values: The objective.
        best: The best point, in the model's coordinates.
        evaluated: Which rows of the posterior are evaluations that succeeded.
    """

    post: Posterior
    coordinates: tuple[Coordinate, ...]
    values: ValueAxis
    best: Float[ndarray, " P"]
    evaluated: Bool[ndarray, " N"]

    def parameters_of(self, m: int) -> tuple[int, ...]:
        """Return the parameters of part m, in the order of the group."""
        return self.parameters_in(self.post.gp.groups[m])

    def parameters_in(self, group: Group) -> tuple[int, ...]:
        """Return the parameters that own coordinates of the model."""
        owner = {p: k for k, c in enumerate(self.coordinates) for p in c.block}
        return tuple(dict.fromkeys(owner[p] for p in group))


def source_of(
    run: Any,
    names: Sequence[str] | None = None,
    bounds: Any = None,
    *,
    best: Any = None,
    objective: str = "value",
) -> Source:
    """Return what a run, or a posterior, shows.

    Raises:
        ArgumentError: If there is no model, or an argument does not fit it.
    """
    opt = optimizer_of(run)
    if opt is None:
        require_posterior(run)
        post = run
        coordinates = coordinates_of(post, names, bounds)
        return Source(
            post=post,
            coordinates=coordinates,
            values=ValueAxis(name=objective),
            best=point_of(post, best),
            evaluated=np.ones(post.N, dtype=bool),
        )
    if bounds is not None:
        msg = "bounds are given with a run, which knows its own. Leave them out."
        raise ArgumentError(msg)
    surrogate = opt.surrogate() if np.isfinite(opt.y).any() else None
    if surrogate is None:
        N = int(np.isfinite(opt.y).sum())
        msg = f"this run of method={opt.method_name!r} has no model of {N} values. Tell"
        raise ArgumentError(f"{msg} more values, or use a method with a model.")
    post = surrogate.posterior
    post = post.negated() if opt.maximize else post
    data = surrogate.data
    whole = len(data.failed) == post.N
    return Source(
        post=post,
        coordinates=coordinates_of(post, names, opt.space),
        values=ValueAxis(
            name=objective, transform=surrogate.transform, maximised=opt.maximize
        ),
        best=_point(
            opt, post, best, data.U[data.best] if data.best is not None else None
        ),
        evaluated=~data.failed if whole else np.ones(post.N, dtype=bool),
    )


def optimizer_of(run: Any) -> Optimizer | None:
    """Return the optimizer of a run: itself, of its result, or of its checkpoint."""
    if isinstance(run, Optimizer):
        return run
    if isinstance(run, str | os.PathLike):
        return Optimizer.load(str(run))
    if isinstance(run, dict) and isinstance(run.get("optimizer"), Optimizer):
        return run["optimizer"]
    return None


def _point(opt: Optimizer, post: Posterior, x: Any, best: Any) -> Any:
    """Return a point of the user, or the best one, in the model's coordinates."""
    if x is None:
        return point_of(post, best)
    return opt.space.encode(x)[0]
