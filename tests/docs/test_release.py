"""What is released works where nothing else is: wheels in empty environments."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

import sumbo

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

SMOKE = """
import sumbo
from pathlib import Path

result = sumbo.minimize(
    lambda x: (x[0] - 0.31) ** 2 + abs(x[1] - 0.72) + x[2] * x[0],
    [(0, 1.3), (-0.4, 1), (0.1, 0.9)],
    budget=14, n_init=8, batch=3, seed=5, checkpoint="run.npz",
)
assert result.success and result.nfev == 14, result
assert sumbo.Optimizer.load("run.npz").best[1] == result.fun
assert sumbo.problems.get("levy5", seed=1).minimum == 0.0
assert Path(sumbo.__file__).with_name("py.typed").exists()
print(sumbo.__version__, sumbo.__file__)
"""

# What each extra adds, in a line or two that fail without it.
EXTRAS = {
    "plots": """
import matplotlib; matplotlib.use("Agg")
from sumbo import plots, problems
plots.problem(problems.get("ackley2", seed=1)).figure.savefig("ackley2.png")
""",
    "games": """
from sumbo import problems
p = problems.get("push")
assert p(p.bounds.mean(axis=1)) < 100
q = problems.get("lunar", seeds=(3,), steps=30)
assert q(q.bounds.mean(axis=1)) < 1000
""",
    "cosmology": """
from sumbo import problems
p = problems.get("desi")
assert p(p.bounds.mean(axis=1)) < 1e6
""",
    "study": """
from pathlib import Path
from sumbo import study
Path("mine.toml").write_text('''
name = "mine"
seed = 3
replicates = 2
n_init = 4
acquisitions = 3
preset = "default"
problems = ["levy2"]
[methods]
1 = ["ts", "ats"]
''')
if __name__ == "__main__":
    done = study.run(study.load_design("mine.toml"), "runs", jobs=1, progress=False)
    assert done.failed == 0 and done.done == 4, done
    assert study.report("runs").stat().st_size > 10_000
    study.export("runs", "runs.parquet")
""",
    "cluster": """
import sumbo
from distributed import Client
if __name__ == "__main__":
    with Client(processes=False, n_workers=1, dashboard_address=None) as client:
        r = sumbo.minimize(lambda x: x @ x, [(-1, 2)] * 2, budget=6, n_init=4,
                           workers=client)
    assert r.nfev == 6
""",
    "pandas": """
import sumbo
r = sumbo.minimize(lambda x: x @ x, [(-1, 2)] * 2, budget=6, n_init=4, seed=1)
assert r.to_frame()["value"].min() == r.fun
""",
    "optuna": """
import optuna
from sumbo.integrations.optuna import SumboSampler
study = optuna.create_study(sampler=SumboSampler(seed=1, n_startup_trials=4))
study.optimize(lambda trial: trial.suggest_float("a", -1.3, 2.1) ** 2, n_trials=6)
assert len(study.trials) == 6
""",
    "sklearn": """
import numpy as np
from sumbo.integrations.sklearn import AdditiveGPRegressor
X = np.random.default_rng(1).random((15, 2))
assert AdditiveGPRegressor().fit(X, X[:, 0] - X[:, 1] ** 2).predict(X).shape == (15,)
""",
}
# Tested by a target of its own, which brings a gigabyte of libraries.
ELSEWHERE = {"botorch", "suites"}


@dataclass(frozen=True, kw_only=True)
class Environment:
    """A virtual environment, and a folder to work in."""

    folder: Path

    def run(self, *words):
        # Nothing of the checkout, and none of the variables of this test run.
        env = {
            k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "COV"))
        }
        done = subprocess.run(
            [str(self.folder / "bin" / words[0]), *words[1:]],
            cwd=self.folder,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def install(self, *what):
        self.run("python", "-m", "pip", "install", "--quiet", *what)

    def script(self, text):
        (self.folder / "script.py").write_text(text, encoding="utf-8")
        return self.run("python", "-W", "error::DeprecationWarning:sumbo", "script.py")

    def packages(self):
        listed = self.run("python", "-m", "pip", "list", "--format=freeze")
        return {line.partition("==")[0].lower() for line in listed.split()}


@pytest.fixture
def empty(tmp_path):
    """Return an environment with nothing in it."""
    return environment(tmp_path / "venv")


def environment(folder):
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    return Environment(folder=folder)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return the sdist, and the wheel that was made from it."""
    folder = tmp_path_factory.mktemp("release")
    tool = environment(folder / "venv")
    tool.install("build")
    out = folder / "dist"
    # Without a choice, build makes the wheel from the unpacked sdist: both are tested.
    tool.run("python", "-m", "build", "--outdir", str(out), str(ROOT))
    [sdist], [wheel] = out.glob("*.tar.gz"), out.glob("*.whl")
    return sdist, wheel


def test_version_is_the_same_everywhere():
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.findall(r"^## (\S+)", changes, re.M)[0] == sumbo.__version__
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    version = re.search(r'^version: "?([^"\n]+)', citation, re.M)
    assert version is None or version[1] == sumbo.__version__
    assert PROJECT["dynamic"] == ["version", "readme"]


def test_every_extra_is_tested():
    assert set(PROJECT["optional-dependencies"]) - ELSEWHERE == set(EXTRAS)


@pytest.mark.slow
def test_files_of_the_release_are_complete(built):
    sdist, wheel = built
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
    source = ROOT / "src"
    there = {
        path.relative_to(source).as_posix()
        for path in (source / "sumbo").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert there <= packed
    assert "sumbo/study/designs/paper.toml" in packed
    assert not [name for name in packed if name.startswith("tests")]
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "references.bib"} <= names
    assert {"tests/docs/test_release.py", "studies/paper.toml"} <= names


@pytest.mark.slow
def test_the_description_links_to_the_repository_only(built):
    with zipfile.ZipFile(built[1]) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        text = archive.read(name).decode("utf-8")
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 20
    assert all(link.startswith(("https://", "#")) for link in links), links
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+\.png)\)", text)
    assert pictures
    assert all(link.startswith("https://raw.") for link in pictures), pictures


@pytest.mark.slow
def test_wheel_works_without_extras(built, empty):
    empty.install(str(built[1]))
    empty.run("python", "-m", "pip", "check")
    assert not empty.packages() & {"matplotlib", "joblib", "optuna", "scikit-learn"}
    version, file = empty.script(SMOKE).split()
    assert version == sumbo.__version__
    assert Path(file).is_relative_to(empty.folder)
    assert empty.run("sumbo", "--version").strip() == f"sumbo {version}"
    assert "Usage" in empty.run("sumbo", "demo", "--help")
    assert "levy10" in empty.run("sumbo", "problems")
    assert "sumbo[plots]" in empty.script(
        "from sumbo import errors, plots\n"
        "try:\n    plots.convergence([2.0, 1.0])\n"
        "except errors.MissingExtraError as error:\n    print(error)\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize("extra", EXTRAS)
def test_wheel_works_with_an_extra(extra, built, empty):
    empty.install(f"{built[1]}[{extra}]")
    empty.run("python", "-m", "pip", "check")
    empty.script(EXTRAS[extra])


@pytest.mark.slow
def test_wheel_works_with_the_oldest_dependencies(built, empty):
    oldest = [need.replace(">=", "==") for need in PROJECT["dependencies"]]
    assert all(need.count("==") == 1 for need in oldest)
    empty.install(str(built[1]), *oldest)
    assert empty.script(SMOKE).startswith(sumbo.__version__)
    assert "levy10" in empty.run("sumbo", "problems")
    assert "--command" in empty.run("sumbo", "minimize", "--help")
