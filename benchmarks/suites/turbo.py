"""TuRBO-1 of [eriksson2019], written from the paper on parts of BoTorch.

The numbers are those of the paper and its supplement. The kernel is a Matérn kernel
with one length-scale per coordinate in [0.005, 2], the signal variance lies in [0.05,
20] and the noise variance in [0.0005, 0.1]. The side of the region starts at 0.8,
doubles after 3 successes up to 1.6, and halves after P / q failures, P at least 4;
below 2⁻⁷ the search restarts with 2 P points, a Latin hypercube. There are min(100 P,
5000) Sobol candidates, which differ from the centre in each coordinate with probability
min(1, 20 / P). A posterior draw chooses among them.
"""

import math
import warnings
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from scipy.stats import qmc

from benchmarks.quality.rivals import NEEDS
from sumbo.data import Data
from sumbo.methods.base import METHODS, Info, Method
from sumbo.state import State
from sumbo.typing import Float, ndarray

LENGTH, LONGEST, SHORTEST = 0.8, 1.6, 0.5**7
SUCCESSES = 3
CANDIDATES = 5000
PERTURBED = 20.0
# An improvement counts from this share of the best value on.
PROGRESS = 1e-3


@dataclass(frozen=True, kw_only=True)
class RegionState(State):
    """Where the search is.

    Attributes:
        begin: The number of observations at the last restart.
        seen: The number of observations at the last ask.
        won: Successive improvements.
        lost: Successive failures to improve.
        length: The side of the region.
    """

    begin: int = 0
    seen: int = 0
    won: int = 0
    lost: int = 0
    length: float = LENGTH


NEEDS["turbo-1"] = ("botorch",)


@METHODS.register("turbo-1")
@dataclass(frozen=True, kw_only=True)
class Turbo(Method):
    """TuRBO with one trust region; integers and choices are relaxed and rounded."""

    cite: ClassVar[str] = "eriksson2019"
    label: ClassVar[str] = "TuRBO-1"
    remembers: ClassVar[type[State] | None] = RegionState

    def __post_init__(self) -> None:
        import_module("torch").set_num_threads(1)
        import_module("botorch")

    def propose(
        self, rng: np.random.Generator, state: RegionState | None, data: Data, q: int
    ) -> tuple[Float[ndarray, "q P"], RegionState, Info]:
        """Return q points that minimise posterior draws within the region."""
        state = updated(state, data, q) if state else RegionState(seen=len(data.y))
        P, new = data.domain.dim, len(data.y) - state.begin
        if state.begin and new < 2 * P:
            # The same hypercube at every ask of this restart, one part after the other.
            seed = int(np.random.SeedSequence([state.begin, P]).generate_state(1)[0])
            cube = qmc.LatinHypercube(P, rng=np.random.default_rng(seed)).random(2 * P)
            return data.domain.snap(cube[new : new + q]), state, Info()
        U, y = data.U[state.begin :], data.y[state.begin :]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            chosen = region_points(rng, U, y, state.length, q)
        return data.domain.snap(chosen), state, Info(refitted=True)


def updated(state: RegionState, data: Data, q: int) -> RegionState:
    """Return the state, updated with the values observed since the last ask."""
    P, begin = data.domain.dim, state.begin
    before, new = data.y[begin : state.seen], data.y[state.seen :]
    state = replace(state, seen=len(data.y))
    if begin and len(data.y) - begin <= 2 * P:
        return state  # the points of a restart are not judged
    if not len(before) or not len(new):
        return state
    best = float(before.min())
    if float(new.min()) < best - PROGRESS * abs(best):
        state = replace(state, won=state.won + 1, lost=0)
    else:
        state = replace(state, won=0, lost=state.lost + 1)
    if state.won == SUCCESSES:
        state = replace(state, won=0, length=min(2.0 * state.length, LONGEST))
    elif state.lost >= math.ceil(max(4.0, P) / q):
        state = replace(state, lost=0, length=state.length / 2.0)
    if state.length < SHORTEST:
        return RegionState(begin=len(data.y), seen=len(data.y))
    return state


def region_points(
    rng: np.random.Generator,
    U: Float[ndarray, "N P"],
    y: Float[ndarray, " N"],
    length: float,
    q: int,
) -> Float[ndarray, "q P"]:
    """Return q points of the region around the best point, each from one draw."""
    import torch
    from botorch.generation import MaxPosteriorSampling

    torch.manual_seed(int(rng.integers(2**31)))
    P = U.shape[1]
    standard = (y - y.mean()) / (y.std() or 1.0)
    model = fitted(torch.tensor(U), -torch.tensor(standard)[:, None])
    scales = model.covar_module.base_kernel.lengthscale.detach().numpy().ravel()
    weights = scales / np.exp(np.log(scales).mean())
    centre = U[int(np.argmin(y))]
    low = np.clip(centre - 0.5 * length * weights, 0.0, 1.0)
    high = np.clip(centre + 0.5 * length * weights, 0.0, 1.0)
    count = min(100 * P, CANDIDATES)
    sobol = qmc.Sobol(P, rng=rng).random_base2(math.ceil(math.log2(count)))[:count]
    differs = rng.random((count, P)) <= min(1.0, PERTURBED / P)
    none = np.flatnonzero(~differs.any(axis=1))
    differs[none, rng.integers(P, size=len(none))] = True
    candidates = np.where(differs, low + (high - low) * sobol, centre)
    with torch.no_grad():
        pick = MaxPosteriorSampling(model=model, replacement=False)
        return pick(torch.tensor(candidates), num_samples=q).numpy()


def fitted(U: Any, Y: Any) -> Any:
    """Return the model of the paper, fitted by maximum likelihood within its bounds."""
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from gpytorch.constraints import Interval
    from gpytorch.kernels import MaternKernel, ScaleKernel
    from gpytorch.likelihoods import GaussianLikelihood
    from gpytorch.mlls import ExactMarginalLogLikelihood

    matern = MaternKernel(
        nu=2.5, ard_num_dims=U.shape[1], lengthscale_constraint=Interval(0.005, 2.0)
    )
    model = SingleTaskGP(
        U,
        Y,
        covar_module=ScaleKernel(matern, outputscale_constraint=Interval(0.05, 20.0)),
        likelihood=GaussianLikelihood(noise_constraint=Interval(5e-4, 0.1)),
        outcome_transform=None,
    )
    model.covar_module.outputscale = 1.0
    matern.lengthscale = 0.5
    model.likelihood.noise = 0.005
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model
