"""How fast are joint draws? Ratios to the alternatives, growth, and memory.

    python -m benchmarks.sampling [--quick] [--rounds 9]

One BLAS thread, CPU time, medians of interleaved rounds; see ``timing.py``. The whole
takes a few minutes.
"""

import argparse
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.timing import (
    Growth,
    Row,
    at_least,
    at_most,
    exponent,
    interleaved,
    show,
    show_curves,
)
from sumbo import AdditiveGP, Posterior
from sumbo.rng import rng_at

# (M, d, N, B): groups, coordinates per group, observations, candidates per group.
SIZES = ((5, 2, 120, 500), (10, 1, 120, 500), (20, 3, 120, 500))
# The paper gives no value for its eps_chol; smaller ones fail at 500 candidates.
EPS_CHOL = 1e-8
# A naive draw factorizes (M·B)² doubles: 0.8 GB at M = 20, several times over.
MOST_NAIVE = 5000


class Setting(NamedTuple):
    """A posterior and candidates of one size."""

    post: Posterior
    Z: list[np.ndarray]

    @property
    def sides(self) -> tuple[int, int, int, int]:
        """The sizes M, d, N, B."""
        Zm = self.Z[0]
        return len(self.Z), Zm.shape[1], self.post.N, len(Zm)


def setting(M: int, d: int, N: int, B: int, noise: float = 1e-2) -> Setting:
    """Return a posterior on M groups of d coordinates and B candidates for each."""
    rng = rng_at(0, "benchmark sampling", M, d, N, B)
    groups = tuple(tuple(range(m * d, m * d + d)) for m in range(M))
    gp = AdditiveGP(groups=groups, noise=noise)
    X = rng.random((N, M * d))
    y = np.sin(7 * X).sum(axis=1) / np.sqrt(M * d) + 0.1 * rng.standard_normal(N)
    return Setting(gp.condition(X, y), [rng.random((B, d)) for _ in groups])


# ---------------------------------------------------------------------- the listing
def listing_kernels(s: Setting) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return KXX, KAX, KAA of all groups as batched arrays, with A = [Z, X].

    Written as one writes it in NumPy: differences by broadcasting, one coordinate at
    a time (all at once needs d times the memory and is slower).
    """
    gp, N = s.post.gp, s.post.N
    X = np.stack([s.post.X[:, list(group)] for group in gp.groups])
    A = np.concatenate([np.stack(s.Z), X], axis=1)
    l = np.stack([kernel.lengthscales for kernel in gp.kernels])[:, None, :]
    A = A / l
    squared = np.zeros((len(A), A.shape[1], A.shape[1]))
    for j in range(A.shape[2]):
        squared += (A[:, :, None, j] - A[:, None, :, j]) ** 2
    a = np.sqrt(5 * squared)
    KAA = gp.variances[:, None, None] * (1 + a + a**2 / 3) * np.exp(-a)
    B = A.shape[1] - N
    return KAA[:, B:, B:], KAA[:, :, B:], KAA


def listing_algebra(
    rng: np.random.Generator,
    s: Setting,
    kernels: tuple[np.ndarray, np.ndarray, np.ndarray],
    n: int,
) -> list[np.ndarray]:
    """Return n joint draws by the recursion of [wycoff2025], App. A, in NumPy.

    All groups are conditioned in one batched solve and one batched Cholesky on the
    augmented sets; then parts are drawn from the last to the first, each given what
    the later ones leave of the observations.
    """
    KXX, KAX, KAA = kernels
    M, size, N = KAX.shape
    B = size - N
    KXX_sums = np.cumsum(KXX, axis=0)
    noise = s.post.gp.noise * np.eye(N)
    gain = np.linalg.solve(KXX_sums + noise, np.swapaxes(KAX, 1, 2))
    cov = KAA - KAX @ gain
    L = np.linalg.cholesky(cov + EPS_CHOL * np.eye(size))
    centred = L @ rng.standard_normal((M, size, n))
    at_X = np.zeros((M, N, n))
    out = [np.empty(0)] * M
    for m in range(M - 1, -1, -1):
        residual = (s.post.y - s.post.gp.mean)[:, None] - at_X[m + 1 :].sum(axis=0)
        drawn = centred[m] + gain[m].T @ residual
        out[m], at_X[m] = drawn[:B].T, drawn[B:]
    return out


def listing(rng: np.random.Generator, s: Setting, n: int) -> list[np.ndarray]:
    """Return n joint draws by the paper's listing, kernel matrices included."""
    return listing_algebra(rng, s, listing_kernels(s), n)


