"""Matérn parts of one coordinate as Markov processes: all work is linear in the points.

With ``p = ν + ½`` and distances measured in units of 1/λ, λ = √(2ν)/ℓ, the last of

    du_0 = −u_0 dt + dW,   du_k = (−u_k + u_{k−1}) dt,   k = 1 … p − 1

is a Matérn process of smoothness ν up to a factor: p equal low-pass filters in a row;
[rasmussen2006] Sec. B.2 in other coordinates of the state. A gap d moves it by

    (Φu)_k = e^{−d} Σ_j d^{k−j}/(k−j)! u_j,

a sum of positive terms whatever d is. So the same recursion carries prior draws (the
noise of each gap comes in) and products with kernel matrices (weights come in).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import factorial
from typing import Optional

import numpy as np
from scipy.special import gammainc

from sumbo.kernels.base import Kernel
from sumbo.kernels.group import GroupKernel
from sumbo.kernels.matern import Matern
from sumbo.typing import Float, Int, ndarray

# A gap at which e^{−d} is 0 in floats: what lies beyond is independent.
FAR = 1000.0
# Below this gap the state moves by less than rounding; its square is still a float.
NEAR = 1e-50
# Steps of a recursion are taken side by side in up to this many stretches …
WIDTH = 8192
# … of at least this many points; the stretches' ends are a shorter recursion.
SHORTEST = 32


def states_of(kernel: Kernel) -> int:
    """Return p, the number of states along one coordinate; 0 if it has none."""
    return round(kernel.nu + 0.5) if isinstance(kernel, Matern) else 0


def is_markov(kernel: GroupKernel) -> bool:
    """Return whether a part is a Markov process: one coordinate, and Matérn.

    An orthogonal one is such a process less its average, see ``averaged``.
    """
    return len(kernel.lengthscales) == 1 and states_of(kernel.kernel) > 0


@dataclass(frozen=True, eq=False)
class Recursion:
    """u_i = Φ(gap_i) u_{i−1} + w_i along T points, from u = 0, in O(T).

    The points are cut into C stretches of S. All stretches advance at once from 0;
    a recursion over their ends gives what enters each, and is carried through it.
    Arrays are (S, …, C), so that a step reads what lies side by side in memory.
    """

    T: int
    gap: Float[ndarray, "S C"]
    decay: Float[ndarray, "S C"]
    ends: Optional["Recursion"]

    @classmethod
    def of(cls, gaps: Float[ndarray, " T"]) -> "Recursion":
        """Return the recursion over points with these gaps to their predecessors."""
        T = len(gaps)
        S = T if T <= 2 * SHORTEST else max(SHORTEST, -(-T // WIDTH))
        gap = _fold(gaps, S)
        ends = cls.of(np.minimum(gap.sum(axis=0), FAR)) if gap.shape[1] > 1 else None
        return cls(T, gap, np.exp(-gap), ends)

    def run(
        self, w: Float[ndarray, "q k T"], weights: tuple[float, ...]
    ) -> Float[ndarray, "k T"]:
        """Return Σ_j weights_j u_j of k runs, from what comes in at each point.

        ``w`` may hold the first states only; nothing comes in at the others.
        """
        u = _fold(w, len(self.gap), len(weights))
        self._advance(u)
        S, p, k, C = u.shape
        out = np.matmul(np.array(weights), u.reshape(S, p, k * C))
        return _unfold(out.reshape(S, k, C), self.T)

    def _advance(self, u: Float[ndarray, "S p k C"]) -> None:
        """Turn what comes in into the states, in place."""
        zero = np.zeros_like(u[0])
        _sweep(self.gap, self.decay, u, zero, joined=True)
        if self.ends is None:
            return
        last = _fold(u[-1], len(self.ends.gap))
        self.ends._advance(last)
        zero[..., 1:] = _unfold(last, self.ends.T)[..., :-1]
        _sweep(self.gap, self.decay, u, zero, joined=False)


def _fold(
    a: Float[ndarray, "*rows T"], S: int, p: int | None = None
) -> Float[ndarray, "S *more C"]:
    """Return the sequence as C stretches of S side by side, zeros where it has none.

    With ``p`` the first axis is filled up to p states.
    """
    *rows, T = a.shape
    C = -(-T // S)
    if T < C * S:
        padded = np.zeros((*rows, C * S))
        padded[..., :T] = a
        a = padded
    folded = np.moveaxis(a.reshape(*rows, C, S), -1, 0)
    if p is None or p == rows[0]:
        return folded.copy()
    out = np.zeros((S, p, *rows[1:], C))
    out[:, : rows[0]] = folded
    return out


def _unfold(u: Float[ndarray, "S *rows C"], T: int) -> Float[ndarray, "*rows T"]:
    """Return the sequence of T points that was folded."""
    u = np.moveaxis(u, 0, -1)
    return u.reshape(*u.shape[:-2], -1)[..., :T]


def _sweep(
    gap: Float[ndarray, "S C"],
    decay: Float[ndarray, "S C"],
    u: Float[ndarray, "S p k C"],
    state: Float[ndarray, "p k C"],
    *,
    joined: bool,
) -> None:
    """Move a state through all stretches by Φ, and add it to ``u`` at every point.

    ``joined`` states take up what is there as they pass.
    """
    for s in range(len(u)):
        state = decay[s] * state
        if len(state) > 2:
            state[2] += gap[s] * (state[1] + 0.5 * gap[s] * state[0])
        if len(state) > 1:
            state[1] += gap[s] * state[0]
        u[s] += state
        if joined:
            state = u[s]


def noise_factor(gaps: Float[ndarray, " T"], p: int) -> Float[ndarray, "p p T"]:
    """Return the lower factor of what each gap adds to the state's covariance."""
    return factor_of_moments(noise_moments(gaps, p), gaps)


