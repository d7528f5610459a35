"""What can be read of a run: observations, settings, the model, recommendations."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sumbo.data import Data
from sumbo.errors import SumboError
from sumbo.gp import Posterior
from sumbo.importance import Importance, importance_of
from sumbo.optimizer.context import Context
from sumbo.optimizer.engine import Engine, Failure, Snapshot, settings_of
from sumbo.optimizer.files import name_of
from sumbo.optimizer.predict import Prediction, predicted
from sumbo.optimizer.recommend import Recommendation, recommended_row
from sumbo.optimizer.violation import best_row, feasible_values
from sumbo.registry import Registry
from sumbo.space import Outcome, Space
from sumbo.space.measure import measures_of
from sumbo.surrogate import Surrogate
from sumbo.surrogate.noise import expecting_noise
from sumbo.typing import Float, Groups, ndarray

# The layer above writes reports; runs find it here.
REPORTS: Registry[Callable[..., Path]] = Registry("report", "sumbo.report")
# More new observations before a refit than any run has.
NEVER = 2**31


class RunView:
    """What is known of a run; nothing here changes it.

    Values are in the user's sign. ``Optimizer`` adds what changes a run.
    """

    _engine: Engine
    _now: Snapshot
    _maximize: bool

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The attempts that were noted as failed, oldest first."""
        return self._now.failures

    @property
    def best(self) -> tuple[ndarray, float]:
        """The best feasible point so far and its value.

        Raises:
            SumboError: If there is no value yet, or none at a feasible point.
        """
        history = self._now.history
        i = best_row(self.space, history, self._engine.limits)
        x = self.space.points(history.X[i : i + 1])[0]
        return x, self._sign * float(history.y[i])

    def recommend(self, context: Any = None) -> Recommendation:
        """Return the observed point with the best posterior mean: (x, mean, sd).

        With noise, the best observed value is partly luck, and this point is better.
        Mean and standard deviation are those of the objective without noise, in your
        units. If noise is more probable than the model of the asks assumes, the
        hyperparameters are fitted once more, with noise expected.

        Args:
            context: Values of parameters that are given, such as ``{"load": 0.7}``.
                The observed points are then compared as if they had these values. The
                point returned has them, and may never have been evaluated. A method
                without a model compares the points observed in exactly this context.

        Examples:
            >>> import sumbo
            >>> opt = sumbo.Optimizer({"a": (0.2, 1.7), "b": (3.0, 9.0)}, seed=1)
            >>> X = opt.ask(20)
            >>> opt.tell(X, 40.0 * X[:, 0] - X[:, 1])
            >>> x, mean, sd = opt.recommend()
            >>> x.tolist() == opt.best[0].tolist()  # there is no noise
            True

        Raises:
            SumboError: If there is no value yet, or none at a feasible point.
        """
        given = None if context is None else Context.of(context, self.space)
        history = self._now.history
        best_row(self.space, history, self._engine.limits)  # raises if there is none
        y = feasible_values(self.space, history, self._engine.limits)
        surrogate = self.surrogate()
        if surrogate is not None and getattr(self._engine.method, "fit", "") == "map":
            surrogate = expecting_noise(surrogate)
        U, X = history.U, history.X
        if given is not None and surrogate is None:
            y = self._values_in(given, context)
        elif given is not None:
            U, X = given.snap(U), given.moved(X)
        choice = recommended_row(surrogate, U, y)
        x = self.space.points(X[choice.row : choice.row + 1])[0]
        return Recommendation(x, self._sign * choice.mean, choice.sd)

    def predict(self, X: Any) -> Prediction:
        """Return what the model expects of the objective at points: (mean, sd).

        Both are in your units and sign, and do not include the noise of evaluations.
        The mean of transformed values is mapped back exactly, not as their median.

        Args:
            X: Points: an array with a row each, one point, a dictionary, a list of
                dictionaries, or a DataFrame with a column per parameter.

        Raises:
            SumboError: If there is no model: too few values, or a method without one.

        Examples:
            >>> import sumbo
            >>> opt = sumbo.Optimizer({"a": (0.2, 1.7), "b": (3.0, 9.0)}, seed=1)
            >>> X = opt.ask(20)
            >>> opt.tell(X, 40.0 * X[:, 0] - X[:, 1])
            >>> mean, sd = opt.predict({"a": 0.9, "b": 5.0})
            >>> mean.round(1).tolist()
            [31.0]
        """
        U = self.space.encode(X)
        surrogate = self.surrogate() if np.isfinite(self.y).any() else None
        if surrogate is None:
            N = int(np.isfinite(self.y).sum())
            msg = f"method={self.method_name!r} has no model of {N} values. Tell more "
            raise SumboError(f"{msg}values, or use a method with a model.")
        mean, sd = predicted(surrogate, U)
        return Prediction(self._sign * mean, sd)

    def best_in(self, context: Any) -> tuple[ndarray, float]:
        """Return the best feasible point observed in a context, and its value.

        Examples:
            >>> import sumbo
            >>> opt = sumbo.Optimizer({"dose": (0.2, 1.7), "load": (3.0, 9.0)}, seed=4)
            >>> opt.tell([[0.6, 4.0], [1.1, 4.0], [0.7, 8.0]], [2.3, 1.9, 0.4])
            >>> x, value = opt.best_in({"load": 4.0})
            >>> x.tolist(), value
            ([1.1, 4.0], 1.9)

        Raises:
            SumboError: If there is no feasible value in this context.
        """
        there = self._values_in(Context.of(context, self.space), context)
        i = int(np.nanargmin(there))
        x = self.space.points(self._now.history.X[i : i + 1])[0]
        return x, float(self.y[i])

    def _values_in(self, given: Context, context: Any) -> Float[ndarray, " N"]:
        """Return the values in a context, to be minimised; NaN for the others.

        Raises:
            SumboError: If there is none that is feasible.
        """
        history = self._now.history
        y = feasible_values(self.space, history, self._engine.limits)
        there = np.where(given.matches(history.X), y, np.nan)
        if not np.isfinite(there).any():
            msg = f"no value was observed in context={dict(context)!r}"
            raise SumboError(f"{msg}, or none that is feasible.")
        return there

    @property
    def pending(self) -> ndarray:
        """Points that were asked and have no value yet, oldest first."""
        return self.space.points(self._now.history.pending_X)

    @property
    def X(self) -> ndarray:
        """All observed points in their order, failed ones included."""
        return self.space.points(self._now.history.X)

    @property
    def y(self) -> Float[ndarray, " N"]:
        """All values in the same order; NaN where the evaluation failed."""
        return self._sign * self._now.history.y

    @property
    def feasible_y(self) -> Float[ndarray, " N"]:
        """All values; NaN where the evaluation failed or broke a constraint."""
        history = self._now.history
        return self._sign * feasible_values(self.space, history, self._engine.limits)

    @property
    def noise(self) -> Float[ndarray, " N"]:
        """Standard deviations of the values; NaN where none was given."""
        return self._now.history.noise.copy()

    @property
    def times(self) -> Float[ndarray, " N"]:
        """When the values came in: seconds since 1970 (UTC), NaN if not known."""
        return self._now.history.times.copy()

    @property
    def maximize(self) -> bool:
        """Whether values are maximised."""
        return self._maximize

    @property
    def _sign(self) -> float:
        """The sign between the user's values and those that are minimised."""
        return -1.0 if self._maximize else 1.0

    @property
    def outcomes(self) -> dict[str, Float[ndarray, " N"]]:
        """Measured outcomes by name; NaN where an evaluation failed or has none."""
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
    def repeats(self) -> bool | None:
        """Whether a point may be asked twice; None if noise decides."""
        return self._engine.repeats

    @property
    def method_name(self) -> str:
        """The name of the method."""
        return name_of(self._engine)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the method, presets resolved."""
        return settings_of(self._engine.method)

    def data(self) -> Data:
        """Return what the method sees: unit cube, values in model units, pending.

        Its values are to be minimised: with ``maximize`` they have the other sign.
        """
        return self._engine.data(self._now)

    def surrogate(self) -> Surrogate | None:
        """Return the model of the objective, None if the method has none.

        It is what the last refit chose, conditioned on all data. It is fitted here
        only if no ask has fitted it yet, as after an initial design.
        """
        return self._engine.surrogate(self._now)

    def model(self) -> Posterior | None:
        """Return the posterior given all data (unit cube), None if there is none.

        With ``maximize`` it is that of values in your sign.
        """
        surrogate = self.surrogate()
        if surrogate is None:
            return None
        post = surrogate.posterior
        return post.negated() if self._maximize else post

    def importance(
        self, n: int = 200, seed: int = 0, level: float = 0.95
    ) -> Importance:
        """Return how much of the variation of the objective each parameter causes.

        These are Sobol shares of the model for parameters that are independent and
        uniform in the search space; constraints are ignored. They are those of the
        values in model units: of their logarithms, if ``transform`` chose these.
        Plausible structures are averaged with their probabilities.

        Args:
            n: The number of joint draws from the posterior.
            seed: Of the draws.
            level: The probability of the intervals.

        Raises:
            SumboError: If there is no model: too few values, or a method without one.

        Examples:
            >>> import sumbo
            >>> r = sumbo.minimize(
            ...     lambda x: (x[0] - 0.3) ** 2 + 0.02 * x[1],
            ...     [(0, 1)] * 2,
            ...     budget=24,
            ...     groups="singletons",
            ...     seed=4,
            ... )
            >>> r.importance().total.round(1).tolist()
            [1.0, 0.0]
        """
        surrogate = self.surrogate()
        if surrogate is None:
            msg = f"method={self.method_name!r} has no model of {len(self.y)} values"
            raise SumboError(f"{msg}. Tell more values, or use another method.")
        return importance_of(
            surrogate.posteriors,
            measures_of(self.space),
            self.space.names,
            weights=surrogate.weights,
            n=n,
            seed=seed,
            level=level,
        )

    def report(self, path: Any, *, title: str = "", message: str = "") -> Path:
        """Write a page on the run for others: one HTML file; return its path.

        The file is complete in itself and loads nothing. The run may still go on, and
        does not change. See docs/guide/share.md.

        Args:
            path: The file to write, such as ``"report.html"``.
            title: The heading of the page.
            message: How the run ended, in words.

        Raises:
            ArgumentError: If the file cannot be written.
        """
        write = REPORTS.get("html")
        return write(self, path, title=title, message=message)

    def peek(self, *, refit: bool = True) -> ndarray:
        """Return the point that ``ask()`` would return now; the run does not change.

        With ``refit=False`` the model is used as it stands, which is faster where a
        refit is due; the point may then differ from the one that is asked.
        """
        engine = self._engine
        if not refit and "refit" in settings_of(engine.method):
            method: Any = engine.method
            engine = replace(engine, method=replace(method, refit=NEVER))
        return engine.ask(self._now, 1)[0][0]

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
