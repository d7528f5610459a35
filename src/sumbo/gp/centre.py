"""What orthogonal lines lack: r(x) = √(v/c) u(x), with which k̃ = v k − r(a) r(b).

Lines with a uniform distribution are evaluated together; others, one by one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sumbo.kernels import CentredAxis, GroupKernel, Kernel, OrthogonalKernel
from sumbo.kernels.integrals import Primitives, primitives_of
from sumbo.space.measure import Measure
from sumbo.typing import Float, ndarray


@dataclass(frozen=True, eq=False)
class Centre:
    """r of L lines, each at points of its own.

    ``left`` and ``span`` are the lower ends and the lengths of their intervals. Lines
    ``alone`` have integrals that are sums; the others have the closed form ``closed``.
    """

    kernel: Kernel
    variances: Float[ndarray, " L"]
    lengths: Float[ndarray, "L 1"]
    low: Float[ndarray, "L 1"]
    span: Float[ndarray, "L 1"]
    closed: Primitives | None
    alone: Mapping[int, CentredAxis]

    @classmethod
    def of(cls, kernels: Sequence[GroupKernel]) -> "Centre | None":
        """Return r of lines; None if they are not orthogonal."""
        found = [k for k in kernels if isinstance(k, OrthogonalKernel)]
        if not found:
            return None
        return cls.over(
            found[0].kernel,
            [k.axes[0].measure for k in found],
            np.array([k.lengthscales[0] for k in found]),
            np.array([k.variance for k in found]),
        )

    @classmethod
    def over(
        cls,
        kernel: Kernel,
        measures: Sequence[Measure],
        lengths: Float[ndarray, " L"],
        variances: Float[ndarray, " L"],
    ) -> "Centre":
        """Return r of lines with these distributions."""
        closed = primitives_of(kernel)
        alone = {
            row: CentredAxis(
                kernel=kernel, lengthscales=lengths[row : row + 1], measure=one
            )
            for row, one in enumerate(measures)
            if closed is None or one.atoms is not None
        }
        low = np.array([one.low for one in measures])[:, None]
        high = np.array([one.high for one in measures])[:, None]
        return cls(kernel, variances, lengths[:, None], low, high - low, closed, alone)

    @cached_property
    def _relative(self) -> Float[ndarray, "L 1"]:
        return self.lengths / self.span

    @cached_property
    def c(self) -> Float[ndarray, " L"]:
        """∬k of each line."""
        out = np.ones(len(self.lengths))
        if self.closed:
            l = self._relative
            out = (2.0 * l**2 * self.closed.H(1.0 / l))[:, 0]
        for row, axis in self.alone.items():
            out[row] = axis.c
        return out

    @cached_property
    def _roots(self) -> Float[ndarray, "L 1"]:
        return np.sqrt(self.variances / self.c)[:, None]

    def _ends(self, x: Float[ndarray, "L b"]) -> Float[ndarray, "2 L b"]:
        """Return the distances from both ends, in units of the length-scale."""
        out = np.empty((2, *x.shape))
        np.subtract(x, self.low, out=out[0])
        np.subtract(self.span, out[0], out=out[1])
        out /= self.lengths
        return out

    def at(self, x: Float[ndarray, "L b"]) -> Float[ndarray, "L b"]:
        """Return r of each line at its own points."""
        out = np.zeros(x.shape)
        if self.closed:
            ends = self._ends(x)
            F = self.closed.F(np.abs(ends))
            np.copysign(F, ends, out=F)
            out = self._relative * (F[0] + F[1])
        for row, axis in self.alone.items():
            out[row] = axis.u(x[row][:, None])
        out *= self._roots
        return out

    def along(
        self, points: Sequence[Float[ndarray, "..."]]
    ) -> list[Float[ndarray, "..."]]:
        """Return r of lines at their points (A_m, 1), however many each has."""
        sizes = [len(A) for A in points]
        x = np.empty((len(points), max(sizes)))
        for row, A in enumerate(points):
            x[row, : len(A)], x[row, len(A) :] = A[:, 0], A[0, 0]
        r = self.at(x)
        return [r[row, :size] for row, size in enumerate(sizes)]

    def slopes(self, x: Float[ndarray, "L b"]) -> Float[ndarray, "L b"]:
        """Return the derivative of r of each line at its own points."""
        out = np.zeros(x.shape)
        if self.closed:
            k = self.kernel.correlation(self._ends(x) ** 2)
            out = (k[0] - k[1]) / self.span
        for row, axis in self.alone.items():
            out[row] = axis.u_gradient(x[row][:, None])[:, 0]
        return self._roots * out

    def length_slopes(
        self, x: Float[ndarray, "L b"], r: Float[ndarray, "L b"]
    ) -> tuple[Float[ndarray, "L b"], Float[ndarray, " L"]]:
        """Return √(v/c) ∂u/∂log ℓ of each line, and ∂log c/∂log ℓ; r is ``at(x)``."""
        out, of_c = np.zeros(x.shape), np.zeros(len(x))
        if self.closed:
            ends, l = self._ends(x), self._relative
            moved = ends * self.kernel.correlation(ends**2)
            out = r - (self._roots * l) * (moved[0] + moved[1])
            reach = self.closed.F(1.0 / l)
            of_c = 2.0 - (2.0 * l * reach)[:, 0] / self.c
        for row, axis in self.alone.items():
            out[row] = self._roots[row] * axis.u_slopes(x[row][:, None])[0]
            of_c[row] = axis.c_slopes[0] / axis.c
        return out, of_c
