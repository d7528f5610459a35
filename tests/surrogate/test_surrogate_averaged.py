"""Methods that average over structures: over how many, and when that is refused."""

import pytest

from searches import data_of
from sumbo.decompositions.auto import Auto
from sumbo.errors import ArgumentError
from sumbo.methods import make


@pytest.mark.parametrize("name", ["logei", "alcb2"])
def test_the_setting_reaches_the_learned_groups(name, rng):
    data = data_of(rng, [0, 1, 1, 2], 40)
    groups = Auto(first_sweeps=4, min_weight=0.0)
    many = make(name, groups=groups, averaged=4, starts=1, kernel="rbf")
    surrogate, state = many.update(rng, None, data)
    visited = {tuple(sorted(s)) for s in many.structures(state)}
    apart = ((0,), (1,), (2,), (3,))
    assert len(surrogate.posteriors) == min(4, len(visited | {apart}))
    assert surrogate.weights.sum() == pytest.approx(1.0, abs=1e-12)
    one = make(name, groups=groups, averaged=1, starts=1, kernel="rbf")
    assert len(one.update(rng, None, data)[0].posteriors) == 1
    plain = make(name, groups=groups, starts=1, kernel="rbf")
    assert len(plain.update(rng, None, data)[0].posteriors) <= 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"averaged": 0}, "averaged=0"),
        ({"averaged": 3, "groups": "random"}, "groups='random'"),
    ],
)
def test_an_average_that_is_impossible_is_refused(settings, message):
    with pytest.raises(ArgumentError, match=message):
        make("logei", **settings)
