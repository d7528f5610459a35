"""Randomness by address, and registries that find names in files."""

import inspect
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from sumbo.errors import ArgumentError, SumboError, UnknownNameError
from sumbo.registry import Registry, nearest
from sumbo.rng import as_seed, rng_at


# ---------------------------------------------------------------------- rng
def test_the_same_address_gives_the_same_numbers():
    first = rng_at(17, "ask", 3, 1).standard_normal(5)
    np.testing.assert_array_equal(first, rng_at(17, "ask", 3, 1).standard_normal(5))


def test_every_part_of_the_address_matters():
    addresses = [
        (17, "ask"),
        (18, "ask"),
        (17, "asK"),
        (17, "ask", 0),
        (17, "ask", 1),
        (17, "ask", 3, 1),
        (17, "ask", 1, 3),
    ]
    firsts = {float(rng_at(*address).random()) for address in addresses}
    assert len(firsts) == len(addresses)


def test_the_address_does_not_depend_on_the_process():
    code = "from sumbo.rng import rng_at; print(rng_at(5, 'täsk', 2).random().hex())"
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": salt},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for salt in ("1", "2")
    }
    assert runs == {rng_at(5, "täsk", 2).random().hex()}


def test_generators_of_neighbouring_addresses_are_uncorrelated():
    # False alarm: |z| > 5 has probability 6e-7.
    n = 20_000
    a = rng_at(3, "ask", 41).standard_normal(n)
    b = rng_at(3, "ask", 42).standard_normal(n)
    assert abs(a @ b) / np.sqrt(n) < 5


@pytest.mark.parametrize("seed", [0, 7, np.int64(7), np.uint8(7), 2**70])
def test_non_negative_integers_are_seeds(seed):
    out = as_seed(seed)
    assert type(out) is int
    assert out == seed
    rng_at(out, "ask").random()


def test_a_generator_gives_its_next_integer():
    rng = np.random.default_rng(5)
    first, second = as_seed(rng), as_seed(rng)
    assert type(first) is int
    assert first != second
    again = np.random.default_rng(5)
    assert [as_seed(again), as_seed(again)] == [first, second]


def test_no_seed_gives_a_fresh_one():
    assert as_seed(None) != as_seed(None)


@pytest.mark.parametrize("seed", [-1, True, 1.0, "7", np.array([1, 2])])
def test_other_seeds_are_refused(seed):
    # The body of the function, without the run-time check of its annotation.
    with pytest.raises(ArgumentError, match=r"seed=.* is not a non-negative integer"):
        inspect.unwrap(as_seed)(seed)


# ---------------------------------------------------------------------- registry
@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of two files, each of which registers a name when it is imported."""
    root = tmp_path / "toybox"
    root.mkdir()
    (root / "__init__.py").write_text("")
    (root / "base.py").write_text(
        "from sumbo.registry import Registry\nTOYS = Registry('toy', 'toybox')\n"
    )
    for name in ("ball", "kite"):
        (root / f"{name}.py").write_text(
            textwrap.dedent(f"""
            from toybox.base import TOYS

            @TOYS.register("{name}")
            def {name}():
                return "{name}!"
            """)
        )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "toybox.base"
    for module in [m for m in sys.modules if m.split(".")[0] == "toybox"]:
        del sys.modules[module]


def test_files_of_the_package_are_found_on_first_use(package):
    toys = sys.modules.get(package) or __import__(package, fromlist=["TOYS"])
    assert toys.TOYS.names() == ("ball", "kite")
    assert toys.TOYS.get("kite")() == "kite!"


def test_entry_points_join_the_registry(package, monkeypatch):
    toys = __import__(package, fromlist=["TOYS"]).TOYS

    class Point:
        def load(self):
            toys.register("yo-yo")(lambda: "yo!")

    asked = []

    def entry_points(*, group):
        asked.append(group)
        return [Point()]

    monkeypatch.setattr("sumbo.registry.entry_points", entry_points)
    assert toys.get("yo-yo")() == "yo!"
    assert asked == ["toybox"]


def test_an_entry_point_that_fails_is_reported_at_every_use(package, monkeypatch):
    toys = __import__(package, fromlist=["TOYS"]).TOYS

    class Point:
        def load(self):
            raise ImportError("no string for the yo-yo")

    monkeypatch.setattr("sumbo.registry.entry_points", lambda *, group: [Point()])
    for _ in range(2):
        with pytest.raises(ImportError, match="no string"):
            toys.names()


def test_an_unknown_name_is_an_error_with_the_nearest_names(package):
    toys = __import__(package, fromlist=["TOYS"]).TOYS
    with pytest.raises(UnknownNameError) as caught:
        toys.get("kit")
    assert str(caught.value) == "toy='kit' is unknown. Did you mean 'kite'?"
    assert isinstance(caught.value, KeyError)
    assert isinstance(caught.value, SumboError)


def test_without_a_near_name_all_are_listed():
    assert nearest("xyzzy", ["kite", "ball"]) == "Known names: ball, kite."


def test_a_name_is_taken_once():
    registry = Registry("toy", "sumbo.kernels")
    registry.register("ball")(str)
    registry.register("ball")(str)  # the same object again is harmless
    with pytest.raises(ArgumentError, match=r"toy 'ball' is registered already"):
        registry.register("ball")(int)


def test_one_object_may_have_several_names(package):
    toys = __import__(package, fromlist=["TOYS"]).TOYS
    toys.register("top", "spinning top")(max)
    assert toys.get("top") is toys.get("spinning top") is max
