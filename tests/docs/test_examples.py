"""The examples in docstrings: public names have one, and every one runs."""

import doctest
import importlib
import inspect
from pathlib import Path

import pytest

import sumbo

# What is taken by subclasses and decorators, whose pages have whole files as examples.
EXTENDED = {"Method", "Info", "Decomposition", "Proposal", "Weighted", "Explicit"}
EXTENDED |= {"METHODS", "DECOMPOSITIONS", "PROBLEMS", "Problem", "ProblemInfo"}
EXTENDED |= {"problem", "require_settings"}
# What users call every day, of classes and integrations.
EVERYDAY = {
    "Optimizer": ("ask", "tell", "choose", "save", "best_in", "recommend", "predict"),
    "AdditiveGP": ("fit", "condition"),
    "Posterior": ("predict", "sample", "sample_sum", "sample_path", "minimum"),
    "Space": ("as_dict", "constrained"),
}
BRIDGES = {
    "optuna": ("SumboSampler", "to_optuna_study"),
    "shared": ("minimize_shared",),
}


def public():
    """Return the names that users call, with what they are."""
    found = {n: getattr(sumbo, n) for n in sumbo.__all__}
    for name, module in list(found.items()):
        if inspect.ismodule(module):
            del found[name]
            own = {f"{name}.{n}": getattr(module, n) for n in module.__all__}
            found |= {n: o for n, o in own.items() if n.split(".")[1] not in EXTENDED}
    return found


def modules():
    """Return the names of the modules with examples, which are not imported here."""
    root = Path(sumbo.__file__).parent
    for path in sorted(root.rglob("*.py")):
        if ">>> " in path.read_text("utf-8"):
            parts = path.relative_to(root.parent).with_suffix("").parts
            yield ".".join(parts).removesuffix(".__init__")


@pytest.mark.parametrize("name", sorted(public()))
def test_a_public_name_has_an_example(name):
    said = inspect.getdoc(public()[name]) or ""
    section = said.partition("\nExamples:\n")[2]
    assert section.lstrip().startswith(">>> ")


def has_example(what):
    return "\nExamples:\n" in (inspect.getdoc(what) or "")


def test_everyday_methods_have_an_example():
    for name, methods in EVERYDAY.items():
        for method in methods:
            assert has_example(getattr(getattr(sumbo, name), method)), (name, method)


@pytest.mark.parametrize("tool", BRIDGES)
def test_a_bridge_has_an_example(tool):
    module = loaded(f"sumbo.integrations.{tool}")
    for name in BRIDGES[tool]:
        assert has_example(getattr(module, name)), name


def loaded(name):
    """Return a module; skip where its extra is not installed."""
    try:
        return importlib.import_module(name)
    except sumbo.errors.MissingExtraError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", list(modules()))
def test_the_examples_of_a_module_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write a picture or a run
    found = doctest.testmod(loaded(name), report=True)
    assert found.attempted > 0
    assert found.failed == 0
