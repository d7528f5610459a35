"""What is imported before anything is asked for: little, so that help comes at once."""

import inspect
import subprocess
import sys

import pytest

import sumbo
from sumbo.cli.app import COMMANDS, command

SLOW = {"numpy", "scipy", "jaxtyping", "matplotlib", "rich", "typer", "tqdm", "pandas"}


def imported(code):
    """Return the top-level packages that are loaded after the code has run."""
    show = "print('\\n', *{name.partition('.')[0] for name in sys.modules})"
    run = [sys.executable, "-c", f"import sys\n{code}\n{show}"]
    done = subprocess.run(run, check=True, capture_output=True, text=True)
    return set(done.stdout.splitlines()[-1].split())


def test_importing_sumbo_imports_no_slow_package():
    found = imported("import sumbo")
    assert "sumbo" in found
    assert not SLOW & found


def test_help_needs_typer_and_rich_only():
    code = "from sumbo.cli import app\napp(['--help'], standalone_mode=False)"
    assert SLOW & imported(code) == {"typer", "rich"}


def test_minimize_imports_neither_statistics_nor_pictures():
    show = "import sumbo\nsumbo.minimize\n"
    show += "assert not {'scipy.stats', 'matplotlib', 'rich'} & set(sys.modules)"
    imported(show)


@pytest.mark.parametrize("name", sumbo.__all__)
def test_every_public_name_is_found_on_first_use(name):
    code = f"import sumbo\nassert sumbo.{name} is not None\nfrom sumbo import {name}"
    assert name in dir(sumbo)
    if name in ("minimize", "Real", "decompositions"):  # one of each home
        imported(code)
    assert getattr(sumbo, name).__doc__


def test_a_name_that_is_no_module_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'sumbo' has no attribute 'minimise'"):
        _ = sumbo.minimise
    assert not hasattr(sumbo, "__wrapped__")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_page_says_what_the_commands_say(name):
    first = inspect.cleandoc(command(name).help).splitlines()[0]
    assert COMMANDS[name][1] == first
