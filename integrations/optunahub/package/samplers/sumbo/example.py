"""Minimise a sum of small parts in 20 parameters."""

import math

import optuna
import optunahub


def objective(trial: optuna.Trial) -> float:
    """Return the sum of ten functions of two neighbouring parameters each."""
    x = [trial.suggest_float(f"x{i:02d}", -2.0, 3.0) for i in range(20)]
    pairs = zip(x[::2], x[1::2], strict=True)
    return sum((a - 0.7) ** 2 + (b + 0.4 * a) ** 2 + math.sin(3 * a) for a, b in pairs)


if __name__ == "__main__":
    module = optunahub.load_module(package="samplers/sumbo")
    sampler = module.SumboSampler(seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=100)
    print(study.best_value, study.best_params)
