"""The whole run in one call: results, errors, stops, workers and checkpoints."""

import os
import signal
import threading
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import Bounds, OptimizeResult

from irregular import frozen
from searches import BOX, MIXED, QUICK, bowl
from sumbo import Optimizer, Posterior, checkpoint, minimize, problems
from sumbo.errors import ArgumentError, CheckpointError, EvaluationError
from sumbo.methods import Uniform

# Long enough for a busy machine; reached only when a test is about to fail.
PATIENCE = 60.0


CHEAP_TS = {"method": "ts", "groups": "random", **QUICK["ts"]}


def quick(fun=bowl, bounds=BOX, **settings):
    """Return the result of a cheap run: 8 evaluations, the last 4 by a model."""
    cheap = CHEAP_TS if settings.get("method", "ts") == "ts" else {}
    return minimize(
        fun, bounds, **{"budget": 8, "n_init": 4, "seed": 3, **cheap, **settings}
    )


# ---------------------------------------------------------------------- the result
def test_the_result_is_one_of_scipy():
    r = quick()
    assert isinstance(r, OptimizeResult)
    assert r.success
    assert r.status == 0
    assert r.message == "budget used"
    assert r.nfev == r.nit == 8
    assert r.x_iters.shape == (8, 3)
    assert r.fun == r.func_vals.min() == bowl(r.x)
    assert [bowl(x) for x in r.x_iters] == r.func_vals.tolist()
    assert r.failed.shape == (0, 3)
    assert r.seed == 3


def test_a_run_is_the_loop_that_a_user_would_write():
    opt = Optimizer(BOX, seed=3, n_init=4, **CHEAP_TS)
    for _ in range(8):
        x = opt.ask()
        opt.tell(x, bowl(x))
    np.testing.assert_array_equal(quick().x_iters, opt.X)


def test_without_further_words_groups_are_learned_and_improvement_is_sought():
    r = minimize(bowl, BOX, budget=10, n_init=8, seed=3)
    assert r.optimizer.method_name == "logei"
    assert r.optimizer.settings["groups"] == "auto"
    assert len(r.optimizer.structures()) > 0


def test_a_run_in_batches_is_the_loop_that_a_user_would_write():
    opt = Optimizer(BOX, seed=3, n_init=4, **CHEAP_TS)
    for n in (3, 3, 2):  # the budget of 8 cuts the last one
        X = opt.ask(n)
        opt.tell(X, [bowl(x) for x in X])
    r = quick(batch=3)
    np.testing.assert_array_equal(r.x_iters, opt.X)
    assert r.nit == 3


def test_the_model_of_the_result_is_fitted_when_it_is_looked_at():
    model = quick().model
    assert isinstance(model, Posterior)
    assert len(model.y) == 8
    assert quick(method="uniform").model is None


def test_bounds_of_scipy_are_understood():
    lo, hi = np.transpose(BOX)
    np.testing.assert_array_equal(quick(bounds=Bounds(lo, hi)).x, quick().x)


def test_the_search_gets_close_to_the_minimum():
    # The basin of the bowl; random search needs thousands of points for that.
    r = quick(budget=24, n_init=8, groups="singletons", candidates=60)
    assert r.fun < 3.71


def test_a_mixed_space_works_end_to_end_with_names():
    def train(x):
        rate, layers, rule, weight = x
        assert isinstance(rule, str | None)
        return abs(np.log10(rate) + 2) + 0.3 * layers + (rule == "sum") + weight**2

    r = quick(train, MIXED, budget=12)
    assert r.space.names == ("rate", "layers", "rule", "weight")
    best = r.space.as_dict(r.x)
    assert isinstance(best["layers"], int)
    assert best["rule"] in ("sum", "max", None)
    assert 1e-4 <= best["rate"] <= 0.7
    assert train(r.x) == r.fun


def test_the_objective_cannot_change_the_run_through_its_argument():
    def careless(x):
        value = bowl(x)
        x[:] = 0.0
        return value

    np.testing.assert_array_equal(quick(careless).x_iters, quick().x_iters)


