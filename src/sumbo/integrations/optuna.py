"""sumbo inside Optuna: a sampler, and runs of sumbo as Optuna studies.

Nothing that a suggestion depends on lives in the sampler: a trial's parameters are a
function of the seed, the trial's number and the trials in the storage. A study that is
resumed in another process goes on as if it had never stopped.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from sumbo.errors import ArgumentError, MissingExtraError
from sumbo.linalg import one_blas_thread
from sumbo.methods import make
from sumbo.methods.base import Method
from sumbo.optimizer.asktell import TRANSFORMS
from sumbo.registry import nearest
from sumbo.rng import Seed, as_seed, rng_at
from sumbo.space import Space
from sumbo.typing import Float, Groups, State, ndarray

try:
    import optuna
    from optuna.distributions import BaseDistribution
    from optuna.study import Study
    from optuna.trial import FrozenTrial, Trial, TrialState

    from sumbo.integrations.optuna_trials import (
        Record,
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


class SumboSampler(optuna.samplers.BaseSampler):
    """Suggest parameters by a method of sumbo; see docs/integrations/optuna.md.

    Parameters that all completed trials share are suggested together, the others
    (of branches, or with changing ranges) uniformly. Trials that run elsewhere are
    pending points; failed ones are avoided.

    Args:
        method: A name from ``sumbo.methods.names()``.
        groups: Groups of parameter names, such as ``[("lr", "decay"), ("depth",)]``;
            parameters that are not named are groups of their own. Or the name of a
            decomposition. Default the method's own.
        seed: A number makes the suggestions reproducible, and a study resumable; give
            the same one to all workers. None draws one.
        n_startup_trials: Finished trials before the model takes over.
        preset: ``"paper"`` sets the method up as the paper did.
        transform: Scaling of the values, see ``sumbo.Optimizer``.
        settings: Settings of the method, see its class.

    Raises:
        ArgumentError: If an argument has a value that cannot be used.
    """

    def __init__(
        self,
        method: str = "logei",
        groups: Any = None,
        seed: Seed = None,
        n_startup_trials: int = 20,
        *,
        preset: str | None = None,
        transform: str = "auto",
        **settings: Any,
    ) -> None:
        counts = isinstance(n_startup_trials, (int, np.integer))
        if not counts or isinstance(n_startup_trials, bool) or n_startup_trials < 0:
            msg = f"n_startup_trials={n_startup_trials!r} is not an integer, 0 or more."
            raise ArgumentError(msg)
        if transform not in TRANSFORMS:
            msg = f"transform={transform!r} is unknown. "
            raise ArgumentError(msg + nearest(str(transform), TRANSFORMS))
        self._seed = as_seed(seed)
        self._n_startup_trials = int(n_startup_trials)
        self._transform = transform
        if isinstance(groups, str):
            settings["groups"] = groups
        self._method_settings = (method, preset, settings)
        self._groups = _named_groups(groups)
        self._memory: dict[bytes, State] = {}
        # Wrong settings are refused now, not when the model is first used.
        names = sorted({name for group in self._groups or () for name in group})
        self._method(names, names)

    # ------------------------------------------------------------------ Optuna asks
    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> SearchSpace:
        """Return the parameters that all completed trials share."""
        del trial
        _require_one_objective(study)
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
        record = Record.of(study, trial, search_space)
        rng = rng_at(self._seed, "optuna", trial.number)
        with one_blas_thread():
            numbers = record.numbers(self._propose(rng, trial.number, record))
        numbers = record.unseen(rng, numbers)
        # Another worker may propose the same point right now. Both tell the storage
        # before they look again, so at least one of them notices, and moves.
        record.share(study, trial, numbers)
        moved = Record.of(study, trial, search_space).unseen(rng, numbers)
        if moved != numbers:
            record.share(study, trial, moved)
        pairs = zip(search_space.items(), moved, strict=True)
        return {name: value_of(d, number) for (name, d), number in pairs}

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

    def reseed_rng(self) -> None:
        """Do nothing: trials that run in parallel differ by their numbers."""

    # ------------------------------------------------------------------ inside
    def _propose(
        self, rng: np.random.Generator, number: int, record: Record
    ) -> Float[ndarray, "1 P"]:
        N = len(record.raw)
        if self._n_startup_trials > N or record.values(N)[1].all():
            return rng.random((1, record.space.dim))
        method = self._method(record.space.names, record.known)
        state = self._state(method, record)
        if "asks" in state:  # a method that counts its asks has seen every trial
            state = {**state, "asks": max(0, number - self._n_startup_trials)}
        data = record.data(N, record.pending, number, self._transform)
        return method.propose(rng, state, data, 1)[0]

    def _state(self, method: Method, record: Record) -> State:
        """Return what the method remembers, computed from the first trials alone.

        Fits happen at fixed numbers of trials. Each starts from the one at about half
        as many, so a process that knows nothing needs log₂ N fits, not N / refit.
        """
        first = max(1, self._n_startup_trials)
        points = _fit_points(len(record.raw), first, getattr(method, "refit", None))
        state: State = {}
        for n in points:
            key = hashlib.blake2b(repr(method).encode() + record.content(n)).digest()
            known = self._memory.pop(key, None)
            if known is None and not record.values(n)[1].all():
                rng = rng_at(self._seed, "optuna fit", n)
                nothing = np.empty((0, record.space.dim))
                data = record.data(n, nothing, n, self._transform)
                known = method.propose(rng, state, data, 1)[1]
            state = known or {}
            self._memory[key] = state
        for key in list(self._memory)[:-REMEMBERED]:
            self._memory.pop(key, None)
        return state

    def _method(self, names: Sequence[str], known: Sequence[str]) -> Method:
        method, preset, settings = self._method_settings
        if self._groups is None:
            return make(method, preset, **settings)
        groups = _numbered(self._groups, names, known)
        return make(method, preset, **settings, groups=groups)


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


def _fit_points(N: int, first: int, refit: int | None) -> list[int]:
    """Return after how many trials fits are made: doublings, and the latest one.

    A method without ``refit`` fits at every ask, from the last doubling.
    """
    points, n = [], first
    while n <= N:
        points.append(n)
        n *= 2
    if points and refit:
        last = first + (N - first) // refit * refit
        points = [n for n in points if n < last] + [last]
    return points


def _named_groups(groups: Any) -> tuple[tuple[str, ...], ...] | None:
    """Return groups of names as tuples, None for the name of a decomposition.

    Raises:
        ArgumentError: If they are no groups of names.
    """
    if groups is None or isinstance(groups, str):
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
