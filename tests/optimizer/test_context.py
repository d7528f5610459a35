"""Contexts: some parameters are given, the others are asked."""

import numpy as np
import pytest

import sumbo
from sumbo.errors import ArgumentError, SumboError
from sumbo.space import Categorical, Integer, Real

SPACE = [
    Real("load", 0.3, 2.7),
    Real("rate", 1e-4, 0.7, log=True),
    Integer("layers", 2, 9),
    Categorical("rule", ("sum", "max", "min")),
]
ASKING = ("logei", "ts", "ats", "alcb2", "uniform", "qff", "struct")


def cost(x):
    # The best rate depends on the load.
    best = -1.2 - 1.1 * x[0]
    return float((np.log10(x[1]) - best) ** 2 + 0.1 * x[2] + (x[3] == "max"))


@pytest.mark.parametrize("method", ASKING)
def test_given_parameters_have_their_values(method, tmp_path):
    opt = sumbo.Optimizer(SPACE, method=method, seed=3, n_init=4)
    contexts = [{"load": 0.71}, {"rate": 0.0123, "rule": "max"}, {"layers": 5}] * 3
    for context in contexts:
        X = opt.ask(2, context=context)
        for x in X:
            point = opt.space.as_dict(x)
            assert {name: point[name] for name in context} == context
            assert opt.space.contains(x)
        opt.tell(X[0], cost(X[0]))
    assert len(opt.pending) == len(contexts)
    rows = [tuple(x) for x in [*opt.X, *opt.pending]]
    assert len(set(rows)) == len(rows)


@pytest.mark.parametrize("method", ["logei", "ts"])
def test_a_run_with_contexts_is_resumed_bit_for_bit(method, rng, tmp_path):
    path = tmp_path / "run.npz"
    loads = rng.uniform(0.3, 2.7, size=8)

    def play(stop):
        opt = sumbo.Optimizer(SPACE, method=method, seed=6, n_init=3)
        asked = []
        for load in loads:
            x = opt.ask(context={"load": load})
            asked.append(tuple(x))
            if stop:
                opt.save(path)
                opt = sumbo.Optimizer.load(path)
            opt.tell(x, cost(x))
        return asked

    assert play(stop=False) == play(stop=True)


def test_the_best_setting_of_each_context_is_found(rng):
    # The best x is 0.2 + 0.5 z in context z; loads come at random.
    space = [Real("z", 0.0, 1.0), Real("x", -0.3, 1.4)]
    opt = sumbo.Optimizer(space, seed=5, n_init=5, groups="one")
    losses = []
    for z in rng.random(25):
        x = opt.ask(context={"z": z})
        losses.append((x[1] - 0.2 - 0.5 * z) ** 2)
        opt.tell(x, losses[-1])
    assert np.mean(losses[-8:]) < 0.01  # random settings lose 0.26 on average


def test_best_in_a_context():
    opt = sumbo.Optimizer(SPACE, seed=1)
    opt.tell([0.5, 0.01, 3, "sum"], 2.3)
    opt.tell([0.9, 0.01, 3, "sum"], -1.7)
    opt.tell([0.5, 0.02, 4, "min"], 1.9)
    x, y = opt.best_in({"load": 0.5})
    assert y == 1.9
    assert list(x) == [0.5, 0.02, 4, "min"]
    with pytest.raises(SumboError, match=r"no value was observed in context=.*0\.6"):
        opt.best_in({"load": 0.6})


def test_recommendations_follow_the_context(rng):
    # The best x is 0.2 + 0.5 z, which the model knows between the contexts told, too.
    space = [Real("z", 0.0, 1.0), Real("x", -0.3, 1.4)]
    opt = sumbo.Optimizer(space, seed=5, groups="one", maximize=True)
    X = np.column_stack([rng.random(40), rng.uniform(-0.3, 1.4, 40)])
    opt.tell(X, [4.7 - (x - 0.2 - 0.5 * z) ** 2 for z, x in X])
    for z in (0.23, 0.91):
        found = opt.recommend(context={"z": z})
        assert found.x[0] == z
        assert found.x[1] in X[:, 1]
        assert found.x[1] == pytest.approx(0.2 + 0.5 * z, abs=0.08)
        assert found.mean == pytest.approx(4.7, abs=0.01)
        # The oracle: means of all settings in this context.
        U = opt.space.encode(np.column_stack([np.full(40, z), X[:, 1]]))
        data = opt.surrogate().data
        means = opt.surrogate().posterior.predict_mean(U)
        assert X[means.argmin(), 1] == found.x[1]
        least = data.transform.inverse(means.min(keepdims=True))[0]
        assert least == pytest.approx(-found.mean, rel=1e-3)
    assert opt.recommend().x.tolist() in X.tolist()


def test_recommendations_without_a_model_are_the_best_told_in_the_context():
    opt = sumbo.Optimizer(SPACE, method="uniform", seed=1)
    opt.tell([0.5, 0.01, 3, "sum"], 2.3)
    opt.tell([0.9, 0.01, 3, "sum"], -1.7)
    opt.tell([0.5, 0.02, 4, "min"], 1.9)
    found = opt.recommend(context={"load": 0.5})
    assert list(found.x) == [0.5, 0.02, 4, "min"]
    assert found.mean == 1.9
    with pytest.raises(SumboError, match=r"no value was observed in context=.*0\.6"):
        opt.recommend(context={"load": 0.6})


@pytest.mark.parametrize(
    ("context", "named"),
    [
        ({"loud": 0.4}, "Did you mean 'load'"),
        ({"load": 7.1}, r"7\.1"),
        ({"load": np.nan}, "nan"),
        ({"rule": "mean"}, "mean"),
        ({}, "gives 0 of 4"),
        ({"load": 0.4, "rate": 0.1, "layers": 3, "rule": "sum"}, "gives 4 of 4"),
        (0.4, "no mapping"),
    ],
)
def test_what_cannot_be_a_context_is_refused(context, named):
    opt = sumbo.Optimizer(SPACE, seed=1)
    opt.tell([0.5, 0.01, 3, "sum"], 2.3)
    for use in (opt.ask, opt.recommend):
        with pytest.raises(ArgumentError, match=named):
            use(context=context)
    with pytest.raises(ArgumentError, match=named):
        opt.best_in(context)
    assert len(opt.pending) == 0
    assert opt.y.tolist() == [2.3]


def test_a_point_told_without_its_context_is_refused():
    opt = sumbo.Optimizer(SPACE, seed=1)
    with pytest.raises(ArgumentError, match=r"misses \['load'\]"):
        opt.tell({"rate": 0.1, "layers": 3, "rule": "sum"}, 1.2)
    assert len(opt.y) == 0


def test_a_method_without_contexts_says_which_have_them():
    opt = sumbo.Optimizer(SPACE, method="dumbo", seed=1)
    with pytest.raises(ArgumentError, match=r"'dumbo' takes no context.*logei"):
        opt.ask(context={"load": 0.4})
