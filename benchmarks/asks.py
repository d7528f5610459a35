"""What a point costs in a run with many observations, in CPU time and memory.

Run with ``python -m benchmarks.asks``; ``--quick`` takes a minute, and ``--errors``
compares the projected posterior with the exact one. Every measurement is a process of
its own, so that its peak memory is that of one run.
"""

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any, cast

import numpy as np

from benchmarks.timing import Growth, show
from sumbo import AdditiveGP, Optimizer
from sumbo.data import prepare
from sumbo.gp import Posterior
from sumbo.gp.solvers import Projected
from sumbo.rng import rng_at
from sumbo.sampling.expansion import expand_projected
from sumbo.space import Space
from sumbo.surrogate.large import MANY, important_rows
from sumbo.typing import Float, ndarray

P = 20
PAIRS = ((0, 1), (2, 3))
KNOWN = (*PAIRS, *((p,) for p in range(4, P)))
SIZES = (1000, 2000, 5000, 10_000)
# CPU seconds that were asked for: of the first ask, and of a later one.
ASKED = {1000: (3.0, 0.2), 10_000: (60.0, 2.0)}
LATER = 12


def function(X: Float[ndarray, "n P"]) -> Float[ndarray, " n"]:
    """Return a sum of waves along 20 coordinates, with two interactions."""
    speeds = rng_at(3, "asks").uniform(2, 9, X.shape[1])
    waves = np.sin(X * speeds).sum(axis=1) / np.sqrt(X.shape[1])
    first, second = (X[:, list(pair)] for pair in PAIRS)
    return (
        waves
        + 0.5 * np.sin(5 * first[:, 0] * first[:, 1])
        + 0.3 * np.cos(6 * second[:, 0] * second[:, 1])
    )


def measure_here(N: int, method: str, groups: str) -> dict[str, Any]:
    """Return the CPU time of asks given N observations, and the peak memory in GiB."""
    X = rng_at(5, "asks", N).random((N, P))
    settings: dict[str, Any] = {} if groups == "auto" else {"groups": KNOWN}
    opt = Optimizer([(0.0, 1.0)] * P, method=method, seed=0, **settings)
    opt.tell(X, function(X))
    x, first = opt.ask(), opt.info.ask_cpu_s
    later = []
    for _ in range(LATER):
        opt.tell(x, float(function(x[None])[0]))
        x = opt.ask()
        later.append(opt.info.ask_cpu_s)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"first": first, "later": median(later), "peak": peak}


def measure(N: int, method: str, groups: str) -> dict[str, Any]:
    """Return ``measure_here`` of another process."""
    job = ["-W", "ignore", "-m", "benchmarks.asks", "--one", str(N), method, groups]
    done = subprocess.run(
        [sys.executable, *job], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def rows() -> Iterator[tuple[str, str, float, str, str]]:
    """Yield what `make bench` keeps: time against what was asked, memory beside it."""
    for method in ("logei", "ts"):
        for N, (first, later) in ASKED.items():
            found = measure(N, method, "auto")
            memory = f"{found['peak']:.1f} GiB"
            for what, asked in (("first", first), ("later", later)):
                text = f"{found[what]:.2f} s, {memory}"
                name = f"{method}, {what} ask, N={N}, P={P}"
                yield name, f"{asked:g} s", found[what] / asked, "≤ 1", text


def curves() -> Iterator[Growth]:
    """Yield how the time of a later ask grows."""
    for method in ("logei", "ts"):
        seconds = [measure(N, method, "auto")["later"] for N in SIZES]
        yield Growth(f"{method}, later ask, P={P}", "N", SIZES, seconds)


def twins(N: int) -> tuple[Posterior, Posterior, Float[ndarray, "n P"]]:
    """Return an exact and a projected posterior of one model, and its best points.

    Half of the observations lie around one point, as in a run that converges.
    """
    rng = rng_at(8, "asks errors", N)
    groups = [*KNOWN, tuple(range(P))]
    lengths = [rng.uniform(0.2, 0.6, len(group)) for group in KNOWN]
    gp = AdditiveGP(
        groups=groups,
        lengthscales=[*lengths, np.full(P, 2.0)],
        variances=[*np.full(len(KNOWN), 0.05), 0.2],
        noise=1e-5,
    )
    best = rng.random(P)
    steps = 10 ** rng.uniform(-2.5, -0.5, (N // 2, 1))
    near = np.clip(best + steps * rng.standard_normal((N // 2, P)), 0, 1)
    X = np.vstack([rng.random((N - N // 2, P)), near])
    y = function(X) + np.sum((X - best) ** 2, axis=1)
    y = (y - y.mean()) / y.std()
    data = prepare(
        U=X,
        y=y,
        failed=np.zeros(N, dtype=bool),
        pending=np.empty((0, P)),
        domain=Space.of([(0, 1)] * P),
        step=N,
    )
    anchors = important_rows(data, MANY.anchors)
    exact = gp.condition(X, y)
    return exact, gp.condition(X, y, how="projected", anchors=anchors), X[data.order]


def errors(N: int) -> list[list[str]]:
    """Return how far the projected moments and draws are from the exact ones."""
    exact, near, X = twins(N)
    rng = rng_at(9, "asks errors")
    places = {
        "uniform": rng.random((100, P)),
        "around the best": np.clip(
            X[:100] + 0.05 * rng.standard_normal((100, P)), 0, 1
        ),
    }
    out = []
    for name, U in places.items():
        (mean, var), (found_mean, found_var) = exact.predict(U), near.predict(U)
        Z = [U[:, list(group)] for group in exact.gp.groups]
        solver = cast(Projected, near.solver)
        drawn = expand_projected(rng, near, solver, Z, 400)
        draws = np.sum([part.values for part in drawn], axis=0).std(axis=0)
        out.append(
            [
                f"{N}, {name}",
                f"{np.sqrt(np.mean((found_mean - mean) ** 2 / var)):.2f}",
                f"{np.sqrt(np.median(found_var / var)):.2f}",
                f"{np.median(draws / np.sqrt(var)):.2f}",
            ]
        )
    return out


def main(argv: Sequence[str] | None = None) -> None:
    """Run all measurements and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1 000 observations only")
    parser.add_argument("--errors", action="store_true", help="errors, not times")
    parser.add_argument("--one", nargs=3, metavar=("N", "METHOD", "GROUPS"))
    options = parser.parse_args(argv)
    if options.one:
        N, method, groups = options.one
        print(json.dumps(measure_here(int(N), method, groups)))
        return
    if options.errors:
        header = ("observations, points", "mean, in sd", "sd, ratio", "sd of draws")
        table = [row for N in (1000, 2000, 4000) for row in errors(N)]
        show("The projected posterior against the exact one", header, table)
        return
    table = []
    for method in ("logei", "ts"):
        for groups in ("auto", "known"):
            for N in SIZES[:1] if options.quick else SIZES:
                found = measure(N, method, groups)
                cells = [f"{found[key]:.2f}" for key in ("first", "later", "peak")]
                table.append([method, groups, str(N), *cells])
                print("|", " | ".join(table[-1]), "|", flush=True)
    header = ("method", "groups", "observations", "first ask, s", "later, s", "GiB")
    show(f"Asks, {P} parameters: CPU time", header, table)


if __name__ == "__main__":
    main()
