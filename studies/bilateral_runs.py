"""What ``bilateral.py`` plays besides decisions: batches, intervals, runs."""

from collections.abc import Iterator

import numpy as np

from sumbo import AdditiveGP, Optimizer, problems
from sumbo.decisions import DECISIONS
from sumbo.rng import rng_at
from sumbo.study.cell import run_cell
from sumbo.study.design import Cell

# Places of the parts of "balanced-box", whose draws are smooth and nearly linear.
PLACES = np.linspace(0.0, 1.0, 21)[:, None]
GRID = np.linspace(0.0, 1.0, 101)[:, None]


def play_run(
    seed: int, entry: dict, method: str, replicate: int
) -> tuple[np.ndarray, float]:
    """Return the regret of each acquisition, and that of the best value."""
    groups = problems.get(entry["label"]).groups
    cell = Cell(
        problem=entry["label"],
        method=method,
        batch=1,
        replicate=replicate,
        seed=seed,
        n_init=entry["n_init"],
        acquisitions=entry["acquisitions"],
        preset="default",
        settings={"groups": [list(group) for group in groups]},
        common_random_numbers=True,
    )
    record = run_cell(cell)
    regret = record.y - record.best_known
    return regret[cell.n_init :], regret.min()


def play_choices(
    seed: int, entry: dict, method: str, replicate: int
) -> tuple[np.ndarray, float]:
    """Return the regret of each choice from the list, and the least one."""
    own, run = rng_at(seed, "choose", replicate).integers(2**32, size=2)
    p = problems.get("designs", seed=int(own))
    values = p(p.designs)
    opt = Optimizer(
        p.space,
        method=method,
        groups="singletons",
        seed=int(run),
        n_init=entry["n_init"],
    )
    regret = np.empty(entry["rounds"])
    for t in range(entry["rounds"]):
        k = opt.choose(p.designs, repeats=True)
        noise = rng_at(seed, "choose noise", replicate, t).standard_normal()
        y = values[k] + entry["noise"] * noise
        opt.tell(p.designs[k], y, noise=entry["noise"])
        regret[t] = values[k] - values.min()
    return regret, regret.min()


def batches(
    design: dict,
) -> Iterator[tuple[str, str, int, np.ndarray, float]]:
    """Yield, per replicate, the value of a first draw and the best value of a batch."""
    seed, q = design["seed"], design["batch"]["count"]
    R = design["batch"]["replicates"]
    problem = DECISIONS.get("balanced")(seed=seed, replicates=R)
    known, worst = problem.belief(), 2 * np.sqrt(problem.factors)
    for how in ("joint", "marginal"):
        regret = np.empty((R, q))
        for i in range(q):
            drawn = getattr(known, how)(rng_at(seed, f"batch {how}", i))
            regret[:, i] = problem.regret(None, problem.best(None, drawn)) / worst
        for r, values in enumerate(regret):
            yield "batch-signs", how, r, values[:1], values.min()
    for r in range(R):
        p = problems.get("balanced-box", seed=seed + r)
        gp = AdditiveGP(
            groups=[(i,) for i in range(p.dim)],
            kernel="rbf",
            lengthscales=np.full(p.dim, 3.0),
            variances=np.ones(p.dim),
            noise=1e-4,
        )
        post = gp.condition(p.log, p(p.log))
        for how in ("joint", "marginal"):
            draws = post.sample([PLACES] * p.dim, n=q, how=how, seed=seed + r)
            X = np.stack([PLACES[d.argmin(axis=1), 0] for d in draws], axis=1)
            values = (p(X) - p.minimum) / -2 / p.minimum
            yield "batch-box", how, r, values[:1], values.min()


def intervals(design: dict) -> list[list]:
    """Return coverage and mean width of 95 % intervals of the minimum, per size.

    Parts have Matérn-5/2 kernels with length-scale 0.3 and variances that add up to 1,
    data are uniform, truths come from the model.
    """
    seed, own = design["seed"], design["interval"]
    M, R, noise = own["parts"], own["replicates"], own["noise"]
    gp = AdditiveGP(
        groups=[(m,) for m in range(M)],
        lengthscales=np.full(M, 0.3),
        variances=np.full(M, 1 / M),
        noise=noise**2,
    )
    L = np.linalg.cholesky(gp.kernels[0](GRID, GRID) + 1e-9 * np.eye(len(GRID)))
    rows = []
    for N in own["data"]:
        found: dict[str, list] = {"joint": [], "marginal": []}
        for r in range(R):
            rng = rng_at(seed, "interval", N, r)
            f = L @ rng.standard_normal((len(GRID), M))
            place = rng.integers(len(GRID), size=(N, M))
            y = f[place, np.arange(M)].sum(axis=1) + noise * rng.standard_normal(N)
            post, least = gp.condition(GRID[place, 0], y), f.min(axis=0).sum()
            for how, kept in found.items():
                draws = post.sample([GRID] * M, n=own["draws"], how=how, seed=r)
                minima = np.sum([draw.min(axis=1) for draw in draws], axis=0)
                low, high = np.quantile(minima, [0.025, 0.975])
                kept.append((low <= least <= high, high - low))
        for how, kept in found.items():
            covered, width = np.array(kept, dtype=float).mean(axis=0)
            rows.append([N, how, R, f"{covered:.3f}", f"{width:.4g}"])
    return rows
