"""Bayesian optimization for (near) sums of low-dimensional parts.

Names are imported when they are first used, so that ``import sumbo`` and the help of
the command line answer at once: SciPy alone takes longer to import.
"""

import importlib
import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sumbo import decompositions, methods, plots, problems
    from sumbo.gp import AdditiveGP, Posterior
    from sumbo.optimizer import Optimizer, maximize, minimize
    from sumbo.space import (
        Categorical,
        Feasible,
        Integer,
        Outcome,
        Real,
        Simplex,
        Space,
    )

# Silent unless the user's program sets up logging.
logging.getLogger("sumbo").addHandler(logging.NullHandler())

__version__ = "0.2.0"

__all__ = [
    "AdditiveGP",
    "Categorical",
    "Feasible",
    "Integer",
    "Optimizer",
    "Outcome",
    "Posterior",
    "Real",
    "Simplex",
    "Space",
    "decompositions",
    "maximize",
    "methods",
    "minimize",
    "plots",
    "problems",
]

# The modules that define the names above; the other names are modules themselves.
_HOMES = {
    "sumbo.gp": ("AdditiveGP", "Posterior"),
    "sumbo.optimizer": ("Optimizer", "maximize", "minimize"),
    "sumbo.space": (
        "Categorical",
        "Feasible",
        "Integer",
        "Outcome",
        "Real",
        "Simplex",
        "Space",
    ),
}


def __getattr__(name: str) -> Any:
    """Return a public name, or a module of this package, importing it now.

    Raises:
        AttributeError: If there is none of that name.
        ModuleNotFoundError: If the module needs another one that is missing.
    """
    for home, names in _HOMES.items():
        if name in names:
            value = getattr(importlib.import_module(home), name)
            globals()[name] = value
            return value
    missing = f"module 'sumbo' has no attribute {name!r}"
    if name.startswith("_"):
        raise AttributeError(missing)
    try:
        return importlib.import_module(f"sumbo.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"sumbo.{name}":
            raise
        raise AttributeError(missing) from None


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
