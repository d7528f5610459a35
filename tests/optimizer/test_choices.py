"""The next points from a list of whole points."""

import warnings

import numpy as np
import pandas as pd
import pytest

import sumbo
from sumbo.errors import ArgumentError, ExhaustedError
from sumbo.optimizer.choices import Choices
from sumbo.search import Table
from sumbo.space import Categorical, Integer, Real, Space

SPACE = [Real("a", 1.3, 4.1), Integer("b", 2, 9), Categorical("c", ("x", "y", "z"))]
CHOOSING = ("logei", "ts", "ats", "alcb2", "uniform")

pytestmark = pytest.mark.filterwarnings(
    "ignore:method=.(ats|alcb2). takes the parts:UserWarning"
)


def catalogue(rng, count):
    """Rows of a mixed space, as dictionaries."""
    return [
        {
            "a": float(rng.uniform(1.3, 4.1)),
            "b": int(rng.integers(2, 10)),
            "c": str(rng.choice(["x", "y", "z"])),
        }
        for _ in range(count)
    ]


def cost(row):
    return (
        (row["a"] - 2.2) ** 2
        + 0.3 * row["b"]
        + {"x": 0.4, "y": 0.0, "z": 1.1}[row["c"]]
    )


def box(rng, count, P=3):
    return rng.uniform(-1.7, 2.9, size=(count, P))


def test_dictionaries_frames_and_arrays_choose_the_same_rows(rng):
    rows = catalogue(rng, 17)
    frame = pd.DataFrame(rows)[["c", "a", "b"]]  # by name: their order is free
    array = np.array([[r["a"], r["b"], r["c"]] for r in rows], dtype=object)
    chosen = []
    for C in (rows, frame, array):
        opt = sumbo.Optimizer(SPACE, seed=4, n_init=3, groups="singletons")
        each = []
        for _ in range(5):
            k = opt.choose(C)
            assert isinstance(k, int)
            opt.tell(rows[k], cost(rows[k]))
            each.append(k)
        chosen.append(each)
    assert chosen[0] == chosen[1] == chosen[2]
    assert len(set(chosen[0])) == 5


@pytest.mark.parametrize("method", CHOOSING)
def test_rows_are_chosen_once_until_none_is_left(method, rng):
    C = box(rng, 9)
    C[4] = C[1]  # equal rows are one
    opt = sumbo.Optimizer(
        [(-1.7, 2.9)] * 3, method=method, seed=2, n_init=2, x0=C[:1], y0=[3.1]
    )
    batch = opt.choose(C, 3)
    opt.tell(C[batch], (C[batch] ** 2).sum(axis=1))
    rest = opt.choose(C, 4)
    seen = [0, *batch, *rest]
    assert sorted({1 if k == 4 else k for k in seen}) == [0, 1, 2, 3, 5, 6, 7, 8]
    with pytest.raises(ExhaustedError, match="0 rows left"):
        opt.choose(C)
    assert len(opt.pending) == 4  # nothing was lost
    again = opt.choose(C, 2, repeats=True)
    assert all(0 <= k < 9 for k in again)


def test_noisy_values_are_repeated_if_that_is_allowed(rng):
    C = box(rng, 4)
    opt = sumbo.Optimizer([(-1.7, 2.9)] * 3, method="ts", seed=3, n_init=4)
    for _ in range(14):
        k = opt.choose(C, repeats=True)
        opt.tell(C[k], float(C[k].sum() + 0.5 * rng.standard_normal()))
    assert len(opt.y) == 14
    assert {tuple(x) for x in opt.X} <= {tuple(x) for x in C}


def test_choose_finds_the_best_row(rng):
    C = box(rng, 60)
    opt = sumbo.Optimizer([(-1.7, 2.9)] * 3, seed=5, n_init=8, groups="singletons")
    for _ in range(22):
        k = opt.choose(C)
        opt.tell(C[k], float(((C[k] - 0.83) ** 2).sum()))
    values = ((C - 0.83) ** 2).sum(axis=1)
    assert opt.best[1] == values.min()


