"""Ask and tell: shapes, seeds, bookkeeping, and everything a user can get wrong."""

import gc
import json
import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy.optimize import Bounds

from irregular import frozen
from searches import BOX, CHEAP, MIXED, QUICK, bowl, everything, run_python
from sumbo import Integer, Optimizer, Posterior, Real, methods
from sumbo.errors import ArgumentError, SumboError, UnknownNameError
from sumbo.structure import co_membership_matrix

MODELS = ("ts", "ats", "alcb2")
every_model = pytest.mark.parametrize("method", MODELS)


def optimizer(bounds=BOX, *, told=0, **settings):
    """Return a cheap optimizer that has been told some of its own points."""
    cheap = {"method": "ts", "groups": "random", **QUICK["ts"]}
    settings = {"seed": 5, "n_init": 4, **cheap, **settings}
    if settings["method"] == "uniform":
        settings = {k: v for k, v in settings.items() if k not in {*CHEAP, "groups"}}
    opt = Optimizer(bounds, **settings)
    for _ in range(told):
        x = opt.ask()
        opt.tell(x, bowl(x))
    return opt


# ---------------------------------------------------------------------- ask
def test_asking_gives_a_point_or_as_many_as_wanted():
    opt = optimizer()
    assert opt.ask().shape == (3,)
    assert opt.ask(1).shape == (1, 3)
    assert opt.ask(7).shape == (7, 3)


def test_points_lie_inside_the_box():
    opt = optimizer(told=7)
    X = np.vstack([opt.X, opt.ask(5)])
    lo, hi = np.transpose(BOX)
    assert ((lo <= X) & (hi >= X)).all()


def test_the_initial_design_does_not_depend_on_how_it_is_asked_for():
    at_once = optimizer(n_init=9).ask(9)
    opt = optimizer(n_init=9)
    np.testing.assert_array_equal(
        at_once, np.vstack([opt.ask(4), [opt.ask()], opt.ask(4)])
    )


def test_a_sobol_design_does_not_depend_on_how_it_is_asked_for():
    at_once = optimizer(n_init=6, init="sobol").ask(9)
    opt = optimizer(n_init=6, init="sobol")
    np.testing.assert_array_equal(at_once, [opt.ask() for _ in range(9)])


def test_a_sobol_design_fills_every_half_of_every_side():
    opt = optimizer([(2.2, 4.1)] * 5, n_init=16, init="sobol")
    low = (opt.ask(16) < 3.15).sum(axis=0)
    assert (low == 8).all()


def test_points_asked_at_once_across_the_design_are_partly_model_based():
    opt = optimizer(told=3)
    opt.ask(3)
    assert opt.info.groups is not None


def test_without_a_success_points_stay_uniform():
    opt = optimizer(n_init=2)
    for _ in range(5):
        opt.tell(opt.ask(), failed=True)
        assert opt.info.groups is None
    assert len(np.unique(opt.X, axis=0)) == 5


def test_an_ask_reports_what_it_did():
    opt = optimizer(told=4)
    assert opt.info.groups is None
    opt.ask()
    assert opt.info.refitted
    groups: Any = opt.info.groups
    assert sorted({p for group in groups for p in group}) == [0, 1, 2]
    assert opt.info.ask_cpu_s >= opt.info.fit_cpu_s > 0
    opt.ask()
    assert not opt.info.refitted


@pytest.mark.parametrize(
    ("growth", "fitted_at"), [(0.0, [4, 6, 8, 10, 12, 14]), (0.5, [4, 6, 9, 14])]
)
def test_fits_come_after_so_many_observations_and_so_much_growth(growth, fitted_at):
    settings = {**QUICK["ts"], "refit": 2, "growth": growth}
    opt = Optimizer(BOX, method="ts", groups="singletons", n_init=4, seed=3, **settings)
    fits = []
    for _ in range(15):
        x = opt.ask()
        if opt.info.refitted:
            fits.append(len(opt.y))
        opt.tell(x, bowl(x))
    assert fits == fitted_at


