"""What a joint draw costs beyond the work that nobody can avoid, and how to pay less.

    python -m benchmarks.factors [--rounds 9]

* the floor: LAPACK's Cholesky factors of the same sizes, and the kernel once on packed
  triangles, from points or from squared distances that are at hand;
* ten acquisitions between refits, with factors that grow by one row each;
* candidates on a grid, drawn axis by axis;
* threads over groups, in wall time: everything else is CPU time.
"""

import argparse
import os
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from benchmarks.sampling import Setting, listing, setting
from benchmarks.timing import Row, interleaved, show_rows
from sumbo.kernels import GroupKernel, as_kernel
from sumbo.linalg import lapack
from sumbo.rng import rng_at
from sumbo.sampling.expansion import expand_joint
from sumbo.sampling.factors import LADDER, PartFactor
from sumbo.sampling.growth import FactorMemory, grown_factors
from sumbo.sampling.kronecker import Grid, part_factor

SIZE = (20, 3, 120, 500)
LABEL = "M={}, d={}, N={}, B={}".format(*SIZE)
ASKS = 10
# Packed elements worked on at a time, as a careful programmer would.
CHUNK = 16_384


def floor_rows(rounds: int) -> Iterator[Row]:
    """Yield a joint draw against bare factorizations and kernel evaluations."""
    s = setting(*SIZE)
    A = [np.vstack([Zm, Xm]) for (_, Xm), Zm in zip(s.post.groups(), s.Z, strict=True)]
    parts = list(zip(s.post.gp.kernels, A, strict=True))
    grams = [np.asfortranarray(kernel(Am, Am)) for kernel, Am in parts]
    for K in grams:
        np.fill_diagonal(K, K.diagonal() * (1 + LADDER[0]))
    work = [K.copy(order="F") for K in grams]
    points = [Am / kernel.lengthscales for kernel, Am in parts]
    squared = [pdist(Am, "sqeuclidean") for Am in points]
    out = np.empty_like(squared[0])

    def restore() -> None:
        for W, K in zip(work, grams, strict=True):
            W[:] = K

    def factorize() -> None:
        for W in work:
            lapack.dpotrf(W, lower=1, clean=0, overwrite_a=1)

    def distances() -> None:
        for Am in points:
            pdist(Am, "sqeuclidean", out=out)

    t = interleaved(
        {
            "joint": lambda: s.post.sample(s.Z, n=1, seed=1),
            "LAPACK": factorize,
            "distances": distances,
            "kernel": lambda: evaluate_packed(s, squared, out),
        },
        rounds,
        before=restore,
    )
    what, ours = f"joint draw, {LABEL}", f"{1e3 * t['joint']:.0f} ms"
    least = t["LAPACK"] + t["kernel"]
    ratio = t["joint"] / (least + t["distances"])
    yield Row(what, "LAPACK alone, and the kernel once", ratio, "≤ 1.3", ours)
    yield Row(what, "… with all distances given", t["joint"] / least, "", ours)


def evaluate_packed(s: Setting, squared: list[np.ndarray], out: np.ndarray) -> None:
    """Evaluate the kernel of each part once on its packed squared distances."""
    for kernel, packed in zip(s.post.gp.kernels, squared, strict=True):
        for start in range(0, len(out), CHUNK):
            cut = slice(start, start + CHUNK)
            k = kernel.kernel.correlation(packed[cut])
            np.multiply(k, kernel.variance, out=out[cut])


def amortised_row(rounds: int) -> Row:
    """Return ten asks between refits against the listing, which starts anew each time.

    Counted are the rows told in between, the factors and the draws.
    """
    s = setting(*SIZE)
    rng = rng_at(0, "benchmark factors")
    X, y = rng.random((ASKS, s.post.gp.dim)), rng.standard_normal(ASKS)

    def ten_asks() -> None:
        post, memory = s.post, FactorMemory()
        for i in range(ASKS):
            factors = grown_factors(post, s.Z, s.post.N, memory=memory)
            expand_joint(rng_at(1, "ask", i), post, factors, 1)
            post = post.append(X[i], y[i])

    t = interleaved(
        {"ours": ten_asks, "listing": lambda: listing(rng_at(1, "listing"), s, 1)},
        rounds,
    )
    one = t["ours"] / ASKS
    return Row(
        f"one of ten draws between refits, {LABEL}",
        "the paper's listing",
        t["listing"] / one,
        "≥ 8",
        f"{1e3 * one:.0f} ms",
    )


def grid_rows(rounds: int) -> Iterator[Row]:
    """Yield draws of one part on a grid, axis by axis, against a dense factor."""
    kernel = GroupKernel(
        kernel=as_kernel("rbf"), lengthscales=np.array([0.31, 0.22]), variance=1.3
    )
    X = rng_at(0, "benchmark grid").random((120, 2))
    ways = {"axes": part_factor, "dense": PartFactor.of}
    for side in (20, 40):
        axis = np.linspace(0.0, 1.0, side)
        Z = Grid((axis, axis)).points()
        rng = rng_at(1, "benchmark grid", side)
        xi, v = rng.standard_normal((len(Z) + 120, 1)), rng.standard_normal((120, 1))

        def draw(way: str, Z: Any = Z, xi: Any = xi, v: Any = v) -> object:
            factor = ways[way](kernel, Z, X)
            return factor.draw(xi)[0] + factor.K_ZX @ v

        t = interleaved({way: partial(draw, way) for way in ways}, rounds)
        yield Row(
            f"rbf part on a grid of {side} × {side}, N=120",
            "dense draw",
            t["dense"] / t["axes"],
            "",
            f"{1e3 * t['axes']:.1f} ms",
        )


def threads_rows(rounds: int) -> Iterator[Row]:
    """Yield two threads over groups against one, in wall time, on an idle machine."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores - 0.5:
        print(f"  threads: not measured, {load:.1f} processes share {cores} cores")
        return
    s = setting(20, 3, 500, 1000)
    t = interleaved(
        {
            str(workers): lambda workers=workers: s.post.sample(
                s.Z, n=1, seed=1, workers=workers
            )
            for workers in (1, 2)
        },
        rounds,
        clock=time.perf_counter,
    )
    yield Row(
        "two threads, joint draw, M=20, d=3, N=500, B=1000, wall time",
        "one thread",
        t["1"] / t["2"],
        "≥ 1.7",
        f"{1e3 * t['2']:.0f} ms",
    )


def rows(rounds: int = 9) -> Iterator[Row]:
    """Yield all ratios."""
    yield from floor_rows(rounds)
    yield amortised_row(max(3, rounds // 2))
    yield from grid_rows(max(3, rounds // 2))
    yield from threads_rows(2 * rounds)  # its turns differ by a fifth


def main(argv: list[str] | None = None) -> None:
    """Print all ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    show_rows("Factors", rows(parser.parse_args(argv).rounds))


if __name__ == "__main__":
    main()
