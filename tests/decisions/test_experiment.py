"""The experiment on bilateral uncertainty, in miniature."""

import importlib
import sys
from pathlib import Path

import pytest

STUDIES = Path(__file__).parents[2] / "studies"
NAMES = ("bilateral", "bilateral_runs", "bilateral_summary")

pytestmark = pytest.mark.filterwarnings(
    "ignore:method=.* takes the parts as independent:UserWarning"
)

DESIGN = """
seed = 77
last = 0.25
within = 1e-3
family = [["accept", "regret"], ["batch-box", "best"], ["pairs", "best"]]

[[decision]]
label = "accept"
name = "accept"
policies = ["joint", "marginal"]
settings = { replicates = 3, rounds = 8, parts_count = 3 }

[batch]
replicates = 2
count = 3

[[run]]
label = "pairs"
methods = ["ts", "ats"]
replicates = 2
n_init = 5
acquisitions = 2

[choose]
label = "designs-choose"
methods = ["ts", "ats"]
replicates = 2
rounds = 4
noise = 0.3
n_init = 2

[interval]
replicates = 2
draws = 20
parts = 2
noise = 0.05
data = [10]
"""


@pytest.fixture
def experiment(tmp_path, monkeypatch):
    if not STUDIES.is_dir():
        pytest.skip("a copy without the studies")
    monkeypatch.syspath_prepend(str(STUDIES))
    module = importlib.import_module("bilateral")
    (tmp_path / "bilateral.toml").write_text(DESIGN)
    monkeypatch.setattr(module, "HERE", tmp_path)
    yield module
    for name in NAMES:
        sys.modules.pop(name, None)


def test_a_stopped_experiment_goes_on_and_gives_the_same_rows(experiment, tmp_path):
    once, again = tmp_path / "once", tmp_path / "again"
    experiment.main(once)
    rows = experiment.read(once / "replicates.csv")
    assert [tuple(row[:3]) for row in rows[:6]] == [
        ("accept", how, str(r)) for how in ("joint", "marginal") for r in range(3)
    ]
    # Replicates share initial points, and methods differ after them.
    runs = [row for row in rows if row[0] == "pairs"]
    assert len(runs) == 4
    assert runs[0][4] != runs[1][4]
    # The last rows are lost, as in a run that was stopped.
    again.mkdir()
    experiment.write(again / "replicates.csv", experiment.ROWS, rows[:-3])
    experiment.main(again)
    names = ("replicates.csv", "interval.csv", "curves.csv", "summary.md")
    for name in names:
        assert (once / name).read_bytes() == (again / name).read_bytes(), name
    (again / "summary.md").unlink()
    experiment.main(again, only_summary=True)
    assert (again / "summary.md").read_bytes() == (once / "summary.md").read_bytes()


def test_the_summary_counts_pairs_and_adjusts_one_family(experiment):
    summary = importlib.import_module("bilateral_summary")
    rows = [
        ["p", how, str(r), "4", str(regret), "0", "2", "0", "0.5 1.5"]
        for how, values in (("joint", (1, 2, 3, 9)), ("marginal", (4, 5, 6, 7, 8)))
        for r, regret in enumerate(values)
    ]
    text = summary.summary(rows, {"family": [["p", "regret"], ["p", "asks"]]})
    # Three of the four replicates that both have; the fifth has no partner.
    line = next(row for row in text.splitlines() if row.startswith("| p | regret"))
    assert line.split("|")[3:6] == [" 1.47 ", " 3 ", " 1 "]
    equal = next(row for row in text.splitlines() if row.startswith("| p | asks"))
    assert equal.split("|")[4:7] == [" 0 ", " 0 ", " 1 "]