@pytest.mark.parametrize(("q", "fitted_at"), [(2, [4, 8, 12]), (3, [4, 7, 10, 13, 16])])
def test_batches_as_large_as_a_refit_do_not_wait_for_growth(q, fitted_at):
    settings = {**QUICK["ts"], "refit": 3, "growth": 0.5}
    opt = Optimizer(BOX, method="ts", groups="singletons", n_init=4, seed=3, **settings)
    X, fits = opt.ask(4), []
    while len(opt.y) < 16:
        opt.tell(X, [bowl(x) for x in X])
        X = opt.ask(q)
        if opt.info.refitted:
            fits.append(len(opt.y))
    assert fits == fitted_at


@pytest.mark.parametrize("n", [0, -2, True, 10**9])
def test_a_wrong_number_of_points_is_refused(n):
    with pytest.raises(ArgumentError, match="n="):
        optimizer().ask(n)


# ---------------------------------------------------------------------- tell
def test_points_are_pending_until_told_in_any_order():
    opt = optimizer()
    X = opt.ask(4)
    np.testing.assert_array_equal(opt.pending, X)
    opt.tell(X[2], 8.5)
    np.testing.assert_array_equal(opt.pending, X[[0, 1, 3]])
    opt.tell(X[[3, 0]], [7.5, 9.5])
    np.testing.assert_array_equal(opt.pending, X[[1]])
    np.testing.assert_array_equal(opt.X, X[[2, 3, 0]])
    np.testing.assert_array_equal(opt.y, [8.5, 7.5, 9.5])


def test_points_that_were_not_asked_may_be_told():
    opt = optimizer()
    opt.ask()
    opt.tell([0.5, 2.5, 0.75], 3.25)
    assert len(opt.pending) == 1
    assert opt.y.tolist() == [3.25]


def test_a_point_told_twice_counts_twice():
    opt = optimizer()
    x = opt.ask()
    opt.tell(x, 4.5)
    opt.tell(x, 5.5)
    assert opt.y.tolist() == [4.5, 5.5]
    assert opt.best[1] == 4.5


def test_the_best_point_is_the_lowest_and_the_first_of_equals():
    opt = optimizer()
    X = opt.ask(4)
    opt.tell(X, [6.5, -2.5, 3.5, -2.5])
    x, y = opt.best
    np.testing.assert_array_equal(x, X[1])
    assert y == -2.5


def test_there_is_no_best_point_before_a_success():
    opt = optimizer()
    with pytest.raises(SumboError, match="no best point yet"):
        _ = opt.best
    opt.tell(opt.ask(), failed=True)
    with pytest.raises(SumboError, match="no best point yet"):
        _ = opt.best


def test_arrays_that_are_handed_out_or_in_share_no_memory_with_the_state():
    opt = optimizer()
    x = opt.ask()
    kept = x.copy()
    X, y = frozen(np.array([[0.5, 2.5, 0.75]])), frozen([3.25])
    opt.tell(X, y)  # read-only: cannot have been changed
    before = everything(opt)
    for array in (x, opt.X, opt.y, opt.pending, opt.best[0]):
        array[...] = -1.0
    assert everything(opt) == before
    np.testing.assert_array_equal(opt.pending, kept[None])


def test_failed_points_are_recorded_and_never_asked_again():
    # Nine random levels of ten are all different by chance once in 4 000 times.
    opt = optimizer([Integer("k", 3, 12)], method="uniform", n_init=2)
    opt.tell([4.0], 2.5)
    for _ in range(9):
        opt.tell(opt.ask(), failed=True)
    assert sorted(opt.X[:, 0]) == list(range(3, 13))
    assert np.isnan(opt.y[1:]).all()
    assert opt.best[1] == 2.5


def test_the_model_sees_failed_points_as_the_worst():
    opt = optimizer()
    X = opt.ask(3)
    opt.tell(X[:2], [2.5, 11.5])
    opt.tell(X[2], failed=True)
    data = opt.data()
    assert data.y[2] == data.y[1] == data.y.max()
    assert data.failed.tolist() == [False, False, True]


