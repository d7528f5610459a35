"""Expected improvement: averaged over structures, leaps after polishing, draws."""

from dataclasses import replace

import numpy as np
import pytest

from searches import MIXED, data_of, undecided
from sumbo.methods import logei, make
from sumbo.structure import expand


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
        # Spread about 1: two values level with the best, no gain.
        ([1.4, -0.9, 0.3, -1.2, -1.2005, -1.1998], True),
        ([1.4, -0.9, 0.3, -1.2, 0.2, -1.2001, -1.1998], True),
        ([1.4, -0.9, 0.3, -1.2, -1.2001, -1.17], False),  # one is elsewhere
        ([1.4, -0.9, 0.3, -1.2, 0.2, -1.2001], False),
        ([1.4, -0.9, 0.3, -1.19, -1.1999, -1.2001], False),  # there is gain
        ([-1.2, -1.2], False),
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
    leap = 0.03 * data.y.std()
    assert [least for _, least in targets] == pytest.approx([0, 0, leap, 0, 0, 0])


# ---------------------------------------------------------------------- draws
@pytest.mark.parametrize(
    ("N", "step", "q", "pending", "every", "draws"),
    [
        (36, 40, 10, 0, 5, 2),
        (36, 43, 10, 0, 5, 2),
        (36, 40, 6, 0, 5, 1),
        (36, 44, 4, 0, 5, 0),  # too few wait
        (36, 44, 1, 0, 5, 0),
        (36, 44, 1, 9, 5, 1),  # workers that come back one by one: every fifth ask
        (36, 45, 1, 9, 5, 0),
        (36, 40, 10, 0, 11, 0),
        (36, 47, 2, 0, 1, 2),  # nothing but draws
        (35, 40, 10, 0, 5, 0),  # too few observations of three parameters
    ],
)
def test_some_of_many_waiting_points_minimise_draws(
    N, step, q, pending, every, draws, rng, targets, monkeypatch
):
    data = replace(data_of(rng, [0, 1, 2], N), step=step)
    data = data.with_pending(rng.random((pending, 3)))
    counts, given = [], rng.random((draws, 3))

    def drawn(settings, draw, rng, post, state, data, count):
        assert post.N == N  # a draw does not believe in other points
        counts.append(count)
        return given, state

    monkeypatch.setattr(logei, "minimise_draws", drawn)
    method = make("logei", groups="singletons", descents=1, starts=1, draw_every=every)
    found, state, _ = method.propose(rng, {}, data, q)
    assert counts == [draws] * (draws > 0)
    assert len(targets) == q - draws
    np.testing.assert_array_equal(found[q - draws :], given)
    assert "candidates" not in state


def test_draws_of_a_batch_are_low_points_of_the_model(rng):
    data = data_of(rng, [0, 1, 1], 40)
    method = make("logei", groups=[[0], [1, 2]], draw_every=1)
    models, state, _ = method.models(rng, {}, data)
    found, _, _ = method.propose(rng, state, data, 6)
    (post,) = (post for _, post in models)
    usual = post.predict(rng.random((400, 3)))[0]
    assert np.max(post.predict(found)[0]) < np.quantile(usual, 0.1)
    assert len(np.unique(found.round(6), axis=0)) == 6
