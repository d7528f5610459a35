"""Reports as files: from results, from checkpoints, and while a run goes on."""

import shutil

import pytest
from typer.testing import CliRunner

import sumbo
from sumbo import Feasible, Optimizer
from sumbo.cli import app
from sumbo.errors import ArgumentError, SumboError
from sumbo.report import files, write_report

BOX = [(0.2, 1.7), (-2.1, 0.9)]


def saved(path, n=3, **settings):
    opt = Optimizer(BOX, seed=8, **settings)
    X = opt.ask(n)
    for x in X:
        opt.tell(x, float(x[0] - x[1]))
    opt.save(path)
    return opt


def disc(x):
    return bool(x[0] + x[1] < 2.5)


def test_a_result_writes_its_report(tmp_path):
    result = sumbo.minimize(
        lambda x: float(x[0] - x[1]), BOX, budget=4, seed=1, method="uniform"
    )
    path = result.report(tmp_path / "report.html", title="A & B")
    assert path == tmp_path / "report.html"
    text = path.read_text("utf-8")
    assert "A &amp; B" in text
    assert "Budget used." in text
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(SumboError, match=r"is no result and no Optimizer"):
        write_report([1, 2], tmp_path / "x.html")
    opt = Optimizer(BOX, seed=8)
    with pytest.raises(ArgumentError, match=r"cannot be written"):
        opt.report(tmp_path / "none" / "x.html")


def test_a_name_that_no_file_encoding_holds_is_written(tmp_path):
    opt = Optimizer({"bad \ud800 name": (0.2, 0.9)}, seed=1)
    assert "bad ? name" in opt.report(tmp_path / "x.html").read_text("utf-8")


def test_functions_that_no_file_holds_are_taken_as_met(tmp_path):
    saved(tmp_path / "run.npz", constraints=[Feasible(disc)])
    text = files.report_file(tmp_path / "run.npz", tmp_path / "x.html").read_text()
    assert "(disc), which no file holds" in text
    assert 'id="next"' not in text


def test_the_command_writes_a_page(tmp_path):
    saved(tmp_path / "run.npz")
    run = CliRunner().invoke(app, ["report", str(tmp_path / "run.npz")])
    assert run.exit_code == 0, run.output
    assert "3 evaluations" in (tmp_path / "run.html").read_text("utf-8")
    out = tmp_path / "other.html"
    words = [
        "report",
        str(tmp_path / "run.npz"),
        "--out",
        str(out),
        "--title",
        "Week 3",
    ]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert "Week 3" in out.read_text("utf-8")


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "does not exist"), (b"", "is empty"), (b"PK\x03\x04junk", "damaged")],
)
def test_the_command_refuses_what_is_no_run(tmp_path, content, said):
    path = tmp_path / "run.npz"
    if content is not None:
        path.write_bytes(content)
    run = CliRunner().invoke(app, ["report", str(path), "--out", str(tmp_path / "o")])
    assert run.exit_code != 0
    assert said in str(run.exception)
    assert not (tmp_path / "o").exists()


def test_the_command_does_not_overwrite_the_run(tmp_path):
    path = tmp_path / "run.npz"
    saved(path)
    run = CliRunner().invoke(app, ["report", str(path), "--out", str(path)])
    assert "is the run itself" in str(run.exception)


def test_a_watched_file_may_be_missing_half_written_and_replaced(tmp_path):
    path, out = tmp_path / "run.npz", tmp_path / "live.html"
    saved(tmp_path / "a", 2)
    saved(tmp_path / "b", 3)
    whole = (tmp_path / "b").read_bytes()
    said, pages = [], []

    def next_scene(seconds):
        # Called after every look; what the next look will find.
        assert seconds >= files.LOOK
        pages.append(out.read_text("utf-8") if out.exists() else "")
        scene = len(pages)
        if scene == 1:
            shutil.copy(tmp_path / "a", path)
        elif scene == 2:
            path.write_bytes(whole[: len(whole) // 2])
        elif scene == 4:
            path.unlink()
        elif scene == 5:
            (tmp_path / "b").replace(path)
        elif scene == 7:
            raise KeyboardInterrupt

    files.watch(path, out, said=said.append, pause=next_scene)
    counts = ["" if not p else "2" if "2 evaluations" in p else "3" for p in pages]
    assert counts == ["", "2", "2", "2", "2", "3", "3"]
    assert '<span class="live">' in pages[-1]
    assert '<span class="live">' not in out.read_text("utf-8")
    assert [line.partition(" ")[0] for line in said] == [
        *("waiting:", "wrote", "waiting:", "waiting:", "wrote")
    ]


def test_a_page_is_written_again_only_when_the_run_goes_on(tmp_path, monkeypatch):
    path, out = tmp_path / "run.npz", tmp_path / "live.html"
    saved(path)
    said = []
    files.watch(path, out, said=said.append, looks=4, pause=lambda seconds: None)
    assert said == [f"wrote {out}"]
