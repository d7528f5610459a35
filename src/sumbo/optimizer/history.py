"""What a run has seen: points observed, points pending, nothing lost or reordered."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sumbo.space import Space
from sumbo.typing import Bool, Float, ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class History:
    """Points in user numbers ``X`` and unit-cube coordinates ``U``, told and pending.

    A failed evaluation has ``failed`` set and NaN in ``y``, which no model ever sees.
    ``y`` is to be minimised. ``noise`` is the standard deviation of each value, NaN
    where it is not known. ``outcomes`` are what was measured beside the value, NaN
    where it is not known. ``times`` say when values came in, in seconds since 1970
    (UTC), NaN where it is not known; no choice depends on them.
    """

    X: Float[ndarray, "N K"]
    U: Float[ndarray, "N P"]
    y: Float[ndarray, " N"]
    failed: Bool[ndarray, " N"]
    outcomes: Float[ndarray, "N O"]
    noise: Float[ndarray, " N"]
    times: Float[ndarray, " N"]
    pending_X: Float[ndarray, "Q K"]
    pending_U: Float[ndarray, "Q P"]

    @classmethod
    def empty(cls, space: Space, outcomes: int = 0) -> "History":
        """Return a history with nothing in it, for a number of outcomes."""
        K, P = len(space.names), space.dim
        return cls(
            X=np.empty((0, K)),
            U=np.empty((0, P)),
            y=np.empty(0),
            failed=np.zeros(0, dtype=bool),
            outcomes=np.empty((0, outcomes)),
            noise=np.empty(0),
            times=np.empty(0),
            pending_X=np.empty((0, K)),
            pending_U=np.empty((0, P)),
        )

    def asked(self, X: Float[ndarray, "q K"], U: Float[ndarray, "q P"]) -> "History":
        """Return the history with more points pending."""
        return replace(
            self,
            pending_X=np.vstack([self.pending_X, X]),
            pending_U=np.vstack([self.pending_U, U]),
        )

    def told(
        self,
        x: Float[ndarray, " K"],
        u: Float[ndarray, " P"],
        y: float,
        *,
        failed: bool,
        outcomes: Float[ndarray, " O"] | None = None,
        noise: float = np.nan,
        time: float = np.nan,
    ) -> "History":
        """Return the history with one more value; a pending point stops pending.

        The pending point keeps its own unit-cube coordinates: encoding what the user
        hands back could differ in the last bit.
        """
        hits = np.flatnonzero((self.pending_X == x).all(axis=1))
        keep = np.ones(len(self.pending_X), dtype=bool)
        if len(hits):
            u = self.pending_U[hits[0]]
            keep[hits[0]] = False
        unknown = np.full(self.outcomes.shape[1], np.nan)
        measured = unknown if failed or outcomes is None else outcomes
        return replace(
            self,
            X=np.vstack([self.X, x]),
            U=np.vstack([self.U, u]),
            y=np.append(self.y, np.nan if failed else y),
            failed=np.append(self.failed, failed),
            outcomes=np.vstack([self.outcomes, measured]),
            noise=np.append(self.noise, np.nan if failed else noise),
            times=np.append(self.times, time),
            pending_X=self.pending_X[keep],
            pending_U=self.pending_U[keep],
        )

    @property
    def count(self) -> int:
        """The number of observations and pending points."""
        return len(self.y) + len(self.pending_X)

    @property
    def successes(self) -> int:
        """The number of observations with a value."""
        return int(np.isfinite(self.y).sum())

    @property
    def has_outcomes(self) -> bool:
        """Whether every outcome that has limits was measured at least once."""
        return bool(np.isfinite(self.outcomes).any(axis=0).all())

    def arrays(self) -> dict[str, ndarray]:
        """Return all arrays by name, for a checkpoint."""
        return {name: getattr(self, name) for name in FIELDS}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> "History":
        """Return the history of a checkpoint."""
        # Files from before there were outcomes, a noise or times hold none.
        N = len(arrays["y"])
        unknown = {"noise": np.full(N, np.nan), "times": np.full(N, np.nan)}
        known = {"outcomes": np.empty((N, 0)), **unknown, **arrays}
        return cls(**{name: known[name] for name in FIELDS})

    def contradiction(self, space: Space) -> str:
        """Return what is impossible in a history that was read, "" if nothing is."""
        K, P, N, Q = len(space.names), space.dim, len(self.X), len(self.pending_X)
        shapes = {
            "X": (N, K),
            "U": (N, P),
            "y": (N,),
            "failed": (N,),
            "outcomes": (N, self.outcomes.shape[-1]),
            "noise": (N,),
            "times": (N,),
            "pending_X": (Q, K),
            "pending_U": (Q, P),
        }
        for name, shape in shapes.items():
            array = getattr(self, name)
            kind = np.dtype(bool if name == "failed" else np.float64)
            if array.shape != shape or array.dtype != kind:
                return f"{name} is {array.dtype} of shape {array.shape}, not {shape}"
        if not np.array_equal(np.isfinite(self.y), ~self.failed):
            return "y is not finite exactly where an evaluation succeeded"
        if not (np.isnan(self.noise) | (self.noise >= 0)).all():
            return "noise is negative"
        for name in ("X", "pending_X"):
            if not np.isfinite(getattr(self, name)).all():
                return f"{name} is not finite"
        for name in ("U", "pending_U"):
            array = getattr(self, name)
            if not ((array >= 0) & (array <= 1)).all():
                return f"{name} leaves the unit cube"
        return ""


FIELDS = (
    *("X", "U", "y", "failed", "outcomes", "noise", "times"),
    *("pending_X", "pending_U"),
)
