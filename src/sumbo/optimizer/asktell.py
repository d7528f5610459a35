"""``Optimizer``: the one mutable object of sumbo."""

import dataclasses
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sumbo import checkpoint
from sumbo.data import Data
from sumbo.decompositions import DECOMPOSITIONS, Decomposition
from sumbo.errors import (
    ArgumentError,
    CheckpointError,
    MissingFunctionError,
    SumboError,
)
from sumbo.gp import Posterior
from sumbo.methods import METHODS, Info, Method
from sumbo.optimizer.caution import caution_about_choosing, caution_about_overlap
from sumbo.optimizer.choices import Choices, choose
from sumbo.optimizer.context import Context
from sumbo.optimizer.engine import (
    Failure,
    Snapshot,
    as_count,
    make_engine,
    settings_of,
)
from sumbo.optimizer.history import History
from sumbo.optimizer.outcomes import (
    limits_from_json,
    limits_to_json,
    read_outcomes,
)
from sumbo.optimizer.violation import best_row, feasible_values
from sumbo.rng import Seed, as_seed
from sumbo.space import Feasible, Outcome, Space, outcomes_in, tests_in
from sumbo.surrogate import Surrogate
from sumbo.typing import Float, Groups, ndarray
from sumbo.values import aligned, as_floats

KIND = "sumbo optimizer"
# The key under which a file names the class of a setting that is a decomposition.
DECOMPOSITION = "decomposition"
# An ask is reported as slow, once, if it takes so many seconds of CPU time with so
# many observations. Its cost grows with their cube.
SLOW_ASK_S = 2.0
MANY_OBSERVATIONS = 1000