# ---------------------------------------------------------------------- seeds
def run(method, seed=3, n=3, **settings):
    opt = Optimizer(BOX, method=method, seed=seed, n_init=4, **settings)
    for _ in range(4 + n):
        x = opt.ask()
        opt.tell(x, bowl(x))
    return opt.X


@pytest.mark.filterwarnings("ignore:method='(ats|alcb2)' takes the parts")
@every_model
def test_threads_do_not_change_the_points(method):
    settings = {**QUICK[method], "groups": [(0,), (1,), (2, 0)]}
    alone = run(method, threads=1, **settings)
    np.testing.assert_array_equal(alone, run(method, threads=3, **settings))


def test_a_seed_is_drawn_when_none_is_given():
    one, two = optimizer(seed=None), optimizer(seed=None)
    assert one.seed != two.seed
    assert not np.array_equal(one.ask(), two.ask())
    np.testing.assert_array_equal(
        optimizer(seed=one.seed).ask(2)[0], optimizer(seed=one.seed).ask()
    )


ELSEWHERE = """
import json, sys
sys.path.insert(0, sys.argv[1])
from searches import BOX, QUICK, bowl
from sumbo import Optimizer, methods
out = {}
for method in methods.names():
    opt = Optimizer(BOX, method=method, seed=3, n_init=4, **QUICK.get(method, {}))
    for _ in range(6):
        x = opt.ask()
        opt.tell(x, bowl(x))
    out[method] = [[v.hex() for v in x] for x in opt.X.tolist()]
print(json.dumps(out))
"""


def test_every_method_asks_the_same_points_in_processes_with_other_hash_seeds(request):
    folder = request.path.parents[1]
    there = [
        json.loads(run_python(ELSEWHERE, folder, hash_seed=seed))
        for seed in ("1", "77")
    ]
    assert set(there[0]) == set(methods.names())
    assert there[0] == there[1]
    here = run("ts", n=2, **QUICK["ts"])
    assert [[v.hex() for v in x] for x in here.tolist()] == there[0]["ts"]


# ---------------------------------------------------------------------- pending points
def spread(X):
    """Return the smallest distance between two points, in units of the box."""
    side = [hi - lo for lo, hi in BOX]
    distance = np.abs((X[:, None] - X[None]) / side).max(axis=2)
    return distance[np.triu_indices(len(X), 1)].min()


@pytest.mark.parametrize("at_once", [True, False])
def test_the_bound_does_not_repeat_what_is_pending(at_once):
    # Without the pending points the same minimiser would come again and again, apart
    # by 1e-3 as a repeated point is moved.
    opt = optimizer(told=12, method="alcb2", groups="one", beta=3.0)
    X = opt.ask(4) if at_once else np.array([opt.ask() for _ in range(4)])
    assert spread(X) > 0.02


def test_pending_points_leave_the_mean_and_shrink_the_variance():
    opt = optimizer(told=8, method="alcb2")
    post = opt.model()
    assert post is not None
    x = opt.ask(3)
    U = opt.space.encode(x)
    believed = post.append(U, post.predict(U)[0])
    Z = np.random.default_rng(2).random((30, 3))
    (mean, var), (mean_after, var_after) = post.predict(Z), believed.predict(Z)
    np.testing.assert_allclose(mean_after, mean, atol=1e-8)
    assert (var_after <= var + 1e-12).all()
    assert believed.predict(U)[1].max() < post.predict(U)[1].max()


# ---------------------------------------------------------------------- spaces
@pytest.mark.parametrize(
    "bounds",
    [
        BOX,
        [list(pair) for pair in BOX],
        np.array(BOX),
        Bounds(*np.transpose(BOX)),
        [Real(f"x{i}", lo, hi) for i, (lo, hi) in enumerate(BOX)],
    ],
    ids=["tuples", "lists", "array", "scipy", "parameters"],
)
def test_all_notations_of_the_box_ask_the_same_points(bounds):
    np.testing.assert_array_equal(optimizer(bounds).ask(3), optimizer().ask(3))


