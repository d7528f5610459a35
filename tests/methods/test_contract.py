"""Every registered method, problem, kernel and decomposition keeps its promises."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from searches import QUICK
from sumbo import methods, problems, testing
from sumbo.decompositions import DECOMPOSITIONS
from sumbo.kernels import KERNELS
from sumbo.methods import METHODS, Info, Method
from sumbo.problems import PROBLEMS
from sumbo.state import State
from sumbo.testing.methods import (
    check_batch,
    check_listing,
    check_proposals,
    check_resume,
    check_saved_settings,
    check_seed,
)

QUICK_PROBLEMS: dict[str, dict[str, Any]] = {"lunar": {"seeds": (3, 17), "steps": 40}}
BIBLIOGRAPHY = Path(__file__).parents[2] / "references.bib"


def marked(name):
    needs = bool(problems.info(name).needs)
    return pytest.param(name, marks=pytest.mark.external if needs else ())


every_check = pytest.mark.parametrize(
    "check", testing.METHOD_CHECKS, ids=lambda check: check.__name__
)


@pytest.mark.parametrize("name", methods.names())
@every_check
def test_every_method_keeps_its_promises(check, name):
    check(name, QUICK.get(name, {}))


@pytest.mark.slow
@pytest.mark.parametrize("name", methods.names())
def test_every_method_keeps_its_promises_with_its_defaults(name):
    testing.check_method(name)


@pytest.mark.parametrize("kernel", KERNELS.names())
def test_every_kernel_keeps_its_promises(kernel):
    testing.check_kernel(kernel)


@pytest.mark.parametrize(
    "decomposition",
    [
        pytest.param(name, marks=pytest.mark.slow) if name == "tree" else name
        for name in DECOMPOSITIONS.names()
    ],
)
def test_every_decomposition_keeps_its_promises(decomposition):
    testing.check_decomposition(decomposition)


@pytest.mark.parametrize("problem", [marked(name) for name in PROBLEMS.names()])
def test_every_problem_keeps_its_promises(problem):
    ready, reason = problems.available(problem)
    if not ready:
        pytest.skip(reason)
    testing.check_problem(problem, **QUICK_PROBLEMS.get(problem, {}))


def cited():
    keys = {METHODS.get(name).cite for name in methods.names()}
    return sorted(keys | {PROBLEMS.get(name).cite for name in PROBLEMS.names()})


@pytest.mark.skipif(not BIBLIOGRAPHY.exists(), reason="references.bib is not here")
@pytest.mark.parametrize("key", cited())
def test_every_citation_is_in_the_bibliography(key):
    testing.check_citation(key, BIBLIOGRAPHY)


# ---------------------------------------------------------------------- the checks fail
@pytest.fixture
def registered(monkeypatch):
    """Return a function that registers a method for the time of one test."""
    methods.names()
    monkeypatch.setattr(METHODS, "_items", dict(METHODS._items))

    def register(name, cls):
        METHODS.register(name)(cls)
        return name

    return register


@dataclass(frozen=True, kw_only=True, eq=False)
class Sum(State):
    """Something to remember."""

    sum: Any


@dataclass(frozen=True, kw_only=True)
class Good(Method):
    """Uniform points, as a third party would write them."""

    cite: ClassVar[str] = "someone2024"
    label: ClassVar[str] = "Mine"
    remembers: ClassVar[type[State] | None] = Sum

    def propose(self, rng, state, data, q) -> tuple[Any, Any, Info]:
        return rng.random((q, data.domain.dim)), Sum(sum=np.zeros(2)), Info()


class Unlabelled(Good):
    """Uniform points without a label."""

    label: ClassVar[str] = " "


class Outside(Good):
    """Points beside the cube."""

    def propose(self, rng, state, data, q):
        return 1.1 + rng.random((q, data.domain.dim)), Sum(sum=0), Info()


class Flat(Good):
    """A vector instead of a matrix."""

    def propose(self, rng, state, data, q):
        return rng.random(data.domain.dim), Sum(sum=0), Info()


class Global(Good):
    """Points from a generator of its own, which nobody can repeat."""

    stream: ClassVar[np.random.Generator] = np.random.default_rng(5)

    def propose(self, rng, state, data, q):
        return self.stream.random((q, data.domain.dim)), Sum(sum=0), Info()


class Seedless(Good):
    """Points that do not depend on the seed."""

    def propose(self, rng, state, data, q):
        rng = np.random.default_rng(data.step)
        return rng.random((q, data.domain.dim)), Sum(sum=0), Info()


class Hidden(Good):
    """Points that depend on what no checkpoint holds."""

    calls: ClassVar[dict[int, int]] = {}

    def propose(self, rng, state, data, q):
        number = self.calls[id(self)] = self.calls.get(id(self), 0) + 1
        rng = np.random.default_rng([number, data.step])
        return rng.random((q, data.domain.dim)), Sum(sum=0), Info()


class Meddling(Good):
    """A method that writes into the state it was given."""

    def propose(self, rng, state, data, q):
        if state:
            state.sum[0] += 1.0
        return rng.random((q, data.domain.dim)), Sum(sum=np.zeros(2)), Info()


class Forgetful(Good):
    """A method whose state is a set, which no file keeps."""

    def propose(self, rng, state, data, q):
        return rng.random((q, data.domain.dim)), Sum(sum={1, 2}), Info()


class Untyped(Good):
    """A method whose state is a dictionary."""

    def propose(self, rng, state, data, q):
        return rng.random((q, data.domain.dim)), {"calls": 1}, Info()


@dataclass(frozen=True, kw_only=True)
class Tupled(Good):
    """A setting that comes back from a file as something else."""

    sizes: tuple[int, ...] = (3, 4)


@dataclass(kw_only=True)
class Changeable(Method):
    """Settings that can change while a run goes on."""

    cite: ClassVar[str] = "someone2024"
    label: ClassVar[str] = "Mine"
    size: int = field(default=3)

    def propose(self, rng, state, data, q):
        return rng.random((q, data.domain.dim)), Sum(sum=0), Info()


def test_a_method_of_a_third_party_passes_without_a_bibliography(registered):
    testing.check_method(registered("good", Good))


@pytest.mark.parametrize(
    ("check", "cls", "message"),
    [
        (check_listing, Unlabelled, "label=' ' is empty"),
        (check_listing, Changeable, "not a frozen dataclass"),
        (check_saved_settings, Tupled, r"\(3, 4\).*became.*\[3, 4\]"),
        (check_proposals, Outside, "outside the unit cube"),
        (check_proposals, Flat, r"shape \(4,\), not \(2, 4\)"),
        (check_proposals, Global, "does not survive a file"),
        (check_proposals, Meddling, "read-only"),
        (check_proposals, Forgetful, "sum"),
        (check_proposals, Untyped, "remembers {'calls': 1}"),
        (check_seed, Global, "two runs with one seed differ"),
        (check_seed, Seedless, "different seeds ask the same"),
        (check_resume, Hidden, "ask number [0-9] of the resumed run"),
        (check_batch, Flat, r"not \(10, 4\)"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_broken_promise_is_named(check, cls, message, registered):
    name = registered("broken", cls)
    with pytest.raises(AssertionError, match=rf"(?s)'broken'.*{message}"):
        check(name, {})


def test_an_unknown_name_fails_with_the_nearest_ones():
    with pytest.raises(AssertionError, match=r"'matern53'.*Did you mean 'matern52'"):
        testing.check_kernel("matern53")


@pytest.mark.parametrize(
    "entry", ["@article{here2020,", "  @Book {here2020 ,", "@misc{\n  here2020,"]
)
def test_a_citation_is_found_by_its_key(tmp_path, entry):
    path = tmp_path / "some.bib"
    path.write_text(f"% a list\n@article{{other2019,\n}}\n{entry} title = {{A}}}}\n")
    testing.check_citation("here2020", path)
    with pytest.raises(AssertionError, match="cite='there2020' has no entry"):
        testing.check_citation("there2020", path)
