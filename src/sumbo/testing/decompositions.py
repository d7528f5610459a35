"""What every decomposition promises."""

from typing import Any

import numpy as np

from sumbo.checkpoint import join_state, split_state
from sumbo.data import Data
from sumbo.decompositions import DECOMPOSITIONS, Decomposition, Proposal, resolve
from sumbo.gp import AdditiveGP
from sumbo.optimizer import Optimizer
from sumbo.rng import rng_at
from sumbo.space import Space
from sumbo.state import State
from sumbo.structure import as_groups, expand
from sumbo.testing import scenes
from sumbo.testing.claims import claim, fingerprint, read_only, require
from sumbo.typing import Groups, ndarray

SPACES = {
    "four parameters": Space.of(scenes.BOX),
    "one parameter": Space.of([(2.2, 3.9)]),
    "integers and choices": Space.of(scenes.MIXED),
    "forty parameters": Space.of([(-1.3, 0.8 + k) for k in range(40)]),
}


def check_decomposition(name: str) -> None:
    """Check everything that a registered decomposition promises."""
    with claim(f"decomposition {name!r}"):
        _check_class(name)
        source = resolve(name)
    for what, space in SPACES.items():
        with claim(f"decomposition {name!r} of {what}"):
            for n in (1, 9):
                _check_proposals(source, scenes.data(space, n, pending=2))
    with claim(f"decomposition {name!r} in a search"):
        opt = Optimizer(scenes.MIXED, groups=name, seed=2, n_init=3, candidates=30)
        for n in (3, 2):
            X = opt.ask(n)
            require(opt.space.contains(X), f"asked points outside the space: {X!r}")
            opt.tell(X, [scenes.value(opt.space, x) for x in X])


def _check_class(name: str) -> None:
    cls = DECOMPOSITIONS.get(name)
    derived = isinstance(cls, type) and issubclass(cls, Decomposition)
    require(derived, "does not derive from Decomposition")
    _check_frozen(cls)
    require((cls.__doc__ or "").strip(), "has no docstring")
    if cls.remembers is not None:
        memory = isinstance(cls.remembers, type) and issubclass(cls.remembers, State)
        require(memory, f"remembers={cls.remembers!r} does not derive from State")
        _check_frozen(cls.remembers)
    package, _, file = cls.__module__.rpartition(".")
    require(
        package not in DECOMPOSITIONS.packages or file == name,
        f"is registered in {file}.py. Name the file as the decomposition",
    )


def _check_frozen(cls: type) -> None:
    parameters = cls.__dict__.get("__dataclass_params__")
    frozen = parameters is not None and parameters.frozen
    require(frozen, f"{cls.__name__} is not a dataclass(frozen=True)")


def _check_proposals(source: Decomposition, data: Data) -> None:
    before = data.U.tobytes(), data.y.tobytes()
    first = source.propose(rng_at(29, "testing"), None, data, None)
    _check_proposal(source, first, data)
    blank = AdditiveGP(groups=expand(first.groups, data.domain.blocks))
    last = first.start or blank
    known = _through_file(source, first.memory)
    once = source.propose(rng_at(31, "testing"), known, data, last)
    again = source.propose(rng_at(31, "testing"), first.memory, data, last)
    _check_proposal(source, once, data)
    same = once.groups == again.groups and _bits(once.memory) == _bits(again.memory)
    require(same, "its memory does not survive a file, or it does not use rng alone")
    require(_bits(known) == _bits(first.memory), "changed the memory it was given")
    require((data.U.tobytes(), data.y.tobytes()) == before, "changed its data")


def _check_proposal(source: Decomposition, proposal: Proposal, data: Data) -> None:
    blocks = data.domain.blocks
    K = len(blocks)
    require(isinstance(proposal, Proposal), f"returned {proposal!r}, not a Proposal")
    _check_cover(proposal.groups, K)
    wanted = type(None) if source.remembers is None else source.remembers
    found = type(proposal.memory)
    require(
        found is wanted,
        f"memory is a {found.__name__}, remembers says {wanted.__name__}",
    )
    if proposal.start is not None:
        groups = expand(proposal.groups, blocks)
        require(proposal.start.groups == groups, "start is a model of other groups")
    weights = [other.weight for other in proposal.others]
    plausible = all(0 < weight < 1 for weight in weights) and sum(weights) < 1
    require(plausible, f"weights of others are {weights}; they leave nothing")
    for other in proposal.others:
        as_groups(other.gp.groups, data.domain.dim)
    require(proposal.fits >= 0, f"fits={proposal.fits} is negative")
    for groups in source.structures(proposal.memory):
        _check_cover(groups, K)
    _check_co_membership(source.co_membership(proposal.memory), K)


def _check_cover(groups: Groups, K: int) -> None:
    plain = isinstance(groups, tuple) and all(
        isinstance(group, tuple)
        and all(isinstance(k, int) and not isinstance(k, np.integer) for k in group)
        for group in groups
    )
    require(plain, f"returned {groups!r}, not a tuple of tuples of int")
    as_groups(groups, K)


def _check_co_membership(C: Any, K: int) -> None:
    if C is None:
        return
    square = isinstance(C, ndarray) and C.shape == (K, K)
    require(square, f"co_membership is {C!r}, not a {K} x {K} array")
    probable = (C >= 0).all() and (C <= 1 + 1e-9).all()
    require(probable, f"co_membership is not between 0 and 1: {C!r}")
    require(np.allclose(C, C.T), f"co_membership is not symmetric: {C!r}")


def _through_file(source: Decomposition, memory: State | None) -> State | None:
    """Return the memory as a saved run would hold it, arrays read-only."""
    if memory is None or source.remembers is None:
        return None
    saved = join_state(*split_state(memory.pack()))
    return source.remembers.unpack(read_only(saved))


def _bits(memory: State | None) -> Any:
    return None if memory is None else fingerprint(memory.pack())