def test_a_mixed_space_is_asked_in_its_own_values():
    opt = optimizer(MIXED)
    for _ in range(7):
        x = opt.ask()
        assert 1e-4 <= x[0] <= 0.7
        assert x[1] in range(2, 10)
        assert x[2] in ("sum", "max", None)
        opt.tell(x, abs(np.log(x[0]) + 3) + x[1] + (x[2] == "max"))
    assert opt.X.shape == (7, 4)
    assert opt.space.contains(opt.best[0])


def test_points_may_be_told_by_name():
    opt = optimizer(MIXED)
    opt.tell({"rule": None, "weight": -0.7, "layers": 3, "rate": 0.02}, 1.25)
    assert opt.X[0].tolist() == [0.02, 3, None, -0.7]


def test_groups_may_name_parameters():
    named = optimizer(MIXED, groups=[("weight", "rate"), ("rule",), ("layers",)])
    numbered = optimizer(MIXED, groups=[(3, 0), (2,), (1,)])
    assert named.settings == numbered.settings


def test_a_hundred_parameters_work():
    opt = optimizer([(-1.3, 0.2 + k) for k in range(100)], n_init=3, candidates=5)
    for _ in range(4):
        x = opt.ask()
        opt.tell(x, float(np.cos(x).sum()))
    assert opt.info.groups is not None
    assert opt.X.shape == (4, 100)


def test_a_constant_objective_is_searched_on():
    opt = optimizer(n_init=3)
    for _ in range(7):
        opt.tell(opt.ask(), -4.25)
    assert len(np.unique(opt.X, axis=0)) == 7


# ---------------------------------------------------------------------- earlier data
def test_earlier_data_count_as_observations():
    X = np.array([[0.5, 2.5, 0.75], [1.5, 4.5, 0.35], [-1.5, 3.5, 0.55]])
    opt = optimizer(x0=frozen(X), y0=frozen([1.5, 2.5, 0.5]), n_init=4)
    assert opt.best[1] == 0.5
    opt.ask()
    assert opt.info.groups is None
    opt.ask()
    assert opt.info.groups is not None


def test_one_earlier_point_may_be_given_as_such():
    assert optimizer(x0=[0.5, 2.5, 0.75], y0=1.5).y.tolist() == [1.5]


OUTSIDE = [[0.5, 2.5, 0.75], [0.5, 9.9, 0.75]]


def test_earlier_points_outside_the_box_are_accepted_with_a_warning():
    with pytest.warns(UserWarning, match=r"outside the box \(rows 1\)"):
        opt = optimizer(x0=OUTSIDE, y0=[1.5, -2.5])
    np.testing.assert_array_equal(opt.X, OUTSIDE)
    assert opt.data().U.max() == 1.0
    with pytest.warns(UserWarning, match=r"outside the box \(rows 0\)"):
        opt.tell([3.2, 2.5, 0.75], 4.5, earlier=True)
    assert len(opt.y) == 3


def test_points_outside_the_box_are_refused_otherwise():
    opt = optimizer()
    with pytest.raises(ArgumentError, match=r"x1=9.9.* outside \[1.7, 5.2\]"):
        opt.tell(OUTSIDE, [1.5, 2.5])
    assert len(opt.y) == 0


def test_earlier_values_need_points():
    with pytest.raises(ArgumentError, match=r"y0=\[1.5\].*Pass the points as x0"):
        optimizer(y0=[1.5])


def test_points_without_values_are_pending_and_count_as_the_design():
    X = np.array([[0.5, 2.5, 0.75], [1.5, 4.5, 0.35]])
    opt = optimizer(x0=frozen(X), n_init=3)
    np.testing.assert_array_equal(opt.pending, X)
    assert len(opt.y) == 0
    for x, y in zip(opt.pending, [1.5, 2.5], strict=True):
        opt.tell(x, y)
    assert len(opt.pending) == 0
    opt.ask()  # the third point of the design
    assert opt.info.groups is None
    opt.ask()
    assert opt.info.groups is not None


