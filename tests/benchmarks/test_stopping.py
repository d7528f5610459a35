"""Where a recorded run would have stopped."""

import pytest
from benchmarks.stopping import stop_of

ROWS = [
    {"evaluations": n, "gain": gain, "best": best, "spread": "4.0"}
    for n, gain, best in (
        ("20", "7.5", "9.0"),
        ("25", "0.3", "5.2"),
        ("30", "0.03", "5.0"),
        ("120", "0.001", "4.8"),
    )
]


@pytest.mark.parametrize(
    ("share", "stopped", "at", "loss"),
    [(0.1, True, 25, 0.1), (0.01, True, 30, 0.05), (0.001, False, 120, 0.0)],
)
def test_the_first_small_gain_ends_a_run(share, stopped, at, loss):
    found = stop_of(ROWS, share)
    assert (found.stopped, found.at) == (stopped, at)
    assert found.loss == pytest.approx(loss)
