"""What every problem promises."""

import copy
from typing import Any

import numpy as np

from sumbo import problems
from sumbo.errors import ArgumentError
from sumbo.problems import Problem, ProblemInfo
from sumbo.rng import rng_at
from sumbo.space import Space
from sumbo.structure import as_groups
from sumbo.testing.claims import claim, require, require_same_bits
from sumbo.typing import Float, Groups, ndarray

# Values of equal points may differ by rounding, if a batch is computed in one go.
ROUNDING = 1e-9
# Best known values are written down with seven digits or more.
DIGITS = 1e-6


def check_problem(name: str, **settings: Any) -> None:
    """Check everything that a registered problem promises.

    ``settings`` are those of the problem; choose cheap ones, since a dozen points
    are evaluated.

    Raises:
        AssertionError: If a promise is not kept, or if the problem cannot run here.
    """
    with claim(f"problem {name!r}"):
        ready, reason = problems.available(name)
        require(ready, reason)
        facts = problems.info(name)
        p = problems.get(name, **settings)
        _check_facts(facts, p)
        _check_box(p)
        _check_values(p, problems.get(name, **settings))
        _check_refusals(p)
        _check_minimum(p)
        check_groups(p)


def _check_facts(facts: ProblemInfo, p: Problem) -> None:
    for text in ("description", "cite", "cost"):
        value = getattr(facts, text)
        require(isinstance(value, str) and value.strip(), f"{text}={value!r} is empty")
    require(facts.dim in {None, p.dim}, f"has {p.dim} coordinates, not {facts.dim}")
    require(p.description.strip() and p.cite.strip(), "an instance says less")


def check_groups(p: Problem) -> None:
    """Check that the function is a sum over its groups, if it names some.

    Raises:
        AssertionError: If it is not.
    """
    if p.groups is None:
        return
    low, high = p.bounds.T
    a, b = low + rng_at(7, "check groups").random((2, p.dim)) * (high - low)
    weights = _weights(as_groups(p.groups, p.dim))
    mixed = np.tile(b, (len(weights), 1))
    for row, moved in zip(mixed, weights, strict=True):
        row[list(moved)] = a[list(moved)]
    values = p.evaluate(mixed)
    f_a = float(p.evaluate(a[None])[0])
    gap = float(values @ np.array(list(weights.values()))) - f_a
    require(
        abs(gap) <= DIGITS * (abs(f_a) + float(np.abs(values).max()) + 1.0),
        f"is no sum over its groups: off by {gap:.3g}",
    )


def _weights(groups: Groups) -> dict[tuple[int, ...], int]:
    """Return c with f(a) = Σ_v c_v f(a_v, b) for every sum f over the groups.

    The point (a_v, b) has the coordinates v of a and the others of b. This is inclusion
    and exclusion of all intersections of groups; most of them are empty.
    """
    counts: dict[frozenset[int], int] = {}
    for group in groups:
        new = {frozenset(group): 1}
        for known, count in counts.items():
            both = known & set(group)
            new[both] = new.get(both, 0) - count
        for v, count in new.items():
            counts[v] = counts.get(v, 0) + count
    return {tuple(sorted(v)): count for v, count in counts.items() if count}


def _check_box(p: Problem) -> None:
    require(p.bounds.shape == (p.dim, 2), f"bounds have shape {p.bounds.shape}")
    require((p.bounds[:, 0] < p.bounds[:, 1]).all(), "bounds are reversed or equal")
    require(np.isfinite(p.bounds).all(), "bounds are not finite")
    require(not p.bounds.flags.writeable, "bounds can be written to")
    require(
        len(set(p.parameters)) == p.dim,
        f"parameters={p.parameters} are not {p.dim} different names",
    )
    Space.of(p.bounds)


def _check_values(p: Problem, twin: Problem) -> None:
    X = _inside(p, 4)
    X.setflags(write=False)
    values = p(X)
    require(
        isinstance(values, ndarray) and values.shape == (4,),
        f"gives {values!r} for four points",
    )
    require(np.isfinite(values).all(), f"gives {values!r} inside the box")
    require(isinstance(p(X[0]), float), f"gives {p(X[0])!r} for one point, no float")
    require_same_bits(values, twin(X), "a second instance gives other values")
    require_same_bits(
        values, copy.deepcopy(twin)(X), "a copy, as sent to a worker, gives others"
    )
    if p.noise == 0:
        single = np.array([p(x) for x in X])
        close = np.allclose(single, values, rtol=ROUNDING, atol=ROUNDING)
        require(close, "a batch gives other values than its points one by one")
        corners = p.bounds.T
        require(np.isfinite(p(corners)).all(), "is not finite at corners of the box")


def _check_refusals(p: Problem) -> None:
    x = _inside(p, 1)[0]
    outside, missing = x.copy(), x.copy()
    outside[-1] = p.bounds[-1, 1] + 0.1 * np.ptp(p.bounds[-1])
    missing[0] = np.nan
    wrong: dict[str, Any] = {
        "a point outside the box": outside,
        "a point with NaN": missing,
        "a point that is too long": np.append(x, x[0]),
        "a string": "here",
    }
    for what, bad in wrong.items():
        try:
            value = p(bad)
        except ArgumentError:
            continue
        require(holds=False, message=f"accepts {what}, and returns {value!r}")


def _check_minimum(p: Problem) -> None:
    if p.best_known is None:
        return
    if p.best_known_x is not None and p.noise == 0:
        found = p(p.best_known_x)
        close = np.isclose(found, p.best_known, rtol=DIGITS, atol=DIGITS)
        require(close, f"is {found} at best_known_x, not best_known={p.best_known}")
    if p.minimum is not None and p.noise == 0:
        lowest = float(np.min(p(_inside(p, 64))))
        require(lowest >= p.minimum, f"has {lowest}, below its minimum {p.minimum}")


def _inside(p: Problem, n: int) -> Float[ndarray, "n P"]:
    rng = rng_at(37, f"testing/{p.name}", n)
    return rng.uniform(*p.bounds.T, size=(n, p.dim))
