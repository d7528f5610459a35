"""SMAC3, in an environment of its own (``make suites``, ``.venv-smac``)."""

import tempfile
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from benchmarks.quality.rivals import NEEDS
from benchmarks.suites.sessions import InMemory, space_of
from sumbo.data import Data
from sumbo.errors import SumboError
from sumbo.methods.base import METHODS
from sumbo.space import Categorical, Integer, Space
from sumbo.typing import Float, ndarray


class _Smac:
    """A run of SMAC, whose first asks are the initial points that were given."""

    def __init__(self, space: Space, seed: int) -> None:
        self.space, self.seed = space, seed
        self.folder = tempfile.TemporaryDirectory()
        self.facade: Any = None
        self.asked: list[Any] = []

    def observe(self, U: Float[ndarray, "n P"], y: Float[ndarray, " n"]) -> None:
        """Take in values; the first ones are those of the initial design."""
        if self.facade is None:
            self._start(U, y)
            return
        for value in y.tolist():
            self._tell(self.asked.pop(0), value)

    def suggest(self, q: int) -> Float[ndarray, "q P"]:
        """Return the next points."""
        trials = [self.facade.ask() for _ in range(q)]
        self.asked.extend(trials)
        points = [dict(trial.config) for trial in trials]
        return self.space.encode_any(points)[0]

    def _start(self, U: Float[ndarray, "n P"], y: Float[ndarray, " n"]) -> None:
        from ConfigSpace import Configuration, ConfigurationSpace
        from smac import BlackBoxFacade, Scenario

        space = ConfigurationSpace(seed=self.seed % 2**31)
        space.add([_parameter(p) for p in self.space.parameters])
        scenario = Scenario(
            space,
            output_directory=Path(self.folder.name),
            deterministic=True,
            n_trials=10**6,
            seed=self.seed % 2**31,
        )
        points = self.space.as_dicts(self.space.decode(U))
        initial = [Configuration(space, values=point) for point in points]
        self.facade = BlackBoxFacade(
            scenario,
            _never_called,
            initial_design=BlackBoxFacade.get_initial_design(
                scenario, n_configs=0, additional_configs=initial
            ),
            logging_level=False,
            overwrite=True,
        )
        values = dict(zip(initial, y.tolist(), strict=True))
        for _ in values:
            trial = self.facade.ask()
            if trial.config not in values:
                raise SumboError("SMAC asked a point that is not an initial one.")
            self._tell(trial, values[trial.config])

    def _tell(self, trial: Any, value: float) -> None:
        from smac.runhistory.dataclasses import TrialValue

        self.facade.tell(trial, TrialValue(cost=value))


def _never_called(config: Any, seed: int = 0) -> float:
    # SMAC wants a function even where values are told, and checks its signature.
    del config, seed
    return 0.0


def _parameter(p: Any) -> Any:
    import ConfigSpace

    if isinstance(p, Categorical):
        return ConfigSpace.CategoricalHyperparameter(p.name, p.choices)
    if isinstance(p, Integer):
        return ConfigSpace.UniformIntegerHyperparameter(p.name, p.lo, p.hi, log=p.log)
    return ConfigSpace.UniformFloatHyperparameter(p.name, p.lo, p.hi, log=p.log)


NEEDS["smac"] = ("smac",)


@METHODS.register("smac")
@dataclass(frozen=True, kw_only=True)
class Smac(InMemory):
    """SMAC's black-box facade (a Gaussian process) with default settings."""

    cite: ClassVar[str] = "lindauer2022"
    label: ClassVar[str] = "SMAC3"

    def __post_init__(self) -> None:
        import_module("smac")

    def session(self, seed: int, data: Data) -> _Smac:
        """Return a new run."""
        return _Smac(space_of(data), int(np.uint32(seed)))
