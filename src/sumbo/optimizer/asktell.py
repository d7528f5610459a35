"""``Optimizer``: the one mutable object of sumbo."""

import inspect
import logging
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sumbo.errors import ArgumentError
from sumbo.methods import Info, Method, require_settings
from sumbo.optimizer.caution import caution_about_choosing, caution_about_overlap
from sumbo.optimizer.choices import Choices, choose
from sumbo.optimizer.context import Context
from sumbo.optimizer.engine import (
    Engine,
    Failure,
    Snapshot,
    as_count,
    make_engine,
)
from sumbo.optimizer.files import read_run, write_run
from sumbo.optimizer.history import History
from sumbo.optimizer.outcomes import read_outcomes
from sumbo.optimizer.show import run_html, run_line
from sumbo.optimizer.told import outcomes_of_table, read_told
from sumbo.optimizer.view import RunView
from sumbo.rng import Seed, as_seed
from sumbo.space import Space, outcomes_in, tests_in
from sumbo.typing import ndarray

LOG = logging.getLogger("sumbo")
# An ask is reported as slow, once, if it takes so many seconds of CPU time with so
# many observations. Its cost grows with their cube, or more slowly.
SLOW_ASK_S = 2.0
MANY_OBSERVATIONS = 1000
# Points of one batch: more would take hours and gigabytes.
MOST_ASKED = 10_000


