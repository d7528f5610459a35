"""The problem of studies/hsc-synthetic.toml: hsc-y3-shear, with made-up data.

SUMBO_DATA names a folder with hsc_y3_synthetic.sacc.gz, a SACC file of the survey's
form with made-up values and covariance, and with the survey's two files on the point
spread function under their own names.
"""

import gzip
import os
import tempfile
from pathlib import Path

from sumbo.errors import ProblemError
from sumbo.problems import Problem, get, info
from sumbo.problems.base import problem

NAME = "hsc-y3-shear-synthetic"
FILE = "hsc_y3_synthetic.sacc.gz"
REAL = info("hsc-y3-shear")


@problem(
    NAME,
    dim=REAL.dim,
    cost=REAL.cost,
    needs=REAL.needs,
    modules=REAL.modules,
    description=f"{REAL.description}, on synthetic data",
    cite=REAL.cite,
    listed=False,
)
def hsc_synthetic() -> Problem:
    """Return the problem with the synthetic data.

    Raises:
        ProblemError: If the folder has no such file.
    """
    packed = Path(os.environ.get("SUMBO_DATA", "")) / FILE
    if not packed.is_file():
        msg = f"{packed} does not exist. Set SUMBO_DATA to the folder that holds it."
        raise ProblemError(msg)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / FILE.removesuffix(".gz")
        path.write_bytes(gzip.decompress(packed.read_bytes()))
        return get("hsc-y3-shear", path=str(path))
