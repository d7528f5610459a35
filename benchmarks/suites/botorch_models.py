"""BoTorch's LogEI under other models, and Ax, in the environment of ``make suites``."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from benchmarks.quality.rivals import NEEDS, BoTorchLogEI
from benchmarks.suites.sessions import InMemory, space_of
from sumbo.data import Data
from sumbo.methods.base import METHODS
from sumbo.space import Categorical, Integer, Space
from sumbo.typing import Float, ndarray

for _name in ("botorch-map-saas", "botorch-orthogonal", "botorch-msr"):
    NEEDS[_name] = ("botorch",)
NEEDS["ax-quality"] = ("ax", "numpyro")


@METHODS.register("botorch-map-saas")
@dataclass(frozen=True, kw_only=True)
class BoTorchSaas(BoTorchLogEI):
    """LogEI under an ensemble of MAP-SAAS models with BoTorch's defaults."""

    label: ClassVar[str] = "BoTorch MAP-SAAS"

    def model(self, U: Any, Y: Any) -> Any:
        """Return the fitted ensemble."""
        from botorch.fit import fit_gpytorch_mll
        from botorch.models.map_saas import EnsembleMapSaasSingleTaskGP
        from gpytorch.mlls import ExactMarginalLogLikelihood

        model = EnsembleMapSaasSingleTaskGP(U, Y)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model


@METHODS.register("botorch-orthogonal")
@dataclass(frozen=True, kw_only=True)
class BoTorchOrthogonal(BoTorchLogEI):
    """LogEI under BoTorch's ``OrthogonalAdditiveGP`` of the first order."""

    cite: ClassVar[str] = "lu2022"
    label: ClassVar[str] = "BoTorch orthogonal additive"

    def model(self, U: Any, Y: Any) -> Any:
        """Return the fitted additive model."""
        from botorch.fit import fit_gpytorch_mll
        from botorch.models.additive_gp import OrthogonalAdditiveGP
        from gpytorch.mlls import ExactMarginalLogLikelihood

        model = OrthogonalAdditiveGP(U, Y)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model


@METHODS.register("botorch-msr")
@dataclass(frozen=True, kw_only=True)
class BoTorchMSR(BoTorchLogEI):
    """LogEI with the start values of [papenmeier2025].

    Length-scales are fitted by maximum likelihood, without a prior, from √P / 10. The
    search for the next point also starts at the best points, perturbed in some
    coordinates.
    """

    cite: ClassVar[str] = "papenmeier2025"
    label: ClassVar[str] = "BoTorch MSR"
    search: ClassVar[Mapping[str, Any]] = {"sample_around_best": True}

    def model(self, U: Any, Y: Any) -> Any:
        """Return the model fitted by maximum likelihood."""
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.models.transforms import Standardize
        from gpytorch.constraints import GreaterThan
        from gpytorch.kernels import MaternKernel, ScaleKernel
        from gpytorch.mlls import ExactMarginalLogLikelihood

        P = U.shape[1]
        matern = MaternKernel(
            nu=2.5, ard_num_dims=P, lengthscale_constraint=GreaterThan(1e-4)
        )
        matern.lengthscale = math.sqrt(P) / 10.0
        model = SingleTaskGP(
            U, Y, covar_module=ScaleKernel(matern), outcome_transform=Standardize(m=1)
        )
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model


class _Ax:
    def __init__(self, space: Space, seed: int) -> None:
        from ax.api.client import Client

        self.space = space
        self.client = Client(random_seed=seed)
        self.client.configure_experiment([_parameter(p) for p in space.parameters])
        self.client.configure_optimization(objective="-y")
        self.client.configure_generation_strategy(
            method="quality",
            initialization_budget=0,
            initialize_with_center=False,
            use_existing_trials_for_initialization=True,
        )
        self.asked: list[int] = []

    def observe(self, U: Float[ndarray, "n P"], y: Float[ndarray, " n"]) -> None:
        """Take in values; those of points that were not asked are attached."""
        points = self.space.as_dicts(self.space.decode(U))
        for point, value in zip(points, y.tolist(), strict=True):
            plain = {name: _plain(v) for name, v in point.items()}
            number = (
                self.asked.pop(0)
                if self.asked
                else self.client.attach_trial(parameters=plain)
            )
            self.client.complete_trial(number, raw_data={"y": value})

    def suggest(self, q: int) -> Float[ndarray, "q P"]:
        """Return the next points."""
        trials = self.client.get_next_trials(max_trials=q)
        self.asked.extend(trials)
        return self.space.encode_any(list(trials.values()))[0]


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _parameter(p: Any) -> Any:
    from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig

    if isinstance(p, Categorical):
        kind = {str: "str", bool: "bool", int: "int", float: "float"}[
            type(p.choices[0])
        ]
        return ChoiceParameterConfig(
            name=p.name, values=list(p.choices), parameter_type=kind, is_ordered=False
        )
    kind = "int" if isinstance(p, Integer) else "float"
    scaling = "log" if p.log else "linear"
    return RangeParameterConfig(
        name=p.name, bounds=(p.lo, p.hi), parameter_type=kind, scaling=scaling
    )


@METHODS.register("ax-quality")
@dataclass(frozen=True, kw_only=True)
class AxQuality(InMemory):
    """Ax with ``method="quality"``, its most expensive choice of a model."""

    cite: ClassVar[str] = "olson2025"
    label: ClassVar[str] = "Ax, quality"

    def session(self, seed: int, data: Data) -> _Ax:
        """Return a new run; the first ask includes some seconds for importing Ax."""
        import_module("torch").set_num_threads(1)
        return _Ax(space_of(data), seed)
