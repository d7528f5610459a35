"""A list of whole points from which the next ones are chosen."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sumbo.gp import AdditiveGP, Posterior
from sumbo.gp.whitened import Whitened
from sumbo.search.listed import ListedParts
from sumbo.typing import Bool, Float, Int, ndarray

# Bytes that what is kept between asks may take; without it every ask starts anew.
LIMIT = 2**30


class TableMemory:
    """What was computed for the rows of one list; it saves time and changes nothing.

    Copies, pickled ones too, are empty.
    """

    def __init__(self) -> None:
        self.known: list[Whitened] = []
        self.parts: list[ListedParts] = []

    def __reduce__(self) -> tuple[type, tuple]:
        return TableMemory, ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """Distinct points of the unit cube, and which of them may be chosen.

    Attributes:
        U: The points.
        open: Which of them may be chosen.
        repeats: Whether a point may be chosen again.
        memory: What is kept from one ask to the next.
    """

    U: Float[ndarray, "B P"]
    open: Bool[ndarray, " B"]
    repeats: bool = False
    memory: TableMemory = field(default_factory=TableMemory)

    def whitened(self, posteriors: Sequence[Posterior], base: int) -> list[Whitened]:
        """Return the covariances of the points with the observations, per model.

        They are always made from the first ``base`` observations at once and then row
        by row, so that a resumed run computes the same bits.
        """
        known = self.memory.known
        found = [self._grown(_find(known, p, self.U), p, base) for p in posteriors]
        if sum(8 * w.X.shape[0] * w.C.shape[0] for w in found) <= LIMIT:
            self.memory.known = found
        return found

    def parts(self, posteriors: Sequence[Posterior]) -> list[ListedParts]:
        """Return the moments of all parts at the points, per model.

        A resumed run computes them to rounding, which ``pick`` does not see.
        """
        found = []
        for post in posteriors:
            known = [
                one
                for one in self.memory.parts
                if one.U is self.U and _same(one.gp, post.gp) and one.is_before(post)
            ]
            made = known[0].given(post) if known else ListedParts.of(post, self.U)
            found.append(made)
        self.memory.parts = found
        return found

    def _grown(self, known: Whitened | None, post: Posterior, base: int) -> Whitened:
        noise = post.solver.noise
        if known is None:
            known = Whitened.of(post.gp, post.X[:base], noise[:base], self.U)
        for x, variance in zip(
            post.X[len(known.X) :], noise[len(known.X) :], strict=True
        ):
            known = known.append(x, float(variance))
        return known


def pick_each(table: Table, scores: Float[ndarray, "q B"]) -> Int[ndarray, " q"]:
    """Return, for each row of scores, the least open place; no place is taken twice.

    With repeats, a place may be taken again.
    """
    left, out = table.open.copy(), np.empty(len(scores), dtype=int)
    for i, score in enumerate(scores):
        out[i] = pick(left, score)
        if not table.repeats:
            left[out[i]] = False
    return out


def pick(left: Bool[ndarray, " B"], score: Float[ndarray, " B"]) -> int:
    """Return the first place that is open and whose score is least, to rounding.

    Points that the data do not distinguish have equal scores but for rounding, which
    must not decide: a resumed run may round in another way.
    """
    shown = np.where(left, score, np.inf)
    least = float(shown.min())
    return int(np.argmax(shown <= least + 1e-9 * max(1.0, abs(least))))


def _find(
    known: Sequence[Whitened], post: Posterior, U: Float[ndarray, "B P"]
) -> Whitened | None:
    """Return what is known of the same model for the first of its observations."""
    for one in known:
        n = len(one.X)
        prefix = n <= post.N and np.array_equal(one.X, post.X[:n])
        if prefix and one.C is U and _same(one.gp, post.gp):
            return one
    return None


def _same(a: AdditiveGP, b: AdditiveGP) -> bool:
    """Return whether two models have the same covariances."""
    if (a.groups, a.kernel) != (b.groups, b.kernel):
        return False
    if (a.orthogonal, a.constant) != (b.orthogonal, b.constant):
        return False
    return np.array_equal(a.hyperparameters().log(), b.hyperparameters().log())
