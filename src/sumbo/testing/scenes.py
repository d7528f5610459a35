"""Small searches on which methods and decompositions are checked.

Boxes are neither unit nor centred, so that a mix-up of units cannot hide.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from sumbo.data import Data, prepare
from sumbo.optimizer import Optimizer
from sumbo.rng import rng_at
from sumbo.space import Categorical, Integer, Real, Space
from sumbo.typing import Float, ndarray

BOX = ((-2.3, 3.1), (1.7, 5.2), (0.31, 0.94), (-7.9, -1.2))

MIXED = (
    Real("rate", 1e-4, 0.7, log=True),
    Integer("layers", 2, 9),
    Categorical("rule", ("sum", "max", None)),
    Real("weight", -3.2, 0.4),
)


def value(space: Space, x: Any) -> float:
    """Return a function with one basin that couples neighbouring coordinates."""
    u = space.encode(x)[0]
    bowl = ((u - np.linspace(0.23, 0.71, len(u))) ** 2).sum()
    return float(7.3 + 4.1 * bowl + 0.6 * np.sin(5.3 * u[:-1] @ u[1:]))


def points(space: Space, n: int, purpose: str) -> Float[ndarray, "n P"]:
    """Return random points of the cube that stand for points of the space."""
    return space.snap(rng_at(41, f"testing/{purpose}", n).random((n, space.dim)))


def data(space: Space, n: int, pending: int = 0) -> Data:
    """Return n observations and some pending points, all of them read-only."""
    U = points(space, n, "data")
    y = np.array([value(space, x) for x in space.decode(U)])
    return prepare(
        U=U,
        y=y,
        failed=np.zeros(n, dtype=bool),
        pending=points(space, pending, "pending"),
        domain=space,
        step=n + pending,
    )


def play(opt: Optimizer, keep: Callable[[Optimizer], Optimizer]) -> list[ndarray]:
    """Return the points asked in a run with every turn a run can take.

    ``keep`` is called at each moment where a run may stop, and returns the optimizer
    with which to go on: with no data, with points pending, after a tell, in the
    middle of a batch, before and after a refit.
    """
    space, asked = opt.space, []

    def ask(n: int) -> ndarray:
        X = opt.ask(n)
        asked.append(X)
        return X

    def tell(*points: Any) -> None:
        for x in points:
            opt.tell(x, value(space, x))

    opt = keep(opt)  # no data
    first = ask(2)
    opt = keep(opt)  # pending points, no data
    tell(first[1])
    opt = keep(opt)
    batch = ask(3)
    tell(batch[2])
    opt = keep(opt)  # in the middle of a batch, and older points pending
    opt.tell(batch[0], failed=True)
    tell(first[0], batch[1], *space.decode(points(space, 3, "told unasked")))
    opt = keep(opt)
    later = ask(1)
    opt = keep(opt)  # pending, with a model
    batch = ask(2)
    tell(batch[1])
    opt = keep(opt)
    # Enough observations at once that the model is due again.
    tell(*later, *space.decode(points(space, 10, "earlier run")))
    later = ask(1)
    opt = keep(opt)
    tell(*later)
    ask(1)
    return asked
