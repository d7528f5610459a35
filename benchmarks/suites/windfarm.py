"""Yaw angles of a wind farm, simulated by FLORIS (package ``floris``).

Turbines in a wake get less wind. Turning the front ones steers their wakes away. The
value is the mean loss of power over three wind directions, in percent of the power
without yaw: negative values are gains. It is nearly additive, with overlapping parts:
a turbine interacts with those behind it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sumbo.problems.base import Problem, load, problem
from sumbo.rng import Seed, as_seed, rng_at
from sumbo.typing import Float, ndarray

CITE = "fleming2020"
ROTOR = 126.0  # metres, of the 5 MW turbine that FLORIS brings along
SPACING = (5.0, 4.0)  # rotors, along and across
JITTER = 0.5  # rotors by which turbines are moved at random
SPREAD = 4.0  # degrees between the three wind directions
SPEED = 8.0
TURBULENCE = 0.06
LARGEST = 30.0  # degrees
ROWS = {"dev-yaw9": (3, 3), "yaw15": (3, 5), "yaw30": (5, 6)}


@dataclass(frozen=True, kw_only=True, eq=False)
class Yaw(Problem):
    """Loss of power, in percent, for one yaw angle per turbine."""

    layout: Float[ndarray, "P 2"]
    directions: Float[ndarray, " 3"]
    opened: list[Any] = field(default_factory=list, repr=False)

    def evaluate(self, X: Float[ndarray, "n P"]) -> Float[ndarray, " n"]:
        """Return the loss of power at the rows."""
        if not self.opened:
            self.opened.append(self._farm())
            self.opened.append(self._power(np.zeros(self.dim)))
        still = self.opened[1]
        return np.array([100.0 * (1.0 - self._power(x) / still) for x in X])

    def _farm(self) -> Any:
        floris = load("floris", name=self.name, extra="suites")
        farm = floris.FlorisModel("defaults")
        count = len(self.directions)
        farm.set(
            layout_x=self.layout[:, 0],
            layout_y=self.layout[:, 1],
            wind_directions=self.directions,
            wind_speeds=np.full(count, SPEED),
            turbulence_intensities=np.full(count, TURBULENCE),
        )
        return farm

    def _power(self, angles: Float[ndarray, " P"]) -> float:
        farm = self.opened[0]
        farm.set(yaw_angles=np.tile(angles, (len(self.directions), 1)))
        farm.run()
        return float(np.mean(farm.get_farm_power()))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "opened": []}


def _maker(name: str) -> Callable[..., Yaw]:
    rows, columns = ROWS[name]

    def make(*, seed: Seed = 0) -> Yaw:
        """Return a farm: the seed moves the turbines and turns the wind."""
        rng = rng_at(as_seed(seed), "wind farm")
        place = np.array([(j, i) for i in range(rows) for j in range(columns)], float)
        place = place * SPACING + JITTER * rng.uniform(-1.0, 1.0, place.shape)
        wind = 270.0 + rng.uniform(-SPREAD, SPREAD)
        count = rows * columns
        return Yaw(
            name=name,
            bounds=np.tile([-LARGEST, LARGEST], (count, 1)),
            parameters=tuple(f"yaw{i + 1}" for i in range(count)),
            description=f"yaw angles of {count} wind turbines",
            cite=CITE,
            layout=ROTOR * place,
            directions=wind + SPREAD * np.array([-1.0, 0.0, 1.0]),
        )

    return make


for _name, (_rows, _columns) in ROWS.items():
    problem(
        _name,
        dim=_rows * _columns,
        cost="50 ms",
        cite=CITE,
        description=f"yaw angles of {_rows * _columns} wind turbines",
        needs="suites",
        modules=("floris",),
    )(_maker(_name))