class Optimizer(RunView):
    """Ask for points, tell their values; values are minimised, or maximised.

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
            values they are pending: points of your own, to be evaluated.
        y0: The values at ``x0``, or the name of their column in a table ``x0``.
        repeats: Whether a point may be asked twice. By default only where values are
            noisy: if ``noise`` was given, or considerable noise is estimated.
        maximize: Whether values are maximised. You give and see values in your own
            sign; what the model sees (``data``, ``surrogate``) is minimised.
        constraints: What may be asked: texts such as ``"a + 2*b <= 1"``,
            ``scipy.optimize.LinearConstraint`` or ``Feasible(function)``; and limits of
            measured outcomes, ``Outcome(name, lower, upper)``. See
            docs/guide/constraints.md.
        settings: Settings of the method, see its class.

    Attributes:
        info: What the last ask did (times, refit, groups).

    Examples:
        >>> import sumbo
        >>> opt = sumbo.Optimizer([(-1.2, 2.1), (0.3, 1.9)], n_init=6, seed=1)
        >>> for _ in range(12):
        ...     x = opt.ask()
        ...     opt.tell(x, (x[0] - 0.7) ** 2 + x[1])
        >>> x, y = opt.best
        >>> round(y, 2)
        0.3
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
        repeats: bool | None = None,
        maximize: bool = False,
        constraints: Any = (),
        **settings: Any,
    ) -> None:
        space = Space.of(bounds).constrained(constraints)
        limits = outcomes_in(constraints, space.parameters)
        if maximize not in (True, False):
            msg = f"maximize={maximize!r} is neither True nor False. Pass one of them."
            raise ArgumentError(msg)
        if isinstance(method, str):
            own = [*inspect.signature(Optimizer).parameters][1:-1]
            require_settings(method, settings, own)
        engine = make_engine(
            space,
            method=method,
            seed=as_seed(seed),
            groups=groups,
            n_init=n_init,
            preset=preset,
            transform=transform,
            init=init,
            repeats=repeats,
            settings=settings,
            limits=limits,
        )
        start = Snapshot(history=History.empty(space, len(limits)))
        self._begin(engine, start, maximize=bool(maximize))
        if x0 is None and y0 is not None:
            msg = f"y0={y0!r} are values without points. Pass the points as x0."
            raise ArgumentError(msg)
        if y0 is not None:
            self.tell(x0, y0, earlier=True)
        elif x0 is not None:
            U = space.encode(x0)
            self._remember(self._now.history.asked(space.numbers(x0), U))

    def __repr__(self) -> str:
        """Return one line on the run."""
        return run_line(self)

    def _repr_html_(self) -> str:
        """Return the best point by name, for notebooks."""
        return run_html(self)

    # ------------------------------------------------------------------ ask, tell
    def ask(self, n: int | None = None, context: Any = None) -> ndarray:
        """Return the next point (K,), or n points (n, K) to evaluate in parallel.

        Points are pending until their values are known. Later asks take them into
        account.

        Args:
            n: How many points.
            context: Values of parameters that are given this time, such as
                ``{"load": 0.7}``; the others are asked. Points have all parameters.

        Examples:
            >>> import sumbo
            >>> opt = sumbo.Optimizer({"dose": (0.2, 1.7), "load": (3.0, 9.0)}, seed=4)
            >>> opt.ask(3).shape, len(opt.pending)
            ((3, 2), 3)
            >>> float(opt.ask(context={"load": 7.5})[1])
            7.5

        Raises:
            ArgumentError: If ``n`` is not a number of points, or too large, or the
                context is no part of the space.
        """
        q = 1 if n is None else as_count("n", n, 1)
        if q > MOST_ASKED:
            msg = f"n={q} points cannot be asked at once. Ask at most {MOST_ASKED}."
            raise ArgumentError(msg)
        given = None if context is None else Context.of(context, self.space)
        X, self._now, self.info = self._engine.ask(self._now, q, given)
        self._report_slow_ask(q)
        method = self._engine.method
        self._warn_once(
            caution_about_overlap(method, self.method_name, self.info.groups)
        )
        what = "the model was refitted" if self.info.refitted else "no refit"
        seconds, N = self.info.ask_cpu_s, len(self._now.history.y)
        LOG.info("asked %d points after %d values: %s, %.2f s", q, N, what, seconds)
        return X[0] if n is None else X

    def choose(self, C: Any, n: int | None = None, *, repeats: bool = False) -> Any:
        """Return the number of the next row of a table, or the numbers of n rows.

        The rows are whole points: a catalogue of materials, machines or molecules. The
        points chosen are pending until you call ``opt.tell(C[k], y)``.

        Args:
            C: Up to 100 000 points: an array, a list of dictionaries or a DataFrame.
            n: How many rows.
            repeats: Whether a row that was observed or is pending may be chosen again,
                which is useful if values are noisy. Otherwise equal rows count as one.

        Examples:
            >>> import sumbo
            >>> designs = [[0.3, 4.0], [0.9, 8.0], [1.4, 5.5]]
            >>> opt = sumbo.Optimizer([(0.2, 1.7), (3.0, 9.0)], seed=4)
            >>> k = opt.choose(designs)
            >>> opt.tell(designs[k], 2.6)
            >>> sorted([k, *opt.choose(designs, 2).tolist()])
            [0, 1, 2]

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
        noise: Any = None,
        outcomes: Any = None,
        failed: bool = False,
        earlier: bool = False,
    ) -> None:
        """Add the value at a point, or values at points, in any order.

        Args:
            x: One point or several: rows, dictionaries, or a DataFrame with a column
                per parameter.
            y: Its value, or one value per row. With dictionaries or a DataFrame it may
                be the name under which they hold the values. Their entries ``failed``,
                ``noise`` and those of outcomes are then read too, others are not.
            noise: Standard deviation of the value, or one per value, if it is known.
            outcomes: What else was measured, by name: a number, or one per row. Those
                that have limits (``Outcome``) are needed.
            failed: The evaluation failed: the points are remembered, avoided by the
                model and never asked again; ``y`` is left out.
            earlier: The data come from elsewhere; points outside the box are
                accepted, with a warning.

        Examples:
            >>> import sumbo
            >>> opt = sumbo.Optimizer({"dose": (0.2, 1.7), "load": (3.0, 9.0)}, seed=4)
            >>> opt.tell([0.6, 4.1], 2.3, noise=0.2)
            >>> opt.tell(
            ...     [{"dose": 1.1, "load": 7.2}, {"dose": 0.4, "load": 5.0}], [1.9, 3.1]
            ... )
            >>> opt.tell([0.9, 8.8], failed=True)
            >>> opt.y.tolist()
            [2.3, 1.9, 3.1, nan]

        Raises:
            ArgumentError: If a value is not a finite number, shapes do not fit or a
                point lies outside the box. Nothing is added then.
        """
        told = read_told(self.space, x, y, noise, failed=failed, earlier=earlier)
        limits = self._engine.limits
        if outcomes is None:
            names = tuple(limit.name for limit in limits)
            outcomes = outcomes_of_table(self.space, x, y, names, earlier=earlier)
        measured = read_outcomes(
            limits, outcomes, len(told.y), failed=told.failed, earlier=earlier
        )
        history = self._now.history
        moment = np.nan if earlier else time.time()
        for row, own in zip(zip(*told, strict=True), measured, strict=True):
            x, u, value, failed, deviation = row
            history = history.told(
                x,
                u,
                self._sign * value,
                failed=bool(failed),
                noise=deviation,
                outcomes=own,
                time=moment,
            )
        self._remember(history)
        if np.isfinite(told.noise).any() and not self._engine.method.uses_noise:
            msg = (
                f"method={self.method_name!r} estimates the noise itself: noise= is "
                "kept, but not used. Methods that use it: logei, ts, ats, alcb2, rducb."
            )
            warnings.warn(msg, stacklevel=2)

    def note_failure(self, x: Any, reason: str) -> None:
        """Keep why an attempt to evaluate a point failed; see ``failures``.

        The point stays pending: evaluate it again, or tell it with ``failed=True``.
        """
        numbers = self.space.numbers(x)[0]
        failure = Failure(x=tuple(float(v) for v in numbers), reason=str(reason))
        failures = (*self._now.failures, failure)
        self._now = replace(self._now, failures=failures)

    # ------------------------------------------------------------------ files
    def save(self, path: str | Path) -> None:
        """Write everything to one file, atomically; ``load`` continues bit for bit.

        Examples:
            >>> import sumbo
            >>> opt = sumbo.Optimizer([(0.2, 1.7), (3.0, 9.0)], seed=4)
            >>> opt.tell([0.6, 4.1], 2.3)
            >>> opt.save("run.npz")
            >>> sumbo.Optimizer.load("run.npz").ask().tolist() == opt.ask().tolist()
            True
        """
        write_run(path, self._engine, self._now, maximize=self.maximize)

    @classmethod
    def load(cls, path: str | Path, constraints: Any = ()) -> "Optimizer":
        """Return the optimizer that was saved.

        ``constraints`` are needed only where some are ``Feasible(function)``, since no
        file holds functions.

        Raises:
            CheckpointError: If the file is missing, damaged, or something else.
            MissingFunctionError: If functions are missing in ``constraints``.
        """
        engine, now, maximize = read_run(path, tests_in(constraints))
        opt = cls.__new__(cls)
        opt._begin(engine, now, maximize=maximize)
        return opt

    # ------------------------------------------------------------------ inside
    def _begin(self, engine: Engine, now: Snapshot, *, maximize: bool) -> None:
        self._engine = engine
        self._now = now
        self._maximize = maximize
        self.info = Info()
        self._slow = False  # whether a slow ask was reported
        self._warned: tuple[str, ...] = ()
        self._choices: Choices | None = None

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
            f"observations{self._refit_in_it(q)}; twice as many take up to eight times "
            "as long. If that is longer than an evaluation, pass method='uniform', "
            "which asks at once."
        )
        warnings.warn(msg, stacklevel=3)

    def _refit_in_it(self, q: int) -> str:
        """Return how much of a slow ask was a refit, which most asks do without."""
        after = self._engine.method.next_refit(len(self._now.history.y), q)
        if not self.info.refitted or after is None:
            return ""
        seconds = self.info.fit_cpu_s / q
        return f" ({seconds:.1f} s of it a refit, the next one is at {after})"