@pytest.mark.parametrize("wrap", [np.float32, np.array, lambda v: np.array([[v]])])
def test_values_may_be_any_kind_of_number(wrap):
    r = quick(lambda x: wrap(bowl(x)), method="uniform")
    assert r.func_vals.dtype == float
    np.testing.assert_allclose(r.func_vals, [bowl(x) for x in r.x_iters], rtol=1e-6)


def test_an_objective_that_spans_decades_is_warped_and_the_result_says_so():
    def steep(x):
        z = (np.asarray(x) - [0.4, 4.4, 0.5]) / [5.4, 3.5, 0.63]
        return float(10.0 ** (14 * abs(z[0]) - 2))

    r = quick(steep, budget=24, n_init=20)
    assert "log(1 +" in r.transform
    assert "standardised" in quick(method="uniform").transform


def test_a_bar_shows_progress_and_the_best_value(capfd):
    r = quick(progress=True)
    shown = capfd.readouterr().err
    assert "8/8" in shown
    assert f"{r.fun:.6g}" in shown


def test_nothing_is_printed_without_a_bar(capfd):
    quick()
    assert capfd.readouterr() == ("", "")


# ---------------------------------------------------------------------- earlier data
EARLIER = [[0.5, 2.5, 0.75], [1.5, 4.5, 0.35], [-1.5, 3.5, 0.55]]


def test_earlier_data_count_towards_the_budget_and_the_design():
    calls = []
    r = quick(
        lambda x: calls.append(1) or bowl(x),
        x0=frozen(EARLIER),
        y0=frozen([bowl(x) for x in EARLIER]),
        n_init=4,
    )
    assert len(calls) == 5
    assert r.nfev == 8
    np.testing.assert_array_equal(r.x_iters[:3], EARLIER)
    # One more point of the design, then the model: the first uniform point is the
    # same as without earlier data, the second is not.
    plain = quick()
    np.testing.assert_array_equal(r.x_iters[3], plain.x_iters[0])
    assert not np.array_equal(r.x_iters[4], plain.x_iters[1])


def test_a_budget_below_the_design_shortens_it(tmp_path):
    path = tmp_path / "run.npz"
    short = quick(budget=7, n_init=20, checkpoint=path)
    assert short.optimizer.n_init == 3
    assert short.nfev == 7
    longer = quick(budget=9, n_init=9, checkpoint=path)
    assert longer.optimizer.n_init == 3
    np.testing.assert_array_equal(longer.x_iters[:7], short.x_iters)


def test_an_interrupted_run_continues_with_a_budget_below_its_design(tmp_path):
    path = tmp_path / "run.npz"

    def interrupt(result):
        if result.nfev == 3:
            raise KeyboardInterrupt

    quick(budget=60, n_init=20, checkpoint=path, callback=interrupt)
    shorter = quick(budget=9, n_init=20, checkpoint=path)
    whole = quick(budget=20, n_init=20)
    np.testing.assert_array_equal(shorter.x_iters, whole.x_iters[:9])


def test_earlier_data_may_hold_the_answer():
    assert quick(x0=EARLIER[0], y0=-100.0).fun == -100.0


def test_a_budget_that_earlier_data_use_up_evaluates_nothing():
    r = quick(lambda x: 1 / 0, x0=EARLIER, y0=[1.5, 0.5, 2.5], budget=3, n_init=2)
    assert r.nfev == 3
    assert r.fun == 0.5
    assert r.success


@pytest.mark.parametrize("how", [{}, {"batch": 2}, {"workers": 2}])
def test_points_without_values_are_evaluated_first(how):
    calls = []
    r = quick(lambda x: calls.append(x.tolist()) or bowl(x), x0=frozen(EARLIER), **how)
    assert sorted(calls[:3]) == sorted(EARLIER)
    assert len(calls) == r.nfev == 8
    assert r.fun <= min(bowl(x) for x in EARLIER)


