"""A lunar lander steered by a controller with 12 weights."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumbo.errors import ArgumentError
from sumbo.problems.base import Problem, found, load, nonnegative, problem
from sumbo.typing import Float, ndarray

LANDER = "gymnasium.envs.box2d.lunar_lander"
SEEDS = tuple(range(50))

# The hand-tuned weights of the controller that comes with gymnasium.
HEURISTIC = (0.5, 1.0, 0.4, 0.55, 0.5, 1.0, 0.5, 0.5, 0.0, 0.5, 0.05, 0.05)

IDLE, LEFT, MAIN, RIGHT = 0, 1, 2, 3

DESCRIPTION = "a controller lands a spacecraft on 50 fixed terrains"
CITE = "eriksson2019"

# An environment serves one episode at a time, so every thread has its own; the
# strength of the initial push is a global of gymnasium, so resets take turns.
_local = threading.local()
_resetting = threading.Lock()


@dataclass(frozen=True, kw_only=True)
class Flight:
    """One episode: the lander at the start and after each step, and the ground."""

    states: Float[ndarray, "T 8"]  # x, y, vx, vy, angle, spin, leg 1, leg 2
    ground: Float[ndarray, "K 2"]  # in the units of the states
    reward: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Lunar(Problem):
    """Minus the mean return of the controller over episodes with fixed seeds.

    A seed fixes the terrain, the initial push and the dispersion of the engines.
    """

    seeds: tuple[int, ...]
    steps: int  # an episode is cut off after these
    initial_random: float  # strength of the initial push

    def evaluate(self, X: Float[ndarray, "n P"]) -> Float[ndarray, " n"]:
        """Return the values of the rows, one episode per seed each."""
        rewards = [self.rewards(x) for x in X]
        return np.array([-float(np.mean(r)) for r in rewards], dtype=float)

    def rewards(self, x: Any) -> Float[ndarray, " S"]:
        """Return the return of every episode, to be maximised, for one point x."""
        w = tuple(self.point(x).tolist())
        return np.array([self._episode(w, seed) for seed in self.seeds], dtype=float)

    def fly(self, x: Any, seed: int) -> Flight:
        """Return the course of the episode with one seed, for one point x."""
        states: list[Any] = []
        reward = self._episode(tuple(self.point(x).tolist()), seed, states.append)
        return Flight(states=np.array(states), ground=_ground(), reward=reward)

    def _episode(
        self,
        w: tuple[float, ...],
        seed: int,
        record: Callable[[Any], None] | None = None,
    ) -> float:
        env = _environment()
        s = self._reset(env, seed)
        if record is not None:
            record(s)
        total = 0.0
        for _ in range(self.steps):
            s, reward, terminated, _, _ = env.step(action(w, s))
            total += float(reward)
            if record is not None:
                record(s)
            if terminated:
                break
        return total

    def _reset(self, env: Any, seed: int) -> Any:
        module = load(LANDER, name="lunar", extra="games")
        with _resetting:
            before = module.INITIAL_RANDOM
            module.INITIAL_RANDOM = self.initial_random
            try:
                s, _ = env.reset(seed=seed)
            finally:
                module.INITIAL_RANDOM = before
        return s


def action(w: Sequence[float], state: Sequence[float] | ndarray) -> int:
    """Return what the controller with weights w does: nothing or fire one engine."""
    x, y, vx, vy, angle, spin, leg1, leg2 = (float(v) for v in state)
    if leg1 or leg2:
        turn = w[8]
        lift = -vy * w[9]
    else:
        target = min(max(w[0] * x + w[1] * vx, -w[2]), w[2])
        turn = (target - angle) * w[4] - spin * w[5]
        lift = (w[3] * abs(x) - y) * w[6] - vy * w[7]
    if lift > abs(turn) and lift > w[10]:
        return MAIN
    if turn < -w[11]:
        return RIGHT
    if turn > w[11]:
        return LEFT
    return IDLE


def _environment() -> Any:
    if not hasattr(_local, "env"):
        # Built from its class: the wrappers that gymnasium.make adds check every
        # step and cut episodes off, both of which is done here.
        _local.env = load(LANDER, name="lunar", extra="games").LunarLander()
    return _local.env


def _ground() -> Float[ndarray, "K 2"]:
    """Return the surface of the current terrain, in the units of the observations."""
    module, env = load(LANDER, name="lunar", extra="games"), _environment()
    width, height = module.VIEWPORT_W / module.SCALE, module.VIEWPORT_H / module.SCALE
    # Each sky polygon has two ground points first, then two at the top of the view.
    corners = [polygon[0] for polygon in env.sky_polys] + [env.sky_polys[-1][1]]
    ground = np.array([tuple(corner) for corner in corners], dtype=float)
    pad = env.helipad_y + module.LEG_DOWN / module.SCALE
    return (ground - [width / 2, pad]) / [width / 2, height / 2]


def _is_integer(value: Any, least: int) -> bool:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return whole and int(value) >= least


@problem(
    "lunar",
    dim=12,
    cost="0.2 s",
    needs="games",
    modules=("Box2D", "gymnasium", "pygame"),
    description=DESCRIPTION,
    cite=CITE,
)
def lunar(
    *,
    seeds: Sequence[int] = SEEDS,
    steps: int = 100,
    initial_random: float = 1500.0,
) -> Lunar:
    """Return the lunar landing problem of [eriksson2019], negated for minimisation.

    Deviation from [eriksson2019]: the 50 terrains of its authors are unpublished;
    these are the seeds 0 to 49 of gymnasium's LunarLander-v3.

    Raises:
        ArgumentError: If a setting has a value that cannot be used.
    """
    load(LANDER, name="lunar", extra="games")
    if len(seeds) == 0 or not all(_is_integer(s, least=0) for s in seeds):
        msg = f"seeds={seeds!r} are not non-negative integers. Pass some."
        raise ArgumentError(msg)
    if not _is_integer(steps, least=1):
        msg = f"steps={steps!r} is not a positive integer. Pass one, such as 100."
        raise ArgumentError(msg)
    strength = nonnegative("initial_random", initial_random)
    # The best known value belongs to the default episodes only.
    default = (tuple(seeds), steps, initial_random) == (SEEDS, 100, 1500.0)
    value, x = found("lunar") if default else (None, None)
    return Lunar(
        name="lunar",
        bounds=np.tile([0.0, 2.0], (12, 1)),
        parameters=tuple(f"w{i}" for i in range(12)),
        description=DESCRIPTION,
        cite=CITE,
        best_known=value,
        best_known_x=x,
        seeds=tuple(int(s) for s in seeds),
        steps=int(steps),
        initial_random=strength,
    )
