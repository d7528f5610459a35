"""Only its owner reads a field of what a method or a decomposition remembers."""

import dataclasses
import sys
from typing import Any

import pytest

from searches import BOX, QUICK, bowl
from sumbo import Optimizer
from sumbo.decompositions import DECOMPOSITIONS
from sumbo.methods import METHODS
from sumbo.state import State

# ``sumbo.state`` turns any state into arrays, the others copy one for its owner.
COPIERS = {"sumbo.state", "dataclasses", "copy"}


def remembered():
    """Return every class of what a method or decomposition remembers, and its bases."""
    found = set()
    for registry in (METHODS, DECOMPOSITIONS):
        for name in registry.names():
            remembers = registry.get(name).remembers
            found |= set(remembers.__mro__) if remembers else set()
    return {c for c in found if issubclass(c, State) and c is not State}


def owners(cls):
    """Return the modules that define a state, or one that derives from it."""
    related = [c for c in remembered() if issubclass(c, cls) or issubclass(cls, c)]
    return {c.__module__ for c in related}


@pytest.fixture
def readers(monkeypatch):
    """Return a list that collects who reads a field and does not own it."""
    found: list[tuple[str, str, str]] = []

    def watch(cls: type[Any]) -> None:
        fields = {field.name for field in dataclasses.fields(cls)}
        allowed = owners(cls) | COPIERS

        def read(self: Any, name: str) -> Any:
            if type(self) is cls and name in fields:
                reader = sys._getframe(1).f_globals["__name__"]
                if reader not in allowed:
                    found.append((cls.__name__, name, reader))
            return object.__getattribute__(self, name)

        monkeypatch.setattr(cls, "__getattribute__", read)

    for cls in remembered():
        watch(cls)
    return found


def play(method, path, **settings):
    """Run a search with refits and a checkpoint, and ask all there is to ask."""
    opt = Optimizer(BOX, method=method, seed=3, n_init=6, **settings)
    for q in (6, 1, 5, 5, 2):
        if q == 2:
            opt.save(path)
            opt = Optimizer.load(path)
        for x in opt.ask(q):
            opt.tell(x, bowl(x))
    opt.data()
    opt.structures()
    opt.co_membership()
    return opt.model()


@pytest.mark.parametrize("method", METHODS.names())
def test_only_the_owner_reads_the_state_of_a_method(method, readers, tmp_path):
    model = play(method, tmp_path / "run.npz", **QUICK.get(method, {}))
    assert readers == []
    assert (model is None) == (METHODS.get(method).remembers is None)


@pytest.mark.parametrize("groups", DECOMPOSITIONS.names())
def test_only_the_owner_reads_the_memory_of_a_decomposition(groups, readers, tmp_path):
    play("logei", tmp_path / "run.npz", groups=groups, **QUICK["logei"])
    assert readers == []


def test_the_sampler_for_optuna_reads_no_state(readers):
    optuna = pytest.importorskip("optuna")
    from sumbo.integrations.optuna import SumboSampler

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = SumboSampler(seed=3, n_startup_trials=5, **QUICK["logei"])
    study = optuna.create_study(sampler=sampler)
    ranges = {f"x{k}": limits for k, limits in enumerate(BOX)}
    study.optimize(
        lambda trial: bowl([trial.suggest_float(n, *r) for n, r in ranges.items()]),
        n_trials=14,
    )
    assert readers == []


def test_a_reader_who_does_not_own_the_state_is_found(readers, tmp_path):
    opt = Optimizer(BOX, seed=3, n_init=4, **QUICK["logei"])
    for x in opt.ask(4):
        opt.tell(x, bowl(x))
    opt.ask()
    state = opt._now.state
    assert state.fitted_at == 4
    assert readers == [("AdditiveState", "fitted_at", __name__)]
