"""Workers on one Optuna study, to be killed or to run side by side.

``optuna_worker.py kill URL NUMBER PLACE`` hangs in trial NUMBER after PLACE parameters;
``optuna_worker.py share KIND PATH METHOD`` runs twelve trials.
"""

import sys
import time

import optuna
from optuna.storages.journal import JournalFileBackend

from sumbo.integrations.optuna import SumboSampler, finish_running

TRIALS = 14


def resume(url, hang_at=-1, place=0):
    """Bring the study to its full number of trials, and return it."""

    def objective(trial):
        values = []
        for j, name in enumerate("xyz"):
            if (trial.number, j) == (hang_at, place):
                hang()
            values.append(trial.suggest_float(name, -1.3, 2.6))
        if (trial.number, 3) == (hang_at, place):
            hang()
        x, y, z = values
        return (x - 0.7) ** 2 + abs(y * z - 0.4)

    settings = {"candidates": 25, "starts": 1, "refit": 3}
    study = optuna.create_study(
        study_name="killed",
        storage=url,
        sampler=SumboSampler(seed=11, n_startup_trials=5, **settings),
        load_if_exists=True,
    )
    finish_running(study, objective)
    study.optimize(objective, n_trials=TRIALS - len(study.trials))
    return study


def hang():
    sys.stdout.write("hanging\n")
    sys.stdout.flush()
    time.sleep(600)


def storage_of(kind, path):
    if kind == "journal":
        return optuna.storages.JournalStorage(JournalFileBackend(path))
    patience = {"connect_args": {"timeout": 60}}
    return optuna.storages.RDBStorage(f"sqlite:///{path}", engine_kwargs=patience)


def share(kind, path, method):
    """Run twelve trials; every worker wants the same corner."""

    def corner(trial):
        return sum(trial.suggest_float(f"x{i}", -0.7, 1.6) for i in range(4))

    study = optuna.load_study(
        study_name="shared",
        storage=storage_of(kind, path),
        sampler=SumboSampler(method, seed=6, n_startup_trials=8),
    )
    study.optimize(corner, n_trials=12)


if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    if sys.argv[1] == "kill":
        resume(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        share(*sys.argv[2:])