def test_one_point_without_a_value_may_be_given_as_such():
    assert quick(x0=EARLIER[0]).x_iters[0].tolist() == EARLIER[0]


def test_no_more_points_without_values_are_evaluated_than_the_budget_allows():
    r = quick(x0=EARLIER, budget=2, n_init=2)
    np.testing.assert_array_equal(r.x_iters, EARLIER[:2])


def test_a_run_that_began_with_points_without_values_continues_bit_for_bit(tmp_path):
    path = tmp_path / "run.npz"
    whole = quick(x0=EARLIER)

    def stop(result):
        if result.nfev == 2:
            raise StopIteration

    quick(x0=EARLIER, checkpoint=path, callback=stop)
    resumed = quick(x0=EARLIER, checkpoint=path)
    np.testing.assert_array_equal(resumed.x_iters, whole.x_iters)


def test_earlier_points_outside_the_box_are_used_with_a_warning():
    with pytest.warns(UserWarning, match="outside the box"):
        r = quick(x0=[[0.5, 9.5, 0.75]], y0=[2.5])
    assert r.x_iters[0].tolist() == [0.5, 9.5, 0.75]


# ---------------------------------------------------------------------- failures
class Flaky:
    """The bowl, which fails in a third of the box."""

    def __init__(self, how):
        self.how, self.asked = how, []

    def __call__(self, x):
        self.asked.append(tuple(x))
        if x[0] > 1.2 and len(self.asked) > 2:
            return self.how()
        return bowl(x)


def crash():
    raise OSError("no licence left")


FAILURES = {
    "an exception": (crash, "OSError: no licence left"),
    "a stop iteration": (lambda: next(iter(())), "StopIteration"),
    "NaN": (lambda: np.nan, "returned nan"),
    "infinity": (lambda: -np.inf, "returned -inf"),
    "None": (lambda: None, "returned None"),
    "a word": (lambda: "low", "returned 'low'"),
    "two numbers": (lambda: [1.5, 2.5], r"returned \[1.5, 2.5\]"),
    "a complex number": (lambda: 1 + 2j, "returned"),
}
failures = pytest.mark.parametrize(
    ("how", "message"), FAILURES.values(), ids=FAILURES.keys()
)


@failures
def test_a_failure_stops_the_run_and_keeps_what_was_told(how, message):
    fun = Flaky(how)
    with pytest.raises(EvaluationError, match=rf"(?s)x0.*{message}.*skip") as caught:
        quick(fun, budget=30, n_init=30)
    r = caught.value.result
    assert r.nfev == len(fun.asked) - 1 >= 2
    assert r.func_vals.tolist() == [bowl(x) for x in fun.asked[:-1]]
    assert r.fun == min(r.func_vals)
    assert caught.value.__cause__ is not None


@failures
def test_a_skipped_failure_is_recorded_and_never_asked_again(how, message):
    del message
    fun = Flaky(how)
    r = quick(fun, budget=14, n_init=8, on_error="skip")
    assert r.success
    assert r.nfev == len(fun.asked) == 14
    assert len(set(fun.asked)) == 14
    lost = np.isnan(r.func_vals)
    assert lost.any()
    np.testing.assert_array_equal(r.x_iters[lost], r.failed)
    assert (r.failed[:, 0] > 1.2).all()
    assert r.fun == np.nanmin(r.func_vals)


def test_the_model_avoids_where_evaluations_fail():
    def half(x):
        if x[0] > 0.1:
            raise RuntimeError
        return bowl(x)  # falls towards the failures

    r = quick(half, budget=20, n_init=12, on_error="skip", groups="singletons")
    assert np.isnan(r.func_vals[12:]).mean() < 0.5


def test_a_run_in_which_everything_fails_is_no_success():
    r = quick(lambda x: 1 / 0, on_error="skip")
    assert not r.success
    assert r.status == 1
    assert r.x is None
    assert np.isnan(r.fun)
    assert len(r.failed) == 8
    assert r.message == "no evaluation succeeded"


