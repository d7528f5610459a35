"""Other optimisers, wrapped as methods of sumbo so that a study can run them.

They scale the values themselves, so a design sets ``transform = "none"`` for them.
"""

import inspect
import warnings
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np

from sumbo.data import Data
from sumbo.errors import SumboError
from sumbo.methods.base import METHODS, Info, Method, make
from sumbo.optimizer import Optimizer
from sumbo.space import Categorical, Integer, Real, Space
from sumbo.state import State
from sumbo.typing import Float, ndarray

# Libraries that a rival needs; methods that are not listed need only sumbo. Modules of
# other benchmarks add theirs.
NEEDS = {
    "optuna-tpe": ("optuna",),
    "optuna-cmaes": ("optuna", "cmaes"),
    "optuna-gp": ("optuna", "torch"),
    "optuna-gp-exact": ("optuna", "torch"),
    "botorch-logei": ("botorch",),
}
# Number of Optuna studies kept in memory. A process runs its cells one by one.
_KEPT_RUNS = 4


def lacking(method: str) -> str:
    """Return the first missing library that ``method`` needs, or ""."""
    return next((m for m in NEEDS.get(method, ()) if find_spec(m) is None), "")


_Default: Any = type(make(inspect.signature(Optimizer).parameters["method"].default))


@METHODS.register("sumbo-default")
@dataclass(frozen=True, kw_only=True)
class SumboDefault(_Default):
    """The method of ``sumbo.minimize(f, bounds)``, with default settings."""

    label: ClassVar[str] = "sumbo, default"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}


class _Session:
    """One run of Optuna: a study, used through ``study.ask`` and ``study.tell``."""

    def __init__(self, sampler: Any, space: Space) -> None:
        import optuna

        self.study = optuna.create_study(sampler=sampler)
        self.space = space
        self.distributions = {p.name: _distribution(p) for p in space.parameters}
        self.asked: deque[Any] = deque()  # trials without a value, oldest first
        self.observed = 0

    def tell(self, data: Data) -> None:
        """Pass on the new values, in the order in which the points were asked."""
        import optuna

        new = slice(self.observed, None)
        for u, value in zip(data.U[new], data.y[new], strict=True):
            if self.asked:
                self.study.tell(self.asked.popleft(), float(value))
            else:
                earlier = optuna.trial.create_trial(
                    params=_params(self.space, u),
                    distributions=self.distributions,
                    value=float(value),
                )
                self.study.add_trial(earlier)
        self.observed = len(data.y)

    def ask(self, q: int) -> Float[ndarray, "q P"]:
        """Return q points; for each, the earlier ones are running trials."""
        trials = [self.study.ask(self.distributions) for _ in range(q)]
        self.asked.extend(trials)
        return self.space.encode_any([trial.params for trial in trials])[0]


# A sampler has a state (the evolution path of CMA-ES, the last kernel of the GP), part
# of it in its trials. So one run uses one study from beginning to end. A cell runs in
# one process, and the state of the method holds the key of its session.
_SESSIONS: dict[int, _Session] = {}


@dataclass(frozen=True, kw_only=True)
class _SessionKey(State):
    """The key of the session of a run.

    Attributes:
        run: A random number.
    """

    run: int


@dataclass(frozen=True, kw_only=True)
class _Optuna(Method):
    cite: ClassVar[str] = "optuna2019"
    label: ClassVar[str] = "Optuna"
    remembers: ClassVar[type[State] | None] = _SessionKey

    def __post_init__(self) -> None:
        import optuna  # here, because the time of an ask is measured

        optuna.logging.set_verbosity(optuna.logging.ERROR)

    def sampler(self, seed: int, data: Data, q: int) -> Any:
        """Return the sampler of a new run."""
        raise NotImplementedError

    def propose(
        self, rng: np.random.Generator, state: _SessionKey | None, data: Data, q: int
    ) -> tuple[Float[ndarray, "q P"], _SessionKey, Info]:
        """Return the next q points of Optuna.

        Raises:
            SumboError: If the run started in another process.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # experimental and deprecated arguments
            if state is None:
                state = _SessionKey(run=int(rng.integers(2**62)))
                _SESSIONS.pop(state.run, None)
                while len(_SESSIONS) >= _KEPT_RUNS:
                    del _SESSIONS[next(iter(_SESSIONS))]
                sampler = self.sampler(int(rng.integers(2**31)), data, q)
                _SESSIONS[state.run] = _Session(sampler, _space(data))
            if state.run not in _SESSIONS:
                msg = (
                    "This run of Optuna started in another process. "
                    "Run it from the beginning in one process."
                )
                raise SumboError(msg)
            session = _SESSIONS[state.run]
            session.tell(data)
            return session.ask(q), state, Info()


@METHODS.register("optuna-tpe")
@dataclass(frozen=True, kw_only=True)
class OptunaTPE(_Optuna):
    """Optuna's multivariate TPE; batches use the constant liar."""

    label: ClassVar[str] = "Optuna TPE"

    def sampler(self, seed: int, data: Data, q: int) -> Any:
        """Return the sampler of a new run."""
        del data
        from optuna.samplers import TPESampler

        return TPESampler(seed=seed, multivariate=True, constant_liar=q > 1)


