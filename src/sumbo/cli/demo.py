"""``sumbo demo``: one run on a simulator, then a small study."""

import os
import sys
import time
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

import sumbo
from sumbo import plots, study
from sumbo.cli import kiln
from sumbo.cli.output import console
from sumbo.cli.study import show
from sumbo.optimizer.show import number

BUDGET = 80


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder.")] = Path("demo"),
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", help="Processes; default all cores.")
    ] = None,
    browse: Annotated[
        bool, typer.Option("--open", help="Open the first report in a browser.")
    ] = False,
) -> None:
    """Minimise the cost of a simulated kiln, then run a small study."""
    shown = console()
    page = _kiln(out, shown)
    if browse and has_screen(sys.platform, os.environ):
        webbrowser.open(page.resolve().as_uri())
    shown.print(
        "\n2. A study: the default (logei) and Thompson sampling (ts) against random "
        "search (uniform), on random instances of two functions."
    )
    folder = out / "study"
    study.run(study.load_design(_design()), folder, jobs=jobs)
    show(folder, shown)


def has_screen(platform: str, environment: Mapping[str, str]) -> bool:
    """Return whether a browser can open a window, and not in the terminal."""
    screens = ("DISPLAY", "WAYLAND_DISPLAY")
    on_screen = any(environment.get(name) for name in screens)
    return platform in ("darwin", "win32") or on_screen


def _kiln(out: Path, shown: Console) -> Path:
    """Run the default on the simulator; return its report, beside its pictures."""
    shown.print(
        f"1. A simulator with {len(kiln.SPACE)} parameters, of which some are integers "
        f"or choices: what a good piece of pottery costs. {BUDGET} evaluations with "
        "default settings."
    )
    out.mkdir(parents=True, exist_ok=True)
    path = out / "kiln.npz"
    path.unlink(missing_ok=True)  # a demo begins anew
    begin = time.perf_counter()
    result = sumbo.minimize(
        kiln.cost,
        kiln.SPACE,
        budget=BUDGET,
        seed=1,
        on_error="skip",
        progress=True,
        checkpoint=path,
    )
    shown.print(f"\n{result}")
    shown.print(_progress(result, time.perf_counter() - begin))
    shown.print(f"\nWhat matters most:\n{_most_important(result)}")
    page = result.report(out / "kiln.html", title="What a piece of pottery costs")
    shown.print(f"\nreport of this run: {page}")
    for name, draw in _pictures().items():
        picture = out / f"kiln-{name}.png"
        _save(draw(result), picture)
        shown.print(f"picture: {picture}")
    return page


def _progress(result: Any, seconds: float) -> str:
    """Return how much better the best value is than the random ones before it."""
    opt = result.optimizer
    first = np.nanmin(opt.y[: opt.n_init])
    return (
        f"The {opt.n_init} random points at the start found {number(float(first))}; "
        f"the best cost is {100 * (1 - result.fun / first):.0f} % lower. "
        f"All took {seconds:.0f} s."
    )


def _most_important(result: Any, count: int = 5) -> str:
    lines = str(result.importance()).splitlines()
    return "\n".join(lines[: count + 1])


def _pictures() -> dict[str, Any]:
    """Return what is drawn of the run, by name."""
    what = "cost, cents"
    return {
        "convergence": lambda r: plots.convergence(r, objective=what, log=True),
        "importance": plots.importance,
        "parts": lambda r: plots.parts(r, objective=what),
        "slices": lambda r: plots.slices(r, objective=what),
    }


def _save(axes: Any, path: Path) -> None:
    import matplotlib.pyplot as plt

    figure = np.ravel(axes)[0].figure
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _design() -> Path:
    """Return the design that comes with the package, or with the checkout."""
    packaged = Path(study.__file__).parent / "designs" / "demo.toml"
    checkout = Path(study.__file__).parents[3] / "studies" / "demo.toml"
    return packaged if packaged.exists() else checkout
