"""From records to charts, figures, tables, the report and the export."""

import csv
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import gmean

import study_fakes as fakes
from sumbo.drawing import label, look
from sumbo.errors import ArgumentError, StudyError
from sumbo.methods import METHODS
from sumbo.study import (
    charts,
    comparison,
    export,
    figures,
    load,
    report,
    statistics,
    tables,
    verdict,
    verdicts,
)
from sumbo.study.figures.style import spread
from sumbo.study.storage import (
    FailedCell,
    encode,
    write_design,
    write_failure,
    write_record,
)

DESIGN = fakes.design(
    problems=("ackley2", "rover", "desi"),
    methods={1: ("ts", "ats", "max"), 10: ("ts", "ats", "struct")},
    replicates=11,
    n_init=6,
    acquisitions=23,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("study")
    # One problem lacks a method, one method lacks replicates, one cell failed.
    fakes.write_study(
        path,
        DESIGN,
        lambda c: (
            not (
                (c.problem == "desi" and c.method == "max")
                or (c.problem == "rover" and c.method == "ats" and c.replicate < 2)
            )
        ),
    )
    cell = next(
        c for c in DESIGN.all_cells() if c.method == "max" and c.problem == "desi"
    )
    failure = FailedCell(cell=cell, reason="x < 3 & y", traceback="at <here>", host="h")
    write_failure(path, failure)
    return path


@pytest.fixture(scope="module")
def results(folder):
    return load(folder)


@pytest.fixture(scope="module")
def index(folder):
    return report(folder, [("Extra: one", "A caption.", draw_extra)])


def draw_extra(path):
    path.write_bytes(b"<svg xmlns='http://www.w3.org/2000/svg'/>")


class Page(HTMLParser):
    """What a browser would see: text, images, ids, links."""

    def __init__(self, path):
        super().__init__()
        self.text, self.images, self.ids, self.links, self.tags = "", [], [], [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.tags.append(tag)
        self.ids += [values["id"]] if "id" in values else []
        self.links += [values["href"]] if "href" in values else []
        self.images += [values] if tag == "img" else []

    def handle_data(self, data):
        self.text += data


def rows(folder, problem, method, batch):
    """Independent of the library's own grouping: (replicate, y) from fake records."""
    for cell in DESIGN.all_cells():
        if (cell.problem, cell.method, cell.batch) == (problem, method, batch):
            yield cell.replicate, fakes.fake_record(cell).y


def test_results_group_the_records(results, folder):
    runs = results.runs["ackley2", "ats", 10]
    for replicate, y in rows(folder, "ackley2", "ats", 10):
        assert runs.final[replicate] == y.min()
        assert runs.best[replicate, 9] == y[:6].min()
        assert runs.best[replicate, 10] == y[:16].min()


def test_results_count_what_is_there(results):
    assert results.cells == 3 * 6 * 11
    assert results.done == 3 * 6 * 11 - 11 - 4
    assert results.problems == ("ackley2", "rover", "desi")
    assert results.methods(10) == ("ts", "ats", "struct")
    assert len(results.failures) == 1


def test_an_empty_study_has_no_results(tmp_path):
    write_design(tmp_path, DESIGN)
    with pytest.raises(StudyError, match="holds no finished cell"):
        load(tmp_path)


def test_pairs_are_the_replicates_that_both_finished(results):
    chart = next(
        c for c in charts.differences(results, "ts", "ats", 1) if c.problem == "rover"
    )
    ts, ats = (dict(rows(None, "rover", m, 1)) for m in ("ts", "ats"))
    expected = [ts[r].min() - ats[r].min() for r in range(2, 11)]
    assert_array_equal(chart.final, expected)


def test_convergence_shows_the_gap_where_the_minimum_is_known(results):
    known = charts.convergence(results, "ackley2")
    unknown = charts.convergence(results, "rover")
    assert (known.log, known.ylabel) == (True, "best value − minimum")
    assert unknown.ylabel == "best value"
    curve = unknown.panels[1]["ts"]
    finals = [y.min() for _, y in rows(None, "rover", "ts", 1)]
    assert curve.median[-1] == np.median(finals)
    assert (curve.x[0], curve.x[-1]) == (6.0, 29.0)


def test_ranks_use_problems_that_all_methods_ran_on(results):
    chart, other = charts.ranks(results, 1), charts.ranks(results, 10)
    assert chart is not None
    assert other is not None
    assert chart.problems == ("ackley2", "rover")
    assert other.problems == ("ackley2", "rover", "desi")
    total = sum(mean for mean in chart.mean.values())
    assert_allclose(total, 1 + 2 + 3)
    finals = np.array([chart.final[m] for m in ("ts", "ats", "max")])
    assert_allclose(finals.mean(axis=1), [chart.mean[m][-1] for m in chart.final])


def test_boxes_say_when_the_reference_is_only_the_best_known(results):
    titles = [box.title for box in charts.boxes(results, 1)]
    assert titles == ["ackley2", "rover (to best known)", "desi"]
    gap = charts.boxes(results, 1)[0].values["ts"]
    finals = np.array([y.min() for _, y in rows(None, "ackley2", "ts", 1)])
    assert_allclose(gap, np.log10(finals))


def test_the_profile_never_falls(results):
    chart = charts.profile(results, 10)
    assert chart is not None
    for share in chart.lines.values():
        assert (np.diff(share) >= 0).all()
        assert share[0] < share[-1] <= 1


def test_ask_times_are_per_point(results):
    chart = charts.ask_time(results, 10)
    assert chart is not None
    asks = [
        fakes.fake_record(c).ask_cpu_s[2] / 3  # the third batch has 3 of 23 points
        for c in DESIGN.all_cells()
        if (c.method, c.batch) == ("struct", 10)
    ]
    assert chart.lines["struct"][-1] == pytest.approx(np.median(asks))


# ------------------------------------------------------------------ verdicts
def study_with(folder, shift, replicates=20):
    """ats behind ts by ``shift`` on levy5, level on ackley2."""
    design = fakes.design(methods={1: ("ts", "ats")}, replicates=replicates)
    write_design(folder, design)
    rng = np.random.default_rng(303)
    for cell in design.all_cells():
        record = fakes.fake_record(replace(cell, method="ts"))
        own = shift if (cell.problem, cell.method) == ("levy5", "ats") else 0.0
        own += 0.01 * rng.normal()
        record = replace(record, cell=cell, y=record.y + own)
        write_record(folder, cell, encode(record))
    return verdict(load(folder), "ts", "ats")


@pytest.mark.parametrize(
    ("shift", "headline"),
    [
        (5.0, "Single problems differ: ts is better on levy5 (batch 1)."),
        (-5.0, "Single problems differ: ats is better on levy5 (batch 1)."),
    ],
)
def test_the_verdict_follows_the_data(tmp_path, shift, headline):
    answer = study_with(tmp_path, shift)
    assert answer.headline.endswith(headline)
    assert "20 paired replicates" in answer.sentences[0]


def test_few_pairs_exclude_no_difference(tmp_path):
    answer = study_with(tmp_path, 0.0)
    assert "no difference between ts and ats was seen, but" in answer.headline
    assert "outside 45 to 55 % is not excluded" in answer.headline
    assert "With 40 pairs a preference of" in answer.sentences[0]


def test_many_pairs_exclude_a_difference(tmp_path):
    answer = study_with(tmp_path, 0.0, replicates=700)
    assert "was seen, and a win share outside 45 to 55 % is excluded" in answer.headline


def test_few_replicates_give_no_verdict(tmp_path):
    answer = study_with(tmp_path, 5.0, replicates=2)
    assert answer.headline.startswith("It cannot be answered yet: so few pairs")
    assert "With 2 pairs per problem none could be." in answer.sentences[-1]


def test_a_gap_ratio_needs_a_reference_below_every_run(tmp_path):
    design = fakes.design(replicates=7)
    write_design(tmp_path, design)
    for cell in design.all_cells():
        record = fakes.fake_record(cell)
        if (cell.problem, cell.method, cell.batch) == ("levy5", "alcb2", 3):
            record = replace(record, y=record.y - record.y.min() + record.best_known)
        write_record(tmp_path, cell, encode(record))
    found = comparison.pooled(load(tmp_path), "ts", "ats")
    assert [p.ratio_problems for p in found] == [("ackley2",), ("ackley2",)]
    final = {
        m: [
            fakes.fake_record(c).y.min()  # the minimum of ackley2 is zero
            for c in design.all_cells()
            if (c.problem, c.method, c.batch) == ("ackley2", m, 3)
        ]
        for m in ("ts", "ats")
    }
    expected = gmean(final["ts"]) / gmean(final["ats"])
    assert found[1].ratio.value == pytest.approx(expected, rel=1e-12)


def test_holm_takes_problems_and_batches_as_one_family(results):
    table = comparison.contrasts(results, "ts", "ats")
    assert [c.batch for c in table] == [1, 1, 1, 10, 10, 10]
    p = np.array([c.paired.wilcoxon_p for c in table])
    assert table[int(p.argmin())].holm_p == pytest.approx(min(1.0, 6 * p.min()))


def test_a_design_that_compares_nothing_has_no_answer(tmp_path):
    design = fakes.design(compare=(), replicates=2)
    fakes.write_study(tmp_path, design)
    assert verdicts(load(tmp_path)) == ()
    assert "answer" not in Page(report(tmp_path)).ids


def test_the_report_compares_the_pairs_of_the_design(tmp_path):
    design = fakes.design(compare=(("alcb2", "ts"),), replicates=3)
    fakes.write_study(tmp_path, design)
    text = Page(report(tmp_path)).text
    assert "Which one ends lower from the same start, alcb2 or ts?" in text
    assert "ats?" not in text


def test_a_study_without_pairs_gives_no_verdict(tmp_path):
    fakes.write_study(tmp_path, fakes.design(), lambda c: c.method == "ts")
    answer = verdict(load(tmp_path), "ts", "ats")
    assert answer.headline.startswith("It cannot be answered yet: no problem has")
    assert answer.table == ()


# ------------------------------------------------------------------ the report
def test_the_report_is_self_contained(index):
    page = Page(index)
    assert all(i["src"].startswith("data:image/svg+xml;base64,") for i in page.images)
    assert all(i["alt"] for i in page.images)
    assert "script" not in page.tags
    assert not re.search(r"url\(|@import", index.read_text(encoding="utf-8"))


def test_the_contents_point_to_every_section(index):
    page = Page(index)
    anchors = [link[1:] for link in page.links if link.startswith("#")]
    assert sorted(anchors) == sorted(page.ids)
    assert len(anchors) == 7


def test_the_report_has_all_figures(index):
    titles = {image["alt"] for image in Page(index).images}
    assert titles == {
        *(f"Convergence on {p}" for p in DESIGN.problems),
        "Ranks",
        *(f"Final values, batch {b}" for b in (1, 10)),
        *(f"ts − ats, batch {b}" for b in (1, 10)),
        "Solved targets",
        "Time to ask",
        "Extra: one",
    }


def test_every_figure_is_a_png_and_an_svg(index):
    files = sorted(p.name for p in (index.parent / "figures").iterdir())
    stems = {name.rsplit(".", 1)[0] for name in files}
    assert files == sorted(f"{s}.{kind}" for s in stems for kind in ("png", "svg"))
    assert len(stems) == len(Page(index).images)


def test_the_report_says_what_is_missing(index):
    text = Page(index).text
    assert "This is a partial study: 15 of 198 cells have no result" in text
    assert "x < 3 & y" in text
    assert "at <here>" in text
    assert "numpy 2.4.1" in text
    assert "Wycoff" in text


def test_the_answer_is_in_the_report(index, results):
    text = Page(index).text.replace("\xa0", " ")  # 55 and % stay on one line
    assert verdict(results, "ts", "ats").headline in text


def test_the_same_records_give_the_same_figure(results, tmp_path):
    chart = charts.convergence(results, "desi")
    for name in ("a", "b"):
        figures.draw_convergence(chart, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_a_complete_study_is_not_called_partial(tmp_path):
    fakes.write_study(tmp_path, fakes.design(replicates=1))
    assert tables.missing(load(tmp_path)) == ""


def test_the_lowest_median_is_marked(results):
    header, lines, best = tables.medians(results, 10)
    for i, j in best:
        values = {k: float(v.split()[0]) for k, v in enumerate(lines[i]) if k}
        assert values[j] == min(values.values())
    assert len(best) == len(lines) == 3
    assert header == ["problem", "ts", "ats", "struct"]


# ------------------------------------------------------- outside the folder
def paths_in(folder):
    return {path.relative_to(folder) for path in folder.rglob("*")}


def test_names_do_not_lead_out_of_the_report_and_are_no_formulas(tmp_path):
    names = ("../../../up", "a/b", r"$\bad{x$", str(tmp_path / "absolute"))
    folder = tmp_path / "outer" / "study"
    strange = (r"x/../../../../$\up{x$", "[/y]")
    changes = {"methods": {1: strange}, "compare": (strange,), "settings": {}}
    study = fakes.design(problems=names, replicates=2, **changes)
    fakes.write_study(folder, study)
    report(folder)
    outside = [p for p in paths_in(tmp_path) if p.parts[:2] != ("outer", "study")]
    assert outside == [folder.parent.relative_to(tmp_path)]
    drawn = list((folder / "report" / "figures").glob("convergence-*.svg"))
    assert len(drawn) == len(names)


def test_a_design_that_leads_out_of_the_folder_is_not_written(tmp_path):
    with pytest.raises(StudyError, match="file name"):
        write_design(tmp_path / "study", fakes.design(name="../../up"))
    assert paths_in(tmp_path) == set()


@pytest.mark.parametrize("link", ["report", "report/figures", "report/figures/x.svg"])
def test_a_report_is_not_written_through_a_link(tmp_path, link):
    folder, target = tmp_path / "study", tmp_path / "target"
    fakes.write_study(folder, fakes.design(replicates=2))
    target.mkdir()
    (folder / link).parent.mkdir(parents=True, exist_ok=True)
    (folder / link).symlink_to(target)
    with pytest.raises(StudyError, match="is a link to"):
        report(folder)
    assert paths_in(target) == set()


# ------------------------------------------------------------------ the export
def test_the_export_has_one_row_per_evaluation(folder, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    out = export(folder, tmp_path / "sub" / "all.parquet")
    table = duckdb.sql(f"SELECT * FROM '{out}'")
    names = "problem dim method batch replicate eval x y best"
    assert " ".join(table.columns) == f"{names} fit_cpu_s ask_cpu_s eval_s seed cell"
    got = duckdb.sql(
        f"SELECT * FROM '{out}' WHERE (problem, method, batch, replicate) = "
        "('rover', 'struct', 10, 4) ORDER BY eval"
    ).fetchall()
    record = fakes.fake_record(
        next(c for c in DESIGN.all_cells() if c.name == "rover-struct-b10-r004")
    )
    assert [row[5] for row in got] == list(range(1, 30))
    assert_array_equal([row[6] for row in got], record.x)
    assert_array_equal([row[7] for row in got], record.y)
    best = statistics.best_so_far(record.y[None], n_init=6, batch=10)[0]
    assert_array_equal([row[8] for row in got][5:], best)
    assert [row[10] for row in got][:6] == [None] * 6
    sizes = np.repeat([10, 10, 3], [10, 10, 3])
    asked = record.ask_cpu_s.repeat([10, 10, 3]) / sizes
    assert_allclose([row[10] for row in got][6:], asked, rtol=1e-15)
    assert {row[13] for row in got} == {record.cell.id}


def test_the_export_is_csv_where_the_name_says_so(folder, tmp_path):
    pytest.importorskip("duckdb")
    out = export(folder, tmp_path / "all.csv")
    with out.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    record = fakes.fake_record(
        next(c for c in DESIGN.all_cells() if c.name == "rover-struct-b10-r004")
    )
    rows = [row for row in rows if row["cell"] == record.cell.id]
    assert_array_equal([float(row["y"]) for row in rows], record.y)
    assert_array_equal([json.loads(row["x"]) for row in rows], record.x)


def test_an_export_of_unknown_kind_is_refused(folder, tmp_path):
    pytest.importorskip("duckdb")
    with pytest.raises(ArgumentError, match=r"\.parquet nor in \.csv"):
        export(folder, tmp_path / "all.xlsx")


def test_nothing_is_exported_from_a_damaged_study(tmp_path):
    pytest.importorskip("duckdb")
    fakes.write_study(tmp_path / "a", fakes.design(replicates=1))
    path = next((tmp_path / "a" / "records").iterdir())
    path.write_text(path.read_text()[:-5])
    with pytest.raises(StudyError, match="is truncated"):
        export(tmp_path / "a", tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()


# ------------------------------------------------------------------ details
@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ([0.2, 0.7], [0.2, 0.7]),
        ([0.5, 0.5], [0.55, 0.45]),
        ([0.0, 0.01, 0.9], [0.0, 0.1, 0.9]),
        ([0.97, 1.0, 0.3], [0.9, 1.0, 0.3]),
        ([0.3, 0.35, 0.44], [0.263, 0.363, 0.463]),
    ],
)
def test_labels_keep_their_distance_and_order(at, expected):
    places = spread(at, gap=0.1)
    assert_allclose(np.sort(places), np.sort(expected), atol=1e-3)
    assert_array_equal(np.argsort(places, kind="stable"), np.argsort(at, kind="stable"))


def test_unknown_methods_get_a_stable_look():
    assert look("brand-new") == look("brand-new")
    assert look("ts") != look("ats")


def test_every_method_has_a_look_of_its_own():
    own = [name for name in METHODS.names() if METHODS.get(name).look is not None]
    assert {"logei", "ts", "ats", "alcb2", "uniform", "dumbo", "qff", "max"} <= {*own}
    assert len({look(name).color for name in own}) == len(own)
    assert len({look(name).marker for name in own}) == len(own)


def test_the_look_of_a_method_is_in_its_file():
    color, marker = METHODS.get("ts").look
    assert (look("ts").color, look("ts").marker) == (color, marker)


def test_figures_call_a_method_by_its_label():
    assert label("ats") == METHODS.get("ats").label == "TS (additive)"
    assert label("botorch-logei") == "botorch-logei"
