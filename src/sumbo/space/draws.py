"""Uniform draws from a region: rejection where it is cheap, else a random walk.

The walk is hit-and-run: a random direction that keeps all equations, and a uniform
point of the chord, which is shortened while tests refuse it. Levels change one at a
time, or in pairs that share a row; continuous coordinates then follow by the smallest
step that meets the equations. Each move leaves the uniform distribution as it is.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sumbo.errors import ArgumentError
from sumbo.space.parameters import Real
from sumbo.typing import Bool, Float, ndarray

if TYPE_CHECKING:
    from sumbo.space.region import Region

# Share of uniform points that must be feasible so that they are rejected one by one.
OFTEN = 0.02
TRIED = 512  # uniform points by which the share is estimated
SEARCHED = 20_000  # points among which a feasible one is sought where tests decide
STEPS = 40  # of a walk, and as many more as there are coordinates
STEPS_TESTED = 8  # where functions decide: calls cost time, and seeds are random
SHRINKS = 6  # of a chord that leads out of the region
PROGRAMS = 12  # linear programs that look for points with different levels
KEPT = 64  # points from which walks begin


@dataclass(frozen=True, kw_only=True, eq=False)
class FeasibleDraws:
    """How feasible points are drawn, in the coordinates w of a region.

    Attributes:
        region: The region.
        seeds: Feasible points at which walks begin.
        share: The share of uniform points that are feasible, about.
        within: The share of the points that meet the linear constraints, where tests
            decide too.
    """

    region: "Region"
    seeds: Float[ndarray, "s P"]
    share: float
    within: float = 0.0

    def draw(self, rng: np.random.Generator, n: int) -> Float[ndarray, "n P"]:
        """Return n feasible points."""
        if self.share >= OFTEN:
            found = rejected(rng, self.region, n, int(8 * n / self.share) + 8)
            if len(found) == n:
                return found
        if self.within >= 10 * OFTEN:
            found = rejected_within(rng, self.region, int(2 * n / self.within) + 8)
            if len(found) >= n:
                return found[:n]
        W = self.seeds[rng.integers(len(self.seeds), size=n)].copy()
        for _ in range(STEPS_TESTED if self.region.tests else STEPS + W.shape[1]):
            W = step(rng, self.region, W)
        W = self.region.polytope.corrected(W)
        good = self.region.feasible(self.region.to_u(W))
        # What rounding pushed out begins anew where a walk began.
        W[~good] = self.seeds[rng.integers(len(self.seeds), size=int((~good).sum()))]
        return W


def first_points(region: "Region") -> FeasibleDraws:
    """Return how points are drawn, from points found without any.

    Raises:
        ArgumentError: If no feasible point exists, or none is found.
    """
    rng = np.random.default_rng(20)  # the same points for every run with the region
    P = region.space.dim
    U = region.space.snap(rng.random((TRIED, P)))
    good = region.feasible(U)
    share = float(good.mean())
    seeds = region.to_w(U[good][:KEPT])
    if share < OFTEN and region.linear:
        seeds = np.vstack([seeds, _programmed(rng, region)])
        seeds = seeds[region.feasible(region.to_u(seeds))]
    within = 0.0
    if share < OFTEN and region.tests:
        more, within = _searched(rng, region)
        seeds = np.vstack([seeds, more])
    if len(seeds) == 0:
        what = _named(region)
        msg = f"constraints: no feasible point was found for {what}. Check that there "
        raise ArgumentError(f"{msg}is one, and widen the constraints or the bounds.")
    return FeasibleDraws(region=region, seeds=seeds, share=share, within=within)


def rejected(
    rng: np.random.Generator, region: "Region", n: int, tries: int
) -> Float[ndarray, "b P"]:
    """Return the first n of some uniform points that are feasible, or fewer."""
    found: list[ndarray] = []
    count = 0
    while count < n and tries > 0:
        some = min(tries, max(64, 2 * n))
        U = region.space.snap(rng.random((some, region.space.dim)))
        good = U[region.feasible(U)]
        found.append(good)
        count, tries = count + len(good), tries - some
    U = np.concatenate(found)[:n] if found else np.empty((0, region.space.dim))
    return region.to_w(U)


def step(
    rng: np.random.Generator, region: "Region", W: Float[ndarray, "n P"]
) -> Float[ndarray, "n P"]:
    """Return the points after one move of a random kind."""
    levelled = len(region.space.parameters) > len(_continuous(region))
    if levelled and (len(_continuous(region)) == 0 or rng.random() < 0.5):
        return _levels_move(rng, region, W)
    curved = region.curved
    if curved and rng.random() < 0.3:
        p, b = curved[rng.integers(len(curved))]
        D = np.zeros_like(W)
        D[:, b] = 1.0
        if not region.polytope.A[region.polytope.equal][:, b].any():
            return _along_logarithm(rng, region, W, D, p, b)
    return _line_move(rng, region, W)


def _continuous(region: "Region") -> list[int]:
    return np.flatnonzero(region.polytope.levels == 0).tolist()


def _line_move(
    rng: np.random.Generator, region: "Region", W: Float[ndarray, "n P"]
) -> Float[ndarray, "n P"]:
    polytope = region.polytope
    D = np.zeros_like(W)
    others = [p for p in _continuous(region) if not polytope.involved[p]]
    D[:, others] = rng.standard_normal((len(W), len(others)))
    k = polytope.basis.shape[1]
    if k:
        D[:, polytope.moving] = rng.standard_normal((len(W), k)) @ polytope.basis.T
    norm = np.linalg.norm(D, axis=1, keepdims=True)
    D /= np.where(norm > 0, norm, 1.0)
    low, high = -polytope.reach(W, -D), polytope.reach(W, D)
    low, high = (np.where(np.isfinite(t), t, 0.0) for t in (low, high))
    return _on_chord(rng, region, W, D, low, high)


def _on_chord(
    rng: np.random.Generator,
    region: "Region",
    W: Float[ndarray, "n P"],
    D: Float[ndarray, "n P"],
    low: Float[ndarray, " n"],
    high: Float[ndarray, " n"],
) -> Float[ndarray, "n P"]:
    """Return uniform points of the feasible part of chords, by slice sampling.

    Where logarithmic parameters are linear in w, a point is accepted by the ratio of
    the densities that are uniform in their logarithms.
    """
    out = W.copy()
    left = np.arange(len(W))
    for _ in range(SHRINKS if region.tests else 1):
        t = low[left] + rng.random(len(left)) * (high - low)[left]
        tried = W[left] + t[:, None] * D[left]
        good = _accepted(rng, region, W[left], tried)
        out[left[good]] = tried[good]
        # A chord is cut at the refused point.
        low[left], high[left] = (
            np.where(t < 0, t, low[left]),
            np.where(t > 0, t, high[left]),
        )
        left = left[~good]
        if len(left) == 0:
            break
    return out


def _accepted(
    rng: np.random.Generator,
    region: "Region",
    before: Float[ndarray, "n P"],
    after: Float[ndarray, "n P"],
) -> Bool[ndarray, " n"]:
    good = region.polytope.inside(region.polytope.corrected(after))
    log_ratio = np.zeros(len(before))
    for p, b in region.curved:
        x, new = (p.lo + w[:, b] * (p.hi - p.lo) for w in (before, after))
        log_ratio += np.log(np.maximum(x, p.lo)) - np.log(np.maximum(new, p.lo))
    good &= np.log(rng.random(len(before))) < log_ratio
    if region.tests and good.any():
        rows = np.flatnonzero(good)
        good[rows] = region.feasible(region.to_u(after[rows]))
    return good


def _along_logarithm(
    rng: np.random.Generator,
    region: "Region",
    W: Float[ndarray, "n P"],
    D: Float[ndarray, "n P"],
    p: Real,
    b: int,
) -> Float[ndarray, "n P"]:
    """Return points whose logarithmic parameter is drawn anew, uniform in its log."""
    polytope, lo, width = region.polytope, p.lo, p.hi - p.lo
    low = lo + (W[:, b] - polytope.reach(W, -D)) * width
    high = lo + (W[:, b] + polytope.reach(W, D)) * width
    low = np.maximum(low, lo)
    x = np.exp(np.log(low) + rng.random(len(W)) * np.log(np.maximum(high / low, 1.0)))
    after = W.copy()
    after[:, b] = np.clip((x - lo) / width, 0.0, 1.0)
    good = polytope.inside(polytope.corrected(after))
    if region.tests and good.any():
        rows = np.flatnonzero(good)
        good[rows] = region.feasible(region.to_u(after[rows]))
    return np.where(good[:, None], after, W)


def _levels_move(
    rng: np.random.Generator, region: "Region", W: Float[ndarray, "n P"]
) -> Float[ndarray, "n P"]:
    """Return points with new levels of one parameter, or of two of one row."""
    polytope, out = region.polytope, W.copy()
    whole = [b for _, b in region.whole]
    blocks = [block for block in region.space.blocks if polytope.levels[block[0]] > 0]
    block = list(blocks[rng.integers(len(blocks))])
    if len(block) > 1:
        choice = rng.integers(len(block), size=len(W))
        out[:, block] = np.eye(len(block))[choice]
    else:
        b = block[0]
        steps = int(polytope.levels[b]) - 1
        out[:, b] = rng.integers(steps + 1, size=len(W)) / steps
        partners = [
            c
            for row in polytope.A[:, whole][polytope.A[:, b] != 0]
            for c, a in zip(whole, row, strict=True)
            if a != 0 and c != b
        ]
        if partners and rng.random() < 0.5:
            # One up, one down: sums of two stay what they are.
            c = partners[rng.integers(len(partners))]
            change = rng.integers(1, 4, size=len(W)) * rng.choice([-1, 1], size=len(W))
            out[:, b] = W[:, b] + change / steps
            out[:, c] = W[:, c] - change / (int(polytope.levels[c]) - 1)
    out = polytope.corrected(out)
    good = _accepted(rng, region, W, out)
    if good.any():
        rows = np.flatnonzero(good)
        good[rows] = region.feasible(region.to_u(out[rows]))
    return np.where(good[:, None], out, W)


def _programmed(rng: np.random.Generator, region: "Region") -> Float[ndarray, "s P"]:
    """Return points found by linear programs, in the middle of what they allow.

    Raises:
        ArgumentError: If no point meets the linear constraints.
    """
    polytope, P = region.polytope, region.space.dim
    found = polytope.centre()
    if found is None:
        what = "contradict each other within the bounds. Drop or widen one of them."
        if len(region.linear) == 1:
            what = "is met by no point within the bounds. Widen the one or the other."
        raise ArgumentError(f"constraints: {_named(region)} {what}")
    points = [found[0]]
    if (polytope.involved & (polytope.levels > 0)).any():
        for _ in range(PROGRAMS):
            w = polytope.extreme(rng.standard_normal(P) * (polytope.levels > 0))
            centre = None if w is None else polytope.centre(w)
            points += [] if centre is None else [centre[0]]
    # Coordinates that no row names may be anywhere.
    W = np.repeat(points, max(1, 2 * KEPT // len(points)), axis=0)
    other = region.to_w(region.space.snap(rng.random(W.shape)))
    return polytope.corrected(np.where(polytope.involved, W, other))


def _searched(
    rng: np.random.Generator, region: "Region"
) -> tuple[Float[ndarray, "s P"], float]:
    """Return points that pass all tests, and how often points within limits do.

    Raises:
        ArgumentError: If there is none.
    """
    found: list[ndarray] = []
    tried = 0
    while tried < SEARCHED and sum(len(W) for W in found) < KEPT:
        found.append(rejected_within(rng, region, TRIED))
        tried += TRIED
    W = np.concatenate(found)
    if len(W) == 0:
        msg = f"constraints: none of {tried} random points meets {_named(region)}. "
        msg += "Widen the constraints or the bounds, or write equations as linear ones."
        raise ArgumentError(msg)
    return W, len(W) / tried if region.linear else 0.0


def rejected_within(
    rng: np.random.Generator, region: "Region", tries: int
) -> Float[ndarray, "b P"]:
    """Return those of some draws under the linear constraints that pass the tests."""
    plain = region.plain
    if plain is None:
        return rejected(rng, region, tries, tries)
    U = plain.draw(rng, tries)
    return region.to_w(U[region.feasible(U)])


def _named(region: "Region") -> str:
    shown = [repr(row.text) for row in region.linear]
    return ", ".join([*shown, *(f"Feasible({test.name})" for test in region.tests)])
