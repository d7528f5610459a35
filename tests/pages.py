"""Pages of the documentation as tests see them: blocks, and how a page is run."""

import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.main import get_command
from typer.testing import CliRunner

from sumbo.cli import app
from sumbo.cli.app import command as imported

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

# A block, with the comment that excuses it from running, if there is one.
BLOCK = re.compile(
    r"(?:^ *<!-- not run: (?P<excuse>[^\n]*?) -->\n+)?"
    r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, kw_only=True)
class Block:
    """A fenced block of a page."""

    kind: str  # the language
    title: str  # a name of a file, or ""
    body: str
    line: int
    excuse: str  # why it is not run; "" if it is


def blocks_of(text: str) -> list[Block]:
    out = []
    for found in BLOCK.finditer(text):
        kind, _, options = found["info"].strip().partition(" ")
        title = re.search(r'title="([^"]*)"', options)
        lines = found["body"].splitlines(keepends=True)
        width = len(found["indent"])
        out.append(
            Block(
                kind=kind,
                title=title[1] if title else "",
                body="".join(line[width:] or "\n" for line in lines),
                line=text.count("\n", 0, found.start("info")) + 2,
                excuse=found["excuse"] or "",
            )
        )
    return out


def pages() -> list[Path]:
    """Return every page whose blocks are promised to run."""
    return sorted(
        [*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"],
        key=lambda path: path.relative_to(ROOT),
    )


def run_page(path: Path, capture: Any) -> None:
    """Run the blocks of a page in order, in the working directory, as a reader would.

    A block with a title is a file; Python blocks share one namespace; of console
    blocks the lines ``$ sumbo …`` are run. A block titled "output" is what the
    Python block before it printed.
    """
    namespace: dict[str, Any] = {"__name__": "page"}
    printed = ""
    for block in blocks_of(path.read_text("utf-8")):
        if block.title == "output":
            assert printed.split() == block.body.split(), f"{path.name}:{block.line}"
        elif block.excuse or "--8<--" in block.body:  # tutorials run on their own
            continue
        elif block.title:
            Path(block.title).write_text(block.body, encoding="utf-8")
        elif block.kind == "python":
            # Padded, so that a traceback names the line of the page.
            source = "\n" * (block.line - 1) + block.body
            capture.readouterr()
            exec(compile(source, str(path), "exec"), namespace)
            printed = capture.readouterr().out
        elif block.kind == "console":
            run_console(block, path)


def run_console(block: Block, path: Path) -> None:
    for words in commands(block.body):
        if words[0] == "sumbo":
            result = CliRunner().invoke(app, words[1:])
            if result.exit_code:
                said = f"{result.output}\n{result.exception!r}"
                raise AssertionError(f"{path.name}: {shlex.join(words)}\n{said}")
        elif words[0] not in {"pip", "make", "cd", "git", "dask"}:
            raise AssertionError(f"{path.name}: {words[0]} is not known to the tests")


def commands(body: str) -> list[list[str]]:
    """Return the commands of a console block, as words; ``\\`` continues a line."""
    joined = body.replace("\\\n", " ")
    lines = [line[2:] for line in joined.splitlines() if line.startswith("$ ")]
    return [shlex.split(line, comments=True) for line in lines]


def shown_commands(text: str) -> list[list[str]]:
    """Return every ``sumbo`` command of a page's console blocks, run or not."""
    bodies = [block.body for block in blocks_of(text) if block.kind == "console"]
    lines = "\n".join(bodies).replace("\\\n", " ").splitlines()
    words = [shlex.split(line.removeprefix("$ "), comments=True) for line in lines]
    return [command for command in words if command and command[0] == "sumbo"]


def unknown_options(words: list[str]) -> list[str]:
    """Return the options of a ``sumbo`` command that it does not have."""
    command: Any = get_command(app)
    rest = words[1:]
    while rest and rest[0] in getattr(command, "commands", {}):
        # Commands of the top level are imported when they are called.
        command = command.commands[rest[0]]
        if len(words) - len(rest) == 1:
            command = imported(rest[0])
        rest = rest[1:]
    known = {name for p in command.params for name in (*p.opts, *p.secondary_opts)}
    given = {word.partition("=")[0] for word in rest if word.startswith("-")}
    return sorted(given - known - {"-h", "--help", "-"})


def forget_modules(before: set[str], folder: Path) -> None:
    """Forget the modules that a page wrote and imported."""
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None)
        if file and Path(file).is_relative_to(folder):
            del sys.modules[name]
