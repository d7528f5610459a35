"""``Importance``: how much of the variation is due to each parameter, as a table."""

from dataclasses import dataclass
from typing import Any

from sumbo.errors import MissingExtraError
from sumbo.typing import Float, ndarray


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Importance:
    """Sobol shares of the parameters, in the order of the search space.

    With independent parameters that are uniform in the search space, the variance of
    f(x) is split. The *first-order* share of a parameter is due to it alone,
    ``Var E[f | x_k] / Var f``. The *total* share remains if all other parameters are
    held fixed, ``E Var[f | all others] / Var f``. The difference is due to
    interactions. Total shares add up to more than one if there are interactions;
    [sobol2001].

    The model knows f up to its posterior distribution. Shares are expected variances
    over the expected variance of f. The interval is that of the total share of
    joint draws of f.

    Attributes:
        names: The parameters.
        first: First-order shares.
        total: Total shares.
        lower: Lower ends of the intervals of the total shares.
        upper: Upper ends of the intervals of the total shares.
        level: Posterior probability of each interval.
    """

    names: tuple[str, ...]
    first: Float[ndarray, " K"]
    total: Float[ndarray, " K"]
    lower: Float[ndarray, " K"]
    upper: Float[ndarray, " K"]
    level: float

    def __str__(self) -> str:
        """Return a table with the most important parameter first."""
        interval = f"{100 * self.level:g} % interval"
        width = max(9, *(len(name) for name in self.names))
        lines = [f"{'parameter':<{width}}  first  total  {interval}"]
        lines += [
            f"{self.names[k]:<{width}}  {self.first[k]:5.3f}  {self.total[k]:5.3f}"
            f"  {self.lower[k]:5.3f} to {self.upper[k]:5.3f}"
            for k in sorted(range(len(self.names)), key=lambda k: -self.total[k])
        ]
        return "\n".join(lines)

    __repr__ = __str__

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row per parameter, indexed by its name.

        Raises:
            MissingExtraError: If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            msg = "to_frame needs pandas. Install it: pip install 'sumbo[pandas]'."
            raise MissingExtraError(msg) from error
        columns = {n: getattr(self, n) for n in ("first", "total", "lower", "upper")}
        return pd.DataFrame(columns, index=pd.Index(self.names, name="parameter"))
