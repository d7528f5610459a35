"""sumbo inside Optuna: a sampler, and runs of sumbo as Optuna studies.

Nothing that a suggestion depends on lives in the sampler: a trial's parameters are a
function of the seed, the trial's number and the trials in the storage. A study that is
resumed in another process goes on as if it had never stopped.
"""

import hashlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from sumbo.decompositions import Decomposition
from sumbo.errors import ArgumentError, MissingExtraError
from sumbo.methods import Method, require_settings
from sumbo.optimizer.engine import Engine, Snapshot, as_count, make_engine
from sumbo.registry import nearest
from sumbo.rng import Seed, as_seed, rng_at
from sumbo.space import Outcome, Real, Space
from sumbo.typing import Groups

try:
    import optuna
    from optuna.distributions import BaseDistribution
    from optuna.study import Study
    from optuna.trial import FrozenTrial, Trial, TrialState

    from sumbo.integrations.optuna_trials import (
        ObservedTrials,
        SearchSpace,
        distribution_of,
        space_of,
        value_of,
    )
except ImportError as error:
    _MSG = 'SumboSampler needs Optuna 5. Run: pip install "sumbo[optuna]"'
    raise MissingExtraError(_MSG) from error

__all__ = ["SumboSampler", "finish_running", "to_optuna_study"]

# States of a method that are kept, to be recomputed if they are needed later.
REMEMBERED = 32
# Refits that are repeated one by one in a process that knows none of them. A method
# that was refitted more often is refitted at doublings of the trials instead.
MOST_REFITS = 24