@pytest.mark.parametrize(
    ("C", "named"),
    [
        (np.empty((0, 3)), "no rows"),
        (np.full((4, 2), 0.3), "does not fit the 3 parameters"),
        ([[0.3, 0.2, np.nan]], "x2"),
        ([[0.3, 0.2, 0.1], [0.3, 7.7, 0.1]], r"7\.7"),
        (pd.DataFrame({"x0": [0.1], "x1": [0.2], "price": [0.3]}), "price"),
        ([{"x0": 0.1, "x1": 0.2}], "x2"),
        ("catalogue.csv", "no rows"),
        (np.zeros((100_001, 3)), "100001"),
    ],
)
def test_what_cannot_be_a_list_is_refused_and_nothing_is_lost(C, named):
    opt = sumbo.Optimizer([(-1.7, 2.9)] * 3, seed=1)
    opt.tell([0.3, 0.2, 0.4], 1.7)
    with pytest.raises(ArgumentError, match=named):
        opt.choose(C)
    assert opt.y.tolist() == [1.7]
    assert len(opt.pending) == 0


def test_a_method_without_choose_says_which_have_it(rng):
    opt = sumbo.Optimizer([(-1.7, 2.9)] * 2, method="qff", seed=1, n_init=1)
    opt.tell([0.3, 0.2], 1.7)
    with pytest.raises(ArgumentError, match=r"'qff' cannot choose.*logei"):
        opt.choose(box(rng, 5, 2))


def test_ats_and_alcb2_warn_once_about_lists(rng):
    C = box(rng, 12)
    for method in ("ats", "alcb2"):
        opt = sumbo.Optimizer([(-1.7, 2.9)] * 3, method=method, seed=1, n_init=1)
        with pytest.warns(UserWarning, match="takes the parts as independent") as seen:
            k = opt.choose(C)
        assert len(seen) == 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            opt.tell(C[k], float(C[k].sum()))
            opt.choose(C)


@pytest.mark.parametrize("method", ["ats", "alcb2"])
def test_overlapping_groups_are_warned_about_once(method, rng):
    opt = sumbo.Optimizer(
        [(-1.7, 2.9)] * 3, method=method, seed=1, n_init=2, groups=[(0, 1), (1, 2)]
    )
    opt.tell(box(rng, 3), [1.7, 0.4, 0.9])
    with pytest.warns(UserWarning, match="groups overlap"):
        opt.ask()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opt.ask()


@pytest.mark.parametrize("method", CHOOSING)
def test_a_run_with_choices_is_resumed_bit_for_bit(method, rng, tmp_path):
    C = box(rng, 40)
    path = tmp_path / "run.npz"

    def play(stop):
        opt = sumbo.Optimizer([(-1.7, 2.9)] * 3, method=method, seed=6, n_init=4)
        chosen = []
        for t in range(9):
            rows = opt.choose(C, 2, repeats=t > 6)
            chosen += rows.tolist()
            if stop:
                opt.save(path)
                opt = sumbo.Optimizer.load(path)
            opt.tell(C[rows[0]], float((C[rows[0]] ** 2).sum()))
        return chosen

    assert play(stop=False) == play(stop=True)


def test_a_run_with_contexts_choices_and_repeats_is_resumed_bit_for_bit(rng, tmp_path):
    C, path = box(rng, 25), tmp_path / "run.npz"
    loads = rng.uniform(-1.7, 2.9, size=12)

    def play(stop):
        opt = sumbo.Optimizer([(-1.7, 2.9)] * 3, method="ts", seed=6, n_init=4)
        asked = []
        for t, load in enumerate(loads):
            if t % 3 == 0:
                x = opt.ask(context={"x1": load})
            else:
                x = C[opt.choose(C, repeats=t % 3 == 1)]
            asked.append(tuple(x))
            if stop:
                opt.save(path)
                opt = sumbo.Optimizer.load(path)
            noise = 0.3 * np.sin(37.0 * t)
            opt.tell(x, float((x**2).sum() + noise), noise=0.3)
        return asked, opt.recommend(context={"x1": 0.61}), opt.best_in({"x1": loads[0]})

    once, again = play(stop=False), play(stop=True)
    assert once[0] == again[0]
    assert once[1].x.tolist() == again[1].x.tolist()
    assert once[1][1:] == again[1][1:]
    assert once[2][1] == again[2][1]


