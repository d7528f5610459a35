"""What all workers of a shared run agree on, and how one joins it."""

from dataclasses import dataclass, replace
from typing import Any

import optuna
from optuna.study import Study, StudyDirection

from sumbo.decompositions import Decomposition
from sumbo.errors import ArgumentError, MissingFunctionError, StorageError
from sumbo.integrations.optuna import SumboSampler
from sumbo.integrations.shared_options import refuse
from sumbo.integrations.shared_storage import PREFIX, STORAGE_ERRORS, SharedStorage
from sumbo.methods import Method
from sumbo.optimizer.asktell import Optimizer
from sumbo.rng import Seed
from sumbo.space import Categorical, Integer, Real, Space
from sumbo.space.constraints import tests_in

# Values that a storage gives back as they are; others are compared by their text.
_PLAIN = str | int | float | bool | None
RUN = f"{PREFIX}run"  # the study attribute with the settings of the run


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What all workers of a study agree on."""

    space: Space
    seed: int | None  # None: that of the study
    maximize: bool
    options: dict[str, Any]  # of the optimizer

    @classmethod
    def of(
        cls,
        bounds: Any,
        method: str | Method,
        groups: Any,
        seed: Seed,
        n_init: int,
        constraints: Any,
        maximize: bool,
        settings: dict[str, Any],
    ) -> "Plan":
        """Return the plan of a call.

        Raises:
            ArgumentError: If an argument has a value that cannot be used.
        """
        if settings.pop("init", "uniform") != "uniform":
            msg = "init: a run on a storage begins with uniform points. Leave it out."
            raise ArgumentError(msg)
        refuse(settings)
        options = {"method": method, "groups": groups, "n_init": n_init, **settings}
        own = {"constraints": constraints, "maximize": maximize}
        fresh = Optimizer(bounds, seed=seed, **own, **options)
        if fresh.limits:
            msg = f"constraints: a run on a storage has no outcomes, {fresh.limits}. "
            msg += "Let the objective raise where a limit is broken, with "
            raise ArgumentError(f"{msg}on_error='skip'.")
        for p in fresh.space.parameters:
            if not isinstance(p, Real | Integer | Categorical):
                kind = type(p).__name__
                msg = f"parameter {p.name!r} is a {kind}, which storages cannot hold. "
                raise ArgumentError(f"{msg}Use Real, Integer and Categorical.")
        return cls(
            space=fresh.space,
            seed=None if seed is None else fresh.seed,
            maximize=fresh.maximize,
            options=options,
        )

    def optimizer(self) -> Optimizer:
        """Return an optimizer without observations."""
        options = {"maximize": self.maximize, **self.options}
        return Optimizer(self.space, seed=self.seed, **options)

    def sampler(self) -> SumboSampler:
        """Return the sampler that chooses the points of trials."""
        options = dict(self.options)
        groups = options["groups"]
        if not (groups is None or isinstance(groups, str | Decomposition)):
            names = self.space.names
            numbered = self.space.groups_of(groups)
            options["groups"] = [tuple(names[k] for k in g) for g in numbered]
        n_init = options.pop("n_init")
        # Under constraints the first trials, too, must be chosen together.
        options["space"] = self.space if self.space.constraints else None
        return SumboSampler(seed=self.seed, n_startup_trials=n_init, **options)

    def described(self) -> dict[str, Any]:
        """Return the plan as a JSON value, for the storage."""
        opt = self.optimizer()
        return {
            "space": self.space.to_json(),
            "seed": opt.seed,
            "method": opt.method_name,
            "n_init": opt.n_init,
            "maximize": opt.maximize,
            "transform": opt.transform,
            **{
                f"setting {k}": v if isinstance(v, _PLAIN) else str(v)
                for k, v in opt.settings.items()
            },
        }

    def difference(self, there: dict[str, Any]) -> str:
        """Return the first difference to a stored plan in words; "" without one."""
        try:
            theirs = Space.from_json(there["space"], tests_in(self.space.constraints))
        except MissingFunctionError as error:
            return str(error).split(":")[0] + " hold other tests here than there"
        space = self.space.difference(theirs)
        if space:
            return space
        here = self.described()
        skipped = {"space"} | ({"seed"} if self.seed is None else set())
        for key in [key for key in {**here, **there} if key not in skipped]:
            mine, its = here.get(key), there.get(key)
            if mine != its:
                return f"{key} is {mine!r} here and {its!r} there"
        return ""


def join(shared: SharedStorage, name: str, plan: Plan) -> tuple[Study, Plan]:
    """Return the study, started if it does not exist, and the plan with its seed.

    Raises:
        ArgumentError: If the study belongs to another run.
        StorageError: If it cannot be read or written.
    """
    if not name:
        raise ArgumentError("study is empty. Give the run a name, such as 'run1'.")
    try:
        with shared.alone():
            study = optuna.create_study(
                storage=shared.storage,
                study_name=name,
                direction="maximize" if plan.maximize else "minimize",
                load_if_exists=True,
            )
            there = study.user_attrs.get(RUN)
            if there is None and not study.get_trials(deepcopy=False):
                there = plan.described()
                study.set_user_attr(RUN, there)
    except STORAGE_ERRORS as error:
        reason = error.__cause__ or error
        msg = f"study {name!r} in {shared.name!r} cannot be opened: {reason}."
        raise StorageError(msg) from error
    there = there or {}
    way = StudyDirection.MAXIMIZE if there.get("maximize") else StudyDirection.MINIMIZE
    ours = there and study.directions == [way]
    difference = plan.difference(there) if ours else "it was not started by sumbo"
    if difference:
        msg = f"study {name!r} in {shared.name!r} belongs to another run: {difference}."
        raise ArgumentError(f"{msg} Name another study, or pass the same arguments.")
    plan = replace(plan, seed=there["seed"])
    study.sampler = plan.sampler()
    return study, plan