def check_contestants() -> str:
    """Return a sentence on whether all exact contestants have the same distribution.

    A benchmark of something else would be worthless: mean and covariance of 20 000
    draws are compared with the exact ones, as z-scores.
    """
    s = setting(3, 2, 12, 5)
    mean = np.concatenate([part.mean for part in s.post.parts(s.Z)])
    cov = s.post.joint_covariance(s.Z)
    n = 20_000
    worst = {}
    for name, f in contestants(s, n).items():
        deviation = np.hstack(f()) - mean
        z_mean = deviation.mean(axis=0) / np.sqrt(cov.diagonal() / n)
        error = np.sqrt((np.outer(cov.diagonal(), cov.diagonal()) + cov**2) / n)
        z_cov = (deviation.T @ deviation / n - cov) / error
        worst[name] = max(np.abs(z_mean).max(), np.abs(z_cov).max())
    text = ", ".join(f"{name} {z:.1f}" for name, z in worst.items())
    return f"largest |z| of 135 moments (below 5 is agreement): {text}"


def contestants(s: Setting, n: int) -> dict[str, Callable[[], list[np.ndarray]]]:
    """Return one function per sampler, each making n draws."""

    def by(how: str) -> Callable[[], list[np.ndarray]]:
        return lambda: s.post.sample(s.Z, n=n, how=how, seed=1)

    return {
        "joint": by("joint"),
        "marginal": by("marginal"),
        "sequential": by("sequential"),
        "naive": by("naive"),
        "listing": lambda: listing(rng_at(1, "listing"), s, n),
    }


# ---------------------------------------------------------------------- measurements
def measure_ratios(rounds: int, sizes: Sequence[tuple[int, int, int, int]]) -> None:
    """Print the ratios between samplers at each size, for 1 and for 10 draws."""
    rows, more = [], []
    for size in sizes:
        s = setting(*size)
        t = times_at(s, rounds)
        for n in (1, 10):
            joint = t[f"joint {n}"]
            rows.append(
                [
                    label(size),
                    str(n),
                    f"{1e3 * joint:.0f} ms",
                    at_most(joint / t[f"marginal {n}"], 1.2),
                    at_least(t[f"listing {n}"] / joint, 2),
                    f"{t[f'algebra {n}'] / joint:.2f}",
                    f"{t[f'sequential {n}'] / joint:.2f}",
                    naive_ratio(s, n),
                ]
            )
        names = ("joint", "marginal", "listing")
        ratios = [t[f"{name} 10"] / t[f"{name} 1"] for name in names]
        more.append(
            [label(size), at_most(ratios[0], 1.2), *(f"{r:.2f}" for r in ratios[1:])]
        )
    header = (
        "M, d, N, B",
        "draws",
        "joint",
        "joint / marginal",
        "listing / joint",
        "… kernels given",
        "sequential / joint",
        "naive / joint",
    )
    show("CPU time. Targets: ≤ 1.2, ≥ 2, naive ≥ 15 at M = 10", header, rows)
    header = ("10 draws / 1 draw", "joint", "marginal", "listing")
    show("Target: joint ≤ 1.2", header, more)


def label(size: tuple[int, int, int, int]) -> str:
    """Return the sizes M, d, N, B as they stand in a table."""
    return ", ".join(map(str, size))


def times_at(s: Setting, rounds: int) -> dict[str, float]:
    """Return median times of all samplers but the naive, for 1 and for 10 draws."""
    entries = {}
    kernels = listing_kernels(s)
    for n in (1, 10):
        for name, f in contestants(s, n).items():
            if name != "naive":
                entries[f"{name} {n}"] = f
        entries[f"algebra {n}"] = lambda n=n: listing_algebra(
            rng_at(1, "listing"), s, kernels, n
        )
    return interleaved(entries, rounds)