class SumboSampler(optuna.samplers.BaseSampler):
    """Suggest parameters by a method of sumbo; see docs/integrations/optuna.md.

    Parameters that all completed trials share are suggested together, the others
    (of branches, or with changing ranges) uniformly. Trials that run elsewhere are
    pending points; failed ones are avoided. Points are chosen by the same engine as in
    ``sumbo.Optimizer``.

    Args:
        method: A name from ``sumbo.methods.names()``, or an instance.
        groups: Groups of parameter names, such as ``[("lr", "decay"), ("depth",)]``;
            parameters that are not named are groups of their own. Or the name of a
            decomposition, or an instance. Default the method's own.
        seed: A number makes the suggestions reproducible, and a study resumable; give
            the same one to all workers. None draws one.
        n_startup_trials: Trials before the model takes over, running ones included.
        preset: ``"paper"`` or ``"paper-author"``, see ``sumbo.Optimizer``.
        transform: Transform of the values, see ``sumbo.Optimizer``.
        space: The parameters, with constraints on them that are known; see
            ``sumbo.Space``. All of them are suggested together from the first trial
            on. By default the space is learned from the completed trials.
        constraints_func: Returns constraint values of a finished trial, none above 0
            if it is feasible. Values of ``trial.set_constraint`` need no function.
        settings: Settings of the method, see its class.

    Examples:
        >>> import optuna
        >>> from sumbo.integrations.optuna import SumboSampler
        >>> study = optuna.create_study(
        ...     sampler=SumboSampler(seed=3, n_startup_trials=4)
        ... )
        >>> study.optimize(
        ...     lambda trial: trial.suggest_float("x", -1, 2) ** 2, n_trials=6
        ... )
        >>> len(study.trials)
        6

    Raises:
        ArgumentError: If an argument has a value that cannot be used.
    """

    def __init__(
        self,
        method: str | Method = "logei",
        groups: Any = None,
        seed: Seed = None,
        n_startup_trials: int = 20,
        *,
        preset: str | None = None,
        transform: str | None = None,
        space: Space | None = None,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
        **settings: Any,
    ) -> None:
        self._constraints_func = constraints_func
        self._space = space
        self._seed = as_seed(seed)
        self._n_startup_trials = as_count("n_startup_trials", n_startup_trials, 0)
        self._groups = _named_groups(groups)
        self._options = {
            "method": method,
            "groups": groups if self._groups is None else None,
            "preset": preset,
            "transform": transform,
            "settings": settings,
        }
        self._memory: dict[bytes, Any] = {}
        if isinstance(method, str):
            own = [*inspect.signature(SumboSampler).parameters][:-1]
            require_settings(method, settings, own)
        # Wrong settings are refused now, not when the model is first used.
        names = sorted({name for group in self._groups or () for name in group})
        space = space or Space.of([Real(name, 0.0, 1.0) for name in names or ["x"]])
        self._engine(space, space.names)

    # ------------------------------------------------------------------ Optuna asks
    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> SearchSpace:
        """Return the parameters that all completed trials share, or those given."""
        del trial
        _require_one_objective(study)
        if self._space is not None:
            return {p.name: distribution_of(p) for p in self._space.parameters}
        trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        space = optuna.search_space.intersection_search_space(trials)
        return {name: d for name, d in space.items() if not d.single()}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: SearchSpace
    ) -> dict[str, Any]:
        """Return parameters chosen together, a function of the storage's trials."""
        _require_one_objective(study)
        if not search_space:
            return {}
        space, stepped = self._space, self._space is None
        record = ObservedTrials.of(study, trial, search_space, space)
        numbers = self._ask(record, trial.number)
        # Another worker may propose the same point right now. Both tell the storage
        # before they look again, so at least one of them notices, and moves.
        record.share(study, trial, numbers)
        rng = rng_at(self._seed, "optuna", trial.number)
        now = ObservedTrials.of(study, trial, search_space, space)
        moved = now.unseen(rng, numbers)
        if moved != numbers:
            record.share(study, trial, moved)
        pairs = zip(search_space.items(), moved, strict=True)
        return {
            name: value_of(d, number, stepped=stepped) for (name, d), number in pairs
        }

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Return a uniform value (log-uniform, if the distribution is)."""
        _require_one_objective(study)
        if param_distribution.single():
            return value_of(param_distribution, 0.0)
        space = space_of({param_name: param_distribution})
        rng = rng_at(self._seed, f"optuna parameter {param_name}", trial.number)
        number = space.decode(rng.random((1, space.dim)))[0, 0]
        return value_of(param_distribution, float(number))

    def after_trial(
        self,
        study: Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        """Store the constraints of a finished trial, if a function computes them.

        Raises:
            ArgumentError: If the function returns a number that is NaN.
        """
        del values
        done = state in (TrialState.COMPLETE, TrialState.PRUNED)
        if self._constraints_func is None or not done:
            return
        found = [float(c) for c in self._constraints_func(trial)]
        if np.isnan(found).any():
            msg = f"constraints_func returned {found}. Return numbers that are not NaN."
            raise ArgumentError(msg)
        # Where the other samplers of Optuna keep them.
        storage, number = study._storage, trial._trial_id  # pyright: ignore[reportPrivateUsage]
        storage.set_trial_system_attr(number, "constraints", found)

    def reseed_rng(self) -> None:
        """Do nothing: trials that run in parallel differ by their numbers."""

    # ------------------------------------------------------------------ inside
    def _ask(self, record: ObservedTrials, number: int) -> list[float]:
        """Return the parameters of a trial as numbers."""
        engine = self._engine(record.space, record.known, record.limits)
        N = len(record.raw)
        points = self._refit_points(engine.method, N + 1)
        before = [n for n in points if n < N]
        now = Snapshot(
            history=record.history(N, pending=True),
            state=self._state(engine, record, before),
            steps=number,
            asks=max(0, number - engine.n_init),
        )
        X, after, _ = engine.ask(now, 1)
        if N in points and number == N and len(now.history.pending_X) == 0:
            # Nothing runs elsewhere: this refit is the one that later trials need.
            self._remember(self._key(engine, record, points), after.state)
        return record.space.numbers(X)[0].tolist()

    def _state(self, engine: Engine, record: ObservedTrials, points: list[int]) -> Any:
        """Return what the method remembers, computed from the first trials alone.

        Refits happen at numbers of trials that do not depend on who asks. A process
        that has not made them makes them now, each from the state of the one before.
        """
        state = None
        for i, n in enumerate(points):
            key = self._key(engine, record, points[: i + 1])
            known = self._memory.pop(key, None)
            history = record.history(n, pending=False)
            if known is None and history.successes:
                asks = max(0, n - engine.n_init)
                now = Snapshot(history=history, state=state, steps=n, asks=asks)
                known = engine.ask(now, 1)[1].state
            state = known
            self._remember(key, state)
        return state

    def _refit_points(self, method: Method, end: int) -> list[int]:
        """Return the numbers of trials, less than ``end``, at which refits happen."""
        first = max(1, self._n_startup_trials)
        doublings = [first << k for k in range(end.bit_length()) if first << k < end]
        if method.next_refit(first) is None:
            return doublings if method.remembers is not None else []
        points, n = [], first
        while n < end:
            points.append(n)
            n = method.next_refit(n) or end
        if len(points) <= MOST_REFITS:
            return points
        return [n for n in doublings if n < points[-1]] + points[-1:]

    def _key(self, engine: Engine, record: ObservedTrials, points: list[int]) -> bytes:
        chain = repr((engine.method, points)).encode()
        return hashlib.blake2b(chain + record.content(points[-1])).digest()

    def _remember(self, key: bytes, state: Any) -> None:
        self._memory[key] = state
        for old in list(self._memory)[:-REMEMBERED]:
            self._memory.pop(old, None)

    def _engine(
        self, space: Space, known: Sequence[str], limits: tuple[Outcome, ...] = ()
    ) -> Engine:
        options = dict(self._options)
        if self._groups is not None:
            options["groups"] = _numbered(self._groups, space.names, known)
        return make_engine(
            space,
            seed=self._seed,
            n_init=self._n_startup_trials,
            limits=limits,
            **options,
        )


def finish_running(study: Study, objective: Callable[[Trial], float]) -> int:
    """Return how many trials, left running by a killed process, were evaluated now.

    Their parameters are those that they had. Call it before ``study.optimize``, and
    only while no other process works on the study.
    """
    running = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
    for frozen in running:
        trial = Trial(study, frozen._trial_id)  # pyright: ignore[reportPrivateUsage]
        try:
            value = objective(trial)
        except optuna.TrialPruned:
            study.tell(trial, state=TrialState.PRUNED)
        except Exception:
            study.tell(trial, state=TrialState.FAIL)
            raise
        else:
            study.tell(trial, value)
    return len(running)


def to_optuna_study(
    result: OptimizeResult,
    *,
    storage: str | optuna.storages.BaseStorage | None = None,
    study_name: str | None = None,
) -> Study:
    """Return a study with the trials of a result of ``sumbo.minimize``.

    Failed evaluations are failed trials. Earlier data outside the box move onto its
    boundary, where the model saw them.

    Examples:
        >>> import sumbo
        >>> from sumbo.integrations.optuna import to_optuna_study
        >>> r = sumbo.minimize(
        ...     lambda x: x[0] ** 2, [(-1, 2)], budget=7, n_init=4, seed=1
        ... )
        >>> study = to_optuna_study(r)
        >>> len(study.trials), study.best_value == r.fun
        (7, True)
    """
    space: Space = result.space
    distributions = {p.name: distribution_of(p) for p in space.parameters}
    study = optuna.create_study(
        storage=storage, study_name=study_name, direction="minimize"
    )
    study.set_user_attr("sumbo", {"method": result.method, "seed": result.seed})
    for x, y in zip(result.x_iters, result.func_vals, strict=True):
        point = x if space.contains(x) else space.decode(space.encode_any(x)[0])[0]
        failed = not np.isfinite(y)
        trial = optuna.trial.create_trial(
            state=TrialState.FAIL if failed else TrialState.COMPLETE,
            params=space.as_dict(point),
            distributions=distributions,
            value=None if failed else float(y),
        )
        study.add_trial(trial)
    return study


def _named_groups(groups: Any) -> tuple[tuple[str, ...], ...] | None:
    """Return groups of names as tuples, None for a decomposition.

    Raises:
        ArgumentError: If they are no groups of names.
    """
    if groups is None or isinstance(groups, (str, Decomposition)):
        return None
    try:
        named = tuple((g,) if isinstance(g, str) else tuple(g) for g in groups)
    except TypeError:
        named = ((None,),)
    for name in (name for group in named for name in group):
        if not isinstance(name, str):
            msg = (
                f"groups={groups!r} are no groups of parameter names. Write them as "
                '[("lr", "decay"), ("depth",)].'
            )
            raise ArgumentError(msg)
    return named


def _numbered(
    groups: tuple[tuple[str, ...], ...], names: Sequence[str], known: Sequence[str]
) -> Groups:
    """Return the groups in numbers of ``names``; a name of another branch is dropped.

    Raises:
        ArgumentError: If no trial so far had a parameter of a name.
    """
    for name in (name for group in groups for name in group):
        if name not in known:
            msg = f"groups name {name!r}, which no trial suggested so far. "
            raise ArgumentError(msg + nearest(name, known))
    number = {name: k for k, name in enumerate(names)}
    kept = [tuple(number[name] for name in g if name in number) for g in groups]
    used = {name for group in groups for name in group}
    alone = [(number[name],) for name in names if name not in used]
    return tuple(group for group in kept if group) + tuple(alone)


def _require_one_objective(study: Study) -> None:
    """Check that there is one objective.

    Raises:
        ArgumentError: If there are several.
    """
    if len(study.directions) > 1:
        msg = (
            f"the study has {len(study.directions)} objectives, SumboSampler takes "
            "one. Combine them into one number, or use another sampler."
        )
        raise ArgumentError(msg)
