"""What the tests of the optimizer share: a box, an objective, other processes."""

import os
import subprocess
import sys
from copy import copy
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from sumbo import Categorical, Integer, Real, Space
from sumbo.checkpoint import join_state, split_state
from sumbo.data import prepare
from sumbo.decompositions.auto import Auto
from sumbo.gp import AdditiveGP
from sumbo.structure import expand
from sumbo.surrogate import AdditiveState, Scale
from sumbo.surrogate.base import Fit
from sumbo.testing import scenes

BOX = ((-2.3, 3.1), (1.7, 5.2), (0.31, 0.94))
MIXED = (
    Real("rate", 1e-4, 0.7, log=True),
    Integer("layers", 2, 9),
    Categorical("rule", ("sum", "max", None)),
    Real("weight", -3.2, 0.4),
)

# Cheaper than the defaults, and enough to go through every line of a method.
CHEAP: dict[str, Any] = {"candidates": 12, "starts": 1, "refit": 8}
LEARNED: dict[str, Any] = {"rounds": 1, "sweeps": 1, "random_starts": 3, "steps": 4}
QUICK: dict[str, dict[str, Any]] = {
    "alcb2": CHEAP,
    "ats": CHEAP,
    "dumbo": {
        "states": 2,
        "adam_steps": 3,
        "admm_iterations": 1,
        "candidates": 8,
        "starts": 1,
    },
    "logei": {"starts": 1, "refit": 8, "descents": 2},
    "max": {"candidates": 30, **LEARNED},
    "rducb": {"levels": 7, "refit": 4},
    "struct": {"candidates": 30, "levels": 5, **LEARNED},
    "ts": CHEAP,
}


def bowl(x):
    """Return a function of the box with one basin, at (0.4, 4.4, 0.5)."""
    x = np.asarray(x, dtype=float)
    z = (x - [0.4, 4.4, 0.5]) / [5.4, 3.5, 0.63]
    return float(3.7 + 2.9 * (z @ z) + 0.2 * np.sin(7 * z[0] * z[1]))


def everything(opt):
    """Return all that an optimizer knows but the clock: the bytes of its file."""
    opt, history = copy(opt), opt._now.history
    opt._remember(replace(history, times=np.full(len(history.y), np.nan)))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.npz"
        opt.save(path)
        return path.read_bytes()


def run_python(code, *arguments, hash_seed="0", **settings):
    """Return what a program prints in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "OMP_NUM_THREADS": "1"},
        **settings,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def additive_function(rng, X, labels):
    """Return sines of weighted sums over each group."""
    rates = rng.uniform(2.5, 5.5, X.shape[1])
    y = np.zeros(len(X))
    for a in np.unique(labels):
        phase, height = rng.uniform(0, 6), rng.uniform(0.7, 1.5)
        y += height * np.sin(X[:, labels == a] @ rates[labels == a] + phase)
    return y


def data_of(rng, labels, N, bounds=None):
    """Return values of an additive function at random points of a space."""
    space = Space.of(bounds or [(-1.3, 0.8 + k) for k in range(len(labels))])
    U = space.snap(rng.random((N, space.dim)))
    y = (
        additive_function(rng, U, np.array(labels))
        if bounds is None
        else np.array([scenes.value(space, x) for x in space.decode(U)])
    )
    return prepare(
        U=U,
        y=y,
        failed=np.zeros(N, dtype=bool),
        pending=np.empty((0, space.dim)),
        domain=space,
        step=N,
    )


def appended(data, U, y):
    """Return the data with rows added at the end, ``y`` in model units."""
    return replace(
        data,
        U=np.concatenate([data.U, U]),
        y=np.concatenate([data.y, y]),
        values=np.concatenate([data.values, data.transform.inverse(y)]),
        failed=np.concatenate([data.failed, np.zeros(len(y), dtype=bool)]),
    )


def saved(state, method):
    """Return the state of a method as a file gives it back."""
    return method.restore(join_state(*split_state(state.pack())))


def undecided(rng, data, other=((0,), (1,), (2,), (3,)), weight=0.4):
    """Return the state of a method that knows two structures of four parameters.

    The other one has that weight, what was drawn the rest. Both have a residual part.
    """
    proposal = Auto(first_sweeps=2, sweeps=1).propose(rng, None, data, None)
    groups = expand((*other, tuple(range(4))), data.domain.blocks)
    fitted = AdditiveGP(groups=groups).fit(data.U, data.y, spans=1.0, starts=1, steps=8)
    return AdditiveState(
        fitted_at=len(data.y),
        scale=Scale(transform=data.transform),
        drawn=Fit.of(proposal.start, 1.0 - weight),
        others=(Fit.of(fitted, weight),),
        memory=proposal.memory,
    )
