"""Rivals as methods of sumbo, so that a study runs them like its own.

They need the user's own values, so a design gives them ``transform = "none"``.
"""

import inspect
import warnings
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np

from sumbo.data import Data
from sumbo.errors import SumboError
from sumbo.methods.base import METHODS, Info, Method, make
from sumbo.optimizer import Optimizer
from sumbo.space import Categorical, Integer, Real, Space
from sumbo.typing import Float, State, ndarray

# What must be importable for a rival to run; the others need sumbo alone.
NEEDS = {
    "optuna-tpe": ("optuna",),
    "optuna-cmaes": ("optuna", "cmaes"),
    "optuna-gp": ("optuna", "torch"),
    "optuna-gp-exact": ("optuna", "torch"),
    "botorch-logei": ("botorch",),
}
# Runs whose Optuna study is kept; a cell is one run, and cells follow each other.
_KEPT_RUNS = 4


def lacking(method: str) -> str:
    """Return the library that ``method`` needs and that is missing, "" if none is."""
    return next((m for m in NEEDS.get(method, ()) if find_spec(m) is None), "")


@METHODS.register("sumbo-default")
@dataclass(frozen=True, kw_only=True)
class SumboDefault:
    """Return what ``sumbo.minimize(f, bounds)`` asks: the default method, as it is."""

    cite: ClassVar[str] = ""
    label: ClassVar[str] = "sumbo, default"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    def propose(
        self, rng: np.random.Generator, state: State, data: Data, q: int
    ) -> tuple[Float[ndarray, "q P"], State, Info]:
        """Return the proposal of the default method."""
        return _default_method().propose(rng, state, data, q)


@cache
def _default_method() -> Method:
    return make(inspect.signature(Optimizer).parameters["method"].default)


class _Session:
    """An Optuna study that is asked and told like a user's, all trials included."""

    def __init__(self, sampler: Any, space: Space) -> None:
        import optuna

        self.study = optuna.create_study(sampler=sampler)
        self.space = space
        self.distributions = {p.name: _distribution(p) for p in space.parameters}
        self.asked: deque[Any] = deque()  # trials without a value, oldest first
        self.told = 0

    def tell(self, data: Data) -> None:
        """Add the values that are new, in the order in which points were asked."""
        import optuna

        for u, value in zip(data.U[self.told :], data.y[self.told :], strict=True):
            if self.asked:
                self.study.tell(self.asked.popleft(), float(value))
            else:
                earlier = optuna.trial.create_trial(
                    params=_params(self.space, u),
                    distributions=self.distributions,
                    value=float(value),
                )
                self.study.add_trial(earlier)
        self.told = len(data.y)

    def ask(self, q: int) -> Float[ndarray, "q P"]:
        """Return q points; each sampler sees those before as running trials."""
        trials = [self.study.ask(self.distributions) for _ in range(q)]
        self.asked.extend(trials)
        return self.space.encode_any([trial.params for trial in trials])[0]


# A sampler keeps what it learnt in itself and in its trials (the evolution path of
# CMA-ES, the last kernel of the GP), so a run needs one study from beginning to end.
# A cell runs in one process, and its state holds the number of the run.
_SESSIONS: dict[int, _Session] = {}


@dataclass(frozen=True, kw_only=True)
class _Optuna:
    cite: ClassVar[str] = "optuna2019"
    label: ClassVar[str] = "Optuna"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    def __post_init__(self) -> None:
        import optuna  # here, so that the first ask does not pay for it

        optuna.logging.set_verbosity(optuna.logging.ERROR)

    def sampler(self, seed: int, data: Data, q: int) -> Any:
        """Return the sampler of a new run."""
        raise NotImplementedError

    def propose(
        self, rng: np.random.Generator, state: State, data: Data, q: int
    ) -> tuple[Float[ndarray, "q P"], State, Info]:
        """Return what Optuna asks next.

        Raises:
            SumboError: If the run began in another process.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # experimental and deprecated arguments
            if not state:
                state = {"run": int(rng.integers(2**62))}
                _SESSIONS.pop(state["run"], None)
                while len(_SESSIONS) >= _KEPT_RUNS:
                    del _SESSIONS[next(iter(_SESSIONS))]
                sampler = self.sampler(int(rng.integers(2**31)), data, q)
                _SESSIONS[state["run"]] = _Session(sampler, _space(data))
            if state["run"] not in _SESSIONS:
                msg = "this run of Optuna began elsewhere. Run it in one process."
                raise SumboError(msg)
            session = _SESSIONS[state["run"]]
            session.tell(data)
            return session.ask(q), state, Info()


@METHODS.register("optuna-tpe")
@dataclass(frozen=True, kw_only=True)
class OptunaTPE(_Optuna):
    """Return points of Optuna's multivariate TPE; batches by the constant liar."""

    label: ClassVar[str] = "Optuna TPE"

    def sampler(self, seed: int, data: Data, q: int) -> Any:
        """Return the sampler of a new run."""
        del data
        from optuna.samplers import TPESampler

        return TPESampler(seed=seed, multivariate=True, constant_liar=q > 1)