def test_a_failure_in_a_worker_keeps_what_was_told():
    with pytest.raises(EvaluationError, match="no licence left") as caught:
        quick(Flaky(crash), budget=40, n_init=40, workers=3)
    assert caught.value.result.nfev >= 1


# ---------------------------------------------------------------------- stopping
def test_the_callback_sees_every_value_and_may_stop():
    seen = []

    def callback(result):
        seen.append((result.nfev, result.fun, result.x.copy()))
        if result.nfev == 5:
            raise StopIteration

    r = quick(callback=callback)
    assert [n for n, _, _ in seen] == [1, 2, 3, 4, 5]
    np.testing.assert_array_equal(
        [f for _, f, _ in seen], np.minimum.accumulate(r.func_vals)
    )
    assert r.nfev == 5
    assert r.status == 99
    assert r.success
    assert r.message == "stopped by the callback"


def test_the_model_of_a_callbacks_result_is_that_of_then():
    seen = []
    quick(callback=seen.append)
    assert [len(r.model.X) for r in seen[4:]] == [5, 6, 7, 8]


@pytest.mark.parametrize("method", ["uniform", "ts"])
def test_a_generator_may_be_the_seed(method):
    first, again = (
        quick(method=method, seed=np.random.default_rng(29)) for _ in range(2)
    )
    assert first.seed == again.seed
    np.testing.assert_array_equal(first.x_iters, again.x_iters)
    assert quick(method="uniform", seed=np.random.default_rng(30)).seed != first.seed


def test_the_callback_may_have_the_signature_of_scipy():
    seen = []

    def callback(*, intermediate_result):
        seen.append(intermediate_result.fun)

    r = quick(callback=callback)
    assert len(seen) == 8
    assert seen[-1] == r.fun


def test_a_builtin_may_be_the_callback():
    seen = []
    quick(callback=seen.append)
    assert [r.nfev for r in seen] == list(range(1, 9))


