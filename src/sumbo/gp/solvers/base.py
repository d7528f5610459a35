"""What a posterior needs of a solver: systems and products with its covariances."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from sumbo.typing import Float, ndarray

# Bytes that the arrays of one solver may take.
LIMIT = 4 * 2**30


class PartFeatures(NamedTuple):
    """Features that stand for a part, k(a, b) ≈ φ(a)·φ(b): φ, and φ at the data."""

    at: Callable[[Float[ndarray, "B d"]], Float[ndarray, "B r"]]
    at_data: Float[ndarray, "N r"]


class Solver(ABC):
    """Solves with A = Σ_m K_m + diag(noise), the covariance of N observations.

    ``alpha`` is A⁻¹ (y − c) everywhere, and means are those of Σ_m f_m: the constant c
    is not included.

    Attributes:
        jitter: What was added to the diagonal because of rounding; ``noise`` includes
            it.
    """

    jitter: float

    @property
    @abstractmethod
    def noise(self) -> Float[ndarray, " N"]:
        """The variance of each observation that is in no part."""

    @property
    @abstractmethod
    def features(self) -> Mapping[int, PartFeatures]:
        """The features that stand for parts which are not exact, by their number."""

    @abstractmethod
    def solve(self, b: Float[ndarray, "N *k"]) -> Float[ndarray, "N *k"]:
        """Return A⁻¹ b."""

    @abstractmethod
    def products(
        self,
        parts: Sequence[int],
        Z: Sequence[Float[ndarray, "..."]],
        v: Float[ndarray, "N k"],
    ) -> list[Float[ndarray, "..."]]:
        """Return K_m(Z_i, X) v for the i-th of some parts, arrays (B_i, k)."""

    @abstractmethod
    def sum_mean(
        self, U: Float[ndarray, "b P"], alpha: Float[ndarray, " N"]
    ) -> Float[ndarray, " b"]:
        """Return the mean of Σ_m f_m at points."""

    @abstractmethod
    def sum_moments(
        self, U: Float[ndarray, "b P"], alpha: Float[ndarray, " N"]
    ) -> tuple[Float[ndarray, " b"], Float[ndarray, " b"]]:
        """Return mean and variance of Σ_m f_m at points."""
