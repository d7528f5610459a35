"""One cell with the real optimizer: what is shared, what is recorded."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import study_fakes as fakes
from sumbo.problems import get
from sumbo.study.cell import optimizer_seed, problem_of, run_cell
from sumbo.study.design import Cell

CELL = Cell(
    problem="levy2",
    method="uniform",
    batch=3,
    replicate=2,
    seed=913,
    n_init=5,
    acquisitions=7,
    preset="paper",
    settings={},
)
OLD_SEED = 780152892  # of this cell, before methods shared their random numbers


@pytest.fixture(scope="module")
def record():
    return run_cell(CELL)


def test_a_record_holds_every_evaluation(record):
    problem = get("levy2", seed=record.problem_seed)
    assert record.x.shape == (12, 2)
    assert_array_equal(record.y, [problem(x) for x in record.x])
    low, high = problem.bounds.T
    assert ((record.x >= low) & (record.x <= high)).all()


def test_a_record_holds_one_time_per_ask(record):
    # Seven acquisitions in batches of three: 3, 3, 1.
    assert record.ask_cpu_s.shape == record.fit_cpu_s.shape == (3,)
    assert (record.ask_cpu_s >= record.fit_cpu_s).all()
    assert record.eval_s.shape == (12,)
    assert (record.eval_s > 0).all()


def test_a_record_says_how_it_came_about(record):
    assert record.cell == CELL
    assert (record.dim, record.best_known, record.exact) == (2, 0.0, True)
    assert {"python", "numpy", "scipy", "sumbo"} <= set(record.versions)
    assert record.host
    assert record.seconds > record.eval_s.sum()


@pytest.mark.parametrize(
    "change", [{"method": "ts"}, {"batch": 1}, {"method": "ats", "settings": {}}]
)
def test_all_methods_of_a_replicate_share_function_and_initial_points(record, change):
    other = run_cell(replace(CELL, acquisitions=1, **change))
    assert other.problem_seed == record.problem_seed
    assert other.x is not None
    assert_array_equal(other.x[:5], record.x[:5])
    assert_array_equal(other.y[:5], record.y[:5])


@pytest.mark.parametrize("change", [{"replicate": 3}, {"seed": 914}])
def test_other_replicates_have_other_functions_and_points(record, change):
    other = run_cell(replace(CELL, acquisitions=0, **change))
    assert other.problem_seed != record.problem_seed
    assert other.x is not None
    assert not np.isin(other.x, record.x).any()


def test_the_same_cell_gives_the_same_result(record):
    again = run_cell(CELL)
    assert_array_equal(again.x, record.x)
    assert_array_equal(again.y, record.y)


def test_the_methods_of_a_replicate_share_the_seed_of_their_optimizer():
    cells = list(fakes.design().cells())
    seeds: dict = {}
    for cell in cells:
        place = (cell.problem, cell.batch, cell.replicate)
        seeds.setdefault(place, set()).add(optimizer_seed(cell))
    assert len({cell.method for cell in cells}) > 1
    assert all(len(found) == 1 for found in seeds.values())
    assert len(set.union(*seeds.values())) == len(seeds)


def test_without_common_random_numbers_every_cell_has_a_seed_of_its_own():
    cells = list(replace(fakes.design(), common_random_numbers=False).cells())
    assert len({optimizer_seed(cell) for cell in cells}) == len(cells)
    # A promise to old studies, whose records hold such seeds.
    assert optimizer_seed(CELL) == OLD_SEED


@pytest.mark.parametrize("batch", [1, 10])
def test_ts_and_ats_of_a_replicate_see_the_same_partitions_and_candidates(batch):
    cell = replace(
        CELL,
        problem="ackley5",
        batch=batch,
        n_init=11,
        acquisitions=30,
        common_random_numbers=True,
    )
    # With one candidate for every part no draw can prefer another one. Candidates are
    # drawn part by part, so that other partitions would give other points.
    same = [
        run_cell(replace(cell, method=method, settings={"candidates": 1}))
        for method in ("ts", "ats")
    ]
    assert_array_equal(same[0].x, same[1].x)
    # With 500 candidates the draws decide.
    free = [run_cell(replace(cell, method=method)) for method in ("ts", "ats")]
    assert_array_equal(free[0].x[:11], free[1].x[:11])
    assert not np.array_equal(free[0].x, free[1].x)


@pytest.mark.external
def test_a_problem_without_a_random_part_has_no_seed():
    pytest.importorskip("camb")
    problem, seed = problem_of(replace(CELL, problem="desi"))
    assert problem.dim == 7
    assert seed is None


def test_settings_reach_the_method():
    with pytest.raises(ValueError, match="no_such=3"):
        run_cell(replace(CELL, method="ts", settings={"no_such": 3}))
