"""Linear constraints in the user's numbers, read from text or from SciPy.

Text such as ``"a + 2*b <= 1"`` is parsed into a syntax tree, whose nodes are looked at
one by one. It is never evaluated.
"""

import ast
import math
import re
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumbo.errors import ArgumentError
from sumbo.typing import Float, ndarray

# A linear expression: the coefficient of each name, and the constant under None.
Terms = dict[str | None, float]

_ASSIGNMENT = re.compile(r"(?<![<>=!])=(?!=)")
_REMEDY = "Write it as 'a + 2*b <= 1', or pass sumbo.Feasible(function)"


@dataclass(frozen=True, kw_only=True)
class Linear:
    """lower ≤ Σ c_k x_k ≤ upper, in the user's numbers.

    Attributes:
        coefficients: The names of parameters with their coefficients c, none of them 0.
        lower: The lower limit, −inf if there is none.
        upper: The upper limit, inf if there is none; equal to ``lower`` in an equation.
        text: How messages show the constraint.
    """

    coefficients: tuple[tuple[str, float], ...]
    lower: float
    upper: float
    text: str

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters that it constrains."""
        return tuple(name for name, _ in self.coefficients)


def parse_linear(text: str, names: Sequence[str]) -> list[Linear]:
    """Return the constraints that a text states, one for each comparison in it.

    Raises:
        ArgumentError: If it is no linear comparison, or names an unknown parameter.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError) as error:
        what = "uses = alone" if _ASSIGNMENT.search(text) else "cannot be read"
        msg = f"constraints: {text!r} {what}. {_REMEDY}; equations have ==, and a name "
        raise ArgumentError(f"{msg}that is no word needs LinearConstraint.") from error
    if not isinstance(tree, ast.Compare):
        msg = f"constraints: {text!r} compares nothing. {_REMEDY}."
        raise ArgumentError(msg)
    sides = [_terms(side, text, names) for side in (tree.left, *tree.comparators)]
    out = []
    for i, sign in enumerate(tree.ops):
        left, right = sides[i], sides[i + 1]
        terms = _sum(left, right, -1.0)
        limit = -terms.pop(None, 0.0)
        if isinstance(sign, ast.LtE):
            lower, upper = -math.inf, limit
        elif isinstance(sign, ast.GtE):
            lower, upper = limit, math.inf
        elif isinstance(sign, ast.Eq):
            lower = upper = limit
        else:
            msg = f"constraints: {text!r} compares by another sign than <=, >=, ==."
            raise ArgumentError(f"{msg} Use one of these.")
        out.append(_linear(terms, lower, upper, text))
    return out


def from_scipy(constraint: Any, names: Sequence[str]) -> list[Linear]:
    """Return the constraints of a ``scipy.optimize.LinearConstraint``, one per row.

    Raises:
        ArgumentError: If shapes do not fit, or a number is NaN.
    """
    K = len(names)
    A = constraint.A
    A = np.atleast_2d(np.asarray(A.toarray() if hasattr(A, "toarray") else A, float))
    if A.shape[1] != K:
        msg = f"constraints: A of shape {A.shape} has no column for each of the {K} "
        raise ArgumentError(f"{msg}parameters {tuple(names)}. Pass (rows, {K}).")
    try:
        lower = np.broadcast_to(np.asarray(constraint.lb, float), len(A))
        upper = np.broadcast_to(np.asarray(constraint.ub, float), len(A))
    except ValueError as error:
        msg = f"constraints: lb and ub do not fit A of {len(A)} rows. Pass one "
        raise ArgumentError(f"{msg}limit per row.") from error
    out = []
    for row, lo, hi in zip(A, lower, upper, strict=True):
        terms: Terms = dict(zip(names, row.tolist(), strict=True))
        text = " + ".join(f"{c:g}*{name}" for name, c in terms.items() if c)
        text = f"{lo:g} <= {text or '0'} <= {hi:g}"
        out.append(_linear(terms, float(lo), float(hi), text))
    return out


def rows_of(
    rows: Sequence[Linear], names: Sequence[str]
) -> tuple[Float[ndarray, "m K"], Float[ndarray, " m"], Float[ndarray, " m"]]:
    """Return constraints as a matrix with a column per name, and their limits."""
    C = np.zeros((len(rows), len(names)))
    for r, row in enumerate(rows):
        for name, c in row.coefficients:
            C[r, names.index(name)] = c
    lower = np.array([row.lower for row in rows], dtype=float)
    return C, lower, np.array([row.upper for row in rows], dtype=float)


def _linear(terms: Terms, lower: float, upper: float, text: str) -> Linear:
    numbers = [*terms.values(), lower, upper]
    if any(math.isnan(c) for c in numbers) or any(
        math.isinf(c) for c in terms.values()
    ):
        msg = f"constraints: {text!r} holds a number that is not finite. Replace it."
        raise ArgumentError(msg)
    kept = tuple((str(name), c) for name, c in terms.items() if c != 0.0)
    if lower > upper or (not kept and not lower <= 0.0 <= upper):
        msg = f"constraints: {text!r} can never be met. Correct its limits."
        raise ArgumentError(msg)
    return Linear(coefficients=kept, lower=lower, upper=upper, text=text)


def _terms(node: ast.expr, text: str, names: Sequence[str]) -> Terms:
    """Return the linear expression that a part of the syntax tree states.

    Raises:
        ArgumentError: If it is none.
    """
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return {None: float(node.value)}  # pyright: ignore[reportArgumentType]
    if isinstance(node, ast.Name):
        if node.id not in names:
            msg = f"constraints: {text!r} names {node.id!r}, which is no parameter. "
            raise ArgumentError(f"{msg}Use {reprlib.repr(tuple(names))}.")
        return {node.id: 1.0}
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        sign = -1.0 if isinstance(node.op, ast.USub) else 1.0
        return _sum({}, _terms(node.operand, text, names), sign)
    if isinstance(node, ast.BinOp):
        left = _terms(node.left, text, names)
        right = _terms(node.right, text, names)
        if isinstance(node.op, ast.Add | ast.Sub):
            return _sum(left, right, 1.0 if isinstance(node.op, ast.Add) else -1.0)
        constant = left if set(left) <= {None} else right
        if isinstance(node.op, ast.Mult) and set(constant) <= {None}:
            other = right if constant is left else left
            return _sum({}, other, constant.get(None, 0.0))
        if isinstance(node.op, ast.Div) and set(right) <= {None} and right.get(None):
            return {name: c / right[None] for name, c in left.items()}
    what = ast.unparse(node)
    msg = f"constraints: {text!r} is not linear: it holds {what!r}. {_REMEDY}."
    raise ArgumentError(msg)


def _sum(left: Terms, right: Terms, factor: float) -> Terms:
    out = dict(left)
    for name, c in right.items():
        out[name] = out.get(name, 0.0) + factor * c
    return out