@METHODS.register("optuna-cmaes")
@dataclass(frozen=True, kw_only=True)
class OptunaCMAES(_Optuna):
    """Return points of Optuna's CMA-ES, started at the best initial point.

    By itself it would ignore the initial points and start at the centre. A batch is
    part of a generation; choices are sampled uniformly, as Optuna does.
    """

    label: ClassVar[str] = "Optuna CMA-ES"

    def sampler(self, seed: int, data: Data, q: int) -> Any:
        """Return the sampler of a new run."""
        del q
        from optuna.samplers import CmaEsSampler

        best = _params(_space(data), data.U[int(np.argmin(data.y))])
        return CmaEsSampler(seed=seed, x0=best, warn_independent_sampling=False)


@METHODS.register("optuna-gp")
@dataclass(frozen=True, kw_only=True)
class OptunaGP(_Optuna):
    """Return points of Optuna's GPSampler; batches as it treats running trials.

    By default it fits the noise, and takes a narrow minimum for some of it.
    """

    deterministic: ClassVar[bool] = False
    label: ClassVar[str] = "Optuna GP"

    def __post_init__(self) -> None:
        super().__post_init__()
        _import_torch()

    def sampler(self, seed: int, data: Data, q: int) -> Any:
        """Return the sampler of a new run."""
        del data, q
        from optuna.samplers import GPSampler

        return GPSampler(seed=seed, deterministic_objective=self.deterministic)


@METHODS.register("optuna-gp-exact")
@dataclass(frozen=True, kw_only=True)
class OptunaExactGP(OptunaGP):
    """Return points of Optuna's GPSampler, told that values have no noise."""

    deterministic: ClassVar[bool] = True
    label: ClassVar[str] = "Optuna GP, no noise"


@METHODS.register("botorch-logei")
@dataclass(frozen=True, kw_only=True)
class BoTorchLogEI:
    """Return the maximisers of (q)LogEI under BoTorch's SingleTaskGP.

    Its priors scale with the dimension and values are standardised, as by default.
    Batches: qLogEI, points chosen greedily one after the other. Integers and choices
    are relaxed (one-hot) and rounded by the space.

    Attributes:
        restarts: Of the search, if one point is asked.
        raw_samples: From which the restarts are chosen.
        batch_restarts: The same for every point of a batch.
        batch_raw_samples: The same for every point of a batch.
    """

    restarts: int = 10
    raw_samples: int = 512
    batch_restarts: int = 4
    batch_raw_samples: int = 256

    cite: ClassVar[str] = "botorch2020"
    label: ClassVar[str] = "BoTorch LogEI"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    def __post_init__(self) -> None:
        _import_torch()
        import_module("botorch")

    def propose(
        self, rng: np.random.Generator, state: State, data: Data, q: int
    ) -> tuple[Float[ndarray, "q P"], State, Info]:
        """Return q points, by a model that is fitted to all data."""
        import torch
        from botorch.acquisition import (
            LogExpectedImprovement,
            qLogExpectedImprovement,
        )
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.models.transforms import Standardize
        from botorch.optim import optimize_acqf
        from gpytorch.mlls import ExactMarginalLogLikelihood

        torch.manual_seed(int(rng.integers(2**31)))
        U, Y = torch.tensor(data.U), -torch.tensor(data.y)[:, None]  # it maximises
        box = torch.tensor([[0.0], [1.0]], dtype=U.dtype).expand(2, data.domain.dim)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = SingleTaskGP(U, Y, outcome_transform=Standardize(m=1))
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
            kind = LogExpectedImprovement if q == 1 else qLogExpectedImprovement
            found, _ = optimize_acqf(
                kind(model, best_f=Y.max()),
                bounds=box,
                q=q,
                num_restarts=self.restarts if q == 1 else self.batch_restarts,
                raw_samples=self.raw_samples if q == 1 else self.batch_raw_samples,
                sequential=q > 1,
            )
        return data.domain.snap(found.detach().numpy()), state, Info()


def _space(data: Data) -> Space:
    if not isinstance(data.domain, Space):
        raise TypeError(f"domain={data.domain!r} is no Space; rivals need one.")
    return data.domain


def _params(space: Space, u: Float[ndarray, " P"]) -> dict[str, Any]:
    return space.as_dict(space.decode(u[None]))


def _distribution(p: Real | Integer | Categorical) -> Any:
    from optuna import distributions

    if isinstance(p, Categorical):
        return distributions.CategoricalDistribution(p.choices)
    if isinstance(p, Integer):
        return distributions.IntDistribution(p.lo, p.hi, log=p.log)
    return distributions.FloatDistribution(p.lo, p.hi, log=p.log)


def _import_torch() -> None:
    # Before the first ask, which is timed; and to the one core that a cell has.
    import_module("torch").set_num_threads(1)
