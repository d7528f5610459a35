"""How the time of a joint draw grows with every size, beside all others who can draw.

    python -m benchmarks growth

From M = 5 parts of d = 2 coordinates, N = 100 observations and B = 200 candidates per
part, one size varies at a time. The contestants:

* joint: ``Posterior.sample``, every part at its B candidates;
* LAPACK: Cholesky factors of the same kernel matrices, which are given;
* naive: the joint covariance of all parts, factorized;
* listing: the recursion of the paper's appendix, in NumPy;
* GPyTorch: its posterior of the sum at B whole points, which is less than the parts;
* OrthogonalAdditiveGP: BoTorch's posterior of every part on its own, at B points.
  It has parts of one coordinate only, and is compared with our draw of such parts.

The last two need ``make rivals``, and are left out where torch is missing.
"""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.sampling import MOST_NAIVE, Setting, listing, setting
from benchmarks.timing import Growth, Row, interleaved
from sumbo.linalg import lapack
from sumbo.rng import rng_at
from sumbo.sampling.factors import LADDER

BASE = {"M": 5, "d": 2, "N": 100, "B": 200}
GRIDS = {
    "M": (5, 10, 20, 40),
    "d": (2, 3, 5, 8),
    "N": (100, 200, 400, 800),
    "B": (200, 400, 800, 1600),
}
DRAWS = (1, 10, 100)
ROUNDS = 5
Contestants = dict[str, Callable[[], object]]


def factorizations(s: Setting) -> Callable[[], None]:
    """Return LAPACK's work on the kernel matrices of candidates and observations."""
    parts = zip(s.post.gp.kernels, s.post.groups(), s.Z, strict=True)
    grams = [
        np.asfortranarray(kernel(A, A))
        for kernel, (_, X), Z in parts
        for A in (np.vstack([Z, X]),)
    ]
    for K in grams:
        np.fill_diagonal(K, K.diagonal() * (1 + LADDER[0]))
    work = np.empty_like(grams[0])

    def run() -> None:
        for K in grams:
            work[:] = K
            lapack.dpotrf(work, lower=1, clean=0, overwrite_a=1)

    return run


def gpytorch_draw(s: Setting, n: int) -> Callable[[], object]:
    """Return n draws of the sum at B whole points from GPyTorch's posterior."""
    import torch
    from botorch.models import SingleTaskGP
    from gpytorch.kernels import MaternKernel, ScaleKernel

    torch.set_num_threads(1)
    gp, kernel = s.post.gp, None
    for group, part in zip(gp.groups, gp.kernels, strict=True):
        matern = MaternKernel(nu=2.5, ard_num_dims=len(group), active_dims=group)
        matern.lengthscale = torch.tensor(part.lengthscales)
        scaled = ScaleKernel(matern)
        scaled.outputscale = part.variance
        kernel = scaled if kernel is None else kernel + scaled
    X, y = torch.tensor(s.post.X), torch.tensor(s.post.y)[:, None]
    model = SingleTaskGP(X, y, covar_module=kernel, outcome_transform=None).eval()
    model.likelihood.noise = gp.noise
    points = torch.tensor(np.hstack(s.Z))
    return _draws(lambda: model.posterior(points), n)


def orthogonal_draw(s: Setting, n: int) -> Callable[[], object]:
    """Return n draws of every part on its own from BoTorch's additive model."""
    import torch
    from botorch.models.additive_gp import OrthogonalAdditiveGP

    torch.set_num_threads(1)
    X, y = torch.tensor(s.post.X), torch.tensor(s.post.y)[:, None]
    model = OrthogonalAdditiveGP(X, y).eval()
    points = torch.tensor(np.hstack(s.Z))
    return _draws(lambda: model.posterior(points, infer_all_components=True), n)


def _draws(posterior: Callable[[], Any], n: int) -> Callable[[], object]:
    import torch

    def draw() -> object:
        # The factor of the data is kept from the first call, as ours is.
        with torch.no_grad():
            return posterior().rsample(torch.Size([n]))

    return draw


def contestants(s: Setting, n: int) -> Contestants:
    """Return everybody who can make n draws at this size."""
    M, d, _, B = s.sides
    found: Contestants = {
        "joint": lambda: s.post.sample(s.Z, n=n, how="joint", seed=1),
        "LAPACK": factorizations(s),
        "listing": lambda: listing(rng_at(1, "listing"), s, n),
    }
    if M * B <= MOST_NAIVE // 2:
        found["naive"] = lambda: s.post.sample(s.Z, n=n, how="naive", seed=1)
    if find_spec("botorch") is not None:
        found["GPyTorch, the sum"] = gpytorch_draw(s, n)
        if d == 1:
            found["OrthogonalAdditiveGP"] = orthogonal_draw(s, n)
    return found


def rows(rounds: int = ROUNDS) -> Iterator[Row]:
    """Yield every rival's time over ours, and ten draws over one, at every size."""
    sizes = [{**BASE, name: size} for name, grid in GRIDS.items() for size in grid]
    sizes += [{**BASE, "M": 10, "d": 1}, {**BASE, "M": 20, "d": 1, "B": 800}]
    for size in _unique(sizes):
        s = setting(**size)
        what = "joint draw, M={M}, d={d}, N={N}, B={B}".format(**size)
        entries = contestants(s, 1)
        entries["ten"] = contestants(s, 10)["joint"]
        t = interleaved(entries, rounds)
        one, ten = t.pop("joint"), t.pop("ten")
        for rival, seconds in t.items():
            yield Row(what, rival, seconds / one, "", f"{1e3 * one:.3g} ms")
        yield Row(f"{what}, ten draws", "one draw", ten / one, "≤ 1.2")


def curves(rounds: int = ROUNDS) -> Iterator[Growth]:
    """Yield how the time of each contestant grows with the number of draws."""
    s = setting(**BASE)
    times: dict[str, list[float]] = {}
    for n in DRAWS:
        for name, seconds in interleaved(contestants(s, n), rounds).items():
            times.setdefault(name, []).append(seconds)
    for name, seconds in times.items():
        if name != "LAPACK":
            yield Growth(f"{name}, M=5, d=2, N=100, B=200", "draws", DRAWS, seconds)


def _unique(sizes: list[dict[str, int]]) -> list[dict[str, int]]:
    return [size for i, size in enumerate(sizes) if size not in sizes[:i]]