def test_points_without_values_must_lie_in_the_box():
    with pytest.raises(ArgumentError, match=r"x1=9.9.* outside \[1.7, 5.2\]"):
        optimizer(x0=OUTSIDE)


# ---------------------------------------------------------------------- bad input
X = [[0.5, 2.5, 0.75], [1.5, 4.5, 0.35]]
WRONG_TELLS = {
    "NaN": (X[0], np.nan, "y=nan.*failed=True"),
    "infinity": (X[0], -np.inf, "y=-inf.*failed=True"),
    "None": (X[0], None, "failed=True"),
    "one NaN of two": (X, [1.5, np.nan], r"y=nan \(value 1\)"),
    "a word": (X[0], "low", "y='low' is not a number"),
    "a complex number": (X[0], 1 + 2j, "is not a number"),
    "complex numbers": (X, np.array([1 + 2j, 3]), "is not a number"),
    "too many values": (X[0], [1.5, 2.5], "2 values for 1 points"),
    "too few values": (X, 1.5, "1 values for 2 points"),
    "a short point": ([0.5, 2.5], 1.5, r"shape \(2,\).*3 parameters"),
    "ragged points": ([[0.5, 2.5, 0.75], [0.5]], [1.5, 2.5], "x="),
    "no point": (None, 1.5, "x=None"),
    "a point with NaN": ([0.5, np.nan, 0.75], 1.5, "x1=nan is not finite"),
    "a point outside": ([0.5, 9.9, 0.75], 1.5, "x1=9.9"),
    "a point of words": (["a", "b", "c"], 1.5, "are no numbers"),
    "one good, one bad": ([X[0], [0.5, 9.9, 0.75]], [1.5, 2.5], "x1=9.9.*row 1"),
}


@pytest.fixture(scope="module")
def under_way():
    """Return an optimizer with a model and points pending, that stays as it is."""
    opt = optimizer(told=5)
    opt.ask(2)
    return opt


@pytest.mark.parametrize(
    ("x", "y", "message"), WRONG_TELLS.values(), ids=WRONG_TELLS.keys()
)
def test_a_wrong_tell_is_explained_and_changes_nothing(x, y, message, under_way):
    before = everything(under_way)
    with pytest.raises(ArgumentError, match=rf"(?s){message}"):
        under_way.tell(x, y)
    assert everything(under_way) == before


def test_a_failed_point_has_no_value():
    opt = optimizer(told=1)
    before = everything(opt)
    with pytest.raises(ArgumentError, match=r"y=1\.5 was given for a failed"):
        opt.tell(X[0], 1.5, failed=True)
    assert everything(opt) == before


def test_an_ask_that_fails_changes_nothing(monkeypatch):
    opt = optimizer(told=5)
    before = everything(opt)
    expected = optimizer(told=5).ask()

    def broken(self, *arguments):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(type(opt._engine.method), "propose", broken)
        with pytest.raises(MemoryError):
            opt.ask()
    assert everything(opt) == before
    np.testing.assert_array_equal(opt.ask(), expected)


WRONG_ARGUMENTS = {
    "unknown method": ({"method": "tss"}, "method='tss' is unknown.*'ts'"),
    "unknown setting": ({"candidate": 9}, "candidate=9 is no argument.*'candidates'"),
    "unknown argument": (
        {"constrains": ["x0 <= 1"]},
        r"constrains=.*Did you mean 'constraints' or [^,]*$",
    ),
    "unknown preset": ({"preset": "papr"}, "preset='papr'.*'paper'"),
    "unknown groups": ({"groups": "singleton"}, "groups='singleton'.*'singletons'"),
    "unknown transform": ({"transform": "logs"}, "transform='logs'.*'log'"),
    "unknown design": ({"init": "sobel"}, "init='sobel'.*'sobol'"),
    "unknown kernel": ({"kernel": "matern53"}, "kernel='matern53'.*'matern52'"),
    "unknown fit": ({"fit": "mapp"}, "fit='mapp'.*'map'"),
    "no candidates": ({"candidates": 0}, "candidates=0 is not a positive"),
    "negative growth": ({"growth": -0.1}, "growth=-0.1 is not a number"),
    "negative bound": ({"method": "alcb2", "beta": -1.0}, "beta=-1.0"),
    "negative seed": ({"seed": -1}, "seed=-1"),
    "negative design": ({"n_init": -1}, "n_init=-1"),
    "missing parameter": ({"groups": [(0, 1)]}, "missing 2"),
    "unknown parameter": ({"groups": [(0, 1), (2, 3)]}, "3"),
    "unknown name": ({"groups": [("x0", "x1"), ("y2",)]}, "'y2'"),
    "bare group": ({"groups": [0, 1, 2]}, "groups hold"),
    "no groups": ({"groups": 3}, "groups=3"),
}


