"""What the problems of cosmic shear share: a universe, and how well it fits the data.

CAMB takes most of the time, and only some of the parameters enter it. The points
of a batch that agree in those share one run of CAMB.
"""

import logging
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sumbo.problems.base import Problem, load
from sumbo.problems.shear.likelihood import PENALTY
from sumbo.problems.shear.universe import Universe
from sumbo.typing import Float, ndarray

ByName = Mapping[str, float]  # of the parameters, by name

logger = logging.getLogger("sumbo")


@dataclass(frozen=True, kw_only=True, eq=False)
class Shear(Problem):
    """½ rᵀC⁻¹r for the residuals r of a survey; priors are flat in the box.

    Where CAMB fails the value is `PENALTY`.
    """

    survey: Any  # the data of the survey; ``survey.measured`` is a ``Gaussian``

    cosmology: ClassVar[tuple[str, ...]]  # the parameters that enter CAMB

    @abstractmethod
    def universe(self, p: ByName) -> Universe:
        """Return what CAMB computes, which may raise its ``CAMBError``."""

    @abstractmethod
    def predict(self, universe: Universe, p: ByName) -> Float[ndarray, " d"]:
        """Return what the survey measures in a universe."""

    def prediction(self, x: Any) -> Float[ndarray, " d"]:
        """Return what the survey measures, for one point x."""
        p = self._named(self.point(x))
        return self.predict(self.universe(p), p)

    def evaluate(self, X: Float[ndarray, "n P"]) -> Float[ndarray, " n"]:
        """Return the values of the rows; CAMB runs once for each cosmology in them."""
        camb = load("camb", name=self.name, extra="cosmology")
        columns = [self.parameters.index(name) for name in self.cosmology]
        _, same = np.unique(X[:, columns], axis=0, return_inverse=True)
        values = np.full(len(X), PENALTY)
        for rows in (np.flatnonzero(same == g) for g in np.unique(same)):
            try:
                universe = self.universe(self._named(X[rows[0]]))
            except camb.CAMBError as error:
                logger.debug("CAMB failed at x=%r: %s", X[rows[0]].tolist(), error)
                continue
            for i in rows:
                found = self.predict(universe, self._named(X[i]))
                values[i] = self.survey.measured.value(found)
        return values

    def _named(self, x: Float[ndarray, " P"]) -> ByName:
        return dict(zip(self.parameters, x.tolist(), strict=True))
