"""What a posterior needs of a solver: systems and products with its covariances."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from sumbo.typing import Float, ndarray

# Bytes that the arrays of one solver may take.
LIMIT = 4 * 2**30


# From ∂g/∂mean and ∂g/∂var at each point to the gradient of g in the points.
MomentPullback = Callable[
    [Float[ndarray, " b"], Float[ndarray, " b"]], Float[ndarray, "b P"]
]


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


class Pointwise(Solver):
    """A solver whose moments are cheap at many points, with gradients.

    Attributes:
        known: Known noise variances of the observations, None if there are none.
    """

    known: Float[ndarray, " N"] | None

    @abstractmethod
    def append(
        self, X_new: Float[ndarray, "k P"], known: Float[ndarray, " k"] | None = None
    ) -> "Pointwise":
        """Return the solver with further points, whose known noise is ``known``."""

    @abstractmethod
    def sum_moments_pullback(
        self, U: Float[ndarray, "b P"], alpha: Float[ndarray, " N"]
    ) -> tuple[Float[ndarray, " b"], Float[ndarray, " b"], MomentPullback]:
        """Return ``sum_moments``, and what gives gradients of functions of the two."""

    @abstractmethod
    def part_moments(
        self, m: int, Zm: Float[ndarray, "B d"], alpha: Float[ndarray, " N"]
    ) -> tuple[Float[ndarray, " B"], Float[ndarray, " B"]]:
        """Return mean and variance of part m at points of its own coordinates."""

    @abstractmethod
    def line_moments(
        self, Z: Float[ndarray, "B P"], alpha: Float[ndarray, " N"]
    ) -> tuple[Float[ndarray, "B L"], Float[ndarray, "B L"]]:
        """Return mean and variance of each part on one coordinate."""