@pytest.mark.parametrize(
    ("arguments", "message"), WRONG_ARGUMENTS.values(), ids=WRONG_ARGUMENTS.keys()
)
def test_a_wrong_argument_is_explained(arguments, message):
    with pytest.raises(ArgumentError, match=rf"(?s){message}"):
        Optimizer(BOX, **arguments)


MISTYPED = """
from sumbo import Optimizer
from sumbo.errors import ArgumentError
BOX = [(0.5, 2.5), (1.5, 7.5)]
for name, value in {
    "seed": 0.5, "n_init": 2.5, "refit": 2.5, "candidates": "a", "method": None,
    "preset": 3, "transform": 2, "init": 7, "kernel": 5, "fit": 3, "beta": "a",
}.items():
    try:
        Optimizer(BOX, **{"method": "alcb2", name: value})
    except ArgumentError as error:
        if f"{name}={value!r}" not in str(error):
            print(name, "is not named by:", error)
    except Exception as error:
        print(name, "raises", type(error).__name__, error)
    else:
        print(name, "is accepted")
for n in (1.5, "two"):
    try:
        Optimizer(BOX).ask(n)
    except ArgumentError as error:
        assert f"n={n!r}" in str(error)
"""


def test_arguments_of_another_type_are_explained():
    # In a process of its own: here the annotations are checked before the values.
    assert run_python(MISTYPED) == ""


def test_an_unknown_method_is_a_key_error_too():
    with pytest.raises(UnknownNameError):
        Optimizer(BOX, method="nothing of the kind")


def test_a_method_without_settings_says_so():
    with pytest.raises(ArgumentError, match=r"beta=2.*'uniform'.*has no settings"):
        Optimizer(BOX, method="uniform", beta=2)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ([(0.5, 2.5), (4.5, 1.5)], "'x1'.*reversed bounds"),
        ([(0.5, 2.5), (1.5, 1.5)], "'x1'.*equal bounds"),
        ([(0.5, np.inf)], "'x0'.*finite bounds"),
        ([], "bounds are empty"),
        (None, "bounds=None"),
        ([(0.5, 2.5, 3.5)], "no pair"),
        ([Real("a", 1.5, 2.5), Integer("a", 1, 4)], "two parameters 'a'"),
    ],
)
def test_wrong_bounds_are_explained(bounds, message):
    with pytest.raises(ArgumentError, match=rf"(?s){message}"):
        Optimizer(bounds)


# ---------------------------------------------------------------------- settings, model
def test_the_preset_of_the_paper_is_what_the_paper_did():
    settings = Optimizer(BOX, method="ts", preset="paper").settings
    wanted = {
        "groups": "random",
        "fit": "adam",
        "refit": 10,
        "growth": 0.0,
        "candidates": 500,
        "spread": "uniform",
        "refine": False,
        "fresh_candidates": True,
    }
    assert wanted.items() <= settings.items()


def test_a_setting_goes_before_the_preset():
    opt = Optimizer(BOX, preset="paper", candidates=33)
    assert opt.settings["candidates"] == 33
    assert opt.settings["fit"] == "adam"


