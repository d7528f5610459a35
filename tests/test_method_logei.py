"""Expected improvement: averaged over structures, and leaps after polishing."""

import numpy as np
import pytest

from searches import MIXED, data_of, undecided
from sumbo.decompositions.base import expand
from sumbo.methods import logei, make


@pytest.fixture
def targets(monkeypatch):
    """Return what is searched, as it comes: the models, and the least improvement."""
    seen = []
    original = logei._target

    def spy(models, least):
        seen.append((models, least))
        return original(models, least)

    monkeypatch.setattr(logei, "_target", spy)
    return seen


# ---------------------------------------------------------------------- structures
@pytest.mark.parametrize("bounds", [None, MIXED], ids=["reals", "mixed"])
def test_expected_improvement_is_averaged_over_plausible_structures(
    bounds, rng, targets
):
    data = data_of(rng, [0, 1, 1, 2], 14, bounds)
    state = undecided(rng, data)
    (other,) = state["structure"]["others"]
    make("logei", descents=1).propose(rng, state, data, 2)
    for (models, _), believed in zip(targets, (0, 1), strict=True):
        assert [weight for weight, _ in models] == pytest.approx([0.6, 0.4])
        assert all(14 + believed == post.N for _, post in models)
        assert models[0][1].gp.groups == state["groups"]
        blocks = expand(tuple(map(tuple, other["groups"])), data.domain.blocks)
        assert models[1][1].gp.groups == blocks
        np.testing.assert_allclose(
            models[1][1].gp.hyperparameters().log(), other["log_theta"], rtol=1e-12
        )


# ---------------------------------------------------------------------- polishing
@pytest.mark.parametrize(
    ("y", "polishing"),
    [
        # Spread about 1: three values level with the best, no gain.
        ([1.4, -0.9, 0.3, -1.2, -1.1999, -1.2001, -1.1998], True),
        ([1.4, -0.9, 0.3, -1.2, -1.1999, -1.2001, -1.17], False),  # one is elsewhere
        ([1.4, -0.9, 0.3, -1.19, -1.1999, -1.2001, -1.1998], False),  # there is gain
        ([-1.2, -1.2, -1.2], False),
        ([0.0, 0.0, 0.0, 0.0], False),
    ],
)
def test_asks_that_only_polish_are_noticed(y, polishing):
    y = np.array(y)
    assert logei.is_polishing(y) is polishing
    assert logei.is_polishing(31.0 * y - 7.0) is polishing


def test_after_polishing_one_leap_is_looked_for(rng, targets, monkeypatch):
    data = data_of(rng, [0, 1, 2], 14)
    waiting = data.with_pending(rng.random((1, 3)))
    method = make("logei", groups="singletons", descents=1, starts=1)
    for polishing, given in ((False, data), (True, data), (True, waiting)):
        monkeypatch.setattr(logei, "is_polishing", lambda _, answer=polishing: answer)
        method.propose(rng, {}, given, 2)
    leap = 0.01 * data.y.std()
    assert [least for _, least in targets] == pytest.approx([0, 0, leap, 0, 0, 0])
