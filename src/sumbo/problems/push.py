"""Two robot hands push a square and a disc to their goals; 14 coordinates."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sumbo.problems.base import Problem, found, load, nonnegative, problem
from sumbo.rng import Seed, as_seed
from sumbo.typing import Float, ndarray

# Of each hand: start, commanded velocity, duration in tenths of a second, angle.
HAND = ("rx", "ry", "xvel", "yvel", "simu_steps", "init_angle")
HAND_BOX = ((-5, 5), (-5, 5), (-10, 10), (-10, 10), (2, 30), (0, 2 * np.pi))

STARTS = np.array([[0.0, 2.0], [0.0, -2.0]])  # of the objects: square, disc
GOALS = np.array([[4.0, 3.5], [-4.0, 3.5]])
SQUARE_HALF_SIDE = 0.5
DISC_RADIUS = 1.0
HAND_HALF_SIZE = (1.0, 0.3)

DT = 0.01
ITERATIONS = 10  # of the solver, for velocities and for positions
SETTLING_STEPS = 100
GAIN = 30.0  # of the controllers that hold the commanded velocities

# What two untouched objects lack to their goals. The objective is the distance left
# minus this, so that doing nothing gives 0 and success gives the minimum.
DISTANCE = float(np.linalg.norm(GOALS - STARTS, axis=1).sum())

DESCRIPTION = "two robot hands push a square and a disc to their goals"
CITE = "wang2018"


@dataclass(frozen=True, kw_only=True)
class Trajectory:
    """Where square, disc, hand 1 and hand 2 were, at the start and after each step."""

    positions: Float[ndarray, "T 4 2"]
    angles: Float[ndarray, "T 4"]
    value: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Push(Problem):
    """Sum of the final distances of both objects to their goals, minus the initial one.

    ``noise`` is the standard deviation of what is added to the four commanded
    velocities. The noise of the k-th evaluated point is the k-th draw of a stream
    that starts with the seed: a problem made anew repeats it, and the first value
    equals that of the authors' code after ``numpy.random.seed(seed)``. A copy, such
    as one sent to another process, continues the stream from where it was copied.
    """

    stream: np.random.RandomState | None = field(default=None, repr=False)

    def evaluate(self, X: Float[ndarray, "n P"]) -> Float[ndarray, " n"]:
        """Return the values of the rows, one simulation of up to 4 s each."""
        return np.array([self._run(x, self._kick()) for x in X], dtype=float)

    def simulate(self, x: Any) -> Trajectory:
        """Return the noise-free course of events for one point."""
        states: list[list[tuple[float, float, float]]] = []

        def record(bodies: list[Any]) -> None:
            states.append([(*b.position, b.angle) for b in bodies])

        value = self._run(self.point(x), np.zeros(4), record)
        history = np.array(states, dtype=float)
        return Trajectory(
            positions=history[:, :, :2], angles=history[:, :, 2], value=value
        )

    def _kick(self) -> Float[ndarray, " 4"]:
        if self.stream is None:
            return np.zeros(4)
        return self.stream.normal(0.0, self.noise, 4)

    def _run(
        self,
        x: Float[ndarray, " P"],
        kick: Float[ndarray, " 4"],
        record: Callable[[list[Any]], None] | None = None,
    ) -> float:
        b2 = load("Box2D", name="push", extra="games")
        world, *bodies = _world(b2, x)
        # (hand, steps, commanded velocity, commanded angular velocity); 12 and 13
        # are called torques by the authors, but act as angular velocities.
        commands = [
            (
                bodies[2 + i],
                int(10 * x[4 + 6 * i]),
                b2.b2Vec2(*(x[[2 + 6 * i, 3 + 6 * i]] + kick[2 * i : 2 * i + 2])),
                float(x[12 + i]),
            )
            for i in (0, 1)
        ]
        mass = bodies[2].mass  # of either hand
        if record is not None:
            record(bodies)
        for t in range(max(steps for _, steps, _, _ in commands) + SETTLING_STEPS):
            for hand, steps, velocity, spin in commands:
                if t < steps:
                    torque = mass * (spin - hand.angularVelocity) * GAIN
                    hand.ApplyTorque(torque, wake=True)
                    # Vectors of Box2D are single precision, and so is this force.
                    force = velocity - hand.linearVelocity
                    force *= mass
                    force *= GAIN
                    hand.ApplyForceToCenter(force, wake=True)
            world.Step(DT, ITERATIONS, ITERATIONS)
            if record is not None:
                record(bodies)
        ends = np.array([tuple(b.position) for b in bodies[:2]])
        return float(np.linalg.norm(GOALS - ends, axis=1).sum()) - DISTANCE


def _world(b2: Any, x: Float[ndarray, " P"]) -> tuple[Any, ...]:
    """Return the world and its bodies: square, disc, hand 1, hand 2.

    The solver visits bodies and joints in the order of creation, so that it matters.
    """
    world = b2.b2World(gravity=(0, 0), doSleep=True)
    table = world.CreateStaticBody(
        position=(0, 0), shapes=b2.b2PolygonShape(box=(500, 500))
    )

    def body(
        position: ndarray,
        angle: float,
        shape: Any,
        made_of: dict[str, float],
        grip: float,
    ) -> Any:
        new = world.CreateDynamicBody(position=tuple(map(float, position)), angle=angle)
        new.CreateFixture(shape=shape, **made_of)
        # Friction with the table, which is below and cannot be bumped into.
        world.CreateFrictionJoint(bodyA=table, bodyB=new, maxForce=grip, maxTorque=2)
        return new

    thing = {"density": 0.05, "friction": 0.01}
    hand = {"density": 0.1, "friction": 0.1}
    square = b2.b2PolygonShape(box=(SQUARE_HALF_SIDE, SQUARE_HALF_SIDE))
    bar = b2.b2PolygonShape(box=HAND_HALF_SIZE)
    return (
        world,
        body(STARTS[0], 0.0, square, thing, 5.0),
        body(STARTS[1], 0.0, b2.b2CircleShape(radius=DISC_RADIUS), thing, 5.0),
        body(x[0:2], float(x[5]), bar, hand, 2.0),
        body(x[6:8], float(x[11]), bar, hand, 2.0),
    )


@problem(
    "push",
    dim=14,
    cost="2 ms",
    needs="games",
    modules=("Box2D",),
    description=DESCRIPTION,
    cite=CITE,
)
def push(*, noise: float = 0.0, seed: Seed = 0) -> Push:
    """Return the robot pushing problem of [wang2018], negated for minimisation.

    The authors' code has ``noise=0.01``; ``seed`` matters only with noise.
    """
    load("Box2D", name="push", extra="games")
    sd = nonnegative("noise", noise)
    return Push(
        name="push",
        bounds=np.array([*HAND_BOX, *HAND_BOX, (-5, 5), (-5, 5)], dtype=float),
        parameters=(*HAND, *(f"{name}2" for name in HAND), "rtor", "rtor2"),
        description=DESCRIPTION,
        cite=CITE,
        minimum=-DISTANCE,
        minimizer=found("push")[1],  # to the last bit on Linux x86-64
        noise=sd,
        stream=np.random.RandomState(as_seed(seed) % 2**32) if sd else None,
    )