def noise_moments(gaps: Float[ndarray, " T"], p: int) -> Float[ndarray, "q T"]:
    """Return P(j + 1, 2d) for each gap d and j = 0 … 2p − 2.

    These incomplete gamma functions are right to rounding for any gap: those of lower
    order follow from the highest by adding positive terms.
    """
    x = 2.0 * np.maximum(gaps, NEAR)
    Q = np.empty((2 * p - 1, len(gaps)))
    Q[-1] = gammainc(2 * p - 1, x)
    term = np.exp(-x)  # x^a e^{−x}/a!, for a = 0, 1, …
    terms = [term]
    for a in range(1, 2 * p - 1):
        term = term * x / a
        terms.append(term)
    for a in range(2 * p - 2, 0, -1):
        Q[a - 1] = Q[a] + terms[a]
    return Q


def factor_of_moments(
    Q: Float[ndarray, "q T"], gaps: Float[ndarray, " T"]
) -> Float[ndarray, "p p T"]:
    """Return the lower factor of Q_ij = ∫_0^d e^{−2s} s^{i+j}/(i! j!) ds.

    At FAR this is the stationary covariance, which is how every part begins.
    """
    p = (len(Q) + 1) // 2
    L = np.zeros((p, p, len(gaps)))
    for i in range(p):
        for j in range(i + 1):
            count = factorial(i + j) / (factorial(i) * factorial(j))
            left = count / 2.0 ** (i + j + 1) * Q[i + j]
            for k in range(j):
                left -= L[i, k] * L[j, k]
            L[i, j] = left / L[j, j] if i > j else np.sqrt(left)
    L[..., gaps == 0] = 0.0  # nothing happens between equal points
    return L


def stationary_deviation(p: int) -> float:
    """Return the standard deviation of the last state, as it is everywhere."""
    return np.sqrt(factorial(2 * p - 2) / 2.0 ** (2 * p - 1)) / factorial(p - 1)


@dataclass(frozen=True, eq=False)
class SortedPoints:
    """The points of several parts, each sorted, joined into one sequence.

    ``gaps`` are those to the predecessor, in units of the part's 1/λ; the first of a
    part is FAR. ``order`` holds, per part, which of its points comes when.
    """

    p: int
    gaps: Float[ndarray, " T"]
    order: tuple[Int[ndarray, "..."], ...]

    @classmethod
    def of(
        cls, kernels: list[GroupKernel], points: list[Float[ndarray, "..."]]
    ) -> "SortedPoints":
        """Return the sequence of parts with one kernel, from their points (A_m, 1)."""
        p = states_of(kernels[0].kernel)
        gaps, order = [], []
        for kernel, A in zip(kernels, points, strict=True):
            index = np.argsort(A[:, 0], kind="stable")
            step = np.diff(A[index, 0]) * (np.sqrt(2 * p - 1) / kernel.lengthscales[0])
            gaps += [[FAR], np.minimum(step, FAR)]
            order.append(index)
        return cls(p, np.concatenate(gaps), tuple(order))

    def cuts(self) -> list[slice]:
        """Return where each part lies in the sequence."""
        ends = np.cumsum([0, *(len(index) for index in self.order)]).tolist()
        return [slice(a, b) for a, b in pairwise(ends)]


def in_turns(sizes: Sequence[int], most: int) -> Iterator[slice]:
    """Yield runs of neighbours whose sizes add up to at most ``most``, or single."""
    start, total = 0, 0
    for m, size in enumerate(sizes):
        if m > start and total + size > most:
            yield slice(start, m)
            start, total = m, 0
        total += size
    if len(sizes):
        yield slice(start, len(sizes))
