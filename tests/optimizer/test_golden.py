"""The points of every method are those recorded before the model had one home."""

import numpy as np
import pytest

import golden


@pytest.fixture(scope="module")
def recorded():
    with np.load(golden.FILE) as file:
        runs = dict(file)
    if str(runs.pop("arithmetic")) != golden.arithmetic():
        pytest.skip("this processor rounds otherwise than the one that recorded")
    return runs


@pytest.mark.parametrize(
    "case", list(golden.cases()), ids=lambda case: golden.key(*case)
)
def test_points_are_those_recorded(recorded, case):
    np.testing.assert_allclose(
        golden.run(*case), recorded[golden.key(*case)], rtol=0, atol=1e-9
    )


def test_every_run_is_recorded():
    with np.load(golden.FILE) as file:
        expected = {golden.key(*case) for case in golden.cases()}
        assert set(file) - {"arithmetic"} == expected
