"""States go to arrays and JSON values and come back the same."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from sumbo import Optimizer, methods
from sumbo.checkpoint import join_state, split_state
from sumbo.errors import CheckpointError
from sumbo.state import UNSAVED, State
from sumbo.typing import Float, Groups, ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class Inner(State):
    theta: Float[ndarray, " p"]
    groups: Groups


@dataclass(frozen=True, kw_only=True, eq=False)
class Outer(State):
    count: int
    name: str | None
    one: Inner | None
    many: tuple[Inner, ...]
    pair: tuple[float, ...]
    arrays: tuple[Float[ndarray, "..."], ...] | None = None


def inner(seed):
    rng = np.random.default_rng(seed)
    return Inner(theta=rng.normal(size=3), groups=((0, 2), (1,)))


def through_file(state):
    return type(state).unpack(join_state(*split_state(state.pack())))


@pytest.mark.parametrize("one", [None, inner(3)])
def test_states_inside_states_come_back(one):
    arrays = (np.arange(3.0), np.eye(2))
    state = Outer(
        count=7,
        name=None,
        one=one,
        many=(inner(5), inner(6)),
        pair=(0.1, -2.7),
        arrays=arrays,
    )
    back = through_file(state)
    assert (back.count, back.name, back.pair) == (7, None, (0.1, -2.7))
    assert (back.one is None) == (one is None)
    for a, b in zip(state.many, back.many, strict=True):
        assert isinstance(b, Inner)
        assert b.groups == a.groups
        np.testing.assert_array_equal(b.theta, a.theta)
    for a, b in zip(arrays, back.arrays, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "packed", [{}, {"theta": np.ones(2)}, {"theta": 1, "groups": 2, "more": 3}, [1], 5]
)
def test_a_file_with_other_fields_is_refused(packed):
    with pytest.raises(CheckpointError, match="Inner has the fields"):
        Inner.unpack(packed)


def test_a_known_field_is_taken_as_it_is():
    known = inner(4)
    packed = {**inner(1).pack(), "theta": None}
    assert Inner.unpack(packed, theta=known.theta).theta is known.theta


@pytest.mark.parametrize("method", methods.names())
def test_what_a_method_remembers_is_a_state(method):
    from searches import BOX, QUICK, bowl

    opt = Optimizer(BOX, method=method, seed=2, n_init=4, **QUICK.get(method, {}))
    for _ in range(6):
        x = opt.ask()
        opt.tell(x, bowl(x))
    state = opt._now.state
    if opt._engine.method.remembers is None:
        assert state is None
    else:
        assert type(state) is opt._engine.method.remembers


@dataclass(frozen=True, kw_only=True, eq=False)
class WithCache(State):
    count: int
    cache: list[int] = field(default_factory=list, metadata=UNSAVED)


def test_unsaved_fields_start_empty_again():
    back = through_file(WithCache(count=4, cache=[1, 2]))
    assert (back.count, back.cache) == (4, [])