def test_minimize_evaluates_a_list_until_none_is_left(rng):
    rows = catalogue(rng, 11)

    def f(x):
        return cost({"a": x[0], "b": x[1], "c": x[2]})

    r = sumbo.minimize(f, SPACE, choices=rows, budget=40, n_init=4, seed=3, batch=3)
    assert r.nfev == 11
    assert r.message == "all choices are evaluated"
    assert r.success
    assert r.fun == min(cost(row) for row in rows)


def test_minimize_repeats_rows_if_that_is_allowed(rng):
    C = box(rng, 3, 2)
    r = sumbo.minimize(
        lambda x: float(x.sum()),
        [(-1.7, 2.9)] * 2,
        choices=C,
        repeats=True,
        budget=7,
        n_init=2,
        seed=3,
        groups="singletons",
    )
    assert r.nfev == 7


def test_memory_of_a_list_is_used_again_and_changes_nothing(rng):
    C = box(rng, 30)
    one, other = (sumbo.Optimizer([(-1.7, 2.9)] * 3, seed=8, n_init=4) for _ in "ab")
    for t in range(10):
        other._choices = None  # forget what was kept
        k = one.choose(C)
        assert k == other.choose(C)
        for opt in (one, other):
            opt.tell(C[k], float((C[k] ** 2).sum()))
        if t > 5:
            assert one._choices.memory.known


@pytest.mark.statistical
def test_ts_chooses_as_often_as_dense_joint_draws_do(rng):
    # False alarm: 1e-4. Chi-square of the numbers of choices against 40 000 dense
    # draws; rows that are chosen in less than 1 % of them are taken together.
    from scipy import stats

    C = box(rng, 12)
    opt = sumbo.Optimizer(
        [(-1.7, 2.9)] * 3, method="ts", seed=9, n_init=5, groups="singletons"
    )
    opt.tell(C[:5], (C[:5] ** 2).sum(axis=1))
    opt.choose(C, repeats=True)  # fits the model
    post, U = opt.model(), opt.space.encode(C)
    mean, cov = post.predict(U)[0], post.predict_covariance(U)
    dense = rng.multivariate_normal(mean, cov, size=40_000, method="eigh")
    p = np.bincount(dense.argmin(axis=1), minlength=12) / 40_000
    table = Table(U=U, open=np.ones(12, dtype=bool), repeats=True)
    method, state = opt._engine.method, opt._now.state
    chosen, _, _ = method.choose(rng, state, opt.data(), table, 4_000)
    seen = np.bincount(chosen, minlength=12)
    rare = p < 0.01
    p = np.append(p[~rare], p[rare].sum())
    seen = np.append(seen[~rare], seen[rare].sum())
    p, seen = p[p > 0], seen[p > 0]
    # The dense frequencies are estimates too: their variance is a tenth of the others.
    assert (
        stats.chi2.sf(((seen - 4_000 * p) ** 2 / (4_400 * p)).sum(), len(p) - 1) > 1e-4
    )


def test_equal_rows_are_one(rng):
    C = box(rng, 5)
    C[3], C[4, 0] = C[0], -0.0
    C = np.vstack([C, C[4] * [-1.0, 1.0, 1.0]])  # −0.0 and 0.0
    found = Choices.of(C, Space.of([(-1.7, 2.9)] * 3))
    assert found.which.tolist() == [0, 1, 2, 0, 3, 3]
    assert found.first.tolist() == [0, 1, 2, 4]