def naive_ratio(s: Setting, n: int) -> str:
    """Return naive/joint from two rounds, where the naive draw fits into memory."""
    M, _, _, B = s.sides
    if M * B > MOST_NAIVE:
        return "skipped"
    both = contestants(s, n)
    t = interleaved({name: both[name] for name in ("naive", "joint")}, 2)
    ratio = t["naive"] / t["joint"]
    return at_least(ratio, 15) if M == 10 else f"{ratio:.2f}"


def curves(rounds: int = 4) -> list[Growth]:
    """Return how the time of one draw grows with each size, from M=5, N=100, B=200."""
    base = {"M": 5, "d": 2, "N": 100, "B": 200}
    grids = {
        "M": (5, 10, 20, 40),
        "N": (100, 200, 400, 800),
        "B": (200, 400, 800, 1600),
    }
    out = []
    for name, grid in grids.items():
        times: dict[str, list[float]] = {"joint": [], "marginal": []}
        for size in grid:
            s = setting(**{**base, name: size})
            both = {how: contestants(s, 1)[how] for how in times}
            for how, seconds in interleaved(both, rounds).items():
                times[how].append(seconds)
        out += [
            Growth(f"one {how} draw", name, grid, seconds)
            for how, seconds in times.items()
        ]
    return out


def rows(rounds: int = 5) -> Iterator[Row]:
    """Yield the ratios between samplers, for one draw and for ten."""
    for size in SIZES:
        s = setting(*size)
        entries = {f"{name} 1": f for name, f in contestants(s, 1).items()}
        entries["joint 10"] = contestants(s, 10)["joint"]
        naive = {name: entries[name] for name in ("naive 1", "joint 1")}
        for name in ("naive 1", "sequential 1"):
            del entries[name]
        t = interleaved(entries, rounds)
        M, d, N, B = size
        what = f"joint draw, M={M}, d={d}, N={N}, B={B}"
        one, ours = t["joint 1"], f"{1e3 * t['joint 1']:.0f} ms"
        yield Row(what, "the paper's listing", t["listing 1"] / one, "≥ 2", ours)
        yield Row(what, "marginal draw", one / t["marginal 1"], "≤ 1.2", ours)
        # Parts of one coordinate pay for every draw, and little.
        asked = "≤ 1.2" if d > 1 else ""
        yield Row(what + ", ten draws", "one draw", t["joint 10"] / one, asked)
        if M == 10:
            t = interleaved(naive, 2)
            yield Row(what, "naive", t["naive 1"] / t["joint 1"], "≥ 15", ours)


def peak_bytes(f: Callable[[], object]) -> int:
    """Return the peak of memory allocated during one call."""
    tracemalloc.start()
    try:
        f()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def measure_memory() -> None:
    """Print the peak memory of one joint draw against M, and its growth."""
    grid = (5, 10, 20, 40, 80)
    peaks = []
    for M in grid:
        s = setting(M, 1, 120, 500)
        peaks.append(peak_bytes(contestants(s, 1)["joint"]))
    slope, start = np.polyfit(grid, peaks, 1)
    worst = float(np.abs(np.polyval([slope, start], grid) / peaks - 1).max())
    rows = [
        [str(M), f"{peak / 2**20:.1f} MiB"] for M, peak in zip(grid, peaks, strict=True)
    ]
    show("Peak memory of one joint draw at N = 120, B = 500", ["M", "peak"], rows)
    print(
        f"linear in M: {start / 2**20:.1f} + {slope / 2**20:.2f} M MiB, worst misfit "
        f"{100 * worst:.1f} %; exponent (target ≤ 1.05) "
        + at_most(exponent(grid, peaks), 1.05)
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Run all measurements and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds and sizes")
    parser.add_argument("--rounds", type=int, default=9, help="of which the median")
    options = parser.parse_args(argv)
    rounds = 3 if options.quick else options.rounds
    print(check_contestants())
    measure_ratios(rounds, SIZES[:2] if options.quick else SIZES)
    if not options.quick:
        title = "Growth of one draw from M = 5, d = 2, N = 100, B = 200"
        show_curves(title, curves(max(3, rounds // 2)))
    measure_memory()


if __name__ == "__main__":
    main()
