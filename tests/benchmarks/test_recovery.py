"""The benchmark of learned groups: its functions, and what it says of a clear case."""

import importlib
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def recovery():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        yield importlib.import_module("benchmarks.recovery")


def test_groups_have_one_to_three_members_and_not_one_each(recovery, rng):
    for _ in range(200):
        sizes = np.bincount(recovery.labels_of(rng))
        assert sizes.sum() == 10
        assert sizes.min() >= 1
        assert 2 <= sizes.max() <= 3


@pytest.mark.parametrize("kind", ["draw", "wave", "product", "bowl", "rings"])
def test_members_of_a_group_interact(kind, recovery, rng):
    # Second differences across two coordinates are 0 for a sum over them.
    f = recovery.KINDS[kind](rng, 2)
    a, b, c, d = rng.random((4, 30))
    points = [np.stack(p, axis=1) for p in ((a, b), (c, b), (a, d), (c, d))]
    first, second, third, fourth = (f(X) for X in points)
    assert np.abs(first - second - third + fourth).max() > 1e-3


@pytest.mark.slow
def test_scores_are_areas_and_repeatable(recovery):
    found = recovery.recover("product", 4)
    assert found[:2] == recovery.recover("product", 4)[:2]
    assert 0.5 < found.together <= 1.0
    assert 0.0 <= found.visited <= 1.0
