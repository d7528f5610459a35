"""HEBO, in an environment of its own (``make suites``, ``.venv-hebo``)."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from benchmarks.quality.rivals import NEEDS
from benchmarks.suites.sessions import InMemory, space_of
from sumbo.data import Data
from sumbo.methods.base import METHODS
from sumbo.space import Categorical, Integer, Space
from sumbo.typing import Float, ndarray


class _Hebo:
    def __init__(self, space: Space, seed: int, initial: int) -> None:
        import torch
        from hebo.design_space.design_space import DesignSpace
        from hebo.optimizers.hebo import HEBO

        np.random.seed(seed % 2**32)  # noqa: NPY002, TID251 - the library draws from it
        torch.manual_seed(seed)
        self.space = space
        parsed = DesignSpace().parse([_parameter(p) for p in space.parameters])
        self.optimizer = HEBO(parsed, rand_sample=initial, scramble_seed=seed)

    def observe(self, U: Float[ndarray, "n P"], y: Float[ndarray, " n"]) -> None:
        """Take in values."""
        import pandas as pd

        frame = pd.DataFrame(self.space.as_dicts(self.space.decode(U)))
        self.optimizer.observe(frame, y[:, None])

    def suggest(self, q: int) -> Float[ndarray, "q P"]:
        """Return the next points."""
        points = self.optimizer.suggest(n_suggestions=q).to_dict("records")
        return self.space.encode_any(points)[0]


def _parameter(p: Any) -> dict[str, Any]:
    if isinstance(p, Categorical):
        return {"name": p.name, "type": "cat", "categories": list(p.choices)}
    kind = "int" if isinstance(p, Integer) else "num"
    if p.log:
        kind = "pow_int" if isinstance(p, Integer) else "pow"
    return {"name": p.name, "type": kind, "lb": p.lo, "ub": p.hi, "base": 10}


NEEDS["hebo"] = ("hebo",)


@METHODS.register("hebo")
@dataclass(frozen=True, kw_only=True)
class Hebo(InMemory):
    """HEBO with default settings, whose initial points are the given ones."""

    cite: ClassVar[str] = "cowenrivers2022"
    label: ClassVar[str] = "HEBO"

    def __post_init__(self) -> None:
        import_module("torch").set_num_threads(1)
        import_module("hebo.optimizers.hebo")

    def session(self, seed: int, data: Data) -> _Hebo:
        """Return a new run."""
        return _Hebo(space_of(data), seed, len(data.y))
