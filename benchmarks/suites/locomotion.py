"""Linear policies for MuJoCo's robots (package ``gymnasium[mujoco]``).

The action is W s, cut off at the limits, with the observed state s. The value is the
negative return of an episode. The seed draws the state at the start, so that the
function is deterministic within a run, and another one in each replicate.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sumbo.problems.base import Problem, load, problem
from sumbo.rng import Seed, as_seed
from sumbo.typing import Float, ndarray

CITE = "todorov2012"


class Robot(NamedTuple):
    """A robot of gymnasium: its name, observed numbers, actions, steps, and box."""

    made_as: str
    states: int
    actions: int
    steps: int
    side: float  # weights are between −side and side


ROBOTS = {
    "dev-pendulum4": Robot("InvertedPendulum-v5", 4, 1, 500, 3.0),
    "swimmer16": Robot("Swimmer-v5", 8, 2, 1000, 1.0),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Walk(Problem):
    """The negative return of a linear policy."""

    robot: Robot
    start: int  # seed of the initial state
    opened: list[Any] = field(default_factory=list, repr=False)

    def evaluate(self, X: Float[ndarray, "n P"]) -> Float[ndarray, " n"]:
        """Return the negative returns of the rows, one episode each."""
        if not self.opened:
            gymnasium = load("gymnasium", name=self.name, extra="suites")
            made = gymnasium.make(
                self.robot.made_as, max_episode_steps=self.robot.steps
            )
            self.opened.append(made)
        return np.array([-self._episode(x) for x in X])

    def _episode(self, x: Float[ndarray, " P"]) -> float:
        world = self.opened[0]
        weights = x.reshape(self.robot.actions, self.robot.states)
        low, high = world.action_space.low, world.action_space.high
        state, _ = world.reset(seed=self.start)
        total, ended = 0.0, False
        while not ended:
            action = np.clip(weights @ state, low, high)
            state, reward, terminated, truncated, _ = world.step(action)
            total += float(reward)
            ended = terminated or truncated
        return total

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "opened": []}


def _maker(name: str) -> Callable[..., Walk]:
    robot = ROBOTS[name]

    def make(*, seed: Seed = 0) -> Walk:
        """Return the robot with the initial state of that seed."""
        count = robot.states * robot.actions
        return Walk(
            name=name,
            bounds=np.tile([-robot.side, robot.side], (count, 1)),
            parameters=tuple(f"w{i + 1}" for i in range(count)),
            description=f"a linear policy for {robot.made_as}",
            cite=CITE,
            robot=robot,
            start=as_seed(seed) % 2**31,
        )

    return make


for _name, _robot in ROBOTS.items():
    problem(
        _name,
        dim=_robot.states * _robot.actions,
        cost="0.25 s",
        cite=CITE,
        description=f"a linear policy for {_robot.made_as}",
        needs="suites",
        modules=("gymnasium", "mujoco"),
    )(_maker(_name))
