"""What every method promises."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from sumbo.checkpoint import join_state, split_state
from sumbo.methods import METHODS, Info, Method, make
from sumbo.optimizer import Optimizer
from sumbo.rng import rng_at
from sumbo.space import Categorical, Integer, Space
from sumbo.testing import scenes
from sumbo.testing.claims import (
    claim,
    fingerprint,
    read_only,
    require,
    require_in_cube,
    require_same_bits,
)
from sumbo.typing import Float, ndarray

Settings = Mapping[str, Any]

# Fewer than the default, so that the model takes over soon.
DESIGN = 5


def check_method(name: str, **settings: Any) -> None:
    """Check everything that a registered method promises.

    ``settings`` are those of the method; choose them so that a proposal takes a
    fraction of a second, since some fifty are made.
    """
    for check in METHOD_CHECKS:
        check(name, settings)


def check_listing(name: str, settings: Settings) -> None:
    """Check name, label, citation, settings and presets."""
    with claim(f"method {name!r}"):
        cls = METHODS.get(name)
        frozen = getattr(getattr(cls, "__dataclass_params__", None), "frozen", False)
        require(frozen, "is not a frozen dataclass, so its settings can change")
        require(isinstance(make(name, **settings), Method), "lacks a part of Method")
        package, _, file = cls.__module__.rpartition(".")
        require(
            package not in METHODS.packages or file == name,
            f"is registered in {file}.py. Name the file as the method",
        )
        for attribute in ("label", "cite"):
            text = getattr(cls, attribute)
            require(
                isinstance(text, str) and text.strip(), f"{attribute}={text!r} is empty"
            )
        require((cls.__doc__ or "").strip(), "has no docstring")
        for preset in cls.presets:
            make(name, preset)


def check_saved_settings(name: str, settings: Settings) -> None:
    """Check that a saved run has the settings of the one that went on."""
    with claim(f"settings of method {name!r}"):
        opt = Optimizer(scenes.BOX, method=name, seed=1, **settings)
        there = through_file(opt)
        require(
            there.settings == opt.settings,
            f"{opt.settings} became {there.settings} in a file. Use numbers, strings, "
            "booleans and lists",
        )


def check_proposals(name: str, settings: Settings) -> None:
    """Check shape, cube, repeatability and untouched arguments of ``propose``."""
    with claim(f"propose of method {name!r}"):
        space = Space.of(scenes.BOX)
        method, data = make(name, **settings), scenes.data(space, 9, pending=2)
        before = data.U.tobytes(), data.y.tobytes(), data.pending.tobytes()
        U, state, info = method.propose(rng_at(3, "testing"), None, data, 2)
        require_in_cube(U, (2, space.dim))
        require(isinstance(info, Info), f"returned {info!r} instead of an Info")
        wanted = type(None) if method.remembers is None else method.remembers
        require(
            isinstance(state, wanted),
            f"remembers {state!r}, and says remembers={method.remembers!r}. Return a "
            "frozen dataclass that derives from sumbo.state.State, and name its class",
        )

        # What a file gives back is all that a resumed run has.
        packed = None if state is None else state.pack()
        saved = join_state(*split_state(packed))
        known = None if saved is None else method.restore(read_only(saved))
        once, _, _ = method.propose(rng_at(5, "testing"), known, data, 1)
        after_use = None if known is None else known.pack()
        require(
            fingerprint(after_use) == fingerprint(saved),
            "changed the state it was given. Return a new one",
        )
        again, _, _ = method.propose(rng_at(5, "testing"), state, data, 1)
        require_in_cube(once, (1, space.dim))
        require_same_bits(once, again, "the state does not survive a file")
        after = data.U.tobytes(), data.y.tobytes(), data.pending.tobytes()
        require(before == after, "changed the data it was given")


def check_seed(name: str, settings: Settings) -> None:
    """Check that the seed alone decides, and that it does decide."""
    with claim(f"seeds of method {name!r}"):
        runs = [_short_run(name, settings, seed) for seed in (11, 11, 12)]
        require_same_bits(runs[0], runs[1], "two runs with one seed differ")
        require(
            not np.array_equal(runs[0][-1], runs[2][-1]),
            "two runs with different seeds ask the same point",
        )


def check_resume(name: str, settings: Settings) -> None:
    """Check that a run saved and loaded at every turn asks the same points."""
    with claim(f"resuming method {name!r}"):
        begin = {"method": name, "seed": 7, "n_init": DESIGN, **settings}
        whole = scenes.play(Optimizer(scenes.BOX, **begin), lambda opt: opt)
        broken = scenes.play(Optimizer(scenes.BOX, **begin), through_file)
        for i, (a, b) in enumerate(zip(whole, broken, strict=True)):
            require_same_bits(a, b, f"ask number {i} of the resumed run")


def check_hard_data(name: str, settings: Settings) -> None:
    """Check finite points inside the box where data are constant, doubled or few."""
    space = Space.of(scenes.BOX)
    X = space.decode(scenes.points(space, 6, "hard"))
    y = np.array([scenes.value(space, x) for x in X])
    other = np.array([0.31, 0.0, 0.0, -0.02])
    # What is told: points and their values, None for failed evaluations.
    cases: dict[str, list[tuple[ndarray, ndarray | None]]] = {
        "constant values": [(X, np.full(len(X), -3.7))],
        "points told twice": [(X, y), (X[:4], y[:4] + other)],
        "one point told six times": [(np.tile(X[0], (6, 1)), np.full(6, 2.9))],
        "one observation": [(X[:1], y[:1])],
        "huge values": [(X, 1e200 * y)],
        "tiny values": [(X, 1e-200 * y)],
        "failed evaluations": [(X[:3], y[:3]), (X[3:], None)],
        "one success among failures": [(X[1:], None), (X[:1], y[:1])],
    }
    for what, told in cases.items():
        with claim(f"method {name!r} with {what}"):
            opt = Optimizer(scenes.BOX, method=name, seed=5, n_init=1, **settings)
            for points, values in told:
                opt.tell(points, values, failed=values is None)
            _require_fresh(opt, opt.ask()[None])


def check_one_parameter(name: str, settings: Settings) -> None:
    """Check a search along a single coordinate."""
    with claim(f"method {name!r} with one parameter"):
        opt = Optimizer([(3.3, 8.9)], method=name, seed=6, n_init=3, **settings)
        for _ in range(5):
            x = opt.ask()
            require(x.shape == (1,), f"asked a point of shape {x.shape}, not (1,)")
            _require_fresh(opt, x[None])
            opt.tell(x, scenes.value(opt.space, x))


def check_batch(name: str, settings: Settings) -> None:
    """Check ten points at once, and one more while they are pending: all distinct."""
    with claim(f"a batch of method {name!r}"):
        opt = Optimizer(scenes.BOX, method=name, seed=8, n_init=DESIGN, **settings)
        X = opt.space.decode(scenes.points(opt.space, 8, "batch"))
        opt.tell(X, [scenes.value(opt.space, x) for x in X])
        batch = opt.ask(10)
        require(batch.shape == (10, 4), f"asked shape {batch.shape}, not (10, 4)")
        _require_fresh(opt, np.vstack([batch, opt.ask()]))


def check_mixed_space(name: str, settings: Settings) -> None:
    """Check integers, choices and logarithmic scales."""
    with claim(f"method {name!r} with a mixed space"):
        opt = Optimizer(scenes.MIXED, method=name, seed=9, n_init=DESIGN, **settings)
        for n in (DESIGN, 3, 1):
            X = opt.ask(n)
            _require_fresh(opt, X)
            for x in X:
                opt.tell(x, scenes.value(opt.space, x))


def check_exhausted_space(name: str, settings: Settings) -> None:
    """Check that all points of a small space are asked before one comes again."""
    with claim(f"method {name!r} with a space of four points"):
        small = [Integer("level", 3, 4), Categorical("rule", ("sum", "max"))]
        opt = Optimizer(small, method=name, seed=10, n_init=2, **settings)
        for _ in range(4):
            x = opt.ask()
            _require_fresh(opt, x[None])
            opt.tell(x, scenes.value(opt.space, x))
        require(opt.space.contains(opt.ask()), "asked a point outside the space")


def check_choices(name: str, settings: Settings) -> None:
    """Check ``choose``: rows of a list, none twice, exact when resumed."""
    with claim(f"choosing with method {name!r}"), quiet():
        if METHODS.get(name).choose is Method.choose:
            return
        space = Space.of(scenes.BOX)
        C = space.decode(scenes.points(space, 14, "choices"))
        runs = []
        for keep in (lambda opt: opt, through_file):
            opt = Optimizer(space, method=name, seed=13, n_init=DESIGN, **settings)
            chosen: list[int] = []
            for _ in range(6):
                rows = opt.choose(C, 2)
                chosen += rows.tolist()
                opt = keep(opt)
                opt.tell(C[rows[0]], scenes.value(space, C[rows[0]]))
            require(len(set(chosen)) == 12, f"chose a row twice: {chosen}")
            chosen.append(opt.choose(C, repeats=True))
            require(max(chosen) < len(C), f"chose no row of the list: {chosen}")
            runs.append(chosen)
        require(runs[0] == runs[1], f"a resumed run chose {runs[1]}, not {runs[0]}")


def check_contexts(name: str, settings: Settings) -> None:
    """Check ``ask`` with a context: given values are kept, exact when resumed."""
    with claim(f"contexts of method {name!r}"), quiet():
        if not METHODS.get(name).takes_context:
            return
        runs = []
        for keep in (lambda opt: opt, through_file):
            opt = Optimizer(
                scenes.MIXED, method=name, seed=14, n_init=DESIGN, **settings
            )
            given = [opt.space.as_dict(x) for x in opt.ask(4)]
            asked = []
            for point in given * 2:
                context = dict(list(point.items())[1:3])
                X = opt.ask(2, context=context)
                _require_fresh(opt, X)
                for x in X:
                    found = opt.space.as_dict(x)
                    require(
                        all(found[key] == value for key, value in context.items()),
                        f"asked {found} in the context {context}",
                    )
                opt = keep(opt)
                opt.tell(X[0], scenes.value(opt.space, X[0]))
                asked += [tuple(x) for x in X]
            runs.append(asked)
        require(runs[0] == runs[1], "a resumed run with contexts asks other points")


METHOD_CHECKS: tuple[Callable[[str, Settings], None], ...] = (
    check_listing,
    check_saved_settings,
    check_proposals,
    check_seed,
    check_resume,
    check_hard_data,
    check_one_parameter,
    check_batch,
    check_mixed_space,
    check_exhausted_space,
    check_choices,
    check_contexts,
)


@contextmanager
def quiet() -> Iterator[None]:
    """Ignore the warnings of methods that take the parts as independent."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "method=.* takes the parts as independent")
        yield


def through_file(opt: Optimizer) -> Optimizer:
    """Return the optimizer after it was saved and loaded."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.npz"
        opt.save(path)
        return Optimizer.load(path)


def _short_run(name: str, settings: Settings, seed: int) -> Float[ndarray, "n K"]:
    opt = Optimizer(scenes.BOX, method=name, seed=seed, n_init=DESIGN, **settings)
    for n in (DESIGN, 1, 1):
        X = opt.ask(n)
        opt.tell(X, [scenes.value(opt.space, x) for x in X])
    return opt.X


def _require_fresh(opt: Optimizer, X: ndarray) -> None:
    """Check that points lie inside the space, and that none is known or repeated.

    Raises:
        AssertionError: If one does not, or is.
    """
    require(opt.space.contains(X), f"asked points outside the space: {X!r}")
    rows = [tuple(x) for x in X]
    known = {tuple(x) for x in opt.X}
    require(len(set(rows)) == len(rows), f"asked a point twice: {X!r}")
    require(not known & set(rows), f"asked a point that was observed before: {X!r}")
