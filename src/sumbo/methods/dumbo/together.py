"""The bounds of many factors at once: every row belongs to one of them.

A descent costs more in Python than in arithmetic, so the descents of all factors take
their steps together. Rows are as long as the largest factor; what is beyond a row's
own coordinates has no effect. The last column says whose row it is: it has no slope,
so that a descent leaves it as it is.
"""

from dataclasses import dataclass

import numpy as np

from sumbo.gp import Posterior
from sumbo.kernels import Kernel
from sumbo.search.local import descend
from sumbo.typing import Float, Int, ndarray

# Variances below this are rounding; the bound has no slope there.
SMALLEST_VARIANCE = 1e-5
# Numbers in a temporary.
PANEL = 2**18


@dataclass(frozen=True, kw_only=True, eq=False)
class Pulls:
    """What draws each factor towards the consensus: λ·(x − z) + (η/2)‖x − z‖²."""

    anchors: Float[ndarray, "F D"]
    multipliers: Float[ndarray, "F D"]
    penalty: float

    def __call__(
        self, X: Float[ndarray, "b D"], which: Int[ndarray, " b"]
    ) -> tuple[Float[ndarray, " b"], Float[ndarray, "b D"]]:
        """Return the pull on each row and its gradient."""
        gap, own = X - self.anchors[which], self.multipliers[which]
        value = np.einsum("bi,bi->b", own + 0.5 * self.penalty * gap, gap)
        return value, own + self.penalty * gap


