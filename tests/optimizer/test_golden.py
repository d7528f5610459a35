"""The points of every method are those recorded before the model had one home."""

import numpy as np
import pytest

import golden

CASES = list(golden.cases())
# Runs of these methods are long: the quick suite compares how they begin.
LONG = ("dumbo", "max", "struct")
LONG_CASES = [case for case in CASES if case[1] in LONG]
# Rounding errors decide between points from the first one on.
FRAGILE = ("max", "struct")

pytestmark = pytest.mark.filterwarnings("ignore:method='(ats|alcb2)' takes the parts")


@pytest.fixture(scope="module")
def recorded():
    with np.load(golden.FILE) as file:
        return dict(file)


def compare(recorded, case, budget):
    """Compare the points of a run with those recorded.

    Where the processor rounds otherwise, rounding errors grow from ask to ask. There
    the first points that a model chose are compared, with a wider tolerance.
    """
    tolerance = 1e-9
    if str(recorded["arithmetic"]) != golden.arithmetic():
        if case[1] in FRAGILE:
            pytest.skip("this processor rounds otherwise than the one that recorded")
        budget, tolerance = golden.ELSEWHERE, 1e-3
    found = golden.run(*case, budget=budget)
    wanted = recorded[golden.key(*case)][:budget]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance)


@pytest.mark.parametrize("case", CASES, ids=lambda case: golden.key(*case))
def test_points_are_those_recorded(recorded, case):
    budget = golden.BEGINNING if case[1] in LONG else golden.BUDGET
    compare(recorded, case, budget)


@pytest.mark.slow
@pytest.mark.parametrize("case", LONG_CASES, ids=lambda case: golden.key(*case))
def test_points_of_long_runs_are_those_recorded(recorded, case):
    compare(recorded, case, golden.BUDGET)


def test_every_run_is_recorded():
    with np.load(golden.FILE) as file:
        expected = {golden.key(*case) for case in golden.cases()}
        assert set(file) - {"arithmetic"} == expected