class Optimizer:
    """Ask for points, tell their values; everything minimises.

    Args:
        bounds: Pairs (lo, hi), ``scipy.optimize.Bounds``, or named parameters
            (``Real``, ``Integer``, ``Categorical``, ``Simplex``).
        method: A name from ``sumbo.methods.names()``, or an instance such as
            ``sumbo.methods.Thompson(candidates=1000)``.
        groups: Groups of parameters (numbers or names), the name of a decomposition,
            or an instance such as ``sumbo.decompositions.Learned(max_size=3)``;
            default the method's own.
        seed: A number; the same seed asks the same points. A ``Generator`` gives one,
            None draws one.
        n_init: Observations before the model takes over, earlier data included.
        preset: ``"paper"`` sets the method up as the paper did, ``"paper-author"``
            with choices of public code by the paper's author.
        transform: Transform of the values: ``"auto"`` (standardise, or take
            logarithms if they span decades or have the greater evidence),
            ``"standardise"`` (default with these presets), ``"log"``, ``"none"``.
        init: Initial design: ``"uniform"`` or ``"sobol"``.
        x0: Earlier points, with values ``y0``; they count as observations. Without
            values they are pending: points of your own, to be evaluated and told.
        y0: The values at ``x0``.
        constraints: What may be asked: texts such as ``"a + 2*b <= 1"``,
            ``scipy.optimize.LinearConstraint`` or ``Feasible(function)``; and limits of
            measured outcomes, ``Outcome(name, lower, upper)``. See
            docs/guide/constraints.md.
        settings: Settings of the method, see its class.

    Attributes:
        info: What the last ask did (times, refit, groups).
    """

    def __init__(
        self,
        bounds: Any,
        *,
        method: str | Method = "logei",
        groups: Any = None,
        seed: Seed = None,
        n_init: int = 20,
        preset: str | None = None,
        transform: str | None = None,
        init: str = "uniform",
        x0: Any = None,
        y0: Any = None,
        constraints: Any = (),
        **settings: Any,
    ) -> None:
        space = Space.of(bounds).constrained(constraints)
        limits = outcomes_in(constraints, space.parameters)
        self._engine = make_engine(
            space,
            method=method,
            seed=as_seed(seed),
            groups=groups,
            n_init=n_init,
            preset=preset,
            transform=transform,
            init=init,
            settings=settings,
            limits=limits,
        )
        self._now = Snapshot(history=History.empty(space, len(limits)))
        self.info = Info()
        self._slow = False  # whether a slow ask was reported
        self._warned: tuple[str, ...] = ()
        self._choices: Choices | None = None
        if x0 is None and y0 is not None:
            msg = f"y0={y0!r} are values without points. Pass the points as x0."
            raise ArgumentError(msg)
        if y0 is not None:
            self.tell(x0, y0, earlier=True)
        elif x0 is not None:
            U = space.encode(x0)
            self._remember(self._now.history.asked(space.numbers(x0), U))

    # ------------------------------------------------------------------ ask, tell
    def ask(self, n: int | None = None, context: Any = None) -> ndarray:
        """Return the next point (K,), or n points (n, K) to evaluate in parallel.

        Points asked are pending until told; later asks take them into account.

        Args:
            n: How many points.
            context: Values of parameters that are given this time, such as
                ``{"load": 0.7}``; the others are asked. Points have all parameters.
        """
        q = 1 if n is None else as_count("n", n, 1)
        given = None if context is None else Context.of(context, self.space)
        X, self._now, self.info = self._engine.ask(self._now, q, given)
        self._report_slow_ask(q)
        method = self._engine.method
        self._warn_once(
            caution_about_overlap(method, self.method_name, self.info.groups)
        )
        return X[0] if n is None else X

    def choose(self, C: Any, n: int | None = None, *, repeats: bool = False) -> Any:
        """Return the number of the next row of a table, or the numbers of n rows.

        The rows are whole points: a catalogue of materials, machines or molecules. The
        points chosen are pending until told: ``opt.tell(C[k], y)``.

        Args:
            C: Up to 100 000 points: an array, a list of dictionaries or a DataFrame.
            n: How many rows.
            repeats: Whether a row that was told or asked may be chosen again, as noisy
                values are worth repeating. Otherwise equal rows count as one.

        Raises:
            ArgumentError: If a row is no point of the space, or the method cannot
                choose.
            ExhaustedError: If fewer rows are left.
        """
        q = 1 if n is None else as_count("n", n, 1)
        self._choices = Choices.of(C, self.space, self._choices)
        self._warn_once(caution_about_choosing(self._engine.method, self.method_name))
        rows, self._now, self.info = choose(
            self._engine, self._now, self._choices, q, repeats=repeats
        )
        self._report_slow_ask(q)
        return int(rows[0]) if n is None else rows

    def tell(
        self,
        x: Any,
        y: Any = None,
        *,
        outcomes: Any = None,
        failed: bool = False,
        earlier: bool = False,
    ) -> None:
        """Add the value at a point, or values at points, in any order.

        Args:
            x: One point, or several as rows.
            y: Its value, or one value per row.
            outcomes: What else was measured, by name: a number, or one per row. Those
                that have limits (``Outcome``) are needed.
            failed: The evaluation failed: the points are remembered, avoided by the
                model and never asked again; ``y`` is left out.
            earlier: The data come from elsewhere; points outside the box are
                accepted, with a warning.

        Raises:
            ArgumentError: If a value is not a finite number, shapes do not fit or a
                point lies outside the box. Nothing is added then.
        """
        U = self._encode(x, earlier=earlier)
        numbers = self.space.numbers(x)
        values = _as_values(aligned(x, y), len(numbers), failed=failed)
        history, limits = self._now.history, self._engine.limits
        found = read_outcomes(
            limits, outcomes, len(numbers), failed=failed, earlier=earlier
        )
        for row, u, value, own in zip(numbers, U, values, found, strict=True):
            history = history.told(row, u, value, failed=failed, outcomes=own)
        self._remember(history)

    def note_failure(self, x: Any, reason: str) -> None:
        """Keep why an attempt to evaluate a point failed; see ``failures``.

        The point stays pending: evaluate it again, or tell it with ``failed=True``.
        """
        numbers = self.space.numbers(x)[0]
        failure = Failure(x=tuple(float(v) for v in numbers), reason=str(reason))
        failures = (*self._now.failures, failure)
        self._now = replace(self._now, failures=failures)

    # ------------------------------------------------------------------ results
    @property
    def failures(self) -> tuple[Failure, ...]:
        """The attempts that were noted as failed, oldest first."""
        return self._now.failures

    @property
    def best(self) -> tuple[ndarray, float]:
        """The best feasible point so far and its value.

        Raises:
            SumboError: If no value has been told yet, or none at a feasible point.
        """
        X, i = (
            self._now.history.X,
            best_row(self.space, self._now.history, self._engine.limits),
        )
        y = self._now.history.y
        return self.space.points(X[i : i + 1])[0], float(y[i])

    def best_in(self, context: Mapping[str, Any]) -> tuple[ndarray, float]:
        """Return the best feasible point told in a context, and its value.

        Raises:
            SumboError: If no feasible value has been told in this context.
        """
        given, history = Context.of(context, self.space), self._now.history
        X, y = history.X, feasible_values(self.space, history, self._engine.limits)
        there = np.where(given.matches(X), y, np.nan)
        if not np.isfinite(there).any():
            msg = f"no value has been told in context={dict(context)!r}"
            raise SumboError(f"{msg}, or none that is feasible.")
        i = int(np.nanargmin(there))
        return self.space.points(X[i : i + 1])[0], float(self.y[i])

    @property
    def pending(self) -> ndarray:
        """Points asked and not yet told, oldest first."""
        return self.space.points(self._now.history.pending_X)

    @property
    def X(self) -> ndarray:
        """All points told, in the order of telling, failed ones included."""
        return self.space.points(self._now.history.X)

    @property
    def y(self) -> Float[ndarray, " N"]:
        """All values told, in the same order; NaN where the evaluation failed."""
        return self._now.history.y.copy()

    @property
    def outcomes(self) -> dict[str, Float[ndarray, " N"]]:
        """Outcomes told, by name; NaN where the evaluation failed or none was told."""
        columns = self._now.history.outcomes.T.copy()
        names = [limit.name for limit in self._engine.limits]
        return dict(zip(names, columns, strict=True))

    @property
    def limits(self) -> tuple[Outcome, ...]:
        """Outcomes that have limits."""
        return self._engine.limits

    @property
    def space(self) -> Space:
        """The search space."""
        return self._engine.space

    @property
    def seed(self) -> int:
        """The seed in use."""
        return self._engine.seed

    @property
    def n_init(self) -> int:
        """Observations before the model takes over."""
        return self._engine.n_init

    @property
    def transform(self) -> str:
        """The wanted transform of the values."""
        return self._engine.transform

    @property
    def init(self) -> str:
        """The initial design."""
        return self._engine.init

    @property
    def method_name(self) -> str:
        """The name of the method."""
        cls = type(self._engine.method)
        return METHODS.name_of(cls) or cls.__name__

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the method, presets resolved."""
        return settings_of(self._engine.method)

    def data(self) -> Data:
        """Return what the method sees: unit cube, values in model units, pending."""
        return self._engine.data(self._now)

    def surrogate(self) -> Surrogate | None:
        """Return the model of the objective, None if the method has none.

        It is what the last refit chose, conditioned on all data. It is fitted here
        only if no ask has fitted it yet, as after an initial design.
        """
        return self._engine.surrogate(self._now)

    def model(self) -> Posterior | None:
        """Return the posterior given all data (unit cube), None if there is none."""
        surrogate = self.surrogate()
        return surrogate.posterior if surrogate else None

    def structures(self) -> list[Groups]:
        """Return groups of parameters that were learned lately, the last ones last.

        Those that the random walk of ``groups="auto"``, ``"learned"`` or ``"tree"``
        visited (a residual part is not among them), or those of ``dumbo``, ``max`` and
        ``struct``; empty if nothing was learned.
        """
        return list(self._engine.method.structures(self._now.state))

    def co_membership(self) -> Float[ndarray, "K K"] | None:
        """Return how probable it is that two parameters share a group.

        For ``groups="auto"`` and ``"learned"`` the average of the conditional
        distributions from which groups were lately drawn, else the fraction of
        ``structures()``; None if nothing was learned. Pass it to
        ``plots.co_membership``.
        """
        return self._engine.method.co_membership(self._now.state)

    # ------------------------------------------------------------------ files
    def save(self, path: str | Path) -> None:
        """Write everything to one file, atomically; ``load`` continues bit for bit."""
        engine, now = self._engine, self._now
        packed = None if now.state is None else now.state.pack()
        state, state_arrays = checkpoint.split_state(packed)
        header = {
            "kind": KIND,
            "space": self.space.to_json(),
            "method": self.method_name,
            "settings": {k: _to_json(v) for k, v in self.settings.items()},
            "seed": engine.seed,
            "n_init": engine.n_init,
            "transform": engine.transform,
            "init": engine.init,
            "steps": now.steps,
            "asks": now.asks,
            "state": state,
            "outcomes": limits_to_json(engine.limits),
            "failures": [[list(f.x), f.reason] for f in now.failures],
        }
        arrays = {f"history.{k}": v for k, v in now.history.arrays().items()}
        arrays |= {f"state.{k}": v for k, v in state_arrays.items()}
        checkpoint.save(path, header, arrays)

    @classmethod
    def load(cls, path: str | Path, constraints: Any = ()) -> "Optimizer":
        """Return the optimizer that was saved.

        ``constraints`` are needed only where some are ``Feasible(function)``, since no
        file holds functions.

        Raises:
            CheckpointError: If the file is missing, damaged, or something else.
            MissingFunctionError: If functions are missing in ``constraints``.
        """
        header, arrays = checkpoint.load(path)
        if header.get("kind") != KIND:
            msg = (
                f"{path} holds {header.get('kind')!r}, not a saved optimizer. "
                "Pass the path of a run."
            )
            raise CheckpointError(msg)
        try:
            opt = cls._restored(header, arrays, tests_in(constraints))
            wrong = opt._now.history.contradiction(opt.space)
        except MissingFunctionError:
            raise
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            what = f"{type(error).__name__}: {error}"
            raise CheckpointError(_inconsistent(path, what)) from error
        if wrong:
            raise CheckpointError(_inconsistent(path, wrong))
        return opt

    # ------------------------------------------------------------------ inside
    @classmethod
    def _restored(
        cls, header: Any, arrays: dict[str, Any], tests: tuple[Feasible, ...]
    ) -> "Optimizer":
        opt = cls(
            Space.from_json(header["space"], tests),
            constraints=limits_from_json(header.get("outcomes", [])),
            method=header["method"],
            seed=header["seed"],
            n_init=header["n_init"],
            transform=header["transform"],
            init=header["init"],
            **{k: _from_json(v) for k, v in header["settings"].items()},
        )
        packed = checkpoint.join_state(header["state"], _under("state.", arrays))
        method = opt._engine.method
        opt._now = Snapshot(
            history=History.from_arrays(_under("history.", arrays)),
            state=None if packed is None else method.restore(packed),
            steps=as_count("steps", header["steps"], 0),
            asks=as_count("asks", header["asks"], 0),
            failures=tuple(
                Failure(x=tuple(float(v) for v in x), reason=str(reason))
                for x, reason in header.get("failures", [])
            ),
        )
        return opt

    def _remember(self, history: History) -> None:
        self._now = replace(self._now, history=history)

    def _warn_once(self, message: str) -> None:
        if message and message not in self._warned:
            self._warned = (*self._warned, message)
            warnings.warn(message, stacklevel=3)

    def _report_slow_ask(self, q: int) -> None:
        seconds, N = self.info.ask_cpu_s / q, len(self._now.history.y)
        if self._slow or seconds < SLOW_ASK_S or N < MANY_OBSERVATIONS:
            return
        self._slow = True
        msg = (
            f"a point took {seconds:.1f} s of CPU time to choose, with {N} "
            "observations; twice as many take up to eight times as long. If that is "
            "longer than an evaluation, pass method='uniform', which asks at once."
        )
        warnings.warn(msg, stacklevel=3)

    def _encode(self, x: Any, *, earlier: bool) -> Float[ndarray, "n P"]:
        if not earlier:
            return self.space.encode(x)
        U, moved = self.space.encode_any(x)
        if moved.any():
            rows = ", ".join(str(i) for i in np.flatnonzero(moved)[:5])
            msg = (
                f"{moved.sum()} earlier points lie outside the box (rows {rows}); the "
                "model sees them at the nearest point of the box."
            )
            warnings.warn(msg, stacklevel=4)
        return U


def _inconsistent(path: str | Path, what: str) -> str:
    msg = f"{path} is not a consistent saved optimizer: {what.rstrip('.')}. "
    return f"{msg}Restore it from a copy, or delete it to start again."


def _under(prefix: str, arrays: dict[str, Any]) -> dict[str, Any]:
    return {k[len(prefix) :]: v for k, v in arrays.items() if k.startswith(prefix)}


def _as_values(y: Any, n: int, *, failed: bool) -> Float[ndarray, " n"]:
    if failed:
        if y is not None:
            msg = f"y={y!r} was told for a failed evaluation. Leave y out."
            raise ArgumentError(msg)
        return np.full(n, np.nan)
    try:
        if y is None:  # NumPy would make it NaN
            raise TypeError
        values = as_floats(y, "y").reshape(-1)
    except (TypeError, ArgumentError) as error:
        msg = f"y={y!r} is not a number. Tell a number, or failed=True without y."
        raise ArgumentError(msg) from error
    if len(values) != n:
        msg = f"y has {len(values)} values for {n} points. Tell one value per point."
        raise ArgumentError(msg)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        msg = (
            f"y={values[bad[0]]} (value {bad[0]}) is not finite; nothing was added. "
            "Tell such points with failed=True, without y."
        )
        raise ArgumentError(msg)
    return values


def _to_json(setting: Any) -> Any:
    """Return a setting as a file holds it: a decomposition by name and settings.

    Raises:
        CheckpointError: If the decomposition is not registered.
    """
    if not isinstance(setting, Decomposition):
        return setting
    name = DECOMPOSITIONS.name_of(type(setting))
    if name is None:
        msg = f"groups={setting!r} cannot be saved: its class is not registered."
        raise CheckpointError(f"{msg} Register it with DECOMPOSITIONS.")
    return {DECOMPOSITION: name, **dataclasses.asdict(setting)}  # pyright: ignore[reportArgumentType]


def _from_json(setting: Any) -> Any:
    if isinstance(setting, dict) and DECOMPOSITION in setting:
        fields = {k: v for k, v in setting.items() if k != DECOMPOSITION}
        return DECOMPOSITIONS.get(setting[DECOMPOSITION])(**fields)
    return setting
