"""Kernels of orthogonal parts: sums of products of one-parameter kernels.

The functional ANOVA splits a function of the parameters I into terms f_u, one for each
subset u of I, which integrate to zero in every parameter of u. With k̃_j the kernel of
parameter j without its average, ``∏_{j ∈ u} k̃_j`` is the kernel of such a term, and
draws of different terms are orthogonal; [lu2022] Sec. 3.2. A part owns some subsets:

    k_m = v Σ_{u owned} ω_u ∏_{j ∈ u} k̃_j,     ω_u ∝ d^{−|u|},  Σ_u ω_u = 1,

for d parameters: about as much variance on all pairs together as on all main effects,
divided by two, and so on: terms of order q have d^q/q! members. The sum is computed as

    Σ_S γ_S ∏_{j ∈ S} (1 + k̃_j/d)                        (``AnovaTerms``)

over few sets S with whole numbers γ_S: a product holds all subsets of S.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sumbo.errors import TooLargeError
from sumbo.kernels.axis import CentredAxis
from sumbo.kernels.group import GroupKernel, panels
from sumbo.linalg import blas
from sumbo.typing import Float, Group, Groups, Int, ndarray

# Products that one kernel may consist of.
MOST_PRODUCTS = 2000


@dataclass(frozen=True, eq=False)
class AnovaTerms:
    """Σ_S γ_S ∏_{j ∈ S} (1 + b_j), a sum of ∏_{j ∈ u} b_j over subsets u; or ∏ b_j.

    Attributes:
        size: The number of parameters d.
        products: The sets S and their numbers γ_S.
        pure: Whether the only subset is that of all parameters.
    """

    size: int
    products: tuple[tuple[Group, int], ...]
    pure: bool

    @classmethod
    def of(cls, group: Group, others: Groups) -> "AnovaTerms":
        """Return the subsets of a group that are in no other one, but the empty one.

        Raises:
            TooLargeError: If they take too many products.
        """
        found: dict[frozenset[int], int] = {}
        shared = {frozenset(group) & frozenset(other) for other in [(), *others]}
        for other in sorted(shared, key=sorted):
            # Inclusion and exclusion: P(A ∪ B) = P(A) + P(B) − P(A ∩ B).
            added = {other: 1}
            for S, count in found.items():
                both = S & other
                added[both] = added.get(both, 0) - count
            for S, count in added.items():
                found[S] = found.get(S, 0) + count
            found = {S: count for S, count in found.items() if count}
            if len(found) > MOST_PRODUCTS:
                msg = (
                    f"the orthogonal part on {group} overlaps with so many others that "
                    f"its kernel has more than {MOST_PRODUCTS} products. Pass fewer, "
                    "or smaller groups."
                )
                raise TooLargeError(msg)
        place = {p: j for j, p in enumerate(group)}
        products = [(tuple(range(len(group))), 1)]
        for S, count in sorted(found.items(), key=lambda one: sorted(one[0])):
            products.append((tuple(sorted(place[p] for p in S)), -count))
        return cls(len(group), tuple(products), _is_pure(len(group), products))

    @cached_property
    def scale(self) -> float:
        """What the k̃_j are multiplied by."""
        return 1.0 if self.pure else 1.0 / self.size

    @cached_property
    def total(self) -> float:
        """The sum of the weights before they are normalised."""
        return float(self.combine([np.array([self.scale])] * self.size)[0])

    def combine(self, b: list[Float[ndarray, "*s"]]) -> Float[ndarray, "*s"]:
        """Return the sum of products for values b_j."""
        if self.pure:
            out = np.array(b[0])
            for one in b[1:]:
                out *= one
            return out
        plus = [1.0 + one for one in b]
        whole = next(count for S, count in self.products if len(S) == self.size)
        out = np.multiply(plus[0], float(whole))
        for one in plus[1:]:
            out *= one
        for S, count in self.products:
            if not S:
                out += count
            elif len(S) < self.size:
                product = np.multiply(plus[S[0]], float(count))
                for j in S[1:]:
                    product *= plus[j]
                out += product
        return out

    def slopes(self, b: list[Float[ndarray, "*s"]]) -> list[Float[ndarray, "*s"]]:
        """Return the derivatives of ``combine`` in every b_j."""
        if self.pure:
            return _without_each(b)
        out = [np.zeros(np.shape(one)) for one in b]
        plus = [1.0 + one for one in b]
        for S, count in self.products:
            others = _without_each([plus[j] for j in S])
            for j, product in zip(S, others, strict=True):
                out[j] += count * product
        return out


def _is_pure(d: int, products: list[tuple[Group, int]]) -> bool:
    signs = all(count == (-1) ** (d - len(S)) for S, count in products)
    return signs and len(products) == 2**d


def _without_each(b: list[Float[ndarray, "*s"]]) -> list[Float[ndarray, "*s"]]:
    """Return the products of all values but one, for each one."""
    before = [np.ones(np.shape(one)) for one in b]
    for j in range(1, len(b)):
        before[j] = before[j - 1] * b[j - 1]
    after = np.ones(np.shape(b[0])) if b else np.ones(())
    out = [np.empty(0)] * len(b)
    for j in range(len(b) - 1, -1, -1):
        out[j] = before[j] * after
        after = after * b[j]
    return out


@dataclass(frozen=True, kw_only=True, eq=False)
class OrthogonalKernel(GroupKernel):
    """The kernel of an orthogonal part; see the file's head.

    Attributes:
        axes: The kernel k̃_j of each parameter.
        columns: Which columns of the part's points belong to each parameter.
        terms: The subsets of parameters that the part owns.
    """

    axes: tuple[CentredAxis, ...]
    columns: tuple[Int[ndarray, "..."], ...]
    terms: AnovaTerms

    @cached_property
    def _amplitude(self) -> float:
        return self.variance / self.terms.total

    @property
    def is_line(self) -> bool:
        """Whether the part has one parameter with one coordinate."""
        return len(self.lengthscales) == 1

    def _each(self, A: Float[ndarray, "n d"]) -> list[Float[ndarray, "n _"]]:
        return [A[:, columns] for columns in self.columns]

    def __call__(
        self, A: Float[ndarray, "n d"], B: Float[ndarray, "m d"]
    ) -> Float[ndarray, "n m"]:
        """Return the covariances between two sets of points."""
        rows = zip(self.axes, self._each(A), self._each(B), strict=True)
        out = self.terms.combine([self.terms.scale * axis(a, b) for axis, a, b in rows])
        out *= self._amplitude
        return out

    def lower(self, A: Float[ndarray, "n d"]) -> Float[ndarray, "n n"]:
        """Return the Gram matrix of ``A``, Fortran-ordered, in its lower triangle."""
        out = super().lower(A)
        if len(self.axes) > 1:
            return out
        axis = next(iter(self.axes))
        weight = -self.variance / axis.c
        u = axis.u(A[:, self.columns[0]])
        return blas.dsyr(weight, u, lower=1, a=out, overwrite_a=1)

    def add_lower(self, A: Float[ndarray, "n d"], out: Float[ndarray, "n n"]) -> None:
        """Add the Gram matrix of ``A`` to the lower triangle of Fortran-ordered out."""
        if len(self.axes) > 1:
            super().add_lower(A, out)
        else:
            out += self(A, A).T

    def _panels(
        self, A: Float[ndarray, "n d"]
    ) -> Iterator[tuple[int, int, Float[ndarray, "p q"]]]:
        """Yield the values of rows start to stop over the variance; see the base.

        Those of a single parameter are not centred.
        """
        if len(self.axes) == 1:
            yield from super()._panels(A)
            return
        each, scale = self._each(A), self.terms.scale
        lacking = [
            np.sqrt(1.0 / axis.c) * axis.u(a)
            for axis, a in zip(self.axes, each, strict=True)
        ]
        for start, stop in panels(len(A)):
            b = []
            for axis, a, r in zip(self.axes, each, lacking, strict=True):
                k = axis.plain(a[start:stop], a[start:])
                k -= np.multiply.outer(r[start:stop], r[start:])
                k *= scale
                b.append(k)
            k = self.terms.combine(b)
            k /= self.terms.total
            yield start, stop, k

    def diagonal(self, A: Float[ndarray, "n d"]) -> Float[ndarray, " n"]:
        """Return the variance at each point."""
        rows = zip(self.axes, self._each(A), strict=True)
        values = [self.terms.scale * axis.diagonal(a) for axis, a in rows]
        return self._amplitude * self.terms.combine(values)

    def diagonal_gradient(self, A: Float[ndarray, "n d"]) -> Float[ndarray, "n d"]:
        """Return the gradient of the variance at each point."""
        scale, each = self.terms.scale, self._each(A)
        b = [scale * axis.diagonal(a) for axis, a in zip(self.axes, each, strict=True)]
        slopes = self.terms.slopes(b)
        out = np.empty(A.shape)
        for axis, a, columns, slope in zip(
            self.axes, each, self.columns, slopes, strict=True
        ):
            weight = (self._amplitude * scale) * slope
            out[:, columns] = weight[:, None] * axis.diagonal_gradient(a)
        return out

    def input_gradient(
        self, A: Float[ndarray, "n d"], B: Float[ndarray, "m d"]
    ) -> tuple[Float[ndarray, "n m"], Float[ndarray, "n m d"]]:
        """Return the covariances and their derivatives in the points of ``A``."""
        scale = self.terms.scale
        rows = zip(self.axes, self._each(A), self._each(B), strict=True)
        found = [axis.input_gradient(a, b) for axis, a, b in rows]
        b = [scale * k for k, _ in found]
        gradient = np.empty((len(A), len(B), A.shape[1]))
        slopes = self.terms.slopes(b)
        for columns, slope, (_, along) in zip(self.columns, slopes, found, strict=True):
            weight = (self._amplitude * scale) * slope
            gradient[:, :, columns] = weight[:, :, None] * along
        return self._amplitude * self.terms.combine(b), gradient