@pytest.fixture
def interruptible():
    """Let SIGINT interrupt: a shell that starts us in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_returns_what_was_told():
    calls = []

    def fun(x):
        calls.append(x)
        if len(calls) == 6:
            signal.raise_signal(signal.SIGINT)
        return bowl(x)

    r = quick(fun)
    assert r.nfev == 5
    assert r.status == 130
    assert not r.success
    assert r.message == "interrupted after 5 of 8 evaluations"
    assert r.fun == r.func_vals.min()


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_while_workers_are_busy_returns_what_was_told():
    # The fourth evaluation never ends by itself; the main thread waits for it.
    stuck, leave = threading.Event(), threading.Event()
    count = iter(range(100))

    def fun(x):
        if next(count) == 3:
            stuck.set()
            leave.wait(PATIENCE)
        return bowl(x)

    def interrupt():
        stuck.wait(PATIENCE)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        r = quick(fun, workers=2, budget=4)
    finally:
        leave.set()
        thread.join()
    assert r.status == 130
    assert 1 <= r.nfev <= 3


# ---------------------------------------------------------------------- workers
def test_the_next_point_is_asked_as_soon_as_a_worker_is_free():
    # The first evaluation waits until five others have ended: with rounds of two it
    # would wait for ever.
    others = threading.Semaphore(0)
    first = quick(method="uniform").x_iters[0]

    def fun(x):
        if np.array_equal(x, first):
            for _ in range(5):
                assert others.acquire(timeout=PATIENCE), "the other worker stood idle"
        else:
            others.release()
        return bowl(x)

    r = quick(fun, workers=2, method="uniform")
    assert r.nfev == 8
    position = int(np.flatnonzero((r.x_iters == first).all(axis=1))[0])
    assert position >= 4  # the fifth may be told at the same time


def watching(seen):
    """Return a method that notes how many points are pending and known at each ask."""

    @dataclass(frozen=True, kw_only=True)
    class Watching(Uniform):
        def propose(self, rng, state, data, q):
            seen.append((len(data.pending), len(data.U)))
            return super().propose(rng, state, data, q)

    return Watching()


def test_points_in_flight_are_pending_when_the_next_is_asked():
    # The second and the third evaluation last until the others have ended.
    seen, count, last = [], iter(range(100)), threading.Event()

    def fun(x):
        number = next(count)
        if number == 7:
            last.set()
        elif number in (1, 2):
            assert last.wait(PATIENCE)
        return bowl(x)

    assert quick(fun, workers=3, method=watching(seen)).nfev == 8
    assert seen == [(2, 2), (2, 3), (2, 4), (2, 5)]  # the first four are the design


def test_a_batch_is_evaluated_in_parallel():
    together = threading.Barrier(4)

    def fun(x):
        together.wait(PATIENCE)  # breaks unless all four run at the same time
        return bowl(x)

    r = quick(fun, workers=4, batch=4)
    assert r.nfev == 8
    assert r.nit == 2


def test_a_batch_is_told_completely_before_the_next_is_asked():
    # Evaluations end one by one: each waits until all earlier ones are told.
    told, known, seen, count = threading.Condition(), [0], [], iter(range(100))

    def note(result):
        with told:
            known[0] = result.nfev
            told.notify_all()

    def fun(x):
        with told:
            number = next(count)
            assert told.wait_for(lambda: known[0] >= number, PATIENCE)
        return bowl(x)

    quick(fun, workers=4, batch=4, callback=note, method=watching(seen))
    assert seen == [(0, 4)]  # the second batch; the first one is the design


def test_a_batch_larger_than_the_pool_is_evaluated_completely():
    r = quick(workers=2, batch=5)
    assert r.nfev == 8
    assert sorted(map(tuple, r.x_iters)) == sorted(map(tuple, quick(batch=5).x_iters))


def test_an_executor_of_threads_is_used_and_left_open():
    names = set()

    def fun(x):
        names.add(threading.current_thread().name)
        return bowl(x)

    with ThreadPoolExecutor(2, thread_name_prefix="mine") as pool:
        r = quick(fun, workers=pool)
        assert pool.submit(int, "7").result() == 7
    assert r.nfev == 8
    assert all(name.startswith("mine") for name in names)


class Inline(Executor):
    """An executor that evaluates at once, and may say how many fit in it."""

    def __init__(self, slots=None):
        self._max_workers = slots

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def test_any_executor_will_do():
    np.testing.assert_array_equal(quick(workers=Inline()).x_iters, quick().x_iters)


def test_thousands_of_workers_are_served():
    pool = Inline(350)
    assert quick(workers=pool, method="uniform", budget=350).nfev == 350


def test_an_executor_of_processes_is_used():
    problem = problems.get("levy2", seed=4)
    with ProcessPoolExecutor(2) as pool:
        r = minimize(problem, problem.bounds, budget=6, n_init=6, seed=1, workers=pool)
    assert [problem(x) for x in r.x_iters] == r.func_vals.tolist()


def test_processes_that_die_leave_what_was_told():
    pool = Inline(2)
    submit, count = pool.submit, iter(range(100))

    def dying(fn, /, *args):
        if next(count) == 5:
            raise RuntimeError("a child process terminated abruptly")
        return submit(fn, *args)

    pool.submit = dying
    with pytest.raises(EvaluationError, match=r"take no more.*abruptly") as caught:
        quick(workers=pool, on_error="skip")
    assert caught.value.result.nfev >= 4


@pytest.mark.slow
@pytest.mark.parametrize("as_executor", [True, False])
def test_a_client_of_dask_is_used(as_executor):
    distributed = pytest.importorskip("distributed")
    problem = problems.get("levy2", seed=4)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        r = minimize(
            problem,
            problem.bounds,
            budget=8,
            n_init=5,
            seed=1,
            workers=client.get_executor() if as_executor else client,
        )
    assert [problem(x) for x in r.x_iters] == r.func_vals.tolist()


# ---------------------------------------------------------------------- bad input
WRONG = {
    "no budget": ({"budget": 0}, "budget=0 is not a positive"),
    "no batch": ({"batch": 0}, "batch=0 is not a positive"),
    "no workers": ({"workers": 0}, "workers=0 is not positive"),
    "workers of another kind": ({"workers": "all"}, "workers='all' is neither"),
    "unknown reaction": ({"on_error": "stop"}, "on_error='stop' is unknown"),
    "unknown method": ({"method": "tss"}, "method='tss'.*'ts'"),
    "unknown setting": ({"candidate": 9}, "candidate=9.*'candidates'"),
    "unknown argument": ({"callbak": print}, "callbak=.*no argument.*'callback'"),
    "unknown option": ({"maximise": True}, r"maximise=True.*mean 'maximize'\?$"),
    "reversed bounds": ({"bounds": [(3.5, 1.5)]}, "reversed"),
    "values without points": ({"y0": [1.5]}, "values without points"),
}


@pytest.mark.parametrize(("wrong", "message"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_argument_is_explained_before_anything_is_evaluated(wrong, message):
    calls = []
    with pytest.raises(ArgumentError, match=rf"(?s){message}"):
        quick(calls.append, **wrong)
    assert not calls


def test_arguments_that_must_be_functions_are_checked():
    wrong: dict = {"fun": 3}
    with pytest.raises(Exception, match="fun"):
        quick(**wrong)
    wrong = {"callback": 3}
    with pytest.raises(Exception, match="callback"):
        quick(**wrong)


# ---------------------------------------------------------------------- checkpoints
def test_the_checkpoint_holds_every_value_before_the_next_evaluation(tmp_path):
    path = tmp_path / "run.npz"
    seen = []

    def fun(x):
        seen.append(Optimizer.load(path).y.tolist())
        return bowl(x)

    r = quick(fun, checkpoint=path)
    assert [len(y) for y in seen] == list(range(8))
    assert seen[-1] == r.func_vals[:7].tolist()
    assert Optimizer.load(path).y.tolist() == r.func_vals.tolist()
    names = sorted(p.name for p in tmp_path.iterdir())
    assert names == [".run.npz.lock", "run.npz"]


@pytest.mark.parametrize("batch", [1, 3])
def test_a_stopped_run_goes_on_where_it_was(tmp_path, batch):
    path = tmp_path / "run.npz"

    def stop(result):
        if result.nfev == 5:
            raise StopIteration

    part = quick(callback=stop, checkpoint=path, batch=batch)
    assert part.nfev == 5
    calls = []
    rest = quick(lambda x: calls.append(1) or bowl(x), checkpoint=path, batch=batch)
    assert len(calls) == 3
    whole = quick(batch=batch)
    np.testing.assert_array_equal(rest.x_iters, whole.x_iters)
    np.testing.assert_array_equal(rest.func_vals, whole.func_vals)


def test_a_finished_run_is_returned_without_evaluating_again(tmp_path):
    path = tmp_path / "run.npz"
    whole = quick(checkpoint=path)
    again = quick(lambda x: 1 / 0, checkpoint=path)
    np.testing.assert_array_equal(again.x_iters, whole.x_iters)


def test_a_larger_budget_continues_a_finished_run(tmp_path):
    path = tmp_path / "run.npz"
    quick(checkpoint=path)
    longer = quick(checkpoint=path, budget=10)
    np.testing.assert_array_equal(longer.x_iters, quick(budget=10).x_iters)


def test_a_run_without_a_seed_keeps_the_one_it_drew(tmp_path):
    path = tmp_path / "run.npz"
    first = quick(checkpoint=path, seed=None, budget=5)
    second = quick(checkpoint=path, seed=None)
    assert first.seed == second.seed
    np.testing.assert_array_equal(second.x_iters, quick(seed=first.seed).x_iters)


def test_a_point_that_failed_is_evaluated_again_by_the_next_run(tmp_path):
    path = tmp_path / "run.npz"
    calls = []

    def flaky(x):
        calls.append(tuple(x))
        if len(calls) == 6:
            crash()
        return bowl(x)

    with pytest.raises(EvaluationError):
        quick(flaky, checkpoint=path)
    r = quick(flaky, checkpoint=path)
    assert calls[5] == calls[6]
    np.testing.assert_array_equal(r.x_iters, quick().x_iters)


def test_an_interrupt_between_a_tell_and_its_save_loses_nothing(tmp_path, monkeypatch):
    path = tmp_path / "run.npz"
    save, calls = Optimizer.save, []

    def interrupted(self, target):
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        save(self, target)

    monkeypatch.setattr(Optimizer, "save", interrupted)
    r = quick(checkpoint=path)
    assert r.status == 130
    assert Optimizer.load(path).y.tolist() == r.func_vals.tolist()
    assert r.nfev == 4


OTHER_RUNS = {
    "another space": ({"bounds": [(-2.3, 3.1), (1.7, 5.2), (0.31, 0.95)]}, "hi of"),
    "fewer parameters": ({"bounds": BOX[:2]}, "number of parameters is 2 here"),
    "another method": ({"method": "ats"}, "method is 'ats' here and 'ts' there"),
    "another seed": ({"seed": 4}, "seed is 4 here and 3 there"),
    "another design": ({"n_init": 5}, "n_init is 5 here and 4 there"),
    "another setting": ({"candidates": 13}, "candidates is 13 here and 12 there"),
    "other groups": ({"groups": "one"}, "groups is 'one' here and 'random' there"),
    "another transform": ({"transform": "log"}, "transform is 'log' here"),
    "other earlier data": ({"x0": [EARLIER[0]], "y0": [9.5]}, "x0 or y0"),
    "another guess": ({"x0": [EARLIER[0]]}, "x0 is not what it began with"),
}


@pytest.mark.parametrize(
    ("other", "message"), OTHER_RUNS.values(), ids=OTHER_RUNS.keys()
)
def test_a_checkpoint_of_another_run_is_refused_and_kept(tmp_path, other, message):
    path = tmp_path / "run.npz"
    quick(checkpoint=path, budget=5)
    before = path.read_bytes()
    calls = []
    with pytest.raises(CheckpointError, match=f"another run: .*{message}"):
        quick(calls.append, checkpoint=path, **{**QUICK["ts"], **other})
    assert path.read_bytes() == before
    assert not calls


def damaged(path, how):
    content = path.read_bytes()
    if how == "truncated":
        path.write_bytes(content[: len(content) // 2])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "text":
        path.write_text("x,y\n1,2\n")
    elif how == "one bit":
        middle = len(content) // 2
        path.write_bytes(
            content[:middle] + bytes([content[middle] ^ 4]) + content[middle + 1 :]
        )
    elif how == "an array":
        with path.open("wb") as file:
            np.savez(file, X=np.ones(3))
    elif how == "another thing of sumbo":
        checkpoint.save(path, {"kind": "sumbo study"}, {})
    elif how == "a part":
        checkpoint.save(path, {"kind": "sumbo optimizer"}, {})
    return path


@pytest.mark.parametrize(
    "how",
    [
        "truncated",
        "empty",
        "text",
        "one bit",
        "an array",
        "another thing of sumbo",
        "a part",
    ],
)
def test_a_file_that_is_no_checkpoint_is_refused_and_kept(tmp_path, how):
    path = tmp_path / "run.npz"
    quick(checkpoint=path, budget=5)
    damaged(path, how)
    before = path.read_bytes()
    calls = []
    with pytest.raises(CheckpointError, match=r"run\.npz"):
        quick(calls.append, checkpoint=path)
    assert path.read_bytes() == before
    assert not calls


def test_a_checkpoint_that_cannot_be_written_fails_before_anything_is_evaluated(
    tmp_path,
):
    calls = []
    with pytest.raises(CheckpointError, match="does not exist"):
        quick(calls.append, checkpoint=tmp_path / "nowhere" / "run.npz")
    assert not calls
