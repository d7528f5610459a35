"""Many observations: what is fitted to a part of them, and which factors are kept.

Up to ``MANY.fitted`` observations nothing here applies. Beyond,

* hyperparameters are fitted to that many of the observations, see ``important_rows``;
* between refits the factor of the covariance gains a row for each new observation,
  instead of being made anew;
* above ``MANY.exact`` observations, methods that can do with moments and draws use a
  projected posterior (``gp.solvers.projected``), whose cost per point does not grow.

A memory changes no number: a factor is always made from the same first rows at once
and then row by row. A resumed run, which starts without one, computes the same bits.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sumbo.data import Data
from sumbo.errors import TooLargeError
from sumbo.gp import AdditiveGP, Posterior
from sumbo.typing import Float, Int, ndarray


@dataclass(frozen=True, kw_only=True)
class ManyObservations:
    """From when on observations are many, and what is done then.

    Attributes:
        fitted: Most observations to which hyperparameters are fitted: a third of them
            are the best ones, a third the newest, the others evenly spaced.
        exact: Most observations with which the next point is chosen by the exact
            posterior. With more, every part is projected on inducing points.
        renewed: Observations after which factors and inducing points are chosen anew;
            until then they gain rows.
        anchors: Observations at which parts on several coordinates have inducing
            points, chosen like those that are fitted.
        batch_growth: Growth after which a batch of ``refit`` points or more is given a
            refit, as a share of the observations beyond ``fitted``.
    """

    fitted: int = 400
    exact: int = 2000
    renewed: int = 32
    anchors: int = 600
    batch_growth: float = 0.05


MANY = ManyObservations()


def important_rows(data: Data, count: int) -> Int[ndarray, " n"]:
    """Return the numbers of that many observations: best, newest, evenly spaced."""
    N = len(data.y)
    if count >= N:
        return np.arange(N)
    third = count // 3
    chosen = np.zeros(N, dtype=bool)
    chosen[data.order[:third]] = True
    chosen[N - third :] = True
    left = np.flatnonzero(~chosen)
    missing = count - int(chosen.sum())
    spaced = np.linspace(0, len(left) - 1, missing).round().astype(int)
    chosen[left[spaced]] = True
    return np.flatnonzero(chosen)


def fitted_part(data: Data) -> Data:
    """Return the observations to which hyperparameters are fitted."""
    if len(data.y) <= MANY.fitted:
        return data
    return data.rows(important_rows(data, MANY.fitted))


class _Kept(NamedTuple):
    """A posterior, how many rows its factor was made from, and the known noise."""

    base: int
    post: Posterior
    noise: Float[ndarray, " N"]


class SolverMemory:
    """The posteriors of the last ask since a refit; whoever owns the state keeps it.

    Copies, pickled ones too, are empty: factors are large, and can be made again.
    """

    def __init__(self) -> None:
        self._last: dict[tuple[int, bool], _Kept] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return SolverMemory, ()

    def find(self, key: tuple[int, bool], base: int, data: Data) -> Posterior | None:
        """Return the last posterior, if it is that of the first of the observations."""
        last = self._last.get(key)
        if last is None or last.base != base or len(data.y) < last.post.N:
            return None
        n = last.post.N
        same = np.array_equal(last.post.X, data.U[:n])
        same = same and np.array_equal(last.noise, _known_noise(data)[:n])
        return last.post if same else None

    def keep(
        self, key: tuple[int, bool], base: int, post: Posterior, data: Data
    ) -> None:
        """Remember a posterior in place of the last one."""
        self._last[key] = _Kept(base, post, _known_noise(data))


def condition(
    gp: AdditiveGP,
    data: Data,
    fitted_at: int,
    memory: SolverMemory,
    index: int,
    *,
    projected: bool,
) -> Posterior:
    """Return the posterior given all data.

    Args:
        gp: The model.
        data: The observations.
        fitted_at: The number of observations at the last refit.
        memory: What was kept since that refit.
        index: The number of the model among those of the refit.
        projected: Whether a projected posterior will do.
    """
    N = len(data.y)
    if MANY.fitted >= N:
        return gp.condition(data.U, data.y, noise=data.noise)
    base = N - (N - fitted_at) % MANY.renewed
    if base > MANY.exact and not projected:
        return _read(gp, data)
    key = (index, base > MANY.exact)
    found = memory.find(key, base, data)
    noise = data.noise
    if found is None:
        post = _made(gp, data.rows(np.arange(base)), projected=key[1])
    else:
        post = found
    for i in range(post.N, N):
        row = None if noise is None else noise[i : i + 1]
        post = post.append(data.U[i : i + 1], data.y[i : i + 1], noise=row)
    # Values of failed evaluations may have changed.
    post = Posterior(gp=post.gp, X=data.U, y=data.y, solver=post.solver)
    memory.keep(key, base, post, data)
    return post


def _made(gp: AdditiveGP, data: Data, *, projected: bool) -> Posterior:
    if not projected:
        return gp.condition(data.U, data.y, noise=data.noise)
    rows = important_rows(data, MANY.anchors)
    return gp.condition(data.U, data.y, noise=data.noise, how="projected", anchors=rows)


def _read(gp: AdditiveGP, data: Data) -> Posterior:
    """Return the exact posterior, or the projected one if that is too large."""
    try:
        return _made(gp, data, projected=False)
    except TooLargeError:
        return _made(gp, data, projected=True)


def _known_noise(data: Data) -> Float[ndarray, " N"]:
    noise = data.noise
    return np.zeros(len(data.y)) if noise is None else noise
