"""The documentation: every block runs, every reference exists, nothing is left out."""

import ast
import dataclasses
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import sumbo
from pages import (
    DOCS,
    ROOT,
    blocks_of,
    commands,
    forget_modules,
    pages,
    run_page,
    shown_commands,
    unknown_options,
)
from sumbo import plots, study, testing
from sumbo.decompositions import DECOMPOSITIONS
from sumbo.kernels import KERNELS
from sumbo.methods import METHODS
from sumbo.problems import PROBLEMS

if not DOCS.exists():
    pytest.skip("the documentation is not part of this copy", allow_module_level=True)

# Pages that need more than the tests install.
NEEDS = {"integrations/botorch.md": "botorch"}
TUTORIALS = sorted((DOCS / "tutorials").glob("*.py"))
KEY = re.compile(r"\[([a-z]+\d{4}[a-z]*)\]")
EXCUSE = re.compile(r"(needs|takes) \w+ .*|a sketch.*")


def named(path):
    return path.relative_to(ROOT).as_posix()


def load(path):
    """Return a script of the documentation as a module; its main part does not run."""
    spec = importlib.util.spec_from_file_location(f"docs_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(command, folder, env):
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, check=False
    )


@contextmanager
def restored(registry) -> Iterator[None]:
    registry.names()
    before = dict(registry._items)
    try:
        yield
    finally:
        registry._items.clear()
        registry._items.update(before)


def forget_examples(path):
    """Forget what a page registers: its example may be a file of the package now."""
    for name in re.findall(
        r'(?:register|@problem)\(\s*"(\w+)"', path.read_text("utf-8")
    ):
        for registry in (METHODS, PROBLEMS, KERNELS, DECOMPOSITIONS):
            registry._items.pop(name, None)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return an empty working directory; what a page registers is forgotten after."""
    from matplotlib import pyplot as plt

    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    modules, backend = set(sys.modules), plt.get_backend()
    plt.switch_backend("Agg")
    with (
        restored(METHODS),
        restored(PROBLEMS),
        restored(KERNELS),
        restored(DECOMPOSITIONS),
    ):
        yield tmp_path
    plt.close("all")
    plt.switch_backend(backend)
    forget_modules(modules, tmp_path)


@pytest.mark.parametrize("path", pages(), ids=named)
def test_every_block_of_a_page_runs(path, folder, capsys):
    forget_examples(path)
    if path.is_relative_to(DOCS):
        needs = NEEDS.get(path.relative_to(DOCS).as_posix())
        if needs:
            pytest.importorskip(needs)
    run_page(path, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("path", TUTORIALS, ids=named)
def test_every_tutorial_runs(path, tmp_path):
    env = {**os.environ, "MPLBACKEND": "Agg", "PYTHONWARNINGS": "error::UserWarning"}
    command = [sys.executable, str(path)]
    done = run(command, tmp_path, env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_a_block_is_excused_only_for_a_reason():
    blocks = [block for path in pages() for block in blocks_of(path.read_text("utf-8"))]
    excuses = [block.excuse for block in blocks if block.excuse]
    assert all(EXCUSE.fullmatch(excuse) for excuse in excuses), excuses
    assert len(blocks) > 10 * len(excuses)


PAGE = """Text

```python
a = 1
```

<!-- not run: needs a cluster -->
```console
$ sumbo study run x.toml \\
    -o runs
printed
```

1. point

   ```toml title="x.toml"
   name = "x"
   ```
