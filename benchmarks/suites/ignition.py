"""Calibration of a combustion mechanism, simulated by Cantera (package ``cantera``).

Rates of reactions of hydrogen and oxygen are multiplied by unknown factors, which are
found again from ignition delays at several temperatures and pressures. The value is the
mean squared difference of the logarithms of the delays, in percent squared. The seed
draws the factors, so that the minimum, 0, is known.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sumbo.problems.base import Problem, load, problem
from sumbo.rng import Seed, as_seed, rng_at
from sumbo.typing import Float, ndarray

CITE = "goodwin2024"
MECHANISM = "h2o2.yaml"
# Temperature in K, pressure in atmospheres, hydrogen per oxygen.
CONDITIONS = (
    (1000.0, 1.0, 2.0),
    (1100.0, 1.0, 1.0),
    (1250.0, 1.0, 4.0),
    (1050.0, 5.0, 2.0),
    (1200.0, 10.0, 1.0),
    (1400.0, 2.0, 2.0),
)
LONGEST = 0.5  # seconds that are simulated
SIDE = 1.0  # natural logarithms of the factors are between −side and side
# Numbers of the reactions whose rates are changed.
REACTIONS = {
    "dev-ignition5": (0, 4, 12, 16, 20),
    "ignition10": (1, 2, 3, 5, 9, 10, 14, 18, 22, 24),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Ignition(Problem):
    """The misfit of ignition delays, by logarithms of rate factors."""

    reactions: tuple[int, ...]
    opened: list[Any] = field(default_factory=list, repr=False)

    def evaluate(self, X: Float[ndarray, "n P"]) -> Float[ndarray, " n"]:
        """Return the misfits of the rows."""
        if not self.opened:
            cantera = load("cantera", name=self.name, extra="suites")
            self.opened.extend((cantera, cantera.Solution(MECHANISM)))
            self.opened.append(self._delays(self.minimizer))
        target = self.opened[2]
        misfit = np.array([self._delays(x) - target for x in X])
        return 1e4 * (misfit**2).mean(axis=1)

    def _delays(self, x: Float[ndarray, " P"] | None) -> Float[ndarray, " C"]:
        cantera, gas = self.opened[:2]
        factors = np.ones(gas.n_reactions)
        if x is not None:
            factors[list(self.reactions)] = np.exp(x)
        for i, factor in enumerate(factors):
            gas.set_multiplier(float(factor), i)
        return np.array([_delay(cantera, gas, *c) for c in CONDITIONS])

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "opened": []}


def _delay(
    cantera: Any, gas: Any, temperature: float, pressure: float, hydrogen: float
) -> float:
    """Return the logarithm of the time until the temperature rose by 400 K."""
    mixture = {"H2": hydrogen, "O2": 1.0, "AR": 7.0}
    gas.TPX = temperature, pressure * cantera.one_atm, mixture
    reactor = cantera.IdealGasReactor(gas, clone=False)
    net = cantera.ReactorNet([reactor])
    before = 0.0, temperature
    while net.time < LONGEST:
        net.step()
        now = net.time, reactor.T
        if now[1] >= temperature + 400.0:
            share = (temperature + 400.0 - before[1]) / (now[1] - before[1])
            return float(np.log(before[0] + share * (now[0] - before[0])))
        before = now
    return float(np.log(LONGEST))


def _maker(name: str) -> Callable[..., Ignition]:
    reactions = REACTIONS[name]

    def make(*, seed: Seed = 0) -> Ignition:
        """Return the misfit to delays made with the factors of that seed."""
        count = len(reactions)
        rng = rng_at(as_seed(seed), "ignition")
        return Ignition(
            name=name,
            bounds=np.tile([-SIDE, SIDE], (count, 1)),
            parameters=tuple(f"log_factor{i}" for i in reactions),
            description=f"{count} rates of hydrogen combustion from ignition delays",
            cite=CITE,
            minimum=0.0,
            minimizer=rng.uniform(-0.8 * SIDE, 0.8 * SIDE, count),
            reactions=reactions,
        )

    return make


for _name, _reactions in REACTIONS.items():
    problem(
        _name,
        dim=len(_reactions),
        cost="40 ms",
        cite=CITE,
        description=f"{len(_reactions)} rates of hydrogen combustion",
        needs="suites",
        modules=("cantera",),
    )(_maker(_name))
