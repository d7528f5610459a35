"""The distribution of a uniformly random point, parameter by parameter.

The parameters of a random point are independent. A real one is uniform in its unit
coordinate, so that a logarithmic one is uniform in its logarithm. An integer takes the
places of its levels in the unit coordinate, with the length of the interval that each
level owns. A categorical parameter takes the corners of its one-hot coordinates with
equal probabilities: these coordinates are *not* independent of each other.
"""

from dataclasses import dataclass, field

import numpy as np

from sumbo.space.parameters import Categorical, Integer, to_unit
from sumbo.space.space import Space
from sumbo.typing import Domain, Float, Group, ndarray

# Levels up to which an integer is discrete. More are as good as a continuum: the
# difference to a uniform distribution is that of a grid with so many points.
MOST_LEVELS = 256
# Cells of the composite Gauss rule of a continuous coordinate, two nodes in each. All
# nodes have one weight, so that a random node is a stratified random point.
CELLS = 64


@dataclass(frozen=True, kw_only=True, eq=False)
class Measure:
    """The distribution of one parameter in its coordinates.

    Attributes:
        coordinates: The coordinates of the parameter.
        atoms: The places that it takes (G, d); None for uniform on [low, high].
        weights: Their probabilities.
        low: The lower end, of a uniform distribution.
        high: The upper end.
    """

    coordinates: Group
    atoms: Float[ndarray, "G d"] | None = None
    weights: Float[ndarray, " G"] = field(default_factory=lambda: np.ones(1))
    low: float = 0.0
    high: float = 1.0

    def rule(self) -> tuple[Float[ndarray, "G d"], Float[ndarray, " G"]]:
        """Return places and weights of a quadrature rule; exact for atoms."""
        if self.atoms is not None:
            return self.atoms, self.weights
        if self.low == self.high:
            return np.array([[self.low]]), np.ones(1)
        offset = 0.5 / np.sqrt(3.0)  # two-point Gauss rule in each cell
        nodes = np.arange(CELLS)[:, None] + 0.5 + np.array([-offset, offset])
        nodes = self.low + (self.high - self.low) * nodes.ravel() / CELLS
        return nodes[:, None], np.full(len(nodes), 1.0 / len(nodes))


def measures_of(domain: Domain) -> tuple[Measure, ...]:
    """Return the distribution of each parameter of a space.

    Of a domain that is no ``Space`` only the blocks are known: one coordinate is
    uniform, and several are one-hot. Constraints are ignored.
    """
    if isinstance(domain, Space):
        pairs = zip(domain.parameters, domain.blocks, strict=True)
        return tuple(distribution_of(p, block) for p, block in pairs)
    return tuple(
        Measure(coordinates=block) if len(block) == 1 else _one_hot(block)
        for block in domain.blocks
    )


def distribution_of(p: object, block: Group) -> Measure:
    """Return the distribution of one parameter of a space."""
    if isinstance(p, Categorical):
        return _one_hot(block)
    if not isinstance(p, Integer) or p.hi - p.lo + 1 > MOST_LEVELS:
        return Measure(coordinates=block)
    levels = np.arange(p.lo, p.hi + 1, dtype=float)
    edges = np.append(levels - 0.5, p.hi + 0.5)
    owned = np.diff(np.log(edges) if p.log else edges)
    return Measure(
        coordinates=block, atoms=to_unit(p, levels), weights=owned / owned.sum()
    )


def _one_hot(block: Group) -> Measure:
    G = len(block)
    return Measure(coordinates=block, atoms=np.eye(G), weights=np.full(G, 1.0 / G))