@pytest.mark.parametrize("preset", ["paper", "paper-author"])
@every_model
def test_the_presets_of_the_paper_run(method, preset):
    opt = Optimizer(BOX, method=method, preset=preset, candidates=20, seed=4, n_init=4)
    opt.tell(opt.ask(4), [2.5, 4.5, 1.5, 3.5])
    assert opt.space.contains(opt.ask())


def test_the_model_is_conditioned_on_everything_told():
    opt = optimizer(told=6)
    post = opt.model()
    assert isinstance(post, Posterior)
    assert len(post.y) == 6
    before = everything(opt)
    opt.model()
    assert everything(opt) == before


def test_there_is_no_model_without_data_or_for_random_search():
    assert optimizer(told=1).model() is None
    assert optimizer(told=5, method="uniform").model() is None


def test_values_that_span_decades_are_warped_and_the_data_say_so():
    opt = optimizer(n_init=20)
    X = opt.ask(20)
    opt.tell(X, 10.0 ** np.linspace(-1.3, 7.9, 20)[::-1])
    transform = opt.data().transform
    assert transform.kind == "log"
    assert "log(1 +" in transform.describe()
    z = opt.data().y
    assert (np.diff(z) < 0).all()
    np.testing.assert_allclose(transform.inverse(z), opt.y, rtol=1e-9)
    assert opt.space.contains(opt.ask())


def test_the_transform_may_be_chosen():
    opt = optimizer(told=5, transform="none")
    np.testing.assert_array_equal(opt.data().y, opt.y)


# ---------------------------------------------------------------------- memory
@pytest.mark.slow
@every_model
def test_memory_stays_flat_over_three_hundred_asks(method):
    opt = Optimizer(
        BOX, method=method, seed=2, n_init=5, candidates=20, starts=1, refit=25
    )

    def ask_and_tell(times):
        for _ in range(times):
            x = opt.ask()
            opt.tell(x, bowl(x))
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        early = ask_and_tell(50)
        late = ask_and_tell(250)
    finally:
        tracemalloc.stop()
    # Four remembered runs of three factors of 300² + 2 · 300 · 20 doubles are 10 MB;
    # one set of factors kept by each ask would be 200 MB.
    assert late - early < 25e6


@pytest.mark.parametrize("groups", ["auto", "learned", "tree"])
def test_learned_structures_are_groups_of_all_parameters(groups):
    opt = Optimizer(MIXED, groups=groups, method="ts", seed=4, n_init=9, starts=1)
    assert opt.structures() == []
    assert opt.co_membership() is None
    for i, x in enumerate(opt.ask(9)):
        opt.tell(x, float(i % 4) + 0.1 * i)
    opt.ask()
    seen = opt.structures()
    assert len(seen) > 1
    for structure in seen:
        assert {k for group in structure for k in group} == {0, 1, 2, 3}
    together = opt.co_membership()
    assert together.shape == (4, 4)
    assert together.min() >= 0
    np.testing.assert_allclose(together, together.T)
    np.testing.assert_allclose(together.diagonal(), 1.0)
    if groups == "tree":
        np.testing.assert_array_equal(together, co_membership_matrix(seen))


def test_structures_of_a_method_that_learns_its_own_are_its_last_groups():
    opt = Optimizer(BOX, seed=4, n_init=6, method="max", **QUICK["max"])
    for x in opt.ask(6):
        opt.tell(x, bowl(x))
    opt.ask()
    assert opt.structures() == [opt.info.groups]
    wanted = co_membership_matrix([opt.info.groups])
    np.testing.assert_array_equal(opt.co_membership(), wanted)


def test_a_setting_that_a_method_does_not_use_is_refused():
    with pytest.raises(ArgumentError, match=r"refine=True .*'logei'.*'ats', .*'ts'"):
        Optimizer(BOX, refine=True)


@pytest.mark.parametrize("preset", ["paper", "paper-author"])
def test_the_papers_presets_standardise_whatever_the_values(preset):
    opt = Optimizer([(0, 1)] * 2, preset=preset, seed=0)
    assert opt.transform == "standardise"
    assert Optimizer([(0, 1)] * 2, preset=preset, transform="log").transform == "log"
