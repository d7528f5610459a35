"""The additive lower confidence bound, averaged over structures."""

import copy

import numpy as np
import pytest

from searches import MIXED, data_of, undecided
from sumbo.methods import make
from sumbo.methods.base import believing

BETA = 1.6


def average(models, U):
    """Return the bound from moments of parts, structure by structure."""
    total = np.zeros(len(U))
    for weight, post in models:
        for m, group in enumerate(post.gp.groups):
            mean, var = post.part_moments(m, U[:, list(group)])
            total += weight * (mean - BETA * np.sqrt(var))
    return total


@pytest.mark.parametrize("bounds", [None, MIXED], ids=["reals", "mixed"])
def test_the_bound_is_averaged_over_plausible_structures(bounds, rng):
    data = data_of(rng, [0, 1, 1, 2], 14, bounds)
    state = undecided(rng, data)
    method = make("alcb2", beta=BETA)
    models, _, _ = method.models(rng, state, data)
    assert [weight for weight, _ in models] == pytest.approx([0.6, 0.4])
    found, _, _ = method.propose(rng, state, data, 2)
    everywhere = data.domain.snap(rng.random((4000, data.domain.dim)))
    for u in found[:, None]:
        # The second point of a batch believes the first.
        assert average(models, u) < average(models, everywhere).min() + 1e-9
        models = believing(models, u)


def test_the_average_decides_not_the_structure_that_was_drawn(rng):
    data = data_of(rng, [0, 1, 1, 2], 14)
    state = undecided(rng, data, ((0, 3), (1, 2)), weight=0.8)
    alone = copy.deepcopy(state)
    del alone["structure"]["others"]
    method = make("alcb2", beta=BETA)
    models, _, _ = method.models(rng, state, data)
    together, _, _ = method.propose(rng, state, data, 1)
    drawn, _, _ = method.propose(rng, alone, data, 1)
    assert average(models, together) < average(models, drawn) - 1e-3
    assert average([(1.0, models[0][1])], together) > average(
        [(1.0, models[0][1])], drawn
    )
