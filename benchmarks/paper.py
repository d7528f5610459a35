"""CPU time of a run at the paper's settings, against the code before it was cut.

    python -m benchmarks paper

A run has 20 uniform points and 100 acquisitions, one at a time, with `preset="paper"`.
The contestants are this source tree and a revision of the repository, each in a process
of its own, in turns. Counted is the CPU time of all asks and tells. A suite of an hour.
"""

import io
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
BEFORE = "f548273"
PROBLEMS = ("ackley10", "levy5")
METHODS = ("ts", "ats", "alcb2", "dumbo", "max")
ROUNDS = 3

# Both revisions understand it.
SCRIPT = """
import sys, time
from sumbo import Optimizer, problems
from sumbo.rng import rng_at
method, name, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
problem = problems.get(name, seed=seed)
X = rng_at(seed, "benchmark paper").random((20, problem.dim))
X = problem.bounds[:, 0] + X * (problem.bounds[:, 1] - problem.bounds[:, 0])
opt = Optimizer(problem.bounds, method=method, seed=seed, n_init=20, preset="paper")
begin = time.process_time()
opt.tell(X, problem(X))
for _ in range(100):
    x = opt.ask()
    opt.tell(x, problem(x))
print(time.process_time() - begin)
"""


def seconds(source: Path, method: str, problem: str, seed: int) -> float:
    """Return the CPU seconds of one run with the package in ``source``."""
    env = {**os.environ, "PYTHONPATH": str(source)}
    env |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", SCRIPT, method, problem, str(seed)]
    done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
    return float(done.stdout)


def unpack(revision: str, folder: Path) -> Path:
    """Return the source folder of a revision, written into ``folder``.

    Raises:
        SystemExit: If this is no clone that holds the revision.
    """
    command = ["git", "-C", str(ROOT), "archive", revision, "src"]
    done = subprocess.run(command, check=False, capture_output=True)
    if done.returncode:
        raise SystemExit(f"the paper suite needs a clone with {revision}.")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


def rows() -> Iterator[tuple[str, str, float, str, str]]:
    """Yield the time of a run now over that before, the medians of all rounds."""
    with tempfile.TemporaryDirectory() as folder:
        sources = {"before": unpack(BEFORE, Path(folder)), "now": ROOT / "src"}
        for problem in PROBLEMS:
            for method in METHODS:
                spent = {name: [] for name in sources}
                for seed in range(ROUNDS):
                    for name, source in sources.items():
                        spent[name].append(seconds(source, method, problem, seed))
                now, before = median(spent["now"]), median(spent["before"])
                what = f"{method} at the paper's settings, 100 asks on {problem}"
                rival = f"revision {BEFORE}"
                yield what, rival, now / before, "≤ 0.5", f"{now:.1f} s"
