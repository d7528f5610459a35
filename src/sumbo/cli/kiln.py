"""A simulator for the demo: what it costs to fire a piece of pottery in a kiln."""

import math
from collections.abc import Iterator
from typing import Any

from sumbo.errors import EvaluationError
from sumbo.space import Categorical, Integer, Parameter, Real

SPACE: tuple[Parameter, ...] = (
    Real("ramp, K/min", 1.0, 30.0, log=True),
    Real("hold, °C", 950.0, 1350.0),
    Real("hold, min", 10.0, 240.0),
    Real("cooling, K/min", 0.5, 20.0, log=True),
    Real("air, m³/min", 0.2, 4.0),
    Real("insulation, cm", 4.0, 40.0),
    Integer("pieces", 10, 120),
    Categorical("fuel", ("gas", "oil", "electric")),
    Real("glaze, mm", 0.2, 1.5),
    Real("shelf height, cm", 8.0, 30.0),
)
# Price of a megajoule, and share of the heat that stays in the kiln.
_FUELS = {"gas": (0.021, 0.62), "oil": (0.029, 0.70), "electric": (0.058, 0.97)}
_STEP = 2.0  # minutes
_MATURE = 62.0  # heat work at which the clay is just right
_ROOM = 20.0  # °C
_OPEN = 90.0  # °C: the door may be opened
_HOTTEST = 240.0  # °C that the shell withstands


def cost(x: Any) -> float:
    """Return the cost of a good piece in cents, by a simulation of one firing.

    Raises:
        EvaluationError: If the shell of the kiln overheats; that firing has no value.
    """
    ramp, hold, minutes, cooling, air, wall, pieces, fuel, glaze, shelf = x
    price, kept = _FUELS[fuel]
    mass = 35.0 + 1.1 * pieces  # kg of shelves and ware
    temperature = shell = _ROOM
    heat = work = shock = time = 0.0
    for target in _schedule(ramp, hold, minutes, cooling):
        change, temperature = target - temperature, target
        loss = 110.0 * (temperature - shell) / wall + 2.0 * air * (temperature - _ROOM)
        if time < (hold - _ROOM) / ramp + minutes:
            heat += max(0.0, mass * 0.95 * change + 0.06 * loss * _STEP) / kept  # kJ
        gained = 0.18 * (temperature - shell) / wall - 0.08 * (shell - _ROOM)
        shell += _STEP * gained
        work += _STEP * math.exp((temperature - 1180.0) / 75.0)
        near = math.exp(-(((temperature - 573.0) / 90.0) ** 2))  # quartz changes there
        shock = max(shock, abs(change) / _STEP * near)
        time += _STEP
        if shell > _HOTTEST:
            msg = f"the shell reaches {shell:.0f} °C after {time:.0f} minutes"
            raise EvaluationError(msg)
    crowded = max(0.0, pieces / (6.0 * shelf) - 0.45)
    faults = 0.03 + 0.2 * min(2.0, abs(math.log(work / _MATURE))) ** 1.5
    faults += 0.02 * max(0.0, shock - 4.0) + 0.3 * crowded**1.5
    faults += 0.15 * math.exp(-1.6 * air) + 0.3 * (glaze - 0.8) ** 2
    good = pieces * max(0.05, 1.0 - faults)
    hours = time / 60.0
    return 100.0 * (price * heat / 1000.0 + 1.1 * hours + 0.05 * pieces * glaze) / good


def _schedule(
    ramp: float, hold: float, minutes: float, cooling: float
) -> Iterator[float]:
    """Yield the temperature of the kiln after every step."""
    temperature = _ROOM
    while temperature < hold:
        temperature = min(hold, temperature + ramp * _STEP)
        yield temperature
    for _ in range(round(minutes / _STEP)):
        yield hold
    while temperature > _OPEN:
        # A kiln cools the slower, the colder it is.
        temperature -= _STEP * cooling * (0.3 + temperature / 1400.0)
        yield temperature