"""


def test_blocks_are_read_as_written():
    first, second, third = blocks_of(PAGE)
    assert (first.kind, first.body, first.line) == ("python", "a = 1\n", 4)
    assert second.excuse == "needs a cluster"
    assert commands(second.body) == [["sumbo", "study", "run", "x.toml", "-o", "runs"]]
    assert (third.title, third.body) == ("x.toml", 'name = "x"\n')


def test_a_failing_block_fails_its_page(tmp_path, folder, capsys):
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 1\n```\n\n```python\nassert x == 2\n```\n")
    with pytest.raises(AssertionError):
        run_page(page, capsys)
    page.write_text('```python\nprint(3)\n```\n\n```text title="output"\n4\n```\n')
    with pytest.raises(AssertionError):
        run_page(page, capsys)
    page.write_text("```console\n$ sumbo methods nosuchmethod\n```\n")
    with pytest.raises(AssertionError, match="nosuchmethod"):
        run_page(page, capsys)


def test_every_option_that_a_page_shows_exists():
    shown = [(p, c) for p in pages() for c in shown_commands(p.read_text("utf-8"))]
    assert len(shown) > 10
    for path, words in shown:
        assert not unknown_options(words), f"{named(path)}: {words}"
    assert unknown_options(["sumbo", "study", "run", "x", "-o", "y", "--fast"]) == [
        "--fast"
    ]


# ---------------------------------------------------------------- completeness


def cited_by(path):
    text = path.read_text("utf-8")
    if path.suffix == ".py":
        tree = ast.parse(text)
        kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
        nodes = [node for node in ast.walk(tree) if isinstance(node, kinds)]
        comments = re.findall(r"#.*", text)
        text = "\n".join([*(ast.get_docstring(n) or "" for n in nodes), *comments])
    return {(key, named(path)) for key in KEY.findall(text)}


def test_every_citation_has_an_entry_in_the_bibliography():
    files = [*(ROOT / "src").rglob("*.py"), *DOCS.rglob("*.md")]
    cited = set().union(*(cited_by(path) for path in files))
    assert len(cited) > 30
    for key, where in sorted(cited):
        try:
            testing.check_citation(key, ROOT / "references.bib")
        except AssertionError as error:
            pytest.fail(f"{where}: {error}")


def test_every_page_is_in_the_nav():
    nav = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
    listed = set(re.findall(r"([\w/-]+\.md)", nav))
    there = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert there <= listed


def test_every_public_name_is_in_the_reference():
    text = "\n".join(p.read_text("utf-8") for p in (DOCS / "reference").glob("*.md"))
    for module in (sumbo, plots, study, testing, sumbo.methods, sumbo.problems):
        for name in module.__all__:
            assert name.isupper() or re.search(rf"\b{name}\b", text), name


def test_every_method_is_described():
    # One row each, from the class: a new method needs no edit of the page. What is
    # written by hand is about methods that exist.
    text = (DOCS / "methods" / "index.md").read_text("utf-8")
    assert "<!-- table: methods -->" in text
    rows = load(DOCS / "make_tables.py").methods_table(list(METHODS.names()))
    for name, row in zip(METHODS.names(), rows[2:], strict=True):
        assert re.fullmatch(rf"\| `{name}` \| \S.{{15,}} \| \w+ \|", row), row
    written = {path.stem for path in (DOCS / "methods").glob("*.md")} - {"index"}
    written |= set(re.findall(r"^## ([a-z]\w*)$", text, flags=re.MULTILINE))
    assert written <= set(METHODS.names())
    assert len(written) >= 9


def test_every_figure_is_generated_and_shown():
    script = load(DOCS / "make_figures.py")
    made = set(script.FIGURES)
    small = {path.name for path in (DOCS / "figures" / "thumbs").glob("*.*")}
    assert small == made == set(script.THUMBS)
    made.add(load(DOCS / "make_bilateral.py").OUT.name)
    there = {path.name for path in (DOCS / "figures").glob("*.*")}
    text = "\n".join(path.read_text("utf-8") for path in pages())
    assert there == made
    assert {name for name in made if f"figures/{name}" in text} == made
    assert {name for name in small if f"figures/thumbs/{name}" in text} == small


def test_generated_tables_are_up_to_date():
    tables = load(DOCS / "make_tables.py")
    for page in tables.PAGES:
        text = page.read_text("utf-8")
        assert tables.BLOCK.search(text), page
        assert tables.updated(text) == text, "run docs/make_tables.py"


def test_every_setting_of_a_method_or_decomposition_is_described():
    described = load(DOCS / "make_tables.py").described
    for registry in (METHODS, DECOMPOSITIONS):
        for name in registry.names():
            cls = registry.get(name)
            if cls.__module__.startswith("sumbo."):
                known = {field.name for field in dataclasses.fields(cls)}
                assert known <= set(described(cls)), name


def test_the_nav_loses_only_what_is_missing():
    pytest.importorskip("mkdocs")
    present = load(DOCS / "hooks.py").present
    nav = [{"A": "start.md"}, {"B": "no-such.md"}, {"C": ["index.md", "no.md"]}]
    assert present([*nav, {"D": [{"E": "no.md"}]}]) == [
        {"A": "start.md"},
        {"C": ["index.md"]},
    ]


# ---------------------------------------------------------------- the site


@pytest.mark.slow
def test_the_site_builds_strictly_and_fetches_nothing(tmp_path):
    pytest.importorskip("mkdocstrings_handlers.python")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(tmp_path)]
    done = run(command, ROOT, dict(os.environ))
    assert done.returncode == 0, done.stderr
    assert "WARNING -" not in done.stderr
    loads = re.compile(
        r'<(?:script|img|iframe)[^>]*\ssrc="?(?:https?:)?//'
        r'|<link[^>]*rel="?(?:stylesheet|preconnect|preload)[^>]*href="?(?:https?:)?//'
    )
    html = {path: path.read_text("utf-8") for path in tmp_path.rglob("*.html")}
    assert len(html) > 25
    for path, text in html.items():
        assert not loads.search(text), path
    for path in tmp_path.rglob("*.css"):
        text = path.read_text("utf-8")
        assert not re.search(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", text), path
    written = "\n".join(html.values())
    for module in (sumbo, plots, study):  # a name that is also a module is easily lost
        for name in set(module.__all__) - {
            "decompositions",
            "methods",
            "plots",
            "problems",
        }:
            assert re.search(rf'id="?sumbo\.[\w.]*\b{name}"?[ >]', written), name


@pytest.mark.slow
def test_every_figure_can_be_made_again(tmp_path, monkeypatch):
    module = load(DOCS / "make_figures.py")
    monkeypatch.setattr(module, "OUT", tmp_path)
    for name in module.FIGURES:
        module.make(name)
    assert {path.name for path in tmp_path.glob("*.png")} == set(module.FIGURES)
    small = {path.name for path in tmp_path.glob("thumbs/*.png")}
    assert small == set(module.THUMBS)


# ---------------------------------------------------------------- workflows


# What a runner does without make: Windows has none, and system packages come before.
WITHOUT_MAKE = {
    'python -m pip install --upgrade "pip>=25.1"',
    'python -m pip install -e ".[plots,study,optuna,sklearn]" --group test',
    'python -m pytest -n 2 -m "not slow and not statistical" --ignore tests/docs',
    "sudo apt-get update && sudo apt-get install -y postgresql",
}


def test_workflows_only_call_the_makefile():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    files = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    assert files
    for path in files:
        runs = re.findall(r"^\s*(?:- )?run: (.*)$", path.read_text("utf-8"), re.M)
        assert runs, path
        for run in set(runs) - WITHOUT_MAKE:
            words = run.split()
            assert words[0] == "make", f"{path.name}: {run}"
            assert set(words[1:]) <= targets, f"{path.name}: no target for {run}"


def test_the_script_that_a_page_wrote_is_forgotten(folder):
    before = set(sys.modules)
    (Path.cwd() / "written.py").write_text("x = 1\n")
    importlib.import_module("written")
    forget_modules(before, folder)
    assert "written" not in sys.modules


def links(path):
    """Return the pages that a page links to in its text."""
    text = re.sub("```.*?```", "", path.read_text("utf-8"), flags=re.DOTALL)
    targets = re.findall(r"\]\(([^)#\s]+\.md)(?:#[^)]*)?\)", text)
    return {(path.parent / target).resolve() for target in targets}


def test_every_guide_and_result_is_two_clicks_from_home():
    first = links(DOCS / "index.md")
    near = first.union(*(links(page) for page in first))
    rooms = ("guide", "integrations", "results", "extend", "tutorials")
    wanted = {p.resolve() for room in rooms for p in (DOCS / room).rglob("*.md")}
    assert wanted - near == set()
    assert len(wanted) > 25


def test_every_first_question_has_an_answer_that_links_to_a_page():
    text = (DOCS / "faq.md").read_text("utf-8")
    questions = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert len(questions) >= 10
    for question in questions:
        heading, _, answer = question.partition("\n")
        assert heading.endswith("?")
        assert re.search(r"\]\([^)]+\.md|\[\w+\d{4}\]", answer), heading


def test_a_line_may_begin_with_a_formula():
    pytest.importorskip("latex2mathml")
    typeset = load(DOCS / "hooks.py").typeset
    text = typeset("<!-- formulas -->\n\n$f(x)$ has a distribution.\n\n$$ a + b $$\n")
    _, inline, displayed = (line for line in text.split("\n") if line)
    assert inline.startswith("<span><math")
    assert inline.endswith("</span> has a distribution.")
    assert displayed.startswith("<math")
    with pytest.raises(ValueError, match="cannot be shown"):
        typeset(r"<!-- formulas --> $\arg f$")
