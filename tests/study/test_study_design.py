"""Designs: what a TOML file means, and which part of it is selected."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

import study_fakes as fakes
from sumbo.errors import StudyError
from sumbo.methods import METHODS
from sumbo.study import load_design, select
from sumbo.study.reading import design_from

STUDIES = Path(__file__).parents[2] / "studies"
TOML = """
seed = 19
replicates = 4
problems = ["levy5", "push"]
[methods]
1 = ["ts", "ats"]
7 = ["ts"]
[settings.ts]
candidates = 333
"""


def write(folder, text):
    path = folder / "mine.toml"
    path.write_text(text)
    return path


def names(design):
    return [cell.name for cell in design.cells()]


def test_a_design_expands_to_every_combination(tmp_path):
    design = load_design(write(tmp_path, TOML))
    cells = list(design.cells())
    assert len({cell.id for cell in cells}) == len(cells) == 4 * 2 * 3
    assert cells[0].name == "levy5-ts-b1-r000"
    assert cells[-1].name == "push-ts-b7-r003"


def test_a_design_is_named_after_its_file(tmp_path):
    assert load_design(write(tmp_path, TOML)).name == "mine"


def test_settings_reach_the_cells_of_their_method_only(tmp_path):
    for cell in load_design(write(tmp_path, TOML)).cells():
        assert cell.settings == ({"candidates": 333} if cell.method == "ts" else {})


@pytest.mark.parametrize(
    "change",
    [
        {"problem": "levy2"},
        {"method": "ats"},
        {"batch": 2},
        {"replicate": 1},
        {"seed": 72},
        {"n_init": 5},
        {"acquisitions": 8},
        {"preset": "default"},
        {"settings": {"beta": 1.70001}},
        {"common_random_numbers": False},
    ],
)
def test_the_identity_of_a_cell_depends_on_every_field(change):
    cell = next(fakes.design().cells())
    assert replace(cell, **change).id != cell.id


def test_the_identity_of_a_cell_never_changes():
    # Records on disk are found by it, so this literal is a promise to old studies.
    cell = next(fakes.design().cells())
    assert cell.id == "c5652f3880a2ccdd"
    # That of studies from before methods shared their random numbers.
    assert replace(cell, common_random_numbers=False).id == "55b067b34b1e73ae"


def test_a_new_design_has_common_random_numbers_unless_it_says_otherwise(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(TOML)
    assert load_design(path).common_random_numbers
    path.write_text("common_random_numbers = false" + TOML)
    assert not load_design(path).common_random_numbers


def test_a_stored_design_without_the_field_had_a_seed_for_each_method():
    table = {"name": "old", "seed": 5, "problems": ["levy5"], "replicates": 2}
    table |= {"methods": {"1": ["ts", "ats"]}}
    assert not design_from(table, source="old.json").common_random_numbers


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seed", "sead", "key 'sead' is unknown. Did you mean 'seed'"),
        ("seed = 19", "", "key 'seed' is missing"),
        ("seed = 19", "seed = -1", "seed=-1 is not an integer of at least 0"),
        ("replicates = 4", "replicates = 0", "replicates=0"),
        ("replicates = 4", "replicates = true", "replicates=True"),
        ('["levy5", "push"]', '"push"', "is not a list of names"),
        ('["levy5", "push"]', '["push", "push"]', "names something twice"),
        ('"push"', '"pusch"', "problem 'pusch' is unknown. Did you mean 'push'"),
        ('7 = ["ts"]', '7 = ["tz"]', "method 'tz' is unknown"),
        ("7 =", "0 =", "batch size '0'"),
        ("7 =", "01 =", "batch size 1 twice"),
        ("settings.ts", "settings.qff", "settings.qff belongs to no method"),
        ("seed = 19", "seed = ", "is not a TOML file"),
        ("seed = 19", 'seed = 19\nname = "../up"', "cannot be part of a file name"),
        ("seed = 19", 'seed = 19\nname = "/tmp/x"', "cannot be part of a file name"),
        ("seed = 19", 'seed = 19\nname = "a\\u0000"', "cannot be part of a file name"),
        ("seed = 19", "seed = 19\nname = 5", "name=5 cannot be part"),
        ("seed = 19", 'seed = 19\nmodules = ["no_such"]', "cannot be imported"),
    ],
)
def test_a_mistake_in_a_design_is_named(tmp_path, old, new, message):
    path = write(tmp_path, TOML.replace(old, new, 1))
    with pytest.raises(StudyError, match=message) as error:
        load_design(path)
    assert "mine.toml" in str(error.value)


def test_a_missing_design_is_named(tmp_path):
    with pytest.raises(StudyError, match=r"absent\.toml does not exist"):
        load_design(tmp_path / "absent.toml")


def test_a_folder_is_no_design(tmp_path):
    with pytest.raises(StudyError, match="cannot be read: Is a directory"):
        load_design(tmp_path)


def test_modules_of_a_design_can_register_names(tmp_path, monkeypatch):
    (tmp_path / "sumbo_test_plugin.py").write_text(
        "from sumbo.methods import METHODS\n"
        "METHODS.register('mine')(type('Mine', (METHODS.get('ts'),), {}))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    text = TOML.replace('7 = ["ts"]', '7 = ["mine"]')
    path = write(
        tmp_path, text.replace("seed", 'modules = ["sumbo_test_plugin"]\nseed')
    )
    try:
        assert "mine" in load_design(path).method_names
    finally:
        METHODS._items.pop("mine", None)


def test_parts_are_selected_by_every_criterion():
    design = fakes.design()
    part = select(
        design, problems="levy5", methods=["ts", "alcb2"], batch=3, replicates="1:3"
    )
    assert names(part) == [
        "levy5-ts-b3-r001",
        "levy5-alcb2-b3-r001",
        "levy5-ts-b3-r002",
        "levy5-alcb2-b3-r002",
    ]


def test_a_part_belongs_to_the_same_study():
    design = fakes.design()
    part = select(design, replicates=0)
    assert list(part.all_cells()) == list(design.all_cells())


def test_selections_narrow_each_other():
    part = select(select(fakes.design(), batch=1), problems=["ackley2"], replicates="2")
    assert names(part) == ["ackley2-ts-b1-r002", "ackley2-ats-b1-r002"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0:2", {0, 1}),
        (":2", {0, 1}),
        ("1:", {1, 2}),
        ("2", {2}),
        (1, {1}),
        ("0,2", {0, 2}),
    ],
)
def test_replicates_are_half_open_ranges(text, expected):
    chosen = select(fakes.design(), replicates=text)
    assert {cell.replicate for cell in chosen.cells()} == expected


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        ({"problems": "levy4"}, "problems='levy4' is not in this study"),
        ({"methods": ["ts", "uniform"]}, "methods='uniform'"),
        ({"batch": 2}, "batch=2"),
        ({"replicates": "0:4"}, "not within 0:3"),
        ({"replicates": "2:2"}, "not within 0:3"),
        ({"replicates": "-1"}, "not within 0:3"),
        ({"replicates": "a:b"}, "is not a number or a range"),
    ],
)
def test_selecting_what_is_not_there_is_an_error(selection, message):
    with pytest.raises(StudyError, match=message):
        select(fakes.design(), **selection)


def test_the_paper_has_18000_cells_in_the_papers_shape():
    cells = list(load_design(STUDIES / "paper.toml").all_cells())
    assert len(cells) == 15 * 2 * 6 * 100
    assert {c.method for c in cells if c.batch == 1} >= {"ts", "ats", "max"}
    assert {c.method for c in cells if c.batch == 10} >= {"ts", "ats", "struct"}
    assert {(c.n_init, c.acquisitions, c.preset) for c in cells} == {(20, 100, "paper")}


@pytest.mark.parametrize("file", ["paper.toml", "smoke.toml", "demo.toml"])
def test_every_shipped_design_loads(file):
    assert list(load_design(STUDIES / file).cells())


@pytest.mark.parametrize(
    "file", ["paper-author.toml", "known-structure.toml", "separate-seeds.toml"]
)
def test_sensitivity_designs_have_the_functions_of_the_paper_and_its_margins(file):
    paper, other = (load_design(STUDIES / name) for name in ("paper.toml", file))
    for name in ("seed", "n_init", "acquisitions", "win_share", "gap_ratio"):
        assert getattr(other, name) == getattr(paper, name)
    assert set(other.problems) < set(paper.problems)
    assert other.replicates == 30
    settings = [(d.preset, d.common_random_numbers) for d in (paper, other)]
    assert settings[0] != settings[1]


# ------------------------------------------------------------------ comparisons
TABLE = {
    "name": "toy",
    "seed": 3,
    "problems": ["levy5"],
    "methods": {"1": ["ts", "ats", "qff"]},
    "replicates": 2,
}


def test_ts_and_ats_are_compared_unless_the_design_says_otherwise():
    assert design_from(TABLE, "t").pairs == (("ts", "ats"),)
    without = TABLE | {"methods": {"1": ["ts", "qff"]}}
    assert design_from(without, "t").pairs == ()
    other = design_from(TABLE | {"compare": [["qff", "ts"], ["ts", "ats"]]}, "t")
    assert other.pairs == (("qff", "ts"), ("ts", "ats"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"compare": [["ts"]]}, "which is no pair"),
        ({"compare": [["ts", "atz"]]}, "compare names 'atz'"),
        ({"compare": 3}, "compare=3 is not a list"),
        ({"win_share": [0.55, 0.6]}, "no margins around 0.5"),
        ({"win_share": [0.3, 1.2]}, "no margins around 0.5"),
        ({"gap_ratio": [0.9]}, "no margins around 1"),
    ],
)
def test_what_cannot_be_compared_is_named(changes, message):
    with pytest.raises(StudyError, match=re.escape(message)):
        design_from(TABLE | changes, "t")


def test_margins_of_a_study_stay_what_they_were():
    ours = design_from(TABLE, "t")
    theirs = design_from(TABLE | {"gap_ratio": [0.8, 1.25]}, "t")
    assert "gap_ratio is (0.8, 1.25)" in ours.contradiction(theirs)
