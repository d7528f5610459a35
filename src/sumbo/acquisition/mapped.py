"""A function of a point in other coordinates, as a function of the point."""

from dataclasses import dataclass
from typing import Any

from sumbo.typing import Float, ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class Mapped:
    """g(u) = f(A (u − centre)), with its gradient Aᵀ ∇f.

    Attributes:
        function: The function f, with ``value`` and ``gradient``.
        centre: The point that becomes the origin.
        A: The linear map.
    """

    function: Any
    centre: Float[ndarray, " P"]
    A: Float[ndarray, "P P"]

    def value(self, U: Float[ndarray, "b P"]) -> Float[ndarray, " b"]:
        """Return values at rows of points."""
        return self.function.value((U - self.centre) @ self.A.T)

    def gradient(
        self, U: Float[ndarray, "b P"]
    ) -> tuple[Float[ndarray, " b"], Float[ndarray, "b P"]]:
        """Return values and gradients at rows of points."""
        value, slope = self.function.gradient((U - self.centre) @ self.A.T)
        return value, slope @ self.A
