"""Shared settings: hypothesis profiles, and one generator per test, by its name."""

import os
import signal
import zlib

import hypothesis
import numpy as np
import pytest

# Derandomized: a failure of the quick suite is the same on every machine.
hypothesis.settings.register_profile(
    "quick", max_examples=25, deadline=None, derandomize=True
)
hypothesis.settings.register_profile("thorough", max_examples=400, deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

# A shell starts its background jobs with SIGINT ignored, and children inherit that;
# the tests that interrupt a process need it back.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Another number repeats the statistical tests with other data.
SEED = int(os.environ.get("SUMBO_TEST_SEED", "0"))


@pytest.fixture
def rng(request):
    """Return a generator that belongs to this test (and parameter set) alone."""
    address = zlib.crc32(f"{request.path.stem}::{request.node.name}".encode())
    return np.random.default_rng([SEED, address])
