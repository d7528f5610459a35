"""CPU time of asks at the paper's settings, against the code before it was cut.

    python -m benchmarks paper

Ten asks in a row, a refit first, given 20 and given 100 observations: the first and the
last such cycle of a run with `preset="paper"`. The contestants are this source tree and
an older revision of the repository, each in a process of its own, in turns. Counted is
the CPU time of all asks and tells, for both cycles together.
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
PROBLEMS = ("ackley10", "push")
METHODS = ("ts", "ats", "alcb2", "dumbo", "max", "struct")
ROUNDS = 2

# Both revisions understand it.
SCRIPT = """
import sys, time
from sumbo import Optimizer, problems
from sumbo.rng import rng_at
method, name, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
problem = problems.get(name, seed=seed)
low, high = problem.bounds.T
begin = time.process_time()
for N in (20, 100):
    X = low + (high - low) * rng_at(seed, "benchmark paper", N).random((N, len(low)))
    opt = Optimizer(problem.bounds, method=method, seed=seed, preset="paper")
    opt.tell(X, problem(X))
    for _ in range(10):
        x = opt.ask()
        opt.tell(x, problem(x))
print(time.process_time() - begin)
"""


def seconds(source: Path, method: str, problem: str, seed: int) -> float:
    """Return the CPU seconds of both cycles with the package in ``source``."""
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
    """Yield the time now over that before, the medians of all rounds."""
    with tempfile.TemporaryDirectory() as folder:
        sources = {"before": unpack(BEFORE, Path(folder)), "now": ROOT / "src"}
        for problem in PROBLEMS:
            for method in METHODS:
                spent = {name: [] for name in sources}
                for seed in range(ROUNDS):
                    for name, source in sources.items():
                        spent[name].append(seconds(source, method, problem, seed))
                now, before = median(spent["now"]), median(spent["before"])
                what = f"{method} at the paper's settings, twenty asks, {problem}"
                rival = f"revision {BEFORE}"
                yield what, rival, now / before, "≤ 0.5", f"{now:.1f} s"