@dataclass(frozen=True, kw_only=True, eq=False)
class PooledBounds:
    """μ_i(x) − β √(σ_i²(x)/|N_i|² + S_i), for rows x of any factors i."""

    posts: tuple[Posterior, ...]
    kernel: Kernel
    sizes: Int[ndarray, " F"]
    post: Int[ndarray, " F"]  # whose part it is, by number
    part: tuple[int, ...]  # and which one
    scaled: Float[ndarray, "F N D"]  # observed points in units of the length-scales
    inverse: Float[ndarray, "F D"]  # of the length-scales
    variances: Float[ndarray, " F"]
    neighbours: Float[ndarray, " F"]
    beta: float

    @classmethod
    def of(
        cls,
        posts: list[Posterior],
        neighbours: Float[ndarray, " F"],
        beta: float,
    ) -> "PooledBounds":
        """Return the bounds of all parts of the models, which share their data."""
        owners = [(i, m) for i, p in enumerate(posts) for m in range(len(p.gp.groups))]
        kernels = [posts[i].gp.kernels[m] for i, m in owners]
        groups = [posts[i].gp.groups[m] for i, m in owners]
        F, N, D = len(owners), posts[0].N, max(map(len, groups))
        scaled, inverse = np.zeros((F, N, D)), np.zeros((F, D))
        for f, (group, kernel) in enumerate(zip(groups, kernels, strict=True)):
            inverse[f, : len(group)] = 1.0 / kernel.lengthscales
            own = posts[0].X[:, list(group)]
            scaled[f, :, : len(group)] = own / kernel.lengthscales
        return cls(
            posts=tuple(posts),
            kernel=kernels[0].kernel,
            sizes=np.array([len(group) for group in groups]),
            post=np.array([i for i, _ in owners]),
            part=tuple(m for _, m in owners),
            scaled=scaled,
            inverse=inverse,
            variances=np.array([kernel.variance for kernel in kernels]),
            neighbours=np.asarray(neighbours, dtype=float),
            beta=beta,
        )

    def padded(
        self, rows: list[Float[ndarray, "..."]], which: Int[ndarray, " b"]
    ) -> Float[ndarray, "b E"]:
        """Return rows of one length with a last column that says whose they are."""
        F, D = self.inverse.shape
        out = np.zeros((len(rows), D + 1))
        for line, row in zip(out, rows, strict=True):
            line[: len(row)] = row
        out[:, D] = (which + 0.5) / F
        return out

    def owners(self, X: Float[ndarray, "b E"]) -> Int[ndarray, " b"]:
        """Return whose each padded row is."""
        return (X[:, -1] * len(self.sizes)).astype(int)

    def spread(
        self,
        var: Float[ndarray, " b"],
        which: Int[ndarray, " b"],
        messages: Float[ndarray, " F"],
    ) -> Float[ndarray, " b"]:
        """Return √(σ²/|N|² + S) of points with the variances σ²."""
        share = np.maximum(var, SMALLEST_VARIANCE) / self.neighbours[which] ** 2
        return np.sqrt(share + messages[which])

    def shares(self, copies: list[Float[ndarray, "..."]]) -> Float[ndarray, " F"]:
        """Return the messages σ²(x)/|N|² of all factors at a point of each."""
        which = np.arange(len(copies))
        var = self.moments(self.padded(copies, which)[:, :-1], which)[1]
        return np.maximum(var, SMALLEST_VARIANCE) / self.neighbours**2

    def moments(
        self, X: Float[ndarray, "b D"], which: Int[ndarray, " b"]
    ) -> tuple[
        Float[ndarray, " b"],
        Float[ndarray, " b"],
        Float[ndarray, "b D"],
        Float[ndarray, "b D"],
    ]:
        """Return mean, variance and their gradients in the rows."""
        N, D = self.scaled.shape[1:]
        mean, var = np.empty(len(X)), np.empty(len(X))
        slope, var_slope = np.empty_like(X), np.empty_like(X)
        rows = max(1, PANEL // (N * D))
        for start in range(0, len(X), rows):
            some = slice(start, start + rows)
            own = which[some]
            gap = (X[some] * self.inverse[own])[:, None, :] - self.scaled[own]
            k, w = self.kernel.correlation_and_weight(
                np.einsum("bnd,bnd->bn", gap, gap)
            )
            variance = self.variances[own]
            k *= variance[:, None]
            w *= -variance[:, None]
            alpha, solved = np.empty_like(k), np.empty_like(k)
            for i in np.unique(self.post[own]):
                its = self.post[own] == i
                alpha[its] = self.posts[i].alpha
                solved[its] = self.posts[i].solver.solve(k[its].T).T
            mean[some] = np.einsum("bn,bn->b", k, alpha)
            var[some] = variance - np.einsum("bn,bn->b", k, solved)
            alpha *= w
            solved *= w
            scale = self.inverse[own]
            slope[some] = np.einsum("bn,bnd->bd", alpha, gap) * scale
            var_slope[some] = -2.0 * np.einsum("bn,bnd->bd", solved, gap) * scale
        return mean, np.maximum(var, 0.0), slope, var_slope

    def __call__(
        self,
        X: Float[ndarray, "b E"],
        messages: Float[ndarray, " F"],
        pulls: Pulls | None = None,
    ) -> tuple[Float[ndarray, " b"], Float[ndarray, "b E"]]:
        """Return the bound plus the pull at padded rows, and the gradient."""
        which, Z = self.owners(X), X[:, :-1]
        mean, var, slope, var_slope = self.moments(Z, which)
        counts = self.neighbours[which]
        spread = self.spread(var, which, messages)
        var_slope *= (var > SMALLEST_VARIANCE)[:, None]
        value = mean - self.beta * spread
        slope -= self.beta / (2.0 * counts**2 * spread)[:, None] * var_slope
        if pulls is not None:
            more, more_slope = pulls(Z, which)
            value += more
            slope += more_slope
        return value, np.column_stack([slope, np.zeros(len(X))])

    def minimise(
        self,
        starts: list[Float[ndarray, "..."]],
        messages: Float[ndarray, " F"],
        pulls: Pulls | None,
        tolerance: float,
    ) -> list[Float[ndarray, "..."]]:
        """Return the lowest local minimum below the starts of each factor."""
        which = np.repeat(np.arange(len(starts)), [len(rows) for rows in starts])
        X = self.padded([row for rows in starts for row in rows], which)
        found, values = descend(
            lambda rows: self(rows, messages, pulls), X, tolerance=tolerance
        )
        values = np.where(np.isfinite(values), values, np.inf)
        ends = np.cumsum([len(rows) for rows in starts])
        best = [
            end - len(rows) + int(np.argmin(values[end - len(rows) : end]))
            for rows, end in zip(starts, ends, strict=True)
        ]
        return [found[b, :d] for b, d in zip(best, self.sizes, strict=True)]
