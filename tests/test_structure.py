"""Groups of coordinates: what is accepted, and what each error says."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sumbo.errors import ArgumentError, SumboError
from sumbo.structure import as_groups, is_partition


@pytest.mark.parametrize(
    "given_groups",
    [
        [(0,), (1, 2)],
        ((0,), (1, 2)),
        [[0], [1, 2]],
        [np.array([0]), np.array([1, 2])],
        [range(1), range(1, 3)],
        [(np.int32(0),), (np.int64(1), 2)],
    ],
)
def test_sequences_of_integers_become_tuples_of_ints(given_groups):
    groups = as_groups(given_groups)
    assert groups == ((0,), (1, 2))
    assert all(type(p) is int for group in groups for p in group)


def test_a_matrix_of_equal_groups_is_accepted():
    assert as_groups(np.array([[3, 0], [2, 1]])) == ((3, 0), (2, 1))


def test_the_order_of_groups_and_of_their_coordinates_is_kept():
    assert as_groups([(2, 0), (3,), (1,)]) == ((2, 0), (3,), (1,))


def test_overlapping_and_repeated_groups_are_accepted():
    assert as_groups([(0, 1), (1, 2), (0, 1)], 3) == ((0, 1), (1, 2), (0, 1))


def test_one_coordinate_is_a_structure():
    assert as_groups([(0,)]) == ((0,),)


@pytest.mark.parametrize(
    ("groups", "dim", "message"),
    [
        (
            ((0, 1),),
            3,
            "groups=((0, 1),) do not cover 3 coordinates: missing 2. "
            "Add (2,) as a group of its own.",
        ),
        (
            ((4, 1),),
            None,
            "groups=((4, 1),) do not cover 5 coordinates: missing 0, 2, 3. "
            "Add (0,), (2,), (3,) as groups of their own.",
        ),
        (
            [(0, 3), (1, 2)],
            3,
            "groups=((0, 3), (1, 2)) name coordinate 3, but there are only 3 "
            "(0 to 2). Remove it.",
        ),
        ([(0,), ()], None, "groups hold an empty group (). Remove it."),
        ([], None, "groups=() is empty. Name at least one group, such as [(0,)]."),
        ([(0, 1, 0)], None, "group (0, 1, 0) names a coordinate twice."),
        ([(0, -2)], None, "group (0, -2) names the negative coordinate -2."),
        ([0, (1,)], None, "groups hold the bare number 0. Write the group as (0,)."),
        ([(0, 1.5)], None, "group (0, 1.5) is not a tuple of coordinate numbers"),
        ([(0, True)], None, "group (0, True) is not a tuple of coordinate numbers"),
        ([None], None, "group None is not a tuple of coordinate numbers"),
        (["01"], None, "group '01' is not a tuple of coordinate numbers"),
        ("auto", None, "groups='auto' is not a sequence of groups"),
        (7, None, "groups=7 is not a sequence of groups"),
        (None, None, "groups=None is not a sequence of groups"),
    ],
)
def test_bad_groups_name_the_value_and_the_remedy(groups, dim, message):
    with pytest.raises(ArgumentError) as caught:
        as_groups(groups, dim)
    assert message in str(caught.value)
    assert isinstance(caught.value, SumboError)
    assert isinstance(caught.value, ValueError)


def test_a_long_list_of_missing_coordinates_is_cut():
    with pytest.raises(ArgumentError, match=r"Add \(1,\), \(2,\), \(3,\), … as"):
        as_groups([(0, 40)])


def test_many_groups_are_not_shown_in_full():
    with pytest.raises(ArgumentError) as caught:
        as_groups([(p,) for p in range(1, 200)])
    assert len(str(caught.value)) < 400


@given(
    st.lists(
        st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True),
        min_size=1,
        max_size=7,
    )
)
def test_groups_are_accepted_exactly_when_they_cover(groups):
    named = {p for group in groups for p in group}
    if named == set(range(max(named) + 1)):
        assert as_groups(groups) == tuple(map(tuple, groups))
    else:
        with pytest.raises(ArgumentError, match="do not cover"):
            as_groups(groups)


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        (((0,), (1, 2)), True),
        (((2, 0), (1,)), True),
        (((0, 1), (1, 2)), False),
        (((0,), (0,)), False),
    ],
)
def test_a_partition_has_no_shared_coordinate(groups, expected):
    assert is_partition(groups) is expected
