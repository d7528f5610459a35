"""The additive lower confidence bound, averaged over structures."""

from dataclasses import replace

import numpy as np
import pytest

from searches import MIXED, data_of, undecided
from sumbo.methods import make
from sumbo.surrogate.base import Fit

BETA = 1.6


def average(surrogate, U):
    """Return the bound from moments of parts, structure by structure."""
    total = np.zeros(len(U))
    for weight, post in zip(surrogate.weights, surrogate.posteriors, strict=True):
        for m, group in enumerate(post.gp.groups):
            mean, var = post.part_moments(m, U[:, list(group)])
            total += weight * (mean - BETA * np.sqrt(var))
    return total


@pytest.mark.parametrize("bounds", [None, MIXED], ids=["reals", "mixed"])
def test_the_bound_is_averaged_over_plausible_structures(bounds, rng):
    data = data_of(rng, [0, 1, 1, 2], 14, bounds)
    state = undecided(rng, data)
    method = make("alcb2", beta=BETA)
    surrogate = method.surrogate(state, data)
    assert surrogate.weights == pytest.approx([0.6, 0.4])
    found, _, _ = method.propose(rng, state, data, 2)
    everywhere = data.domain.snap(rng.random((4000, data.domain.dim)))
    for u in found[:, None]:
        # The second point of a batch is chosen with the first one fantasised.
        assert average(surrogate, u) < average(surrogate, everywhere).min() + 1e-9
        surrogate = surrogate.fantasised(u)


def test_the_average_decides_not_the_structure_that_was_drawn(rng):
    data = data_of(rng, [0, 1, 1, 2], 14)
    state = undecided(rng, data, ((0, 3), (1, 2)), weight=0.8)
    alone = replace(state, drawn=Fit.of(state.drawn.gp), others=())
    method = make("alcb2", beta=BETA)
    both, one = method.surrogate(state, data), method.surrogate(alone, data)
    together, _, _ = method.propose(rng, state, data, 1)
    drawn, _, _ = method.propose(rng, alone, data, 1)
    assert average(both, together) < average(both, drawn) - 1e-3
    assert average(one, together) > average(one, drawn)
