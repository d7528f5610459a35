"""``Optimizer``: the one mutable object of sumbo."""

import dataclasses
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from sumbo import checkpoint
from sumbo.data import Data, prepare
from sumbo.errors import ArgumentError, CheckpointError, SumboError
from sumbo.gp import Posterior
from sumbo.linalg import one_blas_thread
from sumbo.methods import METHODS, Info, make
from sumbo.methods.base import AdditiveModel
from sumbo.optimizer.duplicates import distinct
from sumbo.optimizer.history import History
from sumbo.registry import nearest
from sumbo.rng import Seed, as_seed, rng_at
from sumbo.space import Space
from sumbo.structure import as_groups, co_membership_matrix, groups_of
from sumbo.surrogate.transform import settle
from sumbo.typing import Float, Groups, State, ndarray

KIND = "sumbo optimizer"
TRANSFORMS = ("auto", "standardise", "log", "none")
DESIGNS = ("uniform", "sobol")


class Optimizer:
    """Ask for points, tell their values; everything minimises.

    Args:
        bounds: Pairs (lo, hi), ``scipy.optimize.Bounds``, or named parameters
            (``Real``, ``Integer``, ``Categorical``).
        method: A name from ``sumbo.methods.names()``.
        groups: Groups of parameters (numbers or names) or the name of a
            decomposition; default the method's own.
        seed: A number; the same seed asks the same points. None draws one.
        n_init: Observations before the model takes over, earlier data included.
        preset: ``"paper"`` sets the method up as the paper did.
        transform: Scaling of the values: ``"auto"`` (standardise, or a logarithmic
            warp when they span decades or the evidence is for it), ``"standardise"``
            (default with the preset ``"paper"``), ``"log"``, ``"none"``.
        init: Initial design: ``"uniform"`` or ``"sobol"``.
        x0: Earlier points, with values ``y0``; they count as observations. Without
            values they are pending: points of your own, to be evaluated and told.
        y0: The values at ``x0``.
        settings: Settings of the method, see its class.

    Attributes:
        space: The search space.
        seed: The seed in use.
        info: What the last ask did (times, refit, groups).
    """

    def __init__(
        self,
        bounds: Any,
        *,
        method: str = "logei",
        groups: Any = None,
        seed: Seed = None,
        n_init: int = 20,
        preset: str | None = None,
        transform: str | None = None,
        init: str = "uniform",
        x0: Any = None,
        y0: Any = None,
        **settings: Any,
    ) -> None:
        self.space = Space.of(bounds)
        self.seed = as_seed(seed)
        self.method_name = method
        if groups is not None:
            settings["groups"] = self._groups(groups)
        self._method = make(method, preset, **settings)
        self.n_init = _as_count("n_init", n_init, 0)
        if transform is None:
            transform = "standardise" if preset == "paper" else "auto"
        self.transform = _one_of("transform", transform, TRANSFORMS)
        self.init = _one_of("init", init, DESIGNS)
        self.info = Info()
        self._history = History.empty(self.space)
        self._state: State = {}
        self._steps = 0
        if x0 is None and y0 is not None:
            msg = f"y0={y0!r} are values without points. Pass the points as x0."
            raise ArgumentError(msg)
        if y0 is not None:
            self.tell(x0, y0, earlier=True)
        elif x0 is not None:
            U = self.space.encode(x0)
            self._history = self._history.asked(self.space.numbers(x0), U)

    # ------------------------------------------------------------------ ask, tell
    def ask(self, n: int | None = None) -> ndarray:
        """Return the next point (K,), or n points (n, K) to evaluate in parallel.

        Points asked are pending until told; later asks take them into account.
        """
        q = 1 if n is None else _as_count("n", n, 1)
        begin = time.process_time()
        with one_blas_thread():
            U, state, info = self._propose(q)
        rng = rng_at(self.seed, "distinct", self._steps)
        seen = np.vstack([self._history.U, self._history.pending_U])
        U = distinct(rng, self.space, U, seen)
        X = self.space.decode(U)
        self._history = self._history.asked(self.space.numbers(X), U)
        self._state = state
        self._steps += q
        self.info = dataclasses.replace(info, ask_cpu_s=time.process_time() - begin)
        return X[0] if n is None else X

    def tell(
        self, x: Any, y: Any = None, *, failed: bool = False, earlier: bool = False
    ) -> None:
        """Add the value at a point, or values at points, in any order.

        Args:
            x: One point, or several as rows.
            y: Its value, or one value per row.
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
        values = _as_values(y, len(numbers), failed=failed)
        history = self._history
        for row, u, value in zip(numbers, U, values, strict=True):
            history = history.told(row, u, value, failed=failed)
        self._history = history

    # ------------------------------------------------------------------ results
    @property
    def best(self) -> tuple[ndarray, float]:
        """The best point so far and its value.

        Raises:
            SumboError: If no value has been told yet.
        """
        y = self._history.y
        if not np.isfinite(y).any():
            msg = "there is no best point yet: no value has been told."
            raise SumboError(msg)
        i = int(np.nanargmin(y))
        return self.space.points(self._history.X[i : i + 1])[0], float(y[i])

    @property
    def pending(self) -> ndarray:
        """Points asked and not yet told, oldest first."""
        return self.space.points(self._history.pending_X)

    @property
    def X(self) -> ndarray:
        """All points told, in the order of telling, failed ones included."""
        return self.space.points(self._history.X)

    @property
    def y(self) -> Float[ndarray, " N"]:
        """All values told, in the same order; NaN where the evaluation failed."""
        return self._history.y.copy()

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the method, presets resolved."""
        return dataclasses.asdict(self._method)  # pyright: ignore[reportArgumentType]

    def data(self) -> Data:
        """Return what the method sees: unit cube, transformed values, pending."""
        h = self._history
        return prepare(
            U=h.U,
            y=h.y,
            failed=h.failed,
            pending=h.pending_U,
            domain=self.space,
            step=self._steps,
            kind=settle(self.transform, h.U, h.y, h.failed),
        )

    def model(self) -> Posterior | None:
        """Return the fitted model given all data (unit cube), None if there is none."""
        if not isinstance(self._method, AdditiveModel) or self._successes() < 2:
            return None
        rng = rng_at(self.seed, "model", self._steps)
        with one_blas_thread():
            return self._method.model(rng, self._state, self.data())[0]

    def structures(self) -> list[Groups]:
        """Return groups of parameters that were learned lately, the last ones last.

        Those that the random walk of ``groups="auto"``, ``"learned"`` or ``"tree"``
        visited (a residual part is not among them), or those of ``max`` and
        ``struct``; empty if nothing was learned.
        """
        if "labels" in self._state:
            return [groups_of(self._state["labels"])]
        visited = self._state.get("structure", {}).get("visited", [])
        return [as_groups(groups, len(self.space.names)) for groups in visited]

    def co_membership(self) -> Float[ndarray, "K K"] | None:
        """Return how probable it is that two parameters share a group.

        For ``groups="auto"`` and ``"learned"`` from the laws that groups were lately
        drawn from, else the fraction of ``structures()``; None if nothing was learned.
        Pass it to ``plots.co_membership``.
        """
        together = self._state.get("structure", {}).get("together")
        if together is not None:
            return np.array(together)
        structures = self.structures()
        return co_membership_matrix(structures) if structures else None

    # ------------------------------------------------------------------ files
    def save(self, path: str | Path) -> None:
        """Write everything to one file, atomically; ``load`` continues bit for bit."""
        state, state_arrays = checkpoint.split_state(self._state)
        header = {
            "kind": KIND,
            "space": self.space.to_json(),
            "method": self.method_name,
            "settings": self.settings,
            "seed": self.seed,
            "n_init": self.n_init,
            "transform": self.transform,
            "init": self.init,
            "steps": self._steps,
            "state": state,
        }
        arrays = {f"history.{k}": v for k, v in self._history.arrays().items()}
        arrays |= {f"state.{k}": v for k, v in state_arrays.items()}
        checkpoint.save(path, header, arrays)

    @classmethod
    def load(cls, path: str | Path) -> "Optimizer":
        """Return the optimizer that was saved.

        Raises:
            CheckpointError: If the file is missing, damaged, or something else.
        """
        header, arrays = checkpoint.load(path)
        if header.get("kind") != KIND:
            msg = (
                f"{path} holds {header.get('kind')!r}, not a saved optimizer. "
                "Pass the path of a run."
            )
            raise CheckpointError(msg)
        try:
            opt = cls(
                Space.from_json(header["space"]),
                method=header["method"],
                seed=header["seed"],
                n_init=header["n_init"],
                transform=header["transform"],
                init=header["init"],
                **header["settings"],
            )
            opt._history = History.from_arrays(_under("history.", arrays))
            opt._state = checkpoint.join_state(
                header["state"], _under("state.", arrays)
            )
            opt._steps = header["steps"]
        except (KeyError, TypeError) as error:
            msg = f"{path} lacks a part of a saved optimizer: {error}."
            raise CheckpointError(msg) from error
        return opt

    # ------------------------------------------------------------------ inside
    def _propose(self, q: int) -> tuple[Float[ndarray, "q P"], State, Info]:
        start = min(q, max(0, self.n_init - self._history.count))
        if self._successes() == 0:
            start = q  # a model needs data; until then points are uniform
        first = self._initial(start)
        if start == q:
            return first, self._state, Info()
        data = self.data().with_pending(first)
        rng = rng_at(self.seed, "ask", self._steps)
        U, state, info = self._method.propose(rng, self._state, data, q - start)
        return np.vstack([first, U]), state, info

    def _initial(self, count: int) -> Float[ndarray, "count P"]:
        steps = range(self._steps, self._steps + count)
        # One generator per point: the design does not depend on how it is asked for.
        rows = [rng_at(self.seed, "design", t).random(self.space.dim) for t in steps]
        designed = [t for t in steps if t < self.n_init]
        if self.init == "sobol" and designed:
            from scipy.stats import qmc  # a second of import time, rarely needed

            sampler = qmc.Sobol(self.space.dim, rng=rng_at(self.seed, "design"))
            points = sampler.random(1 << (self.n_init - 1).bit_length())
            rows[: len(designed)] = points[designed]
        return np.array(rows).reshape(count, self.space.dim)

    def _successes(self) -> int:
        return int(np.isfinite(self._history.y).sum())

    def _groups(self, groups: Any) -> Any:
        if isinstance(groups, str):
            return groups
        return as_groups(self.space.groups_of(groups), len(self.space.names))

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


def names() -> tuple[str, ...]:
    """Return the names of all methods."""
    return METHODS.names()


def _under(prefix: str, arrays: dict[str, Any]) -> dict[str, Any]:
    return {k[len(prefix) :]: v for k, v in arrays.items() if k.startswith(prefix)}


def _as_values(y: Any, n: int, *, failed: bool) -> Float[ndarray, " n"]:
    if failed:
        if y is not None:
            msg = f"y={y!r} was told for a failed evaluation. Leave y out."
            raise ArgumentError(msg)
        return np.full(n, np.nan)
    try:
        if np.iscomplexobj(y):  # the conversion would drop the imaginary part
            raise TypeError
        values = np.array(y, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError) as error:
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


def _as_count(name: str, value: Any, least: int) -> int:
    integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not integer or value < least:
        msg = f"{name}={value!r} is not an integer of at least {least}."
        raise ArgumentError(msg)
    return int(value)


def _one_of(name: str, value: Any, known: tuple[str, ...]) -> Any:
    if value not in known:
        msg = f"{name}={value!r} is unknown. {nearest(str(value), known)}"
        raise ArgumentError(msg)
    return value
