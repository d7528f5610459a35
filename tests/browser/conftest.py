"""Tests in a real browser: collected by ``make test-browser`` only."""

import os

import pytest

from chromium import Chromium, program

collect_ignore_glob = []
if not os.environ.get("SUMBO_TEST_BROWSER"):
    collect_ignore_glob.append("test_*.py")


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Return a page of a headless Chromium."""
    if program() is None:
        pytest.fail("No Chromium was found. Install it: apt-get install chromium.")
    found = Chromium(tmp_path_factory.mktemp("profile"))
    yield found
    found.close()
