"""One run of a rival optimizer, in the rivals' own environment (`make rivals`).

    .venv-rivals/bin/python benchmarks/rivals.py optuna-gp ackley10 SEED [EVALUATIONS]

Prints one JSON line: the best value, and the CPU seconds of all asks and tells. The
problems come from sumbo, so that both sides see the same functions and initial points.
"""

import argparse
import importlib
import json
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from sumbo import problems
from sumbo.rng import rng_at

N_INIT = 20


def instance(name: str, seed: int) -> tuple[Any, np.ndarray]:
    """Return the problem of that seed and its uniform initial points."""
    settings = {"seed": seed} if problems.info(name).seeded else {}
    problem = problems.get(name, **settings)
    lo, hi = problem.bounds.T
    U = rng_at(seed, f"benchmark {name}").random((N_INIT, problem.dim))
    return problem, lo + (hi - lo) * U


def run_optuna(sampler: str) -> Callable[[Any, np.ndarray, int, int], float]:
    """Return a runner of an Optuna sampler by its name."""

    def run(problem: Any, X: np.ndarray, n: int, seed: int) -> float:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        makers = {
            "gp": lambda: optuna.samplers.GPSampler(seed=seed, n_startup_trials=N_INIT),
            "tpe": lambda: optuna.samplers.TPESampler(seed=seed, multivariate=True),
            "cmaes": lambda: optuna.samplers.CmaEsSampler(seed=seed),
        }
        study = optuna.create_study(sampler=makers[sampler]())
        names = [f"x{j:02d}" for j in range(problem.dim)]
        space = {
            name: optuna.distributions.FloatDistribution(lo, hi)
            for name, (lo, hi) in zip(names, problem.bounds, strict=True)
        }
        for x in X:
            params = dict(zip(names, x, strict=True))
            value = float(problem(x))
            study.add_trial(
                optuna.trial.create_trial(
                    params=params, distributions=space, value=value
                )
            )
        for _ in range(n - len(X)):
            trial = study.ask(space)
            x = np.array([trial.params[name] for name in names])
            study.tell(trial, float(problem(x)))
        return study.best_value

    return run


def run_botorch(problem: Any, X: np.ndarray, n: int, seed: int) -> float:
    """Return the best value of SingleTaskGP with LogEI, BoTorch's defaults."""
    import torch
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Standardize
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    lo, hi = problem.bounds.T
    U = (X - lo) / (hi - lo)
    y = problem(X)
    box = torch.stack([torch.zeros(problem.dim), torch.ones(problem.dim)])
    while len(y) < n:
        Y = torch.tensor(-y)[:, None]
        model = SingleTaskGP(torch.tensor(U), Y, outcome_transform=Standardize(m=1))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        acquisition = LogExpectedImprovement(model, best_f=Y.max())
        u, _ = optimize_acqf(
            acquisition, bounds=box, q=1, num_restarts=10, raw_samples=512
        )
        u = u.detach().numpy()
        U = np.vstack([U, u])
        y = np.append(y, problem(lo + (hi - lo) * u))
    return float(y.min())


RIVALS: dict[str, Callable[[Any, np.ndarray, int, int], float]] = {
    "optuna-gp": run_optuna("gp"),
    "optuna-tpe": run_optuna("tpe"),
    "optuna-cmaes": run_optuna("cmaes"),
    "botorch-logei": run_botorch,
}
# What a run imports on its way.
MODULES = {
    "optuna-gp": ("optuna", "torch", "scipy.optimize", "scipy.stats"),
    "optuna-tpe": ("optuna",),
    "optuna-cmaes": ("optuna", "cmaes"),
    "botorch-logei": ("botorch.acquisition", "botorch.fit", "botorch.optim"),
}


def main() -> None:
    """Run one rival once and print its line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("rival", choices=sorted(RIVALS))
    parser.add_argument("problem")
    parser.add_argument("seed", type=int)
    parser.add_argument("evaluations", type=int, nargs="?", default=120)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    problem, X = instance(given.problem, given.seed)
    for module in MODULES[given.rival]:  # imports are not counted
        importlib.import_module(module)
    begin = time.process_time()
    best = RIVALS[given.rival](problem, X, given.evaluations, given.seed)
    seconds = time.process_time() - begin
    asks = given.evaluations - N_INIT
    json.dump(
        {
            "rival": given.rival,
            "problem": given.problem,
            "seed": given.seed,
            "best": best,
            "cpu_per_ask_s": seconds / asks,
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()
