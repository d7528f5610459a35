"""Other optimisers under noise, each a function of a noisy objective and its design.

They return all points in order, and the row that they recommend. Optuna recommends its
best value (``study.best_trial``), BoTorch the observed point with the best posterior
mean, as its tutorials do.
"""

import warnings
from collections.abc import Callable

import numpy as np

from sumbo.typing import Float, ndarray

# Points and values so far, to the points of the whole run and the recommended row.
Run = tuple[ndarray, int]
Measure = Callable[[ndarray], float]


def by_optuna(measure: Measure, start: Float[ndarray, "n P"], n: int, seed: int) -> Run:
    """Return the run of Optuna's GP sampler, which fits a noise by default."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    P = start.shape[1]
    sampler = optuna.samplers.GPSampler(seed=seed, n_startup_trials=len(start))
    study = optuna.create_study(sampler=sampler)
    for x in start:
        study.enqueue_trial({f"x{i}": float(v) for i, v in enumerate(x)})
    X, y = [], []
    for _ in range(n):
        trial = study.ask()
        X.append([trial.suggest_float(f"x{i}", -1.0, 1.0) for i in range(P)])
        y.append(measure(np.array(X[-1])))
        study.tell(trial, y[-1])
    return np.array(X), int(np.argmin(y))


def by_botorch(
    measure: Measure, start: Float[ndarray, "n P"], n: int, seed: int
) -> Run:
    """Return the run of BoTorch's noisy expected improvement (qLogNEI)."""
    import torch
    from botorch.acquisition import qLogNoisyExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Standardize
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    warnings.simplefilter("ignore")
    X, y = start, [measure(x) for x in start]
    box = torch.tensor([[0.0], [1.0]], dtype=torch.float64).expand(2, X.shape[1])
    while True:
        U = torch.tensor((X + 1) / 2)
        Y = -torch.tensor(y)[:, None]  # BoTorch maximises
        model = SingleTaskGP(U, Y, outcome_transform=Standardize(m=1))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        if len(X) == n:
            return X, int(model.posterior(U).mean.argmax())
        acquisition = qLogNoisyExpectedImprovement(model, U, prune_baseline=True)
        u, _ = optimize_acqf(
            acquisition, bounds=box, q=1, num_restarts=10, raw_samples=512
        )
        X = np.vstack([X, 2 * u.detach().numpy() - 1])
        y.append(measure(X[-1]))


RIVALS = {"optuna-gp": by_optuna, "botorch": by_botorch}
