"""What every decomposition promises."""

import numpy as np

from sumbo.checkpoint import join_state, split_state
from sumbo.data import Data
from sumbo.decompositions import DECOMPOSITIONS, Decomposition, resolve
from sumbo.optimizer import Optimizer
from sumbo.rng import rng_at
from sumbo.space import Space
from sumbo.structure import as_groups
from sumbo.testing import scenes
from sumbo.testing.claims import claim, fingerprint, read_only, require
from sumbo.typing import Groups

SPACES = {
    "four parameters": Space.of(scenes.BOX),
    "one parameter": Space.of([(2.2, 3.9)]),
    "integers and choices": Space.of(scenes.MIXED),
    "forty parameters": Space.of([(-1.3, 0.8 + k) for k in range(40)]),
}


def check_decomposition(name: str) -> None:
    """Check everything that a registered decomposition promises."""
    with claim(f"decomposition {name!r}"):
        cls = DECOMPOSITIONS.get(name)
        source = resolve(name)
        require(isinstance(source, Decomposition), "lacks a part of Decomposition")
        require(isinstance(cls.changes, bool), f"changes={cls.changes!r} is no bool")
        require((cls.__doc__ or "").strip(), "has no docstring")
        package, _, file = cls.__module__.rpartition(".")
        require(
            package != DECOMPOSITIONS.package or file == name,
            f"is registered in {file}.py. Name the file as the decomposition",
        )
    for what, space in SPACES.items():
        with claim(f"decomposition {name!r} of {what}"):
            for n in (1, 9):
                _check_groups(source, scenes.data(space, n, pending=2))
    with claim(f"decomposition {name!r} in a search"):
        opt = Optimizer(scenes.MIXED, groups=name, seed=2, n_init=3, candidates=30)
        for n in (3, 2):
            X = opt.ask(n)
            require(opt.space.contains(X), f"asked points outside the space: {X!r}")
            opt.tell(X, [scenes.value(opt.space, x) for x in X])


def _check_groups(source: Decomposition, data: Data) -> None:
    K = len(data.domain.blocks)
    before = data.U.tobytes(), data.y.tobytes()
    groups, state = source.propose(rng_at(29, "testing"), {}, data)
    _check_cover(groups, K)
    saved = join_state(*split_state(state))
    known = read_only(saved)
    once, _ = source.propose(rng_at(31, "testing"), known, data)
    again, _ = source.propose(rng_at(31, "testing"), state, data)
    _check_cover(once, K)
    require(once == again, "its state does not survive a file")
    require(fingerprint(known) == fingerprint(saved), "changed the state it was given")
    require((data.U.tobytes(), data.y.tobytes()) == before, "changed its data")
    require(
        source.changes or once == groups,
        f"changes is False, but {groups} became {once}. Set changes = True",
    )


def _check_cover(groups: Groups, K: int) -> None:
    plain = isinstance(groups, tuple) and all(
        isinstance(group, tuple)
        and all(isinstance(k, int) and not isinstance(k, np.integer) for k in group)
        for group in groups
    )
    require(plain, f"returned {groups!r}, not a tuple of tuples of int")
    as_groups(groups, K)
