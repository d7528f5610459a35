"""The additive lower confidence bound, averaged over structures."""

from dataclasses import replace

import numpy as np
import pytest

from searches import MIXED, data_of, undecided
from sumbo.errors import ArgumentError
from sumbo.methods import make
from sumbo.surrogate.base import Fit

BETA = 1.6


def average(surrogate, U, beta=BETA):
    """Return the bound from moments of parts, structure by structure."""
    total = np.zeros(len(U))
    for weight, post in zip(surrogate.weights, surrogate.posteriors, strict=True):
        for m, group in enumerate(post.gp.groups):
            mean, var = post.part_moments(m, U[:, list(group)])
            total += weight * (mean - beta * np.sqrt(var))
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


def test_only_fantasised_points_have_an_inflated_factor(rng):
    data = data_of(rng, [0, 1, 1, 2], 14)
    state = undecided(rng, data)
    method = make("alcb2", beta=BETA, inflation=0.7)
    surrogate = method.surrogate(state, data)
    found, _, _ = method.propose(rng, state, data, 3)
    everywhere = rng.random((4000, 4))
    for u, beta in zip(found[:, None], [BETA, *[BETA * np.exp(0.7)] * 2], strict=True):
        lowest = average(surrogate, everywhere, beta).min()
        assert average(surrogate, u, beta) < lowest + 1e-9
        surrogate = surrogate.fantasised(u)
    plain, _, _ = make("alcb2", beta=BETA).propose(rng, state, data, 3)
    assert not np.allclose(plain[1:], found[1:], atol=1e-3)


def test_the_information_bounds_by_how_much_fantasising_shrinks(rng):
    # What C stands for: [desautels2014], for every part of the model.
    data = data_of(rng, [0, 1, 1, 2], 14)
    surrogate = make("alcb2").surrogate(undecided(rng, data), data)
    post = surrogate.posteriors[1]
    pending, U = rng.random((5, 4)), rng.random((300, 4))
    groups = post.gp.groups
    blocks = post.joint_covariance([pending[:, list(g)] for g in groups])
    K = sum(
        blocks[5 * a : 5 * a + 5, 5 * b : 5 * b + 5]
        for a in range(len(groups))
        for b in range(len(groups))
    )
    information = 0.5 * np.linalg.slogdet(np.eye(5) + K / post.gp.noise)[1]
    later = post.append(pending, post.predict(pending)[0])
    for m, group in enumerate(groups):
        _, before = post.part_moments(m, U[:, list(group)])
        _, after = later.part_moments(m, U[:, list(group)])
        shrunk = 0.5 * np.log(before / after)
        assert (shrunk <= information + 1e-6).all()
        assert shrunk.max() > 0


def test_an_inflation_that_is_no_number_is_refused():
    with pytest.raises(ArgumentError, match=r"inflation=-0\.3"):
        make("alcb2", inflation=-0.3)
