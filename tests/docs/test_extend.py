"""The pages on extending sumbo: their first example is a file that can be committed."""

import subprocess
import sys

import pytest

from pages import DOCS, ROOT, blocks_of

if not DOCS.exists():
    pytest.skip("the documentation is not part of this copy", allow_module_level=True)

# The file as which the first example of a page is saved.
FILES = {
    "CONTRIBUTING.md": "src/sumbo/methods/mine.py",
    "docs/extend/method.md": "src/sumbo/methods/nearby.py",
    "docs/extend/problem.md": "src/sumbo/problems/beam.py",
    "docs/extend/kernel.md": "src/sumbo/kernels/rq2.py",
    "docs/extend/decomposition.md": "src/sumbo/decompositions/neighbours.py",
}


def ruff(command, name, text):
    return subprocess.run(
        [sys.executable, "-m", "ruff", *command, "--stdin-filename", name, "-"],
        input=text,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("page", "name"), FILES.items(), ids=FILES)
def test_the_first_example_of_a_page_passes_the_linter_as_a_file(page, name):
    pytest.importorskip("ruff")
    blocks = blocks_of((ROOT / page).read_text("utf-8"))
    example = next(block.body for block in blocks if block.kind == "python")
    checked = ruff(["check"], name, example)
    assert checked.returncode == 0, checked.stdout
    formatted = ruff(["format", "--check"], name, example)
    assert formatted.returncode == 0, formatted.stderr


def test_the_linter_would_report_an_example_without_a_docstring():
    pytest.importorskip("ruff")
    checked = ruff(["check"], "src/sumbo/methods/nearby.py", "WIDTH = 0.1\n")
    assert checked.returncode == 1