@METHODS.register("optuna-cmaes")
@dataclass(frozen=True, kw_only=True)
class OptunaCMAES(_Optuna):
    """Optuna's CMA-ES, started at the best initial point.

    With default settings it ignores the initial points and starts at the centre. A
    batch is part of a generation. Optuna samples categorical parameters uniformly.
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
    """Optuna's GPSampler with default settings; a batch consists of running trials.

    By default it fits a noise variance, and may treat a narrow minimum as noise.
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
    """Optuna's GPSampler with ``deterministic_objective=True``."""

    deterministic: ClassVar[bool] = True
    label: ClassVar[str] = "Optuna GP, no noise"


@METHODS.register("botorch-logei")
@dataclass(frozen=True, kw_only=True)
class BoTorchLogEI(Method):
    """BoTorch's LogEI (in batches qLogEI) under its SingleTaskGP.

    The model has BoTorch's defaults: priors that scale with the dimension, and
    standardised values. The points of a batch are chosen greedily, one by one.
    Integers and choices (one-hot) are relaxed, and rounded by the space.

    Attributes:
        restarts: Number of starts of the search when one point is asked.
        raw_samples: Number of points from which these starts are chosen.
        batch_restarts: Number of starts for each point of a batch.
        batch_raw_samples: Number of points from which those starts are chosen.
    """

    restarts: int = 10
    raw_samples: int = 512
    batch_restarts: int = 4
    batch_raw_samples: int = 256

    cite: ClassVar[str] = "botorch2020"
    label: ClassVar[str] = "BoTorch LogEI"
    search: ClassVar[Mapping[str, Any]] = {}  # options of the search

    def __post_init__(self) -> None:
        _import_torch()
        import_module("botorch")

    def propose(
        self, rng: np.random.Generator, state: None, data: Data, q: int
    ) -> tuple[Float[ndarray, "q P"], None, Info]:
        """Return q points that maximise the acquisition of a newly fitted model."""
        import torch
        from botorch.acquisition import (
            LogExpectedImprovement,
            qLogExpectedImprovement,
        )
        from botorch.optim import optimize_acqf

        torch.manual_seed(int(rng.integers(2**31)))
        U, Y = torch.tensor(data.U), -torch.tensor(data.y)[:, None]  # BoTorch maximises
        box = torch.tensor([[0.0], [1.0]], dtype=U.dtype).expand(2, data.domain.dim)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = self.model(U, Y)
            kind = LogExpectedImprovement if q == 1 else qLogExpectedImprovement
            found, _ = optimize_acqf(
                kind(model, best_f=Y.max()),
                bounds=box,
                q=q,
                num_restarts=self.restarts if q == 1 else self.batch_restarts,
                raw_samples=self.raw_samples if q == 1 else self.batch_raw_samples,
                sequential=q > 1,
                options=dict(self.search),
            )
        return data.domain.snap(found.detach().numpy()), state, Info()

    def model(self, U: Any, Y: Any) -> Any:
        """Return the fitted model of tensors, which maximises."""
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.models.transforms import Standardize
        from gpytorch.mlls import ExactMarginalLogLikelihood

        model = SingleTaskGP(U, Y, outcome_transform=Standardize(m=1))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model


def _space(data: Data) -> Space:
    if not isinstance(data.domain, Space):
        msg = f"data.domain={data.domain!r} is not a Space. Pass a sumbo.space.Space."
        raise TypeError(msg)
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
    # Import before the first ask, whose time is measured. A cell uses one core.
    import_module("torch").set_num_threads(1)
