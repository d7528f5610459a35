"""Optimisers of constrained problems, each a function of a problem and its design.

Each returns value and outcomes of all evaluated points, in order. An optimiser that
does not take known constraints is told them as outcomes that it has to learn, and a
point that breaks one of them counts as infeasible.
"""

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

import sumbo
from benchmarks.constrained.problems import Evaluated, Problem
from sumbo.space import Categorical, Integer, Space
from sumbo.space.linear import rows_of

Optimiser = Callable[[Problem, np.ndarray, int, int], list[Evaluated]]

NEEDS = {
    "optuna-tpe": ("optuna",),
    "optuna-gp": ("optuna", "torch"),
    "botorch": ("botorch",),
}
# What an equation may miss where an optimiser has to learn it.
TOLERANCE = 1e-2


def lacking(method: str) -> str:
    """Return the first missing library that a method needs, or ""."""
    return next((m for m in NEEDS.get(method, ()) if find_spec(m) is None), "")


def with_known(problem: Problem) -> Callable[[np.ndarray], Evaluated]:
    """Return the problem with its known constraints among the outcomes."""
    space = Space.of(problem.bounds).constrained(problem.known)
    linear = space.region.linear if space.region is not None else ()
    C, lower, upper = rows_of(linear, space.names)

    def evaluate(x: np.ndarray) -> Evaluated:
        x = np.asarray(x, dtype=float)
        value, outcomes = problem.evaluate(x)
        total = C @ x
        for i, (t, lo, hi) in enumerate(zip(total, lower, upper, strict=True)):
            slack = TOLERANCE if lo == hi else 0.0
            if np.isfinite(lo):
                outcomes[f"low{i}"] = float(lo - t - slack)
            if np.isfinite(hi):
                outcomes[f"high{i}"] = float(t - hi - slack)
        return value, outcomes

    return evaluate


def by_sumbo(method: str) -> Optimiser:
    """Return sumbo with a method, which takes known and measured constraints."""

    def optimise(
        problem: Problem, start: np.ndarray, budget: int, seed: int
    ) -> list[Evaluated]:
        opt = sumbo.Optimizer(
            problem.bounds,
            constraints=problem.constraints(),
            method=method,
            seed=seed,
            n_init=len(start),
            x0=start,
        )
        seen = []
        for t in range(budget):
            x = start[t] if t < len(start) else opt.ask()
            seen.append(problem.evaluate(x))
            opt.tell(x, seen[-1][0], outcomes=seen[-1][1])
        return seen

    return optimise


def by_penalty(
    problem: Problem, start: np.ndarray, budget: int, seed: int
) -> list[Evaluated]:
    """Return the run of sumbo's default on value plus violation.

    The penalty of a violation is 10 standard deviations of the initial values for each
    unit of an outcome that is scaled by its own initial standard deviation.
    """
    opt = sumbo.Optimizer(
        problem.bounds, constraints=problem.known, seed=seed, n_init=len(start)
    )
    first = [problem.evaluate(x) for x in start]
    unit = float(np.std([value for value, _ in first])) or 1.0
    scales = {
        name: float(np.std([outcomes[name] for _, outcomes in first])) or 1.0
        for name in problem.outcomes
    }
    seen = []
    for t in range(budget):
        x = start[t] if t < len(start) else opt.ask()
        seen.append(problem.evaluate(x))
        value, outcomes = seen[-1]
        broken = sum(max(0.0, g) / scales[name] for name, g in outcomes.items())
        opt.tell(x, value + 10.0 * unit * broken)
    return seen


def by_optuna(kind: str) -> Optimiser:
    """Return a sampler of Optuna with default settings and constraints."""

    def optimise(
        problem: Problem, start: np.ndarray, budget: int, seed: int
    ) -> list[Evaluated]:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        warnings.simplefilter("ignore")
        space, evaluate = Space.of(problem.bounds), with_known(problem)
        samplers: dict[str, Any] = {
            "tpe": optuna.samplers.TPESampler,
            "gp": optuna.samplers.GPSampler,
        }
        options = {"deterministic_objective": True} if kind == "gp" else {}
        sampler = samplers[kind](
            seed=seed,
            n_startup_trials=len(start),
            constraints_func=lambda trial: trial.user_attrs["g"],
            **options,
        )
        study = optuna.create_study(sampler=sampler)
        for x in start:
            study.enqueue_trial(space.as_dict(x))
        seen = []

        def objective(trial: Any) -> float:
            x = np.array([_suggested(trial, p) for p in space.parameters])
            value, outcomes = evaluate(x)
            trial.set_user_attr("g", list(outcomes.values()))
            seen.append((value, outcomes))
            return value

        study.optimize(objective, n_trials=budget)
        return seen

    return optimise


def _suggested(trial: Any, p: Any) -> Any:
    if isinstance(p, Categorical):
        return trial.suggest_categorical(p.name, p.choices)
    if isinstance(p, Integer):
        return trial.suggest_int(p.name, p.lo, p.hi, log=p.log)
    return trial.suggest_float(p.name, p.lo, p.hi, log=p.log)


def by_botorch(
    problem: Problem, start: np.ndarray, budget: int, seed: int
) -> list[Evaluated]:
    """Return the run of BoTorch's constrained LogEI under one GP for each output."""
    import torch
    from botorch.acquisition.analytic import (
        LogConstrainedExpectedImprovement,
        LogProbabilityOfFeasibility,
    )
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import ModelListGP, SingleTaskGP
    from botorch.models.transforms import Standardize
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import SumMarginalLogLikelihood

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    warnings.simplefilter("ignore")
    space, evaluate = Space.of(problem.bounds), with_known(problem)
    U = space.encode(start)
    seen = [evaluate(x) for x in start]
    box = torch.tensor([[0.0], [1.0]], dtype=torch.float64).expand(2, space.dim)
    while len(seen) < budget:
        G = np.array([list(outcomes.values()) for _, outcomes in seen])
        Y = np.column_stack([[-value for value, _ in seen], G])
        models = [
            SingleTaskGP(
                torch.tensor(U),
                torch.tensor(column)[:, None],
                outcome_transform=Standardize(m=1),
            )
            for column in Y.T
        ]
        model = ModelListGP(*models)
        fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
        limits = {i + 1: (None, 0.0) for i in range(G.shape[1])}
        feasible = (G <= 0).all(axis=1)
        if feasible.any():
            acquisition = LogConstrainedExpectedImprovement(
                model, Y[feasible, 0].max(), objective_index=0, constraints=limits
            )
        else:
            acquisition = LogProbabilityOfFeasibility(model, constraints=limits)
        u, _ = optimize_acqf(
            acquisition, bounds=box, q=1, num_restarts=10, raw_samples=512
        )
        u = space.snap(u.detach().numpy())
        U = np.vstack([U, u])
        seen.append(evaluate(space.decode(u)[0]))
    return seen


OPTIMISERS: dict[str, Optimiser] = {
    "sumbo": by_sumbo("logei"),
    "sumbo-ts": by_sumbo("ts"),
    "penalty": by_penalty,
    "optuna-tpe": by_optuna("tpe"),
    "optuna-gp": by_optuna("gp"),
    "botorch": by_botorch,
}
