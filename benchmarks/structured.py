"""The linear-time draws of one-coordinate Matérn parts, against the dense ones.

Run with ``python -m benchmarks.structured``; ``--quick`` takes a few seconds. Both are
``post.sample``; the dense one has the linear form switched off.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from benchmarks.timing import Growth, at_least, at_most, exponent, interleaved, show
from sumbo import AdditiveGP
from sumbo.gp import Posterior
from sumbo.rng import rng_at
from sumbo.sampling import joint

GROWTH = {
    "B": [(20, 100, B) for B in (4000, 8000, 16000, 32000)],
    "N": [(20, N, 100) for N in (500, 1000, 2000)],
    "M": [(M, 100, 4000) for M in (20, 40, 80, 160)],
}


def setting(M: int, N: int, B: int) -> tuple[Posterior, list[np.ndarray]]:
    """Return a posterior of M one-coordinate parts and B candidates for each."""
    rng = rng_at(5, "structured", M, N, B)
    gp = AdditiveGP(
        groups=[(m,) for m in range(M)],
        kernel="matern52",
        lengthscales=rng.uniform(0.15, 0.6, M),
        noise=1e-2,
    )
    X = rng.random((N, M))
    y = np.sin(3 * X).sum(axis=1) / np.sqrt(M) + 0.1 * rng.standard_normal(N)
    return gp.condition(X, y), [rng.random((B, 1)) for _ in range(M)]


@contextmanager
def dense_only() -> Iterator[None]:
    """Switch the linear form off."""
    before = joint.LEAST_POINTS
    joint.LEAST_POINTS = 10**12
    try:
        yield
    finally:
        joint.LEAST_POINTS = before


def contestants(
    post: Posterior, Z: list[np.ndarray], n: int, how: str = "joint"
) -> dict[str, Callable[[], list[np.ndarray]]]:
    """Return the two ways to make n draws."""

    def linear() -> list[np.ndarray]:
        return post.sample(Z, n=n, how=how, seed=1)

    def dense() -> list[np.ndarray]:
        with dense_only():
            return post.sample(Z, n=n, how=how, seed=1)

    return {"linear": linear, "dense": dense}


def check_contestants() -> str:
    """Return a sentence on whether both have one distribution, and differ at all."""
    post, Z = setting(3, 600, 6)
    mean = np.concatenate([part.mean for part in post.parts(Z)])
    cov = post.joint_covariance(Z)
    n, worst, draws = 40, {}, {}
    for name, f in contestants(post, Z, n).items():
        draws[name] = np.hstack(f())
        z = (draws[name].mean(axis=0) - mean) / np.sqrt(cov.diagonal() / n)
        worst[name] = float(np.abs(z).max())
    if (draws["linear"] == draws["dense"]).any():
        return "the two ways made the same draws: the switch does nothing. FAILED"
    text = ", ".join(f"{name} {z:.1f}" for name, z in worst.items())
    return f"largest |z| of 18 means of {n} draws (below 4.5 is agreement): {text}"


def measure_ratios(rounds: int, sizes: Sequence[tuple[int, int, int]]) -> None:
    """Print how much faster the linear draw is."""
    rows = []
    for M, N, B in sizes:
        post, Z = setting(M, N, B)
        # Many draws share the dense factor; one size is enough to see it.
        for n in (1, 10) if B < 1000 else (1,):
            t = interleaved(contestants(post, Z, n), rounds)
            ratio = t["dense"] / t["linear"]
            target = (M, N, B) == (60, 500, 2000)
            rows.append(
                [
                    f"{M}, {N}, {B}",
                    str(n),
                    f"{1e3 * t['linear']:.0f} ms",
                    f"{1e3 * t['dense']:.0f} ms",
                    at_least(ratio, 50) if target else f"{ratio:.1f}",
                ]
            )
    header = ("M, N, B", "draws", "linear", "dense", "dense / linear")
    title = "CPU time of joint draws. Target: ≥ 50 at M = 60, N = 500, B = 2000"
    show(title, header, rows)


def measure_growth(rounds: int) -> None:
    """Print how the linear draw grows with each size, as fitted exponents.

    The factor of the data is made before, and one solve with it takes O(N²).
    """
    rows = []
    for name, sizes in GROWTH.items():
        entries = {}
        for size in sizes:
            post, Z = setting(*size)
            entries[str(size)] = contestants(post, Z, 1)["linear"]
        t = interleaved(entries, rounds)
        total = [s[0] * (s[1] + s[2]) for s in sizes]
        slope = at_most(exponent(total, list(t.values())), 1.15)
        texts = ", ".join(f"{1e3 * seconds:.0f}" for seconds in t.values())
        rows.append([name, " ".join(map(str, sizes)), texts, slope])
    header = ("varied", "(M, N, B)", "ms", "exponent")
    show("Growth of one linear draw with M (N + B). Target: ≤ 1.15", header, rows)


def rows() -> Iterator[tuple[str, str, float, str, str]]:
    """Yield the ratios that `make bench` keeps."""
    for how, (M, N, B), asked, rounds in (
        ("joint", (20, 120, 500), "", 5),
        ("joint", (60, 500, 2000), "≥ 50", 1),
        ("marginal", (60, 500, 2000), "", 1),
    ):
        t = interleaved(contestants(*setting(M, N, B), 1, how), rounds)
        what = f"{how} draw, M={M}, d=1, N={N}, B={B}"
        ratio, ours = t["dense"] / t["linear"], f"{1e3 * t['linear']:.0f} ms"
        yield what, f"dense {how} draw", ratio, asked, ours


def curves() -> Iterator[Growth]:
    """Yield how the linear draw grows with each size."""
    for name, sizes in GROWTH.items():
        entries = {
            str(size): contestants(*setting(*size), 1)["linear"] for size in sizes
        }
        t = interleaved(entries, 3)
        total = [M * (N + B) for M, N, B in sizes]
        yield Growth(
            f"one linear draw, {name} varied",
            "M (N + B)",
            total,
            list(t.values()),
            "≤ 1.15",
        )


def main(argv: Sequence[str] | None = None) -> None:
    """Run all measurements and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds and sizes")
    parser.add_argument("--rounds", type=int, default=3, help="of which the median")
    options = parser.parse_args(argv)
    print(check_contestants())
    sizes = [(20, 120, 500)] if options.quick else [(20, 120, 500), (60, 500, 2000)]
    measure_ratios(1 if options.quick else options.rounds, sizes)
    if not options.quick:
        measure_growth(options.rounds)


if __name__ == "__main__":
    main()
